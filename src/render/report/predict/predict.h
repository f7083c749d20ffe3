// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The predict report: text and JSON. */
#ifndef TIDE_RENDER_REPORT_PREDICT_PREDICT_H
#define TIDE_RENDER_REPORT_PREDICT_PREDICT_H

#include "analyze/predict/prediction.h"
#include "render/text/out.h"

void tide__predict_text(tide_predict_answer *x, const tide_out *to);
void tide__predict_json(tide_predict_answer *x, tide_json *j);

#endif
