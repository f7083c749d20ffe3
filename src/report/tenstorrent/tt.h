// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_REPORT_TENSTORRENT_TT_H
#define TIDE_REPORT_TENSTORRENT_TT_H

#include "analyze/tenstorrent/tt.h"
#include "report/report.h"

/* The result of tide__report_tt, for the command, which finds a run itself. */
typedef struct tide_tt_result {
	tide_tt *t; /* owned by the report */
} tide_tt_result;

#endif
