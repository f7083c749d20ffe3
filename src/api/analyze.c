// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The functions of analyze.h, one for each report. */
#include "report/registry.h"

/* On one trace. */
#define FIND_IN_TRACE(name, options)                                                           \
	tide_code tide_##name##_find(const tide_trace *t, const options *o, tide_report **out, \
				     tide_error *err)                                          \
	{                                                                                      \
		return tide__report_find_c(&tide__report_##name, &t, 1, o, out, err);          \
	}

FIND_IN_TRACE(memory, tide_memory_options)
FIND_IN_TRACE(allocator, tide_allocator_options)
FIND_IN_TRACE(oom, tide_oom_options)
FIND_IN_TRACE(whatif, tide_whatif_options)
FIND_IN_TRACE(heap, tide_heap_options)
FIND_IN_TRACE(peak, tide_peak_options)
FIND_IN_TRACE(ops, tide_ops_options)
FIND_IN_TRACE(leaks, tide_leaks_options)
FIND_IN_TRACE(modules, tide_modules_options)

/* Without options. */
tide_code tide_advice_find(const tide_trace *t, tide_report **out, tide_error *err)
{
	return tide__report_find_c(&tide__report_advice, &t, 1, NULL, out, err);
}
