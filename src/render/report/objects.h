// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The report of `tidemark objects`: text and JSON. */
#ifndef TIDE_RENDER_REPORT_OBJECTS_H
#define TIDE_RENDER_REPORT_OBJECTS_H

#include "model/objects.h"
#include "render/text/out.h"

/* `top`: rows of each table, 0 = all. */
void tide__objects_text(const tide_objects *o, const tide_objects_snapshot *s, size_t top,
			const tide_out *to);
/* Both write the members of an open object. */
extern const tide_member tide__objects_snapshot_members[], tide__objects_members[];
void tide__objects_snapshot_json(const tide_objects_snapshot *s, size_t top, tide_json *j);
void tide__objects_json(const tide_objects *o, size_t top, tide_json *j);
/* Writes the document that tide__objects_read reads. */
void tide__objects_write(const tide_objects *o, size_t top, tide_json *j);

#endif
