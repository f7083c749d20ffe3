// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Dumps as torch writes them by default: a pickle of dicts, lists and texts.
 *
 * Frames and stacks are interned while they are decoded. Texts and size lists that the pickle
 * shares are converted once, so no sharing makes the work longer than the input allows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/flightrec/flightrec.h"
#include "import/torchsnap/pickle/pickle.h"

#define X(key, member) K_##key,
enum {
	FR_NUMBERS(X) FR_FLAGS(X) FR_TEXTS(X) FR_LISTS(X) FR_STATUS(X) K_frames,
	K_filename,
	K_line,
	K_name,
	K_desc,
	K_ranks,
	K_process_group,
	K_entries,
	K_version,
	K_pg_config,
	K_pg_status,
	K_N
};
#undef X
static const char *const words[K_N] = {
#define X(key, member) [K_##key] = #key,
	FR_NUMBERS(X) FR_FLAGS(X) FR_TEXTS(X) FR_LISTS(X) FR_STATUS(X)[K_frames] = "frames",
#undef X
	[K_filename] = "filename",
	[K_line] = "line",
	[K_name] = "name",
	[K_desc] = "desc",
	[K_ranks] = "ranks",
	[K_process_group] = "process_group",
	[K_entries] = "entries",
	[K_version] = "version",
	[K_pg_config] = "pg_config",
	[K_pg_status] = "pg_status",
};

enum { MADE_FRAME = 1, MADE_STACK = 2 };

struct reader {
	fr_dump *d;
	tide_pickle *p;
	tide_pickle_client client;
	tide_map texts;	  /* value -> its text */
	tide_map lists;	  /* value -> its text; */
	tide_map numbers; /* value -> elements, by row of counts + 1 */
	int64_t *counts;  /* owned */
	size_t n_counts, cap_counts;
};

/* ---- frames and stacks, while the pickle is decoded ---- */

static tide_pv client_nomem(struct reader *r)
{
	r->client.failed = tide__nomem(r->d->err);
	return TIDE_PV_NONE;
}

static bool frame_text(struct reader *r, tide_pickle *p, tide_pv v, tide_str *out)
{
	size_t n;
	const char *s = tide__pickle_text(p, v, &n);
	if (!s)
		return false;
	*out = tide__intern_n(r->d->m, s, n);
	return out->i || !n || (client_nomem(r), false);
}

static tide_pv make_dict(void *user, tide_pickle *p, const tide_pv *kv, size_t n)
{
	struct reader *r = user;
	tide_str name = { 0 }, file = { 0 };
	int64_t line = 0;
	bool frame = false;
	for (size_t i = 0; i < n; i += 2) {
		if (kv[i] == tide__pv(TIDE_PV_KEY, K_filename)) {
			frame = true;
			if (!frame_text(r, p, kv[i + 1], &file))
				return TIDE_PV_NONE;
		} else if (kv[i] == tide__pv(TIDE_PV_KEY, K_name)) {
			if (!frame_text(r, p, kv[i + 1], &name))
				return TIDE_PV_NONE;
		} else if (kv[i] == tide__pv(TIDE_PV_KEY, K_line) &&
			   !tide__pickle_i64(p, kv[i + 1], &line)) {
			line = 0;
		}
	}
	if (!frame)
		return TIDE_PV_NONE;
	tide_frame_id f = tide__frame_intern(r->d->m, name, file,
					     line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0);
	return f.i ? tide__pv_made(MADE_FRAME, f.i) : client_nomem(r);
}

/* The innermost frame comes first. */
static tide_pv make_list(void *user, tide_pickle *p, tide_pv key, const tide_pv *items, size_t n)
{
	struct reader *r = user;
	tide_stack_id at = { 0 };
	uint32_t id;
	(void)p;
	if (key != TIDE_PV_NONE && key != tide__pv(TIDE_PV_KEY, K_frames))
		return TIDE_PV_NONE;
	for (size_t i = 0; i < n; i++)
		if (!tide__pv_is(items[i], MADE_FRAME, &id))
			return TIDE_PV_NONE;
	if (key == TIDE_PV_NONE && !n)
		return TIDE_PV_NONE;
	for (size_t i = n; i--;) {
		(void)tide__pv_is(items[i], MADE_FRAME, &id);
		at = tide__stack_intern(r->d->m, at, (tide_frame_id){ id });
		if (!at.i)
			return client_nomem(r);
	}
	return tide__pv_made(MADE_STACK, at.i);
}

/* ---- values ---- */

static uint64_t at_of(const struct reader *r, tide_pv v)
{
	return tide__pickle_offset(r->p, v);
}

/* Sets *out to a text; one that is not a text stays none. */
static bool take_text(struct reader *r, tide_pv v, tide_str *out)
{
	size_t n;
	uint32_t known = tide__map_get(&r->texts, v);
	if (known) {
		out->i = known;
		return true;
	}
	const char *s = tide__pickle_text(r->p, v, &n);
	if (!s || !n)
		return tide__pickle_failed(r->p) == TIDE_OK || tide__fr_nomem(r->d);
	*out = tide__intern_n(r->d->m, s, n);
	return (out->i && tide__map_put(&r->texts, v, out->i)) || tide__fr_nomem(r->d);
}

/* Reads up to 18 digits. */
static bool parse_digits(const char *s, size_t n, int64_t *out)
{
	int64_t v = 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || i >= 18)
			return false;
		v = v * 10 + (s[i] - '0');
	}
	*out = v;
	return n > 0;
}

/* A number, or a text of one: JSON-like dumps write both. */
static void take_number(struct reader *r, tide_pv v, int64_t *out)
{
	int64_t x;
	double f;
	size_t n;
	const char *s;
	if (tide__pickle_i64(r->p, v, &x))
		*out = x;
	else if (tide__pickle_f64(r->p, v, &f) && f > -9e15 && f < 9e15)
		*out = (int64_t)f;
	else if ((s = tide__pickle_text(r->p, v, &n)) && parse_digits(s, n, &x))
		*out = x;
}

static void put_number(fr_list *l, int64_t v)
{
	char text[24];
	tide__fr_list_put(l, text, (size_t)snprintf(text, sizeof text, "%" PRId64, v));
}

/* "[4, 2]", and its elements. */
static bool put_sizes(struct reader *r, tide_pv v, fr_list *l)
{
	size_t n;
	int64_t x, all = 1;
	tide__fr_list_put(l, "[", 1);
	if (tide__pv_tag(v) == TIDE_PV_PAIR) {
		int64_t a = (int64_t)(tide__pv_payload(v) >> 30),
			b = (int64_t)(tide__pv_payload(v) & 0x3fffffff);
		put_number(l, a);
		tide__fr_list_put(l, ", ", 2);
		put_number(l, b);
		all = tide__fr_times(a, b);
	} else {
		const tide_pv *items = tide__pickle_items(r->p, v, &n);
		for (size_t i = 0; i < n; i++) {
			if (!tide__fr_dimension(r->d, at_of(r, v)))
				return false;
			if (!tide__pickle_i64(r->p, items[i], &x))
				return tide__fr_fail(r->d, TIDE_ECORRUPT, at_of(r, v),
						     "a size that is not a number");
			tide__fr_list_put(l, ", ", i ? 2 : 0);
			put_number(l, x);
			all = tide__fr_times(all, x);
		}
	}
	tide__fr_list_put(l, "]", 1);
	l->elements = tide__fr_plus(l->elements, all);
	return true;
}

static bool put_item(struct reader *r, tide_pv v, fr_list *l)
{
	size_t n;
	if (!tide__fr_dimension(r->d, at_of(r, v)))
		return false;
	const char *s = tide__pickle_text(r->p, v, &n);
	if (s) {
		tide__fr_list_put(l, s, n);
		return true;
	}
	return put_sizes(r, v, l);
}

static bool keep_list(struct reader *r, tide_pv v, const fr_list *l, tide_str *out, int64_t *count)
{
	*out = tide__intern_n(r->d->m, l->text, l->n);
	*count = l->elements;
	if (!out->i || !TIDE_ROOM(r->counts, r->cap_counts, r->n_counts + 1))
		return tide__fr_nomem(r->d);
	r->counts[r->n_counts++] = l->elements;
	return (tide__map_put(&r->lists, v, out->i) &&
		tide__map_put(&r->numbers, v, (uint32_t)r->n_counts)) ||
	       tide__fr_nomem(r->d);
}

static bool take_list(struct reader *r, tide_pv v, tide_str *out, int64_t *count)
{
	size_t n = 0;
	fr_list l = { .n = 0 };
	uint32_t known = tide__map_get(&r->lists, v);
	if (known) {
		out->i = known;
		*count = r->counts[tide__map_get(&r->numbers, v) - 1];
		return true;
	}
	if (tide__pv_tag(v) != TIDE_PV_LIST && tide__pv_tag(v) != TIDE_PV_MADE)
		return true;
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	tide__fr_list_put(&l, "[", 1);
	for (size_t i = 0; i < n; i++) {
		tide__fr_list_put(&l, ", ", i ? 2 : 0);
		if (!put_item(r, items[i], &l))
			return false;
	}
	tide__fr_list_put(&l, "]", 1);
	return keep_list(r, v, &l, out, count);
}

/* ("0", "default_pg") */
static bool take_group(struct reader *r, tide_pv v, fr_entry *e)
{
	size_t n;
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	if (!items)
		return take_text(r, v, &e->group);
	return (n < 1 || take_text(r, items[0], &e->group)) &&
	       (n < 2 || take_text(r, items[1], &e->desc));
}

/* ---- the document ---- */

static bool take_field(struct reader *r, uint64_t key, tide_pv v, fr_entry *e)
{
	int64_t flag = 0, none;
	uint32_t id;
	switch (key) {
#define X(key, member)                         \
	case K_##key:                          \
		take_number(r, v, &e->member); \
		break;
		FR_NUMBERS(X)
#undef X
#define X(key, member)                                                    \
	case K_##key:                                                     \
		e->member = tide__pickle_i64(r->p, v, &flag) && flag > 0; \
		break;
		FR_FLAGS(X)
#undef X
#define X(key, member) \
	case K_##key:  \
		return take_text(r, v, &e->member);
		FR_TEXTS(X)
#undef X
	case K_input_sizes:
		return take_list(r, v, &e->in_sizes, &e->in_count);
	case K_output_sizes:
		return take_list(r, v, &e->out_sizes, &e->out_count);
	case K_input_dtypes:
		return take_list(r, v, &e->in_types, &none);
	case K_output_dtypes:
		return take_list(r, v, &e->out_types, &none);
	case K_process_group:
		return take_group(r, v, e);
	case K_frames:
		if (tide__pv_is(v, MADE_STACK, &id))
			e->stack.i = id;
		break;
	default:
		break;
	}
	return true;
}

static bool take_entry(struct reader *r, tide_pv dict)
{
	size_t n;
	const tide_pv *kv = tide__pickle_items(r->p, dict, &n);
	if (tide__pv_tag(dict) != TIDE_PV_DICT)
		return tide__fr_fail(r->d, TIDE_ECORRUPT, at_of(r, dict),
				     "an entry that is not a dict");
	fr_entry *e = tide__fr_entry(r->d);
	if (!e)
		return false;
	for (size_t i = 0; i < n; i += 2)
		if (tide__pv_tag(kv[i]) == TIDE_PV_KEY &&
		    !take_field(r, tide__pv_payload(kv[i]), tide__pickle_settle(r->p, kv[i + 1]),
				e))
			return false;
	return true;
}

static bool take_config(struct reader *r, tide_pv config)
{
	size_t n;
	const tide_pv *kv = tide__pickle_items(r->p, config, &n);
	for (size_t i = 0; tide__pv_tag(config) == TIDE_PV_DICT && i < n; i += 2) {
		fr_group *g = tide__fr_group(r->d);
		if (!g || !take_text(r, kv[i], &g->name) ||
		    !take_text(r, tide__pickle_get(r->p, kv[i + 1], K_desc), &g->desc) ||
		    !take_text(r, tide__pickle_get(r->p, kv[i + 1], K_ranks), &g->ranks))
			return false;
	}
	return true;
}

static bool take_status(struct reader *r, tide_pv status)
{
	size_t n, len;
	const tide_pv *kv = tide__pickle_items(r->p, status, &n);
	for (size_t i = 0; tide__pv_tag(status) == TIDE_PV_DICT && i < n; i += 2) {
		fr_group *g = tide__fr_group(r->d);
		if (!g)
			return false;
		const char *s = tide__pickle_text(r->p, kv[i], &len);
		if (!s || len > 9 || sscanf(s, "%" SCNd64, &g->pg) != 1)
			take_number(r, kv[i], &g->pg);
#define X(key, member) take_number(r, tide__pickle_get(r->p, kv[i + 1], K_##key), &g->member);
		FR_STATUS(X)
#undef X
	}
	return true;
}

static bool take_root(struct reader *r, tide_pv root)
{
	size_t n;
	tide_str version = { 0 };
	tide_pv entries = tide__pickle_get(r->p, root, K_entries);
	const tide_pv *items = tide__pickle_items(r->p, entries, &n);
	if (tide__pv_tag(root) != TIDE_PV_DICT)
		return tide__fr_fail(r->d, TIDE_EFORMAT, 0,
				     "not a dump of the Flight Recorder: it is not a dict");
	if (!take_text(r, tide__pickle_get(r->p, root, K_version), &version) ||
	    !take_config(r, tide__pickle_get(r->p, root, K_pg_config)) ||
	    !take_status(r, tide__pickle_get(r->p, root, K_pg_status)))
		return false;
	if (version.i && !tide__fr_fact(r->d, "flightrec.version", version))
		return false;
	if (tide__pv_tag(entries) != TIDE_PV_LIST && entries != TIDE_PV_NONE &&
	    tide__pv_tag(entries) != TIDE_PV_MADE)
		return tide__fr_fail(r->d, TIDE_ECORRUPT, at_of(r, entries),
				     "its entries are not a list");
	for (size_t i = 0; i < n; i++)
		if (!take_entry(r, items[i]))
			return false;
	return true;
}

tide_code tide__fr_read_pickle(fr_dump *d, const uint8_t *data, size_t n)
{
	struct reader r = { .d = d };
	tide_pv root;
	r.client = (tide_pickle_client){ .user = &r,
					 .keywords = words,
					 .n_keywords = K_N,
					 .make_dict = make_dict,
					 .make_list = make_list };
	tide_code rc = tide__pickle_load(data, n, &r.client, &r.p, &root, d->err);
	if (rc)
		return d->rc = rc;
	take_root(&r, root);
	if (d->rc == TIDE_OK && tide__pickle_trailing(r.p) &&
	    !tide__fact_set_number(d->m, "loss.trailing_bytes",
				   (int64_t)tide__pickle_trailing(r.p)))
		tide__fr_nomem(d);
	tide__pickle_free(r.p);
	tide__map_free(&r.texts);
	tide__map_free(&r.lists);
	tide__map_free(&r.numbers);
	tide__free(r.counts);
	return d->rc;
}
