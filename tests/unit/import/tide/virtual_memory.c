// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Live bytes of cuMemCreate after every call, compared with a plain model of a driver with ten
 * handles; and calls that no driver would accept, which must still give balanced allocations and
 * frees. */
#include "import/tide/virtual_memory.h"

#include <stdlib.h>
#include <string.h>

#include "format/device_log.h"
#include "testing.h"

enum { CALLS = 400, OBJECTS = 10, PLACES = 12, UNIT = 1 << 21 };

static uint64_t seed = 1;

static unsigned chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static struct {
	uint64_t handle, bytes;
	unsigned refs, maps;
	bool there;
} object[OBJECTS];
static int place[PLACES]; /* -1 = free */

static uint64_t live(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < OBJECTS; i++)
		sum += object[i].there ? object[i].bytes : 0;
	return sum;
}

static void settle(int i)
{
	object[i].there = object[i].refs || object[i].maps;
}

/* One call that a driver would accept; false: nothing to do with these numbers. */
static bool step(struct tide_virtual_call *c, uint64_t *next_handle)
{
	unsigned what = 1 + chance(5), at = chance(PLACES);
	int i = (int)chance(OBJECTS);
	*c = (struct tide_virtual_call){ .operation = (uint8_t)what, .handle = object[i].handle };
	bool held = object[i].there && object[i].refs;
	switch (what) {
	case TIDE_VIRTUAL_CREATE:
		if (object[i].there)
			return false;
		object[i].handle = c->handle = chance(2) ? ++*next_handle : object[i].handle;
		if (!c->handle)
			return false;
		for (int k = 0; k < OBJECTS;
		     k++) /* a handle may come again, but not while it is held */
			if (k != i && object[k].handle == c->handle && object[k].there)
				return false;
		object[i].bytes = c->bytes = (uint64_t)UNIT * (1 + chance(8));
		object[i].refs = 1;
		break;
	case TIDE_VIRTUAL_RELEASE:
		if (!held)
			return false;
		object[i].refs--;
		break;
	case TIDE_VIRTUAL_RETAIN:
		if (!held || !object[i].maps)
			return false;
		object[i].refs++;
		break;
	case TIDE_VIRTUAL_MAP:
		if (!held || place[at] >= 0)
			return false;
		place[at] = i;
		object[i].maps++;
		c->addr = (uint64_t)(at + 1) * UNIT;
		c->bytes = UNIT;
		break;
	default: { /* a stretch of neighbours */
		unsigned n = 0;
		for (; at + n < PLACES && place[at + n] >= 0 && n < 1 + chance(4); n++) {
			object[place[at + n]].maps--;
			settle(place[at + n]);
			place[at + n] = -1;
		}
		c->addr = (uint64_t)(at + 1) * UNIT;
		c->bytes = (uint64_t)n * UNIT;
		return n > 0;
	}
	}
	settle(i);
	return true;
}

static void as_a_driver(void **state)
{
	static struct tide_virtual_call v[CALLS];
	static struct tide_device_memory out[2 * CALLS];
	static uint64_t want[CALLS];
	uint64_t handle = 0;
	(void)state;
	for (int round = 0; round < 50; round++) {
		size_t n = 0;
		memset(object, 0, sizeof object);
		memset(place, -1, sizeof place);
		while (n < CALLS)
			if (step(&v[n], &handle)) {
				v[n].t = (int64_t)(n + 1) * 10;
				v[n].number = (uint32_t)n;
				want[n++] = live();
			}
		for (size_t i = 0; i < n; i++) { /* the order in the file is any */
			size_t k = chance((unsigned)n);
			struct tide_virtual_call x = v[i];
			v[i] = v[k];
			v[k] = x;
		}
		size_t m = tide__virtual_memory_resolve(v, n, out), at = 0;
		uint64_t sum = 0;
		assert_true(m <= 2 * CALLS);
		for (size_t i = 0; i < n; i++) {
			for (; at < m && out[at].t <= (int64_t)(i + 1) * 10; at++)
				sum += out[at].free ? -out[at].bytes : out[at].bytes;
			assert_int_equal(sum, want[i]);
		}
	}
}

static void as_nobody(void **state)
{
	static struct tide_virtual_call v[CALLS];
	static struct tide_device_memory out[2 * CALLS];
	(void)state;
	for (int round = 0; round < 200; round++) {
		int64_t sum = 0;
		for (size_t i = 0; i < CALLS; i++)
			v[i] = (struct tide_virtual_call){
				.t = (int64_t)chance(50),
				.operation = (uint8_t)chance(8),
				.handle = chance(4),
				.addr = (uint64_t)chance(6) * UNIT,
				.bytes = chance(3) ? (uint64_t)chance(4) * UNIT : UINT64_MAX >> 16,
				.number = (uint32_t)i
			};
		size_t n = tide__virtual_memory_resolve(v, CALLS, out);
		assert_true(n <= 2 * CALLS);
		for (size_t i = 0; i < n; i++) { /* no more frees than allocations, at any moment */
			sum += out[i].free ? -1 : 1;
			assert_true(sum >= 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_a_driver),
					    cmocka_unit_test(as_nobody) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
