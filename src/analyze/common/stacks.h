// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a call stack says: the frame that names it to its reader, the op it is in, and signs of what
 * the program was doing (an optimizer step, a backward pass, moving a module to a device ...).
 *
 * What is asked of every allocation (signs, faces) is worked out once per stack node from its
 * parent's answer: one look-up each, however deep the stack is. Rules: docs/analyses/roles.md. */
#ifndef TIDE_ANALYZE_COMMON_STACKS_H
#define TIDE_ANALYZE_COMMON_STACKS_H

#include "model/model.h"

/* Signs; a stack has those of all its frames. */
enum {
	TIDE_SIGN_MODULE = 1,	   /* a module's weights are made, moved or loaded */
	TIDE_SIGN_FORWARD = 2,	   /* a module's forward runs */
	TIDE_SIGN_BACKWARD = 4,	   /* the autograd engine runs */
	TIDE_SIGN_ACCUMULATE = 8,  /* ... and adds into a parameter's .grad */
	TIDE_SIGN_OPTIMIZER = 16,  /* an optimizer's step */
	TIDE_SIGN_OPT_STATE = 32,  /* ... makes its state */
	TIDE_SIGN_INPUT = 64,	   /* a data loader or a batch being moved */
	TIDE_SIGN_WORKSPACE = 128, /* scratch memory of a library */
};

/* One byte of signs per stack row; owned: tide__free. NULL on exhaustion. */
uint8_t *tide__stack_signs(const tide_model *m);

/* The frame that names a stack: innermost of the user's own Python, else innermost Python, else
 * innermost of an autograd node, else innermost that is not the allocator or the capture itself. */
tide_frame_id tide__stack_face(const tide_model *m, tide_stack_id s);
/* The same of every stack row; owned: tide__free. NULL on exhaustion. */
tide_frame_id *tide__stack_faces(const tide_model *m);
/* Is the frame Python, and neither torch's nor the interpreter's? */
bool tide__frame_is_user(const tide_model *m, tide_frame_id f);
/* "function (file:line)", the file without its folders; a native function without its arguments;
 * "unknown" for none. Returns buf. */
char *tide__frame_text(const tide_model *m, tide_frame_id f, char *buf, size_t n);
/* The outermost op a stack names itself (at::_ops::mm::call -> "mm"): text and length, NULL if
 * none. Borrowed from the model's strings. */
const char *tide__stack_op(const tide_model *m, tide_stack_id s, size_t *n);

/* How well a native function names a stack, more is better: the allocator, the interpreter and the
 * capture itself least, an autograd node best. */
int tide__native_rank(const char *function, size_t n);
/* Length of a C++ function's name without its arguments. */
size_t tide__bare_name(const char *s, size_t n);

#endif
