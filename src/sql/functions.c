// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* stack(id), path(span), overlap(a, b), live_at(t): what people would write joins for. With several
 * traces the last argument is the number of the trace. */
#include <string.h>

#include "analyze/live/live_set.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "model/names.h"
#include "render/text/labels.h"
#include "report/select.h"
#include "sql/internal.h"

enum { EVERY = 64 }; /* memory events between two sums */

/* Returns the trace that the argument after the first `own` names; NULL, with an error, if there is
 * none. */
static sql_trace *trace_of(sqlite3_context *x, int argc, sqlite3_value **v, int own,
			   const tide_model **m)
{
	tide_sql *s = sqlite3_user_data(x);
	int64_t k = argc > own ? sqlite3_value_int64(v[own]) : 1;
	if (k < 1 || (size_t)k > s->in.n) {
		sqlite3_result_error(x, "there is no trace with this number", -1);
		return NULL;
	}
	*m = s->in.models[k - 1];
	return &s->traces[k - 1];
}

/* Returns the row that an argument names, 0 for none. */
static uint32_t row_of(sqlite3_value *v, size_t n)
{
	int64_t id = sqlite3_value_int64(v);
	return sqlite3_value_type(v) == SQLITE_INTEGER && id > 0 && (size_t)id < n ? (uint32_t)id
										   : 0;
}

/* "inner (file:line) < outer (file:line)" */
static void stack(sqlite3_context *x, int argc, sqlite3_value **v)
{
	const tide_model *m;
	char name[512];
	if (!trace_of(x, argc, v, 1, &m))
		return;
	uint32_t s = row_of(v[0], m->stacks.n);
	if (!s)
		return;
	sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(x));
	for (uint32_t at = s; at && sqlite3_str_length(out) < 1 << 20; at = m->stacks.parent[at].i)
		sqlite3_str_appendf(out, "%s%s", at == s ? "" : " < ",
				    tide__frame_name(m, m->stacks.frame[at], name, sizeof name));
	int n = sqlite3_str_length(out);
	char *text = sqlite3_str_finish(out);
	text ? sqlite3_result_text(x, text, n, sqlite3_free) : sqlite3_result_error_nomem(x);
}

/* "outer/inner": names from the outermost span on. */
static void path(sqlite3_context *x, int argc, sqlite3_value **v)
{
	const tide_model *m;
	char text[4096];
	sql_trace *t = trace_of(x, argc, v, 1, &m);
	uint32_t span = t ? row_of(v[0], m->spans.n) : 0;
	if (!span)
		return;
	if (!t->has_paths && tide__paths_init(&t->paths))
		t->has_paths = true;
	uint32_t node = t->has_paths ? tide__paths_add_span(&t->paths, m, (tide_span_id){ span })
				     : TIDE_NO_PATH;
	if (node == TIDE_NO_PATH)
		sqlite3_result_error_nomem(x);
	else
		sqlite3_result_text(x, tide__paths_text(&t->paths, m, node, text, sizeof text), -1,
				    SQLITE_TRANSIENT);
}

/* ns in which both spans run. */
static void overlap(sqlite3_context *x, int argc, sqlite3_value **v)
{
	const tide_model *m;
	if (!trace_of(x, argc, v, 2, &m))
		return;
	uint32_t a = row_of(v[0], m->spans.n), b = row_of(v[1], m->spans.n);
	if (!a || !b || m->axis != TIDE_AXIS_TIME)
		return;
	int64_t from = m->spans.t0[a] > m->spans.t0[b] ? m->spans.t0[a] : m->spans.t0[b];
	int64_t to = m->spans.t1[a] < m->spans.t1[b] ? m->spans.t1[a] : m->spans.t1[b];
	sqlite3_result_int64(x, to > from ? to - from : 0);
}

/* ---- live_at ---- */

/* Returns the change of live bytes by a memory event on the device. */
static uint64_t change_of(const tide_model *m, size_t event, uint32_t device)
{
	bool made;
	uint32_t a = tide__memory_event_life(m, event, &made);
	uint32_t pool = m->allocs.pool[a].i;
	if (!a || (device != TIDE_ANY &&
		   (m->pools.device[pool].i != device || !tide__pool_in_device(m, pool))))
		return 0;
	return made ? m->allocs.size[a] : -m->allocs.size[a];
}

static sql_live *live_of(sql_trace *t, const tide_model *m, uint32_t device)
{
	for (sql_live *l = t->live; l; l = l->next)
		if (l->device == device)
			return l;
	sql_live *l = tide__calloc(1, sizeof *l);
	uint64_t *sums = tide__alloc(m->memory_events.n / EVERY + 1, sizeof *sums), sum = 0;
	if (!l || !sums) {
		tide__free(l);
		tide__free(sums);
		return NULL;
	}
	for (size_t i = 0; i < m->memory_events.n; i++) {
		if (i % EVERY == 0)
			sums[i / EVERY] = sum;
		sum += change_of(m, i, device);
	}
	if (m->memory_events.n % EVERY == 0)
		sums[m->memory_events.n / EVERY] = sum;
	*l = (sql_live){ .device = device, .sums = sums, .next = t->live };
	t->live = l;
	return l;
}

static void put_live(sqlite3_context *x, sql_trace *t, const tide_model *m, int64_t at,
		     uint32_t device)
{
	const sql_live *l = live_of(t, m, device);
	if (!l) {
		sqlite3_result_error_nomem(x);
		return;
	}
	size_t position = (size_t)tide__position_at(m, at);
	uint64_t sum = l->sums[position / EVERY];
	for (size_t i = position / EVERY * EVERY; i < position; i++)
		sum += change_of(m, i, device);
	sqlite3_result_int64(x, (int64_t)sum);
}

/* live_at(t), live_at(t, 'cuda:0'), live_at(t, device, trace) */
static void live_at(sqlite3_context *x, int argc, sqlite3_value **v)
{
	const tide_model *m;
	sql_trace *t = trace_of(x, argc, v, 2, &m);
	const char *name = argc > 1 ? (const char *)sqlite3_value_text(v[1]) : NULL;
	uint32_t device = name && t ? tide__device_find(m, name) : TIDE_ANY;
	if (!t || sqlite3_value_type(v[0]) == SQLITE_NULL)
		return;
	if (!device)
		sqlite3_result_error(x, "live_at: the trace has no such device", -1);
	else if (tide__memory_known(m, device))
		put_live(x, t, m, sqlite3_value_int64(v[0]), device);
}

int tide__sql_add_functions(tide_sql *s)
{
	static const struct {
		const char *name;
		int least, most;
		void (*call)(sqlite3_context *x, int argc, sqlite3_value **v);
	} list[] = { { "stack", 1, 2, stack },
		     { "path", 1, 2, path },
		     { "overlap", 2, 3, overlap },
		     { "live_at", 1, 3, live_at } };
	int rc = SQLITE_OK;
	s->traces = tide__calloc(s->in.n, sizeof *s->traces);
	if (!s->traces)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		for (int n = list[i].least; n <= list[i].most && rc == SQLITE_OK; n++)
			rc = sqlite3_create_function(s->db, list[i].name, n,
						     SQLITE_UTF8 | SQLITE_DETERMINISTIC, s,
						     list[i].call, NULL, NULL);
	return rc;
}

void tide__sql_free_functions(tide_sql *s)
{
	for (size_t i = 0; s->traces && i < s->in.n; i++) {
		sql_trace *t = &s->traces[i];
		if (t->has_paths)
			tide__paths_free(&t->paths);
		while (t->live) {
			sql_live *l = t->live;
			t->live = l->next;
			tide__free(l->sums);
			tide__free(l);
		}
	}
	tide__free(s->traces);
}
