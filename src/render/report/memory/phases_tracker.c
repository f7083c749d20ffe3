// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the text of memory trackers, byte for byte: two DRAM lines and an L1 line per phase, in MB
 * of 2^20 bytes, for any memory (also a host's heap), so that programs that read their logs can
 * read ours. */
#include <stdio.h>
#include <string.h>

#include "analyze/memory/live_set.h"
#include "render/report/memory/phases.h"
#include "render/text/format.h"
#include "render/text/labels.h"

struct text {
	const tide_model *m;
	const tide_phases *p;
	FILE *out;
	bool many;
};

static double mb(int64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static bool is_host(const tide_model *m, const tide_scope *s)
{
	return m->devices.kind[s->device] == TIDE_DEVICE_HOST;
}

/* Selects accelerators if there are any, else the host; only `device` if given. */
static bool is_shown(const tide_model *m, const tide_phases *p, uint32_t device, size_t k)
{
	const tide_scope *s = &p->scopes[k];
	bool accelerated = false;
	if (s->kind != TIDE_SCOPE_MAIN || (device != TIDE_ANY && s->device != device))
		return false;
	for (size_t i = 0; i < p->n_scopes; i++)
		accelerated |= p->scopes[i].kind == TIDE_SCOPE_MAIN && !is_host(m, &p->scopes[i]);
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

static uint64_t l1_top(const tide_phases *p, size_t phase, tide_scope_kind kind, uint32_t device)
{
	for (size_t k = 0; k < p->n_scopes; k++)
		if (p->scopes[k].kind == kind && p->scopes[k].device == device)
			return p->levels[phase * p->n_scopes + k].top;
	return 0;
}

static void one_memory(const struct text *t, size_t n, size_t k)
{
	const tide_scope *s = &t->p->scopes[k];
	const tide_phase_level *l = &t->p->levels[n * t->p->n_scopes + k];
	char at[80];
	prefix(t, s, at, sizeof at);
	fprintf(t->out,
		"  %sDRAM: Segment Peak %.2f MB, Allocations %.2f MB, Deallocations %.2f MB, Segment Change %+.2f MB\n",
		at, mb((int64_t)l->segment_peak), mb((int64_t)l->alloc_bytes),
		mb((int64_t)l->free_bytes), mb(l->change));
	fprintf(t->out, "  %sDRAM: Cumulative Peak %.2f MB, Cumulative Current %.2f MB\n", at,
		mb((int64_t)l->peak), mb((int64_t)l->current));
	fprintf(t->out, "  %sL1: Peak CB %.2f MB, Peak Buffer %.2f MB, Peak Total %.2f MB\n", at,
		mb((int64_t)l1_top(t->p, n, TIDE_SCOPE_L1_CB, s->device)),
		mb((int64_t)l1_top(t->p, n, TIDE_SCOPE_L1_BUFFER, s->device)),
		mb((int64_t)l1_top(t->p, n, TIDE_SCOPE_L1, s->device)));
}

static void put_phase(const struct text *t, size_t n, uint32_t device)
{
	size_t len = 0;
	tide_str id = t->p->phases[n].name;
	const char *name = id.i		     ? tide__text(t->m, id, &len)
			   : n + 1 < t->p->n ? "(between)"
					     : "END_TRACE";
	fputs("--- ", t->out);
	tide__put_name(t->out, name, id.i ? len : strlen(name), 0, false);
	fputs(" ---\n", t->out);
	for (size_t k = 0; k < t->p->n_scopes; k++)
		if (is_shown(t->m, t->p, device, k))
			one_memory(t, n, k);
}

void tide__phases_write_tracker(const tide_model *m, const tide_phases *p, uint32_t device,
				FILE *out)
{
	struct text t = { m, p, out, false };
	size_t shown = 0, end = p->n;
	for (size_t k = 0; k < p->n_scopes; k++)
		shown += is_shown(m, p, device, k);
	t.many = shown > 1;
	while (end > 1 &&
	       !p->phases[end - 1].name.i) /* events after the last snapshot are not captured */
		end--;
	if (!shown || !end) {
		fputs("WARNING: No traces captured\n", out);
		return;
	}
	fputs("=== Memory Usage Summary ===\n\n", out);
	for (size_t n = 0; n < end; n++)
		put_phase(&t, n, device);
	fputs("\n=== Final Totals ===\n", out);
	for (size_t k = 0; k < p->n_scopes; k++) {
		const tide_phase_level *l = &p->levels[(end - 1) * p->n_scopes + k];
		char at[80];
		if (is_shown(m, p, device, k)) {
			prefix(&t, &p->scopes[k], at, sizeof at);
			fprintf(out, "Overall %sDRAM Peak: %.2f MB, Final %sDRAM Usage: %.2f MB\n",
				at, mb((int64_t)l->peak), at, mb((int64_t)l->current));
		}
	}
	fputc('\n', out);
}
