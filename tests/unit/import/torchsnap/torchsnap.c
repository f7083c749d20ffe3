// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Real snapshots: every number torch itself reported about them comes out of the model to the byte.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "import/import.h"
#include "snaptotals.h"
#include "testing.h"

static tide_model *load(const char *name)
{
	char path[512];
	tide_error err = { 0 };
	tide_model *m;
	snprintf(path, sizeof path, "%s/tests/data/torchsnap/%s", getenv("TIDE_SOURCE"), name);
	if (tide__load(path, NULL, &m, &err))
		fail_msg("%s: %s", name, err.text);
	assert_string_equal(m->format, "torchsnap");
	if (tide__model_check(m, &err))
		fail_msg("%s: %s", name, err.text);
	return m;
}

struct fact_row {
	const char *key;
	int64_t number; /* -1: must not be there */
};

static void check_facts(const tide_model *m, const struct fact_row *rows)
{
	for (; rows->key; rows++) {
		int64_t at = tide__fact_find(m, rows->key);
		if (at < 0 && rows->number == -1)
			continue;
		if (at < 0 || m->facts.number[at] != rows->number)
			fail_msg("%s is %lld, not %lld", rows->key,
				 at < 0 ? -1LL : (long long)m->facts.number[at],
				 (long long)rows->number);
	}
}

/* Values of torch.cuda.memory_stats() when the snapshot was taken. */
/* A free belongs to a range that was open then; `outside` of them to none. */
static void check_free_spans(const tide_model *m, uint64_t outside)
{
	for (uint32_t a = 1; a < m->allocs.n; a++) {
		uint32_t s = m->allocs.free_span[a].i;
		int64_t died = m->allocs.died[a];
		if (died == TIDE_T_NEVER) {
			assert_int_equal(s, 0);
			continue;
		}
		outside -= !s;
		if (s) {
			assert_true(m->spans.t0[s] <= died);
			assert_true(died < m->spans.t1[s]);
		}
	}
	assert_int_equal(outside, 0);
}

static void gpt_train_equals_torch(void **state)
{
	(void)state;
	tide_model *m = load("snapshot_gpt_train.pickle.gz");
	struct totals t = totals_of(m, 0);
	assert_int_equal(t.allocated_peak, 5736168960);
	assert_int_equal(t.allocated, 2031564800);
	assert_int_equal(t.active_peak, 5736168960);
	assert_int_equal(t.reserved_peak, 6547308544);
	assert_int_equal(t.reserved, 6547308544);
	assert_int_equal(t.allocs, 3617);
	assert_int_equal(t.frees, 3165);
	assert_int_equal(t.segments, 117);
	assert_int_equal(t.inactive_split, 1242089472);
	assert_int_equal(t.requested, 2020816896);
	static const struct fact_row facts[] = { { "snapshot.events", 10061 },
						 { "snapshot.events.alloc", 3615 },
						 { "snapshot.events.free_requested", 3165 },
						 { "snapshot.allocs_before", 2 },
						 { "allocator.max_split_size", -1 },
						 { "loss.geometry_mismatch", -1 },
						 { "loss.geometry_repairs", -1 },
						 { "loss.history_wrapped", -1 },
						 { 0 } };
	check_facts(m, facts);
	assert_true(m->wall_known);
	assert_int_equal(m->wall0_ns, INT64_C(1794709245339316000));
	assert_int_equal(m->spans.n - 1, 15);
	check_free_spans(m, 3);
	assert_int_equal(m->frames.n - 1, 410); /* 521 dicts, some of them equal */
	tide__model_free(m);
}

static void oom_equals_torch(void **state)
{
	(void)state;
	tide_model *m = load("snapshot_oom.pickle.gz");
	struct totals t = totals_of(m, 0);
	assert_int_equal(t.allocated_peak, 145931542528);
	assert_int_equal(t.allocated, 145931542528);
	assert_int_equal(t.reserved, 146949537792);
	assert_int_equal(t.requested, 145910308864);
	assert_int_equal(t.segments, 153);
	assert_int_equal(t.inactive_split, 1017995264);
	static const struct fact_row facts[] = { { "snapshot.events", 124 },
						 { "snapshot.events.segment_free", 77 },
						 { "loss.geometry_mismatch", -1 },
						 { "loss.geometry_repairs", -1 },
						 { 0 } };
	check_facts(m, facts);
	uint32_t last = (uint32_t)m->marks.n - 1;
	assert_int_equal(m->marks.kind[last], TIDE_MARK_OOM);
	assert_int_equal(m->marks.value[last], 7582253056);
	assert_int_equal(m->marks.extra[last], 2343698432);
	assert_int_equal(m->marks.position[last], m->memory_events.n);
	tide__model_free(m);
}

/* gzip that expands beyond the limit, and gzip that ends early. */
static void gzip_has_limits(void **state)
{
	(void)state;
	char path[512], cut[] = "/tmp/torchsnap-XXXXXX";
	tide_error err = { 0 };
	tide_model *m;
	tide_load_options opt = { .max_expanded = 100000 };
	snprintf(path, sizeof path, "%s/tests/data/torchsnap/snapshot_gpt_train.pickle.gz",
		 getenv("TIDE_SOURCE"));
	assert_int_equal(tide__load(path, &opt, &m, &err), TIDE_ELIMIT);
	assert_null(m);
	static char bytes[60000];
	FILE *f = fopen(path, "rb");
	assert_int_equal(fread(bytes, 1, sizeof bytes, f), sizeof bytes);
	fclose(f);
	int fd = mkstemp(cut);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
	tide_code rc = tide__load(cut, NULL, &m, &err);
	unlink(cut);
	assert_int_equal(rc, TIDE_ETRUNC);
	assert_null(m);
}

/* A plain snapshot: 8 MiB of small numbers that no reader needs, and a value after them. */
static size_t make_long(char **out)
{
	enum { LONG = 8 << 20 };
	static const char before[] = "\x80\x04}(\x8c\x08segments]\x8c\x01x](";
	static const char after[] = "e\x8c\x0d"
				    "device_traces]u.";
	char *at = *out = malloc(sizeof before + LONG + sizeof after);
	assert_non_null(at);
	memcpy(at, before, sizeof before - 1);
	at += sizeof before - 1;
	for (size_t i = 0; i < LONG; i += 2, at += 2)
		memcpy(at, "K\7", 2);
	memcpy(at, after, sizeof after - 1);
	return (size_t)(at - *out) + sizeof after - 1;
}

struct dump {
	char path[32];
	char *bytes;
	size_t n;
	atomic_int dumps;
	atomic_bool enough;
};

/* Opens the file again and writes all of it, as torch does every few seconds. */
static void *dump_forever(void *arg)
{
	struct dump *d = arg;
	while (!atomic_load(&d->enough)) {
		FILE *f = fopen(d->path, "wb");
		fwrite(d->bytes, 1, d->n, f);
		fclose(f);
		atomic_fetch_add(&d->dumps, 1);
	}
	return NULL;
}

static void rewritten_while_it_is_read(void **state)
{
	(void)state;
	struct dump d = { .path = "/tmp/torchsnap-XXXXXX" };
	pthread_t thread;
	d.n = make_long(&d.bytes);
	close(mkstemp(d.path));
	assert_int_equal(pthread_create(&thread, NULL, dump_forever, &d), 0);
	while (atomic_load(&d.dumps) < 60) { /* a mapped file raises SIGBUS within the first few */
		tide_error err = { 0 };
		tide_model *m = NULL;
		tide_code rc = tide__load(d.path, NULL, &m, &err);
		assert_true(rc == TIDE_OK || (!m && *err.text));
		tide__model_free(m);
	}
	atomic_store(&d.enough, true);
	pthread_join(thread, NULL);
	tide_model *m = NULL;
	tide_error err = { 0 };
	if (tide__load(d.path, NULL, &m, &err))
		fail_msg("%s", err.text);
	tide__model_free(m);
	unlink(d.path);
	free(d.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpt_train_equals_torch),
		cmocka_unit_test(oom_equals_torch),
		cmocka_unit_test(gzip_has_limits),
		cmocka_unit_test(rewritten_while_it_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
