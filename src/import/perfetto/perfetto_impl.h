// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the Perfetto importer.
 *
 *   packets.c      packets in order: what is expanded, interned, kept as an event
 *   clocks.c       times of packets on one clock
 *   tracks.c       tracks as process and thread of a Chrome trace
 *   annotations.c  texts and debug annotations as JSON
 *   events.c       events in order of time, as Chrome trace JSON
 *   load.c         all of it; recognises the format
 *
 * Slices carry the arguments of torch's Chrome traces, so the Kineto importer reads the events, as
 * JSON that is made block by block while it reads: every rule of docs/formats/kineto.md holds, and
 * no rule exists twice. */
#ifndef TIDE_IMPORT_PERFETTO_PERFETTO_IMPL_H
#define TIDE_IMPORT_PERFETTO_PERFETTO_IMPL_H

#include "base/map.h"
#include "base/mem.h"
#include "import/import.h"
#include "import/pb/pb.h"

typedef struct pf_text {
	const uint8_t *s; /* borrowed from the input */
	size_t n;
} pf_text;

typedef struct pf_out { /* JSON being made */
	char *s;	/* owned */
	size_t n, cap;
	bool failed;
} pf_out;

void tide__pf_put(pf_out *o, const char *s, size_t n);
void tide__pf_puts(pf_out *o, const char *s);
void tide__pf_int(pf_out *o, int64_t v);
void tide__pf_double(pf_out *o, double v);
/* Writes "us.nnn" for ns. */
void tide__pf_time(pf_out *o, int64_t ns);
/* Writes a text with its quotes. */
void tide__pf_text(pf_out *o, pf_text t);

enum { /* InternedData */
       PF_CATEGORY = 1,
       PF_NAME = 2,
       PF_ARG = 3,
       PF_STRING = 29,
};

typedef enum pf_type { /* of events */
		       PF_BEGIN = 1,
		       PF_END = 2,
		       PF_INSTANT = 3,
		       PF_COUNTER = 4,
		       PF_COMPLETE = 5,	   /* an old slice with its duration */
		       PF_GPU_COUNTER = 6, /* a value of GpuCounterEvent */
		       PF_PROCESS = 7,	   /* memory of a process, ProcessStats */
} pf_type;

typedef struct pf_event {
	int64_t ts;	   /* ns on the trace's clock */
	const uint8_t *at; /* its message, borrowed */
	uint32_t n;
	uint32_t track;
	uint32_t generation; /* of its sequence's interned texts */
	uint8_t type;
} pf_event;

typedef struct pf_track {
	uint64_t uuid, parent;
	pf_text name, process_name, thread_name, description;
	int64_t pid, tid, gpu; /* gpu: of a counter */
	bool process, thread, counter;
	bool aside;	    /* its slices are in the Chrome trace inside */
	bool incremental;   /* counter: values are changes */
	int64_t multiplier; /* counter: of values */
	double sum;
	size_t who, n_who;     /* where "pid":..,"tid":.. is in pf_trace.who */
	size_t label, n_label; /* the same for a counter's name */
	uint32_t top;	       /* pairing: its innermost open event + 1 */
} pf_track;

typedef struct pf_clock { /* of one sequence, or of all */
	uint64_t key;
	int64_t offset; /* ns on the trace's clock = value * unit + offset */
	uint64_t unit;	/* ns */
	uint64_t last;	/* incremental: the value so far */
	bool incremental;
} pf_clock;

typedef struct pf_sequence {
	uint32_t generation;
	uint64_t clock; /* default, 0 = none */
	uint64_t track; /* default */
	bool has_track;
} pf_sequence;

typedef struct pf_trace {
	tide_error *err;
	tide_code rc;
	const uint8_t *data;
	TIDE_VEC(pf_event, events);
	TIDE_VEC(pf_track, tracks);	  /* row 0 is none */
	TIDE_VEC(pf_sequence, sequences); /* row 0 is none */
	TIDE_VEC(pf_text, texts);	  /* interned */
	TIDE_VEC(pf_clock, clocks);
	TIDE_VEC(pf_text, legacy);  /* JSON texts of Chrome */
	TIDE_VEC(uint8_t *, blobs); /* owned: expanded packets */
	tide_map track_of, sequence_of, text_of, clock_of;
	uint32_t generations;
	uint64_t trace_clock;
	uint64_t expanded;
	int64_t wall; /* Unix time of 0 on the trace's clock */
	bool wall_known;
	bool own;	 /* Tidemark's export: its JSON has all but spans */
	bool inside;	 /* compressed packets */
	uint64_t cut_at; /* the input cannot be read from here on; 0 = it can */
	uint64_t unread, bad_times, lost, undefined;
	pf_out who; /* texts of tracks */
} pf_trace;

bool tide__pf_nomem(pf_trace *t);

/* Reads packets. Returns false after setting t->rc. */
bool tide__pf_read(pf_trace *t, tide_pb packets);

/* Keeps a ClockSnapshot. */
bool tide__pf_clocks(pf_trace *t, uint32_t sequence, tide_pb snapshot);
/* Returns false for a time that cannot be placed. */
bool tide__pf_time_of(pf_trace *t, uint32_t sequence, uint64_t clock, uint64_t value, int64_t *ns);

/* Returns the row of a track, made on first use; 0 if memory runs out. */
uint32_t tide__pf_track(pf_trace *t, uint64_t uuid);
bool tide__pf_describe_track(pf_trace *t, tide_pb descriptor);
/* Makes the texts of all tracks. */
bool tide__pf_name_tracks(pf_trace *t);

/* Returns an interned text, of a field of a sequence's generation; counts undefined ones. */
pf_text tide__pf_interned(pf_trace *t, uint32_t generation, unsigned field, uint64_t iid);

typedef struct pf_args { /* what an event's annotations and fields say */
	pf_text name, category;
	bool correlation, device, stream, grid, cbid, sync;
	uint64_t flow; /* first one, 0 = none */
} pf_args;

/* Reads name, category and the kinds of annotations of an event. */
pf_args tide__pf_about(pf_trace *t, const pf_event *e);
/* Writes an event's annotations as members, each after a comma if `some`. Returns whether any was
 * written or `some`. */
bool tide__pf_annotations(pf_trace *t, pf_out *o, const pf_event *e, bool rocprof, bool some);

typedef struct pf_events { /* the JSON being made */
	pf_trace *t;
	pf_out out;
	size_t at;	   /* bytes of out that were taken */
	uint32_t *order;   /* owned: events by time */
	uint32_t *partner; /* owned: per event: the one that ends it + 1 */
	size_t next;	   /* in order */
	unsigned stage;
	tide_map flows; /* id -> its last event + 1 */
	uint64_t n_flows, unopened;
} pf_events;

/* Sorts and pairs. Returns false if memory ran out. */
bool tide__pf_events_begin(pf_events *g);
/* Makes bytes of JSON: a tide_source_fill. */
size_t tide__pf_events_fill(void *user, void *buf, size_t n);
void tide__pf_events_fini(pf_events *g);

#endif
