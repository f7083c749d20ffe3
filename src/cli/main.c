// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The tidemark program. Everything is in cli.c, so that tests and tidemark-mpi can link it too. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return tide__cli_run_main(argc, argv);
}
