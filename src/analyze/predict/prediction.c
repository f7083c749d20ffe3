// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/usage.h"
#include "analyze/predict/superlinear_allocs.h"
#include "analyze/predict/virtual_run.h"
#include "base/error.h"
#include "base/mem.h"

static const double SIM_OFF = 0.05; /* largest relative error of the simulator at recorded sizes */

tide_code tide__predict_measure(tide_predict_run *r, tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__find_usage(r->m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK)
		rc = tide__find_moment_profile(r->m, r->device, r->size, &r->held, err);
	if (rc == TIDE_OK) {
		r->peak = u.devices[r->device].peak;
		r->reserved = u.devices[r->device].reserved_peak;
	}
	tide__usage_free(&u);
	if (rc == TIDE_OK && !r->held.moments)
		rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				"no allocations to predict from");
	return rc;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Ops whose library chooses workspaces by the size of the work. */
static bool has_library(const tide_model *m)
{
	static const char *const words[] = { "cudnn", "miopen", "aten::lstm", "aten::gru",
					     "aten::convolution" };
	for (uint32_t s = 1; s < m->spans.n; s++) {
		const char *name = tide__text(m, m->spans.name[s], NULL);
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strstr(name, words[i]))
				return true;
	}
	return false;
}

/* The prediction becomes a range if the size was not recorded and is far above the largest
 * recording or below the smallest (which reserves no less), or if a library chooses workspaces. No
 * allocator reserves less than the live bytes; growth beyond proportion was not observed. */
static void tell_range(const tide_predict_answer *x, tide_predict_row *r)
{
	const tide_predict_run *z = tide__predict_last(x);
	unsigned kind = z->m->devices.kind[z->device];
	bool gpu = kind == TIDE_DEVICE_CUDA || kind == TIDE_DEVICE_HIP;
	bool small = gpu && r->size < x->v[0].size;
	if (r->run || r->reserved == UINT64_MAX || z->reserved == UINT64_MAX ||
	    !(r->size > TIDE_PREDICT_FAR * z->size || small || (x->library && gpu)))
		return;
	double share = (double)z->reserved * ((double)r->size / (double)z->size);
	uint64_t line = tide__predict(&x->reserved, r->size, NULL);
	r->reserved_least = r->peak < r->reserved ? r->peak : r->reserved;
	r->reserved_most = r->reserved > line ? r->reserved : line;
	if (share > (double)r->reserved_most && share < 9e18)
		r->reserved_most = (uint64_t)share;
	if (small && x->v[0].reserved != UINT64_MAX && x->v[0].reserved > r->reserved_most)
		r->reserved_most = x->v[0].reserved;
}

static bool tell_row(tide_predict_answer *x, uint64_t size, tide_predict_row *out)
{
	tide_predict_row r = { .size = size,
			       .reserved = UINT64_MAX,
			       .reserved_least = UINT64_MAX,
			       .reserved_most = UINT64_MAX };
	tide_sim_result sim;
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].size == size)
			r.run = &x->v[i];
	r.peak = tide__predict(&x->live, size, &r.line);
	r.most = tide__predict_most(&x->live, size);
	if (x->kept == TIDE_KEPT_LINE)
		r.reserved = tide__predict(&x->reserved, size, NULL);
	if (x->kept == TIDE_KEPT_SIM) {
		if (tide__predicted_reserved_run(&x->resized, size, 0, &sim) != TIDE_OK)
			return false;
		r.reserved = sim.st.reserved_peak;
	}
	tell_range(x, &r);
	*out = r;
	return true;
}

/* Collects recorded and requested sizes, sorted, each once. */
static bool tell_rows(const uint64_t *at, size_t asked, tide_predict_answer *x)
{
	size_t n = 0;
	uint64_t *v = tide__alloc(x->n + asked, sizeof *v);
	x->rows = tide__alloc(x->n + asked, sizeof *x->rows);
	bool ok = v && x->rows;
	for (size_t i = 0; ok && i < x->n; i++)
		v[n++] = x->v[i].size;
	for (size_t i = 0; ok && i < asked; i++)
		v[n++] = at[i];
	if (ok)
		qsort(v, n, sizeof *v, by_size);
	for (size_t i = 0; ok && i < n; i++)
		if (!i || v[i] != v[i - 1])
			ok = tell_row(x, v[i], &x->rows[x->n_rows++]);
	tide__free(v);
	return ok;
}

static bool tell_fits(tide_predict_answer *x)
{
	x->fits = x->fits_reserved = tide__predict_fits(&x->live, x->capacity);
	if (x->kept == TIDE_KEPT_LINE)
		x->fits_reserved = tide__predict_fits(&x->reserved, x->capacity);
	if (x->kept != TIDE_KEPT_SIM || x->fits == TIDE_MOST_SIZE) /* it does not grow */
		return true;
	return tide__predicted_reserved_fits(&x->resized, x->fits, x->capacity,
					     &x->fits_reserved) == TIDE_OK;
}

/* Finds the parts of the peak of the largest size that fits, or else of the largest requested. */
static bool tell_parts(tide_predict_answer *x, tide_error *err)
{
	const tide_predict_run *z = tide__predict_last(x);
	const tide_model *m[2] = { x->v[0].m, z->m };
	uint32_t device[2] = { x->v[0].device, z->device };
	if (x->capacity && !tell_fits(x))
		return false;
	uint64_t size = x->kept ? x->fits_reserved : x->fits;
	x->whole = x->rows[x->n_rows - 1];
	if (size && size != TIDE_MOST_SIZE && !tell_row(x, size, &x->whole))
		return false;
	if (x->live.v[x->whole.line].kind == TIDE_LINE_AROUND || x->live.v[x->whole.line].bent)
		return true; /* live sets of two different moments have no common lines */
	return tide__find_predicted_breakdown(m, device, &x->live, x->whole.line, x->whole.size,
					      TIDE_BY_ROLE, &x->roles, err) == TIDE_OK &&
	       tide__find_predicted_breakdown(m, device, &x->live, x->whole.line, x->whole.size,
					      TIDE_BY_MODULE, &x->modules, err) == TIDE_OK;
}

/* Returns the bytes by which a block of a GPU's allocator may exceed the request. */
static uint64_t slack_of(const tide_predict_run *r)
{
	unsigned kind = r->m->devices.kind[r->device];
	return kind == TIDE_DEVICE_CUDA || kind == TIDE_DEVICE_HIP ? 2 << 20 : 0;
}

/* Returns the bytes by which one recorded size may exceed the request: requests are known, or
 * blocks alone. */
static uint64_t block_slack(const tide_predict_run *r)
{
	enum { ROUNDED = 512 };
	const tide_allocs *a = &r->m->allocs;
	for (size_t i = 1; i < a->n; i++)
		if (a->requested[i] && a->requested[i] != a->size[i])
			return ROUNDED;
	return slack_of(r) ? TIDE_SIM_SMALL_MAX + ROUNDED : ROUNDED;
}

/* Returns the recording between a and b, except `without`, whose size is nearest to the middle of
 * those two. */
static const tide_predict_run *between(const tide_predict_answer *x, size_t a, size_t b,
				       size_t without)
{
	const tide_predict_run *best = NULL;
	double middle = ((double)x->v[a].size + (double)x->v[b].size) / 2, least = 0;
	for (size_t i = a + 1; i < b; i++) {
		double away = fabs((double)x->v[i].size - middle);
		if (i == without || (best && away >= least))
			continue;
		best = &x->v[i];
		least = away;
	}
	return best;
}

static tide_code lines_of(const tide_predict_answer *x, size_t a, size_t b, size_t without,
			  tide_lines *out, tide_error *err)
{
	const tide_predict_run *mid = between(x, a, b, without);
	tide_code rc = tide__find_lines(&x->v[a].held, &x->v[b].held, out, err);
	if (rc == TIDE_OK && mid)
		rc = tide__lines_add_middle(out, &mid->held, &x->v[b].held, slack_of(mid), err);
	if (rc == TIDE_OK && !mid)
		rc = tide__lines_find_superlinear(out, x->v[b].m, &x->v[b].held,
						  block_slack(&x->v[b]), err);
	return rc;
}

/* Predicts each recording from the outermost of the others, with one between those if there is
 * one. */
static bool leave_out(tide_predict_answer *x, tide_error *err)
{
	bool ok = true;
	for (size_t i = 0; i < x->n && ok; i++) {
		size_t a = i == 0, b = x->n - 1 - (i == x->n - 1);
		tide_lines l = { 0 };
		x->v[i].without = UINT64_MAX;
		if (a >= b)
			continue;
		ok = lines_of(x, a, b, i, &l, err) == TIDE_OK;
		if (ok)
			x->v[i].without = tide__predict(&l, x->v[i].size, NULL);
		tide__lines_free(&l);
	}
	return ok;
}

/* Adds the bytes reserved beyond the peak, which are assumed not to shrink as the work grows. */
static void draw_reserved(tide_predict_answer *x)
{
	const tide_predict_run *a = &x->v[0], *b = tide__predict_last(x);
	uint64_t more[2] = { a->reserved > a->peak ? a->reserved - a->peak : 0,
			     b->reserved > b->peak ? b->reserved - b->peak : 0 };
	x->reserved = x->live;
	x->reserved.more[0] = more[0];
	x->reserved.more[1] = more[1] > more[0] ? more[1] : more[0];
	if (a->reserved != UINT64_MAX && b->reserved != UINT64_MAX)
		x->kept = TIDE_KEPT_LINE;
}

/* Returns true if the simulator's reserved bytes at the recorded sizes are close enough to the
 * recorded ones. */
static bool sim_agrees(tide_predict_answer *x, bool *ok)
{
	const tide_predict_run *both[] = { &x->v[0], tide__predict_last(x) };
	for (size_t i = 0; i < 2; i++) {
		tide_sim_result sim;
		*ok = tide__predicted_reserved_run(&x->resized, both[i]->size, 0, &sim) == TIDE_OK;
		double was = (double)both[i]->reserved, off = (double)sim.st.reserved_peak - was;
		if (!*ok || (off < 0 ? -off : off) > SIM_OFF * was)
			return false;
	}
	return true;
}

static bool draw_lines(tide_predict_answer *x, tide_error *err)
{
	const tide_predict_run *b = tide__predict_last(x);
	bool ok = true;
	if (lines_of(x, 0, x->n - 1, SIZE_MAX, &x->live, err) != TIDE_OK)
		return false;
	draw_reserved(x);
	x->library = has_library(b->m);
	/* In predicted recordings no allocator ran: only the simulator has reserved bytes. */
	bool predicted = tide__is_predicted(b->m);
	if ((x->kept == TIDE_KEPT_UNKNOWN && !predicted) ||
	    x->live.bent) /* requests are resized on lines */
		return true;
	tide_code rc = tide__find_predicted_reserved(b->m, b->device, &b->held, &x->live,
						     &x->resized, err);
	if (rc == TIDE_OK && (predicted || sim_agrees(x, &ok)))
		x->kept = TIDE_KEPT_SIM;
	return ok && rc != TIDE_ENOMEM;
}

tide_code tide__predict_find(tide_predict_answer *x, const uint64_t *at, size_t n, tide_error *err)
{
	tide__nomem(err);
	bool ok = tide__paths_init(&x->paths) && draw_lines(x, err) && leave_out(x, err) &&
		  tell_rows(at, n, x) && tell_parts(x, err);
	return ok ? TIDE_OK : err->code;
}

void tide__predict_free(tide_predict_answer *x)
{
	for (size_t i = 0; i < x->n && x->v; i++)
		tide__moment_profile_free(&x->v[i].held);
	tide__predicted_reserved_free(&x->resized);
	tide__lines_free(&x->live);
	tide__paths_free(&x->paths);
	tide__predicted_breakdown_free(&x->roles);
	tide__predicted_breakdown_free(&x->modules);
	tide__free(x->rows);
}
