// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sections that are tables: phases and the holistic analysis. */

#include "analyze/memory/phases.h"
#include "render/report/device/hta.h"
#include "render/page/page_parts.h"
#include "model/names.h"

enum { MOST_KERNELS = 2000 };

/* ---- phases ---- */

static void scope_json(tide_json *j, const tide_model *m, const tide_scope *s)
{
	static const char *const kinds[] = {
		"pool", "device", "l1_cb", "l1_buffer", "l1", "total"
	};
	char name[64];
	tide_str pool = s->kind == TIDE_SCOPE_POOL ? m->pools.name[s->pool] : (tide_str){ 0 };
	tide__json_object(j);
	tide__json_kstr(j, "scope", kinds[s->kind]);
	tide__json_kstr(j, "device", tide__device_name(m, s->device, name, sizeof name));
	tide__json_ktext(j, "pool", m, pool);
	tide__json_kuint(j, "pools", s->pools);
	tide__json_kuint(j, "limit", tide__scope_limit(m, s));
	tide__json_karray(j, "of");
	for (uint32_t k = 1; k < m->pools.n; k++)
		if (tide__scope_has(m, s, k))
			tide__json_uint(j, k);
	tide__json_array_end(j);
	tide__json_object_end(j);
}

static void level_json(tide_json *j, const tide_phase_level *l)
{
	tide__json_array(j);
	tide__json_uint(j, l->segment_peak);
	tide__json_uint(j, l->alloc_bytes);
	tide__json_uint(j, l->free_bytes);
	tide__json_int(j, l->change);
	tide__json_uint(j, l->peak);
	tide__json_uint(j, l->current);
	tide__json_uint(j, l->top);
	tide__json_array_end(j);
}

static void phase_json(tide_json *j, const tide_model *m, const tide_phases *p, size_t i)
{
	tide_str name = p->phases[i].name;
	tide__json_object(j);
	name.i ? tide__json_ktext(j, "name", m, name) : tide__json_knull(j, "name");
	tide__json_kint(j, "t0", p->phases[i].t0);
	tide__json_kint(j, "t1", p->phases[i].t1);
	tide__json_kuint(j, "events", tide__phase_life_events(m, &p->phases[i], NULL));
	tide__json_karray(j, "levels");
	for (size_t k = 0; k < p->n_scopes; k++)
		level_json(j, &p->levels[i * p->n_scopes + k]);
	tide__json_array_end(j);
	tide__json_object_end(j);
}

static bool phases(tide_json *j, const tide_model *m, tide_error *err)
{
	tide_phases p = { 0 };
	bool ok = tide__find_phases(m, &p, err) == TIDE_OK;
	tide__json_karray(j, "scopes");
	for (size_t k = 0; ok && k < p.n_scopes; k++)
		scope_json(j, m, &p.scopes[k]);
	tide__json_array_end(j);
	tide__json_karray(j, "phases");
	for (size_t i = 0; ok && i < p.n; i++)
		phase_json(j, m, &p, i);
	tide__json_array_end(j);
	tide__phases_free(&p);
	return ok;
}

bool tide__page_write_tables(tide_box *b, const tide_model *m, const tide_page_options *opt,
			     tide_error *err)
{
	tide_json *j = tide__box_json(b);
	tide__json_object(j);
	bool ok = phases(j, m, err);
	tide__json_object_end(j);
	return ok;
}

/* ---- the holistic analysis: its own document, so that the two cannot disagree ---- */

bool tide__page_write_hta(tide_box *b, const tide_model *m, const tide_page_options *opt,
			  tide_error *err)
{
	const tide_hta_view view = { .top = MOST_KERNELS, .window = "all" };
	return !opt->job || tide__hta_json(opt->job, &view, tide__box_stream(b));
}

bool tide__page_write_job(tide_box *b, const void *what, tide_error *err)
{
	const tide_hta_view view = { .top = MOST_KERNELS, .window = "all" };
	return tide__hta_json(what, &view, tide__box_stream(b));
}

/* ---- the list of traces of a page ---- */

bool tide__page_write_contents(tide_box *b, const void *what, tide_error *err)
{
	const tide_page_list *l = what;
	tide_json *j = tide__box_json(b);
	tide__json_object(j);
	tide__json_kstr(j, "kind", l->kind);
	tide__json_karray(j, "traces");
	for (size_t i = 0; i < l->n; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "title", l->v[i].title);
		tide__json_kstr(j, "file", l->v[i].file);
		tide__json_kbool(j, "detail", l->v[i].detail);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_karray(j, "notes");
	for (size_t i = 0; i < l->n_notes; i++)
		tide__json_str(j, l->notes[i]);
	tide__json_array_end(j);
	tide__json_object_end(j);
	return true;
}
