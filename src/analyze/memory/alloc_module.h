// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The module of an allocation: the innermost module around the op that made it (modules.h); or,
 * for a labelled parameter, buffer, gradient or optimizer state, the module that owns it by its
 * name. Definitions: docs/analyses/modules.md. */
#ifndef TIDE_ANALYZE_MEMORY_ALLOC_MODULE_H
#define TIDE_ANALYZE_MEMORY_ALLOC_MODULE_H

#include "analyze/ops/modules.h"

typedef struct tide_alloc_modules { /* names of module spans, none if there is none */
	tide_str *alloc;	    /* owned; per allocation */
	tide_str *view; /* owned; per view of an allocation that several tensors share */
} tide_alloc_modules;

/* O(spans + allocs + tensors + views). Returns false if memory runs out. */
bool tide__find_alloc_modules(const tide_model *m, const tide_modules *modules,
			      tide_alloc_modules *out);
void tide__alloc_modules_free(tide_alloc_modules *o);

#endif
