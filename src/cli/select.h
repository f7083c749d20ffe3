// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Resolves --device for commands that are not reports. */
#ifndef TIDE_CLI_SELECT_H
#define TIDE_CLI_SELECT_H

#include "analyze/live/usage.h"
#include "report/select.h"
#include "cli/cli.h"

/* Prints a usage error that lists the devices of the trace. Returns 2. */
int tide__cli_fail_no_device(const tide_args *a, const tide_model *m, const char *text);

/* Gets the device of --device, else the one with the highest peak. Returns false after a
 * message; *rc is then the exit status: 2, or 1 if memory ran out. */
bool tide__cli_get_one_device(const tide_args *a, const tide_value *v, const tide_model *m,
			      uint32_t *out, int *rc);

#endif
