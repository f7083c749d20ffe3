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

/* Parse option texts. All fail with TIDE_EUSAGE or TIDE_ENOTFOUND and one line of text. NULL
 * texts give the default: TIDE_ANY, the end, -1. */
tide_code tide__take_device(const tide_model *m, const char *text, uint32_t *out, tide_error *err);
/* The same; the device with the highest peak by default. */
tide_code tide__take_one_device(const tide_model *m, const char *text, uint32_t *out,
				tide_error *err);
tide_code tide__take_moment(const tide_model *m, const char *text, tide_moment *out,
			    tide_error *err);
/* Returns the index of a word in a NULL-terminated list; `otherwise` for NULL. */
tide_code tide__take_word(const char *option, const char *text, const char *const *words,
			  int otherwise, int *out, tide_error *err);

#endif
