// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The calling thread's Python frames, read without the GIL.
 *
 * PyTorch gives the GIL up before it runs an op, so CPython's own functions may not be called where
 * an op starts: they count references. But a thread's frames cannot change while that thread is in
 * C code, so reading them is safe: no reference is taken, nothing is written, nothing allocated.
 *
 * Where CPython keeps them differs from version to version. The places are not written down here:
 * tide_torch_frames_learn() is called once with the GIL held, from a function inside a function,
 * compares memory with what CPython's own functions say of three frames, and so finds each offset
 * (CPython 3.10 and later, one method for all). While it searches it reads through the kernel,
 * which refuses where a plain load would crash. If something does not fit, stacks stay off. */
#ifndef TIDE_CAPTURE_TORCH_FRAMES_H
#define TIDE_CAPTURE_TORCH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

/** Find out where frames are. @return 0 when known; else the number of the question that stayed
 * open (frames.c). GIL held. Once known, further calls check that the answers still hold. */
TIDE_API int tide_torch_frames_learn(void);
/** Reading on or off; off before the interpreter ends. On without having learnt stays off. */
TIDE_API void tide_torch_frames_on(bool on);

typedef struct tide_pyframe {
	uintptr_t code;	 /* its code object */
	uintptr_t instr; /* where in it: grows with the instruction */
	uint64_t sign; /* of name, file and first line: a code object that took the place of a dead
			  one shows here */
} tide_pyframe;

/* Innermost frame of this thread without the rest: 0 = none, or off. *instr: where it is. */
uintptr_t tide__frames_top(uintptr_t *instr);
/* All frames of this thread, innermost first, at most `max`. */
size_t tide__frames(tide_pyframe *out, size_t max);

/* Of a frame's code: texts cut to fit, UTF-8, "" when unknown. Only right after tide__frames gave
 * it. */
void tide__frame_texts(const tide_pyframe *f, char *function, size_t nf, char *file, size_t ns);
uint32_t tide__frame_line(const tide_pyframe *f);
/* Code that a program made (exec, generated functions: its file is "<string>" or the like) comes
 * and goes, and the next one may be in the same place under the same name: then this number
 * differs. 0: it is from a file. */
uint32_t tide__frame_made_up(const tide_pyframe *f);

#endif
