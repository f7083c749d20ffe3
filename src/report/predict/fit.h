// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The fit report: what the command needs of it after its traces are closed. */
#ifndef TIDE_REPORT_PREDICT_FIT_H
#define TIDE_REPORT_PREDICT_FIT_H

#include "report/report.h"

/* Returns the plan of the best answer (TOML), borrowed from the report; NULL if no plan fits. */
const char *tide__fit_plan(const tide_report *r);
/* Returns true if the unchanged program or one of the answers fits. */
bool tide__fit_fits(const tide_report *r);

#endif
