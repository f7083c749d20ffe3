// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads files that `tidemark objects --keep` wrote (docs/analyses/objects.md): JSON, plain
 * or compressed. */
#ifndef TIDE_IMPORT_OBJECTS_OBJECTS_H
#define TIDE_IMPORT_OBJECTS_OBJECTS_H

#include <tidemark/error.h>

#include "model/objects.h"

/* Fills *o, which the caller frees also on failure. Returns TIDE_EFORMAT for other JSON or no JSON,
 * TIDE_ECORRUPT with the offset of damage, TIDE_ELIMIT above 256 MiB. */
tide_code tide__objects_load(const char *path, tide_objects *o, tide_error *err);
/* The same for n bytes in memory. */
tide_code tide__objects_read(const char *text, size_t n, tide_objects *o, tide_error *err);

#endif
