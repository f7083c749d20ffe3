// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/paths.h"

#include <string.h>

#include "base/mem.h"

static bool grow(tide_paths *p)
{
	size_t cap = p->cap; /* of both */
	return p->n < UINT32_MAX - 1 && TIDE_ROOM(p->parent, cap, p->n + 1) &&
	       TIDE_ROOM(p->name, p->cap, p->n + 1);
}

bool tide__paths_init(tide_paths *p)
{
	*p = (tide_paths){ 0 };
	if (!grow(p))
		return false;
	p->parent[0] = 0;
	p->name[0] = (tide_str){ 0 };
	p->n = 1;
	return true;
}

void tide__paths_free(tide_paths *p)
{
	tide__free(p->parent);
	tide__free(p->name);
	tide__map_free(&p->nodes);
	tide__map_free(&p->spans);
	tide__free(p->of_span);
	*p = (tide_paths){ 0 };
}

uint32_t tide__paths_add_child(tide_paths *p, uint32_t parent, tide_str name)
{
	uint64_t key = (uint64_t)parent << 32 | name.i;
	uint32_t node = tide__map_get(&p->nodes, key);
	if (node)
		return node;
	if (p->n == p->cap && !grow(p))
		return TIDE_NO_PATH;
	node = (uint32_t)p->n;
	if (!tide__map_put(&p->nodes, key, node))
		return TIDE_NO_PATH;
	p->parent[node] = parent;
	p->name[node] = name;
	p->n++;
	return node;
}

bool tide__paths_prepare_all(tide_paths *p, const tide_model *m)
{
	p->of_span = tide__calloc(m->spans.n, sizeof *p->of_span);
	return p->of_span != NULL;
}

static uint32_t known_node(const tide_paths *p, uint32_t span)
{
	return p->of_span ? p->of_span[span] : tide__map_get(&p->spans, span);
}

static bool remember(tide_paths *p, uint32_t span, uint32_t node)
{
	if (!p->of_span)
		return tide__map_put(&p->spans, span, node + 1);
	p->of_span[span] = node + 1;
	return true;
}

static bool is_step(const tide_model *m, uint32_t span)
{
	static const char step[] = "ProfilerStep#";
	return !strncmp(tide__text(m, m->spans.name[span], NULL), step, sizeof step - 1);
}

static bool is_left_out(const tide_paths *p, const tide_model *m, uint32_t span)
{
	return (p->no_steps && is_step(m, span)) ||
	       (p->no_overhead && m->spans.cat[span] == TIDE_CAT_OVERHEAD);
}

/* Climbs to the nearest span whose node is known, then names nodes on the way back down. */
uint32_t tide__paths_add_span(tide_paths *p, const tide_model *m, tide_span_id span)
{
	uint32_t s = span.i, known = 0, n = 0;
	for (; s && !(known = known_node(p, s)); n++)
		s = m->spans.parent[s].i;
	uint32_t node = s ? known - 1 : 0;
	if (!n)
		return node;
	uint32_t near[32], *way = n <= 32 ? near : tide__alloc(n, sizeof *way);
	if (!way)
		return TIDE_NO_PATH;
	s = span.i;
	for (uint32_t k = 0; k < n; k++, s = m->spans.parent[s].i)
		way[k] = s;
	while (n-- && node != TIDE_NO_PATH) {
		if (!is_left_out(p, m, way[n]))
			node = tide__paths_add_child(p, node, m->spans.name[way[n]]);
		if (node != TIDE_NO_PATH && !remember(p, way[n], node))
			node = TIDE_NO_PATH;
	}
	if (way != near)
		tide__free(way);
	return node;
}

char *tide__paths_text(const tide_paths *p, const tide_model *m, uint32_t node, char *buf, size_t n)
{
	size_t at = n - 1; /* built from the end: the innermost name comes first */
	buf[at] = 0;
	for (bool inner = true; node; node = p->parent[node], inner = false) {
		size_t len;
		const char *name = tide__text(m, p->name[node], &len);
		if (!len) {
			name = "(unnamed)";
			len = strlen(name);
		}
		if (len + 5 > at) {
			if (at >= 4)
				memcpy(buf + (at -= 4), ".../", 4);
			break;
		}
		if (!inner)
			buf[--at] = '/';
		memcpy(buf + (at -= len), name, len);
	}
	memmove(buf, buf + at, n - at);
	return buf;
}
