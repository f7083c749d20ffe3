// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: allocator, oom, whatif. */
#include <string.h>

#include "report/report.h"
#include "base/error.h"
#include "render/report/allocator/allocator.h"
#include "render/report/allocator/oom_report.h"
#include "render/report/allocator/whatif.h"
#include "render/report/memory/peak.h"

/* ---- allocator ---- */

enum { MAP_ROWS = 16 }; /* largest segments that text draws */

static tide_code allocator_text(void *result, const tide_out *to)
{
	tide__allocator_text(result, MAP_ROWS, to);
	return TIDE_OK;
}

static tide_code allocator_json(void *result, tide_json *j)
{
	tide__allocator_json(result, j);
	return TIDE_OK;
}

static void allocator_free(void *result)
{
	tide__allocator_free(result);
}

tide_code tide_allocator_find(const tide_trace *t, const tide_allocator_options *given,
			      tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "allocator", sizeof(tide_allocator), allocator_text,
					       allocator_json, allocator_free };
	tide_allocator_options o = TIDE_ALLOCATOR_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	tide_report *r = tide__report_new(&type);
	tide__options_take(&o, sizeof o, given);
	tide_allocator_query q = { .points = o.buckets ? o.buckets : 1,
				   .buckets = tide__allocator_chart_buckets(&(tide_style){ 0 }),
				   .advice = !o.no_advice };
	tide_code rc = tide__take_one_device("device", o.device, m, &q.device, err);
	if (rc == TIDE_OK)
		rc = tide__take_moment("at", o.at, m, &q.at, err);
	if (rc == TIDE_OK && r)
		rc = tide__allocator_find(m, &q, (tide_allocator *)r->result, err);
	return tide__report_finish(r, rc, out, err);
}

/* ---- oom ---- */

static tide_code oom_text(void *result, const tide_out *to)
{
	tide__oom_text(result, to);
	return TIDE_OK;
}

static tide_code oom_json(void *result, tide_json *j)
{
	tide__oom_json(result, j);
	return TIDE_OK;
}

static void oom_free(void *result)
{
	tide__oom_events_free(result);
}

tide_code tide_oom_find(const tide_trace *t, const tide_oom_options *given, tide_report **out,
			tide_error *err)
{
	static const tide_report_type type = { "oom", sizeof(tide_oom_events), oom_text, oom_json,
					       oom_free };
	tide_oom_options o = TIDE_OOM_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	tide_report *r = tide__report_new(&type);
	uint32_t device = TIDE_ANY;
	int by = 0;
	tide__options_take(&o, sizeof o, given);
	tide_code rc = tide__take_device("device", o.device, m, &device, err);
	if (rc == TIDE_OK)
		rc = tide__take_word("group_by", o.group_by, tide__group_by_texts,
				     (int)tide__group_by_best(m), &by, err);
	if (rc == TIDE_OK && o.events > TIDE_OOM_MOST_EVENTS)
		rc = tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "events: at most %d",
				TIDE_OOM_MOST_EVENTS);
	const tide_oom_query q = {
		device, (tide_group_by)by, o.top, o.events, TIDE_OOM_LIST, true
	};
	if (rc == TIDE_OK && r)
		rc = tide__oom_events_find(m, &q, (tide_oom_events *)r->result, err);
	return tide__report_finish(r, rc, out, err);
}

/* ---- whatif ---- */

static tide_code whatif_text(void *result, const tide_out *to)
{
	tide__whatif_text(result, to);
	return TIDE_OK;
}

static tide_code whatif_json(void *result, tide_json *j)
{
	tide__whatif_json(result, j);
	return TIDE_OK;
}

static void whatif_free(void *result)
{
	tide__whatif_free(result);
}

tide_code tide_whatif_find(const tide_trace *t, const tide_whatif_options *given, tide_report **out,
			   tide_error *err)
{
	static const tide_report_type type = { "whatif", sizeof(tide_whatif), whatif_text,
					       whatif_json, whatif_free };
	tide_whatif_options o = TIDE_WHATIF_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	tide_report *r = tide__report_new(&type);
	tide__options_take(&o, sizeof o, given);
	tide_whatif_query q = { .capacity = o.capacity,
				.set = o.set,
				.n_set = o.n_set,
				.standard = o.sweep || !o.n_set };
	tide_code rc = tide__take_one_device("device", o.device, m, &q.device, err);
	if (rc == TIDE_OK && r)
		rc = tide__whatif_find(m, &q, (tide_whatif *)r->result, err);
	return tide__report_finish(r, rc, out, err);
}
