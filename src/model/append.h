// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Adds the host spans of another trace behind the end of a trace, so that analyses find names,
 * parents, stacks and arguments of these spans as of any other. */
#ifndef TIDE_MODEL_APPEND_H
#define TIDE_MODEL_APPEND_H

#include "model/model.h"

/* Appends ops, ranges, Python functions, and calls of the runtime and driver, without steps. They
 * keep their order, parents, causes, stacks, arguments and forward-backward links, on lanes of
 * their own. `at` (from->spans.n numbers) receives the new span of each span, 0 = not taken. Fails
 * with TIDE_ENOMEM, or TIDE_EUSAGE if the times do not fit; `m` can then only be freed. */
tide_code tide__append_host_spans(tide_model *m, const tide_model *from, uint32_t *at,
				  tide_error *err);

#endif
