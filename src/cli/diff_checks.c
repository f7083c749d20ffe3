// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/diff_checks.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/report/diff.h"

int tide__diff_checks_parse(const tide_args *a, const tide_value *v, tide_diff_checks *c)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	*c = (tide_diff_checks){ .text = v->list, .n = v->set ? v->n_list : 0 };
	c->f = tide__calloc(c->n, sizeof *c->f);
	c->r = tide__calloc(c->n, sizeof *c->r);
	if (!c->f || !c->r) {
		err.code = TIDE_ENOMEM;
		return tide__cli_fail(NULL, &err);
	}
	for (size_t i = 0; i < c->n; i++)
		if (tide__failif_parse(v->list[i], &c->f[i], &err) != TIDE_OK)
			return tide__cli_usage(a, "--fail-if '%.200s', character %" PRIu64 ": %s",
					       v->list[i], err.offset + 1, err.text);
	return 0;
}

void tide__diff_checks_free(tide_diff_checks *c)
{
	tide__free(c->f);
	tide__free(c->r);
	*c = (tide_diff_checks){ 0 };
}

void tide__diff_checks_run(tide_diff_checks *c, const tide_diff *d)
{
	for (size_t i = 0; i < c->n; i++) {
		c->r[i] = tide__failif_check(&c->f[i], d);
		c->crossed |= c->r[i].crossed;
		c->undecided |= !c->r[i].decided;
	}
}

void tide__diff_checks_figures(const tide_diff_checks *c, size_t i, char *buf, size_t n)
{
	const tide_failif *f = &c->f[i];
	const tide_fail_result *r = &c->r[i];
	char a[64] = "unknown", b[64] = "unknown", pct[32] = "";
	double change = tide__change_pct(r->a, r->b);
	if (r->known[0])
		tide__unit_text(a, sizeof a, f->unit, (int64_t)r->a, false);
	if (r->known[1])
		tide__unit_text(b, sizeof b, f->unit, (int64_t)r->b, false);
	if (r->known[0] && r->known[1] && r->a)
		snprintf(pct, sizeof pct, " (%+.4g %%)", change);
	snprintf(buf, n, "A %s, B %s%s", a, b, pct);
}

void tide__diff_checks_tell(const tide_diff_checks *c, const char *where)
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
		tide__diff_checks_figures(c, i, text, sizeof text);
		tide__fmt_name(safe, sizeof safe, c->text[i], strlen(c->text[i]), 0);
		tide__cli_note("tidemark diff: %s'%s' %s: %s", where, safe, verdict, text);
	}
}

int tide__diff_checks_status(const tide_diff_checks *c)
{
	return c->undecided ? 1 : c->crossed ? 3 : 0;
}

void tide__diff_checks_json(tide_json *j, const tide_diff_checks *c)
{
	tide__json_karray(j, "fail_if");
	for (size_t i = 0; i < c->n; i++) {
		const tide_fail_result *r = &c->r[i];
		tide__json_object(j);
		tide__json_kstr(j, "expression", c->text[i]);
		if (r->known[0])
			tide__json_kuint(j, "a", r->a);
		else
			tide__json_knull(j, "a");
		if (r->known[1])
			tide__json_kuint(j, "b", r->b);
		else
			tide__json_knull(j, "b");
		if (r->decided)
			tide__json_kbool(j, "crossed", r->crossed);
		else
			tide__json_knull(j, "crossed");
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}
