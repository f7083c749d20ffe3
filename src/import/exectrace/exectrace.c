// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One document with a list of nodes, each written when it ends; its number was given when it began.
 * So the order of numbers is that of beginnings, and a node ends after all nodes inside it. There are
 * no times: the axis counts ops. */
#include "import/exectrace/exectrace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/exectrace/exectrace_impl.h"
#include "import/json/compact.h"
#include "import/json/text.h"
#include "import/source.h"
#include "model/span_parents.h"

#define BYTES_MOST ((size_t)3 << 30)
#define ROOT	   "[pytorch|profiler|execution_" /* nodes of the process and its threads */

bool tide__et_nomem(et_trace *t)
{
	t->rc = tide__nomem(t->err);
	return false;
}

/* ---- nodes ---- */

static int64_t number(jsonr_node v, int64_t none)
{
	int64_t n;
	return tide__jsonr_parse_number(v, 1, &n) ? n : none;
}

static bool intern(et_trace *t, jsonr_node v, tide_str *to)
{
	*to = (tide_str){ 0 };
	if (v.type != '"' || !v.n)
		return true;
	char *plain = tide__alloc(v.n, 1);
	size_t n = plain ? tide__jsonr_unescape(v.at, v.n, plain) : 0;
	*to = tide__intern_n(t->m, plain ? plain : "", n);
	bool ok = plain && (to->i || !n);
	tide__free(plain);
	return ok || tide__et_nomem(t);
}

/* [{"name": "tid", "value": 1}, ..] */
static void read_attributes(et_node *n, jsonr_node list)
{
	jsonr_node key, a, name, value;
	for (jsonr_nodes w = tide__jsonr_walk(list); tide__jsonr_next_node(&w, &key, &a);) {
		if (a.type != '{' || !tide__jsonr_get(a, "name", &name) ||
		    !tide__jsonr_get(a, "value", &value))
			continue;
		if (tide__jsonr_is(name, "tid"))
			n->tid = number(value, 0);
		else if (tide__jsonr_is(name, "scope") && number(value, 0) == 7)
			n->cat = TIDE_CAT_USER;
	}
}

static void read_side(et_node *n, jsonr_node v, int side)
{
	(void)tide__jsonr_get(v, "values", &n->values[side]);
	(void)tide__jsonr_get(v, "shapes", &n->shapes[side]);
	(void)tide__jsonr_get(v, "types", &n->types[side]);
	(void)tide__jsonr_get(v, "strides", &n->strides[side]);
}

/* Older schemas have these at the node itself. */
static void read_member(et_node *n, jsonr_node key, jsonr_node v)
{
	static const struct {
		const char *name;
		size_t at;
	} old[] = { { "inputs", offsetof(et_node, values[0]) },
		    { "outputs", offsetof(et_node, values[1]) },
		    { "input_shapes", offsetof(et_node, shapes[0]) },
		    { "output_shapes", offsetof(et_node, shapes[1]) },
		    { "input_types", offsetof(et_node, types[0]) },
		    { "output_types", offsetof(et_node, types[1]) } };
	if (tide__jsonr_is(key, "id"))
		n->id = (uint64_t)number(v, 0);
	else if (tide__jsonr_is(key, "ctrl_deps") || tide__jsonr_is(key, "parent"))
		n->parent = (uint64_t)number(v, 0);
	else if (tide__jsonr_is(key, "tid"))
		n->tid = number(v, 0);
	else if (tide__jsonr_is(key, "scope") && number(v, 0) == 7)
		n->cat = TIDE_CAT_USER;
	else if (tide__jsonr_is(key, "attrs"))
		read_attributes(n, v);
	else if (v.type == '{' && tide__jsonr_is(key, "inputs"))
		read_side(n, v, 0);
	else if (v.type == '{' && tide__jsonr_is(key, "outputs"))
		read_side(n, v, 1);
	else
		for (size_t i = 0; v.type == '[' && i < sizeof old / sizeof *old; i++)
			if (tide__jsonr_is(key, old[i].name))
				*(jsonr_node *)(void *)((char *)n + old[i].at) = v;
}

static bool read_node(et_trace *t, jsonr_node v)
{
	jsonr_node key, member, name = { 0 };
	et_node n = { .cat = TIDE_CAT_OP };
	jsonr_nodes w = tide__jsonr_walk(v);
	while (tide__jsonr_next_node(&w, &key, &member)) {
		if (tide__jsonr_is(key, "name"))
			name = member;
		read_member(&n, key, member);
	}
	if (!intern(t, name, &n.name))
		return false;
	et_node *kept = t->n_nodes < UINT32_MAX / 4 ? TIDE_PUSH(t, nodes) : NULL;
	if (!kept)
		return tide__et_nomem(t);
	*kept = n;
	return true;
}

static bool read_nodes(et_trace *t, jsonr_node list)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (tide__jsonr_next_node(&w, &key, &v))
		if (v.type == '{' && !read_node(t, v))
			return false;
	if (!w.bad)
		return true;
	t->rc = tide__fail(t->err, TIDE_ECORRUPT, tide__jsonr_offset(&t->json, w.at),
			   "damaged JSON");
	return false;
}

/* ---- places ---- */

static int by_id(const void *a, const void *b, void *user)
{
	const et_node *n = user;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (n[x].id != n[y].id)
		return n[x].id < n[y].id ? -1 : 1;
	return (x > y) - (x < y);
}

/* A node ends after the last one that is inside it. */
static bool find_places(et_trace *t, uint32_t *order)
{
	tide_map place_of = { 0 };
	size_t n = t->n_nodes;
	bool ok = true;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof *order, by_id, t->nodes);
	for (size_t k = 0; ok && k < n; k++) {
		et_node *v = &t->nodes[order[k]];
		v->begin = (uint32_t)k;
		v->end = (uint32_t)k + 1;
		ok = tide__map_put(&place_of, v->id, (uint32_t)k + 1);
	}
	for (size_t k = n; ok && k-- > 0;) {
		const et_node *v = &t->nodes[order[k]];
		uint32_t above = tide__map_get(&place_of, v->parent);
		if (above && above - 1 < k && t->nodes[order[above - 1]].end < v->end)
			t->nodes[order[above - 1]].end = v->end;
	}
	tide__map_free(&place_of);
	return ok || tide__et_nomem(t);
}

/* ---- spans ---- */

static uint32_t lane_of(et_trace *t, int64_t tid)
{
	tide_lanes *l = &t->m->lanes;
	uint32_t row = tide__map_get(&t->lanes, (uint64_t)tid);
	if (row)
		return row;
	row = tide__push(l, &tide_lanes_desc);
	if (!row || !tide__map_put(&t->lanes, (uint64_t)tid, row))
		return 0;
	l->kind[row] = TIDE_LANE_THREAD;
	l->process[row].i = 1;
	l->number[row] = tid;
	return row;
}

static bool put_attr(et_trace *t, uint32_t span, const char *key, tide_str text)
{
	size_t row;
	tide_str k = text.i ? tide__intern(t->m, key) : (tide_str){ 0 };
	if (!text.i)
		return true;
	if (!k.i || !tide__table_push(&t->m->attrs, &tide_attrs_desc, &row))
		return tide__et_nomem(t);
	t->m->attrs.span[row].i = span;
	t->m->attrs.key[row] = k;
	t->m->attrs.text[row] = text;
	return true;
}

static bool put_list(et_trace *t, uint32_t span, const char *key, jsonr_node v)
{
	if (v.type != '[' || v.n > 1 << 20)
		return true;
	char *text = tide__alloc(2 * v.n + 1, 1);
	if (!text)
		return tide__et_nomem(t);
	size_t n = tide__jsonr_compact(v.at, v.n, text, 2 * v.n);
	tide_str s = tide__intern_n(t->m, text, n);
	tide__free(text);
	return s.i ? put_attr(t, span, key, s) : tide__et_nomem(t);
}

/* Writes types as the profiler names them: "float" for "Tensor(float)". */
static bool put_types(et_trace *t, uint32_t span, jsonr_node list)
{
	jsonr_node key, v;
	char *text = NULL;
	size_t n = 0, cap = 0;
	if (list.type != '[' || list.n > 1 << 20)
		return true;
	if (!TIDE_ROOM(text, cap, 4 * list.n + 16))
		return tide__et_nomem(t);
	text[n++] = '[';
	for (jsonr_nodes w = tide__jsonr_walk(list); tide__jsonr_next_node(&w, &key, &v);) {
		const char *s = v.at;
		size_t k = v.n;
		if (k > 8 && !memcmp(s, "Tensor(", 7)) {
			s += 7;
			k -= 8;
		} else if (k > 18 && !memcmp(s, "GenericList[Tensor", 18)) {
			s = "TensorList";
			k = 10;
		} else if (k > 11 && !memcmp(s, "GenericList", 11)) {
			s = "ScalarList";
			k = 10;
		} else {
			bool none = k == 4 && !memcmp(s, "None", 4);
			s = none ? "" : "Scalar";
			k = none ? 0 : 6;
		}
		if (!TIDE_ROOM(text, cap, n + k + 8)) {
			tide__free(text);
			return tide__et_nomem(t);
		}
		if (n > 1) {
			text[n++] = ',';
			text[n++] = ' ';
		}
		text[n++] = '"';
		memcpy(text + n, s, k);
		n += k;
		text[n++] = '"';
	}
	text[n++] = ']';
	tide_str all = tide__intern_n(t->m, text, n);
	tide__free(text);
	return all.i ? put_attr(t, span, "Input type", all) : tide__et_nomem(t);
}

static bool put_span(et_trace *t, et_node *v)
{
	tide_spans *s = &t->m->spans;
	if (!strncmp(tide__text(t->m, v->name, NULL), ROOT, sizeof ROOT - 1))
		return true;
	uint32_t lane = lane_of(t, v->tid), row = lane ? tide__push(s, &tide_spans_desc) : 0;
	if (!row)
		return tide__et_nomem(t);
	v->span = row;
	s->t0[row] = (int64_t)v->begin * TIDE_OP_NS;
	s->t1[row] = (int64_t)v->end * TIDE_OP_NS;
	s->lane[row].i = lane;
	s->name[row] = v->name;
	s->cat[row] = v->cat;
	if (!(t->want & TIDE_WANT_SHAPES) || v->cat != TIDE_CAT_OP)
		return true;
	return put_list(t, row, "Input Dims", v->shapes[0]) && put_types(t, row, v->types[0]) &&
	       put_list(t, row, "Input Strides", v->strides[0]);
}

/* ---- all of it ---- */

static bool put_process(et_trace *t, jsonr_node top)
{
	jsonr_node pid = { 0 };
	tide_processes *p = &t->m->processes;
	uint32_t row = tide__push(p, &tide_processes_desc);
	if (!row)
		return tide__et_nomem(t);
	(void)tide__jsonr_get(top, "pid", &pid);
	p->pid[row] = number(pid, -1);
	p->parent_pid[row] = p->rank[row] = p->world[row] = -1;
	return true;
}

static bool put_facts(et_trace *t, jsonr_node top)
{
	jsonr_node schema = { 0 };
	tide_str text;
	(void)tide__jsonr_get(top, "schema", &schema);
	if (!intern(t, schema, &text))
		return false;
	bool ok = tide__fact_text(t->m, "time.axis", tide__axis_text(TIDE_AXIS_OPS)) &&
		  tide__fact_text(t->m, "alloc.basis",
				  "at least: a storage lives from the op that returns it first to "
				  "the end of the last op that names it") &&
		  tide__fact_text(t->m, "exectrace.schema", tide__text(t->m, text, NULL)) &&
		  (!t->bad || tide__fact_set_number(t->m, "loss.bad_records", (int64_t)t->bad));
	return ok || tide__et_nomem(t);
}

static bool build(et_trace *t, jsonr_node top)
{
	uint32_t *order = tide__alloc(t->n_nodes, sizeof *order);
	bool ok = order ? find_places(t, order) : tide__et_nomem(t);
	ok = ok && put_process(t, top);
	for (size_t k = 0; ok && k < t->n_nodes; k++)
		ok = put_span(t, &t->nodes[order[k]]);
	tide__free(order);
	ok = ok && tide__et_storages(t);
	t->m->axis = TIDE_AXIS_OPS;
	t->m->t_end = (int64_t)t->n_nodes * TIDE_OP_NS;
	if (ok && t->m->spans.n > 1 && !tide__find_span_parents(t->m, NULL, 0, NULL, 0))
		ok = tide__et_nomem(t);
	return ok && put_facts(t, top);
}

static void read_all(et_trace *t, const char *text, size_t n)
{
	jsonr_node top, nodes;
	if (!tide__jsonr_open(&t->json, text, n, &top)) {
		if (t->json.why == JSONR_NOMEM)
			(void)tide__et_nomem(t);
		else
			t->rc = tide__fail(t->err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					   "damaged or cut: its %zu bytes are not one JSON "
					   "document",
					   n);
		return;
	}
	if (!tide__jsonr_get(top, "nodes", &nodes) || nodes.type != '[') {
		t->rc = tide__fail(t->err, TIDE_EFORMAT, 0, "no list \"nodes\"");
		return;
	}
	if (!read_nodes(t, nodes))
		return;
	if (!t->n_nodes)
		t->rc = tide__fail(t->err, TIDE_EFORMAT, 0, "an execution trace without nodes");
	else
		(void)build(t, top);
}

tide_code tide__exectrace_import(const char *text, size_t n, const tide_load_options *opt,
				 tide_model *m, tide_error *err)
{
	et_trace t = { .m = m, .err = err, .want = opt->what };
	read_all(&t, text, n);
	tide__free(t.nodes);
	tide__free(t.lives);
	tide__map_free(&t.life_of);
	tide__map_free(&t.lanes);
	tide__map_free(&t.pools);
	tide__jsonr_fini(&t.json);
	return t.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, BYTES_MOST, 0, &in, err);
	if (!rc)
		rc = tide__exectrace_import((const char *)in.data, in.n, opt, m, err);
	tide__free(in.data);
	return rc;
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t few = n < 4096 ? n : 4096;
	if (!few || *head != '{' || !tide__head_contains(head, few, "\"schema\""))
		return 0;
	return tide__head_contains(head, few, "execution_trace|process") ||
			       tide__head_contains(head, few, "execution_trace|thread") ||
			       tide__head_contains(head, few, "\"ctrl_deps\"") ||
			       tide__head_contains(head, few, "execution_graph|")
		       ? 91
		       : 0;
}

const tide_importer tide__import_exectrace = {
	.name = "exectrace",
	.what = "execution trace of PyTorch (Chakra), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
