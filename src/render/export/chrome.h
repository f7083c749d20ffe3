// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the Chrome exporter: the writer, parts of events shared by its files, and its
 * memory part (chrome_memory.c). */
#ifndef TIDE_RENDER_EXPORT_CHROME_H
#define TIDE_RENDER_EXPORT_CHROME_H

#include "analyze/timeline/tracks.h"
#include "render/export/export.h"
#include "render/text/json.h"

#define TIDE_CHROME_RECORD "wait_on_cuda_event_record_corr_id"
#define TIDE_CHROME_WAIT   "event_wait" /* flows that repeat it for viewers; not read back */

enum {
	TIDE_CHROME_LAUNCHED = 1, /* started device work */
	TIDE_CHROME_NAMED = 2
}; /* a device row names it in addition to the call that started it */

typedef struct chrome {
	const tide_model *m;
	tide_export_place place;
	tide_json j;
	tide_long longs; /* of call stacks; c->j handles other long texts */
	tide_tracks nest;
	int64_t *pid, *tid; /* owned; per track */
	int64_t *device;    /* owned; per device: its number in this file */
	int64_t *process;   /* owned; per process: the same */
	uint8_t *causes;    /* owned; per span: TIDE_CHROME_LAUNCHED, NAMED */
	bool beside;	    /* only what is not a slice of a Perfetto trace */
	uint32_t *from; /* owned; per span: the op that a device row names, the event record that
			 * a sync row waits for; 0 = none */
} chrome;

static inline void kstr(chrome *c, const char *key, tide_str s)
{
	tide__json_ktext(&c->j, key, c->m, s);
}

/* Number of a process or device, ids of links, times: as they are in this file. */
static inline int64_t apart(const chrome *c, int64_t number)
{
	return c->place.at ? (int64_t)((uint64_t)number + c->place.at * TIDE_EXPORT_STRIDE)
			   : number;
}

static inline uint64_t link_id(const chrome *c, uint64_t id)
{
	return id + ((uint64_t)c->place.at << 32);
}

static inline void ts(chrome *c, int64_t t)
{
	tide__json_kmilli(&c->j, "ts", t + c->place.shift);
}

static inline void begin_event(chrome *c, const char *ph, int64_t pid, int64_t tid)
{
	tide__json_object(&c->j);
	tide__json_kstr(&c->j, "ph", ph);
	tide__json_kint(&c->j, "pid", apart(c, pid));
	tide__json_kint(&c->j, "tid", tid);
}

static inline void begin_args(chrome *c)
{
	tide__json_key(&c->j, "args");
	tide__json_object(&c->j);
}

static inline void end_args(chrome *c)
{
	tide__json_object_end(&c->j);
	tide__json_object_end(&c->j);
}

/* Returns true for streams, and rows that wait for them: their process is derived from the
 * device. */
static inline bool tide__chrome_on_device(const tide_model *m, uint32_t lane)
{
	unsigned kind = m->lanes.kind[lane];
	return m->lanes.device[lane].i && (kind == TIDE_LANE_STREAM || kind == TIDE_LANE_OTHER);
}

static inline int64_t tide__chrome_pid(const chrome *c, uint32_t lane)
{
	const tide_lanes *l = &c->m->lanes;
	return tide__chrome_on_device(c->m, lane) ? c->device[l->device[lane].i]
						  : c->process[l->process[lane].i];
}

/* Writes a lane's process and number; events without a lane belong to the first process. */
static inline void begin_on(chrome *c, const char *ph, tide_lane_id lane)
{
	int64_t first = c->m->processes.n > 1 ? c->process[1] : 0;
	if (lane.i)
		begin_event(c, ph, tide__chrome_pid(c, lane.i), c->m->lanes.number[lane.i]);
	else
		begin_event(c, ph, first, first);
}

/* Returns true for lanes whose spans are a group of asynchronous events, on no thread. */
bool tide__chrome_is_group(const tide_model *m, uint32_t lane);

/* The row of the profiler's own window. */
#define TIDE_WINDOW_TRACK    "PyTorch Profiler"
#define TIDE_WINDOW_CATEGORY "Trace"
#define TIDE_WINDOW_OPS	     "Op count"
typedef struct tide_chrome_window {
	int64_t t, dur;	  /* ns */
	int64_t ops;	  /* -1 = not given */
	const char *name; /* borrowed from the model */
} tide_chrome_window;
/* Reads a window, which the importer of Kineto traces keeps as a fact. Returns false for other facts. */
bool tide__chrome_window(const tide_model *m, size_t fact, tide_chrome_window *out);

typedef struct tide_chrome_links {
	uint64_t correlation, op; /* 0 = none */
	const char *key;	  /* argument that has `op` */
} tide_chrome_links;
/* Finds the numbers that link a span with others in this file. c is prepared. */
void tide__chrome_links(const chrome *c, uint32_t span, tide_chrome_links *out);
/* Returns true for arguments that the exporter computes itself. */
bool tide__chrome_own_arg(const char *key);
/* Returns a stack as one text, to be freed with free(); NULL if memory runs out. */
char *tide__chrome_stack(chrome *c, tide_stack_id stack, size_t *n);

/* Finds the numbers of one trace; its tracks (nest) are known. Returns false if memory runs out. */
bool tide__chrome_prepare(chrome *c);
/* Writes a whole document, with all but the spans that are slices of a Perfetto trace; base: Unix
 * time of 0, if there are several traces. c is prepared. Returns false if memory runs out or writing
 * fails. */
bool tide__chrome_write_beside(chrome *c, int64_t base, FILE *out);
/* Counts changes, and frees the data of one trace. */
void tide__chrome_finish(chrome *c, tide_export_stats *st);

struct tide_overlay;
/* Writes what analyses found; c is prepared. */
void tide__chrome_write_overlay(chrome *c, const struct tide_overlay *o);

/* Numbers processes, devices and tracks, and writes the events that name them. Returns false if
 * memory runs out. */
bool tide__chrome_assign_numbers(chrome *c);
void tide__chrome_write_meta(chrome *c);
/* Writes "tt:0" if the device's number and kind in the file do not show it; else returns NULL.
 * Returns buf. */
char *tide__chrome_device_name(const chrome *c, uint32_t device, char *buf, size_t n);

/* Write memory events with their totals; counters that are not derived from memory events.
 * Return false if memory runs out. */
bool tide__chrome_write_memory(chrome *c);
void tide__chrome_write_marks(chrome *c);
bool tide__chrome_write_samples(chrome *c);

#endif
