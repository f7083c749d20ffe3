// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: timeline, flame, critical path. */
#include <inttypes.h>
#include <string.h>

#include "report/report.h"
#include "base/error.h"
#include "import/import.h"
#include "render/report/ops/critical_path.h"
#include "render/report/ops/flame.h"
#include "render/report/ops/timeline.h"

/* ---- timeline ---- */

struct timeline {
	const tide_model *m;
	tide_timeline t;
	tide_timeline_options o;
	bool events;
	size_t top;
};

static tide_code timeline_text(void *result, const tide_out *to)
{
	struct timeline *x = result;
	return tide__timeline_text(x->m, &x->t, x->top, to);
}

static tide_code timeline_json(void *result, tide_json *j)
{
	struct timeline *x = result;
	return tide__timeline_json(x->m, &x->t, &x->o, x->m->path, x->events, j);
}

static void timeline_free(void *result)
{
	tide__timeline_free(&((struct timeline *)result)->t);
}

tide_code tide_timeline_find(const tide_trace *t, const tide_timeline_report_options *given,
			     tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "timeline", sizeof(struct timeline), timeline_text,
					       timeline_json, timeline_free };
	tide_timeline_report_options o = TIDE_TIMELINE_REPORT_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	tide_code rc = TIDE_OK;
	tide__options_take(&o, sizeof o, given);
	if (r) {
		struct timeline *x = (struct timeline *)r->result;
		x->m = tide__model_of(t);
		x->o = (tide_timeline_options){ .min_ns = o.min_duration_ns,
						.no_python = o.no_python,
						.no_runtime = o.no_runtime };
		x->events = o.events;
		x->top = o.top;
		rc = tide__find_timeline(x->m, &x->o, &x->t, err);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- flame ---- */

struct flame {
	const tide_model *m;
	tide_flame *f;
	tide_flame_view v;
};

static tide_code flame_text(void *result, const tide_out *to)
{
	struct flame *x = result;
	return tide__flame_report_text(x->f, x->m, &x->v, to) ? TIDE_OK : TIDE_ENOMEM;
}

static tide_code flame_json(void *result, tide_json *j)
{
	struct flame *x = result;
	tide__flame_report_json(x->f, x->m, &x->v, j);
	return TIDE_OK;
}

static void flame_free(void *result)
{
	tide__flame_free(((struct flame *)result)->f);
}

static tide_code flame_options(const tide_model *m, const tide_flame_report_options *o,
			       tide_flame_options *f, tide_error *err)
{
	static const char *const kinds[] = { "cpu", "gpu", "memory", NULL };
	static const char *const bys[] = { "auto", "stack", "op", NULL };
	int kind, by;
	tide_code rc =
		tide__take_word("kind", o->kind, kinds, (int)tide__flame_mostly(m), &kind, err);
	if (rc == TIDE_OK)
		rc = tide__take_word("by", o->by, bys, 0, &by, err);
	if (rc == TIDE_OK && o->device)
		rc = tide__take_device("device", o->device, m, &f->device, err);
	if (rc == TIDE_OK && o->max_depth > TIDE_FLAME_DEEP)
		rc = tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "max_depth: at most %d",
				TIDE_FLAME_DEEP);
	if (rc == TIDE_OK && !(o->small_pct >= 0 && o->small_pct <= 100))
		rc = tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				"small_pct: a percentage from 0 to 100");
	if (rc != TIDE_OK)
		return rc;
	f->kind = (tide_flame_kind)kind;
	f->by = (tide_flame_by)by;
	f->merge = o->merge;
	f->merge_steps = o->merge_steps;
	f->allocated = o->allocated;
	f->min_value = o->min_value;
	f->small_ppm = (uint32_t)(o->small_pct * 10000 + 0.5);
	f->max_depth = o->max_depth ? (uint32_t)o->max_depth : 200;
	return TIDE_OK;
}

tide_code tide_flame_find(const tide_trace *t, const tide_flame_report_options *given,
			  tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "flame", sizeof(struct flame), flame_text,
					       flame_json, flame_free };
	tide_flame_report_options o = TIDE_FLAME_REPORT_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	tide_report *r = tide__report_new(&type);
	tide_flame_options f = { 0 };
	tide__options_take(&o, sizeof o, given);
	tide_code rc = flame_options(m, &o, &f, err);
	if (rc == TIDE_OK && r) {
		struct flame *x = (struct flame *)r->result;
		x->m = m;
		x->v = (tide_flame_view){
			.file = m->path, .top = o.top, .hot = o.hot, .allocated = o.allocated
		};
		rc = tide__find_flame(m, &f, &x->f, err);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- critical path ---- */

struct critical {
	tide_model *own; /* the trace, read again with the rows that only this report needs; else
	                  * NULL */
	tide_critical_path c;
	tide_critical_view v;
	char annotation[256], data_loading[256];
};

static tide_code critical_text(void *result, const tide_out *to)
{
	tide__critical_view_text(&((struct critical *)result)->v, to);
	return TIDE_OK;
}

static tide_code critical_json(void *result, tide_json *j)
{
	tide__critical_view_report_json(&((struct critical *)result)->v, j);
	return TIDE_OK;
}

static void critical_free(void *result)
{
	struct critical *x = result;
	tide__critical_path_free(&x->c);
	tide__model_free(x->own);
}

/* Reads a Kineto trace again, keeping its rows as written, which only this report needs. */
static tide_code with_rows(const tide_model *m, struct critical *x, tide_error *err)
{
	tide_load_options o = { .what = TIDE_WANT_SPANS | TIDE_WANT_RAW };
	if (!m->format || strcmp(m->format, "kineto"))
		return TIDE_OK;
	return tide__load(m->path, &o, &x->own, err);
}

static tide_code find_path(const tide_model *m, const tide_critical_path_options *o,
			   struct critical *x, tide_error *err)
{
	tide_code rc = with_rows(m, x, err);
	if (rc != TIDE_OK)
		return rc;
	const tide_model *use = x->own ? x->own : m;
	snprintf(x->annotation, sizeof x->annotation, "%s",
		 o->annotation ? o->annotation : tide__critical_view_window(use));
	if (o->data_loading)
		snprintf(x->data_loading, sizeof x->data_loading, "%s", o->data_loading);
	tide_critical_search_options c = { .annotation = x->annotation,
					   .first = o->first,
					   .last = o->last,
					   .data_loading =
						   o->data_loading ? x->data_loading : NULL };
	rc = tide__critical_view_run(use, o->hta_compat, &c, &x->c, err);
	if (rc == TIDE_OK && *x->annotation && x->c.matches <= o->first)
		rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				"%" PRId64 " spans have '%.80s' in their name", x->c.matches,
				x->annotation);
	x->v = (tide_critical_view){ .file = m->path,
				     .m = use,
				     .c = &x->c,
				     .annotation = x->annotation,
				     .ns = o->hta_compat ? 1000 : 1,
				     .top = o->top,
				     .first = o->first,
				     .last = o->last,
				     .path = o->path };
	return rc;
}

tide_code tide_critical_path_find(const tide_trace *t, const tide_critical_path_options *given,
				  tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "critical-path", sizeof(struct critical),
					       critical_text, critical_json, critical_free };
	tide_critical_path_options o = TIDE_CRITICAL_PATH_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	tide__options_take(&o, sizeof o, given);
	if (o.last < o.first)
		o.last = o.first;
	tide_code rc = r ? find_path(tide__model_of(t), &o, (struct critical *)r->result, err)
			 : TIDE_ENOMEM;
	return tide__report_finish(r, rc, out, err);
}
