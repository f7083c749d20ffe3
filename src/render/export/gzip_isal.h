// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A FILE that compresses its data into another FILE, so that the output of every renderer can be
 * compressed without changes. */
#ifndef TIDE_RENDER_EXPORT_GZIP_ISAL_H
#define TIDE_RENDER_EXPORT_GZIP_ISAL_H

#include <stdio.h>

/* `under` is borrowed until fclose() of the result, which writes the end of the gzip member and
 * leaves `under` open. Write errors are reported as usual: ferror, fflush, fclose. NULL if
 * memory runs out. The output has no time and no name: equal input gives equal bytes. */
FILE *tide__gz_open(FILE *under);

/* The same, smaller and slower: for small data. */
FILE *tide__gz_open_small(FILE *under);

#endif
