// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Trains a small GPT on the CPU and records it with Tidemark's C API.
 *
 *     gpt [--steps N] [--layers N] [--width N] [--context N] [--batch N] [-o run.tide]
 *
 * Afterwards try tidemark phases, peak, ops, memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"
#include "model.h"

struct settings {
	config c;
	int steps;
	const char *out;
};

static int *number_option(struct settings *s, const char *name)
{
	const struct {
		const char *name;
		int *at;
	} all[] = { { "--steps", &s->steps },
		    { "--layers", &s->c.layers },
		    { "--width", &s->c.width },
		    { "--context", &s->c.context },
		    { "--batch", &s->c.batch } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, name))
			return all[i].at;
	return NULL;
}

static int parse(struct settings *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		int *at = number_option(s, argv[i]);
		if (i + 1 == argc || (!at && strcmp(argv[i], "-o")))
			return -1;
		if (!at)
			s->out = argv[i + 1];
		else if ((*at = atoi(argv[i + 1])) < 1)
			return -1;
	}
	return s->c.width % s->c.heads ? -1 : 0;
}

static void train(const struct settings *s, gpt *m, loader *l)
{
	for (int step = 0; step < s->steps; step++) {
		tide_mark(TIDE_STEP, TIDE_NAME("step"), step);
		tide_op op = tide_op_begin_arg(TIDE_NAME("train_step"), (uint64_t)step);
		float loss = gpt_forward(m, loader_next(l));
		if (!step)
			tide_mark(TIDE_PHASE, TIDE_NAME("FORWARD_PASS"), 0);
		gpt_backward(m);
		if (!step)
			tide_mark(TIDE_PHASE, TIDE_NAME("BACKWARD_PASS"), 0);
		gpt_update(m, step + 1, 3e-3f);
		tide_counter(TIDE_NAME("loss"), (double)loss);
		tide_op_end(op);
		if (!step)
			tide_mark(TIDE_PHASE, TIDE_NAME("FIRST_ITERATION_COMPLETE"), 0);
		if (step == 0 || step == s->steps - 1 || (step + 1) % 10 == 0)
			printf("step %4d  loss %.4f\n", step + 1, (double)loss);
	}
	tide_mark(TIDE_PHASE, TIDE_NAME("TRAINING"), 0);
}

int main(int argc, char **argv)
{
	struct settings s = { { 4, 64, 4, 64, 4, 64 }, 30, "run.tide" };
	tide_error err;
	if (parse(&s, argc, argv)) {
		fprintf(stderr, "usage: gpt [--steps N] [--layers N] [--width 4k] [--context N] "
				"[--batch N] [-o FILE]\n");
		return 2;
	}
	if (tide_start(s.out, NULL, &err)) {
		fprintf(stderr, "gpt: %s: %s\n", s.out, err.text);
		return 1;
	}
	pool *p = pool_new(TIDE_POOL_DRAM, "DRAM");
	if (!p)
		return 1;
	gpt *m = gpt_new(p, s.c, 42);
	tide_mark(TIDE_PHASE, TIDE_NAME("MODEL_CREATION"), 0);
	gpt_make_optimizer(m);
	tide_mark(TIDE_PHASE, TIDE_NAME("OPTIMIZER_CREATION"), 0);
	printf("%ld parameters, %d steps\n", gpt_parameters(m), s.steps);
	loader *l = loader_start(s.c.batch, s.c.context + 1, s.c.vocab);
	if (l) {
		train(&s, m, l);
		loader_stop(l);
	}
	gpt_free(m);
	pool_free(p);
	if (tide_stop(&err)) {
		fprintf(stderr, "gpt: %s: %s\n", s.out, err.text);
		return 1;
	}
	return l ? 0 : 1;
}
