// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The pickle decoder: one loop over opcodes.
 *
 * The frequent opcodes of a snapshot are handled in the loop itself; the others are in
 * opcodes.c. */
#include "import/torchsnap/pickle/pickle_vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/pickle/huge_pages.h"

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

bool tide__pickle_reserve(void *vec, size_t *cap, size_t n, size_t size)
{
	void *v;
	if (!tide__grow(vec, cap, n + 1, size))
		return false;
	memcpy(&v, vec, sizeof v);
	tide__huge_pages_advise(v, *cap * size);
	return true;
}

bool tide__pickle_grow(tide_pickle *p, void *vec, size_t *cap, size_t n, size_t size)
{
	return tide__pickle_room(vec, cap, n, size) || tide__pickle_nomem(p);
}

typedef struct tide_pickle vm;

/* ---- the loop ---- */

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
	return tide__pickle_need(v, 1, op, "MEMOIZE") &&
	       tide__pickle_memo_put(v, v->n_memo, v->stack[v->sp - 1], op);
}

static void report(vm *v, const uint8_t *at, uint64_t *shown_at)
{
	if ((uint64_t)(at - v->data) - *shown_at < 16u << 20)
		return;
	*shown_at = (uint64_t)(at - v->data);
	v->client->progress(v->client->user, *shown_at);
}

/* ---- the most frequent opcodes: each has a value and the distance to the next opcode ---- */

static inline bool memo_read(vm *v, const uint8_t *op, uint32_t i)
{
	v->stack[v->sp] = tide__pickle_memo_get(v, i);
	return v->stack[v->sp++] || tide__pickle_fail_no_memo(v, op, i);
}

static inline bool push_int(vm *v, uint64_t value)
{
	v->stack[v->sp++] = tide__pv(TIDE_PV_INT, value);
	return true;
}

/* Reads a text or a long number of at most 255 bytes. */
static inline bool push_short(vm *v, const uint8_t *op)
{
	v->stack[v->sp++] = *op == 0x8a ? tide__pickle_read_long(v, op + 2, op[1], op)
					: tide__pickle_read_word(v, op + 2, op[1], op);
	return true;
}

/* Decodes a whole list of memo reads, or a whole dict that the client can read. Returns NULL for
 * neither. */
static inline const uint8_t *at_once(vm *v, const uint8_t *op, tide_pv *made)
{
	if (*op == ']')
		return tide__pickle_run(v, op + 1, made);
	return v->client->flat ? v->client->flat(v->client->user, v, op + 1, made) : NULL;
}

static bool stop(vm *v, const uint8_t *op, tide_pv *root)
{
	v->p = op + 1;
	if (v->n_marks || v->sp != 1)
		return tide__pickle_fail(v, TIDE_ECORRUPT, op, "STOP with %zu values on the stack",
					 v->sp);
	*root = v->stack[0];
	v->trailing = (size_t)(v->data + v->n - v->p);
	return true;
}

/* Runs the opcode at op if it is frequent and complete. Returns its end; NULL if it was not run, or
 * failed: v->rc. */
__attribute__((always_inline)) static inline const uint8_t *frequent(vm *v, const uint8_t *op,
								     size_t left)
{
	const uint8_t *after, *arg = op + 1;
	tide_pv made;
	switch (*op) {
	case 'h': /* BINGET */
		return left >= 1 && memo_read(v, op, *arg) ? arg + 1 : NULL;
	case 'j': /* LONG_BINGET */
		return left >= 4 && memo_read(v, op, tide__pickle_le32(arg)) ? arg + 4 : NULL;
	case 'K': /* BININT1 */
		return left >= 1 && push_int(v, *arg) ? arg + 1 : NULL;
	case 'M': /* BININT2 */
		return left >= 2 && push_int(v, tide__pickle_le(arg, 2)) ? arg + 2 : NULL;
	case 'J': { /* BININT */
		bool ok = left >= 4 &&
			  push_int(v, (uint64_t)(int64_t)(int32_t)tide__pickle_le32(arg));
		return ok ? arg + 4 : NULL;
	}
	case 0x8a: /* LONG1 */
	case 0x8c: /* SHORT_BINUNICODE */
		return left >= 1 && left - 1 >= *arg && push_short(v, op) ? arg + 1 + *arg : NULL;
	case '(': /* MARK */
		return mark(v) ? arg : NULL;
	case 0x94: /* MEMOIZE */
		return memoize(v, op) ? arg : NULL;
	case ']': /* EMPTY_LIST */
	case '}': /* EMPTY_DICT */
		after = at_once(v, op, &made);
		if (after && !v->rc && !v->client->failed)
			v->stack[v->sp++] = made;
		return after;
	default:
		return NULL;
	}
}

/* Runs until STOP. On false, v->rc has the reason. */
static bool run(vm *v, tide_pv *root)
{
	const uint8_t *end = v->data + v->n, *p = v->p;
	uint64_t shown_at = 0;
	while (p < end) {
		const uint8_t *op = p;
		if (v->sp >= v->cap && !grow_stack(v))
			return false;
		p = frequent(v, op, (size_t)(end - op) - 1);
		if (p && *op != ']' && *op != '}')
			continue;
		if (v->rc || v->client->failed)
			return false;
		if (p) {
			if (v->client->progress)
				report(v, p, &shown_at);
			continue;
		}
		if (*op == '.')
			return stop(v, op, root);
		v->p = op + 1;
		if (!tide__pickle_run_cold(v, op))
			return false;
		p = v->p;
	}
	return tide__pickle_fail(v, TIDE_ETRUNC, end, "the pickle ends without STOP");
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
	bool ok = tide__pickle_memo_reserve(v, n / 64) && run(v, root);
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
