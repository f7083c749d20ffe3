// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Snapshot parts that come in millions are compacted the moment the pickle has them: a frame dict
 * becomes a frame of the model, a list of frames a stack, an event dict a 32-byte row (events.c).
 * Which dict is which is seen from its keys (`filename`: a frame, `action`: an event); one whose
 * values have the wrong types stays a dict, and walk.c says so where it stands. */
#include "import/torchsnap/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/pickle/huge_pages.h"
#include "import/torchsnap/reader.h"

const char *const tide__snap_action_text[TIDE_SNAP_N_ACTIONS] = {
	"alloc",	"free_requested", "free_completed", "segment_alloc",
	"segment_free", "segment_map",	  "segment_unmap",  "snapshot",
	"oom",		"user_defined",	  "annotate",	    "unknown",
};

tide_pv tide__snap_nomem(tide_snap_reader *r)
{
	r->client.failed = tide__nomem(r->err);
	return TIDE_PV_NONE;
}

bool tide__snap_stream(tide_snap_reader *r, int64_t number, uint16_t *index)
{
	if (!r->s->streams.n || number != r->last_stream) {
		size_t i = 0;
		while (i < r->s->streams.n && r->s->streams.v[i] != number)
			i++;
		if (i == r->s->streams.n) {
			if (i > 4095) {
				r->client.failed = tide__fail(r->err, TIDE_ELIMIT, TIDE_NO_OFFSET,
							      "more than 4096 streams");
				return false;
			}
			if (!TIDE_SNAP_ROOM(r->s->streams))
				return tide__snap_nomem(r), false;
			r->s->streams.v[r->s->streams.n++] = number;
		}
		r->last_stream = number;
		r->last_index = (uint16_t)i;
	}
	*index = r->last_index;
	return true;
}

bool tide__snap_stack(tide_pv v, uint32_t *stack)
{
	*stack = 0;
	return tide__pv_is(v, MADE_STACK, stack) || v == tide__pv(TIDE_PV_CONST, 0);
}

bool tide__snap_pool_id(const tide_pickle *p, tide_pv v, uint64_t *pool)
{
	size_t n;
	uint64_t high, low;
	if (tide__pv_tag(v) == TIDE_PV_PAIR) {
		*pool = tide__pv_payload(v);
		return true;
	}
	const tide_pv *items = tide__pickle_items(p, v, &n);
	if (n != 2 || !tide__pickle_u64(p, items[0], &high) || !tide__pickle_u64(p, items[1], &low))
		return false;
	*pool = (high & 0x3fffffff) << 30 | (low & 0x3fffffff);
	return true;
}

/* ---- frames and stacks ---- */

/* A text as an id of the model; false if it is none, or there is no memory for it. */
static bool frame_text(tide_snap_reader *r, tide_pickle *p, tide_pv v, tide_str *out)
{
	size_t len;
	const char *text = tide__pickle_text(p, v, &len);
	if (!text)
		return false;
	*out = tide__strn(r->m, text, len);
	return out->i || !len || (tide__snap_nomem(r), false);
}

/* Code that torch.fx generated: the node it stands for belongs to the name. */
static tide_str with_node(tide_snap_reader *r, tide_str name, tide_str node)
{
	char text[512];
	if (!node.i)
		return name;
	snprintf(text, sizeof text, "%.200s [%.200s]", tide__text(r->m, name, NULL),
		 tide__text(r->m, node, NULL));
	return tide__str(r->m, text);
}

static tide_pv make_frame(tide_snap_reader *r, tide_pickle *p, const tide_pv *kv, size_t n)
{
	tide_str name = { 0 }, file = { 0 }, node = { 0 };
	int64_t line = 0;
	unsigned have = 0;
	for (size_t i = 0; i < n; i += 2) {
		uint64_t key = tide__pv_tag(kv[i]) == TIDE_PV_KEY ? tide__pv_payload(kv[i]) : K_N;
		switch (key) {
		case K_name:
		case K_filename:
			if (!frame_text(r, p, kv[i + 1], key == K_name ? &name : &file))
				return TIDE_PV_NONE;
			have |= key == K_name ? 1 : 2;
			break;
		case K_line:
			if (!tide__pickle_i64(p, kv[i + 1], &line))
				line = 0; /* None where unknown */
			break;
		case K_fx_node_name:
			if (!frame_text(r, p, kv[i + 1], &node) && r->client.failed)
				return TIDE_PV_NONE;
			break;
		case K_fx_node_op:
		case K_fx_node_info:
		case K_fx_original_trace: /* where the node came from, as a page of text: not kept
					   */
			break;
		default:
			r->unknown_keys++;
		}
	}
	if (have != 3)
		return TIDE_PV_NONE;
	tide_str full = with_node(r, name, node);
	if (node.i && !full.i)
		return tide__snap_nomem(r);
	tide_frame_id f =
		tide__frame(r->m, full, file, line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0);
	return f.i ? tide__pv_made(MADE_FRAME, f.i) : tide__snap_nomem(r);
}

/* The pickle lists the innermost frame first; stacks are built from the outermost. What the last
 * stack had in common with this one needs no lookup. */
static tide_pv make_stack(tide_snap_reader *r, const tide_pv *frames, size_t n)
{
	tide_stack_id at = { 0 };
	size_t same = 0, i;
	uint32_t id = 0;
	for (; same < n && same < r->depth; same++)
		if (r->frames[same] != (uint32_t)tide__pv_payload(frames[n - 1 - same]))
			break;
	if (same)
		at.i = r->nodes[same - 1];
	for (i = same; i < n; i++) {
		(void)tide__pv_is(frames[n - 1 - i], MADE_FRAME, &id);
		at = tide__stack(r->m, at, (tide_frame_id){ id });
		if (!at.i || !tide__pickle_room(&r->frames, &r->cap_frames, i, sizeof *r->frames) ||
		    !tide__pickle_room(&r->nodes, &r->cap_nodes, i, sizeof *r->nodes))
			return tide__snap_nomem(r);
		r->frames[i] = id;
		r->nodes[i] = at.i;
	}
	r->depth = n;
	return tide__pv_made(MADE_STACK, at.i);
}

static tide_pv make_list(void *user, tide_pickle *p, tide_pv key, const tide_pv *items, size_t n)
{
	uint32_t id;
	(void)p;
	if (key != TIDE_PV_NONE && key != tide__pv(TIDE_PV_KEY, K_frames))
		return TIDE_PV_NONE;
	for (size_t i = 0; i < n; i++)
		if (!tide__pv_is(items[i], MADE_FRAME, &id))
			return TIDE_PV_NONE;
	return make_stack(user, items, n);
}

static tide_pv make_dict(void *user, tide_pickle *p, const tide_pv *kv, size_t n)
{
	for (size_t i = 0; i < n; i += 2) {
		if (kv[i] == tide__pv(TIDE_PV_KEY, K_action))
			return tide__snap_make_event(user, p, kv, n);
		if (kv[i] == tide__pv(TIDE_PV_KEY, K_filename))
			return make_frame(user, p, kv, n);
	}
	return TIDE_PV_NONE;
}

/* ---- the whole ---- */

static void progress(void *user, uint64_t done)
{
	tide_snap_reader *r = user;
	r->opt->progress(r->opt->user, done, r->n_bytes);
}

const tide_snap_extra *tide__snap_extra_of(const tide_snap *s, uint32_t event)
{
	size_t lo = 0, hi = s->extras.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->extras.v[mid].event < event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &s->extras.v[lo];
}

tide_code tide__snap_read(const uint8_t *data, size_t n, const tide_load_options *opt,
			  size_t stretch, tide_snap *s, tide_model *m, tide_error *err)
{
	static const char *const words[K_N] = {
#define W(word) #word,
		TIDE_SNAP_WORDS(W)
#undef W
			[K_no_context] = TIDE_SNAP_NO_CONTEXT,
	};
	tide_snap_reader r = {
		.s = s, .m = m, .err = err, .opt = opt, .n_bytes = n, .stretch = stretch
	};
	r.client = (tide_pickle_client){ .user = &r,
					 .keywords = words,
					 .n_keywords = K_N,
					 .make_dict = make_dict,
					 .make_list = make_list,
					 .flat = tide__snap_flat_event,
					 .frame = stretch ? tide__parallel_decode_frame : NULL,
					 .progress = opt && opt->progress ? progress : NULL };
	tide_pickle *p;
	tide_pv root;
	uint16_t zero;
	if (!tide__snap_stream(&r, 0, &zero)) /* index 0: events that name no stream */
		return r.client.failed;
	s->events.cap = n / 80 + 1; /* no event is shorter; untouched memory costs nothing */
	s->events.v = tide__alloc(s->events.cap, sizeof *s->events.v);
	if (!s->events.v)
		return tide__nomem(err);
	tide__huge(s->events.v, s->events.cap * sizeof *s->events.v);
	tide_code rc = tide__pickle_load(data, n, &r.client, &p, &root, err);
	tide__parallel_decode_end(&r);
	tide__free(r.frames);
	tide__free(r.nodes);
	if (rc)
		return rc;
	rc = tide__snap_walk(&r, p, root);
	if (!rc && tide__pickle_trailing(p) &&
	    !tide__fact_num(m, "loss.trailing_bytes", (int64_t)tide__pickle_trailing(p)))
		rc = tide__nomem(err);
	tide__pickle_free(p);
	return rc;
}

void tide__snap_free(tide_snap *s)
{
	for (size_t i = 0; i < s->traces.n; i++)
		tide__free(s->traces.v[i].events);
	tide__free(s->events.v);
	tide__free(s->extras.v);
	tide__free(s->streams.v);
	tide__free(s->segments.v);
	tide__free(s->blocks.v);
	tide__free(s->notes.v);
	tide__free(s->traces.v);
	*s = (tide_snap){ 0 };
}
