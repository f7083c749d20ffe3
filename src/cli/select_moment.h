// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What --device and --at mean, for all commands that have them. */
#ifndef TIDE_CLI_SELECT_MOMENT_H
#define TIDE_CLI_SELECT_MOMENT_H

#include "analyze/memory/usage.h"
#include "cli/cli.h"

#define TIDE_OPTION_DEVICE                                                              \
	{                                                                               \
		"device", 'd', TIDE_OPT_TEXT, "DEVICE", "only this device, e.g. cuda:0" \
	}
#define TIDE_OPTION_AT                                                                          \
	{                                                                                       \
		"at", 'a', TIDE_OPT_TEXT, "TIME",                                               \
			"at a time (1.5s, 200ms, 50%), after N moves (#N), or at the peak"      \
	}

typedef struct tide_moment {
	bool chosen;  /* --at was given */
	bool at_peak; /* "peak" */
	uint64_t cut; /* moves that had happened; UINT64_MAX when not chosen or at_peak */
	int64_t t;    /* the time asked for */
} tide_moment;

/* The device of --device: its row; TIDE_ANY when not given. False (after a message) when the trace
 * has no such device. */
bool tide__cli_device(const tide_args *a, const tide_value *v, const tide_model *m, uint32_t *out);
/* The moment of --at. False (after a message) when it is no time. */
bool tide__cli_moment(const tide_args *a, const tide_value *v, const tide_model *m,
		      tide_moment *out);

#endif
