// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recommendations on torch.compile, each with its figure. Thresholds: docs/analyses/compile.md. */
#ifndef TIDE_ANALYZE_ADVICE_COMPILE_ADVICE_H
#define TIDE_ANALYZE_ADVICE_COMPILE_ADVICE_H

#include "analyze/compile/compile_report.h"
#include "analyze/advice/time_advice.h"

enum { TIDE_COMPILE_ADVICE_MAX = 8 };

/* Writes recommendations into out, most severe first; returns their number. */
size_t tide__compile_advise(const tide_model *m, const tide_compile_report *r,
			    tide_advice out[TIDE_COMPILE_ADVICE_MAX]);

#endif
