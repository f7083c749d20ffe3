// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/allocator/oom.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/text/grid.h"
#include "render/text/labels.h"

static size_t bank_lines(const tide_oom *o, tide_oom_line *out)
{
	const tide_oom_banks *b = &o->banks;
	const char *when = b->exact ? "when it failed" : "before the operation";
	const tide_oom_line lines[] = {
		{ "requested", true, o->asked, "" },
		{ "needed in each bank", true, b->need, "" },
		{ "size of a bank", b->size != TIDE_BANK_UNKNOWN, b->size, "" },
		{ "allocated in a bank", b->allocated != TIDE_BANK_UNKNOWN, b->allocated, when },
		{ "free in a bank", b->free != TIDE_BANK_UNKNOWN, b->free, when },
		{ "  largest contiguous", b->largest != TIDE_BANK_UNKNOWN, b->largest, when },
	};
	memcpy(out, lines, sizeof lines);
	return sizeof lines / sizeof *lines;
}

size_t tide__oom_write_lines(const tide_oom *o, tide_oom_line out[TIDE_OOM_LINES])
{
	if (o->banks.n)
		return bank_lines(o, out);
	bool k = o->segments_known, d = o->device_free >= 0, r = o->reserved != TIDE_RESERVED_NONE;
	bool limited = o->cause == TIDE_OOM_LIMITED, told = o->limit != TIDE_RESERVED_NONE;
	const tide_oom_line lines[TIDE_OOM_LINES] = {
		{ "requested", true, o->asked, "" },
		{ "segment needed for it", true, o->needed, "requested from the device" },
		{ "free on the device", d, (uint64_t)o->device_free, "" },
		{ "reserved by the allocator", r, o->reserved,
		  o->source == TIDE_RESERVED_SAMPLES ? "sampled" : "" },
		{ "allocated", true, o->at.allocated, "" },
		{ "reserved but unallocated", r, o->unallocated, "" },
		{ "  largest free block", k, o->at.largest_free,
		  o->replayed ? "replayed, with every block at its recorded address" : "" },
		{ "  between blocks in use", k, o->at.inactive_split,
		  "inactive split: cannot be released" },
		limited && told ? (tide_oom_line){ "limit on the process", true, o->limit,
						   "set_per_process_memory_fraction" }
		: limited	? (tide_oom_line){ "limit on the process, below", true, o->below,
						   "reserved + segment needed" }
				: (tide_oom_line){ "capacity of the allocator", o->capacity != 0,
						   o->capacity, "reserved + free on the device" },
	};
	memcpy(out, lines, sizeof lines);
	return TIDE_OOM_LINES;
}

static const char *bank_why(const tide_oom *o, char *buf, size_t n)
{
	const tide_oom_banks *k = &o->banks;
	char a[32], b[32], c[32];
	tide__fmt_bytes(a, sizeof a, (double)k->need);
	tide__fmt_bytes(b, sizeof b, (double)k->free);
	tide__fmt_bytes(c, sizeof c, (double)k->largest);
	if (!k->size)
		snprintf(
			buf, n,
			"Each of %u banks needs %s, but the device was opened without this kind of "
			"memory (l1_small_size, trace_region_size).",
			k->n, a);
	else if (k->size < k->need)
		snprintf(buf, n, "Each of %u banks needs %s, but a bank has only %s.", k->n, a,
			 tide__fmt_bytes(b, sizeof b, (double)k->size));
	else if (o->cause == TIDE_OOM_FULL)
		snprintf(buf, n,
			 "Too much was in use: each of %u banks needs %s and had %s free; %s are "
			 "missing in each.",
			 k->n, a, b, tide__fmt_bytes(c, sizeof c, (double)o->missing / k->n));
	else if (o->cause == TIDE_OOM_FRAGMENTED)
		snprintf(
			buf, n,
			"Fragmented: each of %u banks needs %s and had %s free, but only %s of them "
			"were contiguous.",
			k->n, a, b, c);
	else if (k->free != TIDE_BANK_UNKNOWN)
		snprintf(
			buf, n,
			"Each of %u banks needs %s and had %s free before the operation. The "
			"operation allocated more before this request; the log does not say how much.",
			k->n, a, b);
	else
		snprintf(buf, n,
			 "Each of %u banks needs %s. The log has no memory state before it.", k->n,
			 a);
	return buf;
}

const char *tide__oom_why(const tide_oom *o, char *buf, size_t n)
{
	uint64_t there = o->device_free > 0 ? (uint64_t)o->device_free : 0;
	uint64_t most = o->at.largest_free > there ? o->at.largest_free : there;
	char b[32], c[32];
	if (o->banks.n)
		return bank_why(o, buf, n);
	if (o->cause == TIDE_OOM_FULL)
		snprintf(buf, n,
			 "Too much was in use: even with all free bytes in one block, %s would "
			 "have been missing.",
			 tide__fmt_bytes(b, sizeof b, (double)o->missing));
	else if (o->cause == TIDE_OOM_FRAGMENTED && !o->segments_known)
		snprintf(buf, n,
			 "Fragmented: %s were free in total, but no block was large enough.",
			 tide__fmt_bytes(b, sizeof b, (double)o->at.free + (double)there));
	else if (o->cause == TIDE_OOM_FRAGMENTED)
		snprintf(buf, n,
			 "Fragmented: %s were free in total, but no block was large enough; the "
			 "largest has %s.",
			 tide__fmt_bytes(b, sizeof b, (double)o->at.free + (double)there),
			 tide__fmt_bytes(c, sizeof c, (double)most));
	else if (o->cause == TIDE_OOM_LIMITED)
		snprintf(buf, n,
			 "Limited: the device had %s free, more than needed; a limit on this "
			 "process (set_per_process_memory_fraction) refused it.",
			 tide__fmt_bytes(b, sizeof b, (double)there));
	else
		snprintf(buf, n,
			 "The cause is unknown: the trace lacks the free or the reserved bytes.");
	return buf;
}

bool tide__oom_write_difference(const tide_oom *o, char *buf, size_t n)
{
	static const char *const what[] = { [TIDE_OOM_RESERVED] = "reserved bytes are",
					    [TIDE_OOM_ALLOCATED] = "allocated bytes are",
					    [TIDE_OOM_ADDRESS] = "a block is at address",
					    [TIDE_OOM_SIZE] = "the bytes of a block are" };
	const tide_oom_difference *d = &o->differs;
	if (o->segments_known || d->what == TIDE_OOM_SAME)
		return false;
	if (d->what == TIDE_OOM_NOT_REPLAYED)
		snprintf(buf, n, "the requests cannot be replayed");
	else if (d->what == TIDE_OOM_NO_REQUEST)
		snprintf(buf, n, "the failed request is not one of the device's allocator");
	else if (d->what == TIDE_OOM_FAILS || d->what == TIDE_OOM_SUCCEEDS)
		snprintf(buf, n,
			 "a replay differs at request %zu of %zu: %" PRIu64 " bytes are %s there",
			 d->request, d->n, d->recorded,
			 d->what == TIDE_OOM_FAILS ? "refused" : "served");
	else
		snprintf(buf, n,
			 "a replay differs at request %zu of %zu: %s %" PRIu64
			 ", recorded %" PRIu64,
			 d->request, d->n, what[d->what], d->here, d->recorded);
	return true;
}

/* ---- for pages ---- */

/* The output of a label function, to be written as a JSON text. */
struct text {
	FILE *f;
	char *s;
	size_t n;
};

static bool text_open(struct text *t)
{
	*t = (struct text){ 0 };
	t->f = open_memstream(&t->s, &t->n);
	return t->f != NULL;
}

static bool text_put(struct text *t, tide_json *j)
{
	bool ok = !fclose(t->f);
	if (ok)
		tide__json_strn(j, t->s, t->n);
	free(t->s);
	return ok;
}

static void put_lines(tide_json *j, const tide_oom *o)
{
	tide_oom_line lines[TIDE_OOM_LINES];
	size_t n = tide__oom_write_lines(o, lines);
	tide__json_karray(j, "lines");
	for (size_t i = 0; i < n; i++) {
		tide__json_array(j);
		tide__json_str(j, lines[i].name);
		lines[i].known ? tide__json_uint(j, lines[i].bytes) : tide__json_null(j);
		tide__json_str(j, lines[i].more);
		tide__json_array_end(j);
	}
	tide__json_array_end(j);
}

static bool put_holders(tide_json *j, const tide_model *m, const tide_oom *o)
{
	bool ok = true;
	tide__json_karray(j, "holders");
	for (size_t i = 0; i < o->n_room && ok; i++) {
		const tide_oom_room *r = &o->room[i];
		struct text t;
		ok = text_open(&t);
		if (!ok)
			break;
		tide__groups_write_brief(&o->groups, m, r->row, &(tide_long){ .brief = true }, t.f);
		tide__json_array(j);
		ok = text_put(&t, j);
		tide__json_uint(j, o->groups.rows[r->row].bytes);
		tide__json_uint(j, o->groups.rows[r->row].count);
		o->rooms_known ? tide__json_bool(j, r->enough) : tide__json_null(j);
		tide__json_array_end(j);
	}
	tide__json_array_end(j);
	return ok;
}

bool tide__oom_write_page(tide_json *j, const tide_model *m, const tide_oom *o)
{
	tide_stack_id s = m->marks.stack[o->mark];
	struct text t;
	bool ok = true;
	tide__json_object(j);
	tide__json_kuint(j, "device", m->pools.device[m->marks.pool[o->mark].i].i);
	tide__json_kuint(j, "capacity", o->capacity);
	tide__json_kuint(j, "banks", o->banks.n);
	tide__json_key(j, "by");
	if (!s.i) {
		tide__json_null(j);
	} else if ((ok = text_open(&t))) {
		tide__stack_write_brief(m, s, t.f);
		ok = text_put(&t, j);
	}
	put_lines(j, o);
	ok = ok && put_holders(j, m, o);
	tide__json_object_end(j);
	return ok;
}
