// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the Kineto importer.
 *
 *   blocks.c  a ring of blocks, cut between two events, that threads read and parse; load.c takes
 *             them in order
 *   parser.c  lanes and content of one parser
 *   doc.c     walks a block: document, traceEvents, metadata; survives damage
 *   event.c   one event object -> one row;   args.c  its arguments
 *   build.c   rows -> model tables and scratch, in input order
 *   finish.c  lanes, time zero, facts;   link.c  launches, flows;   memory.c  allocations;
 *             python_calls.c  ends of Python calls;   xla.c  devices of XLA's traces
 *
 * import/json reads the values. A parser belongs to one thread; its texts and lanes never move, so rows point at them. The one
 * thread that builds the model stores its own number in each (`global`, which no other thread
 * reads). */
#ifndef TIDE_IMPORT_KINETO_KINETO_IMPL_H
#define TIDE_IMPORT_KINETO_KINETO_IMPL_H

#include "base/mem.h"
#include "import/import.h"
#include "import/json/reader.h"

/* ---- lanes of one parser ---- */

typedef struct kin_lane {
	jsonr_val a, b;	 /* thread: pid, tid; stream: device, stream */
	uint32_t global; /* builder: row in the model's lanes, 0 = not yet */
	uint8_t kind;	 /* TIDE_LANE_* */
	uint8_t cat;	 /* lanes of kind OTHER: the category of its rows */
} kin_lane;

typedef struct kin_lanes {
	jsonr_arena arena;
	kin_lane **slots;
	size_t mask, n;
	kin_lane *last[8]; /* by kind */
} kin_lanes;

kin_lane *tide__kineto_get_lane(kin_lanes *l, unsigned kind, unsigned cat, jsonr_val a,
				jsonr_val b);
void tide__kineto_lanes_fini(kin_lanes *l);

/* ---- content of a parsed block ---- */

typedef enum kin_kind {
	KIN_SPAN,
	KIN_FLOW_OUT, /* ph s: forward op */
	KIN_FLOW_IN,  /* ph f: backward op */
	KIN_MEMORY,   /* next entry of mems */
	KIN_COUNTER,  /* n_attrs values: number holds a double's bits */
	KIN_INSTANT,  /* cat: TIDE_MARK_*, id: its value */
	KIN_BEGIN,
	KIN_END,
	KIN_ASYNC_BEGIN,
	KIN_ASYNC_END,
	KIN_NAME_THREAD, /* n_attrs = 1: the name */
	KIN_NAME_PROCESS,
	KIN_LABEL_PROCESS,
	KIN_TRACK_OF, /* id: the thread that shares this one's spans */
	KIN_PROFILER, /* the profiler's own row of category Trace */
} kin_kind;

enum {			/* kin_row.flags */
       KIN_HAS_ID = 1,	/* id: correlation (launches, device rows), External id (ops), or flow id */
       KIN_HAS_EXT = 2, /* ext: External id of a device row */
       KIN_HAS_SEQ = 4, /* ext: Sequence number of an op; KIN_IS_BWD marks the backward side */
       KIN_IS_BWD = 8,
       KIN_HAS_REC = 16,    /* ext: correlation of the event record that a sync row waits for */
       KIN_HAS_CALLER = 32, /* id: Python id; ext: Python parent id */
};

typedef struct kin_row {
	int64_t ts, dur;  /* ns */
	kin_lane *lane;	  /* NULL = none */
	jsonr_text *name; /* NULL = empty */
	uint64_t id, ext;
	uint64_t src; /* byte offset in the input */
	uint32_t n_attrs;
	uint32_t index; /* of the event in its block */
	uint8_t kind, cat, flags;
} kin_row;

typedef struct kin_attr {
	jsonr_text *key, *text; /* text NULL = number */
	int64_t number;
	bool coll; /* only with a collective's name beside it */
} kin_attr;

typedef struct kin_mem {
	int64_t bytes, total, reserved; /* totals: -1 = absent */
	uint64_t addr;			/* UINT64_MAX = absent */
	int32_t type, device;
} kin_mem;

/* Times and devices of memory events, if memory is not loaded: t = 0 and the end must not depend on
 * what is loaded. Device types by device number give the kind of a device; at most this many are
 * kept. */
enum { KIN_SEEN = 64, KIN_HIP = 6 }; /* KIN_HIP: torch's device type */
typedef struct kin_seen {
	bool hip;	      /* an event has the device type KIN_HIP, also if memory is loaded */
	bool any;	      /* t_min and t_max are set */
	int64_t t_min, t_max; /* of the events */
	unsigned n;
	struct {
		int32_t type, device;
	} at[KIN_SEEN];
} kin_seen;

enum { KIN_WINDOWS_MAX = 64 };
typedef struct kin_window {
	int64_t ts, dur;
	int64_t ops; /* "Op count"; -1 = not given */
	tide_str name;
} kin_window;

typedef struct kin_meta {      /* a top-level member other than traceEvents */
	jsonr_text *key, *raw; /* its value's JSON text */
} kin_meta;

/* Counters of dropped and repaired events; facts of the same name. */
#define KIN_LOSSES(X)                                                                              \
	X(DAMAGED, "loss.damaged_events") /* not readable as JSON, skipped */                      \
	X(NOT_OBJECT, "loss.events_not_objects")                                                   \
	X(NO_PHASE, "loss.events_without_phase")                                                   \
	X(PHASE, "loss.events_of_unknown_phase")                                                   \
	X(TIME, "loss.bad_timestamps") /* ts missing or not a usable number */                     \
	X(NO_DUR, "loss.missing_durations")                                                        \
	X(BAD_DUR, "loss.bad_durations") /* not a number, or over 64 bits */                       \
	X(NEG_DUR, "loss.negative_durations")                                                      \
	X(ABSURD_DUR, "loss.absurd_durations")	   /* over KIN_DUR_MAX, or past the end of time */ \
	X(BIG_NUMBER, "loss.numbers_over_64_bits") /* an argument's value, not the event */        \
	X(MEMORY, "loss.bad_memory_events")	   /* [memory] without Bytes, or 2^48 and more */  \
	X(COUNTER, "loss.bad_counter_values")                                                      \
	X(GARBAGE, "loss.garbage_bytes") /* between or after documents */                          \
	X(META, "loss.metadata_dropped") /* top-level values too large or too many */

typedef enum kin_loss {
#define X(id, key) KIN_LOSS_##id,
	KIN_LOSSES(X)
#undef X
		KIN_N_LOSS
} kin_loss;

#define KIN_TS_MAX    (INT64_MAX / 2) /* ns; the difference of two times still fits */
#define KIN_METAS_MAX 4096	      /* top-level members kept; a real trace has about 20 */
#define KIN_DUR_MAX   (INT64_C(30) * 86400 * 1000000000) /* 30 days in ns */

typedef struct kin_out {
	TIDE_VEC(kin_row, rows);
	TIDE_VEC(kin_attr, attrs);
	TIDE_VEC(kin_mem, mems);
	TIDE_VEC(tide_raw, raws); /* one per KIN_SPAN, if wanted; the builder sets event */
	TIDE_VEC(kin_meta, metas);
	kin_seen seen;
	uint64_t loss[KIN_N_LOSS];
	uint64_t events; /* event objects seen, kept or not */
} kin_out;

void tide__kineto_out_clear(kin_out *o);
void tide__kineto_out_fini(kin_out *o);
/* ---- the parser ---- */

typedef struct kin_shape { /* a recurring piece of text whose meaning is known: see shape.h */
	uint32_t n;
	char ph;
	uint8_t cat;
	jsonr_slice first, second; /* values in it, offsets from its start */
	kin_lane *lane;		   /* thread that first and second name, NULL = not looked up yet */
	char text[104];
} kin_shape;

typedef struct kin_parser {
	jsonr json;
	kin_lanes lanes;
	kin_out *out;				   /* borrowed */
	uint64_t base;				   /* offset of json.s.b[0] in the input */
	const struct kin_words *keys;		   /* keywords.h; NULL = not looked up yet */
	unsigned want;				   /* TIDE_WANT_*, never 0 */
	kin_shape heads[64], middles[64], between; /* cached event layouts */
} kin_parser;

void tide__kineto_parser_fini(kin_parser *p);

/* Parses the event object at p. Returns the byte after it. Adds at most one row to c->out. */
size_t tide__kineto_parse_event(kin_parser *c, size_t p);

/* ---- documents ---- */

typedef enum kin_state {
	KIN_START,	 /* before a document */
	KIN_TOP,	 /* between members of the top-level object */
	KIN_EVENTS,	 /* between events, inside "traceEvents" */
	KIN_ARRAY,	 /* between events, the document is the array itself */
	KIN_SOME_EVENTS, /* one of the last two: stops at the closing bracket */
} kin_state;

typedef struct kin_doc {
	kin_state state;
	unsigned documents; /* begun so far */
	bool listed;	    /* one of them has a traceEvents array */
	bool again;	    /* stopped because another document begins: call again from there */
	bool seeking;	    /* after damage: searching for the next event */
	size_t limit;	    /* maximum bytes of one item; a larger one counts as damage */
} kin_doc;

#define KIN_ITEM_MAX ((size_t)64 << 20)

/* Parses complete items of the text from p on; returns the position reached. The rest is the
 * beginning of an item (or a bracket that only the caller can interpret) and needs more text,
 * unless c->json.why is JSONR_NOMEM or d->again is set. Damaged events are skipped and counted.
 * `final`: no more text follows. */
size_t tide__kineto_parse_doc(kin_parser *c, kin_doc *d, size_t p, bool final);

/* Returns the last position that looks like the start of an event after another, or 0. */
size_t tide__kineto_find_last_event(const char *b, size_t n);

/* ---- the builder ---- */

typedef struct kin_ref { /* a span and an id that belongs to it */
	uint64_t id;	 /* the builder's number for an id, or a Sequence number */
	uint32_t span;
	uint32_t what; /* kin_row.flags */
} kin_ref;

typedef struct kin_flow {
	int64_t ts;
	uint32_t id; /* the builder's number for it */
	uint32_t lane;
	uint8_t in;   /* 1 = ph f */
	uint8_t kind; /* TIDE_FLOW_* */
} kin_flow;

typedef struct kin_half { /* one end of a span written as two events */
	int64_t ts;
	uint64_t id, src;
	uint32_t lane, name;
	uint8_t kind, cat;
} kin_half;

typedef struct kin_memory_event {
	kin_mem mem;
	int64_t ts;
	uint32_t lane;
} kin_memory_event;

typedef struct kin_before { /* an allocation older than the trace */
	uint64_t addr, size;
	uint32_t pool;
} kin_before;

typedef struct kin_name {
	uint32_t a, b; /* pid and tid as small numbers */
	uint32_t name;
	uint8_t kind; /* KIN_NAME_* */
} kin_name;

typedef struct kin_build {
	tide_model *m; /* borrowed */
	unsigned want;
	unsigned threads; /* threads that finish may use, including the caller's */
	unsigned part;	  /* number of the current document: ids of different documents never
			   * match */
	uint32_t *link;	  /* per span: number of its id, 0 = none; see ids */
	size_t cap_link;
	tide_map ids;	  /* id -> number, for ids that are not small numbers themselves */
	uint32_t last_id; /* numbers assigned to those, downwards from the top */
	TIDE_VEC(kin_ref, refs);
	TIDE_VEC(kin_flow, flows);
	TIDE_VEC(kin_half, halves);
	TIDE_VEC(kin_memory_event, memory_events);
	TIDE_VEC(kin_before, before);
	TIDE_VEC(kin_name, names);
	TIDE_VEC(kin_meta, metas);     /* key and raw live in the parsers' texts */
	TIDE_VEC(kin_window, windows); /* at most KIN_WINDOWS_MAX */
	kin_seen seen;
	uint64_t loss[KIN_N_LOSS];
	uint64_t events;
	tide_map nums, strs; /* value of a pid or tid -> small number */
	tide_map lane_of[8]; /* (a, b) as small numbers -> lane row, by kind and category */
	tide_map device_of;  /* device number -> row */
	tide_map process_of; /* small number of a pid -> row */
	tide_map counter_of; /* name id -> row */
	uint32_t n_small;
	int64_t t_min, t_max;
	unsigned device_kind; /* TIDE_DEVICE_* of device rows */
	bool xla;	      /* devices are processes: XLA's profiler */
} kin_build;

/* Adds everything in a block, in order. Returns false if memory runs out. */
bool tide__kineto_add(kin_build *b, const kin_out *o);
/* After the last block: sorts, links, pairs, names. */
tide_code tide__kineto_finish(kin_build *b, tide_error *err);
void tide__kineto_build_fini(kin_build *b);

/* Return model rows, created on first use; 0 if memory runs out. */
uint32_t tide__kineto_get_device_row(kin_build *b, unsigned kind, int64_t index);
uint32_t tide__kineto_get_counter_row(kin_build *b, uint32_t name, uint32_t unit, uint32_t device);

/* Parts of finish; each returns false if memory runs out. */
bool tide__kineto_link(kin_build *b);
/* Moves the rows of XLA's devices to lanes of devices; runs before spans are sorted. */
bool tide__kineto_find_xla_devices(kin_build *b);
/* Cuts Python calls at the end of their callers; runs before spans are sorted. */
bool tide__kineto_cut_python_calls(kin_build *b);
/* Pairs allocations and frees between begin and end, in another thread if b->threads allows;
 * `out` is NULL if there are none, or if memory runs out. Every begin must be followed by an
 * end, which frees it and returns `good` unless it fails itself; `good` false means that there
 * are no spans to use. */
typedef struct kin_memory kin_memory;
bool tide__kineto_memory_begin(kin_build *b, kin_memory **out);
bool tide__kineto_memory_end(kin_memory *k, bool good);
/* Notes a device's type, and an event's time, if memory is not wanted. */
void tide__kineto_saw(kin_seen *s, int32_t type, int32_t device);
void tide__kineto_saw_time(kin_seen *s, int64_t t);
void tide__kineto_set_kinds(kin_build *b);
bool tide__kineto_add_metas(kin_build *b);
bool tide__kineto_add_names(kin_build *b);

#endif
