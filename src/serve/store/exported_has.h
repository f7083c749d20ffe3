// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The content of an exported report, as the bits by which the store finds a recording: TIDE_HAS_REPORT and
 * one that says which report it is. */
#ifndef TIDE_SERVE_STORE_EXPORTED_HAS_H
#define TIDE_SERVE_STORE_EXPORTED_HAS_H

#include "import/exported/exported.h"

/* Returns the bits of a report. */
unsigned tide__exported_has(const tide_exported *e);
/* Returns the name of the kind that these bits are of; NULL = not an exported report. */
const char *tide__exported_name_of(unsigned has);

#endif
