// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the text of memory trackers, byte for byte: two DRAM lines and an L1 line per phase, in MB
 * of 2^20 bytes, for any memory (also a host's heap), so that programs that read their logs can
 * read ours. */
#include <stdio.h>
#include <string.h>

#include "analyze/live/live_set.h"
#include "render/report/memory/phases_tracker.h"
#include "render/text/format.h"
#include "render/text/labels.h"

struct text {
	const tide_model *m;
	const tide_phases *p;
	FILE *out;
	bool many;
	size_t first; /* phases before this one belong to earlier captures: they are joined to it */
};

static double mb(int64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static bool is_host(const tide_model *m, const tide_scope *s)
{
	return m->devices.kind[s->device] == TIDE_DEVICE_HOST;
}

/* Returns whether scope k represents its device: the main memory, else the L1. */
static bool is_device(const tide_phases *p, size_t k)
{
	const tide_scope *s = &p->scopes[k];
	if (s->kind != TIDE_SCOPE_MAIN && s->kind != TIDE_SCOPE_L1)
		return false;
	for (size_t i = 0; s->kind == TIDE_SCOPE_L1 && i < p->n_scopes; i++)
		if (p->scopes[i].kind == TIDE_SCOPE_MAIN && p->scopes[i].device == s->device)
			return false;
	return true;
}

/* Selects accelerators if there are any, else the host; only `device` if given. */
static bool is_shown(const tide_model *m, const tide_phases *p, uint32_t device, size_t k)
{
	const tide_scope *s = &p->scopes[k];
	bool accelerated = false;
	if (!is_device(p, k) || (device != TIDE_ANY && s->device != device))
		return false;
	for (size_t i = 0; i < p->n_scopes; i++)
		accelerated |= is_device(p, i) && !is_host(m, &p->scopes[i]);
	return device != TIDE_ANY || !accelerated || !is_host(m, s);
}

static const char *prefix(const struct text *t, const tide_scope *s, char *buf, size_t n)
{
	char device[64];
	snprintf(buf, n, "%s%s",
		 t->many ? tide__device_name(t->m, s->device, device, sizeof device) : "",
		 t->many ? " " : "");
	return buf;
}

/* Returns the figures of main memory in phase n; those of the first one include all earlier
 * phases. */
static tide_phase_level level(const struct text *t, size_t n, size_t k)
{
	const tide_phases *p = t->p;
	if (k == p->n_scopes || p->scopes[k].kind == TIDE_SCOPE_L1)
		return (tide_phase_level){ 0 };
	tide_phase_level l = p->levels[n * p->n_scopes + k];
	for (size_t i = 0; n == t->first && i < n; i++) {
		const tide_phase_level *was = &p->levels[i * p->n_scopes + k];
		l.alloc_bytes += was->alloc_bytes;
		l.free_bytes += was->free_bytes;
		l.change += was->change;
		l.segment_peak = l.peak; /* above 0 bytes, the use before the first phase */
	}
	return l;
}

static uint64_t l1_top(const struct text *t, size_t phase, tide_scope_kind kind, uint32_t device)
{
	uint64_t top = 0;
	for (size_t k = 0; k < t->p->n_scopes; k++)
		if (t->p->scopes[k].kind == kind && t->p->scopes[k].device == device)
			for (size_t n = phase == t->first ? 0 : phase; n <= phase; n++)
				top = t->p->levels[n * t->p->n_scopes + k].top > top
					      ? t->p->levels[n * t->p->n_scopes + k].top
					      : top;
	return top;
}

/* Writes the lines of scope k in phase n; k = n_scopes: of a memory without an event. */
static void one_memory(const struct text *t, size_t n, size_t k)
{
	bool any = k < t->p->n_scopes;
	uint32_t device = any ? t->p->scopes[k].device : TIDE_ANY;
	tide_phase_level l = level(t, n, k);
	char at[80] = "";
	if (any)
		prefix(t, &t->p->scopes[k], at, sizeof at);
	fprintf(t->out,
		"  %sDRAM: Segment Peak %.2f MB, Allocations %.2f MB, Deallocations %.2f MB, Segment Change %+.2f MB\n",
		at, mb((int64_t)l.segment_peak), mb((int64_t)l.alloc_bytes),
		mb((int64_t)l.free_bytes), mb(l.change));
	fprintf(t->out, "  %sDRAM: Cumulative Peak %.2f MB, Cumulative Current %.2f MB\n", at,
		mb((int64_t)l.peak), mb((int64_t)l.current));
	fprintf(t->out, "  %sL1: Peak CB %.2f MB, Peak Buffer %.2f MB, Peak Total %.2f MB\n", at,
		mb((int64_t)l1_top(t, n, TIDE_SCOPE_L1_CB, device)),
		mb((int64_t)l1_top(t, n, TIDE_SCOPE_L1_BUFFER, device)),
		mb((int64_t)l1_top(t, n, TIDE_SCOPE_L1, device)));
}

static void put_phase(const struct text *t, size_t n, uint32_t device)
{
	size_t len = 0;
	bool any = false;
	tide_str id = t->p->phases[n].name;
	const char *name = id.i		     ? tide__text(t->m, id, &len)
			   : n + 1 < t->p->n ? "(between)"
					     : "END_TRACE";
	fputs("--- ", t->out);
	tide__put_name(t->out, name, id.i ? len : strlen(name), 0, false);
	fputs(" ---\n", t->out);
	for (size_t k = 0; k < t->p->n_scopes; k++)
		if (is_shown(t->m, t->p, device, k))
			one_memory(t, n, k), any = true;
	if (!any)
		one_memory(t, n, t->p->n_scopes);
}

static void put_totals(const struct text *t, size_t last, uint32_t device)
{
	bool any = false;
	fputs("\n=== Final Totals ===\n", t->out);
	for (size_t k = 0; k < t->p->n_scopes; k++) {
		tide_phase_level l = level(t, last, k);
		char at[80];
		if (is_shown(t->m, t->p, device, k)) {
			prefix(t, &t->p->scopes[k], at, sizeof at);
			fprintf(t->out,
				"Overall %sDRAM Peak: %.2f MB, Final %sDRAM Usage: %.2f MB\n", at,
				mb((int64_t)l.peak), at, mb((int64_t)l.current));
			any = true;
		}
	}
	if (!any)
		fputs("Overall DRAM Peak: 0.00 MB, Final DRAM Usage: 0.00 MB\n", t->out);
	fputc('\n', t->out);
}

void tide__phases_write_tracker(const tide_model *m, const tide_phases *p, uint32_t device,
				FILE *out)
{
	struct text t = { m, p, out, false, tide__phases_capture(m, p) };
	size_t shown = 0, end = p->n;
	for (size_t k = 0; k < p->n_scopes; k++)
		shown += is_shown(m, p, device, k);
	t.many = shown > 1;
	while (end > 1 &&
	       !p->phases[end - 1].name.i) /* events after the last snapshot are not captured */
		end--;
	/* a snapshot is a trace, also without a memory event */
	if (!end || (!shown && (device != TIDE_ANY || !p->phases[0].name.i))) {
		fputs("WARNING: No traces captured\n", out);
		return;
	}
	fputs("=== Memory Usage Summary ===\n\n", out);
	for (size_t n = t.first; n < end; n++)
		put_phase(&t, n, device);
	put_totals(&t, end - 1, device);
}
