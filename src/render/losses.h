// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a trace lost, in words: the same in every report. */
#ifndef TIDE_RENDER_LOSSES_H
#define TIDE_RENDER_LOSSES_H

#include "model/model.h"
#include "render/grid.h"

/* "note: ..." and a newline for the fact loss.`key`, whose value is the text of n bytes or, when n
 * is 0, the number. */
void tide__put_loss(FILE *out, const tide_style *style, const char *key, const char *text, size_t n,
		    int64_t number);

/* One line per loss or repair of the model, after a report. A loss is a fact whose key starts with
 * "loss." and whose value is a text or a number that is not 0. */
void tide__put_losses(const tide_model *m, FILE *out, const tide_style *style);
/* The same as a text of plain lines; malloc's. NULL on exhaustion. */
char *tide__losses_text(const tide_model *m);
/* The same as JSON members: "losses": {"events": 12, ...}. Always present, {} when there is none. */
void tide__losses_json(tide_json *j, const tide_model *m);

#endif
