// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses what an option names: a device, a moment, a word, an amount of memory, a time. Every door
 * (command line, analyze.h, HTTP, Python) parses with these, so a text means the same everywhere.
 *
 * `option` is the option as the caller writes it ("--at", "at"): messages begin with it. */
#ifndef TIDE_REPORT_SELECT_H
#define TIDE_REPORT_SELECT_H

#include "analyze/memory/moment.h"
#include "base/error.h"
#include "model/model.h"

/* Returns the row of the device named "cuda:0" or "cpu" (also "host"), or given by its row number; 0 if there
 * is none. */
uint32_t tide__device_find(const tide_model *m, const char *text);
/* Parses a time from the trace's start: "1.5s", "200 ms", "10us", "123ns", "123" (ns), "50%" of
 * `end`. Returns false for anything else. */
bool tide__parse_time(const char *text, int64_t end, int64_t *out);
/* Returns true for a number without a unit that is not 0, such as "40". On a command line sizes and
 * times need a unit; in C, Python and HTTP such a number is bytes or ns. */
bool tide__lacks_unit(const char *text);
/* Parses a decimal number. Returns false for anything else and for more than `all`. */
bool tide__parse_position(const char *text, size_t all, uint64_t *out);
/* Parses an amount of memory: "4096", "2GiB", "1.5 MB". Units are powers of 1024, as everywhere
 * in Tidemark. Returns false for anything else. */
bool tide__parse_bytes(const char *text, int64_t *out);

/* The following fail with TIDE_EUSAGE or TIDE_ENOTFOUND and one line of text. `text` may be NULL: the
 * default. */

/* Finds a device; TIDE_ANY by default. */
tide_code tide__take_device(const char *option, const char *text, const tide_model *m,
			    uint32_t *out, tide_error *err);
/* Finds a device; the one with the highest peak by default. */
tide_code tide__take_one_device(const char *option, const char *text, const tide_model *m,
				uint32_t *out, tide_error *err);
/* Finds a moment: a time, a percentage, "#N" memory events, "op N" on an axis of ops, or "peak";
 * the end of the trace by default. */
tide_code tide__take_moment(const char *option, const char *text, const tide_model *m,
			    tide_moment *out, tide_error *err);

#endif
