// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/recordings, the live allocations of a recording, and /api/diff of two. */
#include <string.h>

#include "analyze/live/live_set.h"
#include "analyze/compare/diff.h"
#include "analyze/common/paths.h"
#include "analyze/memory/roles.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/report/compare/diff.h"
#include "render/text/losses.h"
#include "render/page/page_parts.h"
#include "serve/answer/api.h"
#include "serve/answer/exported.h"
#include "serve/store/exported_has.h"
#include "model/names.h"

/* ---- the list ---- */

enum { LIST_PAGE = 1000 }; /* default number of recordings in an answer */

static const char *const states[] = { "idle", "loading", "ready", "failed" };
static const char *const writers[] = { NULL, "running", "closed", "killed" };

void tide__api_rec_json(tide_json *j, const tide_rec *r)
{
	const char *slash = strrchr(r->path, '/');
	tide__json_kstr(j, "id", r->id);
	tide__json_kstr(j, "name", slash ? slash + 1 : r->path);
	tide__json_kstr(j, "path", r->path);
	tide__json_kuint(j, "size_bytes", r->size);
	tide__json_kint(j, "modified_ns", r->mtime_ns);
	bool report = r->has & TIDE_HAS_REPORT; /* is read for each request */
	tide__json_kstr(j, "state", states[report ? TIDE_REC_IDLE : r->state]);
	tide__json_kstr(j, "exported", tide__exported_name_of(r->has));
	tide__json_kstr(j, "writer", writers[r->writer]);
	tide__json_key(j, "progress");
	if (r->state == TIDE_REC_LOADING && r->total)
		tide__json_fixed(j, (double)r->done / (double)r->total, 4);
	else
		tide__json_null(j);
	tide__json_kuint(j, "generation", r->generation);
	tide__json_kuint(j, "early_generation", r->early);
	tide__json_kuint(j, "memory_bytes", r->bytes);
	tide__json_kstr(j, "error",
			r->state != TIDE_REC_FAILED || report ? NULL
			: r->error.text[0]		      ? r->error.text
							      : tide_code_text(r->error.code));
}

static void put_rec(tide_json *j, const tide_rec *r)
{
	tide__json_object(j);
	tide__api_rec_json(j, r);
	tide__json_object_end(j);
}

tide_code tide__answer_recordings(tide_ask *a, tide_error *err)
{
	size_t n;
	tide_json j;
	int64_t limit = LIST_PAGE, from = 0;
	const char *ids = tide__request_get(a->req, "ids");
	if (!tide__request_get_int(a->req, "limit", 1, INT64_MAX, &limit) ||
	    !tide__request_get_int(a->req, "offset", 0, INT64_MAX, &from))
		return tide__ask_wrong(a, err);
	tide_rec *r = tide__store_list_all(a->store, &n);
	if (!r)
		return tide__nomem(err);
	tide__json_begin(&j, a->out, false);
	tide__json_object(&j);
	tide__json_kbool(&j, "has_real_data", n > 0);
	tide__json_kuint(&j, "total", n);
	tide__json_karray(&j, "recordings");
	for (size_t i = (size_t)from; i < n && limit > 0; i++) {
		if (ids && !strstr(ids, r[i].id)) /* 16 digits each: none is part of another */
			continue;
		put_rec(&j, &r[i]);
		limit--;
	}
	tide__json_array_end(&j);
	tide__store_list_free(r, n);
	return tide__api_end(&j, n ? NULL : tide__api_none, err);
}

tide_code tide__answer_recording(tide_ask *a, tide_error *err)
{
	size_t n;
	tide_json j;
	tide_code rc = TIDE_ENOTFOUND;
	tide_rec *r = tide__store_list_all(a->store, &n);
	if (!r)
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(r[i].id, a->req->part[2])) {
			(void)tide__exported_look(a->store, &r[i]);
			tide__json_begin(&j, a->out, false);
			put_rec(&j, &r[i]);
			rc = tide__json_end(&j) ? TIDE_OK : tide__nomem(err);
		}
	tide__store_list_free(r, n);
	return rc == TIDE_ENOTFOUND ? tide__fail(err, rc, TIDE_NO_OFFSET, "no such recording") : rc;
}

/* ---- alive ---- */

struct alive {
	const tide_model *m;
	tide_paths paths;
	tide_roles roles;
	tide_json j;
};

static void put_alloc(struct alive *x, uint32_t row)
{
	const tide_model *m = x->m;
	tide_json *j = &x->j;
	char path[4096];
	uint32_t node = tide__paths_add_span(&x->paths, m, m->allocs.span[row]);
	int64_t died = m->allocs.died[row];
	tide__json_object(j);
	tide__json_kuint(j, "bytes", m->allocs.size[row]);
	tide__json_kuint(j, "requested_bytes", m->allocs.requested[row]);
	tide__json_kint(j, "born_ns", m->allocs.born[row]);
	tide__json_kint_if(j, "died_ns", died != TIDE_T_NEVER, died);
	tide__answer_write_name(j, "pool", m, m->pools.name[m->allocs.pool[row].i]);
	tide__json_kuint(j, "address", m->allocs.addr[row]);
	tide__json_kstr(j, "role", tide__role_text(x->roles.role[row]));
	tide__json_kstr(j, "op",
			node && node != TIDE_NO_PATH
				? tide__paths_text(&x->paths, m, node, path, sizeof path)
				: NULL);
	tide__answer_write_stack(j, m, m->allocs.stack[row]);
	tide__json_object_end(j);
}

/* Gets the number of memory events before the moment that "at" names. */
static bool moment(tide_ask *a, const tide_model *m, uint32_t device, uint64_t *position,
		   int64_t *t, tide_error *err)
{
	const char *at = tide__request_get(a->req, "at");
	if (at && strcmp(at, "peak")) {
		if (!tide__request_get_int(a->req, "at", 0, INT64_MAX, t))
			return false;
		*position = tide__position_at(m, *t);
		return true;
	}
	tide_usage u;
	if (tide__find_usage(m, UINT64_MAX, 0, &u, err) != TIDE_OK)
		return false;
	*position = u.devices[device].peak_position;
	*t = u.devices[device].peak_t;
	tide__usage_free(&u);
	return true;
}

static tide_code put_alive(tide_ask *a, tide_loaded *l, uint32_t device, uint64_t position,
			   int64_t t, size_t limit, tide_error *err)
{
	struct alive x = { .m = l->m };
	tide_live_set all = { 0 }, top = { 0 };
	char name[64];
	uint64_t bytes = 0;
	tide_code rc = tide__live_set_at(l->m, position, device, TIDE_ANY, &all, err);
	if (rc == TIDE_OK)
		rc = tide__live_set_find_largest(l->m, &all, device, limit, &top, err);
	if (rc == TIDE_OK &&
	    (!tide__paths_init(&x.paths) || tide__find_roles(l->m, &x.roles) != TIDE_OK))
		rc = tide__nomem(err);
	if (rc == TIDE_OK) {
		for (size_t i = 0; i < all.n; i++)
			bytes += l->m->allocs.size[all.rows[i]];
		tide__api_begin(&x.j, a, l, l->m->allocs.n > 1);
		tide__json_kstr(&x.j, "device",
				device ? tide__device_name(l->m, device, name, sizeof name) : NULL);
		tide__json_kint(&x.j, "at_time_ns", t);
		tide__json_kuint(&x.j, "alive_bytes", bytes);
		tide__json_kuint(&x.j, "alive_count", all.n);
		tide__json_kuint(&x.j, "not_shown", all.n - top.n);
		tide__json_karray(&x.j, "allocations");
		for (size_t i = 0; i < top.n; i++)
			put_alloc(&x, top.rows[i]);
		tide__json_array_end(&x.j);
		tide__losses_json(&x.j, l->m);
		rc = tide__api_end(&x.j, l->m->allocs.n > 1 ? NULL : "the trace has no allocations",
				   err);
	}
	tide__live_set_free(&all);
	tide__live_set_free(&top);
	tide__paths_free(&x.paths);
	tide__roles_free(&x.roles);
	return rc;
}

tide_code tide__answer_alive(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	uint32_t device;
	uint64_t position;
	int64_t t = 0, limit = 1000;
	tide_code rc = tide__ask_id(a, a->req->part[2], &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (!tide__request_get_int(a->req, "limit", 0, 100000, &limit) ||
	    !tide__answer_get_device(a, l, &device, err) ||
	    !moment(a, l->m, device, &position, &t, err))
		return tide__ask_wrong(a, err);
	return put_alive(a, l, device, position, t, (size_t)limit, err);
}

/* ---- diff ---- */

static bool diff_table(tide_json *j, const tide_diff *d, tide_diff_kind kind, size_t limit)
{
	static const char *const status[] = { "same", "changed", "added", "removed" };
	const tide_diff_table *t = &d->table[kind];
	tide_grid *g = tide__diff_rows(d, kind, limit, false);
	if (!g)
		return false;
	tide__json_kobject(j, tide__diff_kind_key(kind));
	for (int i = 0; i < 4; i++)
		tide__json_kuint(j, status[i], t->by_status[i]);
	tide__json_key(j, "rows");
	tide__grid_json(g, j);
	tide__json_object_end(j);
	tide__grid_free(g);
	return true;
}

tide_code tide__answer_diff(tide_ask *a, tide_error *err)
{
	tide_loaded *l[2];
	tide_diff d;
	tide_json j;
	int64_t limit = 100;
	static const char *const sides[] = { "a", "b" };
	if (!tide__request_get(a->req, "a") || !tide__request_get(a->req, "b") ||
	    !tide__request_get_int(a->req, "limit", 1, 20000, &limit))
		return tide__ask_wrong(a, err);
	for (int i = 0; i < 2; i++) {
		tide_code rc = tide__ask_param(a, sides[i], &l[i], err);
		if (rc != TIDE_OK)
			return rc;
	}
	tide_code rc = tide__find_diff(l[0]->m, l[1]->m, NULL, &d, err);
	if (rc != TIDE_OK)
		return rc;
	tide__json_begin(&j, a->out, false);
	tide__json_object(&j);
	tide__json_kbool(&j, "has_real_data", true);
	for (int i = 0; i < 2; i++) {
		tide__json_kobject(&j, sides[i]);
		tide__json_kstr(&j, "trace_file", tide__loaded_name(l[i]));
		tide__losses_json(&j, l[i]->m);
		tide__json_object_end(&j);
	}
	tide__diff_metrics_json(&d, &j);
	bool ok = true;
	for (int k = 0; ok && k < TIDE_N_DIFF_KINDS; k++)
		ok = diff_table(&j, &d, (tide_diff_kind)k, (size_t)limit);
	tide__diff_free(&d);
	return ok ? tide__api_end(&j, NULL, err) : tide__nomem(err);
}
