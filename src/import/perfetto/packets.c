// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the packets, in the order of the file: interned texts, clocks and defaults of a
 * sequence change along the way, so an event keeps the generation of texts that it was written
 * with. Messages stay where they are. */
#include "import/perfetto/perfetto_impl.h"

#include <zstd.h>

#include <isa-l/igzip_lib.h>

#include "base/error.h"

enum { /* TracePacket */
       P_PACKET = 1,
       P_PROCESS_TREE = 2,
       P_CHROME = 5,
       P_CLOCKS = 6,
       P_TIMESTAMP = 8,
       P_PROCESS_STATS = 9,
       P_SEQUENCE = 10,
       P_EVENT = 11,
       P_INTERNED = 12,
       P_FLAGS = 13,
       P_CLEARED = 41,
       P_DROPPED = 42,
       P_PROCESS = 43,
       P_THREAD = 44,
       P_ZLIB = 50,
       P_GPU_COUNTER = 52,
       P_CLOCK = 58,
       P_DEFAULTS = 59,
       P_TRACK = 60,
       P_ZSTD = 133,
};
enum { E_TYPE = 9, E_TRACK = 11, E_LEGACY = 6 };
enum { CLEARED = 1 };
enum { MOST_IN_ONE = 64 << 20 };			 /* expanded bytes of one packet */
#define MOST_EXPANDED (UINT64_C(4) << 30)		 /* of all */
#define OWN	      "{\"tidemark\":{\"tracks\":true}," /* how the JSON of our export begins */

typedef struct packet {
	uint64_t time, clock;
	bool has_time, cleared, dropped, unread;
	uint32_t sequence;
	tide_pb body;
	unsigned kind; /* field of the body, 0 = none that is read */
	tide_pb defaults;
	bool has_defaults;
} packet;

bool tide__pf_nomem(pf_trace *t)
{
	t->rc = tide__nomem(t->err);
	return false;
}

/* ---- sequences ---- */

static uint32_t sequence_row(pf_trace *t, uint64_t id)
{
	uint32_t row = tide__map_get(&t->sequence_of, id);
	if (row)
		return row;
	pf_sequence *s = TIDE_PUSH(t, sequences);
	if (!s || !tide__map_put(&t->sequence_of, id, (uint32_t)t->n_sequences - 1))
		return 0;
	*s = (pf_sequence){ .generation = ++t->generations };
	return (uint32_t)t->n_sequences - 1;
}

static uint64_t text_key(uint32_t generation, unsigned field, uint64_t iid)
{
	return tide__mix((uint64_t)generation << 8 | field) ^ tide__mix(iid + 1) * 3;
}

static bool intern_all(pf_trace *t, uint32_t generation, tide_pb in)
{
	tide_pb_field f, v;
	while (tide__pb_next(&in, &f)) {
		bool wanted = f.number == PF_CATEGORY || f.number == PF_NAME ||
			      f.number == PF_ARG || f.number == PF_STRING;
		if (!wanted || f.type != TIDE_PB_BYTES)
			continue;
		uint64_t iid = 0;
		pf_text text = { 0 };
		for (tide_pb entry = tide__pb_message(&f); tide__pb_next(&entry, &v);) {
			iid = v.number == 1 ? v.value : iid;
			if (v.number == 2 && v.type == TIDE_PB_BYTES)
				text = (pf_text){ v.data, v.n };
		}
		pf_text *kept = TIDE_PUSH(t, texts);
		if (!kept || t->n_texts >= UINT32_MAX ||
		    !tide__map_put(&t->text_of, text_key(generation, f.number, iid),
				   (uint32_t)t->n_texts))
			return tide__pf_nomem(t);
		*kept = text;
	}
	return true;
}

pf_text tide__pf_interned(pf_trace *t, uint32_t generation, unsigned field, uint64_t iid)
{
	uint32_t row = tide__map_get(&t->text_of, text_key(generation, field, iid));
	if (row)
		return t->texts[row - 1];
	t->undefined++;
	return (pf_text){ 0 };
}

static void set_defaults(pf_sequence *s, tide_pb in)
{
	tide_pb_field f, v;
	s->clock = 0;
	s->has_track = false;
	while (tide__pb_next(&in, &f)) {
		if (f.number == P_CLOCK)
			s->clock = f.value;
		if (f.number != E_TRACK || f.type != TIDE_PB_BYTES)
			continue;
		for (tide_pb event = tide__pb_message(&f); tide__pb_next(&event, &v);)
			if (v.number == E_TRACK && v.type == TIDE_PB_VARINT) {
				s->track = v.value;
				s->has_track = true;
			}
	}
}

/* ---- events ---- */

static bool keep(pf_trace *t, const packet *p, pf_type type, uint32_t track, tide_pb body)
{
	int64_t ts;
	const pf_sequence *s = &t->sequences[p->sequence];
	if (!p->has_time ||
	    !tide__pf_time_of(t, p->sequence, p->clock ? p->clock : s->clock, p->time, &ts)) {
		t->bad_times++;
		return true;
	}
	size_t n = (size_t)(body.end - body.at);
	pf_event *e = n <= UINT32_MAX && t->n_events < UINT32_MAX - 2 ? TIDE_PUSH(t, events) : NULL;
	if (!e || !track)
		return tide__pf_nomem(t);
	*e = (pf_event){ ts, body.at, (uint32_t)n, track, s->generation, (uint8_t)type };
	return true;
}

/* Returns the type that an old event's phase means, 0 = none that is read. */
static unsigned legacy_type(tide_pb legacy)
{
	tide_pb_field f;
	uint64_t phase = 0;
	while (tide__pb_next(&legacy, &f))
		phase = f.number == 2 ? f.value : phase;
	switch (phase) {
	case 'X':
		return PF_COMPLETE;
	case 'B':
		return PF_BEGIN;
	case 'E':
		return PF_END;
	case 'I':
	case 'i':
	case 'R':
		return PF_INSTANT;
	default:
		return 0;
	}
}

static bool track_event(pf_trace *t, const packet *p)
{
	tide_pb in = p->body;
	tide_pb_field f;
	const pf_sequence *s = &t->sequences[p->sequence];
	uint64_t uuid = s->has_track ? s->track : 0;
	unsigned type = 0;
	while (tide__pb_next(&in, &f)) {
		if (f.number == E_TYPE)
			type = f.value <= PF_COUNTER ? (unsigned)f.value : 0;
		else if (f.number == E_TRACK)
			uuid = f.value;
		else if (f.number == E_LEGACY && f.type == TIDE_PB_BYTES && !type)
			type = legacy_type(tide__pb_message(&f));
	}
	if (!type) {
		t->unread++;
		return true;
	}
	uint32_t track = tide__pf_track(t, uuid);
	return track ? keep(t, p, (pf_type)type, track, p->body) : tide__pf_nomem(t);
}

static uint32_t gpu_track(pf_trace *t, uint64_t gpu, uint64_t id)
{
	return tide__pf_track(t, tide__mix(gpu << 32 ^ id) | 1);
}

/* A counter of a GPU has no track descriptor: its name is here. */
static bool gpu_names(pf_trace *t, uint64_t gpu, tide_pb in)
{
	tide_pb_field f, v;
	while (tide__pb_next(&in, &f)) {
		uint64_t id = 0;
		pf_text name = { 0 };
		if (f.number != 1 || f.type != TIDE_PB_BYTES)
			continue;
		for (tide_pb spec = tide__pb_message(&f); tide__pb_next(&spec, &v);) {
			id = v.number == 1 ? v.value : id;
			if (v.number == 2 && v.type == TIDE_PB_BYTES)
				name = (pf_text){ v.data, v.n };
		}
		uint32_t row = gpu_track(t, gpu, id);
		if (!row)
			return tide__pf_nomem(t);
		t->tracks[row].name = name;
		t->tracks[row].counter = true;
		t->tracks[row].gpu = (int64_t)(gpu & INT32_MAX);
	}
	return true;
}

static bool gpu_counter(pf_trace *t, const packet *p)
{
	tide_pb_field f, v;
	uint64_t gpu = 0;
	for (tide_pb in = p->body; tide__pb_next(&in, &f);)
		gpu = f.number == 3 && f.type == TIDE_PB_VARINT ? f.value : gpu;
	for (tide_pb in = p->body; tide__pb_next(&in, &f);) {
		uint64_t id = 0;
		if (f.type != TIDE_PB_BYTES)
			continue;
		if (f.number == 1 && !gpu_names(t, gpu, tide__pb_message(&f)))
			return false;
		if (f.number != 2)
			continue;
		for (tide_pb value = tide__pb_message(&f); tide__pb_next(&value, &v);)
			id = v.number == 1 ? v.value : id;
		uint32_t row = gpu_track(t, gpu, id);
		if (!row || !keep(t, p, PF_GPU_COUNTER, row, tide__pb_message(&f)))
			return row ? false : tide__pf_nomem(t);
	}
	return true;
}

static bool process_stats(pf_trace *t, const packet *p)
{
	tide_pb_field f, v;
	for (tide_pb in = p->body; tide__pb_next(&in, &f);) {
		if (f.number != 1 || f.type != TIDE_PB_BYTES)
			continue;
		uint64_t pid = 0;
		bool rss = false;
		for (tide_pb part = tide__pb_message(&f); tide__pb_next(&part, &v);) {
			pid = v.number == 1 ? v.value : pid;
			rss |= v.number == 3;
		}
		uint32_t row = rss ? tide__pf_track(t, tide__mix(~pid) | 1) : 0;
		if (!rss)
			continue;
		if (!row)
			return tide__pf_nomem(t);
		t->tracks[row].name = (pf_text){ (const uint8_t *)"resident bytes", 14 };
		t->tracks[row].counter = t->tracks[row].process = true;
		t->tracks[row].pid = (int64_t)pid;
		if (!keep(t, p, PF_PROCESS, row, tide__pb_message(&f)))
			return false;
	}
	return true;
}

/* ChromeEventBundle: JSON texts that are trace events (type 0, user trace). */
static bool chrome(pf_trace *t, tide_pb in)
{
	tide_pb_field f, v;
	while (tide__pb_next(&in, &f)) {
		uint64_t type = 0;
		pf_text text = { 0 };
		if (f.number != 5 || f.type != TIDE_PB_BYTES)
			continue;
		for (tide_pb json = tide__pb_message(&f); tide__pb_next(&json, &v);) {
			type = v.number == 1 ? v.value : type;
			if (v.number == 2 && v.type == TIDE_PB_BYTES)
				text = (pf_text){ v.data, v.n };
		}
		t->own |= text.n > sizeof OWN && !memcmp(text.s, OWN, sizeof OWN - 1);
		if (type || !text.n || (!t->own && text.s[0] != '{' && text.s[0] != '['))
			continue;
		pf_text *kept = TIDE_PUSH(t, legacy);
		if (!kept)
			return tide__pf_nomem(t);
		*kept = text;
	}
	return true;
}

/* ---- packets that contain packets ---- */

static bool damaged(pf_trace *t, const char *what)
{
	t->rc = tide__fail(t->err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "%s", what);
	return false;
}

static size_t inflate(const uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	struct inflate_state *z = tide__alloc(1, sizeof *z);
	if (!z)
		return SIZE_MAX;
	isal_inflate_init(z);
	z->crc_flag = ISAL_ZLIB;
	z->next_in = (uint8_t *)(uintptr_t)in;
	z->avail_in = (uint32_t)n;
	z->next_out = out;
	z->avail_out = (uint32_t)room;
	int rc = isal_inflate(z);
	size_t made =
		rc == ISAL_DECOMP_OK && z->block_state == ISAL_BLOCK_FINISH ? z->total_out : 0;
	tide__free(z);
	return made;
}

static bool expand(pf_trace *t, const tide_pb_field *f)
{
	if (t->inside)
		return damaged(t, "compressed packets inside compressed packets");
	size_t room = f->n < MOST_IN_ONE / 64 ? f->n * 64 + 4096 : MOST_IN_ONE, n;
	uint8_t *buf = NULL;
	for (bool again = true; again; room = MOST_IN_ONE) {
		if (t->expanded + room > MOST_EXPANDED || f->n > UINT32_MAX)
			return damaged(t, "its compressed packets expand to over 4 GiB");
		buf = tide__alloc(room, 1);
		if (!buf)
			return tide__pf_nomem(t);
		if (f->number == P_ZLIB)
			n = inflate(f->data, f->n, buf, room);
		else
			n = ZSTD_decompress(buf, room, f->data, f->n);
		again = room < MOST_IN_ONE && (!n || n > room);
		if (again || !n || n > room)
			tide__free(buf);
	}
	if (n == SIZE_MAX && f->number == P_ZLIB)
		return tide__pf_nomem(t);
	if (!n || n > MOST_IN_ONE)
		return damaged(t, "compressed packets that are damaged, or over 64 MiB");
	uint8_t **kept = TIDE_PUSH(t, blobs);
	if (!kept) {
		tide__free(buf);
		return tide__pf_nomem(t);
	}
	*kept = buf;
	t->expanded += n;
	(void)TIDE_RESIZE(*kept, n); /* if it fails, it stays too large */
	t->inside = true;
	bool ok = tide__pf_read(t, tide__pb_of(*kept, n));
	t->inside = false;
	return ok;
}

static void read_field(pf_trace *t, packet *p, const tide_pb_field *f)
{
	bool message = f->type == TIDE_PB_BYTES;
	switch (f->number) {
	case P_TIMESTAMP:
		p->time = f->value;
		p->has_time = true;
		break;
	case P_CLOCK:
		p->clock = f->value;
		break;
	case P_SEQUENCE:
		break;
	case P_FLAGS:
		p->cleared |= f->value & CLEARED;
		break;
	case P_CLEARED:
		p->cleared |= f->value != 0;
		break;
	case P_DROPPED:
		t->lost += f->value != 0;
		break;
	case P_DEFAULTS:
		p->defaults = tide__pb_message(f);
		p->has_defaults = message;
		break;
	case P_PROCESS_STATS:
	case P_CHROME:
	case P_CLOCKS:
	case P_EVENT:
	case P_GPU_COUNTER:
	case P_TRACK:
		p->kind = message ? f->number : 0;
		p->body = tide__pb_message(f);
		break;
	case 1:	 /* ftrace */
	case 37: /* heap profiles */
	case 53: /* GPU render stages */
	case 66: /* samples of stacks */
		p->unread = true;
		break;
	default:
		break;
	}
}

static bool read_body(pf_trace *t, const packet *p)
{
	switch (p->kind) {
	case P_CHROME:
		return chrome(t, p->body);
	case P_CLOCKS:
		return tide__pf_clocks(t, p->sequence, p->body);
	case P_PROCESS_STATS:
		return process_stats(t, p);
	case P_EVENT:
		return track_event(t, p);
	case P_GPU_COUNTER:
		return gpu_counter(t, p);
	case P_TRACK:
		return tide__pf_describe_track(t, p->body);
	default:
		t->unread += p->unread;
		return true;
	}
}

static bool read_packet(pf_trace *t, tide_pb in)
{
	packet p = { 0 };
	tide_pb all = in;
	tide_pb_field f;
	uint64_t sequence = 0;
	while (tide__pb_next(&in, &f)) {
		if ((f.number == P_ZLIB || f.number == P_ZSTD) && f.type == TIDE_PB_BYTES) {
			return expand(t, &f);
		}
		sequence = f.number == P_SEQUENCE ? f.value : sequence;
		read_field(t, &p, &f);
	}
	if (!(p.sequence = sequence_row(t, sequence)))
		return tide__pf_nomem(t);
	pf_sequence *s = &t->sequences[p.sequence];
	if (p.cleared)
		*s = (pf_sequence){ .generation = ++t->generations };
	if (p.has_defaults)
		set_defaults(s, p.defaults);
	while (tide__pb_next(&all, &f)) /* may come several times */
		if (f.number == P_INTERNED && f.type == TIDE_PB_BYTES &&
		    !intern_all(t, s->generation, tide__pb_message(&f)))
			return false;
	return read_body(t, &p);
}

bool tide__pf_read(pf_trace *t, tide_pb packets)
{
	tide_pb_field f;
	while (tide__pb_next(&packets, &f))
		if (f.number == P_PACKET && f.type == TIDE_PB_BYTES &&
		    !read_packet(t, tide__pb_message(&f)))
			return false;
	if (!packets.bad)
		return true;
	if (t->inside)
		return damaged(t, "not a protobuf field, in compressed packets");
	t->cut_at = (uint64_t)(packets.at - t->data);
	if (t->n_events)
		return true; /* everything before it is valid */
	t->rc = tide__fail(t->err, TIDE_ECORRUPT, t->cut_at, "not a protobuf field");
	return false;
}
