// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The compiled functions of compilation units by address. dwarf_getscopes walks over all of a unit for
 * each address: minutes for a library that is one unit (link-time optimisation). */
#ifndef TIDE_CLI_RUN_NATIVE_FUNCTIONS_H
#define TIDE_CLI_RUN_NATIVE_FUNCTIONS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

typedef struct tide_function { /* one range of addresses; a function may have several */
	Dwarf_Addr from, to;
	Dwarf_Off die;
} tide_function;

typedef struct tide_functions { /* zero-initialised: empty */
	tide_function *v;	/* owned; a unit's are together, sorted */
	size_t n, cap;
	size_t *ends; /* owned; of the units in order of first use */
	size_t n_units, cap_units;
	tide_map units; /* offset of a unit's entry + 1 -> its number + 1 */
} tide_functions;

/* Finds the function of the unit `cu` around an address; of nested functions the innermost. The unit is
 * read at first use. Returns false if there is none or memory ran out. */
bool tide__function_find_at(tide_functions *f, Dwarf *dw, Dwarf_Die *cu, Dwarf_Addr at,
			    Dwarf_Die *out);

/* Sets out[0 .. most) to the function `die` and the functions that were inlined into it at the address,
 * outermost first. Returns their number. */
size_t tide__inlined_find_at(Dwarf_Die *die, Dwarf_Addr at, Dwarf_Die *out, size_t most);

void tide__functions_free(tide_functions *f);

#endif
