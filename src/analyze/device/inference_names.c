// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of a server's ranges. */
#include <string.h>

#include "analyze/device/inference.h"

typedef struct text {
	const char *s, *end;
} text;

static bool skip(text *t, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(t->end - t->s) < n || memcmp(t->s, word, n) != 0)
		return false;
	t->s += n;
	return true;
}

static bool take_number(text *t, int64_t *out)
{
	int64_t v = 0;
	int digits = 0;
	for (; t->s < t->end && *t->s >= '0' && *t->s <= '9' && digits < 16; t->s++, digits++)
		v = v * 10 + (*t->s - '0');
	*out = v;
	return digits > 0 && digits < 16;
}

/* Reads "(512)", or "(sq512sk600sqsq1sqsk2)": tokens, and the sum of contexts. */
static bool take_tokens(text *t, int64_t *tokens, int64_t *contexts)
{
	int64_t v;
	*contexts = -1;
	if (!skip(t, "("))
		return false;
	if (!skip(t, "sq"))
		return take_number(t, tokens) && skip(t, ")");
	return take_number(t, tokens) && skip(t, "sk") && take_number(t, contexts) &&
	       skip(t, "sqsq") && take_number(t, &v) && skip(t, "sqsk") && take_number(t, &v) &&
	       skip(t, ")");
}

static tide_iteration_kind kind_of(const tide_iteration_counts *c)
{
	if (c->prefill_requests > 0)
		return c->decode_requests > 0 ? TIDE_ITERATION_MIXED : TIDE_ITERATION_PREFILL;
	return c->decode_requests > 0 ? TIDE_ITERATION_DECODE : TIDE_ITERATION_OTHER;
}

static bool parse_execute(text t, tide_iteration_counts *c, tide_iteration_kind *kind)
{
	int64_t all, prefill, decode;
	if (!skip(&t, "execute_"))
		return false;
	if (take_number(&t, &all) && !skip(&t, "_"))
		return false;
	if (!skip(&t, "context_") || !take_number(&t, &c->prefill_requests) ||
	    !take_tokens(&t, &c->prefill_tokens, &prefill) || !skip(&t, "_generation_") ||
	    !take_number(&t, &c->decode_requests) || !take_tokens(&t, &c->decode_tokens, &decode))
		return false;
	c->context_tokens = prefill >= 0 && decode >= 0 ? prefill + decode : -1;
	*kind = kind_of(c);
	return t.s == t.end;
}

static bool parse_step(text t, tide_iteration_counts *c, tide_iteration_kind *kind)
{
	int64_t requests, tokens = -1;
	if (!skip(&t, "step["))
		return false;
	*kind = skip(&t, "DECODE")			    ? TIDE_ITERATION_DECODE
		: skip(&t, "EXTEND") || skip(&t, "PREFILL") ? TIDE_ITERATION_PREFILL
		: skip(&t, "MIXED")			    ? TIDE_ITERATION_MIXED
							    : TIDE_ITERATION_OTHER;
	while (t.s < t.end && *t.s != ' ')
		t.s++;
	if (!skip(&t, " bs=") || !take_number(&t, &requests))
		return false;
	if (skip(&t, " toks=") && !take_number(&t, &tokens))
		return false;
	*c = (tide_iteration_counts){ -1, -1, -1, -1, -1 };
	if (*kind == TIDE_ITERATION_DECODE) {
		c->decode_requests = requests;
		c->decode_tokens = tokens >= 0 ? tokens : requests;
		c->prefill_requests = c->prefill_tokens = 0;
	} else if (*kind == TIDE_ITERATION_PREFILL) {
		c->prefill_requests = requests;
		c->prefill_tokens = tokens;
		c->decode_requests = c->decode_tokens = 0;
	}
	return true;
}

bool tide__iteration_parse(const char *name, size_t n, tide_iteration_counts *out,
			   tide_iteration_kind *kind)
{
	text t = { name, name + n };
	*out = (tide_iteration_counts){ -1, -1, -1, -1, -1 };
	return parse_execute(t, out, kind) || parse_step(t, out, kind);
}
