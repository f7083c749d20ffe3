// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Modules as ops: calls of torch.nn.Module.__call__, each an op named after the module.
 *
 * No hook of PyTorch's is set, since any hook turns the short way through Module.__call__ off, for
 * every module and for torch.compile; and no attribute is changed, since torch.compile compares
 * them. What is changed is a pointer inside the function object Module.__call__: the C function
 * that runs it when it is called from C, as every call of a module is (tp_call). A call then costs
 * one look-up in a table and two events. Names are worked out by Python
 * (python/hook/tidemark_model.py), once per module object.
 *
 * Everything here runs with the GIL held. CPython's functions are found by name: the library links
 * no Python and serves every version. */
#ifndef TIDE_CAPTURE_TORCH_MODULES_H
#define TIDE_CAPTURE_TORCH_MODULES_H

#include <tidemark/record.h>

/** Record calls of the Python function `function`, whose first argument is a module; namer(module)
 * is asked about one that has no name yet, and calls tide_torch_module_name. runner(module) is called
 * where one that has a name begins to run inside no other, at most every 100 ms. References to both
 * are kept for good. @return 0, or the number of the step that this Python has no answer for. */
TIDE_API int tide_torch_modules_on(void *function, void *namer, void *runner);
/** Put back what was there. */
TIDE_API void tide_torch_modules_off(void);
/** The module at `address` has this name. 0 takes it out of the table (it is no more). */
TIDE_API void tide_torch_module_name(uintptr_t address, tide_name name);

#endif
