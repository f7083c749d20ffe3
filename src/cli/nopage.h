// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Commands that do not write HTML yet say so, rather than text into a file called .html. */
#ifndef TIDE_CLI_NOPAGE_H
#define TIDE_CLI_NOPAGE_H

#include <string.h>
#include <strings.h>

#include "cli/cli.h"

/* 0, or 2 with a message when the file of option `output` ends in .html. */
static inline int tide__no_page(const tide_args *a, size_t output)
{
	const char *path = a->opt[output].set ? a->opt[output].text : "";
	size_t n = strlen(path);
	if (n < 5 || strcasecmp(path + n - 5, ".html"))
		return 0;
	return tide__cli_usage(a, "HTML pages are not built yet: use --json, or `tidemark export`");
}

#endif
