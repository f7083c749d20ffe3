// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads SQLite files of ROCm's profilers; docs/formats/rocpd.md says how each table is read.
 *
 *   load.c   recognising, the order of tables
 *   rocpd.c  rocprofv3's tables, each with the id of its process at the end of its name
 *   rpd.c    rocmProfileData's tables */
#ifndef TIDE_IMPORT_ROCPD_IMPL_H
#define TIDE_IMPORT_ROCPD_IMPL_H

#include "import/nsys/nsys_impl.h"

enum { ROCPD_SUFFIX = 96 };

typedef struct rocpd_agent {
	int64_t number; /* among devices of its kind */
	bool gpu;
} rocpd_agent;

typedef struct rocpd {
	nsys n;			   /* first: tables are read with it */
	char suffix[ROCPD_SUFFIX]; /* of the tables that are read now */
	tide_map pids, tids;	   /* row of info tables -> pid, tid + 1 */
	tide_map kernels;	   /* row of kernel symbols -> name */
	tide_map agents;	   /* row of agents -> place in agent + 1 */
	tide_map stacks;	   /* event -> place in stack + 1 */
	tide_map categories;	   /* event -> text of its category */
	rocpd_agent *agent;	   /* owned */
	int64_t *stack;		   /* owned */
	size_t n_agents, cap_agents, n_stacks, cap_stacks;
	tide_map api_of; /* op of rocmProfileData -> place in call + 1 */
	struct rocpd_call {
		int64_t pid;
		uint32_t span;
	} * call;	/* owned; API calls of rocmProfileData */
	tide_map calls; /* their ids -> place + 1 */
	size_t n_calls, cap_calls;
} rocpd;

/* Read all tables that end with r->suffix. Return n.rc == TIDE_OK. */
bool tide__rocpd_read(rocpd *r);
bool tide__rpd_read(rocpd *r);
/* Reads a table of that suffix. */
bool tide__rocpd_table(rocpd *r, const nsys_table *t);

/* Returns the name of a copy as PyTorch's profiler writes it, or none if its direction is unknown. */
tide_str tide__rocpd_copy_name(nsys *n, const char *text);

static inline int64_t rocpd_global(int64_t pid, int64_t tid)
{
	return (int64_t)(((uint64_t)pid & 0xffffff) << 24 | ((uint64_t)tid & 0xffffff));
}

tide_code tide__rocpd_import(tide_db *db, const tide_load_options *opt, tide_model *m,
			     tide_error *err);

#endif
