// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* flame: where the time or the memory went, as a tree of paths. Walks go down by `child`, along by
 * `next` and up by `parent`: there is no recursion, so only the output limits the depth. */
#include "render/report/ops/flame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/common/short_names.h"
#include "base/map.h"
#include "base/mem.h"
#include "render/page/page.h"
#include "render/text/format.h"
#include "render/text/kernel_name.h"
#include "report/report.h"

enum {
	O_KIND,
	O_TOP,
	O_HOT,
	O_MIN_US,
	O_MIN_BYTES,
	O_SMALL,
	O_DEPTH,
	O_MERGE,
	O_STEPS,
	O_BY,
	O_ALLOCATED,
	O_DEVICE,
	O_CAPTURED
};
#define FIELD(member) TIDE_FIELD(tide_flame_report_options, member)
static const tide_option options[] = {
	[O_KIND] = { "kind", 'k', TIDE_OPT_ENUM, "cpu,gpu,memory",
		     "the weight: host time, device time, bytes (default: gpu if the trace has "
		     "device work, else cpu, else memory)",
		     FIELD(kind) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "40",
		    FIELD(top) },
	[O_HOT] = { "hot", 0, TIDE_OPT_FLAG, NULL,
		    "list the paths with the largest self value instead of the tree", FIELD(hot) },
	[O_MIN_US] = { "min-duration-us", 0, TIDE_OPT_DECIMAL, "US",
		       "fold nodes below this into [small] (default 0)", .decimals = 3,
		       FIELD(min_value) },
	[O_MIN_BYTES] = { "min-bytes", 0, TIDE_OPT_BYTES, "BYTES",
			  "the same for --kind memory (default 0)", FIELD(min_value) },
	[O_SMALL] = { "group-small", 0, TIDE_OPT_REAL, "PCT",
		      "fold device work below PCT % of the total into [small kernels] (default "
		      "0)",
		      .most = 100, FIELD(small_pct) },
	[O_DEPTH] = { "max-depth", 0, TIDE_OPT_INT, "N",
		      "levels to keep, 1 to 1000; deeper ones count for their ancestor",
		      .def = "200", .least = 1, .most = TIDE_FLAME_DEEP, FIELD(max_depth) },
	[O_MERGE] = { "merge", 'm', TIDE_OPT_FLAG, NULL, "cpu: one tree for all threads",
		      FIELD(merge) },
	[O_STEPS] = { "merge-steps", 0, TIDE_OPT_FLAG, NULL, "merge all ProfilerStep#N",
		      FIELD(merge_steps) },
	[O_BY] = { "by", 0, TIDE_OPT_ENUM, "auto,stack,op",
		   "memory: call stacks or op paths; auto: stacks if there are any", .def = "auto",
		   FIELD(by) },
	[O_ALLOCATED] = { "allocated", 0, TIDE_OPT_FLAG, NULL,
			  "memory: all bytes ever allocated instead of those alive at the peak",
			  FIELD(allocated) },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_DEVICE, "DEVICE",
		       "memory: of this device (default: the highest peak)", FIELD(device) },
	[O_CAPTURED] = TIDE_OPTION_CAPTURED,
};

struct flame {
	const tide_model *m; /* NULL: joined from several traces */
	tide_flame *f;	     /* owned */
	tide_flame_options o;
	const char *file;
	size_t top;
	bool hot;
};

/* ---- options ---- */

static unsigned wants(const tide_report_ask *ask)
{
	const tide_value *kind = &ask->opt[O_KIND];
	return kind->set && kind->num != TIDE_FLAME_MEMORY ? TIDE_WANT_SPANS : 0;
}

/* Reads the options, and completes them by what the trace has. */
static tide_code read_options(const tide_report_ask *ask, struct flame *x, tide_error *err)
{
	const tide_value *v = ask->opt;
	const tide_model *m = ask->models[0];
	double small = v[O_SMALL].set ? v[O_SMALL].real : 0;
	tide_flame_kind kind =
		v[O_KIND].set ? (tide_flame_kind)v[O_KIND].num : tide__flame_mostly(m);
	const tide_value *least = &v[kind == TIDE_FLAME_MEMORY ? O_MIN_BYTES : O_MIN_US];
	if (kind != TIDE_FLAME_MEMORY && m->axis == TIDE_AXIS_OPS)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "the trace has no clock, hence no times: %skind memory",
				  ask->dashes);
	if (!(small >= 0 && small <= 100)) /* of a caller in C */
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "small_pct: a percentage from 0 to 100");
	x->o = (tide_flame_options){
		.kind = kind,
		.merge = v[O_MERGE].set,
		.merge_steps = v[O_STEPS].set,
		.allocated = v[O_ALLOCATED].set,
		.by = (tide_flame_by)v[O_BY].num,
		.min_value = (uint64_t)least->num,
		.small_ppm = (uint32_t)(small * 10000 + 0.5),
		.max_depth = (uint32_t)v[O_DEPTH].num,
		.device = v[O_DEVICE].device == TIDE_ANY ? 0 : v[O_DEVICE].device,
	};
	x->m = m;
	x->file = tide__ask_file(ask, 0);
	x->top = (size_t)v[O_TOP].num;
	x->hot = v[O_HOT].set;
	return TIDE_OK;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct flame *x = result;
	tide_code rc = read_options(ask, x, err);
	return rc == TIDE_OK ? tide__find_flame(x->m, &x->o, &x->f, err) : rc;
}

/* A page: the tree of kind or allocated alone, else all, the default one first. */
static tide_code draw(const tide_report_ask *ask, void *result, tide_page_options *page,
		      tide_error *err)
{
	struct flame *x = result;
	page->only = "flame";
	page->flame = &x->o;
	page->flame_only = ask->opt[O_KIND].set || ask->opt[O_ALLOCATED].set;
	return read_options(ask, x, err);
}

/* Several traces are one tree with a branch for each. */
static tide_code join(void *all, void *one, const char *file, tide_error *err)
{
	struct flame *x = all, *y = one;
	if (y && !x->f) {
		x->o = y->o;
		x->file = y->file;
		x->top = y->top;
		x->hot = y->hot;
		if (!(x->f = tide__flame_new("all traces")))
			return tide__nomem(err);
		x->f->kind = y->f->kind;
	}
	if (y && x->f->kind != y->f->kind)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "the traces hold different data: choose --kind");
	if (!(y ? tide__flame_join(x->f, y->f, file) : tide__flame_finish(x->f)))
		return tide__nomem(err);
	return TIDE_OK;
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

static bool print_tree(const tide_flame *f, FILE *out, const tide_style *style, size_t top)
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

/* ---- hot paths ---- */

static size_t count_paths(const tide_flame *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->nodes.n; i++)
		n += f->nodes.self[i] != 0;
	return n;
}

static tide_grid *hot_paths(const tide_flame *f, size_t top)
{
	static const tide_grid_col ns[] = { { "", "Self", TIDE_CELL_NS },
					    { "", "Share", TIDE_CELL_PCT },
					    { "", "Count", TIDE_CELL_COUNT },
					    { "", "Path", TIDE_CELL_TEXT } };
	static const tide_grid_col bytes[] = { { "", "Bytes", TIDE_CELL_BYTES },
					       { "", "Share", TIDE_CELL_PCT },
					       { "", "Count", TIDE_CELL_COUNT },
					       { "", "Path", TIDE_CELL_TEXT } };
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
	return tide__flame_is_empty(f) ? texts[f->kind] : NULL;
}

static void heading(const tide_out *to, const struct flame *x)
{
	const tide_flame *f = x->f;
	const tide_model *m = x->m;
	char total[32], name[64], when[32];
	tide__fmt_ns(total, sizeof total, (double)f->nodes.total[0]);
	if (f->kind == TIDE_FLAME_CPU)
		tide__write_heading(to, "CPU time by nesting, sum over threads: %s", total);
	else if (f->kind == TIDE_FLAME_GPU)
		tide__write_heading(to, "GPU time by launching op, sum over streams: %s", total);
	else if (x->o.allocated || !m)
		tide__write_heading(
			to, "Bytes %s: %s", x->o.allocated ? "ever allocated" : "alive at the peak",
			tide__fmt_bytes(total, sizeof total, (double)f->nodes.total[0]));
	else
		tide__write_heading(
			to, "%s at its peak, at %s: %s alive",
			tide__device_name(m, f->device.i, name, sizeof name),
			tide__fmt_at(when, sizeof when, (double)f->peak_ns),
			tide__fmt_bytes(total, sizeof total, (double)f->nodes.total[0]));
}

static bool print_text(const tide_out *to, const struct flame *x)
{
	const tide_flame *f = x->f;
	if (what_is_missing(f)) {
		fprintf(to->out, "%s\n", what_is_missing(f));
		return true;
	}
	heading(to, x);
	if (!x->hot)
		return print_tree(f, to->out, &to->style, x->top);
	tide_grid *g = hot_paths(f, x->top);
	if (g) {
		size_t n = count_paths(f), shown = tide__grid_rows(g);
		tide__grid_print(g, to->out, &to->style, 0);
		if (shown < n)
			fprintf(to->out, "%zu more paths are not shown (--top 0 shows all)\n",
				n - shown);
	}
	tide__grid_free(g);
	return g != NULL;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct flame *x = result;
	if (!print_text(to, x))
		return TIDE_ENOMEM;
	if (x->m)
		tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

/* ---- JSON ---- */

static tide_code write_json(void *result, tide_json *j)
{
	static const char *const kinds[] = { "cpu", "gpu", "memory" };
	struct flame *x = result;
	const tide_flame *f = x->f;
	const tide_model *m = x->m;
	char name[64];
	tide__json_kstr(j, "kind", kinds[f->kind]);
	tide__json_kstr(j, "unit", f->bytes ? "bytes" : "us");
	tide__json_kstr(j, "trace_file", x->file);
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
	return TIDE_OK;
}

static void free_flame(void *result)
{
	tide__flame_free(((struct flame *)result)->f);
}

#define NS_MAY TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT
#define NODE_MEMBERS                                                                         \
	TIDE_MEMBER("name", TEXT, "span, kernel or frame"),                                  \
		TIDE_MEMBER_MAYBE("value", REAL, "self and everything below, in `unit`"),    \
		TIDE_MEMBER_MAYBE("self", REAL, "the node itself, in `unit`"),               \
		TIDE_COLUMN("value_ns", NULL, NS, NS_MAY, "the same exactly; not of bytes"), \
		TIDE_COLUMN("self_ns", NULL, NS, NS_MAY, "the same exactly; not of bytes"),  \
		TIDE_MEMBER("count", COUNT, "spans or allocations of the node itself"),      \
		TIDE_MEMBER_OF("children", TABLE, node, "nodes below, largest first"), { 0 },
static const tide_member node[8]; /* whose children are nodes */
static const tide_member node[8] = { NODE_MEMBERS };
static const tide_member members[] = {
	{ "kind", NULL, TIDE_KIND_WORD, .words = "cpu,gpu,memory", .meaning = "what weighs" },
	{ "unit", NULL, TIDE_KIND_WORD, .words = "us,bytes", .meaning = "of value and self" },
	TIDE_MEMBER("trace_file", TEXT, "name of the trace"),
	TIDE_MEMBER_IF("device", TEXT, "of memory: its device"),
	TIDE_MEMBER_IF("peak_time_ns", AT, "of memory: when its peak was"),
	TIDE_MEMBER("folded_nodes", COUNT, "nodes that were folded because they are small"),
	TIDE_MEMBER("cut_nodes", COUNT, "nodes that were too deep"),
	TIDE_MEMBER_IF("message", TEXT, "what the trace lacks"),
	{ "losses", NULL, TIDE_KIND_MAP, .may = TIDE_MAY_BE_ABSENT, .members = &tide__member_any,
	  .meaning = "lost and repaired data, by the name of the loss; of one trace" },
	TIDE_MEMBER_IF("recovered_events", COUNT,
		       "of a recording that was not closed: events read from its rings"),
	NODE_MEMBERS
};

const tide_report_type tide__report_flame = {
	.name = "flame",
	.group = TIDE_GROUP_TIME,
	.summary = "show where time or memory went, as a tree of paths",
	.help = "cpu is the real nesting of ops, calls and Python functions on each thread; gpu "
		"puts each kernel, copy and fill under the ops and Python functions that "
		"launched it; memory shows the bytes alive at the peak by call stack or op. "
		"Totals are exact: a node's total is its self value plus its children. `-o "
		"x.html` draws it; `tidemark export` writes it for speedscope and pprof.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_flame_report_options),
	.page = "", /* with options */
	.compact = "",
	.size = sizeof(struct flame),
	.wants = wants,
	.find = find,
	.join = join,
	.draw = draw,
	.json = write_json,
	.text = write_text,
	.free = free_flame,
};
