// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The holistic analysis as tables (hta_tables.c) and as JSON (hta_json.c), for the reports and the
 * page. Text and JSON come from the same tables. */
#ifndef TIDE_RENDER_REPORT_DEVICE_HTA_H
#define TIDE_RENDER_REPORT_DEVICE_HTA_H

#include "analyze/advice/time_advice.h"
#include "analyze/device/hta_job.h"
#include "render/text/grid.h"

/* Return tables; `top` = maximum rows, 0 = all. The caller frees. `texts` is the result that
 * owns the texts. */
tide_grid *tide__grid_kernels(const tide_hta *sum, size_t top);
tide_grid *tide__grid_types(const tide_hta *sum);
tide_grid *tide__grid_ops(const tide_hta *sum, size_t top);
/* Kernels under each op, the `top` longest ops, at most `each` kernels of one (0 = all). */
tide_grid *tide__grid_op_kernels(const tide_hta *sum, size_t top, size_t each);
tide_grid *tide__grid_apis(const tide_hta *sum, size_t top);
tide_grid *tide__grid_annotations(const tide_hta *sum, size_t top);
tide_grid *tide__grid_collectives(const tide_hta *texts, const tide_hta *h, size_t top);
tide_grid *tide__grid_copies(const tide_hta *texts, const tide_hta *h);
tide_grid *tide__grid_steps(const tide_hta *h, size_t top);
/* Returns how late each rank came to collectives, latest first; no rows with fewer than 2 ranks. */
tide_grid *tide__grid_stragglers(const tide_hta_job *job);
/* Streams of all ranks with their busy time and kernels' statistics. */
tide_grid *tide__grid_streams(const tide_hta_job *job, size_t top);

extern const tide_member tide__hta_kernel_columns[], tide__hta_type_columns[],
	tide__hta_op_columns[], tide__hta_op_kernel_columns[], tide__hta_launch_columns[],
	tide__hta_annotation_columns[], tide__hta_collective_columns[], tide__hta_copy_columns[],
	tide__hta_step_columns[], tide__hta_stream_columns[], tide__hta_straggler_columns[];

/* Writes note i of a job: missing ranks, traces without device rows. Returns buf. */
enum { TIDE_HTA_NOTE = 1000 }; /* bytes that hold any note; longer paths are cut */
char *tide__hta_note_text(const tide_hta_job *job, size_t i, char *buf, size_t n);

typedef struct tide_hta_view {
	size_t top;	    /* rows of long tables; 0 = all */
	const char *window; /* the given window: "all", "drop-last-step", "steps 3..5" */
} tide_hta_view;

/* Writes the members of the report; of the report on kernels. */
void tide__hta_put_json(const tide_hta_job *job, const tide_hta_view *view, tide_json *j);
void tide__kernels_put_json(const tide_hta_job *job, const tide_hta_view *view, int by,
			    tide_json *j);
/* Writes the losses of a result, or of a job's sum, as the member "losses". */
void tide__hta_put_losses(tide_json *j, const tide_hta *texts, const tide_hta *h);
/* The members of both. */
extern const tide_member tide__hta_members[], tide__kernels_members[];
/* Writes the document of a page. Returns false if writing failed. */
bool tide__hta_json(const tide_hta_job *job, const tide_hta_view *view, FILE *out);

enum {
	TIDE_KERNELS_BY_NAME,
	TIDE_KERNELS_BY_TYPE,
	TIDE_KERNELS_BY_OP,
	TIDE_KERNELS_BY_STREAM,
	TIDE_KERNELS_BY_SHAPE /* and the following: report/device/device_time.c */
};

#endif
