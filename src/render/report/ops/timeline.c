// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/ops/timeline.h"

#include <math.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "render/text/format.h"
#include "render/text/labels.h"

char *tide__lane_write_label(const tide_model *m, tide_lane_id lane, char *buf, size_t n)
{
	uint32_t d = m->lanes.device[lane.i].i;
	tide__lane_name(m, lane, buf, n);
	size_t len = strlen(buf);
	if (d)
		snprintf(buf + len, n - len, " on %s:%" PRId64, tide__device_kind_name(m, d),
			 m->devices.index[d]);
	return buf;
}

/* ---- JSON ---- */

static void times(tide_json *j, const char *stem, const char *us_key, const char *ms_key,
		  int64_t ns, bool known)
{
	char key[64];
	snprintf(key, sizeof key, "%s_ns", stem);
	if (!known) {
		tide__json_knull(j, ms_key);
		tide__json_knull(j, us_key);
		tide__json_knull(j, key);
		return;
	}
	tide__json_kfixed(j, ms_key, (double)ns / 1e6, 6);
	tide__json_kmilli(j, us_key, ns);
	tide__json_kint(j, key, ns);
}

static void share(tide_json *j, const char *stem, int64_t part, int64_t whole, bool known)
{
	char key[64];
	double pct = known ? tide__pct(part, whole) : NAN; /* null */
	tide__json_kfixed(j, stem, pct / 100.0, 6);
	snprintf(key, sizeof key, "%s_pct", stem);
	tide__json_kfixed(j, key, pct, 4);
}

void tide__timeline_summary_json(const tide_timeline *t, tide_json *j)
{
	tide__json_kobject(j, "summary");
	bool both = t->cpu_known && t->gpu_known, any = t->cpu_known || t->gpu_known;
	times(j, "total_time", "total_time_us", "total_time_ms", t->total_ns, any);
	times(j, "cpu_active_time", "cpu_active_time_us", "cpu_time_ms", t->cpu_ns, t->cpu_known);
	times(j, "gpu_active_time", "gpu_active_time_us", "gpu_time_ms", t->gpu_ns, t->gpu_known);
	times(j, "overlap_time", "overlap_time_us", "overlap_ms", t->overlap_ns, both);
	tide__json_kint(j, "start_ns", t->t0);
	tide__json_kint(j, "end_ns", t->t1);
	if (both)
		tide__json_kint(j, "idle_time_ns",
				t->total_ns - t->cpu_ns - t->gpu_ns + t->overlap_ns);
	else
		tide__json_knull(j, "idle_time_ns");
	share(j, "cpu_utilization", t->cpu_ns, t->total_ns, t->cpu_known);
	share(j, "gpu_utilization", t->gpu_ns, t->total_ns, t->gpu_known);
	share(j, "overlap_of_gpu", t->overlap_ns, t->gpu_ns, both);
	tide__json_kuint(j, "cpu_events", t->cpu_count);
	tide__json_kuint(j, "python_events", t->python_count);
	tide__json_kuint(j, "gpu_events", t->gpu_count);
	tide__json_kuint(j, "left_out_events", t->left_out);
	tide__json_kuint(j, "not_work_events", t->not_work);
	tide__json_object_end(j);
}

/* Reads "FILE(LINE): FUNCTION", as the trace names Python functions; false if it is none. */
static bool python_place(const tide_model *m, size_t i, size_t *n, uint64_t *line)
{
	size_t len;
	const char *s = tide__text(m, m->spans.name[i], &len), *open = memchr(s, '(', len);
	if (m->spans.cat[i] != TIDE_CAT_PYTHON || !open || open == s)
		return false;
	const char *p = open + 1, *end = s + len;
	for (*line = 0; p < end && *p >= '0' && *p <= '9' && *line < 100000000; p++)
		*line = *line * 10 + (uint64_t)(*p - '0');
	*n = (size_t)(open - s);
	return p > open + 1 && p < end && *p == ')';
}

/* Writes the source location of a host event: of a Python function from its name, of others from
 * their call stack. */
static void put_place(const tide_model *m, tide_json *j, size_t i)
{
	size_t n;
	uint64_t line;
	tide_frame_id f = { 0 };
	if (python_place(m, i, &n, &line)) {
		tide__json_kstrn(j, "file", tide__text(m, m->spans.name[i], NULL), n);
		tide__json_kuint(j, "line", line);
		return;
	}
	if (m->spans.stack[i].i)
		f = tide__stack_main_frame(m, m->spans.stack[i]);
	if (f.i && m->frames.file[f.i].i)
		tide__json_ktext(j, "file", m, m->frames.file[f.i]);
	else
		tide__json_knull(j, "file");
	tide__json_kuint_if(j, "line", f.i && m->frames.line[f.i], f.i ? m->frames.line[f.i] : 0);
}

void tide__timeline_event_json(const tide_model *m, tide_json *j, size_t i)
{
	uint32_t lane = m->spans.lane[i].i, p = m->lanes.process[lane].i;
	uint32_t d = m->lanes.device[lane].i;
	char device[64];
	int64_t t0 = m->spans.t0[i], ns = tide__span_end(m, i) - t0;
	tide__json_object(j);
	tide__json_ktext(j, "name", m, m->spans.name[i]);
	tide__json_kstr(j, "cat", tide__cat_text(m->spans.cat[i]));
	tide__json_kfixed(j, "start_ms", (double)t0 / 1e6, 6);
	tide__json_kfixed(j, "duration_ms", (double)ns / 1e6, 6);
	tide__json_kint(j, "start_ns", t0);
	tide__json_kint(j, "duration_ns", ns);
	tide__json_kint(j, m->lanes.kind[lane] == TIDE_LANE_STREAM ? "stream" : "tid",
			m->lanes.number[lane]);
	if (d)
		tide__json_kstr(j, "device", tide__device_name(m, d, device, sizeof device));
	if (p)
		tide__json_kint(j, "pid", m->processes.pid[p]);
	if (m->lanes.kind[lane] != TIDE_LANE_STREAM)
		put_place(m, j, i);
	tide__json_object_end(j);
}
