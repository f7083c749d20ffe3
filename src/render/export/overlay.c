// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/export/overlay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/advice/findings.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/report/ops/critical_path.h"

enum { PATH, FINDINGS };

static uint32_t text_of(tide_overlay *o, const char *s, size_t n)
{
	return tide__strings_add(o->texts, s, n);
}

static bool add_slice(tide_overlay *o, tide_overlay_slice s)
{
	if (!s.name || !TIDE_ROOM(o->slices, o->cap_slices, o->n_slices + 1))
		return false;
	o->slices[o->n_slices++] = s;
	return true;
}

/* ---- the critical path ---- */

static bool add_step(tide_overlay *o, const tide_model *m, const tide_cp_step *s, uint32_t *before)
{
	size_t n = 0;
	const char *edge = tide__cp_edge_text(s->type), *bound = tide__cp_bound_text(s->bound);
	const char *name = s->span.i ? tide__text(m, m->spans.name[s->span.i], &n) : edge;
	char detail[120];
	int len = snprintf(detail, sizeof detail, "%s%s%s", edge, *bound ? ", " : "", bound);
	if (s->weight < 0 || s->t0 > INT64_MAX - s->weight)
		return true;
	tide_overlay_slice x = { .track = PATH,
				 .name = text_of(o, n ? name : edge, n ? n : strlen(edge)),
				 .detail = text_of(o, detail, (size_t)len),
				 .t0 = s->t0,
				 .t1 = s->t0 + s->weight }; /* a dependency takes no time */
	if (s->span.i && *before && *before != s->span.i) {
		x.from = *before;
		x.to = s->span.i;
	}
	if (s->span.i)
		*before = s->span.i;
	return !s->weight && !x.from ? true : add_slice(o, x);
}

static tide_code add_path(tide_overlay *o, const tide_model *m, tide_error *err)
{
	tide_critical_path c = { 0 };
	tide_critical_search_options opt = { .annotation = tide__critical_view_window(m) };
	tide_code rc = tide__critical_view_run(m, false, &opt, &c, err);
	if (rc == TIDE_OK && *opt.annotation && c.matches > 1) { /* all steps */
		opt.last = c.matches - 1;
		tide__critical_path_free(&c);
		c = (tide_critical_path){ 0 };
		rc = tide__critical_view_run(m, false, &opt, &c, err);
	}
	bool ok = true;
	uint32_t before = 0;
	if (rc == TIDE_OK && !c.found)
		o->no_path = c.why ? c.why : "unknown";
	if (rc != TIDE_OK && rc != TIDE_ENOMEM) { /* nothing to follow; the rest is still there */
		o->no_path = "no launches and kernels to follow";
		rc = TIDE_OK;
	}
	for (size_t i = 0; rc == TIDE_OK && ok && i < c.n_path; i++)
		ok = add_step(o, m, &c.path[i], &before);
	tide__critical_path_free(&c);
	return ok ? rc : tide__nomem(err);
}

/* ---- findings ---- */

static bool add_finding(tide_overlay *o, const tide_finding *f)
{
	const char *name = *f->heading ? f->heading : f->id;
	return add_slice(o, (tide_overlay_slice){ .track = FINDINGS,
						  .name = text_of(o, name, strlen(name)),
						  .detail = text_of(o, f->text, strlen(f->text)),
						  .t0 = f->t > 0 ? f->t : 0,
						  .t1 = f->t > 0 ? f->t : 0 });
}

static tide_code add_findings(tide_overlay *o, const tide_model *m, const char *file,
			      tide_error *err)
{
	tide_hta_job *job = NULL;
	tide_findings *f = tide__calloc(1, sizeof *f);
	tide_code rc = f ? tide__hta_job_find(m, file, &job, err) : tide__nomem(err);
	const tide_findings_query q = { .job = job, .most_replayed = 1000000 };
	if (rc == TIDE_OK)
		rc = tide__collect_findings(m, &q, f, err);
	bool ok = true;
	for (int timed = 0; timed < 2; timed++) /* in order of time */
		for (size_t i = 0; rc == TIDE_OK && ok && i < f->n; i++)
			if ((f->v[i].t > 0) == timed)
				ok = add_finding(o, &f->v[i]);
	tide__hta_job_free(job);
	tide__free(f);
	return ok ? rc : tide__nomem(err);
}

char *tide__overlay_curve(const tide_series_curve *k, char *buf, size_t n)
{
	if (k->stream < 0 && k->device < 0)
		snprintf(buf, n, "%s GB/s", k->kind);
	else
		snprintf(buf, n, "queue of %s:%" PRId64 " stream %" PRId64, k->kind, k->device,
			 k->stream);
	return buf;
}

tide_code tide__overlay_make(const tide_model *m, const char *file, unsigned what, tide_overlay *o,
			     tide_error *err)
{
	tide_code rc = TIDE_OK;
	*o = (tide_overlay){ .texts = tide__strings_new() };
	if (!o->texts)
		return tide__nomem(err);
	o->tracks[PATH] = text_of(o, "critical path", 13);
	o->tracks[FINDINGS] = text_of(o, "findings", 8);
	if (!o->tracks[PATH] || !o->tracks[FINDINGS])
		return tide__nomem(err);
	if (what & TIDE_OVERLAY_CRITICAL)
		rc = add_path(o, m, err);
	if (rc == TIDE_OK && what & TIDE_OVERLAY_FINDINGS)
		rc = add_findings(o, m, file, err);
	if (rc == TIDE_OK && what & TIDE_OVERLAY_QUEUE)
		rc = tide__queue_series_find(m, &o->queue, err);
	if (rc == TIDE_OK && what & TIDE_OVERLAY_BANDWIDTH)
		rc = tide__bandwidth_series_find(m, &o->bandwidth, err);
	return rc;
}

void tide__overlay_free(tide_overlay *o)
{
	tide__strings_free(o->texts);
	tide__free(o->slices);
	tide__series_free(&o->queue);
	tide__series_free(&o->bandwidth);
	*o = (tide_overlay){ 0 };
}
