// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The training loop of a small GPT with a memory usage tracker (tidemark/usage.h).
 *
 *     gpt_track [--track_memory] [--steps N]
 *
 * With --track_memory it prints memory phase by phase after the first iteration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidemark/usage.h>

#include "loader.h"
#include "model.h"

static int track;

static void memory_snapshot(const char *name)
{
	if (track)
		tide_usage_snapshot(name, NULL);
}

static void first_iteration_done(void)
{
	if (!track)
		return;
	tide_usage_end("FIRST_ITERATION_COMPLETE", NULL);
	tide_usage_print(stdout, NULL);
	tide_usage_clear();
}

int main(int argc, char **argv)
{
	const config c = { 4, 64, 4, 64, 4, 64 };
	tide_error err;
	int steps = 3;
	for (int i = 1; i < argc; i++) {
		track |= !strcmp(argv[i], "--track_memory");
		if (!strcmp(argv[i], "--steps") && i + 1 < argc)
			steps = atoi(argv[++i]);
	}
	if (track && tide_usage_begin(TIDE_USAGE_NORMAL, NULL, &err)) {
		fprintf(stderr, "gpt_track: %s\n", err.text);
		return 1;
	}
	pool *p = pool_new(TIDE_POOL_DRAM, "DRAM");
	gpt *m = p ? gpt_new(p, c, 42) : NULL;
	if (!m)
		return 1;
	memory_snapshot("MODEL_CREATION");
	gpt_make_optimizer(m);
	memory_snapshot("OPTIMIZER_CREATION");
	printf("Total parameters: %ld\n", gpt_parameters(m));
	loader *l = loader_start(c.batch, c.context + 1, c.vocab);
	for (int step = 0; l && step < steps; step++) {
		float loss = gpt_forward(m, loader_next(l));
		if (!step)
			memory_snapshot("FORWARD_PASS");
		gpt_backward(m);
		if (!step)
			memory_snapshot("BACKWARD_PASS");
		gpt_update(m, step + 1, 3e-3f);
		if (!step)
			first_iteration_done();
		printf("step %d, loss %.4f\n", step + 1, (double)loss);
	}
	if (l)
		loader_stop(l);
	gpt_free(m);
	pool_free(p);
	return l ? 0 : 1;
}
