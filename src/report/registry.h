// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* All reports. meson.build lists their files, and makes report_list.h of them:
 *
 *     #define TIDE_REPORTS(X) X(peak) X(leaks) ...
 *
 * Names are as in C: critical_path. */
#ifndef TIDE_REPORT_REGISTRY_H
#define TIDE_REPORT_REGISTRY_H

#include "report/report.h"
#include "report/report_list.h"

#define X(name) extern const tide_report_type tide__report_##name;
TIDE_REPORTS(X)
#undef X

enum { TIDE_REPORTS_MOST = 64 }; /* registry.c checks it */

/* NULL-terminated. */
extern const tide_report_type *const tide__reports[];

/* Finds a report by its name, or NULL. */
const tide_report_type *tide__report_named(const char *name);

#endif
