// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_summary.h. */
#include "analyze/compare/run_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/common/steps.h"
#include "analyze/compile/compile_report.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "model/losses.h"
#include "model/names.h"

/* ---- the program ---- */

static const char *base_name(const char *s, size_t n, size_t *out)
{
	const char *from = s;
	for (size_t i = 0; i < n; i++)
		if (s[i] == '/')
			from = s + i + 1;
	*out = (size_t)(s + n - from);
	return from;
}

/* Copies n bytes of a text up to a NUL, cut at the room. The rest of `to` stays: it is zero. */
static void copy(char *to, size_t room, const char *s, size_t n)
{
	n = strnlen(s, n);
	n = n < room ? n : room - 1;
	memcpy(to, s, n);
	to[n] = '\0';
}

/* Returns whether a program is Python itself: "python", "python3.11". */
static bool is_python(const char *name, size_t n)
{
	static const char python[] = "python";
	size_t k = sizeof python - 1;
	return n >= k && !strncmp(name, python, k) && strspn(name + k, "0123456789.") >= n - k;
}

/* Returns the word that names the program, n bytes: the first script, else the module of
 * `python -m`, else the first word. n = 0: unknown. Kineto's traces name only the interpreter, and
 * its programs have nothing in common. */
static const char *program_word(const char *command, size_t len, size_t *n)
{
	size_t k, first = 0;
	const char *module = NULL, *name;
	for (size_t i = 0; i < len; i += k + 1) {
		const char *word = command + i;
		k = strcspn(word, " ");
		first = i ? first : k;
		if (k > 3 && !strncmp(word + k - 3, ".py", 3)) {
			*n = k;
			return word;
		}
		if (!module && k == 2 && !strncmp(word, "-m", 2) && i + 3 < len)
			module = word + 3;
	}
	name = base_name(command, first, &k);
	bool python = is_python(name, k);
	*n = !python ? first : module ? strcspn(module, " ") : 0;
	return python && module ? module : command;
}

/* Returns whether a word of a command names the file of the recording: "run.tide", "out/run.tide",
 * "--trace=run.tide". */
static bool names_file(const char *word, size_t n, const char *file)
{
	size_t k = strlen(file);
	return k && n >= k && !strncmp(word + n - k, file, k) &&
	       (n == k || strchr("/=", word[n - k - 1]));
}

/* Copies the words of `args`, n bytes, a blank between them. If they do not fit, their beginning
 * and a hash (FNV-1a) of all of them, so that different arguments have different texts. */
static void copy_arguments(tide_run_summary *out, const char *args, size_t n, const char *file)
{
	enum { ROOM = sizeof out->arguments, HASHED = 21 };
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char text[ROOM + 1] = "";
	size_t used = 0, k;
	for (size_t i = 0; i < n; i += k + 1) {
		k = strcspn(args + i, " ");
		k = k < n - i ? k : n - i;
		if (!k || names_file(args + i, k, file))
			continue;
		for (size_t b = 0; b <= k; b++) { /* with a blank behind it */
			char c = b < k ? args[i + b] : ' ';
			hash = (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
			if (used < ROOM)
				text[used++] = c;
		}
	}
	if (used && used < ROOM) {
		copy(out->arguments, ROOM, text, used - 1);
		return;
	}
	if (!used)
		return;
	memcpy(text + ROOM - HASHED, "... ", 4);
	for (size_t i = ROOM - HASHED + 4; i < ROOM - 1; i++, hash >>= 4)
		text[i] = "0123456789abcdef"[hash & 15];
	copy(out->arguments, ROOM, text, ROOM - 1);
}

static void name_program(const tide_model *m, tide_run_summary *out)
{
	size_t n, k, skip;
	const char *file = m->path ? base_name(m->path, strlen(m->path), &n) : "";
	for (size_t p = 1; p < m->processes.n && !out->program[0]; p++) {
		const char *c = tide__text(m, m->processes.command[p], &n);
		const char *word = program_word(c, n, &k), *name = base_name(word, k, &skip);
		copy(out->program, sizeof out->program, name, skip);
		skip = (size_t)(word - c) + k;
		if (k && skip < n)
			copy_arguments(out, c + skip, n - skip, file);
	}
}

/* Adds the session of a profiler to the program: sessions of one script do different work. */
static void name_session(const tide_model *m, char *out, size_t room)
{
	int64_t at = tide__fact_find(m, "session.name");
	const char *name = at < 0 ? "" : tide__text(m, m->facts.text[at], NULL);
	size_t n = strlen(out);
	if (!*name)
		return;
	copy(out + n, room - n, ": ", n ? 2 : 0);
	n = strlen(out);
	copy(out + n, room - n, name, strlen(name));
}

/* ---- devices and memory ---- */

static void name_device(const tide_model *m, uint32_t d, tide_run_summary *out)
{
	size_t n;
	const char *name = tide__text(m, m->devices.name[d], &n);
	copy(out->device, sizeof out->device, name, n);
	if (!out->device[0])
		tide__device_name(m, d, out->device, sizeof out->device);
}

static bool better(const tide_model *m, const tide_usage *u, uint32_t d, uint32_t best)
{
	bool host = m->devices.kind[d] == TIDE_DEVICE_HOST,
	     best_host = m->devices.kind[best] == TIDE_DEVICE_HOST;
	if (!u->devices[d].peak)
		return false;
	if (!best || host != best_host)
		return !best || best_host;
	return u->devices[d].peak > u->devices[best].peak;
}

static void draw(const tide_usage *u, uint32_t d, tide_run_summary *out)
{
	const uint64_t *v = u->live_series + d * u->buckets;
	uint64_t top = 1;
	for (size_t i = 0; i < u->buckets; i++)
		top = v[i] > top ? v[i] : top;
	for (size_t i = 0; i < u->buckets; i++)
		out->spark[i] = (uint8_t)((double)v[i] / (double)top * 31 + 0.5);
	out->n_spark = (uint8_t)u->buckets;
}

static tide_code memory(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_usage u;
	uint32_t best = 0;
	if (m->allocs.n < 2)
		return TIDE_OK;
	tide_code rc = tide__find_usage(m, UINT64_MAX, TIDE_RUN_SPARK, &u, err);
	for (uint32_t d = 1; rc == TIDE_OK && d < m->devices.n; d++)
		best = better(m, &u, d, best) ? d : best;
	if (rc == TIDE_OK && best) {
		out->peak_bytes = (int64_t)u.devices[best].peak;
		if (m->devices.capacity[best])
			out->capacity_bytes = (int64_t)m->devices.capacity[best];
		name_device(m, best, out);
		draw(&u, best, out);
	}
	tide__usage_free(&u);
	return rc;
}

/* ---- time ---- */

static tide_code steps(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_steps s;
	tide_code rc = tide__steps_find(m, &s, err);
	if (rc != TIDE_OK)
		return rc;
	out->steps = (int64_t)s.n;
	int64_t median = m->axis == TIDE_AXIS_TIME ? tide__steps_median(&s) : -1;
	out->step_ns = median > 0 ? median : -1; /* 0: events without times */
	tide__steps_free(&s);
	return TIDE_OK;
}

/* Names the first device whose streams have work. */
static void name_worker(const tide_model *m, tide_run_summary *out)
{
	for (size_t i = 1; i < m->lanes.n && !out->device[0]; i++)
		if (m->lanes.kind[i] == TIDE_LANE_STREAM && m->lanes.device[i].i)
			name_device(m, m->lanes.device[i].i, out);
}

static tide_code device_time(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_hta_job *job = NULL;
	tide_code rc = tide__hta_job_find(m, m->path ? m->path : "", &job, err);
	if (rc == TIDE_OK && job && job->sum->h.kernel_time > 0)
		out->busy_ppm =
			(int64_t)((double)job->sum->h.busy / (double)job->sum->h.kernel_time * 1e6);
	if (out->busy_ppm >= 0)
		name_worker(m, out); /* unless its memory named it */
	tide__hta_job_free(job);
	return rc;
}

static tide_code compile(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	tide_compile_report r;
	if (strcmp(out->format, "torchtrace") != 0)
		return TIDE_OK;
	tide_code rc = tide__compile_report_find(m, &r, err);
	if (rc == TIDE_OK) {
		out->compile_ns = r.total_ns;
		out->graph_breaks = (int64_t)r.graph_breaks;
		tide__compile_report_free(&r);
	}
	return rc;
}

static uint64_t losses(const tide_model *m)
{
	uint64_t n = 0;
	for (size_t i = 0; i < m->facts.n; i++)
		n += !strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5) &&
		     (m->facts.text[i].i || m->facts.number[i]);
	return n;
}

uint8_t tide__run_what(const tide_model *m)
{
	unsigned has = TIDE_HAS_KNOWN;
	has |= m->allocs.n > 1 ? TIDE_HAS_MEMORY : 0;
	has |= m->format && !strcmp(m->format, "torchtrace") ? TIDE_HAS_COMPILE : 0;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		unsigned side = tide__side(m, i);
		has |= side == TIDE_SIDE_CPU ? TIDE_HAS_HOST : 0;
		has |= side == TIDE_SIDE_GPU ? TIDE_HAS_DEVICE : 0;
		if ((has & (TIDE_HAS_HOST | TIDE_HAS_DEVICE)) == (TIDE_HAS_HOST | TIDE_HAS_DEVICE))
			break;
	}
	return (uint8_t)has;
}

tide_code tide__run_summarize(const tide_model *m, tide_run_summary *out, tide_error *err)
{
	memset(out, 0, sizeof *out); /* clears padding too: the struct is stored as bytes */
	out->start_ns = m->wall_known ? m->wall0_ns : -1;
	out->duration_ns = m->t_end;
	out->peak_bytes = out->capacity_bytes = out->step_ns = out->steps = -1;
	out->busy_ppm = out->rank = out->compile_ns = out->graph_breaks = -1;
	if (m->format)
		copy(out->format, sizeof out->format, m->format, strlen(m->format));
	name_program(m, out);
	name_session(m, out->program, sizeof out->program);
	for (size_t p = 1; p < m->processes.n && out->rank < 0; p++)
		out->rank = m->processes.rank[p];
	out->losses = losses(m);
	out->has = tide__run_what(m);
	out->partial = tide__lacks_part(m);
	tide_code rc = memory(m, out, err);
	rc = rc == TIDE_OK ? steps(m, out, err) : rc;
	rc = rc == TIDE_OK ? device_time(m, out, err) : rc;
	return rc == TIDE_OK ? compile(m, out, err) : rc;
}
