// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "loader.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

enum { AHEAD = 2 };

struct loader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int rows, columns, vocab;
	int *ready[AHEAD]; /* filled, not yet taken */
	int n_ready;
	int *taken; /* what the trainer holds */
	bool stop;
	unsigned seed;
};

/* A text with a pattern to learn: most tokens follow from the previous one. */
static void fill(loader *l, int *batch)
{
	for (int r = 0; r < l->rows; r++) {
		int *line = batch + r * l->columns;
		for (int i = 0; i < l->columns; i++) {
			l->seed = l->seed * 1664525u + 1013904223u;
			unsigned noise = l->seed >> 16;
			int follow = i ? (line[i - 1] * 5 + 3) % l->vocab : 0;
			line[i] =
				!i || noise % 16 == 0 ? (int)(noise % (unsigned)l->vocab) : follow;
		}
	}
}

static int *make_batch(loader *l, pool *p)
{
	uint64_t shape[2] = { (uint64_t)l->rows, (uint64_t)l->columns };
	tide_op op = tide_op_begin(TIDE_NAME("load_batch"));
	float *staging = pool_take(p, TIDE_NAME("batch.staging"), TIDE_ROLE_INPUT, 2, shape);
	fill(l, (int *)(void *)staging);
	int *batch = malloc(sizeof(int) * (size_t)(l->rows * l->columns));
	if (batch)
		memcpy(batch, staging, sizeof(int) * (size_t)(l->rows * l->columns));
	pool_give(p, staging);
	tide_op_end(op);
	return batch;
}

static void *work(void *arg)
{
	loader *l = arg;
	pool *p = pool_new(TIDE_POOL_PINNED, "staging");
	while (p) {
		int *batch = make_batch(l, p);
		pthread_mutex_lock(&l->lock);
		while (!l->stop && l->n_ready == AHEAD)
			pthread_cond_wait(&l->changed, &l->lock);
		bool stop = l->stop || !batch;
		if (!stop)
			l->ready[l->n_ready++] = batch;
		pthread_cond_broadcast(&l->changed);
		pthread_mutex_unlock(&l->lock);
		if (stop) {
			free(batch);
			pool_free(p);
			p = NULL;
		}
	}
	return NULL;
}

loader *loader_start(int rows, int columns, int vocab)
{
	loader *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	*l = (loader){ .rows = rows, .columns = columns, .vocab = vocab, .seed = 7 };
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	if (pthread_create(&l->thread, NULL, work, l)) {
		free(l);
		return NULL;
	}
	return l;
}

const int *loader_next(loader *l)
{
	pthread_mutex_lock(&l->lock);
	while (!l->n_ready)
		pthread_cond_wait(&l->changed, &l->lock);
	free(l->taken);
	l->taken = l->ready[0];
	l->ready[0] = l->ready[1];
	l->n_ready--;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return l->taken;
}

void loader_stop(loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	for (int i = 0; i < l->n_ready; i++)
		free(l->ready[i]);
	free(l->taken);
	free(l);
}
