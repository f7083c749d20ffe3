// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/stacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "capture/torch/frames.h"

enum { DEEPEST = 192, PLACES_MAX = 1 << 20 };

struct place { /* id 0 = free */
	uintptr_t code, instr;
	uint64_t sign;
	tide_stack parent, id;
	uint32_t made_up; /* tide__frame_generated */
};

struct known { /* of the last stack, outermost first */
	tide_pyframe frame;
	tide_stack id;
	uint32_t made_up;
};

struct own { /* a thread's */
	struct known last[DEEPEST];
	size_t n_last;
	bool cut; /* the last stack was */
	struct place *places;
	size_t mask, n;
	const void *op;	      /* innermost open op with a stack; NULL = none */
	uintptr_t top, instr; /* innermost frame when it started */
	unsigned skipped;
};

static __thread __attribute__((tls_model("initial-exec"))) struct own *self;
static pthread_key_t key;
static bool have_key; /* else `key` belongs to another library */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic unsigned every = 1;

static void forget(void *p)
{
	struct own *o = p;
	self = NULL;
	free(o->places);
	free(o);
}

static void make_key(void)
{
	have_key = pthread_key_create(&key, forget) == 0;
}

static struct own *own(void)
{
	if (__builtin_expect(self != NULL, 1))
		return self;
	pthread_once(&once, make_key);
	struct own *o = have_key ? calloc(1, sizeof *o) : NULL;
	if (o && pthread_setspecific(key, o) != 0) {
		free(o);
		o = NULL;
	}
	self = o;
	return o;
}

/* ---- the table ---- */

static size_t hash(const tide_pyframe *f, tide_stack parent)
{
	uint64_t h =
		(f->instr ^ f->code << 7 ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h ^ h >> 29);
}

/* Returns true if generated code is still the same. */
static bool still(const tide_pyframe *f, uint32_t made_up)
{
	return __builtin_expect(!made_up, 1) || made_up == tide__frame_generated(f);
}

static struct place *slot(struct place *t, size_t mask, const tide_pyframe *f, tide_stack parent)
{
	size_t i = hash(f, parent) & mask;
	while (t[i].id &&
	       !(t[i].instr == f->instr && t[i].code == f->code && t[i].sign == f->sign &&
		 t[i].parent == parent && still(f, t[i].made_up)))
		i = (i + 1) & mask;
	return &t[i];
}

/* Returns a free slot for a frame that has none. */
static struct place *free_slot(struct place *t, size_t mask, const tide_pyframe *f,
			       tide_stack parent)
{
	size_t i = hash(f, parent) & mask;
	while (t[i].id)
		i = (i + 1) & mask;
	return &t[i];
}

static bool grow(struct own *o)
{
	if (o->places && (o->n + 1) * 2 <= o->mask + 1)
		return true;
	size_t n = o->places ? (o->mask + 1) * 2 : 512;
	struct place *p = n <= PLACES_MAX ? calloc(n, sizeof *p) : NULL;
	if (!p)
		return false;
	for (size_t i = 0; o->places && i <= o->mask; i++) {
		const struct place *e = &o->places[i];
		tide_pyframe f = { e->code, e->instr, e->sign };
		if (e->id)
			*free_slot(p, n - 1, &f, e->parent) = *e;
	}
	free(o->places);
	o->places = p;
	o->mask = n - 1;
	return true;
}

static tide_stack define(const tide_pyframe *f, tide_stack parent)
{
	char function[512], file[1024];
	tide__frame_read_texts(f, function, sizeof function, file, sizeof file);
	return tide_stack_push(parent, tide_intern(function), tide_intern(file),
			       tide__frame_line(f));
}

/* Finds the stack of frame `f` inside `parent`; NULL if memory runs out. */
static const struct place *inside(struct own *o, const tide_pyframe *f, tide_stack parent)
{
	if (!grow(o))
		return NULL;
	struct place *p = slot(o->places, o->mask, f, parent);
	if (p->id)
		return p;
	*p = (struct place){ f->code, f->instr,		 f->sign,
			     parent,  define(f, parent), tide__frame_generated(f) };
	o->n += p->id != 0;
	return p->id ? p : NULL;
}

/* ---- a stack ---- */

static bool same(const tide_pyframe *f, const struct known *k)
{
	return f->instr == k->frame.instr && f->code == k->frame.code && f->sign == k->frame.sign &&
	       still(f, k->made_up);
}

/* Returns the frame that replaces the outermost frames of a stack deeper than DEEPEST. */
static tide_stack left_out(void)
{
	static _Atomic tide_stack known; /* belongs to the process: valid in all its recordings */
	tide_stack id = atomic_load_explicit(&known, memory_order_relaxed);
	if (!id) {
		id = tide_stack_push(0, tide_intern("[outer frames left out]"), 0, 0);
		atomic_store_explicit(&known, id, memory_order_relaxed);
	}
	return id;
}

static tide_stack walk(struct own *o)
{
	tide_pyframe f[DEEPEST + 1];
	size_t n = tide__frames_read(f, DEEPEST + 1), k = 0;
	bool cut = n > DEEPEST;
	n -= cut;
	if (cut != o->cut)
		o->n_last = 0;
	o->cut = cut;
	while (k < n && k < o->n_last && same(&f[n - 1 - k], &o->last[k]))
		k++;
	tide_stack id = k ? o->last[k - 1].id : cut ? left_out() : 0;
	for (; k < n; k++) {
		const struct place *p = inside(o, &f[n - 1 - k], id);
		if (!p) { /* record no stack rather than a partial one */
			o->n_last = k;
			return 0;
		}
		id = p->id;
		o->last[k] = (struct known){ f[n - 1 - k], id, p->made_up };
	}
	o->n_last = n;
	return id;
}

tide_stack tide_torch_stack(const void *op)
{
	uintptr_t instr, top = tide__frames_top(&instr);
	struct own *o = top ? own() : NULL;
	if (!o || !tide_recording() || (o->op && top == o->top && instr == o->instr))
		return 0; /* that op is still open, so its frames are unchanged */
	bool outer = !o->op;
	o->top = top;
	o->instr = instr;
	o->op = op;
	if (outer && ++o->skipped < atomic_load_explicit(&every, memory_order_relaxed))
		return 0; /* nor for ops inside it */
	o->skipped = outer ? 0 : o->skipped;
	return walk(o);
}

tide_stack tide_torch_stack_now(void)
{
	uintptr_t instr;
	struct own *o = tide__frames_top(&instr) ? own() : NULL;
	return o ? walk(o) : 0;
}

void tide_torch_stack_end(const void *op)
{
	if (self && self->op == op)
		self->op = NULL;
}

void tide_torch_stack_every(unsigned n)
{
	atomic_store(&every, n ? n : 1);
}
