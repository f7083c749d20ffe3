// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A self-contained page of one trace: the shell built from web/ with sections of data inserted.
 *
 * Everything from the input is inside the sections, as base64: no byte of it is ever parsed as
 * HTML.
 * The shell allows only its own script and style (Content-Security-Policy with hashes) and fetches
 * nothing. Layout of the data: docs/formats/page.md. */
#ifndef TIDE_RENDER_PAGE_PAGE_H
#define TIDE_RENDER_PAGE_PAGE_H

#include <stdio.h>

#include "analyze/compare/rank_diff.h"
#include "analyze/critical/critical_path.h"
#include "analyze/device/hta_job.h"
#include "analyze/memory/downsample_allocs.h"
#include "analyze/memory/ledger/device_join.h"
#include "analyze/timeline/level_of_detail.h"
#include "model/model.h"

typedef struct tide_page_options tide_page_options;
struct tide_page_options {
	const char *losses;		    /* lines about losses and repairs, "" = none */
	const tide_hta_job *job;	    /* finished; NULL = no holistic analysis */
	const tide_critical_path *critical; /* NULL = none */
	const tide_model *critical_model;   /* the model of its spans */
	const char *critical_why; /* why there is none; NULL = the page does not mention it */
	const tide_downsampled_allocs
		*downsampled; /* allocations that section "memory" leaves out; NULL = none */
	const tide_phases
		*phases;  /* with `downsampled`: count the memory events of these; may be NULL */
	const char *only; /* the only view to write: "timeline" ...; NULL = all */
	/* Limits of the section "flame"; NULL = all trees in full. `flame_only`: it has the tree of its
	 * kind alone; else all trees with its limits, that of its kind first. */
	const tide_flame_options *flame;
	bool flame_only;
	unsigned number;     /* which of the page's traces: its sections are named NAME.number, 0:
			  * NAME */
	const tide_lod *lod; /* of the model; NULL = built when needed */
	/* Sets job and critical* of `opt` while sections that do not need them are written;
	 * called once, on any thread. NULL = they are set already. */
	tide_code (*prepare)(void *user, tide_page_options *opt, tide_error *err);
	void *user;
};

/* Returns NULL if this library was built with the front end, else why not, as one sentence. */
const char *tide__page_missing(void);

/* Returns true if the page of view `only` (NULL = all) has this section. */
bool tide__page_has(const char *only, const char *section);

/* Writes the page. Returns TIDE_OK, TIDE_ENOMEM, TIDE_EIO, TIDE_EUNSUPPORTED if the front end
 * was not built. */
tide_code tide__page_write(const tide_model *m, const tide_page_options *opt, FILE *out,
			   tide_error *err);

/* The same in parts, for pages of several traces: begin, traces and common sections in any
 * order, end. */
typedef struct tide_box tide_box;
typedef bool tide_page_fill(tide_box *b, const void *what, tide_error *err);
tide_code tide__page_begin(FILE *out, tide_error *err);
tide_code tide__page_write_trace(const tide_model *m, const tide_page_options *opt, FILE *out,
				 tide_error *err);
tide_code tide__page_write_shared(const char *name, tide_page_fill *fill, const void *what,
				  FILE *out, tide_error *err);
tide_code tide__page_end(FILE *out, tide_error *err);

/* Section "page" of a page of several traces. */
typedef struct tide_page_list {
	const char *kind; /* "ranks" or "diff" */
	struct tide_page_entry {
		char *title, *file; /* owned by the caller */
		bool detail;	    /* the trace has its own sections */
	} * v;
	size_t n;
	char **notes; /* notes for the reader */
	size_t n_notes;
} tide_page_list;
tide_page_fill tide__page_write_contents; /* of a tide_page_list */
/* Section "job": the document of `tidemark hta --json` for a tide_hta_job. */
tide_page_fill tide__page_write_job;
/* Section "ledgers": several processes on their devices. */
typedef struct tide_page_ledgers {
	const char *const *files;
	const tide_joined *joined;
} tide_page_ledgers;
tide_page_fill tide__page_write_ledgers;

/* Sections "diff" and "diffflame": two traces compared; for two jobs also the figures of all
 * ranks, in display order. */
typedef struct tide_page_two {
	const tide_model *m[2];
	const char *file[2];
	const tide_rank_diff *ranks; /* borrowed; NULL = two traces */
	size_t n_ranks;
} tide_page_two;
tide_page_fill tide__page_write_diff;
tide_page_fill tide__page_write_diffflame;

/* Writes the whole page of live objects (model/objects.h), without a trace. */
typedef struct tide_objects tide_objects;
tide_code tide__page_write_objects(const tide_objects *o, FILE *out, tide_error *err);

/* Writes a page of one section about no single trace; the section's name is that of its view. */
tide_code tide__page_write_document(const char *file, const char *section, tide_page_fill *fill,
				    const void *what, FILE *out, tide_error *err);

/* ---- for a server: the same page with sections fetched one by one ---- */

/* Writes one section as a gzip member; nothing if the trace has no such data. Returns
 * TIDE_ENOTFOUND if there is no such section. */
tide_code tide__page_write_section(const char *name, const tide_model *m,
				   const tide_page_options *opt, FILE *out, tide_error *err);
/* Writes the server's shell with `data` (HTML) in place of sections and without its
 * Content-Security-Policy, which is copied to `csp` for the reply's header. */
tide_code tide__page_shell_write(const char *data, FILE *out, char *csp, size_t n, tide_error *err);

#endif
