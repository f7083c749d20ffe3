// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Findings of a page: those of `tidemark advice`, in its order. Each names the view that shows it
 * and, if there is one, the moment; failed requests and growth have their figures beside them.
 * Allocator settings are not tried if the replay would take too long for a page: then `untried` is
 * set. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/findings.h"
#include "analyze/allocator/oom_events.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/text/grid.h"
#include "render/report/memory/leaks.h"
#include "render/report/allocator/oom.h"
#include "render/page/page_parts.h"
#include "model/names.h"

enum { MOST_OOMS = 4, MOST_HOLDERS = 6, MOST_GROWING = 8 };

/* Replaying 1,000,000 events under all standard settings takes as long as the rest of their page
 * (0.9 s of CPU time, measured). Without recorded segments the replay cannot be checked against
 * them, so less time is spent on it. */
enum { MOST_REPLAYED = 1000000, MOST_REPLAYED_UNCHECKED = 50000 };

/* ---- out of memory ---- */

static bool put_oom(tide_json *j, const tide_model *m, const tide_oom *o)
{
	char asked[32], held[32], dev[64], why[300], text[500];
	tide__device_name(m, tide__oom_device(m, o->mark), dev, sizeof dev);
	tide__fmt_bytes(asked, sizeof asked, (double)o->asked);
	tide__oom_why(o, why, sizeof why);
	if (o->banks.n)
		snprintf(text, sizeof text, "%s of %s could not allocate %s. %s",
			 tide__text(m, m->pools.name[m->marks.pool[o->mark].i], NULL), dev, asked,
			 why);
	else
		snprintf(text, sizeof text, "%s could not allocate %s; %s were in use. %s", dev,
			 asked, tide__fmt_bytes(held, sizeof held, (double)o->at.allocated), why);
	tide__json_object(j);
	tide__json_kint(j, "t", o->t);
	tide__json_kstr(j, "text", text);
	tide__json_key(j, "oom");
	bool ok = tide__oom_write_page(j, m, o);
	tide__json_object_end(j);
	return ok;
}

/* Member `ooms`: the first failed requests of the device. */
static bool put_ooms(tide_json *j, const tide_model *m, uint32_t device, tide_error *err)
{
	const tide_oom_query q = { .device = device,
				   .by = tide__group_by_best(m),
				   .top = MOST_HOLDERS,
				   .full = MOST_OOMS,
				   .others = TIDE_OOM_COUNT };
	tide_oom_events x;
	bool ok = tide__oom_events_find(m, &q, &x, err) == TIDE_OK;
	tide__json_karray(j, "ooms");
	for (size_t i = 0; ok && i < x.n_full; i++)
		ok = put_oom(j, m, &x.v[i]);
	tide__json_array_end(j);
	tide__oom_events_free(&x);
	return ok;
}

/* ---- all ---- */

static bool put(tide_json *j, const tide_model *m, const tide_finding *f, tide_error *err)
{
	static const char *const views[] = { [TIDE_AREA_TIME] = "hta",
					     [TIDE_AREA_MEMORY] = "memory",
					     [TIDE_AREA_ALLOCATOR] = "memory",
					     [TIDE_AREA_COMPILE] = "timeline" };
	bool ok = true;
	tide__json_object(j);
	tide__json_kstr(j, "severity", tide__severity_text[f->severity]);
	tide__json_kstr(j, "id", f->id);
	tide__json_kstr(j, "what", f->heading);
	tide__json_kstr(j, "text", f->text);
	tide__json_kstr(j, "view", views[f->area]);
	tide__json_kint_if(j, "t", f->t >= 0, f->t);
	tide__json_kuint(j, "device", f->device);
	if (!strcmp(f->id, "out_of_memory"))
		ok = put_ooms(j, m, f->device, err);
	else if (!strcmp(f->id, "growth"))
		ok = tide__leaks_write_page(j, m, f->device, MOST_GROWING, err);
	tide__json_object_end(j);
	return ok;
}

bool tide__page_write_findings(tide_json *j, const tide_model *m, const tide_page_options *opt,
			       tide_error *err)
{
	const tide_findings_query q = { .job = opt->job,
					.most_replayed = m->segments.n > 1
								 ? MOST_REPLAYED
								 : MOST_REPLAYED_UNCHECKED };
	tide_findings *f = tide__calloc(1, sizeof *f);
	bool ok = f ? tide__collect_findings(m, &q, f, err) == TIDE_OK : (tide__nomem(err), false);
	tide__json_karray(j, "findings");
	for (size_t i = 0; ok && i < f->n; i++)
		ok = put(j, m, &f->v[i], err);
	tide__json_array_end(j);
	tide__json_kbool(j, "untried", ok && f->untried);
	tide__free(f);
	return ok;
}
