// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Summarises one recording: the figures by which runs are listed, grouped and compared. Plain
 * data without pointers, so that it can be stored. Defined in docs/guide/dashboard.md. */
#ifndef TIDE_ANALYZE_COMPARE_RUN_SUMMARY_H
#define TIDE_ANALYZE_COMPARE_RUN_SUMMARY_H

#include "analyze/device/hta_job.h"

enum { TIDE_RUN_SPARK = 48 };

enum {			      /* what a recording has */
       TIDE_HAS_HOST = 1,     /* work of the host */
       TIDE_HAS_DEVICE = 2,   /* work of a device */
       TIDE_HAS_MEMORY = 4,   /* allocations */
       TIDE_HAS_COMPILE = 8,  /* a log of torch.compile */
       TIDE_HAS_KNOWN = 16,   /* the file was read in its present state */
       TIDE_HAS_REPORT = 32,  /* a report that tidemark.profiling exported: it answers what the
			      * bits beside this one name, and only that */
       TIDE_HAS_NOTHING = 64, /* that report has no figures: it answers nothing */
       TIDE_HAS_ANY = 15
};

typedef struct tide_run_summary { /* -1 = unknown */
	char format[16];
	char program
		[128]; /* script or program without its folders; "" = unknown. "train.py: step" =
			    * session "step" of a profiler */
	char arguments[256]; /* words after the program's; without the file of the recording, whose
			      * name differs from run to run. Long ones end with a hash of all */
	char device[64];  /* model of the device with the highest peak, else of the first one with
			    * work; without a model its kind and number */
	int64_t start_ns; /* Unix time */
	int64_t duration_ns;
	int64_t peak_bytes, capacity_bytes;
	int64_t step_ns; /* median */
	int64_t steps;
	int64_t busy_ppm; /* device busy, millionths of its time window */
	int64_t rank;
	int64_t compile_ns, graph_breaks; /* of a compile log */
	uint64_t losses;		  /* number of loss.* facts */
	uint8_t has;			  /* TIDE_HAS_HOST ... */
	bool partial; /* a part of the run is missing: peak and duration are lower bounds */
	uint8_t n_spark, spark[TIDE_RUN_SPARK]; /* memory over time, 0 .. 31 of its highest */
} tide_run_summary;

/* Returns what a trace has: TIDE_HAS_HOST ... */
uint8_t tide__run_what(const tide_model *m);

/* Summarises a trace. Memory is that of the accelerator with the highest peak, or of the host if
 * there is none. O(spans + events). */
tide_code tide__run_summarize(const tide_model *m, tide_run_summary *out, tide_error *err);

#endif
