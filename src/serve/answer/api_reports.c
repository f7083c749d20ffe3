// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The reports of tidemark/analyze.h on a recording: the JSON that `tidemark NAME --json` prints. */
#include <string.h>

#include "report/registry.h"
#include "base/error.h"
#include "serve/answer/api.h"

typedef struct query {
	const tide_trace *t;
	const char *device, *at, *group_by, *by, *sort;
	size_t top;
	tide_report *report;
	tide_error *err;
} query;

static tide_code hta(query *q)
{
	tide_hta_report_options o = TIDE_HTA_REPORT_OPTIONS_INIT;
	o.top = q->top;
	return tide_hta_find(&q->t, 1, &o, &q->report, q->err);
}

static tide_code kernels(query *q)
{
	tide_hta_report_options o = TIDE_HTA_REPORT_OPTIONS_INIT;
	o.top = q->top;
	return tide_kernels_find(&q->t, 1, q->by, &o, &q->report, q->err);
}

static const struct {
	const char *name;
	tide_code (*find)(query *q);
} reports[] = {
	/* clang-format off */

		{ "hta", hta },
	{ "kernels", kernels },

	/* clang-format on */
};

static tide_code answer(tide_ask *a, tide_code (*find)(query *q), tide_error *err)
{
	tide_loaded *l;
	int64_t top = 0;
	tide_code rc = tide__ask_id(a, a->req->part[2], &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (!tide__request_get_int(a->req, "top", 0, 100000, &top))
		return tide__ask_wrong(a, err);
	query q = { .t = (const tide_trace *)l->m,
		    .device = tide__request_get(a->req, "device"),
		    .at = tide__request_get(a->req, "at"),
		    .group_by = tide__request_get(a->req, "group_by"),
		    .by = tide__request_get(a->req, "by"),
		    .sort = tide__request_get(a->req, "sort"),
		    .top = (size_t)top,
		    .err = err };
	rc = find(&q);
	if (rc == TIDE_OK)
		rc = tide_report_json(q.report, a->out);
	tide_report_free(q.report);
	return rc;
}

/* Finds a described report: every parameter is an option of it. */
static tide_code answer_described(tide_ask *a, const tide_report_type *type, tide_error *err)
{
	tide_pair pairs[TIDE_REQ_PAIRS];
	size_t n = 0;
	tide_loaded *l;
	tide_report *report;
	tide_code rc = tide__ask_id(a, a->req->part[2], &l, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t i = 0; i < a->req->n_pairs; i++)
		if (strcmp(a->req->pair[i].key, "token") != 0 &&
		    strcmp(a->req->pair[i].key, "early") != 0)
			pairs[n++] = (tide_pair){ a->req->pair[i].key, a->req->pair[i].value };
	const tide_model *m = l->m;
	const tide_report_traces in = { .models = &m, .n = 1 };
	rc = tide__report_find_pairs(type, &in, pairs, n, &report, err);
	if (rc == TIDE_OK)
		rc = tide_report_json(report, a->out);
	tide_report_free(report);
	return rc;
}

tide_code tide__answer_report(tide_ask *a, tide_error *err)
{
	const tide_report_type *type = tide__report_named(a->req->part[4]);
	if (type && (type->want & TIDE_WANT_RAW)) /* reads the file again: critical_path_job.h */
		type = NULL;
	if (type)
		return answer_described(a, type, err);
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
		if (!strcmp(reports[i].name, a->req->part[4]))
			return answer(a, reports[i].find, err);
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "there is no such report");
}
