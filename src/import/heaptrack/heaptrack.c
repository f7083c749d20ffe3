// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Lines of text: a letter, then numbers in hexadecimal. Texts, addresses, stacks and kinds of blocks
 * are numbered in the order of the file, so one pass is enough.
 *
 * A line "- N" frees one block of kind N (one size and one stack); which one is not recorded. The
 * youngest is taken: bytes, counts and stacks are those of the file at every moment. */
#include "import/heaptrack/heaptrack.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/heap_rows.h"
#include "import/source.h"

enum { MOST_LINE = 16 << 20, CHUNK = 1 << 16, MOST_INLINED = 64 };
enum { NEWEST = 3 }; /* version of the file's format */
#define MOST_BYTES (UINT64_C(1) << 48)

typedef struct ip {	   /* an address in the program */
	uint32_t first, n; /* its frames in `frames`, innermost first */
} ip;

typedef struct block { /* blocks of one size and stack */
	uint64_t size;
	tide_stack_id stack;
	uint32_t last; /* the youngest that is alive */
} block;

typedef struct heap {
	tide_heap_rows rows;
	tide_model *m;
	tide_error *err;
	tide_code rc;
	TIDE_VEC(tide_str, texts);
	TIDE_VEC(ip, ips);
	TIDE_VEC(tide_frame_id, frames);
	TIDE_VEC(tide_stack_id, stacks);
	TIDE_VEC(block, blocks);
	TIDE_VEC(uint32_t, older); /* per allocation: the one of its kind before it that is alive */
	char *command;		   /* owned */
	int64_t t;		   /* ns */
	uint64_t page, version;
	uint32_t resident; /* counter */
	bool began;
	uint64_t unknown_free, undefined, bad, unknown_lines;
	uint64_t at; /* offset of the line */
} heap;

static bool nomem(heap *h)
{
	h->rc = tide__nomem(h->err);
	return false;
}

/* ---- numbers and texts of a line ---- */

typedef struct line {
	const char *s, *end;
} line;

static bool number(line *l, uint64_t *v)
{
	const char *from;
	while (l->s < l->end && *l->s == ' ')
		l->s++;
	from = l->s;
	for (*v = 0; l->s < l->end; l->s++) {
		char c = *l->s;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: 16;
		if (digit > 15 || *v >> 60)
			break;
		*v = *v << 4 | digit;
	}
	return l->s > from;
}

/* A text has its length before it from version 3 on. */
static line text(heap *h, line l)
{
	uint64_t n;
	line sized = l;
	if (h->version >= 3 && number(&sized, &n) && sized.s < sized.end) {
		sized.s++;
		sized.end = n < (uint64_t)(sized.end - sized.s) ? sized.s + n : sized.end;
		return sized;
	}
	l.s += l.s < l.end && *l.s == ' ';
	return l;
}

static bool put_text(heap *h, line l)
{
	line t = text(h, l);
	tide_str *s = TIDE_PUSH(h, texts);
	if (!s)
		return nomem(h);
	*s = tide__intern_n(h->m, t.s, (size_t)(t.end - t.s));
	return s->i || t.s == t.end || nomem(h);
}

static tide_str text_of(heap *h, uint64_t i)
{
	if (i && i <= h->n_texts)
		return h->texts[i - 1];
	h->undefined += i != 0;
	return (tide_str){ 0 };
}

/* ---- stacks ---- */

static bool put_frame(heap *h, tide_str function, tide_str file, uint64_t row)
{
	tide_frame_id *f = TIDE_PUSH(h, frames);
	if (!f)
		return nomem(h);
	*f = tide__frame_intern(h->m, function, file, row <= INT32_MAX ? (uint32_t)row : 0);
	return f->i || nomem(h);
}

/* "i ADDRESS MODULE [FUNCTION FILE LINE]...": the innermost of inlined functions comes first. */
static bool put_ip(heap *h, line l)
{
	uint64_t address = 0, module = 0, function, file, row;
	char name[24];
	if (h->n_frames >= UINT32_MAX - MOST_INLINED)
		return nomem(h);
	ip *p = TIDE_PUSH(h, ips);
	if (!p)
		return nomem(h);
	*p = (ip){ (uint32_t)h->n_frames, 0 };
	h->bad += !number(&l, &address);
	(void)number(&l, &module);
	while (p->n < MOST_INLINED && number(&l, &function)) {
		file = row = 0;
		(void)(number(&l, &file) && number(&l, &row));
		tide_str named = text_of(h, function);
		if (!named.i && !file)
			break;
		if (!put_frame(h, named, text_of(h, file), row))
			return false;
		p->n++;
	}
	if (p->n)
		return true;
	snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
	p->n = 1;
	tide_str named = tide__intern(h->m, name);
	return (named.i || nomem(h)) && put_frame(h, named, text_of(h, module), 0);
}

/* "t ADDRESS CALLER": a stack is an address and the stack that called it. */
static bool put_stack(heap *h, line l)
{
	uint64_t at, caller = 0;
	tide_stack_id *s = TIDE_PUSH(h, stacks);
	if (!s)
		return nomem(h);
	*s = (tide_stack_id){ 0 };
	if (!number(&l, &at) || !number(&l, &caller) || !at || at > h->n_ips ||
	    caller >= h->n_stacks) {
		h->undefined++;
		return true;
	}
	if (caller)
		*s = h->stacks[caller - 1];
	const ip *p = &h->ips[at - 1];
	for (uint32_t i = p->n; i-- > 0;) {
		*s = tide__stack_intern(h->m, *s, h->frames[p->first + i]);
		if (!s->i)
			return nomem(h);
	}
	return true;
}

/* ---- blocks ---- */

/* "a SIZE STACK": a kind of block. */
static bool put_kind(heap *h, line l)
{
	uint64_t size, stack = 0;
	block *b = TIDE_PUSH(h, blocks);
	if (!b)
		return nomem(h);
	*b = (block){ 0 };
	if (!number(&l, &size) || !number(&l, &stack) || size >= MOST_BYTES) {
		h->bad++;
		return true;
	}
	b->size = size;
	if (stack && stack <= h->n_stacks)
		b->stack = h->stacks[stack - 1];
	else
		h->undefined += stack != 0;
	return true;
}

static bool begin(heap *h)
{
	const char *command = h->command ? h->command : "";
	h->began = true;
	return tide__heap_rows_begin(&h->rows, h->m, -1, command, strlen(command)) || nomem(h);
}

static bool allocate(heap *h, block *b)
{
	bool full;
	if (!h->began && !begin(h))
		return false;
	uint32_t row = tide__heap_rows_add(&h->rows, b->size, b->stack, h->t, &full);
	if (full)
		h->rc = tide__fail(h->err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				   "its blocks total 2^62 bytes or more: sums would overflow");
	if (full)
		return false;
	if (!row || !TIDE_ROOM(h->older, h->cap_older, (size_t)row + 1))
		return nomem(h);
	h->older[row] = b->last;
	b->last = row;
	return true;
}

static bool change(heap *h, line l, bool more)
{
	uint64_t i;
	if (!number(&l, &i) || i >= h->n_blocks) {
		h->undefined++;
		return true;
	}
	block *b = &h->blocks[i];
	if (more)
		return allocate(h, b);
	uint32_t row = b->last;
	if (!row) {
		h->unknown_free++;
		return true;
	}
	b->last = h->older[row];
	return tide__heap_rows_end(&h->rows, row, h->t) || nomem(h);
}

static void put_time(heap *h, line l)
{
	uint64_t ms;
	if (!number(&l, &ms) || ms > INT64_MAX / 4 / 1000000)
		h->bad++;
	else if ((int64_t)ms * 1000000 > h->t)
		h->t = (int64_t)ms * 1000000;
}

static bool put_resident(heap *h, line l)
{
	uint64_t pages;
	size_t at;
	tide_model *m = h->m;
	if (!number(&l, &pages) || pages >= MOST_BYTES / 4096 || !h->page)
		return true;
	if (!h->resident) {
		h->resident = tide__push(&m->counters, &tide_counters_desc);
		if (!h->resident)
			return nomem(h);
		m->counters.name[h->resident] = tide__intern(m, "resident bytes");
		m->counters.unit[h->resident] = tide__intern(m, "bytes");
	}
	if (!tide__table_push(&m->samples, &tide_samples_desc, &at))
		return nomem(h);
	m->samples.t[at] = h->t;
	m->samples.value[at] = (double)(pages * h->page);
	m->samples.counter[at].i = h->resident;
	return true;
}

static bool set_command(heap *h, line l)
{
	tide__free(h->command);
	h->command = tide__strndup(l.s + (l.s < l.end), (size_t)(l.end - l.s - (l.s < l.end)));
	return h->command || nomem(h);
}

static bool check_version(heap *h, line l)
{
	uint64_t program;
	if (!number(&l, &program) || !number(&l, &h->version) || h->version < 1 ||
	    h->version > NEWEST) {
		h->rc = tide__fail(h->err, TIDE_EUNSUPPORTED, h->at,
				   "a heaptrack file of format %llu: 1 to %d are read",
				   (unsigned long long)h->version, NEWEST);
		return false;
	}
	return true;
}

static bool raw_file(heap *h)
{
	h->rc = tide__fail(h->err, TIDE_EFORMAT, h->at,
			   "heaptrack's raw data, without names: heaptrack --interpret FILE makes "
			   "what Tidemark reads");
	return false;
}

static bool take_line(heap *h, line l)
{
	uint64_t v;
	char kind = l.s < l.end ? *l.s++ : '#';
	switch (kind) {
	case 'v':
		return check_version(h, l);
	case 'X':
		return set_command(h, l);
	case 'I':
		h->page = number(&l, &v) && v <= 1 << 20 ? v : 0;
		return true;
	case 's':
		return put_text(h, l);
	case 'i':
		return put_ip(h, l);
	case 't':
		return put_stack(h, l);
	case 'a':
		return put_kind(h, l);
	case '+':
		return change(h, l, true);
	case '-':
		return change(h, l, false);
	case 'c':
		put_time(h, l);
		return true;
	case 'R':
		return put_resident(h, l);
	case 'x':
	case 'm':
		return raw_file(h);
	case '#': /* a comment, suppressions, the moment of attaching */
	case 'S':
	case 'A':
		return true;
	default:
		h->unknown_lines++;
		return true;
	}
}

/* ---- all of it ---- */

static bool put_facts(heap *h)
{
	const struct {
		const char *key;
		uint64_t n;
	} losses[] = { { "loss.free_unknown", h->unknown_free },
		       { "loss.undefined_ids", h->undefined },
		       { "loss.bad_records", h->bad },
		       { "loss.bad_lines", h->unknown_lines } };
	bool ok = tide__fact_text(h->m, "heaptrack.addresses", "made up: the file has none");
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		ok = ok && (!losses[i].n ||
			    tide__fact_set_number(h->m, losses[i].key, (int64_t)losses[i].n));
	return ok || nomem(h);
}

typedef struct input {
	char *s; /* owned */
	size_t n, cap;
	bool ended;
} input;

/* Passes whole lines on, and keeps the rest. A last line without its end is left out: it may be
 * cut. */
static bool take_lines(heap *h, input *in)
{
	size_t from = 0;
	const char *end;
	while ((end = memchr(in->s + from, '\n', in->n - from))) {
		if (!take_line(h, (line){ in->s + from, end }))
			return false;
		h->at += (size_t)(end - (in->s + from)) + 1;
		from = (size_t)(end - in->s) + 1;
	}
	memmove(in->s, in->s + from, in->n - from);
	in->n -= from;
	if (in->n < MOST_LINE)
		return true;
	h->rc = tide__fail(h->err, TIDE_ECORRUPT, h->at, "a line of over 16 MiB");
	return false;
}

static bool note_end(heap *h, const input *in, tide_code damage, const tide_error *why)
{
	bool ok = true;
	if (damage != TIDE_OK)
		ok = tide__fact_text(h->m, "loss.compressed_input", why->text) &&
		     tide__fact_set_number(h->m, "loss.compressed_at", (int64_t)why->offset);
	else if (in->n)
		ok = tide__fact_set_number(h->m, "loss.truncated_at", (int64_t)h->at);
	return ok || nomem(h);
}

static bool read_all(heap *h, tide_source *src)
{
	input in = { 0 };
	tide_error why = { 0 };
	tide_code damage = TIDE_OK;
	bool ok = true;
	size_t got = 1;
	while (ok && got && damage == TIDE_OK) {
		if (!TIDE_ROOM(in.s, in.cap, in.n + CHUNK)) {
			ok = nomem(h);
			break;
		}
		damage = tide__source_read(src, in.s + in.n, CHUNK, &got, &why);
		in.n += got;
		ok = take_lines(h, &in);
	}
	if (ok && damage != TIDE_OK && !h->n_blocks) {
		h->rc = tide__fail(h->err, damage, why.offset, "%s", why.text);
		ok = false;
	}
	ok = ok && (h->began || begin(h)) && note_end(h, &in, damage, &why) && put_facts(h);
	tide__free(in.s);
	return ok;
}

tide_code tide__heaptrack_import(tide_source *src, tide_model *m, tide_error *err)
{
	heap h = { .m = m, .err = err };
	if (read_all(&h, src))
		m->t_end = h.t;
	tide__free(h.texts);
	tide__free(h.ips);
	tide__free(h.frames);
	tide__free(h.stacks);
	tide__free(h.blocks);
	tide__free(h.older);
	tide__free(h.command);
	return h.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_source *src;
	tide_code rc = tide__source_open(path, opt->max_expanded, &src, err);
	if (rc == TIDE_OK)
		rc = tide__heaptrack_import(src, m, err);
	tide__source_close(src);
	return rc;
}

static tide_code stream(tide_source *src, const tide_load_options *opt, tide_model *m,
			tide_error *err)
{
	(void)opt;
	return tide__heaptrack_import(src, m, err);
}

/* "v 10400 3", then the program ("X") or, in raw data, its path ("x"). */
static int sniff(const uint8_t *head, size_t n)
{
	size_t i = 2;
	if (n < 8 || memcmp(head, "v ", 2))
		return 0;
	while (i < n && i < 64 && head[i] != '\n') {
		if (head[i] != ' ' && !strchr("0123456789abcdef", head[i]))
			return 0;
		i++;
	}
	if (i + 2 >= n || head[i] != '\n')
		return 0;
	return head[i + 2] == ' ' && strchr("XxImAs#", head[i + 1]) ? 85 : 0;
}

const tide_importer tide__import_heaptrack = {
	.name = "heaptrack",
	.what = "recording of heaptrack, plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
	.stream = stream,
};
