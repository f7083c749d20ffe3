// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opening a trace, whatever it is: content decides, never the file's name.
 *
 * Each format has one folder and one row in the registry (registry.c). Adding a format is adding
 * a row. An importer fills a model and knows no analysis. */
#ifndef TIDE_IMPORT_IMPORT_H
#define TIDE_IMPORT_IMPORT_H

#include "model/model.h"

typedef struct tide_load_options {
	unsigned threads; /* worker threads over one file; 0 = one per core */
	bool single;	  /* threads = 1: nothing beside that one, not even a thread that inflates
				* ahead of it */
	unsigned what;	  /* TIDE_WANT_*: what the caller will ask; 0 = everything */
	uint64_t max_expanded; /* limit on what a compressed input may expand to; 0 = the default,
				* documented with each importer */
	/* .tide only: read at most so many, in whole chunks from the start on; 0 = all.
				* What is left out is a loss (loss.left_out_events) */
	uint64_t max_events;
	/* name of the importer to use, whatever the content; NULL = content decides */
	const char *format;
	/* .tide and Kineto: stop about there, as if no more had been written; 0 = the
				* end. For a first look at a large file: nothing says that it was not all */
	uint64_t max_bytes;
	/* Called now and then from the loading thread with bytes read so far and in all (0 = unknown);
	 * may be NULL. */
	void (*progress)(void *user, uint64_t done, uint64_t total);
	void *user;
} tide_load_options;

enum { /* hints: an importer may skip what is not wanted to save memory, never change the rest */
       TIDE_WANT_SPANS = 1,
       TIDE_WANT_MEMORY = 2,
       TIDE_WANT_ARGS = 4, /* span_src, for fetching arguments later */
       TIDE_WANT_FLOWS = 8,
       TIDE_WANT_RAW =
	       16, /* Kineto only, never implied by 0: span_raw, and the fact kineto.ts0_ns (raw
			     * ts of t = 0) */
       TIDE_WANT_SHAPES =
	       32, /* Kineto only, never implied by 0: shapes, types and scalars of ops, launch
				* figures of kernels as attributes (KIN_SHAPES in kineto/words.h) */
};

struct tide_source;
typedef struct tide_importer {
	const char *name; /* "tide", "kineto", "torchsnap" ... */
	const char *what; /* for help: "Tidemark recording" */
	/* How sure it is that this is its format, 0 (no) .. 100, from the first bytes after gunzip. */
	int (*sniff)(const uint8_t *head, size_t n);
	/* Fill an empty model. */
	tide_code (*load)(const char *path, const tide_load_options *opt, tide_model *m,
			  tide_error *err);
	/* Whether a folder is an input of this format; NULL = folders never are. */
	bool (*folder)(const char *path);
	/* Asked where no sniff is sure: is it in here, further on? Reads as much as it likes. NULL =
	 * the first bytes always tell. */
	bool (*search)(struct tide_source *s);
} tide_importer;

/* Load `path` (opt may be NULL = defaults). *out is NULL on failure; the error's text does not
 * repeat the path. Losses and repairs are facts of the model. */
tide_code tide__load(const char *path, const tide_load_options *opt, tide_model **out,
		     tide_error *err);

/* Whether an importer knows the file's content; nothing is loaded. */
bool tide__load_knows(const char *path);

#endif
