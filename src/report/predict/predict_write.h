// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The predict report: text and JSON. */
#ifndef TIDE_REPORT_PREDICT_PREDICT_WRITE_H
#define TIDE_REPORT_PREDICT_PREDICT_WRITE_H

#include "analyze/predict/prediction.h"
#include "render/text/out.h"

void tide__predict_text(tide_predict_answer *x, const tide_out *to);
/* Rows of "sizes", and of "roles" and "modules" of "peak_at". */
extern const tide_member tide__predict_size_members[], tide__predict_role_members[],
	tide__predict_module_members[];
/* Writes its members. */
void tide__predict_json(tide_predict_answer *x, tide_json *j);

#endif
