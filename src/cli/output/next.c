// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/output/next.h"

#include <string.h>

#include "cli/report_run.h"
#include "render/report/hints.h"

void tide__cli_tell_next(const char *report, const char *file, unsigned holds)
{
	tide_hint hints[TIDE_HINTS];
	size_t n = tide__hints_find_other(report, holds, hints);
	FILE *out = tide__cli_errors();
	if (!n)
		return;
	fputs("next, for what this recording holds:\n", out);
	for (size_t i = 0; i < n; i++)
		tide__put_hint(&hints[i], strcmp(file, "-") ? file : NULL, out);
}

void tide__cli_tell_next_of(const tide_args *a, const tide_report_type *type, const char *file,
			    const tide_model *m, bool failed)
{
	if (failed || (!tide__cli_is_document(a) && tide__hints_lacks(type->name, m))) {
		fflush(a->out); /* the report comes first */
		tide__cli_tell_next(type->name, file, tide__holds(m));
	}
}
