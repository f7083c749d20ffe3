// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses a command line against a command's option table.
 *
 * Accepts --name=value, --name value, -xvalue, -x value, grouped flags (-jv), and "--" after which
 * everything is a file. "-" alone is a file (standard input). Options and files may be mixed.
 * Nothing here prints or exits: a mistake is a TIDE_EUSAGE with one line that says what to do. */
#ifndef TIDE_CLI_OPTIONS_H
#define TIDE_CLI_OPTIONS_H

#include "report/select.h"
#include "cli/cli.h"

/* Fills a->opt and a->files from argv[0..argc) (the words after the command's name); texts are
 * borrowed from argv. *help is set by -h or --help: nothing else is checked then. Call
 * tide__options_free in any case. */
tide_code tide__options_parse(const tide_command *cmd, int argc, char **argv, tide_args *a,
			      bool *help, tide_error *err);
void tide__options_free(tide_args *a);

#endif
