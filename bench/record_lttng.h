// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An LTTng-UST tracepoint with the payload of one of our alloc events; the timestamp is LTTng's own. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tide_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "record_lttng.h"
#if !defined(TIDE_BENCH_RECORD_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TIDE_BENCH_RECORD_LTTNG_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	tide_bench, alloc,
	LTTNG_UST_TP_ARGS(uint64_t, addr, uint64_t, size, uint32_t, op, uint16_t, pool, uint16_t,
			  stream),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, addr, addr)
			lttng_ust_field_integer(uint64_t, size, size)
				lttng_ust_field_integer(uint32_t, op, op)
					lttng_ust_field_integer(uint16_t, pool, pool)
						lttng_ust_field_integer(uint16_t, stream, stream)))
#endif
#include <lttng/tracepoint-event.h>
