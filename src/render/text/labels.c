// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/labels.h"

#include <inttypes.h>

#include "render/text/grid.h"

/* The name of a group, and where to write it. */
struct label {
	const tide_groups *g;
	const tide_model *m;
	tide_long *longs;
	FILE *out;
};

static void put(const struct label *l, tide_str s, const char *none)
{
	size_t n;
	const char *text = tide__long_text(l->longs, l->m, s, &n);
	FILE *out = l->out;
	if (n)
		fwrite(text, 1, n, out);
	else
		fputs(none, out);
}

static void label_op(const struct label *l, uint64_t key)
{
	char buf[4096];
	fputs(key ? tide__long_path(l->longs, &l->g->paths, l->m, (uint32_t)key, buf, sizeof buf)
		  : "(outside any op)",
	      l->out);
}

static void frame_text(const struct label *l, uint32_t f)
{
	const tide_frames *fr = &l->m->frames;
	put(l, fr->function[f], "?");
	if (fr->file[f].i) {
		fputs(" (", l->out);
		put(l, fr->file[f], "?");
		if (fr->line[f])
			fprintf(l->out, ":%" PRIu32, fr->line[f]);
		fputs(")", l->out);
	}
}

static void label_stack(const struct label *l, uint64_t key)
{
	enum {
		MAX = 128
	}; /* frames shown; the outermost of a deeper stack are left out, with a note */
	const tide_stacks *t = &l->m->stacks;
	uint32_t way[MAX], n = 0, s = (uint32_t)key;
	if (!key) {
		fputs("(no stack)", l->out);
		return;
	}
	for (; s && n < MAX; s = t->parent[s].i)
		way[n++] = t->frame[s].i;
	if (s)
		fputs("... > ", l->out);
	while (n--) {
		frame_text(l, way[n]);
		fputs(n ? " > " : "", l->out);
	}
}

static void label_tensor(const struct label *l, uint64_t key)
{
	size_t n;
	const char *text = tide__strings_get(l->g->labels, (uint32_t)key, &n);
	if (key)
		fwrite(text, 1, n, l->out);
	else
		fputs("(no tensor)", l->out);
}

static void label_role(const struct label *l, uint64_t key)
{
	fputs(tide__role_text((unsigned)key), l->out);
}

static void label_pool(const struct label *l, uint64_t key)
{
	const tide_pools *p = &l->m->pools;
	put(l, p->name[key], key ? tide__pool_kind_text(p->kind[key]) : "(no pool)");
}

static void label_stream(const struct label *l, uint64_t key)
{
	const tide_lanes *lane = &l->m->lanes;
	if (!key)
		fputs("(no stream)", l->out);
	else if (lane->name[key].i)
		put(l, lane->name[key], "");
	else
		fprintf(l->out, "stream %" PRId64, lane->number[key]);
}

/* Writes a power of two in its unit: "512 KiB". */
static void power(unsigned shift, FILE *out)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	fprintf(out, "%u %s", 1u << shift % 10, units[shift / 10]);
}

static void label_size(const struct label *l, uint64_t key)
{
	if (!key) {
		fputs("0 B", l->out);
		return;
	}
	power((unsigned)key - 1, l->out);
	fputs(" - ", l->out);
	power((unsigned)key, l->out);
}

static void label_frame(const struct label *l, uint64_t key)
{
	if (key)
		frame_text(l, (uint32_t)key);
	else
		fputs("(no stack)", l->out);
}

static void label_module(const struct label *l, uint64_t key)
{
	/* modules are spans: without any, as under `run --light`, they are unknown */
	const char *none = l->m->spans.n > 1 ? "(outside any module)" : "(modules not recorded)";
	fputs(key ? tide__module_text(l->m, (tide_str){ (uint32_t)key }) : none, l->out);
}

static void (*const kinds[])(const struct label *l, uint64_t key) = {
	[TIDE_BY_OP] = label_op,     [TIDE_BY_STACK] = label_stack, [TIDE_BY_TENSOR] = label_tensor,
	[TIDE_BY_ROLE] = label_role, [TIDE_BY_POOL] = label_pool,   [TIDE_BY_STREAM] = label_stream,
	[TIDE_BY_SIZE] = label_size, [TIDE_BY_FRAME] = label_frame, [TIDE_BY_MODULE] = label_module,
};

void tide__groups_write_label(const tide_groups *g, const tide_model *m, size_t row,
			      tide_long *longs, FILE *out)
{
	const struct label l = { g, m, longs, out };
	uint64_t key = g->rows[row].key;
	if (key == TIDE_GROUP_BEFORE)
		fputs("(before the recording)", out);
	else
		kinds[g->by](&l, key);
}

const char *tide__sampled_when(const tide_sampled_device *x, char *buf, size_t n)
{
	char t[32], since[32];
	if (tide__sampled_by_own(x))
		snprintf(buf, n, "between %s and %s by its own counter",
			 tide__fmt_at(since, sizeof since, (double)x->own_since),
			 tide__fmt_at(t, sizeof t, (double)x->own_told));
	else if (x->peak == TIDE_SAMPLED_NONE)
		snprintf(buf, n, "at -");
	else
		snprintf(buf, n, "at %s", tide__fmt_at(t, sizeof t, (double)x->peak_t));
	return buf;
}
