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

uint32_t tide__device_counter(const tide_model *m, const char *what, uint32_t device)
{
	uint32_t name = tide__device_counter_name(m, what, device);
	for (uint32_t c = 1; name && c < m->counters.n; c++)
		if (m->counters.name[c].i == name)
			return c;
	return 0;
}
