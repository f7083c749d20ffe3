// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: info, memory, peak, phases, ops, modules, leaks. */
#include <string.h>

#include "report/report.h"
#include "report/select.h"
#include "base/error.h"
#include "render/report/info.h"
#include "render/report/memory/leaks.h"
#include "render/report/memory/memory.h"
#include "render/report/ops/ops.h"
#include "render/report/memory/peak.h"
#include "render/report/memory/phases.h"

/* ---- phases ---- */

struct phases {
	const tide_model *m;
	tide_phases p;
	tide_phases_view v;
	bool tracker;
};

static tide_code phases_text(void *result, const tide_out *to)
{
	struct phases *x = result;
	if (x->tracker) { /* other tools read this text: no losses in it */
		tide__phases_write_tracker(x->m, &x->p, x->v.device, to->out);
		return TIDE_OK;
	}
	tide__phases_text(x->m, &x->p, &x->v, to);
	return TIDE_OK;
}

static tide_code phases_json(void *result, tide_json *j)
{
	struct phases *x = result;
	tide__phases_json(x->m, &x->p, &x->v, j);
	return TIDE_OK;
}

static void phases_free(void *result)
{
	tide__phases_free(&((struct phases *)result)->p);
}

tide_code tide_phases_find(const tide_trace *t, const tide_phases_options *given, tide_report **out,
			   tide_error *err)
{
	static const tide_report_type type = { "phases", sizeof(struct phases), phases_text,
					       phases_json, phases_free };
	tide_phases_options o = TIDE_PHASES_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	static const char *const bys[] = { "mark", "annotation", NULL };
	tide_report *r = tide__report_new(&type);
	uint32_t device;
	int by;
	tide__options_take(&o, sizeof o, given);
	tide_code rc = tide__take_device("device", o.device, m, &device, err);
	if (rc == TIDE_OK)
		rc = tide__take_word("by", o.by, bys, 0, &by, err);
	if (rc == TIDE_OK && r) {
		struct phases *x = (struct phases *)r->result;
		x->m = m;
		x->v.device = device;
		x->tracker = o.tracker;
		rc = (by ? tide__phases_find_by_annotation : tide__find_phases)(m, &x->p, err);
		if (rc == TIDE_OK && o.sum && !tide__phases_join(&x->p))
			rc = tide__nomem(err);
	}
	return tide__report_finish(r, rc, out, err);
}
