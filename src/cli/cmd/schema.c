// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* schema: the JSON Schema of a report or another document, or the descriptions of all. */
#include "report/schema.h"

#include <tidemark/kinds.h>

#include <inttypes.h>

#include "analyze/device/hta.h"
#include "cli/documents.h"
#include "render/picture/colors.h"
#include "report/registry.h"

/* Names of the kinds in columns of traces, by number, and of causes of idle time. */
static void put_kinds(tide_json *j)
{
#define X(name, number, text) tide__json_kint(j, text, number);
	tide__json_kobject(j, "devices");
	TIDE_DEVICE_KINDS(X)
	tide__json_object_end(j);
	tide__json_kobject(j, "pools");
	TIDE_POOL_KINDS(X)
	tide__json_object_end(j);
	tide__json_kobject(j, "roles");
	TIDE_ROLES(X)
	tide__json_object_end(j);
	tide__json_kobject(j, "dtypes");
	TIDE_DTYPES(X)
	tide__json_object_end(j);
#undef X
	tide__json_kobject(j, "idle_causes");
	for (int i = 0; i < TIDE_CAUSES; i++)
		tide__json_kint(j, tide__cause_text[i], i);
	tide__json_object_end(j);
}

/* Colours of pages and pictures as #RRGGBB: groups in order, the others by name. */
static void put_colors(tide_json *j)
{
	char text[16];
	tide__json_karray(j, "groups");
	for (int i = 0; i < TIDE_GROUP_COLORS; i++) {
		snprintf(text, sizeof text, "#%06" PRIx32, tide__group_colors[i]);
		tide__json_str(j, text);
	}
	tide__json_array_end(j);
	for (const tide_color_set *s = tide__color_sets; s->name; s++) {
		tide__json_kobject(j, s->name);
		for (const tide_color *c = s->v; c->name; c++) {
			snprintf(text, sizeof text, "#%06" PRIx32, c->rgb);
			tide__json_kstr(j, c->name, text);
		}
		tide__json_object_end(j);
	}
}

static tide_code put_document(const tide_report_type *type, tide_json *j)
{
	tide__json_object(j);
	tide__json_kstr(j, "name", type->name);
	tide__json_kint(j, "version", type->version);
	tide__json_kstr(j, "summary", type->summary);
	tide__json_key(j, "schema");
	tide_code rc = tide__schema_write(type, j);
	tide__json_object_end(j);
	return rc;
}

static tide_code put_all(tide_json *j)
{
	tide_code rc = TIDE_OK;
	tide__json_object(j);
	tide__json_kobject(j, "kinds");
	put_kinds(j);
	tide__json_object_end(j);
	tide__json_kobject(j, "colors");
	put_colors(j);
	tide__json_object_end(j);
	tide__json_karray(j, "reports");
	for (size_t i = 0; tide__reports[i] && rc == TIDE_OK; i++)
		rc = tide__description_write(tide__reports[i], j);
	tide__json_array_end(j);
	tide__json_karray(j, "documents");
	for (size_t i = 0; tide__documents[i] && rc == TIDE_OK; i++)
		rc = put_document(tide__documents[i], j);
	tide__json_array_end(j);
	tide__json_object_end(j);
	return rc;
}

static const tide_report_type *find_type(const char *name)
{
	const tide_report_type *type = tide__report_named(name);
	return type ? type : tide__document_named(name);
}

static int run(const tide_args *a)
{
	const tide_report_type *type = a->n_files ? find_type(a->files[0]) : NULL;
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_json j;
	if (a->n_files && !type)
		return tide__cli_fail_usage(a, "'%.40s' is not a report with a schema",
					    a->files[0]);
	tide__json_begin(&j, a->out, true);
	if ((type ? tide__schema_write(type, &j) : put_all(&j)) == TIDE_OK)
		return tide__cli_json_end(a, &j);
	tide__json_free(&j);
	return tide__cli_fail(NULL, &err);
}

static const tide_option options[] = { TIDE_OPTION_OUTPUT };

const tide_command tide__cmd_schema = {
	.name = "schema",
	.usage = "[REPORT] [-o FILE]",
	.summary = "print the JSON Schema of a report",
	.help = "Prints a JSON Schema (draft 2020-12) of the document that REPORT writes with --json. "
		"Its title has the version, which grows when a member goes or changes its meaning; "
		"x-kind is the kind of a member: BYTES, NS, COUNT... Without REPORT it prints the "
		"descriptions of all reports, their options and schemas, the schemas of documents that "
		"only one command prints (peak-ranks: `tidemark peak` of several traces), and the "
		"names of kinds (devices, pools, roles, dtypes, causes of idle time) and colours.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 0,
	.max_files = 1,
	.wants = "report",
	.words = "",
	.raw = true,
	.run = run,
};
