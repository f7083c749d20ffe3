// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the parts of the Kineto importer hand to each other.
 *
 *   blocks.c  a ring of blocks, cut between two events, that threads read and parse; load.c takes
 *             them in order
 *   doc.c     walks a block: document, traceEvents, metadata; survives damage
 *   event.c   one event object -> one row;   args.c  its arguments
 *   build.c   rows -> model tables and scratch, in input order
 *   finish.c  lanes, time zero, facts;   link.c  launches, flows;   memory.c  allocations;
 *             python_calls.c  ends of Python calls
 *
 * A parser belongs to one thread; its texts and lanes never move, so rows point at them and the
 * one thread that builds the model keeps its own number in each (`global`, which no other thread
 * looks at). */
#ifndef TIDE_IMPORT_KINETO_KINETO_IMPL_H
#define TIDE_IMPORT_KINETO_KINETO_IMPL_H

#include "base/mem.h"
#include "import/import.h"
#include "import/json/scan.h"

/* ---- texts and lanes of one parser ---- */

typedef struct kin_text {
	uint64_t hash;
	uint32_t len;
	uint32_t global; /* builder: id in the model's strings, 0 = not yet */
	char s[];	 /* len bytes, then NUL */
} kin_text;

typedef struct kin_arena {
	struct kin_block *head;
	size_t left;
	char *at;
} kin_arena;

typedef struct kin_texts {
	kin_arena arena;
	kin_text **slots;
	size_t mask, n;
} kin_texts;

/* The one entry for these bytes; NULL on exhaustion. */
kin_text *tide__kineto_text(kin_texts *t, const char *s, size_t n);
void tide__kineto_texts_fini(kin_texts *t);
/* Undo JSON escapes of s[0..n) into out (room for n bytes); the new length. Surrogate pairs become
 * one character, a lone one three bytes that are not UTF-8; unknown escapes stay as they are. */
size_t tide__kineto_unescape(const char *s, size_t n, char *out);

typedef struct kin_val { /* a pid, tid or id: a number, or a text that is none */
	int64_t num;
	kin_text *text;
} kin_val;

typedef struct kin_lane {
	kin_val a, b;	 /* thread: pid, tid; stream: device, stream */
	uint32_t global; /* builder: row in the model's lanes, 0 = not yet */
	uint8_t kind;	 /* TIDE_LANE_* */
	uint8_t cat;	 /* lanes of kind OTHER: which category's rows it holds */
} kin_lane;

typedef struct kin_lanes {
	kin_arena arena;
	kin_lane **slots;
	size_t mask, n;
	kin_lane *last[8]; /* by kind */
} kin_lanes;

kin_lane *tide__kineto_lane(kin_lanes *l, unsigned kind, unsigned cat, kin_val a, kin_val b);
void tide__kineto_lanes_fini(kin_lanes *l);

/* ---- what a parsed block holds ---- */

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
	KIN_TRACK_OF, /* id: the thread whose spans are on this one too */
} kin_kind;

enum {			/* kin_row.flags */
       KIN_HAS_ID = 1,	/* id: correlation (launches, device rows), External id (ops), or flow id */
       KIN_HAS_EXT = 2, /* ext: External id of a device row */
       KIN_HAS_SEQ = 4, /* ext: Sequence number of an op; KIN_IS_BWD tells which side */
       KIN_IS_BWD = 8,
       KIN_HAS_REC = 16,    /* ext: correlation of the event record that a sync row waits for */
       KIN_HAS_CALLER = 32, /* id: Python id; ext: Python parent id */
};

typedef struct kin_row {
	int64_t ts, dur; /* ns */
	kin_lane *lane;	 /* NULL = none */
	kin_text *name;	 /* NULL = empty */
	uint64_t id, ext;
	uint64_t src; /* byte offset in the input */
	uint32_t n_attrs;
	uint32_t index; /* of the event in its block */
	uint8_t kind, cat, flags;
} kin_row;

typedef struct kin_attr {
	kin_text *key, *text; /* text NULL = number */
	int64_t number;
	bool coll; /* only with a collective's name beside it */
} kin_attr;

typedef struct kin_mem {
	int64_t bytes, total, reserved; /* totals: -1 = not said */
	uint64_t addr;			/* UINT64_MAX = not said */
	int32_t type, device;
} kin_mem;

/* Of which types of devices, by their numbers, there are memory events: what is known of a device's kind where they are not
 * read. More than so many are not kept. */
enum { KIN_SEEN = 64 };
typedef struct kin_seen {
	unsigned n;
	struct {
		int32_t type, device;
	} at[KIN_SEEN];
} kin_seen;

typedef struct kin_meta {    /* a top-level member other than traceEvents */
	kin_text *key, *raw; /* its value's JSON text */
} kin_meta;

/* What is counted when it is dropped or repaired; facts of the same name. */
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
#define KIN_METAS_MAX 4096	      /* top-level members kept; a real trace has some twenty */
#define KIN_DUR_MAX   (INT64_C(30) * 86400 * 1000000000) /* 30 days in ns */

#define KIN_VEC(type, name) \
	type *name;         \
	size_t n_##name, cap_##name

typedef struct kin_out {
	KIN_VEC(kin_row, rows);
	KIN_VEC(kin_attr, attrs);
	KIN_VEC(kin_mem, mems);
	KIN_VEC(tide_raw,
		raws); /* one a KIN_SPAN, if they are wanted; event is set by the builder */
	KIN_VEC(kin_meta, metas);
	kin_seen seen;
	uint64_t loss[KIN_N_LOSS];
	uint64_t events; /* event objects seen, kept or not */
} kin_out;

void tide__kineto_out_clear(kin_out *o);
void tide__kineto_out_fini(kin_out *o);
/* One more element, not initialised; NULL on exhaustion. */
#define KIN_PUSH(o, name)                                                                       \
	(TIDE_ROOM((o)->name, (o)->cap_##name, (o)->n_##name + 1) ? &(o)->name[(o)->n_##name++] \
								  : NULL)

/* ---- the parser ---- */

typedef enum kin_status {
	KIN_OK,
	KIN_MORE, /* the text ends inside the thing that was being read */
	KIN_BAD,  /* not JSON */
	KIN_NOMEM,
} kin_status;

typedef struct kin_slice { /* a value in the text */
	uint32_t at, n;	   /* of a string: what is between the quotes */
	char type;	   /* '"' string, '{' or '[' container, '0' anything else; 0 = none */
} kin_slice;

typedef struct kin_shape { /* a stretch of text that always means the same: see shape.h */
	uint32_t n;
	char ph;
	uint8_t cat;
	kin_slice first, second; /* values in it, places counted from its start */
	kin_lane *lane;		 /* thread that first and second name, NULL = not looked up yet */
	char text[104];
} kin_shape;

typedef struct kin_parser {
	kin_scan s;
	kin_texts texts;
	kin_lanes lanes;
	kin_out *out;				   /* borrowed */
	uint64_t base;				   /* offset of s.b[0] in the input */
	const struct kin_words *keys;		   /* keywords.h; NULL = not looked up yet */
	unsigned want;				   /* TIDE_WANT_*, never 0 */
	kin_status why;				   /* set by whoever returns KIN_FAIL */
	kin_shape heads[64], middles[64], between; /* what events look like */
	char *scratch;				   /* owned; unescaped texts */
	size_t room;
} kin_parser;

void tide__kineto_parser_fini(kin_parser *p);

#define KIN_FAIL SIZE_MAX

/* Fail at byte p: past the text means that more of it is needed. */
static inline size_t kin_fail(kin_parser *c, size_t p)
{
	c->why = p >= c->s.n ? KIN_MORE : KIN_BAD;
	return KIN_FAIL;
}

static inline size_t kin_nomem(kin_parser *c)
{
	c->why = KIN_NOMEM;
	return KIN_FAIL;
}

/* The same for functions that return success. */
static inline bool kin_oom(kin_parser *c)
{
	c->why = KIN_NOMEM;
	return false;
}

/* Read the value at p (not white space); byte after it, or KIN_FAIL. value.h has the inline ones.
 */
size_t tide__kineto_value(kin_parser *c, size_t p, kin_slice *v);
size_t tide__kineto_scalar(kin_parser *c, size_t p, kin_slice *v);
size_t tide__kineto_container(kin_parser *c, size_t p, kin_slice *v);
/* Read `"key" :` at p (a quote); position of the value. */
size_t tide__kineto_key(kin_parser *c, size_t p, kin_slice *key);
/* The text of a string slice, escapes undone; of anything else, as it stands. NULL: exhaustion. */
kin_text *tide__kineto_slice_text(kin_parser *c, kin_slice v);
/* A number, or the number that a string spells, else the text. False on exhaustion. */
bool tide__kineto_slice_val(kin_parser *c, kin_slice v, kin_val *out);
/* Byte after an object whose members are given to `member` in turn; KIN_FAIL if it is damaged or
 * member returned false (which then set c->why). */
typedef bool kin_member(kin_parser *c, void *user, kin_slice key, kin_slice value);
size_t tide__kineto_object(kin_parser *c, size_t p, kin_member *member, void *user);

/* Parse the event object at p; byte after it. Adds at most one row to c->out. */
size_t tide__kineto_event(kin_parser *c, size_t p);

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
	bool again;	    /* stopped because another one begins: call again from there */
	bool seeking;	    /* after damage, looking for the next event */
	size_t limit;	    /* bytes one item may have; a larger one is taken for damage */
} kin_doc;

#define KIN_ITEM_MAX ((size_t)64 << 20)

/* Parse complete items of the text from p on; returns how far it came: text from there on is the
 * beginning of an item (or a bracket that only the caller can judge) and needs more, unless
 * c->why is KIN_NOMEM or d->again is set. Damaged events are skipped and counted. `final`: nothing
 * more will come. */
size_t tide__kineto_doc(kin_parser *c, kin_doc *d, size_t p, bool final);

/* The last place that looks like the start of an event after another, or 0. */
size_t tide__kineto_last_event(const char *b, size_t n);

/* ---- the builder ---- */

typedef struct kin_ref { /* a span and a number that belongs to it */
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

typedef struct kin_move {
	kin_mem mem;
	int64_t ts;
	uint32_t lane;
} kin_move;

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
	unsigned threads; /* that finish may use, the caller's among them */
	unsigned part;	  /* number of the document being read: ids of different files never meet */
	uint32_t *link;	  /* per span: number of its id, 0 = none; see ids */
	size_t cap_link;
	tide_map ids;	  /* id -> number, for ids that are not themselves small numbers */
	uint32_t last_id; /* numbers given to those, from the top */
	KIN_VEC(kin_ref, refs);
	KIN_VEC(kin_flow, flows);
	KIN_VEC(kin_half, halves);
	KIN_VEC(kin_move, moves);
	KIN_VEC(kin_before, before);
	KIN_VEC(kin_name, names);
	KIN_VEC(kin_meta, metas); /* key and raw live in the parsers' texts */
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
} kin_build;

/* Add everything a block holds, in order. False on exhaustion. */
bool tide__kineto_add(kin_build *b, const kin_out *o);
/* After the last block: sort, link, pair, name. */
tide_code tide__kineto_finish(kin_build *b, tide_error *err);
void tide__kineto_build_fini(kin_build *b);

/* Model rows, made when first asked for; 0 on exhaustion. */
uint32_t tide__kineto_device_row(kin_build *b, unsigned kind, int64_t index);
uint32_t tide__kineto_counter_row(kin_build *b, uint32_t name, uint32_t unit, uint32_t device);

/* Parts of finish, each false on exhaustion. */
bool tide__kineto_link(kin_build *b);
/* Cut Python calls to the end of their callers; before spans are put in order. */
bool tide__kineto_python_calls(kin_build *b);
/* Allocations are paired between the two, beside what is done meanwhile if b->threads allows; `out`
 * is NULL when there are none, or on exhaustion. Every begin is followed by an end, which frees it
 * and returns `good` unless it fails itself: false says that there are no spans to look at. */
typedef struct kin_memory kin_memory;
bool tide__kineto_memory_begin(kin_build *b, kin_memory **out);
bool tide__kineto_memory_end(kin_memory *k, bool good);
/* What devices are, where memory is not wanted. */
void tide__kineto_saw(kin_seen *s, int32_t type, int32_t device);
void tide__kineto_kinds(kin_build *b);
bool tide__kineto_metas(kin_build *b);
bool tide__kineto_names(kin_build *b);

#endif
