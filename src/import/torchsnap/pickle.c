// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The pickle machine: one loop over opcodes.
 *
 * The opcodes a snapshot is made of are handled in the loop itself; the others are a table of small
 * functions, one a row, which also names the opcodes that are refused. */
#include "import/torchsnap/pickle_vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/huge.h"

bool tide__pickle_fail(tide_pickle *p, tide_code code, const uint8_t *at, const char *fmt, ...)
{
	char text[sizeof p->err->text];
	va_list ap;
	if (p->rc)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (!at)
		at = p->p;
	p->rc = tide__fail(p->err, code, (uint64_t)(at - p->data), "%s", text);
	return false;
}

bool tide__pickle_nomem(tide_pickle *p)
{
	if (!p->rc)
		p->rc = tide__nomem(p->err);
	return false;
}

bool tide__pickle_more(void *vec, size_t *cap, size_t n, size_t size)
{
	size_t room = n + n / 2 + 64;
	void *old, *new;
	memcpy(&old, vec, sizeof old);
	new = tide__realloc(old, room, size);
	if (!new)
		return false;
	memcpy(vec, &new, sizeof new);
	*cap = room;
	tide__huge(new, room * size);
	return true;
}

bool tide__pickle_grow(tide_pickle *p, void *vec, size_t *cap, size_t n, size_t size)
{
	return tide__pickle_room(vec, cap, n, size) || tide__pickle_nomem(p);
}

/* ---- arguments ---- */

typedef struct tide_pickle vm;

/* n bytes of argument at v->p, which moves past them. NULL if the input ends before. */
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

/* A line: *n bytes before its newline. */
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

/* Lowest stack height an opcode may reach: the topmost mark's. */
static size_t floor_of(const vm *v)
{
	return v->n_marks ? v->marks[v->n_marks - 1] : 0;
}

static bool underflow(vm *v, const uint8_t *op, const char *name)
{
	return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s finds too few values on the stack",
				 name);
}

static bool need(vm *v, size_t n, const uint8_t *op, const char *name)
{
	return v->sp - floor_of(v) >= n || underflow(v, op, name);
}

/* Remove the topmost mark; *at = the height it stood at. */
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

/* Text or bytes behind a length of o->arg bytes. */
static bool op_counted(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *at = take(v, o->arg, op, o->name);
	uint64_t n = at ? tide__pickle_le(at, o->arg) : 0;
	const uint8_t *text = at ? take(v, n, op, o->name) : NULL;
	if (!text)
		return false;
	if (o->tag == TIDE_PV_TEXT)
		return push(v, tide__pickle_word(v, text, (size_t)n, op));
	return push(v, tide__pv(TIDE_PV_BYTES, (uint64_t)(op - v->data)));
}

static bool op_long4(vm *v, const struct opcode *o, const uint8_t *op)
{
	const uint8_t *at = take(v, 4, op, o->name);
	uint32_t n = at ? tide__pickle_le32(at) : 0;
	if (n > INT32_MAX)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s of negative length", o->name);
	const uint8_t *le = at ? take(v, n, op, o->name) : NULL;
	return le && push(v, tide__pickle_long(v, le, n, op));
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
	tide_pv x = tide__pickle_decimal(v, s, n, op);
	return x ? push(v, x)
		 : tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s is not a number", o->name);
}

static bool op_unicode(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	const uint8_t *s = line(v, op, o->name, &n);
	return s && push(v, tide__pickle_word(v, s, n, op));
}

static bool op_string(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t n;
	const uint8_t *s = line(v, op, o->name, &n);
	if (!s)
		return false;
	if (n < 2 || s[0] != s[n - 1] || (s[0] != '\'' && s[0] != '"'))
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s without its quotes", o->name);
	return push(v, tide__pickle_word(v, s + 1, n - 2, op));
}

static bool op_pop(vm *v, const struct opcode *o, const uint8_t *op)
{
	if (v->n_marks && v->sp == floor_of(v)) {
		v->n_marks--;
		return true;
	}
	if (!need(v, 1, op, o->name))
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
	return need(v, 1, op, o->name) && push(v, v->stack[v->sp - 1]);
}

static bool op_empty(vm *v, const struct opcode *o, const uint8_t *op)
{
	return push(v, tide__pickle_new(v, o->tag, op));
}

/* Replace n values on top by a tuple of them. */
static bool tuple(vm *v, size_t n, const uint8_t *op)
{
	v->sp -= n;
	return push(v, tide__pickle_tuple(v, v->stack + v->sp, n, op));
}

static bool op_tuple_n(vm *v, const struct opcode *o, const uint8_t *op)
{
	return need(v, o->tag, op, o->name) && tuple(v, o->tag, op);
}

/* TUPLE, LIST, DICT, FROZENSET: everything above the mark. */
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
	if (!need(v, 2, op, o->name))
		return false;
	v->sp--;
	return tide__pickle_append(v, v->stack[v->sp - 1], v->stack + v->sp, 1, op);
}

/* The n values above the mark, which are off the stack then, and a container below it. */
static bool pop_items(vm *v, const struct opcode *o, const uint8_t *op, size_t *at, size_t *n)
{
	if (!pop_mark(v, at, op, o->name))
		return false;
	*n = v->sp - *at;
	v->sp = *at;
	return need(v, 1, op, o->name);
}

static bool op_appends(vm *v, const struct opcode *o, const uint8_t *op)
{
	size_t at = 0, n;
	return pop_items(v, o, op, &at, &n) &&
	       tide__pickle_append(v, v->stack[at - 1], v->stack + at, n, op);
}

static bool op_setitem(vm *v, const struct opcode *o, const uint8_t *op)
{
	if (!need(v, 3, op, o->name))
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

/* Memo index of PUT, BINPUT, GET ...: o->arg bytes, or a line if 0. */
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
	tide_pv x = tide__pickle_decimal(v, at, n, op);
	if (!tide__pickle_u64(v, x, index))
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "%s without a number", o->name);
	return true;
}

static bool op_put(vm *v, const struct opcode *o, const uint8_t *op)
{
	uint64_t index;
	return memo_index(v, o, op, &index) && need(v, 1, op, o->name) &&
	       tide__pickle_memo_put(v, index, v->stack[v->sp - 1], op);
}

static bool no_memo(vm *v, const uint8_t *op, uint64_t index)
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
	return x ? push(v, x) : no_memo(v, op, index);
}

/* ---- opcodes that are refused ---- */

/* Copy at most 60 printable bytes for an error message. */
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

/* GLOBAL and INST: module and name, a line each. */
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
	for (size_t i = 0; i < 2 && v->sp - floor_of(v) >= 2; i++) {
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

/* ---- the loop ---- */

static bool cold(vm *v, const uint8_t *op)
{
	const struct opcode *o = &opcodes[*op];
	if (!o->name)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "0x%02x is not a pickle opcode",
					 *op);
	if (!o->run) /* a hot one: the loop found too few bytes */
		return tide__pickle_fail(v, TIDE_ETRUNC, op, "the input ends in the middle of %s",
					 o->name);
	return o->run(v, o, op) && !v->rc && !v->client->failed;
}

static bool grow_stack(vm *v)
{
	return tide__pickle_grow(v, &v->stack, &v->cap, v->sp, sizeof *v->stack);
}

static bool mark(vm *v)
{
	if (!tide__pickle_grow(v, &v->marks, &v->cap_marks, v->n_marks, sizeof *v->marks))
		return false;
	v->marks[v->n_marks++] = v->sp;
	return true;
}

static bool memoize(vm *v, const uint8_t *op)
{
	return need(v, 1, op, "MEMOIZE") &&
	       tide__pickle_memo_put(v, v->n_memo, v->stack[v->sp - 1], op);
}

static void report(vm *v, const uint8_t *at, uint64_t *shown_at)
{
	if ((uint64_t)(at - v->data) - *shown_at < 16u << 20)
		return;
	*shown_at = (uint64_t)(at - v->data);
	v->client->progress(v->client->user, *shown_at);
}

/* Run until STOP. False: v->rc says why. */
static bool run(vm *v, tide_pv *root)
{
	const uint8_t *end = v->data + v->n, *p = v->p;
	uint64_t shown_at = 0;
	for (;;) {
		if (p >= end)
			return tide__pickle_fail(v, TIDE_ETRUNC, end,
						 "the pickle ends without STOP");
		const uint8_t *op = p++;
		size_t left = (size_t)(end - p);
		if (v->sp >= v->cap && !grow_stack(v))
			return false;
		switch (*op) {
		case 'h': /* BINGET */
			if (left < 1)
				break;
			v->stack[v->sp] = tide__pickle_memo_get(v, *p);
			if (!v->stack[v->sp++])
				return no_memo(v, op, *p);
			p += 1;
			continue;
		case 'j': { /* LONG_BINGET */
			if (left < 4)
				break;
			uint32_t i = tide__pickle_le32(p);
			v->stack[v->sp] = tide__pickle_memo_get(v, i);
			if (!v->stack[v->sp++])
				return no_memo(v, op, i);
			p += 4;
			continue;
		}
		case 'K': /* BININT1 */
			if (left < 1)
				break;
			v->stack[v->sp++] = tide__pv(TIDE_PV_INT, *p++);
			continue;
		case 'M': /* BININT2 */
			if (left < 2)
				break;
			v->stack[v->sp++] = tide__pv(TIDE_PV_INT, tide__pickle_le(p, 2));
			p += 2;
			continue;
		case 'J': /* BININT */
			if (left < 4)
				break;
			v->stack[v->sp++] = tide__pv(
				TIDE_PV_INT, (uint64_t)(int64_t)(int32_t)tide__pickle_le32(p));
			p += 4;
			continue;
		case 0x8a: /* LONG1 */
			if (left < 1 || left - 1 < *p)
				break;
			v->stack[v->sp++] = tide__pickle_long(v, p + 1, *p, op);
			p += 1 + *p;
			continue;
		case 0x8c: /* SHORT_BINUNICODE */
			if (left < 1 || left - 1 < *p)
				break;
			v->stack[v->sp++] = tide__pickle_word(v, p + 1, *p, op);
			p += 1 + *p;
			continue;
		case '(': /* MARK */
			if (!mark(v))
				return false;
			continue;
		case 0x94: /* MEMOIZE */
			if (!memoize(v, op))
				return false;
			continue;
		case ']':   /* EMPTY_LIST: a whole list at once if it is all memo reads */
		case '}': { /* EMPTY_DICT: the same if the client can read it */
			tide_pv made;
			const uint8_t *after =
				*op == ']'	  ? tide__pickle_run(v, p, &made)
				: v->client->flat ? v->client->flat(v->client->user, v, p, &made)
						  : NULL;
			if (v->rc || v->client->failed)
				return false;
			if (after) {
				v->stack[v->sp++] = made;
				p = after;
				if (v->client->progress)
					report(v, p, &shown_at);
				continue;
			}
			break;
		}
		case '.': /* STOP */
			v->p = p;
			if (v->n_marks || v->sp != 1)
				return tide__pickle_fail(v, TIDE_ECORRUPT, op,
							 "STOP with %zu values on the stack",
							 v->sp);
			*root = v->stack[0];
			v->trailing = left;
			return true;
		default:
			break;
		}
		v->p = p;
		if (!cold(v, op))
			return false;
		p = v->p;
	}
}

tide_code tide__pickle_load(const uint8_t *data, size_t n, tide_pickle_client *client,
			    tide_pickle **out, tide_pv *root, tide_error *err)
{
	*out = NULL;
	*root = TIDE_PV_NONE;
	vm *v = tide__calloc(1, sizeof *v);
	if (!v)
		return tide__nomem(err);
	tide_error none;
	v->err = err ? err : &none;
	v->data = v->p = data;
	v->n = n;
	v->client = client;
	tide__pickle_keys_init(v);
	bool ok = tide__pickle_memo_room(v, n / 64) && run(v, root);
	tide__free(v->stack);
	tide__free(v->marks);
	v->stack = NULL;
	v->marks = NULL;
	v->sp = v->cap = v->n_marks = v->cap_marks = 0;
	if (ok) {
		v->err = NULL;
		tide__free(v->memo);
		tide__pickle_fast_free(v);
		tide__free(v->wide);
		v->memo = NULL;
		v->wide = NULL;
		v->top_memo = v->cap_memo = 0;
		*out = v;
		return TIDE_OK;
	}
	tide_code rc = v->rc ? v->rc : client->failed ? client->failed : tide__nomem(err);
	tide__pickle_free(v);
	return rc;
}

void tide__pickle_free(tide_pickle *p)
{
	if (!p)
		return;
	tide__pickle_containers_free(p);
	tide__free(p->stack);
	tide__free(p->marks);
	tide__free(p->scratch);
	tide__free(p);
}

uint64_t tide__pickle_trailing(const tide_pickle *p)
{
	return p->trailing;
}

tide_code tide__pickle_failed(const tide_pickle *p)
{
	return p->rc;
}
