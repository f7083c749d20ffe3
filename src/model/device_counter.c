// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/device_counter.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/strings.h"

uint32_t tide__device_counter_name(const tide_model *m, const char *what, uint32_t device)
{
	char text[160];
	int n = snprintf(text, sizeof text, "torch.%s_bytes.%s:%" PRId64, what,
			 tide__device_kind_name(m, device), m->devices.index[device]);
	return n < (int)sizeof text ? tide__strings_find(m->strings, text, (size_t)n) : 0;
}

static uint32_t counter_named(const tide_model *m, uint32_t name)
{
	for (uint32_t c = 1; name && c < m->counters.n; c++)
		if (m->counters.name[c].i == name)
			return c;
	return 0;
}

uint32_t tide__device_counter(const tide_model *m, const char *what, uint32_t device)
{
	return counter_named(m, tide__device_counter_name(m, what, device));
}

uint32_t tide__gpu_counter(const tide_model *m, const char *source, const char *what,
			   uint32_t device)
{
	char text[160];
	int n = snprintf(text, sizeof text, "%s.cuda:%" PRId64 ".%s", source,
			 m->devices.index[device], what);
	return counter_named(m, tide__strings_find(m->strings, text, (size_t)n));
}

static const char *fact_text(const tide_model *m, const char *key)
{
	int64_t f = tide__fact_find(m, key);
	return f >= 0 ? tide__text(m, m->facts.text[f], NULL) : "";
}

char *tide__gpu_identity(const tide_model *m, uint32_t device, char *buf, size_t n)
{
	char key[64];
	snprintf(key, sizeof key, "gpu.uuid.cuda:%" PRId64, m->devices.index[device]);
	const char *uuid = fact_text(m, key);
	if (*uuid)
		snprintf(buf, n, "%.200s", uuid);
	else
		snprintf(buf, n, "%.200s:%" PRId64, fact_text(m, "host.name"),
			 m->devices.index[device]);
	return buf;
}

int64_t tide__device_fact(const tide_model *m, const char *what, uint32_t device)
{
	char key[96];
	snprintf(key, sizeof key, "%s.cuda:%d", what, (int)m->devices.index[device]);
	return tide__fact_find(m, key);
}
