// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: heap, device, advice, compile. */
#include "analyze/device/hta_job.h"
#include "report/report.h"
#include "base/error.h"
#include "render/report/compile.h"
#include "render/report/memory/device.h"
#include "render/report/findings.h"
#include "render/report/memory/heap.h"
#include "render/text/losses.h"

/* ---- heap ---- */

struct heap {
	const tide_model *m;
	tide_heap h;
	tide_heap_view v;
};

static tide_code heap_text(void *result, const tide_out *to)
{
	struct heap *x = result;
	return tide__heap_text(x->m, &x->h, &x->v, to);
}

static tide_code heap_json(void *result, tide_json *j)
{
	struct heap *x = result;
	return tide__heap_json(x->m, &x->h, &x->v, j);
}

static void heap_free(void *result)
{
	tide__heap_report_free(&((struct heap *)result)->h);
}

tide_code tide_heap_find(const tide_trace *t, const tide_heap_options *given, tide_report **out,
			 tide_error *err)
{
	static const tide_report_type type = { "heap", sizeof(struct heap), heap_text, heap_json,
					       heap_free };
	static const char *const sorts[] = {
		"peak", "left", "allocated", "calls", "temporary", NULL
	};
	tide_heap_options o = TIDE_HEAP_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	int sort;
	tide__options_take(&o, sizeof o, given);
	tide_code rc = tide__take_word("sort", o.sort, sorts, 0, &sort, err);
	if (rc == TIDE_OK && r) {
		struct heap *x = (struct heap *)r->result;
		x->m = tide__model_of(t);
		x->v = (tide_heap_view){ .sort = (tide_heap_sort)sort, .top = o.top };
		rc = tide__heap_report_find(x->m, &x->h, err);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- device ---- */

struct device {
	const tide_model *m;
	tide_ledgers l;
};

static tide_code device_text(void *result, const tide_out *to)
{
	struct device *x = result;
	return tide__device_text(x->m, &x->l, NULL, to);
}

static tide_code device_json(void *result, tide_json *j)
{
	struct device *x = result;
	return tide__device_json(x->m, &x->l, NULL, j);
}

static void device_free(void *result)
{
	tide__ledgers_free(&((struct device *)result)->l);
}

tide_code tide_device_find(const tide_trace *t, tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "device", sizeof(struct device), device_text,
					       device_json, device_free };
	tide_report *r = tide__report_new(&type);
	tide_code rc = TIDE_ENOMEM;
	if (r) {
		struct device *x = (struct device *)r->result;
		x->m = tide__model_of(t);
		rc = tide__find_ledgers(x->m, &x->l, err);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- advice ---- */

struct advice {
	const tide_model *m;
	tide_findings f;
};

static tide_code advice_text(void *result, const tide_out *to)
{
	struct advice *x = result;
	tide__findings_text(&x->f, to->out);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code advice_json(void *result, tide_json *j)
{
	struct advice *x = result;
	tide__json_object(j);
	tide__findings_json(&x->f, j);
	tide__losses_json(j, x->m);
	tide__json_object_end(j);
	return TIDE_OK;
}

static void advice_free(void *result)
{
	(void)result; /* owns nothing */
}

tide_code tide_advice_find(const tide_trace *t, tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "advice", sizeof(struct advice), advice_text,
					       advice_json, advice_free };
	tide_report *r = tide__report_new(&type);
	tide_hta_job *job = NULL;
	tide_code rc = TIDE_ENOMEM;
	if (r) {
		struct advice *x = (struct advice *)r->result;
		x->m = tide__model_of(t);
		rc = tide__hta_job_find(x->m, x->m->path, &job, err);
		if (rc == TIDE_OK)
			rc = tide__collect_findings(x->m, &(tide_findings_query){ .job = job },
						    &x->f, err);
		tide__hta_job_free(job);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- compile ---- */

struct compile {
	const tide_model *m;
	tide_compile_report c;
	size_t top;
};

static tide_code compile_text(void *result, const tide_out *to)
{
	struct compile *x = result;
	tide__compile_text(x->m, &x->c, x->top, to->out, &to->style);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code compile_json(void *result, tide_json *j)
{
	struct compile *x = result;
	tide__json_object(j);
	tide__compile_json(x->m, &x->c, x->top, j);
	tide__losses_json(j, x->m);
	tide__json_object_end(j);
	return TIDE_OK;
}

static void compile_free(void *result)
{
	tide__compile_report_free(&((struct compile *)result)->c);
}

tide_code tide_compile_find(const tide_trace *t, const tide_compile_options *given,
			    tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "compile", sizeof(struct compile), compile_text,
					       compile_json, compile_free };
	tide_compile_options o = TIDE_COMPILE_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	tide__options_take(&o, sizeof o, given);
	tide_code rc = TIDE_ENOMEM;
	if (r) {
		struct compile *x = (struct compile *)r->result;
		x->m = tide__model_of(t);
		x->top = o.top;
		rc = tide__compile_report_find(x->m, &x->c, err);
	}
	return tide__report_finish(r, rc, out, err);
}
