// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Measures only the importer's scan, in one thread: every event's phase, category, name (interned),
 * pid and tid (as a lane), ts and dur in int64 ns, correlation, External id, device, stream. The
 * counterpart of simdjson.cpp: the text is in memory before the clock starts, rows go to a vector
 * that is reused.
 *
 *     kineto_scan FILE [rounds]   prints: best seconds, bytes, events, names, checksum */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import/kineto/kineto_impl.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END))
		return NULL;
	*n = (size_t)ftell(f);
	rewind(f);
	char *text = calloc(1, *n + JSONR_PAD);
	if (text && fread(text, 1, *n, f) != *n)
		return NULL;
	fclose(f);
	return text;
}

typedef struct totals {
	uint64_t events, spans, dur, links;
} totals;

static void count(const kin_out *o, totals *t)
{
	t->events += o->events;
	for (size_t i = 0; i < o->n_rows; i++) {
		const kin_row *r = &o->rows[i];
		t->spans += r->kind == KIN_SPAN;
		t->dur += r->kind == KIN_SPAN ? (uint64_t)r->dur : 0;
		t->links += r->flags & KIN_HAS_ID ? r->id : 0;
	}
}

/* Parses in pieces, as the importer does; each piece's rows are counted and dropped. */
static size_t scan(char *text, size_t n, totals *t)
{
	kin_out out = { 0 };
	kin_parser c = { .out = &out,
			 .want = TIDE_WANT_SPANS | TIDE_WANT_FLOWS | TIDE_WANT_MEMORY };
	kin_doc d = { .limit = KIN_ITEM_MAX };
	size_t at = 0, piece = 512 << 10;
	while (at < n) {
		size_t len = n - at < piece ? n - at : piece;
		size_t cut = at + len < n ? tide__kineto_find_last_event(text + at, len) : len;
		len = cut ? cut : len;
		tide__kineto_out_clear(&out);
		c.base = at;
		tide__jsonr_scan_text(&c.json.s, text + at, len);
		size_t p = tide__kineto_parse_doc(&c, &d, 0, at + len >= n);
		count(&out, t);
		if (!p)
			break;
		at += p;
	}
	size_t names = c.texts.n;
	tide__kineto_parser_fini(&c);
	tide__kineto_out_fini(&out);
	return names;
}

int main(int argc, char **argv)
{
	size_t n = 0, names = 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 5;
	char *text = argc > 1 ? slurp(argv[1], &n) : NULL;
	if (!text)
		return 1;
	double best = 1e9;
	totals t = { 0 };
	for (int i = 0; i < rounds; i++) {
		t = (totals){ 0 };
		double t0 = now();
		names = scan(text, n, &t);
		double s = now() - t0;
		best = s < best ? s : best;
	}
	printf("tidemark %.6f s %zu bytes %.0f MB/s %llu events %llu spans %zu names dur %llu "
	       "links %llu\n",
	       best, n, (double)n / best / 1e6, (unsigned long long)t.events,
	       (unsigned long long)t.spans, names, (unsigned long long)t.dur,
	       (unsigned long long)t.links);
	free(text);
	return 0;
}
