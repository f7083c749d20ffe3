// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A data loader on its own thread: makes batches from a generated text, two ahead. */
#ifndef EXAMPLE_LOADER_H
#define EXAMPLE_LOADER_H

typedef struct loader loader;

/* Starts a loader of batches of `rows` lines of `columns` tokens, each in [0, vocab). */
loader *loader_start(int rows, int columns, int vocab);
/* Returns the next batch; valid until the following call. */
const int *loader_next(loader *l);
void loader_stop(loader *l);

#endif
