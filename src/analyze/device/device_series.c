// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/device_series.h"

#include <string.h>

#include "analyze/device/hta_parts.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/names.h"

typedef struct collector {
	tide_series *out;
	const tide_hta_input *in;
	const tide_hta *h; /* NULL: rows are streams */
	uint32_t row;	   /* of the last point */
} collector;

static void copy_text(char *to, size_t room, const char *s)
{
	size_t n = strnlen(s, room - 1);
	memcpy(to, s, n);
	to[n] = 0;
}

/* Says what the curve of a row is about. */
static void identify(const collector *c, uint32_t row, tide_series_curve *k)
{
	const tide_gpu_stream *s = &c->in->rows->streams[row];
	k->device = k->stream = -1;
	if (c->h) {
		copy_text(k->kind, sizeof k->kind,
			  tide__hta_str(c->h, c->h->copies.v[row].kind, NULL));
		return;
	}
	copy_text(k->kind, sizeof k->kind,
		  s->row.i ? tide__device_kind_name(c->in->m, s->row.i) : "device");
	k->device = s->device;
	k->stream = s->number;
}

static bool collect(void *user, uint32_t row, int64_t t, double value)
{
	collector *c = user;
	tide_series *o = c->out;
	if (!o->n_curves || row != c->row) {
		if (!TIDE_ROOM(o->curves, o->cap_curves, o->n_curves + 1))
			return false;
		tide_series_curve *k = &o->curves[o->n_curves++];
		*k = (tide_series_curve){ .first = o->n_points };
		identify(c, row, k);
		c->row = row;
	}
	if (!TIDE_ROOM(o->points, o->cap_points, o->n_points + 1))
		return false;
	o->points[o->n_points++] = (tide_series_point){ t, c->h ? value / 1e9 : value };
	o->curves[o->n_curves - 1].n++;
	return true;
}

static tide_code find(const tide_model *m, bool copies, tide_series *out, tide_error *err)
{
	static const tide_span_window all = { .all = true };
	tide_steps steps = { 0 };
	tide_gpu_rows rows = { 0 };
	tide_hta_input in = { .m = m, .steps = &steps, .window = &all, .rows = &rows };
	*out = (tide_series){ 0 };
	tide_code rc = tide__gpu_rows_find(m, &steps, &all, NULL, 0, &rows, err);
	if (rc != TIDE_OK)
		return rc;
	tide_launch *launches = tide__find_launches(m, &rows, &in.n_launches);
	tide_hta *h = tide__hta_new();
	in.launches = launches;
	collector c = { out, &in, copies ? h : NULL, 0 };
	bool ok = launches && h &&
		  (copies ? tide__hta_put_bandwidth(&in, h, collect, &c) && !h->failed
			  : tide__hta_put_queues(&in, collect, &c));
	tide__hta_free(h);
	tide__free(launches);
	tide__gpu_rows_free(&rows);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__queue_series_find(const tide_model *m, tide_series *out, tide_error *err)
{
	return find(m, false, out, err);
}

tide_code tide__bandwidth_series_find(const tide_model *m, tide_series *out, tide_error *err)
{
	return find(m, true, out, err);
}

void tide__series_free(tide_series *s)
{
	tide__free(s->curves);
	tide__free(s->points);
	*s = (tide_series){ 0 };
}
