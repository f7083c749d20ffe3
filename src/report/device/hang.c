// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* hang: why a job hangs, from Flight Recorder dumps and recordings of its ranks. */
#include "analyze/hang/hang.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/report/device/hang_reason.h"
#include "report/report.h"

enum { O_WORLD, O_TOP };
static const tide_option options[] = {
	[O_WORLD] = { "world", 'w', TIDE_OPT_INT, "N",
		      "ranks of the job, if the dumps do not say (gloo)", .most = 100000000,
		      TIDE_FIELD(tide_hang_options, world) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table, 0 = all", .def = "20",
		    .whole = true, TIDE_FIELD(tide_hang_options, top) },
};

struct hang {
	tide_hang h;
	const tide_model *one; /* borrowed: the only trace, for join */
	int64_t world;
	size_t top;
	tide_hang_evidence *more; /* owned: members of the rows that wait */
	size_t n_more, cap_more;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct hang *x = result;
	tide_code rc = TIDE_OK;
	x->world = ask->opt[O_WORLD].num;
	x->top = (size_t)ask->opt[O_TOP].num;
	x->one = ask->n == 1 ? ask->models[0] : NULL;
	for (size_t i = 0; i < ask->n && rc == TIDE_OK; i++)
		rc = tide__hang_add(&x->h, ask->models[i], tide__ask_file(ask, i), err);
	return rc == TIDE_OK ? tide__hang_finish(&x->h, x->world, err) : rc;
}

static tide_code join(void *all, void *one, const char *file, tide_error *err)
{
	struct hang *x = all, *y = one;
	if (!y)
		return tide__hang_finish(&x->h, x->world, err);
	x->world = y->world;
	x->top = y->top;
	return tide__hang_add(&x->h, y->one, file, err);
}

static void free_hang(void *result)
{
	struct hang *x = result;
	tide__hang_free(&x->h);
	tide__free(x->more);
}

/* ---- tables ---- */

#define NULLABLE TIDE_MAY_BE_NULL
static const tide_member evidence[] = {
	TIDE_COLUMN("rank", "Rank", PLAIN, 0, "rank"),
	{ "role", "Does", TIDE_KIND_WORD,
	  .words = "waiting,finished,differs,passed,missing,no_dump,died,unknown",
	  .meaning = "what it does in the row of ops" },
	TIDE_COLUMN("group", "Group", TEXT, NULLABLE, "name of the process group of the row"),
	TIDE_COLUMN("seq", "Sequence", PLAIN, NULLABLE, "sequence number of the row in its group"),
	TIDE_COLUMN("op", "Op", TEXT, NULLABLE,
		    "the op of this rank; for a rank that did not come, its last one"),
	TIDE_COLUMN("op_seq", "Its sequence", PLAIN, NULLABLE, "sequence number of this op"),
	TIDE_COLUMN("input_sizes", "Inputs", TEXT, NULLABLE, "sizes of its inputs"),
	TIDE_COLUMN("input_dtypes", "Types", TEXT, NULLABLE, "their types"),
	{ "output_sizes", NULL, TIDE_KIND_TEXT, .may = NULLABLE,
	  .meaning = "sizes of its outputs" },
	{ "output_dtypes", NULL, TIDE_KIND_TEXT, .may = NULLABLE, .meaning = "their types" },
	TIDE_COLUMN("state", "State", TEXT, NULLABLE,
		    "its state as the recorder writes it, and whether it is retired"),
	{ "called_wall_ns", NULL, TIDE_KIND_WALL, .may = NULLABLE,
	  .meaning = "when it was called" },
	TIDE_COLUMN("record_id", "Record", PLAIN, NULLABLE, "its number in the dump"),
	TIDE_COLUMN("stack", "Called from", TEXT, NULLABLE, "its call stack in brief"),
	TIDE_COLUMN("file", "Dump", TEXT, NULLABLE, "the dump; null: there is none"),
	{ 0 },
};

static const tide_member waiting[] = {
	TIDE_COLUMN("group", "Group", TEXT, 0, "name of the process group"),
	TIDE_COLUMN("desc", "Description", TEXT, 0, "what the program calls it"),
	TIDE_COLUMN("seq", "Sequence", PLAIN, 0, "sequence number in the group"),
	TIDE_COLUMN("op", "Op", TEXT, 0, "the op, as the first rank called it"),
	TIDE_COLUMN("called_wall_ns", NULL, WALL, NULLABLE, "when the first rank called it"),
	TIDE_COLUMN("waiting", "Waiting", COUNT, 0, "ranks that wait in it"),
	TIDE_COLUMN("finished", "Finished", COUNT, 0, "ranks that it is finished on"),
	TIDE_COLUMN("differ", "Differ", COUNT, 0, "ranks that called something else"),
	TIDE_COLUMN("missing", "Missing", COUNT, 0, "ranks that did not come, by their dump"),
	TIDE_COLUMN("no_dump", "No dump", COUNT, 0, "ranks without a dump, dead ones included"),
	TIDE_COLUMN("unknown", "Unknown", COUNT, 0, "ranks whose dump does not say"),
	{ 0 },
};

static const tide_member group[] = {
	TIDE_COLUMN("group", "Group", TEXT, 0, "name of the process group"),
	TIDE_COLUMN("desc", "Description", TEXT, 0, "what the program calls it"),
	TIDE_COLUMN("ranks", "Ranks", COUNT, 0, "its ranks"),
	{ "ranks_from", NULL, TIDE_KIND_WORD, .words = "dumps,seen",
	  .meaning =
		  "dumps: a dump lists its ranks; seen: these are the ranks that were seen in it" },
	TIDE_COLUMN("ops", "Ops", COUNT, 0, "recorded ops in it"),
	TIDE_COLUMN("last_seq", "Last sequence", PLAIN, NULLABLE, "highest sequence number"),
	TIDE_COLUMN("rows_waiting", "Waiting", COUNT, 0, "rows that a rank waits in"),
	TIDE_COLUMN("rows_differ", "Differ", COUNT, 0,
		    "rows in which ranks called different ops, sizes or types"),
	{ 0 },
};

static const tide_member last[] = {
	TIDE_COLUMN("rank", "Rank", PLAIN, NULLABLE, "rank"),
	TIDE_COLUMN("pid", "Pid", PLAIN, NULLABLE, "process"),
	{ "ended", "Ended", TIDE_KIND_WORD, .words = "closed,died",
	  .meaning =
		  "closed: the recording was closed; died: it was read from the rings of a process" },
	TIDE_COLUMN("op", "Last op", TEXT, NULLABLE, "the last op on the host"),
	{ "op_state", "Op", TIDE_KIND_WORD, .words = "running,ended",
	  .meaning = "running: the op had not ended" },
	TIDE_COLUMN("t_ns", "At", AT, NULLABLE, "its start, or its end"),
	TIDE_COLUMN("range", "In", TEXT, NULLABLE, "the user's range around it"),
	TIDE_COLUMN("phase", "After", TEXT, NULLABLE, "the last phase or step before the end"),
	TIDE_COLUMN("stack", "Called from", TEXT, NULLABLE, "its call stack in brief"),
	TIDE_COLUMN("file", "Recording", TEXT, 0, "the recording"),
	{ 0 },
};

static void put_text(tide_grid *g, const tide_hang *h, tide_str s)
{
	size_t n;
	const char *text = tide__text(h->names, s, &n);
	if (s.i)
		tide__grid_textn(g, text, n);
	else
		tide__grid_none(g);
}

static void put_known(tide_grid *g, int64_t v)
{
	if (v < 0)
		tide__grid_none(g);
	else
		tide__grid_int(g, v);
}

static void put_stack(tide_grid *g, const tide_hang *h, tide_stack_id s)
{
	char line[1000];
	if (s.i)
		tide__grid_text(g, tide__stack_write_line(h->names, s, line, sizeof line));
	else
		tide__grid_none(g);
}

/* Retired: the recorder no longer watches it. With NCCL an op that is not completed timed out. */
static void put_state(tide_grid *g, const tide_hang *h, const tide_hang_op *op)
{
	char text[80];
	const char *state = tide__text(h->names, op->state, NULL);
	if (!op->retired || !strcmp(state, "completed")) {
		put_text(g, h, op->state);
		return;
	}
	snprintf(text, sizeof text, "%.60s, retired", state);
	tide__grid_text(g, text);
}

static void put_evidence(tide_grid *g, const tide_hang *h, const tide_hang_evidence *e)
{
	static const tide_hang_op none = { .seq = -1, .record = -1, .wall_ns = -1 };
	const tide_hang_op *op = e->op == SIZE_MAX ? &none : &h->ops[e->op];
	tide__grid_int(g, e->rank);
	tide__grid_text(g, tide__hang_role_text(e->role));
	put_text(g, h, e->group ? h->groups[e->group].name : (tide_str){ 0 });
	put_known(g, e->seq);
	put_text(g, h, op->name);
	put_known(g, op->seq);
	put_text(g, h, op->in_sizes);
	put_text(g, h, op->in_types);
	put_text(g, h, op->out_sizes);
	put_text(g, h, op->out_types);
	put_state(g, h, op);
	put_known(g, op->wall_ns);
	put_known(g, op->record);
	put_stack(g, h, op->stack);
	if (e->dump == SIZE_MAX)
		tide__grid_none(g);
	else
		tide__grid_text(g, h->dumps[e->dump].file);
}

static void put_waiting(tide_grid *g, struct hang *x, size_t row)
{
	const tide_hang *h = &x->h;
	const tide_hang_row *r = &h->rows[row];
	uint64_t n[TIDE_HANG_IS_UNKNOWN + 1] = { 0 };
	for (size_t i = 0; i < x->n_more; i++)
		n[x->more[i].role]++;
	tide__grid_text(g, tide__text(h->names, h->groups[r->group].name, NULL));
	tide__grid_text(g, tide__text(h->names, h->groups[r->group].desc, NULL));
	tide__grid_int(g, r->seq);
	tide__grid_text(g, tide__text(h->names, h->ops[r->first].name, NULL));
	put_known(g, h->ops[r->first].wall_ns);
	tide__grid_uint(g, n[TIDE_HANG_IS_WAITING]);
	tide__grid_uint(g, n[TIDE_HANG_IS_FINISHED] + n[TIDE_HANG_IS_PASSED]);
	tide__grid_uint(g, n[TIDE_HANG_IS_DIFFERS]);
	tide__grid_uint(g, n[TIDE_HANG_IS_MISSING]);
	tide__grid_uint(g, n[TIDE_HANG_IS_NO_DUMP] + n[TIDE_HANG_IS_DIED]);
	tide__grid_uint(g, n[TIDE_HANG_IS_UNKNOWN]);
}

static void put_group(tide_grid *g, const tide_hang *h, const tide_hang_group *x)
{
	tide__grid_text(g, tide__text(h->names, x->name, NULL));
	tide__grid_text(g, tide__text(h->names, x->desc, NULL));
	tide__grid_uint(g, x->n_ranks);
	tide__grid_text(g, x->listed ? "dumps" : "seen");
	tide__grid_uint(g, x->ops);
	put_known(g, x->last_seq);
	tide__grid_uint(g, x->rows_waiting);
	tide__grid_uint(g, x->rows_differ);
}

static void put_last(tide_grid *g, const tide_hang *h, const tide_hang_last *l)
{
	put_known(g, l->rank);
	put_known(g, l->pid);
	tide__grid_text(g, l->killed ? "died" : "closed");
	put_text(g, h, l->op);
	tide__grid_text(g, l->open ? "running" : "ended");
	put_known(g, l->t_ns);
	put_text(g, h, l->range);
	put_text(g, h, l->phase);
	put_stack(g, h, l->stack);
	tide__grid_text(g, l->file);
}

typedef enum table { EVIDENCE, WAITING, GROUPS, LASTS } table;

static size_t rows_of(const struct hang *x, table t)
{
	const tide_hang *h = &x->h;
	return t == EVIDENCE  ? h->n_evidence
	       : t == WAITING ? h->n_stuck
	       : t == GROUPS  ? (h->n_groups ? h->n_groups - 1 : 0)
			      : h->n_lasts;
}

/* Returns a grid of a table, NULL if memory runs out. */
static tide_grid *grid_of(struct hang *x, table t, size_t most)
{
	static const tide_member *const columns[] = { evidence, waiting, group, last };
	tide_error err;
	tide_grid *g = tide__grid_new(columns[t], tide__member_count(columns[t]));
	for (size_t i = 0; g && i < rows_of(x, t) && (!most || i < most); i++) {
		if (t == EVIDENCE) {
			put_evidence(g, &x->h, &x->h.evidence[i]);
		} else if (t == WAITING) {
			x->n_more = 0;
			if (tide__hang_members(&x->h, x->h.stuck[i], &x->more, &x->n_more,
					       &x->cap_more, &err) != TIDE_OK) {
				tide__grid_free(g);
				return NULL;
			}
			put_waiting(g, x, x->h.stuck[i]);
		} else if (t == GROUPS) {
			put_group(g, &x->h, &x->h.groups[i + 1]);
		} else {
			put_last(g, &x->h, &x->h.lasts[i]);
		}
	}
	return g;
}

/* ---- text ---- */

static bool put_table(struct hang *x, table t, const char *heading, const tide_out *to)
{
	if (!rows_of(x, t))
		return true;
	tide_grid *g = grid_of(x, t, x->top);
	if (!g)
		return false;
	fputc('\n', to->out);
	tide__write_heading(to, "%s", heading);
	tide__grid_write(g, to, 2);
	if (x->top && rows_of(x, t) > x->top)
		fprintf(to->out, "  (%zu more: --top 0)\n", rows_of(x, t) - x->top);
	return true;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct hang *x = result;
	const tide_hang *h = &x->h;
	char reason[1000];
	fprintf(to->out, "verdict   %s\n", tide__hang_verdict_text(h->verdict));
	fputs("reason    ", to->out);
	tide__put_text(to, tide__hang_reason(h, reason, sizeof reason));
	fprintf(to->out, "\nread      %zu dumps of %zu ranks", h->n_dumps, h->n_ranks);
	if (h->world >= 0)
		fprintf(to->out, " of %" PRId64, h->world);
	fprintf(to->out, ", %zu ops", h->n_ops);
	if (h->n_lasts)
		fprintf(to->out, ", %zu recordings", h->n_lasts);
	fputc('\n', to->out);
	if (h->left_out)
		fprintf(to->out, "left out  %zu ops with impossible numbers\n", h->left_out);
	bool ok = put_table(x, EVIDENCE, "what the verdict rests on", to) &&
		  put_table(x, WAITING, "collectives that wait, the earliest first", to) &&
		  put_table(x, GROUPS, "process groups", to) &&
		  put_table(x, LASTS, "what recorded ranks did last", to);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

/* ---- JSON ---- */

static tide_code write_json(void *result, tide_json *j)
{
	static const char *const keys[] = { "evidence", "waiting", "groups", "recordings" };
	struct hang *x = result;
	const tide_hang *h = &x->h;
	char reason[1000];
	tide__json_kstr(j, "verdict", tide__hang_verdict_text(h->verdict));
	tide__json_kstr(j, "reason", tide__hang_reason(h, reason, sizeof reason));
	tide__json_kuint(j, "dumps", h->n_dumps);
	tide__json_kuint(j, "ranks", h->n_ranks);
	tide__json_kint_if(j, "world", h->world >= 0, h->world);
	tide__json_kuint(j, "ops", h->n_ops);
	tide__json_kuint(j, "left_out_ops", h->left_out);
	for (table t = EVIDENCE; t <= LASTS; t++) {
		tide_grid *g = grid_of(x, t, x->top);
		if (!g)
			return TIDE_ENOMEM;
		tide__grid_write_member(g, j, keys[t]);
	}
	return TIDE_OK;
}

static const tide_member members[] = {
	{ "verdict", NULL, TIDE_KIND_WORD,
	  .words = "unknown,missing_rank,mismatched_op,mismatched_size,mismatched_dtype,"
		   "mismatched_order,died,no_dump,slow,none",
	  .meaning = "why the job hangs" },
	TIDE_MEMBER("reason", TEXT, "the verdict as a sentence"),
	TIDE_MEMBER("dumps", COUNT, "dumps that were read"),
	TIDE_MEMBER("ranks", COUNT, "ranks that have one"),
	TIDE_MEMBER_MAYBE("world", COUNT, "ranks of the job"),
	TIDE_MEMBER("ops", COUNT, "ops in all dumps"),
	TIDE_MEMBER("left_out_ops", COUNT, "ops that were left out: impossible numbers"),
	TIDE_MEMBER_OF("evidence", TABLE, evidence, "what the verdict rests on: rank by rank"),
	TIDE_MEMBER_OF(
		"waiting", TABLE, waiting,
		"the first collective of each group that a rank waits in, and sends and receives; the earliest first"),
	TIDE_MEMBER_OF("groups", TABLE, group, "process groups"),
	TIDE_MEMBER_OF("recordings", TABLE, last, "recordings of ranks: what they did last"),
	{ 0 },
};

const tide_report_type tide__report_hang = {
	.name = "hang",
	.group = TIDE_GROUP_RANKS,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_SPANS,
	.formats = "flightrec,tide",
	.summary = "explain why a distributed job hangs, from Flight Recorder dumps",
	.help = "Reads the Flight Recorder dumps of torch.distributed (pickle or JSON) of all ranks: "
		"files, a folder or a pattern. Shows the first collective that is missing or "
		"mismatched, which ranks wait in it, which never came and which wrote no dump. "
		"Recordings in the same folder add what each rank did last. Several dumps of a rank "
		"show whether it still moves.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_hang_options),
	.size = sizeof(struct hang),
	.page = "",
	.document_page = true,
	.find = find,
	.join = join,
	.json = write_json,
	.text = write_text,
	.free = free_hang,
};
