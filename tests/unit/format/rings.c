// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A recording whose process was killed: part of it in chunks, part in the ring file. Every event is
 * read exactly once, for any split; and a hostile ring file does no harm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/rewrite.h"
#include "import/import.h"
#include "models.h"
#include "testing.h"

static char path[64], rings[80], out[80];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-rings-%d.tide", (int)getpid());
	snprintf(rings, sizeof rings, "%s-rings", path);
	snprintf(out, sizeof out, "%s.out", path);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(rings);
	unlink(out);
	return 0;
}

static void save_rings(const bytes *b)
{
	tidefile f = { .b = *b };
	tidefile_save(&f, rings);
}

static void add_page(bytes *b, const void *head, const void *data, size_t n, size_t room)
{
	uint8_t *page = calloc(1, room);
	bytes_add(b, head, 4096);
	if (n)
		memcpy(page, data, n);
	bytes_add(b, page, room);
	free(page);
}

/* Makes the ring file of f: all slots of two rings, with [tail, n) valid, and a log of `names`. */
static bytes ring_file(const tidefile *f, const bytes *log, uint64_t log_first)
{
	static tide_rings_head h;
	bytes b = { 0 };
	memset(&h, 0, sizeof h);
	memcpy(h.magic, TIDE_RINGS_MAGIC, 8);
	memcpy(h.recording, "tests' recording", 16);
	h.major = TIDE_FORMAT_MAJOR;
	h.head_size = sizeof h;
	h.log_used = log_first + log->n;
	bytes_add(&b, &h, sizeof h);
	static tide_block_head k;
	memset(&k, 0, sizeof k);
	k = (tide_block_head){ .magic = TIDE_BLOCK_MAGIC,
			       .type = TIDE_BLOCK_LOG,
			       .size = 8192,
			       .first = log_first,
			       .capacity = 4096 };
	add_page(&b, &k, log->p, log->n, 4096);
	for (unsigned i = 0; i < 2; i++) {
		const slots *r = &f->rings[i];
		k = (tide_block_head){ .magic = TIDE_BLOCK_MAGIC,
				       .type = TIDE_BLOCK_RING,
				       .size = 4096 + 256 * 32,
				       .ring = i + 1,
				       .slots = 256,
				       .capacity = 256 * 32,
				       .head = r->n,
				       .tail = r->enc.next,
				       .lost_full = 3 };
		assert_true(r->n <= 256);
		add_page(&b, &k, r->s, r->n * sizeof *r->s, 256 * 32);
	}
	return b;
}

static tide_model *load(void)
{
	tide_model *m;
	tide_error err = { 0 };
	if (tide__load(path, NULL, &m, &err) || tide__model_check(m, &err))
		fail_msg("%s", err.text);
	return m;
}

static tide_model *whole_model(void)
{
	tidefile f;
	tidefile_some_of_everything(&f);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	unlink(rings);
	return load();
}

/* The file stops after any number of its bytes; the ring file has everything from a chunk before.
 */
static void test_every_split(void **state)
{
	tide_model *want = whole_model();
	tidefile f, all;
	bytes none = { 0 };
	tidefile_some_of_everything(&all);
	size_t unflushed = all.b.n;
	/* Nothing was flushed by the writer: tails at 0. */
	for (unsigned i = 0; i < 2; i++)
		all.rings[i].enc.next = 0;
	bytes b = ring_file(&all, &none, 0);
	save_rings(&b);
	tidefile_start_full(&f);
	for (size_t n = f.b.n; n <= unflushed; n += n < 1500 ? 1 : 7) {
		tidefile cut = { .b = { all.b.p, n, n } };
		tidefile_save(&cut, path);
		tide_model *m = load();
		const char *table = models_differ(want, m);
		if (table || fact_of(m, "tide.events") != 76 || fact_of(m, "loss.truncated_at") ||
		    fact_of(m, "loss.events") != 6)
			fail_msg("file of %zu bytes: %s differs, %lld events", n,
				 table ? table : "nothing", (long long)fact_of(m, "tide.events"));
		tide__model_free(m);
	}
	/* recover makes one file of the two, and reading it needs no ring file. */
	tide_rewrite w;
	assert_int_equal(tide__recover(path, out, &w, NULL), TIDE_OK);
	assert_int_equal(w.events, 76);
	assert_false(w.closed);
	assert_int_equal(rename(out, path), 0);
	unlink(rings);
	tide_model *m = load();
	assert_null(models_differ(want, m));
	assert_int_equal(fact_of(m, "loss.not_closed"), 0);
	tide__model_free(m);
	tide__model_free(want);
	tidefile_free(&f);
	tidefile_free(&all);
	bytes_free(&b);
}

/* Names that were only in the log. */
static void test_log(void **state)
{
	tidefile f;
	bytes log = { 0 };
	tidefile_start_full(&f);
	ev_lane(&f, 1, 1, 1, 100);
	ev_begin(&f, 1, 2, 5);
	record_add(&log, TIDE_REC_NAME, (uint64_t)5, "epsilon");
	bytes b = ring_file(&f, &log, 0);
	save_rings(&b);
	tidefile_save(&f, path);
	tide_model *m = load();
	assert_string_equal(tide__text(m, m->spans.name[1], NULL), "epsilon");
	assert_int_equal(m->spans.flags[1], TIDE_SPAN_OPEN);
	tide__model_free(m);
	tidefile_free(&f);
	bytes_free(&b);
	bytes_free(&log);
}

/* Another recording's ring file is left alone. */
static void test_stranger(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tidefile_start_full(&f);
	ev_mark(&f, 1, 1, 1, 1, 1);
	bytes b = ring_file(&f, &none, 0);
	b.p[20] ^= 1;
	save_rings(&b);
	tidefile_save(&f, path);
	tide_model *m = load();
	assert_int_equal(m->marks.n, 1);
	assert_int_equal(fact_of(m, "loss.not_closed"), 1);
	tide__model_free(m);
	tidefile_free(&f);
	bytes_free(&b);
}

/* Slots that the writer had released but that are missing in the file are still in the ring until
 * they are overwritten: then they are counted. */
static void test_gap(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tidefile_start_full(&f);
	for (unsigned i = 0; i < 10; i++)
		ev_mark(&f, 1, i, 1, 1, 1);
	f.rings[0].enc.next = 4; /* as if slots 0..3 had been written to a chunk that is gone */
	bytes b = ring_file(&f, &none, 0);
	save_rings(&b);
	tidefile_save(&f, path);
	tide_model *m = load();
	assert_int_equal(m->marks.n, 11);
	assert_int_equal(fact_of(m, "loss.ring_slots"), 0);
	tide__model_free(m);
	tide_block_head *ring = (tide_block_head *)(void *)(b.p + sizeof(tide_rings_head) + 8192);
	assert_int_equal(ring->type, TIDE_BLOCK_RING);
	ring->head = 260; /* once round, and 4 more; the last 6 are not in the file */
	ring->tail = 254;
	save_rings(&b);
	m = load();
	assert_int_equal(fact_of(m, "loss.ring_slots"), 254);
	assert_int_equal(m->marks.n, 5);
	tide__model_free(m);
	tidefile_free(&f);
	bytes_free(&b);
}

/* Every significant byte changed, and the ring file truncated everywhere: there is a model, and it
 * is always valid. */
static void test_hostile(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tidefile_some_of_everything(&f);
	bytes b = ring_file(&f, &none, 0);
	tidefile_save(&f, path);
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	for (size_t i = 0; i < b.n; i++) {
		if (i % 4096 >= 192 && i < 4096 * 3)
			continue;
		for (size_t k = 0; k < sizeof masks; k++) {
			b.p[i] ^= masks[k];
			if (b.p[i] != masks[k] || i % 4096 < 192) { /* empty slots: nothing new */
				save_rings(&b);
				tide__model_free(load());
			}
			b.p[i] ^= masks[k];
		}
	}
	for (size_t n = 0; n < b.n; n += 97) {
		bytes part = { b.p, n, n };
		save_rings(&part);
		tide__model_free(load());
	}
	tidefile_free(&f);
	bytes_free(&b);
}

/* A begin was lost before the file's last chunk: the ring file continues at the depth of that
 * chunk, with the same open ops. */
static void ops_with_a_loss(tidefile *f, bool flush)
{
	tidefile_start_full(f);
	ev_lane(f, 1, 1, 1, 100);
	ev_begin(f, 1, 2, 1);
	f->rings[0].depth = 2; /* one more began, but its event was lost */
	ev_mark(f, 1, 3, 3, 1, 1);
	if (flush)
		tidefile_flush(f, 1);
	ev_mark(f, 1, 4, 3, 1, 2);
	ev_end(f, 1, 5);
	ev_end(f, 1, 6);
}

static void test_depth_goes_on(void **state)
{
	tidefile f;
	bytes none = { 0 };
	ops_with_a_loss(&f, false);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	unlink(rings);
	tide_model *want = load();
	ops_with_a_loss(&f, true);
	bytes b = ring_file(&f, &none, 0);
	save_rings(&b);
	tidefile_save(&f, path);
	tide_model *m = load();
	assert_null(models_differ(want, m));
	assert_int_equal(m->spans.n, 3);
	tide__model_free(m);
	tide__model_free(want);
	tidefile_free(&f);
	bytes_free(&b);
}

/* Without its ring file, a recording that was not closed is still marked so after recover. */
static void test_recovered_without_rings(void **state)
{
	tidefile f;
	tide_rewrite w;
	tidefile_some_of_everything(&f);
	tidefile_save(&f, path);
	unlink(rings);
	assert_int_equal(tide__recover(path, out, &w, NULL), TIDE_OK);
	assert_false(w.closed || w.rings);
	assert_int_equal(rename(out, path), 0);
	tide_model *m = load();
	assert_int_equal(fact_of(m, "loss.not_closed"), 1);
	tide__model_free(m);
	tidefile_free(&f);
}

/* A ring file with many blocks of one ring: the first counts, the others are damage. (Each would
 * decode the file's last chunk of that ring again.) */
static void test_one_ring_twice(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tidefile_start_full(&f);
	for (unsigned i = 0; i < 10; i++)
		ev_mark(&f, 1, i, 1, 1, 1);
	bytes b = ring_file(&f, &none, 0), twice = { 0 };
	bytes_add(&twice, b.p, b.n);
	bytes_add(&twice, b.p + 4096 + 8192, 4096 + 256 * 32); /* ring 1 again, after 1 and 2 */
	save_rings(&twice);
	tidefile_save(&f, path);
	tide_model *m = load();
	assert_int_equal(m->marks.n, 11);
	assert_int_equal(fact_of(m, "loss.ring_damage"), 1);
	tide__model_free(m);
	tidefile_free(&f);
	bytes_free(&b);
	bytes_free(&twice);
}

/* A recording that was expanded into another folder: its ring file is found in the original folder,
 * and the recording is complete. */
static void test_rings_elsewhere(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tide_rewrite w;
	char copy[sizeof path + 8];
	tidefile_some_of_everything(&f);
	bytes b = ring_file(&f, &none, 0);
	save_rings(&b);
	snprintf(copy, sizeof copy, "%s.copy", path);
	tidefile_save(&f, copy);
	unlink(path);
	tide_rewrite_from from = { .path = copy, .rings = path, .stored = 10 };
	from.ends = (tide_error){ .code = TIDE_ETRUNC, .offset = 9 };
	assert_int_equal(tide__rewrite(&from, out, -1, &w, NULL), TIDE_OK);
	assert_true(w.rings && w.events == 76 && w.bytes_in == 10);
	assert_int_equal(w.damage.offset, 9);
	from.rings = NULL; /* none beside the copy */
	assert_int_equal(tide__rewrite(&from, out, -1, &w, NULL), TIDE_OK);
	assert_true(!w.rings && w.events < 76);
	unlink(copy);
	tidefile_free(&f);
	bytes_free(&b);
}

static void test_no_memory(void **state)
{
	tidefile f;
	bytes none = { 0 };
	tidefile_some_of_everything(&f);
	bytes b = ring_file(&f, &none, 0);
	save_rings(&b);
	tidefile_save(&f, path);
	for (int pack = -1; pack < 2; pack++) {
		for (uint64_t n = 1;; n++) {
			tide_model *m = NULL;
			tide_rewrite w;
			tide__mem_fail_at(n);
			tide_code rc = pack < 0 ? tide__load(path, NULL, &m, NULL)
				       : pack	? tide__pack(path, out, 3, &w, NULL)
						: tide__recover(path, out, &w, NULL);
			bool met = tide__mem_count() >= n;
			tide__mem_fail_at(0);
			tide__model_free(m);
			if (!met)
				break;
			if (rc && rc != TIDE_ENOMEM)
				fail_msg("allocation %llu: code %d", (unsigned long long)n, rc);
			if (!rc && pack >= 0 && (w.events != 76 || !w.rings))
				fail_msg("allocation %llu fails: %llu events, and no word of it",
					 (unsigned long long)n, (unsigned long long)w.events);
			assert_true(n < 10000);
		}
	}
	tidefile_free(&f);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_stranger),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_rings_elsewhere),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_one_ring_twice),
		cmocka_unit_test(test_depth_goes_on),
		cmocka_unit_test(test_recovered_without_rings),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
