// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The files of a Tenstorrent run: NAME_memory.json, NAME_operations.json,
 * NAME_inputs_registry.json and NAME_ir.json. The nth element of the first two is the same
 * operation. Schemas: docs/formats/tt-files.md. */
#ifndef TIDE_RENDER_REPORT_TENSTORRENT_TT_FILES_H
#define TIDE_RENDER_REPORT_TENSTORRENT_TT_FILES_H

#include <stdio.h>

#include "analyze/tenstorrent/tt.h"

/* Each writes one document; TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
tide_code tide__tt_memory_json(tide_tt *t, FILE *out, tide_error *err);
tide_code tide__tt_operations_json(tide_tt *t, FILE *out, tide_error *err);
tide_code tide__tt_registry_json(tide_tt *t, FILE *out, tide_error *err);
tide_code tide__tt_ir_json(tide_tt *t, FILE *out, tide_error *err);

#endif
