// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decodes a list of events with several threads, in slices.
 *
 * The pickle is divided at its FRAME opcodes, which give the position of the next one, into slices
 * of about 1 MiB. Every thread, including the loading one, takes the next free slice and decodes it
 * (event_slice.c) on the assumption that a list of events continues there. That is verified only
 * when the decoder arrives at that byte: if it is then inside such a list, the slice's events are
 * appended, its memo entries get their numbers, its stacks are resolved; otherwise the slice is
 * discarded and the decoder reads those bytes itself. The same applies to the rest of a slice that
 * ends early, at something unusual. The result is the same as without threads, for any input. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "import/torchsnap/replay/event_slice.h"

enum {
	MOST_THREADS = 16,
	JOBS_EACH = 12,
	MOST_JOBS = JOBS_EACH * MOST_THREADS,
	FRAME = 0x95,
	FRAME_HEAD = 9,
	SAME_WORD = 4, /* entries of "N/A" or (0, 0) that are worth keeping: often one per event */
};

enum job_state { JOB_FREE, JOB_BUSY, JOB_DONE };

struct job {
	tide_event_slice s;
	const uint8_t *stop;
	enum job_state state;
	bool failed; /* out of memory */
	size_t by;   /* the decoder whose runs it refers to */
};

struct member {
	struct tide_parallel_decode *crew;
	tide_decoder d;
	uint32_t *stacks; /* per run: stack id + 1, 0 = not looked up yet; the loading thread's */
	pthread_t thread;
	bool started;
};

struct tide_parallel_decode {
	tide_snap_reader *r;
	tide_pickle *p; /* used by the loading thread only; freed first if the pickle is invalid */
	const uint8_t *data; /* the input, which all threads read */
	size_t n;
	uint32_t gen;	/* of the memo: if it changes, entries were replaced and slices are
			 * invalid */
	size_t scanned; /* memo entries searched for keywords */
	unsigned same[2];
	bool over;
	struct member members[MOST_THREADS]; /* 0: the loading thread */
	size_t n_members;

	/* protects the fields below; a busy job belongs to its thread, a done one to the loader */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	tide_view view;
	const uint8_t *next; /* start of the next slice; NULL = none */
	struct job jobs[MOST_JOBS];
	size_t n_jobs;
	uint64_t front, head; /* slices [front, head) are taken and not appended yet */
};
typedef struct tide_parallel_decode crew;

/* ---- slices ---- */

/* Returns the frame after the one at `at`; NULL if there is none. */
static const uint8_t *hop(const crew *c, const uint8_t *at)
{
	const uint8_t *end = c->data + c->n;
	uint64_t left = (uint64_t)(end - at), n;
	if (left < FRAME_HEAD)
		return NULL;
	memcpy(&n, at + 1, sizeof n);
	if (n >= left - FRAME_HEAD)
		return NULL;
	at += FRAME_HEAD + n;
	return *at == FRAME ? at : NULL;
}

/* Takes the next slice; NULL if there is none or enough are waiting. */
static struct job *take(crew *c, size_t by)
{
	if (!c->next || c->head - c->front == c->n_jobs)
		return NULL;
	struct job *j = &c->jobs[c->head++ % c->n_jobs];
	const uint8_t *at = c->next;
	j->s.from = at;
	while (at && (size_t)(at - j->s.from) < c->r->stretch)
		at = hop(c, at);
	c->next = at;
	j->stop = at ? at : c->data + c->n;
	j->by = by;
	j->state = JOB_BUSY;
	return j;
}

/* Takes a slice and decodes it; returns false if there is none. The lock is held on entry and
 * return, but not meanwhile. */
static bool work_once(crew *c, struct member *m)
{
	struct job *j = take(c, (size_t)(m - c->members));
	if (!j)
		return false;
	if (m->d.view.version != c->view.version)
		m->d.view = c->view;
	pthread_mutex_unlock(&c->lock);
	j->failed = !tide__event_slice_read(&m->d, &j->s, j->stop);
	pthread_mutex_lock(&c->lock);
	j->state = JOB_DONE;
	pthread_cond_broadcast(&c->changed);
	return true;
}

static void *work(void *arg)
{
	struct member *m = arg;
	crew *c = m->crew;
	pthread_mutex_lock(&c->lock);
	while (!c->stop)
		if (!work_once(c, m))
			pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- the decoder's state ---- */

/* Returns the list of events being built and its mark; NONE if there is none. */
static tide_pv list_of(const tide_pickle *p, size_t *mark)
{
	tide_pv first;
	size_t n;
	uint32_t id;
	*mark = p->n_marks ? p->marks[p->n_marks - 1] : 0;
	if (!*mark || tide__pv_tag(p->stack[*mark - 1]) != TIDE_PV_LIST)
		return TIDE_PV_NONE;
	tide_pv list = p->stack[*mark - 1];
	bool range = tide__pickle_range(p, list, &first, &n);
	if (!range && p->sp - *mark < 64) /* it will become a range: see containers.c */
		return TIDE_PV_NONE;
	if (range && !tide__pv_is(first, MADE_EVENT, &id))
		return TIDE_PV_NONE;
	return p->sp == *mark || tide__pv_is(p->stack[p->sp - 1], MADE_EVENT, &id) ? list
										   : TIDE_PV_NONE;
}

/* Collects words among the memo entries added since the last call. */
static void look_at_memo(crew *c)
{
	const tide_pickle *p = c->p;
	tide_view *v = &c->view;
	size_t had = v->n_words, streams = c->r->s->streams.n;
	for (size_t i = c->scanned; i < p->top_memo && i < UINT32_MAX; i++) {
		uint32_t x = p->memo[i];
		int same = x == (uint32_t)tide__pv(TIDE_PV_KEY, K_no_context) ? 0
			   : x == (uint32_t)tide__pv(TIDE_PV_PAIR, 0)	      ? 1
									      : -1;
		if (same >= 0 ? c->same[same]++ < SAME_WORD : (x & 15) == TIDE_PV_KEY)
			(void)tide__view_add(v, (uint32_t)i, x);
		else if (c->r->empty && tide__pickle_memo_get(p, i) == c->r->empty)
			(void)tide__view_add(v, (uint32_t)i, (uint32_t)tide__pv(TIDE_PV_TEXT, 0));
	}
	c->scanned = p->top_memo;
	if (streams > TIDE_VIEW_STREAMS)
		streams = TIDE_VIEW_STREAMS;
	if (v->n_words == had && v->n_streams == streams && v->version)
		return;
	memcpy(v->streams, c->r->s->streams.v, streams * sizeof *v->streams);
	v->n_streams = streams;
	v->version++;
}

/* ---- appending slices ---- */

/* Gets the stack of a run of a thread's decoder, 0 = none; returns false if it is not a stack. */
static bool stack_of(crew *c, struct member *m, uint32_t run, uint32_t *stack)
{
	*stack = 0;
	if (!run)
		return true;
	if (!m->stacks[run - 1]) {
		const tide_event_slice_run *r = &m->d.runs[run - 1];
		const uint8_t *at = c->p->data + r->off;
		tide_pv made = tide__pickle_run_made(c->p, at, at + r->len - 1);
		uint32_t id;
		if (!tide__pv_is(made, MADE_STACK, &id) || id == UINT32_MAX)
			return false;
		m->stacks[run - 1] = id + 1;
	}
	*stack = m->stacks[run - 1] - 1;
	return true;
}

/* Gets the stack of an event whose dict is memo entry `own`. */
static bool event_stack(crew *c, struct member *m, size_t own, uint32_t *stack)
{
	uint32_t at = *stack & ~(uint32_t)TIDE_STRETCH_MEMO;
	if (!(*stack & (uint32_t)TIDE_STRETCH_MEMO))
		return stack_of(c, m, at, stack);
	if (at >= own)
		return false;
	if (at >= c->p->top_memo) { /* an entry of this slice: already resolved */
		uint32_t x = c->p->memo[at];
		*stack = x >> 4;
		return (x & 15) == PACK_MADE + MADE_STACK - 1;
	}
	return tide__snap_stack(tide__pickle_settle(c->p, tide__pickle_memo_get(c->p, at)), stack);
}

/* Reserves space for the entries of a slice, with numbers that can be packed. */
static bool room(crew *c, const tide_event_slice *s)
{
	tide_snap *snap = c->r->s;
	tide_pickle *p = c->p;
	size_t n = snap->events.n + s->n, top = p->top_memo + s->n_memo;
	if (p->n_memo != p->top_memo || n >= 1u << 28 || top >= p->n ||
	    c->r->m->stacks.n >= 1u << 28)
		return false;
	if (top > p->cap_memo && !tide__pickle_memo_reserve(p, top + top / 2))
		return false;
	while (n > snap->events.cap)
		if (!tide__pickle_room(&snap->events.v, &snap->events.cap, snap->events.cap,
				       sizeof *snap->events.v))
			return tide__snap_nomem(c->r), false;
	return true;
}

/* Copies memo entries and events of a slice behind the existing ones; they do not count yet. */
static bool copy(crew *c, struct member *m, const tide_event_slice *s)
{
	enum { STACK = PACK_MADE + MADE_STACK - 1, EVENT = PACK_MADE + MADE_EVENT - 1 };
	tide_pickle *p = c->p;
	uint32_t first = (uint32_t)c->r->s->events.n, stack;
	tide_snap_event *events = c->r->s->events.v + first;
	size_t base = p->top_memo, n = 0;
	for (size_t i = 0; i < s->n_memo; i++) {
		uint32_t x = s->memo[i];
		if ((x & 15) == EVENT) {
			events[n] = s->events[n];
			if (!event_stack(c, m, base + i, &events[n].stack))
				return false;
			x += first << 4;
			n++;
		} else if ((x & 15) == STACK) {
			if (!stack_of(c, m, x >> 4, &stack))
				return false;
			x = stack << 4 | STACK;
		}
		p->memo[base + i] = x;
	}
	return n == s->n;
}

/* Appends events of a slice, starting with `first`: those before its last APPENDS go into the
 * list together with the waiting ones, the others wait on the stack. */
static bool enlist(tide_pickle *p, tide_pv list, size_t mark, const tide_event_slice *s,
		   tide_pv first)
{
	if (s->appends) {
		if (!tide__pickle_append(p, list, p->stack + mark, p->sp - mark, s->from) ||
		    !tide__pickle_append_row(p, list, first, s->appended, s->from))
			return false;
		p->sp = mark;
	}
	for (size_t i = s->appended; i < s->n; i++) {
		if (!tide__pickle_grow(p, &p->stack, &p->cap, p->sp, sizeof *p->stack))
			return false;
		p->stack[p->sp++] = first + ((uint64_t)i << 4);
	}
	return true;
}

/* Appends a done slice that begins where the decoder is. Returns false with nothing changed. */
static bool put_in_place(crew *c, struct job *j)
{
	tide_pickle *p = c->p;
	const tide_event_slice *s = &j->s;
	size_t mark;
	tide_pv list = list_of(p, &mark);
	if (j->failed)
		return tide__snap_nomem(c->r), false;
	if (!list || s->to == s->from || !room(c, s) || !copy(c, &c->members[j->by], s))
		return false;
	uint32_t first = (uint32_t)c->r->s->events.n;
	c->r->s->events.n += s->n;
	p->top_memo += s->n_memo;
	p->n_memo += s->n_memo;
	c->scanned = p->top_memo; /* it adds no keywords */
	return enlist(p, list, mark, s, tide__pv_made(MADE_EVENT, first));
}

/* Returns the done slice that begins at `op`; NULL if there is none. The lock is held. */
static struct job *arrive(crew *c, const uint8_t *op)
{
	for (;;) {
		struct job *j = &c->jobs[c->front % c->n_jobs];
		if (c->front == c->head) {
			while (c->next && c->next < op)
				c->next = hop(c, c->next);
			if (c->next != op || !work_once(c, &c->members[0]))
				return NULL;
		} else if (j->s.from > op) {
			return NULL;
		} else if (j->state == JOB_BUSY) {
			if (!work_once(c, &c->members[0]))
				pthread_cond_wait(&c->changed, &c->lock);
		} else if (j->s.from < op) {
			j->state = JOB_FREE; /* skipped: it did not begin with an opcode */
			c->front++;
		} else {
			return j;
		}
	}
}

/* ---- threads ---- */

static bool member_init(crew *c, struct member *m)
{
	m->crew = c;
	m->stacks = tide__calloc(TIDE_RUNS, sizeof *m->stacks);
	return m->stacks && tide__decoder_init(&m->d, c->p->data, c->p->n);
}

/* Returns the number of cores, limited by the work in the input, because each thread costs memory.
 * */
static size_t thread_count(const tide_snap_reader *r, size_t left)
{
	enum { STRETCHES_EACH = 8 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = r->opt && r->opt->threads ? r->opt->threads : cores > 0 ? (size_t)cores : 1;
	size_t most = 1 + left / STRETCHES_EACH / r->stretch;
	n = n < most ? n : most;
	return n < MOST_THREADS ? n : MOST_THREADS;
}

/* Starts threads at `op`, possibly fewer than requested; NULL: none. */
static crew *begin(tide_snap_reader *r, tide_pickle *p, const uint8_t *op)
{
	crew *c = tide__calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->r = r;
	c->p = p;
	c->data = p->data;
	c->n = p->n;
	c->gen = p->gen;
	c->next = op;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	memcpy(c->view.shape, r->shape, sizeof r->shape);
	c->view.n_shape = r->n_shape;
	look_at_memo(c);
	size_t wish = thread_count(r, (size_t)(p->data + p->n - op));
	c->n_jobs = JOBS_EACH * wish;
	r->crew = c;
	while (c->n_members < wish && member_init(c, &c->members[c->n_members]))
		c->n_members++;
	for (size_t i = 1; i < c->n_members; i++)
		c->members[i].started =
			!pthread_create(&c->members[i].thread, NULL, work, &c->members[i]);
	if (!c->n_members) {
		tide__parallel_decode_end(r);
		return NULL;
	}
	return c;
}

static void stop(crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 1; i < MOST_THREADS; i++)
		if (c->members[i].started)
			pthread_join(c->members[i].thread, NULL);
	for (size_t i = 0; i < MOST_THREADS; i++) {
		c->members[i].started = false;
		tide__decoder_free(&c->members[i].d);
		tide__free(c->members[i].stacks);
		c->members[i].stacks = NULL;
	}
	for (size_t i = 0; i < MOST_JOBS; i++)
		tide__event_slice_free(&c->jobs[i].s);
	c->over = true;
}

void tide__parallel_decode_end(tide_snap_reader *r)
{
	crew *c = r->crew;
	if (!c)
		return;
	stop(c);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	tide__free(c);
	r->crew = NULL;
}

/* Returns true if the rest of the input is large enough for threads. */
static bool wanted(const tide_snap_reader *r, const tide_pickle *p, const uint8_t *op)
{
	size_t left = (size_t)(p->data + p->n - op), mark;
	return !r->no_crew && r->stretch && left / 4 >= r->stretch && r->n_shape &&
	       r->shape_gen == p->gen && list_of(p, &mark);
}

const uint8_t *tide__parallel_decode_frame(void *user, tide_pickle *p, const uint8_t *op)
{
	tide_snap_reader *r = user;
	const uint8_t *at = op;
	size_t mark;
	if (!r->crew && wanted(r, p, op))
		r->no_crew = !begin(r, p, op);
	crew *c = r->crew;
	if (c && !c->over && c->gen != p->gen)
		stop(c);
	if (!c || c->over || !list_of(p, &mark))
		return NULL;
	pthread_mutex_lock(&c->lock);
	look_at_memo(c);
	for (;;) {
		struct job *j = arrive(c, at);
		if (!j)
			break;
		pthread_mutex_unlock(&c->lock);
		bool ok = put_in_place(c, j), whole = j->s.to == j->stop;
		if (ok)
			at = j->s.to;
		if (ok && r->client.progress)
			r->client.progress(r, (uint64_t)(at - p->data));
		pthread_mutex_lock(&c->lock);
		j->state = JOB_FREE;
		c->front++;
		pthread_cond_broadcast(&c->changed);
		if (!ok || !whole)
			break;
	}
	pthread_mutex_unlock(&c->lock);
	return at > op && !p->rc ? at : NULL;
}
