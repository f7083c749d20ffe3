// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/training_sizes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const struct {
	const char *text, *key;
} parts[TIDE_PARTS_N] = {
	[TIDE_PART_OTHER] = { "Other", "other" },
	[TIDE_PART_MODEL] = { "Model Parameters", "model" },
	[TIDE_PART_GRADIENTS] = { "Gradients Overhead", "gradients" },
	[TIDE_PART_OPTIMIZER] = { "Optimizer State", "optimizer" },
	[TIDE_PART_ACTIVATIONS] = { "Activations", "activations" },
};

const char *tide__training_part_text(tide_training_part p)
{
	return parts[p].text;
}

const char *tide__training_part_key(tide_training_part p)
{
	return parts[p].key;
}

bool tide__training_difference(const tide_training_sizes *t, tide_training_part p, double *pct)
{
	const tide_maybe_bytes *a = &t->actual[p], *e = &t->expected[p];
	*pct = 0;
	if (!a->known || !e->known || e->bytes <= 0)
		return false;
	*pct = ((double)a->bytes - (double)e->bytes) / (double)e->bytes * 100;
	return true;
}

/* ---- advice ---- */

#define TIGHT 0.9 /* of the capacity: a peak above it leaves too little for fragmentation */

tide_training_fit tide__training_fit_find(const tide_training_sizes *t)
{
	const tide_maybe_bytes *a = &t->part[TIDE_PART_ACTIVATIONS];
	int64_t capacity = (int64_t)t->capacity;
	tide_training_fit f = { .fits = capacity && t->peak < capacity,
				.activations = a->known ? a->bytes : 0 };
	f.rest = t->peak - f.activations;
	if (!capacity || (double)t->peak <= TIGHT * (double)capacity)
		return f;
	bool some = f.activations > 0, room = capacity > f.rest;
	f.activations_pct = t->peak > 0 ? 100.0 * (double)f.activations / (double)t->peak : 0;
	f.batch_pct = some ? 100.0 * (double)(capacity - f.rest) / (double)f.activations : 0;
	f.checkpoints = some;
	f.smaller_batch = some && room && t->peak > capacity;
	f.accumulate = some && room;
	f.shard = !room;
	return f;
}

/* ---- phases by name ---- */

/* Returns whether names match: "FORWARD_PASS__000012" is a FORWARD_PASS. */
static bool is_phase(const tide_phase_row *r, const char *name)
{
	size_t n = strlen(name);
	if (strncmp(r->name, name, n))
		return false;
	const char *rest = r->name + n;
	if (!*rest)
		return true;
	if (strncmp(rest, "__", 2) || !isdigit((unsigned char)rest[2]))
		return false;
	return rest[2 + strspn(rest + 2, "0123456789")] == 0;
}

/* Returns the first phase of that name; n = none. */
static size_t first_of(const tide_phase_summary *s, const char *name)
{
	size_t i = 0;
	while (i < s->n && !is_phase(&s->rows[i], name))
		i++;
	return i;
}

/* Returns the last phase of that name before row `end`; end = none. */
static size_t last_before(const tide_phase_summary *s, const char *name, size_t end)
{
	for (size_t i = end; i-- > 0;)
		if (is_phase(&s->rows[i], name))
			return i;
	return end;
}

static tide_maybe_bytes figure(const tide_phase_summary *s, size_t row, tide_phase_figure f)
{
	tide_maybe_bytes v = { false, 0 };
	if (row < s->n)
		v.known = tide__phase_figure(&s->rows[row], f, &v.bytes);
	return v;
}

/* Returns the phase in which the overall peak is reached; n = unknown. A log rounds: 0.01 MiB off
 * is equal. */
static size_t peak_row(const tide_phase_summary *s, int64_t peak)
{
	const int64_t rounding = 10486 * 2;
	int64_t v, was = 0, seg;
	for (size_t i = 0; i < s->n; i++) {
		if (tide__phase_figure(&s->rows[i], TIDE_FIGURE_PEAK, &v) && v >= peak - rounding)
			return i;
		if (tide__phase_figure(&s->rows[i], TIDE_FIGURE_SEGMENT_PEAK, &seg) &&
		    was + seg >= peak - rounding)
			return i;
		tide__phase_figure(&s->rows[i], TIDE_FIGURE_CURRENT, &was);
	}
	return s->n;
}

static void actual_sizes(const tide_phase_summary *s, tide_training_sizes *t)
{
	tide_maybe_bytes end = figure(s, first_of(s, "BACKWARD_PASS"), TIDE_FIGURE_CURRENT);
	tide_maybe_bytes before = figure(s, first_of(s, "OPTIMIZER_CREATION"), TIDE_FIGURE_CURRENT);
	t->actual[TIDE_PART_MODEL] = figure(s, first_of(s, "MODEL_CREATION"), TIDE_FIGURE_CHANGE);
	t->actual[TIDE_PART_OPTIMIZER] =
		figure(s, first_of(s, "OPTIMIZER_CREATION"), TIDE_FIGURE_CHANGE);
	t->actual[TIDE_PART_ACTIVATIONS] =
		figure(s, first_of(s, "FORWARD_PASS"), TIDE_FIGURE_CHANGE);
	if (end.known && before.known)
		t->actual[TIDE_PART_GRADIENTS] =
			(tide_maybe_bytes){ true, end.bytes - before.bytes };
	for (size_t i = 0; i < s->n; i++)
		if (is_phase(&s->rows[i], "KV_CACHE") || is_phase(&s->rows[i], "KV_CACHE_CREATION"))
			t->kv = figure(s, i, TIDE_FIGURE_CHANGE);
}

/* ---- theory ---- */

static void expected_sizes(const tide_sizes_options *o, tide_training_sizes *t)
{
	tide_maybe_bytes *e = t->expected;
	double each = o->bytes_per_param > 0 ? o->bytes_per_param : 2;
	e[TIDE_PART_MODEL] = o->model;
	if (!o->model.known && t->parameters) {
		double bytes = (double)t->parameters * each;
		e[TIDE_PART_MODEL] = (tide_maybe_bytes){ true, bytes < 9e18 ? (int64_t)(bytes + 0.5)
									    : INT64_MAX / 4 };
		t->model_from_parameters = true;
	}
	int64_t model = e[TIDE_PART_MODEL].bytes;
	e[TIDE_PART_OPTIMIZER] = o->optimizer;
	e[TIDE_PART_GRADIENTS] = o->gradients;
	if (!o->optimizer.known && e[TIDE_PART_MODEL].known && model < INT64_MAX / 2)
		e[TIDE_PART_OPTIMIZER] = (tide_maybe_bytes){ true, 2 * model };
	if (!o->gradients.known && e[TIDE_PART_MODEL].known)
		e[TIDE_PART_GRADIENTS] = (tide_maybe_bytes){ true, model };
}

/* ---- the peak's parts ---- */

/* Returns the theoretical size, unless it is unknown or measured sizes are requested. */
static tide_maybe_bytes shown(const tide_training_sizes *t, tide_training_part p, bool actual)
{
	bool measured = t->actual[p].known && (actual || !t->expected[p].known);
	return measured ? t->actual[p] : t->expected[p];
}

/* Sets the rest of the peak as other; negative if theory exceeds the peak. */
static void rest(tide_training_sizes *t)
{
	int64_t sum = 0;
	for (int p = TIDE_PART_MODEL; p < TIDE_PARTS_N; p++)
		sum += t->part[p].known ? t->part[p].bytes : 0;
	t->part[TIDE_PART_OTHER] = (tide_maybe_bytes){ true, t->peak - sum };
}

/* If a backward pass holds the peak, activations are the change of its forward pass and gradients
 * its segment peak. If a forward pass does, there are no gradients, and its segment peak is
 * activations. */
static void parts_at_peak(const tide_phase_summary *s, size_t row, bool actual,
			  tide_training_sizes *t)
{
	bool forward = row < s->n && is_phase(&s->rows[row], "FORWARD_PASS");
	size_t backward = row < s->n && is_phase(&s->rows[row], "BACKWARD_PASS")
				  ? row
				  : first_of(s, "BACKWARD_PASS");
	size_t fed = last_before(s, "FORWARD_PASS", backward);
	t->part[TIDE_PART_MODEL] = shown(t, TIDE_PART_MODEL, actual);
	t->part[TIDE_PART_OPTIMIZER] = shown(t, TIDE_PART_OPTIMIZER, actual);
	if (forward) {
		t->part[TIDE_PART_ACTIVATIONS] = figure(s, row, TIDE_FIGURE_SEGMENT_PEAK);
	} else {
		t->part[TIDE_PART_GRADIENTS] = figure(s, backward, TIDE_FIGURE_SEGMENT_PEAK);
		t->part[TIDE_PART_ACTIVATIONS] =
			figure(s, fed < backward ? fed : s->n, TIDE_FIGURE_CHANGE);
	}
	rest(t);
}

void tide__training_sizes_free(tide_training_sizes *t)
{
	tide__free(t->tensors);
	t->tensors = NULL;
}

tide_code tide__training_sizes_find(const tide_phase_summary *s, const tide_sizes_options *o,
				    tide_training_sizes *out, tide_error *err)
{
	*out = (tide_training_sizes){ .capacity = o->capacity ? o->capacity : s->capacity,
				      .parameters = o->parameters ? o->parameters : s->parameters,
				      .parameters_given = o->parameters != 0 };
	if (!tide__phase_summary_peak(s, &out->peak))
		return tide__fail(err, TIDE_ENOTFOUND, s->at, "a memory summary without a peak");
	size_t row = peak_row(s, out->peak);
	out->peak_phase = row < s->n ? s->rows[row].name : NULL;
	actual_sizes(s, out);
	expected_sizes(o, out);
	parts_at_peak(s, row, o->actual, out);
	return TIDE_OK;
}
