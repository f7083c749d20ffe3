// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_summary.h. */
#include "analyze/compare/run_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/steps.h"
#include "analyze/compile/compile_report.h"
#include "analyze/memory/usage.h"
#include "base/mem.h"

/* ---- the program ---- */

static const char *base_name(const char *s, size_t n, size_t *out)
{
	const char *from = s;
	for (size_t i = 0; i < n; i++)
		if (s[i] == '/')
			from = s + i + 1;
	*out = (size_t)(s + n - from);
	return from;
}

/* The first word that is a script, else the first word. */
static void name_program(const tide_model *m, char *out, size_t room)
{
	for (size_t p = 1; p < m->processes.n && !out[0]; p++) {
		size_t n, first = 0, k;
		const char *c = tide__text(m, m->processes.command[p], &n), *best = c;
		for (size_t i = 0; i < n; i += k + 1) {
			k = strcspn(c + i, " ");
			first = i ? first : k;
			if (k > 3 && !strncmp(c + i + k - 3, ".py", 3)) {
				best = c + i;
				first = k;
				break;
			}
		}
		best = base_name(best, first, &k);
		snprintf(out, room, "%.*s", (int)k, best);
	}
}

/* ---- memory ---- */

static bool better(const tide_model *m, const tide_usage *u, uint32_t d, uint32_t best)
{
	bool host = m->devices.kind[d] == TIDE_DEVICE_HOST,
	     best_host = m->devices.kind[best] == TIDE_DEVICE_HOST;
	if (!u->devices[d].peak)
		return false;
	if (!best || host != best_host)
		return !best || best_host;
	return u->devices[d].peak > u->devices[best].peak;
}

static void draw(const tide_usage *u, uint32_t d, tide_run_summary *out)
{
	const uint64_t *v = u->live_series + d * u->buckets;
	uint64_t top = 1;
	for (size_t i = 0; i < u->buckets; i++)
		top = v[i] > top ? v[i] : top;
	for (size_t i = 0; i < u->buckets; i++)
		out->spark[i] = (uint8_t)((double)v[i] / (double)top * 31 + 0.5);
	out->n_spark = (uint8_t)u->buckets;
}

static tide_code memory(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_usage u;
	uint32_t best = 0;
	if (m->allocs.n < 2)
		return TIDE_OK;
	tide_code rc = tide__find_usage(m, UINT64_MAX, TIDE_RUN_SPARK, &u, err);
	for (uint32_t d = 1; rc == TIDE_OK && d < m->devices.n; d++)
		best = better(m, &u, d, best) ? d : best;
	if (rc == TIDE_OK && best) {
		out->peak_bytes = (int64_t)u.devices[best].peak;
		if (m->devices.capacity[best])
			out->capacity_bytes = (int64_t)m->devices.capacity[best];
		snprintf(out->device, sizeof out->device, "%s",
			 tide__text(m, m->devices.name[best], NULL));
		if (!out->device[0])
			snprintf(out->device, sizeof out->device, "%s:%" PRId64,
				 tide__device_kind_name(m, best), m->devices.index[best]);
		draw(&u, best, out);
	}
	tide__usage_free(&u);
	return rc;
}

/* ---- time ---- */

static tide_code steps(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_steps s;
	tide_code rc = tide__steps_find(m, &s, err);
	if (rc != TIDE_OK)
		return rc;
	out->steps = (int64_t)s.n;
	out->step_ns = tide__steps_median(&s);
	tide__steps_free(&s);
	return TIDE_OK;
}

static tide_code device_time(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_hta_job *job = NULL;
	tide_code rc = tide__hta_one(m, m->path ? m->path : "", &job, err);
	if (rc == TIDE_OK && job && job->sum->h.kernel_time > 0)
		out->busy_ppm =
			(int64_t)((double)job->sum->h.busy / (double)job->sum->h.kernel_time * 1e6);
	tide__hta_job_free(job);
	return rc;
}

static tide_code compile(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_compile_report r;
	if (strcmp(m->format, "torchtrace"))
		return TIDE_OK;
	tide_code rc = tide__compile_report(m, &r, err);
	if (rc == TIDE_OK) {
		out->compile_ns = r.total_ns;
		out->graph_breaks = (int64_t)r.graph_breaks;
		tide__compile_report_free(&r);
	}
	return rc;
}

static uint64_t losses(const tide_model *m)
{
	uint64_t n = 0;
	for (size_t i = 0; i < m->facts.n; i++)
		n += !strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5) &&
		     (m->facts.text[i].i || m->facts.number[i]);
	return n;
}

tide_code tide__run_summarize(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	memset(out, 0, sizeof *out); /* padding too: it is kept as bytes */
	out->start_ns = m->wall_known ? m->wall0_ns : -1;
	out->duration_ns = m->t_end;
	out->peak_bytes = out->capacity_bytes = out->step_ns = out->steps = -1;
	out->busy_ppm = out->rank = out->compile_ns = out->graph_breaks = -1;
	snprintf(out->format, sizeof out->format, "%s", m->format ? m->format : "");
	name_program(m, out->program, sizeof out->program);
	for (size_t p = 1; p < m->processes.n && out->rank < 0; p++)
		out->rank = m->processes.rank[p];
	out->losses = losses(m);
	tide_code rc = memory(m, out, err);
	rc = rc == TIDE_OK ? steps(m, out, err) : rc;
	rc = rc == TIDE_OK ? device_time(m, out, err) : rc;
	return rc == TIDE_OK ? compile(m, out, err) : rc;
}
