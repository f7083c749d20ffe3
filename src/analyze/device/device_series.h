// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Curves over time for exports: queue length of every stream, bytes per second of every kind of copy.
 * The same rules as the figures of hta (docs/analyses/launches.md, bandwidth.md). Pure. */
#ifndef TIDE_ANALYZE_DEVICE_DEVICE_SERIES_H
#define TIDE_ANALYZE_DEVICE_DEVICE_SERIES_H

#include "model/model.h"

typedef struct tide_series_curve {
	char kind[80];		/* of a copy, "HtoD"; of the stream's device, "cuda" */
	int64_t device, stream; /* -1 = none */
	size_t first, n;
} tide_series_curve;

typedef struct tide_series_point { /* the value from t on */
	int64_t t;
	double value;
} tide_series_point;

typedef struct tide_series {
	tide_series_curve *curves; /* owned */
	size_t n_curves, cap_curves;
	tide_series_point *points; /* owned; of one curve in order of time */
	size_t n_points, cap_points;
} tide_series;

/* Find the curves of a trace; tide__series_free in any case. */
tide_code tide__queue_series_find(const tide_model *m, tide_series *out, tide_error *err);
tide_code tide__bandwidth_series_find(const tide_model *m, tide_series *out, tide_error *err);
void tide__series_free(tide_series *s);

#endif
