// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The work order is one byte string: lengths and values in the order of pack_order. A
 * worker sends each packed result when it has it, in the list's order; process 0, done with its own
 * share, takes one at a time, so it never holds more than the job and one result. */
#include "cli/job/distribute.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const tide_distribute *tide__distribute;
static bool order_sent; /* process 0: the workers have received their work */

/* ---- assignment ---- */

typedef struct share {
	uint64_t size;
	size_t at;
} share;

static int largest_first(const void *a, const void *b)
{
	const share *x = a, *y = b;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

bool tide__distribute_assign(const uint64_t *size, size_t n, int processes, int *owner)
{
	share *s = tide__alloc(n, sizeof *s);
	uint64_t *load = tide__calloc((size_t)processes, sizeof *load);
	bool ok = s && load;
	for (size_t i = 0; ok && i < n; i++)
		s[i] = (share){ size[i], i };
	if (ok && n)
		qsort(s, n, sizeof *s, largest_first);
	for (size_t i = 0; ok && i < n; i++) {
		int least = 0;
		for (int p = 1; p < processes; p++)
			if (load[p] < load[least])
				least = p;
		owner[s[i].at] = least;
		load[least] += s[i].size + 1;
	}
	tide__free(s);
	tide__free(load);
	return ok;
}

/* ---- the work order ---- */

typedef struct order {
	tide_rank_files files;
	tide_ranks_work work;
	char **custom; /* owned */
} order;

typedef struct buffer {
	uint8_t *p;
	size_t n, cap, at;
	bool failed;
} buffer;

static void put(buffer *b, const void *v, size_t n)
{
	b->failed = b->failed || !TIDE_ROOM(b->p, b->cap, b->n + n);
	if (b->failed)
		return;
	memcpy(b->p + b->n, v, n);
	b->n += n;
}

static void put_text(buffer *b, const char *s)
{
	uint64_t n = strlen(s);
	put(b, &n, sizeof n);
	put(b, s, (size_t)n);
}

static void get(buffer *b, void *v, size_t n)
{
	b->failed |= n > b->n - b->at;
	if (b->failed) {
		memset(v, 0, n);
		return;
	}
	memcpy(v, b->p + b->at, n);
	b->at += n;
}

static char *get_text(buffer *b)
{
	uint64_t n;
	get(b, &n, sizeof n);
	b->failed |= n > b->n - b->at;
	char *s = b->failed ? NULL : tide__strndup((const char *)b->p + b->at, (size_t)n);
	b->failed |= !s;
	b->at += s ? (size_t)n : 0;
	return s;
}

static void pack_order(buffer *b, const tide_rank_files *f, const tide_ranks_work *w)
{
	uint64_t files = f->n, custom = w->opt.n_custom;
	put(b, w, sizeof *w); /* its pointer is set again by the receiver */
	put(b, &custom, sizeof custom);
	for (size_t i = 0; i < w->opt.n_custom; i++)
		put_text(b, w->opt.custom[i]);
	put(b, &files, sizeof files);
	for (size_t i = 0; i < f->n; i++) {
		put(b, &f->v[i].size, sizeof f->v[i].size);
		put_text(b, f->v[i].path);
	}
}

static bool unpack_order(buffer *b, order *o)
{
	uint64_t n;
	*o = (order){ 0 };
	get(b, &o->work, sizeof o->work);
	get(b, &n, sizeof n);
	o->custom = n <= b->n ? tide__calloc((size_t)n + 1, sizeof *o->custom) : NULL;
	b->failed |= !o->custom;
	for (uint64_t i = 0; i < n && !b->failed; i++)
		o->custom[i] = get_text(b);
	o->work.opt.custom = (const char *const *)o->custom;
	o->work.opt.n_custom = (size_t)n;
	get(b, &n, sizeof n);
	o->files.v = n <= b->n ? tide__calloc((size_t)n + 1, sizeof *o->files.v) : NULL;
	b->failed |= !o->files.v;
	for (uint64_t i = 0; i < n && !b->failed; i++) {
		get(b, &o->files.v[i].size, sizeof o->files.v[i].size);
		o->files.v[i].path = get_text(b);
		o->files.n += !b->failed;
	}
	return !b->failed;
}

static void free_order(order *o)
{
	for (size_t i = 0; o->custom && o->custom[i]; i++)
		tide__free(o->custom[i]);
	tide__free(o->custom);
	tide__ranks_free(&o->files);
}

/* ---- results ---- */

/* The message for one file: the outcome, then n bytes of packed result. */
typedef struct outcome {
	tide_error err; /* err.code is the outcome */
	uint64_t n;
} outcome;

typedef struct done {
	outcome o;
	uint8_t *bytes; /* owned */
} done;

static void do_one(const char *path, const tide_ranks_work *w, done *d)
{
	tide_hta *h = NULL;
	size_t n = 0;
	memset(d, 0, sizeof *d);
	tide_code rc = tide__ranks_find_one(path, w, &h, &d->o.err);
	if (rc == TIDE_OK)
		rc = tide__hta_pack(h, &d->bytes, &n, &d->o.err);
	tide__hta_free(h);
	d->o.err.code = rc;
	d->o.n = rc == TIDE_OK ? n : 0;
}

static int *assign(const tide_rank_files *f)
{
	uint64_t *size = tide__alloc(f->n, sizeof *size);
	int *owner = tide__alloc(f->n, sizeof *owner);
	for (size_t i = 0; size && i < f->n; i++)
		size[i] = f->v[i].size;
	if (size && owner && !tide__distribute_assign(size, f->n, tide__distribute->n, owner)) {
		tide__free(owner);
		owner = NULL;
	}
	tide__free(size);
	return owner;
}

static void send_one(const done *d)
{
	tide__distribute->send(&d->o, sizeof d->o);
	if (d->o.n)
		tide__distribute->send(d->bytes, (size_t)d->o.n);
}

/* Returns this process's share, in the list's order; NULL if memory runs out. */
static done *do_share(const tide_rank_files *f, const tide_ranks_work *w, const int *owner)
{
	done *d = tide__calloc(f->n + 1, sizeof *d);
	for (size_t i = 0; d && i < f->n; i++) {
		if (owner[i] != tide__distribute->me)
			continue;
		do_one(f->v[i].path, w, &d[i]);
		if (tide__distribute->me)
			send_one(&d[i]);
	}
	return d;
}

static tide_code take(const tide_rank_file *file, done *d, tide_hta_job *job, tide_error *err)
{
	tide_hta *h = NULL;
	tide_code rc = d->o.err.code;
	if (rc == TIDE_OK)
		rc = tide__hta_unpack(d->bytes, (size_t)d->o.n, &h, &d->o.err);
	tide__free(d->bytes);
	d->bytes = NULL;
	return tide__ranks_take(job, file->path, rc, h, &d->o.err, err);
}

/* Receives a result, or the failure that its process was lost. */
static void receive(int from, bool *lost, done *d)
{
	*lost = *lost || !tide__distribute->receive(from, &d->o, sizeof d->o);
	d->bytes = *lost ? NULL : tide__alloc((size_t)d->o.n, 1);
	if (!*lost && !d->bytes)
		abort(); /* the sender waits: nothing else ends the job */
	if (!*lost && d->o.n)
		*lost = !tide__distribute->receive(from, d->bytes, (size_t)d->o.n);
	if (*lost)
		d->o.err.code = tide__fail(&d->o.err, TIDE_EIO, TIDE_NO_OFFSET,
					   "process %d, which read it, was lost", from);
}

tide_code tide__distribute_run(const tide_rank_files *f, const tide_ranks_work *w,
			       tide_hta_job *job, tide_error *err)
{
	buffer b = { 0 };
	pack_order(&b, f, w);
	int *owner = assign(f);
	if (b.failed || !owner) {
		tide__free(b.p);
		tide__free(owner);
		return tide__nomem(err);
	}
	uint64_t n = b.n;
	tide__distribute->share(&n, sizeof n);
	tide__distribute->share(b.p, b.n);
	order_sent = true;
	tide__free(b.p);
	done *d = do_share(f, w, owner);
	bool *lost = tide__calloc((size_t)tide__distribute->n, sizeof *lost); /* by process */
	if (!d || !lost)
		abort(); /* the others wait */
	tide_code rc = TIDE_OK;
	for (size_t i = 0; i < f->n; i++) { /* receive every message, even after an error */
		if (owner[i] != 0)
			receive(owner[i], &lost[owner[i]], &d[i]);
		if (rc == TIDE_OK)
			rc = take(&f->v[i], &d[i], job, err);
		else
			tide__free(d[i].bytes);
	}
	tide__free(lost);
	tide__free(d);
	tide__free(owner);
	return rc;
}

void tide__distribute_end(void)
{
	uint64_t none = 0;
	if (!order_sent)
		tide__distribute->share(&none, sizeof none);
}

static void work(order *o)
{
	int *owner = assign(&o->files);
	done *d = owner ? do_share(&o->files, &o->work, owner) : NULL;
	if (!d)
		abort(); /* process 0 waits for results: end the job loudly */
	tide__distribute->sent();
	for (size_t i = 0; i < o->files.n; i++)
		tide__free(d[i].bytes);
	tide__free(d);
	tide__free(owner);
}

void tide__distribute_worker(void)
{
	buffer b = { 0 };
	order o;
	uint64_t n = 0;
	tide__distribute->share(&n, sizeof n);
	if (!n)
		return;
	b.p = tide__alloc((size_t)n, 1);
	if (!b.p)
		abort();
	tide__distribute->share(b.p, (size_t)n);
	b.n = b.cap = (size_t)n;
	if (!unpack_order(&b, &o))
		abort();
	tide__free(b.p);
	work(&o);
	free_order(&o);
}
