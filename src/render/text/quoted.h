// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of files in commands that a person may copy into a shell. */
#ifndef TIDE_RENDER_TEXT_QUOTED_H
#define TIDE_RENDER_TEXT_QUOTED_H

#include <stdio.h>

/* Writes a path quoted for a shell, without terminal escape sequences. */
void tide__put_quoted(const char *path, FILE *out);
/* Writes "tidemark hta run.tide" for "hta FILE": the word FILE becomes the path, quoted; a NULL path
 * leaves it. */
void tide__put_command(const char *command, const char *path, FILE *out);

#endif
