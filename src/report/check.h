// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Checks that a report writes exactly what its description lists.
 *
 * A sink for tide__json_begin_sink. It fails at the first member that is not described, is missing,
 * is written twice, or has a value of another kind; `text` then says which and where:
 *
 *     "groups[3].bytes: a text where BYTES is described" */
#ifndef TIDE_REPORT_CHECK_H
#define TIDE_REPORT_CHECK_H

#include "base/error.h"
#include "render/text/json.h"
#include "render/text/member.h"

struct tide_report_type;

enum { TIDE_CHECK_DEPTH = 2100, /* more than a JSON writer has */ TIDE_CHECK_MEMBERS = 128 };

typedef struct tide_check_level {
	const tide_member *list; /* an object: its members */
	bool headed;		 /* it begins with the name and version of a report */
	tide_member each;	 /* an array or a map: what every element is */
	bool checked;		 /* false: a value of kind ANY, whose parts are not described */
	const tide_member *key;	 /* an object: the member that is written next */
	size_t at;		 /* elements so far */
	bool seen[TIDE_CHECK_MEMBERS];
} tide_check_level;

typedef struct tide_check {
	tide_member root; /* OBJECT */
	size_t n;	  /* open containers */
	tide_check_level open[TIDE_CHECK_DEPTH];
	char text[400]; /* "" = no fault so far */
} tide_check;

/* `members` is borrowed. A tide_check is large: allocate it. */
void tide__check_begin(tide_check *c, const tide_member *members);
/* The same for a whole document: name and version come first. */
void tide__check_begin_document(tide_check *c, const struct tide_report_type *type);
/* The sink; `user` is a tide_check. Returns false after a fault. */
bool tide__check_put(void *user, const tide_json_item *item);

/* Checks a whole result. Returns NULL if it is as described, else the fault: owned by the caller
 * (tide__free). */
char *tide__report_check(const struct tide_report_type *type, void *result);
/* In tests (TIDEMARK_TEST_REPORTS is set): fails with TIDE_EUSAGE if the result is not as described.
 * Every door calls it, so every report that a test sees is checked. */
tide_code tide__report_verify(const struct tide_report_type *type, void *result, tide_error *err);

#endif
