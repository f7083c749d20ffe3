// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reading continues after damage: each chunk of a file is damaged in several ways. Every event of
 * the other chunks is read, the gap is reported, and the output of recover and pack holds the same.
 * */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/read.h"
#include "format/rewrite.h"
#include "import/import.h"
#include "models.h"
#include "testing.h"

enum { CHUNKS_MAX = 64 };

static char path[64], out[80];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-resync-%d.tide", (int)getpid());
	snprintf(out, sizeof out, "%s.out", path);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(out);
	return 0;
}

static void save(const bytes *b)
{
	tidefile f = { .b = *b };
	tidefile_save(&f, path);
}

/* Definitions in three chunks, as a recorder writes them, and events in many. */
static bytes sample(void)
{
	tidefile f;
	tidefile_start_full(&f);
	for (uint64_t i = 5; i < 8; i++) {
		char name[16];
		bytes r = { 0 };
		snprintf(name, sizeof name, "name%d", (int)i);
		record_add(&r, TIDE_REC_NAME, i, name);
		tide_chunk_head h = {
			.type = TIDE_CHUNK_DEFS, .first = 1000 + i * 10, .slots = 10, .count = 1
		};
		tidefile_chunk(&f, h, r.p, r.n);
		bytes_free(&r);
	}
	ev_lane(&f, 1, 10, 1, 100);
	for (unsigned i = 0; i < 12; i++) {
		for (unsigned k = 0; k < 5 + i; k++)
			ev_mark(&f, 1, 100 * i + k, 3, 5 + i % 3, k);
		tidefile_flush(&f, 1);
	}
	tidefile_end(&f);
	bytes whole = f.b;
	f.b = (bytes){ 0 };
	tidefile_free(&f);
	return whole;
}

static size_t chunks_of(const bytes *b, size_t *at)
{
	size_t n = 0;
	for (size_t i = sizeof(tide_file_head); i < b->n;) {
		tide_chunk_head h;
		memcpy(&h, b->p + i, sizeof h);
		assert_int_equal(h.magic, TIDE_CHUNK_MAGIC);
		assert_true(n < CHUNKS_MAX - 1);
		at[n++] = i;
		i += sizeof h + h.stored;
	}
	at[n] = b->n;
	return n;
}

static tide_model *load(const char *file, const char *what, size_t i)
{
	tide_model *m;
	tide_error err = { 0 };
	if (tide__load(file, NULL, &m, &err))
		fail_msg("%s %zu: %s (byte %llu)", what, i, err.text,
			 (unsigned long long)err.offset);
	if (tide__model_check(m, &err))
		fail_msg("%s %zu: %s", what, i, err.text);
	return m;
}

static void flip_payload(uint8_t *p, size_t n)
{
	p[n - 1] ^= 0x10;
}
static void flip_magic(uint8_t *p, size_t n)
{
	p[1] ^= 1;
}
static void longer(uint8_t *p, size_t n)
{
	p[10] ^= 0x7f; /* stored and raw: a chunk that reaches beyond the end */
	p[14] ^= 0x7f;
}
static void zeros(uint8_t *p, size_t n)
{
	memset(p, 0, n);
}

static void expect(const tide_model *m, const tide_chunk_head *h, int64_t all, const char *what,
		   size_t i)
{
	int64_t missing = h->type == TIDE_CHUNK_EVENTS ? (int64_t)h->slots : 0;
	int64_t lane = missing && h->first == 0;
	if (fact_of(m, "tide.events") != all - missing + lane)
		fail_msg("%s %zu: %lld events", what, i, (long long)fact_of(m, "tide.events"));
	int64_t gone = fact_of(m, "loss.missing_slots");
	bool last = !gone; /* no later chunk of its ring shows that slots are missing */
	if (missing &&
	    ((!last && gone != missing) || fact_of(m, "loss.missing_events") != missing - lane))
		fail_msg("%s %zu: %lld slots, %lld events missing", what, i, (long long)gone,
			 (long long)fact_of(m, "loss.missing_events"));
}

/* Damages each chunk except the last, which nothing follows. */
static void test_each_chunk(void **state)
{
	static const struct {
		const char *name;
		void (*damage)(uint8_t *p, size_t n);
	} rows[] = { { "payload", flip_payload },
		     { "magic", flip_magic },
		     { "size", longer },
		     { "hole", zeros } };
	bytes b = sample(), copy = { 0 };
	size_t at[CHUNKS_MAX], n = chunks_of(&b, at);
	save(&b);
	tide_model *whole = load(path, "whole", 0);
	int64_t all = fact_of(whole, "tide.events");
	assert_false(has_loss(whole));
	tide__model_free(whole);
	assert_true(n > 12);
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		for (size_t i = 0; i + 1 < n; i++) {
			tide_chunk_head h;
			tide_rewrite w;
			memcpy(&h, b.p + at[i], sizeof h);
			copy.n = 0;
			bytes_add(&copy, b.p, b.n);
			rows[k].damage(copy.p + at[i], at[i + 1] - at[i]);
			save(&copy);
			tide_model *m = load(path, rows[k].name, i);
			expect(m, &h, all, rows[k].name, i);
			assert_int_equal(fact_of(m, "loss.gap_at"), at[i]);
			assert_int_equal(fact_of(m, "loss.gap_bytes"), at[i + 1] - at[i]);
			assert_int_equal(fact_of(m, "loss.gaps"), 1);
			for (int pack = 0; pack < 2; pack++) {
				assert_int_equal(pack ? tide__pack(path, out, 1, &w, NULL)
						      : tide__recover(path, out, &w, NULL),
						 TIDE_OK);
				assert_int_equal(w.gaps.n, 1);
				assert_false(w.closed || w.cut_short);
				tide_model *again = load(out, rows[k].name, i);
				expect(again, &h, all, "rewritten", i);
				assert_int_equal(fact_of(again, "loss.gap_at"), at[i]);
				const char *table = models_differ(m, again);
				if (table)
					fail_msg("%s %zu: %s differs", rows[k].name, i, table);
				tide__model_free(again);
			}
			tide__model_free(m);
		}
	}
	bytes_free(&b);
	bytes_free(&copy);
}

/* Damage in two places, one of them at the truncated end of the file. */
static void test_two_places(void **state)
{
	bytes b = sample();
	size_t at[CHUNKS_MAX], n = chunks_of(&b, at);
	b.p[at[n - 9] + 70] ^= 1;
	b.p[at[n - 5] + 70] ^= 1;
	b.n = at[n - 1] - 3;
	save(&b);
	tide_model *m = load(path, "two", 0);
	assert_int_equal(fact_of(m, "loss.gaps"), 2);
	assert_int_equal(fact_of(m, "loss.gap_at"), at[n - 9]);
	assert_int_equal(fact_of(m, "loss.truncated_at"), b.n);
	tide__model_free(m);
	bytes_free(&b);
}

/* Any wrong byte of the head is corrected and reported. */
static void test_head_byte(void **state)
{
	bytes b = sample();
	save(&b);
	tide_model *want = load(path, "whole", 0);
	for (size_t i = 0; i < sizeof(tide_file_head); i++) {
		b.p[i] ^= (uint8_t)(1 + i);
		save(&b);
		tide_model *m = load(path, "head byte", i);
		const char *table = models_differ(want, m);
		if (table || !has_loss(m))
			fail_msg("head byte %zu: %s differs", i, table ? table : "nothing");
		tide__model_free(m);
		b.p[i] ^= (uint8_t)(1 + i);
	}
	tide__model_free(want);
	bytes_free(&b);
}

/* The beginning is gone: the head; the head and the schema. */
static void test_beginning(void **state)
{
	for (unsigned schema = 0; schema < 2; schema++) {
		bytes b = sample();
		size_t at[CHUNKS_MAX];
		tide_rewrite w;
		chunks_of(&b, at);
		save(&b);
		tide_model *want = load(path, "whole", 0);
		memset(b.p, 0xee, at[schema]);
		save(&b);
		tide_model *m = load(path, "beginning", schema);
		assert_int_equal(fact_of(m, "tide.events"), fact_of(want, "tide.events"));
		assert_int_equal(m->marks.n, want->marks.n);
		assert_int_equal(m->marks.t[5] - m->marks.t[4],
				 want->marks.t[5] - want->marks.t[4]);
		assert_true(has_loss(m));
		assert_int_equal(tide__recover(path, out, &w, NULL), TIDE_OK);
		assert_int_equal(w.head, TIDE_HEAD_LOST);
		tide_model *again = load(out, "beginning", schema);
		assert_int_equal(fact_of(again, "tide.events"), fact_of(m, "tide.events"));
		assert_int_equal(again->marks.t[7], m->marks.t[7]);
		tide__model_free(again);
		tide__model_free(m);
		tide__model_free(want);
		bytes_free(&b);
	}
}

/* A lost head's clock comes from the first calibration point. */
static void test_lost_clock(void **state)
{
	tidefile f;
	bytes r = { 0 };
	tidefile_start(&f, TIDE_CLOCK_TSC, 5000);
	record_add(&r, TIDE_REC_TICK, UINT64_C(5000), UINT64_C(90000), UINT64_C(1000000));
	record_add(&r, TIDE_REC_TICK, UINT64_C(7000), UINT64_C(91000), UINT64_C(1001000));
	tidefile_records(&f, TIDE_CHUNK_CLOCK, &r);
	ev_mark(&f, 1, 6000, 3, 0, 1);
	tidefile_end(&f);
	memset(f.b.p, 0, sizeof(tide_file_head));
	tidefile_save(&f, path);
	tidefile_free(&f);
	tide_model *m = load(path, "clock", 0);
	assert_int_equal(m->marks.t[1], 500);
	tide__model_free(m);
}

/* A file of nothing but heads that claim large chunks ends soon. */
static void test_many_heads(void **state)
{
	tidefile f;
	tide_model *m;
	tide_error err = { 0 };
	tidefile_start_full(&f);
	for (size_t i = 0; i < 200000; i++) {
		tide_chunk_head h = { .magic = TIDE_CHUNK_MAGIC,
				      .type = TIDE_CHUNK_EVENTS,
				      .stored = 1 << 20,
				      .raw = 1 << 20 };
		bytes_add(&f.b, &h, sizeof h);
	}
	tidefile_save(&f, path);
	tidefile_free(&f);
	assert_int_equal(tide__load(path, NULL, &m, &err), TIDE_ECORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_chunk), cmocka_unit_test(test_two_places),
		cmocka_unit_test(test_head_byte),  cmocka_unit_test(test_beginning),
		cmocka_unit_test(test_lost_clock), cmocka_unit_test(test_many_heads),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
