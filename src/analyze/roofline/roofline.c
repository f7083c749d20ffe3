// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the calls whose cost is known, and the device time of each. */
#include "analyze/roofline/roofline.h"

#include <math.h>
#include <string.h>

#include "analyze/common/innermost_op.h"
#include "analyze/common/interval_set.h"
#include "analyze/common/span_args.h"
#include "analyze/roofline/roofline_impl.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

const char *const tide__roof_why_text[TIDE_N_ROOF_GAPS] = {
#define X(name, text) [TIDE_ROOF_##name] = text,
	TIDE_ROOF_GAPS(X)
#undef X
};

enum { NO_COST = UINT32_MAX };

/* ---- names ---- */

static bool find_rules(tide_roof_work *w)
{
	char name[128];
	w->rule = tide__calloc((size_t)tide__strings_count(w->m->strings) + 1, sizeof *w->rule);
	if (!w->rule)
		return false;
	for (size_t i = 0; i < tide__op_rules_count; i++) {
		const tide_op_rule *r = &tide__op_rules[i];
		size_t n = strlen(r->name);
		memcpy(name, r->name, n);
		name[n] = '_';
		uint32_t plain = tide__strings_find(w->m->strings, name, n),
			 again = r->again ? tide__strings_find(w->m->strings, name, n + 1) : 0;
		if (plain)
			w->rule[plain] = (uint16_t)(i + 1);
		if (again && !w->rule[again])
			w->rule[again] = (uint16_t)(i + 1);
	}
	return true;
}

static bool in_place(const tide_model *m, tide_str name)
{
	size_t n;
	const char *s = tide__text(m, name, &n);
	return n && s[n - 1] == '_';
}

/* ---- recomputation ---- */

/* Modules that run in the backward pass are recomputed (modules.h). So are ops there whose own
 * backward op follows: nothing else records a graph while the backward runs. */
static tide_code find_again(tide_roof_work *w, tide_error *err)
{
	const tide_model *m = w->m;
	tide_code rc = tide__modules_find_passes(m, &w->modules, err);
	if (rc != TIDE_OK)
		return rc;
	const uint8_t *pass = w->modules.pass;
	w->again = tide__calloc(m->spans.n + 1, 1);
	if (!w->again)
		return tide__nomem(err);
	for (size_t i = 0; i < m->flows.n; i++)
		if (m->flows.kind[i] == TIDE_FLOW_FWD_BWD &&
		    pass[m->flows.from[i].i] == TIDE_PASS_BACKWARD)
			w->again[m->flows.from[i].i] = 1;
	for (uint32_t i = 1; i < m->spans.n; i++)
		w->again[i] |=
			pass[i] == TIDE_PASS_RECOMPUTE || (w->inner[i] && w->again[w->inner[i]]);
	tide__modules_free(&w->modules); /* large; `again` has all of it */
	return TIDE_OK;
}

/* ---- costs ---- */

static const char *text(const tide_model *m, tide_str s)
{
	return s.i ? tide__text(m, s, NULL) : NULL;
}

static bool read_inputs(tide_roof_work *w, const tide_argument_set *a)
{
	const tide_op_texts t = { text(w->m, a->dims), text(w->m, a->types), text(w->m, a->strides),
				  text(w->m, a->concrete) };
	return tide__op_inputs_read(&t, &w->inputs);
}

static uint32_t add_cost(tide_roof_work *w, uint32_t set, tide_str name, const tide_op_cost *cost)
{
	tide_roof_cost *c = TIDE_PUSH(w, costs);
	if (!c)
		return 0;
	*c = (tide_roof_cost){ .cost = *cost, .set = set, .name = name };
	return (uint32_t)w->n_costs;
}

static const tide_op_rule *rule_of(const tide_roof_work *w, tide_str name)
{
	return w->rule[name.i] ? &tide__op_rules[w->rule[name.i] - 1] : NULL;
}

/* Finds the cost of calls with these arguments: *cost is its index + 1, NO_COST, or 0 if it
 * depends on lists that the trace leaves out. Returns false if memory runs out. */
static bool cost_of_set(tide_roof_work *w, const tide_argument_set *a, uint32_t *cost)
{
	size_t set = (size_t)(a - w->arguments.v), before = w->cap_cost_of;
	tide_op_cost c;
	if (set >= before) {
		if (!TIDE_ROOM(w->cost_of, w->cap_cost_of, set + 1))
			return false;
		memset(w->cost_of + before, 0, (w->cap_cost_of - before) * sizeof *w->cost_of);
	}
	*cost = w->cost_of[set];
	if (*cost)
		return true;
	const tide_op_rule *r = rule_of(w, a->name);
	tide_cost_context x = { .masked = w->opt->masked, .in_place = in_place(w->m, a->name) };
	if (!read_inputs(w, a)) {
		*cost = w->cost_of[set] = NO_COST;
		return true;
	}
	if (tide__op_has_hidden_list(&w->inputs) && r->category == TIDE_OPS_OF_OPTIMIZER)
		return true;
	if (w->n_lists)
		x.type = (uint8_t)w->lists[w->n_lists - 1].type;
	*cost = tide__op_cost(r, &w->inputs, &x, &c) ? add_cost(w, (uint32_t)set + 1, a->name, &c)
						     : NO_COST;
	w->cost_of[set] = *cost;
	return *cost != 0;
}

/* ---- calls ---- */

static bool add_gradient(tide_roof_work *w, uint32_t span)
{
	const tide_argument_set *a = tide__arguments_of(&w->arguments, span);
	if (!a)
		return false;
	const tide_op_tensor *t = read_inputs(w, a) ? tide__op_tensor(&w->inputs, 0, -1) : NULL;
	tide_number type = tide__op_type(&w->inputs, 0);
	if (!t || !type)
		return true;
	if (!w->n_lists || w->list_used) {
		tide_list_sizes *s = TIDE_PUSH(w, lists);
		if (!s)
			return false;
		*s = (tide_list_sizes){ 0 };
		w->list_used = false;
	}
	tide__list_sizes_add(&w->lists[w->n_lists - 1], t, type);
	return true;
}

static bool add_call(tide_roof_work *w, uint32_t span)
{
	uint32_t cost;
	const tide_argument_set *a = tide__arguments_of(&w->arguments, span);
	if (!a || !cost_of_set(w, a, &cost))
		return false;
	if (cost == NO_COST)
		return true;
	tide_roof_call *c = TIDE_PUSH(w, calls);
	if (!c)
		return false;
	*c = (tide_roof_call){ .span = span, .cost = cost, .again = w->again[span] };
	if (!cost) {
		c->list = (uint32_t)w->n_lists;
		w->list_used = true;
	}
	w->owner[span] = (uint32_t)w->n_calls;
	return true;
}

static bool find_calls(tide_roof_work *w)
{
	const tide_model *m = w->m;
	tide_str gradient = tide__attr_key(m, "torch::autograd::AccumulateGrad");
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (m->spans.cat[i] != TIDE_CAT_OP)
			continue;
		tide_str name = m->spans.name[i];
		uint32_t outer = w->inner[i];
		w->owner[i] = outer ? w->owner[outer] : 0;
		if (gradient.i && name.i == gradient.i && !add_gradient(w, i))
			return false;
		if (!w->owner[i] && w->rule[name.i] && !add_call(w, i))
			return false;
	}
	return true;
}

/* ---- device rows ---- */

static int64_t length(const tide_model *m, uint32_t i)
{
	return tide__span_end(m, i) - m->spans.t0[i];
}

static bool add_gap(tide_roof_work *w, tide_str name, unsigned why, uint64_t rows, int64_t ns)
{
	tide_roofline *x = w->out;
	uint64_t key = (uint64_t)name.i << 8 | why;
	uint32_t at = tide__map_get(&w->gaps, key);
	if (!at) {
		if (!TIDE_ROOM(x->gaps, x->cap_gaps, x->n_gaps + 1) ||
		    !tide__map_put(&w->gaps, key, (uint32_t)x->n_gaps + 1))
			return false;
		x->gaps[x->n_gaps++] = (tide_roof_gap){ .name = name, .why = (uint8_t)why };
		at = (uint32_t)x->n_gaps;
	}
	tide_roof_gap *g = &x->gaps[at - 1];
	g->device_rows += rows;
	g->ns = tide__add_sat(g->ns, ns);
	return true;
}

/* Returns what a copy or fill moves, by the name of its row. */
static tide_op_cost copy_cost(const char *name, double bytes)
{
	bool fill = strstr(name, "emset") || strstr(name, "Fill"),
	     both = strstr(name, "DtoD") || strstr(name, "DeviceToDevice") ||
		    strstr(name, "Device -> Device"),
	     out = strstr(name, "DtoH") || strstr(name, "DeviceToHost");
	return (tide_op_cost){ .flops = 0,
			       .bytes_read = fill	   ? 0
					     : both || out ? bytes
							   : 0,
			       .bytes_written = fill || both || !out ? bytes : 0,
			       .category = TIDE_OPS_OF_COPY };
}

/* Adds a copy outside the ops with a cost. Returns false if memory runs out; *known: its bytes are. */
static bool add_copy(tide_roof_work *w, uint32_t span, tide_str key, bool *known)
{
	const tide_model *m = w->m;
	int64_t bytes = tide__attr_number(m, span, key);
	*known = bytes >= 0 && bytes <= (int64_t)1 << 53;
	if (!*known)
		return true;
	tide_str name = m->spans.name[span];
	uint64_t id = ((uint64_t)bytes * 0x9e3779b97f4a7c15u) ^ (uint64_t)name.i << 32;
	uint32_t cost = tide__map_get(&w->own, id | 1);
	tide_op_cost c = copy_cost(tide__text(m, name, NULL), (double)bytes);
	bool same = cost && w->costs[cost - 1].name.i == name.i &&
		    w->costs[cost - 1].cost.bytes_read == c.bytes_read &&
		    w->costs[cost - 1].cost.bytes_written == c.bytes_written;
	if (!same) {
		cost = add_cost(w, 0, name, &c);
		if (!cost || !tide__map_put(&w->own, id | 1, cost))
			return false;
	}
	tide_roof_call *call = TIDE_PUSH(w, calls);
	if (!call)
		return false;
	*call = (tide_roof_call){ .span = span,
				  .cost = cost,
				  .device_rows = 1,
				  .again = w->again[tide__launched_by(m, span)],
				  .ns = length(m, span) };
	return true;
}

/* Returns the blocks of a kernel on lists; NaN for others: the list's sizes are then unknown. */
static double blocks_of(const tide_roof_work *w, uint32_t span, tide_str grid)
{
	tide_str s = tide__attr_text(w->m, span, grid);
	double n = 0;
	if (!s.i || !strstr(tide__text(w->m, w->m->spans.name[span], NULL), "multi_tensor_apply"))
		return (double)NAN;
	const char *at = tide__text(w->m, s, NULL);
	for (at += *at == '['; *at >= '0' && *at <= '9' && n < 1e12; at++)
		n = n * 10 + (*at - '0');
	return n;
}

static bool add_row(tide_roof_work *w, size_t row, tide_str bytes, tide_str grid)
{
	const tide_model *m = w->m;
	uint32_t span = w->rows.span[row], launch = tide__launched_by(m, span),
		 op = launch ? w->inner[launch] : 0;
	int64_t ns = length(m, span);
	bool known = false;
	w->out->ns = tide__add_sat(w->out->ns, ns);
	if (op && w->owner[op] && w->rows.type[row] != TIDE_GPU_COMM) {
		tide_roof_call *c = &w->calls[w->owner[op] - 1];
		c->ns = tide__add_sat(c->ns, ns);
		c->device_rows++;
		if (!c->cost)
			c->blocks += blocks_of(w, span, grid);
		return true;
	}
	if ((m->spans.cat[span] == TIDE_CAT_MEMCPY || m->spans.cat[span] == TIDE_CAT_MEMSET) &&
	    !add_copy(w, span, bytes, &known))
		return false;
	if (known)
		return true;
	if (w->rows.type[row] == TIDE_GPU_COMM)
		return add_gap(w, m->spans.name[span], TIDE_ROOF_COMMUNICATION, 1, ns);
	if (!op)
		return add_gap(w, m->spans.name[span],
			       launch ? TIDE_ROOF_OUTSIDE : TIDE_ROOF_NO_LAUNCH, 1, ns);
	return add_gap(w, m->spans.name[op],
		       w->rule[m->spans.name[op].i] ? TIDE_ROOF_NO_SHAPES : TIDE_ROOF_NO_RULE, 1,
		       ns);
}

static bool add_rows(tide_roof_work *w)
{
	tide_str bytes = tide__attr_key(w->m, "bytes"), grid = tide__attr_key(w->m, "grid");
	for (size_t i = 0; i < w->rows.n; i++)
		if (!add_row(w, i, bytes, grid))
			return false;
	return true;
}

static bool began_in(const tide_span_window *w, int64_t t)
{
	return w->all || (t >= w->from && t < w->to);
}

/* Without device rows, times are those of the ops. */
static void take_host_times(tide_roof_work *w)
{
	const tide_model *m = w->m;
	for (size_t i = 0; i < w->n_calls; i++) {
		tide_roof_call *c = &w->calls[i];
		if (!began_in(&w->window, m->spans.t0[c->span]))
			continue;
		c->ns = length(m, c->span);
		w->out->ns = tide__add_sat(w->out->ns, c->ns);
	}
}

/* ---- lists ---- */

/* Finds the cost of a call on lists, now that its kernels are known. Returns false if memory runs
 * out. */
static bool cost_list(tide_roof_work *w, tide_roof_call *c)
{
	const tide_argument_set *a = tide__arguments_of(&w->arguments, c->span);
	tide_cost_context x = { .in_place = true };
	tide_op_cost cost;
	if (!a)
		return false;
	const tide_list_sizes *s = c->list ? &w->lists[c->list - 1] : NULL;
	if (!s || !tide__list_sizes_find(s, c->blocks, &x.elements, &x.bytes) || !read_inputs(w, a))
		return true;
	x.type = (uint8_t)s->type;
	if (!tide__op_cost(rule_of(w, a->name), &w->inputs, &x, &cost))
		return true;
	uint32_t set = (uint32_t)(a - w->arguments.v) + 1, before = w->cost_of[set - 1];
	if (before && before != NO_COST &&
	    w->costs[before - 1].cost.bytes_read == cost.bytes_read) {
		c->cost = before;
		return true;
	}
	c->cost = w->cost_of[set - 1] = add_cost(w, set, a->name, &cost);
	return c->cost != 0;
}

static bool cost_lists(tide_roof_work *w)
{
	for (size_t i = 0; i < w->n_calls; i++) {
		tide_roof_call *c = &w->calls[i];
		if (c->cost)
			continue;
		if (!cost_list(w, c))
			return false;
		if (!c->cost && c->ns &&
		    !add_gap(w, w->m->spans.name[c->span], TIDE_ROOF_NO_SHAPES, c->device_rows,
			     c->ns))
			return false;
	}
	return true;
}

/* ---- the device ---- */

static void find_devices(tide_roof_work *w)
{
	const tide_model *m = w->m;
	tide_roofline *x = w->out;
	const tide_gpu_stream *s = w->rows.streams;
	for (size_t i = 0; i < w->rows.n_streams; i++) {
		if (!i || s[i].device != s[i - 1].device || s[i].kind != s[i - 1].kind)
			x->devices++;
		if (!x->name && s[i].row.i && m->devices.name[s[i].row.i].i)
			x->name = tide__text(m, m->devices.name[s[i].row.i], NULL);
	}
	for (uint32_t d = 1; d < m->devices.n && !x->name; d++)
		if (m->devices.kind[d] != TIDE_DEVICE_HOST && m->devices.name[d].i)
			x->name = tide__text(m, m->devices.name[d], NULL);
}

static tide_code find_peaks(tide_roof_work *w, tide_error *err)
{
	tide_roofline *x = w->out;
	const tide_roof_options *o = w->opt;
	find_devices(w);
	if (o->device)
		x->name = o->device;
	const tide_device_peak *p = tide__device_peak(x->name);
	if (p) {
		x->peak = *p;
		x->known = true;
	}
	tide_code rc = tide__device_peaks_read(o->peaks, x->name, &x->peak, &x->known, err);
	if (o->tflops > 0) {
		double gb_s = x->peak.gb_s;
		x->peak = (tide_device_peak){ .half = o->tflops,
					      .f32 = o->tflops,
					      .f64 = o->tflops,
					      .f8 = o->tflops,
					      .f4 = o->tflops,
					      .gb_s = gb_s };
	}
	if (o->gb_s > 0)
		x->peak.gb_s = o->gb_s;
	x->known |= o->tflops > 0 || o->gb_s > 0;
	return rc;
}

/* ---- all of it ---- */

static tide_code prepare(tide_roof_work *w, tide_error *err)
{
	static const tide_window all = { .kind = TIDE_WINDOW_ALL };
	const tide_model *m = w->m;
	w->inner = tide__innermost_ops_find(m);
	w->owner = tide__calloc(m->spans.n + 1, sizeof *w->owner);
	if (!w->inner || !w->owner || !find_rules(w) ||
	    !tide__arguments_begin_with_scalars(&w->arguments, m))
		return tide__nomem(err);
	tide_code rc = find_again(w, err);
	if (rc == TIDE_OK)
		rc = tide__steps_find_named(m, &w->steps, err);
	if (rc == TIDE_OK)
		rc = tide__steps_find(m, &w->marks, err);
	if (rc == TIDE_OK)
		rc = tide__window_resolve(&w->steps, w->opt->window ? w->opt->window : &all,
					  &w->window, err);
	if (rc == TIDE_OK)
		rc = tide__gpu_rows_find(m, &w->steps, &w->window, NULL, 0, &w->rows, err);
	return rc == TIDE_OK ? find_peaks(w, err) : rc;
}

static bool has_device_rows(const tide_model *m)
{
	for (uint32_t i = 1; i < m->spans.n; i++)
		if (tide__cat_is_gpu(m->spans.cat[i]))
			return true;
	return false;
}

static bool compute(tide_roof_work *w)
{
	w->out->device = has_device_rows(w->m);
	if (!find_calls(w))
		return false;
	if (!w->out->device)
		take_host_times(w);
	else if (!add_rows(w))
		return false;
	return cost_lists(w) && tide__roofline_make_rows(w) && tide__roofline_make_steps(w);
}

static void free_work(tide_roof_work *w)
{
	tide__gpu_rows_free(&w->rows);
	tide__steps_free(&w->steps);
	tide__steps_free(&w->marks);
	tide__arguments_end(&w->arguments);
	tide__modules_free(&w->modules);
	tide__free(w->inner);
	tide__free(w->owner);
	tide__free(w->again);
	tide__free(w->rule);
	tide__free(w->cost_of);
	tide__free(w->costs);
	tide__free(w->calls);
	tide__free(w->lists);
	tide__map_free(&w->gaps);
	tide__map_free(&w->own);
	tide__free(w);
}

tide_code tide__find_roofline(const tide_model *m, const tide_roof_options *opt, tide_roofline *out,
			      tide_error *err)
{
	*out = (tide_roofline){ 0 };
	tide_roof_work *w = tide__calloc(1, sizeof *w);
	if (!w)
		return tide__nomem(err);
	w->m = m;
	w->opt = opt;
	w->out = out;
	tide_code rc = prepare(w, err);
	if (rc == TIDE_OK && !compute(w))
		rc = tide__nomem(err);
	free_work(w);
	return rc;
}

void tide__roofline_free(tide_roofline *r)
{
	tide__free(r->v);
	tide__free(r->gaps);
	tide__free(r->steps);
	*r = (tide_roofline){ 0 };
}
