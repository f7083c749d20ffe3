// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/rocpd/rocpd_impl.h"
#include "import/source.h"

enum { MOST_PROCESSES = 4096 };

static int sniff(const uint8_t *head, size_t n)
{
	return tide__db_is(head, n) && tide__head_contains(head, n, "rocpd_string") ? 90 : 0;
}

/* ---- tables ---- */

bool tide__rocpd_table(rocpd *r, const nsys_table *t)
{
	char name[64 + ROCPD_SUFFIX];
	snprintf(name, sizeof name, "%s%s", t->name, r->suffix);
	nsys_table of = *t;
	of.name = name;
	return tide__nsys_read(&r->n, &of);
}

struct suffixes {
	char (*at)[ROCPD_SUFFIX]; /* owned */
	size_t n, cap;
	bool ok, rpd, timestamps;
};

/* Each process of rocprofv3 has tables of its own: rocpd_string_<its id>. */
static bool add_suffix(void *user, const char *name)
{
	static const char head[] = "rocpd_string";
	struct suffixes *s = user;
	s->rpd |= !strcmp(name, "rocpd_api_ops");
	s->timestamps |= !strncmp(name, "rocpd_timestamp", 15);
	if (strncmp(name, head, sizeof head - 1) ||
	    strlen(name) - sizeof head + 1 >= ROCPD_SUFFIX || s->n >= MOST_PROCESSES)
		return true;
	s->ok = TIDE_ROOM(s->at, s->cap, s->n + 1);
	if (s->ok)
		snprintf(s->at[s->n++], ROCPD_SUFFIX, "%s", name + sizeof head - 1);
	return s->ok;
}

/* ---- names ---- */

tide_str tide__rocpd_copy_name(nsys *n, const char *text)
{
	static const struct {
		const char *old, *now, *name;
	} names[] = {
		{ "HostToDevice", "HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)" },
		{ "DeviceToHost", "DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)" },
		{ "DeviceToDevice", "DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)" },
		{ "HostToHost", "HOST_TO_HOST", "Memcpy HtoH (Host -> Host)" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(text, names[i].old) || strstr(text, names[i].now))
			return tide__intern(n->m, names[i].name);
	return (tide_str){ 0 };
}

/* ---- loading ---- */

static void read_all(rocpd *r)
{
	struct suffixes s = { .ok = true };
	r->n.rc = tide__db_tables(r->n.db, add_suffix, &s, r->n.err);
	if (!s.ok)
		tide__nsys_nomem(&r->n);
	else if (r->n.rc == TIDE_OK && s.timestamps)
		r->n.rc =
			tide__fail(r->n.err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
				   "a rocpd database with a table of timestamps (schema 4), which "
				   "Tidemark does not read");
	for (size_t i = 0; r->n.rc == TIDE_OK && i < s.n; i++) {
		memcpy(r->suffix, s.at[i], ROCPD_SUFFIX);
		if (!(s.rpd ? tide__rpd_read(r) : tide__rocpd_read(r)))
			break;
	}
	tide__free(s.at);
}

static void fini(rocpd *r)
{
	tide_map *const maps[] = { &r->pids,   &r->tids,       &r->kernels, &r->agents,
				   &r->stacks, &r->categories, &r->api_of,  &r->calls };
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tide__map_free(maps[i]);
	tide__free(r->agent);
	tide__free(r->stack);
	tide__free(r->call);
	tide__nsys_end(&r->n);
}

tide_code tide__rocpd_import(tide_db *db, const tide_load_options *opt, tide_model *m,
			     tide_error *err)
{
	rocpd r = { 0 };
	tide__nsys_begin(&r.n, db, opt, m, err);
	r.n.device_kind = TIDE_DEVICE_HIP;
	read_all(&r);
	if (r.n.rc == TIDE_OK && m->spans.n <= 1 && !r.n.n_memory)
		r.n.rc = tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				    "a database of ROCm without calls, kernels or allocations");
	if (r.n.rc == TIDE_OK)
		tide__nsys_finish(&r.n);
	fini(&r);
	return r.n.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_db *db;
	tide_code rc = tide__db_open(path, opt->max_expanded, &db, err);
	if (rc)
		return rc;
	rc = tide__rocpd_import(db, opt, m, err);
	tide__db_close(db);
	return rc;
}

const tide_importer tide__import_rocpd = {
	.name = "rocpd",
	.what = "SQLite file of rocprofv3 or rocmProfileData, plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
