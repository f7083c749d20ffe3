// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A build without SQLite: figures, tags and notes are in memory and lost when the server stops. */
#include "serve/store/run_file.h"

const tide_run_ops *const tide__run_file = NULL;
