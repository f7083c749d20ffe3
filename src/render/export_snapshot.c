// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* torch's memory snapshot: a pickle that docs.pytorch.org/memory_viz and torch.cuda._memory_viz
 * open.
 *
 * Segments and blocks are the state at the trace's end, device_traces what led to it, in the order
 * of the moves. Frames are shared through the memo, one dict a frame and one list a stack, as torch
 * shares them. CUDA devices keep their numbers; others follow after them. A model without segments
 * (a host heap, a profiler's memory events) has none to write: what is alive gets a segment of its
 * own, and the setting exact_sizes says that sizes are not rounded, so that reading it again gives
 * the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/export.h"
#include "render/picklefile.h"

/* clang-format off */
#define WORDS(W)                                                                                   \
	W(action) W(addr) W(size) W(stream) W(time_us) W(compile_context) W(user_metadata)         \
	W(frames) W(alloc) W(free_requested) W(free_completed) W(segment_alloc) W(segment_free)    \
	W(segment_map) W(segment_unmap) W(snapshot) W(oom) W(device_free) W(pool_id)               \
	W(block_size) W(name) W(filename) W(line) W(device) W(address) W(total_size)               \
	W(allocated_size) W(active_size) W(requested_size) W(segment_type) W(segment_pool_id)      \
	W(is_expandable) W(blocks) W(state) W(large) W(small) W(inactive) W(active_allocated)      \
	W(active_pending_free) W(stage) W(START) W(END)
/* clang-format on */
enum word {
#define W(w) W_##w,
	WORDS(W)
#undef W
		W_N
};
static const char *const words[W_N] = {
#define W(w) #w,
	WORDS(W)
#undef W
};

struct place {
	uint64_t addr;
	uint32_t device, row;
};

typedef struct shot {
	const tide_model *m;
	tide_pkl p;
	uint32_t word[W_N]; /* memo entry + 1 */
	uint32_t *frame;    /* owned, per frame: memo entry + 1 */
	uint32_t *stack;    /* owned, per stack: memo entry + 1 */
	uint32_t *number;   /* owned, per device row: its number in the snapshot */
	uint32_t devices;   /* numbers in all */
	uint8_t *asked;	    /* owned, per alloc: its free was asked for */
	struct place *live; /* owned: allocs alive at the end, by device and address */
	struct place *segs; /* owned: segments alive at the end, the same */
	size_t n_live, n_segs;
	bool started;	     /* an event of this device was written */
	bool host;	     /* pinned host memory is there: its number is `devices` */
	bool exact;	     /* not torch's sizes: no rounding */
	bool bare;	     /* no segments */
	bool timed, private; /* times are known; there are private pools */
} shot;

static void word(shot *s, enum word w)
{
	if (s->word[w]) {
		tide__pkl_get(&s->p, s->word[w] - 1);
		return;
	}
	tide__pkl_text(&s->p, words[w], strlen(words[w]));
	s->word[w] = tide__pkl_memo(&s->p) + 1;
}

static void put_text(shot *s, tide_str t)
{
	size_t n;
	const char *text = tide__text(s->m, t, &n);
	tide__pkl_text(&s->p, text, n);
}

static void put_uint(shot *s, enum word key, uint64_t v)
{
	word(s, key);
	tide__pkl_uint(&s->p, v);
}

/* ---- stacks ---- */

static void put_frame(shot *s, uint32_t f)
{
	if (s->frame[f]) {
		tide__pkl_get(&s->p, s->frame[f] - 1);
		return;
	}
	tide__pkl_dict(&s->p);
	word(s, W_name);
	put_text(s, s->m->frames.function[f]);
	word(s, W_filename);
	put_text(s, s->m->frames.file[f]);
	put_uint(s, W_line, s->m->frames.line[f]);
	tide__pkl_dict_end(&s->p);
	s->frame[f] = tide__pkl_memo(&s->p) + 1;
}

static void put_stack(shot *s, uint32_t stack)
{
	word(s, W_frames);
	if (!stack) {
		tide__pkl_empty_list(&s->p);
		return;
	}
	if (s->stack[stack]) {
		tide__pkl_get(&s->p, s->stack[stack] - 1);
		return;
	}
	tide__pkl_list(&s->p);
	for (uint32_t at = stack; at; at = s->m->stacks.parent[at].i)
		put_frame(s, s->m->stacks.frame[at].i);
	tide__pkl_list_end(&s->p);
	s->stack[stack] = tide__pkl_memo(&s->p) + 1;
}

/* ---- pools, streams, times ---- */

static uint32_t device_of(const shot *s, tide_pool_id pool)
{
	return s->number[s->m->pools.device[pool.i].i];
}

/* A private pool's (a, b); (0, 0) for the others. */
static void put_pool_id(shot *s, tide_pool_id pool)
{
	unsigned a = 0, b = 0;
	if (s->m->pools.kind[pool.i] == TIDE_POOL_PRIVATE &&
	    sscanf(tide__text(s->m, s->m->pools.name[pool.i], NULL), "private (%u, %u)", &a, &b) !=
		    2) {
		a = 0;
		b = pool.i;
	}
	tide__pkl_pair(&s->p, a, b);
}

static void put_stream(shot *s, tide_lane_id lane)
{
	word(s, W_stream);
	tide__pkl_int(&s->p, lane.i ? s->m->lanes.number[lane.i] : 0);
}

static void put_time(shot *s, int64_t t)
{
	if (!s->timed)
		return;
	int64_t ns = s->m->wall_known ? s->m->wall0_ns + t : t;
	word(s, W_time_us);
	tide__pkl_int(&s->p, ns >= 0 ? ns / 1000 : -((-ns + 999) / 1000));
}

/* ---- the state at the end ---- */

static void put_block(shot *s, uint64_t addr, uint64_t size, uint32_t alloc)
{
	const tide_allocs *a = &s->m->allocs;
	tide__pkl_dict(&s->p);
	put_uint(s, W_address, addr);
	put_uint(s, W_size, size);
	put_uint(s, W_requested_size, alloc ? a->requested[alloc] : 0);
	word(s, W_state);
	word(s, !alloc ? W_inactive : s->asked[alloc] ? W_active_pending_free : W_active_allocated);
	put_stack(s, alloc ? a->stack[alloc].i : 0);
	tide__pkl_dict_end(&s->p);
}

/* Live allocs [from, to) of the sorted list lie in [addr, addr + size). */
static void put_segment(shot *s, uint32_t device, uint64_t addr, uint64_t size, tide_pool_id pool,
			tide_lane_id stream, uint8_t kind, uint32_t stack, size_t from, size_t to)
{
	const tide_allocs *a = &s->m->allocs;
	uint64_t used = 0, waiting = 0, asked = 0, at = addr;
	for (size_t i = from; i < to; i++) {
		used += a->size[s->live[i].row];
		waiting += s->asked[s->live[i].row] ? a->size[s->live[i].row] : 0;
		asked += a->requested[s->live[i].row];
	}
	tide__pkl_dict(&s->p);
	put_uint(s, W_device, device);
	put_uint(s, W_address, addr);
	put_uint(s, W_total_size, size);
	put_uint(s, W_allocated_size, used - waiting);
	put_uint(s, W_active_size, used);
	put_uint(s, W_requested_size, asked);
	put_stream(s, stream);
	word(s, W_segment_type);
	bool small = kind == TIDE_SEGMENT_SMALL ||
		     (kind == TIDE_SEGMENT_EXPANDABLE && size % (UINT64_C(20) << 20));
	word(s, small ? W_small : W_large);
	word(s, W_segment_pool_id);
	put_pool_id(s, pool);
	word(s, W_is_expandable);
	tide__pkl_bool(&s->p, kind == TIDE_SEGMENT_EXPANDABLE);
	put_stack(s, stack);
	word(s, W_blocks);
	tide__pkl_list(&s->p);
	for (size_t i = from; i < to; i++) {
		uint32_t alloc = s->live[i].row;
		if (a->addr[alloc] > at)
			put_block(s, at, a->addr[alloc] - at, 0);
		put_block(s, a->addr[alloc], a->size[alloc], alloc);
		at = a->addr[alloc] + a->size[alloc];
	}
	if (at < addr + size)
		put_block(s, at, addr + size - at, 0);
	tide__pkl_list_end(&s->p);
	tide__pkl_dict_end(&s->p);
}

static int by_place(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* Mapped stretches of one kind that touch are one segment to torch. */
static bool continues(const shot *s, uint32_t a, uint32_t b, uint64_t end)
{
	const tide_segments *g = &s->m->segments;
	return g->kind[a] == TIDE_SEGMENT_EXPANDABLE && g->kind[b] == g->kind[a] &&
	       g->pool[a].i == g->pool[b].i && g->stream[a].i == g->stream[b].i &&
	       g->addr[b] == end;
}

/* Of devices [first, last). */
static void put_segments(shot *s, uint32_t first, uint32_t last)
{
	const tide_segments *g = &s->m->segments;
	const tide_allocs *a = &s->m->allocs;
	size_t next = 0;
	tide__pkl_list(&s->p);
	for (size_t i = 0; i < s->n_segs;) {
		uint32_t row = s->segs[i].row, device = s->segs[i].device;
		if (device < first || device >= last) {
			i++;
			continue;
		}
		uint64_t addr = g->addr[row], end = addr + g->size[row];
		for (i++; i < s->n_segs && continues(s, row, s->segs[i].row, end); i++)
			end += g->size[s->segs[i].row];
		struct place from_here = { addr, device, 0 }, to_here = { end, device, 0 };
		while (next < s->n_live && by_place(&s->live[next], &from_here) < 0)
			next++; /* in no segment: the model says so too */
		size_t from = next;
		while (next < s->n_live && by_place(&s->live[next], &to_here) < 0)
			next++;
		put_segment(s, device, addr, end - addr, g->pool[row], g->stream[row], g->kind[row],
			    g->stack[row].i, from, next);
	}
	for (size_t i = 0; s->bare && i < s->n_live; i++) {
		uint32_t r = s->live[i].row;
		if (s->live[i].device < first || s->live[i].device >= last)
			continue;
		put_segment(s, s->live[i].device, a->addr[r], a->size[r], a->pool[r], a->stream[r],
			    TIDE_SEGMENT_LARGE, 0, i, i + 1);
	}
	tide__pkl_list_end(&s->p);
}

/* ---- what happened ---- */

struct event {
	enum word action;
	uint64_t addr, size, block; /* block: of an alloc whose block is longer, exact sizes only */
	tide_pool_id pool;
	tide_lane_id stream;
	uint32_t stack;
	tide_str metadata;
	int64_t t;
};

static void put_event(shot *s, const struct event *e)
{
	s->started = true;
	tide__pkl_dict(&s->p);
	word(s, W_action);
	word(s, e->action);
	put_uint(s, e->action == W_oom ? W_device_free : W_addr, e->addr);
	put_uint(s, W_size, e->size);
	put_stream(s, e->stream);
	put_time(s, e->t);
	word(s, W_compile_context);
	tide__pkl_text(&s->p, "N/A", 3);
	word(s, W_user_metadata);
	put_text(s, e->metadata);
	if (s->private) {
		word(s, W_pool_id);
		put_pool_id(s, e->pool);
	}
	if (e->block)
		put_uint(s, W_block_size, e->block);
	put_stack(s, e->stack);
	tide__pkl_dict_end(&s->p);
}

static void put_alloc_event(shot *s, enum word action, uint32_t alloc, int64_t t)
{
	const tide_allocs *a = &s->m->allocs;
	put_event(s, &(struct event){ .action = action,
				      .addr = a->addr[alloc],
				      .size = a->requested[alloc],
				      .block = s->exact && action == W_alloc &&
							       a->size[alloc] != a->requested[alloc]
						       ? a->size[alloc]
						       : 0,
				      .pool = a->pool[alloc],
				      .stream = a->stream[alloc],
				      .stack = action == W_alloc ? a->stack[alloc].i : 0,
				      .t = t });
}

static void put_stretch(shot *s, enum word action, uint32_t row, uint64_t addr, uint64_t end,
			int64_t t)
{
	const tide_segments *g = &s->m->segments;
	if (end > addr)
		put_event(s, &(struct event){ .action = action,
					      .addr = addr,
					      .size = end - addr,
					      .pool = g->pool[row],
					      .stream = g->stream[row],
					      .stack = g->stack[row].i,
					      .t = t });
}

/* A segment goes. What a partial unmap left of it follows as new rows: those stay. */
static void put_segment_end(shot *s, size_t move)
{
	const tide_segments *g = &s->m->segments;
	const tide_moves *v = &s->m->moves;
	uint32_t row = v->row[move];
	uint64_t at = g->addr[row], end = at + g->size[row];
	if (g->kind[row] != TIDE_SEGMENT_EXPANDABLE) {
		put_stretch(s, W_segment_free, row, at, end, g->died[row]);
		return;
	}
	for (size_t i = move + 1; i < v->n && v->kind[i] == TIDE_MOVE_SEG_ALLOC; i++) {
		uint32_t part = v->row[i];
		if (!(g->flags[part] & TIDE_SEGMENT_PART) || g->addr[part] < at ||
		    g->addr[part] >= end)
			break;
		put_stretch(s, W_segment_unmap, row, at, g->addr[part], g->died[row]);
		at = g->addr[part] + g->size[part];
	}
	put_stretch(s, W_segment_unmap, row, at, end, g->died[row]);
}

static void put_move(shot *s, size_t i)
{
	const tide_model *m = s->m;
	uint32_t row = m->moves.row[i];
	switch (m->moves.kind[i]) {
	case TIDE_MOVE_ALLOC:
		if (!(m->allocs.flags[row] & TIDE_ALLOC_BEFORE))
			put_alloc_event(s, W_alloc, row, m->allocs.born[row]);
		break;
	case TIDE_MOVE_FREE_ASKED:
		row = m->pendings.alloc[row].i;
		if (!s->asked[row] && (s->started || !(m->allocs.flags[row] & TIDE_ALLOC_BEFORE)))
			put_alloc_event(s, W_free_requested, row, tide__move_time(m, i));
		s->asked[row] = 1; /* asked for before the first event: nothing to say */
		break;
	case TIDE_MOVE_FREE:
		if (!s->asked[row])
			put_alloc_event(s, W_free_requested, row, m->allocs.died[row]);
		put_alloc_event(s, W_free_completed, row, m->allocs.died[row]);
		break;
	case TIDE_MOVE_SEG_ALLOC:
		if (!(m->segments.flags[row] & (TIDE_SEGMENT_BEFORE | TIDE_SEGMENT_PART)))
			put_stretch(s,
				    m->segments.kind[row] == TIDE_SEGMENT_EXPANDABLE
					    ? W_segment_map
					    : W_segment_alloc,
				    row, m->segments.addr[row],
				    m->segments.addr[row] + m->segments.size[row],
				    m->segments.born[row]);
		break;
	case TIDE_MOVE_SEG_FREE:
		put_segment_end(s, i);
		break;
	}
}

static void put_mark(shot *s, uint32_t row)
{
	const tide_marks *k = &s->m->marks;
	bool oom = k->kind[row] == TIDE_MARK_OOM;
	put_event(s,
		  &(struct event){ .action = oom ? W_oom : W_snapshot,
				   .addr = oom && k->extra[row] > 0 ? (uint64_t)k->extra[row] : 0,
				   .size = oom && k->value[row] > 0 ? (uint64_t)k->value[row] : 0,
				   .pool = k->pool[row],
				   .stream = k->lane[row],
				   .stack = k->stack[row].i,
				   .t = k->t[row] });
}

static bool is_mark(const shot *s, uint32_t row, uint32_t device)
{
	const tide_marks *k = &s->m->marks;
	if (k->kind[row] == TIDE_MARK_OOM)
		return k->pool[row].i ? device_of(s, k->pool[row]) == device : device == 0;
	return k->kind[row] == TIDE_MARK_SNAPSHOT && device == 0;
}

static tide_pool_id move_pool(const tide_model *m, size_t i)
{
	uint32_t row = m->moves.row[i];
	uint8_t kind = m->moves.kind[i];
	if (kind == TIDE_MOVE_SEG_ALLOC || kind == TIDE_MOVE_SEG_FREE)
		return m->segments.pool[row];
	return m->allocs.pool[kind == TIDE_MOVE_FREE_ASKED ? m->pendings.alloc[row].i : row];
}

static void put_trace(shot *s, uint32_t device)
{
	const tide_model *m = s->m;
	uint32_t mark = 1;
	s->started = false;
	tide__pkl_list(&s->p);
	for (size_t i = 0; i <= m->moves.n; i++) {
		for (; mark < m->marks.n && m->marks.move[mark] <= i; mark++)
			if (is_mark(s, mark, device))
				put_mark(s, mark);
		if (i < m->moves.n && device_of(s, move_pool(m, i)) == device)
			put_move(s, i);
	}
	tide__pkl_list_end(&s->p);
}

/* ---- annotations ---- */

struct note {
	int64_t t;
	uint32_t span, order;
	bool end;
};

static int by_time(const void *a, const void *b)
{
	const struct note *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Both ends of a span; a begin sorts before what is inside it, an end after. */
static size_t ends_of(const shot *s, uint32_t span, struct note *out)
{
	const tide_model *m = s->m;
	int64_t t0 = m->spans.t0[span];
	tide_str key = { tide__strings_find(m->strings, "start_ns", 8) };
	int64_t at = key.i ? tide__attr_find(m, (tide_span_id){ span }, key) : -1;
	if (at >= 0)
		t0 = m->attrs.number[at];
	out[0] = (struct note){ t0, span, span, false };
	out[1] = (struct note){ m->spans.t1[span], span, UINT32_MAX - span, true };
	return m->spans.flags[span] & TIDE_SPAN_OPEN ? 1 : 2;
}

static bool put_notes(shot *s)
{
	const tide_model *m = s->m;
	struct note *notes = tide__alloc(m->spans.n * 2, sizeof *notes);
	size_t n = 0;
	if (!notes)
		return false;
	for (uint32_t i = 1; i < m->spans.n && s->timed; i++)
		if (m->spans.cat[i] == TIDE_CAT_USER)
			n += ends_of(s, i, notes + n);
	qsort(notes, n, sizeof *notes, by_time);
	tide__pkl_list(&s->p);
	for (size_t i = 0; i < n; i++) {
		tide_device_id d = m->lanes.device[m->spans.lane[notes[i].span].i];
		tide__pkl_dict(&s->p);
		word(s, W_stage);
		word(s, notes[i].end ? W_END : W_START);
		word(s, W_name);
		put_text(s, m->spans.name[notes[i].span]);
		put_uint(s, W_device, s->number[d.i] < s->devices ? s->number[d.i] : 0);
		put_time(s, notes[i].t);
		tide__pkl_dict_end(&s->p);
	}
	tide__pkl_list_end(&s->p);
	tide__free(notes);
	return true;
}

/* ---- settings ---- */

static void put_key(shot *s, const char *key)
{
	tide__pkl_text(&s->p, key, strlen(key));
}

/* "1:4,2:8" -> {"1": 4, "2": 8} */
static void put_divisions(shot *s, const char *text)
{
	tide__pkl_dict(&s->p);
	for (unsigned mib = 1; mib <= 32768; mib *= 2) {
		char key[16], find[20];
		unsigned long div = 0;
		snprintf(key, sizeof key, "%u", mib);
		snprintf(find, sizeof find, "%u:", mib);
		for (const char *at = text; at; at = strchr(at, ',')) {
			at += *at == ',';
			if (!strncmp(at, find, strlen(find)))
				div = strtoul(at + strlen(find), NULL, 10);
		}
		put_key(s, key);
		tide__pkl_uint(&s->p, div);
	}
	tide__pkl_dict_end(&s->p);
}

static void put_setting(shot *s, const char *name, size_t i)
{
	const tide_facts *f = &s->m->facts;
	size_t n;
	const char *text = tide__text(s->m, f->text[i], &n);
	bool is_text = n || !strcmp(name, "PYTORCH_CUDA_ALLOC_CONF");
	put_key(s, name);
	if (!strcmp(name, "roundup_power2_divisions"))
		put_divisions(s, text);
	else if (!strcmp(name, "garbage_collection_threshold"))
		tide__pkl_real(&s->p, n ? strtod(text, NULL) : (double)f->number[i]);
	else if (!strcmp(name, "expandable_segments"))
		tide__pkl_bool(&s->p, f->number[i] != 0);
	else if (is_text)
		tide__pkl_text(&s->p, text, n);
	else
		tide__pkl_int(&s->p, f->number[i]);
}

static void put_flag(shot *s, const char *name)
{
	put_key(s, name);
	tide__pkl_bool(&s->p, true);
}

static void put_settings(shot *s)
{
	tide__pkl_dict(&s->p);
	for (size_t i = 0; i < s->m->facts.n; i++) {
		const char *key = tide__text(s->m, s->m->facts.key[i], NULL);
		if (!strncmp(key, "allocator.", 10) && strcmp(key, "allocator.exact_sizes") &&
		    strcmp(key, "allocator.no_segments"))
			put_setting(s, key + 10, i);
	}
	if (s->exact)
		put_flag(s, "exact_sizes");
	if (s->bare)
		put_flag(s, "no_segments");
	tide__pkl_dict_end(&s->p);
}

/* ---- setting up ---- */

/* Pinned memory of the host has places of its own in a snapshot. */
static bool is_pinned(const tide_model *m, uint32_t device)
{
	bool pinned = false;
	for (uint32_t i = 1; i < m->pools.n; i++) {
		if (m->pools.device[i].i != device)
			continue;
		if (m->pools.kind[i] != TIDE_POOL_PINNED)
			return false;
		pinned = true;
	}
	return pinned && m->devices.kind[device] == TIDE_DEVICE_HOST;
}

static void number_devices(shot *s)
{
	const tide_devices *d = &s->m->devices;
	uint32_t host = 0;
	for (uint32_t i = 1; i < d->n; i++)
		if (d->kind[i] == TIDE_DEVICE_CUDA && d->index[i] >= 0 && d->index[i] < 4096) {
			s->number[i] = (uint32_t)d->index[i];
			if (s->number[i] >= s->devices)
				s->devices = s->number[i] + 1;
		} else if (!host && is_pinned(s->m, i)) {
			host = i;
		}
	for (uint32_t i = 1; i < d->n; i++)
		if (i != host &&
		    (d->kind[i] != TIDE_DEVICE_CUDA || d->index[i] < 0 || d->index[i] >= 4096))
			s->number[i] = s->devices++;
	if (host) {
		s->number[host] = s->devices; /* after all others */
		s->host = true;
	}
}

static bool prepare(shot *s)
{
	const tide_model *m = s->m;
	s->frame = tide__calloc(m->frames.n, sizeof *s->frame);
	s->stack = tide__calloc(m->stacks.n, sizeof *s->stack);
	s->number = tide__calloc(m->devices.n, sizeof *s->number);
	s->asked = tide__calloc(m->allocs.n, 1);
	s->live = tide__alloc(m->allocs.n, sizeof *s->live);
	s->segs = tide__alloc(m->segments.n, sizeof *s->segs);
	if (!s->frame || !s->stack || !s->number || !s->asked || !s->live || !s->segs)
		return false;
	number_devices(s);
	for (uint32_t i = 1; i < m->allocs.n; i++)
		if (m->allocs.died[i] == TIDE_T_NEVER &&
		    !(m->allocs.flags[i] & TIDE_ALLOC_OVERLAPS) && m->allocs.size[i])
			s->live[s->n_live++] = (struct place){ m->allocs.addr[i],
							       device_of(s, m->allocs.pool[i]), i };
	for (uint32_t i = 1; i < m->segments.n; i++)
		if (m->segments.died[i] == TIDE_T_NEVER)
			s->segs[s->n_segs++] =
				(struct place){ m->segments.addr[i],
						device_of(s, m->segments.pool[i]), i };
	for (uint32_t i = 1; i < m->pools.n; i++)
		s->private |= m->pools.kind[i] == TIDE_POOL_PRIVATE;
	s->bare = m->segments.n <= 1;
	s->exact = s->bare || !m->format || strcmp(m->format, "torchsnap") ||
		   tide__fact_find(m, "allocator.exact_sizes") >= 0;
	s->timed = tide__fact_find(m, "loss.times_unknown") < 0;
	qsort(s->live, s->n_live, sizeof *s->live, by_place);
	qsort(s->segs, s->n_segs, sizeof *s->segs, by_place);
	return true;
}

static tide_code write_snapshot(const tide_model *m, const tide_export_options *opt, FILE *out,
				tide_export_stats *st, tide_error *err)
{
	shot s = { .m = m };
	(void)opt;
	(void)st;
	bool ok = prepare(&s);
	if (ok) { /* traces first: the final state needs to know whose free was asked for */
		tide__pkl_begin(&s.p, out);
		tide__pkl_dict(&s.p);
		put_key(&s, "device_traces");
		tide__pkl_list(&s.p);
		for (uint32_t d = 0; d < s.devices; d++)
			put_trace(&s, d);
		tide__pkl_list_end(&s.p);
		put_key(&s, "segments");
		put_segments(&s, 0, s.devices);
		if (s.host) {
			put_key(&s, "host_traces");
			tide__pkl_list(&s.p);
			put_trace(&s, s.devices);
			tide__pkl_list_end(&s.p);
			put_key(&s, "host_segments");
			put_segments(&s, s.devices, s.devices + 1);
		}
		put_key(&s, "allocator_settings");
		put_settings(&s);
		put_key(&s, "external_annotations");
		ok = put_notes(&s);
		tide__pkl_dict_end(&s.p);
		tide__pkl_end(&s.p);
	}
	tide__free(s.frame);
	tide__free(s.stack);
	tide__free(s.number);
	tide__free(s.asked);
	tide__free(s.live);
	tide__free(s.segs);
	return tide__export_end(!ok, ferror(out), err);
}

const tide_exporter tide__export_snapshot = {
	.name = "snapshot",
	.what = "torch memory snapshot (pickle) for docs.pytorch.org/memory_viz",
	.suffixes = ".pickle,.pkl",
	.binary = true,
	.write = write_snapshot,
};
