// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A ring file that somebody cuts while threads store into it: the stores raise SIGBUS.
 *
 * A handler puts private memory in the place of the mapping that failed and marks the ring file as torn:
 * the program goes on, nothing more is recorded, and the stop says so. Any other SIGBUS goes where it
 * would have gone. A handler that the program sets later, and that does not pass the signal on, takes
 * this protection away. */
#ifndef TIDE_RUNTIME_TORN_H
#define TIDE_RUNTIME_TORN_H

/* Set the handler, unless it is the one in place. In a slow section. */
void tide__torn_watch(void);

#endif
