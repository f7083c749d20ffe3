// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* advice: every recommendation on a recording, with its evidence and a score. */
#include "analyze/advice/findings.h"
#include "analyze/device/hta_job.h"
#include "report/memory/findings.h"
#include "report/report.h"

struct advice {
	const tide_model *m;
	tide_findings f;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct advice *x = result;
	tide_hta_job *job = NULL;
	x->m = ask->models[0];
	tide_code rc = tide__hta_job_find(x->m, tide__ask_file(ask, 0), &job, err);
	if (rc == TIDE_OK)
		rc = tide__collect_findings(x->m, &(tide_findings_query){ .job = job }, &x->f, err);
	tide__hta_job_free(job);
	return rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct advice *x = result;
	tide__findings_text(&x->f, to->out);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct advice *x = result;
	tide__findings_json(&x->f, j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static void free_advice(void *result)
{
	(void)result; /* owns nothing */
}

#define JUDGED .meaning = "the recording has data on it"
static const tide_member areas[] = {
	{ "time", NULL, TIDE_KIND_BOOL, JUDGED },
	{ "memory", NULL, TIDE_KIND_BOOL, JUDGED },
	{ "allocator", NULL, TIDE_KIND_BOOL, JUDGED },
	{ "compile", NULL, TIDE_KIND_BOOL, JUDGED },
	{ 0 },
};

static const tide_member finding[] = {
	{ "area", NULL, TIDE_KIND_WORD, .words = "time,memory,allocator,compile",
	  .meaning = "what it is about" },
	{ "id", NULL, TIDE_KIND_TEXT, .meaning = "name of the finding" },
	{ "severity", NULL, TIDE_KIND_WORD, .words = "info,medium,high", .meaning = "severity" },
	{ "points", NULL, TIDE_KIND_PLAIN, .meaning = "change of the score" },
	{ "figure", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "name of the figure that it is based on" },
	{ "value", NULL, TIDE_KIND_REAL, .may = TIDE_MAY_BE_NULL, .meaning = "the figure" },
	{ "threshold", NULL, TIDE_KIND_REAL, .may = TIDE_MAY_BE_NULL, .meaning = "its limit" },
	{ "bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL, .meaning = "bytes concerned" },
	{ "text", NULL, TIDE_KIND_TEXT, .meaning = "the recommendation, with its evidence" },
	{ 0 },
};

static const tide_member members[] = {
	{ "score", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "0 to 100; null: no area was judged" },
	{ "grade", NULL, TIDE_KIND_WORD, .may = TIDE_MAY_BE_NULL, .words = "A,B,C,D,F",
	  .meaning = "the score as a letter" },
	{ "areas", NULL, TIDE_KIND_OBJECT, .members = areas, .meaning = "areas that were judged" },
	{ "findings", NULL, TIDE_KIND_TABLE, .members = finding,
	  .meaning = "recommendations, most severe first" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_advice = {
	.name = "advice",
	.group = TIDE_GROUP_TIME,
	.summary = "list every recommendation on a recording, with evidence and a score",
	.help = "Lists recommendations on device time, device memory, the allocator's settings and "
		"torch.compile, each with the figure it is based on and the points it costs. Areas "
		"without data in the recording are not judged.",
	.members = members,
	.version = 1,
	.size = sizeof(struct advice),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_advice,
};
