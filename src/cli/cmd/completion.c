// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Completion for bash, zsh and fish, generated from the command table: one function per shell
 * writes a script that completes commands, their options, and the values of options. */
#include <string.h>

#include "cli/cli.h"

#define SHELLS "bash,zsh,fish"

/* Writes every command, in the order of help. */
#define EACH_COMMAND(c)                                      \
	const tide_command *const *c = tide__command_list(); \
	*c;                                                  \
	c++

static const tide_option *option(const tide_command *c, size_t i)
{
	return tide__command_option(c, i);
}

static void names(FILE *out)
{
	for (EACH_COMMAND(c))
		fprintf(out, "%s%s", c == tide__command_list() ? "" : " ", (*c)->name);
}

/* Writes the words of a comma-separated list, "" = names of commands. */
static void words(FILE *out, const char *list)
{
	if (!*list)
		names(out);
	for (; *list; list++)
		fputc(*list == ',' ? ' ' : *list, out);
}

/* Writes text inside single quotes; characters of `special` get a backslash, `quote` is the shell's
 * form of a single quote there. */
static void quoted(FILE *out, const char *s, const char *special, const char *quote)
{
	for (; *s; s++) {
		if (*s == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(special, *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

/* ---- bash ---- */

static void reply_words(FILE *out, const char *list)
{
	fputs("COMPREPLY=($(compgen -W '", out);
	words(out, list);
	fputs("' -- \"$cur\"))", out);
}

/* Writes case arms: the values of options that take one. */
static void bash_values(FILE *out, const tide_command *c)
{
	const tide_option *o;
	for (size_t i = 0; (o = option(c, i)); i++) {
		if (o->kind == TIDE_OPT_FLAG)
			continue;
		fprintf(out, "\t%s:--%s", c->name, o->name);
		if (o->letter)
			fprintf(out, "|%s:-%c", c->name, o->letter);
		fputs(") ", out);
		if (o->kind == TIDE_OPT_ENUM)
			reply_words(out, o->arg);
		else if (o->kind == TIDE_OPT_FILE)
			fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
		fputs(o->kind == TIDE_OPT_ENUM || o->kind == TIDE_OPT_FILE ? "; return ;;\n"
									   : "return ;;\n",
		      out);
	}
}

static void bash(FILE *out)
{
	fputs("# bash completion for tidemark; made by `tidemark completion bash`\n"
	      "_tidemark()\n{\n"
	      "\tlocal cur prev cmd\n"
	      "\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
	      "cmd=${COMP_WORDS[1]}\n"
	      "\t[ \"$cur\" = '=' ] && cur=\n"
	      "\t[ \"$prev\" = '=' ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '",
	      out);
	names(out);
	fputs(" --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $cmd:$prev in\n", out);
	for (EACH_COMMAND(c))
		bash_values(out, *c);
	fputs("\tesac\n\tcase $cmd:$cur in\n", out);
	for (EACH_COMMAND(c)) {
		fprintf(out, "\t%s:-*) COMPREPLY=($(compgen -W '", (*c)->name);
		for (size_t i = 0; option(*c, i); i++)
			fprintf(out, "%s--%s", i ? " " : "", option(*c, i)->name);
		fputs("' -- \"$cur\")) ;;\n", out);
		if (!(*c)->words)
			continue;
		fprintf(out, "\t%s:*) ", (*c)->name);
		reply_words(out, (*c)->words);
		fputs(" ;;\n", out);
	}
	fputs("\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n\tesac\n}\n"
	      "complete -o filenames -F _tidemark tidemark\n",
	      out);
}

/* ---- zsh ---- */

static void zsh_text(FILE *out, const char *s)
{
	quoted(out, s, "[]:\\", "'\\''");
}

/* Writes one argument of _arguments: '(-n --top)'{-n+,--top=}'[rows to show]:N:' */
static void zsh_option(FILE *out, const tide_option *o)
{
	bool flag = o->kind == TIDE_OPT_FLAG;
	fputs(" \\\n\t\t\t", out);
	if (o->many)
		fputs("'*'", out);
	else if (o->letter)
		fprintf(out, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		fprintf(out, "{-%c%s,--%s%s}", o->letter, flag ? "" : "+", o->name,
			flag ? "" : "=");
	else
		fprintf(out, "--%s%s", o->name, flag ? "" : "=");
	fputs("'[", out);
	zsh_text(out, o->help);
	fputc(']', out);
	if (!flag) {
		fputc(':', out);
		zsh_text(out, o->kind == TIDE_OPT_ENUM || !o->arg ? "WORD" : o->arg);
		fputc(':', out);
	}
	if (o->kind == TIDE_OPT_ENUM) {
		fputc('(', out);
		words(out, o->arg);
		fputc(')', out);
	}
	fputs(o->kind == TIDE_OPT_FILE ? "_files'" : "'", out);
}

static void zsh_command(FILE *out, const tide_command *c)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s -S", c->name);
	for (size_t i = 0; option(c, i); i++)
		zsh_option(out, option(c, i));
	fputs(" \\\n\t\t\t", out);
	if (c->words) {
		fputs("'*:word:(", out);
		words(out, c->words);
		fputs(")' ;;\n", out);
	} else {
		fputs("'*:file:_files' ;;\n", out);
	}
}

static void zsh(FILE *out)
{
	fputs("#compdef tidemark\n"
	      "# zsh completion for tidemark; made by `tidemark completion zsh`\n"
	      "_tidemark()\n{\n"
	      "\tlocal cmd=$words[2]\n"
	      "\tlocal -a commands=(\n",
	      out);
	for (EACH_COMMAND(c)) {
		fprintf(out, "\t\t'%s:", (*c)->name);
		quoted(out, (*c)->summary, "\\", "'\\''");
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\t_arguments '--help[list the commands]' '--version[print the version]'\n"
	      "\t\t_describe -t commands 'tidemark command' commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t(( CURRENT-- ))\n"
	      "\tcase $cmd in\n",
	      out);
	for (EACH_COMMAND(c))
		zsh_command(out, *c);
	fputs("\tesac\n}\n"
	      "if [ \"$funcstack[1]\" = _tidemark ]; then\n"
	      "\t_tidemark \"$@\"\n"
	      "else\n"
	      "\tcompdef _tidemark tidemark\n"
	      "fi\n",
	      out);
}

/* ---- fish ---- */

static void fish_text(FILE *out, const char *s)
{
	fputc('\'', out);
	quoted(out, s, "\\", "\\'");
	fputc('\'', out);
}

static void fish_option(FILE *out, const char *command, const tide_option *o)
{
	fprintf(out, "complete -c tidemark -n '__tidemark_is %s'", command);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	fprintf(out, " -l %s", o->name);
	if (o->kind == TIDE_OPT_FILE)
		fputs(" -r -F", out);
	else if (o->kind != TIDE_OPT_FLAG)
		fputs(" -x", out);
	if (o->kind == TIDE_OPT_ENUM) {
		fputs(" -a '", out);
		words(out, o->arg);
		fputc('\'', out);
	}
	fputs(" -d ", out);
	fish_text(out, o->help);
	fputc('\n', out);
}

static void fish(FILE *out)
{
	fputs("# fish completion for tidemark; made by `tidemark completion fish`\n"
	      "function __tidemark_is\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest \"$words[2]\" = \"$argv[1]\"\n"
	      "end\n"
	      "complete -c tidemark -n '__tidemark_is \"\"' -f -l help -d 'list the commands'\n"
	      "complete -c tidemark -n '__tidemark_is \"\"' -f -l version -d 'print the version'\n",
	      out);
	for (EACH_COMMAND(c)) {
		fprintf(out, "complete -c tidemark -n '__tidemark_is \"\"' -f -a %s -d ",
			(*c)->name);
		fish_text(out, (*c)->summary);
		fputc('\n', out);
		for (size_t i = 0; option(*c, i); i++)
			fish_option(out, (*c)->name, option(*c, i));
		if (!(*c)->words)
			continue;
		fprintf(out, "complete -c tidemark -n '__tidemark_is %s' -f -a '", (*c)->name);
		words(out, (*c)->words);
		fputs("'\n", out);
	}
}

/* ---- the command ---- */

static const struct {
	const char *name;
	void (*write)(FILE *out);
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

static int run(const tide_args *a)
{
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (!strcmp(a->files[0], shells[i].name)) {
			shells[i].write(a->out);
			return tide__cli_finish(a);
		}
	return tide__cli_fail_usage(a, "no completion for '%s', only for " SHELLS, a->files[0]);
}

const tide_command tide__cmd_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.summary = "print shell completion",
	.help = "To use it at once: source <(tidemark completion bash), the same with zsh (after "
		"compinit), or in fish tidemark completion fish | source.",
	.min_files = 1,
	.wants = "shell",
	.words = SHELLS,
	.max_files = 1,
	.raw = true,
	.run = run,
};
