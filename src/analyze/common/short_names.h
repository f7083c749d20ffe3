// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Short names of ops and modules, for rows of tables and pages.
 *
 * The path of an op repeats the model's class and every module around it, and its ops repeat the
 * library's name. Readers need the innermost module and the innermost op:
 *
 *   nn.Module: W/nn.Module: W.encoder/nn.Module: W.encoder.layers.0.fc1/aten::linear/aten::addmm
 *   -> encoder.layers.0.fc1  addmm
 *   autograd::engine::evaluate_function: MulBackward0/MulBackward0/aten::mul
 *   -> MulBackward0  mul
 *   train/forward/aten::linear/aten::addmm -> forward  addmm
 *
 * Rules: docs/analyses/peak.md. All text tables and pages take names from here. */
#ifndef TIDE_ANALYZE_COMMON_SHORT_NAMES_H
#define TIDE_ANALYZE_COMMON_SHORT_NAMES_H

#include "analyze/common/paths.h"

enum { TIDE_SHORT_NAME = 512 }; /* bytes of a short name, including NUL */

typedef struct tide_short_names {
	const tide_model *m; /* borrowed */
	uint8_t *has_inner;  /* owned: a bit per text: a module that contains another */
	bool one_model;	     /* names leave out the class of the outermost module */
} tide_short_names;

/* O(texts). Returns false if memory runs out: names are then complete. Release with
 * tide__short_names_free in any case. */
bool tide__short_names_init(tide_short_names *s, const tide_model *m);
void tide__short_names_free(tide_short_names *s);

/* Writes the short name of a path node into out; "" for the root. With `fold`, numbers of modules
 * that repeat are "*": "encoder.layers.*.fc1  addmm". *module (may be NULL) receives the innermost
 * module, none if the op is outside modules. Returns the length. */
size_t tide__short_path(const tide_short_names *s, const tide_paths *p, uint32_t node, bool fold,
			char out[TIDE_SHORT_NAME], tide_str *module);

/* Returns the part of a name that a row below the row of `around` needs: "layers.0" for the module
 * "nn.Module: W.encoder.layers.0" inside "nn.Module: W.encoder"; "evaluate_function: MulBackward0" for
 * an op of the autograd engine. `around`: NULL = none. The result is
 * within `name`; *n is the length of `name`, then of the result. */
const char *tide__short_nested(const char *name, size_t *n, const char *around, size_t n_around);

/* Writes the short name of a module, "nn.Module: " included or not. Other names stay whole. */
size_t tide__short_module(const tide_short_names *s, tide_str name, bool fold,
			  char out[TIDE_SHORT_NAME]);

#endif
