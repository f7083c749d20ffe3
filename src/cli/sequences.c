// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/sequences.h"

#include <inttypes.h>

#include "analyze/device/sequences.h"

static void print_json(const tide_args *a, const tide_model *m, const tide_sequences *s,
		       const char *op, size_t top)
{
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kstr(&j, "trace", a->files[0]);
	tide__json_kstr(&j, "op", op);
	tide__json_kuint(&j, "matched", s->matched);
	tide__json_kuint(&j, "ops", s->ops);
	tide__json_karray(&j, "sequences");
	for (size_t i = 0; i < s->n && (!top || i < top); i++) {
		const tide_sequence *q = &s->v[i];
		tide__json_object(&j);
		tide__json_kuint(&j, "count", q->count);
		tide__json_kint(&j, "gpu_ns", q->gpu_ns);
		tide__json_kint(&j, "cpu_ns", q->cpu_ns);
		tide__json_key(&j, "names"); /* the op, then its kernels in order */
		tide__json_array(&j);
		for (size_t k = 0; k < q->length; k++) {
			size_t n;
			const char *name = tide__text(m, s->names[q->first + k], &n);
			tide__json_strn(&j, name, n);
		}
		tide__json_array_end(&j);
		tide__json_object_end(&j);
	}
	tide__json_array_end(&j);
	tide__losses_json(&j, m);
	tide__json_object_end(&j);
	tide__json_end(&j);
}

static void print_one(const tide_args *a, const tide_model *m, const tide_sequences *s,
		      const tide_sequence *q)
{
	char gpu[32], cpu[32], name[512];
	int width = a->style.width > 12 ? a->style.width - 8 : 0;
	fprintf(a->out, "%" PRIu64 " times, device %s, host %s\n", q->count,
		tide__fmt_ns(gpu, sizeof gpu, (double)q->gpu_ns),
		tide__fmt_ns(cpu, sizeof cpu, (double)q->cpu_ns));
	for (size_t k = 0; k < q->length; k++) {
		size_t n;
		const char *text = tide__text(m, s->names[q->first + k], &n);
		fprintf(a->out, "  %s%s\n", k ? "  " : "",
			tide__fmt_name(name, sizeof name, text, n, width));
	}
}

static void print_text(const tide_args *a, const tide_model *m, const tide_sequences *s,
		       const char *op, size_t top)
{
	if (!s->n)
		fprintf(a->out,
			"no op with '%s' in its name launches that many kernels (%" PRIu64
			" spans match)\n",
			op, s->matched);
	for (size_t i = 0; i < s->n && (!top || i < top); i++)
		print_one(a, m, s, &s->v[i]);
	if (top && s->n > top)
		fprintf(a->out, "(%zu more)\n", s->n - top);
	tide__cli_losses(a, m);
}

int tide__cli_sequences(const tide_args *a, const char *op, const tide_window *window,
			size_t min_kernels, size_t top, bool json)
{
	tide_sequences s;
	tide_error err;
	if (a->n_files != 1)
		return tide__cli_usage(a, "--sequences takes one trace");
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_SPANS);
	if (!m)
		return 1;
	tide_steps steps = { 0 };
	tide_span_window w = { .all = true };
	tide_code rc = tide__steps_find(m, &steps, &err);
	if (rc == TIDE_OK)
		rc = tide__window_of(&steps, window, &w, &err);
	tide__steps_free(&steps);
	if (rc == TIDE_OK)
		rc = tide__sequences(m, op, min_kernels, w.all ? INT64_MIN : w.from,
				     w.all ? INT64_MAX : w.to, &s, &err);
	if (rc != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(a->files[0], &err);
	}
	if (json)
		print_json(a, m, &s, op, top);
	else
		print_text(a, m, &s, op, top);
	tide__sequences_free(&s);
	tide__model_free(m);
	return tide__cli_done(a);
}
