// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The page of a report that is about no single trace, such as a job's ranks: its figures and tables. */
#ifndef TIDE_REPORT_PAGE_H
#define TIDE_REPORT_PAGE_H

#include "report/report.h"

/* Writes the page of a result whose type has `document_page`. `file` is its title. Returns TIDE_OK,
 * TIDE_ENOMEM, TIDE_EIO, or TIDE_EUNSUPPORTED if the front end was not built. */
tide_code tide__report_page(const tide_report_type *type, void *result, const char *file, FILE *out,
			    tide_error *err);

#endif
