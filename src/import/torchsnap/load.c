// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer of torch memory snapshots: input, sniffing, and its steps.
 *
 *     pickle.c    bytes -> values; frames, stacks and events are compacted on the way
 *     parallel_decode.c      the same for long lists of events, by threads
 *     walk.c      what is left -> plain arrays
 *     replay.c    plain arrays -> model
 *
 * A plain file is mapped; gzip is expanded into memory, at most to what tide_load_options allows or
 * to the default of import/source.h (256 times the compressed size, 1 GiB at least). */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/torchsnap/load.h"
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
	tide_source *src;
	uint8_t *data = NULL;
	size_t n = 0;
	tide_code rc = tide__source_open(path, opt->max_expanded, &src, err);
	if (!rc)
		rc = tide__source_slurp(src, SIZE_MAX, 0, &data, &n, err);
	tide__source_close(src);
	if (!rc)
		rc = tide__snap_import(data, n, opt, m, err);
	tide__free(data);
	return rc;
}

/* Map a plain regular file. *data stays NULL if it is something else: then it is streamed. */
static tide_code map_file(const char *path, const uint8_t **data, size_t *n, tide_error *err)
{
	struct stat st;
	uint8_t magic[4];
	*data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tide__fail_errno(err, "cannot open");
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 4 &&
	    pread(fd, magic, sizeof magic, 0) == sizeof magic &&
	    !tide__is_packed(magic, sizeof magic)) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			(void)madvise(at, (size_t)st.st_size, MADV_SEQUENTIAL);
			*data = at;
			*n = (size_t)st.st_size;
		}
	}
	close(fd);
	return TIDE_OK;
}

struct mapping {
	const uint8_t *data;
	size_t n;
};

static void *unmap(void *arg)
{
	struct mapping *m = arg;
	munmap((void *)(uintptr_t)m->data, m->n);
	return NULL;
}

/* Decode a mapped file; its pages are given back while its events are replayed. */
static tide_code load_mapped(struct mapping map, const tide_load_options *opt, tide_model *m,
			     tide_error *err)
{
	tide_snap s = { 0 };
	pthread_t thread;
	tide_code rc = tide__snap_read(map.data, map.n, opt, STRETCH, &s, m, err);
	bool threaded = map.n > (8u << 20) && opt->threads != 1 &&
			!pthread_create(&thread, NULL, unmap, &map);
	if (!threaded)
		unmap(&map);
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
	struct mapping map = { 0 };
	tide_code rc = map_file(path, &map.data, &map.n, err);
	if (rc)
		return rc;
	return map.data ? load_mapped(map, opt, m, err) : load_stream(path, opt, m, err);
}

static bool has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

/* A pickle says its protocol first; protocols 0 and 1 do not, and begin with a dict or a list. */
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
