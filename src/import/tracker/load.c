// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads memory profiles (JSON) of the Python package's tracker, and of other trackers that use a
 * subset of its names. The input is read completely, plain or compressed, at most 2 GiB. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/tracker/tracker_impl.h"

#define BYTES_MOST ((size_t)1 << 31)

static tide_code run(trk *t, const char *text, size_t n)
{
	tide_model *m = t->m;
	uint32_t process = tide__push(&m->processes, &tide_processes_desc);
	uint8_t *none = TIDE_PUSH(t, open); /* of the none row */
	if (!process || !none || !tide__jsonr_scan_text(&t->c.s, text, n))
		return tide__nomem(t->err);
	int64_t *id = TIDE_PUSH(t, ids);
	if (!id)
		return tide__nomem(t->err);
	*none = 0;
	*id = 0;
	t->end = -1;
	m->processes.pid[process] = m->processes.parent_pid[process] = -1;
	m->processes.rank[process] = m->processes.world[process] = -1;
	(void)(tide__tracker_read(t) && tide__tracker_build(t));
	if (t->rc == TIDE_OK && m->spans.n < 2 && m->allocs.n < 2 && m->marks.n < 2 &&
	    !m->op_totals.n)
		return tide__fail(t->err, TIDE_EFORMAT, 0,
				  "a profile without operations, tensors or snapshots");
	return t->rc;
}

tide_code tide__tracker_import(const char *text, size_t n, tide_model *m, tide_error *err)
{
	trk *t = tide__calloc(1, sizeof *t); /* the parser in it is large */
	if (!t)
		return tide__nomem(err);
	t->m = m;
	t->err = err;
	tide_code rc = run(t, text, n);
	tide__jsonr_fini(&t->c);
	tide__map_free(&t->lanes);
	tide__map_free(&t->devices);
	tide__map_free(&t->pools);
	tide__map_free(&t->timed);
	tide__free(t->lives);
	tide__free(t->snaps);
	tide__free(t->totals);
	tide__free(t->listed);
	tide__free(t->ids);
	tide__free(t->open);
	tide__free(t);
	return rc;
}

tide_code tide__tracker_load(const char *path, const tide_load_options *opt,
			     tide_text_import *import, tide_model *m, tide_error *err)
{
	tide_whole_file in;
	tide_code rc =
		tide__source_read_all(path, opt->max_expanded, BYTES_MOST, JSONR_PAD, &in, err);
	if (rc == TIDE_OK)
		rc = import((const char *)in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	return tide__tracker_load(path, opt, tide__tracker_import, m, err);
}

/* Recognises the format by two of its section names, or one in the first bytes. */
static int sniff(const uint8_t *head, size_t n)
{
	static const char *const words[] = {
		"\"num_snapshots\"",	     "\"operation_tracking_enabled\"",
		"\"checkpoint_name\"",	     "\"device_breakdown\"",
		"\"operation_allocations\"", "\"operation_summary\"",
		"\"tensor_lifecycle\"",	     "\"operation_log\"",
		"\"pytorch_operations\"",    "\"cpu_time_us\""
	};
	size_t p = 0;
	int found = 0;
	while (p < n && jsonr_is_ws((char)head[p]))
		p++;
	if (p == n || head[p] != '{')
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		found += tide__head_contains(head, n, words[i]);
	return found > 1 ? 95 : found ? 50 : 0;
}

const tide_importer tide__import_tracker = {
	.name = "tracker",
	.what = "memory profile JSON of the tracker, plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
