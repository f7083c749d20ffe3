// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A small GPT: token and position embedding, L blocks of attention and MLP, tied output.
 *
 * Memory has the usual lifetimes: parameters live until the end, optimizer state from its creation,
 * activations from forward to backward, gradients from backward to the optimizer step. */
#ifndef EXAMPLE_MODEL_H
#define EXAMPLE_MODEL_H

#include "pool.h"

typedef struct config {
	int layers, width, heads, context, batch, vocab;
} config;

typedef struct gpt gpt;

gpt *gpt_new(pool *p, config c, unsigned seed);
void gpt_free(gpt *m);
long gpt_parameters(const gpt *m);

void gpt_make_optimizer(gpt *m);
/* tokens[B,T+1]: inputs are [.., :T], targets [.., 1:]. Returns the loss. */
float gpt_forward(gpt *m, const int *tokens);
void gpt_backward(gpt *m);
/* Runs an Adam step with the gradients of backward, then frees them. */
void gpt_update(gpt *m, int t, float rate);

#endif
