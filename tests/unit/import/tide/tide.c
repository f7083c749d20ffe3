// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The .tide importer: every kind of event, every repair, distinguished by their facts. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "import/tide/live.h"
#include "testing.h"
#include "tidefile.h"

static char path[64];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-test-%d.tide", (int)getpid());
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return 0;
}

/* Load f, check the model, free f. */
static tide_model *load(tidefile *f)
{
	tide_model *m;
	tide_error err = { 0 };
	tidefile_save(f, path);
	tidefile_free(f);
	if (tide__load(path, NULL, &m, &err) || tide__model_check(m, &err))
		fail_msg("%s (byte %llu)", err.text, (unsigned long long)err.offset);
	return m;
}

static int64_t fact(const tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	return at < 0 ? 0 : m->facts.number[at];
}

static void assert_text(const tide_model *m, tide_str s, const char *text)
{
	assert_string_equal(tide__text(m, s, NULL), text);
}

static size_t losses(const tide_model *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->facts.n; i++)
		n += !strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5);
	return n;
}

/* Asserts that there is no loss of any name. */
static void assert_no_loss(const tide_model *m)
{
	for (size_t i = 0; i < m->facts.n; i++)
		if (!strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5))
			fail_msg("unexpected fact %s", tide__text(m, m->facts.key[i], NULL));
}

static void test_definitions(void **state)
{
	tidefile f;
	tidefile_start_full(&f);
	ev_lane(&f, 1, 5, 1, 100);
	ev_mark(&f, 1, 6, 3, 2, -9);
	tidefile_end(&f);
	tide_model *m = load(&f);
	assert_no_loss(m);
	assert_int_equal(m->processes.n, 2);
	assert_int_equal(m->processes.pid[1], 4242);
	assert_int_equal(m->wall0_ns, 1700000000000000000);
	assert_int_equal(m->devices.n, 2);
	assert_int_equal(m->devices.kind[1], TIDE_DEVICE_CUDA);
	assert_int_equal(m->pools.n, 3);
	assert_int_equal(m->pools.banks[2], 64);
	assert_text(m, m->pools.name[1], "alpha");
	assert_int_equal(m->lanes.n, 3); /* none, stream, thread */
	assert_int_equal(m->lanes.kind[1], TIDE_LANE_STREAM);
	assert_int_equal(m->lanes.number[1], 7);
	assert_int_equal(m->lanes.number[2], 100);
	assert_int_equal(m->stacks.n, 3);
	assert_int_equal(m->stacks.parent[2].i, 1);
	assert_int_equal(m->marks.n, 2);
	assert_int_equal(m->marks.kind[1], TIDE_MARK_STEP);
	assert_int_equal(m->marks.value[1], -9);
	assert_int_equal(m->marks.lane[1].i, 2);
	assert_int_equal(m->t_end, 6);
	assert_string_equal(m->format, "tide");
	tide__model_free(m);
}

/* Several stacks in one record: 3, 4, 5 on top of 2, then one more on top of 4. A record whose
 * first stacks are known defines the others. */
static void test_stacks_together(void **state)
{
	static const uint64_t down[] = { 1, 2, 1 }, up[] = { 1, 2, 1, 2 };
	tidefile f;
	bytes r = { 0 };
	tidefile_start_full(&f);
	record_add(&r, TIDE_REC_STACKS, (uint64_t)3, (uint64_t)2, (size_t)3, down);
	record_add(&r, TIDE_REC_STACK, (uint64_t)6, (uint64_t)4, (uint64_t)2);
	record_add(&r, TIDE_REC_STACKS, (uint64_t)4, (uint64_t)3, (size_t)4, up);
	tidefile_records(&f, TIDE_CHUNK_DEFS, &r);
	tidefile_end(&f);
	tide_model *m = load(&f);
	static const uint32_t parent[] = { 0, 0, 1, 2, 3, 4, 4, 6 },
			      frame[] = { 0, 1, 2, 1, 2, 1, 2, 2 };
	assert_no_loss(m);
	assert_int_equal(m->stacks.n, 8);
	for (size_t i = 1; i < 8; i++) {
		assert_int_equal(m->stacks.parent[i].i, parent[i]);
		assert_int_equal(m->stacks.frame[i].i, frame[i]);
	}
	tide__model_free(m);
}

/* Reading stops at a record without a stack, and at one that is out of order. */
static void test_stacks_refused(void **state)
{
	static const struct {
		uint64_t id;
		size_t n;
	} rows[] = { { 3, 0 }, { 5, 2 }, { UINT32_MAX - 1, 3 }, { UINT64_MAX, 2 }, { 0, 1 } };
	static const uint64_t frames[] = { 1, 2, 1 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tidefile f;
		bytes r = { 0 };
		tidefile_start_full(&f);
		ev_lane(&f, 1, 1, 1, 100);
		ev_mark(&f, 1, 2, 3, 1, 1);
		tidefile_flush(&f, 1);
		record_add(&r, TIDE_REC_STACKS, rows[i].id, (uint64_t)2, rows[i].n, frames);
		tidefile_records(&f, TIDE_CHUNK_DEFS, &r);
		tidefile_end(&f);
		tide_model *m = load(&f);
		assert_int_equal(m->stacks.n, 3);
		assert_true(losses(m) > 0);
		tide__model_free(m);
	}
}

/* The rank that a process learns while it records takes precedence over its environment. */
static void test_place_in_job(void **state)
{
	tidefile f;
	bytes names = { 0 }, facts = { 0 };
	tidefile_start_full(&f);
	record_add(&names, TIDE_REC_NAME, (uint64_t)5, "process.rank");
	record_add(&names, TIDE_REC_NAME, (uint64_t)6, "process.world_size");
	tidefile_records(&f, TIDE_CHUNK_DEFS, &names);
	record_add(&facts, TIDE_REC_FACT_NUM, "process.rank", (uint64_t)0);
	tidefile_records(&f, TIDE_CHUNK_FACTS, &facts);
	ev_lane(&f, 1, 1, 1, 100);
	ev_note(&f, 1, 2, 5, "3");
	ev_note(&f, 1, 3, 6, "8");
	ev_note(&f, 1, 4, 6, "-1"); /* not numbers: annotations as any other */
	ev_note(&f, 1, 5, 6, "9x");
	ev_note(&f, 1, 6, 5, "99999999999999999999");
	ev_note(&f, 1, 7, 5, "");
	tidefile_end(&f);
	tide_model *m = load(&f);
	assert_no_loss(m);
	assert_int_equal(m->processes.rank[1], 3);
	assert_int_equal(m->processes.world[1], 8);
	assert_int_equal(m->marks.n, 5);
	tide__model_free(m);
}

static void test_memory(void **state)
{
	const uint64_t shape[] = { 2, 3, 5, 7, 11 };
	tidefile f;
	tidefile_start_full(&f);
	ev_lane(&f, 1, 1, 1, 100);
	ev_begin(&f, 1, 2, 1);
	ev_alloc(&f, 1, 3, 1, 0x1000, 256);
	ev_alloc_full(&f, 1, 4, 2, 0x1000, 512, 1, 2, 500);
	ev_tensor(&f, 1, 5, 2, 0x1000, 3, TIDE_DTYPE_BF16, TIDE_ROLE_GRADIENT, 5, shape);
	ev_tensor(&f, 1, 6, 2, 0x1000, 4, TIDE_DTYPE_F32, TIDE_ROLE_PARAMETER, 2, shape + 2);
	ev_tensor(&f, 1, 6, 2, 0x1000, 0, TIDE_DTYPE_F64, 0, 2, shape + 3);
	ev_tensor(&f, 1, 6, 2, 0x1000, 0, 0, 0, 0, NULL);
	ev_end(&f, 1, 7);
	ev_free(&f, 1, 8, 1, 0x1000);
	ev_seg(&f, 1, 9, 1, 0x100000, 4096, 0);
	ev_oom(&f, 1, 10, 2, 77, -1);
	ev_sample(&f, 1, 11, 2, 0.25);
	ev_sample(&f, 1, 12, 2, 0.5);
	ev_note(&f, 1, 13, 1, "a text of more than thirty-two bytes, for sure");
	tidefile_end(&f);
	tide_model *m = load(&f);
	assert_no_loss(m);
	const tide_allocs *a = &m->allocs;
	assert_int_equal(a->n, 3);
	assert_int_equal(a->pool[1].i, 1);
	assert_int_equal(a->born[1], 3);
	assert_int_equal(a->died[1], 8);
	assert_int_equal(a->span[1].i, 1);
	assert_int_equal(a->free_span[1].i, 0);
	assert_int_equal(a->died[2], TIDE_T_NEVER);
	assert_int_equal(a->requested[2], 500);
	assert_int_equal(a->size[2], 512);
	assert_int_equal(a->stack[2].i, 2);
	assert_int_equal(m->lanes.number[a->stream[2].i], 7);
	assert_int_equal(a->role[2], TIDE_ROLE_PARAMETER);
	assert_int_equal(m->tensors.n,
			 2); /* the last description counts, except for members that it leaves
			      * out */
	assert_int_equal(m->tensors.role[1], TIDE_ROLE_PARAMETER);
	assert_int_equal(m->tensors.dtype[1], TIDE_DTYPE_F64);
	assert_int_equal(m->tensors.ndim[1], 2);
	assert_int_equal(m->dims[m->tensors.dims[1]], 7);
	assert_int_equal(m->dims[m->tensors.dims[1] + 1], 11);
	assert_text(m, m->tensors.name[1], "delta");
	assert_int_equal(m->segments.n, 2);
	assert_int_equal(m->segments.kind[1], TIDE_SEGMENT_LARGE);
	assert_int_equal(m->memory_events.n, 4);
	assert_int_equal(m->marks.kind[1], TIDE_MARK_OOM);
	assert_int_equal(m->marks.value[1], 77);
	assert_int_equal(m->marks.extra[1], -1);
	assert_int_equal(m->marks.position[1], 4);
	assert_int_equal(m->marks.pool[1].i, 2);
	assert_text(m, m->marks.text[2], "a text of more than thirty-two bytes, for sure");
	assert_int_equal(m->counters.n, 2);
	assert_int_equal(m->samples.n, 2);
	assert_true(m->samples.value[1] == 0.5);
	assert_int_equal(fact(m, "tide.events"), 14);
	tide__model_free(m);
}

static void test_ops(void **state)
{
	tidefile f;
	tidefile_start_full(&f);
	ev_lane(&f, 1, 1, 1, 100);
	ev_begin(&f, 1, 10, 1);
	ev_begin_arg(&f, 1, 20, 2, 99);
	ev_begin(&f, 1, 30, 3);
	f.rings[0].depth = 1; /* the end of span 2, which takes span 3 along */
	ev_end(&f, 1, 40);
	ev_begin(&f, 1, 50, 4); /* never ended */
	ev_lane(&f, 2, 15, 2, 101);
	ev_begin(&f, 2, 16, 1);
	ev_end(&f, 2, 45);
	ev_begin_arg(&f, 2, 46, 3, TIDE_ARG_TASK | 5); /* an op of a task, in two parts */
	ev_end(&f, 2, 47);
	ev_begin_arg(&f, 2, 48, 3, TIDE_ARG_TASK | TIDE_ARG_AGAIN | 5);
	ev_end(&f, 2, 49);
	tidefile_end(&f);
	tide_model *m = load(&f);
	const tide_spans *s = &m->spans;
	static const struct {
		int64_t t0, t1;
		uint32_t parent;
		const char *name;
		int flags;
	} want[] = {
		{ 10, 40, 0, "alpha", 0 },
		{ 16, 45, 0, "alpha", 0 },
		{ 20, 40, 1, "beta", TIDE_SPAN_UNWOUND },
		{ 30, 40, 3, "gamma", TIDE_SPAN_UNWOUND },
		{ 46, 47, 0, "gamma", 0 },
		{ 48, 49, 0, "gamma", TIDE_SPAN_AGAIN },
		{ 50, 50, 0, "delta", TIDE_SPAN_OPEN },
	};
	assert_int_equal(s->n, 8);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(s->t0[i + 1], want[i].t0);
		assert_int_equal(s->t1[i + 1], want[i].t1);
		assert_int_equal(s->parent[i + 1].i, want[i].parent);
		assert_int_equal(s->flags[i + 1], want[i].flags);
		assert_text(m, s->name[i + 1], want[i].name);
	}
	int64_t at = tide__attr_find(m, (tide_span_id){ 3 }, tide__intern(m, "arg"));
	assert_true(at >= 0);
	assert_int_equal(m->attrs.number[at], 99);
	tide__model_free(m);
}

/* ---- repairs: a story, the facts it leaves, rows of allocs and events ---- */

static void twice(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 8);
	ev_free(f, 1, 2, 1, 64);
	ev_free(f, 1, 3, 1, 64);
}
static void unknown(tidefile *f)
{
	ev_free(f, 1, 2, 1, 64);
	ev_alloc(f, 1, 3, 1, 64, 8);
}
static void other_pool(tidefile *f)
{
	ev_alloc(f, 1, 1, 2, 64, 8);
	ev_free(f, 1, 2, 1, 64);
}
static void reused(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 8);
	ev_alloc(f, 1, 2, 1, 64, 16);
	ev_free(f, 1, 3, 1, 64);
}
static void overlap_above(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 8);
	ev_alloc(f, 1, 2, 1, 60, 5);
	ev_free(f, 1, 3, 1, 64);
	ev_free(f, 1, 4, 1, 60);
}
static void overlap_below(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 8);
	ev_alloc(f, 1, 2, 1, 71, 5);
	ev_alloc(f, 1, 3, 1, 72, 5);
}
static void touch(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 8);
	ev_alloc(f, 1, 2, 1, 72, 8);
	ev_alloc(f, 1, 3, 1, 56, 8);
	ev_alloc(f, 1, 4, 1, 72, 0);
}
static void
shrunk_place(tidefile *f) /* a place keeps its old extent, but others may use the rest */
{
	ev_alloc(f, 1, 1, 1, 64, 100);
	ev_free(f, 1, 2, 1, 64);
	ev_alloc(f, 1, 3, 1, 64, 10);
	ev_alloc(f, 1, 4, 1, 74, 90);
	ev_free(f, 1, 5, 1, 64);
	ev_free(f, 1, 6, 1, 74);
	ev_alloc(f, 1, 7, 1, 64, 100);
}
static void grown_place(tidefile *f)
{
	ev_alloc(f, 1, 1, 1, 64, 10);
	ev_alloc(f, 1, 2, 1, 80, 10);
	ev_free(f, 1, 3, 1, 64);
	ev_alloc(f, 1, 4, 1, 64, 17);
}
static void undefined_pool(tidefile *f)
{
	ev_alloc(f, 1, 1, 9, 64, 8);
	ev_free(f, 1, 2, 9, 64);
}
static void tensor_nowhere(tidefile *f)
{
	ev_tensor(f, 1, 1, 1, 64, 1, 1, 1, 0, NULL);
}
static void begins_lost(tidefile *f)
{
	f->rings[0].depth = 3;
	ev_alloc(f, 1, 1, 1, 64, 8);
	f->rings[0].depth = 0;
	ev_free(f, 1, 2, 1, 64);
}
static void seg_nowhere(tidefile *f)
{
	ev_seg(f, 1, 1, 1, 4096, 4096, 1);
}
static void seg_reused(tidefile *f)
{
	ev_seg(f, 1, 1, 1, 4096, 4096, 0);
	ev_seg(f, 1, 2, 1, 4096, 8192, 0);
}

/* The recorder never writes it, but a file may hold it. */
static void end_of_nothing(tidefile *f)
{
	bytes r = { 0 };
	record_add(&r, TIDE_REC_END, (uint64_t)5);
	tidefile_chunk(
		f,
		(tide_chunk_head){ .type = TIDE_CHUNK_EVENTS, .ring = 1, .slots = 1, .count = 1 },
		r.p, r.n);
	bytes_free(&r);
}

/* Slots `first` and on of ring 1: an allocation of its own. */
static void chunk_of(tidefile *f, uint64_t first)
{
	bytes r = { 0 };
	record_add(&r, TIDE_REC_ALLOC | TIDE_TAG_POOL, (uint64_t)5, (first + 1) * 8192,
		   (uint64_t)64, (uint64_t)1, (uint64_t)1);
	tidefile_chunk(f,
		       (tide_chunk_head){ .type = TIDE_CHUNK_EVENTS,
					  .ring = 1,
					  .first = first,
					  .slots = 1,
					  .count = 1 },
		       r.p, r.n);
	bytes_free(&r);
}
static void chunk_twice(tidefile *f)
{
	chunk_of(f, 0);
	chunk_of(f, 1);
	chunk_of(f, 0);
}
static void chunk_gone(tidefile *f)
{
	chunk_of(f, 0);
	chunk_of(f, 5);
}

static void test_repairs(void **state)
{
	static const struct {
		const char *name;
		void (*story)(tidefile *f);
		const char *fact;
		int64_t n;
		size_t allocs, events;
	} rows[] = {
		{ "double free", twice, "loss.free_twice", 1, 1, 2 },
		{ "double free is not unknown", twice, "loss.free_unknown", 0, 1, 2 },
		{ "free before any alloc", unknown, "loss.free_unknown", 1, 1, 1 },
		{ "free in another pool", other_pool, "loss.free_unknown", 1, 1, 1 },
		{ "alloc at a live address", reused, "loss.alloc_reused", 1, 2, 4 },
		{ "overlap of one above", overlap_above, "loss.alloc_overlaps", 1, 2, 4 },
		{ "overlap of one below", overlap_below, "loss.alloc_overlaps", 1, 3, 3 },
		{ "touching is not overlapping", touch, "loss.alloc_overlaps", 0, 4, 5 },
		{ "nothing at a live address twice", touch, "loss.alloc_reused", 1, 4, 5 },
		{ "extent of a shrunk place", shrunk_place, "loss.alloc_overlaps", 0, 4, 7 },
		{ "a place grows over another", grown_place, "loss.alloc_overlaps", 1, 3, 4 },
		{ "pool that is not defined", undefined_pool, "loss.undefined_ids", 1, 1, 2 },
		{ "tensor of nothing", tensor_nowhere, "loss.tensor_unknown", 1, 0, 0 },
		{ "begins lost", begins_lost, "loss.op_begin", 3, 1, 2 },
		{ "a chunk twice", chunk_twice, "loss.repeated_chunks", 1, 2, 2 },
		{ "a chunk gone", chunk_gone, "loss.missing_slots", 4, 2, 2 },
		{ "end of nothing", end_of_nothing, "loss.op_end", 1, 0, 0 },
		{ "segment free of nothing", seg_nowhere, "loss.segment_free_unknown", 1, 0, 0 },
		{ "segment at a live address", seg_reused, "loss.segment_reused", 1, 0, 3 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tidefile f;
		tidefile_start_full(&f);
		rows[i].story(&f);
		tidefile_end(&f);
		tide_model *m = load(&f);
		if (fact(m, rows[i].fact) != rows[i].n || m->allocs.n != rows[i].allocs + 1 ||
		    m->memory_events.n != rows[i].events)
			fail_msg("%s: %s %lld, %zu allocs, %zu events", rows[i].name, rows[i].fact,
				 (long long)fact(m, rows[i].fact), m->allocs.n - 1,
				 m->memory_events.n);
		tide__model_free(m);
	}
}

static void test_lost_begin(void **state)
{
	tidefile f;
	tidefile_start_full(&f);
	begins_lost(&f);
	tidefile_end(&f);
	tide_model *m = load(&f);
	assert_int_equal(m->spans.n, 2);
	assert_int_equal(m->spans.flags[1],
			 TIDE_SPAN_LOST | TIDE_SPAN_UNWOUND); /* nor was its end seen */
	assert_int_equal(m->spans.t0[1], 1);
	assert_int_equal(m->spans.t1[1], 2);
	assert_int_equal(m->allocs.span[1].i, 1);
	tide__model_free(m);
}

static void test_segment_parts(void **state)
{
	tidefile f;
	tidefile_start_full(&f);
	ev_seg(&f, 1, 1, 1, 1000, 100, 0);
	ev_seg(&f, 1, 2, 1, 1100, 100, 0);
	ev_seg(&f, 1, 3, 1, 1200, 100, 0);
	ev_seg(&f, 1, 4, 1, 1050, 200, 1); /* half of the first, the second, half of the third */
	ev_seg(&f, 1, 5, 1, 1010, 10, 1);  /* out of the middle of the rest */
	tidefile_end(&f);
	tide_model *m = load(&f);
	assert_no_loss(m);
	const tide_segments *s = &m->segments;
	uint64_t live = 0;
	for (size_t i = 1; i < s->n; i++)
		if (s->died[i] == TIDE_T_NEVER)
			live += s->size[i];
	assert_int_equal(live, 90); /* 1000..1010, 1020..1050, 1250..1300 */
	assert_int_equal(s->n, 8);
	assert_int_equal(s->flags[4], TIDE_SEGMENT_PART);
	tide__model_free(m);
}

/* Only the beginning, in whole chunks; the rest is counted. */
static void test_only_some(void **state)
{
	enum { CHUNKS = 5, EACH = 10 };
	for (uint64_t most = 0; most <= CHUNKS * EACH + 5; most += 5) {
		tidefile f;
		tide_model *m = NULL;
		const tide_load_options opt = { .max_events = most };
		uint64_t want = !most || most > CHUNKS * EACH ? CHUNKS * EACH : most / EACH * EACH;
		tidefile_start_full(&f);
		for (int i = 0; i < CHUNKS * EACH; i++) {
			ev_alloc(&f, 1, 1 + (uint64_t)i, 1, 1000 * (1 + (uint64_t)i), 100);
			if (i % EACH == EACH - 1)
				tidefile_flush(&f, 1);
		}
		tidefile_end(&f);
		tidefile_save(&f, path);
		tidefile_free(&f);
		assert_int_equal(tide__load(path, &opt, &m, NULL), TIDE_OK);
		assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
		assert_int_equal(m->allocs.n - 1, want);
		assert_int_equal(fact(m, "loss.left_out_events"), (int64_t)(CHUNKS * EACH - want));
		assert_int_equal(fact(m, "loss.missing_events"), 0);
		assert_int_equal(fact(m, "loss.missing_slots"), 0);
		tide__model_free(m);
	}
}

/* A preview reads whole chunks up to about a number of bytes, and reports no loss. */
static void test_beginning(void **state)
{
	enum { CHUNKS = 20, EACH = 100 };
	tidefile f;
	struct stat st;
	size_t last = 0;
	tidefile_start_full(&f);
	for (int i = 0; i < CHUNKS * EACH; i++) {
		ev_alloc(&f, 1, 1 + (uint64_t)i, 1, 1000 * (1 + (uint64_t)i), 100);
		if (i % EACH == EACH - 1)
			tidefile_flush(&f, 1);
	}
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	assert_int_equal(stat(path, &st), 0);
	for (off_t most = 1; most <= st.st_size + 100; most += st.st_size / 40) {
		const tide_load_options opt = { .max_bytes = (uint64_t)most };
		tide_model *m = NULL;
		assert_int_equal(tide__load(path, &opt, &m, NULL), TIDE_OK);
		assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
		assert_no_loss(m);
		assert_true(m->allocs.n >= last && (m->allocs.n - 1) % EACH == 0);
		last = m->allocs.n;
		tide__model_free(m);
	}
	assert_int_equal(last - 1, CHUNKS * EACH);
}

/* Addresses that a fixed hash would put into one slot: they must not collide. */
static void test_addresses_made_to_meet(void **state)
{
	uint64_t inverse = 0x9e3779b97f4a7c15u; /* of itself, mod 2^64, by Newton's method */
	static uint64_t size[4097];
	const uint64_t *sizes = size;
	tide_live l;
	tide_claim c;
	size_t longest = 0;
	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
	assert_true(tide__live_init(&l, &sizes));
	for (uint32_t i = 1; i <= 4096;
	     i++) /* of a leaf each: 6 bits are its places, 3 its group */
		assert_true(tide__live_put(&l, 1, (((uint64_t)i << 40) * inverse) << 9, 1, i, &c));
	for (size_t i = 0; i <= l.mask; i++) {
		const tide_leaf *leaf = &l.leaves[l.slots[i].leaf];
		uint64_t hash = tide__live_hash(&l, leaf->pool, leaf->key);
		size_t home = l.slots[i].leaf ? tide__live_home(&l, hash, leaf->key) : i;
		size_t way = (i - home) & l.mask;
		longest = way > longest ? way : longest;
	}
	assert_true(longest < 512); /* of 4096; a table half full has some ten */
	tide__live_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_place_in_job),
		cmocka_unit_test(test_stacks_together),
		cmocka_unit_test(test_stacks_refused),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_repairs),
		cmocka_unit_test(test_lost_begin),
		cmocka_unit_test(test_segment_parts),
		cmocka_unit_test(test_only_some),
		cmocka_unit_test(test_beginning),
		cmocka_unit_test(test_addresses_made_to_meet),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
