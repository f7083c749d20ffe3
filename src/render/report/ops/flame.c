// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Walks go down by `child`, along by `next` and up by `parent`. There is no recursion, so only the
 * output limits the depth. */
#include "render/report/ops/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/short_names.h"
#include "base/map.h"
#include "base/mem.h"
#include "render/text/format.h"
#include "render/text/kernel_name.h"
#include "render/text/labels.h"

/* ---- JSON ---- */

static void amount(const tide_flame *f, tide_json *j, const char *key, uint64_t v)
{
	tide__json_key(j, key);
	if (f->bytes)
		tide__json_uint(j, v);
	else
		tide__json_milli(j, (int64_t)v);
}

/* Returns true if nothing was recorded: rows that last 0 ns are something. */
static bool is_empty(const tide_flame *f)
{
	bool any = f->nodes.total[0] > 0;
	for (size_t i = 0; !any && i < f->nodes.n; i++)
		any = f->nodes.count[i] > 0;
	return !any;
}

static void open_node(const tide_flame *f, tide_json *j, uint32_t node)
{
	static const char *const keys[] = { "value", "self", "value_ns", "self_ns" };
	bool unknown = f->kind == TIDE_FLAME_GPU && is_empty(f); /* not 0 */
	tide__json_key(j, "name");
	tide__json_text(j, f->strings, f->nodes.name[node]);
	for (size_t i = 0; unknown && i < 4; i++)
		tide__json_knull(j, keys[i]);
	if (!unknown) {
		amount(f, j, "value", f->nodes.total[node]);
		amount(f, j, "self", f->nodes.self[node]);
	}
	if (!unknown && !f->bytes) {
		tide__json_kuint(j, "value_ns", f->nodes.total[node]);
		tide__json_kuint(j, "self_ns", f->nodes.self[node]);
	}
	tide__json_kuint(j, "count", f->nodes.count[node]);
	tide__json_karray(j, "children");
}

void tide__flame_json(const tide_flame *f, tide_json *j)
{
	const tide_nodes *t = &f->nodes;
	uint32_t node = 0;
	open_node(f, j, node);
	for (;;) {
		if (t->child[node]) {
			node = t->child[node];
		} else {
			for (; node && !t->next[node]; node = t->parent[node]) {
				tide__json_array_end(j);
				tide__json_object_end(j);
			}
			if (!node)
				break;
			tide__json_array_end(j);
			tide__json_object_end(j);
			node = t->next[node];
		}
		tide__json_object(j);
		open_node(f, j, node);
	}
	tide__json_array_end(j);
}

/* ---- the tree as text ---- */

typedef struct pick {
	uint64_t value;
	uint32_t node;
} pick;

static int largest_first(const void *a, const void *b)
{
	const pick *x = a, *y = b;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Returns the nodes in order of `values`, largest first, ties in row order; NULL if memory ran
 * out. */
static pick *ranked(const tide_flame *f, const uint64_t *values)
{
	pick *p = tide__alloc(f->nodes.n, sizeof *p);
	for (uint32_t i = 0; p && i < f->nodes.n; i++)
		p[i] = (pick){ values[i], i };
	if (p)
		qsort(p, f->nodes.n, sizeof *p, largest_first);
	return p;
}

static void bar(FILE *out, const tide_style *style, uint64_t part, uint64_t whole)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	double cells = whole ? 10.0 * (double)part / (double)whole : 0;
	int n = (int)(cells * 8 + 0.5);
	for (int i = 0; i < 10; i++, n -= 8) {
		int k = n <= 0 ? 0 : n >= 8 ? 8 : n;
		fputs(style->ascii ? (k >= 4 ? "#" : " ") : eighths[k], out);
	}
}

static char *value_text(const tide_flame *f, char *buf, size_t n, uint64_t v)
{
	return f->bytes ? tide__fmt_bytes(buf, n, (double)v) : tide__fmt_ns(buf, n, (double)v);
}

/* The layout of a line. A narrow terminal drops the bar first, then Self; a name keeps at least
 * NAME columns at any level. */
typedef struct layout {
	bool self, bar;
	int lead;   /* columns before the indent */
	int indent; /* the most of it */
} layout;

enum { NAME = 16, MAX_INDENT = 40, TOTAL_SHARE = 12 + 1 + 7 + 2, SELF = 13, BAR = 12 };

static layout fit(const tide_style *style)
{
	layout l = { true, true, TOTAL_SHARE + SELF + BAR, MAX_INDENT };
	if (!style->width)
		return l;
	l.bar = style->width >= l.lead + 2 * NAME;
	l.lead -= l.bar ? 0 : BAR;
	l.self = style->width >= l.lead + 2 * NAME;
	l.lead -= l.self ? 0 : SELF;
	int left = style->width - l.lead - NAME;
	l.indent = left < 0 ? 0 : left < MAX_INDENT ? left : MAX_INDENT;
	return l;
}

static void print_head(FILE *out, const layout *l)
{
	fprintf(out, l->self ? "%12s %12s %7s\n" : "%12s%.0s %7s\n", "Total", "Self", "Share");
}

/* ---- short kernel names ---- */

/* Names of nodes by their short form; if several names share a form, the tag is shown. */
struct shorts {
	tide_map first; /* hash of a short form -> a name that has it */
	tide_map twice; /* hash -> 1: others have it, too */
};

static uint64_t hash(const char *s, size_t n)
{
	uint64_t h = n;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * UINT64_C(1099511628211);
	return tide__mix(h);
}

/* Finds short names. Nothing is shortened for a memory flame graph, with --full-names, or if memory
 * ran out. */
static bool find_shorts(const tide_flame *f, const tide_style *style, struct shorts *x)
{
	char text[TIDE_KERNEL_NAME];
	bool ok = !f->bytes && !style->full_names;
	for (uint32_t i = 1; ok && i < f->nodes.n; i++) {
		size_t n;
		uint32_t id = f->nodes.name[i] + 1;
		const char *name = tide__strings_get(f->strings, f->nodes.name[i], &n);
		uint64_t key = hash(text, tide__kernel_shorten(name, n, text));
		uint32_t had = tide__map_get(&x->first, key);
		ok = had || tide__map_put(&x->first, key, id);
		if (ok && had && had != id)
			ok = tide__map_put(&x->twice, key, 1);
	}
	return ok;
}

static void shorts_free(struct shorts *x)
{
	tide__map_free(&x->first);
	tide__map_free(&x->twice);
}

/* Writes the short form, with its tag if another name has the same form. Returns its length. */
static size_t short_name(const struct shorts *x, const char *name, size_t n,
			 char out[TIDE_KERNEL_NAME + 8])
{
	size_t len = tide__kernel_shorten(name, n, out);
	if (len != n && tide__map_get(&x->twice, hash(out, len))) {
		out[len++] = ' ';
		len += tide__kernel_write_tag(name, n, out + len);
	}
	return len;
}

static void print_node(const tide_flame *f, FILE *out, const tide_style *style, uint32_t node,
		       int indent, bool only, tide_long *longs, const struct shorts *shorts)
{
	char text[32], brief[TIDE_KERNEL_NAME + 16];
	size_t n;
	const char *name = shorts ? tide__strings_get(f->strings, f->nodes.name[node], &n)
				  : tide__long_get(longs, f->strings, f->nodes.name[node], &n);
	if (shorts) {
		size_t len = short_name(shorts, name, n, brief);
		if (len < n) {
			name = brief;
			n = len;
		} else {
			name = tide__long_get(longs, f->strings, f->nodes.name[node], &n);
		}
	}
	if (!style->full_names) {
		size_t n_around;
		const char *around = tide__strings_get(
			f->strings, f->nodes.name[f->nodes.parent[node]], &n_around);
		name = tide__short_nested(name, &n, around, n_around);
	}
	uint64_t all = f->nodes.total[0];
	layout l = fit(style);
	if (indent > l.indent)
		indent = l.indent;
	fprintf(out, "%12s ", value_text(f, text, sizeof text, f->nodes.total[node]));
	if (l.self)
		fprintf(out, "%12s ", value_text(f, text, sizeof text, f->nodes.self[node]));
	fprintf(out, "%5.1f %%  ", all ? 100.0 * (double)f->nodes.total[node] / (double)all : 0.0);
	if (l.bar) {
		bar(out, style, f->nodes.total[node], all);
		fputs("  ", out);
	}
	const char *mark = !only ? "" : style->ascii ? "> " : "› ";
	fprintf(out, "%*s%s", indent, "", mark);
	int room = style->width ? style->width - l.lead - indent - (only ? 2 : 0) : 0;
	tide__put_name(out, name, n, style->width && room < NAME ? NAME : room, style->ascii);
	fputc('\n', out);
}

/* Prints the shown nodes. The indent of a node is its parent's, plus one if the parent has several
 * shown children; an only child is marked instead. */
static void print_shown(const tide_flame *f, FILE *out, const tide_style *style,
			const uint8_t *shown, uint16_t *indent)
{
	const tide_nodes *t = &f->nodes;
	tide_long longs = { 0 };
	struct shorts shorts = { 0 };
	bool brief = find_shorts(f, style, &shorts);
	uint32_t node = 0;
	for (;;) {
		bool only = node && indent[node] == indent[t->parent[node]];
		print_node(f, out, style, node, indent[node], only, &longs, brief ? &shorts : NULL);
		uint32_t forks = 0;
		for (uint32_t c = t->child[node]; c; c = t->next[c])
			forks += shown[c];
		for (uint32_t c = t->child[node]; c; c = t->next[c])
			indent[c] = (uint16_t)(indent[node] +
					       (forks > 1 && indent[node] < MAX_INDENT ? 2 : 0));
		/* shown children come before the others, in order of total */
		uint32_t next = t->child[node];
		while (!next || !shown[next]) {
			if (!node)
				goto end;
			next = t->next[node];
			node = t->parent[node];
		}
		node = next;
	}
end:
	if (longs.cut)
		fprintf(out,
			"(%" PRIu64 " long texts are cut; each is complete at its first use)\n",
			longs.cut);
	tide__long_free(&longs);
	shorts_free(&shorts);
}

bool tide__flame_print(const tide_flame *f, FILE *out, const tide_style *style, size_t top)
{
	size_t n = top && top < f->nodes.n ? top : f->nodes.n;
	pick *p = ranked(f, f->nodes.total);
	uint8_t *shown = tide__calloc(f->nodes.n, 1);
	uint16_t *indent = tide__calloc(f->nodes.n, sizeof *indent);
	bool ok = p && shown && indent;
	if (ok) {
		char least[32];
		shown[0] = 1;
		for (size_t i = 0; i < n; i++)
			shown[p[i].node] = 1;
		layout l = fit(style);
		print_head(out, &l);
		print_shown(f, out, style, shown, indent);
		if (n < f->nodes.n)
			fprintf(out, "... and %zu more of at most %s each (--top 0)\n",
				f->nodes.n - n, value_text(f, least, sizeof least, p[n].value));
	}
	tide__free(p);
	tide__free(shown);
	tide__free(indent);
	return ok;
}

/* ---- paths ---- */

struct path {
	char *s; /* owned */
	size_t n, cap;
};

/* Prepends a name and its separator. Returns false if memory runs out. */
static bool add_name(struct path *p, const char *name, size_t n)
{
	if (!TIDE_ROOM(p->s, p->cap, p->n + n + 2))
		return false;
	if (p->n)
		p->s[p->n++] = ';';
	for (size_t k = 0; k < n; k++)
		p->s[p->n++] = name[k] == ';'					? ':'
			       : name[k] == '\n' || name[k] == '\r' || !name[k] ? ' '
										: name[k];
	p->s[p->n] = 0;
	return true;
}

char *tide__flame_path(const tide_flame *f, uint32_t node, tide_long *longs)
{
	struct path p = { 0 };
	size_t depth = 0, n = 0;
	for (uint32_t i = node; i; i = f->nodes.parent[i])
		depth++;
	uint32_t *way = tide__alloc(depth + 1, sizeof *way);
	bool ok = way && (depth || add_name(&p, "", 0));
	for (uint32_t i = ok ? node : 0; i; i = f->nodes.parent[i])
		way[n++] = i;
	while (ok && n) {
		size_t len;
		const char *s = tide__long_get(longs, f->strings, f->nodes.name[way[--n]], &len);
		ok = add_name(&p, s, len);
	}
	tide__free(way);
	if (ok)
		return p.s;
	tide__free(p.s);
	return NULL;
}

size_t tide__flame_paths(const tide_flame *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->nodes.n; i++)
		n += f->nodes.self[i] != 0;
	return n;
}

tide_grid *tide__flame_hot(const tide_flame *f, size_t top)
{
	static const tide_grid_col ns[] = { { "self_ns", "Self", TIDE_CELL_NS },
					    { "self_pct", "Share", TIDE_CELL_PCT },
					    { "count", "Count", TIDE_CELL_COUNT },
					    { "path", "Path", TIDE_CELL_TEXT } };
	static const tide_grid_col bytes[] = { { "self_bytes", "Bytes", TIDE_CELL_BYTES },
					       { "self_pct", "Share", TIDE_CELL_PCT },
					       { "count", "Count", TIDE_CELL_COUNT },
					       { "path", "Path", TIDE_CELL_TEXT } };
	tide_grid *g = tide__grid_new(f->bytes ? bytes : ns, 4);
	pick *p = ranked(f, f->nodes.self);
	bool ok = g && p;
	for (size_t i = 0; ok && i < f->nodes.n && (!top || i < top) && p[i].value; i++) {
		char *path = tide__flame_path(f, p[i].node, tide__grid_longs(g));
		ok = path != NULL;
		if (!ok)
			break;
		tide__grid_uint(g, p[i].value);
		tide__grid_real(g, 100.0 * (double)p[i].value / (double)f->nodes.total[0]);
		tide__grid_uint(g, f->nodes.count[p[i].node]);
		tide__grid_text(g, *path ? path : "-");
		tide__free(path);
	}
	tide__free(p);
	if (ok && !tide__grid_failed(g))
		return g;
	tide__grid_free(g);
	return NULL;
}

static const char *what_is_missing(const tide_flame *f)
{
	static const char *const texts[] = { "the trace has no host spans",
					     "the trace has no device work: GPU time is "
					     "unknown",
					     "the trace has no allocations" };
	return is_empty(f) ? texts[f->kind] : NULL;
}

static void heading(const tide_out *to, const tide_flame *f, const tide_model *m,
		    const tide_flame_view *v)
{
	char total[32], name[64], when[32];
	tide__fmt_ns(total, sizeof total, (double)f->nodes.total[0]);
	if (f->kind == TIDE_FLAME_CPU)
		tide__write_heading(to, "CPU time by nesting, sum over threads: %s", total);
	else if (f->kind == TIDE_FLAME_GPU)
		tide__write_heading(to, "GPU time by launching op, sum over streams: %s", total);
	else if (v->allocated || !m)
		tide__write_heading(
			to, "Bytes %s: %s", v->allocated ? "ever allocated" : "alive at the peak",
			tide__fmt_bytes(total, sizeof total, (double)f->nodes.total[0]));
	else
		tide__write_heading(
			to, "%s at its peak, at %s: %s alive",
			tide__device_name(m, f->device.i, name, sizeof name),
			tide__fmt_at(when, sizeof when, (double)f->peak_ns),
			tide__fmt_bytes(total, sizeof total, (double)f->nodes.total[0]));
}

static bool print_text(const tide_out *to, const tide_flame *f, const tide_model *m,
		       const tide_flame_view *v)
{
	if (what_is_missing(f)) {
		fprintf(to->out, "%s\n", what_is_missing(f));
		return true;
	}
	heading(to, f, m, v);
	if (!v->hot)
		return tide__flame_print(f, to->out, &to->style, v->top);
	tide_grid *g = tide__flame_hot(f, v->top);
	if (g) {
		size_t n = tide__flame_paths(f), shown = tide__grid_rows(g);
		tide__grid_print(g, to->out, &to->style, 0);
		if (shown < n)
			fprintf(to->out, "%zu more paths are not shown (--top 0 shows all)\n",
				n - shown);
	}
	tide__grid_free(g);
	return g != NULL;
}

bool tide__flame_report_text(const tide_flame *f, const tide_model *m, const tide_flame_view *v,
			     const tide_out *to)
{
	bool ok = print_text(to, f, m, v);
	if (ok && m)
		tide__put_model_losses(to, m);
	return ok;
}

void tide__flame_report_json(const tide_flame *f, const tide_model *m, const tide_flame_view *v,
			     tide_json *j)
{
	static const char *const kinds[] = { "cpu", "gpu", "memory" };
	char name[64];
	tide__json_object(j);
	tide__json_kstr(j, "kind", kinds[f->kind]);
	tide__json_kstr(j, "unit", f->bytes ? "bytes" : "us");
	tide__json_kstr(j, "trace_file", v->file);
	if (f->bytes && m && f->device.i) {
		tide__json_kstr(j, "device", tide__device_name(m, f->device.i, name, sizeof name));
		tide__json_kint(j, "peak_time_ns", f->peak_ns);
	}
	tide__json_kuint(j, "folded_nodes", f->folded);
	tide__json_kuint(j, "cut_nodes", f->cut);
	if (what_is_missing(f))
		tide__json_kstr(j, "message", what_is_missing(f));
	if (m)
		tide__losses_json(j, m);
	tide__flame_json(f, j);
	tide__json_object_end(j);
}
