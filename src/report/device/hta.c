// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* hta: where the device time of a trace, or of all ranks of a job, went. */
#include "report/device/hta.h"

#include <inttypes.h>

/* ---- what it shares with kernels ---- */

tide_code tide__hta_read_window(const tide_report_ask *ask, tide_hta_options *opt, char *window,
				size_t n_window, tide_error *err)
{
	const tide_value *v = ask->opt, *steps = &v[TIDE_HTA_STEPS];
	bool drop = v[TIDE_HTA_DROP].set;
	if (drop && steps->set)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%sdrop-last-step and %ssteps exclude each other", ask->dashes,
				  ask->dashes);
	snprintf(window, n_window, drop ? "drop-last-step" : "all");
	if (drop)
		opt->window.kind = TIDE_WINDOW_DROP_LAST;
	if (!steps->set)
		return TIDE_OK;
	opt->window = (tide_window){ .kind = TIDE_WINDOW_STEPS,
				     .first = steps->num,
				     .last = steps->last };
	snprintf(window, n_window, "steps %" PRId64 "..%" PRId64, steps->num, steps->last);
	return TIDE_OK;
}

tide_code tide__hta_read_options(const tide_report_ask *ask, tide_hta_options *opt, char *window,
				 size_t n_window, tide_error *err)
{
	const tide_value *v = ask->opt;
	*opt = (tide_hta_options){ .kernel_wait_ns = v[TIDE_HTA_WAIT].num,
				   .custom = v[TIDE_HTA_CUSTOM].list,
				   .n_custom = v[TIDE_HTA_CUSTOM].n_list };
	return tide__hta_read_window(ask, opt, window, n_window, err);
}

tide_code tide__hta_find_job(const tide_report_ask *ask, tide_hta_options *opt, tide_hta_result *x,
			     tide_error *err)
{
	x->view.window = x->window;
	if ((x->job = ask->job))
		return TIDE_OK;
	if (!(x->job = x->own = tide__hta_job_new()))
		return tide__nomem(err);
	tide_code rc = TIDE_OK;
	for (size_t i = 0; i < ask->n && rc == TIDE_OK; i++) {
		tide_hta *one = NULL;
		rc = tide__hta_analyze(ask->models[i], opt, &one, err);
		if (rc == TIDE_OK)
			rc = tide__hta_job_add(x->own, tide__ask_file(ask, i), one, err);
	}
	return rc == TIDE_OK ? tide__hta_job_finish(x->own, err) : rc;
}

void tide__hta_free_result(void *result)
{
	tide__hta_job_free(((tide_hta_result *)result)->own);
}

/* ---- the report ---- */

enum { O_SHORT = TIDE_HTA_OPTIONS, O_DELAY, O_TOP };
static const tide_option options[] = {
	TIDE_HTA_OPTION_ROWS,
	[O_SHORT] = { "short-cutoff", 0, TIDE_OPT_INT, "NS",
		      "launch calls longer than NS are outliers", .def = "50000", .least = 1,
		      TIDE_HTA_FIELD(short_cutoff_ns) },
	[O_DELAY] = { "delay-cutoff", 0, TIDE_OPT_INT, "NS",
		      "launch delays longer than NS are outliers", .def = "100000", .least = 1,
		      TIDE_HTA_FIELD(delay_cutoff_ns) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows of long tables, 0 = all; JSON has all unless given", .def = "10",
		    .whole = true, TIDE_HTA_FIELD(top) },
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_hta_result *x = result;
	tide_hta_options opt;
	tide_code rc = tide__hta_read_options(ask, &opt, x->window, sizeof x->window, err);
	opt.short_ns = ask->opt[O_SHORT].num;
	opt.delay_ns = ask->opt[O_DELAY].num;
	x->view.top = (size_t)ask->opt[O_TOP].num;
	return rc == TIDE_OK ? tide__hta_find_job(ask, &opt, x, err) : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	tide_hta_result *x = result;
	tide__hta_text(x->job, &x->view, to->out, &to->style);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide_hta_result *x = result;
	tide__hta_put_json(x->job, &x->view, j);
	return TIDE_OK;
}

const tide_report_type tide__report_hta = {
	.name = "hta",
	.group = TIDE_GROUP_TIME,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_SPANS | TIDE_WANT_LAUNCH,
	.summary = "show why a step is slow: what the GPU did, and what it waited for",
	.help = "Splits device time into compute, communication, copies and idle. TRACE is a file, a folder of ranks or a pattern. For each rank it shows busy and "
		"idle time, time by type, the overlap of communication with compute, idle time of "
		"every stream and what the host did meanwhile, launches, queues, copies, "
		"collectives and steps. For all ranks together it shows kernels, ops, annotations, "
		"and recommendations with their figures. Figures are exact to the nanosecond; "
		"docs/analyses/ defines them.",
	TIDE_REPORT_OPTIONS(options),
	.members = tide__hta_members,
	.version = 1,
	.struct_size = sizeof(tide_hta_report_options),
	.page = "hta",
	.size = sizeof(tide_hta_result),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = tide__hta_free_result,
};
