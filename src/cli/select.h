// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Resolves --device and --at for all commands that have them. */
#ifndef TIDE_CLI_SELECT_H
#define TIDE_CLI_SELECT_H

#include "analyze/memory/moment.h"
#include "analyze/live/usage.h"
#include "report/select.h"
#include "cli/cli.h"

#define TIDE_OPTION_DEVICE                                                              \
	{                                                                               \
		"device", 'd', TIDE_OPT_TEXT, "DEVICE", "only this device, e.g. cuda:0" \
	}
#define TIDE_OPTION_AT                                                                             \
	{                                                                                          \
		"at", 'a', TIDE_OPT_TEXT, "TIME",                                                  \
			"at a time (1.5s, 200ms, 50%), after N memory events (#N), or at the peak" \
	}

/* Prints a usage error that lists the devices of the trace. Returns 2. */
int tide__cli_fail_no_device(const tide_args *a, const tide_model *m, const char *text);

/* Gets the device row of --device; TIDE_ANY if not given. Returns false, after a message, if the
 * trace has no such device. */
bool tide__cli_get_device(const tide_args *a, const tide_value *v, const tide_model *m,
			  uint32_t *out);
/* Gets the device of --device, else the one with the highest peak. Returns false after a
 * message; *rc is then the exit status: 2, or 1 if memory ran out. */
bool tide__cli_get_one_device(const tide_args *a, const tide_value *v, const tide_model *m,
			      uint32_t *out, int *rc);
/* Gets the moment of --at. Returns false, after a message, if it is not a time. */
bool tide__cli_get_moment(const tide_args *a, const tide_value *v, const tide_model *m,
			  tide_moment *out);

#endif
