// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark-mpi: the same program with its traces spread over MPI processes.
 *
 *     mpirun -n 8 tidemark-mpi hta DIR
 *
 * Process 0 runs the command and is the only one that prints; the others wait for work (spread.h).
 * A command that has none to spread runs in process 0 alone. Messages over 1 GiB go in pieces,
 * because MPI counts in int. */
#include <mpi.h>

#include "cli/cli.h"
#include "cli/spread.h"

enum { PIECE = 1 << 30, TAG = 1 };

static int piece(size_t n)
{
	return n > PIECE ? PIECE : (int)n;
}

static void share(void *p, size_t n)
{
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n))
		MPI_Bcast(at, piece(n), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void send(const void *p, size_t n)
{
	for (const char *at = p; n; at += piece(n), n -= (size_t)piece(n))
		MPI_Send(at, piece(n), MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

static void receive(int from, void *p, size_t n)
{
	for (char *at = p; n; at += piece(n), n -= (size_t)piece(n))
		MPI_Recv(at, piece(n), MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	tide_spread s = { .share = share, .send = send, .receive = receive };
	int rc = 0, threads;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &s.me);
	MPI_Comm_size(MPI_COMM_WORLD, &s.n);
	tide__spread = &s;
	if (s.me == 0) {
		rc = tide__cli_main(argc, argv);
		tide__spread_end();
	} else {
		tide__spread_worker();
	}
	MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD); /* mpirun wants one answer from all */
	MPI_Finalize();
	return rc;
}
