// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Traces that XLA's profiler writes (JAX, TensorFlow): events have no category, and devices are
 * processes named "/device:GPU:0" or "/device:TPU:0". Names are known only at the end, so rows get
 * lanes and categories here, before spans are sorted. docs/formats/xla.md has the rules. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/xla_names.h"

typedef struct plane { /* a process that is a device; by the small number of its pid */
	tide_xla_device device;
	uint32_t row; /* in devices */
	bool any;
	bool streams; /* a lane of it is a stream: its other lanes repeat what ran there */
} plane;

typedef struct planes {
	kin_build *b;
	plane *of;	     /* n_small + 1 */
	uint32_t *processes; /* per process row: its new row, 0 = a device */
	uint8_t *lanes;	     /* per lane: TIDE_XLA_*; 0 = not a device's */
} planes;

static uint32_t thread_of(const kin_build *b, const kin_name *n)
{
	return tide__map_get(&b->lane_of[TIDE_LANE_THREAD], (uint64_t)n->a << 32 | n->b);
}

static bool find_devices(planes *p, bool *any)
{
	kin_build *b = p->b;
	for (size_t i = 0; i < b->n_names; i++) {
		const kin_name *n = &b->names[i];
		if (n->kind == KIN_NAME_PROCESS &&
		    tide__xla_device(tide__text(b->m, (tide_str){ n->name }, NULL),
				     &p->of[n->a].device))
			*any = p->of[n->a].any = true;
	}
	for (size_t i = 0; i < b->n_names; i++) {
		const kin_name *n = &b->names[i];
		if (n->kind == KIN_NAME_THREAD && thread_of(b, n))
			p->of[n->a].streams |=
				tide__xla_is_stream(tide__text(b->m, (tide_str){ n->name }, NULL));
	}
	return true;
}

static bool add_device(planes *p, plane *d)
{
	tide_devices *t = &p->b->m->devices;
	if (d->row)
		return true;
	d->row = tide__kineto_get_device_row(p->b, d->device.kind, d->device.index);
	if (d->row && d->device.kind == TIDE_DEVICE_OTHER && !t->name[d->row].i)
		t->name[d->row] = tide__intern(p->b->m, d->device.name);
	return d->row;
}

/* Moves the lanes of devices from their processes to the devices. */
static bool move_lanes(planes *p)
{
	kin_build *b = p->b;
	tide_lanes *l = &b->m->lanes;
	for (size_t i = 0; i < b->n_names; i++) {
		const kin_name *n = &b->names[i];
		plane *d = &p->of[n->a];
		uint32_t lane = n->kind == KIN_NAME_THREAD && d->any ? thread_of(b, n) : 0;
		if (!lane)
			continue;
		if (!add_device(p, d)) /* adds texts: borrow the name after it */
			return false;
		const char *name = tide__text(b->m, (tide_str){ n->name }, NULL);
		p->lanes[lane] = (uint8_t)tide__xla_lane(name, d->streams);
		l->kind[lane] = TIDE_LANE_STREAM;
		l->device[lane].i = d->row;
		l->number[lane] = tide__xla_lane_number(name, l->number[lane], d->streams);
	}
	return true;
}

/* Devices are no processes: drops their rows. */
static void drop_processes(planes *p)
{
	kin_build *b = p->b;
	tide_processes *t = &b->m->processes;
	uint32_t n = 1;
	for (uint32_t k = 1; k <= b->n_small; k++) {
		uint32_t row = tide__map_get(&b->process_of, k);
		if (row)
			p->processes[row] = !p->of[k].any;
	}
	for (uint32_t i = 1; i < t->n; i++) {
		if (!p->processes[i])
			continue;
#define C(type, name, doc) t->name[n] = t->name[i];
		TIDE_PROCESS_COLUMNS(C)
#undef C
		p->processes[i] = n++;
	}
	t->n = n;
	for (size_t i = 1; i < b->m->lanes.n; i++)
		b->m->lanes.process[i].i = p->processes[b->m->lanes.process[i].i];
}

/* The rows moved, so the numbers of pids lead to the new ones. */
static bool renumber(planes *p)
{
	kin_build *b = p->b;
	bool ok = true;
	for (uint32_t k = 1; ok && k <= b->n_small; k++) {
		uint32_t row = tide__map_del(&b->process_of, k);
		if (row && p->processes[row])
			ok = tide__map_put(&b->process_of, k, p->processes[row]);
	}
	return ok;
}

static void set_categories(planes *p)
{
	tide_model *m = p->b->m;
	for (size_t i = 1; i < m->spans.n; i++) {
		uint8_t lane = p->lanes[m->spans.lane[i].i];
		if (m->spans.cat[i] != TIDE_CAT_OTHER)
			continue;
		if (lane && m->span_raw)
			m->span_raw[i].stream = m->lanes.number[m->spans.lane[i].i];
		if (lane)
			m->spans.cat[i] = (uint8_t)tide__xla_cat(
				(tide_xla_lane)lane, tide__text(m, m->spans.name[i], NULL));
		else if (p->b->link[i]) /* a call with a correlation_id */
			m->spans.cat[i] = TIDE_CAT_RUNTIME;
	}
}

/* Copies say their bytes in a text; analyses read the argument "bytes". */
static bool set_bytes(kin_build *b)
{
	tide_attrs *a = &b->m->attrs;
	tide_str details = tide__intern(b->m, "memcpy_details"), key = tide__intern(b->m, "bytes");
	if (!details.i || !key.i)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		int64_t bytes = a->key[i].i == details.i
					? tide__xla_copy_bytes(tide__text(b->m, a->text[i], NULL))
					: -1;
		if (bytes < 0 || !tide__cat_is_gpu(b->m->spans.cat[a->span[i].i]))
			continue;
		a->key[i] = key;
		a->text[i].i = 0;
		a->number[i] = bytes;
	}
	return true;
}

bool tide__kineto_find_xla_devices(kin_build *b)
{
	planes p = { .b = b };
	bool any = false;
	p.of = b->n_names ? tide__calloc((size_t)b->n_small + 1, sizeof *p.of) : NULL;
	if (!b->n_names)
		return true;
	bool ok = p.of && find_devices(&p, &any);
	if (ok && any) {
		p.lanes = tide__calloc(b->m->lanes.n, 1);
		p.processes = tide__calloc(b->m->processes.n, sizeof *p.processes);
		ok = p.lanes && p.processes && move_lanes(&p);
		if (ok) {
			drop_processes(&p);
			ok = renumber(&p);
			set_categories(&p);
			ok = ok && set_bytes(b);
			b->xla = true;
		}
	}
	tide__free(p.of);
	tide__free(p.lanes);
	tide__free(p.processes);
	return ok;
}
