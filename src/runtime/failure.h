// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tells `tidemark run` why a process of its run could not be recorded: one datagram to the socket
 * of that run, because the program has no descriptor for it and the disk may be full. */
#ifndef TIDE_RUNTIME_FAILURE_H
#define TIDE_RUNTIME_FAILURE_H

#include <tidemark/error.h>

/* Sends `err`. Does nothing outside a run, or if no socket listens. */
void tide__failure_tell(const tide_error *err);

#endif
