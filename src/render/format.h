// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the text renderers share beside the formats declared in grid.h. */
#ifndef TIDE_RENDER_FORMAT_H
#define TIDE_RENDER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Terminal columns of a text as tide__fmt_name would show it unshortened. */
int tide__columns(const char *s, size_t n);
/* tide__fmt_name straight into a FILE, for names of any length. */
void tide__put_name(FILE *out, const char *s, size_t len, int width, bool ascii);

#endif
