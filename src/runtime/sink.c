// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/sink.h"

#include <errno.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "runtime/clock.h"
#include "runtime/ring_file.h"

enum {
	RETRY_NS = 50000000
}; /* a full disk is asked again 20 times a second, not for every chunk */

/* Ensures that at least `n` bytes are allocated beyond s->at. */
static bool ensure(tide_sink *s, uint64_t n, bool at_once)
{
	static const uint64_t steps[] = { 8 << 20, 1 << 20, 128 << 10, 0 };
	if (s->allocated - s->at >= n)
		return true;
	uint64_t now = tide__clock_ns(CLOCK_MONOTONIC);
	if (!at_once && s->failed_ns && now - s->failed_ns < RETRY_NS)
		return false;
	uint64_t least = (s->at + n + 4095) & ~(uint64_t)4095;
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (s->step && steps[i] > s->step)
			continue;
		uint64_t to = steps[i] ? s->allocated + steps[i] : least;
		if (to < least)
			to = least;
		s->error = tide__file_allocate(&s->file, s->allocated, to - s->allocated);
		if (s->error == 0) {
			s->allocated = to;
			s->failed_ns = 0;
			return true;
		}
	}
	s->failed_ns = now;
	return false;
}

/* Writes all bytes or returns false. */
static bool write_all(tide_sink *s, const void *bytes, size_t n, uint64_t at)
{
	const char *p = bytes;
	while (n) {
		ssize_t w =
			tide__file_ours(&s->file) ? tide__fd_write_at(s->file.fd, p, n, at) : -1;
		if (w < 0 && errno == EINTR)
			continue;
		if (w > 0 && !tide__file_did(&s->file)) /* write them again, to our file */
			continue;
		if (w <= 0) {
			s->error = w < 0 ? errno : EIO;
			return false;
		}
		p += w;
		n -= (size_t)w;
		at += (uint64_t)w;
	}
	return true;
}

bool tide__sink_put(tide_sink *s, const void *chunk, size_t n, bool last)
{
	/* The last chunks may use the reserve and all other space. */
	if (!ensure(s, n + TIDE_SINK_RESERVE, last) && !(last && s->allocated - s->at >= n))
		return false;
	if (!write_all(s, chunk, n, s->at))
		return false;
	atomic_store_explicit(&s->at, s->at + n, memory_order_relaxed);
	s->error = 0;
	return true;
}

int tide__sink_open(tide_sink *s, const char *path, const tide_file_head *head)
{
	*s = (tide_sink){ .step = 1 }; /* at first only what is needed: the ring file comes next */
	if (!tide__file_create(&s->file, path))
		return errno;
	tide__sink_put(s, head, sizeof *head, false);
	s->step = 0;
	return s->error;
}

bool tide__sink_give_back(tide_sink *s)
{
	uint64_t keep = (s->at + TIDE_SINK_RESERVE + 4095) & ~(uint64_t)4095;
	if (s->file.fd < 0 || s->allocated <= keep || tide__file_truncate(&s->file, keep) != 0)
		return false;
	s->allocated = keep;
	s->step = 1;
	return true;
}

int tide__sink_close(tide_sink *s)
{
	if (s->file.fd < 0)
		return 0;
	int e = tide__file_truncate(&s->file, s->at);
	int e2 = tide__file_close(&s->file);
	return e ? e : e2;
}
