// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which span has a collective's arguments, its number, and what a row without arguments is. */
#include "some_model.h"
#include "testing.h"

#include "analyze/device/collective_args.h"

static void attr(tide_model *m, uint32_t span, const char *key, const char *text, int64_t number)
{
	size_t at;
	tide__table_push(&m->attrs, &tide_attrs_desc, &at);
	m->attrs.span[at].i = span;
	m->attrs.key[at] = tide__intern(m, key);
	m->attrs.text[at] = text ? tide__intern(m, text) : (tide_str){ 0 };
	m->attrs.number[at] = number;
}

/* A kernel, launched inside `depth` ranges; names of the outermost, the innermost and the kernel. */
struct made {
	tide_model *m;
	uint32_t outer, inner, launch, kernel;
	tide_gpu_rows rows;
	tide_hta_input in;
};

static void make(struct made *x, int depth, const char *outer, const char *inner,
		 const char *kernel)
{
	*x = (struct made){ .m = some_machine() };
	for (int i = 0; i < depth; i++) {
		const char *name = !i ? outer : i == depth - 1 ? inner : "between";
		uint32_t s = some_span(x->m, 1, TIDE_CAT_USER, name, i, 1000 - i);
		x->outer = i ? x->outer : s;
		x->inner = s;
	}
	x->launch = some_span(x->m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 400, 401);
	x->kernel = some_span(x->m, 3, TIDE_CAT_KERNEL, kernel, 500, 600);
	x->m->spans.cause[x->kernel].i = x->launch;
	x->rows = (tide_gpu_rows){ .n = 1, .span = &x->kernel };
	x->in = (tide_hta_input){ .m = x->m, .rows = &x->rows };
}

static void drop(struct made *x)
{
	tide__model_free(x->m);
}

static uint32_t carrier(struct made *x)
{
	tide_collective_keys k = tide__collective_keys_find(x->m);
	return tide__collective_carrier(&x->in, &k, 0);
}

static int64_t seq(struct made *x)
{
	tide_collective_keys k = tide__collective_keys_find(x->m);
	return tide__collective_seq(&x->in, &k, 0);
}

static void test_carrier(void **state)
{
	struct made x;
	make(&x, 3, "outer", "inner", "ncclDevKernel");
	assert_int_equal(carrier(&x), 0);
	attr(x.m, x.outer, "Collective name", "allreduce", 0);
	assert_int_equal(carrier(&x), x.outer);
	attr(x.m, x.launch, "Collective name", "allreduce", 0);
	assert_int_equal(carrier(&x), x.launch); /* the nearest */
	attr(x.m, x.kernel, "Collective name", "allreduce", 0);
	assert_int_equal(carrier(&x), x.kernel); /* the row's own */
	drop(&x);
	make(&x, 3, "outer", "inner", "ncclDevKernel");
	attr(x.m, x.outer, "Collective name", "allreduce", 0);
	x.m->spans.cause[x.kernel].i = 0; /* not launched in the trace */
	assert_int_equal(carrier(&x), 0);
	drop(&x);
}

static void test_seq(void **state)
{
	struct made x;
	make(&x, 3, "outer", "inner", "ncclDevKernel");
	assert_int_equal(seq(&x), -1);
	attr(x.m, x.outer, "Seq", NULL, 7);
	assert_int_equal(seq(&x), 7);
	attr(x.m, x.inner, "Seq", NULL, 0); /* 0 is a number */
	assert_int_equal(seq(&x), 0);
	attr(x.m, x.launch, "Seq", "12", 0);
	assert_int_equal(seq(&x), 12);
	attr(x.m, x.kernel, "Seq", NULL, 3);
	assert_int_equal(seq(&x), 3);
	drop(&x);
}

/* 64 spans are examined, the launch included. */
static void test_depth(void **state)
{
	struct made x;
	for (int depth = 62; depth <= 65; depth++) {
		make(&x, depth, "nccl:all_reduce", "inner", "k");
		attr(x.m, x.outer, "Collective name", "allreduce", 0);
		attr(x.m, x.outer, "Seq", NULL, 9);
		assert_int_equal(carrier(&x), depth < 64 ? x.outer : 0);
		assert_int_equal(seq(&x), depth < 64 ? 9 : -1);
		assert_ptr_equal(tide__collective_guess(&x.in, 0),
				 depth < 64 ? tide__collective_kind("nccl:all_reduce") : NULL);
		drop(&x);
	}
}

static void test_guess(void **state)
{
	static const struct {
		const char *outer, *inner, *kernel, *is;
	} rows[] = {
		{ "nccl:all_reduce", "inner", "k", "nccl:all_reduce" },
		{ "outer", "nccl:broadcast", "k", "nccl:broadcast" },
		{ "outer", "rccl:all_gather", "k", "rccl:all_gather" },
		{ "c10d::allgather_", "inner", "k", "c10d::allgather_" },
		{ "nccl:all_reduce", "nccl:broadcast", "k", "nccl:broadcast" }, /* the nearest */
		{ "nccl:all_reduce", "nccl:no_such", "k", "nccl:all_reduce" },
		{ "outer", "all_reduce", "ncclDevKernel_Broadcast_RING_LL",
		  "ncclDevKernel_Broadcast_RING_LL" }, /* not a range of PyTorch */
		{ "outer", "inner", "k", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made x;
		make(&x, 3, rows[i].outer, rows[i].inner, rows[i].kernel);
		assert_ptr_equal(tide__collective_guess(&x.in, 0),
				 rows[i].is ? tide__collective_kind(rows[i].is) : NULL);
		if (rows[i].is)
			assert_non_null(tide__collective_kind(rows[i].is));
		drop(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_carrier),
					    cmocka_unit_test(test_seq),
					    cmocka_unit_test(test_depth),
					    cmocka_unit_test(test_guess) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
