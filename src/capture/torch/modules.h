// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records modules as ops: each call of torch.nn.Module.__call__ is an op named after the module.
 *
 * No PyTorch hook is set, because any hook disables the fast path of Module.__call__ for every
 * module and for torch.compile; no attribute is changed, because torch.compile compares them. Only
 * a pointer inside the function object Module.__call__ is changed: the C function that runs it when
 * it is called from C, as every module call is (tp_call). A call then costs one table lookup and
 * two events. Python makes the names (python/hook/tidemark_model.py), once per module object.
 *
 * Everything here runs with the GIL held. CPython's functions are found by name: the library links
 * no Python and works with every version. */
#ifndef TIDE_CAPTURE_TORCH_MODULES_H
#define TIDE_CAPTURE_TORCH_MODULES_H

#include <tidemark/record.h>

/** Records calls of the Python function `function`, whose first argument is a module;
 * namer(module) is called for a module without a name and calls tide_torch_module_name.
 * runner(module) is called when a named module starts inside no other, at most every 100 ms.
 * References to both are kept forever. @return 0, or the number of the step that this Python
 * does not support. */
TIDE_API int tide_torch_modules_on(void *function, void *namer, void *runner);
/** Restore the original function. */
TIDE_API void tide_torch_modules_off(void);
/** Set the name of the module at `address`; 0 removes it (the module was freed). */
TIDE_API void tide_torch_module_name(uintptr_t address, tide_name name);

#endif
