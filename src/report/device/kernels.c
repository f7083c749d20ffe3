// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels: device work by name, type, op, stream; by shape, module, category, stack. */
#include "report/device/hta.h"

const tide_option tide__kernels_options[TIDE_KERNELS_OPTIONS] = {
	TIDE_HTA_OPTION_ROWS,
	[TIDE_KERNELS_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
			       "rows to show, 0 = all; JSON has all unless given", .def = "20",
			       .whole = true, TIDE_HTA_FIELD(top) },
	[TIDE_KERNELS_BY] = { "by", 'b', TIDE_OPT_ENUM,
			      "name,type,op,stream,shape,module,category,stack,length",
			      "what to group by", .def = "name",
			      TIDE_FIELD(tide_kernels_options, by) },
	[TIDE_KERNELS_SEQUENCES] = { "sequences", 's', TIDE_OPT_TEXT, "OP",
				     "show the sequences of kernels that ops with OP in their "
				     "name launch instead" },
	[TIDE_KERNELS_MIN] = { "min-kernels", 0, TIDE_OPT_INT, "N",
			       "with --sequences: at least N kernels per op", .def = "3",
			       .least = 1 },
	[TIDE_KERNELS_COUNTERS] = { "counters", 'c', TIDE_OPT_FLAG, NULL,
				    "show hardware counters of kernels and the ops that launched "
				    "them instead" },
	[TIDE_KERNELS_CAPTURED] = TIDE_OPTION_CAPTURED,
};

static const tide_report_type *instead(const tide_value *v)
{
	static const tide_report_type *const by[] = {
		&tide__report_kernels_by_shape,	   &tide__report_kernels_by_module,
		&tide__report_kernels_by_category, &tide__report_kernels_by_stack,
		&tide__report_kernels_by_length,
	};
	if (v[TIDE_KERNELS_SEQUENCES].set)
		return &tide__report_sequences;
	if (v[TIDE_KERNELS_COUNTERS].set)
		return &tide__report_counters;
	int64_t word = v[TIDE_KERNELS_BY].num - TIDE_KERNELS_BY_SHAPE;
	return word >= 0 ? by[word] : NULL;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_hta_result *x = result;
	tide_hta_options opt;
	tide_code rc = tide__hta_read_options(ask, &opt, x->window, sizeof x->window, err);
	x->view.top = (size_t)ask->opt[TIDE_KERNELS_TOP].num;
	x->by = (int)ask->opt[TIDE_KERNELS_BY].num;
	return rc == TIDE_OK ? tide__hta_find_job(ask, &opt, x, err) : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	tide_hta_result *x = result;
	tide__kernels_text(x->job, &x->view, x->by, to->out, &to->style);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide_hta_result *x = result;
	tide__kernels_put_json(x->job, &x->view, x->by, j);
	return TIDE_OK;
}

const tide_report_type tide__report_kernels = {
	.name = "kernels",
	.group = TIDE_GROUP_TIME,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_SPANS | TIDE_WANT_LAUNCH,
	.summary = "list kernels, copies and fills with their statistics",
	.help = "TRACE is a file, a folder of ranks or a pattern. Shows count, sum, mean, minimum, "
		"maximum, standard deviation and percentiles of single device rows, over all "
		"ranks. --by op groups by the innermost op around the launch. --by shape, module, "
		"category, stack and length take one trace.",
	TIDE_REPORT_OPTIONS(tide__kernels_options),
	.members = tide__kernels_members,
	.version = 1,
	.struct_size = sizeof(tide_kernels_options),
	.page = "kernels",
	.instead = instead,
	.size = sizeof(tide_hta_result),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = tide__hta_free_result,
};
