// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which Python objects referred to an allocation, as the recording's table `referrers` says.
 *
 * Two kinds of rows: of an allocation, and of an autograd graph that was alive. A graph holds what
 * its functions saved: an allocation that no object refers to, and that an op of such a function
 * made or used. docs/analyses/stale.md. */
#ifndef TIDE_ANALYZE_MEMORY_HOLDERS_H
#define TIDE_ANALYZE_MEMORY_HOLDERS_H

#include <tidemark/error.h>

#include "model/model.h"

typedef struct tide_holder_names {
	tide_str *of; /* owned: per alloc; 0 = unknown. NULL if the recording has no holders */
} tide_holder_names;

/* Finds them for every allocation; the last row counts. Returns TIDE_OK or TIDE_ENOMEM. O(rows +
 * uses). */
tide_code tide__referrers_find(const tide_model *m, tide_holder_names *out);
void tide__referrers_free(tide_holder_names *h);

#endif
