// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Start, stop, fork and exit: the life of a recording. Everything here runs in slow sections. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "format/recording_owner.h"
#include "runtime/defs.h"
#include "runtime/failure.h"
#include "runtime/last_thread.h"
#include "runtime/writer_tasks.h"
#include "runtime/recorder.h"
#include "runtime/limits.h"
#include "runtime/ring_sigbus.h"

tide_recorder tide__rec = { .space = { .file.fd = -1 }, .sink = { .file.fd = -1 } };

static bool ending; /* the process: nothing is released */
static bool late;   /* the family became known after the file's facts were written */
static bool follow; /* a forked child of a recording process that has not recorded yet */

enum {
	LOCK_WAIT_MS = 200,	  /* how long a start waits for others in the same folder */
	WRITER_STACK = 256 << 10, /* besides the thread-local variables of all libraries */
};
#ifdef __SANITIZE_THREAD__ /* it reports a thread that was not joined at the end */
enum { WATCHED = true };
#else
enum { WATCHED = false };
#endif
static void *writer_stack;
static size_t writer_stack_size;

/* ---- options and names --------------------------------------------------------------------- */

/* Rings are resident while in use: 1/8 of a container's memory. */
static size_t most_rings(void)
{
	uint64_t share = tide__limit_memory() / 8, most = UINT64_C(1) << 30;
	return (size_t)(share < most ? share : most);
}

/* TIDEMARK_MAX_SIZE, in bytes; 0 = no limit. */
static uint64_t size_from_environment(void)
{
	const char *text = getenv("TIDEMARK_MAX_SIZE");
	char *end;
	unsigned long long v = text ? strtoull(text, &end, 10) : 0;
	return text && *text && !*end ? v : 0;
}

static tide_code fill_options(tide_options *o, const tide_options *given, tide_error *err)
{
	*o = (tide_options)TIDE_OPTIONS_INIT;
	if (given) {
		if (given->size < sizeof(size_t) || given->size > 4096)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "options.size is not set: use TIDE_OPTIONS_INIT");
		memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
	}
	o->ring_bytes = o->ring_bytes ? o->ring_bytes : (size_t)1 << 20;
	bool given_most = o->max_ring_bytes != 0;
	o->tick_ms = o->tick_ms ? o->tick_ms : 1000;
	if (!o->max_file_bytes)
		o->max_file_bytes = size_from_environment();
	if (o->max_file_bytes && o->max_file_bytes < TIDE_FILE_BYTES_LEAST)
		o->max_file_bytes = TIDE_FILE_BYTES_LEAST;
	if (o->ring_bytes & (o->ring_bytes - 1) || o->ring_bytes < 65536 ||
	    o->ring_bytes > (size_t)1 << 30)
		return tide__fail(
			err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			"ring_bytes is %zu: a power of two from 65536 to 1073741824 is needed",
			o->ring_bytes);
	if (given_most && o->max_ring_bytes < o->ring_bytes)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "max_ring_bytes is %zu: less than one ring of %zu",
				  o->max_ring_bytes, o->ring_bytes);
	return TIDE_OK;
}

/* Absolute, so that chdir does no harm. */
static tide_code absolute(char out[4096], const char *path, tide_error *err)
{
	size_t n = 0, len = path ? strlen(path) : 0;
	if (!len)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "no path given");
	if (path[0] != '/') {
		if (!getcwd(out, 4096))
			return tide__fail_errno(err,
						errno == ENOENT ? "%s: the working directory was "
								  "removed: use an absolute path"
								: "%s: working directory",
						path);
		n = strlen(out);
		out[n++] = '/';
	}
	if (n + len + 32 > 4096)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "path is too long");
	memcpy(out + n, path, len + 1);
	struct stat st;
	if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s: not a regular file", path);
	return TIDE_OK;
}

/* Returns since when recordings belong to this process's family: files that a child wrote later
 * are not replaced. `tidemark run` passes its start time. */
static int64_t family_since(void)
{
	static int64_t since; /* kept over fork; lock held */
	const char *run = getenv("TIDEMARK_RUN");
	if (!since)
		since = run ? strtoll(run, NULL, 10) : 0;
	if (!since)
		since = (int64_t)tide__clock_ns(CLOCK_REALTIME);
	return since;
}

/* run.tide -> run.PID.tide */
static void child_path(char out[4096], const char *base)
{
	tide__child_make_name(out, 4096, base, family_since());
}

/* Makes run.rank3.tide from run.tide, for another rank with the same name, else run.PID.tide. */
static void beside_path(char out[4096], const char *base)
{
	tide__ranks_make_name(out, 4096, base, family_since());
}

/* ---- start --------------------------------------------------------------------------------- */

static void fill_head(tide_file_head *h, const uint8_t id[16])
{
	tide_triple now = tide__clock_read_triple();
	*h = (tide_file_head){ .major = TIDE_FORMAT_MAJOR,
			       .minor = TIDE_FORMAT_MINOR,
			       .head_size = sizeof *h,
			       .pid = (uint64_t)getpid(),
			       .start_ticks = now.ticks,
			       .start_mono_raw = now.mono_raw,
			       .start_real = now.real,
			       .clock = tide__clock_kind };
	memcpy(h->magic, TIDE_FILE_MAGIC, 8);
	memcpy(h->recording, id, 16);
	h->checksum = tide__file_head_sum(h);
}

/* Reports why files could not be created: `e` is an errno. */
static tide_code cannot_record(int e, tide_error *err)
{
	enum { LEAST = 600 }; /* KiB: reserve of the file, log and smallest ring */
	tide_recorder *r = &tide__rec;
	static char folder[4096]; /* the stack may be small; lock held */
	struct statvfs v;
	struct rlimit most;
	tide_code rc;
	snprintf(folder, sizeof folder, "%.4095s", r->path);
	strrchr(folder, '/')[1] = 0;
	errno = e;
	if (e == ENOSPC && statvfs(folder, &v) == 0)
		rc = tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: no space: %llu KiB are free, a recording needs about %d and more for "
			"each thread",
			r->path,
			((unsigned long long)v.f_bavail * v.f_frsize + r->sink.allocated +
			 r->space.size) >>
				10, /* both files are removed */
			LEAST);
	else if (e == EFBIG && getrlimit(RLIMIT_FSIZE, &most) == 0)
		rc = tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: a file may have %llu KiB (ulimit -f), a recording needs about %d",
			r->path, (unsigned long long)most.rlim_cur >> 10, LEAST);
	else
		return tide__fail_errno(err, "%s: cannot record", r->path);
	if (err)
		err->sys_errno = e;
	return rc;
}

/* Creates both files under temporary names, complete up to the first event. */
static tide_code make_files(const char *file, const char *rings, tide_error *err)
{
	tide_recorder *r = &tide__rec;
	uint8_t id[16] = { 0 };
	if (getrandom(id, sizeof id, GRND_NONBLOCK) != sizeof id) {
		uint64_t weak[2] = { tide__clock_ns(CLOCK_REALTIME), (uint64_t)getpid() };
		memcpy(id, weak, sizeof id);
	}
	static const uint8_t none[16];
	memcpy(r->id, id, sizeof id);
	if (!memcmp(r->first, none, sizeof none))
		memcpy(r->first, id, sizeof id);
	fill_head(&r->head, id);
	int e = tide__sink_open(&r->sink, file, &r->head);
	if (e == 0)
		e = tide__ring_file_open(&r->space, rings, id);
	if (e == 0 && !tide__ring_that_fits()) /* the first thread's */
		e = errno;
	if (e == 0 && !(tide__defs_replay(&r->space) && tide__write_opening()))
		e = r->sink.error ? r->sink.error : ENOSPC;
	if (e == 0) {
		r->sink.file.path = r->path; /* their final paths */
		r->space.file.path = r->rings_path;
		return TIDE_OK;
	}
	return cannot_record(e, err);
}

/* Returns the bytes of a stack that the C library needs itself: mainly thread-local variables of the
 * program and its libraries, which are there before the first function runs. */
static size_t find_least_stack(void)
{
	size_t (*least)(const pthread_attr_t *);
	void *found = dlsym(RTLD_DEFAULT, "__pthread_get_minstack"); /* glibc */
	memcpy(&least, &found, sizeof least);
	return found ? (least(NULL) + TIDE_PAGE - 1) & ~(size_t)(TIDE_PAGE - 1) : 0;
}

static tide_code launch_writer(tide_error *err)
{
	tide_recorder *r = &tide__rec;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	if (!writer_stack) { /* kept for the process's life */
		writer_stack_size = WRITER_STACK + find_least_stack();
		writer_stack = tide__pages_map(writer_stack_size);
	}
	if (!writer_stack)
		return tide__fail(err, TIDE_ENOMEM, TIDE_NO_OFFSET, "no memory for a thread");
	mprotect(writer_stack, TIDE_PAGE, PROT_NONE);
	pthread_attr_setstack(&attr, writer_stack, writer_stack_size);
	tide__slow_own_stack(writer_stack, writer_stack_size);
	int e = pthread_create(&r->writer, &attr, tide__writer_run,
			       NULL); /* inherits: all signals but SIGBUS blocked */
	pthread_attr_destroy(&attr);
	if (e == 0) {
		tide__thread_uncount();
		return TIDE_OK;
	}
	errno = e;
	return tide__fail_errno(err, "cannot create the recorder's thread");
}

/* Makes the writer thread write the rest and end. */
static void join_writer(void)
{
	tide_recorder *r = &tide__rec;
	tide__thread_recount();
	atomic_store_explicit(&r->finish, 1, memory_order_release);
	tide__bell_wake();
	while (!atomic_load_explicit(&r->writer_ended, memory_order_acquire))
		tide__wait(&r->writer_ended, 0, 0);
	/* Not pthread_join, which ends a program whose seccomp filter refuses its system call. */
	while ((!ending || WATCHED) && pthread_tryjoin_np(r->writer, NULL) == EBUSY)
		tide__pause();
}

/* Serialises starts in one folder. Returns -1 if that is impossible: then two processes may briefly
 * use the same name. */
static int one_at_a_time(const char *path)
{
	static char folder[4096]; /* the stack may be small; lock held */
	snprintf(folder, sizeof folder, "%.4095s", path);
	strrchr(folder, '/')[1] = 0;
	int fd = tide__fd_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	for (int i = 0; fd >= 0 && i < LOCK_WAIT_MS && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			break; /* a file system that cannot lock folders (NFS) */
		usleep(1000);
	}
	return fd;
}

static void name_rings(void)
{
	tide_recorder *r = &tide__rec;
	snprintf(r->rings_path, sizeof r->rings_path, "%.4095s%s", r->path, TIDE_RINGS_SUFFIX);
}

static tide_code rename_both(const char *file, const char *rings, tide_error *err)
{
	tide_recorder *r = &tide__rec;
	if (rename(rings, r->rings_path) != 0)
		return tide__fail_errno(err, "%s", r->rings_path);
	if (rename(file, r->path) != 0) {
		tide_code rc = tide__fail_errno(err, "%s", r->path);
		unlink(r->rings_path);
		return rc;
	}
	return TIDE_OK;
}

/* Moves the finished files to their final names; if another process is recording into that file
 * (ranks that share one name), uses a child's name beside it. */
static tide_code move_files(const char *file, const char *rings, tide_error *err)
{
	tide_recorder *r = &tide__rec;
	int lock = one_at_a_time(r->path);
	if (tide__written_by(r->path)) { /* since we looked */
		late = tide__recording_id(r->path, r->first);
		beside_path(r->path, r->base);
		name_rings();
	}
	tide_code rc = rename_both(file, rings, err);
	if (lock >= 0)
		tide__fd_close(lock);
	return rc;
}

static void reset_counts(void)
{
	tide_recorder *r = &tide__rec;
	r->lanes = 0;
	r->log_written = 0;
	r->stuck = r->complete = r->opened = r->removed = r->rings_there = r->rings_left =
		r->misled = false;
	r->close_error = 0;
	atomic_store(&r->finish, 0);
	atomic_store(&r->writer_ended, 0);
	atomic_store(&r->no_space, false);
	atomic_store(&r->events, 0);
	r->parts = r->events_before = 0;
}

struct opening {
	bool follower; /* a child that follows its parent's recording */
	tide_error *err;
	tide_code rc;
};

/* If another process records into that file, it is a rank of the same job: use another name. */
static void choose_path(bool follower)
{
	tide_recorder *r = &tide__rec;
	if (follower) {
		child_path(r->path, r->base);
	} else if (r->opt.as_child || tide__written_by(r->path)) {
		tide__recording_id(r->path, r->first);
		(r->opt.as_child ? child_path : beside_path)(r->path, r->base);
	}
}

/* Does the part of a start that needs descriptors. Runs on the writer thread. */
static void open_files(void *arg)
{
	struct opening *o = arg;
	tide_recorder *r = &tide__rec;
	static char file[4096 + 32], rings[4096 + 48]; /* the stack may be small; lock held */
	if (!r->opt.max_ring_bytes)
		r->opt.max_ring_bytes = most_rings();
	choose_path(o->follower);
	snprintf(file, sizeof file, "%.4095s.%ld.new", r->path, (long)getpid());
	snprintf(rings, sizeof rings, "%s%s", file, TIDE_RINGS_SUFFIX);
	name_rings();
	unlink(file); /* left by a start that was killed */
	unlink(rings);
	o->rc = make_files(file, rings, o->err);
	if (o->rc == TIDE_OK) /* last: until now an older file is untouched */
		o->rc = move_files(file, rings, o->err);
	r->opened = o->rc == TIDE_OK;
	if (r->opened) {
		tide__control_init(); /* here, because it sets state of the writer thread */
		return;
	}
	tide__ring_file_close(&r->space, false);
	tide__file_close(&r->sink.file);
	unlink(file);
	unlink(rings);
}

static tide_code start_files(bool follower, tide_error *err)
{
	struct opening o = { follower, err, TIDE_OK };
	tide_code rc = launch_writer(err);
	if (rc != TIDE_OK)
		return rc;
	tide__errand_run(open_files, &o);
	if (o.rc != TIDE_OK)
		join_writer();
	return o.rc;
}

/* r->path and r->opt are set. */
static tide_code start_locked(bool follower, tide_error *err)
{
	tide_recorder *r = &tide__rec;
	tide_error own = { .offset = TIDE_NO_OFFSET };
	reset_counts();
	family_since();
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	tide_code rc = start_files(follower, err ? err : &own);
	if (rc != TIDE_OK) {
		tide__failure_tell(err ? err : &own);
		return rc;
	}
	tide__torn_watch_start();
	r->state = TIDE_RUNNING;
	atomic_store_explicit(&tide__guard.generation, ++r->generations, memory_order_release);
	return TIDE_OK;
}

/* Replaces a symbolic link by its target, which need not exist yet. The link stays. */
static void follow_links(char path[4096])
{
	static char to[4096], whole[8192]; /* the stack may be small; lock held */
	for (int i = 0; i < 40; i++) {
		ssize_t n = readlink(path, to, sizeof to - 1);
		if (n <= 0)
			return;
		to[n] = 0;
		int folder = *to == '/' ? 0 : (int)(strrchr(path, '/') + 1 - path);
		if (snprintf(whole, sizeof whole, "%.*s%s", folder, path, to) >= 4096)
			return;
		strcpy(path, whole);
	}
}

tide_code tide_start(const char *path, const tide_options *opt, tide_error *err)
{
	tide_recorder *r = &tide__rec;
	tide_slow_section s;
	char first[33] = "";
	if (!tide__slow_enter(&s))
		return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET, "inside the recorder");
	static char wanted[4096], before[4096]; /* the stack may be small; lock held */
	tide_code rc;
	tide_options o;
	if (r->state != TIDE_IDLE)
		rc = tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET, "already recording into %s",
				r->path);
	else if ((rc = fill_options(&o, opt, err)) == TIDE_OK &&
		 (rc = absolute(wanted, path, err)) == TIDE_OK) {
		r->opt = o;
		follow_links(wanted);
		strcpy(before, r->path);
		strcpy(r->path, wanted);
		strcpy(r->base, wanted);
		memset(r->first, 0, sizeof r->first);
		follow = false; /* a child that starts its own recording is no longer followed */
		atomic_store(&tide__guard.alive, TIDE_ALIVE);
		late = false;
		rc = start_locked(false, err);
		if (rc != TIDE_OK)
			strcpy(r->path, before); /* still the last recording's */
		else if (late)
			tide__hex_write(first, r->first);
	}
	tide__slow_leave(&s);
	if (*first)
		tide_annotate(tide_intern("recording.first"), first);
	return rc;
}

bool tide_recording(void)
{
	if (atomic_load_explicit(&tide__guard.generation, memory_order_relaxed))
		return true;
	if (atomic_load_explicit(&tide__guard.alive, memory_order_relaxed) == TIDE_ALIVE)
		return false;
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return false;
	tide__follow();
	tide__slow_leave(&s);
	return atomic_load_explicit(&tide__guard.generation, memory_order_relaxed) != 0;
}

static void look_removed(void *out)
{
	*(bool *)out = tide__file_removed(&tide__rec.sink.file);
}

bool tide_recording_removed(void)
{
	tide_slow_section s;
	bool removed = false;
	if (!tide__slow_enter(&s))
		return false;
	if (tide__rec.state == TIDE_RUNNING)
		tide__errand_run(look_removed, &removed);
	tide__slow_leave(&s);
	return removed;
}

size_t tide_recording_path(char *out, size_t n)
{
	tide_slow_section s;
	size_t len = 0;
	if (out && n)
		*out = 0;
	if (!tide__slow_enter(&s))
		return 0;
	tide__follow();
	if (tide__rec.generations) {
		len = strlen(tide__rec.path);
		snprintf(out, out ? n : 0, "%s", tide__rec.path);
	}
	tide__slow_leave(&s);
	return len;
}

/* ---- stop ---------------------------------------------------------------------------------- */

static tide_code finish(tide_error *err)
{
	tide_recorder *r = &tide__rec;
	join_writer();
	tide_stats now;
	tide__stats_read(&now);
	while (!tide__lock()) /* others may be asking for them */
		;
	r->last = now;
	tide__unlock();
	bool torn = tide__ring_file_torn(&r->space);
	tide__ring_file_close(&r->space, r->stuck || ending);
	if (r->removed)
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				  "%s: removed or replaced while recording: the recording is lost",
				  r->path);
	if (!r->complete || r->close_error) {
		errno = r->close_error ? r->close_error : r->sink.error;
		return tide__fail_errno(err, "%s: not completed; the rest is in %s", r->path,
					r->rings_path);
	}
	if (torn)
		return tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: its ring file was truncated while recording: events before that are "
			"kept, later ones are lost",
			r->path);
	if (r->rings_left)
		return tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: complete, but no longer at that path (its folder was moved, or the "
			"program changed its root): remove its ring file %s where it is now",
			r->path, strrchr(r->rings_path, '/') + 1);
	if (r->misled)
		return tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: complete, but the program closed the recorder's descriptor while it "
			"wrote: part of the recording may also be in a file of the program",
			r->path);
	return TIDE_OK;
}

/* The lock is held, and released while waiting. */
static tide_code stop_locked(tide_error *err)
{
	tide_recorder *r = &tide__rec;
	while (r->state == TIDE_STOPPING) { /* another thread is stopping it */
		tide__unlock();
		tide__pause();
		while (!tide__lock())
			;
	}
	if (r->state == TIDE_IDLE)
		return TIDE_OK;
	r->state = TIDE_STOPPING;
	atomic_store_explicit(&tide__guard.generation, 0, memory_order_seq_cst);
	tide__unlock();
	r->stopper = tide__self;
	tide_code rc = finish(err);
	while (!tide__lock())
		;
	r->state = TIDE_IDLE;
	return rc;
}

tide_code tide_stop(tide_error *err)
{
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return TIDE_OK;
	tide_code rc = stop_locked(err);
	tide__slow_leave(&s);
	return rc;
}

/* ---- fork, first call, exit ---------------------------------------------------------------- */

/* Runs in the child right after fork(), before anything else of the program. */
static void forked(void)
{
	atomic_store(&tide__guard.generation, 0); /* the kernel has wiped it, if it supports that */
	atomic_store(&tide__guard.alive, 0);
	atomic_store(&tide__guard.lock, 0);
	tide__ring_file_detach(&tide__rec.space);
}

/* Discards the parent's recording in a forked child. */
static void forget(void)
{
	tide_recorder *r = &tide__rec;
	follow = follow || (r->state == TIDE_RUNNING && r->opt.follow_fork);
	tide__ring_file_detach(&r->space);
	if (!tide__errand_private()) /* else it is not inherited */
		tide__file_close(&r->sink.file);
	r->sink.file.fd = -1;
	tide__errand_forget();
	tide__program_forget();
	r->opened = false;
	r->state = TIDE_IDLE;
	r->free_threads = NULL;
	atomic_store(&r->threads, NULL);
	tide__self = NULL;
	tide__defs_rebuild();
	r->last = (tide_stats){ 0 };
}

static void first_call(void)
{
	tide__guard_init();
	tide__clock_init();
	tide__thread_init();
	tide__threads_init();
	pthread_atfork(NULL, NULL, forked);
}

void tide__recorder_init(void)
{
	static bool before;
	if (before)
		forget();
	else
		first_call();
	before = true;
	atomic_store(&tide__guard.alive, follow ? TIDE_FOLLOWER : TIDE_ALIVE);
}

void tide__follow(void)
{
	if (atomic_load_explicit(&tide__guard.alive, memory_order_relaxed) != TIDE_FOLLOWER)
		return;
	start_locked(true, NULL);
	follow =
		false; /* not before: a child that another thread forks meanwhile follows as well */
	atomic_store(&tide__guard.alive,
		     TIDE_ALIVE); /* until now other threads wait for the lock */
}

__attribute__((constructor)) static void load(void)
{
	tide_slow_section s;
	if (tide__slow_enter(&s))
		tide__slow_leave(&s);
}

__attribute__((destructor)) static void unload(void)
{
	if (atomic_load_explicit(&tide__guard.alive,
				 memory_order_relaxed)) { /* 0: a child that never recorded */
		ending = true;
		tide_stop(NULL);
	}
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void add_lost(tide_stats *out, const tide_counts *lost)
{
	out->lost_full += atomic_load(&lost->lost_full);
	out->lost_signal += atomic_load(&lost->lost_signal);
	out->lost_other += atomic_load(&lost->lost_other);
}

void tide__stats_read(tide_stats *out)
{
	tide_recorder *r = &tide__rec;
	*out = (tide_stats){ .threads = r->lanes,
			     .rings = r->space.n_rings,
			     .memory = tide__defs_memory() };
	out->written = atomic_load_explicit(&r->sink.at, memory_order_relaxed);
	if (!r->space.head)
		return;
	out->memory += r->space.size;
	bool torn = tide__ring_file_torn(&r->space);
	add_lost(out, &r->space.counts);
	for (tide_block *b = atomic_load(&r->space.rings); b; b = b->next) {
		add_lost(out, &b->counts);
		out->lost_other += tide__events_cut(b);
		uint64_t extra = atomic_load(&b->counts.extra);
		out->events += torn ? b->encoder.events : atomic_load(&b->shared->head) - extra;
	}
}

void tide_stats_get(tide_stats *out)
{
	tide_slow_section s;
	if (!out)
		return;
	*out = (tide_stats){ 0 };
	if (!tide__slow_enter(&s))
		return;
	if (tide__rec.state == TIDE_RUNNING)
		tide__stats_read(out);
	else
		*out = tide__rec.last;
	tide__slow_leave(&s);
}
