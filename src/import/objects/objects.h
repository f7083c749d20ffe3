// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads what `tidemark objects` keeps (docs/analyses/json.md, "objects"): JSON, plain or packed. */
#ifndef TIDE_IMPORT_OBJECTS_OBJECTS_H
#define TIDE_IMPORT_OBJECTS_OBJECTS_H

#include <tidemark/error.h>

#include "model/objects.h"

/* Fills *o, which the caller frees also on failure. TIDE_EFORMAT: other JSON or none; TIDE_ECORRUPT: damaged, with the offset;
 * TIDE_ELIMIT: larger than 256 MiB. */
tide_code tide__objects_load(const char *path, tide_objects *o, tide_error *err);
/* The same of n bytes in memory. */
tide_code tide__objects_read(const char *text, size_t n, tide_objects *o, tide_error *err);

#endif
