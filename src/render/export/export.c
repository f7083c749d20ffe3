// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/export/export.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "render/export/gzip_isal.h"

extern const tide_exporter tide__export_chrome, tide__export_perfetto, tide__export_pprof,
	tide__export_speedscope, tide__export_folded, tide__export_snapshot;

const tide_exporter *const tide__exporters[] = {
	&tide__export_chrome,
	&tide__export_perfetto,
	&tide__export_pprof,
	&tide__export_speedscope,
	&tide__export_folded,
	&tide__export_snapshot,
	NULL,
};

const tide_exporter *tide__exporter_find(const char *name)
{
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

static bool ends(const char *path, size_t n, const char *suffix, size_t len)
{
	return n > len && !strncasecmp(path + n - len, suffix, len);
}

const tide_exporter *tide__exporter_for(const char *path)
{
	size_t n = strlen(path), best = 0;
	const tide_exporter *found = NULL;
	if (ends(path, n, ".gz", 3))
		n -= 3;
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		for (const char *s = (*e)->suffixes; *s;) {
			size_t len = strcspn(s, ",");
			if (len > best &&
			    ends(path, n, s, len)) { /* ".speedscope.json" is longer */
				best = len;
				found = *e;
			}
			s += len + (s[len] == ',');
		}
	return found;
}

tide_code tide__export(const tide_exporter *e, const tide_model *m, const tide_export_options *opt,
		       bool gzip, FILE *out, tide_export_stats *st, tide_error *err)
{
	*st = (tide_export_stats){ 0 };
	if (!gzip && !e->gzip)
		return e->write(m, opt, out, st, err);
	FILE *gz = tide__gz_open(out);
	if (!gz)
		return tide__nomem(err);
	tide_code rc = e->write(m, opt, gz, st, err);
	if (fclose(gz) && rc == TIDE_OK)
		rc = tide__fail_errno(err, "cannot write");
	return rc;
}

tide_code tide__export_ranks(const tide_exporter *e, const tide_export_ranks *r, bool gzip,
			     FILE *out, tide_export_stats *st, tide_error *err)
{
	*st = (tide_export_stats){ 0 };
	if (!gzip && !e->gzip)
		return e->write_ranks(r, out, st, err);
	FILE *gz = tide__gz_open(out);
	if (!gz)
		return tide__nomem(err);
	tide_code rc = e->write_ranks(r, gz, st, err);
	if (fclose(gz) && rc == TIDE_OK)
		rc = tide__fail_errno(err, "cannot write");
	return rc;
}

#define DAY INT64_C(86400000000000)

static int64_t shift_of(tide_export_walk *w, const tide_model *m)
{
	if (!w->done) {
		w->timed = m->wall_known && m->wall0_ns > 2 * DAY;
		w->base = w->timed ? m->wall0_ns - m->wall0_ns % DAY - DAY : 0;
		w->first = w->timed ? m->wall0_ns - w->base : 0;
	}
	bool near = w->timed && m->wall_known && m->wall0_ns >= w->base &&
		    m->wall0_ns - w->base < 30 * DAY;
	w->untimed += !near;
	return near ? m->wall0_ns - w->base : w->first;
}

const tide_model *tide__export_next(tide_export_walk *w)
{
	while (w->next < w->r->n) {
		int64_t rank = -1;
		const tide_model *m = w->r->load(w->r->user, w->next++, &rank);
		if (!m)
			continue;
		w->place.many = true;
		w->place.rank = rank;
		w->place.shift = shift_of(w, m);
		w->place.at = w->done++;
		return m;
	}
	return NULL;
}

char *tide__export_rank(const tide_export_place *p, char *buf, size_t n)
{
	if (p->rank >= 0)
		snprintf(buf, n, "rank %" PRId64, p->rank);
	else
		snprintf(buf, n, "trace %zu", p->at + 1);
	return buf;
}

const char *tide__kineto_cat(unsigned cat)
{
	static const char *const cats[] = {
		[TIDE_CAT_UNKNOWN] = "unknown",
		[TIDE_CAT_OP] = "cpu_op",
		[TIDE_CAT_USER] = "user_annotation",
		[TIDE_CAT_PYTHON] = "python_function",
		[TIDE_CAT_RUNTIME] = "cuda_runtime",
		[TIDE_CAT_DRIVER] = "cuda_driver",
		[TIDE_CAT_KERNEL] = "kernel",
		[TIDE_CAT_MEMCPY] = "gpu_memcpy",
		[TIDE_CAT_MEMSET] = "gpu_memset",
		[TIDE_CAT_MTIA] = "mtia_ccp_events",
		[TIDE_CAT_GPU_USER] = "gpu_user_annotation",
		[TIDE_CAT_SYNC] = "cuda_sync",
		[TIDE_CAT_OVERHEAD] = "overhead",
		[TIDE_CAT_COUNTERS] = "cuda_profiler_range",
		[TIDE_CAT_OTHER] = "other",
	};
	return cat < sizeof cats / sizeof *cats ? cats[cat] : "unknown";
}

char *tide__export_device(const tide_model *m, tide_device_id d, char *buf, size_t n)
{
	snprintf(buf, n, "%s:%" PRId64, tide__device_kind_name(m, d.i), m->devices.index[d.i]);
	return buf;
}

tide_code tide__export_end(bool nomem, bool write_failed, tide_error *err)
{
	if (nomem)
		return tide__nomem(err);
	return write_failed ? tide__fail_errno(err, "cannot write") : TIDE_OK;
}
