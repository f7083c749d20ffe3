// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The pickle machine: one loop over opcodes.
 *
 * The opcodes a snapshot is made of are handled in the loop itself; the others are in opcodes.c. */
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
				return tide__pickle_no_memo(v, op, *p);
			p += 1;
			continue;
		case 'j': { /* LONG_BINGET */
			if (left < 4)
				break;
			uint32_t i = tide__pickle_le32(p);
			v->stack[v->sp] = tide__pickle_memo_get(v, i);
			if (!v->stack[v->sp++])
				return tide__pickle_no_memo(v, op, i);
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
		if (!tide__pickle_cold(v, op))
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
