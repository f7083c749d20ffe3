// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/device/sequences.h"

#include <inttypes.h>

static void print_one(const tide_out *to, const tide_model *m, const tide_sequences *s,
		      const tide_sequence *q)
{
	char gpu[32], cpu[32], name[512];
	int width = to->style.width > 12 ? to->style.width - 8 : 0;
	fprintf(to->out, "%" PRIu64 " times, device %s, host %s\n", q->count,
		tide__fmt_ns(gpu, sizeof gpu, (double)q->gpu_ns),
		tide__fmt_ns(cpu, sizeof cpu, (double)q->cpu_ns));
	for (size_t k = 0; k < q->length; k++) {
		size_t n;
		const char *text = tide__text(m, s->names[q->first + k], &n);
		fprintf(to->out, "  %s%s\n", k ? "  " : "",
			tide__fmt_name(name, sizeof name, text, n, width));
	}
}

void tide__sequences_text(const tide_model *m, const tide_sequences *s, const char *op, size_t top,
			  const tide_out *to)
{
	if (!s->n)
		fprintf(to->out,
			"no op with '%s' in its name launches that many kernels (%" PRIu64
			" spans match)\n",
			op, s->matched);
	for (size_t i = 0; i < s->n && (!top || i < top); i++)
		print_one(to, m, s, &s->v[i]);
	if (top && s->n > top)
		fprintf(to->out, "(%zu more)\n", s->n - top);
	tide__put_model_losses(to, m);
}

void tide__sequences_json(const tide_model *m, const tide_sequences *s, const char *file,
			  const char *op, size_t top, tide_json *j)
{
	tide__json_object(j);
	tide__json_kstr(j, "trace", file);
	tide__json_kstr(j, "op", op);
	tide__json_kuint(j, "matched", s->matched);
	tide__json_kuint(j, "ops", s->ops);
	tide__json_karray(j, "sequences");
	for (size_t i = 0; i < s->n && (!top || i < top); i++) {
		const tide_sequence *q = &s->v[i];
		tide__json_object(j);
		tide__json_kuint(j, "count", q->count);
		tide__json_kint(j, "gpu_ns", q->gpu_ns);
		tide__json_kint(j, "cpu_ns", q->cpu_ns);
		tide__json_key(j, "names"); /* the op, then its kernels in order */
		tide__json_array(j);
		for (size_t k = 0; k < q->length; k++) {
			size_t n;
			const char *name = tide__text(m, s->names[q->first + k], &n);
			tide__json_strn(j, name, n);
		}
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__losses_json(j, m);
	tide__json_object_end(j);
}
