// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/nsys/nsys_impl.h"
#include "import/source.h"
#include "model/mergesort.h"
#include "model/span_parents.h"
#include "model/want.h"

/* ---- recognising ---- */

/* Tables that only Nsight Systems makes, as their statements are stored in the file. */
static const char *const tables[] = { "CREATE TABLE CUPTI_ACTIVITY_KIND_",
				      "CREATE TABLE NVTX_EVENTS",
				      "CREATE TABLE TARGET_INFO_",
				      "CREATE TABLE OSRT_API",
				      "CREATE TABLE StringIds",
				      "CREATE TABLE META_DATA_EXPORT" };

static bool has_table(const uint8_t *p, size_t n)
{
	bool found = false;
	for (size_t i = 0; !found && i < sizeof tables / sizeof *tables; i++)
		found = tide__head_contains(p, n, tables[i]);
	return found;
}

static int sniff(const uint8_t *head, size_t n)
{
	return tide__db_is(head, n) && has_table(head, n) ? 90 : 0;
}

/* The list of tables may be anywhere in a large file. */
static bool search(struct tide_source *s)
{
	enum { BLOCK = 1 << 20, KEEP = 64 };
	uint8_t *b = tide__alloc(KEEP + BLOCK, 1);
	size_t kept = 0, got = 1;
	bool found = false, database = false;
	for (bool first = true; b && got && !found; first = false) {
		if (tide__source_read(s, b + kept, BLOCK, &got, NULL) != TIDE_OK && !got)
			break;
		database |= first && tide__db_is(b, got);
		if (!database)
			break;
		found = has_table(b, kept + got);
		size_t n = kept + got;
		kept = n < KEEP ? n : KEEP;
		memmove(b, b + n - kept, kept);
	}
	tide__free(b);
	return found;
}

/* ---- facts ---- */

static bool add_start(nsys *n, const tide_db_rows *r)
{
	n->m->wall0_ns = tide__db_int(r, 0, 0);
	n->m->wall_known = n->m->wall0_ns > 0 && n->m->wall0_ns < INT64_MAX / 2;
	return true;
}

static const nsys_table start_time = {
	"TARGET_INFO_SESSION_START_TIME", NULL, add_start, 1, { "utcEpochNs" }
};

static bool add_export(nsys *n, const tide_db_rows *r)
{
	static const struct {
		const char *name, *fact;
	} facts[] = { { "EXPORT_PRODUCT_VERSION", "nsys.version" },
		      { "EXPORT_SCHEMA_VERSION", "nsys.schema" } };
	size_t n_name, n_value;
	const char *name = tide__db_text(r, 0, &n_name), *value = tide__db_text(r, 1, &n_value);
	for (size_t i = 0; name && value && i < 2; i++)
		if (!strcmp(name, facts[i].name) && n_value < 64)
			return tide__fact_text(n->m, facts[i].fact, value);
	return true;
}

static const nsys_table export_facts = {
	"META_DATA_EXPORT", NULL, add_export, 0, { "name", "value" }
};

/* ---- finishing ---- */

static void shift(nsys *n)
{
	tide_model *m = n->m;
	if (n->t_min > n->t_max)
		n->t_min = n->t_max = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		if (m->spans.flags[i] & TIDE_SPAN_OPEN)
			m->spans.t1[i] = n->t_max;
		m->spans.t0[i] -= n->t_min;
		m->spans.t1[i] -= n->t_min;
	}
	for (size_t i = 1; i < m->marks.n; i++)
		m->marks.t[i] -= n->t_min;
	for (size_t i = 0; i < n->n_memory; i++)
		n->memory[i].t -= n->t_min;
	m->t_end = n->t_max - n->t_min;
	m->wall0_ns += m->wall_known ? n->t_min : 0;
}

static inline bool mark_before(const void *ctx, uint32_t x, uint32_t y)
{
	const tide_marks *k = ctx;
	return k->t[x] < k->t[y];
}

static bool sort_marks(tide_model *m)
{
	size_t n = m->marks.n, position = 0;
	uint32_t *perm = n < UINT32_MAX ? tide__alloc(n * 2, sizeof *perm) : NULL;
	if (!perm)
		return false;
	for (uint32_t i = 0; i < n; i++)
		perm[i] = i;
	tide__mergesort(perm + 1, perm + n, n - 1, mark_before, &m->marks);
	bool ok = tide__table_permute(&m->marks, &tide_marks_desc, perm, 1);
	tide__free(perm);
	for (size_t i = 1; ok && i < n; i++) {
		while (position < m->memory_events.n &&
		       tide__memory_event_time(m, position) <= m->marks.t[i])
			position++;
		m->marks.position[i] = position;
	}
	return ok;
}

static bool read_all(nsys *n)
{
	bool ok = tide__nsys_read(n, &tide__nsys_texts) && tide__nsys_read(n, &export_facts) &&
		  tide__nsys_read(n, &start_time);
	for (size_t i = 0; ok && i < tide__nsys_n_gpus; i++)
		ok = tide__nsys_read(n, &tide__nsys_gpus[i]);
	for (size_t i = 0; ok && i < tide__nsys_n_host; i++)
		ok = tide__nsys_read(n, &tide__nsys_host[i]);
	for (size_t i = 0; ok && i < tide__nsys_n_device_rows; i++)
		ok = tide__nsys_read(n, &tide__nsys_device_rows[i]);
	ok = ok && tide__nsys_read(n, &tide__nsys_memory_rows);
	for (size_t i = 0; ok && i < tide__nsys_n_names; i++)
		ok = tide__nsys_read(n, &tide__nsys_names[i]);
	return ok;
}

bool tide__nsys_finish(nsys *n)
{
	tide_model *m = n->m;
	shift(n);
	tide__nsys_describe_devices(n);
	if (!tide__nsys_allocate(n))
		return false;
	bool ok = (m->spans.n <= 1 || tide__find_span_parents(m, NULL, 0, NULL, 0)) &&
		  sort_marks(m) &&
		  (!n->bad_rows || tide__fact_set_number(m, "loss.bad_rows", (int64_t)n->bad_rows));
	return ok || tide__nsys_nomem(n);
}

void tide__nsys_begin(nsys *n, tide_db *db, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	*n = (nsys){ .m = m,
		     .db = db,
		     .err = err,
		     .want = opt->what,
		     .device_kind = TIDE_DEVICE_CUDA,
		     .t_min = INT64_MAX,
		     .t_max = INT64_MIN };
}

void tide__nsys_end(nsys *n)
{
	tide_map *const maps[] = { &n->texts,	&n->plain_names, &n->processes, &n->threads,
				   &n->streams, &n->syncs,	 &n->devices,	&n->gpu_of,
				   &n->calls,	&n->records,	 &n->pools };
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tide__map_free(maps[i]);
	tide__free(n->event_records);
	tide__free(n->gpus);
	tide__free(n->memory);
}

tide_code tide__nsys_import(tide_db *db, const tide_load_options *opt, tide_model *m,
			    tide_error *err)
{
	nsys n;
	tide__nsys_begin(&n, db, opt, m, err);
	if (read_all(&n) && m->spans.n <= 1 && !n.n_memory)
		n.rc = tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				  "an export of Nsight Systems without calls, kernels, ranges or "
				  "allocations");
	if (n.rc == TIDE_OK && tide__nsys_finish(&n) &&
	    !tide__fact_set_number(m, "nsys.rows", (int64_t)n.rows))
		tide__nsys_nomem(&n);
	tide__nsys_end(&n);
	return n.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_db *db;
	tide_code rc = tide__db_open(path, opt->max_expanded, &db, err);
	if (rc)
		return rc;
	rc = tide__nsys_import(db, opt, m, err);
	tide__db_close(db);
	return rc;
}

const tide_importer tide__import_nsys = {
	.name = "nsys",
	.what = "SQLite export of Nsight Systems, plain, gzip or zstd",
	.sniff = sniff,
	.search = search,
	.load = load,
};
