// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opens a trace of any format: the content decides, never the file's name.
 *
 * Each format has one folder and one row in the registry (registry.c). To add a format, add a row.
 * An importer fills a model and does not use any analysis. */
#ifndef TIDE_IMPORT_IMPORT_H
#define TIDE_IMPORT_IMPORT_H

#include "model/model.h"
#include "model/want.h"

struct tide_source;
typedef struct tide_load_options {
	unsigned threads;      /* worker threads over one file; 0 = one per core */
	bool single;	       /* threads = 1: use no other thread, not even one that decompresses
			   * ahead */
	unsigned what;	       /* TIDE_WANT_*: what the caller needs; 0 = everything */
	uint64_t max_expanded; /* limit on what a compressed input may expand to; 0 = the default,
				* documented with each importer */
	/* .tide only: read at most this many events, in whole chunks from the start; 0 = all.
	 * The rest is a loss (loss.left_out_events) */
	uint64_t max_events;
	/* name of the importer to use regardless of content; NULL = content decides */
	const char *format;
	/* .tide and Kineto: stop at about this byte, as if the file ended there; 0 = the end.
	 * For a preview of a large file: no loss is recorded */
	uint64_t max_bytes;
	/* an open input that can be read only once, borrowed; the path is only its name then.
	 * tide__load_streams says for which ones */
	struct tide_source *from;
	/* Called from time to time by the loading thread with the bytes read so far and in total
	 * (0 = unknown); may be NULL. */
	void (*progress)(void *user, uint64_t done, uint64_t total);
	void *user;
} tide_load_options;

typedef struct tide_importer {
	const char *name; /* "tide", "kineto", "torchsnap" ... */
	const char *what; /* for help: "Tidemark recording" */
	/* Returns how certain the format is, 0 (no) .. 100, from the first bytes after
	 * decompression. */
	int (*sniff)(const uint8_t *head, size_t n);
	/* Fills an empty model. */
	tide_code (*load)(const char *path, const tide_load_options *opt, tide_model *m,
			  tide_error *err);
	/* The same from an input that is read once, from its start to its end. NULL = it seeks. */
	tide_code (*stream)(struct tide_source *s, const tide_load_options *opt, tide_model *m,
			    tide_error *err);
	/* Returns true if a folder is an input of this format; NULL = folders never are. */
	bool (*folder)(const char *path);
	/* Called if no sniff is certain: returns true if the input contains this format further
	 * on. May read as much as needed. NULL = the first bytes are enough. */
	bool (*search)(struct tide_source *s);
} tide_importer;

/* Loads `path` (opt may be NULL = defaults). *out is NULL on failure; the error's text does not
 * repeat the path. Losses and repairs become facts of the model. */
tide_code tide__load(const char *path, const tide_load_options *opt, tide_model **out,
		     tide_error *err);

/* Returns true if the input, not read yet, can be loaded in one pass: its format does not seek, and
 * nothing in opt->what is read later. */
bool tide__load_streams(const struct tide_source *s, const tide_load_options *opt);

/* Returns the name of the importer that recognises the file's content; NULL = none. Nothing is
 * loaded. */
const char *tide__load_format(const char *path);
/* Returns whether an importer recognises the file's content; nothing is loaded. */
bool tide__load_knows(const char *path);

#endif
