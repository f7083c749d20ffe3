// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the files of the page: one function per section, each filling a box. They return
 * false if memory runs out; the box's own failures are sticky and need no check. */
#ifndef TIDE_RENDER_PAGE_PAGE_PARTS_H
#define TIDE_RENDER_PAGE_PAGE_PARTS_H

#include "analyze/timeline/level_of_detail.h"
#include "render/text/labels.h"
#include "render/page/page.h"
#include "render/page/page_box.h"

/* The shell: HTML with one TIDE_PAGE_MARK where the sections go. Empty when not built. */
extern const unsigned char tide__page_shell[];
extern const unsigned char tide__served_shell[]; /* the same with the parts that only a server's
                                                  * page has */
extern const size_t tide__served_shell_size;
extern const size_t tide__page_shell_size;
extern const size_t tide__page_code_size;     /* of its scripts and style, unpacked */
extern const char tide__page_shell_missing[]; /* reason if there is no shell; "" if there is one */
#define TIDE_PAGE_MARK "<!--tide:data-->"

typedef bool tide_page_part(tide_box *b, const tide_model *m, const tide_page_options *opt,
			    tide_error *err);
tide_page_part
	tide__page_write_allocator;	  /* page_allocator.c: addresses, and the state over time */
tide_page_part tide__page_write_roofline; /* page_roofline.c: ops against the device's peaks */
tide_page_part tide__page_write_ledger;	  /* page_ledger.c: device memory by holder */
tide_page_part tide__page_write_main;	  /* page_main.c: summary, curves, findings */
tide_page_part tide__page_write_coarse;	  /* page_window.c: the whole timeline in few pieces */
tide_page_part tide__page_write_spans;	  /* page_spans.c: the timeline's rows */
tide_page_part tide__page_write_memory;	  /* page_memory.c: allocations and memory events */
tide_page_part tide__page_write_flame;	  /* page_flame.c: four trees, also in time order */
tide_page_part tide__page_write_critical; /* page_critical.c: the critical path */
tide_page_part tide__page_write_ops;	  /* page_ops.c: ops by name and as a tree */
tide_page_part tide__page_write_tables;	  /* page_tables.c: phases */
tide_page_part tide__page_write_tt;	  /* page_tt.c: a Tenstorrent run, operation by operation */
tide_page_part tide__page_write_hta;	  /* page_tables.c: the document of `tidemark hta --json` */

/* Writes the member "cats" of sections about spans. */
void tide__page_cats_json(tide_json *j);
/* Writes the member `peak_groups`: the largest groups of allocations alive after `position` memory
 * events (page_peak.c). */
bool tide__page_write_peak_groups(tide_json *j, const tide_model *m, uint32_t device,
				  uint64_t position, tide_error *err);

/* Members `findings` and `untried` (page_findings.c). */
bool tide__page_write_findings(tide_json *j, const tide_model *m, const tide_page_options *opt,
			       tide_error *err);

/* Writes a window of the timeline at a zoom level as a section. */
bool tide__page_write_window(tide_box *b, const tide_lod *l, int64_t from, int64_t to, uint32_t px,
			     tide_error *err);

/* Numbers the texts that a section uses, in order of first use; row 0 is "". */
typedef struct tide_page_names {
	uint32_t *of;	/* owned; by text id of the model: its number, 0 = not used yet */
	tide_str *list; /* owned */
	uint32_t n;
	size_t cap;
} tide_page_names;
bool tide__page_names_init(tide_page_names *t, const tide_model *m);
void tide__page_names_free(tide_page_names *t);
uint32_t tide__page_name(tide_page_names *t, tide_box *b, tide_str s);
/* Writes the member `key`: the array of texts. */
void tide__page_names_json(const tide_page_names *t, const tide_model *m, const char *key,
			   tide_json *j);

#endif
