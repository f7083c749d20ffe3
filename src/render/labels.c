// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/labels.h"

#include <inttypes.h>

#include "render/grid.h"

static void put(FILE *out, const tide_model *m, tide_str s, const char *none)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	if (n)
		fwrite(text, 1, n, out);
	else
		fputs(none, out);
}

static void label_op(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	char buf[4096];
	fputs(key ? tide__paths_text(&g->paths, m, (uint32_t)key, buf, sizeof buf)
		  : "(outside any op)",
	      out);
}

static void frame_text(const tide_model *m, uint32_t f, FILE *out)
{
	put(out, m, m->frames.function[f], "?");
	if (m->frames.file[f].i) {
		fputs(" (", out);
		put(out, m, m->frames.file[f], "?");
		if (m->frames.line[f])
			fprintf(out, ":%" PRIu32, m->frames.line[f]);
		fputs(")", out);
	}
}

static void label_stack(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	enum {
		MAX = 128
	}; /* frames shown; the outermost of a deeper stack are left out and said so */
	uint32_t way[MAX], n = 0, s = (uint32_t)key;
	if (!key) {
		fputs("(no stack)", out);
		return;
	}
	for (; s && n < MAX; s = m->stacks.parent[s].i)
		way[n++] = m->stacks.frame[s].i;
	if (s)
		fputs("... > ", out);
	while (n--) {
		frame_text(m, way[n], out);
		fputs(n ? " > " : "", out);
	}
}

static void label_tensor(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	size_t n;
	const char *text = tide__strings_get(g->labels, (uint32_t)key, &n);
	if (key)
		fwrite(text, 1, n, out);
	else
		fputs("(no tensor)", out);
}

static void label_role(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	fputs(tide__role_text((unsigned)key), out);
}

static void label_pool(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	put(out, m, m->pools.name[key],
	    key ? tide__pool_kind_text(m->pools.kind[key]) : "(no pool)");
}

static void label_stream(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	if (!key)
		fputs("(no stream)", out);
	else if (m->lanes.name[key].i)
		put(out, m, m->lanes.name[key], "");
	else
		fprintf(out, "stream %" PRId64, m->lanes.number[key]);
}

/* A power of two in its unit: "512 KiB". */
static void power(unsigned shift, FILE *out)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	fprintf(out, "%u %s", 1u << shift % 10, units[shift / 10]);
}

static void label_size(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	if (!key) {
		fputs("0 B", out);
		return;
	}
	power((unsigned)key - 1, out);
	fputs(" - ", out);
	power((unsigned)key, out);
}

static void label_frame(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	if (key)
		frame_text(m, (uint32_t)key, out);
	else
		fputs("(no stack)", out);
}

static void label_module(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out)
{
	fputs(key ? tide__module_text(m, (tide_str){ (uint32_t)key }) : "(outside any module)",
	      out);
}

static void (*const kinds[])(const tide_groups *g, const tide_model *m, uint64_t key, FILE *out) = {
	[TIDE_BY_OP] = label_op,     [TIDE_BY_STACK] = label_stack, [TIDE_BY_TENSOR] = label_tensor,
	[TIDE_BY_ROLE] = label_role, [TIDE_BY_POOL] = label_pool,   [TIDE_BY_STREAM] = label_stream,
	[TIDE_BY_SIZE] = label_size, [TIDE_BY_FRAME] = label_frame, [TIDE_BY_MODULE] = label_module,
};

void tide__groups_label(const tide_groups *g, const tide_model *m, size_t row, FILE *out)
{
	uint64_t key = g->rows[row].key;
	if (key == TIDE_GROUP_BEFORE)
		fputs("(before the recording)", out);
	else
		kinds[g->by](g, m, key, out);
}

const char *tide__device_name(const tide_model *m, uint32_t d, char *buf, size_t n)
{
	if (!d || d >= m->devices.n)
		snprintf(buf, n, "?");
	else if (m->devices.kind[d] == TIDE_DEVICE_HOST && !m->devices.index[d])
		snprintf(buf, n, "cpu");
	else
		snprintf(buf, n, "%s:%" PRId64, tide__device_kind_name(m, d), m->devices.index[d]);
	return buf;
}

const char *tide__sampled_when(const tide_sampled_device *x, char *buf, size_t n)
{
	char t[32], since[32];
	if (tide__sampled_by_own(x))
		snprintf(buf, n, "between %s and %s as its own counter says",
			 tide__fmt_ns(since, sizeof since, (double)x->own_since),
			 tide__fmt_ns(t, sizeof t, (double)x->own_told));
	else if (x->peak == TIDE_SAMPLED_NONE)
		snprintf(buf, n, "at -");
	else
		snprintf(buf, n, "at %s", tide__fmt_ns(t, sizeof t, (double)x->peak_t));
	return buf;
}
