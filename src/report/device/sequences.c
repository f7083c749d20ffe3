// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels --sequences: sequences of kernels that ops launch most often. */
#include "analyze/device/sequences.h"

#include <inttypes.h>

#include "report/device/hta.h"

struct sequences {
	const tide_model *m;
	tide_sequences s;
	const char *file;
	char op[256];
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct sequences *x = result;
	const tide_value *v = ask->opt;
	tide_steps steps = { 0 };
	tide_span_window w = { .all = true };
	tide_hta_options opt;
	char window[80];
	x->m = ask->models[0];
	x->file = tide__ask_file(ask, 0);
	x->top = (size_t)v[TIDE_KERNELS_TOP].num;
	snprintf(x->op, sizeof x->op, "%s", v[TIDE_KERNELS_SEQUENCES].text);
	tide_code rc = tide__hta_read_options(ask, &opt, window, sizeof window, err);
	if (rc == TIDE_OK)
		rc = tide__steps_find_named(x->m, &steps, err);
	if (rc == TIDE_OK)
		rc = tide__window_resolve(&steps, &opt.window, &w, err);
	tide__steps_free(&steps);
	if (rc == TIDE_OK)
		rc = tide__find_sequences(x->m, x->op, (size_t)v[TIDE_KERNELS_MIN].num,
					  w.all ? INT64_MIN : w.from, w.all ? INT64_MAX : w.to,
					  &x->s, err);
	return rc;
}

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

static tide_code write_text(void *result, const tide_out *to)
{
	struct sequences *x = result;
	const tide_sequences *s = &x->s;
	if (!s->n)
		fprintf(to->out,
			"no op with '%s' in its name launches that many kernels (%" PRIu64
			" spans match)\n",
			x->op, s->matched);
	for (size_t i = 0; i < s->n && (!x->top || i < x->top); i++)
		print_one(to, x->m, s, &s->v[i]);
	if (x->top && s->n > x->top)
		fprintf(to->out, "(%zu more)\n", s->n - x->top);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct sequences *x = result;
	const tide_sequences *s = &x->s;
	tide__json_kstr(j, "trace", x->file);
	tide__json_kstr(j, "op", x->op);
	tide__json_kuint(j, "matched", s->matched);
	tide__json_kuint(j, "ops", s->ops);
	tide__json_karray(j, "sequences");
	for (size_t i = 0; i < s->n && (!x->top || i < x->top); i++) {
		const tide_sequence *q = &s->v[i];
		tide__json_object(j);
		tide__json_kuint(j, "count", q->count);
		tide__json_kint(j, "gpu_ns", q->gpu_ns);
		tide__json_kint(j, "cpu_ns", q->cpu_ns);
		tide__json_karray(j, "names");
		for (size_t k = 0; k < q->length; k++) {
			size_t n;
			const char *name = tide__text(x->m, s->names[q->first + k], &n);
			tide__json_strn(j, name, n);
		}
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static void free_sequences(void *result)
{
	tide__sequences_free(&((struct sequences *)result)->s);
}

static const tide_member name = TIDE_MEMBER("", TEXT, "an op or a kernel");
static const tide_member sequence[] = {
	TIDE_MEMBER("count", COUNT, "ops that launched exactly this sequence"),
	TIDE_MEMBER("gpu_ns", NS, "sum of the durations of its kernels"),
	TIDE_MEMBER("cpu_ns", NS, "sum of the durations of these ops"),
	TIDE_MEMBER_OF("names", LIST, &name, "the op, then its kernels in order"),
	{ 0 },
};
static const tide_member members[] = {
	TIDE_MEMBER("trace", TEXT, "name of the trace"),
	TIDE_MEMBER("op", TEXT, "part of the names of the ops"),
	TIDE_MEMBER("matched", COUNT, "spans with it in their name"),
	TIDE_MEMBER("ops", COUNT, "those that launch enough kernels"),
	TIDE_MEMBER_OF("sequences", TABLE, sequence, "sequences, the most frequent first"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_sequences = {
	.name = "sequences",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS,
	TIDE_REPORT_OPTIONS(tide__kernels_options),
	.members = members,
	.version = 1,
	.size = sizeof(struct sequences),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_sequences,
};
