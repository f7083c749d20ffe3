// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/registry.h"

#include <string.h>

const tide_report_type *const tide__reports[] = {
#define X(name) &tide__report_##name,
	TIDE_REPORTS(X)
#undef X
		NULL,
};

const tide_report_type *tide__report_named(const char *name)
{
	for (const tide_report_type *const *r = tide__reports; *r; r++)
		if (!strcmp((*r)->name, name))
			return *r;
	return NULL;
}
