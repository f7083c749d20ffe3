// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/model.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "model/strings.h"

#define C(type, name, doc) \
	{ #name, doc, (uint16_t)offsetof(THIS, name), sizeof(type), TIDE__COL_TYPE(type) },
#define DESC(st, member, COLUMNS, doc)                                  \
	static const tide_column st##_columns[] = { COLUMNS(C) };       \
	const tide_table_desc st##_desc = { #member, doc, st##_columns, \
					    sizeof st##_columns / sizeof *st##_columns };
#define THIS tide_frames
DESC(tide_frames, frames, TIDE_FRAME_COLUMNS, "code locations")
#undef THIS
#define THIS tide_stacks
DESC(tide_stacks, stacks, TIDE_STACK_COLUMNS, "nodes of the stack tree")
#undef THIS
#define THIS tide_processes
DESC(tide_processes, processes, TIDE_PROCESS_COLUMNS, "traced processes")
#undef THIS
#define THIS tide_devices
DESC(tide_devices, devices, TIDE_DEVICE_COLUMNS, "the host and accelerators")
#undef THIS
#define THIS tide_pools
DESC(tide_pools, pools, TIDE_POOL_COLUMNS, "memory pools")
#undef THIS
#define THIS tide_lanes
DESC(tide_lanes, lanes, TIDE_LANE_COLUMNS, "threads, streams, communicators")
#undef THIS
#define THIS tide_spans
DESC(tide_spans, spans, TIDE_SPAN_COLUMNS, "ops, kernels, ranges")
#undef THIS
#define THIS tide_allocs
DESC(tide_allocs, allocs, TIDE_ALLOC_COLUMNS, "allocations")
#undef THIS
#define THIS tide_segments
DESC(tide_segments, segments, TIDE_SEGMENT_COLUMNS, "memory reserved from devices")
#undef THIS
#define THIS tide_pendings
DESC(tide_pendings, pendings, TIDE_PENDING_COLUMNS, "frees that wait for a stream")
#undef THIS
#define THIS tide_memory_events
DESC(tide_memory_events, memory_events, TIDE_MEMORY_EVENT_COLUMNS, "memory events, in order")
#undef THIS
#define THIS tide_uses
DESC(tide_uses, uses, TIDE_USE_COLUMNS, "uses of allocations by ops, in order")
#undef THIS
#define THIS tide_referrers
DESC(tide_referrers, referrers, TIDE_HOLDER_COLUMNS, "what referred to allocations")
#undef THIS
#define THIS tide_counters
DESC(tide_counters, counters, TIDE_COUNTER_COLUMNS, "series of samples")
#undef THIS
#define THIS tide_samples
DESC(tide_samples, samples, TIDE_SAMPLE_COLUMNS, "values of counters over time")
#undef THIS
#define THIS tide_pool_states
DESC(tide_pool_states, pool_states, TIDE_POOL_STATE_COLUMNS, "figures that pools reported")
#undef THIS
#define THIS tide_documents
DESC(tide_documents, documents, TIDE_DOCUMENT_COLUMNS, "texts that came with the trace")
#undef THIS
#define THIS tide_marks
DESC(tide_marks, marks, TIDE_MARK_COLUMNS, "named moments")
#undef THIS
#define THIS tide_tensors
DESC(tide_tensors, tensors, TIDE_TENSOR_COLUMNS, "tensors in allocations")
#undef THIS
#define THIS tide_views
DESC(tide_views, views, TIDE_VIEW_COLUMNS, "tensors that share an allocation")
#undef THIS
#define THIS tide_flows
DESC(tide_flows, flows, TIDE_FLOW_COLUMNS, "links between spans")
#undef THIS
#define THIS tide_attrs
DESC(tide_attrs, attrs, TIDE_ATTR_COLUMNS, "arguments of spans that analyses need")
#undef THIS
#define THIS tide_op_totals
DESC(tide_op_totals, op_totals, TIDE_OP_TOTAL_COLUMNS, "sums without single calls")
#undef THIS
#define THIS tide_facts
DESC(tide_facts, facts, TIDE_FACT_COLUMNS, "facts of the whole trace")
#undef THIS
#define THIS tide_ticks
DESC(tide_ticks, ticks, TIDE_TICK_COLUMNS, "clock calibration points")
#undef THIS
#undef DESC
#undef C

/* ---- texts of kinds ---- */

#define TEXTS(fn, LIST)                                                                     \
	const char *fn(unsigned k)                                                          \
	{                                                                                   \
		static const char *const texts[] = { LIST(X) };                             \
		return k < sizeof texts / sizeof *texts && texts[k] ? texts[k] : "unknown"; \
	}
#define X(name, number, text) [number] = text,
TEXTS(tide__device_kind_text, TIDE_DEVICE_KINDS)
TEXTS(tide__pool_kind_text, TIDE_POOL_KINDS)
TEXTS(tide__lane_kind_text, TIDE_LANE_KINDS)
TEXTS(tide__cat_text, TIDE_SPAN_CATS)
TEXTS(tide__mark_kind_text, TIDE_MARK_KINDS)
TEXTS(tide__role_text, TIDE_ROLES)
TEXTS(tide__dtype_text, TIDE_DTYPES)
TEXTS(tide__segment_kind_text, TIDE_SEGMENT_KINDS)
TEXTS(tide__flow_kind_text, TIDE_FLOW_KINDS)
TEXTS(tide__memory_event_text, TIDE_MEMORY_EVENT_KINDS)
TEXTS(tide__basis_text, TIDE_ALLOC_BASES)
TEXTS(tide__axis_text, TIDE_AXES)
TEXTS(tide__state_when_text, TIDE_STATE_WHENS)
#undef X
#undef TEXTS

unsigned tide__dtype_bytes(unsigned k)
{
	static const uint8_t bytes[] = {
		[TIDE_DTYPE_F32] = 4,  [TIDE_DTYPE_F16] = 2,	[TIDE_DTYPE_BF16] = 2,
		[TIDE_DTYPE_F64] = 8,  [TIDE_DTYPE_I8] = 1,	[TIDE_DTYPE_I16] = 2,
		[TIDE_DTYPE_I32] = 4,  [TIDE_DTYPE_I64] = 8,	[TIDE_DTYPE_U8] = 1,
		[TIDE_DTYPE_U16] = 2,  [TIDE_DTYPE_U32] = 4,	[TIDE_DTYPE_U64] = 8,
		[TIDE_DTYPE_BOOL] = 1, [TIDE_DTYPE_F8E4M3] = 1, [TIDE_DTYPE_F8E5M2] = 1,
		[TIDE_DTYPE_C64] = 8,  [TIDE_DTYPE_C128] = 16,
	};
	return k < sizeof bytes ? bytes[k] : 0;
}

const char *tide__device_kind_name(const tide_model *m, uint32_t d)
{
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *own = tide__text(m, m->devices.name[d], NULL);
	bool named = m->devices.kind[d] == TIDE_DEVICE_OTHER && *own && !own[strspn(own, word)];
	return named ? own : tide__device_kind_text(m->devices.kind[d]);
}

/* ---- life ---- */

static bool none_rows(tide_model *m)
{
	size_t row;
	(void)row;
#define T(st, member, COLUMNS, none, doc)                            \
	if (none && !tide__table_push(&m->member, &st##_desc, &row)) \
		return false;
	TIDE_TABLES(T)
#undef T
	return true;
}

tide_model *tide__model_new(void)
{
	tide_model *m = tide__calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->strings = tide__strings_new();
	if (!m->strings || !none_rows(m)) {
		tide__model_free(m);
		return NULL;
	}
	return m;
}

tide_model *tide__model_hold(tide_model *m)
{
	atomic_fetch_add(&m->held, 1);
	return m;
}

void tide__model_free(tide_model *m)
{
	if (!m || atomic_fetch_sub(&m->held, 1))
		return;
#define T(st, member, COLUMNS, none, doc) tide__table_free(&m->member, &st##_desc);
	TIDE_TABLES(T)
#undef T
	tide__strings_free(m->strings);
	tide__map_free(&m->frame_files);
	tide__map_free(&m->frame_lines);
	tide__map_free(&m->stack_nodes);
	tide__free(m->dims);
	tide__free(m->span_src);
	tide__free(m->span_raw);
	tide__free(m->span_captured);
	tide__free(m->path);
	tide__free(m->format);
	tide__free(m);
}

uint32_t tide__push(void *table, const tide_table_desc *d)
{
	size_t row;
	if (*(size_t *)table >= UINT32_MAX || !tide__table_push(table, d, &row))
		return 0;
	return (uint32_t)row;
}

size_t tide__model_bytes(const tide_model *m)
{
	size_t n = tide__strings_bytes(m->strings) + m->n_dims * sizeof *m->dims;
	if (m->span_src)
		n += m->spans.n * sizeof *m->span_src;
	if (m->span_raw)
		n += m->spans.n * sizeof *m->span_raw;
#define T(st, member, COLUMNS, none, doc) n += tide__table_bytes(&m->member, &st##_desc);
	TIDE_TABLES(T)
#undef T
	return n;
}

/* ---- strings, facts, attributes ---- */

tide_str tide__intern_n(tide_model *m, const char *text, size_t n)
{
	return (tide_str){ tide__strings_add(m->strings, text, n) };
}

tide_str tide__intern(tide_model *m, const char *text)
{
	return tide__intern_n(m, text, strlen(text));
}

const char *tide__text(const tide_model *m, tide_str s, size_t *n)
{
	return tide__strings_get(m->strings, s.i, n);
}

int64_t tide__fact_find(const tide_model *m, const char *key)
{
	uint32_t k = tide__strings_find(m->strings, key, strlen(key));
	for (size_t i = 0; k && i < m->facts.n; i++)
		if (m->facts.key[i].i == k)
			return (int64_t)i;
	return -1;
}

/* Returns the row of the fact, new or old; -1 if memory ran out. */
static int64_t fact_row(tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	size_t row;
	if (at >= 0)
		return at;
	tide_str k = tide__intern(m, key);
	if (!k.i || !tide__table_push(&m->facts, &tide_facts_desc, &row))
		return -1;
	m->facts.key[row] = k;
	return (int64_t)row;
}

bool tide__fact_text(tide_model *m, const char *key, const char *text)
{
	int64_t row = fact_row(m, key);
	if (row < 0)
		return false;
	m->facts.text[row] = tide__intern(m, text);
	m->facts.number[row] = *text ? 0 : TIDE_FACT_EMPTY;
	return m->facts.text[row].i || !*text;
}

bool tide__fact_set_number(tide_model *m, const char *key, int64_t number)
{
	int64_t row = fact_row(m, key);
	if (row < 0)
		return false;
	m->facts.text[row] = (tide_str){ 0 };
	m->facts.number[row] = number;
	return true;
}

bool tide__fact_add(tide_model *m, const char *key, int64_t number)
{
	int64_t row = fact_row(m, key);
	if (row < 0)
		return false;
	m->facts.number[row] += number;
	return true;
}

int64_t tide__memory_event_time(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i];
	switch (m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		return m->allocs.born[row];
	case TIDE_MEMORY_FREE:
		return m->allocs.died[row];
	case TIDE_MEMORY_FREE_ASKED:
		return m->pendings.t[row];
	case TIDE_MEMORY_SEG_ALLOC:
		return m->segments.born[row];
	default:
		return m->segments.died[row];
	}
}

size_t tide__memory_event_from(const tide_model *m, int64_t t)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, m->memory_events.n, mid, tide__memory_event_time(m, mid) < t);
	return lo;
}

int64_t tide__attr_find(const tide_model *m, tide_span_id span, tide_str key)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, m->attrs.n, mid,
		    m->attrs.span[mid].i < span.i ||
			    (m->attrs.span[mid].i == span.i && m->attrs.key[mid].i < key.i));
	bool hit = lo < m->attrs.n && m->attrs.span[lo].i == span.i && m->attrs.key[lo].i == key.i;
	return hit ? (int64_t)lo : -1;
}

/* ---- frames and stacks ---- */

static uint64_t pair(uint32_t hi, uint32_t lo)
{
	return (uint64_t)hi << 32 | lo;
}

/* A frame is interned in two steps: (function, file) gives a number, (number, line) the frame. */
tide_frame_id tide__frame_intern(tide_model *m, tide_str function, tide_str file, uint32_t line)
{
	uint32_t ff = tide__map_get(&m->frame_files, pair(function.i, file.i));
	if (!ff) {
		ff = (uint32_t)m->frame_files.n + 1;
		if (!tide__map_put(&m->frame_files, pair(function.i, file.i), ff))
			return (tide_frame_id){ 0 };
	}
	uint32_t id = tide__map_get(&m->frame_lines, pair(ff, line));
	if (id)
		return (tide_frame_id){ id };
	id = tide__push(&m->frames, &tide_frames_desc);
	if (!id || !tide__map_put(&m->frame_lines, pair(ff, line), id))
		return (tide_frame_id){ 0 };
	m->frames.function[id] = function;
	m->frames.file[id] = file;
	m->frames.line[id] = line;
	return (tide_frame_id){ id };
}

tide_stack_id tide__stack_intern(tide_model *m, tide_stack_id parent, tide_frame_id frame)
{
	uint32_t id = tide__map_get(&m->stack_nodes, pair(parent.i, frame.i));
	if (id)
		return (tide_stack_id){ id };
	id = tide__push(&m->stacks, &tide_stacks_desc);
	if (!id || !tide__map_put(&m->stack_nodes, pair(parent.i, frame.i), id))
		return (tide_stack_id){ 0 };
	m->stacks.frame[id] = frame;
	m->stacks.parent[id] = parent;
	return (tide_stack_id){ id };
}

bool tide__l1_is_alone(const tide_model *m, uint32_t pool)
{
	for (uint32_t p = 1; p < m->pools.n; p++)
		if (m->pools.device[p].i == m->pools.device[pool].i && !tide__pool_is_l1(m, p))
			return false;
	return true;
}
