// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/torchsnap/exported.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
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

/* Devices and counters by number, because a hostile text may have millions of samples. */
struct numbers {
	tide_map device;   /* number in the file + 1 -> row */
	uint32_t *counter; /* owned, by device row; 0 = not made yet */
};

static bool find_numbers(const tide_model *m, struct numbers *x)
{
	bool ok = (x->counter = tide__calloc(m->devices.n, sizeof *x->counter)) != NULL;
	for (uint32_t i = 1; ok && i < m->devices.n; i++)
		if (m->devices.kind[i] == TIDE_DEVICE_CUDA)
			ok = tide__map_put(&x->device, (uint64_t)m->devices.index[i] + 1, i);
	return ok;
}

static uint32_t counter_of(tide_model *m, struct numbers *x, uint32_t device)
{
	uint32_t row = x->counter[device];
	if (row || !(row = tide__push(&m->counters, &tide_counters_desc)))
		return row;
	m->counters.name[row] = tide__intern(m, "Total Reserved");
	m->counters.unit[row] = tide__intern(m, "bytes");
	m->counters.device[row].i = device;
	return x->counter[device] = row;
}

static bool add_sample(tide_model *m, uint32_t counter, int64_t t, uint64_t bytes)
{
	size_t row;
	if (!counter || !tide__table_push(&m->samples, &tide_samples_desc, &row))
		return false;
	m->samples.t[row] = t;
	m->samples.value[row] = (double)bytes;
	m->samples.counter[row].i = counter;
	return true;
}

/* Returns ns since t = 0 if that is inside the trace, else -1. */
static int64_t time_of(const tide_model *m, int64_t us, int64_t base_us)
{
	int64_t since;
	bool inside = !__builtin_sub_overflow(us, base_us, &since) && since >= 0 &&
		      since <= m->t_end / 1000;
	return inside ? since * 1000 : -1;
}

static bool add_samples(tide_model *m, struct numbers *x, const char *text, int64_t base_us)
{
	const uint64_t most = UINT64_C(1) << 47;
	int64_t last = 0;
	bool ok = true;
	for (const char *s = text; ok && *s;) {
		char *end;
		int64_t number = strtoll(s, &end, 10);
		int64_t us = *end == ':' ? strtoll(end + 1, &end, 10) : INT64_MIN;
		uint64_t bytes = *end == ':' ? strtoull(end + 1, &end, 10) : most;
		if (*end && *end != ' ')
			break;
		uint32_t device = number >= 0 ? tide__map_get(&x->device, (uint64_t)number + 1) : 0;
		int64_t t = time_of(m, us, base_us);
		if (device && bytes < most && t >= last) {
			ok = add_sample(m, counter_of(m, x, device), t, bytes);
			last = t;
		}
		s = *end ? end + 1 : end;
	}
	return ok;
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
	enum { MOST = 4096 }; /* devices of a file */
	const char *s = text;
	for (int i = 0; i < MOST && s && *s; i++) {
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
	struct numbers x = { 0 };
	bool ok = true;
	if (s->settings.reserved && m->wall_known)
		ok = find_numbers(m, &x) && add_samples(m, &x, s->settings.reserved, base_us);
	tide__map_free(&x.device);
	tide__free(x.counter);
	name_devices(m, s->settings.devices); /* last: samples have the file's numbers */
	return ok;
}
