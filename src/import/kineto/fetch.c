// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads one event's arguments, which the model does not keep, from the input again. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/kineto/kineto.h"
#include "import/source.h"

enum { STEP = 64 << 10 };

/* Reads and discards bytes. */
static tide_code skip(tide_source *s, char *buf, uint64_t n, tide_error *err)
{
	n -= tide__source_skip(s, n);
	while (n) {
		size_t want = n < STEP ? (size_t)n : STEP, got;
		tide_code rc = tide__source_read(s, buf, want, &got, err);
		if (rc != TIDE_OK)
			return rc;
		if (!got)
			return tide__fail(err, TIDE_ENOTFOUND, n,
					  "the input ends before that event");
		n -= got;
	}
	return TIDE_OK;
}

static bool find_args(jsonr *c, void *user, jsonr_slice key, jsonr_slice value)
{
	if (key.n == 4 && !memcmp(c->s.b + key.at, "args", 4))
		*(jsonr_slice *)user = value;
	return true;
}

/* Reads until the object at the start of the text is complete; *args receives the slice. */
static tide_code read_event(tide_source *s, char **text, jsonr_slice *args, tide_error *err)
{
	jsonr c = { 0 };
	size_t n = 0, cap = 0;
	tide_code rc = TIDE_OK;
	bool end = false;
	for (;;) {
		size_t got = 0;
		if (!TIDE_ROOM(*text, cap, n + STEP + JSONR_PAD)) {
			rc = tide__nomem(err);
			break;
		}
		tide_code damage = tide__source_read(s, *text + n, STEP, &got, err);
		end = damage != TIDE_OK || got < STEP;
		n += got;
		memset(*text + n, 0, JSONR_PAD);
		if (!tide__jsonr_scan_text(&c.s, *text, n)) {
			rc = tide__nomem(err);
			break;
		}
		*args = (jsonr_slice){ 0 };
		size_t p = tide__jsonr_parse_object(&c, 0, find_args, args);
		if (p != JSONR_FAIL) {
			if (!args->type)
				*args = (jsonr_slice){ 0, (uint32_t)p, '{' };
			break;
		}
		if (end || c.why != JSONR_MORE || n > KIN_ITEM_MAX) {
			rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no event there");
			break;
		}
	}
	tide__jsonr_fini(&c);
	return rc;
}

tide_code tide__kineto_reread_args(const char *path, uint64_t src, char **text, size_t *n,
				   tide_error *err)
{
	tide_source *s;
	jsonr_slice args = { 0 };
	char *buf = NULL;
	*text = NULL;
	*n = 0;
	tide_code rc = tide__source_open(path, UINT64_MAX, &s, err);
	if (rc != TIDE_OK)
		return rc;
	buf = tide__alloc(STEP + JSONR_PAD, 1);
	rc = buf ? skip(s, buf, src, err) : tide__nomem(err);
	if (rc == TIDE_OK)
		rc = read_event(s, &buf, &args, err);
	tide__source_close(s);
	if (rc == TIDE_OK) {
		size_t quotes = args.type == '"';
		*n = args.n + 2 * quotes;
		*text = tide__strndup(buf + args.at - quotes, *n);
		if (!*text)
			rc = tide__nomem(err);
	}
	tide__free(buf);
	return rc;
}
