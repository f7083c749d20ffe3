// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Numbers for Chrome trace JSON: every process, device and track gets a unique number in the file,
 * its own if that is free, and metadata events name them.
 *
 * The format identifies devices by number only. If a trace has cuda:0 and tt:0, the second one gets
 * another number, and deviceProperties names it. A track that was added so that spans nest names
 * its thread, so that reading the file restores that thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/names.h"
#include "base/mem.h"
#include "render/export/chrome.h"

/* ---- numbers ---- */

/* If a number is taken already, uses one just below the stride of ranks: above every pid of
 * Linux. */
static bool distinct(int64_t *number, size_t n)
{
	tide_map seen = { 0 };
	bool ok = true;
	for (size_t i = 1; ok && i < n; i++) {
		if (tide__map_get(&seen, tide__mix((uint64_t)number[i])))
			number[i] = TIDE_EXPORT_STRIDE - (int64_t)i;
		ok = tide__map_put(&seen, tide__mix((uint64_t)number[i]), 1);
	}
	tide__map_free(&seen);
	return ok;
}

static bool number_owners(chrome *c)
{
	const tide_model *m = c->m;
	c->device = tide__calloc(m->devices.n, sizeof *c->device);
	c->process = tide__calloc(m->processes.n, sizeof *c->process);
	if (!c->device || !c->process)
		return false;
	for (size_t d = 1; d < m->devices.n; d++) /* the host's is never written */
		c->device[d] =
			m->devices.kind[d] == TIDE_DEVICE_HOST ? INT64_MIN : m->devices.index[d];
	for (size_t p = 1; p < m->processes.n; p++)
		c->process[p] = m->processes.pid[p];
	return distinct(c->device, m->devices.n) && distinct(c->process, m->processes.n);
}

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

static bool taken(const int64_t *pairs, size_t n, int64_t pid, int64_t tid)
{
	const int64_t key[2] = { pid, tid };
	return bsearch(key, pairs, n, sizeof key, by_number) != NULL;
}

/* A lane's first track keeps the lane's number, the others get numbers no lane of it has. Two
 * lanes of one number in one process keep the first and renumber the second. */
static bool number_tracks(chrome *c)
{
	uint32_t n = c->nest.n_tracks;
	int64_t(*used)[2] = tide__alloc(c->m->lanes.n, sizeof *used);
	tide_map seen = { 0 };
	int64_t spare = 2000000000;
	bool ok = used != NULL;
	for (uint32_t l = 0; ok && l < c->m->lanes.n; l++) {
		used[l][0] = tide__chrome_pid(c, l);
		used[l][1] = c->m->lanes.number[l];
	}
	if (ok)
		qsort(used, c->m->lanes.n, sizeof *used, by_number);
	for (uint32_t k = 1; ok && k < n; k++) {
		tide_lane_id lane = c->nest.tracks[k].lane;
		int64_t pid = tide__chrome_pid(c, lane.i), tid = c->m->lanes.number[lane.i];
		uint64_t key = tide__mix((uint64_t)pid) ^ (uint64_t)tid;
		if (c->nest.tracks[k].number || tide__map_get(&seen, key))
			do
				tid = spare++;
			while (taken(used[0], c->m->lanes.n, pid, tid));
		else
			ok = tide__map_put(&seen, key, k);
		c->pid[k] = pid;
		c->tid[k] = tid;
	}
	tide__free(used);
	tide__map_free(&seen);
	return ok;
}

bool tide__chrome_assign_numbers(chrome *c)
{
	c->pid = tide__calloc(c->nest.n_tracks, sizeof *c->pid);
	c->tid = tide__calloc(c->nest.n_tracks, sizeof *c->tid);
	return c->pid && c->tid && number_owners(c) && number_tracks(c);
}

/* ---- names ---- */

static void begin_meta(chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
	begin_event(c, "M", pid, tid);
	tide__json_kstr(&c->j, "name", what);
	begin_args(c);
	tide__json_kstr(&c->j, strstr(what, "label") ? "labels" : "name", name);
}

static void meta(chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
	begin_meta(c, what, pid, tid, name);
	end_args(c);
}

static void track_meta(chrome *c, uint32_t k)
{
	const tide_track *t = &c->nest.tracks[k];
	char text[200];
	tide__lane_name(c->m, t->lane, text, 160);
	size_t n = strlen(text);
	if (t->number)
		snprintf(text + n, sizeof text - n, " (%" PRIu32 ")", t->number + 1);
	begin_meta(c, "thread_name", c->pid[k], c->tid[k], text);
	if (t->number && c->m->lanes.kind[t->lane.i] == TIDE_LANE_THREAD)
		tide__json_kint(&c->j, "tidemark_tid", c->m->lanes.number[t->lane.i]);
	end_args(c);
}

/* With several ranks, each process names its rank. */
static void process_meta(chrome *c, int64_t pid, const char *name)
{
	char rank[64], text[200];
	if (c->place.many) {
		snprintf(text, sizeof text, "%s: %.100s",
			 tide__export_rank(&c->place, rank, sizeof rank), name);
		name = text;
	}
	meta(c, "process_name", pid, 0, name);
}

static void process_metas(chrome *c)
{
	const tide_model *m = c->m;
	char rank[64];
	for (uint32_t p = 1; p < m->processes.n; p++) {
		const char *command = tide__text(m, m->processes.command[p], NULL);
		process_meta(c, c->process[p], *command ? command : "process");
		if (c->place.many || m->processes.rank[p] >= 0) {
			tide_export_place at = c->place;
			at.rank = c->place.many ? at.rank : m->processes.rank[p];
			meta(c, "process_labels", c->process[p], 0,
			     tide__export_rank(&at, rank, sizeof rank));
		}
	}
}

void tide__chrome_write_meta(chrome *c)
{
	const tide_model *m = c->m;
	char text[64];
	process_metas(c);
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		tide__export_device(m, (tide_device_id){ d }, text, sizeof text);
		if (c->place.many)
			process_meta(c, c->device[d], text);
		meta(c, "process_labels", c->device[d], 0, text);
	}
	for (uint32_t k = 1; k < c->nest.n_tracks; k++)
		track_meta(c, k);
}

char *tide__chrome_device_name(const chrome *c, uint32_t d, char *buf, size_t n)
{
	const tide_devices *v = &c->m->devices;
	if (v->kind[d] == TIDE_DEVICE_CUDA && c->device[d] == v->index[d])
		return NULL;
	snprintf(buf, n, "%s:%" PRId64, tide__device_kind_text(v->kind[d]), apart(c, v->index[d]));
	return buf;
}
