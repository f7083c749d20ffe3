// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Write a large torch memory snapshot: `snapshot_gen EVENTS OUT.pickle [shuffle]`.
 *
 * Writes the same opcodes as torch and Python's pickler (protocol 4, frames of 64 KiB): an event
 * is one dict of eight keys; its stack is a list of reads of shared frame dicts, new for each
 * alloc, and one list is shared by the two events of a free. 520 frames, stacks about 56 deep, one
 * third each of alloc, free_requested, free_completed, about 200 bytes an event.
 *
 * The recorded program trains: activations are allocated in the forward half of a step and freed in
 * reverse order in the backward half, with temporaries in between, in two pools (blocks up to 1
 * MiB, and larger ones). Like a stack, so that the final blocks are known without simulating the
 * allocator. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 520, DEPTH = 56, STACKS = 2000, LAYERS = 600, FRAME_BYTES = 64 << 10 };

static FILE *out;
static uint8_t buf[FRAME_BYTES + 4096];
static size_t used;
static uint32_t memo; /* entries so far */
static uint64_t seed = 42;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33);
}

static void flush_frame(void)
{
	uint8_t head[9] = { 0x95 };
	uint64_t n = used;
	memcpy(head + 1, &n, 8);
	fwrite(head, 1, 9, out);
	fwrite(buf, 1, used, out);
	used = 0;
}

static void put(const void *p, size_t n)
{
	memcpy(buf + used, p, n);
	used += n;
}
static void op(uint8_t c)
{
	buf[used++] = c;
}
static uint32_t memoize(void)
{
	op(0x94);
	return memo++;
}
static void get(uint32_t i)
{
	if (i < 256) {
		op('h');
		op((uint8_t)i);
	} else {
		op('j');
		put(&i, 4);
	}
}
static uint32_t text(const char *s)
{
	op(0x8c);
	op((uint8_t)strlen(s));
	put(s, strlen(s));
	return memoize();
}
static void integer(uint64_t v)
{
	if (v < 256) {
		op('K');
		op((uint8_t)v);
	} else if (v < 65536) {
		op('M');
		put(&v, 2);
	} else if (v < 1u << 31) {
		op('J');
		put(&v, 4);
	} else {
		size_t n = 8;
		while (n > 1 && !(v >> (8 * (n - 1))) && !(v >> (8 * (n - 1) - 1) & 1))
			n--;
		op(0x8a);
		op((uint8_t)n);
		put(&v, n);
	}
}

/* A word is written out once and read from the memo afterwards. */
enum word {
	W_action,
	W_addr,
	W_size,
	W_stream,
	W_time_us,
	W_compile_context,
	W_user_metadata,
	W_frames,
	W_alloc,
	W_free_requested,
	W_free_completed,
	W_segment_alloc,
	W_name,
	W_filename,
	W_line,
	W_device,
	W_address,
	W_total_size,
	W_allocated_size,
	W_active_size,
	W_requested_size,
	W_segment_type,
	W_segment_pool_id,
	W_is_expandable,
	W_blocks,
	W_state,
	W_large,
	W_small,
	W_inactive,
	W_active_allocated,
	W_empty,
	W_N
};
static const char *const words[W_N] = { "action",
					"addr",
					"size",
					"stream",
					"time_us",
					"compile_context",
					"user_metadata",
					"frames",
					"alloc",
					"free_requested",
					"free_completed",
					"segment_alloc",
					"name",
					"filename",
					"line",
					"device",
					"address",
					"total_size",
					"allocated_size",
					"active_size",
					"requested_size",
					"segment_type",
					"segment_pool_id",
					"is_expandable",
					"blocks",
					"state",
					"large",
					"small",
					"inactive",
					"active_allocated",
					"" };
static uint32_t word_at[W_N];

static void word(enum word w)
{
	if (word_at[w])
		get(word_at[w] - 1);
	else
		word_at[w] = text(words[w]) + 1;
}

static uint32_t frame_at[FRAMES]; /* memo index + 1 */
static uint16_t stack_of[STACKS][DEPTH + 16];
static unsigned depth_of[STACKS];

static void frame(unsigned f)
{
	char name[64];
	if (frame_at[f]) {
		get(frame_at[f] - 1);
		return;
	}
	op('}');
	frame_at[f] = memoize() + 1;
	op('(');
	word(W_name);
	snprintf(name, sizeof name, "layer_%u::forward(at::Tensor const&)", f);
	text(name);
	word(W_filename);
	snprintf(name, sizeof name, "/home/ml/model/blocks/module_%u.py", f % 37);
	text(name);
	word(W_line);
	integer(f * 7 + 1);
	op('u');
}

/* Stacks share their outer frames, as real ones do. */
static void make_stacks(void)
{
	for (unsigned s = 0; s < STACKS; s++) {
		depth_of[s] = DEPTH - 12 + rnd() % 25;
		for (unsigned i = 0; i < depth_of[s]; i++) {
			unsigned outer = depth_of[s] - 1 - i;
			stack_of[s][i] = (uint16_t)(outer < 20	 ? outer
						    : outer < 32 ? 20 + (s / 40 * 12 + outer) % 200
								 : 220 + rnd() % 300);
		}
	}
}

static uint32_t stack(unsigned s)
{
	op(']');
	uint32_t at = memoize();
	op('(');
	for (unsigned i = 0; i < depth_of[s]; i++)
		frame(stack_of[s][i]);
	op('e');
	return at;
}

static uint64_t now_us = UINT64_C(1794709245339316);
static uint64_t written;

/* frames: memo index of a list, or UINT32_MAX to write stack s. Returns the list's memo index. */
static uint32_t event(enum word action, uint64_t addr, uint64_t size, uint32_t frames, unsigned s)
{
	if (used > FRAME_BYTES - 1024)
		flush_frame();
	if (written && written % 1000 == 0) { /* a list is written in batches of 1000 */
		op('e');
		op('(');
	}
	written++;
	now_us += 1 + rnd() % 20;
	op('}');
	memoize();
	op('(');
	word(W_action), word(action);
	word(W_addr), integer(addr);
	word(W_size), integer(size);
	word(W_stream), integer(0);
	word(W_time_us), integer(now_us);
	word(W_compile_context), text("N/A");
	word(W_user_metadata), word(W_empty);
	word(W_frames);
	if (frames == UINT32_MAX)
		frames = stack(s);
	else
		get(frames);
	op('u');
	return frames;
}

struct pool { /* a stack of blocks in one segment */
	uint64_t base, size, top;
};
struct block {
	struct pool *pool;
	uint64_t addr, size, asked;
};

/* A step runs the same code as the previous one: the same stacks in the same order. With `shuffle`
 * the stacks are in random order, as in no real program. */
static bool shuffle;
static unsigned in_step;

static unsigned stack_next(void)
{
	if (shuffle)
		return rnd() % STACKS;
	in_step++;
	return (in_step * 2654435761u >> 7) % STACKS;
}

static struct block take(struct pool *p)
{
	uint64_t asked =
		p->size < 1u << 30 ? 4 + rnd() % (200u << 10) : (1u << 20) + 1 + rnd() % (6u << 20);
	struct block b = { p, p->base + p->top, (asked + 511) & ~UINT64_C(511), asked };
	p->top += b.size;
	event(W_alloc, b.addr, b.asked, UINT32_MAX, stack_next());
	return b;
}

static void give(struct block b)
{
	uint32_t list = event(W_free_requested, b.addr, b.asked, UINT32_MAX, stack_next());
	event(W_free_completed, b.addr, b.asked, list, 0);
	b.pool->top -= b.size;
}

/* One step: forward with temporaries, then backward in reverse order. */
static void step(struct pool *pools, uint64_t events)
{
	static struct block held[LAYERS];
	unsigned n = 0;
	in_step = 0;
	for (; n < LAYERS && written + n * 2 + 8 < events; n++) {
		held[n] = take(&pools[rnd() % 4 == 0]);
		give(take(&pools[rnd() % 2]));
	}
	while (n)
		give(held[--n]);
}

/* Writes the segments at the end, when all blocks are free. */
static void segment(const struct pool *p)
{
	op('}'), memoize(), op('(');
	word(W_device), integer(0);
	word(W_address), integer(p->base);
	word(W_total_size), integer(p->size);
	word(W_allocated_size), integer(0);
	word(W_active_size), integer(0);
	word(W_requested_size), integer(0);
	word(W_stream), integer(0);
	word(W_segment_type), word(p->size < 1u << 30 ? W_small : W_large);
	word(W_segment_pool_id), integer(0), integer(0), op(0x86), memoize();
	word(W_is_expandable), op(0x89);
	word(W_frames), op(']'), memoize();
	word(W_blocks), op(']'), memoize();
	op('}'), memoize(), op('(');
	word(W_address), integer(p->base);
	word(W_size), integer(p->size);
	word(W_requested_size), integer(4096);
	word(W_state), word(W_inactive);
	word(W_frames), op(']'), memoize();
	op('u'), op('a'), op('u');
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4 || !(out = fopen(argv[2], "wb"))) {
		fprintf(stderr, "usage: snapshot_gen EVENTS OUT.pickle [shuffle]\n");
		return 2;
	}
	shuffle = argc == 4;
	uint64_t events = strtoull(argv[1], NULL, 10);
	struct pool pools[2] = { { UINT64_C(0x7f0000000000), UINT64_C(512) << 20, 0 },
				 { UINT64_C(0x7f8000000000), UINT64_C(8) << 30, 0 } };
	static const uint8_t proto[] = { 0x80, 4 };
	fwrite(proto, 1, 2, out);
	make_stacks();
	op('}'), memoize(), op('(');
	text("segments"), op(']'), memoize(), op('(');
	segment(&pools[0]), segment(&pools[1]), op('e');
	text("device_traces"), op(']'), memoize();
	op(']'), memoize(), op('(');
	while (written + 16 < events)
		step(pools, events);
	op('e'), op('a'), op('u'), op('.');
	flush_frame();
	if (fclose(out)) {
		perror(argv[2]);
		return 1;
	}
	return 0;
}
