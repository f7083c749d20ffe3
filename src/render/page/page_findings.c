// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Findings of a page, most urgent first: out of memory, then advice on time and on memory. Each
 * names the view that shows it and, if there is one, the moment. Allocator settings are tried as
 * in `tidemark allocator`, unless the replay would take too long for a page: then `untried` is
 * set. */
#include <stdlib.h>
#include <string.h>

#include "analyze/device/advice.h"
#include "analyze/advice/memory_advice.h"
#include "analyze/allocator/oom.h"
#include "base/mem.h"
#include "render/text/grid.h"
#include "render/report/memory/leaks.h"
#include "render/report/allocator/oom.h"
#include "render/page/page_parts.h"

enum { MOST_OOMS = 4, MOST_HOLDERS = 6, MOST_GROWING = 8, MOST_REPLAYED = 50000 };

struct finding {
	const char *severity, *what, *text, *view;
	int64_t t; /* -1 = no moment */
};

static void open_finding(tide_json *j, const struct finding *f)
{
	tide__json_object(j);
	tide__json_kstr(j, "severity", f->severity);
	tide__json_kstr(j, "what", f->what);
	tide__json_kstr(j, "text", f->text);
	tide__json_kstr(j, "view", f->view);
	tide__json_kint_if(j, "t", f->t >= 0, f->t);
}

static void put(tide_json *j, const struct finding *f)
{
	open_finding(j, f);
	tide__json_object_end(j);
}

/* ---- out of memory ---- */

static bool put_oom(tide_json *j, const tide_model *m, const tide_oom *o)
{
	char asked[32], held[32], dev[64], why[300], text[500];
	uint32_t d = m->pools.device[m->marks.pool[o->mark].i].i;
	tide__device_name(m, d, dev, sizeof dev);
	tide__fmt_bytes(asked, sizeof asked, (double)o->asked);
	tide__oom_why(o, why, sizeof why);
	if (o->banks.n)
		snprintf(text, sizeof text, "%s of %s could not give %s. %s",
			 tide__text(m, m->pools.name[m->marks.pool[o->mark].i], NULL), dev, asked,
			 why);
	else
		snprintf(text, sizeof text, "%s could not give %s; %s were allocated. %s", dev,
			 asked, tide__fmt_bytes(held, sizeof held, (double)o->at.allocated), why);
	open_finding(j, &(struct finding){ "high", "out of memory", text, "memory", o->t });
	tide__json_key(j, "oom");
	bool ok = tide__oom_page(j, m, o);
	tide__json_object_end(j);
	return ok;
}

static bool ooms(tide_json *j, const tide_model *m, tide_error *err)
{
	uint32_t *rows = NULL;
	size_t n = 0;
	char text[160];
	bool ok = tide__oom_marks(m, TIDE_ANY, &rows, &n, err) == TIDE_OK;
	for (size_t i = 0; ok && i < n && i < MOST_OOMS; i++) {
		tide_oom o = { 0 };
		ok = tide__find_oom(m, rows[i], tide__groups_telling(m), MOST_HOLDERS, &o, err) ==
			     TIDE_OK &&
		     put_oom(j, m, &o);
		tide__oom_free(&o);
	}
	if (ok && n > MOST_OOMS) {
		snprintf(text, sizeof text,
			 "%zu more requests failed: `tidemark oom` explains them", n - MOST_OOMS);
		put(j, &(struct finding){ "high", "out of memory", text, "memory",
					  m->marks.t[rows[MOST_OOMS]] });
	}
	tide__free(rows);
	return ok;
}

/* ---- advice ---- */

static bool time_advice(tide_json *j, const tide_page_options *opt)
{
	tide_advice *v = tide__calloc(TIDE_ADVICE_MAX, sizeof *v);
	size_t n = v && opt->job ? tide__advise(opt->job, v) : 0;
	for (size_t i = 0; i < n; i++)
		put(j, &(struct finding){ tide__severity_text[v[i].severity], v[i].bottleneck,
					  v[i].text, "hta", -1 });
	tide__free(v);
	return v != NULL;
}

static bool memory_advice(tide_json *j, const tide_model *m, uint32_t device, int64_t peak_t,
			  tide_error *err)
{
	tide_memory_advices *v = tide__calloc(1, sizeof *v);
	bool few = m->memory_events.n <= MOST_REPLAYED;
	bool ok = v && (!device ||
			(few ? tide__find_full_device(m, device, v, err)
			     : tide__find_memory_advice(m, device, NULL, NULL, v, err)) == TIDE_OK);
	for (size_t i = 0; ok && i < v->n; i++) {
		open_finding(j, &(struct finding){ tide__severity_text[v->v[i].severity],
						   v->v[i].kind, v->v[i].text, "memory", peak_t });
		if (!strcmp(v->v[i].kind, "growth"))
			ok = tide__leaks_page(j, m, device, MOST_GROWING, err);
		tide__json_object_end(j);
	}
	tide__free(v);
	return ok;
}

bool tide__page_findings(tide_json *j, const tide_model *m, const tide_page_options *opt,
			 uint32_t device, int64_t peak_t, tide_error *err)
{
	tide__json_karray(j, "findings");
	bool ok =
		ooms(j, m, err) && time_advice(j, opt) && memory_advice(j, m, device, peak_t, err);
	tide__json_array_end(j);
	tide__json_key(j, "untried");
	tide__json_bool(j, m->segments.n > 1 && m->memory_events.n > MOST_REPLAYED);
	return ok;
}
