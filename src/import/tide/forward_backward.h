// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Links backward ops to their forward ops: (thread, number) -> the last op begun with it.
 *
 * A linked op gets a FWD_BWD flow and the forward op's call stack with a frame "[backward]" inside
 * it; so does the autograd engine's span around it, which runs only that node. Allocations that
 * inherit the stack from their span therefore name the forward code. A number whose forward op was
 * not recorded links nothing. */
#ifndef TIDE_IMPORT_TIDE_FORWARD_BACKWARD_H
#define TIDE_IMPORT_TIDE_FORWARD_BACKWARD_H

#include "model/model.h"

typedef struct tide_forward_backward { /* zero-initialise */
	tide_map forward;	       /* key of (thread, number) -> span */
	tide_frame_id backward;	       /* "[backward]" */
} tide_forward_backward;

/* Notes that span `i` began with number `arg` and `origin` (record.h, tide_op_begin_full).
 * Returns false if memory runs out. */
bool tide__forward_backward_begin(tide_forward_backward *j, tide_model *m, uint32_t i, uint64_t arg,
				  uint32_t origin);
void tide__forward_backward_free(tide_forward_backward *j);

#endif
