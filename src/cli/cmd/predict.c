// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* predict: memory at sizes of the work (a batch, a sequence) that were not run, from recordings of
 * the same program at two that were; those between the two check it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "cli/predict_out.h"

enum { O_CAPACITY, O_AT, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "find the largest size that fits, e.g. 40GiB (default: the device's "
			 "memory, where the recording tells it)" },
	[O_AT] = { "at", 'a', TIDE_OPT_INT, "N",
		   "predict this size (default: two and four times the largest)", .many = true,
		   .least = 1, .most = TIDE_MOST_SIZE },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static const double SIM_OFF = 0.05; /* that a simulator may be off where it was recorded */

/* ---- what is asked ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static bool tell_row(tide_predict_answer *x, uint64_t size, tide_predict_row *out)
{
	tide_predict_row r = { .size = size, .reserved = UINT64_MAX };
	tide_sim_result sim;
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].size == size)
			r.run = &x->v[i];
	r.peak = tide__predict(&x->live, size, &r.line);
	r.most = tide__predict_most(&x->live, size);
	if (x->kept == TIDE_KEPT_LINE)
		r.reserved = tide__predict(&x->reserved, size, NULL);
	if (x->kept == TIDE_KEPT_SIM) {
		if (tide__resized_run(&x->resized, size, 0, &sim) != TIDE_OK)
			return false;
		r.reserved = sim.st.reserved_peak;
	}
	*out = r;
	return true;
}

/* Recorded sizes and those asked for, in order, each once. */
static bool tell_rows(const tide_value *at, tide_predict_answer *x)
{
	size_t asked = at->set ? at->n_list : 2, n = 0;
	uint64_t *v = tide__alloc(x->n + asked, sizeof *v);
	x->rows = tide__alloc(x->n + asked, sizeof *x->rows);
	bool ok = v && x->rows;
	for (size_t i = 0; ok && i < x->n; i++)
		v[n++] = x->v[i].size;
	for (size_t i = 0; ok && i < asked; i++)
		v[n++] = at->set ? strtoull(at->list[i], NULL, 10)
				 : tide__predict_last(x)->size << (i + 1);
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
	if (x->kept != TIDE_KEPT_SIM || x->fits == TIDE_MOST_SIZE) /* what does not grow */
		return true;
	return tide__resized_fits(&x->resized, x->fits, x->capacity, &x->fits_reserved) == TIDE_OK;
}

/* What the peak of the largest size that fits, or else of the largest asked for, is made of. */
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
	if (x->live.v[x->whole.line].kind == TIDE_LINE_AROUND)
		return true; /* what was alive at two different moments has no lines */
	return tide__parts(m, device, &x->live, x->whole.line, x->whole.size, TIDE_BY_ROLE,
			   &x->roles, err) == TIDE_OK &&
	       tide__parts(m, device, &x->live, x->whole.line, x->whole.size, TIDE_BY_MODULE,
			   &x->modules, err) == TIDE_OK;
}

/* Each recording as the outermost of the others tell it. */
static bool leave_out(tide_predict_answer *x, tide_error *err)
{
	bool ok = true;
	for (size_t i = 0; i < x->n && ok; i++) {
		size_t a = i == 0, b = x->n - 1 - (i == x->n - 1);
		tide_lines l = { 0 };
		x->v[i].without = UINT64_MAX;
		if (a >= b)
			continue;
		ok = tide__lines(&x->v[a].held, &x->v[b].held, &l, err) == TIDE_OK;
		if (ok)
			x->v[i].without = tide__predict(&l, x->v[i].size, NULL);
		tide__lines_free(&l);
	}
	return ok;
}

/* "8=run.tide" */
static int parse(const tide_args *a, size_t i, tide_predict_run *r)
{
	char *end;
	const char *text = a->files[i];
	r->size = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (!r->size || r->size > TIDE_MOST_SIZE || *end != '=' || !end[1])
		return tide__cli_usage(
			a,
			"'%.200s': write the size of the work, 1 to 1000000000, before "
			"its recording, e.g. 8=a.tide 16=b.tide",
			text);
	r->file = end + 1;
	return 0;
}

static int parse_all(const tide_args *a, tide_predict_answer *x)
{
	int rc = 0;
	for (size_t i = 0; i < x->n && !rc; i++)
		rc = parse(a, i, &x->v[i]);
	if (!rc && a->opt[O_CAPACITY].set && !a->opt[O_CAPACITY].num)
		rc = tide__cli_usage(a, "--capacity: nothing fits in 0 bytes");
	if (!rc)
		qsort(x->v, x->n, sizeof *x->v, by_size); /* its first member */
	for (size_t i = 1; i < x->n && !rc; i++)
		if (x->v[i].size == x->v[i - 1].size)
			rc = tide__cli_usage(a, "there are two recordings of size %" PRIu64,
					     x->v[i].size);
	return rc;
}

/* ---- the command ---- */

static int nothing(const tide_predict_run *r, tide_error *err)
{
	tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no allocations to predict from");
	return tide__cli_fail(r->file, err);
}

static int measure(tide_predict_run *r, tide_error *err)
{
	tide_usage u = { 0 };
	bool ok = tide__usage(r->m, UINT64_MAX, 0, &u, err) == TIDE_OK &&
		  tide__held(r->m, r->device, r->size, &r->held, err) == TIDE_OK;
	if (ok) {
		r->peak = u.devices[r->device].peak;
		r->reserved = u.devices[r->device].reserved_peak;
	}
	tide__usage_free(&u);
	if (!ok)
		return tide__cli_fail(r->file, err);
	return r->held.moments ? 0 : nothing(r, err);
}

static int load_all(const tide_args *a, tide_predict_answer *x, tide_error *err)
{
	char name[64];
	int rc;
	for (size_t i = 0; i < x->n; i++)
		if (!(x->v[i].m =
			      tide__cli_load(a, x->v[i].file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS)))
			return 1;
	const tide_predict_run *z = tide__predict_last(x);
	uint32_t device;
	if (!tide__cli_one_device(a, &a->opt[O_DEVICE], z->m, &device, &rc))
		return rc;
	if (!device)
		return nothing(z, err);
	tide__device_name(z->m, device, name, sizeof name);
	rc = 0;
	for (size_t i = 0; i < x->n && !rc; i++) {
		x->v[i].device = tide__device_find(x->v[i].m, name);
		rc = x->v[i].device ? measure(&x->v[i], err) : tide__no_device(a, x->v[i].m, name);
	}
	x->capacity = a->opt[O_CAPACITY].set ? (uint64_t)a->opt[O_CAPACITY].num
					     : z->m->devices.capacity[device];
	return rc;
}

/* More work takes no less memory; a little less is chance (a worker process that is late). */
static int check_growth(const tide_args *a, const tide_predict_answer *x)
{
	for (size_t i = 1; i < x->n; i++) {
		const tide_predict_run *less = &x->v[i - 1], *more = &x->v[i];
		if (more->peak < less->peak - less->peak / 16)
			return tide__cli_usage(a,
					       "%" PRIu64 "=%.200s holds less than %" PRIu64
					       "=%.200s: are the sizes swapped, or is it another "
					       "program?",
					       more->size, more->file, less->size, less->file);
	}
	return 0;
}

/* What was reserved beyond the peak comes on top; it is not taken to shrink as the work grows. */
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

/* Is what the simulator reserves at the recorded sizes what was reserved there, near enough? */
static bool sim_agrees(tide_predict_answer *x, bool *ok)
{
	const tide_predict_run *both[] = { &x->v[0], tide__predict_last(x) };
	for (size_t i = 0; i < 2; i++) {
		tide_sim_result sim;
		*ok = tide__resized_run(&x->resized, both[i]->size, 0, &sim) == TIDE_OK;
		double was = (double)both[i]->reserved, off = (double)sim.st.reserved_peak - was;
		if (!*ok || (off < 0 ? -off : off) > SIM_OFF * was)
			return false;
	}
	return true;
}

static bool draw_lines(tide_predict_answer *x, tide_error *err)
{
	const tide_predict_run *a = &x->v[0], *b = tide__predict_last(x);
	bool ok = true;
	if (tide__lines(&a->held, &b->held, &x->live, err) != TIDE_OK)
		return false;
	draw_reserved(x);
	if (x->kept == TIDE_KEPT_UNKNOWN)
		return true;
	tide_code rc = tide__resized(b->m, b->device, &b->held, &x->live, &x->resized, err);
	if (rc == TIDE_OK && sim_agrees(x, &ok))
		x->kept = TIDE_KEPT_SIM;
	return ok && rc != TIDE_ENOMEM;
}

static void answer_free(tide_predict_answer *x)
{
	for (size_t i = 0; i < x->n && x->v; i++) {
		tide__held_free(&x->v[i].held);
		tide__model_free(x->v[i].m);
	}
	tide__resized_free(&x->resized);
	tide__lines_free(&x->live);
	tide__paths_free(&x->paths);
	tide__parts_free(&x->roles);
	tide__parts_free(&x->modules);
	tide__free(x->rows);
	tide__free(x->v);
}

static int run(const tide_args *a)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_predict_answer x = { .n = a->n_files };
	x.v = tide__calloc(x.n, sizeof *x.v);
	bool ok = x.v && tide__paths_init(&x.paths);
	int rc = ok ? parse_all(a, &x) : tide__cli_fail(NULL, &err);
	if (!rc)
		rc = load_all(a, &x, &err);
	if (!rc)
		rc = check_growth(a, &x);
	if (!rc && !(draw_lines(&x, &err) && leave_out(&x, &err) && tell_rows(&a->opt[O_AT], &x) &&
		     tell_parts(&x, &err)))
		rc = tide__cli_fail(NULL, &err);
	if (!rc) {
		a->opt[O_JSON].set ? tide__predict_json(a, &x) : tide__predict_text(a, &x);
		rc = tide__cli_done(a);
	}
	answer_free(&x);
	return rc;
}

const tide_command tide__cmd_predict = {
	.name = "predict",
	.usage = "N=FILE N=FILE... [--capacity SIZE] [--at N]... [--json]",
	.summary = "predict the peak of another batch size, and the largest that fits",
	.help = "N is the size of the work that FILE is a recording of: its batch, or the length "
		"of its sequences. Allocations of the smallest and the largest recording are "
		"joined by what made them: op, module, call stack, and which of several in a step. "
		"Each such moment has a line of its own through the two, and the highest line at a "
		"size is the peak there. What one recording makes more often than the other, as a "
		"loader that allocates for every sample does, counts as one moment, the highest. "
		"Of three recordings or more each is told from the others: Off is how far that is "
		"from what it held. Below: the largest size that fits, and what is alive at its "
		"peak by role and module, with what each of them takes for one more of the size.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 2,
	.max_files = SIZE_MAX,
	.run = run,
};
