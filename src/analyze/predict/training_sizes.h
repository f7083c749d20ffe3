// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory of a training step: model, optimizer state, gradients, activations, measured and
 * theoretical; the 5 parts of the peak; whether it fits a device.
 *
 * Measured sizes come from a log's phases by their names (MODEL_CREATION, OPTIMIZER_CREATION,
 * FORWARD_PASS, BACKWARD_PASS; a suffix "__000012" is ignored), or from a recording by the roles of
 * its allocations: AdamW creates its state in the first step(), regardless of the phase's name.
 * docs/analyses/phases.md defines every figure. */
#ifndef TIDE_ANALYZE_PREDICT_TRAINING_SIZES_H
#define TIDE_ANALYZE_PREDICT_TRAINING_SIZES_H

#include "analyze/memory/phases.h"
#include "model/phase_summary.h"

typedef enum tide_training_part { /* bottom to top in the picture */
				  TIDE_PART_OTHER,
				  TIDE_PART_MODEL,
				  TIDE_PART_GRADIENTS,
				  TIDE_PART_OPTIMIZER,
				  TIDE_PART_ACTIVATIONS,
				  TIDE_PARTS_N
} tide_training_part;

typedef struct tide_maybe_bytes {
	bool known;
	int64_t bytes;
} tide_maybe_bytes;

typedef struct tide_sizes_options {
	uint64_t capacity;	/* 0 = the summary's, else unknown */
	uint64_t parameters;	/* 0 = the summary's */
	double bytes_per_param; /* 0 = 2 (bf16) */
	bool actual;		/* parts show measured model and optimizer sizes */
	/* theoretical; unknown = derived from the parameters. 0 is a size: SGD has no state. */
	tide_maybe_bytes model, optimizer, gradients;
} tide_sizes_options;

enum { TIDE_PART_TENSORS = 8 };

typedef struct tide_part_tensor {
	int64_t bytes;
	char name[80];		 /* its label; this and the following are "" if unknown */
	char module[80], op[80]; /* that made it */
} tide_part_tensor;

typedef struct tide_part_tensors { /* alive at the peak */
	tide_part_tensor largest[TIDE_PART_TENSORS];
	size_t n; /* of all */
} tide_part_tensors;

typedef struct tide_training_sizes {
	tide_maybe_bytes actual[TIDE_PARTS_N];	 /* OTHER is never known */
	tide_maybe_bytes expected[TIDE_PARTS_N]; /* ACTIVATIONS and OTHER are never known */
	tide_maybe_bytes part[TIDE_PARTS_N];	 /* of the peak; their sum is the peak */
	tide_maybe_bytes kv;			 /* KV cache, measured */
	tide_maybe_bytes reserved;		 /* peak reserved by the allocator */
	int64_t peak;
	uint64_t capacity, parameters;
	/* borrowed from the summary: the phase with the peak; NULL = unknown */
	const char *peak_phase;
	tide_part_tensors *tensors; /* owned: one per part of a recording; NULL for a log */
	bool from_roles;	    /* from a recording: parts are those alive at its peak */
	bool parameters_given;	    /* the parameter count is an option's, not the summary's */
	bool model_from_parameters; /* expected sizes were derived from the parameter count */
} tide_training_sizes;

const char *tide__training_part_text(tide_training_part p); /* "Model Parameters" */
const char *tide__training_part_key(tide_training_part p);  /* "model" */

/* Gets (actual - expected) / expected in percent; returns false if either is unknown or 0 is
 * expected. */
bool tide__training_difference(const tide_training_sizes *t, tide_training_part p, double *pct);

/* The changes that help if a peak does not fit its device, or barely. */
typedef struct tide_training_fit {
	bool fits;	  /* the peak is below the capacity; false if that is unknown */
	bool checkpoints; /* recompute activations instead of keeping them */
	bool smaller_batch, accumulate;
	bool shard;		   /* it does not fit without any activations */
	int64_t activations, rest; /* parts of the peak, bytes */
	double activations_pct;	   /* part of the peak */
	double batch_pct;	   /* part of this batch that fits */
} tide_training_fit;
tide_training_fit tide__training_fit_find(const tide_training_sizes *t);

/* Finds the sizes of a summary. Returns TIDE_ENOTFOUND if it has no peak. `s` is borrowed as
 * long as *out is used. */
tide_code tide__training_sizes_find(const tide_phase_summary *s, const tide_sizes_options *o,
				    tide_training_sizes *out, tide_error *err);

/* Frees what *t owns. */
void tide__training_sizes_free(tide_training_sizes *t);

/* Adds a recording to `all` as a summary of one device's main memory, with sizes by role; then
 * finds sizes as above, measured by roles. `title` is copied. Returns TIDE_ENOTFOUND without
 * allocations. Free *out if it succeeds. */
tide_code tide__training_sizes_find_recorded(const tide_model *m, uint32_t device,
					     const char *title, const tide_sizes_options *o,
					     tide_phase_summaries *all, tide_training_sizes *out,
					     tide_error *err);

#endif
