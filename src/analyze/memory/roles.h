// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The role of an allocation: parameter, gradient, optimizer state, activation, input, temporary.
 *
 * Labels of the trace come first. Otherwise a rule needs two pieces of evidence: where the
 * allocation was made (signs of its stack and of the spans around it) and how long it lived
 * relative to later events (a backward pass, an optimizer step). Allocations that no rule covers
 * stay unknown. Rules and their limits: docs/analyses/roles.md. */
#ifndef TIDE_ANALYZE_MEMORY_ROLES_H
#define TIDE_ANALYZE_MEMORY_ROLES_H

#include "model/model.h"

#define TIDE_ROLE_RULES(X)                                                              \
	X(NONE, "no rule applies")                                                      \
	X(LABEL, "the trace says so")                                                   \
	X(TOLD, "concluded by the tool that wrote the profile")                         \
	X(WORKSPACE, "made for a library's scratch memory")                             \
	X(OPT_STATE, "made while an optimizer sets up its state")                       \
	X(OPT_KEPT, "made in an optimizer step, outlives it")                           \
	X(OPT_SHORT, "made in an optimizer step, gone when it ends")                    \
	X(GRAD_ADDED, "made to accumulate a gradient")                                  \
	X(GRAD_KEPT, "made in a backward pass, outlives it")                            \
	X(BACKWARD_SHORT, "made in a backward pass, gone when it ends")                 \
	X(MODULE, "made while a module is built, moved or loaded, and kept")            \
	X(MODULE_SHORT, "made while a module is built, moved or loaded, and dropped")   \
	X(SAVED, "made in a forward pass, alive in exactly one backward pass after it") \
	X(FORWARD_SHORT, "made in a forward pass, gone before a backward pass")         \
	X(INPUT, "made by a data loader")                                               \
	X(OWN_OP, "gone before the op that made it ended")                              \
	X(SHAPE, "guessed from the shape by the tool that wrote the profile")

typedef enum tide_role_rule {
#define X(name, text) TIDE_RULE_##name,
	TIDE_ROLE_RULES(X)
#undef X
		TIDE_RULES_N
} tide_role_rule;

typedef struct tide_roles {
	uint8_t *role; /* owned: TIDE_ROLE_* per alloc row */
	uint8_t *rule; /* owned: TIDE_RULE_* per alloc row */
	uint64_t count[TIDE_RULES_N],
		bytes[TIDE_RULES_N]; /* evidence: bytes and allocations by rule */
} tide_roles;

/* O(allocs + events + stacks + spans). */
tide_code tide__find_roles(const tide_model *m, tide_roles *out);
void tide__roles_free(tide_roles *r);
const char *tide__rule_text(tide_role_rule r);

#endif
