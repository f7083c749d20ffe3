// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* torch's memory snapshot: a pickle that docs.pytorch.org/memory_viz and torch.cuda._memory_viz
 * open.
 *
 * Segments and blocks are the state at the trace's end, device_traces the events before it, in
 * order. Frames are shared through the memo, one dict a frame and one list a stack, as torch shares
 * them. CUDA devices keep their numbers; others follow after them. For a model without segments (a
 * host heap, a profiler's memory events), each live allocation gets a segment, and the setting
 * exact_sizes marks that sizes are not rounded, so that reading it again gives the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/reserved.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/export/export.h"
#include "render/export/snapshot_writer.h"

/* ---- the state at the end ---- */

static void put_block(shot *s, uint64_t addr, uint64_t size, uint32_t alloc)
{
	const tide_allocs *a = &s->m->allocs;
	tide__pkl_dict(&s->p);
	tide__snapshot_write_uint(s, W_address, addr);
	tide__snapshot_write_uint(s, W_size, size);
	tide__snapshot_write_uint(s, W_requested_size, alloc ? a->requested[alloc] : 0);
	tide__snapshot_write_word(s, W_state);
	tide__snapshot_write_word(s, !alloc	       ? W_inactive
				     : s->asked[alloc] ? W_active_pending_free
						       : W_active_allocated);
	tide__snapshot_write_frames(s, alloc);
	tide__pkl_dict_end(&s->p);
}

/* Writes a segment. Live allocs [from, to) of the sorted list are in [addr, addr + size). */
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
	tide__snapshot_write_uint(s, W_device, device);
	tide__snapshot_write_uint(s, W_address, addr);
	tide__snapshot_write_uint(s, W_total_size, size);
	tide__snapshot_write_uint(s, W_allocated_size, used - waiting);
	tide__snapshot_write_uint(s, W_active_size, used);
	tide__snapshot_write_uint(s, W_requested_size, asked);
	tide__snapshot_write_stream(s, stream);
	tide__snapshot_write_word(s, W_segment_type);
	bool small = kind == TIDE_SEGMENT_SMALL ||
		     (kind == TIDE_SEGMENT_EXPANDABLE && size % (UINT64_C(20) << 20));
	tide__snapshot_write_word(s, small ? W_small : W_large);
	tide__snapshot_write_word(s, W_segment_pool_id);
	tide__snapshot_write_pool_id(s, pool);
	tide__snapshot_write_word(s, W_is_expandable);
	tide__pkl_bool(&s->p, kind == TIDE_SEGMENT_EXPANDABLE);
	tide__snapshot_write_stack(s, stack);
	tide__snapshot_write_word(s, W_blocks);
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

/* Returns whether mapped ranges are adjacent and of one kind: torch writes them as one segment. */
static bool continues(const shot *s, uint32_t a, uint32_t b, uint64_t end)
{
	const tide_segments *g = &s->m->segments;
	return g->kind[a] == TIDE_SEGMENT_EXPANDABLE && g->kind[b] == g->kind[a] &&
	       g->pool[a].i == g->pool[b].i && g->stream[a].i == g->stream[b].i &&
	       g->addr[b] == end;
}

/* Writes the segments of devices [first, last). */
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
			next++; /* in no segment, as in the model */
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

/* Returns true for pinned memory of the host, which is separate in a snapshot. */
static bool is_pinned(const tide_model *m, uint32_t device)
{
	bool pinned = false;
	if (m->devices.kind[device] != TIDE_DEVICE_HOST)
		return false;
	for (uint32_t i = 1; i < m->pools.n; i++) {
		if (m->pools.device[i].i != device)
			continue;
		if (m->pools.kind[i] != TIDE_POOL_PINNED)
			return false;
		pinned = true;
	}
	return pinned;
}

/* Settings of ours, for which torch's format has no place: import/torchsnap/exported.h reads them
 * back. */
static void put_devices(shot *s, FILE *f)
{
	const tide_devices *d = &s->m->devices;
	for (uint32_t i = 1; i < d->n; i++)
		if ((d->kind[i] != TIDE_DEVICE_CUDA || d->index[i] != s->number[i]) &&
		    !is_pinned(s->m, i) && d->index[i] >= 0)
			fprintf(f, "%s%" PRIu32 "=%s:%" PRId64, ftell(f) ? " " : "", s->number[i],
				tide__device_kind_text(d->kind[i]), (int64_t)d->index[i]);
}

static void put_reserved(shot *s, FILE *f)
{
	tide_reserved r = { 0 };
	const tide_model *m = s->m;
	if (!s->timed || tide__find_reserved(m, &r, NULL) != TIDE_OK)
		r.n = 0;
	for (size_t i = 0; i < r.n; i++)
		if (r.devices[r.steps[i].device] == TIDE_RESERVED_SAMPLES)
			fprintf(f, "%s%" PRIu32 ":%" PRId64 ":%" PRIu64, ftell(f) ? " " : "",
				s->number[r.steps[i].device], tide__snapshot_us(s, r.steps[i].t),
				r.steps[i].bytes);
	tide__reserved_free(&r);
}

/* Writes a setting with the text that `put` prints, unless it is empty. */
static void put_text(shot *s, const char *name, void (*put)(shot *, FILE *))
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return;
	put(s, f);
	if (!fclose(f) && n) {
		put_key(s, name);
		tide__pkl_text(&s->p, text, n);
	}
	free(text);
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
	put_text(s, "tidemark_devices", put_devices);
	put_text(s, "tidemark_reserved", put_reserved);
	tide__pkl_dict_end(&s->p);
}

/* ---- setting up ---- */

/* Returns whether anything without a device goes to device 0. A trace with only marks has no
 * devices. */
static bool needs_device_0(const tide_model *m)
{
	for (size_t i = 1; i < m->marks.n; i++)
		if (m->marks.kind[i] == TIDE_MARK_SNAPSHOT ||
		    (m->marks.kind[i] == TIDE_MARK_OOM && !m->marks.pool[i].i))
			return true;
	for (size_t i = 1; i < m->allocs.n; i++)
		if (!m->pools.device[m->allocs.pool[i].i].i)
			return true;
	for (size_t i = 1; i < m->segments.n; i++)
		if (!m->pools.device[m->segments.pool[i].i].i)
			return true;
	return false;
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
	if (!s->devices && needs_device_0(s->m))
		s->devices = 1;
	if (host) {
		s->number[host] = s->devices; /* after all others */
		s->host = true;
	}
}

static bool prepare(shot *s)
{
	const tide_model *m = s->m;
	size_t texts = (size_t)tide__strings_count(m->strings) + 1;
	s->text = tide__calloc(texts, sizeof *s->text);
	s->frame = tide__calloc(m->frames.n, sizeof *s->frame);
	s->stack = tide__calloc(m->stacks.n, sizeof *s->stack);
	s->path = tide__calloc(m->spans.n, sizeof *s->path);
	s->number = tide__calloc(m->devices.n, sizeof *s->number);
	s->asked = tide__calloc(m->allocs.n, 1);
	s->live = tide__alloc(m->allocs.n, sizeof *s->live);
	s->segs = tide__alloc(m->segments.n, sizeof *s->segs);
	if (!s->text || !s->frame || !s->stack || !s->path || !s->number || !s->asked || !s->live ||
	    !s->segs)
		return false;
	number_devices(s);
	for (uint32_t i = 1; i < m->allocs.n; i++)
		if (m->allocs.died[i] == TIDE_T_NEVER &&
		    !(m->allocs.flags[i] & TIDE_ALLOC_OVERLAPS) && m->allocs.size[i])
			s->live[s->n_live++] =
				(struct place){ m->allocs.addr[i],
						tide__snapshot_device(s, m->allocs.pool[i]), i };
	for (uint32_t i = 1; i < m->segments.n; i++)
		if (m->segments.died[i] == TIDE_T_NEVER)
			s->segs[s->n_segs++] =
				(struct place){ m->segments.addr[i],
						tide__snapshot_device(s, m->segments.pool[i]), i };
	for (uint32_t i = 1; i < m->pools.n; i++)
		s->private |= m->pools.kind[i] == TIDE_POOL_PRIVATE;
	s->bare = m->segments.n <= 1;
	s->exact = s->bare || !m->format || strcmp(m->format, "torchsnap") ||
		   tide__fact_find(m, "allocator.exact_sizes") >= 0;
	s->timed = tide__fact_find(m, "loss.times_unknown") < 0;
	qsort(s->live, s->n_live, sizeof *s->live, by_place);
	qsort(s->segs, s->n_segs, sizeof *s->segs, by_place);
	return tide__snapshot_sort(s);
}

static tide_code write_snapshot(const tide_model *m, const tide_export_options *opt, FILE *out,
				tide_export_stats *st, tide_error *err)
{
	shot s = { .m = m };
	(void)opt;
	(void)st;
	bool ok = prepare(&s);
	if (ok) { /* traces first: the final state needs to know which frees were requested */
		tide__pkl_begin(&s.p, out);
		tide__pkl_dict(&s.p);
		put_key(&s, "device_traces");
		tide__pkl_list(&s.p);
		for (uint32_t d = 0; d < s.devices; d++)
			tide__snapshot_write_events(&s, d);
		tide__pkl_list_end(&s.p);
		put_key(&s, "segments");
		put_segments(&s, 0, s.devices);
		if (s.host) {
			put_key(&s, "host_traces");
			tide__pkl_list(&s.p);
			tide__snapshot_write_events(&s, s.devices);
			tide__pkl_list_end(&s.p);
			put_key(&s, "host_segments");
			put_segments(&s, s.devices, s.devices + 1);
		}
		put_key(&s, "allocator_settings");
		put_settings(&s);
		put_key(&s, "external_annotations");
		ok = tide__snapshot_write_notes(&s);
		tide__pkl_dict_end(&s.p);
		tide__pkl_end(&s.p);
	}
	tide__free(s.text);
	tide__free(s.frame);
	tide__free(s.path);
	tide__free(s.stack);
	tide__free(s.number);
	tide__free(s.asked);
	tide__free(s.live);
	tide__free(s.segs);
	tide__free(s.events.first);
	tide__free(s.events.rows);
	tide__free(s.marks.first);
	tide__free(s.marks.rows);
	return tide__export_end(!ok, ferror(out), err);
}

const tide_exporter tide__export_snapshot = {
	.name = "snapshot",
	.what = "torch memory snapshot (pickle) for docs.pytorch.org/memory_viz",
	.suffixes = ".pickle,.pkl",
	.binary = true,
	.write = write_snapshot,
};
