// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Holistic Trace Analysis's own figures for one rank, from its own table (frame.h).
 *
 * Times are microseconds as in HTA: integers, or doubles for averages. Standard deviations are
 * sample deviations, quantiles are interpolated linearly, as in pandas. If HTA raises an exception,
 * `raises` names it and the figures are absent. */
#ifndef TIDE_ANALYZE_COMPAT_TABLES_H
#define TIDE_ANALYZE_COMPAT_TABLES_H

#include "analyze/compat/frame.h"

typedef struct tide_compat_describe { /* pandas describe() */
	uint64_t count;
	double mean, std, min, q25, q50, q75, max; /* NaN where pandas gives NaN */
} tide_compat_describe;

typedef struct tide_compat_name { /* durations of one name */
	tide_str name;
	tide_compat_type type;
	uint64_t count;
	int64_t sum, max, min;
	double mean, std; /* std is 0 for a single one, as in HTA */
} tide_compat_name;

typedef struct
	tide_compat_idle { /* one stream; a class that has no row is absent from HTA's table */
	int64_t stream;
	bool has[3];	 /* host_wait, kernel_wait, other */
	int64_t time[3]; /* µs; may be negative, as in HTA */
} tide_compat_idle;
extern const char *const tide__compat_idle_names[3];

typedef struct tide_compat_queue {
	int64_t stream;
	tide_compat_describe length;
} tide_compat_queue;

typedef struct tide_compat_bandwidth {
	char name[16]; /* "Memcpy DtoH", "Memset" */
	tide_compat_describe gbps;
} tide_compat_bandwidth;

typedef struct tide_compat_launches {
	uint64_t n, short_kernels, runtime_outliers, delay_outliers;
	int64_t cpu_sum, gpu_sum, delay_sum;
	tide_compat_describe cpu, gpu, delay;
} tide_compat_launches;

typedef struct tide_compat_tables {
	const char *raises; /* exception of temporal breakdown, or NULL */
	int64_t idle, compute, non_compute, kernel_time;
	bool has_comm;
	double overlap; /* share of communication overlapped by computation, 0..1; with has_comm */
	/* time in which exactly this set of types ran: bit 0 computation, 1 communication, 2
	 * memory */
	int64_t type_time[8];
	tide_compat_name *kernels, *annotations_gpu,
		*annotations_cpu; /* owned; by sum, descending */
	size_t n_kernels, n_annotations_gpu, n_annotations_cpu;
	tide_compat_idle *idles;
	size_t n_idles;
	tide_compat_queue *queues;
	size_t n_queues;
	tide_compat_bandwidth *bandwidths;
	size_t n_bandwidths;
	tide_compat_launches launches;
} tide_compat_tables;

tide_code tide__compat_tables_find(const tide_model *m, const tide_compat_frame *f,
				   tide_compat_tables *out, tide_error *err);
void tide__compat_tables_free(tide_compat_tables *t);

/* Returns a set of types as HTA writes it: "COMPUTATION overlapping COMMUNICATION". */
const char *tide__compat_set_text(unsigned set);

/* Computes pandas' describe() of n values; sorts them. */
tide_compat_describe tide__compat_describe(double *v, size_t n);

#endif
