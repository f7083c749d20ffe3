// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads sections without times: sums of PyTorch's ops, and summaries of operations whose runs the
 * document lists only in part or not at all. */
#include "import/tracker/tracker_impl.h"

#define MB INT64_C(1048576)

static int64_t number(const trk *t, jsonr_slice v, int64_t scale)
{
	int64_t n;
	return tide__tracker_parse_number(t, v, scale, &n) ? n : TIDE_TOTAL_UNKNOWN;
}

/* Adds a row whose figures are all unknown; SIZE_MAX if memory runs out. */
static size_t row_of(trk *t, tide_str name)
{
	tide_op_totals *x = &t->m->op_totals;
	size_t row;
	if (!tide__table_push(x, &tide_op_totals_desc, &row)) {
		tide__tracker_nomem(t);
		return SIZE_MAX;
	}
	x->name[row] = name;
	x->count[row] = x->cpu_ns[row] = x->device_ns[row] = TIDE_TOTAL_UNKNOWN;
	x->host_bytes[row] = x->device_bytes[row] = TIDE_TOTAL_UNKNOWN;
	x->change_bytes[row] = x->most_bytes[row] = TIDE_TOTAL_UNKNOWN;
	return row;
}

static bool pytorch_op(trk *t, jsonr_slice op)
{
	enum { NAME, COUNT, CPU, CUDA, CPU_MB, CUDA_MB, SHAPES, N };
	static const char *const names[N] = { "op_name",      "count",	       "cpu_time_us",
					      "cuda_time_us", "cpu_memory_mb", "cuda_memory_mb",
					      "input_shapes" };
	tide_op_totals *x = &t->m->op_totals;
	jsonr_slice v[N];
	if (!tide__tracker_find_fields(t, op, names, N, v))
		return false;
	tide_str name = tide__tracker_intern(t, v[NAME]);
	size_t row = name.i ? row_of(t, name) : SIZE_MAX;
	if (row == SIZE_MAX) {
		t->bad += !name.i;
		return t->rc == TIDE_OK;
	}
	x->count[row] = number(t, v[COUNT], 1);
	x->cpu_ns[row] = number(t, v[CPU], 1000);
	x->device_ns[row] = number(t, v[CUDA], 1000);
	x->host_bytes[row] = number(t, v[CPU_MB], MB);
	x->device_bytes[row] = number(t, v[CUDA_MB], MB);
	if (v[SHAPES].type == '[')
		x->shapes[row] = tide__tracker_intern_shape(t, v[SHAPES]);
	return t->rc == TIDE_OK;
}

/* Skips an operation whose runs are all spans with a duration, because the spans have more detail.
 * */
static bool operation(trk *t, jsonr_slice key, jsonr_slice said)
{
	enum { COUNT, TOTAL, MOST, N };
	static const char *const names[N] = { "invocation_count", "total_memory_delta_mb",
					      "max_memory_delta_mb" };
	tide_op_totals *x = &t->m->op_totals;
	jsonr_slice v[N];
	int64_t count;
	if (!tide__tracker_find_fields(t, said, names, N, v))
		return false;
	tide_str name = tide__tracker_intern(t, key);
	if (tide__tracker_parse_number(t, v[COUNT], 1, &count) &&
	    tide__map_get(&t->timed, name.i) >= count)
		return t->rc == TIDE_OK;
	size_t row = row_of(t, name);
	if (row == SIZE_MAX)
		return false;
	x->count[row] = number(t, v[COUNT], 1);
	x->change_bytes[row] = number(t, v[TOTAL], MB);
	x->most_bytes[row] = number(t, v[MOST], MB);
	return t->rc == TIDE_OK;
}

bool tide__tracker_read_sums(trk *t, jsonr_slice pytorch, jsonr_slice summary)
{
	jsonr_slice key, one;
	bool ok = true;
	jsonr_walk w = tide__tracker_walk(t, pytorch);
	while (ok && !w.object && tide__tracker_next(t, &w, &key, &one))
		ok = pytorch_op(t, one);
	w = tide__tracker_walk(t, summary);
	while (ok && w.object && tide__tracker_next(t, &w, &key, &one))
		ok = operation(t, key, one);
	return ok && t->rc == TIDE_OK;
}
