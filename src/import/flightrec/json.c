// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Dumps as JSON: the same fields without stacks, times of 0 for none, some numbers as texts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/flightrec/flightrec.h"
#include "import/json/plain.h"

struct json {
	fr_dump *d;
	const char *text;
};

static bool damaged(struct json *j, const char *at)
{
	return tide__fr_fail(j->d, TIDE_ECORRUPT, (uint64_t)(at - j->text), "damaged JSON");
}

static bool take_text(struct json *j, tide_plain v, tide_str *out)
{
	if (v.type != '"' || !v.n)
		return true;
	*out = tide__intern_n(j->d->m, v.at, v.n);
	return out->i || tide__fr_nomem(j->d);
}

static void take_number(tide_plain v, int64_t *out)
{
	tide_plain number = v;
	int64_t x;
	if (v.type == '"')
		number.type = '0';
	if (tide__plain_parse_number(number, 1, &x))
		*out = x;
}

/* Times: 0 = not yet. */
static void take_time(tide_plain v, int64_t *out)
{
	int64_t x = 0;
	take_number(v, &x);
	*out = x > 0 ? x : -1;
}

static bool put_sizes(struct json *j, tide_plain list, fr_list *l)
{
	tide_plain key, v;
	int64_t all = 1, x;
	size_t i = 0;
	tide_plain_walk w = tide__plain_walk(list);
	tide__fr_list_put(l, "[", 1);
	for (; tide__plain_next(&w, &key, &v); i++) {
		if (!tide__fr_dimension(j->d, (uint64_t)(v.at - j->text)))
			return false;
		if (!tide__plain_parse_number(v, 1, &x))
			return tide__fr_fail(j->d, TIDE_ECORRUPT, (uint64_t)(v.at - j->text),
					     "a size that is not a number");
		tide__fr_list_put(l, ", ", i ? 2 : 0);
		tide__fr_list_put(l, v.at, v.n);
		all = tide__fr_times(all, x);
	}
	tide__fr_list_put(l, "]", 1);
	l->elements = tide__fr_plus(l->elements, all);
	return !w.bad || damaged(j, w.p);
}

static bool take_list(struct json *j, tide_plain list, tide_str *out, int64_t *count)
{
	fr_list l = { .n = 0 };
	tide_plain key, v;
	size_t i = 0;
	tide_plain_walk w = tide__plain_walk(list);
	if (list.type != '[')
		return true;
	tide__fr_list_put(&l, "[", 1);
	for (; tide__plain_next(&w, &key, &v); i++) {
		tide__fr_list_put(&l, ", ", i ? 2 : 0);
		if (v.type == '"')
			tide__fr_list_put(&l, v.at, v.n);
		else if (!put_sizes(j, v, &l))
			return false;
	}
	tide__fr_list_put(&l, "]", 1);
	if (w.bad)
		return damaged(j, w.p);
	*count = l.elements;
	*out = tide__intern_n(j->d->m, l.text, l.n);
	return out->i || tide__fr_nomem(j->d);
}

static bool take_group(struct json *j, tide_plain v, fr_entry *e)
{
	tide_plain key, x;
	tide_plain_walk w = tide__plain_walk(v);
	if (v.type == '"')
		return take_text(j, v, &e->group);
	return (!tide__plain_next(&w, &key, &x) || take_text(j, x, &e->group)) &&
	       (!tide__plain_next(&w, &key, &x) || take_text(j, x, &e->desc));
}

static bool take_field(struct json *j, tide_plain key, tide_plain v, fr_entry *e)
{
	int64_t none;
	if (tide__plain_is(key, "time_discovered_started_ns"))
		return take_time(v, &e->started), true;
	if (tide__plain_is(key, "time_discovered_completed_ns"))
		return take_time(v, &e->completed), true;
#define X(name, member)                 \
	if (tide__plain_is(key, #name)) \
		return take_number(v, &e->member), true;
	FR_NUMBERS(X)
#undef X
#define X(name, member)                 \
	if (tide__plain_is(key, #name)) \
		return e->member = v.type == 't', true;
	FR_FLAGS(X)
#undef X
#define X(name, member)                 \
	if (tide__plain_is(key, #name)) \
		return take_text(j, v, &e->member);
	FR_TEXTS(X)
#undef X
	if (tide__plain_is(key, "input_sizes"))
		return take_list(j, v, &e->in_sizes, &e->in_count);
	if (tide__plain_is(key, "output_sizes"))
		return take_list(j, v, &e->out_sizes, &e->out_count);
	if (tide__plain_is(key, "input_dtypes"))
		return take_list(j, v, &e->in_types, &none);
	if (tide__plain_is(key, "output_dtypes"))
		return take_list(j, v, &e->out_types, &none);
	return !tide__plain_is(key, "process_group") || take_group(j, v, e);
}

static bool take_entry(struct json *j, tide_plain v)
{
	tide_plain key, x;
	tide_plain_walk w = tide__plain_walk(v);
	fr_entry *e = tide__fr_entry(j->d);
	if (!e)
		return false;
	if (v.type != '{')
		return tide__fr_fail(j->d, TIDE_ECORRUPT, (uint64_t)(v.at - j->text),
				     "an entry that is not an object");
	while (tide__plain_next(&w, &key, &x))
		if (!take_field(j, key, x, e))
			return false;
	return !w.bad || damaged(j, w.p);
}

static bool take_entries(struct json *j, tide_plain list)
{
	tide_plain key, v;
	tide_plain_walk w = tide__plain_walk(list);
	while (tide__plain_next(&w, &key, &v))
		if (!take_entry(j, v))
			return false;
	return !w.bad || damaged(j, w.p);
}

static bool take_config(struct json *j, tide_plain config)
{
	tide_plain key, v, x;
	tide_plain_walk w = tide__plain_walk(config);
	while (config.type == '{' && tide__plain_next(&w, &key, &v)) {
		fr_group *g = tide__fr_group(j->d);
		if (!g || !take_text(j, key, &g->name) ||
		    (tide__plain_get(v, "desc", &x) && !take_text(j, x, &g->desc)) ||
		    (tide__plain_get(v, "ranks", &x) && !take_text(j, x, &g->ranks)))
			return false;
	}
	return !w.bad || damaged(j, w.p);
}

static bool take_status(struct json *j, tide_plain status)
{
	tide_plain key, v, x;
	tide_plain_walk w = tide__plain_walk(status);
	while (status.type == '{' && tide__plain_next(&w, &key, &v)) {
		fr_group *g = tide__fr_group(j->d);
		if (!g)
			return false;
		take_number(key, &g->pg);
#define X(name, member)                    \
	if (tide__plain_get(v, #name, &x)) \
		take_number(x, &g->member);
		FR_STATUS(X)
#undef X
	}
	return !w.bad || damaged(j, w.p);
}

static bool take_root(struct json *j, tide_plain root)
{
	tide_plain key, v;
	char version[64];
	tide_plain_walk w = tide__plain_walk(root);
	while (tide__plain_next(&w, &key, &v)) {
		bool ok = true;
		if (tide__plain_is(key, "entries"))
			ok = take_entries(j, v);
		else if (tide__plain_is(key, "pg_config"))
			ok = take_config(j, v);
		else if (tide__plain_is(key, "pg_status"))
			ok = take_status(j, v);
		else if (tide__plain_is(key, "version") && v.type == '"') {
			snprintf(version, sizeof version, "%.*s", (int)(v.n < 60 ? v.n : 60), v.at);
			ok = tide__fact_text(j->d->m, "flightrec.version", version) ||
			     tide__fr_nomem(j->d);
		}
		if (!ok)
			return false;
	}
	return !w.bad || damaged(j, w.p);
}

tide_code tide__fr_read_json(fr_dump *d, const char *text, size_t n)
{
	struct json j = { d, text };
	tide_plain root;
	if (!tide__plain_parse(text, n, &root) || root.type != '{')
		tide__fr_fail(d, TIDE_ETRUNC, n, "the JSON ends early, or has more after its end");
	else
		take_root(&j, root);
	return d->rc;
}
