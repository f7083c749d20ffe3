// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two passes in order of start, with stacks of open spans linked through `below`: the first chooses
 * the spans that leave a lane's first track, the second places them. */
#include "analyze/timeline/tracks.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct nester {
	const tide_model *m;
	tide_tracks *t;
	uint32_t *head;	  /* per lane: its first track */
	uint32_t *below;  /* per span: the open span around it in its track */
	uint32_t *top;	  /* per track: open span begun last */
	uint8_t *out;	  /* per span: not in its lane's first track */
	uint8_t *crosses; /* per lane: has such a span */
} nester;

static uint32_t new_track(nester *s, tide_lane_id lane, uint32_t number, uint32_t after)
{
	tide_tracks *t = s->t;
	uint32_t k = t->n_tracks;
	size_t cap = t->cap_tracks; /* of both */
	if (!TIDE_ROOM(s->top, cap, (size_t)k + 1) ||
	    !TIDE_ROOM(t->tracks, t->cap_tracks, (size_t)k + 1))
		return 0;
	t->n_tracks++;
	t->tracks[k] = (tide_track){ .lane = lane, .number = number };
	s->top[k] = 0;
	if (after)
		t->tracks[after].next = k;
	else
		s->head[lane.i] = k;
	return k;
}

/* Returns true if [t0, t1] nests in the track. Closes spans that have ended by t0. */
static bool fits(nester *s, uint32_t track, int64_t t0, int64_t t1)
{
	uint32_t *top = &s->top[track];
	while (*top && tide__track_end(s->t, s->m, *top) <= t0)
		*top = s->below[*top];
	return !*top || tide__track_end(s->t, s->m, *top) >= t1;
}

static int64_t length(const tide_model *m, uint32_t span)
{
	return tide__span_end(m, span) - m->spans.t0[span];
}

/* Chooses the spans of the first track. If two spans cross, the shorter one leaves it: a Python
 * frame that opens a long range leaves, not the range with its children. `top` is per lane here. */
static void choose(nester *s, uint32_t *top)
{
	const tide_model *m = s->m;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		uint32_t *open = &top[m->spans.lane[i].i];
		int64_t end = tide__span_end(m, i);
		while (*open && tide__span_end(m, *open) <= m->spans.t0[i])
			*open = s->below[*open];
		while (*open && tide__span_end(m, *open) < end &&
		       length(m, *open) <= length(m, i)) {
			s->out[*open] = s->crosses[m->spans.lane[i].i] = 1;
			*open = s->below[*open];
		}
		s->out[i] = *open && tide__span_end(m, *open) < end;
		if (s->out[i]) {
			s->crosses[m->spans.lane[i].i] = 1;
			continue;
		}
		s->t->level[i] = *open ? s->t->level[*open] + 1 : 0;
		s->below[i] = *open;
		*open = i;
	}
}

static bool cut_short(nester *s, uint32_t span, uint32_t track)
{
	tide_tracks *t = s->t;
	if (!TIDE_ROOM(t->cut_end, t->cap_cut, t->n_cut + 1))
		return false;
	t->cut_end[t->n_cut++] = tide__track_end(t, s->m, s->top[track]);
	return tide__map_put(&t->cut, span, (uint32_t)t->n_cut);
}

static bool may(const nester *s, uint32_t track, uint32_t span)
{
	return !s->out[span] || s->t->tracks[track].number;
}

/* Places a span of a lane whose spans all nest: one track holds them all. */
static bool place_first(nester *s, uint32_t span)
{
	tide_lane_id lane = s->m->spans.lane[span];
	uint32_t track = s->head[lane.i];
	if (!track && !(track = new_track(s, lane, 0, 0)))
		return false;
	s->t->track[span] = track;
	s->t->tracks[track].n++;
	return true;
}

static bool place(nester *s, uint32_t span)
{
	const tide_spans *c = &s->m->spans;
	tide_lane_id lane = c->lane[span];
	int64_t t0 = c->t0[span], t1 = tide__span_end(s->m, span);
	uint32_t parent = c->parent[span].i, track = parent ? s->t->track[parent] : 0, last = 0;
	if (s->out[span] && !s->head[lane.i] && !new_track(s, lane, 0, 0))
		return false; /* the first track waits for the span that crosses this one */
	if (!track || !may(s, track, span) || !fits(s, track, t0, t1)) {
		for (track = s->head[lane.i];
		     track && (!may(s, track, span) || !fits(s, track, t0, t1));
		     track = s->t->tracks[track].next)
			last = track;
		uint32_t number = last ? s->t->tracks[last].number + 1 : 0;
		if (!track && number < TIDE_TRACKS_MAX) {
			track = new_track(s, lane, number, last);
			if (!track)
				return false;
		} else if (!track) {
			track = last;
			if (!cut_short(s, span, track))
				return false;
		}
	}
	s->t->track[span] = track;
	s->t->level[span] = s->top[track] ? s->t->level[s->top[track]] + 1 : 0;
	s->t->tracks[track].n++;
	s->below[span] = s->top[track];
	s->top[track] = span;
	return true;
}

/* Counting sort of the spans by track; within one they stay in order of start. */
static void put_in_order(const tide_model *m, tide_tracks *t)
{
	uint32_t at = 0;
	for (uint32_t k = 1; k < t->n_tracks; k++) {
		t->tracks[k].first = at;
		at += t->tracks[k].n;
		t->tracks[k].n = 0;
	}
	for (uint32_t i = 1; i < m->spans.n; i++) {
		tide_track *k = &t->tracks[t->track[i]];
		t->order[k->first + k->n++] = i;
	}
}

tide_code tide__find_tracks(const tide_model *m, tide_tracks *out, tide_error *err)
{
	nester s = { .m = m, .t = out };
	*out = (tide_tracks){ .n_tracks = 1, .cap_tracks = 16 };
	out->tracks = tide__calloc(out->cap_tracks, sizeof *out->tracks);
	out->track = tide__calloc(m->spans.n, sizeof *out->track);
	out->level = tide__calloc(m->spans.n, sizeof *out->level);
	s.head = tide__calloc(m->lanes.n, sizeof *s.head);
	s.below = tide__calloc(m->spans.n, sizeof *s.below);
	s.top = tide__calloc(out->cap_tracks, sizeof *s.top);
	s.out = tide__calloc(m->spans.n, 1);
	s.crosses = tide__calloc(m->lanes.n, 1);
	bool ok = out->tracks && out->track && out->level && s.head && s.below && s.top && s.out &&
		  s.crosses;
	if (ok) {
		choose(&s, s.head);
		memset(s.head, 0, m->lanes.n * sizeof *s.head);
	}
	for (uint32_t i = 1; ok && i < m->spans.n; i++)
		ok = s.crosses[m->spans.lane[i].i] ? place(&s, i) : place_first(&s, i);
	out->order = s.below; /* its buffer is reused */
	if (ok)
		put_in_order(m, out);
	tide__free(s.head);
	tide__free(s.top);
	tide__free(s.out);
	tide__free(s.crosses);
	if (ok)
		return TIDE_OK;
	tide__tracks_free(out);
	return tide__nomem(err);
}

void tide__tracks_free(tide_tracks *t)
{
	tide__free(t->tracks);
	tide__free(t->track);
	tide__free(t->level);
	tide__free(t->order);
	tide__free(t->cut_end);
	tide__map_free(&t->cut);
	*t = (tide_tracks){ 0 };
}

typedef struct open_span {
	uint32_t span;
	int64_t end;
} open_span;

bool tide__track_walk(const tide_tracks *t, const tide_model *m, uint32_t track,
		      const tide_track_walk *w)
{
	const tide_track *k = &t->tracks[track];
	open_span *open = NULL;
	size_t n = 0, cap = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t span = t->order[k->first + i];
		int64_t t0 = m->spans.t0[span];
		for (; n && open[n - 1].end <= t0; n--)
			w->end(w->user, open[n - 1].span, open[n - 1].end);
		if (!TIDE_ROOM(open, cap, n + 1)) {
			tide__free(open);
			return false;
		}
		w->begin(w->user, span, t0);
		open[n++] = (open_span){ span, tide__track_end(t, m, span) };
	}
	for (; n; n--)
		w->end(w->user, open[n - 1].span, open[n - 1].end);
	tide__free(open);
	return true;
}
