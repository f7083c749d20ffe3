// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Answers of reports that tidemark.profiling exported, for the routes that a recording answers too. */
#ifndef TIDE_SERVE_ANSWER_EXPORTED_H
#define TIDE_SERVE_ANSWER_EXPORTED_H

#include "import/exported/exported.h"
#include "serve/routes.h"

/* Answers a request of parameter "recording" from an exported report of this kind, if it names one
 * or the newest that can answer is one. Returns false if it is for a recording; else true with the
 * result in *rc. */
bool tide__answer_from_exported(tide_ask *a, tide_exported_kind kind, tide_code *rc,
				tide_error *err);

/* Returns whether a file that was not looked at is an exported report; then notes it, also in r. */
bool tide__exported_look(tide_store *s, tide_rec *r);

#endif
