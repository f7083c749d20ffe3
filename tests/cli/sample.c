// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the small recordings that the golden tests read, the same bytes every time:
 *   train.tide    two threads, nested ops, two devices, L1, segments, tensors, stacks, phases
 *   phases.tide   the four phases of the memory tracker's documented example, to the byte of a
 * MB/100 empty.tide    a recording in which nothing happened lossy.tide    train.tide with frees of
 * unknown addresses, cut off before its end
 *   steps.tide    nine step marks: eight steps, the last four keep 4 MiB each
 *   sampled.tide  a GPU whose reserved bytes are samples of a counter, the host, a failed request
 *   silent.tide   two devices of which there are samples alone, of both how high they were too
 *   failed.tide   two devices whose requests fail by turns, 40 times, as their segments fill
 */
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tidefile.h"

#define U(x) ((uint64_t)(x))
#define MiB  (U(1) << 20)

enum {
	N_TRAIN = 1,
	N_FORWARD,
	N_BACKWARD,
	N_MATMUL,
	N_RELU,
	N_LOAD,
	N_MODEL,
	N_FWD,
	N_BWD,
	N_DRAM,
	N_L1,
	N_CB,
	N_HEAP,
	N_H200,
	N_WH,
	N_WEIGHT,
	N_FILE,
	N_MAIN,
	N_STEP_FN,
	N_CTRL,
	N_OPT,
	N_DONE
};
static const char *const names[] = {
	[N_TRAIN] = "train_step",
	[N_FORWARD] = "forward",
	[N_BACKWARD] = "backward",
	[N_MATMUL] = "matmul",
	[N_RELU] = "relu",
	[N_LOAD] = "load_batch",
	[N_MODEL] = "MODEL_CREATION",
	[N_FWD] = "FORWARD_PASS",
	[N_BWD] = "BACKWARD_PASS",
	[N_DRAM] = "DRAM",
	[N_L1] = "L1",
	[N_CB] = "CB",
	[N_HEAP] = "heap",
	[N_H200] = "NVIDIA H200",
	[N_WH] = "Wormhole",
	[N_WEIGHT] = "layer.0.weight",
	[N_FILE] = "train.py",
	[N_MAIN] = "main",
	[N_STEP_FN] = "step",
	[N_CTRL] = "bad\tname\x1b[31m\xff",
	[N_OPT] = "OPTIMIZER_CREATION",
	[N_DONE] = "FIRST_ITERATION_COMPLETE",
};

static void start(tidefile *f)
{
	bytes r = { 0 };
	tidefile_start(f, TIDE_CLOCK_NS, 0);
	for (size_t i = 1; i < sizeof names / sizeof *names; i++)
		record_add(&r, TIDE_REC_NAME, U(i), names[i]);
	record_add(&r, TIDE_REC_FRAME, U(1), U(N_MAIN), U(N_FILE), U(10));
	record_add(&r, TIDE_REC_FRAME, U(2), U(N_STEP_FN), U(N_FILE), U(42));
	record_add(&r, TIDE_REC_STACK, U(1), U(0), U(1));
	record_add(&r, TIDE_REC_STACK, U(2), U(1), U(2));
	record_add(&r, TIDE_REC_DEVICE, U(1), U(2), U(0), U(N_H200), 141 * 1024 * MiB);
	record_add(&r, TIDE_REC_DEVICE, U(2), U(7), U(0), U(N_WH), 12 * 1024 * MiB);
	record_add(&r, TIDE_REC_POOL, U(1), U(1), U(1), U(N_DRAM), U(0), U(0));
	record_add(&r, TIDE_REC_POOL, U(2), U(2), U(1), U(N_DRAM), U(0), U(12));
	record_add(&r, TIDE_REC_POOL, U(3), U(2), U(2), U(N_L1), U(1) << 20, U(64));
	record_add(&r, TIDE_REC_POOL, U(4), U(2), U(2), U(N_CB), U(1) << 20, U(64));
	record_add(&r, TIDE_REC_STREAM, U(1), U(1), U(7), U(0));
	record_add(&r, TIDE_REC_THREAD, U(1), U(100), U(N_MAIN));
	record_add(&r, TIDE_REC_THREAD, U(2), U(101), U(N_LOAD));
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
	ev_lane(f, 1, 0, 1, 100);
	ev_lane(f, 2, 0, 2, 101);
}

static void step(tidefile *f, uint64_t t, uint64_t base)
{
	ev_begin(f, 1, t, N_TRAIN);
	ev_begin(f, 1, t + 1000, N_FORWARD);
	ev_begin(f, 1, t + 2000, N_MATMUL);
	ev_alloc_full(f, 1, t + 2500, 1, base, 8 * MiB, 1, 2, 8 * MiB - 100);
	ev_alloc_full(f, 1, t + 2600, 1, base + 8 * MiB, 4 * MiB, 1, 2, 4 * MiB);
	ev_free(f, 1, t + 3000, 1, base + 8 * MiB);
	ev_end(f, 1, t + 4000);
	ev_begin(f, 1, t + 4500, N_RELU);
	ev_alloc_full(f, 1, t + 4600, 1, base + 8 * MiB, 2 * MiB, 1, 1, 2 * MiB);
	ev_alloc(f, 1, t + 4700, 3, 0x1000, 4096);
	ev_alloc(f, 1, t + 4800, 4, 0x4000, 2048);
	ev_free(f, 1, t + 4850, 4, 0x4000);
	ev_free(f, 1, t + 4900, 3, 0x1000);
	ev_end(f, 1, t + 5000);
	ev_end(f, 1, t + 6000);
	ev_mark(f, 1, t + 6500, TIDE_MARK_PHASE, N_FWD, 0);
	ev_begin(f, 1, t + 7000, N_BACKWARD);
	ev_free(f, 1, t + 8000, 1, base);
	ev_free(f, 1, t + 9000, 1, base + 8 * MiB);
	ev_end(f, 1, t + 10000);
	ev_end(f, 1, t + 11000);
	ev_mark(f, 1, t + 11500, TIDE_MARK_PHASE, N_BWD, 0);
}

static void train(tidefile *f, int bad)
{
	static const uint64_t shape[] = { 1024, 768 };
	start(f);
	ev_seg(f, 1, 50, 1, 0x10000000, 64 * MiB, 0);
	ev_alloc_full(f, 1, 100, 1, 0x10000000, 3 * MiB, 1, 1, 3 * MiB);
	ev_tensor(f, 1, 110, 1, 0x10000000, N_WEIGHT, TIDE_DTYPE_F32, TIDE_ROLE_PARAMETER, 2,
		  shape);
	ev_alloc(f, 1, 200, 2, 0x2000, 5 * MiB);
	ev_alloc(f, 1, 250, 1, 0x10000000 + 60 * MiB, 512);
	ev_mark(f, 1, 500, TIDE_MARK_PHASE, N_MODEL, 0);
	ev_begin(f, 2, 600, N_LOAD);
	ev_alloc(f, 2, 700, 1, 0x10000000 + 32 * MiB, MiB);
	ev_end(f, 2, 900);
	step(f, 1000, 0x10000000 + 4 * MiB);
	step(f, 21000, 0x10000000 + 4 * MiB);
	if (bad) {
		ev_free(f, 2, 40000, 1, 0xdead0000);
		ev_begin(f, 2, 40100, N_CTRL);
	}
	ev_free(f, 2, 41000, 1, 0x10000000 + 32 * MiB);
	ev_free(f, 2, 42000, 2, 0x2000);
}

/* The documented figures have two decimals and do not quite add up (5764.96 + 1663.07 = 7428.03,
 * not 7428.04); a third decimal below makes both true. */
static uint64_t mb(double v)
{
	return (uint64_t)(v * 1048576 + 0.5);
}

static uint64_t take(tidefile *f, uint64_t *t, uint64_t *next, uint64_t size)
{
	uint64_t at = *next;
	ev_alloc(f, 1, *t += 1000, 2, at, size);
	*next += size;
	return at;
}

static void documented(tidefile *f)
{
	uint64_t t = 0, next = 0x1000, peak;
	start(f);
	take(f, &t, &next, mb(1863.25));
	ev_mark(f, 1, t += 1000, TIDE_MARK_PHASE, N_MODEL, 0);
	take(f, &t, &next, mb(3708.76));
	ev_mark(f, 1, t += 1000, TIDE_MARK_PHASE, N_OPT, 0);
	take(f, &t, &next, mb(192.953));
	peak = take(f, &t, &next, mb(996.35) - mb(192.953));
	ev_free(f, 1, t += 1000, 2, peak);
	ev_mark(f, 1, t += 1000, TIDE_MARK_PHASE, N_FWD, 0);
	take(f, &t, &next, mb(1663.073));
	peak = take(f, &t, &next, mb(2513.69) - mb(1663.073));
	ev_free(f, 1, t += 1000, 2, peak);
	ev_mark(f, 1, t += 1000, TIDE_MARK_PHASE, N_BWD, 0);
}

static void steps(tidefile *f)
{
	uint64_t t = 1000, next = 0x1000;
	start(f);
	take(f, &t, &next, MiB);
	for (int i = 0; i <= 8; i++) {
		ev_mark(f, 1, t += 1000, TIDE_MARK_STEP, N_STEP_FN, i);
		if (i >= 4 && i < 8)
			take(f, &t, &next, 4 * MiB);
	}
}

/* As PyTorch's hooks record it: a sample comes before the event that reported it, and only if it
 * changed. The host's total is unknown. */
static void sampled(tidefile *f)
{
	enum { N_RESERVED = N_DONE + 1, HEAP = 5 };
	bytes r = { 0 };
	start(f);
	record_add(&r, TIDE_REC_NAME, U(N_RESERVED), "torch.reserved_bytes.cuda:0");
	record_add(&r, TIDE_REC_DEVICE, U(3), U(1), U(0), U(0), U(0));
	record_add(&r, TIDE_REC_POOL, U(HEAP), U(3), U(5), U(N_HEAP), U(0), U(0));
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
	ev_alloc(f, 1, 100, HEAP, 0x5000, 3 * MiB);
	ev_sample(f, 1, 1000, N_RESERVED, (double)(20 * MiB));
	ev_alloc(f, 1, 1001, 1, 0x10000000, 8 * MiB);
	ev_alloc(f, 1, 2000, 1, 0x10800000, 6 * MiB);
	ev_sample(f, 1, 3000, N_RESERVED, (double)(40 * MiB));
	ev_alloc(f, 1, 3001, 1, 0x20000000, 18 * MiB);
	ev_free(f, 1, 4000, 1, 0x20000000);
	ev_sample(f, 1, 5000, N_RESERVED, (double)(22 * MiB));
	ev_alloc(f, 1, 5001, 1, 0x30000000, MiB);
	ev_oom(f, 1, 6000, 1, U(512) * MiB, -1);
	ev_free(f, 1, 7000, 1, 0x10000000);
	ev_free(f, 1, 8000, HEAP, 0x5000);
}

/* Devices whose allocators report nothing: samples, and a peak that rose between two of them; the
 * other device's peak counter has invalid values. */
static void silent(tidefile *f)
{
	enum { N_NOW = N_DONE + 1, N_PEAK, N_NOW_TT, N_PEAK_TT };
	static const struct {
		uint64_t t;
		unsigned now, peak; /* MiB; 0: it has not risen */
	} looks[] = { { 1000, 8, 0 }, { 2000, 12, 12 }, { 4000, 10, 30 }, { 6000, 16, 0 } };
	bytes r = { 0 };
	start(f);
	record_add(&r, TIDE_REC_NAME, U(N_NOW), "torch.allocated_bytes.cuda:0");
	record_add(&r, TIDE_REC_NAME, U(N_PEAK), "torch.peak_bytes.cuda:0");
	record_add(&r, TIDE_REC_NAME, U(N_NOW_TT), "torch.allocated_bytes.tt:0");
	record_add(&r, TIDE_REC_NAME, U(N_PEAK_TT), "torch.peak_bytes.tt:0");
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
		ev_sample(f, 1, looks[i].t, N_NOW, (double)(looks[i].now * MiB));
		if (looks[i].peak)
			ev_sample(f, 1, looks[i].t + 1, N_PEAK, (double)(looks[i].peak * MiB));
		ev_sample(f, 1, looks[i].t + 2, N_NOW_TT, (double)(i * MiB));
		ev_sample(f, 1, looks[i].t + 3, N_PEAK_TT, i ? 99.5 : (double)(90 * MiB));
	}
}

/* Alternates between both devices: a block of 1 MiB beside a free one, then a request that fails.
 * Both had 48 MiB in one segment; the device had 2 MiB left, or 64 MiB and a limit refused. */
static void failed(tidefile *f)
{
	start(f);
	for (unsigned pool = 1; pool <= 2; pool++)
		ev_seg(f, 1, 10 * pool, pool, 0x10000000, 48 * MiB, 0);
	for (unsigned i = 0; i < 40; i++) {
		unsigned pool = 1 + i % 2;
		ev_alloc(f, 1, 100 + 1000 * i, pool, 0x10000000 + (i / 2 * 2 + 1) * MiB, MiB);
		ev_oom(f, 1, 200 + 1000 * i, pool, (47 + i / 8) * MiB,
		       (int64_t)((i % 12 == 11 ? 64 : 2) * MiB));
	}
}

static void save(tidefile *f, const char *dir, const char *name, size_t cut)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	f->b.n -= cut;
	tidefile_save(f, path);
	tidefile_free(f);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	tidefile f = { 0 };
	train(&f, 0);
	tidefile_end(&f);
	save(&f, dir, "train.tide", 0);
	f = (tidefile){ 0 };
	documented(&f);
	tidefile_end(&f);
	save(&f, dir, "phases.tide", 0);
	f = (tidefile){ 0 };
	tidefile_start(&f, TIDE_CLOCK_NS, 0);
	tidefile_end(&f);
	save(&f, dir, "empty.tide", 0);
	f = (tidefile){ 0 };
	train(&f, 1);
	tidefile_end(&f);
	save(&f, dir, "lossy.tide", 30);
	f = (tidefile){ 0 };
	steps(&f);
	tidefile_end(&f);
	save(&f, dir, "steps.tide", 0);
	f = (tidefile){ 0 };
	sampled(&f);
	tidefile_end(&f);
	save(&f, dir, "sampled.tide", 0);
	f = (tidefile){ 0 };
	silent(&f);
	tidefile_end(&f);
	save(&f, dir, "silent.tide", 0);
	f = (tidefile){ 0 };
	failed(&f);
	tidefile_end(&f);
	save(&f, dir, "failed.tide", 0);
	return 0;
}
