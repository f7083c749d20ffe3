// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "runtime/writer_tasks.h"
#include "runtime/guard.h"

enum { LOG_BLOCK = 256 << 10 }; /* bytes of a LOG block, head page included */

static tide_block *spare; /* descriptors of earlier recordings, and unused ones */

static tide_block *descriptor(void)
{
	if (!spare) {
		size_t n = 65536 / sizeof(tide_block);
		tide_block *slab = tide__pages_map(n * sizeof *slab);
		if (!slab)
			return NULL;
		for (size_t i = 0; i < n; i++) {
			slab[i].next = spare;
			spare = &slab[i];
		}
	}
	tide_block *b = spare;
	spare = b->next;
	memset(b, 0, sizeof *b);
	return b;
}

/* Faults in every page for writing. Returns false if any page cannot be allocated. */
static bool populate(void *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
#endif
	for (size_t i = 0; i < bytes; i += TIDE_PAGE) /* allocated above, so these cannot fail */
		((volatile char *)at)[i] = 0;
	return true;
}

/* Maps `bytes` more at the end of the file. On failure returns NULL and leaves the file unchanged.
 * Runs on the writer thread. */
static void *extend_here(tide_ring_file *s, size_t bytes)
{
	int e = tide__file_allocate(&s->file, s->size, bytes);
	void *at = MAP_FAILED;
	if (e == 0) {
		at = tide__fd_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->file.fd,
				  s->size);
		e = at == MAP_FAILED ? errno : 0;
	}
	if (e == 0 && !(tide__file_did(&s->file) && populate(at, bytes))) {
		e = errno;
		munmap(at, bytes);
	}
	if (e != 0) {
		/* A zeroed tail is harmless, so a failure is ignored. */
		tide__file_truncate(&s->file, s->size);
		errno = e;
		return NULL;
	}
	s->size += bytes;
	return at;
}

struct extension {
	tide_ring_file *space;
	size_t bytes;
	void *at;
	int error;
};

static void run_extend(void *arg)
{
	struct extension *x = arg;
	x->at = extend_here(x->space, x->bytes);
	x->error = errno;
}

static void *extend(tide_ring_file *s, size_t bytes)
{
	struct extension x = { s, bytes, NULL, EIO };
	if (!tide__ring_file_torn(s))
		tide__errand_run(run_extend, &x);
	if (!x.at)
		errno = x.error;
	return x.at;
}

static tide_block *add_block(tide_ring_file *s, uint32_t type, size_t bytes)
{
	tide_block *b = descriptor();
	if (!b)
		return NULL;
	b->offset = s->size;
	b->bytes = bytes;
	b->at = extend(s, bytes);
	if (!b->at) {
		b->next = spare;
		spare = b;
		return NULL;
	}
	b->shared = TIDE_SHARED(b->at);
	b->slots = (tide_ring_slot *)(void *)((char *)b->at + sizeof *b->at);
	b->at->type = type;
	b->at->size = bytes;
	b->at->capacity = bytes - sizeof *b->at;
	return b;
}

/* Publishes a block: from now on it is valid in the file and for the writer thread. */
static void publish(tide_block *b, _Atomic(tide_block *) *list)
{
	atomic_store_explicit((_Atomic uint32_t *)&b->at->magic, TIDE_BLOCK_MAGIC,
			      memory_order_release);
	b->next = atomic_load_explicit(list, memory_order_relaxed);
	atomic_store_explicit(list, b, memory_order_release);
}

tide_block *tide__ring_file_add_ring(tide_ring_file *s, size_t bytes)
{
	tide_block *b = add_block(s, TIDE_BLOCK_RING, bytes + sizeof(tide_block_head));
	if (!b)
		return NULL;
	b->at->slots = b->n_slots = bytes / sizeof(tide_ring_slot);
	b->at->ring = b->encoder.ring = ++s->n_rings;
	s->ring_total += bytes;
	publish(b, &s->rings);
	return b;
}

void tide__ring_file_punch(tide_ring_file *s, tide_block *ring, uint64_t from, uint64_t to)
{
	uint64_t n = ring->n_slots, per = TIDE_PAGE / sizeof(tide_ring_slot);
	if (from / n != to / n) /* up to the ring's end; the rest with the next range */
		to = (from / n + 1) * n;
	from = (from % n + per - 1) / per * per;
	to = to % n ? to % n / per * per : n;
	if (from < to && tide__errand_private())
		fallocate(s->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(ring->offset + TIDE_PAGE + from * sizeof(tide_ring_slot)),
			  (off_t)((to - from) * sizeof(tide_ring_slot)));
}

/* ---- the definitions log ------------------------------------------------------------------- */

static _Atomic uint64_t *log_word(const tide_ring_file *s)
{
	return (_Atomic uint64_t *)&s->head->log_used;
}

uint64_t tide__log_used(const tide_ring_file *s)
{
	return atomic_load_explicit(log_word(s), memory_order_acquire);
}

bool tide__log_reserve(tide_ring_file *s, size_t n)
{
	while (s->log_capacity - tide__log_used(s) < n) {
		tide_block *b = add_block(s, TIDE_BLOCK_LOG, LOG_BLOCK);
		if (!b)
			return false;
		b->at->first = b->first = s->log_capacity;
		b->capacity = b->bytes - sizeof *b->at;
		s->log_capacity += b->capacity;
		publish(b, &s->logs);
	}
	return true;
}

/* Walks the range [from, from + n) of the log block by block (newest first: the usual one). */
static void log_copy(const tide_ring_file *s, uint64_t from, void *buf, size_t n, bool write)
{
	for (tide_block *b = atomic_load_explicit(&s->logs, memory_order_acquire); b; b = b->next) {
		uint64_t lo = b->first, hi = lo + b->capacity;
		if (lo < from)
			lo = from;
		if (hi > from + n)
			hi = from + n;
		if (lo >= hi)
			continue;
		char *in_log = (char *)b->slots + (lo - b->first),
		     *in_buf = (char *)buf + (lo - from);
		memcpy(write ? in_log : in_buf, write ? in_buf : in_log, hi - lo);
	}
}

void tide__log_append(tide_ring_file *s, const void *bytes, size_t n)
{
	uint64_t used = tide__log_used(s);
	if (tide__ring_file_torn(s)) /* `used` may be 0 then: the writer thread reads there */
		return;
	log_copy(s, used, (void *)(uintptr_t)bytes, n, true);
	atomic_store_explicit(log_word(s), used + n, memory_order_release);
}

void tide__log_read(const tide_ring_file *s, uint64_t from, void *out, size_t n)
{
	log_copy(s, from, out, n, false);
}

/* ---- open and close ------------------------------------------------------------------------ */

int tide__ring_file_open(tide_ring_file *s, const char *path, const uint8_t id[16])
{
	*s = (tide_ring_file){ 0 };
	if (!tide__file_create(&s->file, path))
		return errno;
	s->head = extend(s, sizeof *s->head);
	if (!s->head || !tide__log_reserve(s, 1))
		return errno;
	s->head->major = TIDE_FORMAT_MAJOR;
	s->head->minor = TIDE_FORMAT_MINOR;
	s->head->head_size = sizeof *s->head;
	s->head->pid = (uint64_t)getpid();
	memcpy(s->head->recording, id, 16);
	memcpy(s->head->magic, TIDE_RINGS_MAGIC, 8);
	return 0;
}

/* Apply `done` to every mapping. */
static void each_mapping(tide_ring_file *s, void (*done)(void *, size_t))
{
	for (int ring = 0; ring < 2; ring++) {
		tide_block *b =
			atomic_load_explicit(ring ? &s->rings : &s->logs, memory_order_acquire);
		for (; b; b = b->next)
			done(b->at, b->bytes);
	}
	if (s->head)
		done(s->head, sizeof *s->head);
}

static void unmap(void *at, size_t bytes)
{
	munmap(at, bytes);
}

static void recycle(_Atomic(tide_block *) *list)
{
	for (tide_block *b = atomic_load_explicit(list, memory_order_relaxed), *next; b; b = next) {
		next = b->next;
		b->next = spare;
		spare = b;
	}
}

void tide__ring_file_close(tide_ring_file *s, bool keep_maps)
{
	if (s->file.fd < 0 && !s->head)
		return;
	/* Forget the file first: a child forked meanwhile must not map pages over other mappings.
	 * Nothing stores into its inherited mappings. */
	static tide_ring_file old; /* one recording ends at a time */
	old = *s;
	*s = (tide_ring_file){ .file.fd = -1 };
	atomic_thread_fence(memory_order_seq_cst);
	if (!keep_maps)
		each_mapping(&old, unmap);
	recycle(&old.rings);
	recycle(&old.logs);
	tide__file_close(&old.file);
}

static void replace(void *at, size_t bytes)
{
	tide__fd_map(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
}

void tide__ring_file_detach(tide_ring_file *s)
{
	spare = NULL; /* another thread may have been changing the list when the child was made */
	if (s->file.fd < 0 && !s->head)
		return;
	each_mapping(s, replace);
	if (!tide__errand_private()) /* else it is not inherited */
		tide__file_close(&s->file);
	*s = (tide_ring_file){ .file.fd = -1 };
}

/* ---- a truncated file ------------------------------------------------------------------- */

bool tide__ring_file_torn(const tide_ring_file *s)
{
	return atomic_load_explicit(&s->torn, memory_order_acquire);
}

static bool tear(tide_ring_file *s, void *from, size_t bytes, const void *at)
{
	if ((const char *)at < (char *)from || (const char *)at >= (char *)from + bytes)
		return false;
	atomic_store_explicit(&s->torn, true,
			      memory_order_seq_cst); /* before any thread reads zeros */
	replace(from, bytes);
	return true;
}

bool tide__ring_file_tear(tide_ring_file *s, const void *at)
{
	if (s->head && tear(s, s->head, sizeof *s->head, at))
		return true;
	for (int ring = 0; ring < 2; ring++) {
		tide_block *b =
			atomic_load_explicit(ring ? &s->rings : &s->logs, memory_order_acquire);
		for (; b; b = b->next)
			if (tear(s, b->at, b->bytes, at))
				return true;
	}
	return false;
}
