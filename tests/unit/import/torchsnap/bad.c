// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pickles that are no snapshots: each ends in one line with its place, and nothing else happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/torchsnap/load.h"
#include "testing.h"

#define P4 "\x80\x04"

static const struct row {
	const char *name;
	const char *bytes;
	size_t n;
	tide_code code;
	int64_t offset; /* -1: none */
	const char *says;
} rows[] = {
#define ROW(name, bytes, code, offset, says)                       \
	{                                                          \
		name, bytes, sizeof(bytes) - 1, code, offset, says \
	}
	ROW("nothing", "", TIDE_ETRUNC, 0, "ends without STOP"),
	ROW("no stop", P4 "}", TIDE_ETRUNC, 3, "ends without STOP"),
	ROW("protocol", "\x80\x06}.", TIDE_EFORMAT, 0, "protocol 6"),
	ROW("no opcode", P4 "\xff", TIDE_ECORRUPT, 2, "0xff is not a pickle opcode"),
	/* functions */
	ROW("global", P4 "cos\nsystem\n(U\x02lstR.", TIDE_EFORMAT, 2, "names os.system (GLOBAL)"),
	ROW("global with dirt", P4 "co\x1b[s\nsys\x01m\n.", TIDE_EFORMAT, 2, "names o?[s.sys?m"),
	ROW("stack global", P4 "\x8c\x02os\x8c\x06system\x93.", TIDE_EFORMAT, 14,
	    "names os.system"),
	ROW("stack global of nothing", P4 "\x93.", TIDE_EFORMAT, 2, "names ?.?"),
	ROW("inst", "(ios\nsystem\n.", TIDE_EFORMAT, 1, "names os.system (INST)"),
	ROW("reduce", P4 "NNR.", TIDE_EFORMAT, 4, "calls a function (REDUCE)"),
	ROW("build", P4 "}}b.", TIDE_EFORMAT, 4, "(BUILD)"),
	ROW("obj", "(No.", TIDE_EFORMAT, 2, "(OBJ)"),
	ROW("newobj", P4 "NN\x81.", TIDE_EFORMAT, 4, "(NEWOBJ)"),
	ROW("newobj_ex", P4 "NNN\x92.", TIDE_EFORMAT, 5, "(NEWOBJ_EX)"),
	ROW("ext1", P4 "\x82\x01.", TIDE_EFORMAT, 2, "(EXT1)"),
	ROW("ext4", P4 "\x84\x01\x00\x00\x00.", TIDE_EFORMAT, 2, "(EXT4)"),
	ROW("persid", "Pabc\n.", TIDE_EFORMAT, 0, "outside of it (PERSID)"),
	ROW("binpersid", P4 "NQ.", TIDE_EFORMAT, 3, "(BINPERSID)"),
	ROW("next buffer", "\x80\x05\x97.", TIDE_EFORMAT, 2, "(NEXT_BUFFER)"),
	ROW("global in a dict", P4 "}(\x8c\x08segmentscos\nsystem\nu.", TIDE_EFORMAT, 14,
	    "os.system"),
	/* stack, marks, memo */
	ROW("pop of nothing", P4 "0.", TIDE_ECORRUPT, 2, "POP finds too few"),
	ROW("append to nothing", P4 "Na.", TIDE_ECORRUPT, 3, "APPEND finds too few"),
	ROW("append below a mark", P4 "](Na.", TIDE_ECORRUPT, 5, "APPEND finds too few"),
	ROW("appends without mark", P4 "]e.", TIDE_ECORRUPT, 3, "no mark"),
	ROW("appends to a number", P4 "K\x01(Ne.", TIDE_ECORRUPT, 6, "a value that is not a list"),
	ROW("setitems on a list", P4 "](NNu.", TIDE_ECORRUPT, 6, "a value that is not a dict"),
	ROW("odd items", P4 "}(Nu.", TIDE_ECORRUPT, 5, "without its value"),
	ROW("tuple2 of one", P4 "N\x86.", TIDE_ECORRUPT, 3, "TUPLE2 finds too few"),
	ROW("two results", P4 "NN.", TIDE_ECORRUPT, 4, "2 values"),
	ROW("mark left", P4 "N(.", TIDE_ECORRUPT, 4, "STOP"),
	ROW("no result", P4 ".", TIDE_ECORRUPT, 2, "0 values"),
	ROW("missing memo", P4 "h\x05.", TIDE_ECORRUPT, 2, "memo entry 5 does not exist"),
	ROW("missing long memo", P4 "j\x05\x01\x00\x00.", TIDE_ECORRUPT, 2, "memo entry 261"),
	ROW("missing text memo", "g7\n.", TIDE_ECORRUPT, 0, "memo entry 7"),
	ROW("memo index that lies", P4 "Nr\xff\xff\xff\x7f.", TIDE_ECORRUPT, 3,
	    "memo entry 2147483647"),
	ROW("memo hole", P4 "Nq\x03h\x02.", TIDE_ECORRUPT, 5, "memo entry 2 does"),
	ROW("memoize nothing", P4 "\x94.", TIDE_ECORRUPT, 2, "MEMOIZE finds too few"),
	ROW("put without number", "Npx\n.", TIDE_ECORRUPT, 1, "PUT without a number"),
	/* lengths */
	ROW("text that lies",
	    P4 "X\xff\xff\xff\x7f"
	       "abc.",
	    TIDE_ETRUNC, 2, "needs 2147483647 bytes"),
	ROW("text of 2^64",
	    P4 "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
	       "abc.",
	    TIDE_ETRUNC, 2, "needs 18446744073709551615"),
	ROW("bytes that lie",
	    P4 "B\x09\x00\x00\x00"
	       "abc.",
	    TIDE_ETRUNC, 2, "BINBYTES needs 9"),
	ROW("long that lies",
	    P4 "\x8a\x20"
	       "abc.",
	    TIDE_ETRUNC, 2, "in the middle of LONG1"),
	ROW("long4 below zero",
	    P4 "\x8b\xff\xff\xff\xff"
	       "abc.",
	    TIDE_ECORRUPT, 2, "negative length"),
	ROW("frame that lies", P4 "\x95\xff\x00\x00\x00\x00\x00\x00\x00}.", TIDE_ETRUNC, 2,
	    "a frame of 255"),
	ROW("line without end", "I12", TIDE_ETRUNC, 0, "ends in the line of INT"),
	ROW("string without quotes", "Sabc\n.", TIDE_ECORRUPT, 0, "without its quotes"),
	ROW("one quote", "S'\n.", TIDE_ECORRUPT, 0, "without its quotes"),
	ROW("int that is none", "Iabc\n.", TIDE_ECORRUPT, 0, "INT is not a number"),
	/* other things than a snapshot */
	ROW("none", P4 "N.", TIDE_EFORMAT, 0, "holds a constant, not a memory snapshot"),
	ROW("number", P4 "K\x05.", TIDE_EFORMAT, 0, "holds a number"),
	ROW("list", P4 "].", TIDE_EFORMAT, 0, "holds a list"),
	ROW("empty dict", P4 "}.", TIDE_EFORMAT, 0, "neither segments nor device_traces"),
	ROW("other dict",
	    P4 "}\x8c\x01"
	       "aK\x01s.",
	    TIDE_EFORMAT, 0, "neither segments nor"),
	ROW("segments that are none", P4 "}\x8c\x08segmentsK\x01s.", TIDE_EFORMAT, -1,
	    "segments is not a list"),
	ROW("a segment that is none",
	    P4 "}\x8c\x08segments]K\x01"
	       "as.",
	    TIDE_ECORRUPT, -1, "segments[0]: a segment that is not a dict"),
	ROW("an empty segment", P4 "}\x8c\x08segments]}as.", TIDE_ECORRUPT, 14,
	    "without a possible address"),
	ROW("traces that are none",
	    P4 "}\x8c\x0d"
	       "device_tracesNs.",
	    TIDE_EFORMAT, -1, "device_traces is not a list"),
	ROW("a trace that is none",
	    P4 "}\x8c\x0d"
	       "device_traces]K\x01"
	       "as.",
	    TIDE_ECORRUPT, -1, "a trace that is not a list"),
	ROW("an event that is none",
	    P4 "}\x8c\x0d"
	       "device_traces]]K\x01"
	       "aas.",
	    TIDE_ECORRUPT, -1, "device_traces[0]: item 0 is not an allocator event"),
	ROW("an event without size",
	    P4 "}\x8c\x0d"
	       "device_traces]]}\x8c\x06"
	       "action\x8c\x05"
	       "allocsaas.",
	    TIDE_ECORRUPT, 20, "item 0 is not an allocator event"),
	ROW("a list in itself",
	    P4 "]\x94h\x00"
	       "a.",
	    TIDE_EFORMAT, 0, "holds a list"),
	ROW("a trace of itself",
	    P4 "}\x8c\x0d"
	       "device_traces]\x94h\x00"
	       "as.",
	    TIDE_ECORRUPT, 18, "item 0"),
#undef ROW
};

static tide_code import(const char *bytes, size_t n, tide_error *err)
{
	tide_model *m = tide__model_new();
	uint8_t *copy = malloc(n ? n : 1); /* no byte beyond it may be read */
	assert_non_null(m);
	memcpy(copy, bytes, n);
	memset(err, 0, sizeof *err);
	tide_code rc = tide__snap_import(copy, n, NULL, m, err);
	tide_error broken;
	if (!rc && tide__model_check(m, &broken))
		fail_msg("%s", broken.text);
	if (rc && (!err->text[0] || strchr(err->text, '\n')))
		fail_msg("error %d without one line of text", rc);
	free(copy);
	tide__model_free(m);
	return rc;
}

static void each_says_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		tide_error err;
		tide_code rc = import(r->bytes, r->n, &err);
		if (rc != r->code || (int64_t)err.offset != r->offset || !strstr(err.text, r->says))
			fail_msg("%s: code %d at %lld: %s", r->name, rc, (long long)err.offset,
				 err.text);
	}
}

/* An opcode that needs n values refuses n - 1 of them, whether nothing lies below or a mark with
 * values under it; with n values it gives no such error. */
static void each_needs_its_values(void **state)
{
	static const struct {
		const char *op, *name;
		size_t bytes, needs;
	} all[] = {
		{ "0", "POP", 1, 1 },	       { "2", "DUP", 1, 1 },
		{ "\x85", "TUPLE1", 1, 1 },    { "\x86", "TUPLE2", 1, 2 },
		{ "\x87", "TUPLE3", 1, 3 },    { "a", "APPEND", 1, 2 },
		{ "s", "SETITEM", 1, 3 },      { "p0\n", "PUT", 3, 1 },
		{ "q\0", "BINPUT", 2, 1 },     { "r\0\0\0\0", "LONG_BINPUT", 5, 1 },
		{ "\x94", "MEMOIZE", 1, 1 },   { "(e", "APPENDS", 2, 1 },
		{ "(u", "SETITEMS", 2, 1 },    { "(\x90", "ADDITEMS", 2, 1 },
		{ "1", "POP_MARK", 1, 9 },     { "t", "TUPLE", 1, 9 },
		{ "l", "LIST", 1, 9 },	       { "d", "DICT", 1, 9 },
		{ "\x91", "FROZENSET", 1, 9 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (size_t have = 0; have <= all[i].needs && have < 4; have++)
			for (int below = 0; below < 2; below++) {
				char bytes[32] = "\x80\x04";
				bool no_mark = all[i].needs == 9; /* they need a mark */
				size_t n = 2;
				if (below && (no_mark || all[i].op[0] == '0'))
					continue;
				if (below)
					n += (size_t)sprintf(bytes + n, "NNN(");
				memset(bytes + n, 'N', have);
				memcpy(bytes + n + have, all[i].op, all[i].bytes);
				n += have + all[i].bytes;
				tide_error err;
				char wanted[64];
				tide_code rc = import(bytes, n, &err);
				snprintf(wanted, sizeof wanted, "%s finds %s", all[i].name,
					 no_mark ? "no mark" : "too few values");
				bool says = rc == TIDE_ECORRUPT && strstr(err.text, wanted) &&
					    err.offset == n - all[i].bytes + (all[i].op[0] == '(');
				if (says != (have < all[i].needs))
					fail_msg("%s with %zu values: code %d at %lld: %s",
						 all[i].name, have, rc, (long long)err.offset,
						 err.text);
			}
}

/* Another value in place of frames gives no stack, and its bits are not used as an id. */
static void frames_that_are_none(void **state)
{
	(void)state;
#define NUMBER(key, n) "\x8c" key "J" n
#define ONE_BLOCK(frames)                                                                         \
	P4 "}\x8c\x08segments](}(" NUMBER("\x07"                                                  \
					  "address",                                              \
					  "\x00\x00\x20\x00")                                     \
		NUMBER("\x0atotal_size",                                                          \
		       "\x00\x00\x20\x00") "\x8c\x06"                                             \
					   "frames" frames "\x8c\x06"                             \
					   "blocks](}(" NUMBER("\x07"                             \
							       "address",                         \
							       "\x00\x00\x20\x00")                \
						   NUMBER("\x04size",                             \
							  "\x00\x00\x20\x00") "\x8c\x05state\x8c" \
									      "\x10"              \
									      "active_"           \
									      "allocated\x8c\x06" \
									      "frames" frames     \
									      "ueues."
	static const char number[] = ONE_BLOCK("J\x40\x42\x0f\x00"),
			  text[] = ONE_BLOCK("\x8c\x03"
					     "abc"),
			  list[] = ONE_BLOCK("](K\x05K\x06"
					     "e"),
			  none[] = ONE_BLOCK("N");
	static const struct {
		const char *bytes;
		size_t n;
	} all[] = { { number, sizeof number - 1 },
		    { text, sizeof text - 1 },
		    { list, sizeof list - 1 },
		    { none, sizeof none - 1 } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		tide_error err;
		if (import(all[i].bytes, all[i].n, &err))
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* A setting that is a real number is kept as one, however it is written. */
static void real_settings(void **state)
{
#define THRESHOLD(value)                 \
	P4 "}(\x8c\x08segments]\x8c\x12" \
	   "allocator_settings}\x8c\x1cgarbage_collection_threshold" value "su."
	static const char binary[] = THRESHOLD("G\x3f\xe8\0\0\0\0\0\0"),
			  decimal[] = THRESHOLD("F0.75\n");
	(void)state;
	for (int i = 0; i < 2; i++) {
		tide_model *m = tide__model_new();
		tide_error err = { 0 };
		if (tide__snap_import((const uint8_t *)(i ? decimal : binary),
				      i ? sizeof decimal - 1 : sizeof binary - 1, NULL, m, &err))
			fail_msg("%s", err.text);
		int64_t at = tide__fact_find(m, "allocator.garbage_collection_threshold");
		assert_true(at >= 0);
		assert_string_equal(tide__text(m, m->facts.text[at], NULL), "0.75");
		tide__model_free(m);
	}
}

static char *small(int protocol, size_t *n)
{
	char path[512];
	snprintf(path, sizeof path, "%s/tests/data/torchsnap/small_p%d.pickle",
		 getenv("TIDE_SOURCE"), protocol);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	char *bytes = malloc(1 << 16);
	*n = fread(bytes, 1, 1 << 16, f);
	fclose(f);
	return bytes;
}

static void cut_at_every_byte(void **state)
{
	(void)state;
	for (int p = 0; p < 6; p++) {
		size_t n;
		char *bytes = small(p, &n);
		tide_error err;
		assert_int_equal(import(bytes, n, &err), TIDE_OK);
		for (size_t k = 0; k < n; k++) {
			tide_code rc = import(bytes, k, &err);
			if (rc != TIDE_ETRUNC || err.offset > k)
				fail_msg("protocol %d cut at %zu: code %d at %lld: %s", p, k, rc,
					 (long long)err.offset, err.text);
		}
		free(bytes);
	}
}

/* Any byte changed to anything: an error or a sound model. */
static void every_byte_changed(void **state)
{
	(void)state;
	for (int p = 0; p < 5; p += 2) {
		size_t n;
		char *bytes = small(p, &n);
		for (size_t k = 0; k < n; k++) {
			static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x20, 0x55 };
			char was = bytes[k];
			tide_error err;
			for (size_t f = 0; f < sizeof flips; f++) {
				bytes[k] = (char)(was ^ flips[f]);
				(void)import(bytes, n, &err);
			}
			bytes[k] = was;
		}
		free(bytes);
	}
}

static void every_allocation_fails(void **state)
{
	(void)state;
	for (int p = 0; p < 5; p += 4) {
		size_t n;
		char *bytes = small(p, &n);
		for (uint64_t k = 1;; k++) {
			tide_error err = { 0 };
			tide_model *m = tide__model_new();
			tide__mem_fail_at(k);
			tide_code rc = tide__snap_import((const uint8_t *)bytes, n, NULL, m, &err);
			uint64_t used = tide__mem_count();
			tide__mem_fail_at(0);
			tide__model_free(m);
			if (used < k) {
				assert_int_equal(rc, TIDE_OK);
				break;
			}
			if (rc != TIDE_ENOMEM)
				fail_msg("protocol %d, allocation %llu fails: code %d: %s", p,
					 (unsigned long long)k, rc, err.text);
		}
		free(bytes);
	}
}

/* Objects that refer to each other a million times: the work is linear. */
static void shared_things_stay_linear(void **state)
{
	(void)state;
	enum { N = 200000 };
	char *bytes = malloc(N * 4 + 4096), *at = bytes;
	tide_error err;
#define PUT(s) (memcpy(at, s, sizeof(s) - 1), at += sizeof(s) - 1)
	/* one block, listed N times; that list in one segment, listed N times */
	PUT(P4 "}\x94(\x8c\x07"
	       "address\x94K\x00\x8c\x04size\x94M\x00\x02\x8c\x05state\x94\x8c\x08inactiveu\x94"
	       "0");
	PUT("]\x94(");
	for (int i = 0; i < N; i++)
		PUT("h\x00");
	PUT("e0}\x94(h\x01K\x00\x8c\x0atotal_sizeM\x00\x02\x8c\x06"
	    "blocksh\x05u0");
	PUT("}(\x8c\x08segments](");
	for (int i = 0; i < N; i++)
		PUT("h\x06");
	PUT("eu.");
	tide_code rc = import(bytes, (size_t)(at - bytes), &err);
	if (rc != TIDE_ECORRUPT)
		fail_msg("code %d: %s", rc, err.text);
	free(bytes);
}

/* Containers in containers, as deep as the input is long: no recursion. */
static void deep_nesting(void **state)
{
	(void)state;
	enum { N = 1000000 };
	char *bytes = malloc(N * 2 + 16);
	tide_error err;
	memcpy(bytes, P4, 2);
	memset(bytes + 2, ']', N);
	memset(bytes + 2 + N, 'a', N - 1);
	bytes[2 + 2 * N - 1] = '.';
	assert_int_equal(import(bytes, 2 + 2 * N, &err), TIDE_EFORMAT);
	memset(bytes + 2, '(', N);
	memset(bytes + 2 + N, 't', N);
	bytes[2 + 2 * N] = '.';
	assert_int_equal(import(bytes, 3 + 2 * N, &err), TIDE_EFORMAT);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_says_why),
		cmocka_unit_test(each_needs_its_values),
		cmocka_unit_test(frames_that_are_none),
		cmocka_unit_test(real_settings),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_byte_changed),
		cmocka_unit_test(every_allocation_fails),
		cmocka_unit_test(shared_things_stay_linear),
		cmocka_unit_test(deep_nesting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
