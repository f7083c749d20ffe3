// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds a device or a time of a trace by its text. Shared by the command line and analyze.h. */
#ifndef TIDE_API_SELECT_H
#define TIDE_API_SELECT_H

#include "model/model.h"

/* Returns the row of the device named "cuda:0" or "cpu", or given by its row number; 0 if there
 * is none. */
uint32_t tide__device_find(const tide_model *m, const char *text);
/* Parses a time from the trace's start: "1.5s", "200 ms", "10us", "123ns", "123" (ns), "50%" of
 * `end`. Returns false for anything else. */
bool tide__parse_time(const char *text, int64_t end, int64_t *out);
/* Parses a decimal number. Returns false for anything else and for more than `all`. */
bool tide__parse_position(const char *text, size_t all, uint64_t *out);
/* Parses an amount of memory: "4096", "2GiB", "1.5 MB". Units are powers of 1024, as everywhere
 * in Tidemark. Returns false for anything else. */
bool tide__parse_bytes(const char *text, int64_t *out);

#endif
