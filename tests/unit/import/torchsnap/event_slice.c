// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Snapshots decoded in slices, by threads or not, give the same model as decoded sequentially, and
 * the same error if they are damaged: random pickles of events with everything that ends a slice
 * early, divided into frames at random opcodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/torchsnap/load.h"
#include "testing.h"

/* ---- a pickler of random events ---- */

enum { FRAMES = 40, LISTS = 64, LIVE = 64 };

static struct pickler {
	uint8_t *out;
	size_t n, cap;
	size_t frame;		 /* where the open frame's length is; 0 = none */
	uint32_t memo;		 /* entries so far */
	uint32_t words[40];	 /* memo index + 1 */
	uint32_t frames[FRAMES]; /* memo index + 1 */
	uint32_t lists[LISTS];	 /* memo indices of stacks */
	size_t n_lists;
	uint64_t live[LIVE], size[LIVE];
	size_t n_live;
	uint64_t seed, now;
	unsigned odd; /* one in how many events is unusual */
} w;

static uint32_t rnd(uint32_t below)
{
	w.seed = w.seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w.seed >> 33) % below;
}

static void bytes(const void *p, size_t n)
{
	if (w.n + n > w.cap) {
		w.cap = (w.n + n) * 2;
		w.out = realloc(w.out, w.cap);
		assert_non_null(w.out);
	}
	memcpy(w.out + w.n, p, n);
	w.n += n;
}

static void end_frame(void)
{
	uint64_t n = w.n - w.frame - 8;
	if (w.frame)
		memcpy(w.out + w.frame, &n, 8);
	w.frame = 0;
}

static void new_frame(void)
{
	static const uint8_t head[9] = { 0x95 };
	end_frame();
	bytes(head, sizeof head);
	w.frame = w.n - 8;
}

static void op(uint8_t c)
{
	bytes(&c, 1);
}

static uint32_t memoize(void)
{
	op(0x94);
	return w.memo++;
}

static void get(uint32_t i)
{
	op(i < 256 ? 'h' : 'j');
	bytes(&i, i < 256 ? 1 : 4);
}

static uint32_t text(const char *s)
{
	op(0x8c);
	op((uint8_t)strlen(s));
	bytes(s, strlen(s));
	return memoize();
}

static void integer(uint64_t v)
{
	uint8_t n = 8;
	if (v < 256) {
		op('K');
		bytes(&v, 1);
		return;
	}
	while (n > 1 && !(v >> (8 * n - 9)))
		n--;
	op(0x8a);
	op(n);
	bytes(&v, n);
}

static void word(const char *s)
{
	static const char *const known[] = { "action",
					     "addr",
					     "size",
					     "stream",
					     "time_us",
					     "frames",
					     "compile_context",
					     "user_metadata",
					     "",
					     "alloc",
					     "free_requested",
					     "free_completed",
					     "segment_alloc",
					     "name",
					     "filename",
					     "line",
					     "pool_id",
					     "N/A",
					     "odd",
					     "oom",
					     "device_free",
					     "snapshot",
					     "x/y" };
	size_t i = 0;
	while (strcmp(known[i], s))
		i++;
	if (w.words[i])
		get(w.words[i] - 1);
	else
		w.words[i] = text(s) + 1;
}

static void frame(unsigned f)
{
	char name[40];
	if (w.frames[f]) {
		get(w.frames[f] - 1);
		return;
	}
	op('}');
	w.frames[f] = memoize() + 1;
	op('(');
	snprintf(name, sizeof name, "function_%u", f);
	word("name"), text(name), word("filename"), text("model.py"), word("line"), integer(f);
	op('u');
}

static void stack(void)
{
	if (w.n_lists && rnd(3) == 0) {
		get(w.lists[rnd((uint32_t)w.n_lists)]);
		return;
	}
	op(']');
	uint32_t at = memoize();
	unsigned depth = rnd(200) == 0 ? 1000 + rnd(3) : rnd(6), kind = rnd(12);
	if (depth) {
		op('(');
		for (unsigned i = 0; i < depth; i++)
			frame((kind * 3 + i) % (kind == 11 && w.odd ? FRAMES : FRAMES - 8));
		op('e');
	}
	w.lists[w.n_lists < LISTS ? w.n_lists++ : rnd(LISTS)] = at;
}

static void odd_item(void)
{
	switch (rnd(5)) {
	case 0:
		word("odd"), integer(rnd(1000));
		break;
	case 1:
		word("pool_id"), integer(1), integer(rnd(3)), op(0x86), memoize();
		break;
	case 2:
		word("user_metadata"), text("weights");
		break;
	case 3:
		word("compile_context"), word("x/y");
		break;
	default:
		word("stream"), integer(rnd(3) * 7);
	}
}

static void event(const char *action, uint64_t addr, uint64_t size)
{
	bool odd = w.odd && rnd(w.odd) == 0;
	w.now += rnd(20);
	if (rnd(4) == 0)
		new_frame();
	op('}'), memoize(), op('(');
	word("action"), word(action);
	if (strcmp(action, "snapshot") != 0)
		word(strcmp(action, "oom") ? "addr" : "device_free"), integer(addr);
	word("size"), integer(size), word("stream"), integer(0);
	word("time_us"), integer(UINT64_C(1794709245339316) + w.now);
	word("compile_context");
	rnd(9) ? (void)text("N/A") : word("N/A");
	word("user_metadata"), word("");
	word("frames"), stack();
	if (odd)
		odd_item();
	op('u');
	if (odd && rnd(8) == 0) { /* an entry is replaced: by what it was */
		op('q');
		op((uint8_t)rnd(3) == 0 ? 0 : 250);
		op('2'), op('0');
		if (w.memo < 251)
			w.odd = 0;
	}
	if (odd && rnd(6) == 0) { /* the events before it are in reach */
		static const uint8_t ops[] = { '0', '2', 0x94, 'a', 0x86, 'e', '(', 'K' };
		uint8_t c = ops[rnd(sizeof ops)];
		op(c);
		w.memo += c == 0x94;
		if (c == 'K')
			op(7);
	}
}

static void some_events(void)
{
	if (w.n_live < LIVE && (w.n_live < 4 || rnd(2))) {
		uint64_t size = 1 + rnd(100000),
			 at = w.n_live ? w.live[w.n_live - 1] : 0x7f0000000000;
		w.live[w.n_live] = at + (1u << 20) * (w.n_live > 0);
		w.size[w.n_live++] = size;
		event("alloc", w.live[w.n_live - 1], size);
	} else if (rnd(40) == 0) {
		event(rnd(2) ? "oom" : "snapshot", rnd(1000), 4096);
	} else {
		w.n_live--;
		event("free_requested", w.live[w.n_live], w.size[w.n_live]);
		event("free_completed", w.live[w.n_live], w.size[w.n_live]);
	}
}

/* A snapshot of about n events; one in `odd` is unusual, 0 = none. */
static void pickle(uint64_t seed, unsigned n, unsigned odd)
{
	static const uint8_t proto[] = { 0x80, 4 };
	uint8_t *out = w.out;
	size_t cap = w.cap;
	w = (struct pickler){ .out = out, .cap = cap, .seed = seed * 7919 + 1, .odd = odd };
	bytes(proto, 2);
	new_frame();
	op('}'), memoize(), op('('), text("segments"), op(']'), memoize();
	text("device_traces"), op(']'), memoize(), op(']'), memoize(), op('(');
	for (unsigned i = 1; i <= n; i++) {
		some_events();
		if (i % 300 == 0)
			op('e'), op('(');
	}
	op('e'), op('a');
	text("allocator_settings"), op('}'), memoize();
	op('u'), op('.');
	end_frame();
}

/* ---- the same? ---- */

static void same_table(const char *what, const void *a, const void *b, const tide_table_desc *d)
{
	size_t n, m;
	memcpy(&n, a, sizeof n);
	memcpy(&m, b, sizeof m);
	if (n != m)
		fail_msg("%s: %s has %zu rows, not %zu", what, d->name, m, n);
	for (size_t i = 0; i < d->n_columns && n; i++) {
		void *x, *y;
		memcpy(&x, (const char *)a + d->columns[i].at, sizeof x);
		memcpy(&y, (const char *)b + d->columns[i].at, sizeof y);
		if (memcmp(x, y, n * d->columns[i].size) != 0)
			fail_msg("%s: %s.%s differs", what, d->name, d->columns[i].name);
	}
}

static tide_model *import(const uint8_t *data, size_t n, size_t stretch, unsigned threads,
			  tide_code *rc, tide_error *err)
{
	tide_model *m = tide__model_new();
	tide_load_options opt = { .threads = threads };
	assert_non_null(m);
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	*rc = tide__snap_import_by(data, n, &opt, stretch, m, err);
	return m;
}

static void same(const char *what, const uint8_t *data, size_t n)
{
	static const struct {
		size_t stretch;
		unsigned threads;
	} ways[] = { { 1, 1 }, { 700, 1 }, { 3000, 2 }, { 200, 3 } };
	tide_code want, got;
	tide_error want_err, err;
	char name[160];
	tide_model *a = import(data, n, 0, 1, &want, &want_err);
	if (!want)
		assert_int_equal(tide__model_check(a, &want_err), TIDE_OK);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		snprintf(name, sizeof name, "%s, %zu bytes by %u", what, ways[i].stretch,
			 ways[i].threads);
		tide_model *b = import(data, n, ways[i].stretch, ways[i].threads, &got, &err);
		if (got != want || (got && (strcmp(err.text, want_err.text) != 0 ||
					    err.offset != want_err.offset)))
			fail_msg("%s: %d %s, not %d %s", name, got, err.text, want, want_err.text);
#define T(st, member, COLUMNS, none, doc) \
	if (!want)                        \
		same_table(name, &a->member, &b->member, &st##_desc);
		TIDE_TABLES(T)
#undef T
		tide__model_free(b);
	}
	tide__model_free(a);
}

static void test_same(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 120; i++) {
		char name[40];
		snprintf(name, sizeof name, "seed %u", i);
		pickle(i, 200 + i % 150 * 10,
		       i % 4 == 0   ? 0
		       : i % 4 == 1 ? 400
		       : i % 4 == 2 ? 40
				    : 5);
		same(name, w.out, w.n);
	}
}

static void test_broken(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		char name[40];
		snprintf(name, sizeof name, "broken %u", i);
		pickle(i, 300, i % 3 ? 60 : 0);
		size_t at = rnd((uint32_t)w.n);
		if (i % 5 == 0)
			w.n = at;
		else
			w.out[at] = i % 2 ? (uint8_t)(w.out[at] + 1 + rnd(255))
					  : (uint8_t) "}](eu.hjK\x95"[rnd(11)];
		same(name, w.out, w.n);
	}
}

/* Out of memory at any point: an error or, if that memory is optional, the same model. */
static void test_memory(void **state)
{
	(void)state;
	pickle(2, 260, 200);
	for (uint64_t k = 1;; k++) {
		tide_model *m = tide__model_new();
		tide_load_options opt = { .threads = 1 };
		tide_error err = { .offset = TIDE_NO_OFFSET };
		assert_non_null(m);
		tide__mem_fail_at(k);
		tide_code rc = tide__snap_import_by(w.out, w.n, &opt, 700, m, &err);
		bool all = tide__mem_count() < k;
		tide__mem_fail_at(0);
		if (rc && (rc != TIDE_ENOMEM || all))
			fail_msg("allocation %u fails: %d %s", (unsigned)k, rc, err.text);
		tide__model_free(m);
		if (all)
			break;
	}
}

static void test_usual(void **state) /* the generator does make what the crew takes */
{
	(void)state;
	pickle(1, 2000, 0);
	assert_true(w.n > 100000);
	same("usual", w.out, w.n);
	free(w.out);
	w.out = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_usual),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
