// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of rocmProfileData: calls, ops of devices, and which call started which op. */
#include <string.h>

#include "base/mem.h"
#include "import/rocpd/rocpd_impl.h"

static rocpd *of(nsys *n)
{
	return (rocpd *)n;
}

static bool add_string(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *s = tide__db_text(r, 1, &len);
	if (!s || !len)
		return true;
	tide_str text = tide__intern_n(n->m, s, len);
	return text.i && tide__map_put(&n->texts, (uint64_t)tide__db_int(r, 0, 0), text.i);
}

/* ---- calls ---- */

/* A range of roctx is a call "UserMarker" with the range's name as its arguments. */
static bool add_call(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	int64_t t0 = tide__db_int(r, 1, 0), t1 = tide__db_int(r, 2, 0), pid = tide__db_int(r, 3, 0);
	tide_str name = tide__nsys_text(n, r, 5);
	bool marker = !strcmp(tide__text(n->m, name, NULL), "UserMarker");
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	uint32_t lane = tide__nsys_thread(n, rocpd_global(pid, tide__db_int(r, 4, 0)));
	uint32_t row = tide__nsys_span(n, t0, t1, lane, marker ? tide__nsys_text(n, r, 6) : name,
				       marker ? TIDE_CAT_USER : TIDE_CAT_RUNTIME);
	if (!row || !TIDE_ROOM(p->call, p->cap_calls, p->n_calls + 1))
		return false;
	p->call[p->n_calls++] = (struct rocpd_call){ pid, row };
	return tide__map_put(&p->calls, (uint64_t)tide__db_int(r, 0, 0), (uint32_t)p->n_calls);
}

static bool add_link(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	uint32_t call = tide__map_get(&p->calls, (uint64_t)tide__db_int(r, 0, 0));
	uint64_t op = (uint64_t)tide__db_int(r, 1, 0);
	if (!call || tide__map_get(&p->api_of, op))
		return true;
	return tide__map_put(&p->api_of, op, call);
}

/* ---- ops ---- */

static unsigned category_of(const char *type)
{
	return strstr(type, "Copy")   ? TIDE_CAT_MEMCPY
	       : strstr(type, "Fill") ? TIDE_CAT_MEMSET
	       : strstr(type, "Kernel") || strstr(type, "Task") || !strcmp(type, "Dispatch")
		       ? TIDE_CAT_KERNEL
		       : TIDE_CAT_SYNC; /* barriers and markers in a queue are no work */
}

static tide_str name_of(nsys *n, const tide_db_rows *r, const char *type, unsigned cat)
{
	tide_str description = tide__nsys_text(n, r, 6);
	tide_str copy = cat == TIDE_CAT_MEMCPY ? tide__rocpd_copy_name(n, type) : (tide_str){ 0 };
	return copy.i ? copy : description.i ? description : tide__nsys_text(n, r, 5);
}

static bool add_op(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	int64_t id = tide__db_int(r, 0, 0), t0 = tide__db_int(r, 1, 0), t1 = tide__db_int(r, 2, 0),
		queue = tide__db_int(r, 4, 0);
	uint32_t k = tide__map_get(&p->api_of, (uint64_t)id);
	const char *type = tide__text(n->m, tide__nsys_text(n, r, 5), NULL);
	unsigned cat = category_of(type);
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	tide_str name = name_of(n, r, type, cat);
	uint32_t process = tide__nsys_process(n, rocpd_global(k ? p->call[k - 1].pid : 0, 0));
	uint32_t lane = process ? tide__nsys_stream(n, process, tide__db_int(r, 3, 0), queue,
						    cat == TIDE_CAT_SYNC)
				: 0;
	uint32_t row = lane ? tide__nsys_span(n, t0, t1, lane, name, cat) : 0;
	if (!row)
		return false;
	n->m->spans.cause[row].i = k ? p->call[k - 1].span : 0;
	/* the call's own number is the only one that both have */
	int64_t correlation = k;
	tide__nsys_set_raw(n, row, 1, correlation, queue);
	if (k)
		tide__nsys_set_raw(n, p->call[k - 1].span, 1, correlation, -1);
	return true;
}

static const nsys_table tables[] = {
	{ "rocpd_string", NULL, add_string, 1, { "id", "string" } },
	{ "rocpd_api",
	  NULL,
	  add_call,
	  5,
	  { "id", "start", "end", "pid", "tid", "apiName_id", "args_id" } },
	{ "rocpd_api_ops", NULL, add_link, 2, { "api_id", "op_id" } },
	{ "rocpd_op",
	  NULL,
	  add_op,
	  5,
	  { "id", "start", "end", "gpuId", "queueId", "opType_id", "description_id" } },
};

bool tide__rpd_read(rocpd *p)
{
	bool ok = true;
	for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++)
		ok = tide__rocpd_table(p, &tables[i]);
	return ok;
}
