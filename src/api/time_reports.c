// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: timeline, flame, critical path. */
#include "report/report.h"
#include "base/error.h"
#include "render/report/ops/flame.h"

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
