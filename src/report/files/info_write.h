// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The content of a trace: text and JSON. Counts and names of the model; no analysis. */
#ifndef TIDE_REPORT_FILES_INFO_WRITE_H
#define TIDE_REPORT_FILES_INFO_WRITE_H

#include "model/kind_names.h"
#include "model/losses.h"
#include "model/model.h"
#include "render/text/out.h"

/* `file`: display name of the trace. */
void tide__info_text(const tide_model *m, const char *file, const tide_out *to);
/* Rows of the tables of these names. */
extern const tide_member tide__info_processes_members[], tide__info_devices_members[],
	tide__info_pools_members[], tide__info_lanes_members[];
/* Writes its members. */
void tide__info_json(const tide_model *m, const char *file, tide_json *j);

#endif
