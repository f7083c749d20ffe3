// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a recording of two accelerators whose memory is in banks, each a pool with its own name,
 * next to on-chip buffers; four phases, an out-of-memory event, and segments on the second
 * device. */
#include <stdio.h>

#include <tidemark/record.h>

enum { BANKS = 4, KIB = 1024 };

static uint64_t next = 1 << 20;

static uint64_t take(tide_pool pool, uint64_t size, int role)
{
	tide_tensor_info what = { .role = (uint8_t)role };
	uint64_t at = next;
	next += 1 << 20;
	tide_alloc(pool, at, size, 0);
	tide_tensor(pool, at, &what);
	return at;
}

static void banked(tide_device device, uint64_t unit)
{
	tide_pool bank[BANKS], cb = tide_pool_open(device, TIDE_POOL_L1, "CB", 512 * KIB);
	tide_pool l1 = tide_pool_open(device, TIDE_POOL_L1, "L1 </b> core 0,0", 512 * KIB);
	uint64_t held[BANKS];
	char name[32];

	for (int i = 0; i < BANKS; i++) {
		snprintf(name, sizeof name, "DRAM bank %d", i);
		bank[i] = tide_pool_open(device, TIDE_POOL_DRAM, name, 64 * unit);
	}
	for (int i = 0; i < BANKS; i++)
		take(bank[i], unit * (uint64_t)(i + 1), TIDE_ROLE_PARAMETER);
	tide_mark(TIDE_PHASE, TIDE_NAME("MODEL_CREATION"), 0);
	for (int i = 0; i < BANKS; i++)
		held[i] = take(bank[i], unit * 7, TIDE_ROLE_ACTIVATION);
	uint64_t a = take(cb, 96 * KIB, TIDE_ROLE_TEMPORARY),
		 b = take(l1, 200 * KIB, TIDE_ROLE_BUFFER);
	tide_free(cb, a);
	take(cb, 32 * KIB, TIDE_ROLE_TEMPORARY);
	tide_mark(TIDE_PHASE, TIDE_NAME("FORWARD_PASS"), 0);
	tide_free(l1, b);
	for (int i = 0; i < BANKS; i++)
		tide_free(bank[i], held[i]);
	tide_oom(bank[0], unit * 90, (int64_t)(63 * unit));
}

/* Records an op of each kind: plain, with a number, with a call stack and a number that links
 * it. */
static void ops(void)
{
	tide_stack main_py = tide_stack_push(0, TIDE_NAME("main"), TIDE_NAME("train.py"), 7);
	tide_stack step = tide_stack_push(main_py, TIDE_NAME("step"), TIDE_NAME("train.py"), 21);
	tide_op bare = tide_op_begin_full(TIDE_NAME("bare"), 0, 0, 0);
	tide_op_end(tide_op_begin_arg(TIDE_NAME("numbered"), 0));
	tide_op_end(tide_op_begin_full(TIDE_NAME("joined"), 5, step, 1 << 1));
	tide_op_end(bare);
}

int main(int argc, char **argv)
{
	if (argc != 2 || tide_start(argv[1], NULL, NULL) != TIDE_OK)
		return 2;
	banked(tide_device_open(TIDE_DEVICE_TT, 0, "n150", 0), 3 * KIB);
	tide_device second = tide_device_open(TIDE_DEVICE_TT, 1, "n150", 0);
	tide_pool whole = tide_pool_open(second, TIDE_POOL_PRIVATE, "arena", 0);
	tide_segment_alloc(whole, next, 64 << 20, 0, 2);
	banked(second, 1 * KIB);
	take(whole, 5 * KIB, TIDE_ROLE_WORKSPACE);
	ops();
	return tide_stop(NULL) != TIDE_OK;
}
