// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Modules as ops: torch.nn.Module.__call__, taken over by a C method that begins an op named after
 * the module, calls what was there, and ends the op.
 *
 * No hook of PyTorch's is set, since any hook turns the short way through Module.__call__ off, for
 * every module and for torch.compile. A call costs one look-up in a table and two events. The names
 * are worked out by Python (python/hook/tidemark_model.py), once per module object.
 *
 * Everything here runs with the GIL held. CPython's functions are found by name: the library links
 * no Python and serves every version. */
#ifndef TIDE_CAPTURE_TORCH_MODULES_H
#define TIDE_CAPTURE_TORCH_MODULES_H

#include <tidemark/record.h>

/** The method that is to stand for type.__call__, a new reference; NULL without an exception when
 *  CPython lacks something. `original` is what it calls, `namer` what it asks about a module it
 * does not know: namer(module) calls tide_torch_module_name. References to both are kept for good.
 */
TIDE_API void *tide_torch_module_method(void *type, void *original, void *namer);
/** The module at `address` has this name. 0 takes it out of the table (it is no more). */
TIDE_API void tide_torch_module_name(uintptr_t address, tide_name name);

#endif
