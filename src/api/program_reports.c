// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* analyze.h: heap, device, advice, compile. */
#include "analyze/device/hta_job.h"
#include "report/report.h"
#include "base/error.h"
#include "render/report/compile.h"
#include "render/report/memory/device.h"
#include "render/report/findings.h"
#include "render/report/memory/heap.h"
#include "render/text/losses.h"

/* ---- compile ---- */

struct compile {
	const tide_model *m;
	tide_compile_report c;
	size_t top;
};

static tide_code compile_text(void *result, const tide_out *to)
{
	struct compile *x = result;
	tide__compile_text(x->m, &x->c, x->top, to->out, &to->style);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code compile_json(void *result, tide_json *j)
{
	struct compile *x = result;
	tide__json_object(j);
	tide__compile_json(x->m, &x->c, x->top, j);
	tide__losses_json(j, x->m);
	tide__json_object_end(j);
	return TIDE_OK;
}

static void compile_free(void *result)
{
	tide__compile_report_free(&((struct compile *)result)->c);
}

tide_code tide_compile_find(const tide_trace *t, const tide_compile_options *given,
			    tide_report **out, tide_error *err)
{
	static const tide_report_type type = { "compile", sizeof(struct compile), compile_text,
					       compile_json, compile_free };
	tide_compile_options o = TIDE_COMPILE_OPTIONS_INIT;
	tide_report *r = tide__report_new(&type);
	tide__options_take(&o, sizeof o, given);
	tide_code rc = TIDE_ENOMEM;
	if (r) {
		struct compile *x = (struct compile *)r->result;
		x->m = tide__model_of(t);
		x->top = o.top;
		rc = tide__compile_report_find(x->m, &x->c, err);
	}
	return tide__report_finish(r, rc, out, err);
}
