// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The user's token: made once, kept in a file that nobody else can read, so that addresses which were
 * opened before a restart still work after it. */
#ifndef TIDE_SERVE_TOKEN_FILE_H
#define TIDE_SERVE_TOKEN_FILE_H

#include <tidemark/error.h>

#include "serve/listen.h"

/* The token in $XDG_STATE_HOME/tidemark/serve-token (~/.local/state where that is not set), made if there
 * is none. Where nothing can be kept (no home, read only) it is made up for this run alone. TIDE_EIO: the
 * file is there and is not this user's alone, or not a token; the text says which file and what to do. */
tide_code tide__token_kept(char token[TIDE_TOKEN_MOST + 1], tide_error *err);

#endif
