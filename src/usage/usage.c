// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The tracker over the recorder and the reader: a capture is a recording with phase marks; its
 * figures are those of `tidemark phases`. State is one capture per process. */
#include <tidemark/usage.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tidemark/record.h>

#include "analyze/live/live_set.h"
#include "analyze/memory/phases.h"
#include "base/error.h"
#include "base/mem.h"
#include "import/import.h"
#include "render/report/memory/phases_tracker.h"

static struct {
	pid_t owner;  /* process of the capture */
	bool watched; /* the end of the process removes a temporary recording */
	char path[4096];
	bool active;	/* between begin and end */
	bool captured;	/* a capture exists that can be printed */
	bool own;	/* the recording is ours: stopped by the end ... */
	bool temporary; /* ... and removed by clear */
	uint64_t first; /* phase marks that the recording in progress had before this capture */
	tide_model *m;	/* owned: the capture as read; NULL = not read yet */
	tide_phases p;
} it;

static void forget_read(void)
{
	if (it.m)
		tide__phases_free(&it.p);
	tide__model_free(it.m);
	it.m = NULL;
}

/* Writes a temporary file name for a recording that is not kept. */
static bool temporary(char *out, size_t n)
{
	const char *dir = getenv("TMPDIR");
	snprintf(out, n, "%s/tidemark-usage-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkstemp(out);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Removes the temporary recording of a program that ends without tide_usage_clear. A forked child
 * leaves its parent's alone. */
static void at_exit(void)
{
	if (it.temporary && it.owner == getpid())
		tide_usage_clear();
}

static void watch_exit(void)
{
	it.owner = getpid();
	if (!it.watched)
		it.watched = !atexit(at_exit);
}

tide_code tide_usage_begin(tide_usage_mode mode, const char *path, tide_error *err)
{
	tide_options o = TIDE_OPTIONS_INIT;
	tide_code rc = TIDE_OK;
	if (it.active)
		return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET,
				  "MemoryUsageTracker: Capture already active");
	tide_usage_clear();
	o.full_wait_us = 100000;
	it.own = !tide_recording_path(it.path, sizeof it.path) || !tide_recording();
	it.temporary = it.own && !path;
	if (it.own && path)
		snprintf(it.path, sizeof it.path, "%s", path);
	watch_exit();
	if (it.temporary && !temporary(it.path, sizeof it.path))
		return tide__fail_errno(err, "cannot make a temporary file");
	if (it.own)
		rc = tide_start(it.path, &o, err);
	if (rc != TIDE_OK)
		return rc;
	if (!it.own) /* events before it are not part of this capture */
		tide_mark(TIDE_PHASE, tide_intern(TIDE_BEFORE_CAPTURE), 0);
	if (mode == TIDE_USAGE_NO_DISPATCH)
		tide_annotate(tide_intern("predicted.device"), "NO_DISPATCH");
	it.active = it.captured = true;
	return TIDE_OK;
}

tide_code tide_usage_snapshot(const char *name, tide_error *err)
{
	if (!it.active)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "MemoryUsageTracker: snapshot without an active capture");
	if (!name)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "a snapshot needs a name");
	forget_read();
	tide_mark(TIDE_PHASE, tide_intern(name), 0);
	return TIDE_OK;
}

tide_code tide_usage_end(const char *name, tide_error *err)
{
	if (!it.active)
		return TIDE_OK;
	tide_usage_snapshot(name ? name : "END_TRACE", NULL);
	it.active = false;
	return it.own ? tide_stop(err) : TIDE_OK;
}

void tide_usage_clear(void)
{
	tide_usage_end(NULL, NULL);
	forget_read();
	if (it.temporary && *it.path)
		unlink(it.path);
	bool watched = it.watched;
	memset(&it, 0, sizeof it);
	it.watched = watched;
}

/* Reads the capture, once until the next snapshot. A recording in progress is read in its current
 * state. */
static tide_code read_capture(tide_error *err)
{
	if (it.m || !it.captured)
		return TIDE_OK;
	tide_code rc = tide__load(it.path, NULL, &it.m, err);
	if (rc == TIDE_OK && (rc = tide__find_phases(it.m, &it.p, err)) != TIDE_OK)
		forget_read();
	return rc;
}

tide_code tide_usage_print(FILE *out, tide_error *err)
{
	if (!out)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "no file to print into");
	tide_code rc = read_capture(err);
	if (rc != TIDE_OK)
		return rc;
	if (it.m)
		tide__phases_write_tracker(it.m, &it.p, TIDE_ANY, out);
	else
		fputs("WARNING: No traces captured\n", out);
	return TIDE_OK;
}

/* ---- figures ---- */

/* Returns the scope that the text shows first: an accelerator's main memory, else the host's. */
static size_t shown_scope(uint32_t *device)
{
	size_t best = it.p.n_scopes;
	for (size_t k = 0; k < it.p.n_scopes; k++) {
		bool host = it.m->devices.kind[it.p.scopes[k].device] == TIDE_DEVICE_HOST;
		if (it.p.scopes[k].kind == TIDE_SCOPE_MAIN &&
		    (best == it.p.n_scopes ||
		     (!host && it.m->devices.kind[it.p.scopes[best].device] == TIDE_DEVICE_HOST)))
			best = k;
	}
	*device = best < it.p.n_scopes ? it.p.scopes[best].device : 0;
	return best;
}

static int64_t l1_top(size_t phase, tide_scope_kind kind, uint32_t device)
{
	for (size_t k = 0; k < it.p.n_scopes; k++)
		if (it.p.scopes[k].kind == kind && it.p.scopes[k].device == device)
			return (int64_t)it.p.levels[phase * it.p.n_scopes + k].top;
	return 0;
}

static void fill(size_t phase, tide_usage_figures *out)
{
	uint32_t device;
	size_t k = shown_scope(&device);
	*out = (tide_usage_figures){ 0 };
	if (k == it.p.n_scopes)
		return;
	const tide_phase_level *l = &it.p.levels[phase * it.p.n_scopes + k];
	*out = (tide_usage_figures){ (int64_t)l->segment_peak,
				     (int64_t)l->alloc_bytes,
				     (int64_t)l->free_bytes,
				     l->change,
				     (int64_t)l->peak,
				     (int64_t)l->current,
				     l1_top(phase, TIDE_SCOPE_L1_CB, device),
				     l1_top(phase, TIDE_SCOPE_L1_BUFFER, device),
				     l1_top(phase, TIDE_SCOPE_L1, device) };
}

/* Returns the phase of the first snapshot: if the recording was in progress before, its earlier
 * phases are none. */
static size_t first_snapshot(void)
{
	return it.own ? 0 : tide__phases_capture(it.m, &it.p) + 1;
}

#define NOWHERE "a name and a place for the figures are needed, not NULL"

size_t tide_usage_count(void)
{
	if (read_capture(NULL) != TIDE_OK || !it.m)
		return 0;
	size_t first = first_snapshot(), n = first;
	while (n < it.p.n && it.p.phases[n].mark)
		n++;
	return n - first;
}

tide_code tide_usage_at(size_t k, const char **name, tide_usage_figures *out, tide_error *err)
{
	if (!name || !out)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, NOWHERE);
	if (k >= tide_usage_count())
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no snapshot %zu", k);
	size_t n = first_snapshot() + k;
	*name = tide__text(it.m, it.m->marks.name[it.p.phases[n].mark], NULL);
	fill(n, out);
	return TIDE_OK;
}

tide_code tide_usage_get(const char *name, tide_usage_figures *out, tide_error *err)
{
	if (!name || !out)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, NOWHERE);
	size_t n = tide_usage_count(), many = 0;
	tide_usage_figures figures, found = { 0 };
	const char *called;
	for (size_t k = 0; k < n; k++)
		if (tide_usage_at(k, &called, &figures, err) == TIDE_OK && !strcmp(called, name)) {
			found = figures;
			many++;
		}
	if (!many)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no snapshot '%.80s'", name);
	if (many > 1)
		return tide__fail(
			err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			"the name '%.80s' is ambiguous: %zu snapshots have it; ask for all", name,
			many);
	*out = found;
	return TIDE_OK;
}
