// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/diff_checks.h"

#include <inttypes.h>
#include <string.h>

#include "render/report/compare/diff.h"

int tide__cli_parse_checks(const tide_args *a, const tide_value *v, tide_diff_checks *c)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	size_t bad;
	tide_code rc = tide__diff_checks_parse(v->list, v->set ? v->n_list : 0, c, &bad, &err);
	if (rc == TIDE_OK)
		return 0;
	if (rc == TIDE_ENOMEM)
		return tide__cli_fail(NULL, &err);
	return tide__cli_fail_usage(a, "--fail-if '%.200s', character %" PRIu64 ": %s",
				    v->list[bad], err.offset + 1, err.text);
}

void tide__cli_print_checks(const tide_diff_checks *c, const char *where)
{
	char text[256], safe[256];
	for (size_t i = 0; i < c->n; i++) {
		const tide_fail_result *r = &c->r[i];
		bool nothing = !r->matched && c->f[i].function != TIDE_FAIL_PEAK;
		const char *verdict = !r->decided  ? "cannot be decided"
				      : r->crossed ? "crossed"
				      : nothing ? "is not crossed, but neither trace has that name"
						: NULL;
		if (!verdict)
			continue;
		tide__diff_checks_write_figures(c, i, text, sizeof text);
		tide__fmt_name(safe, sizeof safe, c->text[i], strlen(c->text[i]), 0);
		tide__cli_note("tidemark diff: %s'%s' %s: %s", where, safe, verdict, text);
	}
}

int tide__cli_checks_status(const tide_diff_checks *c)
{
	return c->undecided ? 1 : c->crossed ? 3 : 0;
}
