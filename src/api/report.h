// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The implementation of a tide_report (tidemark/analyze.h): a result of analyze, and the
 * functions of render/report that write it. */
#ifndef TIDE_API_REPORT_H
#define TIDE_API_REPORT_H

#include <tidemark/analyze.h>

#include "analyze/memory/moment.h"
#include "model/model.h"
#include "render/text/out.h"
#include "report/select.h"

typedef struct tide_report_type {
	const char *name;
	size_t size; /* of the result */
	tide_code (*text)(void *result, const tide_out *to);
	tide_code (*json)(void *result, tide_json *j);
	void (*free)(void *result); /* also after a failed find */
} tide_report_type;

struct tide_report {
	const tide_report_type *type;
	tide_node *root; /* owned; NULL = not built yet */
	_Alignas(16) unsigned char result[];
};

/* Returns a report with a zeroed result; NULL if memory runs out. */
tide_report *tide__report_new(const tide_report_type *type);
/* Ends a find function: returns the report to the caller, or frees it. Returns rc. */
tide_code tide__report_finish(tide_report *r, tide_code rc, tide_report **out, tide_error *err);

static inline const tide_model *tide__model_of(const tide_trace *t)
{
	return (const tide_model *)t;
}

/* Copies the caller's options over the defaults: a caller built against an older header has a
 * shorter struct. NULL: the defaults alone. */
void tide__options_take(void *own, size_t size, const void *given);

#endif
