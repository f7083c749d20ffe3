// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Explains where an inference server's memory goes: weights, KV cache, captured graphs, activations, cached
 * and unexplained bytes of one device, from memory snapshots of the server and a recording of it.
 *
 *     tide_serving_query q = { .device = 1, .outside = TIDE_SERVING_UNKNOWN };
 *     tide_serving s;
 *     tide__serving_find(models, n, &q, &s, err);
 *     ... s.at[s.last].parts[TIDE_SERVING_KV_CACHE].bytes ...
 *     tide__serving_free(&s);
 *
 * Each live allocation has one part, by the first of: a rule of the caller, names of files and
 * functions of vLLM and SGLang on its stack, its private pool, other names, its role (roles.h). Free
 * blocks are parts, too, so that the parts of a moment add up to its reserved bytes plus the live
 * bytes outside every known segment. Definitions: docs/analyses/serving.md. */
#ifndef TIDE_ANALYZE_SERVING_SERVING_H
#define TIDE_ANALYZE_SERVING_SERVING_H

#include "analyze/live/live_set.h"
#include "analyze/memory/ledger/device_ledger.h"

#define TIDE_SERVING_PARTS(X)                                                                   \
	X(WEIGHTS, "weights", "the model's parameters and buffers")                             \
	X(KV_CACHE, "kv_cache", "keys and values of the requests")                              \
	X(GRAPHS, "graphs", "live in private pools: memory that captured graphs keep")          \
	X(GRAPHS_FREE, "graphs_free", "free in private pools: only their graphs can use it")    \
	X(WORKSPACE, "workspace", "scratch memory of libraries")                                \
	X(ACTIVATIONS, "activations", "activations, inputs and temporary tensors of requests")  \
	X(CACHED, "cached", "free in other pools: the allocator keeps it for the next request") \
	X(UNEXPLAINED, "unexplained", "live, and no rule covers it")

typedef enum tide_serving_part {
#define X(name, word, text) TIDE_SERVING_##name,
	TIDE_SERVING_PARTS(X)
#undef X
		TIDE_SERVING_N
} tide_serving_part;

enum {
	TIDE_SERVING_RULES = 64,	 /* of the caller, at most */
	TIDE_SERVING_SIZES = 4096,	 /* captured sizes that a caller may list */
	TIDE_SERVING_MOST_GRAPHS = 4096, /* captures of one snapshot; later ones join the last */
};
#define TIDE_SERVING_UNKNOWN UINT64_MAX

/* Allocations with a frame of such a file and function have this part. */
typedef struct tide_serving_rule {
	uint8_t part;
	char file[200], function[100]; /* patterns; "" = any */
	const char *by;		       /* "vLLM" ...; NULL = a rule of the caller */
} tide_serving_rule;

/* The evidence for a part: who says so. */
typedef enum tide_serving_by {
	TIDE_BY_GIVEN_RULE, /* index: in `given` */
	TIDE_BY_KNOWN_RULE, /* index: tide__serving_known */
	TIDE_BY_PRIVATE_POOL,
	TIDE_BY_ROLE_RULE, /* index: TIDE_RULE_* of roles.h */
	TIDE_BY_FORWARD,   /* made in a module's forward */
	TIDE_BY_NO_RULE,
	TIDE_BY_NO_STACK,
} tide_serving_by;
typedef struct tide_serving_why {
	uint8_t part, by;
	uint16_t index;
	uint64_t bytes, count;
} tide_serving_why;

typedef struct tide_serving_bytes {
	uint64_t bytes, count; /* count: allocations; free parts: blocks */
} tide_serving_bytes;

typedef struct tide_serving_pool {
	uint32_t pool; /* row */
	bool private;
	uint64_t reserved, live, free, largest_free;
	uint64_t segments, blocks; /* blocks: in use */
	uint64_t captures;
} tide_serving_pool;

/* A captured size: one capture or several of the same batch size. */
typedef struct tide_serving_size {
	int64_t batch;	    /* -1 = unknown */
	uint8_t batch_from; /* TIDE_BATCH_* */
	double relative;    /* its requests compared with the smallest capture's; NaN = unknown */
	uint32_t pool;	    /* of its first capture */
	uint64_t captures, allocs;
	uint64_t requested;		      /* bytes of all its requests */
	uint64_t kept;			      /* bytes of those that live at the moment */
	uint64_t added;			      /* segments taken while it was captured */
	int64_t returns, returns_with_larger; /* INT64_MIN = unknown */
	int64_t t;			      /* its first request */
	size_t added_in;		      /* index in `at`; SIZE_MAX = unknown */
} tide_serving_size;
enum { TIDE_BATCH_UNKNOWN, TIDE_BATCH_ANNOTATION, TIDE_BATCH_GIVEN };

/* One snapshot or recording at one moment. */
typedef struct tide_serving_at {
	const tide_model *m; /* borrowed */
	size_t file;	     /* index in the caller's list */
	uint32_t device;
	int64_t t, wall_ns; /* wall_ns: INT64_MIN = unknown */
	uint64_t position;
	bool segments;	   /* false: reserved bytes and free parts are not known from segments */
	uint64_t reserved; /* TIDE_SERVING_UNKNOWN */
	uint64_t loose;	   /* live bytes outside every known segment */
	tide_serving_bytes parts[TIDE_SERVING_N];
	tide_serving_pool *pools; /* owned; by reserved, descending */
	size_t n_pools;
	size_t n_sizes; /* captured by then; SIZE_MAX = unknown */
} tide_serving_at;

/* The device's memory at the moment, by the recording's ledger. */
typedef struct tide_serving_device {
	bool known;
	const tide_model *m;  /* the recording; borrowed */
	size_t file;	      /* its index in the caller's list */
	bool same_moment;     /* false: the recording does not reach to the snapshot's time */
	uint64_t used, total; /* TIDE_SERVING_UNKNOWN */
	uint64_t allocator;   /* reserved bytes of the snapshot, or of the recording */
	uint64_t libraries, pooled, context, profiler, others, driver; /* 0 if unknown */
	int64_t unexplained;   /* used minus all of these; INT64_MIN = unknown */
	tide_ledgers ledgers;  /* owned */
	const tide_ledger *of; /* in ledgers; NULL = none */
} tide_serving_device;

typedef struct tide_serving_replay {
	bool known;	 /* the requests were replayed */
	bool reproduced; /* ... and took the recorded segments in the recorded order */
	uint64_t reserved, recorded;
} tide_serving_replay;

typedef struct tide_serving_fit {
	uint64_t capacity; /* TIDE_SERVING_UNKNOWN */
	uint64_t outside;  /* device memory outside the allocator */
	bool outside_known;
	uint64_t rest;	/* highest reserved bytes beside the KV cache since it exists */
	uint64_t bytes; /* largest KV cache: TIDE_SERVING_UNKNOWN; 0 if nothing is left */
} tide_serving_fit;

typedef struct tide_serving_query {
	uint32_t device;	  /* a row of the last trace */
	const char *const *rules; /* "ROLE=FILE", "ROLE=FILE:FUNCTION": borrowed */
	size_t n_rules;
	const char *sizes; /* "32,16,8": batch sizes in the order of capture; NULL */
	uint64_t capacity; /* 0 = as recorded */
	uint64_t outside;  /* TIDE_SERVING_UNKNOWN = by the recording, if there is one */
} tide_serving_query;

typedef struct tide_serving {
	tide_serving_at *at;	  /* owned; by time */
	size_t n, last;		  /* last: the snapshot that the tables below describe */
	tide_serving_size *sizes; /* owned; in the order of capture */
	size_t n_sizes;
	uint64_t once;	       /* bytes that the first capture keeps for all of them; of no size */
	tide_serving_why *why; /* owned; by part, then by bytes */
	tide_serving_rule *given; /* owned: rules of the caller */
	size_t n_why, n_given;
	tide_serving_device on_device;
	tide_serving_replay replay;
	tide_serving_fit fit;
} tide_serving;

/* Analyses n traces of one server. Snapshots are compared over time; a recording of `tidemark run
 * --gpu` adds the device's ledger, and is described itself if there is no snapshot. With device 0 (no
 * memory of a device) all figures are 0 or unknown. Models are borrowed until
 * tide__serving_free, which must be called in any case. Fails with TIDE_EUSAGE (a rule, sizes) or
 * TIDE_ENOMEM. O(events), and one replay for each captured size. */
tide_code tide__serving_find(const tide_model *const *models, size_t n, const tide_serving_query *q,
			     tide_serving *out, tide_error *err);
void tide__serving_free(tide_serving *s);

/* Returns "weights", "kv_cache" ...; the sentence about it. */
const char *tide__serving_part_word(unsigned part);
const char *tide__serving_part_text(unsigned part);
/* Returns true for parts of free blocks. */
static inline bool tide__serving_part_is_free(unsigned part)
{
	return part == TIDE_SERVING_GRAPHS_FREE || part == TIDE_SERVING_CACHED;
}
/* Returns a rule about names of servers that is built in. */
const tide_serving_rule *tide__serving_known(size_t i);
/* Returns the sum of all parts. */
uint64_t tide__serving_sum(const tide_serving_at *at);

#endif
