// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Levels of detail against their definition, span by span. */
#include "analyze/common/interval_set.h"
#include "analyze/memory/curve.h"
#include "analyze/timeline/level_of_detail.h"
#include "analyze/timeline/search.h"
#include "analyze/timeline/span_details.h"
#include "analyze/timeline/window_sums.h"
#include "analyze/memory/downsample_allocs.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "base/wide.h"
#include "some_model.h"
#include "testing.h"

/* ---- rows ---- */

static void rows_are_disjoint_and_whole(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		tide_model *m = some_model(seed, 3 * seed, 0);
		tide_timeline_rows r;
		uint8_t *seen = calloc(m->spans.n, 1);
		assert_int_equal(tide__find_timeline_rows(m, &r, NULL), TIDE_OK);
		assert_int_equal(r.n, m->spans.n - 1);
		for (uint32_t k = 0; k < r.n_rows; k++)
			for (uint32_t i = r.first[k]; i < r.first[k + 1]; i++) {
				assert_false(seen[r.order[i]]++);
				assert_int_equal(tide__timeline_rows_place(&r, m, r.order[i]), i);
				if (i > r.first[k])
					assert_true(m->spans.t0[r.order[i]] >=
						    tide__timeline_rows_end(&r, m, i - 1));
			}
		for (uint32_t t = 0; t < r.n_tracks; t++)
			for (uint32_t k = 0; k < r.tracks[t].n_rows; k++) {
				uint32_t row = r.tracks[t].row + k;
				for (uint32_t i = r.first[row]; i < r.first[row + 1]; i++) {
					uint32_t level;
					assert_int_equal(m->spans.lane[r.order[i]].i,
							 r.tracks[t].lane.i);
					assert_int_equal(tide__timeline_rows_track(&r, i, &level),
							 t);
					assert_int_equal(level, k);
				}
			}
		free(seen);
		tide__timeline_rows_free(&r);
		tide__model_free(m);
	}
}

/* ---- pieces ---- */

static int64_t pixel(int64_t t, int64_t from, int64_t to, uint32_t px)
{
	return (int64_t)((tide_i128)(t - from) * px / (to - from));
}

/* The definition in lod.h, spelt out. Returns the number of pieces of the row. */
static size_t expect(const tide_lod *l, uint32_t row, int64_t from, int64_t to, uint32_t px,
		     tide_timeline_piece *out)
{
	const tide_model *m = l->m;
	size_t n = 0;
	int64_t open = -1; /* pixel of the merged piece that is being made */
	for (uint32_t i = l->rows.first[row]; i < l->rows.first[row + 1]; i++) {
		int64_t t0 = m->spans.t0[l->rows.order[i]],
			t1 = tide__timeline_rows_end(&l->rows, m, i);
		uint64_t len = (uint64_t)(t1 - t0);
		if (t0 >= to || (t1 <= from && t0 < from))
			continue;
		bool own = t0 < from || (tide_i128)len * px >= to - from;
		int64_t at = own ? -1 : pixel(t0, from, to, px);
		if (own || at != open) {
			out[n++] = (tide_timeline_piece){ t0, t1, len, 1, i };
		} else {
			tide_timeline_piece *p = &out[n - 1];
			if (len > (uint64_t)(tide__timeline_rows_end(&l->rows, m, p->place) -
					     m->spans.t0[l->rows.order[p->place]]))
				p->place = i;
			p->t1 = t1;
			p->busy += len;
			p->count++;
		}
		open = at;
	}
	return n;
}

static void compare(const tide_lod *l, int64_t from, int64_t to, uint32_t px)
{
	tide_timeline_pieces p;
	tide_timeline_piece *want = calloc(l->rows.n + 1, sizeof *want);
	assert_int_equal(tide__lod_find_visible(l, from, to, px, &p, NULL), TIDE_OK);
	for (uint32_t r = 0; r < l->rows.n_rows; r++) {
		size_t n = expect(l, r, from, to, px, want), got = p.first[r + 1] - p.first[r];
		assert_int_equal(got, n);
		assert_true(n <= 2 * (size_t)px + 1);
		for (size_t i = 0; i < n; i++) {
			const tide_timeline_piece *a = &p.v[p.first[r] + i], *b = &want[i];
			assert_int_equal(a->t0, b->t0);
			assert_int_equal(a->t1, b->t1);
			assert_int_equal(a->busy, b->busy);
			assert_int_equal(a->count, b->count);
			assert_int_equal(a->place, b->place);
		}
	}
	free(want);
	tide__timeline_pieces_free(&p);
}

static void pieces_are_as_defined(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		tide_model *m = some_model(seed, 20 * seed, 0);
		tide_lod l;
		assert_int_equal(tide__lod_build(m, &l, NULL), TIDE_OK);
		compare(&l, 0, m->t_end + 1, 1);
		compare(&l, 0, m->t_end, 7);
		compare(&l, 0, m->t_end * 1000, 3);
		for (int k = 0; k < 30; k++) {
			int64_t from = (int64_t)some_random(SOME_END) - 5;
			compare(&l, from, from + 1 + some_random(SOME_END), 1 + some_random(40));
		}
		tide__lod_free(&l);
		tide__model_free(m);
	}
}

static void many_in_one_pixel(void **state)
{
	enum { N = 20000 };
	tide_model *m = some_machine();
	tide_lod l;
	for (int64_t i = 0; i < N; i++) {
		uint32_t s = tide__push(&m->spans, &tide_spans_desc);
		m->spans.lane[s].i = 1;
		m->spans.t0[s] = i * 10;
		m->spans.t1[s] = i * 10 + i * 7919 % 10;
	}
	m->t_end = N * 10;
	assert_int_equal(tide__lod_build(m, &l, NULL), TIDE_OK);
	const uint32_t px[] = { 1, 2, 3, 100, 4096 };
	for (size_t i = 0; i < sizeof px / sizeof *px; i++) {
		compare(&l, 0, m->t_end, px[i]);
		compare(&l, 12345, 98765, px[i]);
	}
	compare(&l, INT64_MIN / 2, INT64_MAX / 2, 65535);
	tide__lod_free(&l);
	tide__model_free(m);
}

static void nothing_to_see(void **state)
{
	tide_model *m = some_machine();
	tide_lod l;
	tide_timeline_pieces p;
	assert_int_equal(tide__lod_build(m, &l, NULL), TIDE_OK);
	assert_int_equal(tide__lod_find_visible(&l, 0, 100, 10, &p, NULL), TIDE_OK);
	assert_int_equal(p.n, 0);
	tide__timeline_pieces_free(&p);
	tide__lod_free(&l);
	tide__model_free(m);
}

/* ---- by name ---- */

static void search_is_as_defined(void **state)
{
	static const char *const texts[] = { "OP", "op1", "ker", "_", "nothing has this", "2" };
	for (uint32_t seed = 1; seed <= 30; seed++) {
		tide_model *m = some_model(seed, 4 * seed, 0);
		tide_timeline_rows r;
		assert_int_equal(tide__find_timeline_rows(m, &r, NULL), TIDE_OK);
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			int64_t from = some_random(SOME_END);
			size_t most = some_random(20), n = 0;
			uint64_t total = 0, before = 0, skip = some_random(5), left = skip;
			tide_found f;
			assert_int_equal(tide__search(m, &r, texts[k], from, skip, most, &f, NULL),
					 TIDE_OK);
			for (uint32_t s = 1; s < m->spans.n; s++) {
				if (!strcasestr(tide__text(m, m->spans.name[s], NULL), texts[k]))
					continue;
				total++;
				bool over = m->spans.t0[s] < from || (left && left--);
				before += over;
				if (!over && n < most)
					assert_int_equal(r.order[f.place[n++]], s);
			}
			assert_int_equal(f.total, total);
			assert_int_equal(f.before, before);
			assert_int_equal(f.n, n);
			tide__found_free(&f);
		}
		tide__timeline_rows_free(&r);
		tide__model_free(m);
	}
}

static void around_is_as_defined(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		tide_model *m = some_model(seed, 60, 0);
		tide_timeline_rows r;
		assert_int_equal(tide__find_timeline_rows(m, &r, NULL), TIDE_OK);
		for (int k = 0; k < 60; k++) {
			int64_t t0 = some_random(SOME_END), t1 = t0 + some_random(10);
			tide_str name = m->spans.name[1 + some_random(60)];
			uint32_t best = 0;
			for (uint32_t s = 1; s < m->spans.n; s++)
				if (m->spans.name[s].i == name.i && m->spans.t0[s] <= t0 &&
				    m->spans.t1[s] >= t1 &&
				    (!best || m->spans.t1[s] - m->spans.t0[s] <
						      m->spans.t1[best] - m->spans.t0[best]))
					best = s;
			uint32_t place =
				tide__search_around(m, &r, tide__text(m, name, NULL), t0, t1);
			assert_int_equal(place == UINT32_MAX ? 0 : r.order[place], best);
		}
		assert_int_equal(tide__search_around(m, &r, "nothing has this", 1, 2), UINT32_MAX);
		tide__timeline_rows_free(&r);
		tide__model_free(m);
	}
}

/* ---- sums ---- */

/* Part of the span at a place that is inside the window; -1 = it is not seen. */
static int64_t part(const tide_lod *l, uint32_t i, int64_t from, int64_t to)
{
	int64_t t0 = l->m->spans.t0[l->rows.order[i]],
		t1 = tide__timeline_rows_end(&l->rows, l->m, i);
	if (t1 <= from || t0 >= to)
		return -1;
	return (t1 < to ? t1 : to) - (t0 > from ? t0 : from);
}

static bool on_track(const tide_lod *l, uint32_t place, const bool *on)
{
	uint32_t row;
	return on[tide__timeline_rows_track(&l->rows, place, &row)];
}

/* One row of the table, span by span. */
static void check_sum(const tide_lod *l, const tide_sum *r, int64_t from, int64_t to,
		      const bool *on)
{
	const tide_spans *v = &l->m->spans;
	tide_sum want = { .longest = -1 };
	for (uint32_t i = 0; i < l->rows.n; i++) {
		uint32_t s = l->rows.order[i], p = v->parent[s].i;
		int64_t d = part(l, i, from, to);
		if (d < 0 || !on_track(l, i, on))
			continue;
		if (v->name[s].i == r->name.i && v->cat[s] == r->cat) {
			want.n++;
			want.total += d;
			want.self += d;
			want.longest = d > want.longest ? d : want.longest;
		}
		if (p && v->name[p].i == r->name.i && v->cat[p] == r->cat &&
		    on_track(l, tide__timeline_rows_place(&l->rows, l->m, p), on))
			want.self -= d;
	}
	assert_int_equal(r->n, want.n);
	assert_int_equal(r->total, want.total);
	assert_int_equal(r->self, want.self > 0 ? want.self : 0);
	assert_int_equal(r->longest, want.longest);
	assert_int_equal(part(l, r->place, from, to), want.longest);
}

static void sums_are_as_defined(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		tide_model *m = some_model(seed, 2 * seed, 0);
		tide_lod l;
		bool on[256] = { false };
		assert_int_equal(tide__lod_build(m, &l, NULL), TIDE_OK);
		assert_true(l.rows.n_tracks < 256);
		for (int k = 0; k < 8; k++) {
			int64_t from = some_random(SOME_END), to = from + 1 + some_random(SOME_END);
			uint64_t spans = 0, seen = 0;
			tide_window_sums s;
			for (uint32_t t = 0; t < l.rows.n_tracks; t++)
				on[t] = k == 0 || some_random(3);
			assert_int_equal(tide__find_window_sums(&l, from, to, on, &s, NULL),
					 TIDE_OK);
			for (size_t i = 0; i < s.n; i++) {
				check_sum(&l, &s.v[i], from, to, on);
				assert_true(!i || s.v[i - 1].self >= s.v[i].self);
				spans += s.v[i].n;
			}
			for (uint32_t i = 0; i < l.rows.n; i++)
				seen += part(&l, i, from, to) >= 0 && on_track(&l, i, on);
			assert_int_equal(spans, seen);
			assert_int_equal(s.spans, seen);
			tide__window_sums_free(&s);
		}
		tide__lod_free(&l);
		tide__model_free(m);
	}
}

/* ---- one span ---- */

/* The span of an allocation was open at the time of the allocation, as in models of importers. */
static void true_spans(tide_model *m)
{
	for (size_t i = 0; i < m->memory_events.n; i++) {
		int64_t t = tide__memory_event_time(m, i);
		uint32_t a = m->memory_events.row[i], s = some_random((uint32_t)m->spans.n);
		bool there = m->spans.t0[s] <= t && m->spans.t1[s] >= t;
		*(m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? &m->allocs.span[a]
								: &m->allocs.free_span[a]) =
			(tide_span_id){ there ? s : 0 };
	}
}

static bool nested(const tide_model *m, uint32_t s, uint32_t in)
{
	return s && (s == in || nested(m, m->spans.parent[s].i, in));
}

static bool child_at(const tide_model *m, const tide_timeline_rows *r, uint32_t s, int64_t t)
{
	for (uint32_t i = s + 1; i < m->spans.n && m->spans.t0[i] <= t; i++)
		if (m->spans.parent[i].i == s &&
		    t < tide__timeline_rows_end(r, m, tide__timeline_rows_place(r, m, i)))
			return true;
	return false;
}

static void check_note(const tide_model *m, const tide_timeline_rows *r, uint32_t s)
{
	tide_span_details n;
	uint32_t place = tide__timeline_rows_place(r, m, s);
	int64_t end = tide__timeline_rows_end(r, m, place), self = 0;
	uint64_t got = 0, gave = 0, links = 0;
	assert_int_equal(tide__span_details_find(m, r, s, 3, &n, NULL), TIDE_OK);
	for (int64_t t = m->spans.t0[s]; t < end; t++) /* each ns that no child has */
		self += !child_at(m, r, s, t);
	for (uint32_t i = 1; i < m->spans.n; i++)
		links += m->spans.cause[i].i == s;
	for (uint32_t a = 1; a < m->allocs.n; a++) {
		got += nested(m, m->allocs.span[a].i, s) ? m->allocs.size[a] : 0;
		gave += nested(m, m->allocs.free_span[a].i, s) ? m->allocs.size[a] : 0;
	}
	links += m->spans.cause[s].i != 0;
	assert_int_equal(n.self, self);
	assert_int_equal(n.all_links, links);
	assert_int_equal(n.n_links, links < 3 ? links : 3);
	assert_int_equal(n.memory, m->lanes.kind[m->spans.lane[s].i] == TIDE_LANE_THREAD);
	assert_int_equal(n.allocated, n.memory ? got : 0);
	assert_int_equal(n.freed, n.memory ? gave : 0);
	for (size_t i = 0; i < n.n_links; i++)
		assert_int_equal(m->spans.cause[n.links[i].to].i, n.links[i].from);
	tide__span_details_free(&n);
}

static void notes_are_as_defined(void **state)
{
	for (uint32_t seed = 1; seed <= 30; seed++) {
		tide_model *m = some_model(seed, 60, 200);
		tide_timeline_rows r;
		true_spans(m);
		assert_int_equal(tide__find_timeline_rows(m, &r, NULL), TIDE_OK);
		for (uint32_t s = 1; s < m->spans.n; s++)
			check_note(m, &r, s);
		tide__timeline_rows_free(&r);
		tide__model_free(m);
	}
}

/* ---- the curve ---- */

/* Adds the live bytes just before and after memory event i of the window to their pixels. */
static void curve_is_as_defined(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		tide_model *m = some_model(seed, 10, 60 + seed);
		for (int k = 0; k < 30; k++) {
			int64_t from = some_random(SOME_END);
			int64_t to = from + 1 + some_random(SOME_END);
			uint32_t px = 1 + some_random(30);
			uint64_t want[31] = { 0 };
			for (uint32_t x = 0; x < px; x++) {
				uint64_t live = 0;
				for (size_t i = 0; i < m->memory_events.n; i++) {
					int64_t t = tide__memory_event_time(m, i);
					uint32_t row = m->memory_events.row[i];
					bool starts = t >= from && pixel(t, from, to, px) >= x;
					if (starts && live > want[x])
						want[x] = live; /* held when the pixel began */
					if (starts && t > to)
						break;
					bool born = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
					if (starts && pixel(t, from, to, px) > x &&
					    !(x == px - 1 && t == to))
						break;
					live += born ? m->allocs.size[row] : -m->allocs.size[row];
					if (starts && live > want[x])
						want[x] = live;
				}
				if (live >
				    want[x]) /* it began after the last memory event, or still held */
					want[x] = live;
			}
			tide_curve c;
			assert_int_equal(tide__find_curve(m, 1, from, to, px, &c, NULL), TIDE_OK);
			assert_int_equal(c.source, TIDE_RESERVED_UNKNOWN);
			for (uint32_t x = 0; x < px; x++)
				assert_int_equal(c.live[x], want[x]);
			tide__curve_free(&c);
		}
		tide__model_free(m);
	}
}

/* ---- fewer allocations ---- */

/* Returns the live bytes of a device (0 = all) at `position`, without the allocations
 * that are left out. */
static uint64_t live_after(const tide_model *m, size_t position, uint32_t device,
			   const uint8_t *drop)
{
	uint64_t live = 0;
	for (size_t i = 0; i < position; i++) {
		uint32_t row = m->memory_events.row[i];
		if ((drop && drop[row]) ||
		    (device && m->pools.device[m->allocs.pool[row].i].i != device))
			continue;
		live += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->allocs.size[row]
								      : -m->allocs.size[row];
	}
	return live;
}

static void check_thin(const tide_model *m, const tide_downsampled_allocs *t, int64_t from,
		       int64_t to)
{
	uint64_t kept = 0, most[2] = { 0 };
	for (uint32_t a = 1; a < m->allocs.n; a++)
		kept += !t->drop[a];
	assert_int_equal(kept, t->kept);
	for (size_t i = 0; i < t->n_positions; i++)
		assert_int_equal(live_after(m, t->positions[i], 1, NULL),
				 live_after(m, t->positions[i], 1, t->drop));
	for (size_t position = 0; position <= m->memory_events.n; position++) {
		uint64_t all = live_after(m, position, 0, NULL),
			 some = live_after(m, position, 0, t->drop);
		assert_true(some <= all);
		most[0] = all > most[0] ? all : most[0];
		most[1] = some > most[1] ? some : most[1];
	}
	assert_int_equal(most[0], most[1]);
	for (uint32_t k = 0; k < t->px;
	     k++) { /* the highest value in an interval, including its start */
		uint64_t high[2] = { 0 };
		size_t start = 0;
		for (size_t position = 0; position <= m->memory_events.n; position++) {
			int64_t at = position ? tide__memory_event_time(m, position - 1) : -1;
			bool before = at < from || (at < to && pixel(at, from, to, t->px) < k);
			bool in = at >= from && at < to && pixel(at, from, to, t->px) == k;
			start = before ? position : start;
			for (int d = 0; in && d < 2; d++) {
				uint64_t v = live_after(m, position, 1, d ? t->drop : NULL);
				high[d] = v > high[d] ? v : high[d];
			}
		}
		for (int d = 0; d < 2; d++) {
			uint64_t v = live_after(m, start, 1, d ? t->drop : NULL);
			high[d] = v > high[d] ? v : high[d];
		}
		assert_int_equal(high[0], high[1]);
	}
}

static void thin_keeps_the_peaks(void **state)
{
	for (uint32_t seed = 1; seed <= 25; seed++) {
		tide_model *m = some_model(seed, 10, 40 + 4 * seed);
		for (int k = 0; k < 6; k++) {
			int64_t from = some_random(SOME_END), to = from + 1 + some_random(SOME_END);
			uint64_t most = k % 2 ? 5 + some_random(60) : UINT64_MAX;
			tide_downsampled_allocs t;
			int64_t at = some_random(SOME_END);
			uint64_t position = tide__position_at(m, at);
			assert_int_equal(tide__downsample_allocs(m, from, to, 1 + some_random(40),
								 at, most, &t, NULL),
					 TIDE_OK);
			assert_int_equal(live_after(m, position, 0, NULL),
					 live_after(m, position, 0, t.drop));
			assert_true(t.kept <= most || t.px == 1);
			check_thin(m, &t, from, to);
			tide__downsampled_allocs_free(&t);
		}
		tide__model_free(m);
	}
}

/* Blocks that a stream holds after their free are visible at kept positions, too: none of those is
 * left out. */
static void thin_keeps_what_streams_hold(void **state)
{
	for (uint32_t seed = 1; seed <= 25; seed++) {
		tide_model *m = some_model(seed, 5, 0);
		uint32_t held[8] = { 0 }, n = 0; /* allocated, freed, still held by a stream */
		for (int64_t t = 0; t < 300; t++) {
			uint32_t a = some_alloc(m, 1, 1 + some_random(1000), t), p;
			size_t event;
			if (some_random(3))
				continue;
			p = tide__push(&m->pendings, &tide_pendings_desc);
			m->pendings.alloc[p].i = a;
			m->pendings.t[p] = t;
			m->allocs.flags[a] |= TIDE_ALLOC_ASKED;
			tide__table_push(&m->memory_events, &tide_memory_events_desc, &event);
			m->memory_events.kind[event] = TIDE_MEMORY_FREE_ASKED;
			m->memory_events.row[event] = p;
			if (held[n % 8])
				some_free(m, held[n % 8], t);
			held[n++ % 8] = a;
		}
		tide_downsampled_allocs th;
		size_t seen = 0, left = 0;
		assert_int_equal(tide__downsample_allocs(m, 0, 300, 6, some_random(300), UINT64_MAX,
							 &th, NULL),
				 TIDE_OK);
		for (uint32_t a = 1; a < m->allocs.n;
		     a++) { /* by definition: any position in its life? */
			size_t made = 0, gone = m->memory_events.n;
			bool kept = false;
			for (size_t i = 0; i < m->memory_events.n; i++) {
				made = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC &&
						       m->memory_events.row[i] == a
					       ? i
					       : made;
				gone = m->memory_events.kind[i] == TIDE_MEMORY_FREE &&
						       m->memory_events.row[i] == a
					       ? i
					       : gone;
			}
			for (size_t k = 0; k < th.n_positions; k++)
				kept |= th.positions[k] > made && th.positions[k] <= gone;
			if (kept)
				assert_int_equal(th.drop[a], 0);
			seen += kept;
			left += th.drop[a];
		}
		assert_true(seen > 0 && left > 0);
		tide__downsampled_allocs_free(&th);
		tide__model_free(m);
	}
}

static void thin_keeps_the_peaks_of_phases(void **state)
{
	for (uint32_t seed = 1; seed <= 25; seed++) {
		tide_model *m = some_model(seed, 10, 40 + 4 * seed);
		tide_phases p;
		tide_downsampled_allocs t;
		for (uint64_t position = 0; position <= m->memory_events.n;
		     position += 1 + some_random(40)) {
			uint32_t k = tide__push(&m->marks, &tide_marks_desc);
			m->marks.kind[k] = TIDE_MARK_PHASE;
			m->marks.position[k] = position;
			m->marks.t[k] = position ? tide__memory_event_time(m, position - 1) : 0;
		}
		assert_int_equal(tide__find_phases(m, &p, NULL), TIDE_OK);
		assert_int_equal(
			tide__downsample_phases(m, &p, seed % 2 ? 20 : UINT64_MAX, &t, NULL),
			TIDE_OK);
		assert_true(t.px <= p.n && (seed % 2 || t.px == p.n));
		for (uint32_t n = 0; n < t.px; n++) {
			uint64_t top = 0;
			for (uint64_t position = p.phases[n].event0; position <= p.phases[n].event1;
			     position++) {
				uint64_t v = live_after(m, position, 1, t.drop);
				top = v > top ? v : top;
			}
			for (size_t s = 0; s < p.n_scopes; s++) /* one pool: all scopes are alike */
				assert_int_equal(p.levels[n * p.n_scopes + s].top, top);
		}
		tide__downsampled_allocs_free(&t);
		tide__phases_free(&p);
		tide__model_free(m);
	}
}

static void no_memory(void **state)
{
	tide_model *m = some_model(3, 120, 0);
	for (uint64_t n = 1;; n++) {
		tide_lod l;
		tide_timeline_pieces p = { 0 };
		tide_window_sums sums = { 0 };
		tide_span_details note = { 0 };
		const bool on[64] = { true, true, true };
		tide__mem_fail_at(n);
		tide_code rc = tide__lod_build(m, &l, NULL);
		if (rc == TIDE_OK)
			rc = tide__lod_find_visible(&l, 0, 100, 50, &p, NULL);
		if (rc == TIDE_OK)
			rc = tide__find_window_sums(&l, 0, 100, on, &sums, NULL);
		if (rc == TIDE_OK)
			rc = tide__span_details_find(m, &l.rows, 5, 3, &note, NULL);
		tide__mem_fail_at(0);
		tide__window_sums_free(&sums);
		tide__span_details_free(&note);
		tide__timeline_pieces_free(&p);
		tide__lod_free(&l);
		if (rc == TIDE_OK) {
			assert_true(n > 8);
			break;
		}
	}
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_disjoint_and_whole),
		cmocka_unit_test(pieces_are_as_defined),
		cmocka_unit_test(many_in_one_pixel),
		cmocka_unit_test(nothing_to_see),
		cmocka_unit_test(search_is_as_defined),
		cmocka_unit_test(around_is_as_defined),
		cmocka_unit_test(sums_are_as_defined),
		cmocka_unit_test(notes_are_as_defined),
		cmocka_unit_test(curve_is_as_defined),
		cmocka_unit_test(thin_keeps_the_peaks),
		cmocka_unit_test(thin_keeps_what_streams_hold),
		cmocka_unit_test(thin_keeps_the_peaks_of_phases),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
