// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Blocks of input, cut where an event follows another, parsed and added in order.
 *
 * A block is parsed on the assumption that it starts between two events. That is only believed
 * when the block before it really ended there; otherwise what was left of it and this block are
 * parsed again as one. So the result is that of reading the input front to back, however it is
 * cut and whoever parses. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/kineto/kin.h"
#include "import/kineto/kineto.h"
#include "import/source.h"

enum { BLOCK_BYTES = 1 << 20 };

typedef struct loader {
	tide_source *src;
	const tide_load_options *opt;
	kin_build build;
	kin_parser parser;
	kin_out out;
	kin_doc doc;
	char *text; /* owned: bytes not yet taken, from offset base on */
	size_t n, cap;
	uint64_t base;
	size_t block;
	bool eof;
	tide_code damage; /* the source failed after giving some bytes */
	tide_error why;
} loader;

static tide_code more_text(loader *l, tide_error *err)
{
	if (l->cap - l->n < l->block + KIN_PAD) {
		size_t cap = l->n + l->n / 2 + l->block + KIN_PAD;
		char *big = tide__realloc(l->text, cap, 1);
		if (!big)
			return tide__nomem(err);
		l->text = big;
		l->cap = cap;
	}
	size_t got;
	tide_code rc = tide__source_read(l->src, l->text + l->n, l->block, &got, &l->why);
	l->n += got;
	l->eof = got < l->block;
	memset(l->text + l->n, 0, KIN_PAD);
	if (rc != TIDE_OK)
		l->damage = rc;
	return rc == TIDE_EIO ? tide__fail(err, rc, l->base + l->n, "%s", l->why.text) : TIDE_OK;
}

/* Parse what can be parsed of the text, keep the rest. */
static tide_code step(loader *l, tide_error *err)
{
	kin_parser *c = &l->parser;
	size_t p = 0;
	c->base = l->base;
	if (!tide__kin_scan_text(&c->s, l->text, l->n))
		return tide__nomem(err);
	do {
		tide__kin_out_clear(&l->out);
		p = tide__kin_doc(c, &l->doc, p, l->eof);
		if (c->why == KIN_NOMEM || !tide__kin_add(&l->build, &l->out))
			return tide__nomem(err);
		l->build.part = l->doc.documents;
	} while (l->doc.again);
	memmove(l->text, l->text + p, l->n - p);
	l->n -= p;
	l->base += p;
	if (l->opt->progress)
		l->opt->progress(l->opt->user, tide__source_consumed(l->src),
				 tide__source_size(l->src));
	return TIDE_OK;
}

static tide_code check_found(loader *l, tide_error *err)
{
	uint64_t seen = l->base + l->n;
	if (l->build.events || l->build.n_metas)
		return TIDE_OK;
	if (l->damage != TIDE_OK)
		return tide__fail(err, l->damage, l->why.offset, "%s", l->why.text);
	if (!l->doc.documents)
		return tide__fail(err, TIDE_EFORMAT, 0, "not JSON: %s",
				  seen ? "no object or array" : "the file is empty");
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
		ok = tide__fact_num(m, "loss.truncated_at_byte", (int64_t)end);
	if (ok && l->damage != TIDE_OK)
		ok = tide__fact_text(m, "loss.compressed_input", l->why.text) &&
		     tide__fact_num(m, "loss.compressed_at_byte", (int64_t)l->why.offset);
	return ok;
}

static tide_code run(loader *l, tide_error *err)
{
	tide_code rc = TIDE_OK;
	while (rc == TIDE_OK && !l->eof) {
		rc = more_text(l, err);
		if (rc == TIDE_OK)
			rc = step(l, err);
	}
	if (rc == TIDE_OK)
		rc = check_found(l, err);
	if (rc == TIDE_OK && !note_end(l))
		rc = tide__nomem(err);
	return rc == TIDE_OK ? tide__kin_finish(&l->build, err) : rc;
}

tide_code tide__kineto_load(tide_source *src, const tide_load_options *opt, size_t block,
			    tide_model *m, tide_error *err)
{
	unsigned want = opt->what ? opt->what : ~0u;
	loader l = { .src = src,
		     .opt = opt,
		     .block = block ? block : BLOCK_BYTES,
		     .build = { .m = m, .want = want, .t_min = INT64_MAX, .t_max = INT64_MIN },
		     .doc = { .limit = KIN_ITEM_MAX } };
	l.parser = (kin_parser){ .out = &l.out, .want = want };
	tide_code rc = run(&l, err);
	tide__kin_build_fini(&l.build);
	tide__kin_parser_fini(&l.parser);
	tide__kin_out_fini(&l.out);
	tide__free(l.text);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_source *src;
	tide_code rc = tide__source_open(path, opt->max_expanded, &src, err);
	if (rc == TIDE_OK)
		rc = tide__kineto_load(src, opt, 0, m, err);
	tide__source_close(src);
	return rc;
}

static bool contains(const uint8_t *head, size_t n, const char *text)
{
	return memmem(head, n, text, strlen(text));
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t p = n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (p < n && kin_is_ws((char)head[p]))
		p++;
	if (p == n || (head[p] != '{' && head[p] != '['))
		return 0;
	if (contains(head, n, "\"traceEvents\"") || contains(head, n, "\"ph\""))
		return 90;
	return contains(head, n, "\"deviceProperties\"") ? 60 : 10;
}

const tide_importer tide__import_kineto = {
	.name = "kineto",
	.what = "Chrome trace JSON (PyTorch profiler), plain or gzip",
	.sniff = sniff,
	.load = load,
};
