// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Applies symbols to native frames: stacks of addresses become stacks of functions and lines. */
#ifndef TIDE_IMPORT_TIDE_SYMBOLS_H
#define TIDE_IMPORT_TIDE_SYMBOLS_H

#include "import/tide/defs.h"

/* After all definitions: replaces frames by their SYMBOL records. Stacks that become equal are
 * merged. Returns TIDE_ENOMEM. */
tide_code tide__symbols_apply(tide_defs *d, tide_error *err);

#endif
