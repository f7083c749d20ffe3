// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/run_recordings.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/cli.h"
#include "cli/job/children.h"
#include "cli/job/ranks.h"
#include "cli/run/process_state.h"
#include "cli/run/symbolise.h"
#include "render/report/hints.h"
#include "render/report/memory/heap.h"
#include "format/encode.h"
#include "format/read.h"
#include "format/rewrite.h"
#include "format/rings.h"
#include "format/tide.h"
#include "format/varint.h"
#include "render/text/format.h"
#include "render/text/quoted.h"

enum {
	LARGE = 256 << 20,
	MANY = 3 << 20, /* events that are read in 0.3 s: longer keeps people from their prompt */
};

void tide__run_id(char id[TIDE_RUN_ID])
{
	snprintf(id, TIDE_RUN_ID, "%jd.%ld", (intmax_t)tide__now_ns(CLOCK_REALTIME),
		 (long)getpid());
}

/* ---- owner of a file ---- */

/* Encodes the fact as it is in the file. Returns its length. */
static size_t encode(uint8_t *out, const char *id)
{
	static const char key[] = "process.run";
	uint8_t *p = out;
	*p++ = TIDE_REC_FACT_TEXT;
	p = tide__put_s(p, key, sizeof key - 1);
	return (size_t)(tide__put_s(p, id, strlen(id)) - out);
}

/* Returns the process that recorded `path`; 0 if it is not a recording of this run. */
static pid_t made_by(const char *path, const char *id)
{
	uint8_t fact[TIDE_RUN_ID + 32];
	size_t n = encode(fact, id);
	tide_reader *r = NULL;
	tide_chunk c;
	tide_payload bytes = { 0 };
	pid_t pid = 0;
	if (tide__reader_open(path, &r, NULL) != TIDE_OK)
		return 0;
	while (tide__reader_next(r, &c, NULL) == TIDE_OK && c.head.type &&
	       c.head.type != TIDE_CHUNK_EVENTS) {
		if (c.head.type != TIDE_CHUNK_FACTS)
			continue;
		if (tide__reader_read_payload(r, &c, &bytes, NULL) == TIDE_OK &&
		    memmem(bytes.bytes, bytes.n, fact, n))
			pid = (pid_t)tide__reader_head(r)->pid;
		break;
	}
	tide__payload_free(&bytes);
	tide__reader_close(r);
	return pid;
}

/* ---- closing ---- */

/* A process that was ended by a signal (Ctrl-C, an abort, kill -9) has not closed its recording.
 * No process writes it now, so it is closed here: one complete file without its ring file. */
static void close_left(const char *file)
{
	char rings[PATH_MAX + sizeof TIDE_RINGS_SUFFIX];
	struct stat st;
	tide_rewrite w;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	snprintf(rings, sizeof rings, "%s" TIDE_RINGS_SUFFIX, file);
	if (access(rings, F_OK) || stat(file, &st))
		return;
	if (st.st_size >= LARGE)
		tide__cli_note("tidemark run: closing %s", file);
	if (tide__recover(file, file, &w, &err) == TIDE_OK)
		unlink(rings);
	else
		tide__cli_fail(file, &err); /* both files stay, and every command reads them */
}

/* ---- finding recordings ---- */

typedef struct left {
	const char *file, *id;
	pid_t child;
	int64_t replaced; /* as in tide_run_end */
	bool failed, heap;
	unsigned holds;		  /* TIDE_HOLDS_*, as far as options say */
	char own[PATH_MAX];	  /* the program's; "" = none */
	char became[PATH_MAX];	  /* recording of the program it became by exec: the largest */
	char other[PATH_MAX];	  /* recording of a child process: the largest */
	size_t n_became, n_other; /* files */
	tide_pids children;
	uint64_t events; /* of the program's own recording */
	uint64_t lost;	 /* events, in all recordings */
	size_t n_ranks;	 /* of those with a rank: number, lowest and highest */
	int64_t low, high;
	tide_objects objects;
} left;

/* Notes the rank of a recording; processes that torchrun or similar launchers started have one. */
static void note_rank(left *l, const char *path)
{
	int64_t rank = tide__rank_of(path);
	if (rank < 0)
		return;
	l->low = !l->n_ranks || rank < l->low ? rank : l->low;
	l->high = !l->n_ranks || rank > l->high ? rank : l->high;
	l->n_ranks++;
}

/* Resolves native frames, which are addresses until now. */
static void name_frames(left *l, const char *file)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (tide__symbolise(file, 0, &l->objects, &err) != TIDE_OK) /* it stays unchanged */
		tide__cli_note("tidemark run: %s: native frames stay addresses: %s", file,
			       err.text);
}

/* Names the frames of the older part of a recording that is limited in size. */
static void name_old(left *l, const char *path)
{
	char old[PATH_MAX + 16];
	size_t n = strlen(path);
	if (n > 5 && !strcmp(path + n - 5, ".tide"))
		n -= 5;
	snprintf(old, sizeof old, "%.*s.old.tide", (int)n, path);
	if (!access(old, F_OK) && made_by(old, l->id))
		name_frames(l, old);
}

/* Reads how many events a closed recording has and how many it lost; 0 if it was not closed. */
static uint64_t count_events(const char *path, uint64_t *n_lost)
{
	tide_reader *r = NULL;
	tide_chunk c;
	tide_payload bytes = { 0 };
	uint64_t events = 0, lost = 0;
	*n_lost = 0;
	if (tide__reader_open(path, &r, NULL) != TIDE_OK)
		return 0;
	while (tide__reader_next(r, &c, NULL) == TIDE_OK && c.head.type &&
	       c.head.type != TIDE_CHUNK_END)
		;
	if (c.head.type == TIDE_CHUNK_END &&
	    tide__reader_read_payload(r, &c, &bytes, NULL) == TIDE_OK && bytes.n &&
	    *bytes.bytes == TIDE_REC_TOTAL) {
		bool bad = false; /* padding follows the payload */
		tide__varint(tide__varint(bytes.bytes + 1, &events, &bad), &lost, &bad);
		events = bad ? 0 : events;
		*n_lost = bad ? 0 : lost;
	}
	tide__payload_free(&bytes);
	tide__reader_close(r);
	return events;
}

/* Keeps the path of the larger file. */
static void keep_larger(char kept[PATH_MAX], const char *path)
{
	struct stat a, b;
	if (!*kept || (stat(kept, &a) == 0 && stat(path, &b) == 0 && b.st_size > a.st_size))
		snprintf(kept, PATH_MAX, "%s", path);
}

static void note(left *l, const char *path)
{
	pid_t pid = made_by(path, l->id);
	if (!pid)
		return;
	if (pid == l->child || tide__process_state_read(pid) == TIDE_PROCESS_ENDED) {
		close_left(path);
		name_frames(l, path);
		name_old(l, path);
	}
	uint64_t lost, events = count_events(path, &lost);
	l->lost += lost;
	if (pid != l->child) {
		note_rank(l, path);
		l->n_other++;
		tide__pids_add(&l->children, pid);
		keep_larger(l->other, path);
	} else if (!*l->own) {
		snprintf(l->own, sizeof l->own, "%s", path);
		l->events = events;
	} else {
		l->n_became++;
		keep_larger(l->became, path);
	}
}

/* Finds the recordings of the run: the file itself, then related files beside it. NAME.PID.tide is
 * the program's own if another run used the file at that moment. */
static void look(left *l)
{
	const char *stem = strrchr(l->file, '/') + 1;
	size_t n = strlen(stem);
	char path[PATH_MAX], first[PATH_MAX];
	if (n > 5 && !strcmp(stem + n - 5, ".tide"))
		n -= 5;
	note(l, l->file);
	snprintf(first, sizeof first, "%.*s.%ld.tide", (int)(stem + n - l->file), l->file,
		 (long)l->child);
	if (!access(first, F_OK))
		note(l, first);
	snprintf(path, sizeof path, "%.*s", (int)(stem - l->file), l->file);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%.*s%s", (int)(stem - l->file), l->file, e->d_name);
		if (tide__is_childs(e->d_name, stem, n) && strcmp(path, first) != 0)
			note(l, path);
	}
	if (d)
		closedir(d);
}

/* ---- messages ---- */

/* Returns the path as a command in this folder would name it. */
static const char *from_here(const char *path)
{
	char here[PATH_MAX];
	size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
	if (n > 1 && !strncmp(path, here, n) && path[n] == '/' && path[n + 1] != '-')
		return path + n + 1;
	return path;
}

/* Prints one line about the host heap, if it was recorded. With many events only their number: the
 * figures take a pass over all of them, and the prompt should be back at once. */
static void tell_heap(const char *file, uint64_t events)
{
	char line[256];
	if (events > MANY) {
		fprintf(stderr,
			"tidemark run: host heap: %s events; `tidemark heap` finds the peak and leaks\n",
			tide__fmt_count(line, sizeof line, (double)events));
		return;
	}
	tide_heap h = { 0 };
	tide_model *m = NULL;
	struct stat st;
	if (stat(file, &st) || st.st_size > LARGE ||
	    tide__load(file, &(tide_load_options){ .what = TIDE_WANT_MEMORY }, &m, NULL) != TIDE_OK)
		return;
	if (tide__heap_report_find(m, &h, NULL) == TIDE_OK && h.pool) {
		fprintf(stderr, "tidemark run: %s\n", tide__heap_write_line(&h, line, sizeof line));
	}
	tide__heap_report_free(&h);
	tide__model_free(m);
}

/* "2026-01-31 12:00:00 UTC": when the recording that was there before began. */
static const char *when_replaced(const left *l, char *out, size_t n)
{
	time_t s = (time_t)(l->replaced / 1000000000);
	struct tm t;
	if (!gmtime_r(&s, &t) || !strftime(out, n, "%Y-%m-%d %H:%M:%S UTC", &t))
		snprintf(out, n, "an earlier run");
	return out;
}

static void tell_own(const left *l)
{
	struct stat st;
	char size[32], when[64];
	if (strcmp(l->own, l->file) != 0)
		tide__cli_note("tidemark run: another process was recording into %s",
			       from_here(l->file));
	if (stat(l->own, &st))
		return;
	const char *own = from_here(l->own);
	fputs("tidemark run: ", stderr);
	tide__put_name(stderr, own, strlen(own), 0, false);
	fprintf(stderr, ", %s", tide__fmt_bytes(size, sizeof size, (double)st.st_size));
	if (l->replaced && !strcmp(l->own, l->file))
		fprintf(stderr, "; it replaced the recording of %s (-o FILE keeps both)",
			when_replaced(l, when, sizeof when));
	fputc('\n', stderr);
	if (l->heap)
		tell_heap(l->own, l->events);
	fputs("next:\n", stderr);
	static const tide_hint first = { "FILE", "the first answers" };
	tide_hint hints[TIDE_HINTS];
	size_t n = tide__hints_find(l->holds, hints);
	tide__put_hint(&first, own, stderr);
	for (size_t i = 0; i < n; i++)
		tide__put_hint(&hints[i], own, stderr);
}

/* The launcher of a job records nothing, so its name leads to the ranks (job/children.h). */
static void tell_ranks(const left *l)
{
	static const tide_hint first = { "FILE", "every rank's recording, and what to ask of it" };
	static const tide_hint more[] = {
		{ "peak FILE", "the memory peak of every rank" },
		{ "flame FILE", "time of all ranks by op" },
		{ "report FILE -o job.html", "all of it as one page" },
	};
	static const tide_hint device = { "hta FILE", "device time of all ranks, stragglers" };
	const char *name = from_here(l->file);
	fputs("next:\n", stderr);
	tide__put_hint(&first, name, stderr);
	if (l->holds & TIDE_HOLDS_DEVICE_ROWS)
		tide__put_hint(&device, name, stderr);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		tide__put_hint(&more[i], name, stderr);
}

/* "run.tide" -> "run.*.tide": all recordings of a run but the program's own. */
static void tell_group(const left *l)
{
	size_t n = strlen(l->file);
	char ranks[64] = "", pattern[PATH_MAX + 8], when[64];
	bool old = l->replaced && !*l->own, others = l->n_other > 1;
	if (n > 5 && !strcmp(l->file + n - 5, ".tide"))
		n -= 5;
	if (l->n_ranks > 1)
		snprintf(ranks, sizeof ranks, ", ranks %" PRId64 " to %" PRId64, l->low, l->high);
	else if (l->n_ranks)
		snprintf(ranks, sizeof ranks, ", rank %" PRId64, l->low);
	snprintf(pattern, sizeof pattern, "%.*s.*.tide", (int)n, l->file);
	fprintf(stderr, "tidemark run: %zu child process%s recorded%s: ", l->children.n,
		l->children.n > 1 ? "es" : "", ranks);
	const char *other = from_here(l->other);
	tide__put_name(stderr, other, strlen(other), 0, false);
	fputs(others ? " and others beside it" : "", stderr);
	if (others && (*l->own || old)) {
		fputs("; all of them: tidemark peak ", stderr);
		tide__put_quoted(from_here(pattern), stderr);
	}
	fputc('\n', stderr);
	if (old)
		tide__cli_note("tidemark run: %s is of an earlier run, %s: its program recorded "
			       "nothing now",
			       from_here(l->file), when_replaced(l, when, sizeof when));
	else if (others && !*l->own && !getenv("TIDEMARK_RUN_ASKED"))
		tell_ranks(l);
}

/* Returns the free bytes of the file system of `file`; UINT64_MAX if unknown. */
static uint64_t free_bytes(const char *file)
{
	char folder[PATH_MAX];
	struct statvfs v;
	snprintf(folder, sizeof folder, "%s", file);
	char *end = strrchr(folder, '/');
	strcpy(end ? end + (end == folder) : folder, end ? "" : ".");
	return statvfs(*folder ? folder : "/", &v) == 0 ? (uint64_t)v.f_bavail * v.f_frsize
							: UINT64_MAX;
}

/* Says that events are missing, and why as far as that can be seen now. */
static void tell_lost(const left *l)
{
	enum { AHEAD = 16 << 20 }; /* more than the recorder allocates at once */
	char n[32], size[32], why[128] = "they came faster than they could be written";
	struct rlimit r;
	uint64_t left_bytes = free_bytes(l->file);
	if (!l->lost)
		return;
	if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
		snprintf(why, sizeof why, "a file may have %s (ulimit -f)",
			 tide__fmt_bytes(size, sizeof size, (double)r.rlim_cur));
	else if (left_bytes < AHEAD)
		snprintf(why, sizeof why, "the disk had too little space, %s are free now",
			 tide__fmt_bytes(size, sizeof size, (double)left_bytes));
	tide__cli_note("tidemark run: %s events were lost, so figures are too low: %s",
		       tide__fmt_count(n, sizeof n, (double)l->lost), why);
}

/* Prints a message and returns true if a limit of the process leaves no room for a recording. */
static bool tell_limit(const char *file)
{
	static const struct {
		int which;
		rlim_t needs;
		const char *text;
	} limits[] = {
		{ RLIMIT_NOFILE, 6, "files a process may open (ulimit -n)" },
		{ RLIMIT_FSIZE, 512 << 10, "bytes a file may have (ulimit -f)" },
	};
	struct rlimit r;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		if (getrlimit(limits[i].which, &r) != 0 || r.rlim_cur >= limits[i].needs)
			continue;
		tide__cli_note("tidemark run: nothing was recorded into %s: the limit of %s is "
			       "%llu, a recording needs %llu",
			       file, limits[i].text, (unsigned long long)r.rlim_cur,
			       (unsigned long long)limits[i].needs);
		return true;
	}
	return false;
}

static void tell_failures(const tide_failures *f, bool none)
{
	char n[32];
	size_t k = f->processes.n;
	if (none)
		tide__cli_note("tidemark run: nothing was recorded: %s", f->first);
	else
		tide__cli_note("tidemark run: %s process%s not recorded; process %ld: %s",
			       tide__fmt_count(n, sizeof n, (double)k), k > 1 ? "es were" : " was",
			       f->pid, f->first);
}

void tide__run_tell(const tide_run_end *end, const tide_failures *failures)
{
	static left l; /* large */
	const char *file = end->file;
	bool failed = end->failed, heap = end->heap, gpu = end->gpu;
	l = (left){ .file = file,
		    .id = end->id,
		    .child = end->child,
		    .replaced = end->replaced,
		    .failed = failed,
		    .heap = heap };
	l.holds = TIDE_HOLDS_ALLOCS | (failed ? TIDE_HOLDS_FAILURE : 0) |
		  (heap ? TIDE_HOLDS_HEAP : 0) |
		  (gpu ? TIDE_HOLDS_DEVICE_ROWS | TIDE_HOLDS_OPS : 0);
	bool asked = getenv("TIDEMARK_RUN_ASKED") !=
		     NULL; /* set by `profile` and `compile`, which report themselves */
	look(&l);
	tide__objects_close(&l.objects);
	if (l.objects.unnamed)
		tide__cli_note("tidemark run: %s", tide__unnamed_advice());
	if (*l.own && !asked)
		tell_own(&l);
	if (l.n_became)
		tide__cli_note("tidemark run: the program replaced itself (exec); the new "
			       "program recorded: %s%s",
			       from_here(l.became), l.n_became > 1 ? " and others beside it" : "");
	if (l.n_became && heap)
		tell_heap(l.became, count_events(l.became, &(uint64_t){ 0 }));
	if (l.n_other)
		tell_group(&l);
	tell_lost(&l);
	bool none = !*l.own && !l.n_other;
	if (failures->processes.n)
		tell_failures(failures, none);
	else if (none && !tell_limit(file) && !asked)
		tide__cli_note(
			"tidemark run: nothing was recorded into %s: the program %s, recorded into "
			"a file of its own, or the file was removed",
			file,
			heap ? "is statically linked, set-uid or built with ThreadSanitizer"
			: gpu ? "used neither PyTorch's allocators nor CUDA (--heap records any program)"
			      : "did not use PyTorch's allocators (--heap records any program)");
}
