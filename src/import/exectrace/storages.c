// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A storage lives from the innermost op that returns it without having taken it, to the end of the
 * last op that names it. Its number may be used again for another storage at the same address: an op
 * that returns it, did not take it, and began after its birth starts the next life. */
#include <stdlib.h>
#include <string.h>

#include "import/exectrace/exectrace_impl.h"

enum { MOST_DEEP = 4, MOST_DIMS = 64 };
#define MOST_BYTES (UINT64_C(1) << 48)

typedef struct tensor {
	uint64_t storage, bytes;
	tide_str device;
	jsonr_node shape;
	uint8_t dtype;
} tensor;

static bool is_number(jsonr_node v, int64_t *n)
{
	return tide__jsonr_parse_number(v, 1, n) && *n >= 0 && *n < (INT64_C(1) << 48);
}

/* Returns the elements from the first to the last of a strided tensor; 0 = unknown. */
static uint64_t extent(jsonr_node shape, jsonr_node stride)
{
	jsonr_node key, d, s;
	jsonr_nodes a = tide__jsonr_walk(shape), b = tide__jsonr_walk(stride);
	uint64_t last = 0;
	int64_t dim, step;
	if (shape.type != '[' || stride.type != '[')
		return 0;
	while (tide__jsonr_next_node(&a, &key, &d)) {
		if (!tide__jsonr_next_node(&b, &key, &s) || !is_number(d, &dim) ||
		    !is_number(s, &step))
			return 0;
		if (!dim)
			return 0;
		if (__builtin_mul_overflow((uint64_t)dim - 1, (uint64_t)step, &step) ||
		    (last += (uint64_t)step) > MOST_BYTES)
			return 0;
	}
	return last + 1;
}

static uint8_t dtype_of(jsonr_node type)
{
	static const struct {
		const char *name;
		uint8_t dtype;
	} names[] = { { "Tensor(float)", TIDE_DTYPE_F32 },
		      { "Tensor(c10::BFloat16)", TIDE_DTYPE_BF16 },
		      { "Tensor(c10::Half)", TIDE_DTYPE_F16 },
		      { "Tensor(double)", TIDE_DTYPE_F64 },
		      { "Tensor(long)", TIDE_DTYPE_I64 },
		      { "Tensor(long int)", TIDE_DTYPE_I64 },
		      { "Tensor(int)", TIDE_DTYPE_I32 },
		      { "Tensor(bool)", TIDE_DTYPE_BOOL },
		      { "Tensor(unsigned char)", TIDE_DTYPE_U8 },
		      { "Tensor(signed char)", TIDE_DTYPE_I8 } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (type.type == '"' && tide__jsonr_is(type, names[i].name))
			return names[i].dtype;
	return TIDE_DTYPE_UNKNOWN;
}

/* [tensor, storage, offset, elements, bytes of one, "device"]. Returns false for other lists. */
static bool read_tensor(et_trace *t, jsonr_node v, jsonr_node shape, jsonr_node stride,
			jsonr_node type, tensor *out)
{
	jsonr_node key, part[6], more;
	jsonr_nodes w = tide__jsonr_walk(v);
	int64_t n[5];
	size_t k = 0;
	while (k < 6 && tide__jsonr_next_node(&w, &key, &part[k]))
		k++;
	if (k < 6 || tide__jsonr_next_node(&w, &key, &more) || part[5].type != '"')
		return false;
	for (size_t i = 0; i < 5; i++)
		if (!is_number(part[i], &n[i]))
			return false;
	uint64_t of = extent(shape, stride), elements = of ? of : (uint64_t)n[3], all;
	if (__builtin_mul_overflow((uint64_t)n[2] + elements, (uint64_t)n[4], &all) ||
	    all >= MOST_BYTES) {
		t->bad++;
		return false;
	}
	*out = (tensor){ .storage = (uint64_t)n[1],
			 .bytes = all,
			 .device = tide__intern_n(t->m, part[5].at, part[5].n),
			 .shape = shape,
			 .dtype = dtype_of(type) };
	return out->device.i || !part[5].n || tide__et_nomem(t);
}

typedef bool taker(et_trace *t, const et_node *n, const tensor *x);

static jsonr_node next_of(jsonr_nodes *w)
{
	jsonr_node key, v = { 0 };
	if (!tide__jsonr_next_node(w, &key, &v))
		v = (jsonr_node){ 0 };
	return v;
}

/* Passes each tensor of a list, and those of lists in it. */
static bool each(et_trace *t, const et_node *n, jsonr_node values, jsonr_node shapes,
		 jsonr_node strides, jsonr_node types, taker *take, unsigned depth)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(values), s = tide__jsonr_walk(shapes),
		    d = tide__jsonr_walk(strides), y = tide__jsonr_walk(types);
	while (tide__jsonr_next_node(&w, &key, &v)) {
		jsonr_node shape = next_of(&s), stride = next_of(&d), type = next_of(&y);
		tensor x;
		if (v.type != '[')
			continue;
		if (read_tensor(t, v, shape, stride, type, &x)) {
			if (!take(t, n, &x))
				return false;
		} else if (t->rc == TIDE_OK && depth < MOST_DEEP &&
			   !each(t, n, v, shape, stride, type, take, depth + 1)) {
			return false;
		}
		if (t->rc != TIDE_OK)
			return false;
	}
	return true;
}

static et_life *last_life(et_trace *t, uint64_t storage)
{
	uint32_t i = tide__map_get(&t->life_of, storage);
	return i ? &t->lives[i - 1] : NULL;
}

static et_life *begin_life(et_trace *t, const et_node *n, const tensor *x, bool before)
{
	et_life *l = TIDE_PUSH(t, lives);
	if (!l || t->n_lives >= UINT32_MAX ||
	    !tide__map_put(&t->life_of, x->storage, (uint32_t)t->n_lives)) {
		(void)tide__et_nomem(t);
		return NULL;
	}
	*l = (et_life){ .id = x->storage,
			.bytes = x->bytes,
			.begin = before ? 0 : n->begin,
			.end = n->end,
			.span = before ? 0 : n->span,
			.device = x->device,
			.shape = x->shape,
			.dtype = x->dtype,
			.before = before };
	return l;
}

static bool use(et_life *l, const et_node *n, const tensor *x)
{
	l->end = n->end > l->end ? n->end : l->end;
	if (x->bytes > l->bytes) {
		l->bytes = x->bytes;
		l->shape = x->shape;
	}
	return true;
}

static bool take_input(et_trace *t, const et_node *n, const tensor *x)
{
	et_life *l = last_life(t, x->storage);
	return l ? use(l, n, x) : begin_life(t, n, x, true) != NULL;
}

static bool look_at(et_trace *t, const et_node *n, const tensor *x)
{
	(void)n;
	t->found |= x->storage == t->sought;
	return true;
}

/* Returns true if a node takes a storage that it returns. */
static bool takes(et_trace *t, const et_node *n, uint64_t storage)
{
	t->sought = storage;
	t->found = false;
	(void)each(t, n, n->values[0], n->shapes[0], n->strides[0], n->types[0], look_at, 0);
	return t->found;
}

static bool take_output(et_trace *t, const et_node *n, const tensor *x)
{
	et_life *l = last_life(t, x->storage);
	if (l && (l->begin >= n->begin || takes(t, n, x->storage)))
		return use(l, n, x);
	return t->rc == TIDE_OK && begin_life(t, n, x, false) != NULL;
}

/* ---- rows ---- */

static uint32_t device_of(et_trace *t, const char *name)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = { { "cpu", TIDE_DEVICE_HOST },
		      { "cuda", TIDE_DEVICE_CUDA },
		      { "xpu", TIDE_DEVICE_XPU },
		      { "mps", TIDE_DEVICE_MPS } };
	tide_devices *d = &t->m->devices;
	uint32_t row = tide__push(d, &tide_devices_desc);
	size_t n = strcspn(name, ":");
	if (!row)
		return 0;
	d->kind[row] = TIDE_DEVICE_OTHER;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, name, n))
			d->kind[row] = kinds[i].kind;
	if (d->kind[row] == TIDE_DEVICE_OTHER)
		d->name[row] = tide__intern_n(t->m, name, n);
	d->index[row] = name[n] ? strtol(name + n + 1, NULL, 10) & INT32_MAX : 0;
	return row;
}

static uint32_t pool_of(et_trace *t, tide_str device)
{
	uint32_t row = tide__map_get(&t->pools, device.i);
	if (row)
		return row;
	uint32_t on = device_of(t, tide__text(t->m, device, NULL));
	row = on ? tide__push(&t->m->pools, &tide_pools_desc) : 0;
	if (!row || !tide__map_put(&t->pools, device.i, row))
		return 0;
	bool host = t->m->devices.kind[on] == TIDE_DEVICE_HOST;
	t->m->pools.device[row].i = on;
	t->m->pools.kind[row] = host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM;
	t->m->pools.name[row] = tide__intern(t->m, host ? "heap" : "DRAM");
	return row;
}

static bool put_tensor(et_trace *t, const et_life *l, uint32_t row)
{
	tide_model *m = t->m;
	jsonr_node key, d;
	int64_t dim;
	uint32_t at = tide__push(&m->tensors, &tide_tensors_desc), n = 0;
	if (!at)
		return tide__et_nomem(t);
	m->tensors.alloc[at].i = row;
	m->tensors.dims[at] = m->n_dims;
	m->tensors.dtype[at] = l->dtype;
	m->tensors.requires_grad[at] = 2;
	for (jsonr_nodes w = tide__jsonr_walk(l->shape);
	     n < MOST_DIMS && tide__jsonr_next_node(&w, &key, &d) && is_number(d, &dim); n++) {
		if (!TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + 1))
			return tide__et_nomem(t);
		m->dims[m->n_dims++] = (uint64_t)dim;
	}
	m->tensors.ndim[at] = n;
	return true;
}

typedef struct change {
	uint32_t place, row;
	bool more;
} change;

/* Ends come before begins of the same moment. */
static int by_place(const void *a, const void *b)
{
	const change *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->more != y->more)
		return x->more ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool put_life(et_trace *t, const et_life *l, uint64_t *next, uint32_t *row)
{
	tide_allocs *a = &t->m->allocs;
	uint32_t pool = pool_of(t, l->device);
	*row = pool ? tide__push(a, &tide_allocs_desc) : 0;
	if (!*row)
		return tide__et_nomem(t);
	a->addr[*row] = *next;
	*next += l->bytes ? l->bytes : 1;
	a->size[*row] = a->requested[*row] = l->bytes;
	a->born[*row] = (int64_t)l->begin * TIDE_OP_NS;
	a->died[*row] = (int64_t)l->end * TIDE_OP_NS;
	a->pool[*row].i = pool;
	a->span[*row].i = l->span;
	a->basis[*row] = TIDE_BASIS_INFERRED;
	a->flags[*row] = l->before ? TIDE_ALLOC_BEFORE : 0;
	return put_tensor(t, l, *row);
}

static bool put_changes(et_trace *t, change *c)
{
	uint64_t next = 4096;
	for (size_t i = 0; i < t->n_lives; i++) {
		uint32_t row;
		if (!put_life(t, &t->lives[i], &next, &row))
			return false;
		c[2 * i] = (change){ t->lives[i].begin, row, true };
		c[2 * i + 1] = (change){ t->lives[i].end, row, false };
	}
	qsort(c, 2 * t->n_lives, sizeof *c, by_place);
	for (size_t i = 0; i < 2 * t->n_lives; i++) {
		size_t at;
		if (!tide__table_push(&t->m->memory_events, &tide_memory_events_desc, &at))
			return tide__et_nomem(t);
		t->m->memory_events.row[at] = c[i].row;
		t->m->memory_events.kind[at] = c[i].more ? TIDE_MEMORY_ALLOC : TIDE_MEMORY_FREE;
	}
	return true;
}

bool tide__et_storages(et_trace *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		const et_node *n = &t->nodes[i];
		if (!each(t, n, n->values[0], n->shapes[0], n->strides[0], n->types[0], take_input,
			  0) ||
		    !each(t, n, n->values[1], n->shapes[1], n->strides[1], n->types[1], take_output,
			  0))
			return false;
	}
	change *c = tide__alloc(2 * t->n_lives, sizeof *c);
	bool ok = c ? put_changes(t, c) : tide__et_nomem(t);
	tide__free(c);
	return ok;
}
