// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One way to call a lane, wherever it is shown. */
#ifndef TIDE_ANALYZE_COMMON_LANE_NAME_H
#define TIDE_ANALYZE_COMMON_LANE_NAME_H

#include "model/model.h"

/* "thread 1234 (main)", "stream 7": kind, number and the lane's own name; a name that holds the
 * number already ("thread 1234 (main)") stands alone, and so does that of a lane of no known kind.
 * Blanks at the end are dropped. Long names are cut at n. Returns buf. */
char *tide__lane_name(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

#endif
