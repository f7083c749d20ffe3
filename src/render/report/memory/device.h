// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ledger of device memory: text and JSON. */
#ifndef TIDE_RENDER_REPORT_MEMORY_DEVICE_H
#define TIDE_RENDER_REPORT_MEMORY_DEVICE_H

#include "analyze/memory/ledger/device_join.h"
#include "analyze/memory/ledger/device_ledger.h"
#include "render/text/out.h"

/* As text; as members of an open object. `file` names the recording if there are several; may be
 * NULL. */
void tide__device_text(const tide_model *m, const tide_ledgers *l, const char *file,
		       const tide_out *to);
void tide__device_json(const tide_model *m, const tide_ledgers *l, const char *file, tide_json *j);

/* Several processes on their devices (device_join.h); `files` names the recordings. */
void tide__devices_text(const char *const *files, const tide_joined *j, const tide_out *to);
void tide__devices_json(const char *const *files, const tide_joined *d, tide_json *j);

#endif
