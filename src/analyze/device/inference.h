// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Iterations of an inference server: prefill, decode or both, with their requests and tokens.
 *
 * They come from the first of these that the trace has:
 *
 *   1. ranges of servers, whose names hold the numbers:
 *        execute_context_1(512)_generation_8(8)          vLLM: requests(tokens)
 *        execute_520_context_1(sq512sk512...)_generation_8(sq8sk4096...)   with lengths of contexts
 *        step[EXTEND bs=15 toks=15360], step[DECODE bs=32]                 SGLang
 *      one inside another is the same iteration;
 *   2. ranges with "prefill" or "decode" in their name that hold no other such range;
 *   3. calls of a module inside no other: the shape of the first embedding's indices, [batch,
 *      tokens], gives the kind; one token for each is decode.
 *
 * Device work belongs to the iteration in which its launch began. docs/analyses/inference.md defines
 * the figures. */
#ifndef TIDE_ANALYZE_DEVICE_INFERENCE_H
#define TIDE_ANALYZE_DEVICE_INFERENCE_H

#include "analyze/common/statistics.h"
#include "model/model.h"

#define TIDE_ITERATIONS(X)    \
	X(PREFILL, "prefill") \
	X(DECODE, "decode")   \
	X(MIXED, "mixed")     \
	X(OTHER, "unknown")

typedef enum tide_iteration_kind {
#define X(name, text) TIDE_ITERATION_##name,
	TIDE_ITERATIONS(X)
#undef X
		TIDE_N_ITERATIONS
} tide_iteration_kind;
extern const char *const tide__iteration_text[TIDE_N_ITERATIONS];

typedef enum tide_iteration_source {
	TIDE_ITERATION_NONE,
	TIDE_ITERATION_SERVER,	/* 1 */
	TIDE_ITERATION_WORDS,	/* 2 */
	TIDE_ITERATION_MODULES, /* 3 */
} tide_iteration_source;

typedef struct tide_iteration_counts { /* -1 = unknown */
	int64_t prefill_requests, prefill_tokens, decode_requests, decode_tokens;
	int64_t context_tokens; /* keys that attention reads, of all requests */
} tide_iteration_counts;

typedef struct tide_iteration {
	uint32_t span;
	uint8_t kind; /* TIDE_ITERATION_* */
	tide_iteration_counts of;
	int64_t host_ns;    /* of the span */
	int64_t latency_ns; /* from its start to the end of its last device row, or its end */
	int64_t device_ns, busy_ns; /* sum and union of its device rows */
	uint64_t device_rows, graph_launches;
	int64_t busy_to; /* end of the rows so far */
} tide_iteration;

/* Times of the iterations of one kind: nearest-rank percentiles. */
typedef struct tide_iteration_group {
	tide_stat latency, device;
	int64_t p50, p90, p99; /* of latencies */
	int64_t device_p50, device_p90, device_p99;
	int64_t tokens;	  /* that they computed; -1 = unknown for one */
	int64_t requests; /* sum; -1 = unknown for one */
} tide_iteration_group;

typedef struct tide_inference {
	tide_iteration *v; /* owned; by start */
	size_t n, cap;
	tide_iteration_group kind[TIDE_N_ITERATIONS];
	tide_iteration_source source;
	int64_t outside_ns; /* device time outside iterations */
	int64_t device_ns;  /* of all rows */
} tide_inference;

/* Reads the name of a server's range. Returns false if it is none. */
bool tide__iteration_parse(const char *name, size_t n, tide_iteration_counts *out,
			   tide_iteration_kind *kind);
/* Finds the iterations. Needs a model with TIDE_WANT_SHAPES for source 3's tokens. Release with
 * tide__inference_free in any case. */
tide_code tide__find_inference(const tide_model *m, tide_inference *out, tide_error *err);
void tide__inference_free(tide_inference *x);

#endif
