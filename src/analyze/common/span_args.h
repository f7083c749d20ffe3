// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads arguments of spans; a number may be written as text. */
#ifndef TIDE_ANALYZE_COMMON_SPAN_ARGS_H
#define TIDE_ANALYZE_COMMON_SPAN_ARGS_H

#include "model/model.h"

/* Returns the id of an argument's name; none if no span of the trace has it (lookups then find
 * nothing). */
tide_str tide__attr_key(const tide_model *m, const char *key);
/* Returns the argument as a number >= 0 (a text of digits counts); -1 = absent or not a number. */
int64_t tide__attr_number(const tide_model *m, uint32_t span, tide_str key);
/* Returns the argument as a text id; none = absent or a number. */
tide_str tide__attr_text(const tide_model *m, uint32_t span, tide_str key);
/* Returns the row of the span's first argument in attrs, which is sorted by span. If the span has
 * none, it is a row of another span or attrs.n. O(log attrs). */
size_t tide__attr_first(const tide_model *m, uint32_t span);

#endif
