// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/rewrite.h"

#include <inttypes.h>
#include <string.h>

#include "render/json.h"

void tide__rewrite_name(char *out, size_t n, const char *in, const tide_value *output,
			const char *ending)
{
	size_t stem = strlen(in);
	if (output->set) {
		snprintf(out, n, "%s", output->text);
		return;
	}
	if (stem > 5 && !strcmp(in + stem - 5, ".tide"))
		stem -= 5;
	snprintf(out, n, "%.*s%s", (int)stem, in, ending);
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
	tide__json_object_end(&j);
	tide__json_end(&j);
}

void tide__rewrite_report(const tide_args *a, const char *out, const tide_rewrite *w, bool json)
{
	if (json) {
		report_json(a, out, w);
		return;
	}
	fprintf(a->out, "%s: %" PRIu64 " events, %" PRIu64 " bytes", out, w->events, w->bytes_out);
	if (w->events)
		fprintf(a->out, ", %.2f bytes an event", (double)w->bytes_out / (double)w->events);
	fputc('\n', a->out);
	if (w->closed)
		fputs("the recording was closed: nothing had to be recovered\n", a->out);
	else if (w->rings)
		fprintf(a->out,
			"the recording was not closed: %" PRIu64
			" events came from its ring file\n",
			w->recovered);
	else
		fputs("the recording was not closed and there is no ring file beside it: its last "
		      "events are missing\n",
		      a->out);
	if (w->damage.code)
		fprintf(a->out, "note: %s (byte %" PRIu64 "): everything before it is there\n",
			w->damage.text, w->damage.offset);
}
