// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Taking PyTorch's calls over in a process that is already running: without a preload.
 *
 * Every loaded library that calls a hooked function does so through a slot of its global offset
 * table. Attaching walks the loaded libraries and points those slots at the hooks (hooks.h);
 * detaching puts back what was there. Libraries loaded after an attach are taken over by the next
 * one. A slot that is ours already is left alone, so attaching twice, or in a process that
 * `tidemark run` started, is harmless. So is one that another tool has patched over ours: its
 * function calls what it found there, which is us, attached or not. Detached, the hooks pass calls
 * on and record nothing; for whoever still leads to them the library stays loaded (dlclose is
 * without effect). What another tool had put into a slot before we came is not called while we are
 * attached.
 *
 * Slots are words written whole: threads that call at that moment use the old or the new address,
 * both of which are good. */
#ifndef TIDE_CAPTURE_TORCH_GOT_H
#define TIDE_CAPTURE_TORCH_GOT_H

#include <tidemark/error.h>

/** Take over. @return slots that are ours now; 0: no library with PyTorch's functions is loaded. */
TIDE_API int tide_torch_attach(void);
/** Put back. @return slots put back. */
TIDE_API int tide_torch_detach(void);
/** How many places of loaded libraries that are not PyTorch's own call its report of memory: 0 = no
 *  device that somebody added to PyTorch can be reporting. */
TIDE_API int tide_torch_reporters(void);

#endif
