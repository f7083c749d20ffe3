// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a client asked for: the target of a request, taken apart and checked. Pure: no sockets, no
 * files, no allocation; everything a client can send ends up in fixed room or is refused.
 *
 * A path is at most 6 parts of letters, digits, '.', '_' and '-' (never "." or ".."), so that it
 * can name nothing but what a table or a list holds. A query is at most 16 pairs; keys are small
 * letters and '_', values are percent-decoded and hold no NUL. */
#ifndef TIDE_SERVE_REQUEST_H
#define TIDE_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TIDE_REQ_PARTS = 6,
	TIDE_REQ_PART = 64, /* bytes of a part, NUL included */
	TIDE_REQ_PAIRS = 16,
	TIDE_REQ_KEY = 32,
	TIDE_REQ_VALUE = 512,
	TIDE_REQ_TARGET = 4096, /* a longer target is refused whole */
};

typedef struct tide_request {
	char part[TIDE_REQ_PARTS][TIDE_REQ_PART];
	size_t n_parts;
	struct {
		char key[TIDE_REQ_KEY], value[TIDE_REQ_VALUE];
	} pair[TIDE_REQ_PAIRS];
	size_t n_pairs;
	const char *wrong; /* not NULL: why it is refused (400), in words */
} tide_request;

/* Take apart "/path?query" as it came. False when r->wrong says what is not right. */
bool tide__request_parse(const char *target, tide_request *r);

/* Value of a key, NULL when it was not given. A key given twice is refused by the parser. */
const char *tide__request_get(const tide_request *r, const char *key);

/* A whole number from least to most; *out is left alone when the key was not given. False (and
 * r->wrong) for anything else. */
bool tide__request_int(tide_request *r, const char *key, int64_t least, int64_t most, int64_t *out);
/* A decimal number with at most `decimals` decimals, as a count of 10^-decimals; not negative. */
bool tide__request_decimal(tide_request *r, const char *key, int decimals, int64_t most,
			   int64_t *out);
/* One of `n` words; its index. */
bool tide__request_choice(tide_request *r, const char *key, const char *const *words, size_t n,
			  size_t *out);

/* ---- who may ask ---- */

/* Is this Host header one that no DNS name can lead to? "localhost" and addresses are; with a port
 * or without. `also` (may be NULL) is one further name. */
bool tide__host_allowed(const char *host, const char *also);
/* Is this Origin header that of the host itself: "http://HOST" or "https://HOST"? */
bool tide__origin_allowed(const char *origin, const char *host);
/* Equal, in a time that does not tell how much of it is. */
bool tide__token_equal(const char *a, const char *b);
/* The value of a cookie in a Cookie header, into buf; false if it is not there or too long. */
bool tide__cookie_get(const char *header, const char *name, char *buf, size_t n);

#endif
