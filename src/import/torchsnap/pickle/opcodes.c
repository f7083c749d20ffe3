// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The opcodes that are rare in snapshots: a table with one small function per opcode. It also names
 * the opcodes that are refused. The others are in the loop itself (pickle.c). */
#include "import/torchsnap/pickle/pickle_vm.h"

#include <stdio.h>
#include <string.h>

typedef struct tide_pickle vm;

/* ---- arguments ---- */

/* Returns n bytes of argument at v->p and advances it. NULL if the input ends before. */
static const uint8_t *take(vm *v, uint64_t n, const uint8_t *op, const char *name)
{
	const uint8_t *at = v->p;
	uint64_t left = (uint64_t)(v->data + v->n - at);
	if (n > left) {
		tide__pickle_fail(v, TIDE_ETRUNC, op,
				  "%s needs %llu bytes and the input has %llu more", name,
				  (unsigned long long)n, (unsigned long long)left);
		return NULL;
	}
	v->p += n;
	return at;
}

/* Reads a line, *n bytes before its newline. */
static const uint8_t *line(vm *v, const uint8_t *op, const char *name, size_t *n)
{
	const uint8_t *at = v->p;
	const uint8_t *nl = memchr(at, '\n', (size_t)(v->data + v->n - at));
	if (!nl) {
		tide__pickle_fail(v, TIDE_ETRUNC, op, "the input ends in the line of %s", name);
		return NULL;
	}
	*n = (size_t)(nl - at);
	v->p = nl + 1;
	return at;
}

static bool push(vm *v, tide_pv x)
{
	if (!x || !tide__pickle_grow(v, &v->stack, &v->cap, v->sp, sizeof *v->stack))
		return false;
	v->stack[v->sp++] = x;
	return true;
}

bool tide__pickle_fail_underflow(vm *v, const uint8_t *op, const char *name)
{
	return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s finds too few values on the stack",
				 name);
}

/* Removes the topmost mark; *at gets its height. */
static bool pop_mark(vm *v, size_t *at, const uint8_t *op, const char *name)
{
	if (!v->n_marks)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s finds no mark on the stack",
					 name);
	*at = v->marks[--v->n_marks];
	return true;
}

/* ---- opcodes off the hot path ---- */

struct opcode {
	const char *name;
	bool (*run)(vm *v, const struct opcode *o, const uint8_t *op);
	uint8_t arg; /* bytes of argument, or of the length of it */
	uint8_t tag; /* of the value it pushes, or a number it works with */
};

static bool op_proto(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *at = take(v, 1, op, o->name);
	if (at && *at > 5)
		return tide__pickle_fail(v, TIDE_EFORMAT, op, "pickle protocol %u is not known",
					 *at);
	return at != NULL;
}

static bool op_frame(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *after = v->client->frame ? v->client->frame(v->client->user, v, op) : NULL;
	if (after || v->rc || v->client->failed) {
		v->p = after ? after : v->p;
		return !v->rc;
	}
	const uint8_t *at = take(v, 8, op, o->name);
	if (!at)
		return false;
	uint64_t n = tide__pickle_le(at, 8), left = (uint64_t)(v->data + v->n - v->p);
	if (n > left)
		return tide__pickle_fail(v, TIDE_ETRUNC, op,
					 "a frame of %llu bytes begins and the input has %llu more",
					 (unsigned long long)n, (unsigned long long)left);
	return true;
}

static bool op_const(vm *v, const struct opcode *o, const uint8_t *op)
{
	(void)op;
	return push(v, tide__pv(TIDE_PV_CONST, o->tag));
}

/* Reads text or bytes after a length of o->arg bytes. */
static bool op_counted(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *at = take(v, o->arg, op, o->name);
	uint64_t n = at ? tide__pickle_le(at, o->arg) : 0;
	const uint8_t *text = at ? take(v, n, op, o->name) : NULL;
	if (!text)
		return false;
	if (o->tag == TIDE_PV_TEXT)
		return push(v, tide__pickle_read_word(v, text, (size_t)n, op));
	return push(v, tide__pv(TIDE_PV_BYTES, (uint64_t)(op - v->data)));
}

static bool op_long4(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *at = take(v, 4, op, o->name);
	uint32_t n = at ? tide__pickle_le32(at) : 0;
	if (n > INT32_MAX)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s of negative length", o->name);
	const uint8_t *le = at ? take(v, n, op, o->name) : NULL;
	return le && push(v, tide__pickle_read_long(v, le, n, op));
}

static bool op_binfloat(vm *v, const struct opcode *o, const uint8_t *op)
{
	return take(v, 8, op, o->name) && push(v, tide__pv(TIDE_PV_NUM, (uint64_t)(op - v->data)));
}

static bool op_float(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	return line(v, op, o->name, &n) && push(v, tide__pv(TIDE_PV_NUM, (uint64_t)(op - v->data)));
}

static bool op_decimal(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	const uint8_t *s = line(v, op, o->name, &n);
	if (!s)
		return false;
	if (*op == 'I' && n == 2 && s[0] == '0' && (s[1] == '0' || s[1] == '1'))
		return push(v, tide__pv(TIDE_PV_CONST, 1u + (s[1] == '1')));
	tide_pv x = tide__pickle_read_decimal(v, s, n, op);
	return x ? push(v, x)
		 : tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s is not a number", o->name);
}

static bool op_unicode(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	const uint8_t *s = line(v, op, o->name, &n);
	return s && push(v, tide__pickle_read_word(v, s, n, op));
}

static bool op_string(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	const uint8_t *s = line(v, op, o->name, &n);
	if (!s)
		return false;
	if (n < 2 || s[0] != s[n - 1] || (s[0] != '\'' && s[0] != '"'))
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s without its quotes", o->name);
	return push(v, tide__pickle_read_word(v, s + 1, n - 2, op));
}

static bool op_pop(vm *v, const struct opcode *o, const uint8_t *op)
{
	if (v->n_marks && v->sp == tide__pickle_floor(v)) {
		v->n_marks--;
		return true;
	}
	if (!tide__pickle_need(v, 1, op, o->name))
		return false;
	v->sp--;
	return true;
}

static bool op_pop_mark(vm *v, const struct opcode *o, const uint8_t *op)
{
	return pop_mark(v, &v->sp, op, o->name);
}

static bool op_dup(vm *v, const struct opcode *o, const uint8_t *op)
{
	return tide__pickle_need(v, 1, op, o->name) && push(v, v->stack[v->sp - 1]);
}

static bool op_empty(vm *v, const struct opcode *o, const uint8_t *op)
{
	return push(v, tide__pickle_new(v, o->tag, op));
}

/* Replaces the n values on top by a tuple of them. */
static bool tuple(vm *v, size_t n, const uint8_t *op)
{
	v->sp -= n;
	return push(v, tide__pickle_make_tuple(v, v->stack + v->sp, n, op));
}

static bool op_tuple_n(vm *v, const struct opcode *o, const uint8_t *op)
{
	return tide__pickle_need(v, o->tag, op, o->name) && tuple(v, o->tag, op);
}

/* TUPLE, LIST, DICT, FROZENSET: takes everything above the mark. */
static bool op_collect(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t at = 0;
	if (!pop_mark(v, &at, op, o->name))
		return false;
	if (o->tag == TIDE_PV_NONE)
		return tuple(v, v->sp - at, op);
	tide_pv x = tide__pickle_new(v, o->tag, op);
	size_t n = v->sp - at;
	v->sp = at;
	if (!x)
		return false;
	bool ok = o->tag == TIDE_PV_DICT ? tide__pickle_set(v, x, v->stack + at, n, op)
					 : tide__pickle_append(v, x, v->stack + at, n, op);
	return ok && push(v, x);
}

static bool op_append(vm *v, const struct opcode *o, const uint8_t *op)
{
	if (!tide__pickle_need(v, 2, op, o->name))
		return false;
	v->sp--;
	return tide__pickle_append(v, v->stack[v->sp - 1], v->stack + v->sp, 1, op);
}

/* Pops the n values above the mark; a container is below it. */
static bool pop_items(vm *v, const struct opcode *o, const uint8_t *op, size_t *at, size_t *n)
{
	if (!pop_mark(v, at, op, o->name))
		return false;
	*n = v->sp - *at;
	v->sp = *at;
	return tide__pickle_need(v, 1, op, o->name);
}

static bool op_appends(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t at = 0, n;
	return pop_items(v, o, op, &at, &n) &&
	       tide__pickle_append(v, v->stack[at - 1], v->stack + at, n, op);
}

static bool op_setitem(vm *v, const struct opcode *o, const uint8_t *op)
{
	if (!tide__pickle_need(v, 3, op, o->name))
		return false;
	v->sp -= 2;
	return tide__pickle_set(v, v->stack[v->sp - 1], v->stack + v->sp, 2, op);
}

static bool op_setitems(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t at = 0, n;
	return pop_items(v, o, op, &at, &n) &&
	       tide__pickle_set(v, v->stack[at - 1], v->stack + at, n, op);
}

/* Reads the memo index of PUT, BINPUT, GET ...: o->arg bytes, or a line if 0. */
static bool memo_index(vm *v, const struct opcode *o, const uint8_t *op, uint64_t *index)
{
	size_t n;
	const uint8_t *at = o->arg ? take(v, o->arg, op, o->name) : line(v, op, o->name, &n);
	if (!at)
		return false;
	if (o->arg) {
		*index = tide__pickle_le(at, o->arg);
		return true;
	}
	tide_pv x = tide__pickle_read_decimal(v, at, n, op);
	if (!tide__pickle_u64(v, x, index))
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s without a number", o->name);
	return true;
}

static bool op_put(vm *v, const struct opcode *o, const uint8_t *op)
{
	uint64_t index;
	return memo_index(v, o, op, &index) && tide__pickle_need(v, 1, op, o->name) &&
	       tide__pickle_memo_put(v, index, v->stack[v->sp - 1], op);
}

bool tide__pickle_fail_no_memo(vm *v, const uint8_t *op, uint64_t index)
{
	return tide__pickle_fail(v, TIDE_ECORRUPT, op, "memo entry %llu does not exist",
				 (unsigned long long)index);
}

static bool op_get(vm *v, const struct opcode *o, const uint8_t *op)
{
	uint64_t index;
	if (!memo_index(v, o, op, &index))
		return false;
	tide_pv x = tide__pickle_memo_get(v, index);
	return x ? push(v, x) : tide__pickle_fail_no_memo(v, op, index);
}

/* ---- opcodes that are refused ---- */

/* Copies at most 60 printable bytes for an error message. */
static void shown(char out[64], const uint8_t *s, size_t n)
{
	size_t i;
	for (i = 0; i < n && i < 60; i++)
		out[i] = s[i] >= 32 && s[i] < 127 ? (char)s[i] : '?';
	out[i] = 0;
}

static bool refuse(vm *v, const char *name, const uint8_t *op, const char *what)
{
	return tide__pickle_fail(
		v, TIDE_EFORMAT, op,
		"the pickle %s (%s): a memory snapshot holds data only; nothing was run", what,
		name);
}

static bool op_refuse(vm *v, const struct opcode *o, const uint8_t *op)
{
	return refuse(v, o->name, op, o->tag ? "refers to data outside of it" : "calls a function");
}

/* GLOBAL and INST: reads module and name, a line each. */
static bool op_global(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n, m;
	const uint8_t *mod = line(v, op, o->name, &n);
	const uint8_t *name = mod ? line(v, op, o->name, &m) : NULL;
	char a[64], b[64], what[160];
	if (!name)
		return false;
	shown(a, mod, n);
	shown(b, name, m);
	snprintf(what, sizeof what, "names %s.%s", a, b);
	return refuse(v, o->name, op, what);
}

static bool op_stack_global(vm *v, const struct opcode *o, const uint8_t *op)
{
	char part[2][64] = { "?", "?" }, what[160];
	for (size_t i = 0; i < 2 && v->sp - tide__pickle_floor(v) >= 2; i++) {
		size_t n;
		const char *s = tide__pickle_text(v, v->stack[v->sp - 2 + i], &n);
		if (s)
			shown(part[i], (const uint8_t *)s, n);
	}
	snprintf(what, sizeof what, "names %s.%s", part[0], part[1]);
	return refuse(v, o->name, op, what);
}

static const struct opcode opcodes[256] = {
	['.'] = { "STOP" },
	['0'] = { "POP", op_pop },
	['1'] = { "POP_MARK", op_pop_mark },
	['2'] = { "DUP", op_dup },
	['('] = { "MARK" },
	[')'] = { "EMPTY_TUPLE", op_empty, 0, TIDE_PV_LIST },
	['B'] = { "BINBYTES", op_counted, 4, TIDE_PV_BYTES },
	['C'] = { "SHORT_BINBYTES", op_counted, 1, TIDE_PV_BYTES },
	['F'] = { "FLOAT", op_float },
	['G'] = { "BINFLOAT", op_binfloat },
	['I'] = { "INT", op_decimal },
	['J'] = { "BININT" },
	['K'] = { "BININT1" },
	['L'] = { "LONG", op_decimal },
	['M'] = { "BININT2" },
	['N'] = { "NONE", op_const, 0, 0 },
	['P'] = { "PERSID", op_refuse, 0, 1 },
	['Q'] = { "BINPERSID", op_refuse, 0, 1 },
	['R'] = { "REDUCE", op_refuse },
	['S'] = { "STRING", op_string },
	['T'] = { "BINSTRING", op_counted, 4, TIDE_PV_TEXT },
	['U'] = { "SHORT_BINSTRING", op_counted, 1, TIDE_PV_TEXT },
	['V'] = { "UNICODE", op_unicode },
	['X'] = { "BINUNICODE", op_counted, 4, TIDE_PV_TEXT },
	[']'] = { "EMPTY_LIST", op_empty, 0, TIDE_PV_LIST },
	['a'] = { "APPEND", op_append },
	['b'] = { "BUILD", op_refuse },
	['c'] = { "GLOBAL", op_global },
	['d'] = { "DICT", op_collect, 0, TIDE_PV_DICT },
	['e'] = { "APPENDS", op_appends },
	['g'] = { "GET", op_get },
	['h'] = { "BINGET" },
	['i'] = { "INST", op_global },
	['j'] = { "LONG_BINGET" },
	['l'] = { "LIST", op_collect, 0, TIDE_PV_LIST },
	['o'] = { "OBJ", op_refuse },
	['p'] = { "PUT", op_put },
	['q'] = { "BINPUT", op_put, 1 },
	['r'] = { "LONG_BINPUT", op_put, 4 },
	['s'] = { "SETITEM", op_setitem },
	['t'] = { "TUPLE", op_collect, 0, TIDE_PV_NONE },
	['u'] = { "SETITEMS", op_setitems },
	['}'] = { "EMPTY_DICT", op_empty, 0, TIDE_PV_DICT },
	[0x80] = { "PROTO", op_proto },
	[0x81] = { "NEWOBJ", op_refuse },
	[0x82] = { "EXT1", op_refuse },
	[0x83] = { "EXT2", op_refuse },
	[0x84] = { "EXT4", op_refuse },
	[0x85] = { "TUPLE1", op_tuple_n, 0, 1 },
	[0x86] = { "TUPLE2", op_tuple_n, 0, 2 },
	[0x87] = { "TUPLE3", op_tuple_n, 0, 3 },
	[0x88] = { "NEWTRUE", op_const, 0, 2 },
	[0x89] = { "NEWFALSE", op_const, 0, 1 },
	[0x8a] = { "LONG1" },
	[0x8b] = { "LONG4", op_long4 },
	[0x8c] = { "SHORT_BINUNICODE", op_counted, 1, TIDE_PV_TEXT },
	[0x8d] = { "BINUNICODE8", op_counted, 8, TIDE_PV_TEXT },
	[0x8e] = { "BINBYTES8", op_counted, 8, TIDE_PV_BYTES },
	[0x8f] = { "EMPTY_SET", op_empty, 0, TIDE_PV_LIST },
	[0x90] = { "ADDITEMS", op_appends },
	[0x91] = { "FROZENSET", op_collect, 0, TIDE_PV_LIST },
	[0x92] = { "NEWOBJ_EX", op_refuse },
	[0x93] = { "STACK_GLOBAL", op_stack_global },
	[0x94] = { "MEMOIZE" },
	[0x95] = { "FRAME", op_frame },
	[0x96] = { "BYTEARRAY8", op_counted, 8, TIDE_PV_BYTES },
	[0x97] = { "NEXT_BUFFER", op_refuse, 0, 1 },
	[0x98] = { "READONLY_BUFFER", op_refuse, 0, 1 },
};

bool tide__pickle_run_cold(vm *v, const uint8_t *op)
{
	const struct opcode *o = &opcodes[*op];
	if (!o->name)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "0x%02x is not a pickle opcode",
					 *op);
	if (!o->run) /* a frequent opcode: the loop found too few bytes */
		return tide__pickle_fail(v, TIDE_ETRUNC, op, "the input ends in the middle of %s",
					 o->name);
	return o->run(v, o, op) && !v->rc && !v->client->failed;
}
