// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/map.h"

#include <string.h>

#include "base/mem.h"
#include "base/seed.h"

static bool resize(tide_map *m, size_t slots)
{
	tide_map big = { .mask = slots - 1, .n = m->n, .seed = tide__seed() };
	big.keys = tide__alloc(slots, sizeof *big.keys);
	big.vals = tide__alloc(slots, sizeof *big.vals);
	if (!big.keys || !big.vals) {
		tide__map_free(&big);
		return false;
	}
	memset(big.vals, 0, slots * sizeof *big.vals); /* zero it now: calloc's pages would fault
						        * twice */
	for (size_t i = 0; m->vals && i <= m->mask; i++) {
		if (!m->vals[i])
			continue;
		size_t at = tide__map_slot(&big, m->keys[i]);
		big.keys[at] = m->keys[i];
		big.vals[at] = m->vals[i];
	}
	tide__map_free(m);
	*m = big;
	return true;
}

bool tide__map_put(tide_map *m, uint64_t key, uint32_t val)
{
	if ((!m->vals || m->n >= m->mask / 2) && !resize(m, m->vals ? (m->mask + 1) * 2 : 64))
		return false;
	size_t i = tide__map_slot(m, key);
	m->n += !m->vals[i];
	m->keys[i] = key;
	m->vals[i] = val;
	return true;
}

uint32_t tide__map_del(tide_map *m, uint64_t key)
{
	if (!m->vals)
		return 0;
	size_t i = tide__map_slot(m, key);
	uint32_t val = m->vals[i];
	if (!val)
		return 0;
	m->n--;
	for (size_t j = i;;) { /* close the gap: move back keys that probed past it */
		m->vals[i] = 0;
		for (;;) {
			j = (j + 1) & m->mask;
			if (!m->vals[j])
				return val;
			size_t home = tide__map_home(m, m->keys[j]);
			if (((j - home) & m->mask) >= ((j - i) & m->mask))
				break;
		}
		m->keys[i] = m->keys[j];
		m->vals[i] = m->vals[j];
		i = j;
	}
}

bool tide__map_copy(tide_map *to, const tide_map *from)
{
	*to = (tide_map){ 0 };
	if (!from->vals)
		return true;
	size_t slots = from->mask + 1;
	tide_map m = *from;
	m.keys = tide__alloc(slots, sizeof *m.keys);
	m.vals = tide__alloc(slots, sizeof *m.vals);
	if (!m.keys || !m.vals) {
		tide__map_free(&m);
		return false;
	}
	memcpy(m.keys, from->keys, slots * sizeof *m.keys);
	memcpy(m.vals, from->vals, slots * sizeof *m.vals);
	*to = m;
	return true;
}

size_t tide__map_bytes(const tide_map *m)
{
	return m->vals ? (m->mask + 1) * (sizeof *m->keys + sizeof *m->vals) : 0;
}

void tide__map_free(tide_map *m)
{
	tide__free(m->keys);
	tide__free(m->vals);
	*m = (tide_map){ 0 };
}
