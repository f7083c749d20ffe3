// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/memory/device.h"

#include <inttypes.h>
#include <string.h>

static void put_line(const tide_out *to, const char *what, uint64_t bytes, const char *more)
{
	char b[32];
	fprintf(to->out, "  %-24s %12s%s\n", what,
		bytes == TIDE_LEDGER_UNKNOWN ? "unknown"
					     : tide__fmt_bytes(b, sizeof b, (double)bytes),
		more);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Names the holder: CUPTI reports the library that made the call; libffi only forwards calls of
 * Python's ctypes and cffi. */
static const char *caller_name(const char *path)
{
	const char *name = base_name(path);
	return !*name			      ? "library unknown"
	       : !strncmp(name, "libffi.", 7) ? "Python, by ctypes or cffi"
					      : name;
}

static void put_sources(const tide_model *m, const tide_ledger *l, const tide_out *to)
{
	char b[32], name[96];
	for (size_t i = 0; i < l->n_sources && i < 12; i++) {
		const char *text = caller_name(tide__text(m, l->sources[i].library, NULL));
		tide__fmt_name(name, sizeof name, text, strlen(text), 60);
		fprintf(to->out, "    %-22s %12s in %" PRIu64 "\n", name,
			tide__fmt_bytes(b, sizeof b, (double)l->sources[i].bytes),
			l->sources[i].count);
	}
}

static void put_over_time(const tide_ledger *l, const tide_out *to)
{
	static const tide_grid_col cols[] = {
		{ "t_ns", "Time", TIDE_CELL_NS },
		{ "nvml_used_bytes", "Used", TIDE_CELL_BYTES },
		{ "torch_live_bytes", "Live", TIDE_CELL_BYTES },
		{ "torch_cached_bytes", "Cached", TIDE_CELL_BYTES },
		{ "other_bytes", "Other", TIDE_CELL_BYTES },
		{ "others_bytes", "Others", TIDE_CELL_BYTES },
		{ "unexplained_bytes", "Unexplained", TIDE_CELL_DELTA },
	};
	enum { SHOWN = 12 };
	tide_grid *g = tide__grid_new(cols, sizeof cols / sizeof *cols);
	size_t step = l->n > SHOWN ? (l->n + SHOWN - 1) / SHOWN : 1;
	for (size_t k = 0; g && k < l->n; k += step) {
		const tide_ledger_at *a = &l->at[k];
		tide__grid_int(g, a->t);
		tide__grid_maybe(g, a->used);
		tide__grid_maybe(g, a->live);
		tide__grid_maybe(g, a->cached);
		tide__grid_maybe(g, a->other);
		tide__grid_maybe(g, a->others);
		if (a->unexplained == INT64_MIN)
			tide__grid_none(g);
		else
			tide__grid_int(g, a->unexplained);
	}
	if (g)
		tide__grid_write(g, to, 2);
}

/* Writes the context, and separately its growth since the first allocation. */
static void put_context(const tide_ledger *l, const tide_ledger_at *a, const tide_out *to)
{
	char more[96] = "  (the minimum that was never explained)", b[32];
	if (a->context != TIDE_LEDGER_UNKNOWN && a->context > l->context_first)
		snprintf(more, sizeof more,
			 "  (%s since the first allocation: code loaded later, or not reported)",
			 tide__fmt_delta(b, sizeof b, (double)(a->context - l->context_first)));
	put_line(to, "+ context and code", a->context, more);
}

static void put_ledger(const tide_model *m, const tide_ledger *l, const tide_out *to)
{
	const tide_ledger_at *a = &l->at[l->highest];
	char t[32], b[32];
	tide__write_heading(to, "cuda:%" PRId64 "%s%s, at %s", m->devices.index[l->device],
			    m->devices.name[l->device].i ? " " : "",
			    tide__text(m, m->devices.name[l->device], NULL),
			    tide__fmt_ns(t, sizeof t, (double)a->t));
	put_line(to, "in use (NVML)", a->used, "");
	put_line(to, "= PyTorch, live", a->live, "");
	put_line(to, "+ PyTorch, cached", a->cached, "");
	put_line(to, "+ other allocations", a->other, "");
	put_sources(m, l, to);
	if (a->pooled && a->pooled != TIDE_LEDGER_UNKNOWN)
		put_line(to, "+ pools, not in use", a->pooled, "  (cudaMallocAsync)");
	put_context(l, a, to);
	put_line(to, "+ CUPTI's buffers", a->profiler, "");
	put_line(to, "+ other processes", a->others, "");
	put_line(to, "+ driver and firmware", a->reserved, "  (NVML: reserved, no process's)");
	fprintf(to->out, "  %-24s %12s\n\n", "+ unexplained",
		a->unexplained == INT64_MIN ? "unknown"
					    : tide__fmt_delta(b, sizeof b, (double)a->unexplained));
	if (l->n > 1)
		put_over_time(l, to);
}

void tide__device_text(const tide_model *m, const tide_ledgers *l, const char *file,
		       const tide_out *to)
{
	if (file)
		tide__write_heading(to, "%s", file);
	if (!l->n)
		fputs("This trace has no CUDA device: `tidemark run --gpu` records one, on a "
		      "machine with an NVIDIA GPU.\n",
		      to->out);
	for (size_t i = 0; i < l->n; i++)
		put_ledger(m, &l->v[i], to);
	tide__put_model_losses(to, m);
}

static void at_json(tide_json *j, const tide_ledger_at *a)
{
	tide__json_kint(j, "t_ns", a->t);
	tide__json_kmaybe(j, "nvml_total_bytes", a->total);
	tide__json_kmaybe(j, "nvml_used_bytes", a->used);
	tide__json_kmaybe(j, "torch_live_bytes", a->live);
	tide__json_kmaybe(j, "torch_cached_bytes", a->cached);
	tide__json_kmaybe(j, "other_bytes", a->other);
	tide__json_kmaybe(j, "pooled_bytes", a->pooled);
	tide__json_kmaybe(j, "context_bytes", a->context);
	tide__json_kmaybe(j, "profiler_bytes", a->profiler);
	tide__json_kmaybe(j, "others_bytes", a->others);
	tide__json_kmaybe(j, "reserved_bytes", a->reserved);
	tide__json_kint_if(j, "unexplained_bytes", a->unexplained != INT64_MIN, a->unexplained);
}

void tide__device_json(const tide_model *m, const tide_ledgers *l, const char *file, tide_json *j)
{
	if (file)
		tide__json_kstr(j, "file", file);
	tide__json_karray(j, "devices");
	for (size_t i = 0; i < l->n; i++) {
		const tide_ledger *x = &l->v[i];
		tide__json_object(j);
		tide__json_kint(j, "index", m->devices.index[x->device]);
		tide__json_ktext(j, "name", m, m->devices.name[x->device]);
		at_json(j, &x->at[x->highest]);
		tide__json_karray(j, "libraries");
		for (size_t k = 0; k < x->n_sources; k++) {
			tide__json_object(j);
			tide__json_ktext(j, "library", m, x->sources[k].library);
			tide__json_kstr(j, "caller",
					caller_name(tide__text(m, x->sources[k].library, NULL)));
			tide__json_kuint(j, "bytes", x->sources[k].bytes);
			tide__json_kuint(j, "count", x->sources[k].count);
			tide__json_object_end(j);
		}
		tide__json_array_end(j);
		tide__json_karray(j, "over_time");
		for (size_t k = 0; k < x->n; k++) {
			tide__json_object(j);
			at_json(j, &x->at[k]);
			tide__json_object_end(j);
		}
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__losses_json(j, m);
}

/* ---- several processes ---- */

static void put_part(int64_t pid, const char *file, const tide_ledger_at *p, const tide_out *to)
{
	char name[96], b[6][32];
	const uint64_t v[] = { p->live, p->cached, p->other, p->pooled, p->context, p->profiler };
	const char *base = base_name(file);
	for (size_t i = 0; i < 6; i++)
		if (v[i] == TIDE_LEDGER_UNKNOWN)
			snprintf(b[i], sizeof b[i], "unknown");
		else
			tide__fmt_bytes(b[i], sizeof b[i], (double)v[i]);
	tide__fmt_name(name, sizeof name, base, strlen(base), 40);
	fprintf(to->out,
		"    process %" PRId64
		" (%s): PyTorch live %s, cached %s; other %s, pools %s; context %s; "
		"CUPTI %s\n",
		pid, name, b[0], b[1], b[2], b[3], b[4], b[5]);
}

static uint64_t sum_of(const tide_ledger_at *p)
{
	uint64_t sum = 0;
	const uint64_t v[] = { p->live, p->cached, p->other, p->pooled, p->context, p->profiler };
	for (size_t i = 0; i < 6; i++)
		sum += v[i] == TIDE_LEDGER_UNKNOWN ? 0 : v[i];
	return sum;
}

static void put_joined(const char *const *files, const tide_joined_device *d, const tide_out *to)
{
	const tide_joined_at *a = &d->at[d->highest];
	const tide_ledger_at *parts = &d->parts[d->highest * d->n_parts];
	char b[32];
	uint64_t sum = 0;
	for (size_t i = 0; i < d->n_parts; i++)
		sum += sum_of(&parts[i]);
	tide__write_heading(to, "cuda:%" PRId64 "%s%s, %zu recorded processes", d->index,
			    *d->name ? " " : "", d->name, d->n_parts);
	put_line(to, "in use (NVML)", a->used, "");
	put_line(to, "= recorded processes", sum, "");
	for (size_t i = 0; i < d->n_parts; i++)
		put_part(d->pids[i], files[d->recordings[i]], &parts[i], to);
	put_line(to, "+ other processes", a->others, "");
	put_line(to, "+ driver and firmware", a->reserved, "  (NVML: reserved, no process's)");
	fprintf(to->out, "  %-24s %12s\n\n", "+ unexplained",
		a->unexplained == INT64_MIN ? "unknown"
					    : tide__fmt_delta(b, sizeof b, (double)a->unexplained));
}

void tide__devices_text(const char *const *files, const tide_joined *j, const tide_out *to)
{
	for (size_t i = 0; i < j->n; i++)
		put_joined(files, &j->v[i], to);
}

static void joined_at_json(tide_json *j, const tide_joined_device *d, size_t k,
			   const char *const *files)
{
	const tide_joined_at *a = &d->at[k];
	tide__json_kint(j, "wall_ns", a->wall_ns);
	tide__json_kmaybe(j, "nvml_total_bytes", a->total);
	tide__json_kmaybe(j, "nvml_used_bytes", a->used);
	tide__json_karray(j, "processes");
	for (size_t i = 0; i < d->n_parts; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "file", files[d->recordings[i]]);
		tide__json_kint(j, "pid", d->pids[i]);
		at_json(j, &d->parts[k * d->n_parts + i]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_kmaybe(j, "others_bytes", a->others);
	tide__json_kmaybe(j, "reserved_bytes", a->reserved);
	tide__json_kint_if(j, "unexplained_bytes", a->unexplained != INT64_MIN, a->unexplained);
}

void tide__devices_json(const char *const *files, const tide_joined *d, tide_json *j)
{
	tide__json_karray(j, "devices");
	for (size_t i = 0; i < d->n; i++) {
		const tide_joined_device *x = &d->v[i];
		tide__json_object(j);
		tide__json_kint(j, "index", x->index);
		tide__json_kstr(j, "name", *x->name ? x->name : NULL);
		joined_at_json(j, x, x->highest, files);
		tide__json_karray(j, "over_time");
		for (size_t k = 0; k < x->n; k++) {
			tide__json_object(j);
			joined_at_json(j, x, k, files);
			tide__json_object_end(j);
		}
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}
