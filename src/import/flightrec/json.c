// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Dumps as JSON: the same fields without stacks, times of 0 for none, some numbers as texts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/flightrec/flightrec.h"
#include "import/json/node.h"

struct json {
	fr_dump *d;
	jsonr json;
};

static bool damaged(struct json *j, const char *at)
{
	return tide__fr_fail(j->d, TIDE_ECORRUPT, tide__jsonr_offset(&j->json, at), "damaged JSON");
}

static bool take_text(struct json *j, jsonr_node v, tide_str *out)
{
	if (v.type != '"' || !v.n)
		return true;
	*out = tide__intern_n(j->d->m, v.at, v.n);
	return out->i || tide__fr_nomem(j->d);
}

static void take_number(jsonr_node v, int64_t *out)
{
	jsonr_node number = v;
	int64_t x;
	if (v.type == '"')
		number.type = '0';
	if (tide__jsonr_parse_number(number, 1, &x))
		*out = x;
}

/* Times: 0 = not yet. */
static void take_time(jsonr_node v, int64_t *out)
{
	int64_t x = 0;
	take_number(v, &x);
	*out = x > 0 ? x : -1;
}

static bool put_sizes(struct json *j, jsonr_node list, fr_list *l)
{
	jsonr_node key, v;
	int64_t all = 1, x;
	size_t i = 0;
	jsonr_nodes w = tide__jsonr_walk(list);
	tide__fr_list_put(l, "[", 1);
	for (; tide__jsonr_next_node(&w, &key, &v); i++) {
		if (!tide__fr_dimension(j->d, tide__jsonr_offset(&j->json, v.at)))
			return false;
		if (!tide__jsonr_parse_number(v, 1, &x))
			return tide__fr_fail(j->d, TIDE_ECORRUPT,
					     tide__jsonr_offset(&j->json, v.at),
					     "a size that is not a number");
		tide__fr_list_put(l, ", ", i ? 2 : 0);
		tide__fr_list_put(l, v.at, v.n);
		all = tide__fr_times(all, x);
	}
	tide__fr_list_put(l, "]", 1);
	l->elements = tide__fr_plus(l->elements, all);
	return !w.bad || damaged(j, w.at);
}

static bool take_list(struct json *j, jsonr_node list, tide_str *out, int64_t *count)
{
	fr_list l = { .n = 0 };
	jsonr_node key, v;
	size_t i = 0;
	jsonr_nodes w = tide__jsonr_walk(list);
	if (list.type != '[')
		return true;
	tide__fr_list_put(&l, "[", 1);
	for (; tide__jsonr_next_node(&w, &key, &v); i++) {
		tide__fr_list_put(&l, ", ", i ? 2 : 0);
		if (v.type == '"')
			tide__fr_list_put(&l, v.at, v.n);
		else if (!put_sizes(j, v, &l))
			return false;
	}
	tide__fr_list_put(&l, "]", 1);
	if (w.bad)
		return damaged(j, w.at);
	*count = l.elements;
	*out = tide__intern_n(j->d->m, l.text, l.n);
	return out->i || tide__fr_nomem(j->d);
}

static bool take_group(struct json *j, jsonr_node v, fr_entry *e)
{
	jsonr_node key, x;
	jsonr_nodes w = tide__jsonr_walk(v);
	if (v.type == '"')
		return take_text(j, v, &e->group);
	return (!tide__jsonr_next_node(&w, &key, &x) || take_text(j, x, &e->group)) &&
	       (!tide__jsonr_next_node(&w, &key, &x) || take_text(j, x, &e->desc));
}

static bool take_field(struct json *j, jsonr_node key, jsonr_node v, fr_entry *e)
{
	int64_t none;
	if (tide__jsonr_is(key, "time_discovered_started_ns"))
		return take_time(v, &e->started), true;
	if (tide__jsonr_is(key, "time_discovered_completed_ns"))
		return take_time(v, &e->completed), true;
#define X(name, member)                 \
	if (tide__jsonr_is(key, #name)) \
		return take_number(v, &e->member), true;
	FR_NUMBERS(X)
#undef X
#define X(name, member)                 \
	if (tide__jsonr_is(key, #name)) \
		return e->member = v.type == 't', true;
	FR_FLAGS(X)
#undef X
#define X(name, member)                 \
	if (tide__jsonr_is(key, #name)) \
		return take_text(j, v, &e->member);
	FR_TEXTS(X)
#undef X
	if (tide__jsonr_is(key, "input_sizes"))
		return take_list(j, v, &e->in_sizes, &e->in_count);
	if (tide__jsonr_is(key, "output_sizes"))
		return take_list(j, v, &e->out_sizes, &e->out_count);
	if (tide__jsonr_is(key, "input_dtypes"))
		return take_list(j, v, &e->in_types, &none);
	if (tide__jsonr_is(key, "output_dtypes"))
		return take_list(j, v, &e->out_types, &none);
	return !tide__jsonr_is(key, "process_group") || take_group(j, v, e);
}

static bool take_entry(struct json *j, jsonr_node v)
{
	jsonr_node key, x;
	jsonr_nodes w = tide__jsonr_walk(v);
	fr_entry *e = tide__fr_entry(j->d);
	if (!e)
		return false;
	if (v.type != '{')
		return tide__fr_fail(j->d, TIDE_ECORRUPT, tide__jsonr_offset(&j->json, v.at),
				     "an entry that is not an object");
	while (tide__jsonr_next_node(&w, &key, &x))
		if (!take_field(j, key, x, e))
			return false;
	return !w.bad || damaged(j, w.at);
}

static bool take_entries(struct json *j, jsonr_node list)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (tide__jsonr_next_node(&w, &key, &v))
		if (!take_entry(j, v))
			return false;
	return !w.bad || damaged(j, w.at);
}

static bool take_config(struct json *j, jsonr_node config)
{
	jsonr_node key, v, x;
	jsonr_nodes w = tide__jsonr_walk(config);
	while (config.type == '{' && tide__jsonr_next_node(&w, &key, &v)) {
		fr_group *g = tide__fr_group(j->d);
		if (!g || !take_text(j, key, &g->name) ||
		    (tide__jsonr_get(v, "desc", &x) && !take_text(j, x, &g->desc)) ||
		    (tide__jsonr_get(v, "ranks", &x) && !take_text(j, x, &g->ranks)))
			return false;
	}
	return !w.bad || damaged(j, w.at);
}

static bool take_status(struct json *j, jsonr_node status)
{
	jsonr_node key, v, x;
	jsonr_nodes w = tide__jsonr_walk(status);
	while (status.type == '{' && tide__jsonr_next_node(&w, &key, &v)) {
		fr_group *g = tide__fr_group(j->d);
		if (!g)
			return false;
		take_number(key, &g->pg);
#define X(name, member)                    \
	if (tide__jsonr_get(v, #name, &x)) \
		take_number(x, &g->member);
		FR_STATUS(X)
#undef X
	}
	return !w.bad || damaged(j, w.at);
}

static bool take_root(struct json *j, jsonr_node root)
{
	jsonr_node key, v;
	char version[64];
	jsonr_nodes w = tide__jsonr_walk(root);
	while (tide__jsonr_next_node(&w, &key, &v)) {
		bool ok = true;
		if (tide__jsonr_is(key, "entries"))
			ok = take_entries(j, v);
		else if (tide__jsonr_is(key, "pg_config"))
			ok = take_config(j, v);
		else if (tide__jsonr_is(key, "pg_status"))
			ok = take_status(j, v);
		else if (tide__jsonr_is(key, "version") && v.type == '"') {
			snprintf(version, sizeof version, "%.*s", (int)(v.n < 60 ? v.n : 60), v.at);
			ok = tide__fact_text(j->d->m, "flightrec.version", version) ||
			     tide__fr_nomem(j->d);
		}
		if (!ok)
			return false;
	}
	return !w.bad || damaged(j, w.at);
}

tide_code tide__fr_read_json(fr_dump *d, const char *text, size_t n)
{
	struct json j = { .d = d };
	jsonr_node root;
	if (tide__jsonr_open(&j.json, text, n, &root) && root.type == '{')
		take_root(&j, root);
	else if (j.json.why == JSONR_NOMEM)
		tide__fr_nomem(d);
	else
		tide__fr_fail(d, TIDE_ETRUNC, n, "the JSON ends early, or has more after its end");
	tide__jsonr_fini(&j.json);
	return d->rc;
}
