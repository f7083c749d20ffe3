// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The commands to ask next (analyze/overview/hints.h), as text and as JSON. */
#ifndef TIDE_RENDER_REPORT_HINTS_H
#define TIDE_RENDER_REPORT_HINTS_H

#include "analyze/overview/hints.h"
#include "render/text/json.h"
#include "render/text/member.h"

/* Prints "  tidemark hta run.tide   why the GPU waited" and a newline. `path` NULL: the word FILE
 * stays. */
void tide__put_hint(const tide_hint *s, const char *path, FILE *out);
/* Writes the member "next" of an open object. */
void tide__hints_json(const tide_hint *v, size_t n, const char *path, tide_json *j);
extern const tide_member tide__hint_members[];

#endif
