// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Traces on other machines: `tidemark hta https://host/trace.json.gz`.
 *
 * The program `curl` fetches them: proxies, certificates and passwords (~/.netrc) are its own
 * settings. Its output is read through a pipe as it arrives, so nothing is stored. A transfer
 * without a byte for the time of tide__patience_s (cli/job/patience.h) fails. */
#ifndef TIDE_CLI_RUN_REMOTE_H
#define TIDE_CLI_RUN_REMOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include <tidemark/error.h>

typedef struct tide_remote {
	pid_t pid; /* 0 = none */
	int said;  /* an unlinked file with curl's messages; -1 = none */
} tide_remote;

/* Returns true for a name that begins with http:// or https://. */
bool tide__remote_is(const char *file);

/* Starts the transfer. Returns the descriptor to read from, owned by the caller; -1 and an error
 * if curl cannot be started. */
int tide__remote_open(const char *url, tide_remote *r, tide_error *err);

/* Waits for curl, after the descriptor was closed. Returns TIDE_EIO with curl's message if the
 * transfer failed. A transfer that was not read to its end did not fail. */
tide_code tide__remote_close(tide_remote *r, tide_error *err);

#endif
