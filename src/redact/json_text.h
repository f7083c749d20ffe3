// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_REDACT_JSON_TEXT_H
#define TIDE_REDACT_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes a text as a JSON string. */
void tide__redact_put_json(FILE *out, const char *s, size_t n);

#endif
