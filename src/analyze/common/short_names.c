// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A path is read from its innermost name outwards: the op, the nearest range of the program, the
 * nearest module. A module whose name does not continue the name of the module around it (names of
 * torch.profiler: Block_3, Linear_5) is appended to it. */
#include "analyze/common/short_names.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "model/strings.h"

static const char ENGINE[] = "autograd::engine::";
static const char MODULE[] = "nn.Module: ", BACKWARD[] = "autograd::engine::evaluate_function: ";

typedef struct text {
	const char *s;
	size_t n;
} text;

static text text_of(const tide_model *m, tide_str id)
{
	text t;
	t.s = tide__text(m, id, &t.n);
	return t;
}

static bool begins(text t, const char *with)
{
	size_t n = strlen(with);
	return t.n >= n && !memcmp(t.s, with, n);
}

static text without(text t, size_t n)
{
	return (text){ t.s + n, t.n - n };
}

static bool is_module(text t)
{
	return begins(t, MODULE);
}

/* Returns the text of a module's name without its prefix. */
static text bare(text t)
{
	return is_module(t) ? without(t, sizeof MODULE - 1) : t;
}

/* Returns true for ops of libraries, "aten::addmm": the name has a namespace. */
static bool is_library(text t)
{
	size_t word = 0;
	while (word < t.n && t.s[word] != ' ' && t.s[word] != '(')
		word++;
	return memmem(t.s, word, "::", 2) != NULL;
}

/* Returns true for frames of Python inside libraries, "torch/nn/functional.py(3504): linear". */
static bool is_library_frame(text t)
{
	return begins(t, "torch/") || begins(t, "<built-in") || begins(t, "<frozen") ||
	       memmem(t.s, t.n, "/lib/python", 11) || memmem(t.s, t.n, "/torch/", 7);
}

/* Returns a range's name without folders: "job/train.py(7): step" -> "train.py(7): step". */
static text base_name(text t)
{
	const char *mark = memmem(t.s, t.n, ".py(", 4);
	for (const char *at = mark; mark && at > t.s; at--)
		if (at[-1] == '/')
			return without(t, (size_t)(at - t.s));
	return t;
}

/* ---- modules ---- */

static bool has_inner(const tide_short_names *s, uint32_t id)
{
	return s->has_inner && s->has_inner[id / 8] >> id % 8 & 1;
}

/* Marks the module around a module: its name without the last part. */
static void note_inner(tide_short_names *s, text t)
{
	while (t.n && t.s[t.n - 1] != '.')
		t.n--;
	uint32_t id = t.n > 1 ? tide__strings_find(s->m->strings, t.s, t.n - 1) : 0;
	if (id)
		s->has_inner[id / 8] |= (uint8_t)(1u << id % 8);
}

bool tide__short_names_init(tide_short_names *s, const tide_model *m)
{
	uint32_t n = tide__strings_count(m->strings);
	size_t roots = 0;
	*s = (tide_short_names){ .m = m };
	s->has_inner = tide__calloc((size_t)n / 8 + 1, 1);
	for (uint32_t i = 1; s->has_inner && i <= n; i++) {
		text t = text_of(m, (tide_str){ i });
		if (!is_module(t))
			continue;
		roots += !memchr(bare(t).s, '.', bare(t).n);
		note_inner(s, t);
	}
	s->one_model = roots == 1;
	return s->has_inner != NULL;
}

void tide__short_names_free(tide_short_names *s)
{
	tide__free(s->has_inner);
	*s = (tide_short_names){ 0 };
}

struct out {
	char *s;
	size_t n;
	bool full; /* nothing follows a text that was cut */
};

static void put(struct out *o, const char *s, size_t n)
{
	size_t room = o->full ? 0 : TIDE_SHORT_NAME - 1 - o->n;
	o->full |= n > room;
	if (n > room)
		for (n = room; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
			n--; /* not inside a character */
	memcpy(o->s + o->n, s, n);
	o->n += n;
	o->s[o->n] = 0;
}

/* Returns true if the part that ends at `end` of the module's name repeats: a number that is not
 * the last part, or whose module has inner modules. */
static bool repeats(const tide_short_names *s, text whole, size_t part, size_t end)
{
	for (size_t i = part; i < end; i++)
		if (!isdigit((unsigned char)whole.s[i]))
			return false;
	if (end < whole.n || part == end)
		return part < end;
	char name[sizeof MODULE + TIDE_SHORT_NAME];
	size_t n = whole.n < TIDE_SHORT_NAME ? whole.n : TIDE_SHORT_NAME;
	memcpy(name, MODULE, sizeof MODULE - 1);
	memcpy(name + sizeof MODULE - 1, whole.s, n);
	uint32_t id = tide__strings_find(s->m->strings, name, sizeof MODULE - 1 + n);
	return id && has_inner(s, id);
}

/* Writes a module's name from byte `from` on. */
static void put_module(const tide_short_names *s, text t, size_t from, bool fold, struct out *o)
{
	for (size_t at = from; at < t.n;) {
		const char *dot = memchr(t.s + at, '.', t.n - at);
		size_t end = dot ? (size_t)(dot - t.s) : t.n;
		bool star = fold && at && repeats(s, t, at, end);
		put(o, star ? "*" : t.s + at, star ? 1 : end - at);
		if (dot)
			put(o, ".", 1);
		at = end + 1;
	}
}

/* Returns the bytes of the outermost module's class, with the dot, if names leave it out. */
static size_t class_bytes(const tide_short_names *s, text t)
{
	const char *dot = s->one_model ? memchr(t.s, '.', t.n) : NULL;
	return dot ? (size_t)(dot - t.s) + 1 : 0;
}

size_t tide__short_module(const tide_short_names *s, tide_str name, bool fold,
			  char out[TIDE_SHORT_NAME])
{
	struct out o = { .s = out };
	text t = bare(text_of(s->m, name));
	*out = 0;
	put_module(s, t, class_bytes(s, t), fold, &o);
	return o.n;
}

/* ---- paths ---- */

/* The names that a short name is made of. */
struct parts {
	text op, range;
	uint32_t module;    /* node of the innermost module, 0 = none */
	bool again;	    /* the module runs inside a backward op: recomputation */
	uint32_t outermost; /* node of the outermost op or range */
};

static bool is_step(text t)
{
	return begins(t, "ProfilerStep#");
}

static void find_parts(const tide_short_names *s, const tide_paths *p, uint32_t node,
		       struct parts *x)
{
	for (uint32_t at = node; at; at = p->parent[at]) {
		text t = text_of(s->m, p->name[at]);
		if (is_step(t))
			continue;
		if (x->module) {
			x->again |= begins(t, BACKWARD);
			continue;
		}
		if (is_module(t)) {
			x->module = at;
			continue;
		}
		x->outermost = at;
		if (!x->op.s)
			x->op = t;
		else if (!x->range.s && !is_library(t) && !is_library_frame(t))
			x->range = t;
	}
}

/* Returns the nearest module around a node, 0 = none. */
static uint32_t module_around(const tide_short_names *s, const tide_paths *p, uint32_t node)
{
	for (node = p->parent[node]; node && !is_module(text_of(s->m, p->name[node]));)
		node = p->parent[node];
	return node;
}

/* Returns true if a module's name continues that of the module around it. */
static bool continues(text inner, text around)
{
	return inner.n > around.n && !memcmp(inner.s, around.s, around.n) &&
	       inner.s[around.n] == '.';
}

/* Writes the modules that are not in the name of the one inside them, then that one. */
static void put_modules(const tide_short_names *s, const tide_paths *p, uint32_t node, bool fold,
			struct out *o)
{
	enum { MOST = 8 };
	uint32_t way[MOST], n = 0;
	for (uint32_t at = node; at && n < MOST;) {
		uint32_t around = module_around(s, p, at);
		text t = bare(text_of(s->m, p->name[at]));
		way[n++] = at;
		while (around && continues(t, bare(text_of(s->m, p->name[around]))))
			around = module_around(s, p, around);
		at = around;
	}
	while (n--) {
		text t = bare(text_of(s->m, p->name[way[n]]));
		put_module(s, t, class_bytes(s, t), fold, o);
		if (n)
			put(o, ".", 1);
	}
}

/* Returns the name of an op or a range as tables show it. */
static text shown(text t)
{
	if (begins(t, "aten::"))
		return without(t, 6);
	if (begins(t, BACKWARD))
		return without(t, sizeof BACKWARD - 1);
	return t.n ? base_name(t) : (text){ "(unnamed)", 9 };
}

static bool same(text a, text b)
{
	return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

static void put_part(text t, struct out *o)
{
	put(o, "  ", o->n ? 2 : 0);
	put(o, t.s, t.n);
}

const char *tide__short_nested(const char *name, size_t *n, const char *around, size_t n_around)
{
	text t = { name, *n }, outer = { around, around ? n_around : 0 };
	if (begins(t, BACKWARD)) {
		*n -= sizeof ENGINE - 1;
		return name + sizeof ENGINE - 1;
	}
	if (!is_module(t))
		return name;
	t = bare(t);
	outer = bare(outer);
	if (outer.n && continues(t, outer))
		t = without(t, outer.n + 1);
	*n = t.n;
	return t.s;
}

size_t tide__short_path(const tide_short_names *s, const tide_paths *p, uint32_t node, bool fold,
			char out[TIDE_SHORT_NAME], tide_str *module)
{
	struct out o = { .s = out };
	struct parts x = { 0 };
	*out = 0;
	find_parts(s, p, node, &x);
	if (!x.module && !x.range.s && x.outermost)
		x.range = text_of(s->m, p->name[x.outermost]);
	if (x.module)
		put_modules(s, p, x.module, fold, &o);
	if (x.range.s && !same(shown(x.range), shown(x.op)))
		put_part(shown(x.range), &o);
	if (x.op.s)
		put_part(shown(x.op), &o);
	if (x.again)
		put(&o, "  (recomputed)", 14);
	if (module)
		*module = x.module ? p->name[x.module] : (tide_str){ 0 };
	return o.n;
}
