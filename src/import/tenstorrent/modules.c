// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Text between the runtime's messages: dumps of MLIR modules, the start of a session, out of
 * memory, the end of a warm-up. Dumps are kept completely, equal ones once, up to a limit; the
 * rest is counted as a loss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"

enum { DUMP_MOST = 256 << 20 }; /* bytes of all dumps, and of one */

static const char *find(tide_slice l, const char *word)
{
	return l.n ? memmem(l.s, l.n, word, strlen(word)) : NULL;
}

/* ---- dumps ---- */

/* "#ttnn_layout3 = #ttnn.ttnn_layout<...>" */
static bool alias(ttlog *x, tide_str module, const char *s, const char *end)
{
	static const char eq[] = " = #ttnn.";
	const char *at = memmem(s, (size_t)(end - s), eq, sizeof eq - 1);
	if (!at || !memmem(at, (size_t)(end - at), "layout<", 7))
		return true;
	tide_str name = tide__intern_n(x->m, s, (size_t)(at - s)),
		 value = tide__intern_n(x->m, at + 3, (size_t)(end - at - 3));
	return (name.i && value.i &&
		tide__map_put(&x->alias_of, (uint64_t)module.i << 32 | name.i, value.i)) ||
	       tide__ttlog_nomem(x);
}

/* Reads the names of layouts in a ttnn module, which operations may use. */
static bool layouts(ttlog *x, tt_rank *r, tide_str module, size_t n)
{
	const char *s = r->dump, *end = s + n;
	bool ok = true, known = tide__map_get(&x->alias_of, (uint64_t)module.i << 32) != 0;
	r->layouts = module;
	while (ok && !known && s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		nl = nl ? nl : end;
		ok = *s != '#' || alias(x, module, s, nl);
		s = nl + 1;
	}
	return (ok && tide__map_put(&x->alias_of, (uint64_t)module.i << 32, 1)) ||
	       tide__ttlog_nomem(x);
}

bool tide__ttlog_dump_end(ttlog *x, tt_rank *r)
{
	char kind[64];
	size_t row;
	if (!r->stage.i)
		return true;
	snprintf(kind, sizeof kind, "mlir.%.40s", tide__text(x->m, r->stage, NULL));
	r->stage.i = 0;
	size_t n = r->n_dump;
	r->n_dump = 0;
	x->dumps++;
	if (!n)
		return true;
	if (x->doc_bytes + n > DUMP_MOST) {
		x->dump_left_out++;
		return true;
	}
	x->doc_bytes += n;
	tide_str text = tide__intern_n(x->m, r->dump, n), k = tide__intern(x->m, kind);
	if (!text.i || !k.i || !tide__table_push(&x->m->documents, &tide_documents_desc, &row))
		return tide__ttlog_nomem(x);
	x->m->documents.t[row] = r->now;
	x->m->documents.kind[row] = k;
	x->m->documents.text[row] = text;
	x->m->documents.lane[row].i = r->lane;
	return strcmp(kind, "mlir.ttnn") != 0 || layouts(x, r, text, n);
}

static bool dump_line(ttlog *x, tt_rank *r, tide_slice l)
{
	if (find(l, "END OF MLIR MODULE"))
		return tide__ttlog_dump_end(x, r);
	if (r->n_dump + l.n + 1 > DUMP_MOST)
		return true;
	if (!TIDE_ROOM(r->dump, r->cap_dump, r->n_dump + l.n + 1))
		return tide__ttlog_nomem(x);
	memcpy(r->dump + r->n_dump, l.s, l.n);
	r->n_dump += l.n;
	r->dump[r->n_dump++] = '\n';
	return true;
}

/* "... MLIR Module ttnn:" */
static bool dump_begin(ttlog *x, tt_rank *r, const char *p, const char *end)
{
	const char *from = p + sizeof "MLIR Module " - 1, *to = from;
	while (to < end && (*to == '_' || (*to >= 'a' && *to <= 'z') || (*to >= '0' && *to <= '9')))
		to++;
	if (to == from || to == end || *to != ':')
		return true;
	r->stage = tide__intern_n(x->m, from, (size_t)(to - from));
	r->n_dump = 0;
	return r->stage.i || tide__ttlog_nomem(x);
}

/* ---- marks ---- */

static bool mark(ttlog *x, tt_mark k)
{
	if (!TIDE_ROOM(x->marks, x->cap_marks, x->n_marks + 1))
		return tide__ttlog_nomem(x);
	x->marks[x->n_marks++] = k;
	return true;
}

static bool note(ttlog *x, tt_rank *r, const char *name, tide_slice text)
{
	tide_str n = tide__intern(x->m, name), s = tide__intern_n(x->m, text.s, text.n);
	if (!n.i)
		return tide__ttlog_nomem(x);
	return mark(x, (tt_mark){ .t = tide__ttlog_between(r),
				  .extra = -1,
				  .name = n,
				  .text = s,
				  .lane = r->lane,
				  .kind = TIDE_MARK_ANNOTATION });
}

/* The runtime throws, and code that catches the exception prints the text again: the same request
 * in the same operation is one event. */
static bool repeated(tt_rank *r, int64_t bytes, unsigned pool)
{
	tt_oom now = { r->n_ops + 1, bytes, pool };
	bool same = r->oom.ops == now.ops && r->oom.bytes == bytes && r->oom.pool == pool;
	r->oom = now;
	return same;
}

/* Returns the number after a word; 0 if there is none. */
static uint64_t number_after(const char *p, const char *end, const char *word)
{
	const char *q = memmem(p, (size_t)(end - p), word, strlen(word));
	uint64_t n = 0;
	if (!q)
		return 0;
	for (q += strlen(word); q < end && *q >= '0' && *q <= '9' && n < UINT64_MAX / 16;)
		n = n * 10 + (uint64_t)(*q++ - '0');
	return n;
}

/* A line without memory states around it: it says itself how many banks the pool has, and newer
 * ones how large a bank is. */
static bool name_pool(ttlog *x, tt_rank *r, unsigned pool, const char *p, const char *end)
{
	uint64_t banks = number_after(p, end, " across "),
		 size = number_after(p, end, "bank size is ");
	size = size ? size : number_after(p, end, "bank size is only ");
	if (!banks || banks > 65536 || size >= UINT64_C(1) << 40)
		return true;
	tt_state s = { .banks = (uint32_t)banks, .total = size };
	return tide__ttlog_get_pool(x, r, pool, &s) != 0;
}

/* "Out of Memory: Not enough space to allocate 805306368 B DRAM buffer across 12 banks, ..." */
static bool out_of_memory(ttlog *x, tt_rank *r, const char *p, const char *end)
{
	static const char words[] = "Not enough space to allocate ";
	const char *q = memmem(p, (size_t)(end - p), words, sizeof words - 1);
	int64_t bytes = 0, free = -1;
	unsigned pool = TT_POOLS;
	if (q) {
		for (q += sizeof words - 1;
		     q < end && *q >= '0' && *q <= '9' && bytes < INT64_MAX / 16;)
			bytes = bytes * 10 + (*q++ - '0');
		q = end - q > 3 && !memcmp(q, " B ", 3) ? q + 3 : end;
		pool = end - q > 4 && !memcmp(q, "DRAM", 4)	  ? TT_DRAM
		       : end - q > 8 && !memcmp(q, "L1_SMALL", 8) ? TT_L1_SMALL
		       : end - q > 2 && !memcmp(q, "L1", 2)	  ? TT_L1
		       : end - q > 5 && !memcmp(q, "TRACE", 5)	  ? TT_TRACE
								  : TT_POOLS;
	}
	tide_str text = tide__intern_n(x->m, p, (size_t)(end - p));
	if (!text.i)
		return tide__ttlog_nomem(x);
	if (pool < TT_POOLS && !r->device) { /* nothing of the runtime came before */
		r = tide__ttlog_get_rank(x, (tide_slice){ 0 }, true);
		if (!r)
			return false;
	}
	if (repeated(r, bytes, pool))
		return true;
	if (pool < TT_POOLS && r->pools[pool].row)
		free = (int64_t)(r->state[pool].free * r->pools[pool].banks);
	if (pool < TT_POOLS && !r->pools[pool].row && !name_pool(x, r, pool, q, end))
		return false;
	x->oom++;
	return mark(x, (tt_mark){ .t = r->now,
				  .value = bytes,
				  .extra = free,
				  .text = text,
				  .lane = r->lane,
				  .pool = pool < TT_POOLS ? r->pools[pool].row : 0,
				  .kind = TIDE_MARK_OOM });
}

/* Begins a new session, unless nothing ran since the last one began. */
static bool session(ttlog *x, tt_rank *r)
{
	char name[32];
	if (x->sessions && x->session_ops == x->n_ops)
		return true;
	x->session_ops = x->n_ops;
	x->session_named = false;
	snprintf(name, sizeof name, "program_%u", x->sessions++);
	return note(x, r, "session", (tide_slice){ name, strlen(name) });
}

/* Reads the session's name: path and test, separated by two colons. Returns false if memory runs
 * out. */
static bool name_session(ttlog *x, tt_rank *r, tide_slice l)
{
	const char *p = find(l, "::"), *end = l.s + l.n, *from = p;
	if (!p)
		return true;
	while (from > l.s && from[-1] != ' ' && from[-1] != '\t')
		from--;
	if (end - from < 6 || memcmp(from, "tests/", 6))
		return true;
	const char *to = p;
	while (to < end && *to != ' ' && *to != '\t')
		to++;
	for (size_t i = x->n_marks; i > 0; i--)
		if (x->marks[i - 1].kind == TIDE_MARK_ANNOTATION &&
		    !strcmp(tide__text(x->m, x->marks[i - 1].name, NULL), "session")) {
			x->marks[i - 1].text = tide__intern_n(x->m, p + 2, (size_t)(to - p - 2));
			break;
		}
	x->session_named = true;
	(void)r;
	return true;
}

bool tide__ttlog_read_foreign(ttlog *x, tt_rank *r, const tt_line *l)
{
	tide_slice a = l->all;
	const char *end = a.s + a.n, *p;
	if (r->stage.i && l->what == TT_FOREIGN)
		return dump_line(x, r, a);
	x->foreign++;
	if (a.n < 16)
		return true;
	if ((p = find(a, "MLIR Module ")))
		return dump_begin(x, r, p, end);
	if ((p = find(a, "Out of Memory: ")))
		return out_of_memory(x, r, p, end);
	if (find(a, "= test session starts =") || find(a, "ClientInstance::PJRT_Client_Create"))
		return session(x, r);
	if ((p = find(a, "Got output shape:")))
		return note(x, r, "output", (tide_slice){ p, (size_t)(end - p) });
	if (x->sessions && !x->session_named)
		return name_session(x, r, a);
	return true;
}
