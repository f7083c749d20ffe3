// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which module an allocation belongs to: the innermost around what made it (modules.h); or, for a
 * labelled parameter, buffer, gradient or optimizer state, the module whose part it is by its name,
 * wherever it was made. Definitions: docs/analyses/modules.md. */
#ifndef TIDE_ANALYZE_MEMORY_ALLOC_MODULE_H
#define TIDE_ANALYZE_MEMORY_ALLOC_MODULE_H

#include "analyze/ops/modules.h"

/* Per allocation the name of its module's spans, none where it has none; tide__free it.
 * O(spans + allocs + tensors). NULL: no memory. */
tide_str *tide__owners(const tide_model *m, const tide_modules *modules);

#endif
