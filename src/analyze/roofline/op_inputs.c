// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/roofline/op_inputs.h"

#include <math.h>
#include <string.h>

#define MOST 9e15 /* no dimension is longer: numbers up to here are exact */

static const struct number {
	const char *text;
	double bytes;
	int kind;
} numbers[] = {
#define X(name, text, bytes, kind) { text, bytes, kind },
	TIDE_NUMBERS(X)
#undef X
};

const char *tide__number_text(tide_number t)
{
	return numbers[t].text;
}

double tide__number_bytes(tide_number t)
{
	return numbers[t].bytes;
}

int tide__number_class(tide_number t)
{
	return numbers[t].kind;
}

tide_number tide__number_of(const char *name, size_t n)
{
	static const struct {
		const char *name;
		tide_number type;
	} names[] = {
		{ "float", TIDE_NUM_FLOAT32 },
		{ "double", TIDE_NUM_FLOAT64 },
		{ "c10::BFloat16", TIDE_NUM_BFLOAT16 },
		{ "c10::Half", TIDE_NUM_FLOAT16 },
		{ "bool", TIDE_NUM_BOOL },
		{ "long int", TIDE_NUM_INT64 },
		{ "long", TIDE_NUM_INT64 },
		{ "long long", TIDE_NUM_INT64 },
		{ "__int64", TIDE_NUM_INT64 },
		{ "unsigned long", TIDE_NUM_INT64 },
		{ "int", TIDE_NUM_INT32 },
		{ "unsigned int", TIDE_NUM_INT32 },
		{ "short int", TIDE_NUM_INT16 },
		{ "short", TIDE_NUM_INT16 },
		{ "short unsigned int", TIDE_NUM_INT16 },
		{ "signed char", TIDE_NUM_INT8 },
		{ "unsigned char", TIDE_NUM_UINT8 },
		{ "c10::complex<float>", TIDE_NUM_COMPLEX64 },
		{ "c10::complex<double>", TIDE_NUM_COMPLEX128 },
		{ "c10::Float4_e2m1fn_x2", TIDE_NUM_FLOAT4 },
	};
	static const char float8[] = "c10::Float8_";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, name, n))
			return names[i].type;
	bool is8 = n > sizeof float8 - 1 && !memcmp(name, float8, sizeof float8 - 1);
	return is8 ? TIDE_NUM_FLOAT8 : TIDE_NUM_UNKNOWN;
}

tide_number tide__number_promote(tide_number a, tide_number b)
{
	const struct number *x = &numbers[a], *y = &numbers[b];
	if (x->kind != y->kind)
		return x->kind > y->kind ? a : b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? a : b;
	if (a == b || x->kind != 3)
		return a;
	return x->bytes == 2 ? TIDE_NUM_FLOAT32 : a;
}

/* ---- texts ---- */

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')
		s++;
	return s;
}

/* Returns the end of a number, NULL if there is none. */
static const char *read_number(const char *s, double *out)
{
	double v = 0;
	const char *from = s;
	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (*s - '0');
	*out = v;
	return s == from || v > MOST ? NULL : s;
}

/* Returns the position behind a comma, or at the ']' that ends a list; NULL otherwise. */
static const char *skip_comma(const char *s)
{
	s = skip_blanks(s);
	if (*s != ',')
		return *s == ']' ? s : NULL;
	s = skip_blanks(s + 1);
	return *s == ']' ? NULL : s;
}

/* Reads "[8, 16]" behind its '['. Returns the position behind its ']'. */
static const char *read_shape(const char *s, tide_op_tensor *t)
{
	t->n = 0;
	for (s = skip_blanks(s); *s != ']';) {
		if (t->n == TIDE_OP_DIMS || !(s = read_number(s, &t->d[t->n])) ||
		    !(s = skip_comma(s)))
			return NULL;
		t->n++;
	}
	return s + 1;
}

/* Reads one input, a shape or a list of shapes, behind its '['. */
static const char *read_input(const char *s, tide_op_inputs *x, tide_op_input *in)
{
	s = skip_blanks(s);
	in->list = *s == '[';
	in->at = (uint16_t)x->n_t;
	if (!in->list) {
		if (x->n_t == TIDE_OP_TENSORS)
			return NULL;
		in->n = 1;
		return read_shape(s, &x->t[x->n_t++]);
	}
	while (*s == '[') {
		if (x->n_t == TIDE_OP_TENSORS || !(s = read_shape(s + 1, &x->t[x->n_t++])) ||
		    !(s = skip_comma(s)))
			return NULL;
		in->n++;
	}
	return *s == ']' ? s + 1 : NULL;
}

static bool read_dims(const char *s, tide_op_inputs *x)
{
	if (!s || *(s = skip_blanks(s)) != '[')
		return false;
	for (s = skip_blanks(s + 1); *s == '[' && x->n < TIDE_OP_INPUTS;) {
		x->v[x->n] = (tide_op_input){ 0 };
		s = read_input(s + 1, x, &x->v[x->n]);
		if (!s || !(s = skip_comma(s)))
			return false;
		x->n++;
	}
	return *s == ']' || x->n == TIDE_OP_INPUTS;
}

/* Returns the k-th text of a list of texts without its quotes, NULL if there is none. */
static const char *nth(const char *s, size_t k)
{
	if (!s || *s++ != '[')
		return NULL;
	for (size_t i = 0;; i++) {
		s = skip_blanks(s);
		if (*s != '"')
			return NULL;
		if (i == k)
			return s + 1;
		s = strchr(s + 1, '"'); /* numbers, lists of them and words have no quotes */
		if (!s)
			return NULL;
		s = skip_blanks(s + 1);
		if (*s++ != ',')
			return NULL;
	}
}

static void read_types(const char *s, tide_op_inputs *x)
{
	const char *at = nth(s, 0);
	for (size_t i = 0; i < x->n && at; i++) {
		const char *end = strchr(at, '"');
		if (!end)
			return;
		size_t n = (size_t)(end - at);
		x->v[i].type = (uint8_t)tide__number_of(at, n);
		x->typed |= x->v[i].type != TIDE_NUM_UNKNOWN;
		if (n > 6 && !memcmp(at, "Tensor", 6) && x->v[i].type == TIDE_NUM_UNKNOWN &&
		    !x->v[i].list && !x->t[x->v[i].at].n) {
			x->v[i].list = true; /* its shapes are left out */
			x->v[i].n = 0;
		}
		at = skip_blanks(end + 1);
		at = *at == ',' ? skip_blanks(at + 1) : NULL;
		at = at && *at == '"' ? at + 1 : NULL;
	}
}

/* Counts elements; strides of another form than the shapes are ignored. */
static void measure(const char *strides, tide_op_inputs *x)
{
	tide_op_inputs s;
	s.n = s.n_t = 0;
	bool same = strides && read_dims(strides, &s) && s.n_t == x->n_t;
	for (size_t i = 0; i < x->n_t; i++) {
		tide_op_tensor *t = &x->t[i];
		bool fits = same && s.t[i].n == t->n;
		t->elements = t->distinct = 1;
		for (size_t k = 0; k < t->n; k++) {
			t->elements *= t->d[k];
			t->distinct *= fits && s.t[i].d[k] == 0 && t->d[k] > 0 ? 1 : t->d[k];
		}
	}
}

bool tide__op_inputs_read(const tide_op_texts *t, tide_op_inputs *out)
{
	out->n = out->n_t = 0;
	out->concrete = t->concrete;
	out->typed = false;
	if (!read_dims(t->dims, out))
		return false;
	read_types(t->types, out);
	measure(t->strides, out);
	return true;
}

/* ---- tensors ---- */

const tide_op_tensor *tide__op_tensor(const tide_op_inputs *x, size_t k, int dims)
{
	if (k >= x->n || x->v[k].list || x->v[k].n != 1)
		return NULL;
	const tide_op_tensor *t = &x->t[x->v[k].at];
	return dims < 0 || t->n == (size_t)dims ? t : NULL;
}

tide_number tide__op_type(const tide_op_inputs *x, size_t k)
{
	return k < x->n ? (tide_number)x->v[k].type : TIDE_NUM_UNKNOWN;
}

double tide__op_bytes(const tide_op_inputs *x, size_t k)
{
	if (k >= x->n)
		return 0;
	const tide_op_tensor *t = tide__op_tensor(x, k, -1);
	double size = tide__number_bytes(tide__op_type(x, k));
	bool tensor = !t || t->n || size; /* a scalar has no shape and no type */
	if (!x->typed || x->v[k].list || (tensor && !size))
		return tensor || x->v[k].list ? (double)NAN : 0;
	return t && t->n ? t->distinct * size : 0;
}

double tide__op_bytes_of(const tide_op_inputs *x, size_t from, size_t to)
{
	double sum = 0;
	for (size_t i = from; i < to && i < x->n; i++)
		sum += tide__op_bytes(x, i);
	return sum;
}

/* ---- scalars ---- */

const char *tide__op_scalar(const tide_op_inputs *x, size_t k)
{
	return nth(x->concrete, k);
}

bool tide__op_is_true(const tide_op_inputs *x, size_t k)
{
	const char *s = tide__op_scalar(x, k);
	return s && !strncmp(s, "True", 4);
}

double tide__op_int(const tide_op_inputs *x, size_t k, double other)
{
	double v;
	const char *s = tide__op_scalar(x, k);
	return s && (s = read_number(s, &v)) && *s == '"' ? v : other;
}

bool tide__op_dim(const tide_op_inputs *x, size_t k, size_t n, size_t *out)
{
	double v;
	const char *s = tide__op_scalar(x, k);
	bool minus = s && *s == '-';
	if (!s || !read_number(s + minus, &v) || v > (double)n || (minus ? v < 1 : v == (double)n))
		return false;
	*out = minus ? n - (size_t)v : (size_t)v;
	return true;
}

size_t tide__op_list(const tide_op_inputs *x, size_t k, double *v)
{
	size_t n = 0;
	const char *s = tide__op_scalar(x, k);
	if (!s || *s != '[')
		return 0;
	for (s = skip_blanks(s + 1); *s != ']';) {
		bool minus = *s == '-';
		if (n == TIDE_OP_LIST || !(s = read_number(s + minus, &v[n])) ||
		    !(s = skip_comma(s)))
			return 0;
		v[n] = minus ? -v[n] : v[n];
		n++;
	}
	return n;
}
