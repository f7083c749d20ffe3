// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Findings of a page, most urgent first: out of memory, then the advice on time and on memory. Each
 * names the view that shows it and, where there is one, the moment. */
#include <stdlib.h>

#include "analyze/advice.h"
#include "analyze/memadvice.h"
#include "analyze/oom.h"
#include "base/mem.h"
#include "render/grid.h"
#include "render/page_parts.h"

enum { MOST_OOMS = 4 };

struct finding {
	const char *severity, *what, *text, *view;
	int64_t t; /* -1 = no moment */
};

static void put(tide_json *j, const struct finding *f)
{
	tide__json_object(j);
	tide__json_kstr(j, "severity", f->severity);
	tide__json_kstr(j, "what", f->what);
	tide__json_kstr(j, "text", f->text);
	tide__json_kstr(j, "view", f->view);
	tide__json_key(j, "t");
	f->t >= 0 ? tide__json_int(j, f->t) : tide__json_null(j);
	tide__json_object_end(j);
}

/* ---- out of memory ---- */

static void oom_text(const tide_model *m, const tide_oom *o, char *text, size_t n)
{
	char asked[32], held[32], most[32], missing[32], dev[64], why[160] = "";
	uint32_t d = m->pools.device[m->marks.pool[o->mark].i].i;
	tide__fmt_bytes(asked, sizeof asked, (double)o->asked);
	tide__fmt_bytes(held, sizeof held, (double)o->at.allocated);
	tide__fmt_bytes(most, sizeof most, (double)o->at.largest_free);
	tide__fmt_bytes(missing, sizeof missing, (double)o->missing);
	if (o->cause == TIDE_OOM_FULL)
		snprintf(why, sizeof why,
			 " Too much was in use: even with every free byte in one piece, %s would "
			 "have been missing.",
			 missing);
	else if (o->cause == TIDE_OOM_FRAGMENTED)
		snprintf(why, sizeof why,
			 " Enough bytes were free, but not in one piece: the largest free block "
			 "had %s.",
			 most);
	else if (o->cause == TIDE_OOM_LIMITED)
		snprintf(why, sizeof why, " The device had room: a limit on this process refused.");
	snprintf(text, n, "%s could not give %s; %s were allocated.%s",
		 tide__device_name(m, d, dev, sizeof dev), asked, held, why);
}

static bool ooms(tide_json *j, const tide_model *m, tide_error *err)
{
	uint32_t *rows = NULL;
	size_t n = 0;
	bool ok = tide__oom_marks(m, TIDE_ANY, &rows, &n, err) == TIDE_OK;
	for (size_t i = 0; ok && i < n && i < MOST_OOMS; i++) {
		char text[400];
		tide_oom o = { 0 };
		ok = tide__oom(m, rows[i], TIDE_BY_FRAME, 1, &o, err) == TIDE_OK;
		if (ok) {
			oom_text(m, &o, text, sizeof text);
			put(j, &(struct finding){ "high", "out of memory", text, "memory", o.t });
		}
		tide__oom_free(&o);
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
	tide_memadvices *v = tide__calloc(1, sizeof *v);
	bool ok = v && (!device || tide__memadvice(m, device, NULL, NULL, v, err) == TIDE_OK);
	for (size_t i = 0; ok && i < v->n; i++)
		put(j, &(struct finding){ "info", v->v[i].kind, v->v[i].text, "memory", peak_t });
	tide__free(v);
	return ok;
}

bool tide__page_findings(tide_json *j, const tide_model *m, const tide_page_options *opt,
			 uint32_t device, int64_t peak_t, tide_error *err)
{
	tide__json_key(j, "findings");
	tide__json_array(j);
	bool ok =
		ooms(j, m, err) && time_advice(j, opt) && memory_advice(j, m, device, peak_t, err);
	tide__json_array_end(j);
	return ok;
}
