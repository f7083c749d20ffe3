// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See findings.h. */
#include "report/memory/findings.h"

#include <string.h>

static void looked_text(const tide_findings *f, FILE *out)
{
	const char *between = "";
	fputs("looked at: ", out);
	for (int a = 0; a < TIDE_AREAS; a++)
		if (f->looked[a]) {
			fprintf(out, "%s%s", between, tide__area_text[a]);
			between = ", ";
		}
	between = "; not recorded: ";
	for (int a = 0; a < TIDE_AREAS; a++)
		if (!f->looked[a]) {
			fprintf(out, "%s%s", between, tide__area_text[a]);
			between = ", ";
		}
	fputc('\n', out);
}

void tide__findings_text(const tide_findings *f, FILE *out)
{
	char safe[1024];
	if (f->score < 0) {
		fputs("The recording has no device work, no history of device memory and no compile "
		      "log, and its host memory shows no growth over steps and no dominating role: "
		      "no advice is possible.\n",
		      out);
		return;
	}
	fprintf(out, "score %d of 100 (%c)\n", f->score, f->grade);
	looked_text(f, out);
	for (size_t i = 0; i < f->n; i++) {
		const tide_finding *x = &f->v[i];
		fprintf(out, "\n%-6s %-9s %+d  %s\n", tide__severity_text[x->severity],
			tide__area_text[x->area], x->points, x->id);
		fprintf(out, "  %s\n",
			tide__fmt_name(safe, sizeof safe, x->text, strlen(x->text), 0));
	}
}

static void put(const tide_finding *x, tide_json *j)
{
	tide__json_object(j);
	tide__json_kstr(j, "area", tide__area_text[x->area]);
	tide__json_kstr(j, "id", x->id);
	tide__json_kstr(j, "severity", tide__severity_text[x->severity]);
	tide__json_kint(j, "points", x->points);
	tide__json_kstr(j, "figure", x->figure);
	if (x->figure)
		tide__json_kfixed(j, "value", x->value, 4);
	else
		tide__json_knull(j, "value");
	tide__json_kfixed(j, "threshold", x->threshold, 4);
	tide__json_kuint_if(j, "bytes", x->bytes > 0, x->bytes);
	tide__json_kstr(j, "text", x->text);
	tide__json_object_end(j);
}

void tide__findings_json(const tide_findings *f, tide_json *j)
{
	char grade[2] = { f->grade, 0 };
	tide__json_kint_if(j, "score", f->score >= 0, f->score);
	tide__json_kstr(j, "grade", f->grade ? grade : NULL);
	tide__json_kobject(j, "areas");
	for (int a = 0; a < TIDE_AREAS; a++)
		tide__json_kbool(j, tide__area_text[a], f->looked[a]);
	tide__json_object_end(j);
	tide__json_karray(j, "findings");
	for (size_t i = 0; i < f->n; i++)
		put(&f->v[i], j);
	tide__json_array_end(j);
}
