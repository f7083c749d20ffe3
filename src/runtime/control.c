// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Switches a recording off and on from outside, and sets marks. Requests are words in the ring
 * file's head, which the writer thread checks in every round: no socket, no work for the program.
 * With TIDEMARK_SIGNAL=number that signal switches too, unless the program has a handler for it.
 * TIDEMARK_UNTIL=ns (CLOCK_MONOTONIC) switches off once at that time, in every process of a run. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/defs.h"
#include "runtime/recorder.h"

_Atomic bool tide__paused;
static uint32_t key;
static uint64_t answered;
static uint64_t until_ns;	 /* UINT64_MAX = no limit, or it has passed */
static _Atomic uint32_t signals; /* that came since the process started */
static uint32_t signals_seen;

static void came(int number)
{
	(void)number;
	atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
}

/* Sets the handler at the start of the process: without it the signal would end a program that has
 * not recorded anything yet. An odd number of signals before the recording starts it switched
 * off. */
__attribute__((constructor)) static void watch_signal(void)
{
	const char *text = getenv("TIDEMARK_SIGNAL");
	int number = text ? atoi(text) : 0;
	struct sigaction now, mine = { .sa_handler = came, .sa_flags = SA_RESTART };
	if (number > 0 && sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	    now.sa_handler == SIG_DFL)
		sigaction(number, &mine, NULL);
}

static uint64_t read_until(void)
{
	const char *text = getenv("TIDEMARK_UNTIL");
	char *end;
	unsigned long long v = text ? strtoull(text, &end, 10) : 0;
	return text && *text && !*end ? v : UINT64_MAX;
}

void tide__control_init(void)
{
	static const char name[] = "tidemark.control";
	static bool again;
	uint8_t len[2];
	size_t n = (size_t)(tide__put_v(len, sizeof name - 1) - len);
	key = tide__define(TIDE_REC_NAME, len, n, name, sizeof name - 1, UINT32_MAX - 1,
			   &tide__rec.space);
	answered = 0;
	until_ns = read_until();
	atomic_store(&tide__paused, false);
	if (again) /* in a forked child, or a second recording */
		signals_seen = atomic_load(&signals);
	again = true;
	watch_signal();
}

/* Returns false if the recording has not begun, or has ended: ask again in the next round. */
static bool pause_now(bool off)
{
	uint64_t g = atomic_load(&tide__guard.generation);
	if (!g)
		return false;
	if (off == atomic_load(&tide__paused))
		return true;
	if (off) { /* the flag first: a thread that sees another generation reads it */
		tide__write_note(key, "off");
		atomic_store(&tide__paused, true);
		atomic_compare_exchange_strong(&tide__guard.generation, &g, g | TIDE_PAUSED_BIT);
	} else {
		atomic_compare_exchange_strong(&tide__guard.generation, &g, g & ~TIDE_PAUSED_BIT);
		atomic_store(&tide__paused, false);
		tide__write_note(key, "on");
	}
	return true;
}

void tide__control_look(void)
{
	tide_rings_head *h = tide__rec.space.head;
	uint64_t seq = h ? __atomic_load_n(&h->control_seq, __ATOMIC_ACQUIRE) : 0;
	char text[sizeof h->control_text + 8] = "mark ";
	uint32_t now = atomic_load_explicit(&signals, memory_order_relaxed);
	if (!((now - signals_seen) & 1) || pause_now(!atomic_load(&tide__paused)))
		signals_seen = now;
	if (until_ns != UINT64_MAX && tide__clock_ns(CLOCK_MONOTONIC) >= until_ns &&
	    pause_now(true))
		until_ns = UINT64_MAX;
	if (seq == answered)
		return;
	memcpy(text + 5, h->control_text, sizeof h->control_text);
	text[sizeof h->control_text + 4] = 0;
	uint64_t command = __atomic_load_n(&h->control, __ATOMIC_RELAXED);
	switch (command) {
	case TIDE_CONTROL_OFF:
	case TIDE_CONTROL_ON:
		if (!pause_now(command == TIDE_CONTROL_OFF))
			return;
		break;
	case TIDE_CONTROL_MARK:
		tide__write_note(key, text);
		break;
	default:
		break;
	}
	answered = seq;
	__atomic_store_n(&h->control_done, seq, __ATOMIC_RELEASE);
}
