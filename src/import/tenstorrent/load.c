// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads a log line by line in one pass (plain, gzip or zstd), and recognises logs. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/tenstorrent/ttlog_impl.h"

enum {
	CHUNK = 1 << 20,
	LINE_MOST = 16 << 20, /* a longer line is read in parts of this length */
};

/* ---- lines ---- */

/* A line of another program that looks labelled creates no rank, unless a module begins there. */
static bool makes_rank(const ttlog *x, const tt_line *l)
{
	return tide__ttlog_has_rank(x, l->rank) || memmem(l->all.s, l->all.n, "MLIR Module ", 12);
}

static bool take_line(ttlog *x, const char *s, size_t n)
{
	tide_slice rest = { s, n };
	tt_line l;
	x->line++;
	if (!TIDE_ROOM(x->room, x->cap_room, n + 1))
		return tide__ttlog_nomem(x);
	for (unsigned part = 0; rest.s && part < 16; part++) {
		tide_slice now = rest;
		if (tide__ttlog_find_repeat(x->repeats, now.s, now.n, &l)) {
			rest.s = NULL;
		} else {
			bool labels = x->labels == TT_LABELS_RANKS;
			tide__ttlog_parse_line(now.s, now.n, labels, x->room, &l, &rest);
			tide__ttlog_remember(x->repeats, now.s, now.n, &l);
		}
		x->cut += l.cut;
		bool other = l.what == TT_FOREIGN || l.what == TT_OTHER;
		if (l.label && other && !makes_rank(x, &l))
			l.rank.n = 0;
		tt_rank *r = tide__ttlog_get_rank(x, l.rank, !other);
		if (!r)
			return false;
		if (other) {
			if (!tide__ttlog_read_foreign(x, r, &l))
				return false;
		} else if (!tide__ttlog_dump_end(x, &x->outside) || !tide__ttlog_dump_end(x, r) ||
			   !tide__ttlog_take(x, r, &l)) {
			return false;
		}
	}
	return true;
}

/* Decides whether numbers before lines are ranks, which repeat, or line numbers, which increase. */
static uint8_t labels_of(const char *s, size_t n)
{
	const char *end = s + n, *nl;
	int64_t last = -1, now;
	for (size_t seen = 0; s < end && seen < 1000; s = nl + 1) {
		nl = memchr(s, '\n', (size_t)(end - s));
		nl = nl ? nl : end;
		if (!tide__ttlog_labelled(s, (size_t)(nl - s), &now))
			continue;
		if (now <= last)
			return TT_LABELS_RANKS;
		last = now;
		seen++;
	}
	return TT_LABELS_NONE;
}

/* Handles the whole lines of buf[0 .. n); returns the bytes they took. `last`: the rest is also a
 * line. */
static size_t take_lines(ttlog *x, const char *buf, size_t n, bool last)
{
	size_t at = 0;
	while (at < n && x->rc == TIDE_OK) {
		const char *nl = memchr(buf + at, '\n', n - at);
		if (!nl && !last && n - at < LINE_MOST)
			break;
		x->long_lines += !nl && !last;
		size_t k = nl ? (size_t)(nl - buf) - at : n - at;
		int64_t number;
		if (x->labels == TT_LABELS_UNKNOWN && tide__ttlog_labelled(buf + at, k, &number))
			x->labels = labels_of(buf + at, n - at);
		if (!take_line(x, buf + at, k))
			break;
		at += k + (nl != NULL);
	}
	return at;
}

static tide_code read_all(ttlog *x, tide_source *src, const tide_load_options *opt)
{
	char *buf = NULL;
	size_t cap = 0, n = 0, got = 0, room;
	tide_code rc = TIDE_OK;
	do {
		if (!TIDE_ROOM(buf, cap, n + CHUNK)) {
			rc = tide__nomem(x->err);
			break;
		}
		room = cap - n;
		rc = tide__source_read(src, buf + n, room, &got, x->err);
		n += got;
		size_t used = take_lines(x, buf, n, got < room);
		rc = x->rc ? x->rc : rc;
		memmove(buf, buf + used, n - used);
		n -= used;
		if (opt->progress)
			opt->progress(opt->user, tide__source_consumed(src),
				      tide__source_size(src));
	} while (rc == TIDE_OK && got == room);
	tide__free(buf);
	return rc;
}

/* ---- all of it ---- */

bool tide__ttlog_begin(ttlog *x)
{
	tide_str *const keys[] = { &x->k_line,	&x->k_mlir, &x->k_type,
				   &x->k_graph, &x->k_miss, &x->k_session };
	static const char *const names[] = { "line",	   "mlir",	 "op_type",
					     "const_eval", "cache_miss", "session" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!(*keys[i] = tide__intern(x->m, names[i])).i)
			return tide__ttlog_nomem(x);
	return true;
}

void tide__ttlog_end(ttlog *x)
{
	for (size_t i = 0; i < x->n_ranks; i++) {
		tide__free(x->ranks[i].stack);
		tide__free(x->ranks[i].dump);
		tide__free(x->ranks[i].kept);
		tide__free(x->ranks[i].ends);
	}
	tide__free(x->outside.dump);
	tide__free(x->ranks);
	tide__free(x->ops);
	tide__free(x->lives);
	tide__free(x->marks);
	tide__free(x->room);
	tide__free(x->repeats);
	tide__map_free(&x->op_of);
	tide__map_free(&x->alias_of);
	tide__map_free(&x->life_of);
	tide__map_free(&x->missed);
	tide__map_free(&x->runs);
}

static tide_code nothing(tide_error *err)
{
	return tide__fail(
		err, TIDE_EFORMAT, 0,
		"no operations and no memory states of the Tenstorrent runtime: it needs a "
		"debug build (-DTT_RUNTIME_DEBUG=ON), "
		"TTMLIR_RUNTIME_LOGGER_LEVEL=DEBUG and TT_RUNTIME_MEMORY_LOG_LEVEL=operation");
}

static tide_code import(tide_source *src, const tide_load_options *opt, tide_model *m,
			tide_error *err)
{
	ttlog x = { .m = m, .err = err, .resolution = tide__ttlog_bytes(1) };
	x.repeats = tide__calloc(1, sizeof *x.repeats);
	bool ready = x.repeats ? tide__ttlog_begin(&x) : tide__ttlog_nomem(&x);
	tide_code rc = ready ? read_all(&x, src, opt) : x.rc;
	if (rc == TIDE_ETRUNC && (x.op_lines || x.blocks)) { /* packed data that end early */
		rc = TIDE_OK;
		tide__fact_set_number(m, "loss.truncated_at", (int64_t)tide__source_consumed(src));
	}
	if (rc == TIDE_OK && !x.op_lines && !x.blocks && !x.oom)
		rc = nothing(err);
	x.basis = "inferred from states before ops, resolution 0.001 MB per bank";
	if (rc == TIDE_OK && !tide__ttlog_finish(&x))
		rc = x.rc;
	tide__ttlog_end(&x);
	return rc;
}

tide_code tide__ttlog_import(const char *text, size_t n, tide_model *m, tide_error *err)
{
	tide_load_options opt = { 0 };
	tide_source *src;
	tide_code rc = tide__source_open_memory(text, n, 0, &src, err);
	if (rc == TIDE_OK)
		rc = import(src, &opt, m, err);
	tide__source_close(src);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_source *src;
	tide_code rc = tide__source_open(path, opt->max_expanded, &src, err);
	if (rc == TIDE_OK)
		rc = import(src, opt, m, err);
	tide__source_close(src);
	return rc;
}

/* ---- detecting the format ---- */

/* Returns true if the text contains a word that only these logs have at their start. */
static bool has_marker(const char *s, size_t n)
{
	static const char *const words[] = { "memory state: MemoryView{", "Device memory state ",
					     "Executing operation: ",
					     "Starting execution of program: " };
	static const char full[] = "Out of Memory: Not enough space to allocate ";
	if (memmem(s, n, full, sizeof full - 1)) /* what people paste */
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *p = memmem(s, n, words[i], strlen(words[i]));
		if (p && (i == 0 || memchr(s, '|', n)))
			return true;
	}
	return false;
}

static int sniff(const uint8_t *head, size_t n)
{
	if (memchr(head, 0, n < 64 ? n : 64))
		return 0;
	return has_marker((const char *)head, n) ? 60 : 0;
}

/* Markers may come megabytes into a log: searches unknown text for them. */
static bool search(tide_source *src)
{
	enum { MOST = 256 << 20, KEEP = 64 };
	char *buf = tide__alloc(CHUNK + KEEP, 1);
	size_t keep = 0, got = CHUNK, all = 0;
	tide_error err;
	bool found = false;
	while (buf && !found && got == CHUNK && all < MOST) {
		if (tide__source_read(src, buf + keep, CHUNK, &got, &err) != TIDE_OK && !got)
			break;
		all += got;
		found = has_marker(buf, keep + got);
		size_t n = keep + got;
		keep = n < KEEP ? n : KEEP;
		memmove(buf, buf + n - keep, keep);
	}
	tide__free(buf);
	return found;
}

const tide_importer tide__import_ttlog = {
	.name = "tt-log",
	.what = "log of the Tenstorrent runtime, plain, gzip or zstd",
	.sniff = sniff,
	.search = search,
	.load = load,
};
