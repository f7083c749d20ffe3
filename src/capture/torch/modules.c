// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/modules.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct py py; /* PyObject */

/* PyMethodDef of the stable ABI. */
struct method {
	const char *name;
	py *(*call)(py *self, py *const *args, long n, py *names);
	int flags;
	const char *doc;
};
enum { FASTCALL = 0x80, KEYWORDS = 0x02 };

static struct {
	py *(*new_method)(py *type, struct method *);
	py *(*vectorcall)(py *f, py *const *args, size_t n, py *names);
	py *(*call_one)(py *f, py *arg, py *end);
	long (*tuple_size)(py *);
	void (*keep)(py *), (*drop)(py *), (*clear)(void);
} api;

static const struct {
	const char *name;
	void *at;
} names[] = {
	{ "PyDescr_NewMethod", &api.new_method },
	{ "PyObject_Vectorcall", &api.vectorcall },
	{ "PyObject_CallFunctionObjArgs", &api.call_one },
	{ "PyTuple_Size", &api.tuple_size },
	{ "Py_IncRef", &api.keep },
	{ "Py_DecRef", &api.drop },
	{ "PyErr_Clear", &api.clear },
};

static bool find_api(void)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *p = dlsym(RTLD_DEFAULT, names[i].name);
		if (!p)
			return false;
		memcpy(names[i].at, &p, sizeof p);
	}
	return true;
}

/* ---- names by address ---- */

static struct entry {
	uintptr_t module; /* 0 = free */
	tide_name name;
} * table;
static size_t mask, used; /* used: taken slots, those of the dead included */

static size_t place_of(const struct entry *t, size_t m, uintptr_t module)
{
	size_t i = (module >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & m;
	while (t[i].module && t[i].module != module)
		i = (i + 1) & m;
	return i;
}

static bool grow(void)
{
	if (table && (used + 1) * 2 <= mask + 1)
		return true;
	size_t live = 0, n = 256;
	for (size_t i = 0; table && i <= mask; i++)
		live += table[i].name != 0;
	while (n < live * 4)
		n *= 2;
	struct entry *t = calloc(n, sizeof *t);
	if (!t)
		return false;
	used = 0;
	for (size_t i = 0; table && i <= mask; i++)
		if (table[i].name) {
			t[place_of(t, n - 1, table[i].module)] = table[i];
			used++;
		}
	free(table);
	table = t;
	mask = n - 1;
	return true;
}

void tide_torch_module_name(uintptr_t address, tide_name name)
{
	if (!address || !grow())
		return;
	struct entry *e = &table[place_of(table, mask, address)];
	if (!e->module && !name)
		return;
	used += !e->module;
	e->module = address; /* of the dead it stays, so that others behind it are still found */
	e->name = name;
}

static tide_name find(const py *module)
{
	return table ? table[place_of(table, mask, (uintptr_t)module)].name : 0;
}

/* ---- the call ---- */

static py *original, *namer;

/* Ask once; a module that stays without a name is asked about again at its next call. */
static __attribute__((noinline)) tide_name learn(py *module)
{
	py *none = api.call_one(namer, module, NULL);
	if (none)
		api.drop(none);
	else
		api.clear();
	return find(module);
}

static py *pass_on(py *self, py *const *args, long n, py *keywords)
{
	enum { FEW = 24 };
	py *few[FEW], **all = few;
	size_t total = (size_t)n + (keywords ? (size_t)api.tuple_size(keywords) : 0);
	if (total + 1 > FEW && !(all = malloc((total + 1) * sizeof *all)))
		return api.vectorcall(original, NULL, 0, NULL); /* raises for want of self */
	all[0] = self;
	memcpy(all + 1, args, total * sizeof *all);
	py *result = api.vectorcall(original, all, (size_t)n + 1, keywords);
	if (all != few)
		free(all);
	return result;
}

static py *call(py *self, py *const *args, long n, py *keywords)
{
	if (!tide_recording())
		return pass_on(self, args, n, keywords);
	tide_name name = find(self);
	tide_op op = tide_op_begin(name ? name : learn(self));
	py *result = pass_on(self, args, n, keywords);
	tide_op_end(op);
	return result;
}

void *tide_torch_module_method(void *type, void *was, void *ask)
{
	static struct method m = { "_wrapped_call_impl", call, FASTCALL | KEYWORDS,
				   "_wrapped_call_impl($self, /, *args, **kwargs)\n--\n\n" };
	if (!find_api())
		return NULL;
	original = was;
	namer = ask;
	api.keep(original);
	api.keep(namer);
	py *method = api.new_method(type, &m);
	if (!method)
		api.clear();
	return method;
}
