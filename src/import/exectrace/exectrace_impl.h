// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the importer of execution traces: exectrace.c reads nodes and makes spans, storages.c
 * makes allocations of the storages that nodes name. */
#ifndef TIDE_IMPORT_EXECTRACE_EXECTRACE_IMPL_H
#define TIDE_IMPORT_EXECTRACE_EXECTRACE_IMPL_H

#include "base/map.h"
#include "base/mem.h"
#include "import/import.h"
#include "import/json/node.h"

typedef struct et_node {
	uint64_t id, parent;
	tide_str name;
	int64_t tid;
	jsonr_node values[2], shapes[2], types[2], strides[2]; /* of inputs, of outputs */
	uint32_t begin, end;				       /* places among all nodes */
	uint32_t span;					       /* 0 = none */
	uint8_t cat;
} et_node;

typedef struct et_life { /* a storage between two births */
	uint64_t id, bytes;
	uint32_t begin, end; /* places; begin = 0: older than the trace */
	uint32_t span;
	tide_str device;
	jsonr_node shape;
	uint8_t dtype;
	bool before;
} et_life;

typedef struct et_trace {
	tide_model *m;
	tide_error *err;
	tide_code rc;
	jsonr json;
	unsigned want;
	TIDE_VEC(et_node, nodes); /* in the order of the file: a node follows those inside it */
	TIDE_VEC(et_life, lives);
	tide_map life_of; /* storage -> its last life + 1 */
	tide_map lanes, pools;
	uint64_t sought; /* storage that inputs are searched for */
	bool found;
	uint64_t bad;
} et_trace;

bool tide__et_nomem(et_trace *t);
/* Makes allocations of all storages. Nodes have their places and spans. */
bool tide__et_storages(et_trace *t);

#endif
