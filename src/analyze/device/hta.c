// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/hta.h"

#include <pthread.h>
#include <string.h>

#include "analyze/device/breakdown.h"
#include "analyze/device/hta_parts.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/losses.h"
#include "model/strings.h"

enum { MANY_ROWS = 10000 }; /* below this, a second thread costs more than it saves */

tide_hta *tide__hta_new(void)
{
	tide_hta *h = tide__calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->h.rank = h->h.world = -1;
	h->strings = tide__strings_new();
	if (h->strings)
		return h;
	tide__free(h);
	return NULL;
}

void tide__hta_free(tide_hta *h)
{
	if (!h)
		return;
	tide__strings_free(h->strings);
#define T(type, member) tide__free(h->member.v);
	TIDE_HTA_TABLES(T)
#undef T
	tide__free(h);
}

struct any_table {
	void *v;
	size_t n, cap;
};

void *tide__hta_push(void *table, size_t size)
{
	struct any_table t;
	memcpy(&t, table, sizeof t); /* the tables differ only in the type of v */
	if (!tide__array_room(&t.v, &t.cap, t.n + 1, size))
		return NULL;
	void *row = (char *)t.v + t.n * size;
	memset(row, 0, size);
	t.n++;
	memcpy(table, &t, sizeof t);
	return row;
}

tide_str tide__hta_intern(tide_hta *h, const char *s, size_t n)
{
	tide_str id = { tide__strings_add(h->strings, s, n) };
	h->failed |= n && !id.i;
	return id;
}

tide_str tide__hta_take(tide_hta *h, const tide_model *m, tide_str s)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	return tide__hta_intern(h, text, n);
}

const char *tide__hta_str(const tide_hta *h, tide_str s, size_t *n)
{
	return tide__strings_get(h->strings, s.i, n);
}

/* ---- the whole analysis --------------------------------------------------------------------- */

static void identify(const tide_model *m, tide_hta_head *h)
{
	h->spans = m->spans.n ? m->spans.n - 1 : 0;
	h->wall0 = m->wall_known ? m->wall0_ns : 0;
	for (size_t i = m->processes.n; i-- > 1;) { /* backwards: the first process with a value
	                                             * wins */
		if (m->processes.rank[i] >= 0)
			h->rank = m->processes.rank[i];
		if (m->processes.world[i] > 0)
			h->world = m->processes.world[i];
	}
	for (size_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] != TIDE_DEVICE_HOST &&
		    m->devices.capacity[i] > h->device_capacity)
			h->device_capacity = m->devices.capacity[i];
}

static bool take_losses(const tide_model *m, tide_hta *h)
{
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__loss_key(tide__text(m, m->facts.key[i], NULL));
		if (!key)
			continue;
		tide_hta_loss *l = TIDE_HTA_PUSH(h, losses);
		if (!l)
			return false;
		l->key = tide__hta_intern(h, key, strlen(key));
		l->text = tide__hta_take(h, m, m->facts.text[i]);
		l->number = m->facts.number[i];
	}
	return true;
}

typedef bool part(const tide_hta_input *, tide_hta *);

/* Two groups of parts that share no data: only the first copies texts into the result. */
static part *const with_texts[] = {
	tide__hta_find_kernels,	    tide__hta_find_launch,
	tide__hta_find_bandwidth,   tide__hta_find_annotations,
	tide__hta_find_attribution, tide__hta_find_collectives,
	tide__hta_find_comms,	    NULL,
};
static part *const only_calls[] = { tide__hta_find_calls, NULL };
static part *const without_texts[] = {
	tide__hta_find_breakdown, tide__hta_find_idle,	tide__hta_find_idle_cause,
	tide__hta_find_queue,	  tide__hta_find_steps, NULL,
};

typedef struct group {
	part *const *parts;
	const tide_hta_input *in;
	tide_hta *h;
	bool ok;
} group;

static void *run_group(void *user)
{
	group *g = user;
	g->ok = true;
	for (part *const *p = g->parts; *p && g->ok; p++)
		g->ok = (*p)(g->in, g->h);
	return NULL;
}

/* Converts the second group's texts of the model to texts of the result. */
static void take_texts(const tide_hta_input *in, tide_hta *h)
{
	const tide_gpu_stream *from = in->rows->streams;
	h->h.waited_in = tide__hta_take(h, in->m, h->h.waited_in);
	for (size_t i = 0; i < h->streams.n; i++) {
		const char *kind = tide__device_kind_name(in->m, from[i].row.i);
		if (from[i].row.i)
			h->streams.v[i].kind = tide__hta_intern(h, kind, strlen(kind));
	}
}

/* Runs both groups in parallel if threads are allowed and available, else one after the other. */
static bool run_parts(tide_hta_input *in, tide_hta *h)
{
	group calls = { only_calls, in, h, true };
	if (in->opt.calls) {
		run_group(&calls);
		h->h.rows = in->rows->n ? in->rows->n : h->calls.n;
		return calls.ok && take_losses(in->m, h) && !h->failed;
	}
	group a = { with_texts, in, h, false }, b = { without_texts, in, h, false };
	pthread_t other;
	bool beside = in->opt.threads != 1 && in->rows->n > MANY_ROWS &&
		      !pthread_create(&other, NULL, run_group, &b);
	run_group(&a);
	if (beside)
		pthread_join(other, NULL);
	else
		run_group(&b);
	if (a.ok && b.ok)
		take_texts(in, h);
	return a.ok && b.ok && take_losses(in->m, h) && !h->failed;
}

static tide_code analyze_rows(tide_hta_input *in, tide_hta *h, tide_error *err)
{
	tide_interval_set types[TIDE_GPU_TYPES] = { { 0 } };
	tide_launch *launches = tide__find_launches(in->m, in->rows, &in->n_launches);
	in->launches = launches;
	in->types = types;
	bool ok = launches && tide__gpu_unions_find(in->m, in->rows, types) && run_parts(in, h);
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		tide__interval_set_free(&types[t]);
	tide__free(launches);
	return ok ? TIDE_OK : tide__nomem(err);
}

static tide_hta_options with_defaults(const tide_hta_options *opt)
{
	tide_hta_options o = opt ? *opt : (tide_hta_options){ 0 };
	if (!o.kernel_wait_ns)
		o.kernel_wait_ns = 30000;
	if (!o.short_ns)
		o.short_ns = 50000;
	if (!o.delay_ns)
		o.delay_ns = 100000;
	return o;
}

static bool has_ops(const tide_model *m)
{
	for (size_t i = 1; i < m->spans.n; i++)
		if (tide__side(m, i) == TIDE_SIDE_CPU)
			return true;
	return false;
}

tide_code tide__hta_analyze(const tide_model *m, const tide_hta_options *opt, tide_hta **out,
			    tide_error *err)
{
	tide_hta_input in = { .m = m, .opt = with_defaults(opt) };
	tide_steps steps = { 0 };
	tide_gpu_rows rows = { 0 };
	tide_span_window window;
	*out = NULL;
	tide_hta *h = tide__hta_new();
	if (!h)
		return tide__nomem(err);
	identify(m, &h->h);
	tide_code rc = tide__steps_find_named(m, &steps, err);
	if (rc == TIDE_OK)
		rc = tide__window_resolve(&steps, &in.opt.window, &window, err);
	if (rc == TIDE_OK)
		rc = tide__gpu_rows_find(m, &steps, &window, in.opt.custom, in.opt.n_custom, &rows,
					 err);
	if (rc == TIDE_OK) {
		in.steps = &steps;
		in.window = &window;
		in.rows = &rows;
		rc = analyze_rows(&in, h, err);
	}
	if (rc == TIDE_OK && !h->h.rows)
		h->h.no_ops = !has_ops(m);
	tide__gpu_rows_free(&rows);
	tide__steps_free(&steps);
	if (rc == TIDE_OK)
		*out = h;
	else
		tide__hta_free(h);
	return rc;
}
