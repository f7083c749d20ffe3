// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* mmap, mremap and munmap of the program and its libraries, in the pool "mmap" (TIDEMARK_MMAP=1).
 *
 * libc calls its own mmap directly, so mappings of malloc, thread stacks and the loader never come
 * here and are not counted twice; calls of our own libraries are excluded by their return address.
 * A mapping
 * without any access (PROT_NONE) is address space, not memory: it is not recorded. Sizes are whole
 * pages, whether touched or not.
 *
 * Part of a mapping can be unmapped or mapped over: then the mapping ends, and its remaining parts
 * begin with the original stack. Compiled with frame pointers, as record.c is. */
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are two names here */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/heap/heap.h"
#include "base/search.h"
#include "capture/heap/stacks.h"

enum { MOST = 1 << 16, OURS = 8 };

struct mapping {
	uintptr_t start, end;
	tide_stack stack;
};

static _Atomic bool on;
static tide_pool pool;
static uintptr_t page_size = 4096;
static struct {
	uintptr_t low, high;
} ours[OURS]; /* code of our libraries */
static int n_ours;
/* The kernel clears it in forked children, where nothing is recorded yet. */
static struct table {
	_Atomic uint32_t lock;
	uint32_t n;
	uint64_t pad[511];
	struct mapping at[MOST]; /* sorted */
} * table;

TIDE_EXPORT void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at);
TIDE_EXPORT void *mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t at);
TIDE_EXPORT int munmap(void *addr, size_t n);
TIDE_EXPORT void *mremap(void *addr, size_t n, size_t to, int flags, ...);

/* ---- start ---- */

static int note_ours(struct dl_phdr_info *i, size_t size, void *unused)
{
	(void)size;
	const char *name = i->dlpi_name ? strrchr(i->dlpi_name, '/') : NULL;
	if (!name || strncmp(name, "/libtidemark", 12) != 0)
		return 0;
	for (int k = 0; k < i->dlpi_phnum && n_ours < OURS; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		ours[n_ours].low = i->dlpi_addr + p->p_vaddr;
		ours[n_ours++].high = i->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	(void)unused;
	return 0;
}

bool tide__maps_wanted(void)
{
	const char *text = getenv("TIDEMARK_MMAP");
	return text && *text && *text != '0';
}

void tide__maps_start(tide_pool p)
{
	void *m = (void *)syscall(SYS_mmap, NULL, sizeof *table, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED || madvise(m, sizeof *table, MADV_WIPEONFORK) != 0)
		return;
	table = m;
	pool = p;
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	dl_iterate_phdr(note_ours, NULL);
	atomic_store(&on, true);
}

/* ---- the table of mappings ---- */

static void lock(void)
{
	uint32_t none = 0;
	for (int i = 0; !atomic_compare_exchange_weak_explicit(
		     &table->lock, &none, 1, memory_order_acquire, memory_order_relaxed);
	     i++, none = 0)
		if (i > 100)
			sched_yield();
}

static void unlock(void)
{
	atomic_store_explicit(&table->lock, 0, memory_order_release);
}

/* Returns the first mapping that ends after `at`. */
static uint32_t find(uintptr_t at)
{
	uint32_t low = 0;
	TIDE_SEARCH(low, table->n, mid, table->at[mid].end <= at);
	return low;
}

static void put(uintptr_t start, uintptr_t end, tide_stack stack)
{
	uint32_t i = find(start);
	if (table->n == MOST)
		return; /* it is not recorded */
	memmove(&table->at[i + 1], &table->at[i], (table->n - i) * sizeof table->at[0]);
	table->at[i] = (struct mapping){ start, end, stack };
	table->n++;
	tide_alloc_full(pool, start, end - start, 0, stack, 0);
}

/* Removes [start, end) from the table of mappings. */
static void cut(uintptr_t start, uintptr_t end)
{
	for (uint32_t i; (i = find(start)) < table->n && table->at[i].start < end;) {
		struct mapping m = table->at[i];
		table->n--;
		memmove(&table->at[i], &table->at[i + 1], (table->n - i) * sizeof table->at[0]);
		tide_free(pool, m.start);
		if (m.start < start)
			put(m.start, start, m.stack);
		if (m.end > end)
			put(end, m.end, m.stack);
	}
}

/* ---- the calls ---- */

static bool counts(uintptr_t caller)
{
	if (!atomic_load_explicit(&on, memory_order_relaxed) || tide__heap_self.inside)
		return false;
	for (int i = 0; i < n_ours; i++)
		if (caller >= ours[i].low && caller < ours[i].high)
			return false;
	return true;
}

static uintptr_t whole(size_t n)
{
	return (n + page_size - 1) & ~(page_size - 1);
}

/* Records that `before` was unmapped, unless it is 0, and that `n` bytes at `at` were mapped. */
static void note(uintptr_t before, size_t n_before, uintptr_t at, size_t n, tide_walk w)
{
	int saved = errno;
	tide__heap_self.inside = true;
	tide_stack stack = n ? tide__heap_stack_now(w) : 0;
	lock();
	if (before)
		cut(before, before + whole(n_before));
	if (n) {
		cut(at, at + whole(n));
		put(at, at + whole(n), stack);
	}
	unlock();
	atomic_signal_fence(memory_order_seq_cst);
	tide__heap_self.inside = false;
	errno = saved;
}

void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at)
{
	void *p = (void *)syscall(SYS_mmap, addr, n, prot, flags, fd, at);
	if (p == MAP_FAILED || !counts((uintptr_t)__builtin_return_address(0)))
		return p;
	if (prot != PROT_NONE)
		note(0, 0, (uintptr_t)p, n, TIDE_WALK_HERE());
	else if (flags & MAP_FIXED)
		note((uintptr_t)p, n, 0, 0, TIDE_WALK_HERE());
	return p;
}

void *mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t at)
{
	void *p = (void *)syscall(SYS_mmap, addr, n, prot, flags, fd, at);
	if (p == MAP_FAILED || !counts((uintptr_t)__builtin_return_address(0)))
		return p;
	if (prot != PROT_NONE)
		note(0, 0, (uintptr_t)p, n, TIDE_WALK_HERE());
	else if (flags & MAP_FIXED)
		note((uintptr_t)p, n, 0, 0, TIDE_WALK_HERE());
	return p;
}

int munmap(void *addr, size_t n)
{
	/* before the call: afterwards another thread may get the same addresses */
	if (counts((uintptr_t)__builtin_return_address(0)))
		note((uintptr_t)addr, n, 0, 0, (tide_walk){ 0, 0, 0 });
	return (int)syscall(SYS_munmap, addr, n);
}

void *mremap(void *addr, size_t n, size_t to, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	void *place = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
	va_end(more);
	void *p = (void *)syscall(SYS_mremap, addr, n, to, flags, place);
	if (p != MAP_FAILED && counts((uintptr_t)__builtin_return_address(0)))
		note((uintptr_t)addr, n, (uintptr_t)p, to, TIDE_WALK_HERE());
	return p;
}
