// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Importer of Chrome trace JSON as PyTorch's profiler (Kineto) writes it; docs/formats/kineto.md
 * says what becomes of every event. */
#ifndef TIDE_IMPORT_KINETO_KINETO_H
#define TIDE_IMPORT_KINETO_KINETO_H

#include "import/import.h"

struct tide_source;

extern const tide_importer tide__import_kineto;

/* Load from an open source (borrowed). block = bytes per block, 0 = the default; tests use small
 * ones. The result does not depend on block size or threads. */
tide_code tide__kineto_load(struct tide_source *src, const tide_load_options *opt, size_t block,
			    tide_model *m, tide_error *err);

/* Fetch one event again: the JSON text of its "args" object, or of the whole event if it has none.
 * `src` is tide_model.span_src of the span minus 1. *text is owned by the caller (tide__free).
 * A gzip input is expanded up to there. TIDE_ENOTFOUND when no event starts at that byte. */
tide_code tide__kineto_args(const char *path, uint64_t src, char **text, size_t *n,
			    tide_error *err);

#endif
