// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How commands name what a model holds, so that all of them name it alike. */
#ifndef TIDE_CLI_SELECT_NAMES_H
#define TIDE_CLI_SELECT_NAMES_H

#include "cli/cli.h"
#include "render/text/labels.h"

/* Device by "cuda:0", "cpu" or its row number, 0 = there is none. */
uint32_t tide__device_find(const tide_model *m, const char *text);
/* Usage error that lists the devices there are. Returns 2. */
int tide__no_device(const tide_args *a, const tide_model *m, const char *text);

/* Cells: an interned text ("-" for none), a number where 0 means unknown. */
void tide__name_cell(tide_grid *g, const tide_model *m, tide_str s);
void tide__known_cell(tide_grid *g, uint64_t v);

/* A text for the terminal: control bytes escaped, never shortened. */
void tide__put_text(const tide_args *a, const char *text);
/* "2026-01-31 12:00:00.123456789 UTC". Returns buf. */
const char *tide__wall_text(int64_t wall_ns, char *buf, size_t n);
/* Members "start_wall_ns": Unix ns of t = 0, or null. */
void tide__start_json(tide_json *j, const tide_model *m);
/* Bold heading with a newline after it. */
void tide__heading(const tide_args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
