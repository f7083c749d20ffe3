// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: reports on several traces: hta, kernels, predict, diff. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/select.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/report/compare/diff.h"
#include "render/report/predict/predict.h"
#include "model/names.h"

/* ---- predict ---- */

static tide_code predict_text(void *result, const tide_out *to)
{
	tide__predict_text(result, to);
	return TIDE_OK;
}

static tide_code predict_json(void *result, tide_json *j)
{
	tide__predict_json(result, j);
	return TIDE_OK;
}

static void predict_free(void *result)
{
	tide_predict_answer *x = result;
	tide__predict_free(x);
	tide__free(x->v);
}

static int by_size(const void *a, const void *b)
{
	const tide_predict_run *x = a, *y = b;
	return (x->size > y->size) - (x->size < y->size);
}

static tide_code take_runs(const tide_trace *const *traces, const uint64_t *size, size_t n,
			   tide_predict_answer *x, tide_error *err)
{
	if (n < 2)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "predict needs two traces");
	if (!(x->v = tide__calloc(n, sizeof *x->v)))
		return tide__nomem(err);
	x->n = n;
	for (size_t i = 0; i < n; i++) {
		const tide_model *m = tide__model_of(traces[i]);
		x->v[i] = (tide_predict_run){ .size = size[i],
					      .file = m->path,
					      .m = (tide_model *)(uintptr_t)m }; /* only read */
		if (!size[i] || size[i] > TIDE_MOST_SIZE)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "size: 1 to 1000000000");
	}
	qsort(x->v, n, sizeof *x->v, by_size);
	for (size_t i = 1; i < n; i++)
		if (x->v[i].size == x->v[i - 1].size)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "there are two traces of size %" PRIu64, x->v[i].size);
	return TIDE_OK;
}

static tide_code measure(const tide_predict_options *o, tide_predict_answer *x, tide_error *err)
{
	const tide_model *last = tide__predict_last(x)->m;
	uint32_t device;
	char name[64];
	tide_code rc = tide__take_one_device("device", o->device, last, &device, err);
	if (rc != TIDE_OK)
		return rc;
	tide__device_name(last, device, name, sizeof name);
	x->capacity = o->capacity ? o->capacity : last->devices.capacity[device];
	for (size_t i = 0; i < x->n && rc == TIDE_OK; i++) {
		rc = tide__take_device("device", name, x->v[i].m, &x->v[i].device, err);
		if (rc == TIDE_OK)
			rc = tide__predict_measure(&x->v[i], err);
	}
	return rc;
}

tide_code tide_predict_find(const tide_trace *const *traces, const uint64_t *size, size_t n,
			    const tide_predict_options *given, tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "predict", sizeof(tide_predict_answer), predict_text,
					       predict_json, predict_free };
	tide_predict_options o = TIDE_PREDICT_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	tide_error own;
	err = err ? err : &own;
	tide__options_take(&o, sizeof o, given);
	tide_code rc = TIDE_ENOMEM;
	if (r) {
		tide_predict_answer *x = (tide_predict_answer *)r->result;
		rc = take_runs(traces, size, n, x, err);
		if (rc == TIDE_OK)
			rc = measure(&o, x, err);
		if (rc == TIDE_OK) {
			uint64_t most = tide__predict_last(x)->size, at[] = { most * 2, most * 4 };
			rc = tide__predict_find(x, o.at ? o.at : at, o.at ? o.n_at : 2, err);
		}
	}
	return tide__report_finish(r, rc, out, err);
}
