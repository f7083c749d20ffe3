// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* recover: writes a complete file from the files of a killed process. */
#include "cli/cmd/rewrite.h"

enum { O_OUTPUT, O_JSON };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "OUT", "the file to write" },
	[O_JSON] = TIDE_OPTION_JSON,
};

static int run(const tide_args *a)
{
	return tide__cli_rewrite(a, &a->opt[O_OUTPUT], ".recovered.tide", -1, false, false,
				 a->opt[O_JSON].set);
}

const tide_command tide__cmd_recover = {
	.name = "recover",
	.usage = "IN [-o OUT]",
	.summary = "write a complete file from the files of a killed process",
	.help = "Reads IN and, if its recording was not closed, the ring file IN-rings beside "
		"it, and writes one closed file with every event, each once. A damaged chunk is "
		"left out and reading continues at the next valid one; the new file records the "
		"gap as facts. A packed file is unpacked, and one that was compressed as a whole "
		"(gzip, zstd) expanded. Every command also reads such files directly; recover "
		"merges two files into one. Without -o the output is named IN with "
		".recovered.tide instead of .tide, .tide.gz or .tide.zst. A file that a process "
		"is recording into is read but never replaced.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.own_output = true,
	.only = ".tide",
	.run = run,
};
