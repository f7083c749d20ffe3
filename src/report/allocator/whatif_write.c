// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/allocator/whatif_write.h"
#include "render/text/labels.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const tide_member tide__whatif_result_members[] = {
	{ "settings", "Settings", TIDE_KIND_TEXT, .meaning = "allocator settings" },
	{ "older_allocations", NULL, TIDE_KIND_WORD, .words = "kept,anew",
	  .meaning = "allocations older than the recording: kept in place, or placed again" },
	{ "recorded_settings", NULL, TIDE_KIND_WORD, .words = "yes,no",
	  .meaning = "whether they are those of the recording" },
	{ "reserved_peak_bytes", "Reserved peak", TIDE_KIND_BYTES,
	  .meaning = "highest reserved bytes" },
	{ "reserved_peak_delta_bytes", "Change", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "difference from the recording" },
	{ "allocated_peak_bytes", "Allocated peak", TIDE_KIND_BYTES, 6,
	  .meaning = "highest allocated bytes" },
	{ "active_at_reserved_peak_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "bytes in use at the reserved peak" },
	{ "unused_at_peak_pct", "Unused", TIDE_KIND_PCT, 7, .may = TIDE_MAY_BE_NULL,
	  .meaning = "part of the reserved peak that was not in use" },
	{ "segments_peak", "Segments", TIDE_KIND_COUNT, 9, .meaning = "most segments at a time" },
	{ "segments_taken", NULL, TIDE_KIND_COUNT, .meaning = "segments taken from the device" },
	{ "segments_given_back", NULL, TIDE_KIND_COUNT, .meaning = "segments released" },
	{ "alloc_retries", "Retries", TIDE_KIND_COUNT, 8,
	  .meaning = "requests that needed the cache to be emptied" },
	{ "inactive_split_bytes_at_end", NULL, TIDE_KIND_BYTES,
	  .meaning = "free bytes beside blocks in use at the end" },
	{ "largest_free_bytes_at_end", NULL, TIDE_KIND_BYTES,
	  .meaning = "largest free block at the end" },
	{ "gc_bytes", NULL, TIDE_KIND_BYTES, .meaning = "released by garbage collection" },
	{ "recorded_ooms", NULL, TIDE_KIND_COUNT, .meaning = "failed requests of the recording" },
	{ "recorded_ooms_served", "OOMs served", TIDE_KIND_COUNT, 5, .may = TIDE_MAY_BE_NULL,
	  .meaning = "of these, requests that succeed now" },
	{ "runs_out", "Runs out", TIDE_KIND_TEXT, .meaning = "whether and when memory runs out" },
	{ "runs_out_time_ns", NULL, TIDE_KIND_NS, .may = TIDE_MAY_BE_NULL, .meaning = "when" },
	{ "runs_out_event", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "at this memory event" },
	{ "runs_out_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "at this request" },
	{ "runs_out_device_free_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "free on the device then" },
	{ 0 },
};
enum { N_COLS = sizeof tide__whatif_result_members / sizeof(tide_member) - 1 };

static void out_cells(tide_grid *g, const tide_whatif *x, const tide_sim_result *r)
{
	const tide_request *q = r->out && r->out_req < x->q->n ? &x->q->r[r->out_req] : NULL;
	char text[64], t[32];

	if (!r->out) {
		tide__grid_text(g, r->oom_fit < r->oom_seen ? "only as recorded" : "no");
	} else if (!q) {
		tide__grid_text(g, "before the recording begins");
	} else {
		snprintf(text, sizeof text, "at %s",
			 tide__fmt_ns(t, sizeof t, (double)tide__whatif_time(x, q)));
		tide__grid_text(g, text);
	}
	if (!q) {
		for (int i = 0; i < 4; i++)
			tide__grid_none(g);
		return;
	}
	tide__grid_int(g, tide__whatif_time(x, q));
	tide__grid_uint(g, q->event);
	tide__grid_uint(g, q->size);
	tide__grid_uint(g, r->out_free);
}

static double unused_pct(const tide_sim_stats *s)
{
	return s->reserved_peak ? 100.0 * (double)(s->reserved_peak - s->active_at_peak) /
					  (double)s->reserved_peak
				: NAN;
}

static void result_row(tide_grid *g, const tide_whatif *x, const tide_sim_result *r)
{
	char text[440];
	tide__sim_describe(&r->config, text, 400);
	if (r->same_settings && x->q->n_before)
		strcat(text, r->anew ? " (pre-existing blocks re-placed)" : " (as recorded)");
	tide__grid_text(g, text);
	tide__grid_text(g, r->anew ? "anew" : "kept");
	tide__grid_text(g, r->same_settings && x->q->settings_known ? "yes" : "no");
	tide__grid_uint(g, r->st.reserved_peak);
	x->reserved == TIDE_RESERVED_NONE || r->out /* a replay that ran out has no saving */
		? tide__grid_none(g)
		: tide__grid_int(g, (int64_t)(r->st.reserved_peak - x->reserved));
	tide__grid_uint(g, r->st.allocated_peak);
	tide__grid_uint(g, r->st.active_at_peak);
	tide__grid_real(g, unused_pct(&r->st));
	tide__grid_uint(g, r->st.segments_peak);
	tide__grid_uint(g, r->st.n_seg_alloc);
	tide__grid_uint(g, r->st.n_seg_free);
	tide__grid_uint(g, r->st.retries);
	tide__grid_uint(g, r->inactive_split);
	tide__grid_uint(g, r->largest_free);
	tide__grid_uint(g, r->st.gc_bytes);
	tide__grid_uint(g, r->oom_seen);
	r->oom_seen ? tide__grid_uint(g, r->oom_fit) : tide__grid_none(g);
	out_cells(g, x, r);
}

static tide_grid *results(const tide_whatif *x)
{
	tide_grid *g = tide__grid_new(tide__whatif_result_members, N_COLS);

	for (size_t i = 0; i < x->sweep.n; i++)
		result_row(g, x, &x->sweep.v[i]);
	return g;
}

/* Writes what the replay does at the first difference: the text after "it". */
static const char *difference_text(const tide_sim_result *c, char *buf, size_t n)
{
	unsigned long long size = c->difference.size, addr = c->difference.addr;
	unsigned long long recorded = c->difference.recorded;

	switch (c->difference.what) {
	case TIDE_SIM_TAKES_EXTRA:
		snprintf(buf, n, "takes a segment of %llu bytes where the recording took none",
			 size);
		break;
	case TIDE_SIM_TAKES_SIZE:
		snprintf(buf, n, "takes a segment of %llu bytes where the recording took %llu",
			 size, recorded);
		break;
	case TIDE_SIM_TAKES_PLACE:
		snprintf(
			buf, n,
			"takes a segment of %llu bytes that the recording took for another pool or stream",
			size);
		break;
	case TIDE_SIM_MAPS:
		snprintf(buf, n, "maps %llu bytes at 0x%llx where the recording mapped %llu", size,
			 addr, recorded);
		break;
	case TIDE_SIM_RELEASES:
		snprintf(buf, n, "releases %llu bytes at 0x%llx where the recording released %llu",
			 size, addr, recorded);
		break;
	case TIDE_SIM_PUTS:
		snprintf(buf, n, "puts %llu bytes at 0x%llx where the recording has them at 0x%llx",
			 size, addr, recorded);
		break;
	case TIDE_SIM_RUNS_OUT:
		snprintf(buf, n, "runs out of memory where the recording did not");
		break;
	case TIDE_SIM_DOES_NOT_TAKE:
	case TIDE_SIM_DOES_NOT_RELEASE:
		snprintf(buf, n, "does not %s the segment of %llu bytes at 0x%llx as recorded",
			 c->difference.what == TIDE_SIM_DOES_NOT_TAKE ? "take" : "give back", size,
			 addr);
		break;
	}
	return buf;
}

/* Prints whether replaying the recorded settings reproduces the recording. */
static void print_agreement(const tide_out *to, const tide_whatif *x)
{
	const tide_sim_result *c = &x->sweep.recorded;
	char n[32], t[32], why[200];

	tide__fmt_count(n, sizeof n, (int64_t)c->checked);
	if (!c->diverged && !x->q->n_taken)
		fputs("check: the recording has no segment events, and neither has the replay\n",
		      to->out);
	else if (!c->diverged)
		fprintf(to->out,
			"check: replay reproduces all %s recorded segment events in order\n", n);
	else
		fprintf(to->out,
			"check: replay reproduces %s of %zu segment events, then at %s it %s\n", n,
			x->q->n_taken,
			c->diverged_req < x->q->n
				? tide__fmt_ns(
					  t, sizeof t,
					  (double)tide__whatif_time(x, &x->q->r[c->diverged_req]))
				: "the end",
			difference_text(c, why, sizeof why));
}

static void print_check(const tide_out *to, const tide_whatif *x)
{
	uint64_t followed = x->sweep.recorded.followed;
	char text[400], n[32];

	tide__sim_describe(&x->q->recorded, text, sizeof text);
	fprintf(to->out, "recorded settings: %s%s\n", text,
		x->q->settings_known ? "" : " (assumed: not recorded)");
	if (!x->q->n) {
		fputs("the trace has no requests: each row only places the live allocations, in "
		      "address order\n",
		      to->out);
		return;
	}
	if (!x->sweep.recorded_known) {
		fputs("the trace has no segments: the simulator cannot be checked against it\n",
		      to->out);
		if (x->reserved != TIDE_RESERVED_NONE)
			fprintf(to->out, "recorded: highest reserved %s (sampled)\n",
				tide__fmt_bytes(n, sizeof n, (double)x->reserved));
		return;
	}
	if (followed)
		fprintf(to->out,
			"note: %" PRIu64 " segments were released for an unknown reason; "
			"the check follows the recording there\n",
			followed);
	print_agreement(to, x);
}

/* Prints where replays run out, each place once, with the number of replays and the name of the
 * first. */
static void print_out(const tide_out *to, const tide_whatif *x, size_t first)
{
	char text[400], size[32], least[32], most[32], t[32], line[512];
	const tide_sim_result *v = x->sweep.v, *r = &v[first];
	uint64_t lo = r->out_free, hi = r->out_free;
	size_t n = 0;

	if (!r->out || r->out_req >= x->q->n)
		return;
	for (size_t i = 0; i < x->sweep.n; i++)
		if (v[i].out && v[i].out_req == r->out_req) {
			if (i < first)
				return; /* reported */
			lo = v[i].out_free < lo ? v[i].out_free : lo;
			hi = v[i].out_free > hi ? v[i].out_free : hi;
			n++;
		}
	const tide_request *q = &x->q->r[r->out_req];
	tide_stack_id s =
		q->kind == TIDE_REQ_ALLOC ? x->m->allocs.stack[q->id] : (tide_stack_id){ 0 };

	tide__sim_describe(&r->config, text, sizeof text);
	if (n > 1)
		snprintf(line, sizeof line, " and %zu more run", n - 1);
	fprintf(to->out, "  %s%s out at %s (event %u): %s requested, %s%s%s left on the device\n",
		text, n > 1 ? line : " runs",
		tide__fmt_ns(t, sizeof t, (double)tide__whatif_time(x, q)), q->event,
		tide__fmt_bytes(size, sizeof size, (double)q->size),
		tide__fmt_bytes(least, sizeof least, (double)lo), hi > lo ? " to " : "",
		hi > lo ? tide__fmt_bytes(most, sizeof most, (double)hi) : "");
	if (s.i) {
		fputs("    ", to->out);
		tide__put_text(to, tide__stack_write_line(x->m, s, line, sizeof line));
		fputc('\n', to->out);
	}
}

/* Prints the result in one line, if memory is limited. */
static void print_verdict(const tide_out *to, const tide_whatif *x)
{
	size_t through = 0, serve = 0, n = x->sweep.n;
	bool failed = false;

	for (size_t i = 0; i < n; i++) {
		const tide_sim_result *r = &x->sweep.v[i];

		through += !r->out;
		serve += !r->out && r->oom_seen && r->oom_fit == r->oom_seen;
		failed |= r->oom_seen > 0;
	}
	if (!x->capacity || !n || !x->q->n)
		return;
	if (!through)
		fprintf(to->out, "Memory runs out with %s.\n",
			n > 1 ? "all of these settings" : "these settings");
	else if (failed && !serve)
		fputs("The request that failed when recorded fails with all of these settings.\n",
		      to->out);
	else if (failed)
		fprintf(to->out, "With %zu of these %zu settings no request fails.\n", serve, n);
	else if (n > 1 && through == n)
		fputs("Memory suffices with all of these settings.\n", to->out);
	else if (n > 1)
		fprintf(to->out, "Memory suffices with %zu of these %zu settings.\n", through, n);
	else
		fputs("Memory suffices.\n", to->out);
}

static void print_notes(const tide_out *to, const tide_whatif *x)
{
	char b[32], n[32];
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->q->n_blocks; i++)
		bytes += x->q->blocks[i].size;
	if (x->q->n_blocks)
		fprintf(to->out,
			"note: allocations older than the recording: %s (%s); %sthey are "
			"re-placed first, in address order\n",
			tide__fmt_count(n, sizeof n, (int64_t)x->q->n_blocks),
			tide__fmt_bytes(b, sizeof b, (double)bytes),
			x->q->n_before ? "except in rows \"as recorded\" " : "");
	if (x->gc_left_out)
		fputs("note: garbage_collection_threshold is not tried: it needs --capacity\n",
		      to->out);
	if (x->q->n_empty)
		fprintf(to->out,
			"note: the program emptied the cache %s time%s, and so do the replays\n",
			tide__fmt_count(n, sizeof n, (int64_t)x->q->n_empty),
			x->q->n_empty == 1 ? "" : "s");
}

static void print_nothing(const tide_whatif *x, const tide_out *to)
{
	fputs(x->m->allocs.n > 1 ? "The trace holds no allocations of a device's caching "
				   "allocator: there is nothing to replay.\n"
				 : "The trace holds no allocations.\n",
	      to->out);
	tide__put_model_losses(to, x->m);
}

void tide__whatif_text(const tide_whatif *x, const tide_out *to)
{
	char name[64], b[32], n[32];

	if (!x->q) {
		print_nothing(x, to);
		return;
	}
	tide__device_name(x->m, x->device, name, sizeof name);
	tide__write_heading(to, "%s: %s requests replayed %s %s", name,
			    tide__fmt_count(n, sizeof n, (int64_t)x->q->n),
			    x->capacity ? "within" : "in",
			    x->capacity ? tide__fmt_bytes(b, sizeof b, (double)x->capacity)
					: "unlimited memory");
	print_check(to, x);
	fputc('\n', to->out);
	tide__grid_write(results(x), to, 2);
	fputc('\n', to->out);
	print_verdict(to, x);
	for (size_t i = 0; i < x->sweep.n; i++)
		print_out(to, x, i);
	print_notes(to, x);
	tide__put_model_losses(to, x->m);
}

static void json_check(tide_json *j, const tide_whatif *x)
{
	const tide_sim_result *c = &x->sweep.recorded;
	char text[400], why[200];

	tide__sim_describe(&x->q->recorded, text, sizeof text);
	tide__json_kobject(j, "recorded");
	tide__json_kstr(j, "settings", text);
	tide__json_kbool(j, "settings_known", x->q->settings_known);
	tide__json_kmaybe(j, "reserved_peak_bytes", x->reserved);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(x->source));
	if (x->sweep.recorded_known) {
		tide__json_kuint(j, "segment_events", x->q->n_taken);
		tide__json_kuint(j, "segment_events_reproduced", c->checked);
		tide__json_kuint(j, "segment_events_followed", c->followed);
		x->q->n ? tide__json_kbool(j, "reproduced", !c->diverged)
			: tide__json_knull(j, "reproduced");
		tide__json_kstr(j, "difference",
				c->diverged ? difference_text(c, why, sizeof why) : NULL);
		tide__json_kuint(j, "simulated_reserved_peak_bytes", c->st.reserved_peak);
		tide__json_kuint(j, "simulated_allocated_peak_bytes", c->st.allocated_peak);
	} else {
		tide__json_knull(j, "reproduced");
	}
	tide__json_kuint(j, "empty_cache_calls", x->q->n_empty);
	tide__json_kuint(j, "allocations_before", x->q->n_blocks);
	tide__json_object_end(j);
}

static void json_out(tide_json *j, const tide_whatif *x)
{
	tide__json_karray(j, "runs_out");
	for (size_t i = 0; i < x->sweep.n; i++) {
		const tide_sim_result *r = &x->sweep.v[i];

		if (!r->out || r->out_req >= x->q->n || x->q->r[r->out_req].kind != TIDE_REQ_ALLOC)
			continue;
		char text[400];

		tide__json_object(j);
		tide__sim_describe(&r->config, text, sizeof text);
		tide__json_kstr(j, "settings", text);
		tide__stack_json(j, "stack", x->m, x->m->allocs.stack[x->q->r[r->out_req].id]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void json_nothing(const tide_whatif *x, tide_json *j)
{
	tide__json_knull(j, "device");
	tide__json_knull(j, "capacity_bytes");
	tide__json_kuint(j, "requests", 0);
	tide__json_karray(j, "results");
	tide__json_array_end(j);
	tide__json_karray(j, "runs_out");
	tide__json_array_end(j);
	tide__losses_json(j, x->m);
}

void tide__whatif_json(const tide_whatif *x, tide_json *j)
{
	char name[64];

	if (!x->q) {
		json_nothing(x, j);
		return;
	}
	tide__json_kstr(j, "device", tide__device_name(x->m, x->device, name, sizeof name));
	if (x->capacity)
		tide__json_kuint(j, "capacity_bytes", x->capacity);
	else
		tide__json_knull(j, "capacity_bytes");
	tide__json_kuint(j, "requests", x->q->n);
	json_check(j, x);
	tide__grid_write_member(results(x), j, "results");
	json_out(j, x);
	tide__losses_json(j, x->m);
}
