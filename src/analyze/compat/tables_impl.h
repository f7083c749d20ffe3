// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals shared by tables.c and streams.c. Functions fill their part of `t` and return false
 * if memory runs out. */
#ifndef TIDE_ANALYZE_COMPAT_TABLES_IMPL_H
#define TIDE_ANALYZE_COMPAT_TABLES_IMPL_H

#include "analyze/compat/tables.h"

const char *tide__compat_row_name(const tide_model *m, const tide_compat_frame *f, size_t i);
bool tide__compat_find_idle(const tide_model *m, const tide_compat_frame *f, tide_compat_tables *t);
bool tide__compat_find_queue(const tide_model *m, const tide_compat_frame *f,
			     tide_compat_tables *t);
bool tide__compat_find_bandwidth(const tide_model *m, const tide_compat_frame *f,
				 tide_compat_tables *t);
bool tide__compat_find_launches(const tide_model *m, const tide_compat_frame *f,
				tide_compat_tables *t);

#endif
