// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/registry.h"

#include <string.h>

/* A test adds reports of its own: -DTIDE_MORE_REPORTS(X)=X(toy). */
#ifndef TIDE_MORE_REPORTS
#define TIDE_MORE_REPORTS(X)
#endif

/* clang-format off */
#define X(name) extern const tide_report_type tide__report_##name;
TIDE_MORE_REPORTS(X)
#undef X

const tide_report_type *const tide__reports[] = {
#define X(name) &tide__report_##name,
	TIDE_REPORTS(X)
	TIDE_MORE_REPORTS(X)
#undef X
	NULL,
};
/* clang-format on */
_Static_assert(sizeof tide__reports / sizeof *tide__reports <= TIDE_REPORTS_MOST,
	       "commands.c has room for fewer");

const tide_report_type *tide__report_named(const char *name)
{
	for (const tide_report_type *const *r = tide__reports; *r; r++)
		if (!strcmp((*r)->name, name))
			return *r;
	return NULL;
}
