// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Exporters: one file per format, one row in the table (export.c), one function each.
 *
 * An exporter writes a whole model to a FILE; compression is done around it
 * (render/export/gzip_isal.h). Output is the same bytes for the same model. docs/guide/export.md
 * lists what each format keeps. */
#ifndef TIDE_RENDER_EXPORT_EXPORT_H
#define TIDE_RENDER_EXPORT_EXPORT_H

#include <stdio.h>

#include "analyze/ops/flame.h"

typedef struct tide_export_options {
	tide_flame_options flame; /* formats that hold a flame graph: which one */
	/* chrome, perfetto: what analyses found (overlay.h), borrowed; NULL = nothing */
	const struct tide_overlay *overlay;
} tide_export_options;

typedef struct tide_export_stats { /* data that the format could not represent */
	uint64_t cut_texts;	   /* long texts that many rows share: long_text.h */
	uint64_t cut_spans;	   /* cut short so that spans nest strictly */
	bool empty;		   /* a flame graph without any weight */
	uint64_t extra_tracks;	   /* tracks added for spans that do not nest in their lane */
	size_t traces;		   /* of tide__export_ranks: how many it holds */
	size_t untimed;		   /* traces without a clock in common with the first */
} tide_export_stats;

/* The traces of several ranks, one in memory at a time. */
typedef struct tide_export_ranks {
	size_t n;
	/* Returns trace i, borrowed until the next call; NULL = unreadable, left out. *rank: -1
	 * = unknown. */
	const tide_model *(*load)(void *user, size_t i, int64_t *rank);
	void *user;
} tide_export_ranks;

typedef struct tide_exporter {
	const char *name;     /* of --to */
	const char *what;     /* one line for help */
	const char *suffixes; /* of files, comma-separated, without .gz: ".json,.trace" */
	bool binary;	      /* never onto a terminal */
	bool gzip;	      /* gzip is part of the format */
	/* TIDE_OK, TIDE_ENOMEM, TIDE_EIO. `st` is zeroed by the caller. */
	tide_code (*write)(const tide_model *m, const tide_export_options *opt, FILE *out,
			   tide_export_stats *st, tide_error *err);
	/* Writes all of them into one file; NULL = the format holds one trace. */
	tide_code (*write_ranks)(const tide_export_ranks *r, FILE *out, tide_export_stats *st,
				 tide_error *err);
} tide_exporter;

/* NULL-terminated. */
extern const tide_exporter *const tide__exporters[];

/* Find an exporter by name; by the end of a file name (ignoring ".gz"). NULL = none. */
const tide_exporter *tide__exporter_find(const char *name);
const tide_exporter *tide__exporter_for(const char *path);

/* Writes `m` in the format, gzipped if the format or `gzip` requires it. */
tide_code tide__export(const tide_exporter *e, const tide_model *m, const tide_export_options *opt,
		       bool gzip, FILE *out, tide_export_stats *st, tide_error *err);

/* Writes several ranks into one file; e->write_ranks must not be NULL. */
tide_code tide__export_ranks(const tide_exporter *e, const tide_export_ranks *r, bool gzip,
			     FILE *out, tide_export_stats *st, tide_error *err);

/* ---- shared by several formats ---- */

/* The position of a trace among those of one file. Processes, devices and links of two traces
 * must not collide: position k adds k * TIDE_EXPORT_STRIDE to process and device numbers (Linux
 * assigns none that large) and k << 32 to links. Zeroed = the only trace. */
#define TIDE_EXPORT_STRIDE (INT64_C(1) << 22)
typedef struct tide_export_place {
	bool many;
	size_t at;
	int64_t rank;  /* -1 = unknown */
	int64_t shift; /* ns added to its times */
} tide_export_place;

/* Iterates over the traces of several ranks. Times count from `base`, ns since 1970: midnight
 * one to two days before the first trace, so that they stay exact as doubles and non-negative. A
 * trace without a wall-clock time, or more than 30 days away, starts with the first. */
typedef struct tide_export_walk {
	const tide_export_ranks *r;
	size_t next, done, untimed;
	bool timed; /* the first trace has a wall-clock time: base is set */
	int64_t base, first;
	tide_export_place place;
} tide_export_walk;
/* Returns the next trace and its position; NULL at the end. */
const tide_model *tide__export_next(tide_export_walk *w);
/* Writes "rank 3", or "trace 3" (counted from 1) if unknown. Returns buf. */
char *tide__export_rank(const tide_export_place *p, char *buf, size_t n);

/* Returns the name of a category as PyTorch's profiler writes it ("cpu_op", "gpu_memcpy" ...). */
const char *tide__kineto_cat(unsigned cat);
/* Writes a device's name, "cuda:0". Returns buf. */
char *tide__export_device(const tide_model *m, tide_device_id d, char *buf, size_t n);
/* Returns the final code of a writer that counts failures. */
tide_code tide__export_end(bool nomem, bool write_failed, tide_error *err);

#endif
