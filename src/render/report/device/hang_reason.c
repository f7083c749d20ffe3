// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/device/hang_reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(char *buf, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put(char *buf, size_t n, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list args;
	va_start(args, fmt);
	vsnprintf(buf + at, n - at, fmt, args);
	va_end(args);
}

static size_t count_role(const tide_hang *h, tide_hang_role role)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n_evidence; i++)
		n += h->evidence[i].role == role;
	return n;
}

/* The last of the ranks with this role that follow entry i without a gap. */
static size_t end_of_run(const tide_hang *h, size_t i, tide_hang_role role)
{
	while (i + 1 < h->n_evidence && h->evidence[i + 1].role == role &&
	       h->evidence[i + 1].rank == h->evidence[i].rank + 1)
		i++;
	return i;
}

enum { MOST_RUNS = 6 };

/* "ranks 0-2, 7 and 12 more"; `first` is its first letter. */
static void put_ranks(char *buf, size_t n, const tide_hang *h, tide_hang_role role, char first)
{
	size_t all = count_role(h, role), shown = 0, runs = 0;
	put(buf, n, "%cank%s ", first, all == 1 ? "" : "s");
	for (size_t i = 0; i < h->n_evidence; i++) {
		if (h->evidence[i].role != role)
			continue;
		if (runs++ == MOST_RUNS) {
			put(buf, n, " and %zu more", all - shown);
			return;
		}
		size_t to = end_of_run(h, i, role);
		put(buf, n, "%s%" PRId64, runs > 1 ? ", " : "", h->evidence[i].rank);
		if (to > i)
			put(buf, n, "%s%" PRId64, to == i + 1 ? ", " : "-", h->evidence[to].rank);
		shown += to - i + 1;
		i = to;
	}
}

/* "all_reduce, sequence 4 of group 0 (default_pg)" */
static void put_row(char *buf, size_t n, const tide_hang *h)
{
	const tide_hang_row *r = &h->rows[h->row];
	const tide_hang_group *g = &h->groups[r->group];
	const char *name = tide__text(h->names, h->ops[r->first].name, NULL),
		   *colon = strchr(name, ':'), *desc = tide__text(h->names, g->desc, NULL);
	put(buf, n, "%.60s, sequence %" PRId64 " of group %.40s", colon ? colon + 1 : name, r->seq,
	    tide__text(h->names, g->name, NULL));
	if (*desc)
		put(buf, n, " (%.40s)", desc);
}

/* "; ranks 0-2 wait in it" */
static void put_waiting(char *buf, size_t n, const tide_hang *h)
{
	put(buf, n, "; ");
	put_ranks(buf, n, h, TIDE_HANG_IS_WAITING, 'r');
	put(buf, n, count_role(h, TIDE_HANG_IS_WAITING) == 1 ? " waits in it." : " wait in it.");
}

static void put_different(char *buf, size_t n, const tide_hang *h)
{
	static const struct {
		tide_hang_verdict verdict;
		const char *one, *all;
	} words[] = {
		{ TIDE_HANG_MISMATCHED_ORDER, "the same ops in another order than most, from ",
		  "the same ops in different orders, from " },
		{ TIDE_HANG_MISMATCHED_OP, "another op than most at ", "different ops at " },
		{ TIDE_HANG_MISMATCHED_SIZE, "another size than most at ", "different sizes at " },
		{ TIDE_HANG_MISMATCHED_DTYPE, "another type than most at ", "different types at " },
	};
	size_t differ = count_role(h, TIDE_HANG_IS_DIFFERS),
	       same = count_role(h, TIDE_HANG_IS_WAITING) + count_role(h, TIDE_HANG_IS_FINISHED);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (words[i].verdict != h->at_the_end)
			continue;
		put_ranks(buf, n, h, TIDE_HANG_IS_DIFFERS, 'R');
		put(buf, n, " called %s", same && differ ? words[i].one : words[i].all);
		put_row(buf, n, h);
		put(buf, n, i ? "." : " on.");
	}
}

static void put_absent(char *buf, size_t n, const tide_hang *h)
{
	tide_hang_role role = h->at_the_end == TIDE_HANG_DIED	   ? TIDE_HANG_IS_DIED
			      : h->at_the_end == TIDE_HANG_NO_DUMP ? TIDE_HANG_IS_NO_DUMP
								   : TIDE_HANG_IS_MISSING;
	put_ranks(buf, n, h, role, 'R');
	put(buf, n, "%s",
	    role == TIDE_HANG_IS_DIED
		    ? " wrote no dump, and the recording was not closed (killed, or it still runs). The row is "
	    : role == TIDE_HANG_IS_NO_DUMP ? " wrote no dump, so it is unknown who did not come to "
					   : " never came to ");
	put_row(buf, n, h);
	put_waiting(buf, n, h);
	if (role == TIDE_HANG_IS_NO_DUMP || !count_role(h, TIDE_HANG_IS_NO_DUMP))
		return;
	put(buf, n, " ");
	put_ranks(buf, n, h, TIDE_HANG_IS_NO_DUMP, 'R');
	put(buf, n, " wrote no dump.");
}

static void put_all_came(char *buf, size_t n, const tide_hang *h)
{
	put(buf, n, "All known ranks called ");
	put_row(buf, n, h);
	put(buf, n, ", with the same op, size and type");
	put_waiting(buf, n, h);
	put(buf, n, "%s",
	    h->groups[h->rows[h->row].group].listed
		    ? " The cause is below torch: network, driver or device."
		    : " The dumps do not list the ranks of this group (gloo): --world says how many "
		      "the job has.");
}

char *tide__hang_reason(const tide_hang *h, char *buf, size_t n)
{
	*buf = 0;
	if (h->verdict == TIDE_HANG_SLOW)
		put(buf, n,
		    "Every rank with several dumps moved between the last two. At the end: ");
	switch (h->because) {
	case TIDE_HANG_NO_DUMPS:
		put(buf, n, "There is no dump of the Flight Recorder.");
		break;
	case TIDE_HANG_NO_OPS:
		put(buf, n,
		    "The dumps have no collectives: TORCH_FR_BUFFER_SIZE was 0, or none was called.");
		break;
	case TIDE_HANG_NOTHING_WAITS:
		put(buf, n, "Every recorded collective is finished: nothing waits.");
		break;
	case TIDE_HANG_SILENT:
		put_ranks(buf, n, h,
			  h->verdict == TIDE_HANG_DIED ? TIDE_HANG_IS_DIED : TIDE_HANG_IS_NO_DUMP,
			  'R');
		put(buf, n, "%s; nothing waits in the dumps of the others.",
		    h->verdict == TIDE_HANG_DIED
			    ? " wrote no dump, and the recording was not closed (killed, or it still runs)"
			    : " wrote no dump");
		break;
	case TIDE_HANG_DIFFERENT:
		put_different(buf, n, h);
		break;
	case TIDE_HANG_ABSENT:
		put_absent(buf, n, h);
		break;
	case TIDE_HANG_CYCLE:
		put(buf, n,
		    "Ranks wait for each other: each came first to a collective that others "
		    "did not come to. One of them is ");
		put_row(buf, n, h);
		put(buf, n, ".");
		break;
	case TIDE_HANG_OVERWRITTEN:
		put(buf, n, "It is unknown who did not come to ");
		put_row(buf, n, h);
		put(buf, n, ": the dumps of ");
		put_ranks(buf, n, h, TIDE_HANG_IS_UNKNOWN, 'r');
		put(buf, n, " no longer have it (TORCH_FR_BUFFER_SIZE)");
		put_waiting(buf, n, h);
		break;
	case TIDE_HANG_UNKNOWN_PEER:
		put_ranks(buf, n, h, TIDE_HANG_IS_WAITING, 'R');
		put(buf, n, " waits in ");
		put_row(buf, n, h);
		put(buf, n, ". No dump lists the ranks of this group, so the peer is unknown.");
		break;
	case TIDE_HANG_ALL_CAME:
		put_all_came(buf, n, h);
		break;
	}
	return buf;
}
