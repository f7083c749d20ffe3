// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Help, made from the command table: nothing is written twice. */
#include <string.h>

#include "cli/cli.h"

/* "  -n, --top N" in a buffer */
static void spell(const tide_option *o, char *buf, size_t n)
{
	char letter[8] = "    ";
	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	const char *arg = o->kind == TIDE_OPT_FLAG || !o->arg ? "" : o->arg;
	bool list = o->kind == TIDE_OPT_ENUM;
	snprintf(buf, n, "  %s--%s%s%s", letter, o->name, *arg ? list ? "=" : " " : "",
		 list ? "WORD" : arg);
}

/* Words of `text`, the first at column `indent`, broken before column 100. */
static void wrap(FILE *out, const char *text, int indent)
{
	int col = indent;
	while (*text) {
		size_t n = strcspn(text, " \n");
		bool first = col == indent;
		if (!first && col + 1 + (int)n > 98) {
			fprintf(out, "\n%*s", indent, "");
			col = indent;
			first = true;
		}
		col += fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text);
		text += n;
		for (; *text == ' ' || *text == '\n'; text++)
			if (*text == '\n') {
				fprintf(out, "\n%*s", text[1] == '\n' || !text[1] ? 0 : indent, "");
				col = indent;
			}
	}
	fputc('\n', out);
}

static void option_line(const tide_option *o, FILE *out)
{
	enum { COL = 28 };
	char left[160];
	spell(o, left, sizeof left);
	fprintf(out, "%-*s", COL, left);
	if (strlen(left) >= COL)
		fprintf(out, "\n%*s", COL, "");
	char text[800];
	snprintf(text, sizeof text, "%s%s%s%s", o->help, o->kind == TIDE_OPT_ENUM ? ": " : "",
		 o->kind == TIDE_OPT_ENUM ? o->arg : "", o->many ? " (may be repeated)" : "");
	wrap(out, text, COL);
}

void tide__help_command(const tide_command *c, FILE *out)
{
	static const tide_option help = { "help", 'h', TIDE_OPT_FLAG, NULL, "print this help" };
	fprintf(out, "usage: tidemark %s %s\n\n", c->name, c->usage);
	wrap(out, c->summary, 0);
	if (c->help) {
		fputc('\n', out);
		wrap(out, c->help, 0);
	}
	fputs("\noptions:\n", out);
	for (size_t i = 0; i < c->n_options; i++)
		option_line(&c->options[i], out);
	option_line(&help, out);
}

void tide__help_program(FILE *out)
{
	fputs("usage: tidemark COMMAND [OPTIONS] FILE\n\n"
	      "Tidemark shows what a program did with memory and time.\n\ncommands:\n",
	      out);
	for (const tide_command *const *c = tide__commands; *c; c++)
		fprintf(out, "  %-14s %s\n", (*c)->name, (*c)->summary);
	fputs("\n`tidemark help COMMAND` or `tidemark COMMAND --help` explains one.\n"
	      "`tidemark --version` prints the version.\n",
	      out);
}
