// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of devices for `predict --like`: a text file beside the hook, and the user's own
 * (~/.config/tidemark/devices.txt), whose rows come first. A row is
 *     name memory capability multiprocessors cublas context full name */
#ifndef TIDE_CLI_RUN_DEVICE_TABLE_H
#define TIDE_CLI_RUN_DEVICE_TABLE_H

#include <tidemark/error.h>

typedef struct tide_device_row {
	char key[64], capability[16], name[128];
	int64_t capacity, cublas, context; /* bytes; cublas -1 = by capability */
	int64_t processors;
} tide_device_row;

/* Finds a row by its name, ignoring case. Returns TIDE_ENOTFOUND with a list of the known names;
 * TIDE_EFORMAT, with file and line, for a malformed row. */
tide_code tide__device_table_find(const char *shipped, const char *key, tide_device_row *out,
				  tide_error *err);

#endif
