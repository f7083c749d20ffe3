// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A predicted run (analyze/predict/virtual_run.h): text and JSON. */
#ifndef TIDE_RENDER_REPORT_PREDICT_VIRTUAL_RUN_H
#define TIDE_RENDER_REPORT_PREDICT_VIRTUAL_RUN_H

#include "analyze/predict/virtual_run.h"
#include "render/text/out.h"

void tide__virtual_run_text(const tide_model *m, const tide_virtual_run *r, const tide_out *to);
/* Writes the members of an open object. */
extern const tide_member tide__virtual_run_members[];
void tide__virtual_run_json(const tide_model *m, const tide_virtual_run *r, tide_json *j);

#endif
