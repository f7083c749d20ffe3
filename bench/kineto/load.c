// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loads one trace and prints its cost:  bench_kineto_load FILE [threads [what]]  (what:
 * TIDE_WANT_*, 0 = all) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "import/import.h"

int main(int argc, char **argv)
{
	tide_load_options opt = { .threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0,
				  .what = argc > 3 ? (unsigned)atoi(argv[3]) : 0 };
	tide_error err = { 0 };
	tide_model *m = NULL;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (tide__load(argc > 1 ? argv[1] : "", &opt, &m, &err) != TIDE_OK) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%s threads %u what %u: %.3f s, %zu spans, model %zu bytes\n", argv[1], opt.threads,
	       opt.what, (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec),
	       m->spans.n - 1, tide__model_bytes(m));
	tide__model_free(m);
	return 0;
}
