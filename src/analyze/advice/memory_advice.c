// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Advice, one function per kind; each checks its own condition and adds at most one line. */
#include "analyze/advice/memory_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/size_text.h"
#include "analyze/allocator/allocator_state.h"
#include "analyze/memory/roles.h"
#include "analyze/memory/stale.h"
#include "analyze/live/usage.h"
#include "analyze/advice/time_advice.h"
#include "base/error.h"
#include "base/mem.h"

#define MIB   (1024.0 * 1024.0)
#define LEAST (16ull << 20) /* bytes below which no advice is given */

struct evidence {
	const tide_model *m;
	uint32_t device;
	const tide_requests *q;
	const tide_sweep *sweep;
	tide_usage usage;
	tide_live_set alive; /* at the peak */
	tide_state peak;     /* the allocator at the peak */
	tide_roles roles;
	tide_memory_advices *out;
};

__attribute__((format(printf, 4, 5))) static void say(struct evidence *e, const char *kind,
						      uint64_t bytes, const char *fmt, ...)
{
	va_list ap;

	if (e->out->n == TIDE_MEMADVICE_MAX)
		return;
	tide_memory_advice *a = &e->out->v[e->out->n++];

	a->kind = kind;
	a->severity = TIDE_ADVICE_INFO;
	a->bytes = bytes;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof a->text, fmt, ap);
	va_end(ap);
}

/* Raises the severity of the last advice. */
static void raise_to(struct evidence *e, unsigned severity)
{
	if (e->out->n)
		e->out->v[e->out->n - 1].severity = severity;
}

/* ---- settings ---- */

/* Returns the baseline for other settings: the recorded ones, with older blocks placed in the same
 * way. */
static const tide_sim_result *baseline(const struct evidence *e)
{
	for (size_t i = 0; i < e->sweep->n; i++)
		if (e->sweep->v[i].same_settings && (!e->q->n_before || e->sweep->v[i].anew))
			return &e->sweep->v[i];
	return NULL;
}

/* Returns true if the simulator under the recorded settings reserves the recorded bytes within 10
 * %. If not (the trace contradicts itself, or lacks much), its results for other settings are not
 * used as evidence. */
static bool like_recorded(const struct evidence *e, const tide_sim_result *base)
{
	uint64_t was = e->usage.devices[e->device].reserved_peak, is = base->st.reserved_peak;

	return was == TIDE_RESERVED_NONE || !was || (is >= was - was / 10 && is <= was + was / 10);
}

static void advise_setting(struct evidence *e)
{
	char text[300];
	const tide_sim_result *base = e->sweep ? baseline(e) : NULL;

	if (!base || !e->sweep->n || base->out || !like_recorded(e, base))
		return;
	const tide_sim_result *best = &e->sweep->v[0];
	uint64_t saved = base->st.reserved_peak > best->st.reserved_peak
				 ? base->st.reserved_peak - best->st.reserved_peak
				 : 0;

	if (best->same_settings || best->out || saved < LEAST ||
	    saved < base->st.reserved_peak / 100)
		return;
	tide__sim_describe(&best->config, text, sizeof text);
	say(e, "setting", saved,
	    "PYTORCH_CUDA_ALLOC_CONF=%s would have reserved %s at the highest instead of %s "
	    "(replayed in a simulator%s)",
	    text, tide__size_text((double)best->st.reserved_peak).text,
	    tide__size_text((double)base->st.reserved_peak).text,
	    e->sweep->recorded_known && !e->sweep->recorded.diverged && e->q && e->q->n_taken
		    ? " that reproduces the recorded segments"
		    : "");
}

static void advise_retries(struct evidence *e)
{
	if (!e->sweep || !e->sweep->recorded_known || e->sweep->recorded.diverged ||
	    !e->sweep->recorded.st.retries)
		return;
	say(e, "retries", e->sweep->recorded.st.reserved_peak,
	    "%llu %s refused by the device until the cache was released; each release waits for "
	    "all streams: leave more memory free, or reserve less",
	    (unsigned long long)e->sweep->recorded.st.retries,
	    e->sweep->recorded.st.retries == 1 ? "request was" : "requests were");
}

static void advise_empty_cache(struct evidence *e)
{
	if (!e->q || e->q->n_empty < 3)
		return;
	say(e, "empty_cache", 0,
	    "the cache was emptied %zu times: each released segment is taken again with a "
	    "synchronizing call; empty it only if another program needs the memory",
	    e->q->n_empty);
}

/* ---- the peak ---- */

static uint64_t role_bytes(const struct evidence *e, uint8_t role, size_t *count)
{
	uint64_t sum = 0;

	*count = 0;
	for (size_t i = 0; i < e->alive.n; i++)
		if (e->roles.role[e->alive.rows[i]] == role) {
			sum += e->m->allocs.size[e->alive.rows[i]];
			++*count;
		}
	return sum;
}

static const struct {
	uint8_t role;
	const char *kind, *what, *text;
} role_advice[] = {
	{ TIDE_ROLE_ACTIVATION, "activations", "activations",
	  "keep fewer for the backward pass: recompute parts of the forward pass (checkpointing), "
	  "smaller "
	  "batches, or offloading" },
	{ TIDE_ROLE_OPTIMIZER, "optimizer", "optimizer state",
	  "optimizer state can be sharded over ranks, kept in fewer bits, or offloaded" },
	{ TIDE_ROLE_GRADIENT, "gradients", "gradients",
	  "gradients can be sharded, or freed as they are applied (an optimizer step in the "
	  "backward pass)" },
};

/* Returns the live bytes at the peak; memory that only a stream still uses does not count. */
static uint64_t peak_of(const struct evidence *e)
{
	return e->device < e->usage.n_devices ? e->usage.devices[e->device].peak : 0;
}

static void advise_roles(struct evidence *e)
{
	uint64_t peak = peak_of(e);

	for (size_t i = 0; i < sizeof role_advice / sizeof *role_advice; i++) {
		size_t n;
		uint64_t bytes = role_bytes(e, role_advice[i].role, &n);

		if (bytes < LEAST || bytes < peak * 3 / 10)
			continue;
		say(e, role_advice[i].kind, bytes,
		    "%zu allocations that hold %s are %s of the %s at the peak (%.0f %%): %s", n,
		    role_advice[i].what, tide__size_text((double)bytes).text,
		    tide__size_text((double)peak).text, 100.0 * (double)bytes / (double)peak,
		    role_advice[i].text);
	}
}

static void advise_waste(struct evidence *e)
{
	const tide_state_totals *t = &e->peak.total;

	if (t->waste >= LEAST && t->waste >= t->active * 3 / 100)
		say(e, "waste", t->waste,
		    "blocks are %s larger than requested at the peak (%.1f %%): rounding, and "
		    "remainders too small to split off",
		    tide__size_text((double)t->waste).text,
		    100.0 * (double)t->waste / (double)t->active);
	if (e->peak.known && t->inactive_split >= LEAST && t->inactive_split >= t->reserved / 10)
		say(e, "fragmentation", t->inactive_split,
		    "%s of the %s reserved (%.0f %%) are free between blocks in use at the peak, "
		    "the largest block %s: they serve no larger request and cannot be released",
		    tide__size_text((double)t->inactive_split).text,
		    tide__size_text((double)t->reserved).text,
		    100.0 * (double)t->inactive_split / (double)t->reserved,
		    tide__size_text((double)t->largest_free).text);
}

/* ---- room on the device ---- */

/* Warns if a device's memory is nearly full: a longer sequence or more fragmentation would end the
 * run. */
static void advise_capacity(struct evidence *e)
{
	uint64_t whole = e->device < e->m->devices.n ? e->m->devices.capacity[e->device] : 0;
	uint64_t reserved = e->usage.devices[e->device].reserved_peak, peak = peak_of(e);
	bool known = reserved != TIDE_RESERVED_NONE && reserved > peak;
	uint64_t most = known ? reserved : peak;

	if (!whole || most <= whole - whole / 5)
		return;
	say(e, "capacity", most,
	    "%s of the device's %s (%.0f %%) were %s at the peak: %s are left for a longer "
	    "sequence, a larger batch or fragmentation",
	    tide__size_text((double)most).text, tide__size_text((double)whole).text,
	    100.0 * (double)most / (double)whole, known ? "reserved" : "allocated",
	    tide__size_text(most < whole ? (double)(whole - most) : 0).text);
	raise_to(e, most > whole - whole / 20 ? TIDE_ADVICE_HIGH : TIDE_ADVICE_MEDIUM);
}

/* ---- growth ---- */

static tide_code advise_leaks(struct evidence *e, tide_error *err)
{
	tide_leaks l;
	tide_group_by by = tide__group_by_best(e->m);
	const char *what = by == TIDE_BY_STACK ? "call stack" : by == TIDE_BY_OP ? "op" : "group";
	tide_code rc = tide__find_leaks(e->m, e->device, by, 0, &l, err);
	bool grows = rc == TIDE_OK && l.known && l.n && l.total.growing;
	uint64_t more = grows && l.total.last > l.total.first ? l.total.last - l.total.first : 0;

	if (more >= MIB && (l.total.slope >= MIB || more >= peak_of(e) / 10))
		say(e, "growth", more,
		    "memory grows by %s per step over %zu steps; %zu %s%s throughout: see "
		    "`tidemark leaks`",
		    tide__size_text(l.total.slope).text, l.steps.n, l.n, what,
		    l.n == 1 ? " grows" : "s grow");
	if (more >= MIB && more >= peak_of(e) / 10)
		raise_to(e, more >= peak_of(e) / 2 ? TIDE_ADVICE_HIGH : TIDE_ADVICE_MEDIUM);
	tide__leaks_free(&l);
	return rc;
}

/* ---- last use ---- */

static tide_code advise_stale(struct evidence *e, tide_error *err)
{
	tide_stale s;
	uint64_t peak = peak_of(e);
	if (!e->m->uses.n)
		return TIDE_OK;
	tide_code rc = tide__stale_find(e->m, e->device, -1, TIDE_NAMES_FOLDED, &s, err);
	if (rc == TIDE_OK && s.known && s.stale.saving >= LEAST && s.stale.saving >= peak / 20)
		say(e, "stale", s.stale.saving,
		    "%s at the peak are never used again: freed after their last use, they would "
		    "lower it by %s of %s: see `tidemark stale`",
		    tide__size_text((double)s.stale.bytes).text,
		    tide__size_text((double)s.stale.saving).text,
		    tide__size_text((double)peak).text);
	tide__stale_free(&s);
	return rc;
}

/* Raises advice on more than 20 % of the peak to at least medium, in every report. */
static void raise_by_bytes(struct evidence *e)
{
	uint64_t peak = peak_of(e);

	for (size_t i = 0; i < e->out->n; i++)
		if (e->out->v[i].bytes > peak / 5 && e->out->v[i].severity < TIDE_ADVICE_MEDIUM)
			e->out->v[i].severity = TIDE_ADVICE_MEDIUM;
}

static int by_bytes(const void *a, const void *b)
{
	const tide_memory_advice *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static tide_code gather(struct evidence *e, tide_error *err)
{
	tide_code rc = tide__find_usage(e->m, UINT64_MAX, 0, &e->usage, err);
	uint64_t position = 0;

	if (rc == TIDE_OK) {
		position = e->device < e->usage.n_devices
				   ? e->usage.devices[e->device].peak_position
				   : 0;
		rc = tide__live_set_at(e->m, position, e->device, TIDE_ANY, &e->alive, err);
	}
	if (rc == TIDE_OK)
		rc = tide__state_find_at(e->m, position, e->device, &e->peak, err);
	if (rc == TIDE_OK && tide__find_roles(e->m, &e->roles) != TIDE_OK)
		rc = tide__nomem(err);
	return rc;
}

tide_code tide__find_memory_advice(const tide_model *m, uint32_t device, const tide_requests *q,
				   const tide_sweep *sweep, tide_memory_advices *out,
				   tide_error *err)
{
	struct evidence e = { .m = m, .device = device, .q = q, .sweep = sweep, .out = out };

	memset(out, 0, sizeof *out);
	tide_code rc = gather(&e, err);

	if (rc == TIDE_OK) {
		advise_setting(&e);
		advise_retries(&e);
		advise_empty_cache(&e);
		advise_roles(&e);
		advise_waste(&e);
		advise_capacity(&e);
		rc = advise_leaks(&e, err);
		if (rc == TIDE_OK)
			rc = advise_stale(&e, err);
		raise_by_bytes(&e);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_bytes);
	tide__usage_free(&e.usage);
	tide__live_set_free(&e.alive);
	tide__state_free(&e.peak);
	tide__roles_free(&e.roles);
	return rc;
}

tide_code tide__find_full_device(const tide_model *m, uint32_t device, tide_memory_advices *out,
				 tide_error *err)
{
	tide_requests *q = NULL;
	tide_sweep sweep = { 0 };
	tide_code rc = tide__requests_new(m, (tide_device_id){ device }, &q, err);

	if (rc == TIDE_OK && m->devices.kind[device] != TIDE_DEVICE_CUDA && !q->reserved_max) {
		tide__requests_free(q); /* no caching allocator is recorded */
		q = NULL;
	}
	if (q)
		rc = tide__sim_sweep_standard(q, &sweep, err);
	if (rc == TIDE_OK || rc == TIDE_ENOTFOUND || rc == TIDE_ELIMIT)
		rc = tide__find_memory_advice(m, device, q, q ? &sweep : NULL, out, err);
	tide__sweep_free(&sweep);
	tide__requests_free(q);
	return rc;
}
