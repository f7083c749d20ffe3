// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Threads take a ring and pass it on to the next.
 *
 * A ring is passed on as soon as its thread has ended, drained or not: slot numbers continue, and a
 * LANE slot names the thread of the following events. So 10,000 threads that live one after the
 * other use one ring, and there are never more rings than threads alive at once. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/defs.h"
#include "runtime/writer_tasks.h"
#include "runtime/recorder.h"
#include "runtime/limits.h"

__thread tide_quick *tide__self;

static pthread_key_t key;
static bool have_key;
enum { PATIENCE = 64 }; /* unsuccessful waits after which a thread stops waiting */

static void leave(void *thread);

bool tide__thread_init(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, leave) == 0;
	return have_key;
}

/* Returns a descriptor for the calling thread, in the list of all. */
static tide_thread *descriptor(void)
{
	tide_recorder *r = &tide__rec;
	tide_thread *t = r->free_threads;
	if (t) {
		r->free_threads = t->next_free;
		return t;
	}
	t = tide__pages_map(sizeof *t);
	if (!t)
		return NULL;
	t->next = atomic_load_explicit(&r->threads, memory_order_relaxed);
	atomic_store_explicit(&r->threads, t, memory_order_release);
	return t;
}

/* Returns the largest ring that is at least half empty and whose thread has ended. */
static tide_block *free_ring(tide_ring_file *s)
{
	tide_block *found = NULL;
	for (tide_block *b = atomic_load_explicit(&s->rings, memory_order_relaxed); b;
	     b = b->next) {
		uint64_t head = atomic_load_explicit(&b->shared->head, memory_order_relaxed);
		uint64_t tail = atomic_load_explicit(&b->shared->tail, memory_order_relaxed);
		if (!b->owned && head - tail <= b->n_slots / 2 &&
		    (!found || b->n_slots > found->n_slots))
			found = b;
	}
	return found;
}

/* Ring size for many threads: rings of 4 MiB would use up 1 GiB at the 256th thread. The first
 * FULL have the configured size, then it halves each time their number doubles; it shrinks
 * further, down to LEAST, if memory is short or files may have few bytes: all rings are in one
 * file, and the rest of it is for definitions. 0: no memory. */
size_t tide__ring_size(void)
{
	enum { FULL = 32, LEAST = 65536 };
	const tide_recorder *r = &tide__rec;
	size_t bytes = r->opt.ring_bytes;
	uint64_t most = r->opt.max_ring_bytes - r->space.ring_total, room = tide__limit_share();
	most = room < most ? room : most;
	uint64_t part = tide__limit_file() / 4;
	while (bytes > LEAST && bytes > part)
		bytes /= 2;
	for (uint64_t n = r->space.n_rings; n >= FULL && bytes > LEAST; n /= 2)
		bytes /= 2;
	while (bytes > LEAST && bytes > most)
		bytes /= 2;
	return bytes <= most ? bytes : 0;
}

static tide_block *largest_ring(void)
{
	enum { LEAST = 65536 };
	size_t bytes = tide__ring_size();
	tide_block *b = NULL;
	errno = ENOMEM;
	while (bytes >= LEAST && !(b = tide__ring_file_add_ring(&tide__rec.space, bytes)) &&
	       (errno == ENOSPC || errno == EFBIG))
		bytes /= 2;
	return b;
}

tide_block *tide__ring_that_fits(void)
{
	tide_block *b = largest_ring();
	return b || errno != ENOSPC || !tide__sink_give_back(&tide__rec.sink) ? b : largest_ring();
}

/* On the writer thread. */
static void new_ring(void *out)
{
	*(tide_block **)out = tide__ring_that_fits();
}

static tide_block *take_ring(void)
{
	tide_ring_file *s = &tide__rec.space;
	if (tide__ring_file_torn(s))
		return NULL;
	tide_block *b = free_ring(s);
	if (!b)
		tide__errand_run(new_ring, &b);
	return b;
}

/* Defines the thread's name, as the kernel has it. */
static uint32_t own_name(void)
{
	char name[17] = "";
	uint8_t len[2];
	if (tide__calls_forbidden() || prctl(PR_GET_NAME, name) != 0 || !name[0])
		return 0;
	size_t n = strlen(name);
	return tide__define(TIDE_REC_NAME, len, (size_t)(tide__put_v(len, n) - len), name, n,
			    UINT32_MAX - 1, &tide__rec.space);
}

/* Writes a THREAD definition, into the log only, since lanes belong to a recording. */
static bool define_lane(uint32_t lane, uint64_t tid)
{
	uint8_t rec[32], *p = rec;
	*p++ = TIDE_REC_THREAD;
	p = tide__put_v(p, lane);
	p = tide__put_v(p, tid);
	p = tide__put_v(p, own_name());
	if (!tide__log_reserve(&tide__rec.space, sizeof rec))
		return false;
	tide__log_append(&tide__rec.space, rec, (size_t)(p - rec));
	return true;
}

static void put_lane(tide_thread *t, uint32_t lane)
{
	tide_ring_slot *s = &t->quick.slots[t->quick.head & t->quick.mask];
	*s = (tide_ring_slot){ tide__ticks(), lane, t->tid, 0, TIDE_REC_LANE };
	t->quick.head++;
	tide__count_extra(t, 1);
	atomic_store_explicit(&t->shared->head, t->quick.head, memory_order_release);
}

/* Reads the writer's position: slots may be used up to the number returned. */
static uint64_t look(tide_thread *t)
{
	uint64_t end =
		atomic_load_explicit(&t->shared->tail, memory_order_acquire) + t->quick.mask + 1;
	bool slow = tide__clock_kind == TIDE_CLOCK_NS || /* a system call is too slow for the
							  * fast path */
		    atomic_load_explicit(&t->ended, memory_order_relaxed);
	TIDE_SET(t->quick.room, slow ? 0 : end);
	return end;
}

/* Gives the thread a ring. Without one it still takes part; its events count as losses. */
static void attach(tide_thread *t)
{
	tide_block *b = take_ring();
	t->denied = t->in_vain = 0;
	t->quick.skipped += t->quick.head + 2;
	t->quick.head = 0;
	TIDE_SET(t->quick.room, 0);
	t->shared = NULL;
	t->ring = NULL;
	t->file = tide__rec.space.head;
	uint32_t lane = tide__rec.lanes + 1;
	if (!b || !lane || !define_lane(lane, t->tid))
		return;
	tide__rec.lanes = lane;
	b->owned = true;
	t->ring = b;
	t->shared = b->shared;
	t->quick.published = &b->shared->head;
	t->quick.slots = b->slots;
	t->quick.mask = b->n_slots - 1;
	t->quick.head = b->left;
	look(t);
	put_lane(t, lane);
}

static void count_without_ring(tide_rings_head *file, bool signal)
{
	tide_counts *mine = &tide__rec.space.counts;
	tide__count((_Atomic uint64_t *)(signal ? &file->lost_signal : &file->lost_other),
		    signal ? &mine->lost_signal : &mine->lost_other, 1);
}

void tide__count_other(tide_thread *t)
{
	if (t->shared)
		tide__count(&t->shared->lost_other, &t->ring->counts.lost_other, 1);
	else
		count_without_ring(t->file, false);
}

static tide_thread *join_locked(void)
{
	tide__follow();
	uint64_t generation = atomic_load_explicit(&tide__guard.generation, memory_order_relaxed);
	if (!generation)
		return NULL;
	tide_thread *t = tide__thread(tide__self);
	if (!t) {
		if (!tide__thread_init() || !(t = descriptor())) {
			count_without_ring(tide__rec.space.head, false);
			return NULL;
		}
		t->tid = tide__thread_number();
		tide__self = &t->quick;
		pthread_setspecific(key, t);
	}
	TIDE_SET(t->quick.depth, 0);
	atomic_store_explicit(&t->ended, false, memory_order_relaxed);
	attach(t);
	atomic_store_explicit(&t->quick.generation, generation, memory_order_relaxed);
	atomic_store_explicit(&t->quick.busy, 1, memory_order_relaxed);
	return t;
}

tide_thread *tide__thread_join(void)
{
	tide_guard *g = &tide__guard;
	if (atomic_load_explicit(&tide__paused, memory_order_relaxed) &&
	    atomic_load_explicit(&g->generation, memory_order_relaxed))
		return NULL; /* in a forked child the page is wiped: it starts again */
	if (!atomic_load_explicit(&g->generation, memory_order_relaxed) &&
	    atomic_load_explicit(&g->alive, memory_order_relaxed) == TIDE_ALIVE)
		return NULL;
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return NULL;
	tide_thread *t = join_locked();
	tide__slow_leave(&s);
	return t;
}

/* Handles the end of a thread (or of a descriptor's last user). */
static void leave(void *thread)
{
	tide_thread *t = thread;
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return;
	if (&t->quick == tide__self) { /* not so in a forked child, where t was the parent's */
		uint64_t now = atomic_load_explicit(&tide__guard.generation, memory_order_relaxed) &
			       ~TIDE_PAUSED_BIT;
		if (t->ring && t->quick.generation && t->quick.generation == now) {
			__atomic_store_n(&t->ring->left, t->quick.head, __ATOMIC_RELAXED);
			t->ring->owned = false;
		}
		t->ring = NULL;
		atomic_store_explicit(&t->quick.generation, 0, memory_order_relaxed);
		atomic_store_explicit(&t->quick.busy, 0, memory_order_relaxed);
		t->next_free = tide__rec.free_threads;
		tide__rec.free_threads = t;
		tide__self = NULL;
	}
	tide__slow_leave(&s);
}

/* ---- losses -------------------------------------------------------------------------------- */

void tide__count_signal(tide_thread *t)
{
	if (atomic_load_explicit(&t->quick.generation, memory_order_relaxed) !=
	    atomic_load_explicit(&tide__guard.generation, memory_order_relaxed))
		return;
	if (t->shared)
		tide__count(&t->shared->lost_signal, &t->ring->counts.lost_signal, 1);
	else
		count_without_ring(t->file, true);
}

/* The published head may be gone, too: the owner's is private. */
uint64_t tide__events_cut(const tide_block *b)
{
	uint64_t head = __atomic_load_n(&b->left, __ATOMIC_RELAXED);
	if (!tide__ring_file_torn(&tide__rec.space) || atomic_load(&tide__guard.generation))
		return 0;
	for (tide_thread *t = atomic_load_explicit(&tide__rec.threads, memory_order_acquire); t;
	     t = t->next)
		if (t->ring == b && atomic_load(&t->quick.generation) == tide__rec.generations)
			head = __atomic_load_n(&t->quick.head, __ATOMIC_RELAXED);
	uint64_t known = b->encoder.events + atomic_load(&b->counts.extra);
	return head > known ? head - known : 0;
}

/* A thread without a ring asks again from time to time, because one may have become free. */
static bool ask_again(tide_thread *t)
{
	if (++t->denied % 256)
		return false;
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return false;
	if (t->quick.generation ==
	    atomic_load_explicit(&tide__guard.generation, memory_order_relaxed))
		attach(t);
	tide__slow_leave(&s);
	return t->shared != NULL;
}

static bool fits(tide_thread *t, uint64_t n)
{
	return t->quick.head + n <= look(t);
}

/* Waits for space in the ring. Does not wait if the file accepts no more data or after many
 * unsuccessful waits (a disk that hangs), until there is space again. */
static bool wait_for_room(tide_thread *t, uint64_t n)
{
	uint64_t now = tide__clock_ns(CLOCK_MONOTONIC);
	uint64_t end = now + tide__rec.opt.full_wait_us * UINT64_C(1000);
	if (t->in_vain >= PATIENCE)
		return false;
	for (; now < end && !atomic_load_explicit(&tide__rec.no_space, memory_order_relaxed);
	     now = tide__clock_ns(CLOCK_MONOTONIC)) {
		tide__pause();
		if (fits(t, n))
			return true;
	}
	t->in_vain++;
	return false;
}

bool tide__make_room(tide_thread *t, uint64_t n)
{
	if (!t->shared && !ask_again(t)) {
		count_without_ring(t->file, false);
		return false;
	}
	if (fits(t, n) || (tide__rec.opt.full_wait_us && wait_for_room(t, n))) {
		t->in_vain = 0;
		return true;
	}
	tide__count(&t->shared->lost_full, &t->ring->counts.lost_full, 1);
	return false;
}
