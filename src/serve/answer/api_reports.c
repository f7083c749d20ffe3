// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The reports of tidemark/analyze.h on a recording: the JSON that `tidemark NAME --json` prints. */
#include <string.h>

#include "report/registry.h"
#include "base/error.h"
#include "serve/answer/api.h"

/* Every parameter is an option of the report. */
static tide_code answer(tide_ask *a, const tide_report_type *type, tide_error *err)
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
	if (!type || type->input > TIDE_INPUT_RANKS ||
	    (type->want & TIDE_WANT_RAW)) /* reads the file again: critical_path_job.h */
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "there is no such report");
	return answer(a, type, err);
}
