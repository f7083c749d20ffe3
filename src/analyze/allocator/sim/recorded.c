// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the settings that a trace was recorded under from its facts "allocator.NAME", with the
 * names of torch's snapshots. max_split_size is in bytes there (-1 = no limit), and divisions are
 * listed "MIB:DIVISIONS,..." for those sizes that have any. */
#include "analyze/allocator/sim/requests.h"

#include <stdlib.h>
#include <string.h>

static bool number(const tide_model *m, const char *key, int64_t *out)
{
	int64_t i = tide__fact_find(m, key);

	if (i < 0 || tide__fact_is_text(m, (size_t)i))
		return false;
	*out = m->facts.number[i];
	return true;
}

static const char *text(const tide_model *m, const char *key)
{
	int64_t i = tide__fact_find(m, key);

	return i < 0 || !m->facts.text[i].i ? NULL : tide__text(m, m->facts.text[i], NULL);
}

static void read_divisions(const char *s, uint32_t out[TIDE_SIM_CLASSES])
{
	while (s && *s) {
		char *end;
		unsigned long long mib = strtoull(s, &end, 10), div;

		if (end == s || *end != ':')
			return;
		s = end + 1;
		div = strtoull(s, &end, 10);
		if (end == s)
			return;
		if (mib && !(mib & (mib - 1)) && mib <= 32768 && div <= 1u << 20 &&
		    !(div & (div - 1)))
			out[__builtin_ctzll(mib)] = (uint32_t)div;
		s = *end == ',' ? end + 1 : end;
	}
}

bool tide__sim_read_recorded(const tide_model *m, tide_sim_config *c)
{
	int64_t v;
	bool known = false;

	*c = tide__sim_defaults();
	const char *conf = text(m, "allocator.conf"); /* of a live recording */
	tide_sim_config parsed = *c;
	if (tide__fact_find(m, "allocator.conf") >= 0) {
		tide_error err;
		known = !conf || tide__sim_parse(&parsed, conf, &err) == TIDE_OK;
		*c = known ? parsed : *c;
	}
	const char *large = text(m, "allocator.PYTORCH_CUDA_ALLOC_CONF");
	large = large ? large : text(m, "allocator.PYTORCH_ALLOC_CONF");
	large = large ? strstr(large, "large_segment_size_mb:") : NULL;
	v = large ? strtol(large + 22, NULL, 10) : 0;
	if (v > 10 && v < 1 << 20)
		c->large_segment = c->max_non_split_rounding = (uint64_t)v << 20;
	if (number(m, "allocator.large_segment_size", &v) && v > 10 << 20)
		c->large_segment = c->max_non_split_rounding = (uint64_t)v;
	if (number(m, "allocator.max_split_size", &v)) {
		known = true;
		if (v > 0)
			c->max_split_size = (uint64_t)v;
	}
	if (number(m, "allocator.max_non_split_rounding_size", &v) && v > 0)
		c->max_non_split_rounding = (uint64_t)v;
	if (number(m, "allocator.expandable_segments", &v)) {
		known = true;
		c->expandable = v != 0;
	}
	const char *gc = text(m, "allocator.garbage_collection_threshold");

	if (gc) {
		double f = strtod(gc, NULL);

		c->gc_threshold = f > 0 && f < 1 ? f : 0;
	}
	read_divisions(text(m, "allocator.roundup_power2_divisions"), c->roundup);
	return known;
}
