// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* pprof's profile.proto, gzipped: `go tool pprof`, speedscope, Perfetto and others read it.
 *
 * A sample is a node of the flame graph with a self value; a location is a name (with file and line
 * for a frame of a call stack). Time profiles have the values count and time; memory has the four
 * of heap profiles: alloc_objects, alloc_space, inuse_objects, inuse_space, where "in use" is alive
 * at the peak. */
#include <string.h>

#include "base/error.h"
#include "render/export/export.h"
#include "render/export/protobuf.h"

enum { /* Profile */
       F_SAMPLE_TYPE = 1,
       F_SAMPLE = 2,
       F_MAPPING = 3,
       F_LOCATION = 4,
       F_FUNCTION = 5,
       F_STRING = 6,
       F_TIME = 9,
       F_DURATION = 10,
       F_PERIOD_TYPE = 11,
       F_PERIOD = 12,
       F_DEFAULT_TYPE = 14,
};

/* Fixed texts come first in the string table, then the flame's, then files. */
static const char *const fixed[] = { "",
				     "spans",
				     "count",
				     "time",
				     "nanoseconds",
				     "alloc_objects",
				     "alloc_space",
				     "inuse_objects",
				     "inuse_space",
				     "bytes",
				     "tidemark" };
enum {
	S_SPANS = 1,
	S_COUNT,
	S_TIME,
	S_NS,
	S_ALLOC_OBJECTS,
	S_ALLOC_SPACE,
	S_INUSE_OBJECTS,
	S_INUSE_SPACE,
	S_BYTES,
	S_TIDEMARK,
	N_FIXED
};

typedef struct pprof {
	const tide_model *m;
	tide_flame *f;
	FILE *out;
	tide_proto p;
} pprof;

static void value_type(pprof *w, unsigned field, unsigned type, unsigned unit)
{
	size_t at = tide__proto_begin(&w->p, field);
	tide__proto_u64(&w->p, 1, type);
	tide__proto_u64(&w->p, 2, unit);
	tide__proto_end(&w->p, at);
}

static void types(pprof *w)
{
	if (w->f->bytes) {
		value_type(w, F_SAMPLE_TYPE, S_ALLOC_OBJECTS, S_COUNT);
		value_type(w, F_SAMPLE_TYPE, S_ALLOC_SPACE, S_BYTES);
		value_type(w, F_SAMPLE_TYPE, S_INUSE_OBJECTS, S_COUNT);
		value_type(w, F_SAMPLE_TYPE, S_INUSE_SPACE, S_BYTES);
	} else {
		value_type(w, F_SAMPLE_TYPE, S_SPANS, S_COUNT);
		value_type(w, F_SAMPLE_TYPE, S_TIME, S_NS);
	}
}

static bool is_sample(const tide_flame *f, uint32_t i)
{
	return f->nodes.self[i] || f->nodes.count[i];
}

static void sample(pprof *w, uint32_t node)
{
	const tide_nodes *t = &w->f->nodes;
	size_t at = tide__proto_begin(&w->p, F_SAMPLE), packed = tide__proto_begin(&w->p, 1);
	for (uint32_t i = node; i; i = t->parent[i]) /* leaf first */
		tide__proto_varint(&w->p, t->name[i]);
	tide__proto_end(&w->p, packed);
	packed = tide__proto_begin(&w->p, 2);
	tide__proto_varint(&w->p, t->count[node]);
	tide__proto_varint(&w->p, t->self[node]);
	if (w->f->bytes) {
		tide__proto_varint(&w->p, t->peak_count[node]);
		tide__proto_varint(&w->p, t->peak_bytes[node]);
	}
	tide__proto_end(&w->p, packed);
	tide__proto_end(&w->p, at);
	if (w->p.n > 1 << 18)
		tide__proto_flush(&w->p, w->out);
}

/* Writes location and function of a name, both with the number of the name, and the texts of its
 * function and file. */
static void location(pprof *w, uint32_t name, uint32_t line, uint32_t function, uint32_t file)
{
	size_t at = tide__proto_begin(&w->p, F_LOCATION);
	tide__proto_u64(&w->p, 1, name);
	tide__proto_u64(&w->p, 2, 1); /* mapping */
	size_t in = tide__proto_begin(&w->p, 4);
	tide__proto_u64(&w->p, 1, name);
	if (line)
		tide__proto_u64(&w->p, 2, line);
	tide__proto_end(&w->p, in);
	tide__proto_end(&w->p, at);
	at = tide__proto_begin(&w->p, F_FUNCTION);
	tide__proto_u64(&w->p, 1, name);
	tide__proto_u64(&w->p, 2, N_FIXED + (uint64_t)function - 1);
	tide__proto_u64(&w->p, 3, N_FIXED + (uint64_t)function - 1);
	if (file)
		tide__proto_u64(&w->p, 4, N_FIXED + (uint64_t)file - 1);
	tide__proto_end(&w->p, at);
}

/* Returns a text of the model among the flame's; 0 for none or if memory ran out. */
static uint32_t text_of(pprof *w, tide_str id)
{
	size_t n;
	const char *s = tide__text(w->m, id, &n);
	return n ? tide__flame_text(w->f, s, n) : 0;
}

/* Writes one location per name in use; frames of call stacks have function, file and line. */
static bool locations(pprof *w)
{
	const tide_nodes *t = &w->f->nodes;
	const tide_frames *fr = &w->m->frames;
	tide_map seen = { 0 };
	bool ok = true;
	for (uint32_t i = 1; ok && i < t->n; i++) {
		uint32_t name = t->name[i], frame = t->frame[i].i;
		if (tide__map_get(&seen, name))
			continue;
		ok = tide__map_put(&seen, name, 1);
		uint32_t function = frame ? text_of(w, fr->function[frame]) : 0;
		uint32_t file = frame ? text_of(w, fr->file[frame]) : 0;
		location(w, name, frame ? fr->line[frame] : 0, function ? function : name, file);
	}
	tide__map_free(&seen);
	return ok;
}

static void strings(pprof *w)
{
	for (size_t i = 0; i < N_FIXED; i++)
		tide__proto_str(&w->p, F_STRING, fixed[i]);
	for (uint32_t id = 1; id <= tide__strings_count(w->f->strings); id++) {
		size_t n;
		const char *s = tide__strings_get(w->f->strings, id, &n);
		tide__proto_text(&w->p, F_STRING, s, n);
	}
}

static bool body(pprof *w)
{
	types(w);
	for (uint32_t i = 0; i < w->f->nodes.n; i++)
		if (is_sample(w->f, i))
			sample(w, i);
	size_t at = tide__proto_begin(&w->p, F_MAPPING);
	tide__proto_u64(&w->p, 1, 1);
	tide__proto_u64(&w->p, 5, S_TIDEMARK);
	tide__proto_u64(&w->p, 7, 1); /* has_functions: nothing to look up in a binary */
	tide__proto_end(&w->p, at);
	if (!locations(w))
		return false;
	strings(w);
	if (w->m->wall_known)
		tide__proto_i64(&w->p, F_TIME, w->m->wall0_ns);
	tide__proto_i64(&w->p, F_DURATION, w->m->t_end);
	value_type(w, F_PERIOD_TYPE, w->f->bytes ? S_INUSE_SPACE : S_TIME,
		   w->f->bytes ? S_BYTES : S_NS);
	tide__proto_u64(&w->p, F_PERIOD, 1);
	tide__proto_u64(&w->p, F_DEFAULT_TYPE, w->f->bytes ? S_INUSE_SPACE : S_TIME);
	tide__proto_flush(&w->p, w->out);
	return true;
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	tide_flame_options o = opt->flame;
	pprof w = { .m = m, .out = out };
	o.allocated = true; /* self is all bytes, peak_bytes those alive at the peak */
	tide_code rc = tide__find_flame(m, &o, &w.f, err);
	if (rc == TIDE_OK) {
		bool ok = body(&w), bad = ferror(out);
		st->empty = !w.f->nodes.total[0];
		rc = tide__export_end(!ok || (w.p.failed && !bad), bad, err);
	}
	tide__flame_free(w.f);
	tide__proto_free(&w.p);
	return rc;
}

const tide_exporter tide__export_pprof = {
	.name = "pprof",
	.what = "pprof profile (gzipped protobuf): go tool pprof, speedscope, Perfetto",
	.suffixes = ".pb,.pprof",
	.binary = true,
	.gzip = true,
	.write = write,
};
