// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compares models; makes a .tide file with every kind of event. */
#ifndef TIDE_TESTS_MODELS_H
#define TIDE_TESTS_MODELS_H

#include "model/model.h"
#include "tidefile.h"

/* Returns the name of the first table that differs, NULL if none does. Facts are not compared. */
const char *models_differ(const tide_model *a, const tide_model *b);
/* Returns the number of a fact, 0 if it is missing. */
int64_t fact_of(const tide_model *m, const char *key);
/* Returns whether any fact begins with "loss.". */
int has_loss(const tide_model *m);

/* Two rings, every kind of event, several chunks; not ended. */
void tidefile_some_of_everything(tidefile *f);

#endif
