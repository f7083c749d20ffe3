// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* recover: write a whole file from what a killed process left. */
#include <limits.h>

#include "cli/rewrite.h"

enum { O_OUTPUT, O_JSON };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "OUT", "the file to write" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
};

static int run(const tide_args *a)
{
	char out[PATH_MAX];
	const char *in = a->files[0];
	tide_rewrite w;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide__rewrite_name(out, sizeof out, in, &a->opt[O_OUTPUT], ".recovered.tide");
	if (tide__recover(in, out, &w, &err))
		return tide__cli_fail(in, &err);
	tide__rewrite_report(a, out, &w, a->opt[O_JSON].set);
	return tide__cli_done(a);
}

const tide_command tide__cmd_recover = {
	.name = "recover",
	.usage = "IN [-o OUT]",
	.summary = "write a whole file from what a killed process left",
	.help = "Reads IN and, when its recording was not closed, the ring file IN-rings beside "
		"it, and writes one "
		"closed file with every event, each once. A damaged file gives everything before "
		"the damage, "
		"and says so as facts of the new file. A packed file is unpacked. Every command "
		"reads such "
		"files directly too; recover makes one file out of two. "
		"Without -o the output is named IN with .recovered.tide for .tide. A file that a "
		"process is recording into at this moment is read but never replaced.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.own_output = true,
	.run = run,
};
