// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ops that begin on one thread and end on another (a future's callback closes a scope of PyTorch).
 *
 * The ending thread marks the op in the owner's list of open ops and sends the owner's events to
 * the slow path. The owner closes the op (settle, event.c) at its next event if the op is its
 * innermost one, otherwise once it becomes the innermost. */
#include "runtime/recorder.h"

static bool end_there(tide_thread *t, uint32_t known_by)
{
	for (uint32_t i = __atomic_load_n(&t->quick.depth, __ATOMIC_RELAXED); i-- > 0;) {
		uint32_t seen = known_by;
		if (!__atomic_compare_exchange_n(&t->quick.open[i], &seen, 0, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		atomic_store_explicit(&t->ended, true, memory_order_release);
		/* the thread's next event takes the slow path and notices it */
		__atomic_store_n(&t->quick.room, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/* Ends an op of another thread. The op is still open, so no thread can have begun another at its
 * address, and its own thread does not touch the entry before it ends an enclosing op. */
void tide__end_elsewhere(uint32_t known_by)
{
	uint64_t now = atomic_load_explicit(&tide__guard.generation, memory_order_relaxed);
	tide_slow_section s;
	if (!now || !tide__slow_enter(&s))
		return;
	for (tide_thread *t = atomic_load_explicit(&tide__rec.threads, memory_order_acquire); t;
	     t = t->next)
		if (atomic_load_explicit(&t->quick.generation, memory_order_relaxed) == now &&
		    &t->quick != tide__self && end_there(t, known_by))
			break;
	tide__slow_leave(&s);
}
