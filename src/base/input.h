// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opening files that are read. */
#ifndef TIDE_BASE_INPUT_H
#define TIDE_BASE_INPUT_H

/* open(2) for reading, close-on-exec; `flags` are added (O_NONBLOCK). -1 with errno. */
int tide__input_open(const char *path, int flags);

/* From now on, in the whole process, no link is followed on the way to a file: paths are as realpath gave
 * them, and whoever puts a link in the place of a file or a folder gets ELOOP. For a server, whose list of
 * files may be older than what lies there. Names in /proc/self/fd stay as they are. */
void tide__input_no_links(void);

#endif
