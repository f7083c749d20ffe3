// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A build without SQLite: figures, tags and notes last as long as the server. */
#include "serve/store/run_file.h"

const tide_run_ops *const tide__run_file = NULL;
