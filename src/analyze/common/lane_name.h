// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The display name of a lane. */
#ifndef TIDE_ANALYZE_COMMON_LANE_NAME_H
#define TIDE_ANALYZE_COMMON_LANE_NAME_H

#include "model/model.h"

/* Writes "thread 1234 (main)" or "stream 7": kind, number and the lane's own name. A name that
 * contains the number already, or belongs to a lane of unknown kind, is used alone. Trailing
 * blanks are dropped; long names are cut at n. Returns buf. */
char *tide__lane_name(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

#endif
