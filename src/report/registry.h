// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only list of reports. Names are as in C: critical_path. */
#ifndef TIDE_REPORT_REGISTRY_H
#define TIDE_REPORT_REGISTRY_H

#include "report/report.h"

#define TIDE_REPORTS(X) \
	X(memory)       \
	X(peak)         \
	X(ops)          \
	X(leaks)        \
	X(modules)

#define X(name) extern const tide_report_type tide__report_##name;
TIDE_REPORTS(X)
#undef X

/* NULL-terminated. */
extern const tide_report_type *const tide__reports[];

/* Finds a report by its name, or NULL. */
const tide_report_type *tide__report_named(const char *name);

#endif
