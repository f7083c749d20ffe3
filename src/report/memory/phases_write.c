// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/memory/phases_write.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyze/live/live_set.h"
#include "render/text/format.h"
#include "render/text/labels.h"

struct report {
	const tide_out *to; /* NULL in JSON */
	const tide_model *m;
	const tide_phases *p;
	uint32_t device;   /* TIDE_ANY = all */
	bool many_devices; /* lines name their device */
	tide_long longs;
};

enum { SHOWN = 5243 }; /* bytes that are 0.01 MiB in print */

static bool is_l1(const tide_model *m, const tide_scope *s)
{
	return s->kind == TIDE_SCOPE_POOL ? tide__pool_is_l1(m, s->pool)
					  : s->kind >= TIDE_SCOPE_L1_CB && s->kind <= TIDE_SCOPE_L1;
}

/* Returns whether a scope has the two DRAM lines: pools, a device's sum if it has several pools,
 * and the sum of all devices if there are several. */
static bool in_text(const struct report *r, const tide_scope *s)
{
	if (r->device != TIDE_ANY && (s->kind == TIDE_SCOPE_TOTAL || s->device != r->device))
		return false;
	if (s->kind == TIDE_SCOPE_TOTAL)
		return r->many_devices;
	return !is_l1(r->m, s) && (s->kind == TIDE_SCOPE_POOL || s->pools > 1);
}

static const char *label(const struct report *r, const tide_scope *s, char *buf, size_t n)
{
	char device[64], name[160];
	size_t len;
	tide__device_name(r->m, s->device, device, sizeof device);
	if (s->kind == TIDE_SCOPE_TOTAL) {
		snprintf(buf, n, "Total");
	} else if (s->kind == TIDE_SCOPE_MAIN) {
		snprintf(buf, n, "%s", device);
	} else {
		const char *text = tide__text(r->m, r->m->pools.name[s->pool], &len);
		if (len)
			tide__fmt_name(name, sizeof name, text, len, 0);
		else
			snprintf(name, sizeof name, "%s",
				 tide__pool_kind_text(r->m->pools.kind[s->pool]));
		snprintf(buf, n, "%s%s%s", r->many_devices ? device : "",
			 r->many_devices ? " " : "", name);
	}
	return buf;
}

struct amount {
	char text[32];
};

static struct amount change_of(int64_t bytes)
{
	struct amount t;
	bool small = bytes && bytes > -SHOWN && bytes < SHOWN;
	if (small)
		tide__fmt_delta(t.text, sizeof t.text, (double)bytes);
	else
		snprintf(t.text, sizeof t.text, "%+.2f MiB", (double)bytes / (1024 * 1024));
	return t;
}

static struct amount amount_of(uint64_t bytes)
{
	struct amount t;
	if (bytes && bytes < SHOWN)
		tide__fmt_bytes(t.text, sizeof t.text, (double)bytes);
	else
		snprintf(t.text, sizeof t.text, "%.2f MiB", (double)bytes / (1024 * 1024));
	return t;
}

/* Prints a line that begins at column `indent`, wrapped at the terminal's width. */
__attribute__((format(printf, 3, 4))) static void line(const struct report *r, int indent,
						       const char *fmt, ...)
{
	char text[800];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(r->to->out, "%*s", indent, "");
	tide__put_words(r->to->out, text, indent, indent + 2, r->to->style.width);
}

static void main_lines(const struct report *r, const tide_scope *s, const tide_phase_level *l)
{
	char name[240];
	label(r, s, name, sizeof name);
	line(r, 2, "%s: Segment Peak %s, Allocations %s, Deallocations %s, Segment Change %s", name,
	     amount_of(l->segment_peak).text, amount_of(l->alloc_bytes).text,
	     amount_of(l->free_bytes).text, change_of(l->change).text);
	line(r, 2, "%s: Cumulative Peak %s, Cumulative Current %s", name, amount_of(l->peak).text,
	     amount_of(l->current).text);
	if (l->before_bytes)
		line(r, 2, "%s: %s of these allocations existed before the recording", name,
		     amount_of(l->before_bytes).text);
}

/* Prints the L1 figures of a device, which are in neighbouring scopes, ending with TIDE_SCOPE_L1. A
 * kind without a pool is left out: a runtime's log, for example, lacks circular buffers. */
static void l1_line(const struct report *r, size_t phase, size_t at)
{
	const tide_scope *s = &r->p->scopes[at];
	const tide_phase_level *l = r->p->levels + phase * r->p->n_scopes;
	char device[64], cb[64] = "", buffer[64] = "";
	for (size_t k = at; k-- > 0 && r->p->scopes[k].device == s->device;) {
		if (r->p->scopes[k].kind == TIDE_SCOPE_L1_CB)
			snprintf(cb, sizeof cb, "Peak CB %s, ", amount_of(l[k].top).text);
		else if (r->p->scopes[k].kind == TIDE_SCOPE_L1_BUFFER)
			snprintf(buffer, sizeof buffer, "Peak Buffer %s, ",
				 amount_of(l[k].top).text);
		else
			break;
	}
	tide__device_name(r->m, s->device, device, sizeof device);
	line(r, 2, "%s%sL1: %s%sPeak Total %s", r->many_devices ? device : "",
	     r->many_devices ? " " : "", cb, buffer, amount_of(l[at].top).text);
}

/* Returns true for a pool, other than a device's first, that held nothing in this phase: its lines
 * are left out. */
static bool idle(const struct report *r, size_t k, const tide_phase_level *l)
{
	const tide_scope *s = r->p->scopes;
	return k && s[k].kind == TIDE_SCOPE_POOL && s[k].device == s[k - 1].device && !l->top &&
	       !l->allocs;
}

static void print_phase(struct report *r, size_t n)
{
	tide_str name = r->p->phases[n].name;
	fputs(r->to->style.color ? "\033[1m--- " : "--- ", r->to->out);
	if (name.i)
		tide__put_text(r->to, tide__long_text(&r->longs, r->m, name, NULL));
	else
		fputs(n + 1 < r->p->n || r->p->summed ? "(between)"
		      : n			      ? "(after the last phase)"
						      : "(whole trace)",
		      r->to->out);
	if (r->p->summed)
		fprintf(r->to->out, " (%" PRIu64 "x)", r->p->phases[n].count);
	fputs(r->to->style.color ? " ---\033[0m\n" : " ---\n", r->to->out);
	for (size_t k = 0; k < r->p->n_scopes; k++) {
		const tide_scope *s = &r->p->scopes[k];
		const tide_phase_level *l = &r->p->levels[n * r->p->n_scopes + k];
		if (in_text(r, s) && !idle(r, k, l))
			main_lines(r, s, l);
	}
	for (size_t k = 0; k < r->p->n_scopes; k++)
		if (r->p->scopes[k].kind == TIDE_SCOPE_L1 &&
		    (r->device == TIDE_ANY || r->p->scopes[k].device == r->device))
			l1_line(r, n, k);
}

static void print_totals(const struct report *r)
{
	size_t last = r->p->summed ? r->p->last : r->p->n - 1;
	const tide_phase_level *l = r->p->levels + last * r->p->n_scopes;
	fputs("\n=== Final Totals ===\n", r->to->out);
	for (size_t k = 0; k < r->p->n_scopes; k++) {
		char name[240];
		if (!in_text(r, &r->p->scopes[k]))
			continue;
		label(r, &r->p->scopes[k], name, sizeof name);
		line(r, 0, "Overall %s Peak: %s, Final %s Usage: %s", name,
		     amount_of(l[k].peak).text, name, amount_of(l[k].current).text);
	}
}

static void print_text(struct report *r)
{
	tide__write_heading(r->to, "=== Memory Usage Summary ===");
	fputc('\n', r->to->out);
	if (!r->p->n_scopes) {
		fputs("WARNING: No traces captured\n", r->to->out);
	} else {
		for (size_t n = 0; n < r->p->n; n++)
			print_phase(r, n);
		print_totals(r);
	}
	tide__put_model_losses(r->to, r->m);
}

static void json_level(tide_json *j, const struct report *r, size_t n, size_t k)
{
	static const char *const kinds[] = {
		"pool", "device", "l1_cb", "l1_buffer", "l1", "total"
	};
	const tide_scope *s = &r->p->scopes[k];
	const tide_phase_level *l = &r->p->levels[n * r->p->n_scopes + k];
	char name[64];
	tide__json_object(j);
	tide__json_kstr(j, "scope", kinds[s->kind]);
	if (s->kind != TIDE_SCOPE_TOTAL)
		tide__json_kstr(j, "device", tide__device_name(r->m, s->device, name, sizeof name));
	if (s->kind == TIDE_SCOPE_POOL)
		tide__json_ktext(j, "pool", r->m, r->m->pools.name[s->pool]);
	tide__json_kuint(j, "segment_peak_bytes", l->segment_peak);
	tide__json_kuint(j, "allocations_bytes", l->alloc_bytes);
	tide__json_kuint(j, "deallocations_bytes", l->free_bytes);
	tide__json_kuint(j, "allocations", l->allocs);
	tide__json_kuint(j, "deallocations", l->frees);
	tide__json_kint(j, "segment_change_bytes", l->change);
	tide__json_kuint(j, "cumulative_peak_bytes", l->peak);
	tide__json_kuint(j, "cumulative_current_bytes", l->current);
	tide__json_kuint(j, "highest_bytes", l->top);
	tide__json_kuint(j, "before_bytes", l->before_bytes);
	tide__json_object_end(j);
}

static void json_phase(tide_json *j, const struct report *r, size_t n)
{
	const tide_phase *p = &r->p->phases[n];
	tide__json_object(j);
	if (p->name.i)
		tide__json_ktext(j, "name", r->m, p->name);
	else
		tide__json_knull(j, "name");
	if (r->p->summed)
		tide__json_kuint(j, "count", p->count);
	tide__json_kint(j, "start_ns", p->t0);
	tide__json_kint(j, "end_ns", p->t1);
	tide__json_karray(j, "memory");
	for (size_t k = 0; k < r->p->n_scopes; k++)
		if (r->device == TIDE_ANY || r->p->scopes[k].device == r->device)
			json_level(j, r, n, k);
	tide__json_array_end(j);
	tide__json_object_end(j);
}

static void print_json(const struct report *r, tide_json *j)
{
	tide__json_karray(j, "phases");
	for (size_t n = 0; n < r->p->n; n++)
		json_phase(j, r, n);
	tide__json_array_end(j);
	tide__start_json(j, r->m);
	tide__losses_json(j, r->m);
}

static bool several_devices(const tide_phases *p)
{
	for (size_t k = 1; k < p->n_scopes; k++)
		if (p->scopes[k].kind != TIDE_SCOPE_TOTAL &&
		    p->scopes[k].device != p->scopes[0].device)
			return true;
	return false;
}

static struct report report_of(const tide_model *m, const tide_phases *p, const tide_phases_view *v,
			       const tide_out *to)
{
	return (struct report){
		.to = to, .m = m, .p = p, .device = v->device, .many_devices = several_devices(p)
	};
}

void tide__phases_text(const tide_model *m, const tide_phases *p, const tide_phases_view *v,
		       const tide_out *to)
{
	struct report r = report_of(m, p, v, to);
	print_text(&r);
	if (to->cut)
		*to->cut += r.longs.cut;
	tide__long_free(&r.longs);
}

void tide__phases_json(const tide_model *m, const tide_phases *p, const tide_phases_view *v,
		       tide_json *j)
{
	struct report r = report_of(m, p, v, NULL);
	print_json(&r, j);
}
