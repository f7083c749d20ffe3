// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Well-formed recordings with arbitrary content: the input is a list of events, 6 bytes each, which
 * the recorder's own encoder writes. So every input is a file that loads, and tests the builder,
 * the model's rules and the code after them instead of the checks of a reader. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "everything.h"
#include "import/import.h"
#include "scratch.h"
#include "tidefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENT = 6, MOST = 600 };

/* Mostly close to the previous value, sometimes far away. */
static uint64_t step(uint8_t b)
{
	return b < 200 ? b : UINT64_C(1) << (b - 200);
}

static uint64_t amount(uint8_t b)
{
	return b < 128 ? (uint64_t)b * 512 : UINT64_C(1) << (b % 64);
}

static void put(tidefile *f, const uint8_t *d, uint64_t *ticks)
{
	unsigned ring = 1 + d[0] / 64, pool = d[4] % 4;
	uint64_t addr = (uint64_t)d[3] * 512, shape[3] = { d[3], d[4], d[5] };
	*ticks += step(d[1]);
	switch (d[0] % 16) {
	case 0:
	case 1:
		ev_begin(f, ring, *ticks, d[2]);
		break;
	case 2:
	case 3:
		ev_end(f, ring, *ticks);
		break;
	case 4:
	case 5:
		ev_alloc(f, ring, *ticks, pool, addr, amount(d[5]));
		break;
	case 6:
	case 7:
		ev_free(f, ring, *ticks, pool, addr);
		break;
	case 8:
		ev_seg(f, ring, *ticks, pool, addr, amount(d[5]), d[2] & 1);
		break;
	case 9:
		ev_tensor(f, ring, *ticks, pool, addr, d[2], d[5], d[2] % 16, d[5] % 4, shape);
		break;
	case 10:
		ev_sample(f, ring, *ticks, d[2], (double)amount(d[5]));
		break;
	case 11:
		ev_mark(f, ring, *ticks, d[2] % 8, d[3], (int64_t)amount(d[5]));
		break;
	case 12:
		ev_alloc_full(f, ring, *ticks, pool, addr, amount(d[5]), d[2] % 3, d[2],
			      amount(d[2]));
		break;
	case 13:
		ev_begin_full(f, ring, *ticks, d[2], d[3], d[4], d[5]);
		break;
	case 14:
		ev_lane(f, ring, *ticks, d[2] % 4, d[3]);
		break;
	default:
		if (d[2] & 1)
			ev_oom(f, ring, *ticks, pool, amount(d[5]), (int64_t)amount(d[3]));
		else
			tidefile_flush(f, ring);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *whole = data;
	size_t all = size;
	static char path[64];
	tidefile f;
	tide_model *m;
	tide_error err = { 0 };
	tide_load_options opt = { .threads = 1, .single = true };
	uint64_t ticks = 0;
	if (!*path) {
		scratch_memory(path, sizeof path, "fuzz-made");
		tide__mem_set_budget(256 << 20);
	}
	tidefile_start_full(&f);
	for (size_t i = 0; i < MOST && size >= EVENT; i++, data += EVENT, size -= EVENT)
		put(&f, data, &ticks);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	tide__mem_forgive();
	tide_code rc = tide__load(path, &opt, &m, &err);
	if (rc && rc != TIDE_ELIMIT &&
	    rc != TIDE_ENOMEM) { /* sums over 2^63 are refused, nothing else is */
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	if (rc == TIDE_OK) {
		if (tide__model_check(m, &err)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		ask_by(m, whole, all);
		tide__model_free(m);
	}
	return 0;
}
