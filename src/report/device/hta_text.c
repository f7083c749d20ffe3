// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The holistic report for a terminal: one line and one bar per rank, then the time of all ranks,
 * then recommendations. Long jobs show the most idle ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"
#include "render/text/losses.h"
#include "report/device/hta.h"

enum { BAR = 32, BESIDE = 73, MANY = 40, WORST = 16, FEW = 4 };

static void heading(FILE *out, const tide_style *st, const char *text)
{
	fprintf(out, "\n%s%s%s\n", st->color ? "\033[1m" : "", text, st->color ? "\033[0m" : "");
}

static void print_grid(FILE *out, const tide_style *st, const char *title, tide_grid *g)
{
	if (tide__grid_rows(g)) {
		heading(out, st, title);
		tide__grid_print(g, out, st, 2);
	}
	tide__grid_free(g);
}

/* Prints a table that may have fewer rows than exist, and how to see the others. */
static void print_some(FILE *out, const tide_style *st, const char *title, tide_grid *g,
		       size_t there, const char *how)
{
	char num[32];
	size_t n = tide__grid_rows(g);
	print_grid(out, st, title, g);
	if (n && n < there)
		fprintf(out, "  %zu of %s; %s\n", n,
			tide__fmt_count(num, sizeof num, (int64_t)there), how);
}

static const char ALL[] = "--top 0 shows all", JSON_HAS[] = "--json has all";

/* ---- bars ---- */

/* The disjoint parts of the device window: compute; communication without compute; memory and other
 * work without either; idle. */
enum { P_COMPUTE, P_COMM, P_REST, P_IDLE, PARTS };

static void parts_of(const tide_hta_head *h, int64_t *part)
{
	for (int p = 0; p < PARTS; p++)
		part[p] = 0;
	for (unsigned s = 1; s < 1u << TIDE_GPU_TYPES; s++)
		part[s >> TIDE_GPU_COMPUTE & 1 ? P_COMPUTE
		     : s >> TIDE_GPU_COMM & 1  ? P_COMM
					       : P_REST] += h->set_ns[s];
	part[P_IDLE] = h->idle;
}

/* Returns the cells available beside the figures. */
static int bar_cells(const tide_style *st)
{
	int room = st->width ? st->width - BESIDE : BAR;
	return room > BAR ? BAR : room < 6 ? 6 : room;
}

/* Writes the parts as `cells` cells in total, by cumulative rounding. */
static void bar_text(const tide_hta_head *h, bool ascii, int cells, char *buf)
{
	static const char *const fine[PARTS] = { "█", "▓", "▒", "·" };
	static const char *const plain[PARTS] = { "#", "=", "-", "." };
	int64_t part[PARTS], sum = 0;
	size_t at = 0;
	int done = 0;
	parts_of(h, part);
	for (int p = 0; p < PARTS && h->kernel_time > 0; p++) {
		sum += part[p];
		int upto = (int)lround((double)cells * (double)sum / (double)h->kernel_time);
		for (; done < upto && done < cells; done++) {
			const char *c = ascii ? plain[p] : fine[p];
			memcpy(buf + at, c, strlen(c));
			at += strlen(c);
		}
	}
	buf[at] = 0;
}

static void rank_row(tide_grid *g, const tide_hta_head *h, const tide_style *st)
{
	char bar[BAR * 4 + 1];
	h->rank >= 0 ? tide__grid_int(g, h->rank) : tide__grid_none(g);
	tide__grid_int(g, h->kernel_time);
	tide__grid_real(g, tide__share_pct(h->busy, h->kernel_time));
	tide__grid_real(g, tide__share_pct(h->type_ns[TIDE_GPU_COMPUTE], h->kernel_time));
	tide__grid_real(g, tide__share_pct(h->type_ns[TIDE_GPU_COMM], h->kernel_time));
	tide__grid_real(g, tide__share_pct(h->type_ns[TIDE_GPU_MEMORY], h->kernel_time));
	tide__grid_real(g, tide__share_pct(h->idle, h->kernel_time));
	tide__grid_real(g, tide__share_pct(h->overlap, h->type_ns[TIDE_GPU_COMM]));
	bar_text(h, st->ascii, bar_cells(st), bar);
	tide__grid_text(g, bar);
}

static int idlest_first(const void *a, const void *b)
{
	const tide_hta_rank *x = *(const tide_hta_rank *const *)a;
	const tide_hta_rank *y = *(const tide_hta_rank *const *)b;
	double p = tide__share_pct(x->h->h.idle, x->h->h.kernel_time);
	double q = tide__share_pct(y->h->h.idle, y->h->h.kernel_time);
	p = isnan(p) ? -1 : p;
	q = isnan(q) ? -1 : q;
	if (p != q)
		return p > q ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Returns the number of traces whose rank has another trace; traces are in order of rank. */
static size_t repeated(const tide_hta_job *job)
{
	size_t n = 0;
	for (size_t i = 1; i < job->n_ranks; i++) {
		int64_t rank = job->ranks[i].h->h.rank;
		n += rank >= 0 && rank == job->ranks[i - 1].h->h.rank;
	}
	return n;
}

/* Returns true if unknown or duplicate ranks must be distinguished by their files. */
static bool tell_apart(const tide_hta_job *job)
{
	size_t unknown = 0;
	for (size_t i = 0; i < job->n_ranks; i++)
		unknown += job->ranks[i].h->h.rank < 0;
	return (unknown && job->n_ranks > 1) || repeated(job);
}

static const char *file_of(const tide_hta_rank *r)
{
	const char *slash = strrchr(r->trace, '/');
	return slash ? slash + 1 : r->trace;
}

static void print_ranks(const tide_hta_job *job, FILE *out, const tide_style *st)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_COUNT },  { "window", "Window", TIDE_CELL_NS },
		{ "busy", "Busy", TIDE_CELL_PCT },    { "compute", "Compute", TIDE_CELL_PCT },
		{ "comm", "Comm", TIDE_CELL_PCT, 1 }, { "memory", "Memory", TIDE_CELL_PCT, 2 },
		{ "idle", "Idle", TIDE_CELL_PCT },    { "overlap", "Overlap", TIDE_CELL_PCT, 1 },
		{ "bar", "Parts", TIDE_CELL_BAR, 3 }, { "trace", "Trace", TIDE_CELL_TEXT },
	};
	bool named = tell_apart(job);
	const tide_hta_rank **order = tide__alloc(job->n_ranks, sizeof *order);
	tide_grid *g = tide__grid_new(cols, sizeof cols / sizeof *cols - !named);
	size_t n = job->n_ranks;
	if (order) {
		for (size_t i = 0; i < n; i++)
			order[i] = &job->ranks[i];
		if (n > MANY) {
			qsort(order, n, sizeof *order, idlest_first);
			n = WORST;
		}
		for (size_t i = 0; i < n; i++) {
			rank_row(g, &order[i]->h->h, st);
			if (named)
				tide__grid_text(g, file_of(order[i]));
		}
	}
	heading(out, st, "Time on the device");
	tide__grid_print(g, out, st, 2);
	tide__grid_free(g);
	tide__free(order);
	if (n < job->n_ranks)
		fprintf(out, "  the %d most idle ranks of %zu; --json has all\n", WORST,
			job->n_ranks);
	fprintf(out,
		"  %s compute  %s communication not hidden by it  %s copies and other  %s idle\n",
		st->ascii ? "#" : "█", st->ascii ? "=" : "▓", st->ascii ? "-" : "▒",
		st->ascii ? "." : "·");
	fputs("  window: from the rank's first device row to the end of its last\n", out);
}

static void print_annotations(const tide_hta *s, const tide_hta_view *view, FILE *out,
			      const tide_style *st)
{
	print_some(out, st, "User annotations", tide__grid_annotations(s, view->top),
		   s->annotations.n, ALL);
	if (s->annotations.n)
		fputs("  device rows and time: work that the annotation's own thread launched "
		      "inside it; autograd's thread launches backward work\n",
		      out);
}

/* ---- idle, launches ---- */

static void named_times(FILE *out, const tide_style *st, const char *title,
			const char *const *names, const int64_t *ns, size_t n)
{
	static const tide_grid_col cols[] = {
		{ "what", "What", TIDE_CELL_TEXT },
		{ "ns", "Time", TIDE_CELL_NS },
		{ "pct", "Share", TIDE_CELL_PCT },
	};
	tide_grid *g = tide__grid_new(cols, 3);
	int64_t all = 0;
	for (size_t i = 0; i < n; i++)
		all = tide__add_sat(all, ns[i]);
	for (size_t i = 0; i < n; i++) {
		if (!ns[i])
			continue;
		tide__grid_text(g, names[i]);
		tide__grid_int(g, ns[i]);
		tide__grid_real(g, tide__share_pct(ns[i], all));
	}
	print_grid(out, st, title, g);
}

static void print_idle(const tide_hta_job *job, FILE *out, const tide_style *st)
{
	int64_t idle[TIDE_IDLE_CLASSES] = { 0 };
	for (size_t r = 0; r < job->n_ranks; r++)
		for (size_t s = 0; s < job->ranks[r].h->streams.n; s++)
			for (int c = 0; c < TIDE_IDLE_CLASSES; c++)
				idle[c] = tide__add_sat(idle[c],
							job->ranks[r].h->streams.v[s].idle[c]);
	if (job->n_ranks <= FEW)
		print_grid(out, st, "Streams", tide__grid_streams(job, 40));
	else
		named_times(out, st, "Idle time of all streams", tide__idle_text, idle,
			    TIDE_IDLE_CLASSES);
	named_times(out, st, "What the host did while streams waited for it", tide__cause_text,
		    job->sum->h.cause, TIDE_CAUSES);
}

static void print_launches(const tide_hta_job *job, FILE *out, const tide_style *st)
{
	const tide_hta_head *h = &job->sum->h;
	if (!h->launches)
		return;
	print_grid(out, st, "Launches", tide__grid_apis(job->sum, MANY));
	fprintf(out,
		"  %" PRIu64 " launches: %" PRIu64 " short kernels, %" PRIu64
		" slow calls, %" PRIu64 " late starts",
		h->launches, h->short_kernels, h->runtime_outliers, h->delay_outliers);
	if (h->graph_launches)
		fprintf(out, "; %" PRIu64 " graph launches of %.1f rows each", h->graph_launches,
			(double)h->graph_rows / (double)h->graph_launches);
	fputc('\n', out);
}

/* ---- advice and problems ---- */

static void print_advice(const tide_hta_job *job, FILE *out, const tide_style *st)
{
	static const char *const color[] = { "", "\033[33m", "\033[31m" };
	tide_advice a[TIDE_ADVICE_MAX];
	size_t n = tide__find_time_advice(job, a);
	if (n)
		heading(out, st, "Recommendations");
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "  %s%-6s%s ", st->color ? color[a[i].severity] : "",
			tide__severity_text[a[i].severity],
			st->color && a[i].severity ? "\033[0m" : "");
		tide__put_words(out, a[i].text, 9, 9, st->width);
	}
}

/* Returns the result with the losses: a single trace's own, with positions; for several the sum,
 * with the number of traces that have each. */
static const tide_hta *losses_of(const tide_hta_job *job)
{
	return job->n_ranks == 1 ? job->ranks[0].h : job->sum;
}

static bool loss_at(const void *user, size_t i, tide_loss *out)
{
	const tide_hta_job *job = user;
	const tide_hta_loss *l = &losses_of(job)->losses.v[i];
	*out = (tide_loss){ .key = tide__hta_str(job->sum, l->key, NULL), .number = l->number };
	if (l->text.i)
		out->text = tide__hta_str(job->sum, l->text, &out->n);
	return l->text.i || l->number;
}

void tide__hta_print_troubles(const tide_hta_job *job, FILE *out, const tide_style *st)
{
	if (job->n_notes + job->n_failed + job->sum->losses.n)
		fputc('\n', out);
	for (size_t i = 0; i < job->n_notes; i++) {
		char note[TIDE_HTA_NOTE];
		fputs("note: ", out);
		tide__put_words(out, tide__hta_note_text(job, i, note, sizeof note), 6, 6,
				st->width);
	}
	if (job->n_failed) {
		char text[120];
		snprintf(text, sizeof text,
			 "%zu of %zu traces could not be read and are not in these figures",
			 job->n_failed, job->n_failed + job->n_ranks);
		fputs("note: ", out);
		tide__put_words(out, text, 6, 6, st->width);
	}
	tide__put_loss_list(out, st, loss_at, job, losses_of(job)->losses.n);
}

static void print_start(const tide_hta_job *job, const tide_hta_view *view, FILE *out)
{
	char num[32];
	size_t ranks = job->n_ranks - repeated(job);
	if (ranks < job->n_ranks)
		fprintf(out, "%zu traces of ", job->n_ranks);
	fprintf(out, "%zu rank%s, %s device row%s", ranks, ranks == 1 ? "" : "s",
		tide__fmt_count(num, sizeof num, (int64_t)job->sum->h.rows),
		job->sum->h.rows == 1 ? "" : "s");
	bool dropped = !strcmp(view->window, "drop-last-step");
	if (strcmp(view->window, "all"))
		fprintf(out, "%s%s (%s outside)", dropped ? " without the last step" : " in ",
			dropped ? "" : view->window,
			tide__fmt_count(num, sizeof num, (int64_t)job->sum->h.left_out));
	fputc('\n', out);
}

void tide__hta_text(const tide_hta_job *job, const tide_hta_view *view, FILE *out,
		    const tide_style *st)
{
	const tide_hta *s = job->sum;
	print_start(job, view, out);
	if (s->h.rows) {
		print_ranks(job, out, st);
		print_grid(out, st, "Kernels by type", tide__grid_types(s));
		print_some(out, st, "Kernels", tide__grid_kernels(s, view->top), s->kernels.n, ALL);
		print_some(out, st, "Ops by device time", tide__grid_ops(s, view->top), s->ops.n,
			   ALL);
		print_idle(job, out, st);
		print_launches(job, out, st);
		const tide_hta *c = job->n_ranks == 1 ? job->ranks[0].h : s;
		print_some(out, st, "Collectives", tide__grid_collectives(s, c, MANY),
			   c->collectives.n, JSON_HAS);
		print_grid(out, st, "Stragglers: ranks that the others waited for in collectives",
			   tide__grid_stragglers(job));
		print_grid(out, st, "Copies", tide__grid_copies(s, s));
		if (job->n_ranks == 1)
			print_some(out, st, "Steps", tide__grid_steps(job->ranks[0].h, MANY),
				   job->ranks[0].h->steps.n, JSON_HAS);
		print_annotations(s, view, out, st);
		print_advice(job, out, st);
	}
	tide__hta_print_troubles(job, out, st);
}

static size_t streams_of(const tide_hta_job *job)
{
	size_t n = 0;
	for (size_t r = 0; r < job->n_ranks; r++)
		n += job->ranks[r].h->streams.n;
	return n;
}

void tide__kernels_text(const tide_hta_job *job, const tide_hta_view *view, int by, FILE *out,
			const tide_style *st)
{
	const tide_hta *s = job->sum;
	print_start(job, view, out);
	if (s->h.rows) {
		print_grid(out, st, "By type", tide__grid_types(s));
		if (by == TIDE_KERNELS_BY_NAME)
			print_some(out, st, "By name", tide__grid_kernels(s, view->top),
				   s->kernels.n, ALL);
		if (by == TIDE_KERNELS_BY_OP) {
			print_some(out, st, "By op", tide__grid_ops(s, view->top), s->ops.n, ALL);
			print_grid(out, st, "Kernels of each op",
				   tide__grid_op_kernels(s, view->top, 3));
		}
		if (by == TIDE_KERNELS_BY_STREAM)
			print_some(out, st, "By stream", tide__grid_streams(job, view->top),
				   streams_of(job), ALL);
	}
	tide__hta_print_troubles(job, out, st);
}
