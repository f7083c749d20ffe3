// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses and checks the target of a request, and decides who may ask (Host, Origin, token). Pure:
 * no sockets, no files, no allocation; everything a client can send fits into fixed buffers or is
 * refused.
 *
 * A path is at most 6 parts of letters, digits, '.', '_' and '-' (never "." or ".."), so that it
 * can only name entries of a table or a list. A query is at most 16 pairs; keys are small letters
 * and '_', values are percent-decoded and contain no NUL. */
#ifndef TIDE_SERVE_HTTP_REQUEST_H
#define TIDE_SERVE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TIDE_REQ_PARTS = 6,
	TIDE_REQ_PART = 64, /* bytes of a part, NUL included */
	TIDE_REQ_PAIRS = 16,
	TIDE_REQ_KEY = 32,
	TIDE_REQ_VALUE = 512,
	TIDE_REQ_TARGET = 4096, /* a longer target is refused */
};

typedef struct tide_request {
	char part[TIDE_REQ_PARTS][TIDE_REQ_PART];
	size_t n_parts;
	struct {
		char key[TIDE_REQ_KEY], value[TIDE_REQ_VALUE];
	} pair[TIDE_REQ_PAIRS];
	size_t n_pairs;
	bool twice;	   /* a parameter occurs more than once: for lists only (routes.c) */
	const char *wrong; /* not NULL: why it is refused (400), as text */
	bool hasty;	   /* it waited for several recordings: only what is known counts */
} tide_request;

/* Parses "/path?query". Returns false and sets r->wrong if it is malformed. */
bool tide__request_parse(const char *target, tide_request *r);

/* Returns the value of a key, NULL if absent. The parser refuses a key given twice. */
const char *tide__request_get(const tide_request *r, const char *key);

/* Gets an integer from least to most; *out is unchanged if the key is absent. Returns false (and
 * sets r->wrong) for anything else. */
bool tide__request_get_int(tide_request *r, const char *key, int64_t least, int64_t most,
			   int64_t *out);
/* Gets a non-negative decimal number with at most `decimals` decimals, as a count of
 * 10^-decimals. */
bool tide__request_get_decimal(tide_request *r, const char *key, int decimals, int64_t most,
			       int64_t *out);
/* Gets the index of one of `n` words. */
bool tide__request_get_choice(tide_request *r, const char *key, const char *const *words, size_t n,
			      size_t *out);

/* ---- who may ask ---- */

/* The Host check, against DNS rebinding: returns true for "localhost" and for IP addresses, with or
 * without a port; another site's name can be neither. `also` (may be NULL) is one more allowed name. */
bool tide__host_allowed(const char *host, const char *also);
/* Returns true if this Origin header is that of the host itself: "http://HOST" or
 * "https://HOST". */
bool tide__origin_allowed(const char *origin, const char *host);
/* Compares in constant time, so that timing does not reveal how much matches. */
bool tide__token_equal(const char *a, const char *b);
/* Copies the value of a cookie in a Cookie header to buf; returns false if absent or too long. */
bool tide__cookie_get(const char *header, const char *name, char *buf, size_t n);

#endif
