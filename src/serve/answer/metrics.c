// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /metrics in Prometheus' text format: figures of the newest runs, from the index, and counters of
 * runs that are still being recorded, from their readings. Defined in docs/guide/dashboard.md. A
 * figure that is not known has no sample: 0 would be one. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/names.h"
#include "serve/answer/api.h"
#include "serve/answer/run_items.h"

enum {
	USUAL_RUNS = 100,	       /* default number of runs */
	MOST_LIVE = TIDE_ASK_RECS - 1, /* recordings that are read for one answer */
};

/* ---- the format ---- */

static void family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP tidemark_%s %s\n# TYPE tidemark_%s %s\n", name, help, name, type);
}

/* Writes a label. Names come from files: bytes that are not UTF-8 become '?'. */
static void label(FILE *out, char before, const char *key, const char *text)
{
	fprintf(out, "%c%s=\"", before, key);
	for (size_t left = strlen(text); left;) {
		size_t n = tide__utf8_len(text, left);
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (!n || (n == 1 && (unsigned char)*text < ' '))
			fputc('?', out);
		else
			fwrite(text, 1, n, out);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
	fputc('"', out);
}

/* Writes v / 10^digits exactly. */
static void value(FILE *out, int64_t v, int digits)
{
	int64_t unit = 1;
	for (int i = 0; i < digits; i++)
		unit *= 10;
	fprintf(out, " %" PRId64, v / unit);
	if (digits)
		fprintf(out, ".%0*" PRId64, digits, v % unit);
	fputc('\n', out);
}

/* ---- runs ---- */

struct run {
	const tide_rec *r;
	const tide_run *run;
};

static void run_labels(FILE *out, const char *name, const struct run *x)
{
	const tide_run_summary *s = &x->run->s;
	char rank[24];
	fprintf(out, "tidemark_%s", name);
	label(out, '{', "recording", x->r->id);
	label(out, ',', "file", tide__run_name(x->r));
	if (x->run->known && s->program[0])
		label(out, ',', "program", s->program);
	if (x->run->known && s->rank >= 0) {
		snprintf(rank, sizeof rank, "%" PRId64, s->rank);
		label(out, ',', "rank", rank);
	}
}

/* Figures of a run: members of its summary, -1 = unknown, and the digits after the point. */
static const struct figure {
	const char *name, *help;
	size_t at;
	int digits;
} figures[] = {
#define AT(member) offsetof(tide_run_summary, member)
	{ "run_start_time_seconds", "Unix time at which the recording began.", AT(start_ns), 9 },
	{ "run_duration_seconds", "From the first event to the last.", AT(duration_ns), 9 },
	{ "run_peak_bytes",
	  "Highest live bytes of the accelerator with the highest peak, else of the host.",
	  AT(peak_bytes), 0 },
	{ "run_capacity_bytes", "Memory of that device.", AT(capacity_bytes), 0 },
	{ "run_step_seconds", "Median time of a step.", AT(step_ns), 9 },
	{ "run_steps", "Steps with a begin and an end.", AT(steps), 0 },
	{ "run_device_busy_ratio", "Share of its time window in which the device worked.",
	  AT(busy_ppm), 6 },
#undef AT
};

static void put_runs(FILE *out, const struct run *v, size_t n)
{
	for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
		const struct figure *x = &figures[f];
		family(out, x->name, "gauge", x->help);
		for (size_t i = 0; i < n; i++) {
			int64_t of;
			memcpy(&of, (const char *)&v[i].run->s + x->at, sizeof of);
			if (!v[i].run->known || of < 0)
				continue;
			run_labels(out, x->name, &v[i]);
			fputc('}', out);
			value(out, of, x->digits);
		}
	}
	family(out, "run_losses", "gauge", "Kinds of data that the recording lacks.");
	for (size_t i = 0; i < n; i++) {
		if (!v[i].run->known)
			continue;
		run_labels(out, "run_losses", &v[i]);
		fprintf(out, "} %" PRIu64 "\n", v[i].run->s.losses);
	}
	family(out, "run_live", "gauge", "1 while the program is still recording.");
	for (size_t i = 0; i < n; i++) {
		run_labels(out, "run_live", &v[i]);
		fprintf(out, "} %d\n", v[i].r->writer == TIDE_WRITER_RUNNING);
	}
}

/* ---- live runs ---- */

struct live {
	struct run run;
	const tide_model *m; /* borrowed until the answer is written */
	tide_usage usage;
};

/* Counters of a live run, per device that ever held memory. */
static const struct level {
	const char *name, *type, *help;
	size_t at;
} levels[] = {
#define AT(member) offsetof(tide_level, member)
	{ "live_allocated_bytes", "gauge", "Live bytes of a device now.", AT(bytes) },
	{ "live_allocations", "gauge", "Live allocations of a device now.", AT(count) },
	{ "live_peak_bytes", "gauge", "Highest live bytes of a device so far.", AT(peak) },
	{ "live_reserved_bytes", "gauge", "Bytes that the allocator holds of the device.",
	  AT(reserved) },
	{ "live_alloc_events_total", "counter", "Allocations of a device so far.", AT(allocs) },
	{ "live_free_events_total", "counter", "Frees of a device so far.", AT(frees) },
#undef AT
};

static void put_levels(FILE *out, const struct live *v, size_t n)
{
	for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
		family(out, levels[k].name, levels[k].type, levels[k].help);
		for (size_t i = 0; i < n; i++)
			for (uint32_t d = 1; d < v[i].usage.n_devices; d++) {
				const tide_level *l = &v[i].usage.devices[d];
				uint64_t of;
				char device[64];
				memcpy(&of, (const char *)l + levels[k].at, sizeof of);
				if (!l->allocs || of == TIDE_RESERVED_NONE)
					continue;
				run_labels(out, levels[k].name, &v[i].run);
				label(out, ',', "device",
				      tide__device_name(v[i].m, d, device, sizeof device));
				fprintf(out, "} %" PRIu64 "\n", of);
			}
	}
}

/* Writes the last value of each of the program's own counters. */
static tide_code put_counters(FILE *out, const struct live *x, tide_error *err)
{
	const tide_model *m = x->m;
	uint32_t *last = tide__calloc(m->counters.n, sizeof *last);
	if (!last)
		return tide__nomem(err);
	for (size_t i = 0; i < m->samples.n; i++)
		last[m->samples.counter[i].i] = (uint32_t)i + 1;
	for (uint32_t c = 1; c < m->counters.n; c++) {
		char device[64];
		const char *unit = tide__text(m, m->counters.unit[c], NULL);
		if (!last[c])
			continue;
		run_labels(out, "live_counter", &x->run);
		label(out, ',', "name", tide__text(m, m->counters.name[c], NULL));
		if (*unit)
			label(out, ',', "unit", unit);
		if (m->counters.device[c].i)
			label(out, ',', "device",
			      tide__device_name(m, m->counters.device[c].i, device, sizeof device));
		fprintf(out, "} %.17g\n", m->samples.value[last[c] - 1]);
	}
	tide__free(last);
	return TIDE_OK;
}

static tide_code put_live(FILE *out, struct live *v, size_t n, tide_error *err)
{
	tide_code rc = TIDE_OK;
	size_t made = 0;
	for (; rc == TIDE_OK && made < n; made++)
		rc = tide__find_usage(v[made].m, UINT64_MAX, 0, &v[made].usage, err);
	if (rc == TIDE_OK) {
		put_levels(out, v, n);
		family(out, "live_spans_total", "counter", "Ops, calls and kernels so far.");
		for (size_t i = 0; i < n; i++) {
			run_labels(out, "live_spans_total", &v[i].run);
			fprintf(out, "} %zu\n", v[i].m->spans.n - 1);
		}
		family(out, "live_counter", "gauge", "Last value of a counter of the program.");
		for (size_t i = 0; rc == TIDE_OK && i < n; i++)
			rc = put_counters(out, &v[i], err);
	}
	while (made)
		tide__usage_free(&v[--made].usage);
	return rc;
}

/* ---- the answer ---- */

/* Gets the readings of live runs. Returns TIDE_EBUSY if one has to be read first. */
static tide_code get_live(tide_ask *a, const struct run *v, size_t n, struct live *out,
			  size_t *n_out, tide_error *err)
{
	*n_out = 0;
	for (size_t i = 0; i < n && *n_out < MOST_LIVE; i++) {
		tide_loaded *l;
		if (v[i].r->writer != TIDE_WRITER_RUNNING)
			continue;
		tide_code rc = tide__ask_id(a, v[i].r->id, &l, err);
		if (rc == TIDE_EBUSY)
			return rc;
		if (rc == TIDE_OK)
			out[(*n_out)++] = (struct live){ .run = v[i], .m = l->m };
	}
	return TIDE_OK;
}

static tide_code put_all(tide_ask *a, const tide_rec *r, const tide_run *runs, size_t n,
			 size_t most, tide_error *err)
{
	struct live live[MOST_LIVE];
	size_t n_live = 0, kept = 0, others = 0;
	struct run *v = tide__calloc(n ? n : 1, sizeof *v);
	if (!v)
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++)
		if (runs[i].other)
			others++;
		else if (kept < most)
			v[kept++] = (struct run){ &r[i], &runs[i] };
	tide_code rc = get_live(a, v, kept, live, &n_live, err);
	if (rc == TIDE_OK) {
		family(a->out, "recordings", "gauge", "Recordings that are served.");
		fprintf(a->out, "tidemark_recordings %zu\n", n - others);
		put_runs(a->out, v, kept);
		rc = put_live(a->out, live, n_live, err);
	}
	tide__free(v);
	return rc;
}

tide_code tide__answer_metrics(tide_ask *a, tide_error *err)
{
	int64_t most = USUAL_RUNS;
	size_t n;
	tide_run_index *index = tide__run_index_of(a->store);
	if (!tide__request_get_int(a->req, "limit", 1, INT64_MAX, &most))
		return tide__ask_wrong(a, err);
	if (!index)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "this server keeps no index");
	a->type = "text/plain; version=0.0.4; charset=utf-8";
	tide_rec *r = tide__store_list_all(a->store, &n);
	tide_run *runs = r ? tide__run_index_get(index, r, n) : NULL;
	tide_code rc = runs ? put_all(a, r, runs, n, (size_t)most, err) : tide__nomem(err);
	tide__run_index_give_back(runs, n);
	if (r)
		tide__store_list_free(r, n);
	return rc;
}
