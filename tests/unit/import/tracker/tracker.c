// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory profiles: how each field is read, in our documents and in those of the tool they
 * follow. */
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"
#include "testing.h"

static tide_model *load(const char *text, tide_error *err)
{
	size_t n = strlen(text);
	char *padded = tide__calloc(n + JSONR_PAD, 1);
	tide_model *m = tide__model_new();
	memcpy(padded, text, n);
	if (tide__tracker_import(padded, n, m, err) != TIDE_OK) {
		tide__model_free(m);
		m = NULL;
	} else {
		assert_int_equal(tide__model_check(m, err), TIDE_OK);
	}
	tide__free(padded);
	return m;
}

static int64_t attr(const tide_model *m, uint32_t span, const char *key)
{
	for (size_t i = 0; i < m->attrs.n; i++)
		if (m->attrs.span[i].i == span &&
		    !strcmp(tide__text(m, m->attrs.key[i], NULL), key))
			return m->attrs.number[i];
	return -1;
}

static int64_t fact(const tide_model *m, const char *key)
{
	int64_t row = tide__fact_find(m, key);
	return row < 0 ? 0 : m->facts.number[row];
}

static const char ours[] =
	"{\"metadata\": {\"num_snapshots\": 1, \"tensor_lifecycles_left_out\": 3, "
	"\"snapshots_left_out\": 0, \"operation_runs_left_out\": 5}, \"snapshots\": ["
	"{\"time_ns\": 1700000000000001000, \"timestamp\": \"2023-11-14T23:13:20.000001\", "
	"\"checkpoint_name\": \"a\", \"device_breakdown\": {\"cpu\": {\"total_bytes\": 12}}}],"
	"\"operation_allocations\": {\"f\": [{\"start_ns\": 1700000000000000000, \"duration_us\": "
	"12.5, \"thread\": 7, \"memory_delta_mb\": -1.5}]},"
	"\"tensor_lifecycle\": {\"1\": {\"size_bytes\": 12, \"device\": \"cuda:1\", \"shape\": "
	"[3], "
	"\"dtype\": \"torch.float32\", \"requires_grad\": true, \"purpose\": \"weight\", "
	"\"events\": ["
	"{\"event_type\": \"allocated\", \"time_ns\": 1700000000000000103, \"operation\": \"f\"}, "
	"{\"event_type\": \"deallocated\", \"time_ns\": 1700000000000000200, \"operation\": \"f\", "
	"\"operation_id\": 4, \"thread\": 7}]}},"
	"\"operation_log\": [{\"name\": \"Linear.fc\", \"operation_id\": 4, \"start_ns\": 1700000000000000050, "
	"\"timestamp\": \"2023-11-14T23:13:20\", \"duration_us\": 3, \"thread\": 7, "
	"\"input_shapes\": [[1, 2]]}]}";

static void our_document(void **state)
{
	tide_error err = { 0 };
	tide_model *m = load(ours, &err);
	assert_non_null(m);
	assert_true(m->wall_known);
	assert_true(m->wall0_ns == INT64_C(1700000000000000000));
	assert_int_equal(m->t_end, 12500);
	assert_int_equal(m->spans.n, 3);
	assert_string_equal(tide__text(m, m->spans.name[1], NULL), "f");
	assert_int_equal(m->spans.t1[1], 12500);
	assert_int_equal(m->spans.t0[2], 50);
	assert_int_equal(m->spans.parent[2].i, 1);
	assert_int_equal(m->lanes.number[m->spans.lane[1].i], 7);
	assert_int_equal(attr(m, 1, "memory_delta_bytes"), -1572864);
	assert_int_equal(m->allocs.n, 2);
	assert_int_equal(m->allocs.born[1], 103); /* to the nanosecond */
	assert_int_equal(m->allocs.died[1], 200);
	assert_int_equal(m->allocs.size[1], 12);
	assert_int_equal(m->allocs.span[1].i, 1);
	assert_int_equal(m->allocs.free_span[1].i, 2); /* the entry of the log that is named */
	assert_int_equal(m->allocs.role[1], TIDE_ROLE_PARAMETER);
	assert_int_equal(m->allocs.flags[1], TIDE_ALLOC_ROLE_GUESSED); /* purpose, no role */
	assert_int_equal(m->devices.kind[1], TIDE_DEVICE_CUDA);
	assert_int_equal(m->devices.index[1], 1);
	assert_int_equal(m->tensors.n, 2);
	assert_int_equal(m->tensors.dtype[1], TIDE_DTYPE_F32);
	assert_int_equal(m->tensors.requires_grad[1], 1);
	assert_int_equal(m->dims[m->tensors.dims[1]], 3);
	assert_int_equal(m->marks.t[1], 1000);
	assert_int_equal(m->marks.position[1], 2);
	assert_true(m->samples.value[0] == 12);
	assert_int_equal(fact(m, "loss.tensor_lifecycles_left_out"), 3);
	assert_int_equal(fact(m, "loss.operation_runs_left_out"), 5);
	assert_int_equal(tide__fact_find(m, "loss.snapshots_left_out"), -1);
	tide__model_free(m);
}

/* A document without durations, threads and devices of lifetimes; with repeated lifetimes. */
static const char theirs[] =
	"{\"metadata\": {\"num_snapshots\": 1}, \"snapshots\": [{\"timestamp\": "
	"\"2025-01-13T10:29:45\", \"checkpoint_name\": \"x_pre\", \"device_breakdown\": {\"mps\": "
	"{\"total_mb\": 0.5, \"tensors\": [{\"tensor_id\": 140234567890123}]}}}],"
	"\"tensor_lifecycle\": {\"140234567890123\": {\"size_mb\": 0.25, \"shape\": [4, 2], "
	"\"purpose\": \"buffer\", \"events\": ["
	"{\"event_type\": \"allocated\", \"timestamp\": \"2025-01-13T10:29:45.000001\"}, "
	"{\"event_type\": \"allocated\", \"timestamp\": \"2025-01-13T10:29:45.000002\"}, "
	"{\"event_type\": \"deallocated\", \"timestamp\": \"2025-01-13T10:29:46\"}, "
	"{\"event_type\": \"deallocated\", \"timestamp\": \"2025-01-13T10:29:47\"}, "
	"{\"event_type\": \"allocated\", \"timestamp\": \"2025-01-13T10:29:48\"}]}},"
	"\"operation_log\": [{\"name\": \"A\", \"timestamp\": \"2025-01-13T10:29:45.100000\"}, "
	"{\"name\": \"B\", \"timestamp\": \"2025-01-13T10:29:45.103500\"}]}";

/* The example of the tool's own manual: one snapshot, one run, two summaries. */
static const char manual[] =
	"{\"metadata\": {\"num_snapshots\": 12}, \"snapshots\": [{\"timestamp\": "
	"\"2025-01-13T10:29:45\", \"checkpoint_name\": \"model_forward_pre\", \"total_mb\": 2048.5, "
	"\"total_bytes\": 2147483648, \"tensor_count\": 1523, \"device_breakdown\": {\"mps\": "
	"{\"total_mb\": 2000.0, \"count\": 1500, \"tensors\": [{\"size_mb\": 512.0, \"shape\": [10240, "
	"2, 16, 8, 128], \"dtype\": \"torch.float16\", \"device\": \"mps\", \"requires_grad\": false, "
	"\"operation\": \"model_forward\"}]}}}], \"operation_allocations\": {\"model_forward\": "
	"[{\"memory_delta_mb\": 320.5, \"tensor_delta\": 15, \"pre_total_mb\": 2048.5, "
	"\"post_total_mb\": 2369.0, \"timestamp\": \"2025-01-13T10:29:45\"}]}, \"operation_summary\": "
	"{\"model_forward\": {\"invocation_count\": 20, \"total_memory_delta_mb\": 6410.0, "
	"\"avg_memory_delta_mb\": 320.5, \"max_memory_delta_mb\": 325.2}, \"preprocessing\": "
	"{\"invocation_count\": 20, \"total_memory_delta_mb\": 10.5}}}";

static void totals_tensors_and_sums_of_a_snapshot(void **state)
{
	tide_error err = { 0 };
	tide_model *m = load(manual, &err);
	assert_non_null(m);
	uint64_t all = 0;
	for (size_t i = 1; i < m->allocs.n; i++) {
		all += m->allocs.size[i];
		assert_int_equal(m->allocs.basis[i], TIDE_BASIS_INFERRED);
	}
	assert_true(all == UINT64_C(2147483648)); /* the tensor, the rest of mps, of no device */
	assert_int_equal(m->allocs.n, 4);
	assert_int_equal(m->tensors.n, 2);
	uint32_t tensor = m->tensors.alloc[1].i;
	assert_true(m->allocs.size[tensor] == UINT64_C(536870912));
	assert_string_equal(tide__text(m, m->spans.name[m->allocs.span[tensor].i], NULL),
			    "model_forward");
	assert_true(m->spans.flags[1] & TIDE_SPAN_NO_END);
	assert_int_equal(m->op_totals.n, 2);
	assert_int_equal(m->op_totals.count[0], 20);
	assert_true(m->op_totals.change_bytes[0] == INT64_C(6410) << 20);
	assert_true(m->op_totals.cpu_ns[0] == TIDE_TOTAL_UNKNOWN);
	assert_true(m->op_totals.most_bytes[1] == TIDE_TOTAL_UNKNOWN);
	tide__model_free(m);
}

/* Tensors of three snapshots, two alike in one of them: born when first listed, dead when no
 * longer. */
static const char listed[] =
	"{\"snapshots\": ["
	"{\"timestamp\": \"2025-01-13T10:29:41\", \"checkpoint_name\": \"a\", \"device_breakdown\": "
	"{\"cpu\": {\"total_bytes\": 300, \"tensors\": [{\"size_bytes\": 100, \"shape\": [25]}, "
	"{\"size_bytes\": 100, \"shape\": [25]}]}}},"
	"{\"timestamp\": \"2025-01-13T10:29:42\", \"checkpoint_name\": \"b\", \"device_breakdown\": "
	"{\"cpu\": {\"total_bytes\": 200, \"tensors\": [{\"size_bytes\": 100, \"shape\": [25]}]}}},"
	"{\"timestamp\": \"2025-01-13T10:29:43\", \"checkpoint_name\": \"c\", \"device_breakdown\": "
	"{\"cpu\": {\"total_bytes\": 64, \"tensors\": [{\"size_bytes\": 64, \"shape\": [16], "
	"\"operation\": \"load\"}]}}}]}";

static void lives_between_snapshots(void **state)
{
	static const struct {
		uint64_t size;
		int64_t born, died; /* s */
	} want[] = { { 100, 0, 2 }, { 100, 0, 1 }, { 100, 0, 2 }, { 64, 2, -1 } };
	tide_error err = { 0 };
	tide_model *m = load(listed, &err);
	assert_non_null(m);
	assert_int_equal(m->allocs.n, 5);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(m->allocs.size[i + 1], want[i].size);
		assert_true(m->allocs.born[i + 1] == want[i].born * 1000000000);
		assert_true(m->allocs.died[i + 1] ==
			    (want[i].died < 0 ? TIDE_T_NEVER : want[i].died * 1000000000));
	}
	assert_string_equal(
		tide__text(m, m->frames.function[m->stacks.frame[m->allocs.stack[4].i].i], NULL),
		"load");
	assert_int_equal(m->marks.position[1], 3);
	tide__model_free(m);
}

static void sums_of_pytorch_ops_alone(void **state)
{
	tide_error err = { 0 };
	tide_model *m = load(
		"{\"pytorch_operations\": [{\"op_name\": \"aten::matmul\", \"count\": 32, "
		"\"cpu_time_us\": 125000, \"cuda_time_us\": 0, \"cpu_memory_mb\": 2.5, "
		"\"input_shapes\": [[1, 512, 768], [768, 768]]}, {\"op_name\": \"aten::addmm\"}]}",
		&err);
	assert_non_null(m);
	assert_int_equal(m->op_totals.n, 2);
	assert_int_equal(m->op_totals.cpu_ns[0], 125000000);
	assert_int_equal(m->op_totals.device_ns[0], 0);
	assert_int_equal(m->op_totals.host_bytes[0], 2621440);
	assert_true(m->op_totals.device_bytes[0] == TIDE_TOTAL_UNKNOWN);
	assert_string_equal(tide__text(m, m->op_totals.shapes[0], NULL),
			    "[[1, 512, 768], [768, 768]]");
	assert_true(m->op_totals.count[1] == TIDE_TOTAL_UNKNOWN);
	tide__model_free(m);
}

static void document_of_the_other_tool(void **state)
{
	tide_error err = { 0 };
	tide_model *m = load(theirs, &err);
	assert_non_null(m);
	assert_false(m->wall_known);
	assert_int_equal(m->spans.n, 3);
	assert_int_equal(m->t_end, INT64_C(3000000000));
	assert_int_equal(m->spans.t0[1], 100000000);
	assert_int_equal(m->spans.t1[1], 103500000); /* up to the next */
	assert_int_equal(m->spans.t1[2], m->spans.t0[2]);
	assert_int_equal(fact(m, "loss.operations_without_duration"), 2);
	assert_int_equal(m->allocs.n, 3);
	assert_int_equal(m->allocs.size[1], 262144);
	assert_int_equal(m->allocs.died[1], 1000000000);
	assert_true(m->allocs.died[2] == TIDE_T_NEVER);
	assert_int_equal(fact(m, "loss.repeated_lifecycle_events"), 2);
	assert_int_equal(m->devices.kind[1], TIDE_DEVICE_MPS);
	assert_int_equal(m->devices.n, 2);
	assert_true(m->samples.value[0] == 524288);
	tide__model_free(m);
}

static void damage_has_its_byte(void **state)
{
	static const struct {
		const char *text;
		tide_code code;
		uint64_t at;
	} rows[] = {
		{ "{\"metadata\": {}, \"operation_log\": [", TIDE_ETRUNC, 35 },
		{ "{\"metadata\": {} \"operation_log\": []}", TIDE_ECORRUPT, 16 },
		{ "{\"operation_log\": []}", TIDE_EFORMAT, 0 },
		{ "[]", TIDE_EFORMAT, 0 },
		{ "", TIDE_ETRUNC, 0 },
		{ "     ", TIDE_ETRUNC, 5 },
		{ " 5", TIDE_ECORRUPT, 1 },
		{ "{\"operation_log\": [{\"timestamp\": \"2025-01-01T00:00:61\"}]}", TIDE_EFORMAT,
		  0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_error err = { 0 };
		assert_null(load(rows[i].text, &err));
		if (err.code != rows[i].code || err.offset != rows[i].at)
			fail_msg("%s: %s at %llu", rows[i].text, err.text,
				 (unsigned long long)err.offset);
	}
}

/* Every truncation of a document is an error or a model; running out of memory anywhere is an
 * error. */
static void cuts_and_exhaustion(void **state)
{
	tide_error err = { 0 };
	char cut[sizeof ours];
	for (size_t n = 0; n < sizeof ours - 1; n++) {
		memcpy(cut, ours, n);
		cut[n] = 0;
		assert_null(load(cut, &err));
		assert_true(err.text[0] && err.offset <= n);
	}
	size_t n = sizeof ours - 1;
	char *padded = tide__calloc(n + JSONR_PAD, 1);
	memcpy(padded, ours, n);
	for (uint64_t at = 1;; at++) {
		tide_model *m = tide__model_new();
		tide__mem_fail_at(at);
		tide_code rc = tide__tracker_import(padded, n, m, &err);
		bool reached = tide__mem_count() >= at;
		tide__mem_fail_at(0);
		assert_int_equal(rc, reached ? TIDE_ENOMEM : TIDE_OK);
		tide__model_free(m);
		if (!reached)
			break;
	}
	tide__free(padded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_document),
		cmocka_unit_test(totals_tensors_and_sums_of_a_snapshot),
		cmocka_unit_test(lives_between_snapshots),
		cmocka_unit_test(sums_of_pytorch_ops_alone),
		cmocka_unit_test(document_of_the_other_tool),
		cmocka_unit_test(damage_has_its_byte),
		cmocka_unit_test(cuts_and_exhaustion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
