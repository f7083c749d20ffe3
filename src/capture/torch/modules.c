// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/modules.h"
#include "capture/torch/pyapi.h"
#include "capture/torch/start.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct py py; /* PyObject */
typedef py *vectorcall(py *f, py *const *args, size_t n, py *names);

static struct {
	vectorcall *(*of)(py *); /* NULL before 3.11, */
	vectorcall *any;	 /* then the one vectorcall of all Python functions */
	py *(*call_one)(py *f, py *arg, py *end);
	void (*keep)(py *), (*drop)(py *), (*clear)(void);
	int (*raised)(py *);
	py **exception; /* PyExc_Exception */
} api;

static const tide_py_name names[] = {
	{ "PyObject_CallFunctionObjArgs", &api.call_one },
	{ "Py_IncRef", &api.keep },
	{ "Py_DecRef", &api.drop },
	{ "PyErr_Clear", &api.clear },
	{ "PyErr_ExceptionMatches", &api.raised },
	{ "PyExc_Exception", &api.exception },
};
static const tide_py_name of[] = { { "PyVectorcall_Function", &api.of } },
			  any[] = { { "_PyFunction_Vectorcall", &api.any } };

static bool find_api(void)
{
	return tide__py_find(names, sizeof names / sizeof *names) &&
	       (tide__py_find(of, 1) || tide__py_find(any, 1));
}

/* Returns the C function that runs a Python function. */
static vectorcall *runner(py *f)
{
	return api.of ? api.of(f) : api.any;
}

/* ---- names by address ---- */

static struct entry {
	uintptr_t module; /* 0 = free */
	tide_name name;
} * table;
static size_t mask, used; /* used: occupied slots, including those of freed modules */

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
	e->module = address; /* kept for freed modules, so that later entries are still found */
	e->name = name;
}

static tide_name find(const py *module)
{
	return table ? table[place_of(table, mask, (uintptr_t)module)].name : 0;
}

/* ---- the call ---- */

static py *namer, *runner_of_models, *function;
static __thread unsigned inside; /* modules that run on this thread */
static vectorcall **place, *original;

/* Calls a Python function of ours with the module; an exception of it is dropped. Returns false if
 * an exception is pending that is not ours (Ctrl+C). */
static bool tell_python(py *f, py *module)
{
	py *none = api.call_one(f, module, NULL);
	if (none)
		api.drop(none);
	else if (!api.raised(*api.exception))
		return false;
	else
		api.clear();
	return true;
}

/* Called when a model begins to run, because its labels may be out of date. Runs at most every 100
 * ms; a race between threads only runs it once more. Returns false as tell_python() does. */
static __attribute__((noinline)) bool begins(py *module)
{
	static _Atomic int64_t due;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (ms < due)
		return true;
	due = ms + 100;
	return tell_python(runner_of_models, module);
}

/* Asks Python for the module's name; if there is none, asks again at the next call. Returns false
 * as tell_python() does. */
static __attribute__((noinline)) bool learn(py *module)
{
	return tell_python(namer, module);
}

static py *call(py *f, py *const *args, size_t n, py *keywords)
{
	bool has_self = (n & ~((size_t)1 << (8 * sizeof n - 1))) > 0; /* the top bit is a flag */
	if (!has_self || !tide__torch_recording() || !tide_recording())
		return original(f, args, n, keywords);
	tide_name name = find(args[0]);
	if (!name ? !learn(args[0]) : !inside && !begins(args[0]))
		return NULL;
	tide_op op = tide_op_begin(name ? name : find(args[0]));
	inside++;
	py *result = original(f, args, n, keywords);
	inside--;
	tide_op_end(op);
	return result;
}

/* ---- on and off ---- */

/* Finds where a function object keeps the C function that runs it: the one word that is that
 * function's address, in `f` and, as the type is the same, in every Python function. */
static vectorcall **find_place(py *f, vectorcall *now)
{
	enum { WORDS = 24 };
	vectorcall **words = (vectorcall **)f, **found = NULL;
	for (int i = 2; i < WORDS; i++) {
		vectorcall *word;
		struct iovec to = { &word, sizeof word }, from = { &words[i], sizeof word };
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof word)
			break;
		if (word != now)
			continue;
		if (found)
			return NULL;
		found = &words[i];
	}
	return found;
}

int tide_torch_modules_on(void *f, void *ask, void *run)
{
	if (function)
		return function == f ? 0 : 4;
	if (!find_api())
		return 1;
	vectorcall *now = runner(f);
	if (!now)
		return 2;
	place = find_place(f, now);
	if (!place)
		return 3;
	original = now;
	api.keep(f);
	if (namer != ask)
		api.keep(ask);
	namer = ask;
	if (runner_of_models != run)
		api.keep(run);
	runner_of_models = run;
	function = f;
	__atomic_store_n(place, call, __ATOMIC_RELEASE);
	bool ours = !api.of || api.of(f) == call;
	if (!ours)
		tide_torch_modules_off();
	return ours ? 0 : 3;
}

void tide_torch_modules_off(void)
{
	if (!function)
		return;
	if (*place == call)
		__atomic_store_n(place, original, __ATOMIC_RELEASE);
	api.drop(function);
	function = NULL;
}
