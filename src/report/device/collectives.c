// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* collectives: what collectives cost over the ranks of a job, who came last, and their clocks. */
#include "analyze/device/rank_collectives.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/device/hta.h"
#include "report/text.h"

extern const tide_report_type tide__report_collectives;

enum { O_TOP = TIDE_HTA_STEPS + 1 };
static const tide_option options[] = {
	[TIDE_HTA_DROP] = { "drop-last-step", 0, TIDE_OPT_FLAG, NULL, "leave out the last step" },
	[TIDE_HTA_STEPS] = { "steps", 0, TIDE_OPT_RANGE, "A..B", "only steps A to B, or step A" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table, 0 = all", .def = "20",
		    .whole = true },
};

struct collectives {
	tide_hta_job *own; /* owned; NULL: the caller analysed the ranks */
	const tide_hta_job *job;
	tide_rank_collectives c;
	char window[80];
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct collectives *x = result;
	tide_hta_options opt = { .calls = true };
	tide_hta_result job = { 0 };
	tide_code rc = tide__hta_read_window(ask, &opt, x->window, sizeof x->window, err);
	x->top = (size_t)ask->opt[O_TOP].num;
	if (rc == TIDE_OK)
		rc = tide__hta_find_job(ask, &opt, &job, err);
	x->own = job.own;
	x->job = job.job;
	return rc == TIDE_OK ? tide__rank_collectives_find(x->job, &x->c, err) : rc;
}

static void free_collectives(void *result)
{
	struct collectives *x = result;
	tide__rank_collectives_free(&x->c);
	tide__hta_job_free(x->own);
}

/* ---- members ---- */

#define NULLABLE TIDE_MAY_BE_NULL
#define GROUP	 TIDE_COLUMN("group", "Group", TEXT, NULLABLE, "name of the process group")

static const tide_member odd[] = {
	TIDE_MEMBER("alone", COUNT, "collectives seen on one rank only"),
	TIDE_MEMBER("too_many_ranks", COUNT, "on more ranks than the group has"),
	TIDE_MEMBER("same_rank_twice", COUNT, "in two traces of one rank"),
	TIDE_MEMBER("not_a_member", COUNT, "on a rank that is not in the group's list"),
	TIDE_MEMBER("group_sizes_differ", COUNT, "ranks disagree on the group's size"),
	TIDE_MEMBER("operations_differ", COUNT,
		    "ranks disagree on the collective, its dtype or its message size"),
	{ 0 },
};
static const tide_member group[] = {
	GROUP,
	TIDE_COLUMN("desc", "Description", TEXT, NULLABLE, "what the program calls it"),
	TIDE_COLUMN("ranks", "Ranks", TEXT, NULLABLE, "its ranks, as the trace writes them"),
	TIDE_COLUMN("size", "Size", COUNT, NULLABLE, "its ranks"),
	TIDE_COLUMN("seen", "Seen", COUNT, 0, "ranks with matched calls"),
	TIDE_COLUMN("calls", "Calls", COUNT, 0, "matched collectives"),
	TIDE_COLUMN("complete", "On all ranks", COUNT, 0,
		    "of these, seen on every rank of the group"),
	TIDE_COLUMN("left_out", "Left out", COUNT, 0, "collectives that could not be matched"),
	TIDE_MEMBER_OF("left_out_why", OBJECT, odd, "the same by reason"),
	{ 0 },
};
static const tide_member size[] = {
	GROUP,
	{ "ranks_key", NULL, TIDE_KIND_TEXT, .may = NULLABLE,
	  .meaning = "ranks of the group, as the trace writes them" },
	TIDE_COLUMN("collective", "Collective", TEXT, 0, "name"),
	TIDE_COLUMN("dtype", "Dtype", TEXT, NULLABLE, "type of the elements"),
	TIDE_COLUMN("message_bytes", "Message", BYTES, NULLABLE,
		    "message size as nccl-tests counts it; the largest of a rank"),
	TIDE_COLUMN("seen", "Seen", COUNT, 0, "ranks that were seen in each call"),
	TIDE_COLUMN("complete", NULL, BOOL, NULLABLE,
		    "these are all ranks of the group; otherwise latency is at most and skew at "
		    "least the figure"),
	TIDE_COLUMN("on_host", NULL, BOOL, 0, "ranges of a host library, not device rows"),
	TIDE_COLUMN("calls", "Calls", COUNT, 0, "collectives"),
	TIDE_COLUMN("latency_ns", "Latency", NS, 0,
		    "mean over the calls of the least duration of a rank: without waiting"),
	TIDE_COLUMN("latency_min_ns", NULL, NS, 0, "the least one"),
	TIDE_COLUMN("latency_max_ns", NULL, NS, 0, "the largest one"),
	TIDE_COLUMN("algbw_gb_s", "Alg GB/s", REAL, NULLABLE, "message size / mean latency"),
	TIDE_COLUMN("busbw_gb_s", "Bus GB/s", REAL, NULLABLE,
		    "the same with nccl-tests' factor of the collective"),
	TIDE_COLUMN("wait_ns", "Waited", NS, 0,
		    "sum over calls and ranks of the duration beyond the latency"),
	TIDE_COLUMN("placed", NULL, COUNT, 0, "calls whose ranks have a common clock"),
	TIDE_COLUMN("skew_start_ns", "Start skew", NS, NULLABLE,
		    "mean time from the first to the last start"),
	TIDE_COLUMN("skew_start_max_ns", NULL, NS, NULLABLE, "the largest one"),
	TIDE_COLUMN("skew_end_ns", "End skew", NS, NULLABLE,
		    "mean time from the first to the last end"),
	TIDE_COLUMN("skew_end_max_ns", NULL, NS, NULLABLE, "the largest one"),
	TIDE_COLUMN("skew_bound_ns", "+-", NS, NULLABLE,
		    "mean over the calls of the bound of their skews: the truth is at most so far "
		    "from a skew"),
	TIDE_COLUMN("skew_bound_max_ns", NULL, NS, NULLABLE, "the largest one"),
	{ 0 },
};
static const tide_member causes[] = {
	TIDE_MEMBER("compute", COUNT, "its device computed longer"),
	TIDE_MEMBER("communication", COUNT, "it was longer in other collectives"),
	TIDE_MEMBER("copies", COUNT, "it copied longer"),
	TIDE_MEMBER("data_loading", COUNT, "its host loaded data longer"),
	TIDE_MEMBER("launch", COUNT, "its device waited longer for the host"),
	TIDE_MEMBER("unknown", COUNT, "the time before is not in the traces"),
	{ 0 },
};
static const tide_member causes_ns[] = {
	TIDE_MEMBER("compute", NS, "its device computed longer"),
	TIDE_MEMBER("communication", NS, "it was longer in other collectives"),
	TIDE_MEMBER("copies", NS, "it copied longer"),
	TIDE_MEMBER("data_loading", NS, "its host loaded data longer"),
	TIDE_MEMBER("launch", NS, "its device waited longer for the host"),
	{ 0 },
};
static const tide_member last[] = {
	GROUP,
	TIDE_COLUMN("rank", "Rank", PLAIN, NULLABLE, "rank"),
	TIDE_COLUMN("trace", NULL, TEXT, 0, "its file"),
	TIDE_COLUMN("calls", "Calls", COUNT, 0, "matched collectives of the rank"),
	TIDE_COLUMN("last", "Last", COUNT, 0, "of these, it came last"),
	TIDE_COLUMN("last_pct", "Share", PCT, NULLABLE, "the same in percent"),
	TIDE_COLUMN("late_ns", "Kept waiting", NS, 0,
		    "sum over these of the longest wait of another rank"),
	TIDE_COLUMN("worst_ns", "Worst", NS, 0, "the largest of these"),
	TIDE_COLUMN("worst_step", "In step", PLAIN, NULLABLE, "its step"),
	{ "cause", "Because of", TIDE_KIND_WORD, .may = NULLABLE,
	  .words = "compute,communication,copies,data_loading,launch,unknown",
	  .meaning = "the most frequent cause" },
	TIDE_COLUMN("cause_calls", "Calls of it", COUNT, 0, "collectives with that cause"),
	TIDE_MEMBER_OF("causes", OBJECT, causes,
		       "collectives in which it came last, by what it did longest beyond the rank "
		       "that came first"),
	TIDE_MEMBER_OF("causes_ns", OBJECT, causes_ns,
		       "time of these beyond the rank that came first"),
	{ 0 },
};
static const tide_member clock_row[] = {
	TIDE_COLUMN("rank", "Rank", PLAIN, NULLABLE, "rank"),
	TIDE_COLUMN("trace", NULL, TEXT, 0, "its file"),
	{ "state", "Clock", TIDE_KIND_WORD, .words = "unknown,known,reference,contradicts",
	  .meaning = "unknown: no event joins it with another rank; contradicts: no linear clock "
		     "agrees with its events" },
	TIDE_COLUMN("reference", "Against rank", PLAIN, NULLABLE, "whose clock is the common one"),
	TIDE_COLUMN("events", "Events", COUNT, 0, "collectives that synchronise"),
	TIDE_COLUMN("offset_ns", "Offset", DELTA_NS, NULLABLE,
		    "what to add to its time of day in the middle of its events"),
	TIDE_COLUMN("shift_ns", NULL, DELTA_NS, NULLABLE,
		    "what to add to its times, counted from the start of its trace, to get those "
		    "of the reference"),
	TIDE_COLUMN("bound_ns", "+-", NS, NULLABLE, "the truth is at most so far from it, there"),
	TIDE_COLUMN("bound_max_ns", "+- at the ends", NS, NULLABLE,
		    "the same at its first or last event"),
	TIDE_COLUMN("drift_ppm", "Drift ppm", REAL, NULLABLE,
		    "what the offset grows by, in millionths; null: one event only"),
	TIDE_COLUMN("drift_bound_ppm", "+-", REAL, NULLABLE, "the truth is at most so far from it"),
	{ 0 },
};
static const tide_member cell[] = {
	GROUP,
	TIDE_COLUMN("from", "From rank", PLAIN, NULLABLE, "sender"),
	TIDE_COLUMN("to", "To rank", PLAIN, NULLABLE, "receiver"),
	TIDE_COLUMN("calls", "Calls", COUNT, 0, "all-to-alls with split sizes"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, NULLABLE,
		    "what the sender's split sizes say; null: its trace is missing"),
	TIDE_COLUMN("received_bytes", NULL, BYTES, NULLABLE,
		    "what the receiver's split sizes say; null: its trace is missing"),
	TIDE_COLUMN("agree", "Agree", BOOL, NULLABLE, "both say the same"),
	{ 0 },
};
static const tide_member note_row[] = {
	TIDE_COLUMN("text", "Note", TEXT, 0, "a sentence"),
	{ 0 },
};
static const tide_member failed = { "", NULL, TIDE_KIND_TEXT, .meaning = "a file" };
static const tide_member members[] = {
	TIDE_COLUMN("window", NULL, TEXT, 0, "steps that were looked at"),
	TIDE_COLUMN("ranks", "Ranks", COUNT, 0, "traces"),
	TIDE_COLUMN("world", "Of", COUNT, NULLABLE, "ranks of the job"),
	TIDE_COLUMN("calls", "Calls", COUNT, 0, "collectives of all ranks, each rank's counted"),
	TIDE_COLUMN("pairs", "Sends, receives", COUNT, 0,
		    "sends and receives, which are between two ranks and not compared"),
	TIDE_MEMBER("unsure", COUNT,
		    "collectives matched by their order only: no sequence numbers, no steps"),
	TIDE_MEMBER("impossible_sizes", COUNT, "calls with impossible message sizes"),
	TIDE_MEMBER("splits_unknown", COUNT, "all-to-alls whose split sizes cannot be used"),
	{ "notes", "Notes", TIDE_KIND_TABLE, .members = note_row,
	  .meaning = "what limits the figures" },
	{ "groups", "Process groups", TIDE_KIND_TABLE, .members = group,
	  .meaning = "process groups" },
	{ "sizes", "By collective and message size", TIDE_KIND_TABLE, .members = size,
	  .meaning = "collectives by group, name, dtype, message size and ranks seen" },
	{ "last", "Who came last", TIDE_KIND_TABLE, .members = last,
	  .meaning = "ranks of each group, the one that kept others waiting longest first" },
	{ "clocks", "Clocks", TIDE_KIND_TABLE, .members = clock_row,
	  .meaning = "clocks of the ranks, by events that they share" },
	{ "all_to_all", "All-to-all", TIDE_KIND_TABLE, .members = cell,
	  .meaning = "bytes from rank to rank of all-to-alls with split sizes" },
	TIDE_MEMBER_OF("failed", LIST, &failed, "traces that could not be read"),
	TIDE_MEMBER_OF("losses", MAP, &tide__member_any,
		       "lost and repaired data of all traces, by the name of the loss"),
	{ 0 },
};

/* ---- JSON ---- */

static void put_str(tide_json *j, const char *key, const tide_hta_job *job, tide_str s)
{
	size_t n;
	const char *text = tide__hta_str(job->sum, s, &n);
	if (s.i)
		tide__json_kstrn(j, key, text, n);
	else
		tide__json_knull(j, key);
}

static void put_group_name(const struct collectives *x, uint32_t g, tide_json *j)
{
	put_str(j, "group", x->job, x->c.groups[g].name);
}

static void put_group(const struct collectives *x, const tide_coll_group *g, tide_json *j)
{
	uint64_t left = 0;
	for (int i = 0; i < TIDE_COLL_ODDS; i++)
		left += g->odd[i];
	tide__json_object(j);
	put_str(j, "group", x->job, g->name);
	put_str(j, "desc", x->job, g->desc);
	put_str(j, "ranks", x->job, g->ranks);
	tide__json_kint_if(j, "size", g->size >= 0, g->size);
	tide__json_kuint(j, "seen", g->seen);
	tide__json_kuint(j, "calls", g->calls);
	tide__json_kuint(j, "complete", g->whole);
	tide__json_kuint(j, "left_out", left);
	tide__json_kobject(j, "left_out_why");
	for (int i = 0; i < TIDE_COLL_ODDS; i++)
		tide__json_kuint(j, tide__coll_odd_text[i], g->odd[i]);
	tide__json_object_end(j);
	tide__json_object_end(j);
}

static double per_ns(double bytes, int64_t ns)
{
	return ns > 0 ? bytes / (double)ns : NAN;
}

static void put_real(tide_json *j, const char *key, double v)
{
	if (isfinite(v))
		tide__json_kfixed(j, key, v, 3);
	else
		tide__json_knull(j, key);
}

static void put_skews(const tide_coll_row *r, tide_json *j)
{
	const struct {
		const char *mean, *most;
		const tide_stat *s;
	} of[] = {
		{ "skew_start_ns", "skew_start_max_ns", &r->skew0 },
		{ "skew_end_ns", "skew_end_max_ns", &r->skew1 },
		{ "skew_bound_ns", "skew_bound_max_ns", &r->bound },
	};
	tide__json_kuint(j, "placed", r->placed);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		tide__json_kint_if(j, of[i].mean, r->placed, tide__stat_mean(of[i].s));
		tide__json_kint_if(j, of[i].most, r->placed, of[i].s->max);
	}
}

static void put_size(const struct collectives *x, const tide_coll_row *r, tide_json *j)
{
	int64_t mean = tide__stat_mean(&r->latency);
	tide__json_object(j);
	put_group_name(x, r->group, j);
	put_str(j, "ranks_key", x->job, x->c.groups[r->group].ranks);
	size_t n;
	const char *name = tide__hta_str(x->job->sum, r->name, &n);
	tide__json_kstrn(j, "collective", name, n);
	put_str(j, "dtype", x->job, r->dtype);
	tide__json_kint_if(j, "message_bytes", r->bytes >= 0, r->bytes);
	tide__json_kuint(j, "seen", r->ranks);
	if (r->whole_known)
		tide__json_kbool(j, "complete", r->whole);
	else
		tide__json_knull(j, "complete");
	tide__json_kbool(j, "on_host", r->host);
	tide__json_kuint(j, "calls", r->calls);
	tide__json_kint(j, "latency_ns", mean);
	tide__json_kint(j, "latency_min_ns", r->latency.min);
	tide__json_kint(j, "latency_max_ns", r->latency.max);
	put_real(j, "algbw_gb_s", r->bytes >= 0 ? per_ns((double)r->bytes, mean) : NAN);
	put_real(j, "busbw_gb_s", r->bus_known ? per_ns((double)r->bus_bytes, mean) : NAN);
	tide__json_kint(j, "wait_ns", tide__stat_sum(&r->wait));
	put_skews(r, j);
	tide__json_object_end(j);
}

static void put_rank(const struct collectives *x, size_t r, tide_json *j)
{
	int64_t rank = x->job->ranks[r].h->h.rank;
	tide__json_kint_if(j, "rank", rank >= 0, rank);
}

static const char *cause_text(int why)
{
	return why == TIDE_LATE_UNKNOWN ? "unknown" : tide__before_text[why];
}

static void put_last(const struct collectives *x, const tide_coll_last *l, tide_json *j)
{
	int most = 0;
	for (int k = 1; k < TIDE_LATES; k++)
		if (l->why[k] > l->why[most])
			most = k;
	tide__json_object(j);
	put_group_name(x, l->group, j);
	put_rank(x, l->rank, j);
	tide__json_kstr(j, "trace", x->job->ranks[l->rank].trace);
	tide__json_kuint(j, "calls", l->calls);
	tide__json_kuint(j, "last", l->last);
	tide__json_kfixed(j, "last_pct", tide__share_pct((int64_t)l->last, (int64_t)l->calls), 4);
	tide__json_kint(j, "late_ns", l->late_ns);
	tide__json_kint(j, "worst_ns", l->worst_ns);
	tide__json_kint_if(j, "worst_step", l->worst_step >= 0, l->worst_step);
	tide__json_kstr(j, "cause", l->last ? cause_text(most) : NULL);
	tide__json_kuint(j, "cause_calls", l->last ? l->why[most] : 0);
	tide__json_kobject(j, "causes");
	for (int k = 0; k < TIDE_LATES; k++)
		tide__json_kuint(j, cause_text(k), l->why[k]);
	tide__json_object_end(j);
	tide__json_kobject(j, "causes_ns");
	for (int k = 0; k < TIDE_BEFORES; k++)
		tide__json_kint(j, tide__before_text[k], l->why_ns[k]);
	tide__json_object_end(j);
	tide__json_object_end(j);
}

/* The larger side of a bound at an own time, rounded up. */
static int64_t bound_at(const tide_clock *c, double at)
{
	double low, high;
	tide__clock_bound(c, (int64_t)at - c->shift + c->center, &low, &high);
	double most = fmax(-low, high);
	return most < 9e18 ? (int64_t)ceil(most) : INT64_MAX;
}

static void put_known(const struct collectives *x, const tide_clock *c, size_t r, tide_json *j)
{
	const tide_hta_head *h = &x->job->ranks[r].h->h, *ref = &x->job->ranks[c->reference].h->h;
	double middle = (c->x0 + c->x1) / 2, low, high;
	int64_t own = (int64_t)middle - c->shift + c->center;
	int64_t shift = llround(tide__clock_common(c, own, own));
	int64_t ends = bound_at(c, c->x0), other = bound_at(c, c->x1);
	bool both = h->wall0 && ref->wall0;
	tide__json_kint_if(j, "offset_ns", both, both ? shift + (ref->wall0 - h->wall0) : 0);
	tide__json_kint(j, "shift_ns", shift);
	tide__json_kint(j, "bound_ns", bound_at(c, middle));
	tide__json_kint(j, "bound_max_ns", ends > other ? ends : other);
	tide__clock_drifts(c, &low, &high);
	bool drift = c->events > 1 && c->x1 > c->x0;
	put_real(j, "drift_ppm", drift ? c->drift * 1e6 : NAN);
	put_real(j, "drift_bound_ppm",
		 drift ? fmax(fmax(high - c->drift, c->drift - low), 0) * 1e6 : NAN);
}

static void put_clock(const struct collectives *x, size_t r, tide_json *j)
{
	static const char *const of[] = { "offset_ns",	  "shift_ns",  "bound_ns",
					  "bound_max_ns", "drift_ppm", "drift_bound_ppm" };
	const tide_clock *c = &x->c.clocks.v[r];
	bool known = tide__clock_is_known(c);
	int64_t to = x->job->ranks[c->reference].h->h.rank;
	tide__json_object(j);
	put_rank(x, r, j);
	tide__json_kstr(j, "trace", x->job->ranks[r].trace);
	tide__json_kstr(j, "state", tide__clock_text[c->state]);
	tide__json_kint_if(j, "reference", known && to >= 0, to);
	tide__json_kuint(j, "events", c->events);
	if (known)
		put_known(x, c, r, j);
	for (size_t i = 0; !known && i < sizeof of / sizeof *of; i++)
		tide__json_knull(j, of[i]);
	tide__json_object_end(j);
}

static void put_cell(const struct collectives *x, const tide_coll_cell *c, tide_json *j)
{
	int64_t from = tide__coll_rank_at(&x->c, c->group, c->from),
		to = tide__coll_rank_at(&x->c, c->group, c->to);
	tide__json_object(j);
	put_group_name(x, c->group, j);
	tide__json_kint_if(j, "from", from >= 0, from);
	tide__json_kint_if(j, "to", to >= 0, to);
	tide__json_kuint(j, "calls", c->calls);
	tide__json_kuint_if(j, "bytes", c->sent_known, c->sent);
	tide__json_kuint_if(j, "received_bytes", c->received_known, c->received);
	if (c->sent_known && c->received_known)
		tide__json_kbool(j, "agree", c->sent == c->received);
	else
		tide__json_knull(j, "agree");
	tide__json_object_end(j);
}

static void put_note(tide_json *j, uint64_t n, const char *text)
{
	char buf[300];
	if (!n)
		return;
	snprintf(buf, sizeof buf, text, n);
	tide__json_object(j);
	tide__json_kstr(j, "text", buf);
	tide__json_object_end(j);
}

static void put_notes(const struct collectives *x, tide_json *j)
{
	uint64_t partial = 0, odd_calls = 0, lost = 0, contradict = 0;
	for (size_t i = 0; i < x->c.n_groups; i++) {
		const tide_coll_group *g = &x->c.groups[i];
		partial += g->size >= 0 ? g->calls - g->whole : 0;
		for (int k = 0; k < TIDE_COLL_ODDS; k++)
			odd_calls += g->odd[k];
	}
	for (size_t r = 0; r < x->c.clocks.n; r++) {
		lost += x->c.clocks.v[r].state == TIDE_CLOCK_UNKNOWN;
		contradict += x->c.clocks.v[r].state == TIDE_CLOCK_CONTRADICTS;
	}
	tide__json_karray(j, "notes");
	put_note(j, !x->c.calls, "No collectives are in the traces.");
	put_note(j, partial,
		 "%" PRIu64 " collectives lack the traces of some ranks: their latency is at most, "
		 "their skew and waiting at least the figure.");
	put_note(j, odd_calls, "%" PRIu64 " collectives could not be matched and are left out.");
	put_note(j, x->c.unsure,
		 "%" PRIu64 " collectives are matched by their order only: the traces have no "
		 "sequence numbers and no steps.");
	put_note(j, x->c.calls ? lost : 0,
		 "%" PRIu64 " ranks share no synchronising collective with another: their clocks "
		 "are unknown.");
	put_note(j, contradict,
		 "%" PRIu64 " ranks have times that no linear clock explains: their clocks are "
		 "unknown.");
	tide__json_array_end(j);
}

/* Rows to write: at most `top` of each group. */
#define EACH_ROW(key, member, n_member, put)                                             \
	tide__json_karray(j, key);                                                       \
	for (size_t i = 0, in = 0; i < x->c.n_member; i++) {                             \
		in = i && x->c.member[i].group == x->c.member[i - 1].group ? in + 1 : 0; \
		if (!x->top || in < x->top)                                              \
			put(x, &x->c.member[i], j);                                      \
	}                                                                                \
	tide__json_array_end(j)

static void put_tables(const struct collectives *x, tide_json *j)
{
	tide__json_karray(j, "groups");
	for (size_t i = 0; i < x->c.n_groups && (!x->top || i < x->top); i++)
		put_group(x, &x->c.groups[i], j);
	tide__json_array_end(j);
	EACH_ROW("sizes", rows, n_rows, put_size);
	EACH_ROW("last", last, n_last, put_last);
	tide__json_karray(j, "clocks");
	for (size_t r = 0; r < x->c.clocks.n && (!x->top || r < x->top); r++)
		put_clock(x, r, j);
	tide__json_array_end(j);
	EACH_ROW("all_to_all", cells, n_cells, put_cell);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct collectives *x = result;
	const tide_hta_job *job = x->job;
	uint64_t pairs = 0, unknown = 0;
	for (size_t r = 0; r < job->n_ranks; r++) {
		pairs += job->ranks[r].h->h.pairs;
		unknown += job->ranks[r].h->h.splits_unknown;
	}
	tide__json_kstr(j, "window", x->window);
	tide__json_kuint(j, "ranks", job->n_ranks);
	tide__json_kint_if(j, "world", job->sum->h.world > 0, job->sum->h.world);
	tide__json_kuint(j, "calls", x->c.calls);
	tide__json_kuint(j, "pairs", pairs);
	tide__json_kuint(j, "unsure", x->c.unsure);
	tide__json_kuint(j, "impossible_sizes", x->c.odd_sizes);
	tide__json_kuint(j, "splits_unknown", unknown);
	put_notes(x, j);
	put_tables(x, j);
	tide__json_karray(j, "failed");
	for (size_t i = 0; i < job->n_failed; i++)
		tide__json_str(j, job->failed[i].trace);
	tide__json_array_end(j);
	tide__hta_put_losses(j, job->sum, job->sum);
	return TIDE_OK;
}

static tide_code write_text(void *result, const tide_out *to)
{
	const struct collectives *x = result;
	tide_code rc = tide__report_print_tables(&tide__report_collectives, result, to);
	tide__hta_print_troubles(x->job, to->out, &to->style);
	return rc;
}

const tide_report_type tide__report_collectives = {
	.name = "collectives",
	.group = TIDE_GROUP_RANKS,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_SPANS,
	.summary = "show what collectives cost over all ranks, and who came last",
	.help = "Compares the collectives of all ranks of a job. TRACE is a file, a folder of ranks "
		"or a pattern. For each process group, collective and message size it shows the "
		"latency without waiting, algorithm and bus bandwidth, and the skew of starts and "
		"ends with its bound; who came last, how often and why; the clocks of the ranks; "
		"and the bytes of all-to-alls from rank to rank. docs/analyses/collectives.md "
		"defines the figures.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.page = "",
	.document_page = true,
	.size = sizeof(struct collectives),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_collectives,
};
