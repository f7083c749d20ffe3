// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/rewrite.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run/symbolise.h"
#include "format/rewrite.h"
#include "import/tide/unpack.h"
#include "render/text/format.h"
#include "render/text/json.h"

/* Returns the length of a name without an extension, if it has that extension. */
static size_t without(const char *name, size_t n, const char *ending)
{
	size_t k = strlen(ending);
	return n > k && !memcmp(name + n - k, ending, k) ? n - k : n;
}

/* Returns the length of the name without its compression ending. */
static size_t plain_name(const char *in)
{
	static const char *const endings[] = { ".gz", ".zst", ".zstd" };
	size_t n = strlen(in), k = n;
	for (size_t i = 0; k == n && i < sizeof endings / sizeof *endings; i++)
		k = without(in, n, endings[i]);
	return k;
}

static void name_output(char *out, size_t n, const char *in, const tide_value *output,
			const char *ending)
{
	if (output->set)
		snprintf(out, n, "%s", output->text);
	else
		snprintf(out, n, "%.*s%s", (int)without(in, plain_name(in), ".tide"), in, ending);
}

static void report_json(const tide_args *a, const char *out, const tide_rewrite *w)
{
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kstr(&j, "output", out);
	tide__json_kuint(&j, "events", w->events);
	tide__json_kuint(&j, "recovered_events", w->recovered);
	tide__json_kbool(&j, "was_closed", w->closed);
	tide__json_kbool(&j, "ring_file", w->rings);
	tide__json_kuint(&j, "bytes_in", w->bytes_in);
	tide__json_kuint(&j, "bytes_out", w->bytes_out);
	tide__json_kstr(&j, "damage", w->damage.code ? w->damage.text : NULL);
	if (w->damage.code)
		tide__json_kuint(&j, "damage_at", w->damage.offset);
	else
		tide__json_knull(&j, "damage_at");
	tide__json_kuint(&j, "gaps", w->gaps.n);
	tide__json_kuint(&j, "gap_bytes", w->gaps.bytes);
	tide__json_kstr(&j, "head_damage", tide__head_damage(w->head));
	tide__json_object_end(&j);
	tide__json_end(&j);
}

static void report(const tide_args *a, const char *out, const tide_rewrite *w, bool json)
{
	char text[320];
	if (json) {
		report_json(a, out, w);
		return;
	}
	tide__put_name(a->out, out, strlen(out), 0, false);
	fprintf(a->out, ": %" PRIu64 " events, %" PRIu64 " bytes", w->events, w->bytes_out);
	if (w->events)
		fprintf(a->out, ", %.2f bytes an event", (double)w->bytes_out / (double)w->events);
	fputc('\n', a->out);
	if (w->closed)
		fputs("the recording was closed: nothing had to be recovered\n", a->out);
	else if (!w->cut_short)
		fputs("the recording was closed, then damaged\n", a->out);
	else if (w->rings)
		fprintf(a->out,
			"the recording was not closed: %" PRIu64
			" events came from its ring file\n",
			w->recovered);
	else
		fputs("the recording was not closed and there is no ring file beside it: its last "
		      "events are missing\n",
		      a->out);
	const char *head = tide__head_damage(w->head);
	if (head)
		fprintf(a->out, "note: %s\n", head);
	if (w->gaps.n) {
		tide__file_gaps_text(&w->gaps, text, sizeof text);
		fprintf(a->out,
			"note: %s (byte %" PRIu64 "): %" PRIu64
			" bytes were left out, everything before and after is there\n",
			text, w->gaps.why.offset, w->gaps.bytes);
	}
	if (w->damage.code)
		fprintf(a->out, "note: %s (byte %" PRIu64 "): everything before it is there\n",
			w->damage.text, w->damage.offset);
}

static tide_code rewrite(const char *in, const char *out, int level, tide_rewrite *w,
			 tide_error *err)
{
	static const tide_load_options defaults = { 0 };
	char rings[PATH_MAX];
	tide_rewrite_from from = { .path = in };
	tide_unpacked u;
	tide_code rc = tide__unpack(in, &defaults, &u, err);
	if (u.fd >= 0) { /* the ring file was not compressed with it */
		snprintf(rings, sizeof rings, "%.*s", (int)plain_name(in), in);
		from = (tide_rewrite_from){
			.path = u.path, .rings = rings, .stored = u.stored, .ends = u.ends
		};
	}
	if (!rc)
		rc = tide__rewrite(&from, out, level, w, err);
	tide__unpacked_close(&u);
	return rc;
}

/* Names native frames in the file that was written. */
static tide_code add_names(const char *out, int level, tide_rewrite *w, tide_error *err)
{
	struct stat st;
	tide_objects objects = { 0 };
	tide_code rc = tide__symbolise(out, level, &objects, err);
	tide__objects_close(&objects);
	if (objects.unnamed)
		tide__cli_note("tidemark pack: %s", tide__unnamed_advice());
	if (!rc && stat(out, &st) == 0)
		w->bytes_out = (uint64_t)st.st_size;
	return rc;
}

int tide__cli_rewrite(const tide_args *a, const tide_value *output, const char *ending, int level,
		      bool names, bool tells, bool json)
{
	char out[PATH_MAX];
	const char *in = a->files[0];
	tide_rewrite w;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	name_output(out, sizeof out, in, output, ending);
	if (rewrite(in, out, level, &w, &err))
		return tide__cli_fail(in, &err);
	if (names && add_names(out, level, &w, &err))
		return tide__cli_fail(out, &err);
	report(a, out, &w, json);
	int rc = tide__cli_finish(a);
	bool lacks = w.gaps.n || (w.damage.code && !(w.cut_short && w.rings));
	return !rc && tells && lacks ? 4 : rc;
}
