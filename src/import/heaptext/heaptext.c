// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two forms. tcmalloc, gperftools and Go write one line a stack:
 *
 *     heap profile:  3: 300 [ 5: 900] @ heap_v2/524288
 *       2: 200 [ 3: 400] @ 0x4001 0x4002
 *     #	0x4001	main.f+0x11	/a.go:3
 *
 * jemalloc writes a line with the stack, then its sums for all threads ("t*"):
 *
 *     heap_v2/524288
 *       t*: 3: 300 [0: 0]
 *     @ 0x4001 0x4002
 *       t*: 2: 200 [0: 0]
 *
 * Counts and bytes of a sampled heap are scaled as pprof does: a block of mean size s was sampled
 * with probability 1 - exp(-s / rate). Lines that begin with # name addresses (Go); mappings of
 * libraries follow at the end. */
#include "import/heaptext/heaptext.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/heap_rows.h"
#include "import/source.h"

enum { MOST_FRAMES = 1024, MOST_BLOCKS = 1 << 18 };
#define MOST_BYTES (UINT64_C(1) << 48)

typedef struct sample {
	uint64_t blocks, bytes; /* scaled */
	size_t first, n;	/* its addresses */
} sample;

typedef struct name { /* of an address */
	tide_str function, file;
	uint32_t line;
} name;

typedef struct mapping {
	uint64_t begin, end;
	tide_str file;
} mapping;

typedef struct heap {
	tide_heap_rows rows;
	tide_model *m;
	tide_error *err;
	tide_code rc;
	TIDE_VEC(sample, samples);
	TIDE_VEC(uint64_t, addresses);
	TIDE_VEC(name, names);
	TIDE_VEC(mapping, mappings);
	tide_map name_of; /* address -> place in names + 1 */
	uint64_t rate, blocks, merged, bad;
	bool scaled, jemalloc, mapped;
	bool pending; /* jemalloc: the last sample has a stack and no sums yet */
} heap;

typedef struct line {
	const char *s, *end;
} line;

static bool nomem(heap *h)
{
	h->rc = tide__nomem(h->err);
	return false;
}

/* ---- parts of a line ---- */

static void blanks(line *l)
{
	while (l->s < l->end && (*l->s == ' ' || *l->s == '\t'))
		l->s++;
}

static bool is(line *l, const char *word)
{
	size_t n = strlen(word);
	blanks(l);
	if ((size_t)(l->end - l->s) < n || memcmp(l->s, word, n))
		return false;
	l->s += n;
	return true;
}

static bool decimal(line *l, uint64_t *v)
{
	const char *from;
	blanks(l);
	for (from = l->s, *v = 0; l->s < l->end && *l->s >= '0' && *l->s <= '9'; l->s++) {
		if (*v > UINT64_MAX / 16)
			return false;
		*v = *v * 10 + (uint64_t)(*l->s - '0');
	}
	return l->s > from;
}

static bool hex(line *l, uint64_t *v)
{
	const char *from;
	blanks(l);
	if (l->end - l->s > 2 && l->s[0] == '0' && l->s[1] == 'x')
		l->s += 2;
	for (from = l->s, *v = 0; l->s < l->end; l->s++) {
		char c = *l->s;
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
						    : 16;
		if (d > 15 || *v >> 60)
			break;
		*v = *v << 4 | d;
	}
	return l->s > from;
}

/* "2: 200 [ 3: 400]": alive blocks and bytes, and those of the whole run, which have no time. */
static bool sums(line *l, uint64_t *blocks, uint64_t *bytes)
{
	uint64_t skip;
	return decimal(l, blocks) && is(l, ":") && decimal(l, bytes) && is(l, "[") &&
	       decimal(l, &skip) && is(l, ":") && decimal(l, &skip) && is(l, "]");
}

/* ---- samples ---- */

static void scale(const heap *h, uint64_t *blocks, uint64_t *bytes)
{
	if (!*blocks || !*bytes)
		*blocks = *bytes = 0;
	if (!h->scaled || h->rate <= 1 || !*blocks)
		return;
	double size = (double)*bytes / (double)*blocks;
	double by = 1 / (1 - exp(-size / (double)h->rate));
	if (!isfinite(by) || (double)*bytes * by >= (double)MOST_BYTES)
		return;
	*blocks = (uint64_t)((double)*blocks * by);
	*bytes = (uint64_t)((double)*bytes * by);
}

static bool put_sample(heap *h, uint64_t blocks, uint64_t bytes)
{
	sample *s = TIDE_PUSH(h, samples);
	if (!s)
		return nomem(h);
	*s = (sample){ blocks, bytes, h->n_addresses, 0 };
	return true;
}

static bool set_sums(heap *h, uint64_t blocks, uint64_t bytes)
{
	sample *s = &h->samples[h->n_samples - 1];
	if (bytes >= MOST_BYTES || blocks >= MOST_BYTES) {
		h->bad++;
		blocks = bytes = 0;
	}
	scale(h, &blocks, &bytes);
	s->blocks = bytes && !blocks ? 1 : blocks;
	s->bytes = bytes;
	h->blocks += s->blocks < MOST_BLOCKS ? s->blocks : MOST_BLOCKS + 1;
	return true;
}

static bool put_addresses(heap *h, line l)
{
	sample *s = &h->samples[h->n_samples - 1];
	uint64_t v;
	while (s->n < MOST_FRAMES && hex(&l, &v)) {
		uint64_t *a = TIDE_PUSH(h, addresses);
		if (!a)
			return nomem(h);
		*a = v;
		s->n++;
	}
	return true;
}

/* "#	0x4001	main.f+0x11	/a.go:3" */
static bool put_name(heap *h, line l)
{
	uint64_t address, row = 0;
	name n = { 0 };
	if (!hex(&l, &address) || tide__map_get(&h->name_of, address))
		return true; /* of inlined functions the innermost comes first */
	blanks(&l);
	const char *tab = memchr(l.s, '\t', (size_t)(l.end - l.s)), *end = tab ? tab : l.end,
		   *plus = memrchr(l.s, '+', (size_t)(end - l.s));
	size_t len = (size_t)((plus ? plus : end) - l.s);
	while (len && (l.s[len - 1] == ' ' || l.s[len - 1] == '\t'))
		len--;
	n.function = tide__intern_n(h->m, l.s, len);
	if (len && !n.function.i)
		return nomem(h);
	if (tab) {
		line where = { tab, l.end };
		blanks(&where);
		const char *colon = memrchr(where.s, ':', (size_t)(where.end - where.s));
		line number = { colon ? colon + 1 : l.end, l.end };
		(void)decimal(&number, &row);
		len = (size_t)((colon ? colon : where.end) - where.s);
		n.file = tide__intern_n(h->m, where.s, len);
		if (len && !n.file.i)
			return nomem(h);
		n.line = row <= INT32_MAX ? (uint32_t)row : 0;
	}
	name *kept = n.function.i ? TIDE_PUSH(h, names) : &n;
	if (!kept || (n.function.i && !tide__map_put(&h->name_of, address, (uint32_t)h->n_names)))
		return nomem(h);
	*kept = n;
	return true;
}

/* "00400000-0040b000 r-xp 00000000 08:01 123  /bin/cat" */
static bool put_mapping(heap *h, line l)
{
	mapping m = { 0 };
	if (!hex(&l, &m.begin) || !is(&l, "-") || !hex(&l, &m.end) || m.end <= m.begin)
		return true;
	const char *path = memchr(l.s, '/', (size_t)(l.end - l.s));
	mapping *kept = path ? TIDE_PUSH(h, mappings) : &m;
	if (!kept)
		return nomem(h);
	if (path && !(m.file = tide__intern_n(h->m, path, (size_t)(l.end - path))).i)
		return nomem(h);
	*kept = m;
	return true;
}

/* ---- lines ---- */

static bool jemalloc_line(heap *h, line l)
{
	uint64_t blocks, bytes;
	if (is(&l, "@")) {
		h->pending = true;
		return put_sample(h, 0, 0) && put_addresses(h, l);
	}
	if (!is(&l, "t*:") || !h->pending)
		return true; /* sums of one thread, or of all stacks */
	h->pending = false;
	if (!sums(&l, &blocks, &bytes)) {
		h->bad++;
		return true;
	}
	return set_sums(h, blocks, bytes);
}

static bool plain_line(heap *h, line l)
{
	uint64_t blocks, bytes;
	blanks(&l);
	if (l.s == l.end)
		return true;
	if (*l.s == '#') {
		l.s++;
		return put_name(h, l);
	}
	if (*l.s < '0' || *l.s > '9')
		return true; /* Go's statistics */
	if (!sums(&l, &blocks, &bytes) || !is(&l, "@")) {
		h->bad++;
		return true;
	}
	return put_sample(h, 0, 0) && set_sums(h, blocks, bytes) && put_addresses(h, l);
}

static bool take_line(heap *h, line l)
{
	line head = l;
	if (is(&head, "MAPPED_LIBRARIES:")) {
		h->mapped = true;
		return true;
	}
	if (h->mapped)
		return put_mapping(h, l);
	return h->jemalloc ? jemalloc_line(h, l) : plain_line(h, l);
}

/* Returns false if it is no head of a heap profile. */
static bool take_head(heap *h, line l)
{
	uint64_t skip;
	h->jemalloc = is(&l, "heap_v2/");
	if (h->jemalloc)
		h->scaled = decimal(&l, &h->rate);
	if (h->jemalloc)
		return h->scaled;
	if (!is(&l, "heap profile:") || !sums(&l, &skip, &skip) || !is(&l, "@"))
		return false;
	bool v2 = is(&l, "heap_v2/"), v1 = !v2 && is(&l, "heap/");
	if ((v2 || v1) && decimal(&l, &h->rate))
		h->scaled = true;
	if (v1) /* Go writes twice the rate */
		h->rate /= 2;
	return true;
}

/* ---- rows ---- */

static tide_str file_of(const heap *h, uint64_t address)
{
	for (size_t i = 0; i < h->n_mappings; i++)
		if (address >= h->mappings[i].begin && address < h->mappings[i].end)
			return h->mappings[i].file;
	return (tide_str){ 0 };
}

static tide_frame_id frame_of(heap *h, uint64_t address)
{
	uint32_t known = tide__map_get(&h->name_of, address);
	known = known ? known : tide__map_get(&h->name_of, address - 1); /* Go names the call */
	char text[24];
	if (known) {
		const name *n = &h->names[known - 1];
		return tide__frame_intern(h->m, n->function, n->file, n->line);
	}
	snprintf(text, sizeof text, "0x%" PRIx64, address);
	tide_str s = tide__intern(h->m, text);
	return s.i ? tide__frame_intern(h->m, s, file_of(h, address), 0) : (tide_frame_id){ 0 };
}

static bool put_blocks(heap *h, const sample *s, tide_stack_id stack, bool merge)
{
	uint64_t rows = merge && s->blocks ? 1 : s->blocks;
	h->merged += s->blocks - rows;
	for (uint64_t i = 0; i < rows; i++) {
		bool full;
		uint32_t row = tide__heap_rows_add(
			&h->rows, s->bytes / rows + (i < s->bytes % rows), stack, 0, &full);
		if (!row)
			return nomem(h);
		if (s->blocks > 1 || h->scaled)
			h->m->allocs.basis[row] = TIDE_BASIS_INFERRED;
	}
	return true;
}

static bool put_rows(heap *h)
{
	bool merge = h->blocks > MOST_BLOCKS;
	for (size_t i = 0; i < h->n_samples; i++) {
		const sample *s = &h->samples[i];
		tide_stack_id stack = { 0 };
		for (size_t k = s->n; k-- > 0;) {
			tide_frame_id f = frame_of(h, h->addresses[s->first + k]);
			stack = f.i ? tide__stack_intern(h->m, stack, f) : stack;
			if (!f.i || !stack.i)
				return nomem(h);
		}
		if (!put_blocks(h, s, stack, merge))
			return false;
	}
	return true;
}

static bool put_facts(heap *h)
{
	bool ok = tide__fact_text(h->m, "alloc.basis",
				  h->rate > 1 ? "estimates of a sampled heap, alive when the "
						"profile was taken"
					      : "alive when the profile was taken; blocks of one "
						"stack have their mean size");
	ok = ok && (h->rate <= 1 || tide__fact_set_number(h->m, "pprof.period", (int64_t)h->rate));
	ok = ok &&
	     (!h->merged || tide__fact_set_number(h->m, "loss.merged_blocks", (int64_t)h->merged));
	ok = ok && (!h->bad || tide__fact_set_number(h->m, "loss.bad_samples", (int64_t)h->bad));
	return ok || nomem(h);
}

static bool read_all(heap *h, const char *text, size_t n)
{
	const char *end = text + n;
	bool head = true, ok = true;
	for (const char *s = text; ok && s < end;) {
		const char *to = memchr(s, '\n', (size_t)(end - s));
		to = to ? to : end;
		if (!head) {
			ok = take_line(h, (line){ s, to });
		} else if (!take_head(h, (line){ s, to })) {
			h->rc = tide__fail(h->err, TIDE_EFORMAT, 0, "not a heap profile as text");
			return false;
		}
		head = false;
		s = to + 1;
	}
	return ok;
}

tide_code tide__heaptext_import(const char *text, size_t n, tide_model *m, tide_error *err)
{
	heap h = { .m = m, .err = err };
	if (read_all(&h, text, n) && (tide__heap_rows_begin(&h.rows, m, -1, "", 0) || nomem(&h)) &&
	    put_rows(&h))
		(void)put_facts(&h);
	tide__free(h.samples);
	tide__free(h.addresses);
	tide__free(h.names);
	tide__free(h.mappings);
	tide__map_free(&h.name_of);
	return h.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)2 << 30, 0, &in, err);
	if (!rc)
		rc = tide__heaptext_import((const char *)in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

static int sniff(const uint8_t *head, size_t n)
{
	bool plain = n > 14 && !memcmp(head, "heap profile: ", 14);
	return plain || (n > 8 && !memcmp(head, "heap_v2/", 8)) ? 85 : 0;
}

const tide_importer tide__import_heaptext = {
	.name = "heaptext",
	.what = "heap profile as text (tcmalloc, jemalloc, Go), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
