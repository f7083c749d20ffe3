// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark-mpi: the same program with its traces spread over MPI processes.
 *
 *     mpirun -n 8 tidemark-mpi hta DIR
 *
 * Process 0 runs the command and is the only one that prints; the others wait for work
 * (distribute.h). A command without distributable work runs in process 0 alone. Messages over 1 GiB
 * go in pieces, because MPI counts in int. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job/distribute.h"
#include "cli/job/patience.h"

enum { PIECE = 1 << 30, TAG = 1, TAG_ALIVE = 2, TAG_END = 3, ALIVE_S = 2 };

static int piece(size_t n)
{
	return n > PIECE ? PIECE : (int)n;
}

/* Sleeps a while, longer each time: MPI's own waiting spins, so an idle process would slow down a
 * busy one. */
static void nap(struct timespec *t)
{
	t->tv_nsec = !t->tv_nsec ? 20000 : t->tv_nsec < 2000000 ? t->tv_nsec * 2 : t->tv_nsec;
	nanosleep(t, NULL);
}

static void await(MPI_Request *r)
{
	struct timespec t = { 0 };
	int done = 0;
	while (!MPI_Test(r, &done, MPI_STATUS_IGNORE) && !done)
		nap(&t);
}

static void share(void *p, size_t n)
{
	MPI_Request r;
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		MPI_Ibcast(at, piece(n), MPI_BYTE, 0, MPI_COMM_WORLD, &r);
		await(&r);
	}
}

/* ---- results: sent while the next file is read ---- */

static MPI_Request *sending; /* owned; of this process */
static size_t n_sending, cap_sending;

static void send(const void *p, size_t n)
{
	for (const char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		if (!TIDE_ROOM(sending, cap_sending, n_sending + 1))
			abort(); /* process 0 waits for it */
		MPI_Isend(at, piece(n), MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &sending[n_sending++]);
	}
}

static void sent(void)
{
	for (size_t i = 0; i < n_sending; i++)
		await(&sending[i]);
	tide__free(sending);
	sending = NULL;
	n_sending = cap_sending = 0;
}

/* Tells process 0 that this one lives, and lets MPI continue to send results. */
static void tick(void)
{
	static time_t last;
	static char sign;
	static MPI_Request before = MPI_REQUEST_NULL;
	int done = 0;
	time_t now = time(NULL);
	MPI_Test(&before, &done, MPI_STATUS_IGNORE);
	if (!done || now - last < ALIVE_S)
		return;
	last = now;
	MPI_Isend(&sign, 1, MPI_BYTE, 0, TAG_ALIVE, MPI_COMM_WORLD, &before);
}

/* Takes the signs of life that came from a process. Returns whether there were any. */
static bool is_alive(int from)
{
	int there = 0;
	bool any = false;
	char sign;
	while (!MPI_Iprobe(from, TAG_ALIVE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE) && there) {
		MPI_Recv(&sign, 1, MPI_BYTE, from, TAG_ALIVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		any = true;
	}
	return any;
}

static bool *lost; /* process 0: by process, it no longer answers */
static bool some_lost;

/* Waits for a message; false if its sender gave no sign of life for too long. */
static bool await_from(int from, MPI_Request *r)
{
	struct timespec t = { 0 };
	time_t heard = time(NULL);
	int64_t most = tide__patience_s();
	for (int done = 0; !MPI_Test(r, &done, MPI_STATUS_IGNORE) && !done; nap(&t)) {
		time_t now = time(NULL);
		if (is_alive(from))
			heard = now;
		if (most && now - heard >= most) {
			some_lost = lost[from] = true;
			MPI_Cancel(r);
			return false;
		}
	}
	return true;
}

static bool receive(int from, void *p, size_t n)
{
	MPI_Request r;
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		MPI_Irecv(at, piece(n), MPI_BYTE, from, TAG, MPI_COMM_WORLD, &r);
		if (!await_from(from, &r))
			return false;
	}
	return true;
}

/* ---- the end: process 0 sends the status to the others; mpirun expects the same from all ---- */

struct ending {
	int status, lost; /* lost: a process is gone, so MPI cannot be finalized */
};

static void tell_end(int n, struct ending *e)
{
	for (int i = 1; i < n; i++) {
		MPI_Request r;
		MPI_Isend(e, sizeof *e, MPI_BYTE, i, TAG_END, MPI_COMM_WORLD, &r);
		if (!lost[i])
			await(&r);
	}
}

static void hear_end(struct ending *e)
{
	MPI_Request r;
	MPI_Irecv(e, sizeof *e, MPI_BYTE, 0, TAG_END, MPI_COMM_WORLD, &r);
	await(&r);
}

int main(int argc, char **argv)
{
	tide_distribute s = {
		.share = share, .send = send, .sent = sent, .receive = receive, .tick = tick
	};
	struct ending e = { 0 };
	int threads;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &s.me);
	MPI_Comm_size(MPI_COMM_WORLD, &s.n);
	tide__distribute = &s;
	lost = tide__calloc((size_t)s.n, sizeof *lost);
	if (!lost)
		abort();
	if (s.me == 0) {
		e.status = tide__cli_run_main(argc, argv);
		tide__distribute_end();
		e.lost = some_lost;
		tell_end(s.n, &e);
	} else {
		tide__distribute_worker();
		hear_end(&e);
	}
	tide__free(lost);
	if (e.lost) {
		fflush(NULL);
		_exit(e.status);
	}
	MPI_Finalize();
	return e.status;
}
