// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Prints a report as text. */
#ifndef TIDE_REPORT_TEXT_H
#define TIDE_REPORT_TEXT_H

#include "report/report.h"

/* Calls the report's text(), or prints its values and tables. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__report_text(const tide_report_type *type, void *result, const tide_out *to);
/* Prints the members that have a heading: what a report without a text does. */
tide_code tide__report_print_tables(const tide_report_type *type, void *result, const tide_out *to);

#endif
