// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Texts of operations: names, locations and types, with the aliases that module dumps define. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/mem.h"
#include "model/strings.h"

keys tide__tt_find_keys(const tide_model *m)
{
#define K(text) tide__strings_find(m->strings, text, sizeof text - 1)
	return (keys){ K("line"),	K("mlir"),	 K("op_type"),
		       K("const_eval"), K("cache_miss"), K("session") };
#undef K
}

/* ---- aliases ---- */

static int by_name(const void *a, const void *b)
{
	const tide_tt_alias *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
	int d = memcmp(x->name.s, y->name.s, n);
	return d ? d : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

/* "#loc12 = loc("add.3")" */
static bool alias_line(tide_tt *t, uint32_t module, const char *s, const char *end)
{
	const char *eq = memchr(s, '=', (size_t)(end - s)), *to = eq;
	if (!eq || eq + 2 >= end || eq[-1] != ' ')
		return true;
	while (to > s && to[-1] == ' ')
		to--;
	for (eq++; eq < end && *eq == ' ';)
		eq++;
	if (!TIDE_ROOM(t->aliases, t->cap_aliases, t->n_aliases + 1))
		return false;
	t->aliases[t->n_aliases++] =
		(tide_tt_alias){ module, { s, (size_t)(to - s) }, { eq, (size_t)(end - eq) } };
	return true;
}

static bool aliases_of(tide_tt *t, tide_str text)
{
	size_t n;
	const char *s = tide__text(t->m, text, &n), *end = s + n;
	bool ok = true;
	while (ok && s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		nl = nl ? nl : end;
		if (*s == '#')
			ok = alias_line(t, text.i, s, nl);
		s = nl + 1;
	}
	return ok;
}

bool tide__tt_visit_modules(tide_tt *t, const char *kind, void (*use)(tide_tt *, size_t, size_t))
{
	const tide_documents *d = &t->m->documents;
	size_t *now = tide__calloc(t->m->lanes.n, sizeof *now), doc = 0, any = 0;
	for (size_t i = 0; now && i < t->n; i++) {
		const tide_tt_op *o = &t->ops[i];
		for (; doc < d->n && d->t[doc] <= t->m->spans.t0[o->span]; doc++)
			if (!strcmp(tide__text(t->m, d->kind[doc], NULL), kind))
				now[d->lane[doc].i] = any = doc + 1;
		size_t own = now[o->lane] > now[0] ? now[o->lane] : now[0];
		use(t, i, own ? own : any);
	}
	tide__free(now);
	return now != NULL;
}

static void set_module(tide_tt *t, size_t op, size_t doc)
{
	t->ops[op].module = doc ? t->m->documents.text[doc - 1].i : 0;
}

bool tide__tt_find_aliases(tide_tt *t)
{
	const tide_documents *d = &t->m->documents;
	tide_map seen = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < d->n; i++) {
		if (strcmp(tide__text(t->m, d->kind[i], NULL), "mlir.ttnn") != 0 ||
		    tide__map_get(&seen, d->text[i].i))
			continue;
		ok = tide__map_put(&seen, d->text[i].i, 1) && aliases_of(t, d->text[i]);
	}
	tide__map_free(&seen);
	if (t->n_aliases)
		qsort(t->aliases, t->n_aliases, sizeof *t->aliases, by_name);
	return ok && tide__tt_visit_modules(t, "mlir.ttnn", set_module);
}

tide_slice tide__tt_alias(const tide_tt *t, uint32_t module, tide_slice name)
{
	tide_tt_alias key = { module, name, { NULL, 0 } };
	const tide_tt_alias *a =
		t->n_aliases ? bsearch(&key, t->aliases, t->n_aliases, sizeof key, by_name) : NULL;
	return a ? a->value : (tide_slice){ NULL, 0 };
}

/* ---- operations ---- */

bool tide__tt_parse(const tide_tt *t, const tide_tt_op *o, tide_mlir_op *out)
{
	size_t n;
	const char *s = tide__text(t->m, o->text, &n);
	memset(out, 0, sizeof *out);
	return n && tide__mlir_parse_op(s, n, out);
}

const char *tide__tt_name(const tide_tt *t, const tide_tt_op *o)
{
	return tide__text(t->m, t->m->spans.name[o->span], NULL);
}

tide_slice tide__tt_function(const tide_mlir_op *p)
{
	tide_slice rest = p->operands, one;
	bool load = p->name.s && memmem(p->name.s, p->name.n, "load_cached", 11);
	return load && tide__mlir_next(&rest, &one) && one.n && *one.s == '@'
		       ? one
		       : (tide_slice){ NULL, 0 };
}

tide_slice tide__tt_loc_name(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p)
{
	tide_slice name = tide__mlir_loc_name(p->loc);
	for (int hops = 0; hops < 8 && name.n && *name.s == '#'; hops++) {
		tide_slice value = tide__tt_alias(t, o->module, name);
		if (value.n < 5 || memcmp(value.s, "loc(", 4))
			return (tide_slice){ NULL, 0 };
		name = tide__mlir_loc_name((tide_slice){ value.s + 4, value.n - 5 });
	}
	if (name.n && *name.s == '#')
		name.n = 0;
	return name.n ? name : tide__tt_function(p);
}

bool tide__tt_read_tensor(const tide_tt *t, const tide_tt_op *o, tide_slice type,
			  tide_mlir_tensor *out)
{
	if (!tide__mlir_parse_tensor(type, out))
		return false;
	if (out->layout.n && *out->layout.s == '#' && !out->tiled && !out->buffer.s) {
		tide_slice value = tide__tt_alias(t, o->module, out->layout);
		if (value.n)
			tide__mlir_apply_layout(out, value);
	}
	return true;
}

bool tide__tt_read_result(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p,
			  tide_mlir_tensor *out)
{
	tide_slice rest = p->out_types, one;
	if (rest.n > 1 && rest.s[0] == '(')
		rest = (tide_slice){ rest.s + 1, rest.n - 2 };
	return tide__mlir_next(&rest, &one) && tide__tt_read_tensor(t, o, one, out);
}
