// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Made-up trainings: a loader that allocates for every sample, a forward and a backward pass whose
 * allocations are fixed + each x size bytes, steps that depend on the batch, a smaller last batch,
 * evaluation between epochs. A training that is performed at a size gives a model and its peak. */
#ifndef TIDE_TESTS_SOME_TRAINING_H
#define TIDE_TESTS_SOME_TRAINING_H

#include "some_model.h"
#include "testing.h"

enum { PARTS = 12, KEPT = 512 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* ---- a training ---- */

static struct program {
	uint64_t weights, sample, moment; /* bytes; those of a sample, and for a moment with each */
	struct part {			  /* of a step */
		uint64_t fixed, each;
		unsigned until; /* freed before this part, PARTS = at the end of the step */
		unsigned place;
	} part[PARTS];
	unsigned n, forward; /* parts; of these in the forward pass */
	uint64_t state;	     /* bytes that the first step leaves for good */
	uint64_t rows;
	bool loader, eval, steps_marked;
} program;

static void invent(void)
{
	struct program *p = &program;
	*p = (struct program){ .weights = 1 + below(100000),
			       .sample = 1 + below(900),
			       .moment = below(2) ? below(5000) : 0,
			       .n = 2 + (unsigned)below(PARTS - 1),
			       .state = below(50000),
			       .rows = 400 + below(100),
			       .loader = below(2),
			       .eval = below(2),
			       .steps_marked = below(2) };
	p->forward = 1 + (unsigned)below(p->n - 1);
	for (unsigned i = 0; i < p->n; i++)
		p->part[i] =
			(struct part){ below(3) ? 1 + below(60000) : 1, below(2) ? below(3000) : 0,
				       i + 1 + (unsigned)below(PARTS - i), (unsigned)below(4) };
}

struct run {
	tide_model *m;
	int64_t t;
	uint64_t live, peak;
};

/* some_span looks for its parent among all; here there are many. */
static uint32_t span(struct run *r, const char *name, int64_t t1, uint32_t parent)
{
	uint32_t s = tide__push(&r->m->spans, &tide_spans_desc);
	r->m->spans.lane[s].i = 1;
	r->m->spans.cat[s] = TIDE_CAT_OP;
	r->m->spans.name[s] = tide__intern(r->m, name);
	r->m->spans.t0[s] = r->t;
	r->m->spans.t1[s] = r->m->t_end = t1;
	r->m->spans.parent[s].i = parent;
	return s;
}

static uint32_t make(struct run *r, const char *outer, const char *op, uint64_t bytes)
{
	uint32_t around = outer ? span(r, outer, r->t + 2, 0) : 0;
	uint32_t in = span(r, op, r->t + 1, around);
	uint32_t a = some_alloc(r->m, 1, bytes, r->t);
	r->m->allocs.span[a].i = in;
	r->t += 3;
	r->live += bytes;
	r->peak = r->live > r->peak ? r->live : r->peak;
	return a;
}

static void drop(struct run *r, uint32_t a)
{
	r->live -= r->m->allocs.size[a];
	some_free(r->m, a, r->t++);
}

static size_t load(struct run *r, uint64_t size, uint32_t *made)
{
	size_t n = 0;
	for (uint64_t i = 0; i < size && program.loader; i++) {
		uint32_t moment = program.moment ? make(r, "loader", "decode", program.moment) : 0;
		made[n++] = make(r, "loader", "sample", program.sample);
		if (moment)
			drop(r, moment);
	}
	uint32_t batch = make(r, "loader", "stack", program.sample * size);
	while (n)
		drop(r, made[--n]);
	made[0] = batch;
	return 1;
}

static void step(struct run *r, uint64_t size, bool train)
{
	static const char *const ops[] = { "mm", "add", "mm", "relu" };
	uint32_t made[KEPT], part[PARTS] = { 0 };
	load(r, size, made);
	for (unsigned i = 0; i < (train ? program.n : program.forward); i++) {
		const struct part *p = &program.part[i];
		for (unsigned k = 0; k < i; k++)
			if (part[k] && (!train || program.part[k].until <= i)) {
				drop(r, part[k]);
				part[k] = 0;
			}
		if (!i) /* a call of the model */
			span(r, "nn.Module: Net", r->t + 1, 0), r->t += 2;
		part[i] =
			make(r, i < program.forward ? NULL : "autograd::engine::evaluate_function",
			     ops[p->place], p->fixed + p->each * size);
	}
	for (unsigned k = 0; k < program.n; k++)
		if (part[k])
			drop(r, part[k]);
	drop(r, made[0]);
}

static tide_model *perform(uint64_t size, uint64_t *peak)
{
	struct run r = { .m = some_machine() };
	bool first = true;
	(void)some_model;
	make(&r, NULL, "init", program.weights);
	for (unsigned epoch = 0; epoch < 2; epoch++) {
		for (uint64_t at = 0; at < program.rows; at += size) {
			if (program.steps_marked) {
				uint32_t k = tide__push(&r.m->marks, &tide_marks_desc);
				r.m->marks.kind[k] = TIDE_MARK_STEP;
				r.m->marks.t[k] = r.t++;
				r.m->marks.position[k] = r.m->memory_events.n;
			}
			step(&r, size < program.rows - at ? size : program.rows - at, true);
			if (first && program.state)
				make(&r, "optimizer", "state", program.state);
			first = false;
		}
		for (uint64_t at = 0; program.eval && at < program.rows / 3; at += size)
			step(&r, size, false);
	}
	*peak = r.peak;
	assert_int_equal(tide__model_check(r.m, NULL), TIDE_OK);
	return r.m;
}

#endif
