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
#include <time.h>

#include "cli/cli.h"
#include "cli/job/distribute.h"

enum { PIECE = 1 << 30, TAG = 1 };

static int piece(size_t n)
{
	return n > PIECE ? PIECE : (int)n;
}

/* Waits without using a core: MPI's own waiting spins, so an idle process would slow down a busy
 * one. */
static void await(MPI_Request *r)
{
	struct timespec nap = { .tv_nsec = 20000 };
	int done = 0;
	while (!MPI_Test(r, &done, MPI_STATUS_IGNORE) && !done) {
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 2000000)
			nap.tv_nsec *= 2;
	}
}

static void share(void *p, size_t n)
{
	MPI_Request r;
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		MPI_Ibcast(at, piece(n), MPI_BYTE, 0, MPI_COMM_WORLD, &r);
		await(&r);
	}
}

static void send(const void *p, size_t n)
{
	MPI_Request r;
	for (const char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		MPI_Isend(at, piece(n), MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &r);
		await(&r);
	}
}

static void receive(int from, void *p, size_t n)
{
	MPI_Request r;
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n)) {
		MPI_Irecv(at, piece(n), MPI_BYTE, from, TAG, MPI_COMM_WORLD, &r);
		await(&r);
	}
}

int main(int argc, char **argv)
{
	tide_distribute s = { .share = share, .send = send, .receive = receive };
	int rc = 0, threads;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &s.me);
	MPI_Comm_size(MPI_COMM_WORLD, &s.n);
	tide__distribute = &s;
	if (s.me == 0) {
		rc = tide__cli_run_main(argc, argv);
		tide__distribute_end();
	} else {
		tide__distribute_worker();
	}
	share(&rc, sizeof rc); /* mpirun expects the same status from all */
	MPI_Finalize();
	return rc;
}
