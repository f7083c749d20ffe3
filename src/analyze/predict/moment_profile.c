// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Three passes over the memory events find which intervals train, how many spots a place has, and
 * how high each was. Places are found by the hash of their names, so two runs agree on them. */
#include "analyze/predict/moment_profile.h"

#include <string.h>

#include "analyze/common/step_boundaries.h"
#include "analyze/ops/modules.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

struct work {
	const tide_model *m;
	tide_moment_profile *out;
	uint32_t device;
	uint64_t *text;	    /* per text: its hash; 0 = not computed yet */
	uint32_t *of_span;  /* per span: its place */
	uint32_t *of_stack; /* per stack: its place + 1; 0 = not computed yet */
	uint32_t *place;    /* per allocation */
	uint32_t *stretch;  /* per allocation */
	bool *trains;	    /* per interval */
	int64_t *begins;    /* owned; begins of intervals, ascending */
	size_t n_begins;
	tide_modules modules;
};

/* ---- places ---- */

/* Hashes a name without the digits after a '#', so that ProfilerStep#7 equals ProfilerStep#8. */
static uint64_t hash_text(const char *s, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);
	bool number = false;
	for (size_t i = 0; i < n; i++) {
		number = s[i] == '#' || (number && s[i] >= '0' && s[i] <= '9');
		if (!number || s[i] == '#')
			h = (h ^ (uint8_t)s[i]) * UINT64_C(1099511628211);
	}
	return h | 1;
}

static uint64_t hash_of(struct work *w, tide_str name)
{
	if (!w->text[name.i]) {
		size_t n;
		const char *text = tide__text(w->m, name, &n);
		w->text[name.i] = hash_text(text, n);
	}
	return w->text[name.i];
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Spans and functions that a backward pass runs in. */
static bool is_backward(const char *name)
{
	static const char *const starts[] = { "autograd::engine::", "torch::autograd::Engine::",
					      "_engine_run_backward" };
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (begins(name, starts[i]))
			return true;
	return !strcmp(name, "backward") || !strcmp(name, "backward_pass");
}

static uint32_t add_place(tide_moment_profile *h, uint64_t hash, uint32_t parent, bool backward)
{
	if (h->n_places + 1 >= UINT32_MAX || !TIDE_ROOM(h->places, h->cap_places, h->n_places + 1))
		return UINT32_MAX;
	uint32_t p = (uint32_t)h->n_places;
	if (!tide__map_put(&h->by_hash, hash, p + 1))
		return UINT32_MAX;
	h->places[h->n_places++] =
		(tide_place){ .hash = hash, .parent = parent, .backward = backward };
	return p;
}

/* Returns the place `name` inside `parent`; UINT32_MAX if memory ran out, now or for the parent. */
static uint32_t inside(struct work *w, uint32_t parent, tide_str name)
{
	tide_moment_profile *h = w->out;
	if (parent == UINT32_MAX)
		return parent;
	uint64_t hash = tide__mix(h->places[parent].hash + hash_of(w, name));
	uint32_t found = tide__map_get(&h->by_hash, hash);
	if (found)
		return found - 1;
	bool backward = h->places[parent].backward || is_backward(tide__text(w->m, name, NULL));
	return add_place(h, hash, parent, backward);
}

static bool name_spans(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (size_t i = 1; i < s->n; i++) {
		if (tide__cat_is_gpu(s->cat[i])) /* allocates nothing */
			continue;
		w->of_span[i] = inside(w, w->of_span[s->parent[i].i], s->name[i]);
		if (w->of_span[i] == UINT32_MAX)
			return false;
	}
	return true;
}

/* Visits functions from the outermost inwards; a parent's id is smaller, so all stacks below `s`
 * come first. */
static uint32_t stack_place(struct work *w, uint32_t s)
{
	if (!s || w->of_stack[s])
		return s ? w->of_stack[s] - 1 : 0;
	uint32_t depth = 0, at = s;
	for (; at && !w->of_stack[at]; at = w->m->stacks.parent[at].i)
		depth++;
	uint32_t *way = tide__alloc(depth, sizeof *way);
	uint32_t place = !way ? UINT32_MAX : at ? w->of_stack[at] - 1 : 0;
	at = s;
	for (uint32_t k = 0; way && k < depth; k++, at = w->m->stacks.parent[at].i)
		way[k] = at;
	while (depth-- && place != UINT32_MAX) {
		tide_frame_id f = w->m->stacks.frame[way[depth]];
		place = inside(w, place, w->m->frames.function[f.i]);
		if (place != UINT32_MAX)
			w->of_stack[way[depth]] = place + 1;
	}
	tide__free(way);
	return place;
}

static uint32_t alloc_place(struct work *w, uint32_t a)
{
	uint32_t span = w->m->allocs.span[a].i;
	if (!span)
		return stack_place(w, w->m->allocs.stack[a].i);
	uint32_t p = w->of_span[span];
	tide_str module = w->modules.any ? w->modules.of[span] : (tide_str){ 0 };
	return module.i && w->out->places[p].backward ? inside(w, p, module) : p;
}

/* ---- intervals ---- */

/* Finds calls of models: modules inside no other, and not run again by a backward pass. */
static bool note_calls(struct work *w, const tide_step_boundaries *boundaries)
{
	const tide_model *m = w->m;
	enum { MODULE = 1, BACKWARD = 2 };
	uint8_t *in = tide__calloc(m->spans.n, sizeof *in);
	size_t n = 0, k = 0;
	w->begins = tide__alloc(m->spans.n + boundaries->n, sizeof *w->begins);
	for (size_t i = 1; in && w->begins && i < m->spans.n; i++) {
		uint8_t around = in[m->spans.parent[i].i];
		bool module = begins(tide__text(m, m->spans.name[i], NULL), "nn.Module: ");
		in[i] = around | (module ? MODULE : 0) |
			(w->out->places[w->of_span[i]].backward ? BACKWARD : 0);
		if (!module || around)
			continue;
		while (k < boundaries->n && boundaries->t[k] <= m->spans.t0[i])
			w->begins[n++] = boundaries->t[k++];
		w->begins[n++] = m->spans.t0[i];
	}
	while (in && w->begins && k < boundaries->n)
		w->begins[n++] = boundaries->t[k++];
	bool ok = in && w->begins;
	tide__free(in);
	w->n_begins = n;
	return ok;
}

static bool find_stretches(struct work *w)
{
	tide_step_boundaries boundaries = { 0 };
	bool ok = tide__find_step_boundaries(w->m, 0, 0, &boundaries) == TIDE_OK &&
		  note_calls(w, &boundaries);
	tide__step_boundaries_free(&boundaries);
	w->trains = ok ? tide__calloc(w->n_begins + 1, sizeof *w->trains) : NULL;
	w->out->stretches = w->n_begins + 1;
	return w->trains;
}

static bool of_device(const struct work *w, uint32_t a)
{
	uint32_t pool = a ? w->m->allocs.pool[a].i : 0;
	return a && w->m->pools.device[pool].i == w->device && tide__pool_in_device(w->m, pool);
}

static bool place_all(struct work *w)
{
	uint32_t at = 0;
	for (size_t i = 0; i < w->m->memory_events.n; i++) {
		uint32_t a = w->m->memory_events.row[i];
		if (w->m->memory_events.kind[i] != TIDE_MEMORY_ALLOC || !of_device(w, a))
			continue;
		while (at < w->n_begins && w->begins[at] <= w->m->allocs.born[a])
			at++;
		uint32_t p = alloc_place(w, a);
		if (p == UINT32_MAX)
			return false;
		w->place[a] = p;
		w->stretch[a] = at;
		w->trains[at] |= w->out->places[p].backward;
		w->out->moments++;
	}
	return true;
}

/* ---- spots ---- */

static struct tide_sort *sort_of(struct work *w, uint32_t a)
{
	return &w->out->places[w->place[a]].sort[w->trains[w->stretch[a]]];
}

/* Counts the allocations of the same sort and place before it in its interval: into spot_of. */
static bool count_all(struct work *w)
{
	tide_moment_profile *h = w->out;
	struct {
		uint32_t stretch, n;
	} *now = tide__calloc(h->n_places * TIDE_SORTS, sizeof *now);
	for (size_t i = 0; now && i < w->m->memory_events.n; i++) {
		uint32_t a = w->m->memory_events.row[i];
		if (w->m->memory_events.kind[i] != TIDE_MEMORY_ALLOC || !of_device(w, a))
			continue;
		size_t k = (size_t)w->place[a] * TIDE_SORTS + w->trains[w->stretch[a]];
		if (now[k].stretch != w->stretch[a]) {
			now[k].stretch = w->stretch[a];
			now[k].n = 0;
		}
		h->spot_of[a] = now[k].n++;
		struct tide_sort *s = sort_of(w, a);
		s->count = now[k].n > s->count ? now[k].n : s->count;
		s->times++;
	}
	bool ok = now;
	tide__free(now);
	return ok;
}

static bool reserve_spots(tide_moment_profile *h)
{
	for (size_t p = 0; p < h->n_places; p++)
		for (size_t k = 0; k < TIDE_SORTS; k++) {
			h->places[p].sort[k].first = h->n_spots;
			h->n_spots += h->places[p].sort[k].count;
		}
	h->spots = tide__calloc(h->n_spots, sizeof *h->spots);
	return h->spots;
}

tide_spot tide__spot_merge(const tide_spot *a, const tide_spot *b)
{
	if (!a->row || !b->row)
		return a->row ? *a : *b;
	tide_spot s =
		b->most > a->most || (b->most == a->most && b->position < a->position) ? *b : *a;
	s.least = a->least < b->least ? a->least : b->least;
	s.bytes = a->bytes > b->bytes ? a->bytes : b->bytes;
	return s;
}

static void measure_all(struct work *w)
{
	const tide_model *m = w->m;
	tide_moment_profile *h = w->out;
	uint64_t live = 0, before = 0;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t a = tide__memory_event_life(m, i, &born);
		if (!of_device(w, a))
			continue;
		uint64_t bytes = m->allocs.size[a];
		live += born ? bytes : -bytes;
		if (m->allocs.flags[a] & TIDE_ALLOC_BEFORE)
			before += born ? bytes : -bytes;
		if (!born)
			continue;
		size_t k = sort_of(w, a)->first + h->spot_of[a];
		uint64_t asked = m->allocs.requested[a] ? m->allocs.requested[a] : bytes;
		tide_spot now = { live, live, asked, before, i + 1, a };
		h->spots[k] = tide__spot_merge(&h->spots[k], &now);
		h->spot_of[a] = (uint32_t)k + 1;
		h->peak = live > h->peak ? live : h->peak;
	}
}

/* Sums a place and all inside it: a place comes before those inside it. */
static void sum_places(tide_moment_profile *h)
{
	for (size_t p = h->n_places; p--;)
		for (size_t k = 0; k < TIDE_SORTS; k++) {
			struct tide_sort *s = &h->places[p].sort[k],
					 *up = &h->places[h->places[p].parent].sort[k];
			for (size_t i = 0; i < s->count; i++)
				s->all = tide__spot_merge(&s->all, &h->spots[s->first + i]);
			if (p)
				up->all = tide__spot_merge(&up->all, &s->all);
		}
}

/* ---- all of it ---- */

static bool prepare(struct work *w)
{
	const tide_model *m = w->m;
	w->text = tide__calloc((size_t)tide__strings_count(m->strings) + 1, sizeof *w->text);
	w->of_span = tide__calloc(m->spans.n, sizeof *w->of_span);
	w->of_stack = tide__calloc(m->stacks.n, sizeof *w->of_stack);
	w->place = tide__calloc(m->allocs.n, sizeof *w->place);
	w->stretch = tide__calloc(m->allocs.n, sizeof *w->stretch);
	w->out->spot_of = tide__calloc(m->allocs.n, sizeof *w->out->spot_of);
	return w->text && w->of_span && w->of_stack && w->place && w->stretch && w->out->spot_of &&
	       add_place(w->out, 1, 0, false) == 0;
}

static void release(struct work *w)
{
	tide__free(w->text);
	tide__free(w->of_span);
	tide__free(w->of_stack);
	tide__free(w->place);
	tide__free(w->stretch);
	tide__free(w->trains);
	tide__free(w->begins);
	tide__modules_free(&w->modules);
}

tide_code tide__find_moment_profile(const tide_model *m, uint32_t device, uint64_t size,
				    tide_moment_profile *out, tide_error *err)
{
	struct work w = { .m = m, .out = out, .device = device };
	*out = (tide_moment_profile){ .size = size };
	bool ok = tide__modules_find_of_spans(m, &w.modules, err) == TIDE_OK && prepare(&w) &&
		  name_spans(&w) && find_stretches(&w) && place_all(&w) && count_all(&w) &&
		  reserve_spots(out);
	if (ok) {
		measure_all(&w);
		sum_places(out);
	}
	release(&w);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__moment_profile_free(tide_moment_profile *h)
{
	tide__free(h->places);
	tide__map_free(&h->by_hash);
	tide__free(h->spots);
	tide__free(h->spot_of);
	*h = (tide_moment_profile){ 0 };
}
