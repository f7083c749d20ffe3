// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shapes and strides of a call's inputs as a trace has them: "[[8, 16], [16, 4], []]"; the entry of
 * a list of tensors is a list of shapes. */
#ifndef TIDE_ANALYZE_COMMON_SHAPE_TEXT_H
#define TIDE_ANALYZE_COMMON_SHAPE_TEXT_H

#include <stdbool.h>

enum { TIDE_SHAPE_DIMS = 32 }; /* dimensions of a shape at most */

/* Returns true if the text is a list of shapes: whole numbers from 0 to 2^63 - 1, at most
 * TIDE_SHAPE_DIMS in one shape. Anything else is no shape of a tensor. NULL is false. */
bool tide__shape_text_is_sound(const char *s);

#endif
