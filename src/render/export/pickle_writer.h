// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a pickle (protocol 4, data only): containers are opened and closed; the caller memoizes
 * shared values. Write failures are the FILE's: check ferror. */
#ifndef TIDE_RENDER_EXPORT_PICKLE_WRITER_H
#define TIDE_RENDER_EXPORT_PICKLE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tide_pkl {
	FILE *out;
	uint32_t memo; /* entries so far */
} tide_pkl;

void tide__pkl_begin(tide_pkl *p, FILE *out);
void tide__pkl_end(tide_pkl *p);

/* Between dict and dict_end: key, value, key, value. Between list and list_end: values. Both may be
 * empty. */
void tide__pkl_dict(tide_pkl *p);
void tide__pkl_dict_end(tide_pkl *p);
void tide__pkl_list(tide_pkl *p);
void tide__pkl_list_end(tide_pkl *p);
void tide__pkl_empty_list(tide_pkl *p);

/* Text must be UTF-8 for Python: invalid bytes become U+FFFD. */
void tide__pkl_text(tide_pkl *p, const char *s, size_t n);
void tide__pkl_uint(tide_pkl *p, uint64_t v);
void tide__pkl_int(tide_pkl *p, int64_t v);
void tide__pkl_real(tide_pkl *p, double v);
void tide__pkl_bool(tide_pkl *p, bool v);
void tide__pkl_pair(tide_pkl *p, uint64_t a, uint64_t b);

/* Memoizes the value just written; returns its number for tide__pkl_get. */
uint32_t tide__pkl_memo(tide_pkl *p);
void tide__pkl_get(tide_pkl *p, uint32_t memo);

#endif
