// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* predict: memory at sizes of the work (a batch, a sequence) that were not run, from recordings of
 * the same program at two that were; those between the two check it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/paths.h"
#include "analyze/predict.h"
#include "analyze/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/names.h"
#include "cli/story.h"
#include "cli/where.h"

enum { O_CAPACITY, O_AT, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "find the largest size that fits, e.g. 40GiB (default: the device's "
			 "memory, where the recording tells it)" },
	[O_AT] = { "at", 'a', TIDE_OPT_INT, "N",
		   "predict this size (default: two and four times the largest)", .many = true,
		   .least = 1, .most = TIDE_MOST_SIZE },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" },
};

struct recording {
	uint64_t size;
	const char *file;
	tide_model *m;
	uint32_t device;
	tide_held held;
	uint64_t peak, reserved; /* UINT64_MAX = not known */
};

struct answer {
	struct recording *v; /* by size */
	size_t n;
	tide_lines live, reserved; /* the latter where reserved bytes of both are known: */
	bool kept;
	uint64_t capacity; /* 0 = not known */
	uint64_t *sizes;   /* rows of the table */
	size_t n_sizes;
	tide_paths paths;
};

static const struct recording *last(const struct answer *x)
{
	return &x->v[x->n - 1];
}

/* ---- the table ---- */

static const tide_grid_col cols[] = {
	{ "size", "Size", TIDE_CELL_COUNT },
	{ "peak_bytes", "Peak", TIDE_CELL_BYTES },
	{ "recorded_bytes", "Recorded", TIDE_CELL_BYTES },
	{ "off_bytes", "Off", TIDE_CELL_DELTA },
	{ "by", "By", TIDE_CELL_TEXT },
	{ "most_bytes", "At most", TIDE_CELL_BYTES },
	{ "op", "Highest in", TIDE_CELL_TEXT },
	{ "reserved_bytes", "Reserved", TIDE_CELL_BYTES },
	{ "recorded_reserved_bytes", "Was reserved", TIDE_CELL_BYTES },
};
enum { LIVE_COLS = 7 };

static void op_cell(tide_grid *g, struct answer *x, size_t at)
{
	char buf[1024];
	const tide_model *m = last(x)->m;
	uint32_t row = x->live.v[at].at[1].row;
	uint32_t node = row ? tide__paths_span(&x->paths, m, m->allocs.span[row]) : 0;
	if (node)
		tide__grid_text(g, tide__paths_text(&x->paths, m, node, buf, sizeof buf));
	else
		tide__grid_none(g);
}

static void row(tide_grid *g, struct answer *x, uint64_t size, bool whole)
{
	size_t at = 0, i = 0;
	uint64_t peak = tide__predict(&x->live, size, &at);
	while (i < x->n && x->v[i].size != size)
		i++;
	const struct recording *r = i < x->n ? &x->v[i] : NULL;
	bool between = r && i && i + 1 < x->n; /* the outer two make the lines */
	tide__grid_uint(g, size);
	tide__grid_uint(g, peak);
	tide__grid_maybe(g, r ? r->peak : UINT64_MAX);
	between ? tide__grid_int(g, (int64_t)(peak - r->peak)) : tide__grid_none(g);
	tide__grid_text(g, tide__line_text(x->live.v[at].kind));
	tide__grid_uint(g, tide__predict_most(&x->live, size));
	op_cell(g, x, at);
	if (!whole)
		return;
	tide__grid_maybe(g, x->kept ? tide__predict(&x->reserved, size, NULL) : UINT64_MAX);
	tide__grid_maybe(g, r ? r->reserved : UINT64_MAX);
}

/* `whole`: with columns of which nothing may be known. */
static tide_grid *table(struct answer *x, bool whole)
{
	tide_grid *g = tide__grid_new(cols, whole ? sizeof cols / sizeof *cols : LIVE_COLS);
	for (size_t i = 0; i < x->n_sizes; i++)
		row(g, x, x->sizes[i], whole);
	return g;
}

/* ---- output ---- */

static void print_fit(const tide_args *a, const tide_lines *l, uint64_t capacity, const char *what)
{
	char b[32], count[32];
	uint64_t most = tide__predict_fits(l, capacity);
	fprintf(a->out, "%s by %s bytes: ", tide__fmt_bytes(b, sizeof b, (double)capacity), what);
	if (!most)
		fputs("no size fits\n", a->out);
	else if (most == TIDE_MOST_SIZE)
		fputs("every size fits, they do not grow with it\n", a->out);
	else
		fprintf(a->out, "fits up to %s\n",
			tide__fmt_count(count, sizeof count, (int64_t)most));
}

static void print_text(const tide_args *a, struct answer *x)
{
	char name[64], b[2][32];
	const struct recording *z = last(x);
	tide__fmt_count(b[0], sizeof b[0], (int64_t)x->v[0].size);
	tide__fmt_count(b[1], sizeof b[1], (int64_t)z->size);
	tide__heading(a, "%s: peak by size of the work, from %s and %s",
		      tide__device_name(z->m, z->device, name, sizeof name), b[0], b[1]);
	fprintf(a->out,
		"moments: %lu one to one, %lu in groups (%lu per size), %lu in one alone\n\n",
		x->live.moments[0], x->live.moments[1], x->live.per_size, x->live.moments[2]);
	tide__grid_out(table(x, x->kept), a, 2);
	fputc('\n', a->out);
	if (!x->capacity)
		fputs("What fits is found with --capacity.\n", a->out);
	else
		print_fit(a, &x->live, x->capacity, "live");
	if (x->capacity && x->kept)
		print_fit(a, &x->reserved, x->capacity, "reserved");
	for (size_t i = 0; i < x->n; i++)
		tide__cli_losses(a, x->v[i].m);
}

static void json_fit(tide_json *j, const char *key, const tide_lines *l, uint64_t capacity)
{
	uint64_t most = tide__predict_fits(l, capacity);
	tide__json_key(j, key);
	most == TIDE_MOST_SIZE ? tide__json_null(j) : tide__json_uint(j, most);
}

static void json_recordings(tide_json *j, const struct answer *x)
{
	tide__json_karray(j, "recordings");
	for (size_t i = 0; i < x->n; i++) {
		tide__json_object(j);
		tide__json_kuint(j, "size", x->v[i].size);
		tide__json_kstr(j, "trace", x->v[i].file);
		tide__cli_losses_json(j, x->v[i].m);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void print_json(const tide_args *a, struct answer *x)
{
	char name[64];
	tide_json j;
	const struct recording *z = last(x);
	tide_grid *g = table(x, true);
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kstr(&j, "device", tide__device_name(z->m, z->device, name, sizeof name));
	json_recordings(&j, x);
	tide__json_key(&j, "sizes");
	tide__grid_json(g, &j);
	if (x->capacity) {
		tide__json_kuint(&j, "capacity_bytes", x->capacity);
		json_fit(&j, "fits", &x->live, x->capacity);
	} else {
		tide__json_knull(&j, "capacity_bytes");
		tide__json_knull(&j, "fits");
	}
	if (x->capacity && x->kept)
		json_fit(&j, "fits_reserved", &x->reserved, x->capacity);
	else
		tide__json_knull(&j, "fits_reserved");
	tide__json_object_end(&j);
	tide__json_end(&j);
	tide__grid_free(g);
}

/* ---- what is asked ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Recorded sizes and those asked for, in order, each once. */
static bool choose_sizes(const tide_value *at, struct answer *x)
{
	size_t asked = at->set ? at->n_list : 2, n = 0;
	uint64_t *v = x->sizes = tide__alloc(x->n + asked, sizeof *v);
	for (size_t i = 0; v && i < x->n; i++)
		v[n++] = x->v[i].size;
	for (size_t i = 0; v && i < asked; i++)
		v[n++] = at->set ? strtoull(at->list[i], NULL, 10) : last(x)->size << (i + 1);
	if (!v)
		return false;
	qsort(v, n, sizeof *v, by_size);
	for (size_t i = 0; i < n; i++)
		if (!i || v[i] != v[i - 1])
			v[x->n_sizes++] = v[i];
	return true;
}

/* "8=run.tide" */
static int parse(const tide_args *a, size_t i, struct recording *r)
{
	char *end;
	const char *text = a->files[i];
	r->size = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (!r->size || r->size > TIDE_MOST_SIZE || *end != '=' || !end[1])
		return tide__cli_usage(a,
				       "'%.200s': write the size of the work before its recording, "
				       "e.g. 8=a.tide 16=b.tide",
				       text);
	r->file = end + 1;
	return 0;
}

static int parse_all(const tide_args *a, struct answer *x)
{
	int rc = 0;
	for (size_t i = 0; i < x->n && !rc; i++)
		rc = parse(a, i, &x->v[i]);
	if (!rc)
		qsort(x->v, x->n, sizeof *x->v, by_size); /* its first member */
	for (size_t i = 1; i < x->n && !rc; i++)
		if (x->v[i].size == x->v[i - 1].size)
			rc = tide__cli_usage(a, "there are two recordings of size %" PRIu64,
					     x->v[i].size);
	return rc;
}

/* ---- the command ---- */

static int nothing(const struct recording *r, tide_error *err)
{
	tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no allocations to predict from");
	return tide__cli_fail(r->file, err);
}

static int measure(struct recording *r, tide_error *err)
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

static int load_all(const tide_args *a, struct answer *x, tide_error *err)
{
	char name[64];
	int rc;
	for (size_t i = 0; i < x->n; i++)
		if (!(x->v[i].m =
			      tide__cli_load(a, x->v[i].file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS)))
			return 1;
	const struct recording *z = last(x);
	uint32_t device;
	if (!tide__story_device(a, &a->opt[O_DEVICE], z->m, &device, &rc))
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

/* What was reserved beyond the peak comes on top; it is not taken to shrink as the work grows. */
static bool draw_lines(struct answer *x, tide_error *err)
{
	const struct recording *a = &x->v[0], *b = last(x);
	x->kept = a->reserved != UINT64_MAX && b->reserved != UINT64_MAX;
	if (tide__lines(&a->held, &b->held, &x->live, err) != TIDE_OK)
		return false;
	uint64_t more[2] = { a->reserved > a->peak ? a->reserved - a->peak : 0,
			     b->reserved > b->peak ? b->reserved - b->peak : 0 };
	x->reserved = x->live; /* the same lines, borrowed */
	x->reserved.more[0] = more[0];
	x->reserved.more[1] = more[1] > more[0] ? more[1] : more[0];
	return true;
}

static void answer_free(struct answer *x)
{
	for (size_t i = 0; i < x->n && x->v; i++) {
		tide__held_free(&x->v[i].held);
		tide__model_free(x->v[i].m);
	}
	tide__lines_free(&x->live);
	tide__paths_free(&x->paths);
	tide__free(x->sizes);
	tide__free(x->v);
}

static int run(const tide_args *a)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	struct answer x = { .n = a->n_files };
	x.v = tide__calloc(x.n, sizeof *x.v);
	bool ok = x.v && tide__paths_init(&x.paths);
	int rc = ok ? parse_all(a, &x) : tide__cli_fail(NULL, &err);
	if (!rc)
		rc = load_all(a, &x, &err);
	if (!rc && !(draw_lines(&x, &err) && choose_sizes(&a->opt[O_AT], &x)))
		rc = tide__cli_fail(NULL, &err);
	if (!rc) {
		a->opt[O_JSON].set ? print_json(a, &x) : print_text(a, &x);
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
		"of "
		"its sequences. Where the smallest and the largest recording allocate and free in "
		"the same order, at least until their peaks, each moment has a line of its own "
		"through the two, and the highest line at a size is the peak there; else there is "
		"one line, through their peaks. Recordings between the two are a check: Off is how "
		"far the prediction is "
		"from what they held.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 2,
	.max_files = SIZE_MAX,
	.run = run,
};
