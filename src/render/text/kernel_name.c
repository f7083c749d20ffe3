// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/kernel_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- the rules ---- */

/* Types of elements, and how they are written. */
static const struct {
	const char *is, *text;
} types[] = {
	{ "float", "float" },	  { "double", "double" },     { "Half", "half" },
	{ "__half", "half" },	  { "BFloat16", "bf16" },     { "__nv_bfloat16", "bf16" },
	{ "int", "int" },	  { "long", "long" },	      { "short", "short" },
	{ "bool", "bool" },	  { "Float8_e4m3fn", "fp8" }, { "Float8_e5m2", "fp8" },
	{ "complex", "complex" }, { "float2", "float" },
};

/* Words of template arguments that describe how a kernel is built, not what it does. */
static const char *const fillers[] = {
	"at",
	"native",
	"std",
	"c10",
	"detail",
	"memory",
	"internal",
	"binary_internal",
	"array",
	"Array",
	"char",
	"lambda",
	"operator",
	"const",
	"true",
	"false",
	"void",
	"unsigned",
	"ul",
	"u",
	"TensorIteratorBase",
	"TensorIterator",
	"TrivialOffsetCalculator",
	"OffsetCalculator",
	"LoadWithCast",
	"LoadWithoutCast",
	"StoreWithCast",
	"StoreWithoutCast",
	"TensorListMetadata",
	"TensorListScalarListMetadata",
	"func_wrapper_t",
	"ReduceOp",
	"AUnaryFunctor",
	"BUnaryFunctor",
	"BinaryFunctor",
	"UnaryFunctor",
	"BinaryOpScalarFunctor",
	"BinaryOpListAlphaFunctor",
	"UnaryOpFunctor",
	"PointwiseOpScalarFunctor",
	"PointwiseOpListFunctor",
	"TernaryOpScalarFunctor",
	"GPULambda",
	"OpaqueType",
	"cutlass",
	"gemm",
	"kernel",
	"device",
	"thread",
	"epilogue",
	"reduction",
	"threadblock",
	"anonymous",
	"namespace",
	"cudnn",
	"cub",
	"thrust",
	"cuda_cub",
	"hipcub",
	"rocprim",
	"policy_hub",
	"cute",
	"tuple",
	"gpu_kernel_impl_nocast",
	"gpu_kernel_impl",
	"pytorch_flash",
	"C",
	"cudnnKernelDataType_t",
};

/* Functions that only run their first argument. */
static const char *const shells[] = { "Kernel", "Kernel2", "device_kernel", "kernel" };

/* Common prefixes and suffixes of functions and functors. */
static const char *const heads[] = { "CUDAFunctorOnSelf_", "CUDAFunctor_", "launch_",
				     "cutlass_80_",	   "cutlass_90_",  "cutlass_75_" };
static const char *const tails[] = { "_kernel_cuda", "_kernel_impl", "CUDAKernelImpl",
				     "KernelImpl",   "_kernel",	     "_functor",
				     "Functor",	     "_cuda",	     "Kernel" };

/* Parts of plain names that identify the device or tool they were built for. */
static const char *const built_for[] = {
	"cudnn_infer_", "cudnn_train_", "volta_",     "turing_",    "ampere_",
	"hopper_",	"maxwell_",	"pascal_",    "sm70_xmma_", "sm75_xmma_",
	"sm80_xmma_",	"sm86_xmma_",	"sm89_xmma_", "sm90_xmma_",
};

enum { MOST_WORD = 64 };

struct text {
	char *s;
	size_t n, room;
};

static void put(struct text *t, const char *s, size_t n)
{
	size_t left = t->room - 1 - t->n;
	n = n < left ? n : left;
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = 0;
}

static bool one_of(const char *w, size_t n, const char *const *list, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (strlen(list[i]) == n && !memcmp(list[i], w, n))
			return true;
	return false;
}
#define ONE_OF(w, n, list) one_of(w, n, list, sizeof list / sizeof *list)

static const char *type_of(const char *w, size_t n)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].is) == n && !memcmp(types[i].is, w, n))
			return types[i].text;
	return NULL;
}

static void strip_heads(const char **w, size_t *n)
{
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		size_t k = strlen(heads[i]);
		if (*n > k && !memcmp(*w, heads[i], k)) {
			*w += k;
			*n -= k;
		}
	}
}

static void strip_tails(const char *w, size_t *n)
{
	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		size_t k = strlen(tails[i]);
		if (*n > k && !memcmp(w + *n - k, tails[i], k)) {
			*n -= k;
			return;
		}
	}
}

/* ---- C++ ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns where the function's qualified name ends: at its `<` or `(`; n = it does not look like
 * one. */
static size_t head_end(const char *s, size_t n)
{
	static const char unnamed[] = "(anonymous namespace)";
	size_t i = 0, k = sizeof unnamed - 1;
	while (i < n && s[i] != '<' && s[i] != '(') {
		if (!in_word(s[i]) && s[i] != ':' && s[i] != '~')
			return n;
		i++;
		if (i + k < n && !memcmp(s + i, unnamed, k))
			i += k;
	}
	return i;
}

static size_t arguments_end(const char *s, size_t n, size_t at)
{
	int deep = 0;
	for (size_t i = at; i < n; i++) {
		deep += s[i] == '<';
		deep -= s[i] == '>' && s[i - 1] != '-';
		if (!deep)
			return i;
	}
	return n;
}

struct found {
	const char *what; /* functor, else NULL */
	size_t n_what;
	const char *type; /* of elements, else NULL */
};

/* Finds the first word that describes the operation, and the first type. */
static struct found look(const char *s, size_t from, size_t to)
{
	struct found f = { 0 };
	for (size_t i = from; i < to;) {
		size_t k = i;
		while (k < to && in_word(s[k]))
			k++;
		if (k == i || isdigit((unsigned char)s[i])) {
			i = k > i ? k : i + 1;
			continue;
		}
		const char *type = type_of(s + i, k - i);
		if (type)
			f.type = f.type ? f.type : type;
		else if (!f.what && !ONE_OF(s + i, k - i, fillers)) {
			f.what = s + i;
			f.n_what = k - i < MOST_WORD ? k - i : MOST_WORD;
		}
		i = k;
	}
	return f;
}

static size_t cplusplus(const char *s, size_t n, struct text *t)
{
	size_t head = head_end(s, n), start = head;
	if (head == n || !head)
		return 0;
	while (start && in_word(s[start - 1]))
		start--;
	const char *name = s + start;
	size_t n_name = head - start;
	struct found f = { 0 };
	if (s[head] == '<')
		f = look(s, head + 1, arguments_end(s, n, head));
	if (f.what) {
		strip_heads(&f.what, &f.n_what);
		strip_tails(f.what, &f.n_what);
	}
	if (f.what && ONE_OF(name, n_name, shells)) {
		name = f.what;
		n_name = f.n_what;
		f.what = NULL;
	} else {
		strip_tails(name, &n_name);
	}
	put(t, name, n_name);
	if (!f.what && !f.type)
		return t->n;
	put(t, "<", 1);
	if (f.what)
		put(t, f.what, f.n_what);
	if (f.what && f.type)
		put(t, ", ", 2);
	if (f.type)
		put(t, f.type, strlen(f.type));
	put(t, ">", 1);
	return t->n;
}

/* ---- plain names ---- */

/* Shortens a Tensile name to its operands and tile. */
static size_t tensile(const char *s, size_t n, struct text *t)
{
	const char *tile = n > 5 && !memcmp(s, "Cijk_", 5) ? memmem(s, n, "_MT", 3) : NULL;
	if (!tile)
		return 0;
	const char *bias = memmem(s, n, "_Bias", 5), *end = bias && bias < tile ? bias : tile;
	put(t, s, (size_t)(end - s));
	put(t, " ", 1);
	size_t k = 1;
	while (tile + k < s + n && tile[k] != '_')
		k++;
	put(t, tile + 1, k - 1);
	return t->n;
}

static size_t plain(const char *s, size_t n, struct text *t)
{
	for (size_t i = 0; i < sizeof built_for / sizeof *built_for; i++) {
		size_t k = strlen(built_for[i]);
		if (n > k && !memcmp(s, built_for[i], k)) {
			s += k;
			n -= k;
		}
	}
	const char *tile = memmem(s, n, "_tilesize", 9);
	if (!tile) {
		put(t, s, n);
		return t->n;
	}
	size_t from = (size_t)(tile - s) + 9, to = from;
	while (to < n && s[to] != '_')
		to++;
	put(t, s, from - 8);
	put(t, s + from, to - from);
	return t->n;
}

/* Shortens a name that does not fit, keeping both ends. */
static size_t middle_out(const char *s, size_t n, char *out, size_t room)
{
	size_t keep = room - 1 - 3, head = keep * 2 / 3, tail = keep - head;
	while (head && ((unsigned char)s[head] & 0xc0) == 0x80)
		head--; /* not inside a character */
	while (tail && ((unsigned char)s[n - tail] & 0xc0) == 0x80)
		tail--;
	memcpy(out, s, head);
	memcpy(out + head, "...", 3);
	memcpy(out + head + 3, s + n - tail, tail);
	out[head + 3 + tail] = 0;
	return head + 3 + tail;
}

static bool has(const char *s, size_t n, const char *part)
{
	return memmem(s, n, part, strlen(part)) != NULL;
}

size_t tide__kernel_shorten(const char *name, size_t n, char out[TIDE_KERNEL_NAME])
{
	struct text t = { out, 0, TIDE_KERNEL_NAME };
	const char *s = name;
	size_t k = n;
	out[0] = 0;
	if (k > 5 && !memcmp(s, "void ", 5)) {
		s += 5;
		k -= 5;
	}
	bool known = (memchr(s, '(', k) || memchr(s, '<', k)) && k && s[0] != '<' &&
		     !has(s, k, ".py(") && cplusplus(s, k, &t);
	if (!known && !memchr(s, ' ', k) && !memchr(s, '(', k) && !memchr(s, '<', k))
		known = tensile(s, k, &t) || (k < TIDE_KERNEL_NAME * 4 && plain(s, k, &t));
	if (known && t.n < TIDE_KERNEL_NAME - 1)
		return t.n;
	if (n < TIDE_KERNEL_NAME) {
		memcpy(out, name, n);
		out[n] = 0;
		return n;
	}
	return middle_out(name, n, out, TIDE_KERNEL_NAME);
}

size_t tide__kernel_write_tag(const char *name, size_t n, char out[8])
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return (size_t)snprintf(out, 8, "#%04x", (unsigned)((h ^ h >> 16) & 0xffff));
}
