// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the reports on the ranks of a job: hta, kernels. */
#ifndef TIDE_REPORT_DEVICE_HTA_H
#define TIDE_REPORT_DEVICE_HTA_H

#include "render/report/device/hta.h"
#include "report/report.h"

/* Their first options, and the numbers of these. */
enum { TIDE_HTA_DROP, TIDE_HTA_STEPS, TIDE_HTA_CUSTOM, TIDE_HTA_WAIT, TIDE_HTA_OPTIONS };
#define TIDE_HTA_FIELD(member) TIDE_FIELD(tide_hta_report_options, member)
/* clang-format off */
#define TIDE_HTA_OPTION_ROWS                                                                      \
	[TIDE_HTA_DROP] = { "drop-last-step", 0, TIDE_OPT_FLAG, NULL, "leave out the last step",  \
			    TIDE_HTA_FIELD(drop_last_step) },                                     \
	[TIDE_HTA_STEPS] = { "steps", 0, TIDE_OPT_RANGE, "A..B", "only steps A to B, or step A",  \
			     TIDE_HTA_FIELD(steps) },                                             \
	[TIDE_HTA_CUSTOM] = { "custom-collective", 0, TIDE_OPT_TEXT, "PART",                      \
			      "count kernels with PART in their name as custom collectives",      \
			      .many = true, TIDE_HTA_FIELD(custom_collective) },                  \
	[TIDE_HTA_WAIT] = { "kernel-wait", 0, TIDE_OPT_INT, "NS",                                 \
			    "gaps shorter than NS are kernel_wait", .def = "30000", .least = 1,   \
			    TIDE_HTA_FIELD(kernel_wait_ns) }
/* clang-format on */

/* Reads the first two, into opt->window. `window` receives the window as text. Fails with
 * TIDE_EUSAGE. */
tide_code tide__hta_read_window(const tide_report_ask *ask, tide_hta_options *opt, char *window,
				size_t n_window, tide_error *err);
/* Reads them. `opt` is valid as long as the values. `window` receives the window as text. Fails with
 * TIDE_EUSAGE. */
tide_code tide__hta_read_options(const tide_report_ask *ask, tide_hta_options *opt, char *window,
				 size_t n_window, tide_error *err);

typedef struct tide_hta_result {
	const tide_hta_job *job;
	tide_hta_job *own; /* owned; NULL: the caller analysed the ranks */
	tide_hta_view view;
	char window[80];
	int by; /* of kernels: TIDE_KERNELS_BY_* */
} tide_hta_result;

/* Analyses the traces, unless the caller did. */
tide_code tide__hta_find_job(const tide_report_ask *ask, tide_hta_options *opt, tide_hta_result *x,
			     tide_error *err);
void tide__hta_free_result(void *result);

void tide__hta_text(const tide_hta_job *job, const tide_hta_view *view, FILE *out,
		    const tide_style *style);
void tide__kernels_text(const tide_hta_job *job, const tide_hta_view *view, int by, FILE *out,
			const tide_style *style);

/* Prints notes, ranks that failed, and losses. */
void tide__hta_print_troubles(const tide_hta_job *job, FILE *out, const tide_style *st);

/* The options of kernels in C: those of hta, and what to group by. */
typedef struct tide_kernels_options {
	tide_hta_report_options shared;
	const char *by;
} tide_kernels_options;

/* Shown by kernels with --sequences, --counters and --by shape, module, category, stack, length. They have its options. */
enum {
	TIDE_KERNELS_TOP = TIDE_HTA_OPTIONS,
	TIDE_KERNELS_BY,
	TIDE_KERNELS_SEQUENCES,
	TIDE_KERNELS_MIN,
	TIDE_KERNELS_COUNTERS,
	TIDE_KERNELS_CAPTURED,
	TIDE_KERNELS_OPTIONS
};
extern const tide_option tide__kernels_options[TIDE_KERNELS_OPTIONS];
extern const tide_report_type tide__report_sequences, tide__report_counters,
	tide__report_kernels_by_shape, tide__report_kernels_by_module,
	tide__report_kernels_by_category, tide__report_kernels_by_stack,
	tide__report_kernels_by_length;

#endif
