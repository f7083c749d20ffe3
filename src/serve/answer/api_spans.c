// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans of a recording by name, by number, and summed over an area, for recordings that are too
 * large for a page to hold all spans. A span is identified by its place in the timeline's rows, as
 * in the page. */
#include <string.h>
#include <sys/stat.h>

#include "analyze/common/span_args.h"
#include "analyze/timeline/search.h"
#include "analyze/timeline/span_details.h"
#include "analyze/timeline/window_sums.h"
#include "base/error.h"
#include "base/mem.h"
#include "import/kineto/kineto.h"
#include "import/source.h"
#include "render/report/ops/timeline.h"
#include "serve/answer/api.h"

enum { MOST_AROUND = 64, MOST_LINKS = 200, MOST_SOURCE = 8192 };

static tide_code lod_of(tide_ask *a, tide_loaded **l, const tide_lod **x, tide_error *err)
{
	tide_code rc = tide__ask_id(a, a->req->part[2], l, err);
	return rc == TIDE_OK ? tide__loaded_get_lod(*l, x, err) : rc;
}

static void span_members(tide_json *j, const tide_lod *x, uint32_t place)
{
	const tide_model *m = x->m;
	uint32_t s = x->rows.order[place], row;
	uint32_t track = tide__timeline_rows_track(&x->rows, place, &row);
	tide__json_kuint(j, "n", place);
	tide__answer_write_name(j, "name", m, m->spans.name[s]);
	tide__json_kstr(j, "cat", tide__cat_text(m->spans.cat[s]));
	tide__json_kint(j, "t0_ns", m->spans.t0[s]);
	tide__json_kint(j, "t1_ns", tide__timeline_rows_end(&x->rows, m, place));
	tide__json_kuint(j, "track", track);
	tide__json_kuint(j, "row", row);
}

static void put_place(tide_json *j, const tide_lod *x, uint32_t place)
{
	tide__json_object(j);
	span_members(j, x, place);
	tide__json_object_end(j);
}

static void put_span(tide_json *j, const tide_lod *x, uint32_t span)
{
	put_place(j, x, tide__timeline_rows_place(&x->rows, x->m, span));
}

/* ---- by name ---- */

tide_code tide__api_search(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	tide_found f;
	tide_json j;
	int64_t limit = 100, after = INT64_MIN, skip = 0;
	const char *q = tide__request_get(a->req, "q");
	if (!q || !*q || !tide__request_get_int(a->req, "limit", 0, 20000, &limit) ||
	    !tide__request_get_int(a->req, "after", 0, INT64_MAX, &after) ||
	    !tide__request_get_int(a->req, "skip", 0, UINT32_MAX, &skip))
		return tide__ask_wrong(a, err);
	tide_code rc = lod_of(a, &l, &x, err);
	if (rc != TIDE_OK || (rc = tide__search(l->m, &x->rows, q, after, (uint64_t)skip,
						(size_t)limit, &f, err)) != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, l->m->spans.n > 1);
	tide__json_kstr(&j, "q", q);
	tide__json_kuint(&j, "total", f.total);
	tide__json_kuint(&j, "before", f.before);
	tide__json_karray(&j, "spans");
	for (size_t i = 0; i < f.n; i++)
		put_place(&j, x, f.place[i]);
	tide__json_array_end(&j);
	tide__found_free(&f);
	return tide__api_end(&j, NULL, err);
}

/* ---- one ---- */

static void put_args(tide_json *j, const tide_model *m, uint32_t s)
{
	tide__json_kobject(j, "args");
	for (size_t i = tide__attr_first(m, s); i < m->attrs.n && m->attrs.span[i].i == s; i++) {
		const char *key = tide__text(m, m->attrs.key[i], NULL);
		if (m->attrs.text[i].i)
			tide__answer_write_name(j, key, m, m->attrs.text[i]);
		else
			tide__json_kint(j, key, m->attrs.number[i]);
	}
	tide__json_object_end(j);
}

/* Writes the enclosing spans, innermost first. */
static void put_around(tide_json *j, const char *key, const tide_lod *x, uint32_t span)
{
	const tide_spans *v = &x->m->spans;
	tide__json_karray(j, key);
	for (uint32_t p = v->parent[span].i, k = 0; p && k < MOST_AROUND; p = v->parent[p].i, k++)
		put_span(j, x, p);
	tide__json_array_end(j);
}

static void put_cause(tide_json *j, const tide_lod *x, uint32_t span)
{
	uint32_t cause = x->m->spans.cause[span].i;
	tide__json_key(j, "cause");
	if (!cause) {
		tide__json_null(j);
		return;
	}
	tide__json_object(j);
	span_members(j, x, tide__timeline_rows_place(&x->rows, x->m, cause));
	put_around(j, "parents", x, cause);
	tide__json_object_end(j);
}

static void put_note(tide_json *j, const tide_lod *x, const tide_span_details *n, uint32_t span)
{
	tide__json_kint(j, "self_ns", n->self);
	tide__json_kuint_if(j, "allocated_bytes", n->memory, n->allocated);
	tide__json_kuint_if(j, "freed_bytes", n->memory, n->freed);
	tide__json_kuint(j, "links_in_all", n->all_links);
	tide__json_karray(j, "links");
	for (size_t i = 0; i < n->n_links; i++) {
		const tide_span_link *k = &n->links[i];
		tide__json_object(j);
		tide__json_kstr(j, "kind", tide__flow_kind_text(k->kind));
		tide__json_kbool(j, "starts", k->from == span);
		tide__json_key(j, "span");
		put_span(j, x, k->from == span ? k->to : k->from);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* Returns true if the file is unchanged since it was read, and not compressed. */
static bool same_file(const tide_loaded *l)
{
	struct stat st;
	unsigned char magic[4] = { 0 };
	if (!l->m->span_src || stat(l->m->path, &st) || (uint64_t)st.st_size != l->file_size ||
	    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != l->file_mtime_ns)
		return false;
	FILE *f = fopen(l->m->path, "re");
	bool plain = f && fread(magic, 1, sizeof magic, f) == sizeof magic &&
		     !tide__is_packed(magic, sizeof magic);
	if (f)
		fclose(f);
	return plain;
}

/* Writes the span's arguments from the file, if it was too large for shapes to be kept in
 * memory. */
static void put_source(tide_json *j, const tide_loaded *l, uint32_t span)
{
	char *text = NULL;
	size_t n = 0;
	if (same_file(l) && l->m->span_src[span])
		(void)tide__kineto_reread_args(l->m->path, l->m->span_src[span] - 1, &text, &n,
					       NULL);
	tide__json_key(j, "source");
	if (text && n <= MOST_SOURCE)
		tide__json_strn(j, text, n);
	else
		tide__json_null(j);
	tide__free(text);
}

static tide_code put_details(tide_ask *a, tide_loaded *l, const tide_lod *x, uint32_t place,
			     tide_error *err)
{
	const tide_model *m = l->m;
	uint32_t s = x->rows.order[place];
	tide_span_details note;
	char label[400];
	tide_json j;
	tide_code rc = tide__span_details_find(m, &x->rows, s, MOST_LINKS, &note, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, true);
	tide__json_key(&j, "span");
	put_place(&j, x, place);
	tide__json_kstr(&j, "lane",
			tide__lane_write_label(m, m->spans.lane[s], label, sizeof label));
	tide__json_kuint(&j, "flags", m->spans.flags[s]);
	put_note(&j, x, &note, s);
	put_around(&j, "parents", x, s);
	put_cause(&j, x, s);
	put_args(&j, m, s);
	put_source(&j, l, s);
	tide__answer_write_stack(&j, m, m->spans.stack[s]);
	tide__span_details_free(&note);
	return tide__api_end(&j, NULL, err);
}

tide_code tide__answer_span(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	int64_t n = -1, from = 0, to = 0;
	const char *name = tide__request_get(a->req, "name");
	if (!tide__request_get_int(a->req, "n", 0, UINT32_MAX, &n) ||
	    !tide__request_get_int(a->req, "from", 0, INT64_MAX / 4, &from) ||
	    !tide__request_get_int(a->req, "to", from, INT64_MAX / 4, &to) || (n < 0) == !name)
		return tide__ask_wrong(a, err);
	tide_code rc = lod_of(a, &l, &x, err);
	if (rc != TIDE_OK)
		return rc;
	if (name)
		n = tide__search_around(l->m, &x->rows, name, from, to);
	if (n >= x->rows.n)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such span");
	return put_details(a, l, x, (uint32_t)n, err);
}

/* ---- an area ---- */

/* Reads a number of [least, n) at *s, which advances; n if there is none. */
static uint32_t number(const char **s, uint32_t least, uint32_t n)
{
	uint64_t v = 0;
	const char *p = *s;
	while (*p >= '0' && *p <= '9' && v < n)
		v = v * 10 + (uint64_t)(*p++ - '0');
	bool ok = p > *s && v >= least && v < n;
	*s = p;
	return ok ? (uint32_t)v : n;
}

/* Parses "0.3-7.12": track numbers, by default all. Returns false for anything else. */
static bool tracks_of(tide_ask *a, uint32_t n_tracks, bool *on, uint64_t *n)
{
	const char *s = tide__request_get(a->req, "tracks");
	*n = 0;
	for (uint32_t t = 0; !s && t < n_tracks; t++)
		on[(*n)++] = true;
	while (s) {
		uint32_t first = number(&s, 0, n_tracks), last = first;
		if (*s == '-') {
			s++;
			last = number(&s, first, n_tracks);
		}
		if (last == n_tracks || (*s && *s != '.')) {
			a->req->wrong = "tracks is not a list of tracks";
			return false;
		}
		for (; first <= last; first++) {
			*n += !on[first];
			on[first] = true;
		}
		s = *s ? s + 1 : NULL;
	}
	return true;
}

static void put_sum(tide_json *j, const tide_lod *x, const tide_sum *s)
{
	tide__json_object(j);
	tide__answer_write_name(j, "name", x->m, s->name);
	tide__json_kstr(j, "cat", tide__cat_text(s->cat));
	tide__json_kuint(j, "count", s->n);
	tide__json_kint(j, "total_ns", s->total);
	tide__json_kint(j, "self_ns", s->self);
	tide__json_kint(j, "longest_ns", s->longest);
	tide__json_key(j, "longest");
	put_place(j, x, s->place);
	tide__json_object_end(j);
}

static tide_code put_sums(tide_ask *a, tide_loaded *l, const tide_lod *x, const tide_api_window *w,
			  const bool *on, uint64_t tracks, size_t limit, tide_error *err)
{
	tide_window_sums s;
	tide_json j;
	tide_code rc = tide__find_window_sums(x, w->from, w->to, on, &s, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, s.spans > 0);
	tide__json_kint(&j, "from_ns", w->from);
	tide__json_kint(&j, "to_ns", w->to);
	tide__json_kuint(&j, "tracks", tracks);
	tide__json_kuint(&j, "spans", s.spans);
	tide__json_kint(&j, "self_ns", s.self);
	tide__json_kuint(&j, "names", s.n);
	tide__json_karray(&j, "sums");
	for (size_t i = 0; i < s.n && i < limit; i++)
		put_sum(&j, x, &s.v[i]);
	tide__json_array_end(&j);
	rc = tide__api_end(&j, s.spans ? NULL : "there is nothing in this area", err);
	tide__window_sums_free(&s);
	return rc;
}

tide_code tide__answer_sums(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	tide_api_window w;
	int64_t limit = 1000;
	uint64_t tracks;
	tide_code rc = lod_of(a, &l, &x, err);
	if (rc != TIDE_OK)
		return rc;
	bool *on = tide__calloc((size_t)x->rows.n_tracks + 1, sizeof *on);
	if (!on)
		return tide__nomem(err);
	if (tide__request_get_int(a->req, "limit", 1, 20000, &limit) &&
	    tide__answer_get_window(a, l, &w) && tracks_of(a, x->rows.n_tracks, on, &tracks))
		rc = put_sums(a, l, x, &w, on, tracks, (size_t)limit, err);
	else
		rc = tide__ask_wrong(a, err);
	tide__free(on);
	return rc;
}
