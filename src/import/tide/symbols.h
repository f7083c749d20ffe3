// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Native frames get their names: stacks of addresses become stacks of functions and lines. */
#ifndef TIDE_IMPORT_TIDE_SYMBOLS_H
#define TIDE_IMPORT_TIDE_SYMBOLS_H

#include "import/tide/defs.h"

/* All definitions are read: put what SYMBOL records say in place of their frames. Stacks that then
 * are alike become one. TIDE_ENOMEM. */
tide_code tide__symbols_apply(tide_defs *d, tide_error *err);

#endif
