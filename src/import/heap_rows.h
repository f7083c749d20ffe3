// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Blocks of a program's heap as rows of the model, for importers of heap profilers. Addresses are
 * made up, one after the other: these profilers keep none. */
#ifndef TIDE_IMPORT_HEAP_ROWS_H
#define TIDE_IMPORT_HEAP_ROWS_H

#include "model/model.h"

typedef struct tide_heap_rows {
	tide_model *m;
	uint32_t pool;
	uint64_t next; /* address */
} tide_heap_rows;

/* Makes the process, the host, and its pool `malloc`. Returns false if memory runs out. */
bool tide__heap_rows_begin(tide_heap_rows *h, tide_model *m, int64_t pid, const char *command,
			   size_t n_command);
/* Adds a block that lives from t on. Returns its row; 0 if memory runs out, or *full: its addresses
 * would reach 2^62. */
uint32_t tide__heap_rows_add(tide_heap_rows *h, uint64_t size, tide_stack_id stack, int64_t t,
			     bool *full);
/* Ends a block. Returns false if memory runs out. */
bool tide__heap_rows_end(tide_heap_rows *h, uint32_t row, int64_t t);

#endif
