// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Help, generated from the command table. */
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
	if (o->kind == TIDE_OPT_FLAG && o->arg) {
		snprintf(buf, n, "  %s--%s[=%s]", letter, o->name, o->arg);
		return;
	}
	snprintf(buf, n, "  %s--%s%s%s", letter, o->name, *arg ? list ? "=" : " " : "",
		 list ? "WORD" : arg);
}

/* Returns the width of lines, limited for readability. */
static int fitting(int width)
{
	enum { READABLE = 98 };
	return width > 0 && width < READABLE ? width : READABLE;
}

/* Returns the length of the word at s; "[--top N]" is one. */
static size_t word(const char *s)
{
	size_t n = strcspn(s, " \n"), open = 0, i = 0;
	if (*s != '[')
		return n;
	for (; s[i] && s[i] != '\n'; i++) {
		open += s[i] == '[';
		if (s[i] == ']' && !--open)
			break;
	}
	return s[i] == ']' ? i + strcspn(s + i, " \n") : n;
}

/* Prints the words of `text`, starting at column `indent`, wrapped before column `width`; newlines
 * stay. */
static void wrap(FILE *out, const char *text, int indent, int width)
{
	int col = indent;
	while (*text) {
		size_t n = word(text);
		bool first = col == indent;
		if (!first && col + 1 + (int)n > width) {
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

static void option_line(const tide_option *o, FILE *out, int width)
{
	int col = width < 70 ? 10 : 28; /* column where the text begins: on a separate line if
				       * narrow */
	char left[160];
	spell(o, left, sizeof left);
	fprintf(out, "%-*s", col, left);
	if ((int)strlen(left) >= col)
		fprintf(out, "\n%*s", col, "");
	char text[800];
	bool list = o->kind == TIDE_OPT_ENUM;
	snprintf(text, sizeof text, "%s%s", o->help, list ? ": " : "");
	for (const char *c = list ? o->arg : ""; *c; c++) { /* room to break after commas */
		size_t n = strlen(text);
		snprintf(text + n, sizeof text - n, *c == ',' ? ", " : "%c", *c);
	}
	size_t n = strlen(text);
	n += (size_t)snprintf(text + n, sizeof text - n, "%s", o->many ? " (may be repeated)" : "");
	if (o->def)
		snprintf(text + n, sizeof text - n, " (default %s)", o->def);
	wrap(out, text, col, width);
}

/* Prints "usage: " and the arguments, wrapped below each other. */
static void usage_line(const tide_command *c, FILE *out, int width)
{
	int col = fprintf(out, "usage: tidemark %s ", c->name);
	wrap(out, c->usage, col, width);
	fputc('\n', out);
}

void tide__help_print_command(const tide_command *c, FILE *out, int width)
{
	width = fitting(width);
	usage_line(c, out, width);
	wrap(out, c->summary, 0, width);
	if (c->help) {
		fputc('\n', out);
		wrap(out, c->help, 0, width);
	}
	fputs("\noptions:\n", out);
	for (size_t i = 0; tide__command_option(c, i); i++)
		option_line(tide__command_option(c, i), out, width);
}

/* Groups of commands by the question that they answer; a note may follow the commands. */
static const struct {
	const char *title, *note;
} groups[TIDE_GROUPS] = {
	[TIDE_GROUP_MEMORY] = { "What holds memory?", NULL },
	[TIDE_GROUP_TIME] = { "Why is it slow?", NULL },
	[TIDE_GROUP_RANKS] = { "Many ranks",
			       "hta, report, diff, export, info, peak, memory and leaks take a "
			       "folder or a pattern of ranks: `tidemark hta DIR`." },
	[TIDE_GROUP_COMPARE] = { "What changed?", NULL },
	[TIDE_GROUP_RECORD] = { "Record", NULL },
	[TIDE_GROUP_FILES] = { "Files and pages", NULL },
	[TIDE_GROUP_HELP] = { "Help", NULL },
};

static void print_group(tide_report_group group, FILE *out, int width)
{
	const tide_command *const *list = tide__command_list();
	fprintf(out, "\n%s\n", groups[group].title);
	for (size_t i = 0; list[i]; i++) {
		if (tide__command_group(i) != group)
			continue;
		fprintf(out, "  %-14s ", list[i]->name);
		wrap(out, list[i]->summary, 17, width);
	}
	if (groups[group].note) {
		fputs("  ", out);
		wrap(out, groups[group].note, 2, width);
	}
}

void tide__help_print_program(FILE *out, int width)
{
	width = fitting(width);
	fputs("usage: tidemark FILE\n       tidemark COMMAND [OPTIONS] FILE\n\n", out);
	wrap(out,
	     "Tidemark shows where your accelerator's memory and time go. `tidemark FILE` gives "
	     "the first answers about any recording or trace, and names the commands to ask next.",
	     0, width);
	for (int group = 0; group < TIDE_GROUPS; group++)
		print_group((tide_report_group)group, out, width);
	fputc('\n', out);
	wrap(out,
	     "`tidemark help COMMAND` or `tidemark COMMAND --help` explains one.\n"
	     "`tidemark --version` prints the version.",
	     0, width);
}
