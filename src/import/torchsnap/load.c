// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer of torch memory snapshots: input, sniffing, and its steps.
 *
 *     pickle.c    bytes -> values; frames, stacks and events are compacted on the way
 *     parallel_decode.c      the same for long lists of events, by threads
 *     schema_walk.c everything else -> plain arrays
 *     replay.c    plain arrays -> model
 *
 * A plain file is read into memory, never mapped: truncating a mapped file while it is decoded
 * would crash the program. gzip is expanded into memory, at most to what tide_load_options allows
 * or
 * to the default of import/source.h (256 times the compressed size, 1 GiB at least). */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/torchsnap/load.h"
#include "import/torchsnap/pickle/huge_pages.h"
#include "import/torchsnap/replay/replay.h"

enum { STRETCH = 1 << 20 };

tide_code tide__snap_import_by(const uint8_t *data, size_t n, const tide_load_options *opt,
			       size_t stretch, tide_model *m, tide_error *err)
{
	tide_snap s = { 0 };
	tide_code rc = tide__snap_read(data, n, opt, stretch, &s, m, err);
	if (!rc)
		rc = tide__snap_replay(&s, stretch && (!opt || opt->threads != 1), m, err);
	tide__snap_free(&s);
	return rc;
}

tide_code tide__snap_import(const uint8_t *data, size_t n, const tide_load_options *opt,
			    tide_model *m, tide_error *err)
{
	return tide__snap_import_by(data, n, opt, STRETCH, m, err);
}

static tide_code load_stream(const char *path, const tide_load_options *opt, tide_model *m,
			     tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, SIZE_MAX, 0, &in, err);
	if (!rc)
		rc = tide__snap_import(in.data, in.n, opt, m, err);
	tide__free(in.data);
	return rc;
}

/* ---- an uncompressed file: read completely, so that it cannot change while it is decoded ---- */

/* A snapshot does not say whose devices it is about. C++ frames of the allocator do, and Python's of
 * torch.xpu. */
static void find_kind(tide_model *m)
{
	uint8_t kind = TIDE_DEVICE_CUDA;
	for (size_t i = 1; i < m->frames.n && kind == TIDE_DEVICE_CUDA; i++) {
		const char *function = tide__text(m, m->frames.function[i], NULL),
			   *file = tide__text(m, m->frames.file[i], NULL);
		if (strstr(function, "XPUCachingAllocator") || strstr(file, "torch/xpu/"))
			kind = TIDE_DEVICE_XPU;
		else if (strstr(function, "HIPCachingAllocator"))
			kind = TIDE_DEVICE_HIP;
	}
	for (size_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] == TIDE_DEVICE_CUDA)
			m->devices.kind[i] = kind;
}

struct whole {
	uint8_t *data;
	size_t n;
};

static void *give_back(void *arg)
{
	struct whole *w = arg;
	tide__free(w->data);
	return NULL;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads `n` bytes, or as many as the file has: *got. */
static tide_code read_bytes(int fd, uint8_t *to, size_t n, size_t *got, tide_error *err)
{
	return tide__input_read_at(fd, to, n, 0, got) ? TIDE_OK
						      : tide__fail_errno(err, "cannot read");
}

/* Reads again if the file changed meanwhile: torch writes a dump into the file of the previous one.
 * */
static tide_code read_whole(int fd, struct stat *st, struct whole *w, tide_error *err)
{
	enum { TRIES = 3 };
	for (int i = 0; i < TRIES; i++) {
		struct stat now;
		size_t n = (size_t)st->st_size, got;
		tide__free(w->data);
		w->data = tide__alloc(n, 1);
		if (!w->data)
			return tide__nomem(err);
		tide__huge_pages_advise(w->data, n);
		tide_code rc = read_bytes(fd, w->data, n, &got, err);
		if (rc)
			return rc;
		if (fstat(fd, &now))
			return tide__fail_errno(err, "cannot read");
		w->n = got;
		if (got == n && same(st, &now))
			return TIDE_OK;
		*st = now;
	}
	return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET,
			  "it changes while it is read: try again when it has been written");
}

/* Reads the bytes of an uncompressed regular file. w->data stays NULL for any other input, which is
 * streamed. */
static tide_code open_whole(const char *path, struct whole *w, tide_error *err)
{
	struct stat st;
	uint8_t magic[4];
	tide_code rc = TIDE_OK;
	int fd = tide__input_open(path, 0);
	if (fd < 0)
		return tide__fail_errno(err, "cannot open");
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 4 &&
	    pread(fd, magic, sizeof magic, 0) == sizeof magic &&
	    !tide__is_packed(magic, sizeof magic))
		rc = read_whole(fd, &st, w, err);
	close(fd);
	return rc;
}

/* Decodes it; its bytes are freed while its events are replayed. */
static tide_code load_whole(struct whole *w, const tide_load_options *opt, tide_model *m,
			    tide_error *err)
{
	tide_snap s = { 0 };
	pthread_t thread;
	tide_code rc = tide__snap_read(w->data, w->n, opt, STRETCH, &s, m, err);
	bool threaded = w->n > (8u << 20) && opt->threads != 1 &&
			!pthread_create(&thread, NULL, give_back, w);
	if (!threaded)
		give_back(w);
	if (!rc)
		rc = tide__snap_replay(&s, opt->threads != 1, m, err);
	tide__snap_free(&s);
	if (threaded)
		pthread_join(thread, NULL);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	struct whole w = { 0 };
	tide_code rc = open_whole(path, &w, err);
	if (rc) {
		tide__free(w.data);
		return rc;
	}
	rc = w.data ? load_whole(&w, opt, m, err) : load_stream(path, opt, m, err);
	if (rc == TIDE_OK)
		find_kind(m);
	return rc;
}

static bool has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

/* A pickle starts with its protocol number, except for protocols 0 and 1, which begin with a dict
 * or a list. */
static int sniff(const uint8_t *h, size_t n)
{
	if (n < 3)
		return 0;
	bool known = has(h, n, "segment") || has(h, n, "device_traces") || has(h, n, "action");
	if (h[0] == 0x80 && h[1] >= 2 && h[1] <= 5)
		return known ? 95 : 50;
	bool old = (h[0] == '(' && (h[1] == 'd' || h[1] == 'l')) ||
		   ((h[0] == '}' || h[0] == ']') && (h[1] == 'q' || h[1] == '('));
	return old && known ? 90 : 0;
}

const tide_importer tide__import_torchsnap = {
	.name = "torchsnap",
	.what = "torch CUDA memory snapshot (pickle, or pickle.gz)",
	.sniff = sniff,
	.load = load,
};
