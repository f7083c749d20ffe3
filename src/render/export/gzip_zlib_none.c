// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Stands in for gzip_zlib.c where zlib was not there: larger pages, nothing else. */
#include "render/export/gzip_isal.h"

FILE *tide__gz_open_small(FILE *under)
{
	return tide__gz_open(under);
}
