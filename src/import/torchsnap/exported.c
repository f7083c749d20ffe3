// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/torchsnap/exported.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/strings.h"

static uint32_t device_of(const tide_model *m, uint8_t kind, int64_t index)
{
	for (uint32_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] == kind && m->devices.index[i] == index)
			return i;
	return 0;
}

/* ---- reserved bytes ---- */

static uint32_t counter_of(tide_model *m, uint32_t device)
{
	for (uint32_t i = 1; i < m->counters.n; i++)
		if (m->counters.device[i].i == device)
			return i;
	uint32_t row = tide__push(&m->counters, &tide_counters_desc);
	if (row) {
		m->counters.name[row] = tide__intern(m, "Total Reserved");
		m->counters.unit[row] = tide__intern(m, "bytes");
		m->counters.device[row].i = device;
	}
	return row;
}

static bool add_sample(tide_model *m, uint32_t device, int64_t t, uint64_t bytes)
{
	size_t row;
	uint32_t counter = counter_of(m, device);
	if (!counter || !tide__table_push(&m->samples, &tide_samples_desc, &row))
		return false;
	m->samples.t[row] = t;
	m->samples.value[row] = (double)bytes;
	m->samples.counter[row].i = counter;
	return true;
}

static bool add_samples(tide_model *m, const char *text, int64_t base_us)
{
	const uint64_t most = UINT64_C(1) << 47;
	int64_t last = 0;
	for (const char *s = text; s && *s;) {
		char *end;
		int64_t number = strtoll(s, &end, 10);
		int64_t us = *end == ':' ? strtoll(end + 1, &end, 10) : -1;
		uint64_t bytes = *end == ':' ? strtoull(end + 1, &end, 10) : most;
		uint32_t device = device_of(m, TIDE_DEVICE_CUDA, number);
		int64_t t = us >= base_us && us - base_us <= m->t_end / 1000 ? (us - base_us) * 1000
									     : -1;
		if (*end && *end != ' ')
			return true;
		if (device && bytes < most && t >= last) {
			if (!add_sample(m, device, t, bytes))
				return false;
			last = t;
		}
		s = *end ? end + 1 : end;
	}
	return true;
}

/* ---- devices ---- */

/* Returns the kind of that name, -1 = none. */
static int kind_of(const char *name, size_t n)
{
	static const char *const kinds[] = {
#define X(name, number, text) [number] = text,
		TIDE_DEVICE_KINDS(X)
#undef X
	};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (kinds[k] && strlen(kinds[k]) == n && !memcmp(kinds[k], name, n))
			return (int)k;
	return -1;
}

static void name_device(tide_model *m, uint32_t row, uint8_t kind, int64_t index)
{
	m->devices.kind[row] = kind;
	m->devices.index[row] = index;
	for (uint32_t p = 1; kind == TIDE_DEVICE_HOST && p < m->pools.n; p++)
		if (m->pools.device[p].i == row && m->pools.kind[p] == TIDE_POOL_DRAM) {
			m->pools.kind[p] = TIDE_POOL_HEAP;
			m->pools.name[p] = tide__intern(m, "heap");
		}
}

static void name_devices(tide_model *m, const char *text)
{
	for (const char *s = text; s && *s;) {
		char *end;
		int64_t number = strtoll(s, &end, 10), index;
		const char *name = *end == '=' ? end + 1 : NULL,
			   *colon = name ? strchr(name, ':') : NULL;
		if (!colon)
			return;
		index = strtoll(colon + 1, &end, 10);
		int kind = kind_of(name, (size_t)(colon - name));
		uint32_t row = device_of(m, TIDE_DEVICE_CUDA, number);
		if (*end && *end != ' ')
			return;
		if (row && kind >= 0 && index >= 0 && !device_of(m, (uint8_t)kind, index))
			name_device(m, row, (uint8_t)kind, index);
		s = *end ? end + 1 : end;
	}
}

bool tide__snap_restore_exported(const tide_snap *s, tide_model *m, int64_t base_us)
{
	bool ok = !m->wall_known || add_samples(m, s->settings.reserved, base_us);
	name_devices(m,
		     s->settings.devices); /* after the samples, which have numbers of the file */
	return ok;
}
