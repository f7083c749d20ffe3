// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/sim/live.h"

#include "analyze/allocator/sim/replay.h"
#include "base/error.h"
#include "base/mem.h"

enum { MOST_IDS = 1 << 22 }; /* blocks in use at a time */

struct tide_sim_live {
	tide_sim *sim;
	uint64_t capacity, used, next;
	uint32_t *spare; /* ids of freed blocks */
	size_t n_spare, cap_spare;
	uint32_t ids; /* highest id so far */
};

static bool has(const tide_sim_live *l, uint64_t size)
{
	return !l->capacity || (size <= l->capacity && l->used <= l->capacity - size);
}

static uint64_t take(void *user, tide_sim_where where, uint64_t size)
{
	tide_sim_live *l = user;
	if (!has(l, size))
		return 0;
	l->used += size;
	return tide__sim_invent(&l->next, size);
}

static uint64_t range(void *user, tide_sim_where where, uint64_t size)
{
	tide_sim_live *l = user;
	return tide__sim_invent(&l->next, size);
}

static bool map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	tide_sim_live *l = user;
	if (!has(l, size))
		return false;
	l->used += size;
	return true;
}

static void give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	tide_sim_live *l = user;
	l->used -= size;
}

tide_sim_live *tide__sim_live_new(const char *settings, uint64_t capacity)
{
	tide_sim_config c = tide__sim_defaults();
	tide_error err;
	if (settings && *settings && tide__sim_parse(&c, settings, &err) != TIDE_OK)
		return NULL;
	c.capacity = capacity;
	tide_sim_live *l = tide__calloc(1, sizeof *l);
	if (!l)
		return NULL;
	*l = (tide_sim_live){ .capacity = capacity, .next = TIDE_SIM_TOP_ADDR };
	tide_sim_device d = { l, take, range, map, give };
	l->sim = tide__sim_new(&c, &d, MOST_IDS);
	if (!l->sim) {
		tide__free(l);
		return NULL;
	}
	return l;
}

void tide__sim_live_free(tide_sim_live *l)
{
	if (!l)
		return;
	tide__sim_free_all(l->sim);
	tide__free(l->spare);
	tide__free(l);
}

uint32_t tide__sim_live_take(tide_sim_live *l, uint64_t size)
{
	uint32_t id = l->n_spare ? l->spare[l->n_spare - 1] : l->ids + 1;
	if (id >= MOST_IDS)
		return 0;
	tide_code rc = tide__sim_allocate(l->sim, id, size, 0, 0);
	if (rc == TIDE_ELIMIT) {
		l->capacity = 0;
		rc = tide__sim_allocate(l->sim, id, size, 0, 0);
	}
	if (rc != TIDE_OK)
		return 0;
	if (l->n_spare)
		l->n_spare--;
	else
		l->ids = id;
	return id;
}

void tide__sim_live_give(tide_sim_live *l, uint32_t id)
{
	if (!id || id > l->ids || tide__sim_free(l->sim, id) != TIDE_OK)
		return;
	if (TIDE_ROOM(l->spare, l->cap_spare, l->n_spare + 1)) /* else the id is not used again */
		l->spare[l->n_spare++] = id;
}

void tide__sim_live_empty_cache(tide_sim_live *l)
{
	tide__sim_empty_cache(l->sim);
}

const tide_sim_stats *tide__sim_live_stats(const tide_sim_live *l)
{
	return tide__sim_stats(l->sim);
}

uint64_t tide__sim_live_inactive_split(const tide_sim_live *l)
{
	uint64_t largest, split;
	tide__sim_free_blocks(l->sim, &largest, &split);
	return split;
}
