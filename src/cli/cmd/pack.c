// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* pack: compress a recording with zstd. */
#include "cli/cmd/rewrite.h"

enum { O_OUTPUT, O_JSON, O_LEVEL, O_NAMES };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "OUT", "the file to write" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_LEVEL] = { "level", 'l', TIDE_OPT_INT, "N", "zstd level, 1 .. 19", .def = "3",
		      .least = 1, .most = 19 },
	[O_NAMES] = { "names", 0, TIDE_OPT_FLAG, NULL,
		      "name native frames from the libraries of this machine" },
};

static int run(const tide_args *a)
{
	return tide__cli_rewrite(a, &a->opt[O_OUTPUT], ".packed.tide", (int)a->opt[O_LEVEL].num,
				 a->opt[O_NAMES].set, true, a->opt[O_JSON].set);
}

const tide_command tide__cmd_pack = {
	.name = "pack",
	.usage = "IN [-o OUT]",
	.summary = "compress a recording with zstd",
	.help = "Writes IN compressed; every command reads packed and unpacked files, and "
		"recover unpacks.\nA recording that was not closed is recovered as well, and one "
		"that was compressed as a whole (gzip, zstd) is expanded first.\nWithout -o the "
		"output is named IN with .packed.tide instead of .tide, .tide.gz or .tide.zst.\nNative "
		"frames of a host heap get their names when `tidemark run` ends. If it was "
		"killed, use --names, on the same machine.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.own_output = true,
	.only = ".tide",
	.run = run,
};
