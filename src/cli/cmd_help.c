// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdint.h>

#include "cli/cli.h"

static int run(const tide_args *a)
{
	if (!a->n_files)
		tide__help_program(a->out);
	for (size_t i = 0; i < a->n_files; i++) {
		const tide_command *c = tide__command_find(a->files[i]);
		if (!c)
			return tide__cli_usage(a, "there is no command '%s'", a->files[i]);
		tide__help_command(c, a->out);
	}
	return tide__cli_done(a);
}

const tide_command tide__cmd_help = {
	.name = "help",
	.usage = "[COMMAND]",
	.summary = "explain the program or one command",
	.max_files = SIZE_MAX,
	.run = run,
};
