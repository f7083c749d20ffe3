// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The skeleton of a man page from the command table, in scdoc's format. Pages in docs/man begin as
 * this and are then written out; a test compares their options with the table. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* Prints text with scdoc's marks escaped. */
static void put(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("*_\\<>#", *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

/* "FILE [--group-by WORD]" with option names bold and values underlined. */
static void put_usage(FILE *out, const char *s)
{
	while (*s) {
		size_t n = strspn(s, "-abcdefghijklmnopqrstuvwxyz");
		size_t up = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (n && *s == '-')
			fprintf(out, "*%.*s*", (int)n, s);
		else if (up)
			fprintf(out, "_%.*s_", (int)up, s);
		if ((n && *s == '-') || up) {
			s += up ? up : n;
			continue;
		}
		char one[2] = { *s++, 0 };
		put(out, one);
	}
}

static void put_option(FILE *out, const tide_option *o)
{
	if (o->letter)
		fprintf(out, "*-%c*, ", o->letter);
	fprintf(out, "*--%s*", o->name);
	if (o->kind == TIDE_OPT_ENUM)
		fputs(" _WORD_", out);
	else if (o->kind == TIDE_OPT_FLAG && o->arg)
		fprintf(out, "[=_%s_]", o->arg);
	else if (o->kind != TIDE_OPT_FLAG)
		fprintf(out, " _%s_", strpbrk(o->arg, "_*\\") ? "VALUE" : o->arg);
	fputs("\n\t", out);
	char first[2] = { (char)toupper((unsigned char)*o->help), 0 };
	put(out, first);
	put(out, o->help + 1);
	if (o->kind == TIDE_OPT_ENUM) {
		fputs(": ", out);
		for (const char *s = o->arg; *s; s++) {
			char one[2] = { *s, 0 };
			put(out, one);
			if (*s == ',')
				fputc(' ', out);
		}
	}
	if (o->def)
		fprintf(out, " (default %s)", o->def);
	fputs(o->many ? ". May be repeated.\n\n" : ".\n\n", out);
}

void tide__help_print_man(const tide_command *c, FILE *out)
{
	fprintf(out, "tidemark-%s(1)\n\n# NAME\n\ntidemark-%s - ", c->name, c->name);
	put(out, c->summary);
	fprintf(out, "\n\n# SYNOPSIS\n\n*tidemark %s* ", c->name);
	put_usage(out, c->usage);
	fputs("\n\n# DESCRIPTION\n\n", out);
	put(out, c->help ? c->help : c->summary);
	fputs("\n\n# OPTIONS\n\n", out);
	for (size_t i = 0; i < c->n_options; i++)
		put_option(out, &c->options[i]);
	fputs("*-h*, *--help*\n\tPrint a summary of the options.\n\n"
	      "Options of every command are in *tidemark*(1).\n\n"
	      "# EXIT STATUS\n\n0 on success, 1 when the input cannot be read, 2 for wrong "
	      "usage.\n\n"
	      "# SEE ALSO\n\n*tidemark*(1)\n",
	      out);
}
