// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/critical/critical_path.h"

#include <string.h>

#include "analyze/device/collective_names.h"
#include "analyze/device/gpu_rows.h"
#include "analyze/critical/critical_impl.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

const char *tide__cp_edge_text(tide_cp_edge_type t)
{
	static const char *const texts[] = {
#define X(name, text) text,
		TIDE_CP_EDGES(X)
#undef X
	};
	return texts[t];
}

const char *tide__cp_bound_text(tide_cp_bound b)
{
	static const char *const texts[] = {
#define X(name, text) text,
		TIDE_CP_BOUNDS(X)
#undef X
	};
	return texts[b];
}

/* ---- the window ---- */

/* In exact frames, annotations of a stream repeat those of the host and do not make windows. */
static bool matches(const crit *c, size_t i, const char *annotation)
{
	if (!*annotation)
		return true;
	if (crit_exact(c) &&
	    c->m->lanes.kind[c->m->spans.lane[c->f->span[i].i].i] == TIDE_LANE_STREAM)
		return false;
	return strstr(crit_name(c, i), annotation);
}

/* Returns false, with a window of 0 ns at 0, if no row makes one. */
static bool window(const crit *c, const tide_critical_search_options *opt, tide_critical_path *out)
{
	int64_t seen = 0, start = INT64_MAX, end = INT64_MIN;
	for (size_t i = 0; i < c->f->n; i++) {
		if (!matches(c, i, opt->annotation))
			continue;
		int64_t k = seen++;
		if (*opt->annotation && (k < opt->first || k > opt->last))
			continue;
		if (c->f->ts[i] < start)
			start = c->f->ts[i];
		if (c->f->ts[i] + c->f->dur[i] > end)
			end = c->f->ts[i] + c->f->dur[i];
	}
	out->matches = seen;
	out->window = start <= end;
	if (out->window) {
		out->start = start;
		out->end = end;
	}
	return out->window;
}

/* Selects CPU rows that start in the window, and the GPU rows that they launched. */
static void clip(crit *c, const tide_critical_path *w)
{
	const tide_compat_frame *f = c->f;
	for (size_t i = 0; i < f->n; i++)
		if (f->stream[i] == -1)
			c->in[i] = f->ts[i] >= w->start && f->ts[i] <= w->end && f->dur[i] > 0;
	for (size_t i = 0; i < f->n; i++) {
		if (f->stream[i] == -1)
			continue;
		int64_t call = tide__compat_frame_row(f, f->link[i]);
		bool back = call >= 0 && f->link[i] > 0 && f->stream[call] == -1 &&
			    (f->unit > 1 ||
			     f->link[call] == f->event[i]); /* graph launches: one in compat */
		c->in[i] = (back && c->in[call]) || !strcmp(crit_name(c, i), "Stream Wait Event");
	}
}

/* ---- nodes ---- */

tide_keyed *tide__critical_reserve(size_t n)
{
	return n <= SIZE_MAX / 2 ? tide__alloc(2 * n, sizeof(tide_keyed)) : NULL;
}

void tide__critical_sort(tide_keyed *k, size_t n)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		least = k[i].key < least ? k[i].key : least;
	for (size_t i = 0; i < n; i++) /* short numbers are sorted faster */
		k[i].key -= least;
	tide__sort_keyed(k, n, k + n);
}

static bool wants_nodes(const crit *c, size_t i, const char *data)
{
	unsigned cat = crit_cat(c, i);
	if (!c->in[i])
		return false;
	return cat == TIDE_CAT_OP || cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER ||
	       (c->f->stream[i] != -1 && c->f->link[i] >= 0) ||
	       (data && strstr(crit_name(c, i), data));
}

/* Makes the nodes in order of time; at equal times by event (and so by row), the start of an event
 * before its end. */
static bool make_nodes(crit *c, const char *data)
{
	const tide_compat_frame *f = c->f;
	tide_keyed *s = tide__critical_reserve(2 * f->n);
	size_t n = 0;
	for (uint32_t i = 0, j; s && i < f->n; i = j) {
		for (j = i; j < f->n && f->event[j] == f->event[i]; j++)
			if (wants_nodes(c, j, data))
				crit_put(&s[n++], f->ts[j], (uint64_t)j << 1 | 1);
		for (uint32_t k = i; k < j; k++)
			if (wants_nodes(c, k, data))
				crit_put(&s[n++], f->ts[k] + f->dur[k], (uint64_t)k << 1);
	}
	c->nodes = s ? tide__alloc(n, sizeof *c->nodes) : NULL;
	if (c->nodes)
		tide__critical_sort(s, n);
	for (size_t i = 0; c->nodes && i < n; i++) {
		uint32_t row = (uint32_t)(s[i].id >> 1);
		bool start = s[i].id & 1;
		c->nodes[i] = (crit_node){ f->ts[row] + (start ? 0 : f->dur[row]), row, start };
		*(start ? &c->begin[row] : &c->end[row]) = (uint32_t)i + 1;
	}
	c->n_nodes = n;
	tide__free(s);
	return c->nodes && tide__cg_init(&c->g, n);
}

/* ---- edges ---- */

/* Returns the row an edge's time is attributed to: within one op that op; between ops the enclosing
 * op, which began last of those open (where ops cross, another one may end first). */
static int64_t owner(const crit *c, uint32_t from, uint32_t to, tide_cp_edge_type type,
		     int64_t parent)
{
	if (type == TIDE_CP_KERNEL_DELAY || c->nodes[from].start)
		return c->nodes[from].row;
	bool crosses = crit_exact(c) && parent >= 0 && c->begin[parent] &&
		       c->f->ts[parent] + c->f->dur[parent] >= c->nodes[to].t;
	return c->nodes[to].start || crosses ? parent : (int64_t)c->nodes[to].row;
}

bool tide__critical_add_edge(crit *c, uint32_t from, uint32_t to, tide_cp_edge_type type, bool zero,
			     int64_t parent)
{
	if (from == to) {
		c->why = "an edge leads from a moment to itself";
		return true;
	}
	bool free_ = zero || type == TIDE_CP_DEPENDENCY || type == TIDE_CP_SYNC;
	int64_t weight = free_ ? 0 : c->nodes[to].t - c->nodes[from].t;
	if (weight < 0 && c->f->unit > 1)
		weight = 0; /* the host's clock and the device's disagree */
	tide_cg_edge *e = tide__cg_add_edge(&c->g, from, to, (uint8_t)type, weight);
	if (e && type == TIDE_CP_LAUNCH_DELAY && crit_exact(c))
		e->owner = parent; /* the row it waited for, from before the window */
	if (e && (type == TIDE_CP_OPERATOR || type == TIDE_CP_KERNEL_DELAY))
		e->owner = owner(c, from, to, type, parent);
	return e != NULL;
}

/* Checks for a synchronisation between rows of one stream, which would mean that the trace was
 * misread. */
static void validate(crit *c)
{
	for (size_t i = 0; i < c->g.n_edges; i++) {
		const tide_cg_edge *e = &c->g.edges[i];
		int64_t a = c->f->stream[c->nodes[e->from].row],
			b = c->f->stream[c->nodes[e->to].row];
		if (e->type == TIDE_CP_SYNC && a != -1 && a == b)
			c->why = "a synchronisation between kernels of one stream";
	}
}

/* ---- the result ---- */

/* In exact frames, uses the rule of all other analyses (docs/analyses/hta.md). */
static bool communicates(const crit *c, size_t row, const char *name)
{
	if (!crit_exact(c))
		return tide__compat_type(name) == TIDE_COMPAT_COMMUNICATION;
	static const char key[] = "Collective name";
	tide_str k = { tide__strings_find(c->m->strings, key, sizeof key - 1) };
	return crit_cat(c, row) == TIDE_CAT_KERNEL &&
	       (tide__comm_name(name) || (k.i && tide__attr_find(c->m, c->f->span[row], k) >= 0));
}

/* The same rule for copies and fills. HTA counts them as compute. */
static bool copies(const crit *c, size_t row, const char *name)
{
	unsigned cat = crit_cat(c, row);
	return crit_exact(c) && (cat == TIDE_CAT_MEMCPY || cat == TIDE_CAT_MEMSET ||
				 (cat == TIDE_CAT_KERNEL && tide__copy_name(name)));
}

/* In exact frames, a begin long after the call is not launch overhead. */
static tide_cp_bound late_launch(const crit *c, const tide_cg_edge *e)
{
	size_t call = c->nodes[e->from].row;
	int64_t after = c->nodes[e->to].t - c->f->ts[call] - c->f->dur[call];
	if (e->owner >= 0)
		return TIDE_CP_BOUND_BEFORE;
	return after > CRIT_LATE_US * c->f->unit ? TIDE_CP_BOUND_QUEUED : TIDE_CP_BOUND_LAUNCH;
}

static tide_cp_bound bound_of(const crit *c, const tide_cg_edge *e, const char *data)
{
	static const tide_cp_bound fixed[TIDE_CP_EDGE_TYPES] = { [TIDE_CP_KERNEL_DELAY] =
									 TIDE_CP_BOUND_KERNEL_GAP,
								 [TIDE_CP_LAUNCH_DELAY] =
									 TIDE_CP_BOUND_LAUNCH };
	if (e->type == TIDE_CP_LAUNCH_DELAY && crit_exact(c))
		return late_launch(c, e);
	if (e->type != TIDE_CP_OPERATOR)
		return fixed[e->type];
	if (e->owner < 0)
		return TIDE_CP_BOUND_CPU;
	const char *name = crit_name(c, (size_t)e->owner);
	if (c->f->stream[e->owner] < 0)
		return data && strstr(name, data) ? TIDE_CP_BOUND_DATA : TIDE_CP_BOUND_CPU;
	return communicates(c, (size_t)e->owner, name) ? TIDE_CP_BOUND_COMM
	       : copies(c, (size_t)e->owner, name)     ? TIDE_CP_BOUND_MEMORY
						       : TIDE_CP_BOUND_COMPUTE;
}

/* Rows are in order of events, so those on the path only need to be marked. */
static bool path_events(const crit *c, const uint32_t *path, size_t n, tide_critical_path *out)
{
	bool *on = tide__calloc(c->f->n, sizeof *on);
	size_t rows = 0;
	for (size_t i = 0; on && i < n; i++)
		on[c->nodes[c->g.edges[path[i]].from].row] = true;
	if (on && n)
		on[c->nodes[c->g.edges[path[n - 1]].to].row] = true;
	for (size_t i = 0; on && i < c->f->n; i++)
		rows += on[i];
	out->events = on ? tide__alloc(rows, sizeof *out->events) : NULL;
	for (size_t i = 0; out->events && i < c->f->n; i++)
		if (on[i]) /* exact frames count from 1 */
			out->events[out->n_events++] = c->f->event[i] - (c->f->unit > 1);
	tide__free(on);
	return out->events;
}

static bool report(const crit *c, const uint32_t *path, size_t n, const char *data,
		   tide_critical_path *out)
{
	out->path = tide__calloc(n + 1, sizeof *out->path);
	if (!out->path || !path_events(c, path, n, out))
		return false;
	for (size_t i = 0; i < n; i++) {
		const tide_cg_edge *e = &c->g.edges[path[i]];
		tide_cp_bound b = bound_of(c, e, data);
		out->path[i] =
			(tide_cp_step){ (tide_cp_edge_type)e->type,
					b,
					e->weight,
					e->owner < 0 ? (tide_span_id){ 0 } : c->f->span[e->owner],
					c->nodes[e->from].t,
					c->nodes[e->to].t };
		out->length += e->weight;
		out->by_type[e->type] += e->weight;
		out->by_bound[b] += e->weight;
	}
	out->n_path = n;
	out->path_nodes = n ? n + 1 : 0;
	out->found = n > 0;
	if (!n)
		out->why =
			c->n_nodes
				? "nothing in the window takes time"
				: "no span in the window is an op, a runtime call or device work "
				  "(cat cpu_op, cuda_runtime, kernel ...)";
	return true;
}

static bool solve(crit *c, const char *data, tide_critical_path *out)
{
	out->nodes = c->g.n_ranked;
	out->edges = c->g.n_edges;
	for (size_t i = 0; i < c->g.n_edges; i++)
		out->edge_count[c->g.edges[i].type]++;
	validate(c);
	out->why = c->why;
	if (c->why)
		return true;
	uint32_t *path;
	size_t n;
	bool cyclic, ok = tide__cg_find_longest(&c->g, &path, &n, &cyclic);
	if (cyclic)
		out->why = "the graph of dependencies has a cycle";
	else if (ok)
		ok = report(c, path, n, data, out);
	tide__free(path);
	return ok;
}

static bool make_room(crit *c)
{
	size_t n = c->f->n;
	c->in = tide__calloc(n, sizeof *c->in);
	c->begin = tide__calloc(n, sizeof *c->begin);
	c->end = tide__calloc(n, sizeof *c->end);
	c->names = tide__calloc((size_t)tide__strings_count(c->m->strings) + 1, 1);
	c->queue = tide__alloc(n, sizeof *c->queue);
	c->pending = tide__alloc(n, sizeof *c->pending);
	for (size_t i = 0; c->queue && c->pending && i < n; i++)
		c->queue[i] = c->pending[i] = INT64_MIN;
	return c->in && c->begin && c->end && c->names && c->queue && c->pending;
}

tide_code tide__find_critical_path(const tide_model *m, const tide_compat_frame *f,
				   const tide_critical_search_options *opt, tide_critical_path *out,
				   tide_error *err)
{
	crit c = { .m = m, .f = f };
	*out = (tide_critical_path){ 0 };
	bool ok = make_room(&c);
	if (ok && !window(&c, opt, out)) {
		out->why = *opt->annotation ? "no such annotation in the trace"
					    : "the trace has no spans";
	} else if (ok) {
		clip(&c, out);
		ok = make_nodes(&c, opt->data_loading) && tide__critical_find_queue(&c) &&
		     tide__critical_add_cpu(&c) && tide__critical_add_gpu(&c) &&
		     (!crit_exact(&c) || tide__critical_add_waits(&c)) &&
		     solve(&c, opt->data_loading, out);
	}
	tide__free(c.in);
	tide__free(c.begin);
	tide__free(c.end);
	tide__free(c.names);
	tide__free(c.queue);
	tide__free(c.pending);
	tide__free(c.nodes);
	tide__cg_free(&c.g);
	if (ok)
		return TIDE_OK;
	tide__critical_path_free(out);
	return tide__nomem(err);
}

void tide__critical_path_free(tide_critical_path *c)
{
	tide__free(c->path);
	tide__free(c->events);
	*c = (tide_critical_path){ 0 };
}
