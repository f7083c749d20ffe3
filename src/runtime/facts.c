// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Facts about the process and the recording, written once at the start. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "format/launcher.h"
#include "runtime/recorder.h"

struct out {
	uint8_t *p, *end;
	uint32_t count;
};

static void number(struct out *o, const char *key, int64_t v)
{
	if (o->end - o->p < 64)
		return;
	*o->p++ = TIDE_REC_FACT_NUM;
	o->p = tide__put_s(o->p, key, strlen(key));
	o->p = tide__put_z(o->p, v);
	o->count++;
}

static void text(struct out *o, const char *key, const char *s, size_t n)
{
	if (!n || (size_t)(o->end - o->p) < n + 64)
		return;
	*o->p++ = TIDE_REC_FACT_TEXT;
	o->p = tide__put_s(o->p, key, strlen(key));
	o->p = tide__put_s(o->p, s, n);
	o->count++;
}

/* Writes the command line, arguments separated by spaces. */
static void command(struct out *o)
{
	static char buf[4096]; /* the stack may be small; lock held */
	int fd = tide__fd_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	ssize_t n = tide__fd_read(fd, buf, sizeof buf);
	tide__fd_close(fd);
	while (n > 0 && buf[n - 1] == 0)
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] == 0)
			buf[i] = ' ';
	if (n > 0)
		text(o, "process.command", buf, (size_t)n);
}

void tide__hex_write(char out[33], const uint8_t id[16])
{
	for (int i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

static void id(struct out *o, const char *key, const uint8_t bytes[16])
{
	char hex[33];
	tide__hex_write(hex, bytes);
	text(o, key, hex, 32);
}

/* Rank and size of a distributed job, as its launcher says. */
static void rank(struct out *o)
{
	static const struct {
		const char *key;
		tide_job_number what;
	} rows[] = {
		{ "process.rank", TIDE_JOB_RANK },
		{ "process.local_rank", TIDE_JOB_LOCAL_RANK },
		{ "process.world_size", TIDE_JOB_WORLD_SIZE },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		long value;
		if (tide__job_number(rows[i].what, &value))
			number(o, rows[i].key, value);
	}
}

/* Writes the name requested for all processes of a job, if this process has another: run.tide for
 * run.rank3.tide. */
static void base(struct out *o)
{
	const char *told = getenv("TIDEMARK_RECORD"), *slash;
	if (!told || !*told)
		told = tide__rec.base;
	slash = strrchr(told, '/');
	if (strcmp(told, tide__rec.path) != 0 && *told) {
		told = slash ? slash + 1 : told;
		text(o, "recording.base", told, strnlen(told, 255));
	}
}

/* Writes the mode of host-heap recording (capture/heap): the mean number of bytes between samples,
 * or "full". */
static void heap(struct out *o)
{
	const char *how = getenv("TIDEMARK_HEAP");
	char *end;
	long long mean = how ? strtoll(how, &end, 10) : 0;
	if (!how || !*how)
		return;
	if (mean > 0 && !*end)
		number(o, "capture.heap", mean);
	else
		text(o, "capture.heap", "full", 4);
}

size_t tide__facts_write(uint8_t *out, size_t cap, uint32_t *count)
{
	struct out o = { out, out + cap, 0 };
	struct utsname u;
	const char *run = getenv("TIDEMARK_RUN"); /* the `tidemark run` it belongs to */
	number(&o, "process.pid", getpid());
	number(&o, "process.parent", getppid());
	command(&o);
	rank(&o);
	id(&o, "recording.id", tide__rec.id);
	id(&o, "recording.first",
	   tide__rec.first); /* the recording of its parent, or the one that existed when it
	                      * began */
	if (run)
		text(&o, "process.run", run, strnlen(run, 64));
	base(&o);
	heap(&o);
	if (uname(&u) == 0) {
		text(&o, "host.name", u.nodename, strlen(u.nodename));
		text(&o, "host.kernel", u.release, strlen(u.release));
		text(&o, "host.machine", u.machine, strlen(u.machine));
	}
	number(&o, "host.cpus", sysconf(_SC_NPROCESSORS_ONLN));
	number(&o, "recorder.ring_bytes", (int64_t)tide__rec.opt.ring_bytes);
	number(&o, "recorder.max_ring_bytes", (int64_t)tide__rec.opt.max_ring_bytes);
	number(&o, "recorder.full_wait_us", tide__rec.opt.full_wait_us);
	text(&o, "recorder.version", TIDE_VERSION, strlen(TIDE_VERSION));
	*count = o.count;
	return (size_t)(o.p - out);
}
