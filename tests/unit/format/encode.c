// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The encoder: the exact bytes of every record (they are the format: a change here is a new
 * version), the repair of depths and times, and slots that no recorder wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/encode.h"
#include "format/decode.h"
#include "format/read.h"
#include "format/varint.h"
#include "testing.h"

#define SLOT(type, pool, depth, t, a, b, c)                                         \
	{                                                                           \
		t, a, b, c, TIDE_REC_##type | (pool) << 8 | (uint32_t)(depth) << 20 \
	}
#define ON(size, stream) ((uint64_t)(size) | (uint64_t)(stream) << 48)

/* Slots, the payload they become (hex), and the open ops before and after. */
static const struct row {
	const char *name;
	tide_ring_slot slots[4];
	unsigned n, depth0, depth1;
	const char *bytes;
} rows[] = {
	{ "lane", { SLOT(LANE, 0, 0, 100, 1, 300, 0) }, 1, 0, 0, "01 00 01 ac02" },
	{ "lane ends nesting", { SLOT(LANE, 0, 0, 100, 2, 5, 0) }, 1, 3, 0, "01 00 02 05" },
	{ "begin, end",
	  { SLOT(BEGIN, 0, 0, 100, 0, 0, 5), SLOT(END, 0, 0, 107, 0, 0, 0) },
	  2,
	  0,
	  0,
	  "02 00 05 | 03 07" },
	{ "begin with an arg",
	  { SLOT(BEGIN_ARG, 0, 0, 100, 200, 0, 5) },
	  1,
	  0,
	  1,
	  "0f 00 05 c801" },
	{ "begin with all of it",
	  { SLOT(BEGIN_FULL, 0, 0, 100, 200, UINT64_C(3) << 32 | 300, 5) },
	  1,
	  0,
	  1,
	  "11 00 05 c801 ac02 03" },
	{ "of all of it, a stack alone: whose a number is says nothing without one",
	  { SLOT(BEGIN_FULL, 0, 0, 100, 0, UINT64_C(3) << 32 | 300, 5) },
	  1,
	  0,
	  1,
	  "11 00 05 00 ac02 00" },
	{ "of all of it, whose a number is, and none",
	  { SLOT(BEGIN_FULL, 0, 0, 100, 0, UINT64_C(3) << 32, 5) },
	  1,
	  0,
	  1,
	  "02 00 05" },
	{ "of all of it, a number alone",
	  { SLOT(BEGIN_FULL, 0, 0, 100, 200, 0, 5) },
	  1,
	  0,
	  1,
	  "0f 00 05 c801" },
	{ "an arg of 0 that was said",
	  { SLOT(BEGIN_ARG, 0, 0, 100, 0, 0, 5) },
	  1,
	  0,
	  1,
	  "0f 00 05 00" },
	{ "alloc, pool and stream first said",
	  { SLOT(ALLOC, 2, 0, 100, 64, ON(16, 3), 0) },
	  1,
	  0,
	  0,
	  "84 00 8001 10 02 03" },
	{ "alloc in pool 0", { SLOT(ALLOC, 0, 0, 100, 64, 16, 0) }, 1, 0, 0, "04 00 8001 10" },
	{ "free of a recent address",
	  { SLOT(ALLOC, 2, 0, 100, 64, 16, 0), SLOT(FREE, 2, 0, 101, 64, 0, 0) },
	  2,
	  0,
	  0,
	  "84 00 8001 10 02 00 | 45 01 8d" },
	{ "free elsewhere",
	  { SLOT(ALLOC, 2, 0, 100, 64, 16, 0), SLOT(FREE, 3, 0, 101, 32, 0, 0) },
	  2,
	  0,
	  0,
	  "84 00 8001 10 02 00 | 85 01 3f 03" },
	{ "alloc with a stack",
	  { SLOT(ALLOC_STACK, 0, 0, 100, 1, 2, 9) },
	  1,
	  0,
	  0,
	  "0e 00 02 02 09" },
	{ "alloc with everything",
	  { SLOT(ALLOC_FULL, 0, 0, 100, 1, 2, 9), { .ticks = 130 } },
	  2,
	  0,
	  0,
	  "0d 00 02 02 09 8201" },
	{ "segment",
	  { SLOT(SEG_ALLOC, 0, 0, 100, 1, 2, 3), SLOT(SEG_FREE, 0, 0, 100, 1, 2, 0) },
	  2,
	  0,
	  0,
	  "06 00 02 02 03 | 47 00 9e 02" },
	{ "tensor",
	  { SLOT(TENSOR, 1, 0, 100, 1, 2 << 24 | 1 << 16 | 4 << 8 | 3, 7), { 10, 300, 0, 0, 0 } },
	  2,
	  0,
	  0,
	  "88 00 02 01 07 03 04 01 02 0a ac02" },
	{ "sample",
	  { SLOT(SAMPLE, 0, 0, 100, 0x3ff8000000000000, 0, 7) },
	  1,
	  0,
	  0,
	  "09 00 07 000000000000f83f" },
	{ "mark", { SLOT(MARK, 0, 0, 100, (uint64_t)-3, 1, 7) }, 1, 0, 0, "0a 00 01 07 05" },
	{ "annotation",
	  { SLOT(ANNOTATE, 0, 0, 100, 2, 0, 7), { .ticks = 0x6968 } },
	  2,
	  0,
	  0,
	  "0b 00 07 02 6869" },
	{ "oom", { SLOT(OOM, 1, 0, 100, UINT64_MAX, 16, 0) }, 1, 0, 0, "8c 00 01 10 01" },
	{ "event in an op never seen to begin",
	  { SLOT(FREE, 0, 2, 100, 1, 0, 0) },
	  1,
	  0,
	  2,
	  "10 00 02 | 05 00 02" },
	{ "event after an end never seen",
	  { SLOT(MARK, 0, 1, 100, 0, 1, 0) },
	  1,
	  3,
	  1,
	  "10 00 01 | 0a 00 01 00 00" },
	{ "end of the outer op", { SLOT(END, 0, 0, 100, 0, 0, 0) }, 1, 3, 0, "10 00 01 | 03 00" },
	{ "a clock that steps back is held",
	  { SLOT(END, 0, 1, 100, 0, 0, 0), SLOT(BEGIN, 0, 1, 90, 0, 0, 1),
	    SLOT(END, 0, 1, 103, 0, 0, 0) },
	  3,
	  2,
	  1,
	  "03 00 | 02 00 01 | 03 03" },
	{ "nonsense is skipped",
	  { { .head = 99 }, SLOT(MARK, 0, 0, 100, 0, 1, 0) },
	  2,
	  0,
	  0,
	  "0a 64 01 00 00" },
	{ "continuation beyond the head", { SLOT(ALLOC_FULL, 0, 0, 100, 1, 2, 9) }, 1, 0, 0, "" },
	{ "text too long", { SLOT(ANNOTATE, 0, 0, 100, 5000, 0, 7) }, 1, 0, 0, "" },
};

static void hex(char *out, const uint8_t *p, size_t n)
{
	*out = 0;
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

static void unspaced(char *out, const char *in)
{
	for (; *in; in++)
		if (*in != ' ' && *in != '|')
			*out++ = *in;
	*out = 0;
}

static void exact_bytes(void **state)
{
	static uint8_t out[TIDE_EVENTS_CHUNK];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		tide_encoder e = { .ring = 3, .depth = r->depth0 };
		char got[256], want[256];
		size_t n = tide__encode_events(&e, r->slots, 3, r->n, out);
		tide_chunk_head h;
		memcpy(&h, out, sizeof h);
		hex(got, out + sizeof h, n - sizeof h);
		unspaced(want, r->bytes);
		if (strcmp(got, want) != 0 || e.depth != r->depth1)
			fail_msg("%s: %s, not %s; depth %u", r->name, got, want, e.depth);
		assert_int_equal(h.first, 0);
		assert_int_equal(h.slots, r->n);
		assert_int_equal(e.next, r->n);
		assert_int_equal(h.depth, r->depth0);
		assert_int_equal(h.ring, 3);
		assert_int_equal(h.stored, n - sizeof h);
		assert_int_equal(h.checksum, tide__chunk_checksum(&h, out + sizeof h));
	}
}

static void schema_is_understood(void **state)
{
	uint8_t bytes[TIDE_SCHEMA_MAX + TIDE_PAD] = { 0 };
	uint32_t count;
	tide_schema s;
	size_t n = tide__encode_schema(bytes, &count);
	assert_true(n <= TIDE_SCHEMA_MAX && count > 20);
	assert_int_equal(tide__schema_read(&s, bytes, n, 0, NULL), TIDE_OK);
	assert_true(s.plain);
}

static uint64_t rnd(void)
{
	static uint64_t s = 1;
	s = s * 6364136223846793005u + 1442695040888963407u;
	return s >> 29 ^ s << 35;
}

/* Rings of random bytes, types mostly real: chunks stay in bounds, cover every slot, and decode. */
static void slots_are_not_trusted(void **state)
{
	enum { SLOTS = 4096 };
	static tide_ring_slot slots[SLOTS];
	uint8_t *out = calloc(1, TIDE_EVENTS_CHUNK + TIDE_PAD);
	tide_schema schema;
	tide__schema_own(&schema);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < SLOTS; i++) {
			slots[i] = (tide_ring_slot){ rnd(), rnd() >> rnd() % 64, rnd(),
						     (uint32_t)rnd(), (uint32_t)rnd() };
			if (rnd() % 8)
				slots[i].head = (slots[i].head & ~0xffu) | (1 + rnd() % 15);
		}
		tide_encoder e = { .ring = 1, .next = rnd() % 100 };
		uint64_t end = e.next + SLOTS, records = 0;
		while (e.next < end) {
			uint64_t from = e.next;
			size_t n = tide__encode_events(&e, slots, SLOTS - 1, end, out);
			tide_chunk_head h;
			memcpy(&h, out, sizeof h);
			assert_true(n >= sizeof h && n <= TIDE_EVENTS_CHUNK);
			assert_true(h.slots >= 1 && h.first == from && e.next == from + h.slots &&
				    e.next <= end);
			memset(out + n, 0,
			       TIDE_PAD < TIDE_EVENTS_CHUNK + TIDE_PAD - n ? TIDE_PAD : 0);
			tide_cursor c;
			tide_event some[64];
			tide__cursor_start(&c, &schema, out + sizeof h, h.stored, h.ticks);
			while (tide__events_decode(&c, some, 64))
				;
			assert_false(c.bad);
			assert_int_equal(c.records, h.count);
			records += h.count;
		}
		assert_true(records >= e.events);
		assert_int_equal(tide__encode_events(&e, slots, SLOTS - 1, end, out), 0);
	}
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_bytes),
		cmocka_unit_test(schema_is_understood),
		cmocka_unit_test(slots_are_not_trusted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
