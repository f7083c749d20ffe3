// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of devices for `predict --like`: a text file beside the hook, and the user's own
 * (~/.config/tidemark/devices.txt), whose rows come first. A row is
 *     name memory capability multiprocessors cublas context full name */
#ifndef TIDE_CLI_DEVICE_TABLE_H
#define TIDE_CLI_DEVICE_TABLE_H

#include <tidemark/error.h>

typedef struct tide_device_row {
	char key[64], capability[16], name[128];
	int64_t capacity, cublas, context; /* bytes; cublas -1 = by capability */
	int64_t processors;
} tide_device_row;

/* Find a row by its name, in any case of letters. TIDE_ENOTFOUND with the names there are;
 * TIDE_EFORMAT, with file and line, where a row is none. */
tide_code tide__device_table_find(const char *shipped, const char *key, tide_device_row *out,
				  tide_error *err);

#endif
