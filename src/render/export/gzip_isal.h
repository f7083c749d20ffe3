// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A FILE that gzips what is written to it into another FILE, so that every renderer can be
 * compressed without knowing. */
#ifndef TIDE_RENDER_EXPORT_GZIP_ISAL_H
#define TIDE_RENDER_EXPORT_GZIP_ISAL_H

#include <stdio.h>

/* `under` is borrowed until fclose() of the result, which writes the end of the gzip member and
 * leaves `under` open. Write errors show as usual: ferror, fflush, fclose. NULL on exhaustion. The
 * output holds no time and no name: equal input gives equal bytes. */
FILE *tide__gz_open(FILE *under);

/* The same, smaller and slower: for what is small. */
FILE *tide__gz_open_small(FILE *under);

#endif
