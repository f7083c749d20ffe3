// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fills the tree from a model, with 3 ways to find a path and a weight. Paths are found
 * lazily and kept per span and per stack, so a GPU graph only holds host spans that launched
 * something. All chains lead to smaller rows (S1, stacks.parent), so they end on any input. */
#include "analyze/ops/flame.h"

#include <string.h>

#include "analyze/live/live_set.h"
#include "analyze/common/interval_set.h"
#include "model/names.h"
#include "analyze/common/self_time.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct builder {
	const tide_model *m;
	const tide_flame_options *opt;
	tide_flame *f;
	uint32_t *names;    /* per text of the model: text of the flame; 0 = not yet */
	uint32_t *frames;   /* per frame of the model: the same */
	uint32_t *of_span;  /* per span: node of its path + 1; 0 = not yet */
	uint32_t *of_stack; /* per stack: node of its path; 0 = not yet */
	uint32_t *of_lane;  /* per lane: its node */
	uint32_t *todo;	    /* chain being resolved, outermost last */
	size_t n_todo, cap_todo;
	tide_order_path *order; /* per lane, when time order is kept */
	uint64_t long_bytes;	/* bytes of long texts in frames' names so far */
	bool failed;
} builder;

/* Adds weight for a node, next in time on its lane (0 if lanes are merged). */
static void weigh(builder *b, uint32_t lane, uint32_t node, uint64_t self, uint64_t count)
{
	b->f->nodes.self[node] += self;
	b->f->nodes.count[node] += count;
	if (b->order && !tide__flame_order_add(b->f, &b->order[lane], node, self, count))
		b->failed = true;
}

/* ---- names ---- */

static uint32_t text(builder *b, const char *s)
{
	return tide__flame_text(b->f, s, strlen(s));
}

static bool is_step(const char *s, size_t n)
{
	static const char step[] = "ProfilerStep#";
	return n > sizeof step - 1 && !memcmp(s, step, sizeof step - 1);
}

static uint32_t span_name(builder *b, tide_str id)
{
	size_t n;
	if (b->names[id.i])
		return b->names[id.i];
	const char *s = tide__text(b->m, id, &n);
	b->names[id.i] = b->opt->merge_steps && is_step(s, n) ? text(b, "ProfilerStep#*")
							      : tide__flame_text(b->f, s, n);
	return b->names[id.i];
}

/* Returns the id of the text "function (file:line)", as far as known. */
static uint32_t frame_name(builder *b, tide_frame_id id)
{
	size_t n;
	if (b->frames[id.i])
		return b->frames[id.i];
	char *s = tide__frame_full_name(b->m, id, !b->opt->no_lines, &b->long_bytes, &n);
	if (!s)
		return 0;
	b->frames[id.i] = tide__flame_text(b->f, s, n);
	tide__free(s);
	return b->frames[id.i];
}

/* ---- paths ---- */

static bool todo_push(builder *b, uint32_t row)
{
	if (!TIDE_ROOM(b->todo, b->cap_todo, b->n_todo + 1))
		return false;
	b->todo[b->n_todo++] = row;
	return true;
}

static bool lane_node(builder *b, tide_lane_id lane, uint32_t *node)
{
	char s[200];
	*node = b->of_lane[lane.i];
	if (*node || b->opt->merge || b->opt->kind != TIDE_FLAME_CPU)
		return true;
	size_t before = b->f->nodes.n;
	tide__lane_name(b->m, lane, s, sizeof s - 40);
	*node = tide__flame_get_child(b->f, 0, text(b, s), TIDE_NODE_LANE);
	if (*node && *node < before) { /* another lane has this name: one of another process */
		tide__lane_name_in_process(b->m, lane, s, sizeof s);
		*node = tide__flame_get_child(b->f, 0, text(b, s), TIDE_NODE_LANE);
	}
	return (b->of_lane[lane.i] = *node) != 0;
}

/* Returns true if this span is part of paths: work or a user range. */
static bool visible(const builder *b, uint32_t span)
{
	return b->m->spans.cat[span] == TIDE_CAT_USER || tide__side(b->m, span) != TIDE_SIDE_NONE;
}

static uint32_t child_of(builder *b, uint32_t node, uint32_t span)
{
	const tide_spans *s = &b->m->spans;
	unsigned type = tide__cat_is_gpu(s->cat[span]) ? TIDE_NODE_KERNEL : TIDE_NODE_SPAN;
	return tide__flame_get_child(b->f, node, span_name(b, s->name[span]), type);
}

/* Gets the node of the path down to `span`, creating parents first. Returns false if memory runs
 * out. */
static bool span_path(builder *b, uint32_t span, uint32_t *node)
{
	const tide_spans *s = &b->m->spans;
	uint32_t up = span;
	b->n_todo = 0;
	for (; up && !b->of_span[up]; up = s->parent[up].i)
		if (!todo_push(b, up))
			return false;
	if (up)
		*node = b->of_span[up] - 1;
	else if (!lane_node(b, s->lane[span], node))
		return false;
	while (b->n_todo) {
		uint32_t row = b->todo[--b->n_todo];
		if (visible(b, row) && !(*node = child_of(b, *node, row)))
			return false;
		b->of_span[row] = *node + 1;
	}
	return true;
}

static bool stack_path(builder *b, uint32_t stack, uint32_t *node)
{
	const tide_stacks *s = &b->m->stacks;
	uint32_t up = stack;
	b->n_todo = 0;
	for (; up && !b->of_stack[up]; up = s->parent[up].i)
		if (!todo_push(b, up))
			return false;
	*node = b->of_stack[up];
	while (b->n_todo) {
		uint32_t row = b->todo[--b->n_todo];
		tide_frame_id frame = s->frame[row];
		*node = tide__flame_get_child(b->f, *node, frame_name(b, frame), TIDE_NODE_FRAME);
		if (!*node)
			return false;
		b->f->nodes.frame[*node] = frame;
		b->of_stack[row] = *node;
	}
	return true;
}

static bool note_path(builder *b, const char *s, uint32_t *node)
{
	*node = tide__flame_get_child(b->f, 0, text(b, s), TIDE_NODE_NOTE);
	return *node != 0;
}

/* ---- CPU: the owner of each moment of a lane ---- */

static void own(void *user, uint32_t span, int64_t ns)
{
	builder *b = user;
	weigh(b, b->m->spans.lane[span].i, b->of_span[span] - 1, (uint64_t)ns, 0);
}

static bool cpu_span(const builder *b, uint32_t i)
{
	return b->m->spans.cat[i] == TIDE_CAT_USER || tide__side(b->m, i) == TIDE_SIDE_CPU;
}

static bool cpu_walk(builder *b, tide_self_times *times)
{
	const tide_spans *s = &b->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		uint32_t node, around = b->of_span[s->parent[i].i];
		if (!cpu_span(b, i))
			continue;
		if (around) /* the usual case: its path is known */
			b->of_span[i] = (node = child_of(b, around - 1, i)) + 1;
		else if (!span_path(b, i, &node))
			return false;
		if (!node)
			return false;
		tide__self_begin(times, i);
		weigh(b, s->lane[i].i, node, 0, 1);
	}
	tide__self_end(times);
	return true;
}

static bool build_cpu(builder *b)
{
	tide_self_times times;
	bool ok = tide__self_init(&times, b->m, own, b) && cpu_walk(b, &times);
	tide__self_free(&times);
	return ok;
}

/* ---- GPU ---- */

static bool build_gpu(builder *b)
{
	const tide_spans *s = &b->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		uint32_t node, cause = tide__launched_by(b->m, i);
		if (tide__side(b->m, i) != TIDE_SIDE_GPU)
			continue;
		bool ok = cause ? span_path(b, cause, &node)
				: note_path(b, "[launch not recorded]", &node);
		if (ok)
			node = tide__flame_get_child(b->f, node, span_name(b, s->name[i]),
						     TIDE_NODE_KERNEL);
		if (!ok || !node)
			return false;
		weigh(b, 0, node, (uint64_t)(tide__span_end(b->m, i) - s->t0[i]), 1);
	}
	return true;
}

/* ---- memory: peak and live set are those of analyze/live/usage.h and live_set.h ---- */

static bool is_of_device(const tide_model *m, size_t alloc, uint32_t device)
{
	uint32_t pool = m->allocs.pool[alloc].i;
	return m->pools.device[pool].i == device && tide__pool_in_device(m, pool);
}

static bool any_stack(const tide_model *m)
{
	for (size_t i = 1; i < m->allocs.n; i++)
		if (m->allocs.stack[i].i)
			return true;
	return false;
}

static bool alloc_path(builder *b, uint32_t a, bool by_stack, uint32_t *node)
{
	const tide_allocs *t = &b->m->allocs;
	if (by_stack && t->stack[a].i)
		return stack_path(b, t->stack[a].i, node);
	if (!by_stack && t->span[a].i)
		return span_path(b, t->span[a].i, node);
	if (t->flags[a] & TIDE_ALLOC_BEFORE)
		return note_path(b, "[before the recording]", node);
	return note_path(b, by_stack ? "[no stack recorded]" : "[outside any op]", node);
}

static bool weigh_allocs(builder *b, const uint8_t *alive)
{
	const tide_model *m = b->m;
	bool by_stack = b->opt->by == TIDE_FLAME_BY_STACK ||
			(b->opt->by == TIDE_FLAME_BY_AUTO && any_stack(m));
	for (uint32_t i = 1; i < m->allocs.n; i++) {
		uint32_t node;
		bool weighs = b->opt->left ? m->allocs.died[i] == TIDE_T_NEVER
					   : alive[i] || b->opt->allocated;
		if (!weighs || !is_of_device(m, i, b->f->device.i))
			continue;
		if (!alloc_path(b, i, by_stack, &node))
			return false;
		weigh(b, 0, node, m->allocs.size[i], 1);
		b->f->nodes.peak_bytes[node] += alive[i] ? m->allocs.size[i] : 0;
		b->f->nodes.peak_count[node] += alive[i];
	}
	return true;
}

/* One bit per alloc: alive at the peak of the device of the graph. */
static bool find_peak(builder *b, uint8_t *alive)
{
	tide_usage u = { 0 };
	tide_live_set a = { 0 };
	bool ok = tide__find_usage(b->m, UINT64_MAX, 0, &u, NULL) == TIDE_OK;
	uint32_t d = b->opt->device ? b->opt->device : ok ? tide__usage_highest(&u) : 0;
	if (ok && d < u.n_devices) {
		b->f->device.i = d;
		b->f->peak_ns = u.devices[d].peak_t;
		ok = tide__live_set_at(b->m, u.devices[d].peak_position, d, TIDE_ANY, &a, NULL) ==
		     TIDE_OK;
	}
	for (size_t i = 0; ok && i < a.n; i++)
		alive[a.rows[i]] = 1;
	tide__live_set_free(&a);
	tide__usage_free(&u);
	return ok;
}

static bool build_memory(builder *b)
{
	uint8_t *alive = tide__calloc(b->m->allocs.n, 1);
	b->f->bytes = true;
	bool ok = alive && find_peak(b, alive) && weigh_allocs(b, alive);
	tide__free(alive);
	return ok;
}

/* ---- all of it ---- */

static const struct {
	bool (*build)(builder *b);
	const char *root;
} kinds[] = {
	[TIDE_FLAME_CPU] = { build_cpu, "CPU" },
	[TIDE_FLAME_GPU] = { build_gpu, "GPU" },
	[TIDE_FLAME_MEMORY] = { build_memory, "memory" },
};

static bool begin(builder *b)
{
	const tide_model *m = b->m;
	b->f = tide__flame_new(kinds[b->opt->kind].root);
	b->names = tide__calloc((size_t)tide__strings_count(m->strings) + 1, sizeof *b->names);
	b->frames = tide__calloc(m->frames.n, sizeof *b->frames);
	b->of_span = tide__calloc(m->spans.n, sizeof *b->of_span);
	b->of_stack = tide__calloc(m->stacks.n, sizeof *b->of_stack);
	b->of_lane = tide__calloc(m->lanes.n, sizeof *b->of_lane);
	if (b->f)
		b->f->kind = b->opt->kind;
	if (b->opt->ordered && !(b->order = tide__calloc(m->lanes.n, sizeof *b->order)))
		return false;
	return b->f && b->names && b->frames && b->of_span && b->of_stack && b->of_lane;
}

static void end(builder *b)
{
	tide__free(b->names);
	tide__free(b->frames);
	tide__free(b->of_span);
	tide__free(b->of_stack);
	tide__free(b->of_lane);
	tide__free(b->todo);
	for (size_t i = 0; b->order && i < b->m->lanes.n; i++)
		tide__free(b->order[i].levels);
	tide__free(b->order);
}

tide_code tide__find_flame(const tide_model *m, const tide_flame_options *opt, tide_flame **out,
			   tide_error *err)
{
	static const tide_flame_options plain;
	builder b = { .m = m, .opt = opt ? opt : &plain };
	bool ok = begin(&b) && kinds[b.opt->kind].build(&b) && !b.failed && tide__flame_finish(b.f);
	end(&b);
	*out = ok ? b.f : NULL;
	if (ok && (b.opt->min_value || b.opt->small_ppm || b.opt->max_depth)) {
		*out = tide__flame_fold(b.f, b.opt);
		ok = *out != NULL;
		tide__flame_free(b.f);
	} else if (!ok) {
		tide__flame_free(b.f);
	}
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_flame_kind tide__flame_mostly(const tide_model *m)
{
	bool cpu = false;
	for (size_t i = 1; i < m->spans.n && m->axis == TIDE_AXIS_TIME; i++) {
		tide_side side = tide__side(m, i);
		if (side == TIDE_SIDE_GPU)
			return TIDE_FLAME_GPU;
		cpu |= side == TIDE_SIDE_CPU;
	}
	return cpu || m->allocs.n <= 1 ? TIDE_FLAME_CPU : TIDE_FLAME_MEMORY;
}
