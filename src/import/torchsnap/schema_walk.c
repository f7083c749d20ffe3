// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The schema walk: converts the pickle's containers to plain arrays.
 *
 * The walk is only as deep as the schema, for any references, so cycles cannot hang it. It also
 * refuses to list more items than the pickle has bytes, so a segment with a million blocks that is
 * referred to a million times cannot hang it either. Unknown keys are skipped and counted. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/reader.h"

typedef tide_snap_reader reader;

static tide_code nomem(reader *r)
{
	return tide__nomem(r->err);
}

/* Sets an error such as "segments[3].blocks[2]: not an integer" at the value's position in the
 * input. */
static tide_code wrong(reader *r, tide_pv v, const char *path, size_t i, const char *what)
{
	return tide__fail(r->err, TIDE_ECORRUPT, tide__pickle_offset(r->p, v), "%s[%zu]: %s", path,
			  i, what);
}

static tide_code listed_again(reader *r, const char *path)
{
	return tide__fail(r->err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
			  "%s: the same items are listed repeatedly", path);
}

static tide_pv get(reader *r, tide_pv dict, unsigned key)
{
	return tide__pickle_get(r->p, dict, key);
}

static bool get_u64(reader *r, tide_pv dict, unsigned key, uint64_t *out)
{
	return tide__pickle_u64(r->p, get(r, dict, key), out);
}

/* Counts the keys of a dict that are not among `known` (K_N ends it). */
static void count_unknown(reader *r, tide_pv dict, const uint8_t *known)
{
	size_t n;
	const tide_pv *kv = tide__pickle_items(r->p, dict, &n);
	for (size_t i = 0; i < n; i += 2) {
		const uint8_t *k = known;
		while (*k != K_N && kv[i] != tide__pv(TIDE_PV_KEY, *k))
			k++;
		r->unknown_keys += *k == K_N;
	}
}

static bool is_list(tide_pv v)
{
	return tide__pv_tag(v) == TIDE_PV_LIST;
}

/* ---- segments ---- */

/* torch 2.0 kept frames and the requested size in a list `history`, newest first. */
static void block_history(reader *r, tide_pv v, tide_snap_block *b, uint32_t *stack)
{
	size_t n;
	const tide_pv *h = tide__pickle_items(r->p, get(r, v, K_history), &n);
	if (!n)
		return;
	(void)get_u64(r, h[0], K_real_size, &b->requested);
	(void)tide__snap_stack(get(r, h[0], K_frames), stack);
}

static uint8_t block_state(reader *r, tide_pv v)
{
	tide_pv state = get(r, v, K_state);
	if (state == tide__pv(TIDE_PV_KEY, K_active_allocated))
		return 1;
	if (state == tide__pv(TIDE_PV_KEY, K_active_pending_free) ||
	    state == tide__pv(TIDE_PV_KEY, K_active_awaiting_free))
		return 2;
	return state == tide__pv(TIDE_PV_KEY, K_inactive) ? 0 : 255;
}

static const char *block(reader *r, tide_pv v, uint64_t addr, tide_snap_block *b)
{
	static const uint8_t known[] = { K_address, K_size, K_requested_size, K_state, K_frames,
					 K_history, K_N };
	*b = (tide_snap_block){ .addr = addr };
	if (tide__pv_tag(v) != TIDE_PV_DICT)
		return "a block that is not a dict";
	if (!get_u64(r, v, K_size, &b->size) || b->size >= TIDE_SNAP_MAX_SIZE || !b->size)
		return "a block without a possible size";
	(void)get_u64(r, v, K_address, &b->addr);
	if (b->addr > UINT64_MAX - b->size)
		return "a block beyond the end of the address space";
	if (!get_u64(r, v, K_requested_size, &b->requested))
		b->requested = b->size;
	b->state = block_state(r, v);
	if (b->state > 2)
		return "a block without a known state";
	(void)tide__snap_stack(get(r, v, K_frames), &b->stack);
	block_history(r, v, b, &b->stack);
	b->has_frames = b->stack != 0;
	if (b->requested > b->size || !b->requested)
		b->requested = b->size;
	count_unknown(r, v, known);
	return NULL;
}

static tide_code blocks(reader *r, tide_pv v, tide_snap_segment *g, const char *path, size_t i)
{
	size_t n;
	tide_snap *s = r->s;
	uint64_t addr = g->addr;
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	g->first_block = (uint32_t)s->blocks.n;
	if (s->blocks.n + n > r->n_bytes || s->blocks.n + n > INT32_MAX)
		return listed_again(r, path);
	for (size_t k = 0; k < n; k++) {
		tide_snap_block b;
		const char *bad = block(r, tide__pickle_settle(r->p, items[k]), addr, &b);
		if (bad)
			return wrong(r, items[k], path, i, bad);
		if (b.addr < g->addr || b.addr - g->addr > g->size ||
		    b.size > g->size - (b.addr - g->addr))
			return wrong(r, items[k], path, i, "a block outside of its segment");
		if (!TIDE_SNAP_ROOM(s->blocks))
			return nomem(r);
		s->blocks.v[s->blocks.n++] = b;
		addr = b.addr + b.size;
	}
	g->n_blocks = (uint32_t)n;
	return TIDE_OK;
}

static uint8_t segment_kind(reader *r, tide_pv v, bool host)
{
	tide_pv type = get(r, v, K_segment_type);
	return host					? TIDE_SEGMENT_HOST
	       : type == tide__pv(TIDE_PV_KEY, K_small) ? TIDE_SEGMENT_SMALL
	       : type == tide__pv(TIDE_PV_KEY, K_large) ? TIDE_SEGMENT_LARGE
							: TIDE_SEGMENT_UNKNOWN;
}

static const char *segment(reader *r, tide_pv v, bool host, tide_snap_segment *g)
{
	static const uint8_t known[] = { K_device,
					 K_address,
					 K_total_size,
					 K_allocated_size,
					 K_active_size,
					 K_requested_size,
					 K_stream,
					 K_segment_type,
					 K_segment_pool_id,
					 K_is_expandable,
					 K_frames,
					 K_blocks,
					 K_N };
	uint64_t device = 0;
	int64_t stream = 0;
	*g = (tide_snap_segment){ 0 };
	if (tide__pv_tag(v) != TIDE_PV_DICT)
		return "a segment that is not a dict";
	if (!get_u64(r, v, K_address, &g->addr) || !get_u64(r, v, K_total_size, &g->size) ||
	    g->size >= TIDE_SNAP_MAX_SIZE || g->addr > UINT64_MAX - g->size)
		return "a segment without a possible address and size";
	(void)get_u64(r, v, K_device, &device);
	if (device > 4095)
		return "a segment of an impossible device";
	(void)tide__pickle_i64(r->p, get(r, v, K_stream), &stream);
	if (!tide__snap_get_stream(r, stream, &g->stream))
		return "";
	(void)tide__snap_pool_id(r->p, get(r, v, K_segment_pool_id), &g->pool);
	(void)tide__snap_stack(get(r, v, K_frames), &g->stack);
	g->has_frames = g->stack != 0;
	g->device = host ? TIDE_SNAP_HOST : (uint32_t)device;
	g->kind = segment_kind(r, v, host);
	g->expandable = get(r, v, K_is_expandable) == tide__pv(TIDE_PV_CONST, 2);
	count_unknown(r, v, known);
	return NULL;
}

static tide_code segments(reader *r, tide_pv v, bool host)
{
	const char *path = host ? "host_segments" : "segments";
	size_t n;
	tide_snap *s = r->s;
	if (!is_list(v))
		return tide__fail(r->err, TIDE_EFORMAT, tide__pickle_offset(r->p, v),
				  "%s is not a list", path);
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	if (s->segments.n + n > r->n_bytes)
		return listed_again(r, path);
	for (size_t i = 0; i < n; i++) {
		tide_snap_segment g;
		tide_pv at = tide__pickle_settle(r->p, items[i]);
		const char *bad = segment(r, at, host, &g);
		if (r->client.failed)
			return r->client.failed;
		if (bad)
			return wrong(r, items[i], path, i, bad);
		tide_code rc = blocks(r, get(r, at, K_blocks), &g, path, i);
		if (rc)
			return rc;
		if (!TIDE_SNAP_ROOM(s->segments))
			return nomem(r);
		s->segments.v[s->segments.n++] = g;
	}
	return TIDE_OK;
}

/* ---- traces ---- */

/* Returns the trace of a device, created if needed (all host traces are one). */
static tide_snap_trace *trace_of(reader *r, uint32_t device)
{
	tide_snap *s = r->s;
	for (size_t k = 0; k < s->traces.n && device == TIDE_SNAP_HOST; k++)
		if (s->traces.v[k].device == device)
			return &s->traces.v[k];
	if (!TIDE_SNAP_ROOM(s->traces))
		return NULL;
	s->traces.v[s->traces.n] = (tide_snap_trace){ .device = device };
	return &s->traces.v[s->traces.n++];
}

/* Reserves n more events, and converts a range to a list. */
static bool more_events(tide_snap_trace *t, size_t n)
{
	bool range = !t->events;
	if (!TIDE_RESIZE(t->events, t->n + n))
		return false;
	for (size_t i = 0; range && i < t->n; i++)
		t->events[i] = t->first + (uint32_t)i;
	return true;
}

static tide_code trace(reader *r, tide_pv v, uint32_t device, const char *path, size_t i)
{
	size_t n;
	uint32_t id;
	tide_pv first = TIDE_PV_NONE;
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	tide_snap_trace *t = trace_of(r, device);
	if (!t)
		return nomem(r);
	bool range = tide__pickle_range(r->p, v, &first, &n) && tide__pv_is(first, MADE_EVENT, &id);
	if (range && !t->n) {
		t->first = id;
		t->n = n;
		return TIDE_OK;
	}
	if (t->n + n > r->n_bytes)
		return listed_again(r, path);
	if (!more_events(t, n))
		return nomem(r);
	for (size_t k = 0; k < n; k++) {
		tide_pv e =
			items ? tide__pickle_settle(r->p, items[k]) : first + ((uint64_t)k << 4);
		if (!tide__pv_is(e, MADE_EVENT, &t->events[t->n + k])) {
			char text[80];
			snprintf(text, sizeof text, "item %zu is not an allocator event", k);
			return wrong(r, items ? items[k] : v, path, i, text);
		}
	}
	t->n += n;
	return TIDE_OK;
}

static tide_code traces(reader *r, tide_pv v, bool host)
{
	const char *path = host ? "host_traces" : "device_traces";
	size_t n;
	uint32_t id;
	if (!is_list(v))
		return tide__fail(r->err, TIDE_EFORMAT, tide__pickle_offset(r->p, v),
				  "%s is not a list", path);
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	tide_pv first = n ? tide__pickle_settle(r->p, items[0]) : TIDE_PV_NONE;
	size_t many;
	(void)tide__pickle_range(r->p, v, &first, &many);
	if (host && tide__pv_is(first, MADE_EVENT, &id))
		return trace(r, v, TIDE_SNAP_HOST, path, 0);
	if (n > 4096)
		return tide__fail(r->err, TIDE_ELIMIT, tide__pickle_offset(r->p, v),
				  "%s of %zu devices", path, n);
	for (size_t i = 0; i < n; i++) {
		tide_pv list = tide__pickle_settle(r->p, items[i]);
		if (!is_list(list))
			return wrong(r, items[i], path, i, "a trace that is not a list");
		tide_code rc = trace(r, list, host ? TIDE_SNAP_HOST : (uint32_t)i, path, i);
		if (rc)
			return rc;
	}
	return TIDE_OK;
}

/* ---- annotations ---- */

static tide_code notes(reader *r, tide_pv v)
{
	static const uint8_t known[] = { K_stage, K_name, K_device, K_time_us, K_N };
	size_t n, len;
	tide_snap *s = r->s;
	const tide_pv *items = tide__pickle_items(r->p, v, &n);
	if (n > INT32_MAX)
		return listed_again(r, "external_annotations");
	for (size_t i = 0; i < n; i++) {
		tide_pv at = tide__pickle_settle(r->p, items[i]);
		tide_snap_note note = { .stage = 2 };
		uint64_t device = 0;
		tide_pv stage = get(r, at, K_stage);
		const char *name = tide__pickle_text(r->p, get(r, at, K_name), &len);
		if (!name || !tide__pickle_i64(r->p, get(r, at, K_time_us), &note.time_us) ||
		    note.time_us <= INT64_MIN / 2000 || note.time_us >= INT64_MAX / 2000)
			return wrong(r, items[i], "external_annotations", i,
				     "an annotation without a name and a time");
		note.name = tide__intern_n(r->m, name, len);
		if (len && !note.name.i)
			return nomem(r);
		if (get_u64(r, at, K_device, &device))
			note.device = device > 4095 ? 0 : (uint32_t)device;
		if (stage == tide__pv(TIDE_PV_KEY, K_START))
			note.stage = 0;
		else if (stage == tide__pv(TIDE_PV_KEY, K_END))
			note.stage = 1;
		count_unknown(r, at, known);
		if (!TIDE_SNAP_ROOM(s->notes))
			return nomem(r);
		s->notes.v[s->notes.n++] = note;
	}
	return TIDE_OK;
}

/* ---- settings ---- */

/* {"1": 0, "2": 4, ...}: divisions by size in MiB; the fact lists those that divide. */
static tide_code divisions(reader *r, tide_pv v, const char *fact)
{
	size_t n, len, used = 0;
	char text[512] = "";
	const tide_pv *kv = tide__pickle_items(r->p, v, &n);
	for (size_t i = 0; i < n; i += 2) {
		uint64_t div, mib = 0;
		const char *key = tide__pickle_text(r->p, kv[i], &len);
		for (size_t k = 0; key && k < len && k < 6 && key[k] >= '0' && key[k] <= '9'; k++)
			mib = mib * 10 + (uint64_t)(key[k] - '0');
		if (!mib || (mib & (mib - 1)) || mib > 32768 ||
		    !tide__pickle_u64(r->p, kv[i + 1], &div)) {
			r->unknown_keys++;
			continue;
		}
		r->s->settings.divisions[__builtin_ctzll(mib)] = div;
		if (div && used < sizeof text - 48)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu:%llu",
						 used ? "," : "", (unsigned long long)mib,
						 (unsigned long long)div);
	}
	return tide__fact_text(r->m, fact, text) ? TIDE_OK : nomem(r);
}

/* Keeps a text that our own exports add (exported.h). */
static tide_code keep(reader *r, tide_pv v, char **to)
{
	size_t n;
	const char *text = tide__pickle_text(r->p, v, &n);
	tide__free(*to);
	*to = text ? tide__strndup(text, n) : NULL;
	return *to || !text ? TIDE_OK : nomem(r);
}

static tide_code setting(reader *r, tide_pv key, tide_pv v)
{
	char fact[96], number[40];
	size_t n;
	int64_t i;
	double f;
	const char *name = tide__pickle_text(r->p, key, &n);
	if (!name || !n || n > 80 || memchr(name, 0, n)) {
		r->unknown_keys++;
		return TIDE_OK;
	}
	snprintf(fact, sizeof fact, "allocator.%.*s", (int)n, name);
	if (!strcmp(fact, "allocator.tidemark_devices"))
		return keep(r, v, &r->s->settings.devices);
	if (!strcmp(fact, "allocator.tidemark_reserved"))
		return keep(r, v, &r->s->settings.reserved);
	if (tide__pv_tag(v) == TIDE_PV_DICT) {
		if (key == tide__pv(TIDE_PV_KEY, K_roundup_power2_divisions))
			return divisions(r, v, fact);
		r->unknown_keys++;
		return TIDE_OK;
	}
	if (tide__pickle_i64(r->p, v, &i)) {
		if (key == tide__pv(TIDE_PV_KEY, K_max_split_size) && i > 0)
			r->s->settings.max_split = (uint64_t)i;
		if (key == tide__pv(TIDE_PV_KEY, K_expandable_segments))
			r->s->settings.expandable = i != 0;
		if (!strcmp(fact, "allocator.exact_sizes"))
			r->s->settings.exact = i != 0;
		if (!strcmp(fact, "allocator.no_segments"))
			r->s->settings.bare = i != 0;
		return tide__fact_set_number(r->m, fact, i) ? TIDE_OK : nomem(r);
	}
	if (tide__pickle_f64(r->p, v, &f)) {
		snprintf(number, sizeof number, "%.15g", f);
		return tide__fact_text(r->m, fact, number) ? TIDE_OK : nomem(r);
	}
	const char *text = tide__pickle_text(r->p, v, &n);
	if (!text) {
		r->unknown_keys++;
		return TIDE_OK;
	}
	char *copy = tide__strndup(text, n);
	bool ok = copy && tide__fact_text(r->m, fact, copy);
	tide__free(copy);
	return ok ? TIDE_OK : nomem(r);
}

static tide_code settings(reader *r, tide_pv v)
{
	enum { MOST = 256 }; /* facts are searched one by one */
	size_t n;
	if (tide__pv_tag(v) != TIDE_PV_DICT) {
		r->unknown_keys++;
		return TIDE_OK;
	}
	const tide_pv *kv = tide__pickle_items(r->p, v, &n);
	for (size_t i = 0; i < n; i += 2) {
		if (i >= MOST * 2) {
			r->unknown_keys += (n - i) / 2;
			break;
		}
		tide_code rc = setting(r, kv[i], tide__pickle_settle(r->p, kv[i + 1]));
		if (rc)
			return rc;
	}
	return TIDE_OK;
}

/* ---- the top ---- */

static tide_code part(reader *r, tide_pv key, tide_pv v)
{
	switch (tide__pv_tag(key) == TIDE_PV_KEY ? tide__pv_payload(key) : (uint64_t)K_N) {
	case K_segments:
		return segments(r, v, false);
	case K_host_segments:
		return segments(r, v, true);
	case K_device_traces:
		return traces(r, v, false);
	case K_host_traces:
		return traces(r, v, true);
	case K_external_annotations:
		return notes(r, v);
	case K_allocator_settings:
		return settings(r, v);
	default:
		r->unknown_keys++;
		return TIDE_OK;
	}
}

static const char *kind_of(tide_pv v)
{
	static const char *const names[16] = {
		[TIDE_PV_CONST] = "a constant", [TIDE_PV_INT] = "a number",
		[TIDE_PV_KEY] = "a text",	[TIDE_PV_TEXT] = "a text",
		[TIDE_PV_NUM] = "a number",	[TIDE_PV_BYTES] = "bytes",
		[TIDE_PV_PAIR] = "a tuple",	[TIDE_PV_LIST] = "a list",
		[TIDE_PV_DICT] = "a dict",	[TIDE_PV_MADE] = "a part of one",
	};
	return names[tide__pv_tag(v)] ? names[tide__pv_tag(v)] : "nothing";
}

/* torch.cuda.memory_snapshot() returns the list of segments alone. */
static bool is_segment_list(reader *r, tide_pv root)
{
	size_t n;
	const tide_pv *items = tide__pickle_items(r->p, root, &n);
	return is_list(root) && n && get(r, items[0], K_total_size) != TIDE_PV_NONE;
}

static tide_code parts(reader *r, tide_pv root)
{
	size_t n;
	const tide_pv *kv = tide__pickle_items(r->p, root, &n);
	for (size_t i = 0; i < n; i += 2) { /* if a key is set twice, the last one counts */
		bool last = true;
		for (size_t k = i + 2; k < n && last && k < i + 512; k += 2)
			last = kv[k] != kv[i];
		tide_code rc =
			last ? part(r, kv[i], tide__pickle_settle(r->p, kv[i + 1])) : TIDE_OK;
		if (rc)
			return rc;
	}
	return TIDE_OK;
}

tide_code tide__snap_walk(tide_snap_reader *r, tide_pickle *p, tide_pv root)
{
	tide_code rc;
	r->p = p;
	r->s->settings.max_split = UINT64_MAX;
	root = tide__pickle_settle(p, root);
	if (is_segment_list(r, root))
		rc = segments(r, root, false);
	else if (tide__pv_tag(root) != TIDE_PV_DICT)
		return tide__fail(r->err, TIDE_EFORMAT, 0,
				  "the pickle holds %s, not a memory snapshot", kind_of(root));
	else if (!get(r, root, K_segments) && !get(r, root, K_device_traces) &&
		 !get(r, root, K_host_traces))
		return tide__fail(
			r->err, TIDE_EFORMAT, 0,
			"the pickle is not a memory snapshot: it has neither segments nor "
			"device_traces");
	else
		rc = parts(r, root);
	if (!rc && tide__pickle_failed(p))
		rc = nomem(r);
	if (!rc && r->unknown_keys &&
	    !tide__fact_set_number(r->m, "snapshot.unknown_keys", (int64_t)r->unknown_keys))
		rc = nomem(r);
	return rc;
}
