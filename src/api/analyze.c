// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The functions of analyze.h, one for each report. */
#include "report/device/hta.h"
#include "report/registry.h"

/* On one trace. */
#define FIND_IN_TRACE(name, options)                                                           \
	tide_code tide_##name##_find(const tide_trace *t, const options *o, tide_report **out, \
				     tide_error *err)                                          \
	{                                                                                      \
		const tide_model *m = tide__model_of(t);                                       \
		const tide_report_traces in = { .models = &m, .n = 1 };                        \
		return tide__report_find_c(&tide__report_##name, &in, o, out, err);            \
	}

FIND_IN_TRACE(memory, tide_memory_options)
FIND_IN_TRACE(allocator, tide_allocator_options)
FIND_IN_TRACE(oom, tide_oom_options)
FIND_IN_TRACE(whatif, tide_whatif_options)
FIND_IN_TRACE(heap, tide_heap_options)
FIND_IN_TRACE(phases, tide_phases_options)
FIND_IN_TRACE(peak, tide_peak_options)
FIND_IN_TRACE(ops, tide_ops_options)
FIND_IN_TRACE(leaks, tide_leaks_options)
FIND_IN_TRACE(modules, tide_modules_options)

/* Without options. */
#define FIND_PLAIN(name)                                                                      \
	tide_code tide_##name##_find(const tide_trace *t, tide_report **out, tide_error *err) \
	{                                                                                     \
		const tide_model *m = tide__model_of(t);                                      \
		const tide_report_traces in = { .models = &m, .n = 1 };                       \
		return tide__report_find_c(&tide__report_##name, &in, NULL, out, err);        \
	}

FIND_PLAIN(advice)
FIND_PLAIN(device)

/* ---- with names of the traces ---- */

tide_code tide_info_find(const tide_trace *t, const tide_info_options *given, tide_report **out,
			 tide_error *err)
{
	tide_info_options o = TIDE_INFO_OPTIONS_INIT;
	const tide_model *m = tide__model_of(t);
	tide__options_take(&o, sizeof o, given);
	const tide_report_traces in = { .models = &m, .n = 1, .files = &o.file };
	return tide__report_find_c(&tide__report_info, &in, NULL, out, err);
}
FIND_IN_TRACE(timeline, tide_timeline_report_options)
FIND_IN_TRACE(critical_path, tide_critical_path_options)

tide_code tide_overview_find(const tide_trace *t, tide_report **out, tide_error *err)
{
	const tide_model *m = tide__model_of(t);
	const tide_report_traces in = { .models = &m, .n = 1 };
	return tide__report_find_c(&tide__report_overview, &in, NULL, out, err);
}
FIND_IN_TRACE(flame, tide_flame_report_options)
FIND_IN_TRACE(compile, tide_compile_options)

tide_code tide_diff_find(const tide_trace *a, const tide_trace *b,
			 const tide_diff_report_options *given, tide_report **out, tide_error *err)
{
	tide_diff_report_options o = TIDE_DIFF_REPORT_OPTIONS_INIT;
	const tide_model *m[] = { tide__model_of(a), tide__model_of(b) };
	tide__options_take(&o, sizeof o, given);
	const tide_report_traces in = { .models = m, .n = 2, .files = o.file };
	return tide__report_find_c(&tide__report_diff, &in, given, out, err);
}

/* ---- ranks of a job ---- */

tide_code tide_hta_find(const tide_trace *const *traces, size_t n,
			const tide_hta_report_options *given, tide_report **out, tide_error *err)
{
	tide_hta_report_options o = TIDE_HTA_REPORT_OPTIONS_INIT;
	tide__options_take(&o, sizeof o, given);
	o.struct_size = sizeof o;
	const tide_report_traces in = { .models = (const tide_model *const *)traces,
					.n = n,
					.files = o.file };
	return tide__report_find_c(&tide__report_hta, &in, &o, out, err);
}

tide_code tide_kernels_find(const tide_trace *const *traces, size_t n, const char *by,
			    const tide_hta_report_options *given, tide_report **out,
			    tide_error *err)
{
	tide_kernels_options o = { .shared = TIDE_HTA_REPORT_OPTIONS_INIT, .by = by };
	tide__options_take(&o.shared, sizeof o.shared, given);
	o.shared.struct_size = sizeof o;
	const tide_report_traces in = { .models = (const tide_model *const *)traces,
					.n = n,
					.files = o.shared.file };
	return tide__report_find_c(&tide__report_kernels, &in, &o, out, err);
}

tide_code tide_hang_find(const tide_trace *const *traces, size_t n, const tide_hang_options *given,
			 tide_report **out, tide_error *err)
{
	tide_hang_options o = TIDE_HANG_OPTIONS_INIT;
	tide__options_take(&o, sizeof o, given);
	const tide_report_traces in = { .models = (const tide_model *const *)traces,
					.n = n,
					.files = o.file };
	return tide__report_find_c(&tide__report_hang, &in, &o, out, err);
}

/* ---- sizes ---- */

tide_code tide_predict_find(const tide_trace *const *traces, const uint64_t *size, size_t n,
			    const tide_predict_options *o, tide_report **out, tide_error *err)
{
	const tide_report_traces in = { .models = (const tide_model *const *)traces,
					.n = n,
					.sizes = size };
	return tide__report_find_c(&tide__report_predict, &in, o, out, err);
}

/* ---- runs under plans ---- */

tide_code tide_fit_find(const tide_trace *const *traces, size_t n, const tide_fit_options *o,
			tide_report **out, tide_error *err)
{
	const tide_report_traces in = { .models = (const tide_model *const *)traces, .n = n };
	return tide__report_find_c(&tide__report_fit, &in, o, out, err);
}
