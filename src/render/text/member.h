// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Descriptions of figures: what a report writes, as data.
 *
 * A member is one value of a result: its key in JSON, its heading in a text table, its kind, and
 * one sentence of meaning. A list of members describes an object, or the rows of a table; an entry
 * without a key ends it.
 *
 *     static const tide_member group_members[] = {
 *         { "bytes", "Bytes", TIDE_KIND_BYTES, .meaning = "live bytes of the group" },
 *         { "key", "Group", TIDE_KIND_TEXT, .meaning = "the group: an op, a stack, a role ..." },
 *         { 0 },
 *     };
 *     static const tide_member members[] = {
 *         { "peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "highest live bytes",
 *           .may = TIDE_MAY_BE_NULL },
 *         { "groups", NULL, TIDE_KIND_TABLE, .meaning = "live allocations in groups",
 *           .members = group_members },
 *         { 0 },
 *     };
 *
 * The rest comes from the description: text tables and JSON (grid.h), CSV, JSON Schema, types for
 * Python, and the check that a report writes what it describes (report/check.h). */
#ifndef TIDE_RENDER_TEXT_MEMBER_H
#define TIDE_RENDER_TEXT_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The JSON type of a value, and so its type in Python. */
typedef enum tide_json_type {
	TIDE_TYPE_STRING,
	TIDE_TYPE_UINT, /* an integer from 0 */
	TIDE_TYPE_INT,
	TIDE_TYPE_REAL, /* an integer is one too */
	TIDE_TYPE_BOOL,
	TIDE_TYPE_OBJECT,
	TIDE_TYPE_ARRAY,
	TIDE_TYPE_ANY,
	TIDE_TYPE_NONE, /* not in JSON */
} tide_json_type;

/* clang-format off */
/*        kind        JSON    what it is */
#define TIDE_KINDS(X)                                                                         \
	X(TEXT,       STRING, "text") /* left aligned; shortened on a terminal only */            \
	X(WORD,       STRING, "one word of a list")                                               \
	X(KERNEL,     STRING, "name of a kernel") /* shortened in text (kernel_name.h) */         \
	X(NAME,       STRING, "op, module or stack") /* short in text (short_names.h) */           \
	X(COUNT,      UINT,   "number") /* 1,234 */                                               \
	X(NUMBER,     INT,    "number, may be negative") /* -1,234 */                             \
	X(BYTES,      UINT,   "bytes") /* 12.34 MiB */                                            \
	X(DELTA,      INT,    "bytes, negative for less") /* +12.34 MiB */                        \
	X(SIGNED,     INT,    "bytes, or less than none") /* 12.34 MiB; -1.00 MiB */              \
	X(NS,         INT,    "ns") /* 1.234 ms; unknown on an axis of ops */                     \
	X(AT,         INT,    "ns from the start of the trace") /* 1.234 ms; op 1,234 */          \
	X(DELTA_NS,   INT,    "ns, negative for less") /* +1.234 ms */                            \
	X(WALL,       INT,    "ns since 1970 (UTC)")                                              \
	X(PCT,        REAL,   "percent") /* 12.3 %, JSON 4 decimals */                            \
	X(DELTA_PCT,  REAL,   "percent, negative for less") /* +12.3 % */                         \
	X(REAL,       REAL,   "number; the key names its unit") /* 1.23 */                        \
	X(HEX,        UINT,   "address") /* 0x7f.. */                                             \
	X(PLAIN,      INT,    "number that is a name, such as a rank") /* 1234 */                 \
	X(BOOL,       BOOL,   "true or false")                                                    \
	X(OBJECT,     OBJECT, "object")                                                           \
	X(TABLE,      ARRAY,  "rows, each an object")                                             \
	X(SIZES,      ARRAY,  "integers") /* a text "[8, 1, 1]", in JSON a list */                \
	X(LIST,       ARRAY,  "values of one kind")                                               \
	X(MAP,        OBJECT, "values of one kind; the trace gives their names")                  \
	X(REPORT,     OBJECT, "document of another report") /* `words` is its name */              \
	X(ANY,        ANY,    "any value, as the trace has it")                                   \
	X(BAR,        NONE,   "drawing") /* text only, never shortened */
/* clang-format on */

typedef enum tide_kind {
#define X(name, json, unit) TIDE_KIND_##name,
	TIDE_KINDS(X)
#undef X
		TIDE_KINDS_N
} tide_kind;

enum {
	TIDE_MAY_BE_NULL = 1,	/* null: unknown */
	TIDE_MAY_BE_ABSENT = 2, /* written only in cases that `meaning` names */
};

typedef struct tide_member {
	const char *key;     /* in JSON; NULL ends a list */
	const char *heading; /* in text tables; NULL = not in text */
	tide_kind kind;
	uint8_t give; /* if the terminal is too narrow, columns with the highest value are
		       * dropped first; 0 = never */
	uint8_t may;
	const char *meaning; /* one sentence, in lower case, without a full stop */
	/* OBJECT, TABLE: the members of it, or of a row. LIST, MAP: one entry that describes its
	 * values (the entry's key is ""). */
	const struct tide_member *members;
	const char *words; /* WORD: "segments,samples"; REPORT: "peak" */
} tide_member;

/* Entries in one line: a member, one that may be unknown, one that may be absent. */
#define TIDE_MEMBER(key_, kind_, text)                                  \
	{                                                               \
		.key = key_, .kind = TIDE_KIND_##kind_, .meaning = text \
	}
#define TIDE_MEMBER_MAYBE(key_, kind_, text)                                                     \
	{                                                                                        \
		.key = key_, .kind = TIDE_KIND_##kind_, .may = TIDE_MAY_BE_NULL, .meaning = text \
	}
#define TIDE_MEMBER_IF(key_, kind_, text)                                                          \
	{                                                                                          \
		.key = key_, .kind = TIDE_KIND_##kind_, .may = TIDE_MAY_BE_ABSENT, .meaning = text \
	}
/* An object, a table or a list with these members. */
#define TIDE_MEMBER_OF(key_, kind_, list, text)                                          \
	{                                                                                \
		.key = key_, .kind = TIDE_KIND_##kind_, .members = list, .meaning = text \
	}
/* The document of another report. */
#define TIDE_MEMBER_REPORT(key_, report, may_, text)                                   \
	{                                                                              \
		.key = key_, .kind = TIDE_KIND_REPORT, .words = report, .may = (may_), \
		.meaning = text                                                        \
	}
/* A column of a text table; `may` as in tide_member. */
#define TIDE_COLUMN(key_, heading_, kind_, may_, text)                                    \
	{                                                                                 \
		.key = key_, .heading = heading_, .kind = TIDE_KIND_##kind_, .may = may_, \
		.meaning = text                                                           \
	}

/* Returns the entry of a list with this key, or NULL. */
const tide_member *tide__member_find(const tide_member *list, const char *key, size_t n);
/* Returns the number of entries of a list. NULL counts as empty. */
size_t tide__member_count(const tide_member *list);
/* Returns what values of the kind are: "bytes", "ns" ... Static text. */
const char *tide__kind_unit(tide_kind k);
tide_json_type tide__kind_type(tide_kind k);
/* Returns "BYTES", "NS" ...: static text, for generators. */
const char *tide__kind_name(tide_kind k);

#endif
