// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opens input files. */
#ifndef TIDE_BASE_INPUT_H
#define TIDE_BASE_INPUT_H

/* open(2) for reading, close-on-exec; `flags` are added (O_NONBLOCK). -1 with errno. */
int tide__input_open(const char *path, int flags);

/* From now on, in the whole process, opening a path through a symbolic link fails with ELOOP. For a
 * server whose list of realpath'ed files may be out of date: a link put in the place of a file or
 * folder is not followed. Names in /proc/self/fd are exempt. */
void tide__input_no_links(void);

#endif
