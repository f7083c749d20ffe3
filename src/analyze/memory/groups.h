// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Groups a set of allocations by a common property. The groups partition the set: counts, bytes
 * and requested bytes add up to those of the set. By tensor, role and module, an allocation that
 * several tensors share is split by view (view_parts.h); each part counts as one, so counts may
 * exceed the set's. Definitions: docs/analyses/peak.md. */
#ifndef TIDE_ANALYZE_MEMORY_GROUPS_H
#define TIDE_ANALYZE_MEMORY_GROUPS_H

#include "analyze/live/live_set.h"
#include "analyze/memory/alloc_module.h"
#include "analyze/common/paths.h"
#include "analyze/common/short_names.h"
#include "analyze/memory/roles.h"
#include "analyze/memory/view_parts.h"
#include "model/strings.h"

#define TIDE_GROUP_BYS(X)                                                                      \
	X(OP, "op")	    /* op path of the allocating span */                               \
	X(STACK, "stack")   /* whole call stack */                                             \
	X(TENSOR, "tensor") /* name, type and shape of its content */                          \
	X(ROLE, "role")	    /* parameter, gradient, activation ... */                          \
	X(POOL, "pool")                                                                        \
	X(STREAM, "stream")                                                                    \
	X(SIZE, "size") /* size class: from one power of two to the next */                    \
	X(FRAME,                                                                               \
	  "frame") /* the frame that represents the stack: stacks.h, tide__stack_main_frame */ \
	X(MODULE, "module") /* the module it belongs to: alloc_module.h */

/* The same words in one list, for options. */
#define TIDE_GROUP_BY_WORDS "op,stack,tensor,role,pool,stream,size,frame,module"

typedef enum tide_group_by {
#define X(name, text) TIDE_BY_##name,
	TIDE_GROUP_BYS(X)
#undef X
} tide_group_by;

/* The rows by op or module: one per whole path, or per short name (short_names.h), or per short name
 * over all layers ("encoder.layers.*.fc1  addmm"). Other groupings have whole names only. */
typedef enum tide_group_names {
	TIDE_NAMES_WHOLE,
	TIDE_NAMES_SHORT,
	TIDE_NAMES_FOLDED,
} tide_group_names;

/* The key by op, stack, frame or module of allocations from before the recording without such
 * information. */
#define TIDE_GROUP_BEFORE (UINT64_MAX - 1)

typedef struct tide_group {
	uint64_t key; /* meaning depends on `by`; render/text/labels.h names it */
	uint64_t bytes, requested, count;
} tide_group;

typedef struct tide_group_label { /* a short name that several paths or modules share */
	uint32_t first;		  /* node or module (tide_str) of the first allocation */
	uint32_t modules;	  /* distinct modules */
} tide_group_label;

typedef struct tide_groups {
	tide_group_by by;
	tide_group_names kind;	    /* of OP and MODULE; WHOLE for others */
	tide_short_names names;	    /* of OP and MODULE */
	tide_group_label *of_label; /* per label, if kind is not WHOLE */
	size_t cap_of_label;
	tide_map label_of; /* node or module -> label */
	tide_map members;  /* (label, module) -> 1 */
	tide_group *rows;  /* by bytes, descending; equals in the order of first appearance */
	size_t n, cap;
	tide_map index;		   /* key -> row + 1 */
	tide_paths paths;	   /* of TIDE_BY_OP */
	tide_strings *labels;	   /* of TIDE_BY_TENSOR, and of short names */
	tide_alloc_modules owners; /* of TIDE_BY_MODULE */
	tide_view_parts parts;	   /* of TENSOR, ROLE and MODULE */
	tide_frame_id *faces;	   /* of TIDE_BY_FRAME: per stack */
	tide_map tensors;	   /* of TIDE_BY_TENSOR: alloc -> its last tensor row */
	const uint8_t *roles; /* of TIDE_BY_ROLE: role per alloc row; borrowed, or part of `own` */
	tide_roles own;
} tide_groups;

/* Release with tide__groups_free in any case. O(n log groups); TENSOR also O(tensors), ROLE the
 * cost of roles.h. */
tide_code tide__find_groups(const tide_model *m, const tide_live_set *set, tide_group_by by,
			    tide_groups *out, tide_error *err);
/* The same with roles that are already known, borrowed until tide__groups_free; NULL = they are
 * found. */
tide_code tide__groups_find_in_roles(const tide_model *m, const tide_live_set *set,
				     tide_group_by by, tide_group_names names, const uint8_t *roles,
				     tide_groups *out, tide_error *err);
void tide__groups_free(tide_groups *g);

/* Returns the key of any allocation under the grouping (for TENSOR only of those in the set);
 * UINT64_MAX if memory runs out. */
uint64_t tide__groups_key(tide_groups *g, const tide_model *m, uint32_t row);
/* The same for a part of an allocation that several tensors share (g->parts). */
uint64_t tide__groups_view_key(tide_groups *g, const tide_model *m, uint32_t view);
/* Returns the row of a key, SIZE_MAX if no allocation of the set has it. */
size_t tide__groups_find(const tide_groups *g, uint64_t key);

/* Writes the short name of a row of OP or MODULE whose key is not 0 or BEFORE. *modules receives the
 * number of modules that share it: 1 if it stands alone. Returns out. */
const char *tide__groups_short_name(const tide_groups *g, size_t row, char out[TIDE_SHORT_NAME],
				    uint32_t *modules);

/* Returns the most informative grouping of a trace's allocations: call stacks if any has one,
 * else ops if any has one, else roles if any is labelled, else sizes. */
tide_group_by tide__group_by_best(const tide_model *m);

#endif
