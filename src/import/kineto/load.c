// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer's own thread: takes parsed blocks in order and builds the model.
 *
 * A block was parsed on the assumption that it starts between two events. That is accepted only if
 * the block before it really ended there; otherwise the rest of that block and this one are parsed
 * again as one. So the result equals reading the input front to back, for any block boundaries and
 * threads. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/kineto/blocks.h"
#include "import/kineto/kineto_impl.h"
#include "import/kineto/kineto.h"
#include "import/source.h"

enum {
	BLOCK_BYTES = 512 << 10,
	GZIP_RATIO = 8, /* traces are 8 to 20 times as large as their .gz */
};

typedef struct loader {
	tide_source *src;
	const tide_load_options *opt;
	kin_build build;
	kin_parser parser; /* of the building thread */
	kin_out out;
	kin_doc doc;
	char *text; /* owned: bytes that were not parsed yet, from offset base on */
	size_t n, cap;
	uint64_t base;
	kin_reader reader;
} loader;

/* Parses the complete items of the remaining text and keeps the rest. */
static tide_code step(loader *l, bool final, tide_error *err)
{
	kin_parser *c = &l->parser;
	size_t p = 0;
	c->base = l->base;
	if (!tide__jsonr_scan_text(&c->json.s, l->text, l->n))
		return tide__nomem(err);
	do {
		tide__kineto_out_clear(&l->out);
		p = tide__kineto_parse_doc(c, &l->doc, p, final);
		if (c->json.why == JSONR_NOMEM || !tide__kineto_add(&l->build, &l->out))
			return tide__nomem(err);
		l->build.part = l->doc.documents;
	} while (l->doc.again);
	memmove(l->text, l->text + p, l->n - p);
	memset(l->text + l->n - p, 0, JSONR_PAD);
	l->n -= p;
	l->base += p;
	return TIDE_OK;
}

/* Appends bytes to the rest of the previous block. */
static bool keep(loader *l, const char *text, size_t n)
{
	if (!TIDE_ROOM(l->text, l->cap, l->n + n + JSONR_PAD))
		return false;
	memcpy(l->text + l->n, text, n);
	l->n += n;
	memset(l->text + l->n, 0, JSONR_PAD);
	return true;
}

/* Takes the next block in order. Its rows are valid if reading reached its start between two
 * events; otherwise it is parsed again together with the rest before it. */
static tide_code take(loader *l, kin_block_in *k, tide_error *err)
{
	bool between = l->doc.state == KIN_EVENTS || l->doc.state == KIN_ARRAY;
	bool clean = !l->n && between && !l->doc.seeking;
	size_t from = 0;
	if (k->failed != TIDE_OK)
		return k->failed == TIDE_ENOMEM
			       ? tide__nomem(err)
			       : tide__fail(err, k->failed, k->base, "%s", k->why.text);
	if (clean) {
		if (!tide__kineto_add(&l->build, &k->out))
			return tide__nomem(err);
		from = k->parsed;
		l->doc.seeking = k->seeking;
	}
	if (!l->n)
		l->base = k->base + from;
	if (from < k->n && !keep(l, k->text + from, k->n - from))
		return tide__nomem(err);
	tide_code rc = l->n ? step(l, k->last, err) : TIDE_OK;
	if (l->opt->progress)
		l->opt->progress(l->opt->user, k->consumed, tide__source_size(l->src));
	return rc;
}

static tide_code check_found(loader *l, tide_error *err)
{
	uint64_t seen = l->base + l->n;
	bool none = !l->doc.listed && l->build.events == l->build.loss[KIN_LOSS_NO_PHASE];
	if ((l->build.events && !none) || (l->build.n_metas && l->doc.listed))
		return TIDE_OK;
	if (l->reader.damage != TIDE_OK)
		return tide__fail(err, l->reader.damage, l->reader.why.offset, "%s",
				  l->reader.why.text);
	if (!l->doc.documents)
		return tide__fail(err, TIDE_EFORMAT, 0, "not JSON: %s",
				  seen ? "no object or array" : "the file is empty");
	if (l->build.events)
		return tide__fail(
			err, TIDE_EFORMAT, 0,
			"JSON without trace events: no object in it has a phase (\"ph\")");
	if (l->doc.state != KIN_START || l->n)
		return tide__fail(err, TIDE_ETRUNC, l->base, "no event is complete");
	return tide__fail(err, TIDE_EFORMAT, 0, "JSON without trace events");
}

static bool note_end(loader *l)
{
	tide_model *m = l->build.m;
	uint64_t end = l->base + l->n;
	bool cut = l->n || l->doc.state == KIN_TOP || l->doc.state == KIN_EVENTS;
	bool ok = true;
	if (cut)
		ok = tide__fact_set_number(m, "loss.truncated_at", (int64_t)end);
	if (ok && l->reader.damage != TIDE_OK)
		ok = tide__fact_text(m, "loss.compressed_input", l->reader.why.text) &&
		     tide__fact_set_number(m, "loss.compressed_at", (int64_t)l->reader.why.offset);
	return ok;
}

static tide_code take_block(void *user, kin_block_in *k, tide_error *err)
{
	return take(user, k, err);
}

/* Returns the bytes of JSON to expect, 0 = unknown. */
static uint64_t expected(const tide_source *src)
{
	uint64_t size = tide__source_size(src);
	return tide__source_is_packed(src) && size < UINT64_MAX / GZIP_RATIO ? size * GZIP_RATIO
									     : size;
}

/* Returns the number of threads for one file: the requested number or the number of cores, 1 for a
 * small file. */
static unsigned choose_threads(const loader *l)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t size = expected(l->src);
	unsigned n = l->opt->threads ? l->opt->threads : cores > 0 ? (unsigned)cores : 1;
	if (!l->opt->threads && size && size < 4 * (uint64_t)l->reader.block)
		n = 1;
	return n < KIN_THREADS_MAX ? n : KIN_THREADS_MAX;
}

/* Returns true if a single parsing thread gets another that decompresses ahead of it. */
static bool reads_ahead(const loader *l)
{
	uint64_t size = expected(l->src);
	return tide__source_is_packed(l->src) && !l->opt->single &&
	       (!size || size >= 4 * (uint64_t)l->reader.block);
}

static tide_code run(loader *l, tide_error *err)
{
	unsigned threads = choose_threads(l);
	bool ahead = threads == 1 && reads_ahead(l);
	tide_code rc = tide__kineto_read_blocks(&l->reader, threads, ahead, l->build.want,
						take_block, l, err);
	if (rc == TIDE_OK)
		rc = check_found(l, err);
	if (rc == TIDE_OK && !note_end(l))
		rc = tide__nomem(err);
	tide__kineto_out_fini(&l->out); /* frees memory that the model needs from here on */
	tide__free(l->text);
	l->text = NULL;
	l->build.threads = threads;
	if (rc == TIDE_OK)
		rc = tide__kineto_finish(&l->build, err);
	tide__kineto_reader_fini(&l->reader);
	return rc;
}

tide_code tide__kineto_load(tide_source *src, const tide_load_options *opt, size_t block,
			    tide_model *m, tide_error *err)
{
	unsigned want = opt->what ? opt->what : ~(unsigned)(TIDE_WANT_RAW | TIDE_WANT_SHAPES);
	block = block ? block : BLOCK_BYTES;
	loader l = { .src = src,
		     .opt = opt,
		     .reader = { .src = src, .block = block },
		     .build = { .m = m,
				.want = want,
				.part = 1,
				.t_min = INT64_MAX,
				.t_max = INT64_MIN },
		     .doc = { .limit = KIN_ITEM_MAX } };
	l.parser = (kin_parser){ .out = &l.out, .want = want };
	tide_code rc = run(&l, err);
	tide__kineto_build_fini(&l.build);
	tide__kineto_parser_fini(&l.parser);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_source *src;
	tide_code rc = tide__source_open(path, opt->max_expanded, &src, err);
	if (rc == TIDE_OK && opt->max_bytes)
		tide__source_set_limit(src, opt->max_bytes);
	if (rc == TIDE_OK)
		rc = tide__kineto_load(src, opt, 0, m, err);
	tide__source_close(src);
	return rc;
}

static tide_code stream(tide_source *src, const tide_load_options *opt, tide_model *m,
			tide_error *err)
{
	return tide__kineto_load(src, opt, 0, m, err);
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t p = n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (p < n && jsonr_is_ws((char)head[p]))
		p++;
	if (p == n || (head[p] != '{' && head[p] != '['))
		return 0;
	if (tide__head_contains(head, n, "\"traceEvents\"") ||
	    tide__head_contains(head, n, "\"ph\""))
		return 90;
	return tide__head_contains(head, n, "\"deviceProperties\"") ? 60 : 10;
}

const tide_importer tide__import_kineto = {
	.name = "kineto",
	.what = "Chrome trace JSON (PyTorch profiler), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
	.stream = stream,
};
