// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the calling thread's Python frames without the GIL.
 *
 * PyTorch releases the GIL before it runs an op, so CPython's own functions must not be called
 * where an op starts: they count references. But a thread's frames cannot change while that thread
 * is in C code, so reading them is safe: no reference is taken, nothing is written, nothing
 * allocated.
 *
 * Where CPython keeps them differs from version to version. The offsets are not hard-coded:
 * tide_torch_frames_learn() is called once with the GIL held, from a function inside a function,
 * compares memory with what CPython's own functions return for three frames, and so finds each
 * offset (CPython 3.10 and later, one method for all). During the search it reads through the
 * kernel, which returns an error where a plain load would crash. If anything does not match, stacks
 * stay off. */
#ifndef TIDE_CAPTURE_TORCH_FRAMES_H
#define TIDE_CAPTURE_TORCH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

/** Finds where this Python stores frames. @return 0 on success; else the number of the failed check
 * (frames.c). The GIL must be held. Later calls verify the result. */
TIDE_API int tide_torch_frames_learn(void);
/** Turns reading on or off. Turn it off before the interpreter ends. It stays off if learning
 * failed. */
TIDE_API void tide_torch_frames_on(bool on);

typedef struct tide_pyframe {
	uintptr_t code;	 /* its code object */
	uintptr_t instr; /* position in it: grows with the instruction */
	uint64_t sign;	 /* hash of name, file and first line: reveals a new code object at the
		        * address of a freed one */
} tide_pyframe;

/* Returns the innermost frame of this thread: 0 = none, or off. *instr: its position. */
uintptr_t tide__frames_top(uintptr_t *instr);
/* Reads all frames of this thread, innermost first, at most `max`. */
size_t tide__frames_read(tide_pyframe *out, size_t max);

/* Gets the texts of a frame's code, cut to fit, UTF-8, "" if unknown. Valid only right after
 * tide__frames_read returned it. */
void tide__frame_read_texts(const tide_pyframe *f, char *function, size_t nf, char *file,
			    size_t ns);
uint32_t tide__frame_line(const tide_pyframe *f);
/* Returns a number that identifies generated code (exec, generated functions: file "<string>" or
 * similar), because later code may have the same address and name. 0: code from a file or the
 * interpreter's own. */
uint32_t tide__frame_generated(const tide_pyframe *f);

#endif
