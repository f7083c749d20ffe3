// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs as /api/runs lists them: a recording, its figures and its group. */
#ifndef TIDE_SERVE_ANSWER_RUN_ITEMS_H
#define TIDE_SERVE_ANSWER_RUN_ITEMS_H

#include "render/text/json.h"
#include "serve/store/run_index.h"

typedef struct tide_run_item {
	const tide_rec *r;
	const tide_run *run;
	const struct tide_run_item
		*before;	     /* the previous whole run; NULL = none, or the run itself
					     * is partial */
	const tide_rec *of;	     /* the recording that it is an export of; NULL = none */
	int64_t when;		     /* ns, Unix time */
	bool worse;		     /* crosses a limit */
	bool worse_peak, worse_step; /* one on this figure */
} tide_run_item;

/* Sets `of` of every export: NAME.json, NAME.json.gz and NAME_memory.pickle beside NAME.tide are
 * what a profiling session writes. Moves exports behind the others, ordered by their recordings.
 * Returns the number of the others. */
size_t tide__run_exports_apart(tide_run_item *v, size_t n);
/* Writes `"exports": [{"id", "name"}]` of a recording; `v` are the exports as
 * tide__run_exports_apart leaves them. */
void tide__run_exports_json(tide_json *j, const tide_run_item *v, size_t n, const tide_rec *of);

/* Writes `"groups": [...]`: runs by program, the one with the newest run first. `v` is ordered
 * newest first. Returns false if memory runs out. */
bool tide__run_groups_json(tide_json *j, const tide_run_item *v, size_t n);

/* Functions of both lists. */
/* Orders runs by program, arguments, device, format and rank. Returns 0 if two runs can be
 * compared. */
int tide__run_order(const tide_run_item *a, const tide_run_item *b);
void tide__run_change_json(tide_json *j, const char *key, int64_t before, int64_t now);
const char *tide__run_name(const tide_rec *r); /* of its file, without the folder */

#endif
