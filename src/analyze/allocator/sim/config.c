// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings: parsing, describing, and the two size rules (rounding, segment size). */
#include "analyze/allocator/sim/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

#define MIB (1024u * 1024)

tide_sim_config tide__sim_defaults(void)
{
	tide_sim_config c = { .large_segment = TIDE_SIM_LARGE_SEG,
			      .max_split_size = TIDE_SIM_NO_SPLIT_MAX,
			      .max_non_split_rounding = TIDE_SIM_LARGE_SEG };
	return c;
}

/* ---- sizes ------------------------------------------------------------------------------- */

static unsigned log2_floor(uint64_t v)
{
	return 63u - (unsigned)__builtin_clzll(v);
}

/* Returns the next multiple of 1/`divisions` of the power of two below size. size > 512 *
 * divisions. */
static uint64_t round_division(uint64_t size, uint32_t divisions)
{
	uint64_t floor = 1ull << log2_floor(size);
	uint64_t step = floor >> log2_floor(divisions);

	return (size + step - 1) & ~(step - 1);
}

uint64_t tide__sim_round(const tide_sim_config *c, uint64_t size)
{
	if (size <= TIDE_SIM_MIN_BLOCK)
		return TIDE_SIM_MIN_BLOCK;
	if (size > UINT64_MAX / 4)
		return UINT64_MAX;
	unsigned log = log2_floor(size), cls = log < 20 ? 0 : log - 20;
	uint32_t divisions = c->roundup[cls < TIDE_SIM_CLASSES ? cls : TIDE_SIM_CLASSES - 1];

	if (divisions > 1 && size > (uint64_t)TIDE_SIM_MIN_BLOCK * divisions)
		return round_division(size, divisions);
	return (size + TIDE_SIM_MIN_BLOCK - 1) / TIDE_SIM_MIN_BLOCK * TIDE_SIM_MIN_BLOCK;
}

uint64_t tide__sim_segment(const tide_sim_config *c, uint64_t rounded)
{
	if (rounded <= TIDE_SIM_SMALL_MAX)
		return TIDE_SIM_SMALL_SEG;
	if (rounded < TIDE_SIM_LARGE_MIN)
		return c->large_segment;
	if (rounded > UINT64_MAX / 2)
		return UINT64_MAX;
	return (rounded + TIDE_SIM_LARGE_ROUND - 1) / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
}

/* ---- parsing ----------------------------------------------------------------------------- */

static bool parse_u64(const char *s, uint64_t *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return !errno && !*end;
}

static tide_code set_mb(uint64_t *field, uint64_t least, const char *key, const char *value,
			tide_error *err)
{
	uint64_t v;

	if (!parse_u64(value, &v) || v < least)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s: %s: needs a number of MiB from %llu", key, value,
				  (unsigned long long)least);
	*field = v > UINT64_MAX / MIB ? TIDE_SIM_NO_SPLIT_MAX : v * MIB;
	return TIDE_OK;
}

static tide_code set_max_split(tide_sim_config *c, const char *key, const char *value,
			       tide_error *err)
{
	if (!strcmp(value, "-1") || !strcmp(value, "none")) {
		c->max_split_size = TIDE_SIM_NO_SPLIT_MAX;
		return TIDE_OK;
	}
	return set_mb(&c->max_split_size, c->large_segment / MIB, key, value, err);
}

static tide_code set_rounding(tide_sim_config *c, const char *key, const char *value,
			      tide_error *err)
{
	return set_mb(&c->max_non_split_rounding, c->large_segment / MIB, key, value, err);
}

/* It was set before the others, whose limits and defaults depend on it. */
static tide_code set_large(tide_sim_config *c, const char *key, const char *value, tide_error *err)
{
	(void)c;
	(void)key;
	(void)value;
	(void)err;
	return TIDE_OK;
}

/* Settings of pinned memory and of locks: no size depends on them. */
static tide_code set_nothing(tide_sim_config *c, const char *key, const char *value,
			     tide_error *err)
{
	return set_large(c, key, value, err);
}

/* Reads large_segment_size_mb wherever it is in the text. */
static tide_code find_large(tide_sim_config *c, const char *text, tide_error *err)
{
	static const char name[] = "large_segment_size_mb";
	const char *p = strstr(text, name);
	char value[32];

	if (!p)
		return TIDE_OK;
	p += sizeof name - 1;
	p += *p == ':' || *p == '=';
	snprintf(value, sizeof value, "%.*s", (int)strcspn(p, ",") < 30 ? (int)strcspn(p, ",") : 30,
		 p);
	tide_code rc = set_mb(&c->large_segment, 11, name, value, err);
	if (rc == TIDE_OK)
		c->max_non_split_rounding = c->large_segment;
	return rc;
}

static tide_code set_gc(tide_sim_config *c, const char *key, const char *value, tide_error *err)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || *end || !(v >= 0 && v < 1))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s: %s: needs a fraction from 0 (off) to below 1", key, value);
	c->gc_threshold = v;
	return TIDE_OK;
}

static tide_code set_expandable(tide_sim_config *c, const char *key, const char *value,
				tide_error *err)
{
	bool yes = !strcasecmp(value, "true") || !strcmp(value, "1");

	if (!yes && strcasecmp(value, "false") && strcmp(value, "0"))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s: %s: needs true or false",
				  key, value);
	c->expandable = yes;
	return TIDE_OK;
}

static bool divisions_ok(uint64_t v)
{
	return v <= (1u << 20) && (v & (v - 1)) == 0;
}

/* Parses "[256:1,512:2,>:4]": sizes in MiB, each a power of two; sizes below the first get its
 * value. */
static bool parse_classes(uint32_t out[TIDE_SIM_CLASSES], const char *s)
{
	bool first = true;
	size_t last = 0;

	for (s++; *s && *s != ']';) {
		char *end;
		bool rest = *s == '>';
		uint64_t mib = rest ? 0 : strtoull(s, &end, 10), div;

		if (rest)
			end = (char *)(uintptr_t)(s + 1);
		if (end == s || *end != ':' || (!rest && (!mib || (mib & (mib - 1)))))
			return false;
		s = end + 1;
		div = strtoull(s, &end, 10);
		if (end == s || !divisions_ok(div))
			return false;
		size_t cls = rest ? last : log2_floor(mib);

		if (cls >= TIDE_SIM_CLASSES)
			cls = TIDE_SIM_CLASSES - 1;
		for (size_t i = rest	? last
				: first ? 0
					: cls;
		     i < (rest ? TIDE_SIM_CLASSES : cls + 1); i++)
			out[i] = (uint32_t)div;
		last = cls;
		first = false;
		s = *end == ',' ? end + 1 : end;
	}
	return *s == ']' && !s[1] && !first;
}

static tide_code set_roundup(tide_sim_config *c, const char *key, const char *value,
			     tide_error *err)
{
	uint32_t classes[TIDE_SIM_CLASSES];
	uint64_t v;
	bool ok;

	memcpy(classes, c->roundup, sizeof classes);
	if (*value == '[') {
		ok = parse_classes(classes, value);
	} else {
		ok = parse_u64(value, &v) && divisions_ok(v);
		for (size_t i = 0; ok && i < TIDE_SIM_CLASSES; i++)
			classes[i] = (uint32_t)v;
	}
	if (!ok)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s: %s: needs a power of two, or [MIB:DIVISIONS,..,>:DIVISIONS]",
				  key, value);
	memcpy(c->roundup, classes, sizeof classes);
	return TIDE_OK;
}

static const struct setting {
	const char *key;
	tide_code (*set)(tide_sim_config *c, const char *key, const char *value, tide_error *err);
} settings[] = {
	{ "max_split_size_mb", set_max_split },
	{ "max_non_split_rounding_mb", set_rounding },
	{ "roundup_power2_divisions", set_roundup },
	{ "garbage_collection_threshold", set_gc },
	{ "expandable_segments", set_expandable },
	{ "large_segment_size_mb", set_large },
	{ "pinned_use_cuda_host_register", set_nothing },
	{ "pinned_use_background_threads", set_nothing },
	{ "pinned_num_register_threads", set_nothing },
	{ "pinned_reserve_segment_size_mb", set_nothing },
	{ "release_lock_on_cudamalloc", set_nothing },
	{ "graph_capture_record_stream_reuse", set_nothing },
};

static tide_code set_one(tide_sim_config *c, const char *key, const char *value, tide_error *err)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (!strcmp(settings[i].key, key))
			return settings[i].set(c, key, value, err);
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "%s: not a setting the simulator has (max_split_size_mb, "
			  "max_non_split_rounding_mb, roundup_power2_divisions, "
			  "garbage_collection_threshold, expandable_segments, "
			  "large_segment_size_mb)",
			  key);
}

/* Returns the end of a value: the next comma outside brackets. */
static const char *value_end(const char *s)
{
	int depth = 0;

	for (; *s && (depth || *s != ','); s++)
		depth += (*s == '[') - (*s == ']');
	return s;
}

tide_code tide__sim_parse(tide_sim_config *c, const char *text, tide_error *err)
{
	tide_sim_config out = *c;
	tide_code large = find_large(&out, text, err);

	if (large != TIDE_OK)
		return large;
	while (*text) {
		const char *colon = text + strcspn(text, ":=");
		const char *end = value_end(*colon ? colon + 1 : colon);
		char key[64], value[256];

		if (!*colon || colon == text)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%.60s: needs NAME:VALUE", text);
		snprintf(key, sizeof key, "%.*s", (int)(colon - text), text);
		snprintf(value, sizeof value, "%.*s", (int)(end - colon - 1), colon + 1);
		tide_code rc = set_one(&out, key, value, err);

		if (rc != TIDE_OK)
			return rc;
		text = *end ? end + 1 : end;
	}
	if (out.max_split_size < out.large_segment)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "max_split_size_mb: must be large_segment_size_mb (%llu) or more",
				  (unsigned long long)(out.large_segment / MIB));
	*c = out;
	return TIDE_OK;
}

/* ---- describing -------------------------------------------------------------------------- */

struct text {
	char *buf;
	size_t n, at;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int k = t->at < t->n ? vsnprintf(t->buf + t->at, t->n - t->at, fmt, ap) : 0;
	va_end(ap);
	if (k > 0)
		t->at += (size_t)k;
}

static void put_roundup(struct text *t, const uint32_t r[TIDE_SIM_CLASSES])
{
	size_t same = 1, any = 0;

	for (size_t i = 0; i < TIDE_SIM_CLASSES; i++) {
		same += i && r[i] == r[0];
		any |= r[i];
	}
	if (!any)
		return;
	put(t, "%sroundup_power2_divisions:", t->at ? "," : "");
	if (same == TIDE_SIM_CLASSES) {
		put(t, "%u", r[0]);
		return;
	}
	put(t, "[");
	for (size_t i = 0; i < TIDE_SIM_CLASSES; i++)
		put(t, "%s%llu:%u", i ? "," : "", 1ull << i, r[i]);
	put(t, "]");
}

void tide__sim_describe(const tide_sim_config *c, char *buf, size_t n)
{
	struct text t = { buf, n, 0 };

	if (n)
		*buf = 0;
	if (c->expandable)
		put(&t, "expandable_segments:True");
	if (c->max_split_size != TIDE_SIM_NO_SPLIT_MAX)
		put(&t, "%smax_split_size_mb:%llu", t.at ? "," : "",
		    (unsigned long long)(c->max_split_size / MIB));
	if (c->large_segment != TIDE_SIM_LARGE_SEG)
		put(&t, "%slarge_segment_size_mb:%llu", t.at ? "," : "",
		    (unsigned long long)(c->large_segment / MIB));
	if (c->max_non_split_rounding != c->large_segment)
		put(&t, "%smax_non_split_rounding_mb:%llu", t.at ? "," : "",
		    (unsigned long long)(c->max_non_split_rounding / MIB));
	put_roundup(&t, c->roundup);
	if (c->gc_threshold > 0)
		put(&t, "%sgarbage_collection_threshold:%g", t.at ? "," : "", c->gc_threshold);
	if (!t.at)
		put(&t, "default");
}

bool tide__sim_config_equals(const tide_sim_config *a, const tide_sim_config *b)
{
	return a->large_segment == b->large_segment && a->max_split_size == b->max_split_size &&
	       a->max_non_split_rounding == b->max_non_split_rounding &&
	       !memcmp(a->roundup, b->roundup, sizeof a->roundup) &&
	       a->gc_threshold == b->gc_threshold && a->expandable == b->expandable;
}
