// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Backward ops and the forward ops they undo: (thread, number) -> the last op begun with it.
 *
 * A joined op gets a FWD_BWD flow and the forward op's call stack with a frame "[backward]" inside
 * it; so does the autograd engine's span around it, which runs that node and nothing else. What
 * allocations inherit from their span therefore names the forward's code. A number whose forward op
 * was not recorded joins nothing. */
#ifndef TIDE_IMPORT_TIDE_FORWARD_BACKWARD_H
#define TIDE_IMPORT_TIDE_FORWARD_BACKWARD_H

#include "model/model.h"

typedef struct tide_forward_backward { /* zero-initialise */
	tide_map forward;	       /* key of (thread, number) -> span */
	tide_frame_id backward;	       /* "[backward]" */
} tide_forward_backward;

/* Span `i` began with number `arg` and `origin` (record.h, tide_op_begin_full). False on
 * exhaustion. */
bool tide__forward_backward_begin(tide_forward_backward *j, tide_model *m, uint32_t i, uint64_t arg,
				  uint32_t origin);
void tide__forward_backward_free(tide_forward_backward *j);

#endif
