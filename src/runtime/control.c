// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Switching a recording off and on from outside, and marks: words in the ring file's head, which the
 * writer thread looks at in every round. No signal, no socket, nothing to answer for the program. */
#include <string.h>

#include "runtime/defs.h"
#include "runtime/recorder.h"

_Atomic bool tide__paused;
static uint32_t key;
static uint64_t answered;

void tide__control_init(void)
{
	static const char name[] = "tidemark.control";
	uint8_t len[2];
	size_t n = (size_t)(tide__put_v(len, sizeof name - 1) - len);
	key = tide__define(TIDE_REC_NAME, len, n, name, sizeof name - 1, UINT32_MAX - 1,
			   &tide__rec.space);
	answered = 0;
	atomic_store(&tide__paused, false);
}

static void pause_now(bool off)
{
	uint64_t g = atomic_load(&tide__guard.generation);
	if (!g || off == atomic_load(&tide__paused))
		return;
	if (off) { /* the flag first: who finds another generation asks for it */
		tide__write_note(key, "off");
		atomic_store(&tide__paused, true);
		atomic_compare_exchange_strong(&tide__guard.generation, &g, g | TIDE_PAUSED_BIT);
	} else {
		atomic_compare_exchange_strong(&tide__guard.generation, &g, g & ~TIDE_PAUSED_BIT);
		atomic_store(&tide__paused, false);
		tide__write_note(key, "on");
	}
}

void tide__control_look(void)
{
	tide_rings_head *h = tide__rec.space.head;
	uint64_t seq = h ? __atomic_load_n(&h->control_seq, __ATOMIC_ACQUIRE) : 0;
	char text[sizeof h->control_text + 8] = "mark ";
	if (seq == answered)
		return;
	answered = seq;
	memcpy(text + 5, h->control_text, sizeof h->control_text);
	text[sizeof h->control_text + 4] = 0;
	switch (__atomic_load_n(&h->control, __ATOMIC_RELAXED)) {
	case TIDE_CONTROL_OFF:
		pause_now(true);
		break;
	case TIDE_CONTROL_ON:
		pause_now(false);
		break;
	case TIDE_CONTROL_MARK:
		tide__write_note(key, text);
		break;
	default:
		break;
	}
	__atomic_store_n(&h->control_done, seq, __ATOMIC_RELEASE);
}
