// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Functions shared by handlers: begin and end JSON answers, write values in the API's units. */
#ifndef TIDE_SERVE_ANSWER_API_H
#define TIDE_SERVE_ANSWER_API_H

#include "render/text/json.h"
#include "serve/routes.h"

/* {"has_real_data": real, "trace_file": name or null, ... */
void tide__api_begin(tide_json *j, tide_ask *a, const tide_loaded *l, bool real);
/* Writes "message" with the reason for missing data, then the end of the document. */
tide_code tide__api_end(tide_json *j, const char *message, tide_error *err);
/* The message if there is no recording at all. */
extern const char tide__api_none[];

void tide__answer_write_mb(tide_json *j, const char *key,
			   uint64_t bytes); /* 1 MB = 1024 × 1024 bytes */
void tide__answer_write_name(tide_json *j, const char *key, const tide_model *m, tide_str s);
/* Writes "stack": frames from the innermost on, at most 64. */
void tide__answer_write_stack(tide_json *j, const tide_model *m, tide_stack_id s);

/* Writes the members of a recording in the list. */
void tide__api_rec_json(tide_json *j, const tide_rec *r);

/* Gets the row of parameter "device", by default the highest peak. Returns false for status 400. */
bool tide__answer_get_device(tide_ask *a, const tide_loaded *l, uint32_t *out, tide_error *err);
/* Gets the parameters from, to (ns; by default the whole trace) and px. Returns false for status
 * 400. */
typedef struct tide_api_window {
	int64_t from, to;
	int64_t px;
} tide_api_window;
bool tide__answer_get_window(tide_ask *a, const tide_loaded *l, tide_api_window *w);

#endif
