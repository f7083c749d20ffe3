// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Losses of a trace as text: the same in every report. */
#ifndef TIDE_RENDER_TEXT_LOSSES_H
#define TIDE_RENDER_TEXT_LOSSES_H

#include "model/losses.h"
#include "render/text/grid.h"

/* Returns row i of a list of losses; false = no loss there. */
typedef bool tide_loss_at(const void *user, size_t i, tide_loss *out);

/* Prints "note: ..." and a newline for rows [0, n): one per event, though it may have several
 * rows (position, reason). Returns how many. */
size_t tide__put_loss_list(FILE *out, const tide_style *style, tide_loss_at *at, const void *user,
			   size_t n);

/* Prints one line per loss or repair of the model, after a report. A loss is a fact whose key
 * starts with "loss." and whose value is a text or a non-zero number. */
void tide__put_losses(const tide_model *m, FILE *out, const tide_style *style);
/* The same as a text of plain lines, from malloc. NULL if memory runs out. */
char *tide__losses_text(const tide_model *m);
/* Writes a loss as a member. */
void tide__loss_json(tide_json *j, const tide_loss *l);
/* The same as JSON members: "losses": {"events": 12, ...}. Always present, {} when there is none.
 */
void tide__losses_json(tide_json *j, const tide_model *m);

#endif
