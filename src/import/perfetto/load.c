// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads all packets, then passes their events to the Kineto importer. */
#include "import/perfetto/perfetto.h"

#include "base/error.h"
#include "import/kineto/kineto.h"
#include "import/perfetto/perfetto_impl.h"
#include "import/source.h"

static void fini(pf_trace *t)
{
	for (size_t i = 0; i < t->n_blobs; i++)
		tide__free(t->blobs[i]);
	tide__free(t->blobs);
	tide__free(t->events);
	tide__free(t->tracks);
	tide__free(t->sequences);
	tide__free(t->texts);
	tide__free(t->clocks);
	tide__free(t->legacy);
	tide__free(t->who.s);
	tide__map_free(&t->track_of);
	tide__map_free(&t->sequence_of);
	tide__map_free(&t->text_of);
	tide__map_free(&t->clock_of);
}

static tide_code convert(pf_events *g, const tide_load_options *opt, tide_model *m, tide_error *err)
{
	tide_source *src;
	tide_load_options how = *opt;
	unsigned all = ~(unsigned)(TIDE_WANT_RAW | TIDE_WANT_SHAPES);
	/* places of events are places in JSON that exists nowhere */
	how.what = (opt->what ? opt->what : all) & ~(unsigned)TIDE_WANT_ARGS;
	how.what = how.what ? how.what : TIDE_WANT_SPANS;
	how.progress = NULL;
	tide_code rc = tide__source_open_made(tide__pf_events_fill, g, &src, err);
	if (rc == TIDE_OK)
		rc = tide__kineto_load(src, &how, 0, m, err);
	tide__source_close(src);
	return g->out.failed ? tide__nomem(err) : rc;
}

static tide_code nothing(const pf_trace *t, tide_error *err)
{
	return tide__fail(err, TIDE_EFORMAT, 0,
			  t->unread ? "a Perfetto trace without slices or counters: it has only "
				      "other data (scheduling, heap profiles, samples)"
				    : "a Perfetto trace without slices or counters");
}

tide_code tide__perfetto_import(const uint8_t *data, size_t n, const tide_load_options *opt,
				tide_model *m, tide_error *err)
{
	pf_trace t = { .err = err, .data = data, .trace_clock = 6 };
	pf_events g = { .t = &t };
	pf_track *track = TIDE_PUSH(&t, tracks);
	pf_sequence *sequence = TIDE_PUSH(&t, sequences);
	bool ok = track && sequence;
	if (ok) { /* row 0 is none */
		*track = (pf_track){ 0 };
		*sequence = (pf_sequence){ 0 };
	} else {
		tide__pf_nomem(&t);
	}
	ok = ok && tide__pf_read(&t, tide__pb_of(data, n)) && tide__pf_name_tracks(&t);
	if (ok && !t.n_events && !t.n_legacy)
		t.rc = nothing(&t, err);
	else if (ok && !tide__pf_events_begin(&g))
		t.rc = tide__nomem(err);
	else if (ok)
		t.rc = convert(&g, opt, m, err);
	tide__pf_events_fini(&g);
	fini(&t);
	return t.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)4 << 30, 0, &in, err);
	if (!rc)
		rc = tide__perfetto_import(in.data, in.n, opt, m, err);
	tide__free(in.data);
	return rc;
}

/* Returns true for fields that a TracePacket has, of these types, and other messages do not. */
static bool of_packet(uint64_t number, unsigned type)
{
	static const uint8_t messages[] = { 6, 12, 33, 36, 43, 44, 50, 59, 60, 89, 124, 126, 133 };
	if (type == TIDE_PB_VARINT)
		return number == 8 || number == 10 || number == 87;
	for (size_t i = 0; i < sizeof messages && type == TIDE_PB_BYTES; i++)
		if (messages[i] == number)
			return true;
	return false;
}

/* Packets: the first has such a field, and may continue beyond these bytes. */
static int sniff(const uint8_t *head, size_t n)
{
	tide_pb p = tide__pb_of(head, n);
	tide_pb_field f;
	uint64_t size, tag;
	if (n < 4 || head[0] != (1 << 3 | TIDE_PB_BYTES))
		return 0;
	p.at++;
	if (!tide__pb_varint(&p, &size))
		return 0;
	p.end = size < (uint64_t)(p.end - p.at) ? p.at + size : p.end;
	while (p.at < p.end) {
		tide_pb peek = p;
		if (!tide__pb_varint(&peek, &tag))
			return 0;
		if (of_packet(tag >> 3, tag & 7))
			return 85;
		if (!tide__pb_next(&p, &f))
			return 0;
	}
	return 0;
}

const tide_importer tide__import_perfetto = {
	.name = "perfetto",
	.what = "Perfetto trace (.pftrace), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
