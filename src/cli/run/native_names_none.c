// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Built without libdw: addresses stay addresses. */
#include "cli/run/native_names.h"

#include <stddef.h>

tide_native *tide__native_open(const char *path)
{
	(void)path;
	return NULL;
}

void tide__native_close(tide_native *n)
{
	(void)n;
}

bool tide__native_find(tide_native *n, uint64_t addr, tide_native_put *put, void *user)
{
	(void)n;
	(void)addr;
	(void)put;
	(void)user;
	return false;
}

bool tide__native_available(void)
{
	return false;
}
