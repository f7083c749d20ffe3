// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes Chrome trace JSON as PyTorch's profiler does. Our importer reads it back as the same
 * spans; Perfetto and chrome://tracing show it.
 *
 * Spans are X events, strictly nested in each (pid, tid): spans that do not nest in their lane get
 * a separate tid. ts is in us with three decimals, from baseTimeNanoseconds. Kernels are linked to
 * their launches by `correlation` (the launch's row) and by ac2g flows; memory becomes [memory]
 * instants and a counter per device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/span_args.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/losses.h"
#include "render/export/chrome.h"

typedef struct property { /* one of deviceProperties */
	int64_t id;
	uint64_t capacity;
	char name[96];
	char device[32]; /* empty: cuda:id */
} property;

/* ---- spans ---- */

/* Every span repeats its whole stack, so deep ones are truncated, with a note. */
char *tide__chrome_stack(chrome *c, tide_stack_id stack, size_t *n)
{
	enum { MOST_FRAMES = 2048 };
	const tide_model *m = c->m;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	*n = 0;
	if (!f)
		return NULL;
	for (int k = 0; stack.i; stack = m->stacks.parent[stack.i]) { /* innermost first */
		if (k++ == MOST_FRAMES) {
			fputs("...(0): [more frames];", f);
			break;
		}
		tide_frame_id fr = m->stacks.frame[stack.i];
		fputs(tide__long_text(&c->longs, m, m->frames.file[fr.i], NULL), f);
		fprintf(f, "(%" PRIu32 "): ", m->frames.line[fr.i]);
		fprintf(f, "%s;", tide__long_text(&c->longs, m, m->frames.function[fr.i], NULL));
	}
	if (!fclose(f) && size)
		*n = size - 1;
	return text;
}

static void stack_arg(chrome *c, tide_stack_id stack)
{
	size_t n;
	char *text = tide__chrome_stack(c, stack, &n);
	if (n)
		tide__json_key(&c->j, "Call stack"), tide__json_strn(&c->j, text, n);
	free(text);
}

bool tide__chrome_own_arg(const char *key)
{
	static const char *const keys[] = { "correlation", "External id", "device",
					    "stream",	   "Call stack",  TIDE_CHROME_RECORD };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static bool is_call(unsigned cat)
{
	return cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER;
}

/* Writes the numbers that link rows. Calls and device rows share the number of the call's row, ops
 * and rows they started that of the op's row; a call or device row without a partner has a unique
 * number, as in PyTorch's traces.
 */
void tide__chrome_links(const chrome *c, uint32_t i, tide_chrome_links *out)
{
	const tide_spans *s = &c->m->spans;
	bool sync = s->cat[i] == TIDE_CAT_SYNC, gpu = tide__cat_is_gpu(s->cat[i]);
	uint32_t cause = gpu || sync ? s->cause[i].i : 0, op = c->from[i];
	*out = (tide_chrome_links){ 0 };
	if (is_call(s->cat[i]) || ((gpu || sync) && !cause))
		out->correlation = link_id(c, i);
	else if (cause && is_call(s->cat[cause]))
		out->correlation = link_id(c, cause);
	else if (cause && !op)
		op = cause;
	else if (c->causes[i])
		op = i;
	if (op) {
		out->key = sync ? TIDE_CHROME_RECORD : "External id";
		out->op = link_id(c, op);
	}
}

static void links(chrome *c, uint32_t i)
{
	tide_chrome_links l;
	tide__chrome_links(c, i, &l);
	if (l.correlation)
		tide__json_kuint(&c->j, "correlation", l.correlation);
	if (l.op)
		tide__json_kuint(&c->j, l.key, l.op);
}

bool tide__chrome_is_group(const tide_model *m, uint32_t lane)
{
	return m->lanes.kind[lane] == TIDE_LANE_OTHER && !m->lanes.device[lane].i &&
	       m->lanes.name[lane].i;
}

/* Returns true for spans that began and ended as separate events, in a group instead of on a
 * thread. */
static bool in_group(const tide_model *m, uint32_t i)
{
	uint32_t lane = m->spans.lane[i].i;
	unsigned cat = m->spans.cat[i];
	return tide__chrome_is_group(m, lane) &&
	       (cat == TIDE_CAT_OTHER ||
		!strcmp(tide__text(m, m->lanes.name[lane], NULL), tide__kineto_cat(cat)));
}

static void pair(chrome *c, uint32_t i)
{
	const tide_spans *s = &c->m->spans;
	for (int end = 0; end < 2; end++) {
		begin_event(c, end ? "e" : "b", tide__chrome_pid(c, s->lane[i].i), 0);
		kstr(c, "cat", c->m->lanes.name[s->lane[i].i]);
		tide__json_kuint(&c->j, "id", link_id(c, i));
		kstr(c, "name", s->name[i]);
		ts(c, end ? tide__span_end(c->m, i) : s->t0[i]);
		tide__json_object_end(&c->j);
	}
}

/* Writes "[128, 1, 1]" as a list. Returns false for any other text. */
static bool number_list(chrome *c, const char *key, const char *s)
{
	enum { MOST = 8 };
	int64_t v[MOST];
	size_t n = 0;
	char *end;
	if (*s != '[' || s[1] < '0' || s[1] > '9')
		return false;
	for (s++; n < MOST; s = end + 1 + strspn(end + 1, " ")) {
		if (*s < '0' || *s > '9')
			return false;
		v[n++] = strtoll(s, &end, 10);
		if (*end == ']')
			break;
		if (*end != ',')
			return false;
	}
	if (*end != ']' || end[1])
		return false;
	tide__json_karray(&c->j, key);
	for (size_t i = 0; i < n; i++)
		tide__json_int(&c->j, v[i]);
	tide__json_array_end(&c->j);
	return true;
}

static void span(chrome *c, uint32_t i)
{
	const tide_model *m = c->m;
	const tide_spans *s = &m->spans;
	uint32_t k = c->nest.track[i], lane = s->lane[i].i;
	if (c->beside && !tide__chrome_is_group(m, lane))
		return;
	if (in_group(m, i)) {
		pair(c, i);
		return;
	}
	begin_event(c, "X", c->pid[k], c->tid[k]);
	tide__json_kstr(&c->j, "cat", tide__kineto_cat(s->cat[i]));
	kstr(c, "name", s->name[i]);
	ts(c, s->t0[i]);
	tide__json_kmilli(&c->j, "dur", tide__track_end(&c->nest, m, i) - s->t0[i]);
	begin_args(c);
	if (tide__chrome_on_device(m, lane)) {
		tide__json_kint(&c->j, "device", apart(c, c->device[m->lanes.device[lane].i]));
		tide__json_kint(&c->j, "stream", m->lanes.number[lane]);
	}
	links(c, i);
	if (s->stack[i].i)
		stack_arg(c, s->stack[i]);
	for (size_t at = tide__attr_first(m, i); at < m->attrs.n && m->attrs.span[at].i == i;
	     at++) {
		const char *key = tide__text(m, m->attrs.key[at], NULL);
		if (tide__chrome_own_arg(key))
			continue;
		if (!m->attrs.text[at].i)
			tide__json_kint(&c->j, key, m->attrs.number[at]);
		else if (!number_list(c, key, tide__text(m, m->attrs.text[at], NULL)))
			kstr(c, key, m->attrs.text[at]);
	}
	end_args(c);
}

/* ---- the order of spans ---- */

struct instant {
	uint32_t parent, row; /* a span that takes no time */
};

static int by_parent(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Writes spans [from, to), which begin together, longest first in the table. Those that take no
 * time come directly after their parents: readers nest them by the order in the file
 * (span_parents.h). */
static bool same_start(chrome *c, uint32_t from, uint32_t to)
{
	const tide_spans *s = &c->m->spans;
	uint32_t longs = from, k = 0;
	while (longs < to && s->t1[longs] > s->t0[longs])
		longs++;
	uint32_t n = to - longs;
	struct instant *v = tide__alloc(n, sizeof *v);
	if (!v)
		return false;
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct instant){ s->parent[longs + i].i, longs + i };
	qsort(v, n, sizeof *v, by_parent);
	for (uint32_t i = from; i <= longs; i++) {
		for (; k < n && (i == longs || v[k].parent < i); k++)
			span(c, v[k].row);
		if (i < longs)
			span(c, i);
	}
	tide__free(v);
	return true;
}

static bool all_spans(chrome *c)
{
	const tide_spans *s = &c->m->spans;
	for (uint32_t i = 1, to; i < s->n; i = to) {
		for (to = i + 1; to < s->n && s->t0[to] == s->t0[i]; to++)
			;
		if (to - i > 1 && s->t0[to - 1] == s->t1[to - 1]) {
			if (!same_start(c, i, to))
				return false;
			continue;
		}
		for (uint32_t k = i; k < to; k++)
			span(c, k);
	}
	return true;
}

static void flow(chrome *c, const char *ph, const char *cat, uint64_t id, uint32_t i)
{
	uint32_t k = c->nest.track[i];
	begin_event(c, ph, c->pid[k], c->tid[k]);
	tide__json_kuint(&c->j, "id", link_id(c, id));
	tide__json_kstr(&c->j, "cat", cat);
	tide__json_kstr(&c->j, "name", cat);
	ts(c, c->m->spans.t0[i]);
	if (*ph == 'f')
		tide__json_kstr(&c->j, "bp", "e");
	tide__json_object_end(&c->j);
}

static void all_flows(chrome *c)
{
	const tide_model *m = c->m;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (c->causes[i] & TIDE_CHROME_LAUNCHED)
			flow(c, "s", "ac2g", i, i);
		if (tide__cat_is_gpu(m->spans.cat[i]) && m->spans.cause[i].i)
			flow(c, "f", "ac2g", m->spans.cause[i].i, i);
	}
	for (size_t k = 0; k < m->flows.n; k++) {
		uint64_t id = m->spans.n + k;
		const char *cat = m->flows.kind[k] == TIDE_FLOW_WAIT
					  ? TIDE_CHROME_WAIT
					  : tide__flow_kind_text(m->flows.kind[k]);
		if (m->flows.kind[k] == TIDE_FLOW_LAUNCH)
			continue; /* in the spans' arguments */
		flow(c, "s", cat, id, m->flows.from[k].i);
		flow(c, "f", cat, id, m->flows.to[k].i);
	}
}

/* ---- the document ---- */

static property property_of(const chrome *c, uint32_t d)
{
	const tide_devices *v = &c->m->devices;
	property p = { .id = apart(c, c->device[d]), .capacity = v->capacity[d] };
	snprintf(p.name, sizeof p.name, "%s", tide__text(c->m, v->name[d], NULL));
	tide__chrome_device_name(c, d, p.device, sizeof p.device);
	return p;
}

static void put_property(tide_json *j, const property *p)
{
	tide__json_object(j);
	tide__json_kint(j, "id", p->id);
	if (*p->name)
		tide__json_kstr(j, "name", p->name);
	if (p->capacity)
		tide__json_kuint(j, "totalGlobalMem", p->capacity);
	if (*p->device)
		tide__json_kstr(j, "tidemark_device", p->device);
	tide__json_object_end(j);
}

static void devices(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_karray(&c->j, "deviceProperties");
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		property p = property_of(c, d);
		put_property(&c->j, &p);
	}
	tide__json_array_end(&c->j);
}

static void put_fact(chrome *c, size_t i, const char *key)
{
	if (tide__fact_is_text(c->m, i))
		kstr(c, key, c->m->facts.text[i]);
	else
		tide__json_kint(&c->j, key, c->m->facts.number[i]);
}

/* Writes the losses of the trace. */
static void losses(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_kobject(&c->j, "tidemark");
	tide__json_kuint(&c->j, "cut_spans", c->nest.n_cut);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		if (tide__loss_key(key))
			put_fact(c, i, key);
	}
	tide__json_object_end(&c->j);
}

#define WINDOW "kineto.window."

bool tide__chrome_window(const tide_model *m, size_t fact, tide_chrome_window *out)
{
	const tide_facts *f = &m->facts;
	char *end;
	if (strncmp(tide__text(m, f->key[fact], NULL), WINDOW, strlen(WINDOW)))
		return false;
	out->t = strtoll(tide__text(m, f->text[fact], NULL), &end, 10);
	out->dur = strtoll(end, &end, 10);
	out->ops = strtoll(end, &end, 10);
	out->name = *end ? end + 1 : end;
	return true;
}

/* Writes the rows of the profiler's own window, which the importer keeps as facts. */
static void windows(chrome *c)
{
	tide_chrome_window w;
	for (size_t i = 0; i < c->m->facts.n; i++) {
		if (!tide__chrome_window(c->m, i, &w))
			continue;
		tide__json_object(&c->j);
		tide__json_kstr(&c->j, "ph", "X");
		tide__json_kstr(&c->j, "pid", "Spans");
		tide__json_kstr(&c->j, "tid", TIDE_WINDOW_TRACK);
		tide__json_kstr(&c->j, "cat", TIDE_WINDOW_CATEGORY);
		tide__json_kstr(&c->j, "name", w.name);
		ts(c, w.t);
		tide__json_kmilli(&c->j, "dur", w.dur);
		if (w.ops >= 0) {
			tide__json_kobject(&c->j, "args");
			tide__json_kint(&c->j, TIDE_WINDOW_OPS, w.ops);
			tide__json_object_end(&c->j);
		}
		tide__json_object_end(&c->j);
	}
}

/* Writes the trace's metadata: facts of a prefix, under their names without it. Lists, which were
 * stored as text, are left out; so are facts that the file has in another form. */
static void facts(chrome *c, const char *prefix)
{
	static const char *const not [] = { "schemaVersion",	       "displayTimeUnit", "events",
					    "baseTimeNanoseconds",     "ts0_ns",	  "rank",
					    "frees_of_earlier_memory", "world_size",	  NULL };
	const tide_model *m = c->m;
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL), *text, *const *k = not ;
		text = tide__text(m, m->facts.text[i], NULL);
		if (strncmp(key, prefix, strlen(prefix)) || *text == '[' || *text == '{' ||
		    !strncmp(key, WINDOW, strlen(WINDOW)))
			continue;
		key += strlen(prefix);
		while (*k && strcmp(*k, key))
			k++;
		if (!*k)
			put_fact(c, i, key);
	}
}

static void head(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_kint(&c->j, "schemaVersion", 1);
	tide__json_kstr(&c->j, "displayTimeUnit", "ns");
	if (m->wall_known)
		tide__json_kint(&c->j, "baseTimeNanoseconds", m->wall0_ns);
	facts(c, "kineto.");
	devices(c);
	if (m->processes.n > 1 && m->processes.rank[1] >= 0) {
		tide__json_kobject(&c->j, "distributedInfo");
		tide__json_kint(&c->j, "rank", m->processes.rank[1]);
		if (m->processes.world[1] > 0)
			tide__json_kint(&c->j, "world_size", m->processes.world[1]);
		facts(c, "distributed.");
		tide__json_object_end(&c->j);
	}
	losses(c);
}

bool tide__chrome_prepare(chrome *c)
{
	const tide_model *m = c->m;
	const tide_spans *s = &m->spans;
	c->causes = tide__calloc(s->n, 1);
	c->from = tide__calloc(s->n, sizeof *c->from);
	if (!c->causes || !c->from || !tide__chrome_assign_numbers(c))
		return false;
	for (uint32_t i = 1; i < s->n; i++)
		if (tide__cat_is_gpu(s->cat[i]) && s->cause[i].i)
			c->causes[s->cause[i].i] |= TIDE_CHROME_LAUNCHED;
	for (size_t k = 0; k < m->flows.n; k++) {
		uint32_t from = m->flows.from[k].i, to = m->flows.to[k].i;
		unsigned kind = m->flows.kind[k];
		if ((kind == TIDE_FLOW_LAUNCH && tide__cat_is_gpu(s->cat[to])) ||
		    (kind == TIDE_FLOW_WAIT && s->cat[to] == TIDE_CAT_SYNC))
			c->from[to] = from;
		if (kind == TIDE_FLOW_LAUNCH)
			c->causes[from] |= TIDE_CHROME_NAMED;
	}
	return true;
}

/* Writes all events of traceEvents. */
static bool events(chrome *c)
{
	tide__chrome_write_meta(c);
	if (!all_spans(c))
		return false;
	all_flows(c);
	windows(c);
	tide__chrome_write_marks(c);
	return tide__chrome_write_samples(c) && tide__chrome_write_memory(c);
}

void tide__chrome_finish(chrome *c, tide_export_stats *st)
{
	for (uint32_t k = 1; k < c->nest.n_tracks; k++)
		st->extra_tracks += c->nest.tracks[k].number > 0;
	st->cut_spans += c->nest.n_cut;
	st->cut_texts = c->j.cut + c->longs.cut;
	tide__long_free(&c->longs);
	if (c->j.longs)
		tide__long_free(c->j.longs);
	tide__tracks_free(&c->nest);
	tide__free(c->pid);
	tide__free(c->tid);
	tide__free(c->device);
	tide__free(c->process);
	tide__free(c->causes);
	tide__free(c->from);
	c->nest = (tide_tracks){ 0 };
	c->pid = c->tid = c->device = c->process = NULL;
	c->causes = NULL;
	c->from = NULL;
}

bool tide__chrome_write_beside(chrome *c, int64_t base, FILE *out)
{
	c->beside = true;
	tide__json_begin(&c->j, out, false);
	tide__json_object(&c->j);
	tide__json_kobject(&c->j, "tidemark");
	tide__json_key(&c->j, "tracks");
	tide__json_bool(&c->j, true);
	tide__json_object_end(&c->j);
	if (c->place.many) {
		tide__json_kint(&c->j, "schemaVersion", 1);
		tide__json_kint(&c->j, "baseTimeNanoseconds", base);
		devices(c);
		losses(c);
	} else {
		head(c);
	}
	tide__json_karray(&c->j, "traceEvents");
	bool ok = events(c);
	tide__json_array_end(&c->j);
	tide__json_object_end(&c->j);
	return tide__json_end(&c->j) && ok;
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	chrome c = { .m = m };
	bool ok = tide__find_tracks(m, &c.nest, err) == TIDE_OK && tide__chrome_prepare(&c);
	tide__json_begin(&c.j, out, false);
	tide__json_object(&c.j);
	if (ok) {
		head(&c);
		tide__json_karray(&c.j, "traceEvents");
		ok = events(&c);
		if (opt && opt->overlay)
			tide__chrome_write_overlay(&c, opt->overlay);
		tide__json_array_end(&c.j);
	}
	tide__json_object_end(&c.j);
	bool wrote = tide__json_end(&c.j);
	tide__chrome_finish(&c, st);
	return tide__export_end(!ok, !wrote, err);
}

/* ---- several ranks ---- */

typedef struct device_list {
	property *v; /* owned */
	size_t n, cap;
} device_list;

static bool keep_devices(const chrome *c, device_list *l)
{
	const tide_model *m = c->m;
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		if (!TIDE_ROOM(l->v, l->cap, l->n + 1))
			return false;
		l->v[l->n++] = property_of(c, d);
	}
	return true;
}

static void ranks_tail(tide_json *j, const device_list *l, const tide_export_stats *st)
{
	tide__json_karray(j, "deviceProperties");
	for (size_t i = 0; i < l->n; i++)
		put_property(j, &l->v[i]);
	tide__json_array_end(j);
	tide__json_kobject(j, "tidemark");
	tide__json_kuint(j, "traces", st->traces);
	tide__json_kuint(j, "cut_spans", st->cut_spans);
	tide__json_object_end(j);
}

static bool rank_events(chrome *c, device_list *l, tide_export_stats *st, tide_error *err)
{
	bool ok = tide__find_tracks(c->m, &c->nest, err) == TIDE_OK && tide__chrome_prepare(c) &&
		  keep_devices(c, l) && events(c);
	tide__chrome_finish(c, st);
	return ok;
}

static tide_code write_ranks(const tide_export_ranks *r, FILE *out, tide_export_stats *st,
			     tide_error *err)
{
	tide_export_walk w = { .r = r };
	chrome c = { 0 };
	device_list l = { 0 };
	bool ok = true;
	tide__json_begin(&c.j, out, false);
	tide__json_object(&c.j);
	tide__json_kint(&c.j, "schemaVersion", 1);
	tide__json_kstr(&c.j, "displayTimeUnit", "ns");
	while (ok && (c.m = tide__export_next(&w))) {
		if (w.done == 1) {
			tide__json_kint(&c.j, "baseTimeNanoseconds", w.base);
			tide__json_karray(&c.j, "traceEvents");
		}
		c.place = w.place;
		ok = rank_events(&c, &l, st, err);
	}
	if (w.done)
		tide__json_array_end(&c.j);
	st->traces = w.done;
	st->untimed = w.untimed;
	ranks_tail(&c.j, &l, st);
	tide__json_object_end(&c.j);
	bool wrote = tide__json_end(&c.j);
	tide__free(l.v);
	return tide__export_end(!ok, !wrote, err);
}

const tide_exporter tide__export_chrome = {
	.name = "chrome",
	.what = "Chrome trace JSON as PyTorch's profiler writes it: Perfetto, chrome://tracing",
	.suffixes = ".json,.trace",
	.write = write,
	.write_ranks = write_ranks,
};
