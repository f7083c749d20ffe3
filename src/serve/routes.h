// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts a request to the bytes of its answer: the table of routes, their handlers, and the cache
 * of answers. Independent of sockets (http.c), so that tests and the fuzzer can use it too.
 *
 * A handler is a function from a request and the recordings it names to text. It runs on a worker
 * thread; many run at once. Answers about recordings are cached as long as the recording has not
 * changed and the cache has space, so a repeated request costs almost nothing. */
#ifndef TIDE_SERVE_ROUTES_H
#define TIDE_SERVE_ROUTES_H

#include <stdio.h>

#include "serve/http/request.h"
#include "serve/store/store.h"

/* Bytes of an answer, reference-counted. */
typedef struct tide_blob {
	_Atomic uint32_t refs;
	unsigned status;  /* of HTTP */
	const char *type; /* static: Content-Type */
	char *name;	  /* owned; file name of a download; NULL = none */
	char *bytes;	  /* owned */
	size_t n;
} tide_blob;

void tide__blob_drop(tide_blob *b); /* NULL is allowed */

typedef struct tide_cache tide_cache;
/* `most`: maximum bytes kept. Returns NULL if memory runs out. */
tide_cache *tide__cache_new(uint64_t most);
void tide__cache_free(tide_cache *c);
/* Returns an answer with a new reference; NULL = absent. */
tide_blob *tide__cache_get(tide_cache *c, const char *key);
/* Keeps it if it fits; removes the oldest answers. */
void tide__cache_put(tide_cache *c, const char *key, tide_blob *b);

enum { TIDE_ASK_RECS = 9 }; /* recordings that an answer may use */

/* Recordings that an answer uses; they stay while it waits for another. */
typedef struct tide_kept_trace {
	char id[TIDE_ASK_RECS][TIDE_REC_ID];
	tide_loaded *l[TIDE_ASK_RECS];
	size_t n;
} tide_kept_trace;
void tide__kept_trace_drop(tide_kept_trace *h);

typedef struct tide_ask {
	/* the request */
	tide_store *store;
	const struct tide_route *route;
	tide_request *req;
	tide_waiter *waiter; /* called when a recording has been read */
	/* the answer */
	FILE *out;
	const char *type;
	unsigned status;
	char *name;
	tide_kept_trace *held;
} tide_ask;

typedef tide_code tide_handler(tide_ask *a, tide_error *err);

typedef struct tide_route {
	const char *path; /* "api/recordings/ID/spans": ID matches any part */
	const char *
		params; /* " from to px ": allowed parameters; "" = none; NULL = the answer checks them */
	tide_handler *run;
	bool kept;	/* depends only on the request and its recordings */
	unsigned needs; /* TIDE_HAS_HOST ...: what the recording of a request that names none must
			 * have; any of them */
} tide_route;

/* Returns the route of a request; NULL with *status 404, or 400 for an unknown parameter. */
const tide_route *tide__route_find(tide_request *r, unsigned *status);

/* Returns true if a request changes something: it must be a POST. */
bool tide__route_writes(const tide_request *r);

/* Writes the key of a cached answer: the request and the generations of its recordings. Returns
 * false if it must not be cached, or a recording is not in memory. */
bool tide__answer_key(const tide_route *t, tide_store *s, const tide_request *r, char *buf,
		      size_t n);

/* Runs a handler; `held` is empty on the first call. Returns false if the answer has to wait:
 * `w` is or was called, and its owner calls again; data of this call must not be used afterwards.
 * Returns true with the answer in *out, NULL if memory ran out. */
bool tide__route_answer(const tide_route *t, tide_store *s, tide_request *r, tide_waiter *w,
			tide_kept_trace *held, tide_blob **out);
/* Returns {"error": "...", "has_real_data": false}. NULL if memory runs out. */
tide_blob *tide__answer_error(unsigned status, const char *text);

/* ---- for handlers ---- */

/* Gets the recording with this id, or the one that parameter `key` names, else the newest that can
 * answer (needs of the route). */
tide_code tide__ask_id(tide_ask *a, const char *id, tide_loaded **out, tide_error *err);
tide_code tide__ask_param(tide_ask *a, const char *key, tide_loaded **out, tide_error *err);
/* Gets the id of the newest that can answer, exported reports included. Returns false if there is
 * none. */
bool tide__ask_newest(tide_ask *a, char id[TIDE_REC_ID]);
/* Returns TIDE_EUSAGE with the request's error text. */
tide_code tide__ask_wrong(const tide_ask *a, tide_error *err);

/* The handlers, by file. */
tide_handler tide__answer_flame, tide__answer_memory, tide__answer_timeline;   /* api_profiler.c */
tide_handler tide__answer_kernels, tide__answer_hta;			       /* api_device.c */
tide_handler tide__answer_compile;					       /* api_compile.c */
tide_handler tide__answer_exported;					       /* api_exported.c */
tide_handler tide__answer_torch, tide__answer_bottlenecks, tide__answer_score; /* api_findings.c */
tide_handler tide__answer_runs, tide__api_run_note;			       /* api_runs.c */
tide_handler tide__answer_recordings, tide__answer_recording, tide__answer_alive,
	tide__answer_diff;					     /* api_recordings.c */
tide_handler tide__answer_report;				     /* api_reports.c */
tide_handler tide__api_search, tide__answer_span, tide__answer_sums; /* api_spans.c */
tide_handler tide__answer_spans, tide__answer_curve;		     /* api_window.c */
tide_handler tide__answer_data_section, tide__answer_data_window, tide__answer_data_perfetto,
	tide__answer_data_pair;	   /* data.c */
tide_handler tide__answer_metrics; /* metrics.c */

#endif
