// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The list of tools: one for each report of the registry, and those of call.c. */
#include <stdlib.h>
#include <string.h>

#include "mcp/internal.h"
#include "report/schema.h"

enum { HELP = 240 };

void tide__mcp_tool_name(const tide_report_type *type, char out[64])
{
	snprintf(out, 64, "%s", type->name);
	for (char *c = out; *c; c++)
		*c = *c == '-' ? '_' : *c;
}

const tide_report_type *tide__mcp_report(const char *tool)
{
	char name[64];
	for (size_t i = 0; tide__reports[i]; i++) {
		tide__mcp_tool_name(tide__reports[i], name);
		if (!strcmp(name, tool) && tide__reports[i]->members &&
		    tide__reports[i]->input != TIDE_INPUT_SIZES)
			return tide__reports[i];
	}
	return NULL;
}

/* ---- arguments as JSON Schema ---- */

static void put_property(tide_json *j, const char *name, const char *type, const char *help)
{
	tide__json_kobject(j, name);
	tide__json_kstr(j, "type", type);
	if (help)
		tide__json_kstr(j, "description", help);
	tide__json_object_end(j);
}

static void put_words(tide_json *j, const char *words)
{
	tide__json_karray(j, "enum");
	for (const char *w = words; *w;) {
		size_t n = strcspn(w, ",");
		tide__json_strn(j, w, n);
		w += n + (w[n] == ',');
	}
	tide__json_array_end(j);
}

static const char *type_of(const tide_option *o)
{
	switch (o->kind) {
	case TIDE_OPT_FLAG:
		return "boolean";
	case TIDE_OPT_INT:
		return "integer";
	case TIDE_OPT_REAL:
	case TIDE_OPT_DECIMAL:
		return "number";
	default:
		return "string";
	}
}

static void put_type(tide_json *j, const tide_option *o)
{
	tide__json_kstr(j, "type", type_of(o));
	if (o->kind == TIDE_OPT_ENUM)
		put_words(j, o->arg);
	if (o->kind == TIDE_OPT_INT)
		tide__json_kint(j, "minimum", o->least);
	if (o->kind == TIDE_OPT_INT && o->most)
		tide__json_kint(j, "maximum", o->most);
}

static void put_option(tide_json *j, const tide_option *o)
{
	char name[64];
	snprintf(name, sizeof name, "%s", o->name);
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	tide__json_kobject(j, name);
	if (o->many) {
		tide__json_kstr(j, "type", "array");
		tide__json_kobject(j, "items");
		put_type(j, o);
		tide__json_object_end(j);
	} else {
		put_type(j, o);
	}
	tide__json_kstr(j, "description", o->help);
	tide__json_object_end(j);
}

static void put_files(tide_json *j, const tide_report_type *type)
{
	bool many = type->input == TIDE_INPUT_RANKS;
	put_property(j, "file", "string", type->input == TIDE_INPUT_PAIR ? "before" : NULL);
	if (type->input == TIDE_INPUT_PAIR)
		put_property(j, "other", "string", "after");
	if (!many)
		return;
	tide__json_kobject(j, "files");
	tide__json_kstr(j, "type", "array");
	tide__json_kobject(j, "items");
	tide__json_kstr(j, "type", "string");
	tide__json_object_end(j);
	tide__json_kstr(j, "description", "ranks of one job, instead of file");
	tide__json_object_end(j);
}

static void put_required(tide_json *j, const char *first, const char *second)
{
	tide__json_karray(j, "required");
	if (first)
		tide__json_str(j, first);
	if (second)
		tide__json_str(j, second);
	tide__json_array_end(j);
}

/* ---- tools ---- */

static void begin(tide_json *j, const char *name, const char *description, bool reads)
{
	tide__json_object(j);
	tide__json_kstr(j, "name", name);
	tide__json_kstr(j, "description", description);
	tide__json_kobject(j, "annotations");
	tide__json_kbool(j, "readOnlyHint", reads);
	tide__json_object_end(j);
	tide__json_kobject(j, "inputSchema");
	tide__json_kstr(j, "type", "object");
	tide__json_kobject(j, "properties");
}

/* Writes the summary, and the first sentences of the help that fit. */
static void write_description(const tide_report_type *type, char *out, size_t n)
{
	const char *help = type->help ? type->help : "";
	size_t keep = strlen(help);
	if (keep > HELP)
		for (keep = HELP; keep && !(help[keep - 1] == '.' && help[keep] == ' '); keep--)
			;
	snprintf(out, n, "%s.%s%.*s", type->summary, keep ? " " : "", (int)keep, help);
	if (out[0] >= 'a' && out[0] <= 'z')
		out[0] = (char)(out[0] - 32);
}

static void put_report(const tide_mcp *s, const tide_report_type *type, tide_json *j)
{
	char name[64], text[HELP + 200];
	tide__mcp_tool_name(type, name);
	write_description(type, text, sizeof text);
	begin(j, name, text, true);
	put_files(j, type);
	for (size_t i = 0; i < type->n_options; i++)
		if (!type->options[i].text_only)
			put_option(j, &type->options[i]);
	put_property(j, "rows", "integer", NULL);
	put_property(j, "offset", "integer", NULL);
	put_property(j, "table", "string", NULL);
	put_property(j, "full_texts", "boolean", NULL);
	put_property(j, "definitions", "boolean", NULL);
	tide__json_object_end(j);
	put_required(j, type->input == TIDE_INPUT_RANKS ? NULL : "file",
		     type->input == TIDE_INPUT_PAIR ? "other" : NULL);
	tide__json_object_end(j);
	if (s->opt.schemas) {
		tide__json_key(j, "outputSchema");
		tide__schema_write(type, j);
	}
	tide__json_object_end(j);
}

static void put_own(const tide_mcp *s, tide_json *j)
{
	begin(j, "recordings",
	      "List the recordings of the folders, newest first: name, bytes, time of the last change.",
	      true);
	put_property(j, "match", "string", "only names with this text");
	put_property(j, "rows", "integer", "50 by default");
	put_property(j, "offset", "integer", NULL);
	tide__json_object_end(j);
	put_required(j, NULL, NULL);
	tide__json_object_end(j);
	tide__json_object_end(j);
	begin(j, "describe",
	      "Explain a report: every figure with its unit and meaning, every option with its default.",
	      true);
	put_property(j, "report", "string", "the name of a tool, such as peak");
	put_property(j, "match", "string", "only figures whose name or meaning has this text");
	tide__json_object_end(j);
	put_required(j, "report", NULL);
	tide__json_object_end(j);
	tide__json_object_end(j);
	begin(j, "sql",
	      "Run a query of SQLite over the tables of a recording and of every report, for what no report answers. "
	      "Begin with tables. Functions: live_at(t), path(span), stack(id), overlap(a, b); allocs(FROM, TO) and "
	      "spans(FROM, TO) are the rows between two times.",
	      true);
	put_property(j, "file", "string", NULL);
	put_property(j, "query", "string", "one SELECT");
	put_property(j, "rows", "integer", "50 by default; page with LIMIT and OFFSET of SQL");
	put_property(j, "full_texts", "boolean", NULL);
	tide__json_object_end(j);
	put_required(j, "file", "query");
	tide__json_object_end(j);
	tide__json_object_end(j);
	begin(j, "tables",
	      "List the SQL tables of a recording; with table: its columns and what each means.",
	      true);
	put_property(j, "file", "string", NULL);
	put_property(j, "table", "string", NULL);
	tide__json_object_end(j);
	put_required(j, "file", NULL);
	tide__json_object_end(j);
	tide__json_object_end(j);
	if (!s->opt.page)
		return;
	begin(j, "page",
	      "Write a recording as a page for a browser, with every view, and return its name.",
	      false);
	put_property(j, "file", "string", NULL);
	tide__json_object_end(j);
	put_required(j, "file", NULL);
	tide__json_object_end(j);
	tide__json_object_end(j);
}

void tide__mcp_write_tools(const tide_mcp *s, tide_json *j)
{
	char name[64];
	tide__json_karray(j, "tools");
	put_own(s, j);
	for (size_t i = 0; tide__reports[i]; i++) {
		tide__mcp_tool_name(tide__reports[i], name);
		if (tide__mcp_report(name))
			put_report(s, tide__reports[i], j);
	}
	tide__json_array_end(j);
}
