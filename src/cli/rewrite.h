// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What recover and pack share: naming the output and telling what was done. */
#ifndef TIDE_CLI_REWRITE_H
#define TIDE_CLI_REWRITE_H

#include "cli/cli.h"
#include "format/rewrite.h"

/* -o FILE, or IN with ".tide" replaced by `ending`. */
void tide__rewrite_name(char *out, size_t n, const char *in, const tide_value *output,
			const char *ending);
/* One line (or JSON) about what was done. */
void tide__rewrite_report(const tide_args *a, const char *out, const tide_rewrite *w, bool json);

#endif
