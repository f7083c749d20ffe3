// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which part of a server's memory an allocation belongs to. The tables hold all assumptions about the
 * names that servers use. */
#include <string.h>

#include "analyze/common/stacks.h"
#include "analyze/serving/serving_impl.h"
#include "base/error.h"
#include "base/mem.h"

static const struct word {
	const char *word, *text;
} words[] = {
#define X(name, word, text) [TIDE_SERVING_##name] = { word, text },
	TIDE_SERVING_PARTS(X)
#undef X
};

const char *tide__serving_part_word(unsigned part)
{
	return part < TIDE_SERVING_N ? words[part].word : "unknown";
}

const char *tide__serving_part_text(unsigned part)
{
	return part < TIDE_SERVING_N ? words[part].text : "";
}

uint64_t tide__serving_sum(const tide_serving_at *at)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < TIDE_SERVING_N; i++)
		sum += at->parts[i].bytes;
	return sum;
}

/* ---- names ---- */

/* The first N_SERVERS are of servers whose memory has these parts also in private pools (vLLM keeps
 * its KV cache in one for sleep mode). Read in vllm/v1/worker, vllm/worker/cache_engine.py,
 * sglang/srt/mem_cache and transformers/cache_utils.py. Earlier rules count first. */
#define KV	TIDE_SERVING_KV_CACHE
#define WEIGHTS TIDE_SERVING_WEIGHTS
#define SCRATCH TIDE_SERVING_WORKSPACE
#define WORK	TIDE_SERVING_ACTIVATIONS
static const tide_serving_rule known[] = {
	{ KV, "**/vllm/**/cache_engine.py", "", "vLLM" },
	{ KV, "**/vllm/**", "*allocate_kv_cache*", "vLLM" },
	{ KV, "**/vllm/**", "initialize_kv_cache*", "vLLM" },
	{ KV, "**/vllm/**", "init_kv_cache*", "vLLM" },
	{ KV, "**/sglang/**/mem_cache/*memory_pool*.py", "_create_*", "SGLang" },
	{ KV, "**/sglang/**/mem_cache/*memory_pool*.py", "__init__", "SGLang" },
	{ KV, "**/sglang/**/mem_cache/*memory_pool*.py", "init_*", "SGLang" },
	{ WEIGHTS, "**/vllm/**/model_loader/**", "", "vLLM" },
	{ WEIGHTS, "**/vllm/**", "load_model", "vLLM" },
	{ WEIGHTS, "**/sglang/**/model_loader/**", "", "SGLang" },
	{ WEIGHTS, "**/sglang/**", "load_model", "SGLang" },
	/* of any program: not in private pools */
	{ SCRATCH, "**/vllm/**", "*workspace*", "vLLM" },
	{ SCRATCH, "**/sglang/**", "*workspace*", "SGLang" },
	{ WORK, "**/vllm/**", "execute_model", "vLLM" },
	{ WORK, "**/vllm/**", "_dummy_run", "vLLM" },
	{ WORK, "**/vllm/**", "profile_run", "vLLM" },
	{ WORK, "**/sglang/**", "forward_batch_*", "SGLang" },
	{ WORK, "**/sglang/**", "run_batch", "SGLang" },
	{ KV, "**/transformers/cache_utils.py", "", "Transformers" },
	{ KV, "**/cache_engine.py", "", "name" },
	{ KV, "**/kv_cache*.py", "__init__", "name" },
	{ KV, "", "*alloc*kv_cache*", "name" },
	{ KV, "", "init*kv_cache*", "name" },
	{ KV, "", "_init*kv_cache*", "name" },
	{ KV, "", "*create*kv_cache*", "name" },
	{ WEIGHTS, "", "load_model", "name" },
	{ WEIGHTS, "", "load_weights", "name" },
};
enum { N_KNOWN = sizeof known / sizeof *known, N_SERVERS = 11, NO_RULE = UINT16_MAX };

/* Remembers the last '*' and tries it again with one more character. */
static bool matches_from(const char *p, const char *s, const char *end)
{
	const char *star = NULL, *from = s;
	while (s < end) {
		if (*p == '*') {
			star = p++;
			from = s;
		} else if (*p && *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool tide__serving_match(const char *pattern, const char *text, size_t n)
{
	if (matches_from(pattern, text, text + n))
		return true;
	return !strncmp(pattern, "**/", 3) && matches_from(pattern + 3, text, text + n);
}

/* A function has its own name, or that of its class before it. */
static bool function_matches(const char *pattern, const char *text, size_t n)
{
	const char *dot = memrchr(text, '.', n);
	if (tide__serving_match(pattern, text, n))
		return true;
	return dot && tide__serving_match(pattern, dot + 1, (size_t)(text + n - dot - 1));
}

const tide_serving_rule *tide__serving_known(size_t i)
{
	return &known[i < N_KNOWN ? i : 0];
}

static const tide_serving_rule *rule_at(const tide_holders *h, size_t i)
{
	return i < h->n_own ? &h->own[i] : &known[i - h->n_own];
}

static uint16_t frame_rule(const tide_holders *h, uint32_t frame)
{
	const tide_model *m = h->m;
	size_t n, k;
	const char *file = tide__text(m, m->frames.file[frame], &n);
	const char *function = tide__text(m, m->frames.function[frame], &k);
	for (size_t i = 0; frame && i < h->n_own + N_KNOWN; i++) {
		const tide_serving_rule *r = rule_at(h, i);
		if ((!*r->file || tide__serving_match(r->file, file, n)) &&
		    (!*r->function || function_matches(r->function, function, k)))
			return (uint16_t)i;
	}
	return NO_RULE;
}

/* A stack obeys the first rule that one of its frames obeys; parents have smaller ids. */
static bool find_rules(tide_holders *h)
{
	const tide_model *m = h->m;
	uint16_t *frame = tide__alloc(m->frames.n + 1, sizeof *frame);
	h->rule = tide__alloc(m->stacks.n + 1, sizeof *h->rule);
	for (uint32_t i = 0; frame && h->rule && i < m->frames.n; i++)
		frame[i] = frame_rule(h, i);
	for (size_t i = 0; frame && h->rule && i < m->stacks.n; i++) {
		uint16_t own = i ? frame[m->stacks.frame[i].i] : NO_RULE;
		uint16_t up = i ? h->rule[m->stacks.parent[i].i] : NO_RULE;
		h->rule[i] = own < up ? own : up;
	}
	bool ok = frame && h->rule;
	tide__free(frame);
	return ok;
}

/* ---- rules of the caller ---- */

static tide_code bad_rule(const char *rule, const char *why, tide_error *err)
{
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "role \"%.80s\": %s", rule, why);
}

static int role_part(const char *text, size_t n)
{
	static const uint8_t given[] = { WEIGHTS, KV, SCRATCH, WORK };
	for (size_t i = 0; i < sizeof given; i++)
		if (strlen(words[given[i]].word) == n && !memcmp(text, words[given[i]].word, n))
			return given[i];
	return -1;
}

/* "kv_cache=**" "/cache_engine.py:_allocate_*" */
static tide_code parse_rule(const char *text, tide_serving_rule *r, tide_error *err)
{
	const char *equals = strchr(text, '=');
	int part = equals ? role_part(text, (size_t)(equals - text)) : -1;
	if (part < 0)
		return bad_rule(
			text,
			"write weights=, kv_cache=, workspace= or activations= and a pattern of files",
			err);
	const char *file = equals + 1, *colon = strrchr(file, ':');
	size_t n = colon ? (size_t)(colon - file) : strlen(file);
	if (!n && !(colon && colon[1]))
		return bad_rule(text, "names no file", err);
	if (n >= sizeof r->file || (colon && strlen(colon + 1) >= sizeof r->function))
		return bad_rule(text, "is too long", err);
	*r = (tide_serving_rule){ .part = (uint8_t)part };
	memcpy(r->file, file, n);
	if (colon)
		memcpy(r->function, colon + 1, strlen(colon + 1));
	return TIDE_OK;
}

tide_code tide__holders_parse(const char *const *rules, size_t n, tide_holders *h, tide_error *err)
{
	tide_code rc = TIDE_OK;
	if (n > TIDE_SERVING_RULES)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "role: %d rules at most",
				  TIDE_SERVING_RULES);
	for (h->n_own = 0; h->n_own < n && rc == TIDE_OK; h->n_own++)
		rc = parse_rule(rules[h->n_own], &h->own[h->n_own], err);
	return rc;
}

/* ---- parts ---- */

tide_code tide__holders_begin(tide_holders *h, const tide_model *m, tide_error *err)
{
	tide__holders_free(h);
	h->m = m;
	h->signs = tide__stack_signs_find(m);
	return h->signs && find_rules(h) && tide__find_roles(m, &h->roles) == TIDE_OK
		       ? TIDE_OK
		       : tide__nomem(err);
}

void tide__holders_free(tide_holders *h)
{
	tide__free(h->rule);
	tide__free(h->signs);
	tide__roles_free(&h->roles);
	h->rule = NULL;
	h->signs = NULL;
}

static tide_serving_why by_rule(const tide_holders *h, uint16_t i)
{
	bool own = i < h->n_own;
	return (tide_serving_why){ .part = rule_at(h, i)->part,
				   .by = own ? TIDE_BY_GIVEN_RULE : TIDE_BY_KNOWN_RULE,
				   .index = own ? i : (uint16_t)(i - h->n_own) };
}

/* By the rules of roles.h; a stack in a module's forward that no rule covers is a request's. */
static tide_serving_why by_role(const tide_holders *h, uint32_t alloc)
{
	static const uint8_t parts[] = {
		[TIDE_ROLE_PARAMETER] = WEIGHTS,
		[TIDE_ROLE_BUFFER] = WEIGHTS,
		[TIDE_ROLE_KV_CACHE] = KV,
		[TIDE_ROLE_WORKSPACE] = SCRATCH,
		[TIDE_ROLE_ACTIVATION] = WORK,
		[TIDE_ROLE_INPUT] = WORK,
		[TIDE_ROLE_TEMPORARY] = WORK,
		[TIDE_ROLE_UNKNOWN] = TIDE_SERVING_UNEXPLAINED,
		[TIDE_ROLE_GRADIENT] = TIDE_SERVING_UNEXPLAINED,
		[TIDE_ROLE_OPTIMIZER] = TIDE_SERVING_UNEXPLAINED,
	};
	uint8_t role = h->roles.role[alloc], part = TIDE_SERVING_UNEXPLAINED;
	uint32_t stack = h->m->allocs.stack[alloc].i;
	if (role < sizeof parts)
		part = parts[role];
	if (part != TIDE_SERVING_UNEXPLAINED)
		return (tide_serving_why){ .part = part,
					   .by = TIDE_BY_ROLE_RULE,
					   .index = h->roles.rule[alloc] };
	if (h->signs[stack] & TIDE_SIGN_FORWARD)
		return (tide_serving_why){ .part = WORK, .by = TIDE_BY_FORWARD };
	return (tide_serving_why){ .part = part, .by = stack ? TIDE_BY_NO_RULE : TIDE_BY_NO_STACK };
}

tide_serving_why tide__holders_part(const tide_holders *h, uint32_t alloc)
{
	const tide_model *m = h->m;
	uint16_t rule = h->rule[m->allocs.stack[alloc].i];
	bool private = m->pools.kind[m->allocs.pool[alloc].i] == TIDE_POOL_PRIVATE;
	if (rule < h->n_own + (private ? N_SERVERS : N_KNOWN))
		return by_rule(h, rule);
	if (private)
		return (tide_serving_why){ .part = TIDE_SERVING_GRAPHS,
					   .by = TIDE_BY_PRIVATE_POOL };
	return by_role(h, alloc);
}
