// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Arguments of spans, as the analyses want them: a number that may be written as a text. */
#ifndef TIDE_ANALYZE_COMMON_SPAN_ARGS_H
#define TIDE_ANALYZE_COMMON_SPAN_ARGS_H

#include "model/model.h"

/* Id of an argument's name; none when no span of the trace has it (then nothing is found). */
tide_str tide__attr_key(const tide_model *m, const char *key);
/* The argument as a number >= 0 (a text of digits counts); -1 = not there or not a number. */
int64_t tide__attr_number(const tide_model *m, uint32_t span, tide_str key);
/* The argument as a text id; none = not there, or a number. */
tide_str tide__attr_text(const tide_model *m, uint32_t span, tide_str key);

#endif
