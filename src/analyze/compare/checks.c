// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/compare/checks.h"

#include "base/error.h"
#include "base/mem.h"

tide_code tide__diff_checks_parse(const char *const *text, size_t n, tide_diff_checks *c,
				  size_t *bad, tide_error *err)
{
	*c = (tide_diff_checks){ .text = text, .n = n };
	c->f = tide__calloc(n, sizeof *c->f);
	c->r = tide__calloc(n, sizeof *c->r);
	if (!c->f || !c->r)
		return tide__nomem(err);
	for (*bad = 0; *bad < n; ++*bad) {
		tide_code rc = tide__failif_parse(text[*bad], &c->f[*bad], err);
		if (rc != TIDE_OK)
			return rc;
	}
	return TIDE_OK;
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
