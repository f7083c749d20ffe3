// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* help: the program, one command, or the skeleton of a command's man page. */
#include <stdint.h>

#include "cli/cli.h"

enum { O_MAN };
static const tide_option options[] = {
	[O_MAN] = { "man", 0, TIDE_OPT_FLAG, NULL,
		    "print the skeleton of the man page, for scdoc" },
};

static int run(const tide_args *a)
{
	if (!a->n_files)
		tide__help_print_program(a->out, a->style.width);
	for (size_t i = 0; i < a->n_files; i++) {
		const tide_command *c = tide__command_find(a->files[i]);
		const char *near = c ? NULL : tide__command_near(a->files[i]);
		if (!c)
			return tide__cli_fail_usage(a, "there is no command '%s'%s%s%s",
						    a->files[i], near ? " (did you mean " : "",
						    near ? near : "", near ? "?)" : "");
		if (a->opt[O_MAN].set)
			tide__help_print_man(c, a->out);
		else
			tide__help_print_command(c, a->out, a->style.width);
	}
	return tide__cli_finish(a);
}

const tide_command tide__cmd_help = {
	.name = "help",
	.usage = "[COMMAND...]",
	.summary = "explain the program or one command",
	TIDE_COMMAND_OPTIONS(options),
	.max_files = SIZE_MAX,
	.words = "",
	.raw = true, /* the command wraps its output itself */
	.run = run,
};
