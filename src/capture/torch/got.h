// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Hooks PyTorch's calls in a running process, without a preload.
 *
 * Every loaded library calls a hooked function through a slot of its global offset table. Attaching
 * walks the loaded libraries and points those slots at the hooks (hooks.h); detaching restores
 * them. Libraries loaded after an attach are hooked by the next one. A slot that already points to
 * our hook is left alone, so attaching twice, or in a process that `tidemark run` started, is
 * harmless. A slot that another tool patched over our hook is also left alone: its function calls
 * our hook, attached or not. After detaching, the hooks forward calls and record nothing; the
 * library stays loaded for callers that still reach them (dlclose has no effect). A function that
 * another tool put into a slot before we attached is not called while we are attached.
 *
 * Slots are words written atomically: threads that call at that moment use the old or the new
 * address, and both are valid. */
#ifndef TIDE_CAPTURE_TORCH_GOT_H
#define TIDE_CAPTURE_TORCH_GOT_H

#include <tidemark/error.h>

/** Attaches. @return number of hooked slots; 0 if no library with PyTorch's functions is loaded. */
TIDE_API int tide_torch_attach(void);
/** Detaches. @return number of restored slots. */
TIDE_API int tide_torch_detach(void);
/** Number of call sites of PyTorch's memory report in loaded libraries other than PyTorch's own:
 * 0 = no third-party device can be reporting. */
TIDE_API int tide_torch_reporters(void);

#endif
