// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The user's token: made once, stored in a file that only this user can read, so that addresses
 * opened before a restart still work. */
#ifndef TIDE_SERVE_HTTP_TOKEN_FILE_H
#define TIDE_SERVE_HTTP_TOKEN_FILE_H

#include <tidemark/error.h>

#include "serve/http/listen.h"

/* Reads the token from $XDG_STATE_HOME/tidemark/serve-token (default ~/.local/state), or creates
 * it. If nothing can be stored (no home, read-only) a token is made for this run only. Returns
 * TIDE_EIO if the file is not private to this user or not a token; the text names the file and
 * what to do. */
tide_code tide__token_read_or_create(char token[TIDE_TOKEN_MOST + 1], tide_error *err);

#endif
