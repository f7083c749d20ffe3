// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds functions of the running Python by name, without linking Python. */
#ifndef TIDE_CAPTURE_TORCH_PYAPI_H
#define TIDE_CAPTURE_TORCH_PYAPI_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct tide_py_name {
	const char *name;
	void *at; /* where to store its address */
} tide_py_name;

/* Finds all of them; returns false if one is missing. */
static inline bool tide__py_find(const tide_py_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *p = dlsym(RTLD_DEFAULT, names[i].name);
		if (!p)
			return false;
		memcpy(names[i].at, &p, sizeof p);
	}
	return true;
}

#endif
