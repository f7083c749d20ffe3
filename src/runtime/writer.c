// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The writer thread: writes rings into the file.
 *
 * A round: note every ring's head; write the definitions logged by then (so the file never uses
 * an id before it defines it); write each ring that has enough events, or whose events have waited
 * long enough; raise the ring's tail once its chunk is in the file. Rings survive a kill, so there
 * is no hurry: small chunks would only waste space. All signals but SIGBUS are blocked in this
 * thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/live_blocks.h"
#include "runtime/defs.h"
#include "runtime/last_thread.h"
#include "runtime/writer_tasks.h"
#include "runtime/recorder.h"

enum {
	BUFFER = 256 << 10, /* one chunk of any kind */
	ENOUGH = 8192,	    /* slots that make a chunk worth writing: about 64 KiB of payload */
	MAX_AGE_MS = 250,   /* or they have waited this long */
	DELAY_MIN_US = 250, /* pauses between rounds */
	DELAY_MAX_US = 5000,
	BUSY_WAIT_MS = 1000,	/* how long stop waits for threads that are storing an event */
	LOSS_MAX = BUFFER / 48, /* rings in one LOSS chunk */
};

static uint8_t *buffer; /* BUFFER bytes; kept for the process's life */
static uint64_t lost_sum;
static uint64_t tick_ns, tick_after_ns; /* last clock point, and when the next one is due */

static uint64_t now_ns(void)
{
	return tide__clock_ns(CLOCK_MONOTONIC);
}

/* Seals and writes buffer[64 ..] as a chunk of n payload bytes. */
static bool put_chunk(tide_chunk_head h, size_t n, bool last)
{
	tide__chunk_seal(&h, buffer + sizeof h, (uint32_t)n);
	memcpy(buffer, &h, sizeof h);
	return tide__sink_put(&tide__rec.sink, buffer, sizeof h + n, last);
}

static bool write_clock(bool last)
{
	tide_triple c = tide__clock_read_triple();
	uint8_t *start = buffer + sizeof(tide_chunk_head), *p = start;
	*p++ = TIDE_REC_TICK;
	p = tide__put_v(p, c.ticks);
	p = tide__put_v(p, (uint64_t)c.mono_raw);
	p = tide__put_z(p, c.real);
	tick_ns = now_ns();
	/* The first points are written early, so that a short or killed recording has two. */
	uint64_t most = tide__rec.opt.tick_ms * UINT64_C(1000000);
	tick_after_ns = tick_after_ns * 4 < most ? tick_after_ns * 4 : most;
	return put_chunk((tide_chunk_head){ .type = TIDE_CHUNK_CLOCK, .count = 1 },
			 (size_t)(p - start), last);
}

/* ---- definitions --------------------------------------------------------------------------- */

/* Returns the bytes of whole records among the n at p; *count of them. */
static size_t whole_records(const uint8_t *p, size_t n, uint32_t *count)
{
	const uint8_t *at = p, *end = p + n;
	*count = 0;
	for (size_t size; (size = tide__def_size(at, end)) != 0; at += size)
		++*count;
	return (size_t)(at - p);
}

static bool write_definitions(bool last)
{
	tide_recorder *r = &tide__rec;
	uint64_t used = tide__log_used(&r->space);
	while (r->log_written < used) {
		uint64_t n = used - r->log_written, most = BUFFER - sizeof(tide_chunk_head);
		if (n > most)
			n = most;
		uint8_t *payload = buffer + sizeof(tide_chunk_head);
		tide__log_read(&r->space, r->log_written, payload, (size_t)n);
		tide_chunk_head h = { .type = TIDE_CHUNK_DEFS, .first = r->log_written };
		n = h.slots = whole_records(payload, (size_t)n, &h.count);
		if (!n || tide__ring_file_torn(&r->space) || !put_chunk(h, (size_t)n, last))
			return false;
		r->log_written += n;
	}
	return true;
}

/* ---- losses -------------------------------------------------------------------------------- */

static uint8_t *put_lost(uint8_t *p, uint32_t ring, const tide_counts *lost, uint64_t cut,
			 uint32_t *count)
{
	uint64_t full = atomic_load(&lost->lost_full), sig = atomic_load(&lost->lost_signal),
		 other = atomic_load(&lost->lost_other) + cut;
	if (!(full | sig | other))
		return p;
	++*count;
	*p++ = TIDE_REC_LOST;
	p = tide__put_v(p, ring);
	p = tide__put_v(p, full);
	p = tide__put_v(p, sig);
	return tide__put_v(p, other);
}

static uint64_t sum_of(const tide_counts *lost)
{
	return atomic_load(&lost->lost_full) + atomic_load(&lost->lost_signal) +
	       atomic_load(&lost->lost_other);
}

static uint64_t total_lost(void)
{
	const tide_ring_file *s = &tide__rec.space;
	uint64_t sum = sum_of(&s->counts);
	for (tide_block *b = atomic_load_explicit(&s->rings, memory_order_acquire); b; b = b->next)
		sum += sum_of(&b->counts) + tide__events_cut(b);
	return sum;
}

/* Writes the cumulative counts of every ring that lost events, if they changed since the last
 * time. */
static bool write_losses(bool last)
{
	tide_recorder *r = &tide__rec;
	uint64_t sum = total_lost();
	if (sum == lost_sum)
		return true;
	tide_chunk_head h = { .type = TIDE_CHUNK_LOSS };
	uint8_t *start = buffer + sizeof h;
	uint8_t *p = put_lost(start, 0, &r->space.counts, 0, &h.count);
	tide_block *b = atomic_load_explicit(&r->space.rings, memory_order_acquire);
	for (; b; b = b->next) {
		p = put_lost(p, b->encoder.ring, &b->counts, tide__events_cut(b), &h.count);
		if (h.count >= LOSS_MAX) {
			if (!put_chunk(h, (size_t)(p - start), last))
				return false;
			h.count = 0;
			p = start;
		}
	}
	if (h.count && !put_chunk(h, (size_t)(p - start), last))
		return false;
	lost_sum = sum;
	return true;
}

/* Returns a time at which every ring had been examined. */
static uint64_t a_second_ago(void)
{
	const tide_file_head *h = &tide__rec.head;
	tide_triple now = tide__clock_read_triple();
	uint64_t ns = (uint64_t)(now.mono_raw - h->start_mono_raw),
		 ticks = now.ticks - h->start_ticks;
	return ns < 1000000000 ? 0 : now.ticks - ticks / (ns / 1000000000);
}

/* ---- events -------------------------------------------------------------------------------- */

/* Writes the ring's slots up to its goal. Returns false if the file accepts no more data now. */
static bool write_ring(tide_block *b, bool last)
{
	tide_recorder *r = &tide__rec;
	while (b->encoder.next < b->goal) {
		tide_encoder trial = b->encoder;
		size_t n = tide__encode_events(&trial, b->slots, b->n_slots - 1, b->goal, buffer);
		if (tide__ring_file_torn(&r->space) || !tide__sink_put(&r->sink, buffer, n, last))
			return false;
		atomic_fetch_add_explicit(&r->events, trial.events - b->encoder.events,
					  memory_order_relaxed);
		uint64_t from = b->encoder.next;
		b->encoder = trial;
		if (r->opt.max_file_bytes)
			tide__carry_follow(b->slots, b->n_slots - 1, from, trial.next,
					   r->space.n_rings > 1, a_second_ago());
		atomic_store_explicit(&b->shared->tail, trial.next, memory_order_release);
		if (last && r->sink.failed_ns &&
		    !r->stuck) /* disk full: free the ring's disk space */
			tide__ring_file_punch(&r->space, b, from, trial.next);
	}
	return true;
}

/* Writes the rings that are due. *moved gets the fullest ring's waiting slots, in 1/256 of the
 * ring. */
static bool round_trip(bool last, unsigned *moved)
{
	tide_block *rings = atomic_load_explicit(&tide__rec.space.rings, memory_order_acquire);
	uint64_t now = now_ns();
	bool any = last;
	*moved = 0;
	if (tide__ring_file_torn(&tide__rec.space)) /* zeros */
		return true;
	for (tide_block *b = rings; b; b = b->next) {
		uint64_t head = atomic_load_explicit(&b->shared->head, memory_order_acquire);
		uint64_t waiting = head - b->encoder.next, enough = b->n_slots / 4;
		unsigned part = (unsigned)(waiting * 256 / b->n_slots);
		*moved = part > *moved ? part : *moved;
		if (enough > ENOUGH)
			enough = ENOUGH;
		bool due =
			waiting >= enough || now - b->flushed_ns > MAX_AGE_MS * UINT64_C(1000000);
		b->goal = due || last ? head : b->encoder.next;
		if (due)
			b->flushed_ns = now;
		any |= due && waiting;
	}
	if (!any) /* definitions alone can wait too */
		return true;
	if (!write_definitions(last))
		return false;
	for (tide_block *b = rings; b; b = b->next)
		if (!write_ring(b, last))
			return false;
	return true;
}

/* ---- notes --------------------------------------------------------------------------------- */

/* The writer has no ring: its annotations are chunks of a ring number that is otherwise unused. */
enum { NOTE_SLOTS = 8 };
static tide_encoder note_encoder;

void tide__write_note(uint32_t key, const char *text)
{
	tide_ring_slot slots[NOTE_SLOTS];
	size_t n = strnlen(text, (NOTE_SLOTS - 1) * sizeof *slots);
	uint64_t q = note_encoder.next, more = (n + sizeof *slots - 1) / sizeof *slots;
	note_encoder.ring = TIDE_RING_NOTES;
	memset(slots, 0, sizeof slots);
	slots[q % NOTE_SLOTS] = (tide_ring_slot){ tide__ticks(), n, 0, key, TIDE_REC_ANNOTATE };
	for (uint64_t i = 0; i < more; i++) {
		size_t part = n - i * sizeof *slots;
		memcpy(&slots[(q + 1 + i) % NOTE_SLOTS], text + i * sizeof *slots,
		       part < sizeof *slots ? part : sizeof *slots);
	}
	tide_encoder trial = note_encoder;
	if (!write_definitions(false))
		return;
	size_t bytes = tide__encode_events(&trial, slots, NOTE_SLOTS - 1, q + 1 + more, buffer);
	if (!tide__sink_put(&tide__rec.sink, buffer, bytes, false))
		return;
	atomic_fetch_add_explicit(&tide__rec.events, 1, memory_order_relaxed);
	note_encoder = trial;
}

/* ---- the beginning, the thread, the end ---------------------------------------------------- */

bool tide__write_opening(void)
{
	if (!buffer)
		buffer = tide__pages_map(BUFFER);
	if (!buffer)
		return false;
	lost_sum = 0;
	if (!tide__rec.parts) {
		memset(&note_encoder, 0, sizeof note_encoder);
		tide__carry_reset();
	}
	tick_after_ns = 250000;
	tide__rec.sink.step = tide__rec.opt.max_file_bytes / 8;
	tide_chunk_head h = { .type = TIDE_CHUNK_SCHEMA };
	size_t n = tide__encode_schema(buffer + sizeof h, &h.count);
	if (!put_chunk(h, n, false))
		return false;
	h = (tide_chunk_head){ .type = TIDE_CHUNK_FACTS };
	n = tide__facts_write(buffer + sizeof h, BUFFER - sizeof h, &h.count);
	return put_chunk(h, n, false) && write_clock(false) && write_definitions(false);
}

static bool write_end(void)
{
	tide_recorder *r = &tide__rec;
	uint8_t *start = buffer + sizeof(tide_chunk_head), *p = start;
	*p++ = TIDE_REC_TOTAL;
	p = tide__put_v(p, atomic_load_explicit(&r->events, memory_order_relaxed));
	p = tide__put_v(p, lost_sum);
	p = tide__put_v(p, r->space.n_rings);
	return put_chunk((tide_chunk_head){ .type = TIDE_CHUNK_END, .count = 1 },
			 (size_t)(p - start), true);
}

/* Records the loss of the rings' content at the time their file was truncated, and of everything
 * after it. */
static bool write_torn(void)
{
	static const char key[] = "loss.rings_cut";
	uint8_t *start = buffer + sizeof(tide_chunk_head), *p = start;
	*p++ = TIDE_REC_FACT_NUM;
	p = tide__put_s(p, key, sizeof key - 1);
	p = tide__put_z(p, 1);
	return put_chunk((tide_chunk_head){ .type = TIDE_CHUNK_FACTS, .count = 1 },
			 (size_t)(p - start), true);
}

/* Writes all remaining data. On a full disk each chunk frees more of the ring file than the
 * next one needs, so this succeeds unless another process takes the space. */
static bool finish(void)
{
	unsigned moved;
	if (tide__ring_file_torn(&tide__rec.space))
		return write_clock(true) && write_torn() && write_losses(true) && write_end();
	return round_trip(true, &moved) && write_clock(true) && write_losses(true) && write_end();
}

/* ---- a recording that is limited in size --------------------------------------------------- */

/* A file that reaches half of the limit is closed and renamed to NAME.old.tide; a new one begins
 * with the definitions and the live blocks. So the two files hold at least the last half of the
 * limit, each can be read alone, and both are complete at every moment. */
/* NAME.tide -> NAME.old.tide */
static void old_path(char *out, size_t n, const char *path)
{
	size_t k = strlen(path), ext = sizeof ".tide" - 1;
	bool has = k > ext && !strcmp(path + k - ext, ".tide");
	snprintf(out, n, "%.*s" TIDE_OLD_SUFFIX ".tide", (int)(has ? k - ext : k), path);
}

static bool write_window(uint64_t lost)
{
	static const char before[] = "loss.window_events", blocks[] = "loss.window_blocks",
			  limit[] = "recorder.max_file_bytes";
	tide_chunk_head h = { .type = TIDE_CHUNK_FACTS, .count = lost ? 3 : 2 };
	uint8_t *start = buffer + sizeof h, *p = start;
	*p++ = TIDE_REC_FACT_NUM;
	p = tide__put_s(p, before, sizeof before - 1);
	p = tide__put_z(p, (int64_t)tide__rec.events_before);
	*p++ = TIDE_REC_FACT_NUM;
	p = tide__put_s(p, limit, sizeof limit - 1);
	p = tide__put_z(p, (int64_t)tide__rec.opt.max_file_bytes);
	if (lost) {
		*p++ = TIDE_REC_FACT_NUM;
		p = tide__put_s(p, blocks, sizeof blocks - 1);
		p = tide__put_z(p, (int64_t)lost);
	}
	return put_chunk(h, (size_t)(p - start), false);
}

/* Writes the live blocks, and for each ring a chunk without slots, which marks where the ring
 * continues. */
static bool write_carried(void)
{
	tide_recorder *r = &tide__rec;
	size_t n;
	uint64_t lost;
	const tide_ring_slot *slots = tide__carry_all(a_second_ago(), &n, &lost);
	tide_encoder e = { .ring = TIDE_RING_CARRIED };
	if (!write_window(lost))
		return false;
	while (e.next < n) {
		size_t bytes = tide__encode_events(&e, slots, UINT64_MAX, n, buffer);
		if (!tide__sink_put(&r->sink, buffer, bytes, false))
			return false;
	}
	atomic_store_explicit(&r->events, e.events, memory_order_relaxed);
	for (tide_block *b = atomic_load_explicit(&r->space.rings, memory_order_acquire); b;
	     b = b->next) {
		tide_chunk_head h = { .type = TIDE_CHUNK_EVENTS,
				      .ring = b->encoder.ring,
				      .lane = b->encoder.lane,
				      .first = b->encoder.next,
				      .depth = b->encoder.depth,
				      .ticks = b->encoder.ticks };
		if (b->encoder.next && !put_chunk(h, 0, false))
			return false;
	}
	tide_chunk_head h = { .type = TIDE_CHUNK_EVENTS,
			      .ring = TIDE_RING_NOTES,
			      .first = note_encoder.next };
	return !note_encoder.next || put_chunk(h, 0, false);
}

static bool exchange(const char *a, const char *b)
{
	return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */) == 0;
}

/* At every moment `path` is one of the two files, if the file system can exchange names or link. */
static bool put_in_place(const char *fresh, const char *path, const char *old)
{
	if (exchange(fresh, path)) {
		if (rename(fresh, old) == 0)
			return true;
		exchange(fresh, path);
		return false;
	}
	unlink(old);
	return (link(path, old) == 0 || rename(path, old) == 0) && rename(fresh, path) == 0;
}

/* Starts the next part of a recording. The new file is complete before the old one is renamed; if a
 * step fails, the recording continues in the current file. */
static bool next_part(void)
{
	static char fresh[4096 + 48], old[4096 + 16];
	tide_recorder *r = &tide__rec;
	tide_sink was = r->sink;
	uint64_t log_written = r->log_written, events = atomic_load(&r->events);
	tide_file head_of_path = r->sink.file;
	if (!tide__file_there(&head_of_path)) /* moved or removed: not ours to replace */
		return false;
	snprintf(fresh, sizeof fresh, "%.4095s.%ld.new", r->path, (long)getpid());
	old_path(old, sizeof old, r->path);
	unlink(fresh);
	r->parts++;
	r->events_before += events;
	r->log_written = 0;
	bool ok = tide__sink_open(&r->sink, fresh, &r->head) == 0 && tide__write_opening() &&
		  write_carried();
	tide_sink next = r->sink;
	uint64_t carried = atomic_load(&r->events), defs = r->log_written;
	r->sink = was; /* its end */
	r->log_written = log_written;
	atomic_store(&r->events, events);
	/* The END comes after the exchange: a file with one needs no ring file, and before the
	 * exchange the ring file still belongs to this one. */
	if (!ok || !write_clock(true) || !write_losses(true) ||
	    !put_in_place(fresh, r->path, old)) {
		tide__file_close(&next.file);
		unlink(fresh);
		r->parts--;
		r->events_before -= events;
		return false;
	}
	write_end(); /* else readers say that it was not closed */
	tide__sink_close(&r->sink);
	next.file.misled |= r->sink.file.misled;
	r->sink = next;
	r->sink.file.path = r->path;
	r->log_written = defs;
	atomic_store(&r->events, carried);
	r->part_from = r->sink.at;
	lost_sum = 0;
	return write_losses(false);
}

/* Returns whether the file is full. Its initial content does not count, because a large heap would
 * fill it at once. */
static bool part_full(void)
{
	const tide_recorder *r = &tide__rec;
	uint64_t half = r->opt.max_file_bytes / 2, least = r->part_from + half / 2;
	return half && r->sink.at > (half > least ? half : least);
}

static void close_files(void)
{
	tide_recorder *r = &tide__rec;
	r->removed = tide__file_removed(&r->sink.file);
	r->rings_there = tide__file_there(&r->space.file);
	r->rings_left = !r->rings_there && tide__file_still(&r->space.file) &&
			!tide__file_removed(&r->space.file);
	int error = r->sink.error;
	r->close_error = tide__sink_close(&r->sink);
	r->sink.error = error;
	tide__file_close(&r->space.file);
	r->misled = r->sink.file.misled || r->space.file.misled;
	r->opened = false;
}

static void barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return;
	/* No membarrier: a store buffer does not outlive a scheduling quantum. */
	usleep(50000);
}

/* Wait, bounded, until no thread is storing an event. */
static bool quiet(void)
{
	tide_thread *t = atomic_load_explicit(&tide__rec.threads, memory_order_acquire);
	for (int ms = 0; t; t = t->next)
		while (atomic_load_explicit(&t->quick.busy, memory_order_acquire)) {
			if (&t->quick == tide__rec.stopper || ms++ >= BUSY_WAIT_MS)
				return false;
			usleep(1000);
		}
	return true;
}

/* Ends the recording: on this thread, because the program may have forbidden its threads to make
 * system calls. */
static void end_recording(bool alone)
{
	tide_recorder *r = &tide__rec;
	if (alone) {
		atomic_store(&tide__guard.generation, 0);
	} else {
		barrier_everywhere();
		r->stuck = !quiet();
	}
	r->complete = finish();
	close_files();
	if (r->rings_there && ((r->complete && !r->close_error) || r->removed))
		unlink(r->rings_path); /* else it is another recording's, with the same name */
}

void *tide__writer_run(void *unused)
{
	tide_recorder *r = &tide__rec;
	uint64_t delay = DELAY_MIN_US;
	pthread_setname_np(pthread_self(), "tidemark");
	tide__errand_unshare();
	tide__program_watch();
	while (!atomic_load_explicit(&r->finish, memory_order_acquire)) {
		unsigned moved;
		uint32_t seen = tide__bell();
		tide__errand_look();
		if (!r->opened) {
			tide__bell_wait(seen, DELAY_MAX_US);
			continue;
		}
		if (tide__program_gone(now_ns())) {
			end_recording(true);
			tide__program_end();
		}
		tide__control_look();
		bool fine = round_trip(false, &moved);
		atomic_store_explicit(&r->no_space, !fine, memory_order_relaxed);
		if (now_ns() - tick_ns >= tick_after_ns) {
			write_clock(false);
			write_losses(false);
		}
		if (fine && part_full() && !tide__ring_file_torn(&r->space))
			next_part();
		delay = moved >= 32 && fine ? DELAY_MIN_US : delay * 2;
		if (delay > DELAY_MAX_US)
			delay = DELAY_MAX_US;
		tide__bell_wait(seen, delay);
	}
	if (r->opened)
		end_recording(false);
	atomic_store_explicit(&r->writer_ended, 1, memory_order_release);
	tide__wake(&r->writer_ended);
	return unused;
}
