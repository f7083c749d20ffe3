// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the parts of a snapshot: words, stacks, pools, streams, times. Each frame and stack
 * is written once and shared through the memo. */
#include "render/export/snapshot_writer.h"

#include <stdio.h>
#include <string.h>

static const char *const words[W_N] = {
#define W(w) #w,
	WORDS(W)
#undef W
};

void tide__snapshot_write_word(shot *s, enum word w)
{
	if (s->word[w]) {
		tide__pkl_get(&s->p, s->word[w] - 1);
		return;
	}
	tide__pkl_text(&s->p, words[w], strlen(words[w]));
	s->word[w] = tide__pkl_memo(&s->p) + 1;
}

void tide__snapshot_text(shot *s, tide_str t)
{
	size_t n;
	const char *text = tide__text(s->m, t, &n);
	if (s->text[t.i]) {
		tide__pkl_get(&s->p, s->text[t.i] - 1);
		return;
	}
	tide__pkl_text(&s->p, text, n);
	if (n > 4) /* a memo read needs as many bytes */
		s->text[t.i] = tide__pkl_memo(&s->p) + 1;
}

void tide__snapshot_write_uint(shot *s, enum word key, uint64_t v)
{
	tide__snapshot_write_word(s, key);
	tide__pkl_uint(&s->p, v);
}

/* ---- stacks ---- */

static void put_frame(shot *s, uint32_t f)
{
	if (s->frame[f]) {
		tide__pkl_get(&s->p, s->frame[f] - 1);
		return;
	}
	tide__pkl_dict(&s->p);
	tide__snapshot_write_word(s, W_name);
	tide__snapshot_text(s, s->m->frames.function[f]);
	tide__snapshot_write_word(s, W_filename);
	tide__snapshot_text(s, s->m->frames.file[f]);
	tide__snapshot_write_uint(s, W_line, s->m->frames.line[f]);
	tide__pkl_dict_end(&s->p);
	s->frame[f] = tide__pkl_memo(&s->p) + 1;
}

/* Every stack is written completely, so deep ones are truncated, with a note. */
enum { MOST_FRAMES = 2048 };

static void put_more(shot *s)
{
	static const char name[] = "[more frames]";
	tide__pkl_dict(&s->p);
	tide__snapshot_write_word(s, W_name);
	tide__pkl_text(&s->p, name, sizeof name - 1);
	tide__snapshot_write_word(s, W_filename);
	tide__pkl_text(&s->p, "", 0);
	tide__snapshot_write_uint(s, W_line, 0);
	tide__pkl_dict_end(&s->p);
}

void tide__snapshot_write_stack(shot *s, uint32_t stack)
{
	tide__snapshot_write_word(s, W_frames);
	if (!stack) {
		tide__pkl_empty_list(&s->p);
		return;
	}
	if (s->stack[stack]) {
		tide__pkl_get(&s->p, s->stack[stack] - 1);
		return;
	}
	tide__pkl_list(&s->p);
	uint32_t at = stack;
	for (int k = 0; at && k < MOST_FRAMES; k++, at = s->m->stacks.parent[at].i)
		put_frame(s, s->m->stacks.frame[at].i);
	if (at)
		put_more(s);
	tide__pkl_list_end(&s->p);
	s->stack[stack] = tide__pkl_memo(&s->p) + 1;
}

/* Writes a frame that represents an op: viewers show its name. */
static void put_op(shot *s, tide_str name)
{
	tide__pkl_dict(&s->p);
	tide__snapshot_write_word(s, W_name);
	tide__snapshot_text(s, name);
	tide__snapshot_write_word(s, W_filename);
	tide__snapshot_write_word(s, W_op);
	tide__snapshot_write_uint(s, W_line, 0);
	tide__pkl_dict_end(&s->p);
}

void tide__snapshot_write_frames(shot *s, uint32_t alloc)
{
	uint32_t span = s->m->allocs.span[alloc].i, at = span;
	if (s->m->allocs.stack[alloc].i || !span) {
		tide__snapshot_write_stack(s, s->m->allocs.stack[alloc].i);
		return;
	}
	tide__snapshot_write_word(s, W_frames);
	if (s->path[span]) {
		tide__pkl_get(&s->p, s->path[span] - 1);
		return;
	}
	tide__pkl_list(&s->p);
	for (int k = 0; at && k < MOST_FRAMES; k++, at = s->m->spans.parent[at].i)
		put_op(s, s->m->spans.name[at]);
	if (at)
		put_more(s);
	tide__pkl_list_end(&s->p);
	s->path[span] = tide__pkl_memo(&s->p) + 1;
}

/* ---- pools, streams, times ---- */

uint32_t tide__snapshot_device(const shot *s, tide_pool_id pool)
{
	return s->number[s->m->pools.device[pool.i].i];
}

/* Writes a private pool's (a, b); (0, 0) for the others. */
void tide__snapshot_write_pool_id(shot *s, tide_pool_id pool)
{
	unsigned a = 0, b = 0;
	if (s->m->pools.kind[pool.i] == TIDE_POOL_PRIVATE &&
	    sscanf(tide__text(s->m, s->m->pools.name[pool.i], NULL), "private (%u, %u)", &a, &b) !=
		    2) {
		a = 0;
		b = pool.i;
	}
	tide__pkl_pair(&s->p, a, b);
}

void tide__snapshot_write_stream(shot *s, tide_lane_id lane)
{
	tide__snapshot_write_word(s, W_stream);
	tide__pkl_int(&s->p, lane.i ? s->m->lanes.number[lane.i] : 0);
}

int64_t tide__snapshot_us(const shot *s, int64_t t)
{
	int64_t ns = s->m->wall_known ? s->m->wall0_ns + t : t;
	return ns >= 0 ? ns / 1000 : -((-ns + 999) / 1000);
}

void tide__snapshot_write_time(shot *s, int64_t t)
{
	if (!s->timed)
		return;
	tide__snapshot_write_word(s, W_time_us);
	tide__pkl_int(&s->p, tide__snapshot_us(s, t));
}
