// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One small function per record type, in a table by tag. Each returns false for an invalid record
 * (an id out of order) and sets `nomem` if memory ran out. */
#include "import/tide/defs.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/varint.h"

struct reading {
	tide_defs *d;
	const tide_field *f;
	bool nomem;
};

void tide__defs_free(tide_defs *d)
{
	tide_ids *ids[] = {
		&d->names, &d->frames, &d->stacks, &d->devices, &d->pools, &d->streams
	};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		tide__free(ids[i]->v);
	tide__map_free(&d->lanes);
	tide__map_free(&d->fact_rows);
	tide__map_free(&d->lost_rows);
	tide__free(d->lost);
	tide__free(d->symbols);
	tide__timebase_free(&d->clock);
	memset(d, 0, sizeof *d);
}

/* Marks the ids before `id` as lost. Returns false if fewer bytes are lost than they took. */
static bool pass_over(struct reading *r, tide_ids *ids, uint64_t id)
{
	uint64_t from = ids->n ? ids->n : 1;
	if (id <= from || id - from > r->d->lost_bytes || id - from > TIDE_IDS_PASSED_MAX)
		return false;
	if (!TIDE_ROOM(ids->v, ids->cap, id + 1)) {
		r->nomem = true;
		return false;
	}
	for (uint64_t i = from; i < id; i++)
		ids->v[i] = TIDE_ID_LOST;
	ids->n = (size_t)id;
	r->d->lost_bytes -= id - from;
	return true;
}

/* Returns 1 if `id` is the next one of its kind (space is reserved), 0 if it exists already, -1
 * if it is out of order. */
static int next_id(struct reading *r, tide_ids *ids, uint64_t id)
{
	if (id && id < ids->n)
		return 0;
	if (id >= UINT32_MAX || (id != (ids->n ? ids->n : 1) && !pass_over(r, ids, id)))
		return -1;
	if (!TIDE_ROOM(ids->v, ids->cap, id + 1)) {
		r->nomem = true;
		return -1;
	}
	ids->v[0] = 0;
	return 1;
}

static bool define(struct reading *r, tide_ids *ids, uint64_t id, uint32_t row)
{
	if (!row) {
		r->nomem = true;
		return false;
	}
	ids->v[id] = row;
	ids->n = (size_t)id + 1;
	return true;
}

static tide_str name_of(struct reading *r, uint64_t id)
{
	return (tide_str){ tide__ids_get(&r->d->names, id, &r->d->undefined) };
}

static bool read_name(struct reading *r)
{
	tide_ids *ids = &r->d->names;
	int next = next_id(r, ids, r->f[0].num);
	if (next <= 0)
		return next == 0;
	size_t n = (size_t)r->f[1].num;
	tide_str s = tide__intern_n(r->d->m, (const char *)r->f[1].bytes, n);
	if (!s.i && n)
		return define(r, ids, r->f[0].num, 0);
	ids->v[r->f[0].num] = s.i;
	ids->n = (size_t)r->f[0].num + 1;
	return true;
}

static bool read_frame(struct reading *r)
{
	tide_ids *ids = &r->d->frames;
	const tide_field *f = r->f;
	int next = next_id(r, ids, f[0].num);
	if (next <= 0)
		return next == 0;
	uint32_t line = f[3].num > UINT32_MAX ? 0 : (uint32_t)f[3].num;
	return define(
		r, ids, f[0].num,
		tide__frame_intern(r->d->m, name_of(r, f[1].num), name_of(r, f[2].num), line).i);
}

static bool add_stack(struct reading *r, uint64_t id, uint64_t outer, uint64_t inner)
{
	tide_ids *ids = &r->d->stacks;
	int next = next_id(r, ids, id);
	if (next <= 0)
		return next == 0;
	tide_stack_id parent = { tide__ids_get(ids, outer, &r->d->undefined) };
	tide_frame_id frame = { tide__ids_get(&r->d->frames, inner, &r->d->undefined) };
	return define(r, ids, id, tide__stack_intern(r->d->m, parent, frame).i);
}

static bool read_stack(struct reading *r)
{
	return add_stack(r, r->f[0].num, r->f[1].num, r->f[2].num);
}

static bool read_stacks(struct reading *r)
{
	const uint8_t *p = r->f[2].bytes;
	uint64_t id = r->f[0].num, parent = r->f[1].num, frame;
	bool bad = false;
	for (uint64_t i = 0; i < r->f[2].num; i++) {
		p = tide__varint(p, &frame, &bad); /* its length was checked */
		if (!add_stack(r, id, parent, frame))
			return false;
		parent = id++;
	}
	return r->f[2].num > 0;
}

static uint8_t kind_of(uint64_t k)
{
	return k <= UINT8_MAX ? (uint8_t)k : 0;
}

static bool read_device(struct reading *r)
{
	tide_devices *t = &r->d->m->devices;
	const tide_field *f = r->f;
	int next = next_id(r, &r->d->devices, f[0].num);
	if (next <= 0)
		return next == 0;
	uint32_t row = tide__push(t, &tide_devices_desc);
	if (row) {
		t->kind[row] = kind_of(f[1].num);
		t->index[row] = (int64_t)f[2].num;
		t->name[row] = name_of(r, f[3].num);
		t->capacity[row] = f[4].num;
	}
	return define(r, &r->d->devices, f[0].num, row);
}

static tide_device_id device_of(struct reading *r, uint64_t id)
{
	return (tide_device_id){ tide__ids_get(&r->d->devices, id, &r->d->undefined) };
}

static bool read_pool(struct reading *r)
{
	tide_pools *t = &r->d->m->pools;
	const tide_field *f = r->f;
	int next = f[0].num > UINT16_MAX ? -1 : next_id(r, &r->d->pools, f[0].num);
	if (next <= 0)
		return next == 0;
	uint32_t row = tide__push(t, &tide_pools_desc);
	if (row) {
		t->device[row] = device_of(r, f[1].num);
		t->kind[row] = kind_of(f[2].num);
		t->name[row] = name_of(r, f[3].num);
		t->capacity[row] = f[4].num;
		t->banks[row] = f[5].num > UINT32_MAX ? 0 : (uint32_t)f[5].num;
	}
	return define(r, &r->d->pools, f[0].num, row);
}

static bool read_stream(struct reading *r)
{
	tide_lanes *t = &r->d->m->lanes;
	const tide_field *f = r->f;
	int next = f[0].num > UINT16_MAX ? -1 : next_id(r, &r->d->streams, f[0].num);
	if (next <= 0)
		return next == 0;
	uint32_t row = tide__push(t, &tide_lanes_desc);
	if (row) {
		t->process[row] = (tide_process_id){ 1 };
		t->device[row] = device_of(r, f[1].num);
		t->number[row] = (int64_t)f[2].num;
		t->name[row] = name_of(r, f[3].num);
		t->kind[row] = TIDE_LANE_STREAM;
	}
	return define(r, &r->d->streams, f[0].num, row);
}

uint32_t tide__defs_get_lane(tide_defs *d, uint64_t lane, uint64_t tid)
{
	tide_lanes *t = &d->m->lanes;
	uint32_t row = tide__map_get(&d->lanes, lane);
	if (row)
		return row;
	row = tide__push(t, &tide_lanes_desc);
	if (!row || !tide__map_put(&d->lanes, lane, row))
		return 0;
	t->process[row] = (tide_process_id){ 1 };
	t->number[row] = (int64_t)tid;
	t->kind[row] = TIDE_LANE_THREAD;
	return row;
}

static bool read_thread(struct reading *r)
{
	uint32_t row = tide__defs_get_lane(r->d, r->f[0].num, r->f[1].num);
	r->nomem = !row;
	if (row && r->f[2].num)
		r->d->m->lanes.name[row] = name_of(r, r->f[2].num);
	if (row)
		r->d->m->lanes.number[row] = (int64_t)r->f[1].num;
	return row;
}

static bool read_tick(struct reading *r)
{
	tide_ticks *t = &r->d->m->ticks;
	const tide_field *f = r->f;
	size_t row;
	int64_t ns = (int64_t)(f[1].num - (uint64_t)r->d->mono0);
	if (!tide__table_push(t, &tide_ticks_desc, &row) ||
	    !tide__timebase_add(&r->d->clock, f[0].num, ns)) {
		r->nomem = true;
		return false;
	}
	t->ticks[row] = f[0].num;
	t->mono_raw[row] = (int64_t)f[1].num;
	t->real[row] = (int64_t)f[2].num;
	t->t[row] = ns;
	return true;
}

/* Returns the row of the fact, new or old; -1 if memory ran out. */
static int64_t fact_row(struct reading *r)
{
	tide_model *m = r->d->m;
	size_t row;
	tide_str key = tide__intern_n(m, (const char *)r->f[0].bytes, (size_t)r->f[0].num);
	uint32_t at = tide__map_get(&r->d->fact_rows, key.i);
	if (at)
		return (int64_t)at - 1;
	r->nomem = !key.i || m->facts.n >= UINT32_MAX - 1 ||
		   !tide__table_push(&m->facts, &tide_facts_desc, &row) ||
		   !tide__map_put(&r->d->fact_rows, key.i, (uint32_t)m->facts.n);
	if (r->nomem)
		return -1;
	m->facts.key[row] = key;
	return (int64_t)row;
}

static bool read_fact_text(struct reading *r)
{
	if (!r->f[0].num)
		return false;
	int64_t row = fact_row(r);
	if (row < 0)
		return false;
	tide_str s = tide__intern_n(r->d->m, (const char *)r->f[1].bytes, (size_t)r->f[1].num);
	r->nomem = !s.i && r->f[1].num;
	r->d->m->facts.text[row] = s;
	r->d->m->facts.number[row] = s.i ? 0 : TIDE_FACT_EMPTY;
	return !r->nomem;
}

static bool read_fact_num(struct reading *r)
{
	if (!r->f[0].num)
		return false;
	int64_t row = fact_row(r);
	if (row < 0)
		return false;
	r->d->m->facts.text[row] = (tide_str){ 0 };
	r->d->m->facts.number[row] = (int64_t)r->f[1].num;
	return true;
}

/* Counts are cumulative: the last one of a ring is used. */
static bool read_lost(struct reading *r)
{
	tide_defs *d = r->d;
	uint32_t at = tide__map_get(&d->lost_rows, r->f[0].num);
	if (!at) {
		at = (uint32_t)d->n_lost + 1;
		r->nomem = !TIDE_ROOM(d->lost, d->cap_lost, d->n_lost + 1) ||
			   !tide__map_put(&d->lost_rows, r->f[0].num, at);
		if (r->nomem)
			return false;
		d->n_lost++;
	}
	d->lost[at - 1] = (struct tide_lost){ r->f[1].num, r->f[2].num, r->f[3].num };
	return true;
}

static bool read_symbol(struct reading *r)
{
	tide_defs *d = r->d;
	const tide_field *f = r->f;
	tide_str function = tide__intern_n(d->m, (const char *)f[1].bytes, (size_t)f[1].num);
	tide_str file = tide__intern_n(d->m, (const char *)f[2].bytes, (size_t)f[2].num);
	r->nomem = (f[1].num && !function.i) || (f[2].num && !file.i) ||
		   !TIDE_ROOM(d->symbols, d->cap_symbols, d->n_symbols + 1);
	if (r->nomem)
		return false;
	uint32_t line = f[3].num > UINT32_MAX ? 0 : (uint32_t)f[3].num;
	d->symbols[d->n_symbols++] = (struct tide_symbol){ f[0].num, function, file, line };
	return true;
}

static bool read_total(struct reading *r)
{
	r->d->total_events = r->f[0].num;
	r->d->has_total = true;
	return true;
}

static bool (*const readers[TIDE_TAGS])(struct reading *r) = {
	[TIDE_REC_NAME] = read_name,	       [TIDE_REC_FRAME] = read_frame,
	[TIDE_REC_STACK] = read_stack,	       [TIDE_REC_DEVICE] = read_device,
	[TIDE_REC_POOL] = read_pool,	       [TIDE_REC_STREAM] = read_stream,
	[TIDE_REC_THREAD] = read_thread,       [TIDE_REC_TICK] = read_tick,
	[TIDE_REC_FACT_TEXT] = read_fact_text, [TIDE_REC_FACT_NUM] = read_fact_num,
	[TIDE_REC_LOST] = read_lost,	       [TIDE_REC_TOTAL] = read_total,
	[TIDE_REC_SYMBOL] = read_symbol,       [TIDE_REC_STACKS] = read_stacks,
};

tide_code tide__defs_read(tide_defs *d, const tide_schema *s, const uint8_t *p, size_t n,
			  uint64_t at, bool packed, tide_error *err)
{
	const uint8_t *start = p, *end = p + n;
	tide_field f[TIDE_FIELDS_MAX];
	while (p < end) {
		uint64_t here = packed ? at : at + (uint64_t)(p - start);
		unsigned tag = *p;
		const tide_record_type *t = tag < TIDE_TAGS ? &s->types[tag] : NULL;
		p = t && t->n ? tide__fields_read(t, 0, p + 1, end, f) : NULL;
		if (!p)
			return tide__fail(err, TIDE_ECORRUPT, here, "malformed record (tag %u)",
					  tag);
		if (!t->known || !readers[tag]) {
			d->skipped++;
			continue;
		}
		struct reading r = { d, f, false };
		if (!readers[tag](&r))
			return r.nomem ? tide__nomem(err)
				       : tide__fail(err, TIDE_ECORRUPT, here,
						    "%s record is out of order or empty",
						    tide__record_text(tag));
	}
	return TIDE_OK;
}
