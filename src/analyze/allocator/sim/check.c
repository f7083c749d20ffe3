// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replays a recording under its own settings against a device that returns the recorded results,
 * and finds the first difference.
 *
 * A trace shows which segments were released, not why: the device refused a request and the cache
 * was released, or the program emptied the cache; frees that waited for a stream completed before
 * that or because of it. If the trace is ambiguous, each case is tried on a copy of the simulator,
 * and the first one that matches the recording is taken. */
#include "analyze/allocator/sim/replay.h"

#include <string.h>

#include "analyze/allocator/sim/serve.h"
#include "base/mem.h"

/* ---- a device that returns the recorded results ---------------------------------------------- */

struct moved { /* an address range created before the recording showed its position */
	uint64_t addr, size, to; /* to: its real address, 0 = not known yet */
};

enum { MOVED = 32 };

struct script {
	tide_requests *q;
	struct moved moved[MOVED];
	size_t n_moved;
	size_t at;  /* next recorded event */
	size_t now; /* the request being served */
	size_t run; /* end of the last run of frees that was examined */
	uint64_t next;
	uint64_t copies, copied; /* copies made so far, and their bytes */
	tide_sim_result *out;
};

/* Keeps the first difference. */
static void differ(struct script *d, tide_sim_differs what, uint64_t size, uint64_t addr,
		   uint64_t recorded)
{
	tide_sim_result *r = d->out;

	if (r->diverged)
		return;
	r->diverged = true;
	r->diverged_req = d->now;
	r->difference.what = what;
	r->difference.size = size;
	r->difference.addr = addr;
	r->difference.recorded = recorded;
}

static const tide_taken *upcoming(const struct script *d)
{
	const tide_requests *q = d->q;

	return d->at < q->n_taken && q->taken[d->at].req == d->now ? &q->taken[d->at] : NULL;
}

static uint64_t invent_script(struct script *d, uint64_t size)
{
	uint64_t a = d->next;

	d->next += (size + TIDE_SIM_LARGE_ROUND - 1) / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
	return a;
}

static bool refused(const struct script *d, const tide_taken *t)
{
	if (t)
		return t->freed; /* a segment had to be released first */
	return d->now < d->q->n && d->q->r[d->now].kind == TIDE_REQ_OOM;
}

static uint64_t script_take(void *user, tide_sim_where where, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);

	if (refused(d, t))
		return 0;
	if (!t || t->size != size || t->stream != where.stream || t->pool != where.pool) {
		if (!t)
			differ(d, TIDE_SIM_TAKES_EXTRA, size, 0, 0);
		else if (t->size != size)
			differ(d, TIDE_SIM_TAKES_SIZE, size, 0, t->size);
		else
			differ(d, TIDE_SIM_TAKES_PLACE, size, 0, 0);
		return invent_script(d, size);
	}
	d->at++;
	d->out->checked++;
	return t->addr;
}

static uint64_t script_range(void *user, tide_sim_where where, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);

	for (size_t i = d->at; t && i < d->q->n_taken && d->q->taken[i].req == d->now; i++)
		if (!d->q->taken[i].freed)
			return d->q->taken[i].addr; /* memory is first mapped at its beginning */
	uint64_t addr = invent_script(d, size);

	if (d->n_moved < MOVED) /* nothing was mapped for this request: it failed */
		d->moved[d->n_moved++] = (struct moved){ addr, size, 0 };
	return addr;
}

/* Returns the recorded address for an address of the simulator. `seen`: the part mapped now, at
 * first the beginning of a range. */
static uint64_t real_addr(struct script *d, uint64_t addr, const tide_taken *seen)
{
	for (size_t i = 0; i < d->n_moved; i++) {
		struct moved *r = &d->moved[i];

		if (addr < r->addr || addr - r->addr >= r->size)
			continue;
		if (!r->to && seen && addr == r->addr)
			r->to = seen->addr;
		return r->to ? addr - r->addr + r->to : addr;
	}
	return addr;
}

static bool script_map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);
	uint64_t done = 0;

	if (refused(d, t))
		return false;
	addr = real_addr(d, addr, t);
	for (; done < size && (t = upcoming(d)) && !t->freed && t->addr == addr + done; d->at++) {
		done += t->size;
		d->out->checked++;
	}
	if (done != size)
		differ(d, TIDE_SIM_MAPS, size, addr, done);
	return true;
}

static void script_give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t;
	uint64_t done = 0;

	addr = real_addr(d, addr, NULL);
	for (; done < size && (t = upcoming(d)) && t->freed && t->addr == addr + done; d->at++) {
		done += t->size;
		d->out->checked++;
	}
	if (done != size)
		differ(d, TIDE_SIM_RELEASES, size, addr, done);
}

/* ---- cases ----------------------------------------------------------------------------- */

enum story {
	PLAIN,	   /* nothing was released for it */
	REFUSED,   /* the device refused; frees before it were complete */
	AWAITED,   /* the device refused, and the release waited for those frees */
	EMPTIED,   /* the program emptied the cache first */
	COLLECTED, /* segments were released one by one, for an unknown reason */
	STORIES
};

enum { COLLECT = 1000 }; /* segments followed for one request, at most */
enum { COPIES = 2000 };	 /* copies made in one check, at most */
#define COPY_BYTES (8ull << 30)

/* Returns whether the device could have served a request: it has served that many bytes at another
 * time. */
static bool device_had(tide_sim *s, const tide_requests *q, const tide_request *r)
{
	uint64_t limit = q->limit ? q->limit : q->reserved_max;
	uint64_t bytes = tide__sim_segment(&q->recorded, tide__sim_round(&q->recorded, r->size));

	return tide__sim_stats(s)->reserved + bytes <= limit;
}

static bool note_empty(tide_requests *q, size_t *cap, size_t at)
{
	if (!TIDE_ROOM(q->empty, *cap, q->n_empty + 1))
		return false;
	q->empty[q->n_empty++] = (uint32_t)at;
	return true;
}

/* Checks that the block is at its recorded address. */
static void check_place(tide_sim *s, struct script *d)
{
	uint64_t addr, size, want = d->now < d->q->n ? d->q->addr[d->now] : 0;

	if (!want || !tide__sim_block(s, d->q->r[d->now].id, &addr, &size))
		return;
	addr = real_addr(d, addr, NULL);
	if (addr != want)
		differ(d, TIDE_SIM_PUTS, size, addr, want);
}

/* Releases the segments that the recording released here, which the simulator did not predict. */
static void collect(tide_sim *s, struct script *d)
{
	const tide_requests *q = d->q;
	uint64_t addr[COLLECT];
	size_t n = 0;

	for (size_t i = d->at; n < COLLECT && i < q->n_taken && q->taken[i].req == d->now; i++) {
		if (!q->taken[i].freed)
			break;
		addr[n++] = q->taken[i].addr;
	}
	n = tide__sim_release_listed(s, addr, n);
	d->out->checked -= n;
	d->out->followed += n;
}

/* Runs requests i .. j. All but the last are frees that waited for a stream. */
static tide_code tell(tide_sim *s, struct script *d, size_t i, size_t j, enum story story)
{
	const tide_requests *q = d->q;
	const tide_taken *t;
	tide_code rc = TIDE_OK;

	d->now = j;
	for (size_t k = i; story != AWAITED && k < j; k++)
		tide__sim_free(s, q->r[k].id);
	if (story == EMPTIED)
		rc = tide__sim_empty_cache(s);
	if (story == COLLECTED)
		collect(s, d);
	if (j < q->n && rc == TIDE_OK)
		rc = tide__sim_serve(s, q, &q->r[j], d->out);
	if (rc == TIDE_ELIMIT) {
		differ(d, TIDE_SIM_RUNS_OUT, 0, 0, 0);
		rc = TIDE_OK;
	}
	if (!d->out->diverged)
		check_place(s, d);
	for (size_t k = i; story == AWAITED && k < j; k++) /* those that no release waited for */
		tide__sim_free(s, q->r[k].id);
	if ((t = upcoming(d)))
		differ(d, t->freed ? TIDE_SIM_DOES_NOT_RELEASE : TIDE_SIM_DOES_NOT_TAKE, t->size,
		       t->addr, 0);
	while (upcoming(d))
		d->at++;
	return rc;
}

/* Returns true if a copy matches the recording. */
static bool goes(const tide_sim *s, const struct script *d, size_t i, size_t j, enum story story)
{
	struct script copy = *d;
	tide_sim_result scratch = *d->out;
	tide_sim_device dev = { &copy, script_take, script_range, script_map, script_give };
	tide_sim *c = tide__sim_copy(s, &dev);

	copy.out = &scratch;
	bool ok = c && tell(c, &copy, i, j, story) == TIDE_OK && !scratch.diverged;

	tide__sim_free_all(c);
	return ok;
}

/* Chooses the case for request j: the most likely one that matches the recording, else the most
 * likely. */
static enum story choose(tide_sim *s, struct script *d, size_t i, size_t j)
{
	const tide_requests *q = d->q;
	static const enum story had[] = { EMPTIED, REFUSED, AWAITED, COLLECTED };
	static const enum story had_not[] = { REFUSED, AWAITED, EMPTIED, COLLECTED };
	const enum story *order;

	if (d->at == q->n_taken || q->taken[d->at].req != j || !q->taken[d->at].freed)
		return PLAIN;
	if (!tide__wants_memory(q, j))
		return EMPTIED;
	order = q->r[j].kind == TIDE_REQ_ALLOC && device_had(s, q, &q->r[j]) ? had : had_not;
	for (size_t k = 0; !d->out->diverged && k < 4; k++) {
		d->copied += tide__sim_bytes(s);
		if (++d->copies > COPIES || d->copied > COPY_BYTES)
			break;
		if (goes(s, d, i, j, order[k]))
			return order[k];
	}
	return order[0];
}

static bool waits_now(const tide_sim *s, const tide_requests *q, size_t i)
{
	return i < q->n && q->r[i].kind == TIDE_REQ_FREE && tide__sim_is_pending(s, q->r[i].id);
}

/* Returns where a run of frees that waited for a stream ends; i if there is none, or if no
 * release follows it. Inside a run whose end is known only its begin is examined: a release that
 * waits for frees waits for all of them, and none is requested inside a run of frees. */
static size_t run_end(const tide_sim *s, struct script *d, size_t i)
{
	const tide_requests *q = d->q;
	size_t j = i;

	if (waits_now(s, q, i) && i < d->run)
		j = d->run;
	while (waits_now(s, q, j))
		j++;
	d->run = j;
	return tide__wants_memory(q, j) && d->at < q->n_taken && q->taken[d->at].req == j ? j : i;
}

static tide_code check_all(tide_sim *s, struct script *d)
{
	tide_requests *q = d->q;
	size_t cap = 0, done = 0;

	for (size_t i = 0; i <= q->n; i++) {
		size_t j = run_end(s, d, i);
		tide_code rc = tide__sim_end_pools(s, q, j, &done);
		enum story story = choose(s, d, i, j);

		if (rc == TIDE_OK && story == EMPTIED && !note_empty(q, &cap, j))
			rc = TIDE_ENOMEM;
		if (rc == TIDE_OK)
			rc = tell(s, d, i, j, story);
		if (rc == TIDE_ENOMEM)
			return rc;
		i = j;
	}
	return TIDE_OK;
}

tide_code tide__sim_check(tide_requests *q, tide_sim_result *out)
{
	struct script script = { .q = q, .next = tide__sim_above(q), .out = out };
	tide_sim_device dev = { &script, script_take, script_range, script_map, script_give };
	tide_sim_config c = q->recorded;

	if (!c.capacity)
		c.capacity = q->limit; /* sizes address ranges; the script alone refuses */
	tide_sim *s = tide__sim_new(&c, &dev, q->n_ids);
	tide_code rc = s ? TIDE_OK : TIDE_ENOMEM;

	memset(out, 0, sizeof *out);
	out->config = c;
	tide__free(q->empty);
	q->empty = NULL;
	q->n_empty = 0;
	if (s)
		rc = tide__sim_seed_all(s, q, TIDE_BEFORE_KEEP);
	if (rc == TIDE_ELIMIT)
		rc = TIDE_OK;
	if (rc == TIDE_OK)
		rc = check_all(s, &script);
	if (s)
		tide__sim_finish(s, out);
	tide__sim_free_all(s);
	return rc;
}
