// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Losses: facts whose key starts with "loss." (events lost, input truncated, records repaired). One
 * table has every key, its sentence in reports and its name in the last version; importers,
 * analyses and reports use it. The test `loss_keys` checks that each key in the sources has a row.
 * All functions are pure; texts are borrowed and static unless noted. */
#ifndef TIDE_MODEL_LOSSES_H
#define TIDE_MODEL_LOSSES_H

#include "model/model.h"

typedef struct tide_loss_kind {
	const char *key;  /* without "loss." */
	const char *text; /* sentence: %s = the number or the text, %t = the text of loss `why` in
			   * brackets; NULL = the key as words, then the value */
	bool place;	  /* a byte offset: neither added up over traces nor grouped by digits */
	const char *why;  /* key of the loss that has the reason; NULL = none */
	const char *covered_by[3]; /* keys of losses whose sentence includes this one */
	bool part;    /* a part of the run is missing: totals and peaks may be too low */
	bool damaged; /* the file is cut off or damaged */
} tide_loss_kind;

/* One loss of a trace: `key` without "loss."; its value is the text of n bytes, or the number if n
 * is 0. */
typedef struct tide_loss {
	const char *key, *text;
	size_t n;
	int64_t number;
} tide_loss;

/* Returns a fact's key without "loss."; NULL if the fact is not a loss. Borrowed from `key`. */
const char *tide__loss_key(const char *key);
/* Returns true if fact i of the trace is a loss that has a value: a text or a non-zero number.
 * `out` borrows its texts until the model is freed. */
bool tide__loss_at(const tide_model *m, size_t i, tide_loss *out);

/* Row i of the table; NULL past its end. */
const tide_loss_kind *tide__loss_kind_at(size_t i);
/* Row of a key; NULL if it has none (a newer version wrote it). */
const tide_loss_kind *tide__loss_kind_of(const char *key);
/* Returns true if a key's value is a byte offset. */
bool tide__loss_is_place(const char *key);
/* Returns true if a key, or its count over traces ("truncated_at", "truncated_traces"), says that a
 * file is cut off or damaged. */
bool tide__loss_is_damage(const char *key);
/* Returns true if a part of the run is missing from the trace. */
bool tide__lacks_part(const tide_model *m);

#endif
