// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Out of memory: the allocator's state at the event, and the same state with one group's blocks
 * counted as free, which shows the effect of freeing that group. */
#include "analyze/allocator/oom.h"

#include <string.h>

#include "analyze/allocator/oom_recorded.h"
#include "analyze/allocator/sim/requests.h"
#include "base/error.h"
#include "base/mem.h"

static bool is_oom(const tide_model *m, uint32_t device, size_t i)
{
	return m->marks.kind[i] == TIDE_MARK_OOM &&
	       (device == TIDE_ANY || m->pools.device[m->marks.pool[i].i].i == device);
}

tide_code tide__oom_marks_find(const tide_model *m, uint32_t device, uint32_t **rows, size_t *n,
			       tide_error *err)
{
	*n = 0;
	for (size_t i = 1; i < m->marks.n; i++)
		*n += is_oom(m, device, i);
	*rows = tide__alloc(*n, sizeof **rows);
	if (!*rows)
		return tide__nomem(err);
	*n = 0;
	for (size_t i = 1; i < m->marks.n; i++)
		if (is_oom(m, device, i))
			(*rows)[(*n)++] = (uint32_t)i;
	return TIDE_OK;
}

/* ---- room -------------------------------------------------------------------------------- */

/* Returns the state without freeing anything: segments that are free already, and the largest free
 * block. */
static tide_oom_room as_it_was(const tide_state *s)
{
	tide_oom_room r = { .largest = s->total.largest_free };

	for (size_t g = 0; g < s->n_segments; g++)
		r.released += s->segments[g].n_used ? 0 : s->segments[g].size;
	return r;
}

/* Blocks of the first n groups, group after group, in address order. */
struct sorted {
	uint32_t *block;
	size_t *end;	   /* per group: where its blocks end and the next one's begin */
	uint32_t *group;   /* of every block; n for free ones and those of other groups */
	uint32_t *segment; /* of every block */
};

static void find_homes(const tide_state *s, const uint32_t *of, size_t n, struct sorted *out)
{
	for (size_t g = 0; g < s->n_segments; g++)
		for (size_t i = s->segments[g].first; i < s->segments[g].first + s->segments[g].n;
		     i++) {
			uint32_t k = of[s->blocks[i].alloc];

			out->segment[i] = (uint32_t)g;
			out->group[i] = k ? k - 1 : (uint32_t)n;
			if (k)
				out->end[k]++;
		}
}

static bool sort_blocks(const tide_model *m, const tide_state *s, const tide_live_set *a,
			tide_groups *groups, size_t n, struct sorted *out)
{
	uint32_t *of = tide__calloc(m->allocs.n + 1, sizeof *of); /* alloc -> group + 1 */

	if (!of || !out->block || !out->end || !out->group || !out->segment) {
		tide__free(of);
		return false;
	}
	for (size_t i = 0; i < a->n; i++) {
		size_t k = tide__groups_find(groups, tide__groups_key(groups, m, a->rows[i]));

		of[a->rows[i]] = k < n ? (uint32_t)k + 1 : 0;
	}
	find_homes(s, of, n, out);
	for (size_t k = 0; k < n; k++)
		out->end[k + 1] += out->end[k]; /* here the begin of group k + 1 ... */
	for (size_t i = 0; i < s->n_blocks; i++)
		if (out->group[i] < n)
			out->block[out->end[out->group[i]]++] = (uint32_t)i; /* ... and ends */
	tide__free(of);
	return true;
}

/* Returns the contiguous free bytes around block i if its group were free; *last is the last block.
 * Free blocks are never adjacent, so the number of steps is at most twice the number of the group's
 * blocks passed.
 */
static uint64_t piece(const tide_state *s, const struct sorted *x, size_t i, size_t *last)
{
	const tide_state_segment *g = &s->segments[x->segment[i]];
	uint32_t k = x->group[i];
	uint64_t size = i > g->first && !s->blocks[i - 1].alloc ? s->blocks[i - 1].size : 0;

	for (; i < g->first + g->n && (!s->blocks[i].alloc || x->group[i] == k); i++)
		size += s->blocks[i].size;
	*last = i - 1;
	return size;
}

static void try_group(const tide_state *s, const struct sorted *x, size_t k, tide_oom_room *r)
{
	size_t seen = 0, last = 0, begin = k ? x->end[k - 1] : 0;

	for (size_t i = begin; i < x->end[k]; i++) {
		size_t b = x->block[i];
		bool first = i == begin;

		seen = first || x->segment[b] != x->segment[x->block[i - 1]] ? 1 : seen + 1;
		if (seen == s->segments[x->segment[b]].n_used)
			r->released += s->segments[x->segment[b]].size;
		if (!first && b <= last)
			continue;
		uint64_t size = piece(s, x, b, &last);

		if (size > r->largest)
			r->largest = size;
	}
}

static void judge_room(const tide_oom *o, tide_oom_room *r)
{
	uint64_t left =
		o->cause == TIDE_OOM_LIMITED || o->device_free < 0 ? 0 : (uint64_t)o->device_free;
	r->enough =
		r->largest >= o->asked || (o->device_free >= 0 && r->released + left >= o->needed);
}

/* O(blocks) for any number of groups. */
static tide_code try_rooms(const tide_model *m, const tide_state *s, const tide_live_set *a,
			   size_t top, tide_oom *o, tide_error *err)
{
	tide_oom_room base = as_it_was(s);
	size_t n = o->n_room = o->groups.n < top ? o->groups.n : top;
	struct sorted x = { .block = tide__alloc(s->n_blocks, sizeof *x.block),
			    .end = tide__calloc(n + 1, sizeof *x.end),
			    .group = tide__alloc(s->n_blocks, sizeof *x.group),
			    .segment = tide__alloc(s->n_blocks, sizeof *x.segment) };
	o->room = tide__calloc(n, sizeof *o->room);
	bool ok = o->room && sort_blocks(m, s, a, &o->groups, n, &x);

	for (size_t k = 0; ok && k < n; k++) {
		o->room[k] = base;
		o->room[k].row = k;
		try_group(s, &x, k, &o->room[k]);
		judge_room(o, &o->room[k]);
	}
	tide__free(x.block);
	tide__free(x.end);
	tide__free(x.group);
	tide__free(x.segment);
	return ok ? TIDE_OK : tide__nomem(err);
}

/* A bank needs contiguous bytes, and where a group's bytes are is unknown: only their number
 * counts.
 */
static tide_code try_banks(const tide_model *m, size_t top, tide_oom *o, tide_error *err)
{
	uint32_t banks = m->pools.banks[m->marks.pool[o->mark].i];
	o->n_room = o->groups.n < top ? o->groups.n : top;
	o->room = tide__calloc(o->n_room, sizeof *o->room);
	o->rooms_known = o->cause == TIDE_OOM_FULL;
	for (size_t k = 0; o->room && k < o->n_room; k++) {
		uint64_t per_bank = o->groups.rows[k].bytes / banks;
		o->room[k].row = k;
		o->room[k].enough =
			o->banks.size >= o->banks.need && o->banks.free + per_bank >= o->banks.need;
	}
	return o->room ? TIDE_OK : tide__nomem(err);
}

/* ---- the event --------------------------------------------------------------------------- */

void tide__oom_begin(const tide_model *m, uint32_t mark, tide_oom *out)
{
	memset(out, 0, sizeof *out);
	out->mark = mark;
	out->t = m->marks.t[mark];
	out->asked = m->marks.value[mark] > 0 ? (uint64_t)m->marks.value[mark] : 0;
	tide_sim_config settings;
	(void)tide__sim_read_recorded(m, &settings);
	out->needed = tide__sim_segment(&settings, out->asked);
	out->device_free = m->marks.extra[mark];
	out->limit = TIDE_RESERVED_NONE;
	tide__oom_banks_find(m, mark, &out->banks);
	if (out->banks.n)
		out->needed = out->asked;
}

void tide__oom_add_recorded(const tide_model *m, uint32_t device, tide_oom *out)
{
	if (device == TIDE_ANY || out->banks.n)
		return;
	uint64_t told = tide__recorded_allocated(m, device, out->t);
	out->limit = tide__recorded_limit(m, device, out->t);
	if (told == TIDE_RECORDED_NOTHING || told <= out->at.allocated)
		return;
	out->at.active += told - out->at.allocated; /* from before the recording */
	out->at.allocated = told;
}

static void judge_banks(tide_oom *o)
{
	const tide_oom_banks *b = &o->banks;
	o->unallocated = o->reserved = TIDE_RESERVED_NONE;
	if (b->exact)
		o->device_free = (int64_t)(b->free * b->n);
	uint64_t room = b->free < b->size ? b->free : b->size;
	if (room < b->need) { /* skipped if both are unknown */
		o->cause = TIDE_OOM_FULL;
		o->missing = (b->need - room) * b->n;
	} else if (b->largest != TIDE_BANK_UNKNOWN && b->largest < b->need) {
		o->cause = TIDE_OOM_FRAGMENTED;
	}
}

void tide__oom_judge(tide_oom *o)
{
	bool known = o->reserved != TIDE_RESERVED_NONE;

	o->rooms_known = o->segments_known;
	if (o->banks.n) {
		judge_banks(o);
		return;
	}
	o->unallocated = !known				 ? TIDE_RESERVED_NONE
			 : o->reserved > o->at.allocated ? o->reserved - o->at.allocated
							 : 0;
	if (known && !o->segments_known) /* sampled */
		o->at.free = o->reserved > o->at.active ? o->reserved - o->at.active : 0;
	if (!known || o->device_free < 0)
		return;
	if ((uint64_t)o->device_free >= o->needed) {
		o->cause = TIDE_OOM_LIMITED;
		o->below = o->reserved + o->needed;
		return;
	}
	o->capacity = o->reserved + (uint64_t)o->device_free;
	uint64_t free = (uint64_t)o->device_free + o->at.free;

	o->cause = free >= o->asked ? TIDE_OOM_FRAGMENTED : TIDE_OOM_FULL;
	o->missing = free >= o->asked ? 0 : o->asked - free;
}

/* For an event without a device: all devices with segments. */
static tide_code find_reserved(const tide_model *m, uint32_t device, tide_oom *o, tide_error *err)
{
	tide_reserved r;

	if (device == TIDE_ANY) {
		o->source = o->segments_known ? TIDE_RESERVED_SEGMENTS : TIDE_RESERVED_UNKNOWN;
		o->reserved = o->segments_known ? o->at.reserved : TIDE_RESERVED_NONE;
		return TIDE_OK;
	}
	tide_code rc = tide__find_reserved(m, &r, err);

	if (rc != TIDE_OK)
		return rc;
	o->source = r.devices[device];
	o->reserved = tide__reserved_at(&r, device, m->marks.position[o->mark], o->t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

/* Replaces the state of a recording without segments by that of a replay, if it is the same. */
static tide_code rebuild(const tide_model *m, uint32_t device, tide_state *s, tide_oom *o,
			 tide_error *err)
{
	tide_oom_replayed x;

	if (o->segments_known || device == TIDE_ANY || o->banks.n ||
	    o->source != TIDE_RESERVED_SAMPLES || o->reserved == TIDE_RESERVED_NONE ||
	    m->devices.kind[device] != TIDE_DEVICE_CUDA)
		return TIDE_OK;
	uint64_t told = tide__recorded_allocated(m, device, o->t);
	tide_code rc = tide__oom_replay(m, device, o->mark, o->reserved,
					told == TIDE_RECORDED_NOTHING ? TIDE_RESERVED_NONE : told,
					&x, err);

	if (rc != TIDE_OK)
		return rc;
	o->compared = x.blocks;
	o->differs = x.first;
	if (!x.known)
		return TIDE_OK;
	tide__state_free(s);
	*s = x.state;
	o->at = s->total;
	o->segments_known = o->replayed = true;
	return TIDE_OK;
}

tide_code tide__find_oom(const tide_model *m, uint32_t mark, tide_group_by by, size_t top,
			 tide_oom *out, tide_error *err)
{
	uint32_t pool = m->marks.pool[mark].i;
	uint32_t device = pool ? m->pools.device[pool].i : TIDE_ANY;
	tide_live_set a = { 0 };
	tide_state s;

	tide__oom_begin(m, mark, out);
	tide_code rc = tide__state_find_at(m, m->marks.position[mark], device, &s, err);

	if (rc != TIDE_OK)
		return rc;
	out->at = s.total;
	out->segments_known = s.known;
	rc = find_reserved(m, device, out, err);
	if (rc == TIDE_OK)
		rc = rebuild(m, device, &s, out, err);
	tide__oom_add_recorded(m, device, out);
	tide__oom_judge(out);
	if (rc == TIDE_OK)
		rc = tide__live_set_at(m, m->marks.position[mark], device,
				       out->banks.n ? pool : TIDE_ANY, &a, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &a, by, &out->groups, err);
	if (rc == TIDE_OK)
		rc = out->banks.n ? try_banks(m, top, out, err)
				  : try_rooms(m, &s, &a, top, out, err);
	tide__live_set_free(&a);
	tide__state_free(&s);
	return rc;
}

void tide__oom_free(tide_oom *o)
{
	tide__groups_free(&o->groups);
	tide__free(o->room);
	memset(o, 0, sizeof *o);
}
