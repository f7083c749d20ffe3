// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Interprets call stacks: the frame that represents a stack, the op it is in, and signs of the
 * program's activity (an optimizer step, a backward pass, moving a module to a device ...).
 *
 * Properties needed for every allocation (signs, representative frames) are computed once per stack
 * node from its parent's result: one lookup each, at any stack depth. Rules:
 * docs/analyses/roles.md. */
#ifndef TIDE_ANALYZE_COMMON_STACKS_H
#define TIDE_ANALYZE_COMMON_STACKS_H

#include "model/model.h"

/* Signs; a stack has the signs of all its frames. */
enum {
	TIDE_SIGN_MODULE = 1,	   /* a module's weights are created, moved or loaded */
	TIDE_SIGN_FORWARD = 2,	   /* a module's forward runs */
	TIDE_SIGN_BACKWARD = 4,	   /* the autograd engine runs */
	TIDE_SIGN_ACCUMULATE = 8,  /* ... and adds into a parameter's .grad */
	TIDE_SIGN_OPTIMIZER = 16,  /* an optimizer's step */
	TIDE_SIGN_OPT_STATE = 32,  /* ... creates its state */
	TIDE_SIGN_INPUT = 64,	   /* a data loader or a batch being moved */
	TIDE_SIGN_WORKSPACE = 128, /* scratch memory of a library */
};

/* Returns one byte of signs per stack row; owned: tide__free. NULL if memory runs out. */
uint8_t *tide__stack_signs_find(const tide_model *m);

/* Returns the frame that represents a stack: the innermost of the user's own Python, else the
 * innermost Python, else the innermost of an autograd node, else the innermost outside the
 * allocator and the capture itself. */
tide_frame_id tide__stack_main_frame(const tide_model *m, tide_stack_id s);
/* The same for every stack row; owned: tide__free. NULL if memory runs out. */
tide_frame_id *tide__stack_main_frames_find(const tide_model *m);
/* Returns true for a file of Python code outside torch, the interpreter and Tidemark's hook, which
 * is around imports and compiled functions. */
bool tide__file_is_user(const char *file, size_t n);
/* Returns true if the frame is in such a file. */
bool tide__frame_is_user(const tide_model *m, tide_frame_id f);
/* Returns the outermost op that a stack itself names (at::_ops::mm::call -> "mm"): text and
 * length, NULL if none. Borrowed from the model's strings. */
const char *tide__stack_op(const tide_model *m, tide_stack_id s, size_t *n);

/* Ranks how well a native function represents a stack, higher is better: the allocator, the
 * interpreter and the capture itself are lowest, an autograd node highest. */
int tide__native_rank(const char *function, size_t n);
#endif
