// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tracks: a thread's has numbers; any other is a text below the process that it, or a track around
 * it, names. Tidemark's own exports say in a track's description which numbers its spans have. */
#include "import/perfetto/perfetto_impl.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	T_UUID = 1,
	T_NAME = 2,
	T_PROCESS = 3,
	T_THREAD = 4,
	T_PARENT = 5,
	T_COUNTER = 8,
	T_STATIC = 10,
	T_ATRACE = 13,
	T_ABOUT = 14
};
enum {
	MOST_ABOVE = 32, /* tracks around a track */
	MOST_NAME = 200
};
/* as render/export/perfetto_beside.h has them */
#define DESCRIBED "Chrome trace: pid %" PRId64 ", tid %" PRId64
#define GROUP	  "Chrome trace: asynchronous events"

uint32_t tide__pf_track(pf_trace *t, uint64_t uuid)
{
	uint32_t row = tide__map_get(&t->track_of, uuid);
	if (row)
		return row;
	pf_track *k = TIDE_PUSH(t, tracks);
	if (!k || t->n_tracks >= UINT32_MAX ||
	    !tide__map_put(&t->track_of, uuid, (uint32_t)t->n_tracks - 1))
		return 0;
	*k = (pf_track){ .uuid = uuid, .multiplier = 1, .gpu = -1 };
	return (uint32_t)t->n_tracks - 1;
}

static void set_text(pf_text *to, const tide_pb_field *f)
{
	if (f->type == TIDE_PB_BYTES)
		*to = (pf_text){ f->data, f->n };
}

static void set_process(pf_track *k, tide_pb in)
{
	tide_pb_field f;
	k->process = true;
	while (tide__pb_next(&in, &f)) {
		k->pid = f.number == 1 ? (int64_t)f.value : k->pid;
		if (f.number == 6)
			set_text(&k->process_name, &f);
	}
}

static void set_thread(pf_track *k, tide_pb in)
{
	tide_pb_field f;
	k->thread = true;
	while (tide__pb_next(&in, &f)) {
		k->pid = f.number == 1 ? (int64_t)f.value : k->pid;
		k->tid = f.number == 2 ? (int64_t)f.value : k->tid;
		if (f.number == 5)
			set_text(&k->thread_name, &f);
	}
}

static void set_counter(pf_track *k, tide_pb in)
{
	tide_pb_field f;
	k->counter = true;
	while (tide__pb_next(&in, &f)) {
		k->multiplier = f.number == 4 && f.value ? (int64_t)f.value : k->multiplier;
		k->incremental |= f.number == 5 && f.value;
	}
}

static void set_field(pf_track *k, const tide_pb_field *f)
{
	switch (f->number) {
	case T_NAME:
	case T_STATIC:
	case T_ATRACE:
		set_text(&k->name, f);
		break;
	case T_PROCESS:
		set_process(k, tide__pb_message(f));
		break;
	case T_THREAD:
		set_thread(k, tide__pb_message(f));
		break;
	case T_PARENT:
		k->parent = f->value;
		break;
	case T_COUNTER:
		set_counter(k, tide__pb_message(f));
		break;
	case T_ABOUT:
		set_text(&k->description, f);
		break;
	default:
		break;
	}
}

bool tide__pf_describe_track(pf_trace *t, tide_pb in)
{
	tide_pb_field f;
	uint64_t uuid = 0;
	for (tide_pb all = in; tide__pb_next(&all, &f);)
		uuid = f.number == T_UUID ? f.value : uuid;
	uint32_t row = tide__pf_track(t, uuid);
	if (!row)
		return tide__pf_nomem(t);
	while (tide__pb_next(&in, &f))
		set_field(&t->tracks[row], &f);
	return true;
}

/* ---- what they are called ---- */

/* Returns the nearest track around k that is a process or thread; 0 = none. *root is the outermost
 * track. */
static uint32_t owner_of(const pf_trace *t, uint32_t k, uint32_t *root)
{
	*root = k;
	for (int i = 0; k && i < MOST_ABOVE; i++) {
		*root = k;
		if (t->tracks[k].process || t->tracks[k].thread)
			return k;
		uint64_t above = t->tracks[k].parent;
		k = above ? tide__map_get(&t->track_of, above) : 0;
	}
	return 0;
}

static pf_text cut(pf_text s)
{
	s.n = s.n < MOST_NAME ? s.n : MOST_NAME;
	return s;
}

static void put_name(pf_out *o, const pf_track *k)
{
	char text[40];
	pf_text own = k->name.n		  ? k->name
		      : k->thread_name.n  ? k->thread_name
		      : k->process_name.n ? k->process_name
					  : (pf_text){ 0 };
	if (!own.n) {
		int n = snprintf(text, sizeof text, k->uuid ? "track %" PRIu64 : "global", k->uuid);
		own = (pf_text){ (const uint8_t *)text, (size_t)n };
	}
	tide__pf_text(o, cut(own));
}

static bool is_text(pf_text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

static bool said(const pf_track *k, int64_t *pid, int64_t *tid)
{
	char text[80];
	size_t n = k->description.n;
	if (!n || n >= sizeof text)
		return false;
	memcpy(text, k->description.s, n);
	text[n] = 0;
	return sscanf(text, DESCRIBED, pid, tid) == 2;
}

static void put_numbers(pf_out *o, int64_t pid, int64_t tid)
{
	tide__pf_puts(o, "\"pid\":");
	tide__pf_int(o, pid);
	tide__pf_puts(o, ",\"tid\":");
	tide__pf_int(o, tid);
}

static void put_who(pf_trace *t, uint32_t row)
{
	pf_out *o = &t->who;
	const pf_track *k = &t->tracks[row];
	int64_t pid, tid;
	uint32_t root, owner = owner_of(t, row, &root);
	t->tracks[row].aside = t->own && is_text(k->description, GROUP);
	if (t->own && said(k, &pid, &tid)) {
		put_numbers(o, pid, tid);
		return;
	}
	if (k->thread) {
		put_numbers(o, k->pid, k->tid);
		return;
	}
	tide__pf_puts(o, "\"pid\":");
	if (owner)
		tide__pf_int(o, t->tracks[owner].pid);
	else
		put_name(o, &t->tracks[root]);
	tide__pf_puts(o, ",\"tid\":");
	put_name(o, k);
}

/* A counter is named for what it belongs to, and itself. */
static void put_label(pf_trace *t, uint32_t row)
{
	pf_out *o = &t->who;
	const pf_track *k = &t->tracks[row];
	uint32_t above = k->parent ? tide__map_get(&t->track_of, k->parent) : 0;
	char text[64];
	size_t begin = o->n;
	if (k->gpu >= 0) {
		snprintf(text, sizeof text, "\"GPU %" PRId64 " ", k->gpu);
		tide__pf_puts(o, text);
	} else if (above) {
		put_name(o, &t->tracks[above]);
		if (!o->failed)
			o->s[o->n - 1] = ' ';
	} else if (k->process) {
		snprintf(text, sizeof text, "\"process %" PRId64 " ", k->pid);
		tide__pf_puts(o, text);
	}
	size_t at = o->n;
	put_name(o, k);
	if (at > begin && !o->failed) { /* without the second opening quote */
		memmove(o->s + at, o->s + at + 1, o->n - at - 1);
		o->n--;
	}
}

bool tide__pf_name_tracks(pf_trace *t)
{
	pf_out *o = &t->who;
	for (uint32_t i = 1; i < t->n_tracks && !o->failed; i++) {
		pf_track *k = &t->tracks[i];
		k->who = o->n;
		put_who(t, i);
		k->n_who = (uint32_t)(o->n - k->who);
		k->label = o->n;
		if (k->counter)
			put_label(t, i);
		k->n_label = (uint32_t)(o->n - k->label);
	}
	return !o->failed || tide__pf_nomem(t);
}
