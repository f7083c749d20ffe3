// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a random model in every export format, and its content as truth.json, for
 * check_exports.py to compare.   export_sample DIR SEED SPANS ALLOCS */
#include <inttypes.h>

#include "some_model.h"
#include "analyze/common/interval_set.h"
#include "render/export/export.h"
#include "render/text/json.h"

static FILE *open_in(const char *dir, const char *name)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void write_one(const char *dir, const tide_model *m, const char *name, const char *format,
		      bool gzip, tide_flame_kind kind)
{
	tide_error err;
	tide_export_stats st;
	tide_export_options o = { .flame = { .kind = kind } };
	FILE *f = open_in(dir, name);
	if (tide__export(tide__exporter_find(format), m, &o, gzip, f, &st, &err) != TIDE_OK) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		exit(1);
	}
	fclose(f);
}

/* Names that break careless writers. */
static void nasty_names(tide_model *m)
{
	static const char *const names[] = { "\"quoted\\\"",
					     "</script><img onerror=x>",
					     "semi;colon",
					     "line\nbreak\ttab\x01",
					     "bad \xff\xc0 utf8",
					     "ünïcödé 漢字",
					     "" };
	for (uint32_t i = 1; i < m->spans.n; i += 3)
		m->spans.name[i] = tide__intern(m, names[i / 3 % 7]);
}

static void arguments(tide_model *m)
{
	for (uint32_t i = 1; i < m->spans.n; i += 2) {
		size_t row;
		tide__table_push(&m->attrs, &tide_attrs_desc, &row);
		m->attrs.span[row].i = i;
		m->attrs.key[row] = tide__intern(m, i % 4 == 1 ? "Input \"Dims\"" : "bytes");
		if (i % 4 == 1)
			m->attrs.text[row] = tide__intern(m, "[[2, 3]]");
		else
			m->attrs.number[row] = INT64_MAX - i;
	}
}

static void some_flows(tide_model *m)
{
	for (uint32_t i = 1; i + 7 < m->spans.n; i += 5) { /* in order of (from, to) */
		size_t row;
		tide__table_push(&m->flows, &tide_flows_desc, &row);
		m->flows.from[row].i = i;
		m->flows.to[row].i = i % 2 ? i + 7 : i + 3;
		m->flows.kind[row] = TIDE_FLOW_FWD_BWD;
	}
}

static void truth_flows(const tide_model *m, tide_json *j)
{
	tide__json_key(j, "flows");
	tide__json_array(j);
	for (size_t k = 0; k < m->flows.n; k++) {
		tide__json_array(j);
		tide__json_uint(j, m->flows.from[k].i);
		tide__json_uint(j, m->flows.to[k].i);
		tide__json_array_end(j);
	}
	tide__json_array_end(j);
}

static void truth_spans(const tide_model *m, tide_json *j)
{
	tide__json_key(j, "spans");
	tide__json_array(j);
	for (uint32_t i = 1; i < m->spans.n; i++) {
		size_t n;
		const char *name = tide__text(m, m->spans.name[i], &n);
		tide__json_object(j);
		tide__json_kuint(j, "row", i);
		tide__json_key(j, "name");
		tide__json_strn(j, name, n);
		tide__json_kstr(j, "cat", tide__kineto_cat(m->spans.cat[i]));
		tide__json_kint(j, "t0", m->spans.t0[i]);
		tide__json_kint(j, "t1", m->spans.t1[i]);
		tide__json_kuint(j, "lane", m->spans.lane[i].i);
		tide__json_kint(j, "number", m->lanes.number[m->spans.lane[i].i]);
		tide__json_kuint(j, "cause", m->spans.cause[i].i);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void truth_totals(const tide_model *m, tide_json *j)
{
	static const char *const kinds[] = { "cpu", "gpu", "memory" };
	tide__json_key(j, "totals");
	tide__json_object(j);
	for (unsigned kind = 0; kind < 3; kind++) {
		tide_flame *f;
		tide_flame_options o = { .kind = (tide_flame_kind)kind };
		tide__find_flame(m, &o, &f, NULL);
		tide__json_kuint(j, kinds[kind], f->nodes.total[0]);
		tide__flame_free(f);
	}
	uint64_t all = 0;
	for (uint32_t i = 1; i < m->allocs.n; i++)
		all += m->allocs.size[i];
	tide__json_kuint(j, "allocated", all);
	tide__json_object_end(j);
}

int main(int argc, char **argv)
{
	tide_json j;
	if (argc != 5)
		return 2;
	tide_model *m =
		some_model((uint32_t)atoi(argv[2]), (size_t)atoi(argv[3]), (size_t)atoi(argv[4]));
	m->wall_known = true;
	m->wall0_ns = 1700000000123456789;
	nasty_names(m);
	arguments(m);
	some_flows(m);
	write_one(argv[1], m, "x.json", "chrome", false, 0);
	write_one(argv[1], m, "x.json.gz", "chrome", true, 0);
	write_one(argv[1], m, "x.pftrace", "perfetto", false, 0);
	write_one(argv[1], m, "x.speedscope.json", "speedscope", false, 0);
	write_one(argv[1], m, "cpu.pb.gz", "pprof", false, TIDE_FLAME_CPU);
	write_one(argv[1], m, "gpu.pb.gz", "pprof", false, TIDE_FLAME_GPU);
	write_one(argv[1], m, "memory.pb.gz", "pprof", false, TIDE_FLAME_MEMORY);
	write_one(argv[1], m, "cpu.folded", "folded", false, TIDE_FLAME_CPU);
	write_one(argv[1], m, "gpu.folded", "folded", false, TIDE_FLAME_GPU);
	write_one(argv[1], m, "memory.folded", "folded", false, TIDE_FLAME_MEMORY);
	FILE *f = open_in(argv[1], "truth.json");
	tide__json_begin(&j, f, false);
	tide__json_object(&j);
	truth_spans(m, &j);
	truth_flows(m, &j);
	truth_totals(m, &j);
	tide__json_object_end(&j);
	bool ok = tide__json_end(&j);
	fclose(f);
	tide__model_free(m);
	return ok ? 0 : 1;
}
