// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* speedscope's own file: shared frames; one evented profile per track in time order (strictly
 * nested), then sampled ones for GPU work by launch and for memory at the peak. */
#include <string.h>

#include "analyze/timeline/tracks.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/export/export.h"
#include "render/text/json.h"
#include "render/report/ops/timeline.h"

typedef struct speedscope {
	const tide_model *m;
	tide_json j;
	tide_tracks nest;
	tide_flame *gpu, *memory;	/* owned; NULL = nothing there */
	uint32_t *frame;		/* owned: per text of the model, its frame + 1; 0 = none */
	uint32_t gpu_base, memory_base; /* frames of the flames' texts start here */
} speedscope;

static void frame(tide_json *j, const char *s, size_t n)
{
	tide__json_object(j);
	tide__json_kstrn(j, "name", n ? s : "unknown", n ? n : 7);
	tide__json_object_end(j);
}

/* Writes a frame of a call stack: function, file and line separately. */
static void code_frame(speedscope *w, tide_frame_id id)
{
	const tide_frames *fr = &w->m->frames;
	tide__json_object(&w->j);
	if (fr->function[id.i].i)
		tide__json_ktext(&w->j, "name", w->m, fr->function[id.i]);
	else
		tide__json_kstr(&w->j, "name", "unknown");
	if (fr->file[id.i].i)
		tide__json_ktext(&w->j, "file", w->m, fr->file[id.i]);
	if (fr->line[id.i])
		tide__json_kuint(&w->j, "line", fr->line[id.i]);
	tide__json_object_end(&w->j);
}

/* Writes one frame per text of the flame graph, in their order. */
static bool flame_frames(speedscope *w, const tide_flame *f, uint32_t *count)
{
	*count = f ? tide__strings_count(f->strings) : 0;
	tide_frame_id *code = tide__calloc((size_t)*count + 1, sizeof *code);
	if (!code)
		return false;
	for (uint32_t i = 0; f && i < f->nodes.n; i++)
		code[f->nodes.name[i]] = f->nodes.frame[i];
	for (uint32_t id = 1; id <= *count; id++) {
		size_t n;
		const char *s = tide__strings_get(f->strings, id, &n);
		if (code[id].i)
			code_frame(w, code[id]);
		else
			frame(&w->j, s, n);
	}
	tide__free(code);
	return true;
}

static bool frames(speedscope *w)
{
	const tide_model *m = w->m;
	uint32_t n_frames = 0;
	tide__json_kobject(&w->j, "shared");
	tide__json_karray(&w->j, "frames");
	for (uint32_t i = 1; i < m->spans.n; i++) {
		tide_str name = m->spans.name[i];
		size_t n;
		if (w->frame[name.i])
			continue;
		const char *s = tide__text(m, name, &n);
		frame(&w->j, s, n);
		w->frame[name.i] = ++n_frames;
	}
	w->gpu_base = n_frames;
	bool ok = flame_frames(w, w->gpu, &n_frames);
	w->memory_base = w->gpu_base + n_frames;
	ok = ok && flame_frames(w, w->memory, &n_frames);
	tide__json_array_end(&w->j);
	tide__json_object_end(&w->j);
	return ok;
}

static void event(speedscope *w, const char *type, uint32_t span, int64_t t)
{
	tide__json_object(&w->j);
	tide__json_kstr(&w->j, "type", type);
	tide__json_kuint(&w->j, "frame", w->frame[w->m->spans.name[span].i] - 1);
	tide__json_kint(&w->j, "at", t);
	tide__json_object_end(&w->j);
}

static void on_begin(void *user, uint32_t span, int64_t t)
{
	event(user, "O", span, t);
}

static void on_end(void *user, uint32_t span, int64_t t)
{
	event(user, "C", span, t);
}

static void begin_profile(speedscope *w, const char *type, const char *name, const char *unit,
			  int64_t start, int64_t end)
{
	tide__json_object(&w->j);
	tide__json_kstr(&w->j, "type", type);
	tide__json_kstr(&w->j, "name", name);
	tide__json_kstr(&w->j, "unit", unit);
	tide__json_kint(&w->j, "startValue", start);
	tide__json_kint(&w->j, "endValue", end);
}

static bool evented(speedscope *w, uint32_t k)
{
	const tide_track_walk walk = { on_begin, on_end, w };
	const tide_track *t = &w->nest.tracks[k];
	const tide_model *m = w->m;
	int64_t start = m->spans.t0[w->nest.order[t->first]], end = start;
	char name[200];
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t e = tide__track_end(&w->nest, m, w->nest.order[t->first + i]);
		end = e > end ? e : end;
	}
	tide__lane_write_label(m, t->lane, name, 160);
	if (t->number)
		snprintf(name + strlen(name), sizeof name - strlen(name), ", overlapping %u",
			 t->number);
	begin_profile(w, "evented", name, "nanoseconds", start, end);
	tide__json_karray(&w->j, "events");
	bool ok = tide__track_walk(&w->nest, m, k, &walk);
	tide__json_array_end(&w->j);
	tide__json_object_end(&w->j);
	return ok;
}

/* Writes a path, outermost first; the chain is collected in `path`, which holds any depth. */
static void sample(speedscope *w, const tide_flame *f, uint32_t node, uint32_t base, uint32_t *path)
{
	size_t n = 0;
	for (uint32_t i = node; i; i = f->nodes.parent[i])
		path[n++] = base + f->nodes.name[i] - 1;
	tide__json_array(&w->j);
	while (n)
		tide__json_uint(&w->j, path[--n]);
	tide__json_array_end(&w->j);
}

static bool sampled(speedscope *w, const tide_flame *f, const char *name, uint32_t base)
{
	if (!f)
		return true;
	uint32_t *path = tide__alloc(f->nodes.n, sizeof *path);
	if (!path)
		return false;
	begin_profile(w, "sampled", name, f->bytes ? "bytes" : "nanoseconds", 0,
		      (int64_t)f->nodes.total[0]);
	tide__json_karray(&w->j, "samples");
	for (uint32_t i = 0; i < f->nodes.n; i++)
		if (f->nodes.self[i])
			sample(w, f, i, base, path);
	tide__json_array_end(&w->j);
	tide__json_karray(&w->j, "weights");
	for (uint32_t i = 0; i < f->nodes.n; i++)
		if (f->nodes.self[i])
			tide__json_uint(&w->j, f->nodes.self[i]);
	tide__json_array_end(&w->j);
	tide__json_object_end(&w->j);
	tide__free(path);
	return true;
}

static bool profiles(speedscope *w, tide_export_stats *st)
{
	bool ok = true;
	for (uint32_t k = 1; ok && k < w->nest.n_tracks; k++) {
		st->extra_tracks += w->nest.tracks[k].number > 0;
		ok = evented(w, k);
	}
	return ok && sampled(w, w->gpu, "GPU time by launching op", w->gpu_base) &&
	       sampled(w, w->memory, "bytes alive at the peak", w->memory_base);
}

/* Builds a flame graph; *f is NULL if it is empty. */
static bool flame(const tide_model *m, const tide_export_options *opt, tide_flame_kind kind,
		  tide_flame **f, tide_error *err)
{
	tide_flame_options o = opt->flame;
	o.kind = kind;
	if (tide__find_flame(m, &o, f, err) != TIDE_OK)
		return false;
	if (!(*f)->nodes.total[0]) {
		tide__flame_free(*f);
		*f = NULL;
	}
	return true;
}

static bool prepare(speedscope *w, const tide_export_options *opt, tide_error *err)
{
	size_t texts = (size_t)tide__strings_count(w->m->strings) + 1;
	w->frame = tide__calloc(texts, sizeof *w->frame);
	return w->frame && tide__find_tracks(w->m, &w->nest, err) == TIDE_OK &&
	       flame(w->m, opt, TIDE_FLAME_GPU, &w->gpu, err) &&
	       flame(w->m, opt, TIDE_FLAME_MEMORY, &w->memory, err);
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	speedscope w = { .m = m };
	bool ok = prepare(&w, opt, err);
	tide__json_begin(&w.j, out, false);
	tide__json_object(&w.j);
	if (ok) {
		tide__json_kstr(&w.j, "$schema",
				"https://www.speedscope.app/file-format-schema.json");
		tide__json_kstr(&w.j, "exporter", "tidemark");
		tide__json_kstr(&w.j, "name", m->path ? m->path : "trace");
		ok = frames(&w);
		tide__json_karray(&w.j, "profiles");
		ok = ok && profiles(&w, st);
		tide__json_array_end(&w.j);
	}
	tide__json_object_end(&w.j);
	bool wrote = tide__json_end(&w.j);
	st->cut_texts = w.j.cut;
	st->cut_spans = w.nest.n_cut;
	tide__tracks_free(&w.nest);
	tide__flame_free(w.gpu);
	tide__flame_free(w.memory);
	tide__free(w.frame);
	return tide__export_end(!ok, !wrote, err);
}

const tide_exporter tide__export_speedscope = {
	.name = "speedscope",
	.what = "speedscope JSON: every lane in time order, GPU by launch, memory at the peak",
	.suffixes = ".speedscope.json,.speedscope",
	.write = write,
};
