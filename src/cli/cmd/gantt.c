// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* gantt: the timeline of a profile or any trace as one page. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/timeline/timeline_rows.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/output/outfile.h"
#include "cli/output/page.h"
#include "render/text/format.h"
#include "render/page/page.h"

enum { O_OUTPUT };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "the page (default: named after the input, with _gantt.html)" },
};

/* Writes the name of the page: -o, else OUT, else the input's name with the ending _gantt.html.
 * Returns false if it is too long. */
static bool name_page(const tide_args *a, char *out, size_t n)
{
	static const char *const endings[] = { ".gz", ".json", ".tide", ".pickle", ".pkl" };
	size_t stem = strlen(a->files[0]);
	if (a->opt[O_OUTPUT].set || a->n_files > 1)
		return (size_t)snprintf(out, n, "%s",
					a->opt[O_OUTPUT].set ? a->opt[O_OUTPUT].text
							     : a->files[1]) < n;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t k = strlen(endings[i]);
		if (stem > k && !strncmp(a->files[0] + stem - k, endings[i], k))
			stem -= k;
	}
	return (size_t)snprintf(out, n, "%.*s_gantt.html", (int)stem, a->files[0]) < n;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int write_page(const tide_args *a, const tide_model *m, const char *page)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile file;
	tide_args one = *a;
	if (tide__outfile_open(&file, page, &err) != TIDE_OK)
		return tide__cli_fail(page, &err);
	one.n_files = 1;
	one.out = file.f;
	one.named = page;
	int rc = tide__cli_write_page_of(&one, m, "gantt");
	if (tide__outfile_close(&file, !rc, &err) != TIDE_OK)
		rc = tide__cli_fail(page, &err);
	return rc;
}

/* Prints the content of the page. */
static int tell(const tide_args *a, const tide_model *m, const char *page)
{
	tide_timeline_rows rows = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int64_t first = INT64_MAX, last = 0;
	uint32_t levels = 0;
	if (tide__find_timeline_rows(m, &rows, &err) != TIDE_OK)
		return tide__cli_fail(a->files[0], &err);
	uint32_t lanes = rows.n_tracks;
	for (uint32_t k = 0; k < rows.n_tracks; k++)
		levels = rows.tracks[k].n_rows > levels ? rows.tracks[k].n_rows : levels;
	tide__timeline_rows_free(&rows);
	for (size_t i = 1; i < m->spans.n; i++) {
		int64_t t1 = m->spans.t1[i] == TIDE_T_NEVER ? m->t_end : m->spans.t1[i];
		first = m->spans.t0[i] < first ? m->spans.t0[i] : first;
		last = t1 > last ? t1 : last;
	}
	char count[32], ns[32], name[400];
	fprintf(a->out, "%s: a page, to open in a browser\n",
		tide__fmt_name(name, sizeof name, page, strlen(page), 0));
	fprintf(a->out, "  %s operations in %u lane%s, nested up to %u deep\n",
		tide__fmt_count(count, sizeof count, (int64_t)m->spans.n - 1), lanes,
		lanes == 1 ? "" : "s", levels);
	fprintf(a->out, "  %s from the first to the end of the last\n",
		m->axis == TIDE_AXIS_OPS ? "an unknown time (the source has no clock)"
					 : tide__fmt_ns(ns, sizeof ns, (double)(last - first)));
	tide__cli_print_losses(a, m);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	char page[PATH_MAX];
	if (a->opt[O_OUTPUT].set && a->n_files > 1)
		return tide__cli_fail_usage(a, "two names are given for the page: %s and %s",
					    a->files[1], a->opt[O_OUTPUT].text);
	if (!name_page(a, page, sizeof page))
		return tide__cli_fail_usage(a, "the name of the page is too long");
	if (same_file(a->files[0], page))
		return tide__cli_fail_usage(a, "the page would replace its input, %s", page);
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	int rc = 1;
	if (m->spans.n < 2) {
		tide__cli_note("tidemark gantt: %s has no operations, so there is nothing to draw "
			       "(track_operation and track_model_with_hooks record some)",
			       a->files[0]);
	} else if (tide__page_missing()) {
		fprintf(stderr, "tidemark gantt: this build has no pages: %s\n",
			tide__page_missing());
	} else if (!strcmp(page, "-")) {
		tide_args one = *a;
		one.n_files = 1;
		rc = tide__cli_write_page_of(&one, m, "gantt");
	} else {
		rc = write_page(a, m, page);
		if (!rc)
			rc = tell(a, m, page);
	}
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_gantt = {
	.name = "gantt",
	.usage = "FILE [-o OUT.html]",
	.summary = "draw operations over time as a page, to open in a browser",
	.help = "FILE is a profile that the memory tracker wrote (JSON), a recording, or any "
		"other trace. The page shows every operation with its measured start and end in "
		"the lane of its thread or stream; pointing at one shows its duration, memory "
		"and shapes; the wheel zooms, dragging pans. It is one file and works offline. "
		"Without -o it is named after FILE, with _gantt.html; its name may also follow "
		"FILE. It is the timeline view of `tidemark report`.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 2,
	.own_output = true,
	.only = ".html,.htm",
	.run = run,
};
