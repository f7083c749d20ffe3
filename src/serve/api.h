// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What handlers share: beginnings and ends of JSON answers, and values in the units of the API. */
#ifndef TIDE_SERVE_API_H
#define TIDE_SERVE_API_H

#include "render/text/json.h"
#include "serve/routes.h"

/* {"has_real_data": real, "trace_file": name or null, ... */
void tide__api_begin(tide_json *j, tide_ask *a, const tide_loaded *l, bool real);
/* "message": why there is nothing; then the end of the document. */
tide_code tide__api_end(tide_json *j, const char *message, tide_error *err);
/* What to say when there is no recording at all. */
extern const char tide__api_none[];

void tide__api_mb(tide_json *j, const char *key, uint64_t bytes); /* 1 MB = 1024 × 1024 bytes */
void tide__api_name(tide_json *j, const char *key, const tide_model *m, tide_str s);
/* "stack": frames from the innermost on, not more than 64. */
void tide__api_stack(tide_json *j, const tide_model *m, tide_stack_id s);

/* Members of a recording as the list has it. */
void tide__api_rec_json(tide_json *j, const tide_rec *r);

/* Parameter "device": its row, the highest peak when not given. False: 400. */
bool tide__api_device(tide_ask *a, const tide_loaded *l, uint32_t *out, tide_error *err);
/* Parameters from, to (ns; the whole trace when not given) and px. False: 400. */
typedef struct tide_api_window {
	int64_t from, to;
	int64_t px;
} tide_api_window;
bool tide__api_window(tide_ask *a, const tide_loaded *l, tide_api_window *w);

#endif
