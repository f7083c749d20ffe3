// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Bash completion, generated from the command table. */
#include <string.h>

#include "cli/cli.h"

static void words_of(FILE *out, const tide_command *c)
{
	for (size_t i = 0; i < c->n_options; i++)
		fprintf(out, "--%s ", c->options[i].name);
	fputs("--help", out);
}

/* case arm: what may follow an option that takes a value */
static void values_of(FILE *out, const tide_command *c)
{
	for (size_t i = 0; i < c->n_options; i++) {
		const tide_option *o = &c->options[i];
		if (o->kind == TIDE_OPT_FLAG)
			continue;
		fprintf(out, "\t%s:--%s", c->name, o->name);
		if (o->letter)
			fprintf(out, "|%s:-%c", c->name, o->letter);
		if (o->kind == TIDE_OPT_ENUM) {
			fputs(") COMPREPLY=($(compgen -W '", out);
			for (const char *s = o->arg; *s; s++)
				fputc(*s == ',' ? ' ' : *s, out);
			fputs("' -- \"$cur\")); return ;;\n", out);
		} else if (o->kind == TIDE_OPT_FILE) {
			fputs(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", out);
		} else {
			fputs(") return ;;\n", out);
		}
	}
}

static int run(const tide_args *a)
{
	FILE *out = a->out;
	if (strcmp(a->files[0], "bash"))
		return tide__cli_usage(a, "no completion for '%s', only for bash", a->files[0]);
	fputs("# bash completion for tidemark; made by `tidemark completion bash`\n"
	      "_tidemark()\n{\n"
	      "\tlocal cur prev cmd\n"
	      "\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
	      "cmd=${COMP_WORDS[1]}\n"
	      "\t[ \"$cur\" = '=' ] && cur=\n"
	      "\t[ \"$prev\" = '=' ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	for (const tide_command *const *c = tide__commands; *c; c++)
		fprintf(out, "%s ", (*c)->name);
	fputs("--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $cmd:$prev in\n", out);
	for (const tide_command *const *c = tide__commands; *c; c++)
		values_of(out, *c);
	fputs("\tesac\n\tif [ \"${cur#-}\" = \"$cur\" ]; then\n", out);
	fputs("\t\tif [ \"$cmd\" = help ]; then\n\t\t\tCOMPREPLY=($(compgen -W '", out);
	for (const tide_command *const *c = tide__commands; *c; c++)
		fprintf(out, "%s ", (*c)->name);
	fputs("' -- \"$cur\"))\n\t\telse\n\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\t\tfi\n"
	      "\t\treturn\n\tfi\n\tcase $cmd in\n",
	      out);
	for (const tide_command *const *c = tide__commands; *c; c++) {
		fprintf(out, "\t%s) COMPREPLY=($(compgen -W '", (*c)->name);
		words_of(out, *c);
		fputs("' -- \"$cur\")) ;;\n", out);
	}
	fputs("\tesac\n}\ncomplete -o filenames -F _tidemark tidemark\n", out);
	return tide__cli_done(a);
}

const tide_command tide__cmd_completion = {
	.name = "completion",
	.usage = "bash",
	.summary = "print shell completion",
	.help = "To use it at once: source <(tidemark completion bash)",
	.min_files = 1,
	.wants = "shell",
	.max_files = 1,
	.run = run,
};
