// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The main loop of loading a .tide file. Rows for a whole run of events are reserved before the
 * run, so that the common cases are plain stores into columns. */
#include "import/tide/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidemark/detail/slot.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/varint.h"
#include "import/tide/build_rows.h"
#include "model/span_parents.h"
#include "model/strings.h"

bool tide__build_init(tide_build *b, tide_model *m, tide_defs *defs)
{
	memset(b, 0, sizeof *b);
	b->m = m;
	b->defs = defs;
	b->key_arg = tide__intern(m, "arg");
	return b->key_arg.i &&
	       tide__live_init(&b->allocs, (const uint64_t *const *)&m->allocs.size) &&
	       tide__live_init(&b->segments, (const uint64_t *const *)&m->segments.size);
}

void tide__build_free(tide_build *b)
{
	tide__live_free(&b->allocs);
	tide__live_free(&b->segments);
	tide__map_free(&b->tensors);
	tide__strings_free(b->view_keys);
	tide__map_free(&b->counters);
	tide__forward_backward_free(&b->joins);
	tide__device_rows_free(&b->device);
	tide__free(b->strays);
	memset(b, 0, sizeof *b);
}

/* ---- ops ---- */

static bool push_open(tide_ring *r, uint64_t level, uint32_t span)
{
	if (!TIDE_ROOM(r->open, r->cap_open, r->n_open + 1))
		return false;
	r->open[r->n_open++] = (struct tide_open){ level, span };
	r->top = span;
	return true;
}

/* Begins a span; its row is reserved. */
static bool begin_span(tide_build *b, tide_ring *r, int64_t t, uint32_t name, uint8_t flags)
{
	tide_spans *s = &b->m->spans;
	size_t i = s->n++;
	s->t0[i] = t;
	s->t1[i] = t;
	s->lane[i] = (tide_lane_id){ r->lane };
	s->name[i] = (tide_str){ name };
	s->parent[i] = (tide_span_id){ r->top };
	s->cause[i] = (tide_span_id){ 0 };
	s->stack[i] = s->stack[r->top]; /* unless the event overrides it; row 0 has none */
	s->cat[i] = TIDE_CAT_OP;
	s->flags[i] = flags;
	return push_open(r, r->depth + 1, (uint32_t)i);
}

/* Ends spans deeper than `depth`. `flag`: TIDE_SPAN_UNWOUND unless their own end was seen. */
static void end_spans(tide_build *b, tide_ring *r, uint64_t depth, int64_t t, uint8_t flag)
{
	tide_spans *s = &b->m->spans;
	while (r->n_open && r->open[r->n_open - 1].level > depth) {
		uint32_t i = r->open[--r->n_open].span;
		s->t1[i] = t;
		s->flags[i] |= flag;
	}
	r->top = r->n_open ? r->open[r->n_open - 1].span : 0;
	r->depth = depth;
}

/* Adds the details of a begin: a number, a call stack, an origin. A number that links backward
 * to forward is named "sequence"; any other is the program's own. */
static bool begin_more(tide_build *b, const tide_ring *r, const tide_event *e)
{
	size_t row;
	tide_attrs *a = &b->m->attrs;
	bool joins = e->kind != 1 && e->requested >> 32;
	if (joins && !b->key_sequence.i && !(b->key_sequence = tide__intern(b->m, "sequence")).i)
		return false;
	if (e->size || e->kind == 1) {
		if (!tide__table_push(a, &tide_attrs_desc, &row))
			return false;
		a->span[row] = (tide_span_id){ r->top };
		a->key[row] = joins ? b->key_sequence : b->key_arg;
		a->number[row] = (int64_t)e->size;
	}
	if (e->kind == 1) {
		if (tide__arg_goes_on(e->size))
			b->m->spans.flags[r->top] |= TIDE_SPAN_AGAIN;
		return true;
	}
	uint32_t stack = (uint32_t)e->requested;
	if (stack)
		b->m->spans.stack[r->top] =
			(tide_stack_id){ tide__ids_get(&b->defs->stacks, stack, &b->undefined) };
	return tide__forward_backward_begin(&b->joins, b->m, r->top, e->size,
					    (uint32_t)(e->requested >> 32));
}

static bool on_begin(tide_build *b, tide_ring *r, const tide_event *e, int64_t t)
{
	uint32_t name = tide__ids_get(&b->defs->names, e->name, &b->undefined);
	if (!begin_span(b, r, t, name, 0))
		return false;
	r->depth++;
	return !e->kind || begin_more(b, r, e);
}

static void on_end(tide_build *b, tide_ring *r, int64_t t)
{
	if (r->depth == 0)
		b->op_end_unmatched++;
	else
		end_spans(b, r, r->depth - 1, t, 0);
}

static bool on_depth(tide_build *b, tide_ring *r, uint64_t depth, int64_t t)
{
	if (depth <= r->depth) {
		end_spans(b, r, depth, t, TIDE_SPAN_UNWOUND);
		return true;
	}
	/* Adds one span that represents all lost begins. */
	b->op_begin_lost += depth - r->depth;
	bool ok = begin_span(b, r, t, 0, TIDE_SPAN_LOST);
	r->depth = depth;
	return ok;
}

static bool on_lane(tide_build *b, tide_ring *r, const tide_event *e, int64_t t)
{
	end_spans(b, r, 0, t, TIDE_SPAN_UNWOUND);
	r->file_lane = e->name;
	r->lane = e->name ? tide__defs_get_lane(b->defs, e->name, e->size) : 0;
	if (r->lane && e->kind == 0)
		b->m->lanes.number[r->lane] = (int64_t)e->size;
	return r->lane || !e->name;
}

static tide_code make_room(tide_build *b, size_t n, tide_error *err);

/* ---- allocations ---- */

static inline void end_alloc(tide_build *b, uint32_t row, int64_t t, uint32_t span)
{
	tide_allocs *a = &b->m->allocs;
	a->died[row] = t;
	a->free_span[row] = (tide_span_id){ span };
	tide__build_memory_event(b->m, row, TIDE_MEMORY_FREE);
}

/* A sampled allocation represents 1 / P allocations of its kind, P = 1 - exp(-size / mean): sums
 * of sizes are then unbiased. */
static void estimate(tide_build *b, size_t i)
{
	tide_allocs *a = &b->m->allocs;
	double own = (double)a->size[i], p = -expm1(-own / b->sample_mean);
	double whole = p > 0 ? own / p : b->sample_mean;
	a->size[i] =
		whole < 281474976710655.0 ? (uint64_t)(whole + 0.5) : UINT64_C(281474976710655);
	a->requested[i] = a->size[i];
	a->flags[i] |= TIDE_ALLOC_SAMPLED;
}

/* A heap block that a framework's pool counts from now on (a CPU tensor) is no longer counted
 * here. Its later free ends nothing. */
static bool hand_over(tide_build *b, const tide_event *e, int64_t t)
{
	uint32_t row = tide__live_find(&b->allocs, b->malloc_pool, e->addr);
	if (!row || b->m->allocs.flags[row] & TIDE_ALLOC_HANDED)
		return true;
	b->m->allocs.flags[row] |= TIDE_ALLOC_HANDED;
	end_alloc(b, row, t, 0);
	return !make_room(b, 4, NULL);
}

/* Returns true for the stack of allocations that existed before they were recorded. */
static bool is_before(const tide_build *b, tide_stack_id stack)
{
	const tide_stacks *s = &b->m->stacks;
	if (!stack.i || s->parent[stack.i].i)
		return false;
	tide_str function = b->m->frames.function[s->frame[stack.i].i];
	return !strcmp(tide__text(b->m, function, NULL), TIDE_BEFORE_RECORDING);
}

static inline bool on_alloc(tide_build *b, tide_ring *r, const tide_event *e, int64_t t)
{
	tide_allocs *a = &b->m->allocs;
	tide_claim c;
	uint32_t pool = tide__build_pool(b, e);
	bool heap = b->malloc_pool && b->malloc_pool == pool;
	if (b->malloc_pool && !heap &&
	    b->m->devices.kind[b->m->pools.device[pool].i] == TIDE_DEVICE_HOST &&
	    !hand_over(b, e, t))
		return false;
	size_t i = a->n;
	a->addr[i] = e->addr;
	a->size[i] = e->size;
	a->requested[i] = e->requested;
	a->born[i] = t;
	a->died[i] = TIDE_T_NEVER;
	a->pool[i] = (tide_pool_id){ tide__ids_get(&b->defs->pools, e->pool, &b->undefined) };
	a->span[i] = (tide_span_id){ r->top };
	a->free_span[i] = (tide_span_id){ 0 };
	a->stack[i] =
		e->name ? (tide_stack_id){ tide__ids_get(&b->defs->stacks, e->name, &b->undefined) }
			: b->m->spans.stack[r->top];
	a->lane[i] = (tide_lane_id){ r->lane };
	a->stream[i] = (tide_lane_id){ tide__ids_get(&b->defs->streams, e->stream, &b->undefined) };
	a->role[i] = 0;
	a->flags[i] = 0;
	if (e->name && is_before(b, a->stack[i])) {
		a->flags[i] = TIDE_ALLOC_BEFORE;
		a->stack[i] = (tide_stack_id){ 0 };
	}
	a->basis[i] = TIDE_BASIS_EXACT;
	if (heap && b->sample_mean > 0)
		estimate(b, i);
	uint64_t extent = a->flags[i] & TIDE_ALLOC_SAMPLED ? 0 : e->size;
	if (!tide__live_put(&b->allocs, a->pool[i].i, e->addr, extent, (uint32_t)i, &c))
		return false;
	if (__builtin_expect(c.before && !(a->flags[c.before] & TIDE_ALLOC_HANDED), 0)) {
		a->flags[c.before] |= TIDE_ALLOC_REUSED;
		end_alloc(b, c.before, t, 0);
		b->alloc_reused++;
	}
	if (__builtin_expect(c.overlaps, 0)) {
		a->flags[i] |= TIDE_ALLOC_OVERLAPS;
		b->alloc_overlaps++;
	}
	a->n++;
	tide__build_memory_event(b->m, (uint32_t)i, TIDE_MEMORY_ALLOC);
	return true;
}

/* Notes a free without a live allocation. The end of the import decides whether the address was
 * freed before or never allocated. */
static bool stray_free(tide_build *b, const tide_ring *r, const tide_event *e)
{
	if (r->number == TIDE_RING_CARRIED) /* of a block in the part before */
		return true;
	if (b->malloc_pool && tide__build_pool(b, e) == b->malloc_pool) {
		b->heap_older++; /* allocated before the recording, or by the parent */
		return true;
	}
	if (!TIDE_ROOM(b->strays, b->cap_strays, b->n_strays + 1))
		return false;
	uint32_t pool = tide__ids_get(&b->defs->pools, e->pool, &b->undefined);
	b->strays[b->n_strays++] = (struct tide_stray){ e->addr, pool, (uint32_t)b->m->allocs.n };
	return true;
}

static inline bool on_free(tide_build *b, tide_ring *r, const tide_event *e, int64_t t)
{
	uint32_t row = tide__live_take(&b->allocs, tide__build_pool(b, e), e->addr);
	if (__builtin_expect(!row, 0))
		return stray_free(b, r, e);
	if (__builtin_expect(b->m->allocs.flags[row] & TIDE_ALLOC_HANDED, 0))
		return true;
	end_alloc(b, row, t, r->top);
	return true;
}

/* ---- the rest ---- */

static bool set_dims(tide_model *m, uint32_t row, const tide_event *e)
{
	tide_tensors *x = &m->tensors;
	bool bad = false;
	const uint8_t *p = e->bytes;
	if (e->size > x->ndim[row]) { /* a new tensor, or one with more dimensions than before */
		if (!TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + (size_t)e->size))
			return false;
		x->dims[row] = m->n_dims;
		m->n_dims += (size_t)e->size;
	}
	x->ndim[row] = (uint32_t)e->size;
	for (uint64_t i = 0; i < e->size; i++)
		p = tide__varint(p, &m->dims[x->dims[row] + i], &bad);
	return true;
}

/* The last description wins, field by field: absent fields keep their values. */
static bool on_tensor(tide_build *b, const tide_event *e)
{
	tide_model *m = b->m;
	uint32_t alloc = tide__live_find(&b->allocs, tide__build_pool(b, e), e->addr);
	if (!alloc) {
		b->tensor_unknown++;
		return true;
	}
	uint32_t row = tide__map_get(&b->tensors, alloc);
	if (!row) {
		row = tide__push(&m->tensors, &tide_tensors_desc);
		if (!row || !tide__map_put(&b->tensors, alloc, row))
			return false;
		m->tensors.alloc[row] = (tide_alloc_id){ alloc };
		m->tensors.requires_grad[row] = 2;
	}
	uint8_t dtype = (uint8_t)e->stream, role = (uint8_t)(e->stream >> 8);
	if (e->name)
		m->tensors.name[row] =
			(tide_str){ tide__ids_get(&b->defs->names, e->name, &b->undefined) };
	if (e->kind <= 1)
		m->tensors.requires_grad[row] = e->kind;
	if (role)
		m->tensors.role[row] = m->allocs.role[alloc] = role;
	if (!dtype && !e->size)
		return true;
	m->tensors.dtype[row] = dtype;
	return set_dims(m, row, e);
}

/* Adds a use of the allocation at the address, or of the one that it lies in: a storage may begin
 * inside an allocation. */
static bool on_use(tide_build *b, const tide_ring *r, const tide_event *e, int64_t t)
{
	tide_model *m = b->m;
	uint32_t pool = tide__build_pool(b, e), a = tide__live_find(&b->allocs, pool, e->addr);
	size_t row;
	if (!a) {
		a = tide__live_below(&b->allocs, pool, e->addr);
		if (a && e->addr - m->allocs.addr[a] >= m->allocs.size[a])
			a = 0;
	}
	if (!a) { /* it was freed within the op, or is not ours */
		b->use_unknown++;
		return true;
	}
	if (!tide__table_push(&m->uses, &tide_uses_desc, &row))
		return false;
	m->uses.t[row] = t;
	m->uses.position[row] = m->memory_events.n;
	m->uses.alloc[row] = (tide_alloc_id){ a };
	m->uses.span[row] = (tide_span_id){ r->top };
	return true;
}

static bool on_sample(tide_build *b, const tide_event *e, int64_t t)
{
	tide_model *m = b->m;
	size_t row;
	uint32_t c = tide__map_get(&b->counters, e->name);
	if (!c) {
		c = tide__push(&m->counters, &tide_counters_desc);
		if (!c || !tide__map_put(&b->counters, e->name, c))
			return false;
		m->counters.name[c] =
			(tide_str){ tide__ids_get(&b->defs->names, e->name, &b->undefined) };
	}
	if (!tide__table_push(&m->samples, &tide_samples_desc, &row))
		return false;
	m->samples.t[row] = t;
	memcpy(&m->samples.value[row], &e->size, 8);
	m->samples.counter[row] = (tide_counter_id){ c };
	return true;
}

static uint32_t push_mark(tide_build *b, const tide_ring *r, uint8_t kind, int64_t t)
{
	tide_marks *k = &b->m->marks;
	uint32_t row = tide__push(k, &tide_marks_desc);
	if (!row)
		return 0;
	k->t[row] = t;
	k->kind[row] = kind;
	k->position[row] = b->m->memory_events.n;
	k->lane[row] = (tide_lane_id){ r->lane };
	k->extra[row] = -1;
	return row;
}

static bool on_mark(tide_build *b, const tide_ring *r, const tide_event *e, int64_t t)
{
	uint8_t kind = e->kind <= TIDE_MARK_STEP ? e->kind : TIDE_MARK_UNKNOWN;
	uint32_t row = push_mark(b, r, kind, t);
	if (!row)
		return false;
	b->m->marks.name[row] =
		(tide_str){ tide__ids_get(&b->defs->names, e->name, &b->undefined) };
	b->m->marks.value[row] = (int64_t)e->size;
	return true;
}

/* Returns the value of a fact that a process learns only while recording, such as its rank; -1 for
 * anything else. */
static int64_t place_in_job(const char *key, const uint8_t *text, size_t n)
{
	int64_t number = 0;
	if ((strcmp(key, "process.rank") != 0 && strcmp(key, "process.world_size") != 0) || !n ||
	    n > 9)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = 10 * number + (text[i] - '0');
	}
	return number;
}

/* Collects the devices without recorded allocations, reported one at a time, in one fact. */
static bool unreported(tide_model *m, const char *key, const uint8_t *text, size_t n)
{
	char all[256], one[64];
	int64_t at = tide__fact_find(m, key);
	const char *had = at >= 0 ? tide__text(m, m->facts.text[at], NULL) : "";
	snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1),
		 (const char *)text);
	if (!*one || strstr(had, one))
		return true;
	snprintf(all, sizeof all, "%s%s%s", had, *had ? ", " : "", one);
	return tide__fact_text(m, key, all);
}

/* Handles events of `tidemark ctl`: a mark, or recording was switched off or on. */
static bool on_control(tide_build *b, const tide_ring *r, const tide_event *e, int64_t t)
{
	bool mark = e->size >= 5 && !memcmp(e->bytes, "mark ", 5);
	bool off = e->size == 3 && !memcmp(e->bytes, "off", 3);
	if (off && !tide__fact_add(b->m, "loss.paused", 1))
		return false;
	uint32_t row = push_mark(b, r, mark ? TIDE_MARK_CHECKPOINT : TIDE_MARK_ANNOTATION, t);
	if (!row)
		return false;
	b->m->marks.name[row] =
		mark ? tide__intern_n(b->m, (const char *)e->bytes + 5, (size_t)e->size - 5)
		     : tide__intern(b->m, off ? "recording off" : "recording on");
	return true;
}

/* Returns true for keys that describe the whole recording. A prediction may have several unknowns:
 * they stay annotations. */
static bool is_fact(const char *key)
{
	static const char *const prefixes[] = { "allocator.", "loss.",	  "gpu.",
						"predicted.", "session.", "uses." };
	static const char unknown[] = "predicted.unknown"; /* also .less and .more */
	if (!strcmp(key, "uses.off")) /* a moment: from here on, uses are unknown */
		return false;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(key, prefixes[i], strlen(prefixes[i])))
			return strncmp(key, unknown, sizeof unknown - 1) != 0;
	return false;
}

static uint32_t held_at(const tide_build *b, uint64_t addr)
{
	uint32_t a = 0;
	for (uint32_t pool = 1; !a && pool < b->m->pools.n; pool++)
		a = tide__live_find(&b->allocs, pool, addr);
	return a;
}

static bool push_holder(tide_build *b, int64_t t, uint32_t alloc, int64_t sequence, tide_str path)
{
	tide_referrers *h = &b->m->referrers;
	size_t row;
	if (!tide__table_push(h, &tide_referrers_desc, &row))
		return false;
	h->t[row] = t;
	h->position[row] = b->m->memory_events.n;
	h->alloc[row] = (tide_alloc_id){ alloc };
	h->sequence[row] = sequence;
	h->path[row] = path;
	return true;
}

/* "0xADDRESS PATH", or with `graph` "NUMBER,NUMBER... PATH". */
static bool on_holder(tide_build *b, const tide_event *e, int64_t t, bool graph)
{
	char numbers[4096];
	const char *text = (const char *)e->bytes, *blank = memchr(text, ' ', (size_t)e->size);
	size_t n = blank ? (size_t)(blank - text) : 0;
	if (!n || n >= sizeof numbers || e->size - n > 4096)
		return true; /* no holder of ours */
	memcpy(numbers, text, n);
	numbers[n] = 0;
	tide_str path = tide__intern_n(b->m, blank + 1, (size_t)e->size - n - 1);
	if (!graph) {
		uint32_t a = held_at(b, strtoull(numbers, NULL, 16));
		return !a || push_holder(b, t, a, -1, path);
	}
	for (char *at = numbers, *end; *at; at = *end == ',' ? end + 1 : end) {
		int64_t sequence = strtoll(at, &end, 10);
		if (end == at)
			break;
		if (sequence >= 0 && !push_holder(b, t, 0, sequence, path))
			return false;
	}
	return true;
}

static bool on_annotation(tide_build *b, const tide_ring *r, const tide_event *e, int64_t t)
{
	tide_str name = { tide__ids_get(&b->defs->names, e->name, &b->undefined) };
	const char *key = tide__text(b->m, name, NULL);
	int64_t number = place_in_job(key, e->bytes, (size_t)e->size);
	if (number >= 0)
		return tide__fact_set_number(b->m, key, number);
	if (!strcmp(key, "recording.first") && e->size == 32) { /* recorded after the others */
		char id[33] = "";
		memcpy(id, e->bytes, 32);
		return tide__fact_text(b->m, key, id);
	}
	if (!strcmp(key, "holder") || !strcmp(key, "holder.graph"))
		return on_holder(b, e, t, key[6] != 0);
	if (!strcmp(key, "tidemark.control"))
		return on_control(b, r, e, t);
	if (!strcmp(key, "loss.unreported_devices"))
		return unreported(b->m, key, e->bytes, (size_t)e->size);
	if (is_fact(key)) {
		char text[256];
		snprintf(text, sizeof text, "%.*s", (int)(e->size < 255 ? e->size : 255),
			 (const char *)e->bytes);
		return tide__fact_text(b->m, key, text);
	}
	uint32_t row = push_mark(b, r, TIDE_MARK_ANNOTATION, t);
	if (!row)
		return false;
	b->m->marks.name[row] = name;
	b->m->marks.text[row] = tide__intern_n(b->m, (const char *)e->bytes, (size_t)e->size);
	return b->m->marks.text[row].i || !e->size;
}

static bool on_oom(tide_build *b, const tide_ring *r, const tide_event *e, int64_t t)
{
	uint32_t row = push_mark(b, r, TIDE_MARK_OOM, t);
	if (!row)
		return false;
	b->m->marks.pool[row] =
		(tide_pool_id){ tide__ids_get(&b->defs->pools, e->pool, &b->undefined) };
	b->m->marks.value[row] = (int64_t)e->size;
	b->m->marks.extra[row] = (int64_t)e->addr < 0 ? -1 : (int64_t)e->addr;
	return true;
}

static bool on_rare(tide_build *b, tide_ring *r, const tide_event *e, int64_t t)
{
	switch (e->tag) {
	case TIDE_REC_LANE:
		b->events--;
		return on_lane(b, r, e, t);
	case TIDE_REC_DEPTH:
		b->events--;
		return on_depth(b, r, e->size, t);
	case TIDE_REC_SEG_ALLOC:
		return tide__build_segment_alloc(b, e, t);
	case TIDE_REC_SEG_FREE:
		return tide__build_segment_free(b, e, t);
	case TIDE_REC_TENSOR:
		return on_tensor(b, e);
	case TIDE_REC_VIEW:
		return tide__build_view(b, e);
	case TIDE_REC_USE:
		return on_use(b, r, e, t);
	case TIDE_REC_SAMPLE:
		return on_sample(b, e, t);
	case TIDE_REC_MARK:
		return on_mark(b, r, e, t);
	case TIDE_REC_ANNOTATE:
		return on_annotation(b, r, e, t);
	case TIDE_REC_OOM:
		return on_oom(b, r, e, t);
	case TIDE_REC_DEVICE_LOG:
		return tide__device_rows_add(&b->device, e->bytes, (size_t)e->size);
	default:
		return true;
	}
}

/* ---- runs ---- */

enum {
	AHEAD = 12,    /* events to look ahead, so that prefetched memory arrives in time */
	CACHED = 1024, /* so many leaves are in the cache anyway */
};

/* Prefetches memory. With many live allocations, finding one and writing its end are cache misses:
 * prefetch the slot 3 * AHEAD events before, the leaf 2 * AHEAD, the row AHEAD events before. */
static inline void look_ahead(const tide_build *b, const tide_event *ev, size_t i, size_t n)
{
	const tide_live *l = &b->allocs;
	if (i + 3 * AHEAD < n && l->n_leaves > CACHED) {
		const tide_event *e = &ev[i + 3 * AHEAD];
		tide__live_prefetch(l, tide__build_pool(b, e), e->addr);
		e -= AHEAD;
		tide__live_prefetch_leaf(l, tide__build_pool(b, e), e->addr);
	}
	if (i + AHEAD < n && ev[i + AHEAD].tag == TIDE_REC_FREE) {
		const tide_event *e = &ev[i + AHEAD];
		uint32_t row = tide__live_guess(l, tide__build_pool(b, e), e->addr);
		__builtin_prefetch(&b->m->allocs.died[row], 1);
		__builtin_prefetch(&b->m->allocs.free_span[row], 1);
	}
}

/* Faults in the pages of the next rows before they are written, a range at a time. */
static void fault_in(void *table, const tide_table_desc *d, size_t *done)
{
	enum { STRETCH = 1 << 16 };
	const struct {
		size_t n, cap;
	} *h = table;
	if (h->n < STRETCH || h->n + STRETCH / 2 < *done)
		return;
	size_t from = *done > h->n ? *done : h->n, to = h->n + 2 * STRETCH;
	*done = to < h->cap ? to : h->cap;
	tide__table_fault_in(table, d, from, *done);
}

static tide_code make_room(tide_build *b, size_t n, tide_error *err)
{
	tide_model *m = b->m;
	if (m->allocs.n + n >= UINT32_MAX || m->spans.n + n >= UINT32_MAX)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "more than 4,294,967,295 allocations or ops");
	if (!tide__table_reserve(&m->allocs, &tide_allocs_desc, n) ||
	    !tide__table_reserve(&m->spans, &tide_spans_desc, n) ||
	    !tide__table_reserve(&m->memory_events, &tide_memory_events_desc, 2 * n))
		return tide__nomem(err);
	fault_in(&m->allocs, &tide_allocs_desc, &b->faulted_allocs);
	fault_in(&m->spans, &tide_spans_desc, &b->faulted_spans);
	fault_in(&m->memory_events, &tide_memory_events_desc, &b->faulted_events);
	return TIDE_OK;
}

void tide__build_heap(tide_build *b)
{
	const tide_model *m = b->m;
	int64_t fact = tide__fact_find(m, "capture.heap");
	for (uint32_t i = 1; fact >= 0 && i < m->pools.n; i++)
		if (!strcmp(tide__text(m, m->pools.name[i], NULL), "malloc") &&
		    m->devices.kind[m->pools.device[i].i] == TIDE_DEVICE_HOST)
			b->malloc_pool = i;
	if (b->malloc_pool && !tide__fact_is_text(m, (size_t)fact) && m->facts.number[fact] > 0)
		b->sample_mean = (double)m->facts.number[fact];
}

void tide__build_expect(tide_build *b, uint64_t events)
{
	tide_model *m = b->m;
	if (events < 1000 || events > UINT32_MAX)
		return;
	(void)tide__table_reserve(&m->allocs, &tide_allocs_desc, (size_t)events / 2);
	(void)tide__table_reserve(&m->memory_events, &tide_memory_events_desc, (size_t)events);
	(void)tide__table_reserve(&m->spans, &tide_spans_desc, (size_t)events / 4);
}

tide_code tide__build_run(tide_build *b, tide_ring *r, const tide_event *ev, size_t n,
			  tide_error *err)
{
	tide_code rc = make_room(b, n, err);
	if (rc)
		return rc;
	tide_timebase *clock = &b->defs->clock;
	int64_t t = 0;
	bool ok = true;
	b->events += n;
	for (size_t i = 0; i < n && ok; i++) {
		const tide_event *e = &ev[i];
		look_ahead(b, ev, i, n);
		t = tide__timebase_ns(clock, e->ticks);
		switch (e->tag) {
		case TIDE_REC_ALLOC:
			ok = on_alloc(b, r, e, t);
			break;
		case TIDE_REC_FREE:
			ok = on_free(b, r, e, t);
			break;
		case TIDE_REC_BEGIN:
			ok = on_begin(b, r, e, t);
			break;
		case TIDE_REC_END:
			on_end(b, r, t);
			break;
		default: /* may add memory events: reserve rows again for the following ones */
			ok = on_rare(b, r, e, t) && !make_room(b, n - i, NULL);
		}
	}
	if (t > b->m->t_end)
		b->m->t_end = t;
	return ok ? TIDE_OK : tide__nomem(err);
}

/* ---- the end ---- */

static uint64_t place_key(uint64_t addr, uint32_t pool)
{
	return addr ^ tide__mix(pool + UINT64_C(1));
}

/* A stray free is a second one iff its address was allocated before it. */
static bool sort_strays(tide_build *b)
{
	const tide_allocs *a = &b->m->allocs;
	tide_map first = { 0 }; /* address of a stray -> the first allocation there */
	bool ok = true;
	for (size_t i = 0; ok && i < b->n_strays; i++)
		ok = tide__map_put(&first, place_key(b->strays[i].addr, b->strays[i].pool),
				   UINT32_MAX);
	for (size_t i = b->n_strays ? a->n : 0; ok && i-- > 1;) {
		uint64_t key = place_key(a->addr[i], a->pool[i].i);
		if (tide__map_get(&first, key))
			ok = tide__map_put(&first, key, (uint32_t)i);
	}
	for (size_t i = 0; ok && i < b->n_strays; i++) {
		const struct tide_stray *s = &b->strays[i];
		if (tide__map_get(&first, place_key(s->addr, s->pool)) < s->before)
			b->free_twice++;
		else
			b->free_unknown++;
	}
	tide__map_free(&first);
	return ok;
}

static bool count_facts(tide_build *b)
{
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
#define X(counter, fact, doc) { fact, b->counter },
		TIDE_BUILD_COUNTS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i].n && !tide__fact_add(b->m, counts[i].key, (int64_t)counts[i].n))
			return false;
	return true;
}

tide_code tide__build_finish(tide_build *b, tide_merge *g, tide_error *err)
{
	tide_spans *s = &b->m->spans;
	for (size_t i = 0; i < g->n; i++) {
		tide_ring *r = &g->rings[i];
		for (size_t k = 0; k < r->n_open; k++) {
			s->t1[r->open[k].span] = b->m->t_end;
			s->flags[r->open[k].span] |= TIDE_SPAN_OPEN;
		}
		r->n_open = 0;
	}
	if (!tide__device_rows_finish(&b->device, b->defs))
		return tide__nomem(err);
	tide__table_shrink(&b->m->allocs, &tide_allocs_desc);
	tide__table_shrink(&b->m->memory_events, &tide_memory_events_desc);
	tide__table_shrink(s, &tide_spans_desc);
	b->undefined += b->defs->undefined;
	return (!b->m->flows.n || tide__sort_flows(b->m)) && sort_strays(b) && count_facts(b) &&
			       tide__build_view_roles(b)
		       ? TIDE_OK
		       : tide__nomem(err);
}
