// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports Chrome trace JSON as written by PyTorch's profiler (Kineto); docs/formats/kineto.md
 * defines how every event is imported. */
#ifndef TIDE_IMPORT_KINETO_KINETO_H
#define TIDE_IMPORT_KINETO_KINETO_H

#include "import/import.h"

struct tide_source;

extern const tide_importer tide__import_kineto;

/* Loads from an open source (borrowed). block = bytes per block, 0 = the default; tests use
 * small ones. The result does not depend on block size or threads. */
tide_code tide__kineto_load(struct tide_source *src, const tide_load_options *opt, size_t block,
			    tide_model *m, tide_error *err);

/* Reads one event again: returns the JSON text of its "args" object, or of the whole event if it
 * has none. `src` is tide_model.span_src of the span minus 1. *text is owned by the caller
 * (tide__free). A gzip input is expanded up to there. Returns TIDE_ENOTFOUND if no event starts
 * at that byte. */
tide_code tide__kineto_reread_args(const char *path, uint64_t src, char **text, size_t *n,
				   tide_error *err);

#endif
