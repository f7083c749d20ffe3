// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces gzip_zlib.c in a build without zlib: pages are larger, nothing else changes. */
#include "render/export/gzip_isal.h"

FILE *tide__gz_open_small(FILE *under)
{
	return tide__gz_open(under);
}
