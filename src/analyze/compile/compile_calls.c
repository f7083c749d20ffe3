// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A compiled call is recorded as a range, so the phases analysis has its time and memory. This file
 * selects those ranges. */
#include "analyze/compile/compile_calls.h"
#include "analyze/common/statistics.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/memory/phases.h"
#include "base/error.h"
#include "base/mem.h"

static bool named(const tide_model *m, tide_str s, const char *name)
{
	return s.i && !strcmp(tide__text(m, s, NULL), name);
}

/* Returns the times at which the compiler ran, in order; NULL with *n 0 if it never ran or memory
 * runs out. */
static int64_t *compiler_runs(const tide_model *m, size_t *n)
{
	int64_t *t = NULL;
	size_t cap = 0;
	*n = 0;
	for (uint32_t s = 1; s < m->spans.n; s++) {
		if (!named(m, m->spans.name[s], TIDE_COMPILER_RAN))
			continue;
		if (!TIDE_ROOM(t, cap, *n + 1))
			break;
		t[(*n)++] = m->spans.t0[s];
	}
	return t;
}

/* Returns the main memory of an accelerator with the highest use, else of the host; SIZE_MAX =
 * none. */
static size_t main_scope(const tide_model *m, const tide_phases *p)
{
	size_t best = SIZE_MAX;
	uint64_t best_peak = 0;
	bool best_host = true;
	for (size_t s = 0; s < p->n_scopes && p->n; s++) {
		uint64_t peak = p->levels[(p->n - 1) * p->n_scopes + s].peak;
		bool host = m->devices.kind[p->scopes[s].device] == TIDE_DEVICE_HOST;
		if (p->scopes[s].kind != TIDE_SCOPE_MAIN || !peak)
			continue;
		if (best == SIZE_MAX || (best_host && !host) ||
		    (best_host == host && peak > best_peak)) {
			best = s;
			best_peak = peak;
			best_host = host;
		}
	}
	return best;
}

static int64_t median(int64_t *v, size_t n)
{
	return n ? tide__sorted_nth(v, n, (n - 1) / 2) : 0;
}

static tide_code count(const tide_model *m, const tide_phases *p, tide_compile_calls *out,
		       tide_error *err)
{
	size_t n_ran, ran = 0, n = 0, scope = main_scope(m, p);
	int64_t *runs = compiler_runs(m, &n_ran);
	int64_t *ns = tide__alloc(p->n + 1, sizeof *ns),
		*peak = tide__alloc(p->n + 1, sizeof *peak);
	bool first = true, ok = ns && peak;
	for (size_t i = 0; ok && i < p->n; i++) {
		const tide_phase *x = &p->phases[i];
		if (!named(m, x->name, TIDE_COMPILED_CALL))
			continue;
		while (ran < n_ran && runs[ran] < x->t0)
			ran++;
		bool compiled = ran < n_ran && runs[ran] <= x->t1;
		if (first || compiled) {
			out->left_out++;
			first = false;
			continue;
		}
		ns[n] = x->t1 - x->t0;
		peak[n] = scope == SIZE_MAX ? 0 : (int64_t)p->levels[i * p->n_scopes + scope].top;
		tide__stat_add(&out->ns, ns[n]);
		tide__stat_add(&out->peak, peak[n]);
		n++;
	}
	if (ok) {
		out->median_ns = median(ns, n);
		out->median_peak = median(peak, n);
		out->device = scope == SIZE_MAX ? 0 : p->scopes[scope].device;
	}
	tide__free(runs);
	tide__free(ns);
	tide__free(peak);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__find_compile_calls(const tide_model *m, tide_compile_calls *out, tide_error *err)
{
	tide_phases p = { 0 };
	*out = (tide_compile_calls){ 0 };
	tide_code rc = tide__phases_find_by_annotation(m, &p, err);
	if (rc == TIDE_OK)
		rc = count(m, &p, out, err);
	tide__phases_free(&p);
	return rc == TIDE_ENOTFOUND ? TIDE_OK : rc;
}
