// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/fit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Settings that change no result and, mostly, no time. */
static const char *const settings[] = {
	"expandable_segments:True",
	"garbage_collection_threshold:0.8",
	"max_split_size_mb:256",
	"roundup_power2_divisions:8",
};

void tide__fit_each_note(const tide_model *m, const char *key,
			 void (*each)(void *context, const char *text), void *context)
{
	for (uint32_t k = 1; k < m->marks.n; k++)
		if (m->marks.kind[k] == TIDE_MARK_ANNOTATION &&
		    !strcmp(tide__text(m, m->marks.name[k], NULL), key))
			each(context, tide__text(m, m->marks.text[k], NULL));
}

const char *tide__fit_note(const tide_model *m, const char *key)
{
	const char *found = NULL;
	int64_t at = tide__fact_find(m, key);
	if (at >= 0)
		return tide__text(m, m->facts.text[at], NULL);
	for (uint32_t k = 1; k < m->marks.n; k++)
		if (m->marks.kind[k] == TIDE_MARK_ANNOTATION &&
		    !strcmp(tide__text(m, m->marks.name[k], NULL), key))
			found = tide__text(m, m->marks.text[k], NULL);
	return found;
}

/* Returns the first virtual device; 0 = none. */
static uint32_t first_device(const tide_model *m)
{
	for (uint32_t d = 1; d < m->devices.n; d++)
		if (m->devices.kind[d] == TIDE_DEVICE_CUDA)
			return m->allocs.n > 1 ? d : 0;
	return 0;
}

/* ---- rows ---- */

static tide_code add_untried(tide_fit *f, const tide_model *m, const char *reason, bool is_plan,
			     tide_error *err)
{
	if (!TIDE_ROOM(f->untried, f->cap_untried, f->n_untried + 1))
		return tide__nomem(err);
	f->untried[f->n_untried++] =
		(tide_fit_untried){ .m = m, .reason = reason, .is_plan = is_plan };
	return TIDE_OK;
}

static tide_code add_row(tide_fit *f, const tide_fit_row *row, tide_error *err)
{
	if (!TIDE_ROOM(f->rows, f->cap, f->n + 1))
		return tide__nomem(err);
	f->rows[f->n++] = *row;
	return TIDE_OK;
}

/* Runs the allocator's simulator: over the settings of the run, and `more`. */
static tide_code simulate(const tide_fit *f, const tide_model *m, const char *more,
			  tide_fit_row *row, tide_virtual_run *r, tide_error *err)
{
	uint32_t device = first_device(m);
	tide_sim_config c = tide__sim_defaults();
	const char *own = tide__fit_note(m, "predicted.settings");
	tide_code rc = own && *own ? tide__sim_parse(&c, own, err) : TIDE_OK;
	if (rc == TIDE_OK && more)
		rc = tide__sim_parse(&c, more, err);
	if (rc == TIDE_OK)
		rc = tide__virtual_run(m, device, f->budget, &c, r, err);
	if (rc != TIDE_OK)
		return rc;
	row->m = m;
	row->allocated = r->allocated;
	row->reserved = r->reserved;
	row->range = r->range;
	row->fits = f->budget && !r->out;
	return TIDE_OK;
}

static double step_of(const tide_model *m)
{
	const char *text = tide__fit_note(m, "fit.step_ns");
	double ns = text ? atof(text) : 0;
	return ns > 0 ? ns : -1;
}

/* Returns why there is no row for a run; NULL = there is one. */
static const char *failure(const tide_model *m)
{
	const char *why = tide__fit_note(m, "fit.failed");
	if (!why)
		why = tide__fit_note(m, "predicted.unended");
	if (!why && !tide__fit_note(m, "predicted.steps"))
		why = "it was killed";
	if (!why && !first_device(m))
		why = "it put no tensor on a CUDA device";
	return why;
}

/* Adds the run of a plan. */
static tide_code add_run(tide_fit *f, const tide_model *m, size_t trace, tide_error *err)
{
	const char *why = failure(m);
	if (why)
		return add_untried(f, m, why, true, err);
	tide_virtual_run r = { 0 };
	tide_fit_row row = { .basis = TIDE_FIT_RUN,
			     .trace = trace,
			     .step_ns = step_of(m),
			     .differs = tide__fit_note(m, "fit.differs") };
	tide_code rc = simulate(f, m, NULL, &row, &r, err);
	tide__virtual_run_free(&r);
	return rc == TIDE_OK ? add_row(f, &row, err) : rc;
}

static tide_code add_settings(tide_fit *f, tide_error *err)
{
	const char *own = tide__fit_note(f->base.m, "predicted.settings");
	tide_code rc = TIDE_OK;
	for (size_t i = 0; i < sizeof settings / sizeof *settings && rc == TIDE_OK; i++) {
		size_t n = strcspn(settings[i], ":");
		if (own && strstr(own, settings[i]))
			continue;
		tide_virtual_run r = { 0 };
		tide_fit_row row = f->base;
		row.basis = TIDE_FIT_SIMULATED;
		row.setting = settings[i];
		row.step_ns = -1;
		/* Only this setting changes which memory is mapped, not how many requests there are. */
		if (!strncmp(settings[i], "expandable_segments", n))
			row.step_ns = f->base.step_ns;
		rc = simulate(f, f->base.m, settings[i], &row, &r, err);
		tide__virtual_run_free(&r);
		if (rc == TIDE_OK && (row.fits || row.reserved < f->base.reserved))
			rc = add_row(f, &row, err);
	}
	return rc;
}

/* Adds rows with optimizer states, gradients and parameters of the peak divided by the ranks. */
static tide_code add_shards(tide_fit *f, const tide_virtual_run *base, int64_t ranks,
			    tide_error *err)
{
	static const uint64_t role[] = { TIDE_ROLE_OPTIMIZER, TIDE_ROLE_GRADIENT,
					 TIDE_ROLE_PARAMETER };
	uint64_t less = 0;
	tide_code rc = TIDE_OK;
	for (unsigned stage = 1; stage <= 3 && rc == TIDE_OK; stage++) {
		for (size_t i = 0; i < base->roles.n; i++)
			if (base->roles.rows[i].key == role[stage - 1])
				less += base->roles.rows[i].bytes -
					base->roles.rows[i].bytes / (uint64_t)ranks;
		tide_fit_row row = f->base;
		row.basis = TIDE_FIT_ARITHMETIC;
		row.stage = stage;
		row.ranks = ranks;
		row.step_ns = -1;
		row.range = (tide_virtual_range){ 0 };
		row.allocated = row.allocated > less ? row.allocated - less : 0;
		row.reserved = row.reserved > less ? row.reserved - less : 0;
		row.fits = f->budget && row.reserved <= f->budget;
		if (less)
			rc = add_row(f, &row, err);
	}
	return rc;
}

/* ---- order ---- */

static int by_answer(const void *a, const void *b)
{
	const tide_fit_row *x = a, *y = b;
	if (x->fits != y->fits)
		return y->fits - x->fits;
	bool known_x = x->cost >= -1, known_y = y->cost >= -1;
	if (x->fits && known_x != known_y)
		return known_y - known_x;
	if (x->fits && known_x && x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (x->reserved != y->reserved)
		return x->reserved < y->reserved ? -1 : 1;
	return (x->trace > y->trace) - (x->trace < y->trace);
}

static void set_costs(tide_fit *f)
{
	f->base.cost = f->base.step_ns >= 0 ? 0 : -2;
	for (size_t i = 0; i < f->n; i++) {
		tide_fit_row *r = &f->rows[i];
		bool known = r->step_ns >= 0 && f->base.step_ns > 0;
		r->cost = known ? (r->step_ns - f->base.step_ns) / f->base.step_ns : -2;
	}
	if (f->n)
		qsort(f->rows, f->n, sizeof *f->rows, by_answer);
	f->best = f->n;
	for (unsigned differs = 0; differs < 2 && f->best == f->n; differs++)
		for (size_t i = 0; i < f->n && f->best == f->n; i++)
			if (f->rows[i].fits && f->rows[i].basis != TIDE_FIT_ARITHMETIC &&
			    !f->rows[i].differs == !differs)
				f->best = i;
}

/* ---- the whole ---- */

static tide_code find_base(const tide_model *const *models, size_t n, size_t *at, tide_error *err)
{
	*at = n;
	for (size_t i = 0; i < n; i++) {
		if (!tide__is_predicted(models[i]))
			return tide__fail(
				err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				"%.200s is no run on virtual devices: `tidemark fit -- PROGRAM` makes them",
				models[i]->path);
		if (tide__fit_note(models[i], "fit.plan"))
			continue;
		if (tide__fit_note(models[i], "fit.failed"))
			continue;
		if (*at < n)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%.100s and %.100s both ran without a plan",
					  models[*at]->path, models[i]->path);
		*at = i;
	}
	if (*at == n)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "the run without a plan is missing");
	const char *why = failure(models[*at]);
	return why ? tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				"the unchanged program did not end by itself: %.200s", why)
		   : TIDE_OK;
}

struct reasons {
	tide_fit *f;
	tide_code rc;
	tide_error *err;
};

static void take_reason(void *context, const char *text)
{
	struct reasons *x = context;
	if (x->rc == TIDE_OK)
		x->rc = add_untried(x->f, x->f->base.m, text, false, x->err);
}

tide_code tide__fit_find(const tide_model *const *models, size_t n, uint64_t budget, int64_t ranks,
			 tide_fit *out, tide_error *err)
{
	size_t at;
	tide_virtual_run r = { 0 };
	*out = (tide_fit){ .budget = budget };
	tide_code rc = find_base(models, n, &at, err);
	if (rc != TIDE_OK)
		return rc;
	const char *room = tide__fit_note(models[at], "predicted.room");
	if (!budget && room)
		out->budget = strtoull(room, NULL, 10);
	out->base = (tide_fit_row){ .trace = at, .step_ns = step_of(models[at]) };
	rc = simulate(out, models[at], NULL, &out->base, &r, err);
	if (rc == TIDE_OK && !out->base.fits)
		rc = add_settings(out, err);
	if (rc == TIDE_OK && ranks > 1 && !out->base.fits)
		rc = add_shards(out, &r, ranks, err);
	tide__virtual_run_free(&r);
	for (size_t i = 0; i < n && rc == TIDE_OK; i++)
		if (i != at)
			rc = add_run(out, models[i], i, err);
	struct reasons x = { .f = out, .err = err };
	if (rc == TIDE_OK)
		tide__fit_each_note(models[at], "fit.untried", take_reason, &x);
	if (rc == TIDE_OK)
		set_costs(out);
	return rc == TIDE_OK ? x.rc : rc;
}

void tide__fit_free(tide_fit *f)
{
	tide__free(f->rows);
	tide__free(f->untried);
	*f = (tide_fit){ 0 };
}
