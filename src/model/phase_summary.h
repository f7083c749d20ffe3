// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory summaries per phase, as a tracker prints them: figures without allocations.
 *
 * The log importer and the analysis of a recording both fill this, so that a log and a recording
 * can be compared. Sizes are bytes; a log's are rounded to 0.01 MiB. A figure that was not given is
 * not
 * `known`. */
#ifndef TIDE_MODEL_PHASE_SUMMARY_H
#define TIDE_MODEL_PHASE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIDE_PHASE_FIGURES(X) /* name, text in a log */ \
	X(SEGMENT_PEAK, "Segment Peak")                 \
	X(ALLOCATIONS, "Allocations")                   \
	X(DEALLOCATIONS, "Deallocations")               \
	X(CHANGE, "Segment Change")                     \
	X(PEAK, "Cumulative Peak")                      \
	X(CURRENT, "Cumulative Current")                \
	X(L1_CB, "Peak CB")                             \
	X(L1_BUFFER, "Peak Buffer")                     \
	X(L1_TOTAL, "Peak Total")

typedef enum tide_phase_figure {
#define X(name, text) TIDE_FIGURE_##name,
	TIDE_PHASE_FIGURES(X)
#undef X
		TIDE_FIGURES_N
} tide_phase_figure;

typedef struct tide_phase_row {
	char *name;		       /* owned */
	int64_t bytes[TIDE_FIGURES_N]; /* by TIDE_FIGURE_*; 0 where not known */
	unsigned known;		       /* bit 1 << TIDE_FIGURE_* */
	uint32_t number;	       /* of the phase in its summary, from 1 */
} tide_phase_row;

typedef struct tide_phase_summary {
	char *title;		 /* owned: title in the log; may be "" */
	char *scope;		 /* owned: the memory it covers: "DRAM" */
	uint64_t at;		 /* byte of the log where it begins */
	uint64_t parameters;	 /* 0 = unknown */
	uint64_t capacity;	 /* bytes of the device; 0 = unknown */
	int64_t overall, final;	 /* peak and use at the end */
	bool has_overall, whole; /* true if its totals were read */
	tide_phase_row *rows;	 /* owned */
	size_t n, cap;
	char *rank; /* owned: prefix of its lines if several ranks write one log, else "" */
} tide_phase_summary;

typedef struct tide_phase_summaries {
	tide_phase_summary *v; /* owned */
	size_t n, cap;
} tide_phase_summaries;

/* Returns true and sets *out if `row` has the figure. */
static inline bool tide__phase_figure(const tide_phase_row *row, tide_phase_figure f, int64_t *out)
{
	*out = row->bytes[f];
	return row->known >> f & 1;
}

/* Appends an empty summary. Returns NULL if memory runs out. Texts are copied. */
tide_phase_summary *tide__phase_summary_add(tide_phase_summaries *s, const char *title,
					    const char *scope, const char *rank);
tide_phase_row *tide__phase_row_add(tide_phase_summary *s, const char *name, size_t n);
void tide__phase_summaries_free(tide_phase_summaries *s);

/* Gets the peak: the summary's own, else the highest cumulative peak. Returns false if it has
 * neither. */
bool tide__phase_summary_peak(const tide_phase_summary *s, int64_t *out);
/* Returns the largest error in the 3 relations between its figures (phases.h), in bytes, and its
 * row. A log that is rounded to 0.01 MiB has errors up to 0.02 MiB. */
int64_t tide__phase_summary_off(const tide_phase_summary *s, size_t *row);

#endif
