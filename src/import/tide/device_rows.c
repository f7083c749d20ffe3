// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/device_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "import/tide/device_memory.h"
#include "import/tide/graph_nodes.h"
#include "import/tide/virtual_memory.h"
#include "model/span_parents.h"

struct tide_device_span {
	int64_t t; /* Unix ns */
	uint64_t duration, correlation, bytes, node;
	uint32_t place; /* device, or thread */
	uint32_t stream, name, domain;
	uint8_t kind, copy, source, target;
	uint16_t registers;
	uint32_t shared, grid[3], block[3]; /* of a kernel's launch */
};

void tide__device_rows_free(tide_device_rows *d)
{
	tide__free(d->spans);
	tide__free(d->memory);
	tide__free(d->pools);
	tide__free(d->calls);
	tide__free(d->nodes);
	memset(d, 0, sizeof *d);
}

/* ---- collecting ---- */

static uint32_t u32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static bool add_span(tide_device_rows *d, const tide_device_rec *r)
{
	const uint64_t *v = r->v;
	struct tide_device_span s = { .t = r->t, .kind = (uint8_t)r->kind, .duration = v[0] };
	switch (r->kind) {
	case TIDE_DEVICE_REC_KERNEL:
		s.name = u32(v[4]);
		s.node = v[5];
		for (int i = 0; i < 3; i++) {
			s.grid[i] = u32(v[6 + i]);
			s.block[i] = u32(v[9 + i]);
		}
		s.registers = (uint16_t)(v[12] < UINT16_MAX ? v[12] : UINT16_MAX);
		s.shared = u32(v[13]);
		break;
	case TIDE_DEVICE_REC_COPY:
		s.copy = (uint8_t)v[5];
		s.source = (uint8_t)v[6];
		s.target = (uint8_t)v[7];
		s.node = v[8];
		s.bytes = v[4];
		break;
	case TIDE_DEVICE_REC_FILL:
		s.bytes = v[4];
		s.node = v[6];
		break;
	case TIDE_DEVICE_REC_SYNC:
		s.copy = (uint8_t)v[4];
		break;
	case TIDE_DEVICE_REC_CALL:
		s.place = u32(v[1]);
		s.correlation = v[2];
		s.name = u32(v[3]);
		s.copy = v[4] != 0;
		break;
	case TIDE_DEVICE_REC_RANGE:
		s.place = u32(v[1]);
		s.name = u32(v[2]);
		s.domain = u32(v[3]);
		break;
	case TIDE_DEVICE_REC_MARK: /* a zero-length range */
		s.duration = 0;
		s.place = u32(v[0]);
		s.name = u32(v[1]);
		s.domain = u32(v[2]);
		break;
	default:
		return true;
	}
	if (r->kind <= TIDE_DEVICE_REC_FILL || r->kind == TIDE_DEVICE_REC_SYNC) {
		s.place = u32(v[1]);
		s.stream = u32(v[2]);
		s.correlation = v[3];
	}
	if (!TIDE_ROOM(d->spans, d->cap_spans, d->n_spans + 1))
		return false;
	d->spans[d->n_spans++] = s;
	return true;
}

static bool add_memory(tide_device_rows *d, const tide_device_rec *r)
{
	if (!TIDE_ROOM(d->memory, d->cap_memory, d->n_memory + 1))
		return false;
	d->memory[d->n_memory++] = (struct tide_device_memory){
		.t = r->t,
		.addr = r->v[2],
		.bytes = r->v[3] >> 48 ? (UINT64_C(1) << 48) - 1 : r->v[3],
		.device = u32(r->v[0]),
		.source = r->kind == TIDE_DEVICE_REC_ALLOC ? u32(r->v[5]) : 0,
		.memory = (uint8_t)r->v[1],
		.correlation = r->v[4],
		.free = r->kind == TIDE_DEVICE_REC_FREE,
	};
	return true;
}

static bool add_pool(tide_device_rows *d, const tide_device_rec *r)
{
	if (!TIDE_ROOM(d->pools, d->cap_pools, d->n_pools + 1))
		return false;
	d->pools[d->n_pools++] = (struct tide_device_pool){
		.t = r->t,
		.device = u32(r->v[0]),
		.gone = r->v[1] == 2,
		.addr = r->v[2],
		.bytes = r->v[3] >> 48 ? 0 : r->v[3],
		.used = r->v[4] >> 48 ? 0 : r->v[4],
	};
	return true;
}

static bool add_virtual(tide_device_rows *d, const tide_device_rec *r)
{
	if (!TIDE_ROOM(d->calls, d->cap_calls, d->n_calls + 1))
		return false;
	d->calls[d->n_calls] = (struct tide_virtual_call){
		.t = r->t,
		.device = u32(r->v[0]),
		.operation = (uint8_t)(r->v[1] < UINT8_MAX ? r->v[1] : UINT8_MAX),
		.handle = r->v[2],
		.addr = r->v[3],
		.bytes = r->v[4] >> 48 ? (UINT64_C(1) << 48) - 1 : r->v[4],
		.correlation = r->v[5],
		.source = u32(r->v[6]),
		.host = r->v[7] != 0,
		.number = (uint32_t)d->n_calls,
	};
	d->n_calls++;
	return true;
}

static bool add_node(tide_device_rows *d, const tide_device_rec *r)
{
	if (!TIDE_ROOM(d->nodes, d->cap_nodes, d->n_nodes + 1))
		return false;
	d->nodes[d->n_nodes] = (struct tide_graph_node){
		.t = r->t,
		.tid = u32(r->v[0]),
		.node = r->v[1],
		.original = r->v[2],
		.how = (uint8_t)(r->v[3] < UINT8_MAX ? r->v[3] : 0),
		.type = (uint8_t)(r->v[4] < UINT8_MAX ? r->v[4] : UINT8_MAX),
		.number = (uint32_t)d->n_nodes,
	};
	return ++d->n_nodes < UINT32_MAX;
}

bool tide__device_rows_add(tide_device_rows *d, const uint8_t *bytes, size_t n)
{
	tide_device_rec r;
	size_t at = 0;
	int64_t t = 0;
	while (tide__device_log_next(bytes, n, &at, &t, &r)) {
		bool ok = true;
		if (r.kind == TIDE_DEVICE_REC_ALLOC || r.kind == TIDE_DEVICE_REC_FREE)
			ok = add_memory(d, &r);
		else if (r.kind == TIDE_DEVICE_REC_POOL)
			ok = add_pool(d, &r);
		else if (r.kind == TIDE_DEVICE_REC_VIRTUAL)
			ok = add_virtual(d, &r);
		else if (r.kind == TIDE_DEVICE_REC_NODE)
			ok = add_node(d, &r);
		else if (r.kind == TIDE_DEVICE_REC_LOST)
			d->lost += r.v[0];
		else if (r.kind == TIDE_DEVICE_REC_OWN)
			d->own_bytes += r.v[1];
		else
			ok = add_span(d, &r);
		if (!ok)
			return false;
	}
	d->malformed += at != n;
	return true;
}

/* ---- time ---- */

int64_t tide__real_to_t(const tide_model *m, int64_t real)
{
	const tide_ticks *k = &m->ticks;
	size_t lo = 0;
	TIDE_SEARCH(lo, k->n, mid, k->real[mid] <= real);
	int64_t t = k->n ? k->t[lo ? lo - 1 : 0] + (real - k->real[lo ? lo - 1 : 0])
			 : real - m->wall0_ns;
	return t < 0 ? 0 : t;
}

/* ---- places ---- */

uint32_t tide__device_get_row(tide_model *m, uint32_t index)
{
	tide_devices *d = &m->devices;
	char key[48];
	for (uint32_t i = 1; i < d->n; i++)
		if (d->kind[i] == TIDE_DEVICE_CUDA && d->index[i] == index)
			return i;
	uint32_t row = tide__push(d, &tide_devices_desc);
	if (!row)
		return 0;
	snprintf(key, sizeof key, "gpu.name.cuda:%u", index);
	int64_t f = tide__fact_find(m, key);
	d->kind[row] = TIDE_DEVICE_CUDA;
	d->index[row] = index;
	if (f >= 0)
		d->name[row] = m->facts.text[f];
	return row;
}

struct finish {
	tide_device_rows *d;
	tide_defs *defs;
	tide_model *m;
	tide_map lanes; /* threads: tid; streams: 2^63 | device << 32 | stream */
	tide_map calls; /* correlation -> span */
	tide_str key_bytes, key_node, key_grid, key_block, key_registers, key_shared;
};

static uint32_t lane_of(struct finish *f, const struct tide_device_span *s)
{
	bool thread = s->kind == TIDE_DEVICE_REC_CALL || s->kind == TIDE_DEVICE_REC_RANGE ||
		      s->kind == TIDE_DEVICE_REC_MARK;
	uint64_t key = thread ? s->place : UINT64_C(1) << 63 | (uint64_t)s->place << 32 | s->stream;
	tide_lanes *l = &f->m->lanes;
	uint32_t row = tide__map_get(&f->lanes, key);
	if (row)
		return row;
	uint32_t device = thread ? 0 : tide__device_get_row(f->m, s->place);
	for (uint32_t i = 1; i < l->n && !row; i++)
		if (thread ? l->kind[i] == TIDE_LANE_THREAD && l->number[i] == s->place
			   : l->kind[i] == TIDE_LANE_STREAM && l->device[i].i == device &&
				     l->number[i] == s->stream)
			row = i;
	if (!row && (row = tide__push(l, &tide_lanes_desc))) {
		l->process[row] = (tide_process_id){ 1 };
		l->device[row] = (tide_device_id){ device };
		l->number[row] = thread ? s->place : s->stream;
		l->kind[row] = thread ? TIDE_LANE_THREAD : TIDE_LANE_STREAM;
	}
	return row && tide__map_put(&f->lanes, key, row) ? row : 0;
}

/* ---- names, as Kineto gives them ---- */

static tide_str copy_name(tide_model *m, const struct tide_device_span *s)
{
	static const char *const kinds[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					     "AtoD",	"DtoA", "DtoD", "HtoH", "PtoP" };
	static const char *const places[] = { "Unknown",       "Pageable",	"Pinned",
					      "Device",	       "Array",		"Managed",
					      "Device Static", "Managed Static" };
	char name[96];
	snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", kinds[s->copy <= 10 ? s->copy : 0],
		 places[s->source <= 7 ? s->source : 0], places[s->target <= 7 ? s->target : 0]);
	return tide__intern(m, name);
}

static tide_str sync_name(tide_model *m, const struct tide_device_span *s)
{
	static const char *const kinds[] = { "Unknown Sync", "Event Sync", "Stream Wait Event",
					     "Stream Sync", "Context Sync" };
	return tide__intern(m, kinds[s->copy <= 4 ? s->copy : 0]);
}

static tide_str name_of(struct finish *f, const struct tide_device_span *s)
{
	switch (s->kind) {
	case TIDE_DEVICE_REC_COPY:
		return copy_name(f->m, s);
	case TIDE_DEVICE_REC_FILL:
		return tide__intern(f->m, "Memset (Device)");
	case TIDE_DEVICE_REC_SYNC:
		return sync_name(f->m, s);
	default:
		return (tide_str){ tide__ids_get(&f->defs->names, s->name, &f->defs->undefined) };
	}
}

static uint8_t cat_of(const struct tide_device_span *s)
{
	static const uint8_t cats[] = {
		[TIDE_DEVICE_REC_KERNEL] = TIDE_CAT_KERNEL,
		[TIDE_DEVICE_REC_COPY] = TIDE_CAT_MEMCPY,
		[TIDE_DEVICE_REC_FILL] = TIDE_CAT_MEMSET,
		[TIDE_DEVICE_REC_CALL] = TIDE_CAT_RUNTIME,
		[TIDE_DEVICE_REC_SYNC] = TIDE_CAT_SYNC,
		[TIDE_DEVICE_REC_RANGE] = TIDE_CAT_USER,
		[TIDE_DEVICE_REC_MARK] = TIDE_CAT_USER,
	};
	return s->kind == TIDE_DEVICE_REC_CALL && s->copy ? TIDE_CAT_DRIVER : cats[s->kind];
}

/* ---- spans ---- */

static bool push_attr(struct finish *f, uint32_t span, tide_str *key, const char *name, size_t *row)
{
	tide_attrs *a = &f->m->attrs;
	if (!key->i)
		*key = tide__intern(f->m, name);
	if (!key->i || !tide__table_push(a, &tide_attrs_desc, row))
		return false;
	a->span[*row] = (tide_span_id){ span };
	a->key[*row] = *key;
	a->text[*row] = (tide_str){ 0 };
	return true;
}

static bool put_attr(struct finish *f, uint32_t span, tide_str *key, const char *name, uint64_t v)
{
	size_t row;
	if (!push_attr(f, span, key, name, &row))
		return false;
	f->m->attrs.number[row] = v > INT64_MAX ? INT64_MAX : (int64_t)v;
	return true;
}

/* Writes 3 sizes as Kineto does. */
static bool put_sizes(struct finish *f, uint32_t span, tide_str *key, const char *name,
		      const uint32_t v[3])
{
	char text[48];
	size_t row;
	snprintf(text, sizeof text, "[%u, %u, %u]", v[0], v[1], v[2]);
	tide_str s = tide__intern(f->m, text);
	if (!s.i || !push_attr(f, span, key, name, &row))
		return false;
	f->m->attrs.text[row] = s;
	return true;
}

/* A recording without these figures has a block of 0 threads. */
static bool put_launch(struct finish *f, uint32_t span, const struct tide_device_span *s)
{
	return !s->block[0] ||
	       (put_sizes(f, span, &f->key_grid, "grid", s->grid) &&
		put_sizes(f, span, &f->key_block, "block", s->block) &&
		put_attr(f, span, &f->key_registers, "registers per thread", s->registers) &&
		put_attr(f, span, &f->key_shared, "shared memory", s->shared));
}

static bool put_span(struct finish *f, const struct tide_device_span *s)
{
	tide_spans *t = &f->m->spans;
	uint32_t lane = lane_of(f, s), row = lane ? tide__push(t, &tide_spans_desc) : 0;
	if (!row)
		return false;
	int64_t t0 = tide__real_to_t(f->m, s->t);
	uint64_t most = (uint64_t)(INT64_MAX / 2 - t0);
	t->t0[row] = t0;
	t->t1[row] = t0 + (int64_t)(s->duration < most ? s->duration : most);
	t->lane[row] = (tide_lane_id){ lane };
	t->name[row] = name_of(f, s);
	t->cat[row] = cat_of(s);
	if (t->t1[row] > f->m->t_end)
		f->m->t_end = t->t1[row];
	bool copy = s->kind == TIDE_DEVICE_REC_COPY || s->kind == TIDE_DEVICE_REC_FILL;
	if (copy && !put_attr(f, row, &f->key_bytes, "bytes", s->bytes))
		return false;
	if (s->node && !put_attr(f, row, &f->key_node, "graph node id", s->node))
		return false;
	if (s->kind == TIDE_DEVICE_REC_KERNEL && !put_launch(f, row, s))
		return false;
	if (s->kind == TIDE_DEVICE_REC_CALL && s->correlation)
		return tide__map_put(&f->calls, s->correlation, row);
	return true;
}

/* Sets the cause of device work: the call with the same correlation. */
static void set_causes(struct finish *f, uint32_t first)
{
	for (size_t i = 0; i < f->d->n_spans; i++) {
		const struct tide_device_span *s = &f->d->spans[i];
		uint32_t row = first + (uint32_t)i;
		if (s->correlation && s->kind != TIDE_DEVICE_REC_CALL)
			f->m->spans.cause[row] =
				(tide_span_id){ tide__map_get(&f->calls, s->correlation) };
	}
}

/* Sets the fields that analyses of Kineto traces need for each span: number, correlation and
 * stream. */
static bool put_raw(struct finish *f, uint32_t first)
{
	tide_model *m = f->m;
	m->span_raw = tide__alloc(m->spans.n, sizeof *m->span_raw);
	for (size_t i = 0; m->span_raw && i < m->spans.n; i++)
		m->span_raw[i] = (tide_raw){ (int64_t)i, -1, -1 };
	for (size_t i = 0; m->span_raw && i < f->d->n_spans; i++) {
		const struct tide_device_span *s = &f->d->spans[i];
		tide_raw *r = &m->span_raw[first + i];
		r->corr = s->correlation && s->correlation <= INT64_MAX ? (int64_t)s->correlation
									: -1;
		r->stream = tide__cat_is_gpu(cat_of(s)) || s->kind == TIDE_DEVICE_REC_SYNC
				    ? (int64_t)s->stream
				    : -1;
	}
	return m->span_raw != NULL;
}

static bool put_spans(struct finish *f)
{
	uint32_t first = (uint32_t)f->m->spans.n;
	if (f->d->n_spans >= UINT32_MAX - f->m->spans.n)
		return false;
	for (size_t i = 0; i < f->d->n_spans; i++)
		if (!put_span(f, &f->d->spans[i]))
			return false;
	set_causes(f, first);
	if (!f->d->n_spans)
		return true;
	if (!put_raw(f, first))
		return false;
	tide_parent_ref freed = { .id = &f->m->allocs.free_span->i,
				  .n = f->m->allocs.n,
				  .stride = sizeof *f->m->allocs.free_span };
	return tide__find_span_parents(f->m, NULL, 0, &freed, f->m->allocs.n ? 1 : 0);
}

static bool facts(const tide_device_rows *d, tide_model *m)
{
	return (!d->lost || tide__fact_add(m, "loss.device_records", (int64_t)d->lost)) &&
	       (!d->malformed || tide__fact_add(m, "loss.device_log", (int64_t)d->malformed)) &&
	       (!d->own_bytes || tide__fact_add(m, "gpu.profiler_bytes", (int64_t)d->own_bytes));
}

/* Maps the correlation of recorded calls about virtual memory to TIDE_VMM_*. */
static bool find_calls(struct finish *f, tide_map *by_correlation, uint64_t *creates)
{
	tide_device_rows *d = f->d;
	bool ok = true;
	for (size_t i = 0; ok && i < d->n_spans; i++) {
		const struct tide_device_span *s = &d->spans[i];
		if (s->kind != TIDE_DEVICE_REC_CALL || !s->correlation)
			continue;
		const char *name = tide__text(f->m, name_of(f, s), NULL);
		bool create = !strncmp(name, "cuMemCreate", 11),
		     made = create || !strncmp(name, "cuMemRelease", 12),
		     mapped = !strcmp(name, "cuMemMap") || !strcmp(name, "cuMemUnmap");
		*creates += create;
		if (made || mapped)
			ok = tide__map_put(by_correlation, s->correlation,
					   made ? TIDE_VMM_CREATE : TIDE_VMM_MAP);
	}
	return ok;
}

/* Marks the memory records of cuMemCreate and cuMemMap by the correlation of those calls. If the
 * calls themselves were recorded (VIRTUAL), such records would count twice and are left out. Calls
 * without a memory record are a loss: CUPTI 13.0 makes none. */
static bool set_calls(struct finish *f)
{
	tide_device_rows *d = f->d;
	tide_map by_correlation = { 0 };
	uint64_t creates = 0, told = 0, records = 0;
	size_t kept = 0;
	bool ok = find_calls(f, &by_correlation, &creates);
	for (size_t i = 0; ok && i < d->n_calls; i++)
		told += d->calls[i].operation == TIDE_VIRTUAL_CREATE;
	for (size_t i = 0; ok && i < d->n_memory; i++) {
		struct tide_device_memory *v = &d->memory[i];
		v->call = (uint8_t)tide__map_get(&by_correlation, v->correlation);
		records += v->call && !v->free;
		if (!v->call || !d->n_calls)
			d->memory[kept++] = *v;
	}
	d->n_memory = ok ? kept : d->n_memory;
	told = told || !records ? told : creates;
	if (ok && creates > told)
		ok = tide__fact_add(f->m, "loss.virtual_memory", (int64_t)(creates - told));
	tide__map_free(&by_correlation);
	return ok;
}

/* Adds the memory of cuMemCreate to the other memory records. */
static bool add_virtual_memory(tide_device_rows *d)
{
	if (!d->n_calls)
		return true;
	if (!TIDE_ROOM(d->memory, d->cap_memory, d->n_memory + 2 * d->n_calls))
		return false;
	size_t n = tide__virtual_memory_resolve(d->calls, d->n_calls, d->memory + d->n_memory);
	d->n_memory += n == SIZE_MAX ? 0 : n;
	return n != SIZE_MAX;
}

/* Gives the driver's name to devices that a framework named only by number. */
static void name_devices(tide_model *m)
{
	tide_devices *d = &m->devices;
	for (uint32_t i = 1; i < d->n; i++) {
		char key[48];
		snprintf(key, sizeof key, "gpu.name.cuda:%lld", (long long)d->index[i]);
		int64_t f = d->kind[i] == TIDE_DEVICE_CUDA && !d->name[i].i
				    ? tide__fact_find(m, key)
				    : -1;
		if (f >= 0)
			d->name[i] = m->facts.text[f];
	}
}

bool tide__device_rows_finish(tide_device_rows *d, tide_defs *defs)
{
	struct finish f = { .d = d, .defs = defs, .m = defs->m };
	bool ok = set_calls(&f) && add_virtual_memory(d) && put_spans(&f) &&
		  tide__graph_nodes_put(defs->m, d->nodes, d->n_nodes) &&
		  tide__device_memory_put(defs->m, defs, d->memory, d->n_memory) &&
		  tide__device_pools_put(defs->m, d->pools, d->n_pools) && facts(d, defs->m);
	name_devices(defs->m);
	tide__map_free(&f.lanes);
	tide__map_free(&f.calls);
	return ok;
}
