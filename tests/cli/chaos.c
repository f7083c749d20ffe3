// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a recording that is well-formed but contradictory: ids that were never defined, sizes up
 * to the limits, frees of nothing, ops that never end, marks in between. Usage: cli_chaos SEED FILE
 */
#include <stdlib.h>

#include "model/model.h"
#include "tidefile.h"

#define U(x) ((uint64_t)(x))

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 16) % n;
}

/* Returns mostly small numbers, sometimes any number. */
static uint64_t number(uint64_t usual)
{
	return rnd(20) ? rnd(usual) : rnd(2) ? seed : U(1) << rnd(64);
}

static uint64_t size(void)
{
	return rnd(10) ? rnd(1 << 16) : rnd(U(1) << 48);
}

static void definitions(tidefile *f)
{
	static const char *const names[] = {
		"a", "</script><b>\xe2\x80\xae", "\xff\x1b[2J", "", "DRAM", "CB", "L1", "PHASE"
	};
	bytes r = { 0 };
	tidefile_start(f, TIDE_CLOCK_NS, 0);
	for (size_t i = 0; i < 8; i++)
		record_add(&r, TIDE_REC_NAME, U(i + 1), names[i]);
	for (uint64_t i = 1; i < 6; i++) {
		record_add(&r, TIDE_REC_FRAME, i, number(10), number(10), number(100));
		record_add(&r, TIDE_REC_STACK, i, number(i), number(6));
		record_add(&r, TIDE_REC_DEVICE, i, number(10), number(3), number(10), number(100));
		record_add(&r, TIDE_REC_POOL, i, number(6), number(9), number(10), number(100),
			   number(9));
		record_add(&r, TIDE_REC_STREAM, i, number(6), number(9), number(10));
	}
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
}

static void event(tidefile *f, unsigned ring, uint64_t t)
{
	uint64_t shape[] = { number(9), number(9), number(9) };
	unsigned pool = (unsigned)(rnd(4) ? 1 + rnd(2) : number(7)) & 0xfff;
	uint64_t addr = rnd(12) << 16;
	static const double values[] = { 0,	 -0.0,	 1e308,	    -1e308,
					 1e-320, 9.3e18, 1.0 / 0.0, 0.0 / 0.0 };
	switch (rnd(14)) {
	case 0:
	case 1:
		ev_begin(f, ring, t, (uint32_t)number(10));
		break;
	case 2:
		if (f->rings[ring - 1].depth)
			ev_end(f, ring, t);
		break;
	case 3:
	case 4:
		ev_alloc(f, ring, t, pool, addr, size());
		break;
	case 5:
		ev_alloc_full(f, ring, t, pool, addr, size(), (unsigned)number(7) & 0xffff,
			      (uint32_t)number(8), number(1 << 20));
		break;
	case 6:
	case 7:
		ev_free(f, ring, t, pool, addr);
		break;
	case 8:
		ev_seg(f, ring, t, pool, addr, size(), (int)rnd(2));
		break;
	case 9:
		ev_tensor(f, ring, t, pool, addr, (uint32_t)number(10), (unsigned)rnd(30),
			  (unsigned)rnd(12), (unsigned)rnd(4), shape);
		break;
	case 10:
		ev_mark(f, ring, t, (unsigned)rnd(8), (uint32_t)number(10), (int64_t)number(100));
		break;
	case 11:
		ev_sample(f, ring, t, (uint32_t)number(10), values[rnd(8)]);
		break;
	case 12:
		ev_note(f, ring, t, (uint32_t)number(10), "x\x1b]0;y\x07\xc2\x9b 1=2\n<img src=x>");
		break;
	default:
		ev_oom(f, ring, t, pool, size(), (int64_t)number(100));
	}
}

int main(int argc, char **argv)
{
	tidefile f;
	if (argc != 3)
		return 2;
	seed = strtoull(argv[1], NULL, 10) * 2654435761u + 7;
	definitions(&f);
	for (unsigned ring = 1; ring <= 3; ring++)
		ev_lane(&f, ring, 0, ring, 100 + ring);
	uint64_t t = 0;
	for (uint64_t i = 0, n = 50 + rnd(400); i < n; i++) {
		t += !rnd(3) ? 0 : rnd(60) ? rnd(50) : U(1) << rnd(56); /* sometimes years */
		event(&f, 1 + (unsigned)rnd(3), t);
	}
	tidefile_end(&f);
	tidefile_save(&f, argv[2]);
	tidefile_free(&f);
	return 0;
}
