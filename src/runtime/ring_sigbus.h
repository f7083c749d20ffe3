// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Handles the SIGBUS that is raised if another process truncates the ring file while threads store
 * into it.
 *
 * A handler replaces the failed mapping by private memory and marks the ring file as torn: the
 * program continues, nothing more is recorded, and tide_stop reports it. Any other SIGBUS is passed
 * to the previous handler. If the program later sets a handler that does not pass the signal on,
 * this protection is lost. */
#ifndef TIDE_RUNTIME_RING_SIGBUS_H
#define TIDE_RUNTIME_RING_SIGBUS_H

/* Sets the handler unless it is already set. In a slow section. */
void tide__torn_watch_start(void);

#endif
