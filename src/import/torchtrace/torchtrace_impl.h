// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer of TORCH_TRACE logs (torch.compile's structured log).
 *
 *   load.c         files and folders, sniffing, time zero
 *   lines.c        text -> records: prefix, JSON envelope, payload
 *   record.c       one record -> spans and attributes
 *   metrics.c      the compilation_metrics record
 *   source_text.c  content of generated code and graphs: kernels, launches, ops
 *
 * Every timed stage of the compiler is a span (TIDE_CAT_OP). Every other record of interest is a
 * span without length (TIDE_CAT_OTHER) with attributes: docs/formats/torchtrace.md lists them. */
#ifndef TIDE_IMPORT_TORCHTRACE_TORCHTRACE_IMPL_H
#define TIDE_IMPORT_TORCHTRACE_TORCHTRACE_IMPL_H

#include "import/import.h"
#include "import/json/node.h"

typedef struct tt_open { /* a begun stage that has not ended */
	uint32_t span, lane;
} tt_open;

typedef struct tt {
	tide_model *m;
	tide_error *err;
	tide_code rc;		 /* first failure */
	uint32_t process;	 /* of the file being read */
	uint32_t lane;		 /* lane of its records without a thread */
	int64_t rank;		 /* of the file, -1 = unknown */
	int64_t now;		 /* latest Unix time seen in the file, ns; -1 = none yet */
	tide_map strs;		 /* id of an interned text of the file + 1 -> tide_str */
	tide_map lanes;		 /* thread + 1 -> lane */
	jsonr envelope, payload; /* of the record being read */
	tt_open *open;		 /* owned */
	size_t n_open, cap_open;
	char *scratch; /* owned; unescaped texts */
	size_t room;
	uint64_t records, bad_lines, bad_payloads, lone_ends, unended;
} tt;

typedef struct tt_record {
	jsonr_node envelope;
	const char *payload; /* borrowed; lines with their leading tabs */
	size_t n_payload;
	int64_t pid;
	bool failed;	     /* metrics of a failed compile */
	char compile_id[64]; /* "0/1", "!0/0/1"; "" = none */
	int64_t attempt;
} tt_record;

/* ---- lines.c ---- */

/* Returns true if a line of at least n bytes starts like a record. */
bool tide__tt_is_line(const char *s, size_t n);
/* Reads all records of a file's text. Returns false after a failure (t->rc). */
bool tide__tt_read_lines(tt *t, const char *text, size_t n);

/* ---- record.c, metrics.c ---- */

bool tide__tt_record(tt *t, tt_record *r);
bool tide__tt_read_metrics(tt *t, const tt_record *r, jsonr_node metrics, const char *member);
/* Adds a zero-length span at t->now that describes r's compile; 0 after a failure. */
uint32_t tide__tt_add_note(tt *t, const tt_record *r, const char *name);
bool tide__tt_set_attr_number(tt *t, uint32_t span, const char *key, int64_t v);
bool tide__tt_attr_text(tt *t, uint32_t span, const char *key, const char *s, size_t n);
/* Sets the attribute to a string value, escapes decoded, at most `most` bytes. */
bool tide__tt_set_attr_string(tt *t, uint32_t span, const char *key, jsonr_node v, size_t most);
/* Opens r's payload as JSON. Returns false if it is something else, or memory runs out (t->rc). */
bool tide__tt_open_payload(tt *t, const tt_record *r, jsonr_node *v);
/* Copies a payload, without the tab at the start of each line, into t->scratch. */
bool tide__tt_copy_payload(tt *t, const tt_record *r, size_t most, size_t *n);
bool tide__tt_nomem(tt *t);

/* ---- source_text.c ---- */

typedef struct tt_code {
	int64_t kernels;  /* compiled kernels that the code defines */
	int64_t launches; /* calls of them */
	int64_t external; /* calls of library kernels and fallbacks */
} tt_code;
tt_code tide__tt_code(const char *payload, size_t n);
/* Counts the nodes of a readable FX graph that call an operator (torch.ops.*). */
int64_t tide__tt_graph_ops(const char *payload, size_t n);

/* ---- load.c ---- */

/* Imports one log of n bytes into an empty model. `name` of the file, for the rank; may be NULL. */
tide_code tide__torchtrace_import(const char *text, size_t n, const char *name, tide_model *m,
				  tide_error *err);

#endif
