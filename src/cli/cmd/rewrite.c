// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/rewrite.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/documents.h"
#include "cli/run/symbolise.h"
#include "format/rewrite.h"
#include "import/tide/unpack.h"
#include "render/text/format.h"

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

struct rewritten {
	const char *name; /* of the file that was written */
	const tide_rewrite *w;
};

static tide_code put_json(void *result, tide_json *j)
{
	const struct rewritten *r = result;
	const tide_rewrite *w = r->w;
	bool damaged = w->damage.code != TIDE_OK;
	tide__json_kstr(j, "output", r->name);
	tide__json_kuint(j, "events", w->events);
	tide__json_kuint(j, "recovered_events", w->recovered);
	tide__json_kbool(j, "was_closed", w->closed);
	tide__json_kbool(j, "ring_file", w->rings);
	tide__json_kuint(j, "bytes_in", w->bytes_in);
	tide__json_kuint(j, "bytes_out", w->bytes_out);
	tide__json_kstr(j, "damage", damaged ? w->damage.text : NULL);
	tide__json_kuint_if(j, "damage_at", damaged, w->damage.offset);
	tide__json_kuint(j, "gaps", w->gaps.n);
	tide__json_kuint(j, "gap_bytes", w->gaps.bytes);
	tide__json_kstr(j, "head_damage", tide__head_damage(w->head));
	return TIDE_OK;
}

static const tide_member members[] = {
	TIDE_MEMBER("output", TEXT, "the file that was written"),
	TIDE_MEMBER("events", COUNT, "events in it"),
	TIDE_MEMBER("recovered_events", COUNT, "of them from the ring file"),
	TIDE_MEMBER("was_closed", BOOL, "the recording was closed by its program"),
	TIDE_MEMBER("ring_file", BOOL, "a ring file was beside it"),
	TIDE_MEMBER("bytes_in", BYTES, "size of the recording"),
	TIDE_MEMBER("bytes_out", BYTES, "size of the file that was written"),
	TIDE_MEMBER_MAYBE("damage", TEXT, "why the recording could not be read to its end"),
	TIDE_MEMBER_MAYBE("damage_at", COUNT, "byte of the damage"),
	TIDE_MEMBER("gaps", COUNT, "damaged parts that were left out"),
	TIDE_MEMBER("gap_bytes", BYTES, "their bytes"),
	TIDE_MEMBER_MAYBE("head_damage", TEXT, "what is wrong with the head of the file"),
	{ 0 },
};

const tide_report_type tide__document_rewrite = {
	.name = "rewrite",
	.version = 1,
	.summary = "what `tidemark pack` or `tidemark recover` wrote",
	.members = members,
	.json = put_json,
};

static void put_text(const tide_args *a, const char *out, const tide_rewrite *w)
{
	char text[320];
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
	if (!json)
		put_text(a, out, &w);
	int rc = json ? tide__document_put(a, &tide__document_rewrite,
					   &(struct rewritten){ out, &w })
		      : tide__cli_finish(a);
	bool lacks = w.gaps.n || (w.damage.code && !(w.cut_short && w.rings));
	return !rc && tells && lacks ? 4 : rc;
}
