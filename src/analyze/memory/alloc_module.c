// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans name a module from the class of the outermost one (GPT.blocks.3.up); labels name a tensor
 * from inside it (blocks.3.up.weight). The part after the class is equal. If a program has several
 * models, labels begin like spans (GPT.blocks.3.up.weight). */
#include "analyze/memory/alloc_module.h"

#include <string.h>

#include "base/mem.h"
#include "model/strings.h"

struct book {
	const tide_model *m;
	/* of modules: whole, and from inside the outermost (these begin with a dot) */
	tide_strings *paths;
	tide_str *name; /* per path: its module; none = several have it */
	size_t cap;
};

/* Returns the path's row, created if needed; 0 if memory runs out. */
static uint32_t path_row(struct book *b, const char *path, size_t n)
{
	uint32_t row = tide__strings_add(b->paths, path, n);
	return TIDE_ROOM(b->name, b->cap, (size_t)row + 1) ? row : 0;
}

static bool note_module(struct book *b, tide_str name)
{
	const char *text = tide__module_text(b->m, name), *dot = strchr(text, '.');
	const char *path = dot ? dot : "."; /* never empty: the row of "" is 0 */
	uint32_t before = tide__strings_count(b->paths);
	uint32_t row = path_row(b, path, strlen(path));
	if (!row)
		return false;
	if (row > before)
		b->name[row] = name;
	else if (b->name[row].i != name.i)
		b->name[row] = (tide_str){ 0 };
	row = path_row(b, text, strlen(text));
	if (row && *text != '.')
		b->name[row] = name;
	return row;
}

static bool note_modules(struct book *b, const tide_modules *modules)
{
	bool *seen = tide__calloc((size_t)tide__strings_count(b->m->strings) + 1, sizeof *seen);
	bool ok = seen;
	for (size_t i = 1; ok && i < b->m->spans.n; i++) {
		tide_str name = modules->of[i];
		if (!name.i || seen[name.i])
			continue;
		seen[name.i] = true;
		ok = note_module(b, name);
	}
	tide__free(seen);
	return ok;
}

/* Returns the length of `name` without its last part; 0 if it has one part only. */
static size_t without_last(const char *name, size_t n)
{
	while (n && name[n - 1] != '.')
		n--;
	return n ? n - 1 : 0;
}

/* Returns the module that owns a tensor with this label. */
static tide_str owner(const struct book *b, tide_str label, uint8_t role)
{
	static const uint8_t parts[] = { /* parts of the name beyond the module's */
					 [TIDE_ROLE_PARAMETER] = 1,
					 [TIDE_ROLE_BUFFER] = 1,
					 [TIDE_ROLE_GRADIENT] = 2,
					 [TIDE_ROLE_OPTIMIZER] = 2
	};
	size_t n;
	const char *name = tide__text(b->m, label, &n);
	char path[1024] = ".";
	if (!n || n >= sizeof path - 1 || role >= sizeof parts || !parts[role])
		return (tide_str){ 0 };
	for (uint8_t i = 0; i < parts[role]; i++)
		n = without_last(name, n);
	memcpy(path + 1, name, n);
	uint32_t row = *name == '.' ? 0 : tide__strings_find(b->paths, name, n);
	if (!row)
		row = tide__strings_find(b->paths, path, n + 1);
	return row ? b->name[row] : (tide_str){ 0 };
}

static void find_owners(const struct book *b, tide_alloc_modules *out)
{
	const tide_tensors *t = &b->m->tensors;
	const tide_views *v = &b->m->views;
	for (size_t i = 1; i < t->n; i++) {
		tide_str name = owner(b, t->name[i], t->role[i]);
		if (name.i)
			out->alloc[t->alloc[i].i] = name;
	}
	for (size_t i = 1; i < v->n; i++)
		out->view[i] = owner(b, v->name[i], v->role[i]);
}

bool tide__find_alloc_modules(const tide_model *m, const tide_modules *modules,
			      tide_alloc_modules *out)
{
	struct book b = { .m = m, .paths = tide__strings_new() };
	out->alloc = tide__calloc(m->allocs.n + 1, sizeof *out->alloc);
	out->view = tide__calloc(m->views.n + 1, sizeof *out->view);
	bool ok =
		out->alloc && out->view && b.paths && (!modules->any || note_modules(&b, modules));
	for (size_t i = 1; ok && i < m->allocs.n; i++)
		out->alloc[i] = modules->of[m->allocs.span[i].i];
	if (ok && modules->any)
		find_owners(&b, out);
	tide__strings_free(b.paths);
	tide__free(b.name);
	if (!ok)
		tide__alloc_modules_free(out);
	return ok;
}

void tide__alloc_modules_free(tide_alloc_modules *o)
{
	tide__free(o->alloc);
	tide__free(o->view);
	*o = (tide_alloc_modules){ 0 };
}
