// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Damaged .tide files: truncated at every byte, every byte changed, every error code with its
 * position, every allocation failing. Nothing crashes, nothing is silently wrong. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/read.h"
#include "format/rewrite.h"
#include "import/import.h"
#include "models.h"
#include "testing.h"

static char path[64], packed[80];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-damage-%d.tide", (int)getpid());
	snprintf(packed, sizeof packed, "%s.packed", path);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(packed);
	return 0;
}

static void save(const uint8_t *p, size_t n)
{
	tidefile f = { .b = { (uint8_t *)(uintptr_t)p, n, n } };
	tidefile_save(&f, path);
}

/* NULL and *err, or a model that holds all invariants. */
static tide_model *load(const char *name, size_t at, tide_error *err)
{
	tide_model *m;
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	if (tide__load(path, NULL, &m, err))
		return NULL;
	tide_error why;
	if (tide__model_check(m, &why))
		fail_msg("%s at %zu: %s", name, at, why.text);
	return m;
}

/* Bytes of the sample file, plain or packed. */
static bytes sample(int pack)
{
	tidefile f;
	bytes b = { 0 };
	uint8_t buf[4096];
	tidefile_some_of_everything(&f);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	if (pack) {
		tide_rewrite w;
		assert_int_equal(tide__pack(path, packed, 3, &w, NULL), TIDE_OK);
	}
	FILE *in = fopen(pack ? packed : path, "rb");
	for (size_t n; (n = fread(buf, 1, sizeof buf, in)) > 0;)
		bytes_add(&b, buf, n);
	fclose(in);
	return b;
}

static void cut_everywhere(int pack)
{
	bytes b = sample(pack);
	int64_t before = 0, all = 0;
	tide_error err;
	for (size_t n = 0; n <= b.n; n++) {
		save(b.p, n);
		tide_model *m = load("cut", n, &err);
		if (!m) {
			if (before || err.code == TIDE_ENOMEM || err.code == TIDE_OK ||
			    err.offset > n)
				fail_msg("cut at %zu: code %d, byte %llu: %s", n, err.code,
					 (unsigned long long)err.offset, err.text);
			continue;
		}
		int64_t events = fact_of(m, "tide.events");
		if (events < before || !has_loss(m) != (n == b.n))
			fail_msg("cut at %zu: %lld events after %lld", n, (long long)events,
				 (long long)before);
		int64_t at = fact_of(m, "loss.truncated_at");
		if (at ? at != (int64_t)n : !fact_of(m, "loss.not_closed") && n < b.n)
			fail_msg("cut at %zu: said to be at %lld", n, (long long)at);
		before = all = events;
		tide__model_free(m);
	}
	assert_int_equal(all, 76);
	bytes_free(&b);
}

static void test_cut(void **state)
{
	cut_everywhere(0);
}

static void test_cut_packed(void **state)
{
	cut_everywhere(1);
}

/* A file truncated inside an events chunk has every event that ends before that point. */
static void test_cut_events(void **state)
{
	tidefile f;
	tide_error err;
	tidefile_start_full(&f);
	size_t base = f.b.n + sizeof(tide_chunk_head);
	for (unsigned i = 0; i < 50; i++)
		ev_mark(&f, 1, i, 3, 1, 1); /* tag, dt, kind, name, value: 5 bytes each */
	tidefile_flush(&f, 1);
	for (size_t n = base; n <= f.b.n; n++) {
		save(f.b.p, n);
		tide_model *m = load("cut events", n, &err);
		assert_non_null(m);
		assert_int_equal(fact_of(m, "tide.events"), (n - base) / 5);
		tide__model_free(m);
	}
	tidefile_free(&f);
}

/* Every byte is under a checksum: a change is an error or a loss, never another trace. */
static void change_everywhere(int pack)
{
	bytes b = sample(pack);
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	tide_error err;
	for (size_t i = 0; i < b.n; i++) {
		for (size_t k = 0; k < sizeof masks; k++) {
			b.p[i] ^= masks[k];
			save(b.p, b.n);
			tide_model *m = load("change", i, &err);
			if (m ? !has_loss(m) : err.offset > b.n)
				fail_msg("byte %zu changed by %02x: nothing said", i, masks[k]);
			tide__model_free(m);
			b.p[i] ^= masks[k];
		}
	}
	bytes_free(&b);
}

static void test_change(void **state)
{
	change_everywhere(0);
}

static void test_change_packed(void **state)
{
	change_everywhere(1);
}

/* ---- every code, and where ---- */

#define U(x) ((uint64_t)(x))

static size_t no_magic(tidefile *f)
{
	memset(f->b.p, 'x', f->b.n);
	return 0;
}
static size_t empty(tidefile *f)
{
	f->b.n = 0;
	return 0;
}
static void head_again(tidefile *f, void (*change)(tide_file_head *h))
{
	tide_file_head h;
	memcpy(&h, f->b.p, sizeof h);
	change(&h);
	h.checksum = tide__file_head_sum(&h);
	memcpy(f->b.p, &h, sizeof h);
}
static void set_major(tide_file_head *h)
{
	h->major = 2;
}
static size_t other_major(tidefile *f)
{
	head_again(f, set_major);
	return offsetof(tide_file_head, major);
}
static void set_small(tide_file_head *h)
{
	h->head_size = 100;
}
static size_t small_head(tidefile *f)
{
	head_again(f, set_small);
	return offsetof(tide_file_head, head_size);
}
static size_t head_sum(tidefile *f)
{
	memset(f->b.p + 40, 0xff, f->b.n - 40); /* nothing sound follows */
	return offsetof(tide_file_head, checksum);
}
static size_t cut_head(tidefile *f)
{
	return f->b.n = 100;
}
static size_t only_head(tidefile *f)
{
	f->b.n = 128 + 30;
	return f->b.n;
}
static size_t cut_schema(tidefile *f)
{
	f->b.n = 128 + 100;
	return f->b.n;
}
static size_t schema_sum(tidefile *f)
{
	f->b.p[128 + 64 + 5] ^= 1;
	return 128;
}
static size_t no_schema(tidefile *f)
{
	bytes r = { 0 };
	f->b.n = 128;
	record_add(&r, TIDE_REC_FACT_NUM, "k", U(1));
	return tidefile_records(f, TIDE_CHUNK_FACTS, &r);
}
static size_t bad_schema(tidefile *f)
{
	static const uint8_t entry[] = { 40, 1, 'x', 1, '?', 1, 'a' };
	f->b.n = 128;
	tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_SCHEMA }, entry, sizeof entry);
	return 128 + 64;
}
static size_t long_schema(tidefile *f)
{
	static const uint8_t entry[] = {
		40, 1, 'x', 1, 'v', 2, 'a'
	}; /* claims a name of two bytes */
	f->b.n = 128;
	tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_SCHEMA }, entry, sizeof entry);
	return 128 + 64;
}
static size_t other_layout(tidefile *f)
{
	static const uint8_t entry[] = { TIDE_REC_FREE, 1, 'f', 1, 'v', 2, 'd', 't' };
	f->b.n = 128;
	tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_SCHEMA }, entry, sizeof entry);
	return 128 + 64;
}
static size_t name_order(tidefile *f)
{
	bytes r = { 0 };
	record_add(&r, TIDE_REC_NAME, U(5), "five");
	size_t second = r.n;
	record_add(&r, TIDE_REC_NAME, U(7), "seven");
	return tidefile_records(f, TIDE_CHUNK_DEFS, &r) + 64 + second;
}
static size_t bad_record(tidefile *f)
{
	static const uint8_t junk[] = { TIDE_REC_NAME, 5, 200, 1 };
	return tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_DEFS }, junk, sizeof junk) +
	       64;
}
static size_t wrong_magic(tidefile *f)
{
	size_t at = f->b.n;
	uint8_t junk[80] = { 1, 2, 3 };
	bytes_add(&f->b, junk, sizeof junk);
	return at;
}
static size_t huge_chunk(tidefile *f)
{
	tide_chunk_head h = {
		.magic = TIDE_CHUNK_MAGIC, .type = 3, .stored = UINT32_MAX, .raw = UINT32_MAX
	};
	size_t at = f->b.n;
	bytes_add(&f->b, &h, sizeof h);
	return at;
}
static size_t not_zstd(tidefile *f)
{
	tide_chunk_head h = { .type = TIDE_CHUNK_DEFS, .flags = TIDE_CHUNK_ZSTD };
	return tidefile_chunk(f, h, "nothing", 7);
}
static size_t short_zstd(tidefile *f)
{
	static const uint8_t three[] = { 0x28, 0xb5, 0x2f, 0xfd, /* a frame */
					 0x20, 3,		 /* of 3 bytes, one segment */
					 0x19, 0,    0, /* its last block, not compressed */
					 99,   99,   99 };
	tide_chunk_head h = { .magic = TIDE_CHUNK_MAGIC,
			      .type = TIDE_CHUNK_DEFS,
			      .flags = TIDE_CHUNK_ZSTD,
			      .stored = sizeof three,
			      .raw = 10 };
	size_t at = f->b.n;
	h.checksum = tide__chunk_checksum(&h, three);
	bytes_add(&f->b, &h, sizeof h);
	bytes_add(&f->b, three, sizeof three);
	return at;
}
static size_t inner_sum(tidefile *f)
{
	bytes r = { 0 }, in = { 0 };
	tide_chunk_head h = { .type = TIDE_CHUNK_DEFS };
	record_add(&r, TIDE_REC_NAME, U(5), "five");
	tide__chunk_seal(&h, r.p, (uint32_t)r.n);
	h.checksum ^= 1;
	bytes_add(&in, &h, sizeof h);
	bytes_add(&in, r.p, r.n);
	size_t at = tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_PACKED }, in.p, in.n);
	bytes_free(&r);
	bytes_free(&in);
	return at;
}
static size_t not_packed(tidefile *f)
{
	return tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_PACKED }, "nothing", 7);
}
static size_t bomb(tidefile *f)
{
	tide_chunk_head h = { .magic = TIDE_CHUNK_MAGIC,
			      .type = TIDE_CHUNK_DEFS,
			      .flags = TIDE_CHUNK_ZSTD,
			      .raw = 60 << 20 };
	size_t at = 0;
	for (int i = 0; i < 5; i++) { /* 300 MB promised by a file of 2 KB */
		at = f->b.n;
		h.type = 99;
		h.checksum = tide__chunk_checksum(&h, "");
		bytes_add(&f->b, &h, sizeof h);
	}
	return at;
}

/* A process killed in its first write, without its ring file, leaves no readable event. */
static size_t first_events(tidefile *f)
{
	size_t at = f->b.n;
	ev_lane(f, 1, 5, 1, 100);
	ev_mark(f, 1, 6, 3, 2, -9);
	tidefile_flush(f, 1);
	f->b.p[f->b.n - 1] ^= 1;
	return at;
}

static void test_codes(void **state)
{
	static const struct {
		const char *name;
		size_t (*damage)(tidefile *f); /* returns the byte of the expected error */
		tide_code code;
	} rows[] = {
		{ "not a known format", no_magic, TIDE_EFORMAT },
		{ "empty", empty, TIDE_EFORMAT },
		{ "another major version", other_major, TIDE_EFORMAT },
		{ "head too small", small_head, TIDE_ECORRUPT },
		{ "head's checksum", head_sum, TIDE_ECORRUPT },
		{ "ends in the head", cut_head, TIDE_ETRUNC },
		{ "ends in a chunk's head", only_head, TIDE_ETRUNC },
		{ "ends in a chunk", cut_schema, TIDE_ETRUNC },
		{ "chunk's checksum", schema_sum, TIDE_ECORRUPT },
		{ "no schema", no_schema, TIDE_ECORRUPT },
		{ "malformed schema", bad_schema, TIDE_ECORRUPT },
		{ "a record type of another layout", other_layout, TIDE_EFORMAT },
		{ "name out of order", name_order, TIDE_ECORRUPT },
		{ "malformed definition", bad_record, TIDE_ECORRUPT },
		{ "no chunk where one should be", wrong_magic, TIDE_ECORRUPT },
		{ "chunk of 4 GB", huge_chunk, TIDE_ECORRUPT },
		{ "first events torn", first_events, TIDE_ECORRUPT },
		{ "not zstd", not_zstd, TIDE_ECORRUPT },
		{ "zstd of less than it says", short_zstd, TIDE_ECORRUPT },
		{ "a packed chunk's checksum", inner_sum, TIDE_ECORRUPT },
		{ "a text beyond the schema", long_schema, TIDE_ECORRUPT },
		{ "packed nonsense", not_packed, TIDE_ECORRUPT },
		{ "expands too far", bomb, TIDE_ELIMIT },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tidefile f;
		tide_error err;
		tidefile_start_full(&f);
		size_t at = rows[i].damage(&f);
		tidefile_save(&f, path);
		tidefile_free(&f);
		tide_model *m = load(rows[i].name, 0, &err);
		if (m || err.code != rows[i].code || err.offset != at || !*err.text)
			fail_msg("%s: code %d at byte %llu, not %d at %zu: %s", rows[i].name,
				 err.code, (unsigned long long)err.offset, rows[i].code, at,
				 err.text);
	}
	tide_error err;
	tidefile f;
	tidefile_start_full(&f);
	first_events(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	assert_null(load("first events torn", 0, &err));
	assert_string_equal(
		err.text,
		"a chunk's checksum does not match, before the first event, and there is no ring "
		"file beside it");
	tidefile_start_full(&f);
	short_zstd(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	assert_null(load("zstd of less than it says", 0, &err));
	assert_non_null(strstr(err.text, "a chunk does not decompress: wrong size"));
	unlink(path);
	assert_null(load("no file", 0, &err));
	assert_int_equal(err.code, TIDE_EIO);
	assert_int_equal(err.sys_errno, 2);
}

/* A malformed event in a sound chunk: events before it and those of other chunks are read. */
static void test_bad_event(void **state)
{
	tidefile f;
	tide_error err;
	bytes r = { 0 };
	tidefile_start_full(&f);
	record_add(&r, TIDE_REC_MARK, U(5), U(3), U(1), U(0));
	size_t good = r.n;
	bytes_add(&r, "\x3f\x01\x02", 3); /* tag 63 */
	tide_chunk_head h = { .type = TIDE_CHUNK_EVENTS, .ring = 1, .slots = 2, .count = 3 };
	size_t at = tidefile_chunk(&f, h, r.p, r.n) + sizeof h + good;
	bytes_free(&r);
	ev_mark(&f, 2, 9, 1, 1, 1);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	tide_model *m = load("bad event", 0, &err);
	assert_non_null(m);
	assert_int_equal(m->marks.n, 3);
	assert_int_equal(fact_of(m, "loss.corrupt_at"), at);
	assert_int_equal(fact_of(m, "loss.unread_records"), 2);
	tide__model_free(m);
}

/* Sizes of 2^48 bytes and more are malformed, in both decoders: in a file of this version's schema,
 * the fast decoder reads ALLOC, the general one OOM and SEG_ALLOC. */
static void test_size_range(void **state)
{
	static const struct {
		const char *name;
		unsigned tag;
		uint64_t size;
		bool sound;
	} rows[] = {
		{ "alloc, the largest", TIDE_REC_ALLOC, (UINT64_C(1) << 48) - 1, true },
		{ "alloc, one more", TIDE_REC_ALLOC, UINT64_C(1) << 48, false },
		{ "segment, the largest", TIDE_REC_SEG_ALLOC, (UINT64_C(1) << 48) - 1, true },
		{ "segment, one more", TIDE_REC_SEG_ALLOC, UINT64_C(1) << 48, false },
		{ "oom, the largest", TIDE_REC_OOM, INT64_MAX, true },
		{ "oom, one more", TIDE_REC_OOM, UINT64_C(1) << 63, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tidefile f;
		tide_error err;
		bytes r = { 0 };
		tidefile_start_full(&f);
		unsigned tag = rows[i].tag | TIDE_TAG_POOL;
		if (rows[i].tag == TIDE_REC_OOM)
			record_add(&r, tag, U(5), U(1), rows[i].size, U(0));
		else if (rows[i].tag == TIDE_REC_SEG_ALLOC)
			record_add(&r, tag, U(5), U(4096), rows[i].size, U(1), U(1), U(1));
		else
			record_add(&r, tag, U(5), U(4096), rows[i].size, U(1), U(1));
		tidefile_chunk(
			&f,
			(tide_chunk_head){
				.type = TIDE_CHUNK_EVENTS, .ring = 1, .slots = 1, .count = 1 },
			r.p, r.n);
		bytes_free(&r);
		tidefile_end(&f);
		tidefile_save(&f, path);
		tidefile_free(&f);
		tide_model *m = load(rows[i].name, 0, &err);
		assert_non_null(m);
		if ((fact_of(m, "loss.corrupt_at") == 0) != rows[i].sound)
			fail_msg("%s", rows[i].name);
		tide__model_free(m);
	}
}

/* Unknown chunks, unknown records and fields added at a record's end are skipped and counted. */
static void test_newer(void **state)
{
	tidefile f;
	tide_error err;
	uint8_t schema[TIDE_SCHEMA_MAX + 64];
	uint32_t count;
	tidefile_start(&f, TIDE_CLOCK_NS, 0);
	f.b.n = 128;
	size_t n = tide__encode_schema(schema, &count);
	uint8_t *p = schema + n;
	*p++ = 21; /* a new event: ticks, address, text, array, double */
	p = tide__put_s(p, "new", 3);
	p = tide__put_s(p, "txsad", 5);
	p = tide__put_s(p, "dt,addr,a,b,c", 13);
	*p++ = TIDE_REC_MARK; /* a known one that has grown */
	p = tide__put_s(p, "mark", 4);
	p = tide__put_s(p, "tvvzsv", 6);
	p = tide__put_s(p, "dt,kind,name,value,why,how", 26);
	tidefile_chunk(&f, (tide_chunk_head){ .type = TIDE_CHUNK_SCHEMA }, schema,
		       (size_t)(p - schema));
	tidefile_chunk(&f, (tide_chunk_head){ .type = 200 }, "whatever", 8);
	static const uint8_t events[] = {
		21,
		7,
		0x40,
		2,
		'h',
		'i',
		2,
		1,
		0x80,
		1,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0, /* t += 7, addr = 32 */
		TIDE_REC_ALLOC,
		3,
		0x20,
		8, /* t = 10, addr = 48 */
		TIDE_REC_MARK,
		1,
		3,
		0,
		2,
		3,
		'w',
		'h',
		'y',
		9, /* t = 11 */
	};
	tidefile_chunk(
		&f,
		(tide_chunk_head){ .type = TIDE_CHUNK_EVENTS, .ring = 1, .slots = 3, .count = 3 },
		events, sizeof events);
	f.events = 2;
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	tide_model *m = load("newer", 0, &err);
	assert_non_null(m);
	assert_int_equal(fact_of(m, "loss.unknown_chunks"), 1);
	assert_int_equal(fact_of(m, "loss.unknown_records"), 1);
	assert_int_equal(m->allocs.n, 2);
	assert_int_equal(m->allocs.addr[1], 48);
	assert_int_equal(m->allocs.born[1], 10);
	assert_int_equal(m->marks.value[1], 1);
	assert_int_equal(m->marks.t[1], 11);
	tide__model_free(m);
}

/* The n-th allocation fails, for every n: out of memory, nothing else, nothing leaked. */
static void no_memory(int pack)
{
	bytes b = sample(pack);
	save(b.p, b.n);
	for (uint64_t n = 1;; n++) {
		tide_model *m;
		tide_error err = { 0 };
		tide__mem_fail_at(n);
		tide_code rc = tide__load(path, NULL, &m, &err);
		bool met = tide__mem_count() >= n;
		tide__mem_fail_at(0);
		if (!met) {
			assert_int_equal(rc, TIDE_OK);
			tide__model_free(m);
			break;
		}
		if (rc == TIDE_OK) /* a few may fail without harm: shrinking */
			tide__model_free(m);
		else if (rc != TIDE_ENOMEM || m)
			fail_msg("allocation %llu fails: code %d: %s", (unsigned long long)n, rc,
				 err.text);
		assert_true(n < 10000);
	}
	bytes_free(&b);
}

static void test_no_memory(void **state)
{
	no_memory(0);
}

static void test_no_memory_packed(void **state)
{
	no_memory(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_packed),
		cmocka_unit_test(test_cut_events),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_change_packed),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_bad_event),
		cmocka_unit_test(test_newer),
		cmocka_unit_test(test_size_range),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_packed),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
