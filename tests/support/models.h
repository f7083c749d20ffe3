// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Comparing models, and a .tide file that has some of everything. */
#ifndef TIDE_TESTS_MODELS_H
#define TIDE_TESTS_MODELS_H

#include "model/model.h"
#include "tidefile.h"

/* Name of the first table that differs, NULL if none does. Facts are not compared. */
const char *models_differ(const tide_model *a, const tide_model *b);
/* Number of a fact, 0 if it is not there. */
int64_t fact_of(const tide_model *m, const char *key);
/* Returns whether any fact begins with "loss.". */
int has_loss(const tide_model *m);

/* Two rings, every kind of event, several chunks; not ended. */
void tidefile_some_of_everything(tidefile *f);

#endif
