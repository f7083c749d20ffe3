// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Commands worth asking next about a recording, by what it holds: one table for `tidemark FILE`, the
 * end of `run` and `profile`, and pages. */
#ifndef TIDE_ANALYZE_OVERVIEW_HINTS_H
#define TIDE_ANALYZE_OVERVIEW_HINTS_H

#include "model/model.h"

enum {				   /* what a recording holds */
       TIDE_HOLDS_OPS = 1,	   /* spans of threads */
       TIDE_HOLDS_DEVICE_ROWS = 2, /* spans of streams */
       TIDE_HOLDS_ALLOCS = 4,	   /* allocations */
       TIDE_HOLDS_CUDA_MEMORY = 8,
       TIDE_HOLDS_HEAP = 16,	     /* the host heap, by native stack */
       TIDE_HOLDS_SEGMENTS = 32,     /* of a caching allocator */
       TIDE_HOLDS_OOM = 64,	     /* an allocation failed */
       TIDE_HOLDS_STEPS = 128,	     /* step marks */
       TIDE_HOLDS_COMPILE = 256,     /* a log of torch.compile */
       TIDE_HOLDS_TENSTORRENT = 512, /* a log or results of the Tenstorrent runtime */
       TIDE_HOLDS_RECORDING = 1024,  /* made by `tidemark run` or the package */
       TIDE_HOLDS_FAILURE = 2048,    /* the program ended badly: never found in a model */
       TIDE_HOLDS_PRIVATE = 4096,    /* private pools: of captured graphs */
};

/* Returns what a loaded recording holds. O(spans + pools + marks). */
unsigned tide__holds(const tide_model *m);

typedef struct tide_hint {
	/* Static text: "hta FILE"; FILE is the recording. */
	const char *command;
	const char *answers; /* "why the device waited" */
	bool time;	     /* its question is about time, not memory */
} tide_hint;

enum { TIDE_HINTS = 6 };

/* Writes the steps for what a recording holds, most informative first. Returns their number. */
size_t tide__hints_find(unsigned holds, tide_hint out[TIDE_HINTS]);

/* Returns true if a report ("hta") shows nothing of this recording. */
bool tide__hints_lacks(const char *report, const tide_model *m);
/* The same steps without this report's own, for a user who asked in vain. Returns 0 if nothing but
 * the page is left. */
size_t tide__hints_find_other(const char *report, unsigned holds, tide_hint out[TIDE_HINTS]);

#endif
