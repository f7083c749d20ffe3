// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* pack: compress a recording with zstd. */
#include <limits.h>

#include "cli/rewrite.h"

enum { O_OUTPUT, O_JSON, O_LEVEL };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "OUT", "the file to write" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
	[O_LEVEL] = { "level", 'l', TIDE_OPT_INT, "N", "zstd level, 1 .. 19 (default 3)",
		      .def = "3", .least = 1, .most = 19 },
};

static int run(const tide_args *a)
{
	char out[PATH_MAX];
	const char *in = a->files[0];
	tide_rewrite w;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide__rewrite_name(out, sizeof out, in, &a->opt[O_OUTPUT], ".packed.tide");
	if (tide__pack(in, out, (int)a->opt[O_LEVEL].num, &w, &err))
		return tide__cli_fail(in, &err);
	tide__rewrite_report(a, out, &w, a->opt[O_JSON].set);
	return tide__cli_done(a);
}

const tide_command tide__cmd_pack = {
	.name = "pack",
	.usage = "IN [-o OUT]",
	.summary = "compress a recording with zstd",
	.help = "Writes IN compressed; every command reads packed and unpacked files alike, and "
		"recover unpacks.\n"
		"A recording that was not closed is recovered on the way.\n"
		"Without -o the output is named IN with .packed.tide for .tide.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.own_output = true,
	.run = run,
};
