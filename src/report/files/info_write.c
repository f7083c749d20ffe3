// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/files/info_write.h"
#include "render/text/labels.h"

#include <inttypes.h>
#include <string.h>

struct table {
	const char *name, *what;
	size_t n;
};

enum { MAX_TABLES = 32 };

static size_t tables_of(const tide_model *m, struct table *t)
{
	size_t n = 0;
#define T(st, member, COLUMNS, none, doc) \
	t[n++] = (struct table){ #member, doc, m->member.n - (none ? 1 : 0) };
	TIDE_TABLES(T)
#undef T
	return n;
}

#define UNKNOWN .may = TIDE_MAY_BE_NULL
const tide_member tide__info_processes_members[] = {
	{ "pid", "Pid", TIDE_KIND_PLAIN, UNKNOWN, .meaning = "process id" },
	{ "parent_pid", NULL, TIDE_KIND_PLAIN, UNKNOWN, .meaning = "its parent" },
	{ "rank", "Rank", TIDE_KIND_PLAIN, UNKNOWN, .meaning = "rank" },
	{ "world", "World", TIDE_KIND_PLAIN, UNKNOWN, .meaning = "number of ranks" },
	{ "host", "Host", TIDE_KIND_TEXT, UNKNOWN, .meaning = "host name" },
	{ "command", "Command", TIDE_KIND_TEXT, UNKNOWN, .meaning = "command line" },
	{ 0 },
};

static tide_grid *processes(const tide_model *m)
{
	tide_grid *g = tide__grid_new(tide__info_processes_members, 6);
	for (size_t i = 1; i < m->processes.n; i++) {
		const int64_t v[] = { m->processes.pid[i], m->processes.parent_pid[i],
				      m->processes.rank[i], m->processes.world[i] };
		for (int k = 0; k < 4; k++)
			v[k] < 0 ? tide__grid_none(g) : tide__grid_int(g, v[k]);
		tide__grid_put_name(g, m, m->processes.host[i]);
		tide__grid_put_name(g, m, m->processes.command[i]);
	}
	return g;
}

const tide_member tide__info_devices_members[] = {
	{ "device", "Device", TIDE_KIND_TEXT, .meaning = "device" },
	{ "name", "Name", TIDE_KIND_TEXT, UNKNOWN, .meaning = "its model" },
	{ "capacity_bytes", "Memory", TIDE_KIND_BYTES, UNKNOWN, .meaning = "its memory" },
	{ 0 },
};

static tide_grid *devices(const tide_model *m)
{
	tide_grid *g = tide__grid_new(tide__info_devices_members, 3);
	for (uint32_t i = 1; i < m->devices.n; i++) {
		char name[64];
		tide__grid_text(g, tide__device_name(m, i, name, sizeof name));
		tide__grid_put_name(g, m, m->devices.name[i]);
		tide__grid_put_known(g, m->devices.capacity[i]);
	}
	return g;
}

const tide_member tide__info_pools_members[] = {
	{ "device", "Device", TIDE_KIND_TEXT, .meaning = "device" },
	{ "pool", "Pool", TIDE_KIND_TEXT, UNKNOWN, .meaning = "name" },
	{ "kind", "Kind", TIDE_KIND_TEXT, .meaning = "what the pool is" },
	{ "capacity_bytes", "Capacity", TIDE_KIND_BYTES, UNKNOWN, .meaning = "its size" },
	{ "banks", "Banks", TIDE_KIND_COUNT, UNKNOWN, .meaning = "its banks" },
	{ 0 },
};

static tide_grid *pools(const tide_model *m)
{
	tide_grid *g = tide__grid_new(tide__info_pools_members, 5);
	for (uint32_t i = 1; i < m->pools.n; i++) {
		char name[64];
		tide__grid_text(g, tide__device_name(m, m->pools.device[i].i, name, sizeof name));
		tide__grid_put_name(g, m, m->pools.name[i]);
		tide__grid_text(g, tide__pool_kind_text(m->pools.kind[i]));
		tide__grid_put_known(g, m->pools.capacity[i]);
		tide__grid_put_known(g, m->pools.banks[i]);
	}
	return g;
}

const tide_member tide__info_lanes_members[] = {
	{ "kind", "Kind", TIDE_KIND_TEXT, .meaning = "thread, stream or queue" },
	{ "number", "Number", TIDE_KIND_PLAIN, .meaning = "its number" },
	{ "name", "Name", TIDE_KIND_TEXT, UNKNOWN, .meaning = "its name" },
	{ "process", "Process", TIDE_KIND_PLAIN, UNKNOWN, .meaning = "process id" },
	{ "device", "Device", TIDE_KIND_TEXT, UNKNOWN, .meaning = "device" },
	{ 0 },
};

static tide_grid *lanes(const tide_model *m)
{
	tide_grid *g = tide__grid_new(tide__info_lanes_members, 5);
	for (uint32_t i = 1; i < m->lanes.n; i++) {
		char name[64];
		uint32_t p = m->lanes.process[i].i, d = m->lanes.device[i].i;
		tide__grid_text(g, tide__lane_kind_text(m->lanes.kind[i]));
		tide__grid_int(g, m->lanes.number[i]);
		tide__grid_put_name(g, m, m->lanes.name[i]);
		bool known = p && m->processes.pid[p] >= 0;
		known ? tide__grid_int(g, m->processes.pid[p]) : tide__grid_none(g);
		tide__grid_text(g, d ? tide__device_name(m, d, name, sizeof name) : NULL);
	}
	return g;
}

static void section(const tide_out *to, const char *title, tide_grid *g)
{
	if (tide__grid_rows(g)) {
		fprintf(to->out, "\n%s\n", title);
		tide__grid_print(g, to->out, &to->style, 2);
	}
	tide__grid_free(g);
}

static void print_facts(const tide_out *to, const tide_model *m)
{
	static const tide_grid_col cols[] = {
		{ "key", "Fact", TIDE_CELL_TEXT },
		{ "value", "Value", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 2);
	for (size_t i = 0; i < m->facts.n; i++) {
		char num[32];
		if (tide__loss_key(tide__text(m, m->facts.key[i], NULL)))
			continue;
		snprintf(num, sizeof num, "%" PRId64, m->facts.number[i]);
		tide__grid_put_name(g, m, m->facts.key[i]);
		if (m->facts.text[i].i)
			tide__grid_put_name(g, m, m->facts.text[i]);
		else
			tide__grid_text(g, tide__fact_is_text(m, i) ? "\"\"" : num);
	}
	section(to, "facts", g);
}

static void print_tables(const tide_out *to, const tide_model *m)
{
	static const tide_grid_col cols[] = {
		{ "table", "Table", TIDE_CELL_TEXT },
		{ "rows", "Rows", TIDE_CELL_COUNT },
		{ "what", "Holds", TIDE_CELL_TEXT },
	};
	struct table t[MAX_TABLES];
	size_t n = tables_of(m, t);
	tide_grid *g = tide__grid_new(cols, 3);
	for (size_t i = 0; i < n; i++) {
		if (!t[i].n)
			continue;
		tide__grid_text(g, t[i].name);
		tide__grid_uint(g, t[i].n);
		tide__grid_text(g, t[i].what);
	}
	section(to, "tables", g);
}

void tide__info_text(const tide_model *m, const char *file, const tide_out *to)
{
	char buf[64];
	fprintf(to->out, "file      ");
	tide__put_text(to, file);
	fprintf(to->out, "\nformat    %s\n", m->format ? m->format : "unknown");
	if (m->axis == TIDE_AXIS_OPS)
		fprintf(to->out, "length    %s operations; the source has no clock\n",
			tide__fmt_count(buf, sizeof buf, m->t_end / TIDE_OP_NS));
	else
		fprintf(to->out, "duration  %s, first event to last\n",
			tide__fmt_ns(buf, sizeof buf, (double)m->t_end));
	fprintf(to->out, "started   %s\n",
		m->wall_known ? tide__wall_text(m->wall0_ns, buf, sizeof buf) : "unknown");
	fprintf(to->out, "loaded    %s of Tidemark's own memory\n",
		tide__fmt_bytes(buf, sizeof buf, (double)tide__model_bytes(m)));
	section(to, "processes", processes(m));
	section(to, "devices", devices(m));
	section(to, "pools", pools(m));
	section(to, "lanes", lanes(m));
	print_tables(to, m);
	print_facts(to, m);
	tide__put_model_losses(to, m);
}

static void json_facts(tide_json *j, const tide_model *m)
{
	tide__json_kobject(j, "facts");
	for (size_t i = 0; i < m->facts.n; i++) {
		size_t n;
		const char *text = tide__text(m, m->facts.text[i], &n);
		tide__json_key(j, tide__text(m, m->facts.key[i], NULL));
		if (tide__fact_is_text(m, i))
			tide__json_strn(j, text, n);
		else
			tide__json_int(j, m->facts.number[i]);
	}
	tide__json_object_end(j);
}

void tide__info_json(const tide_model *m, const char *file, tide_json *j)
{
	struct table t[MAX_TABLES];
	size_t n = tables_of(m, t);
	tide__json_kstr(j, "file", file);
	tide__json_kstr(j, "format", m->format);
	tide__json_kint(j, "duration_ns", m->t_end);
	tide__start_json(j, m);
	tide__json_kuint(j, "model_bytes", tide__model_bytes(m));
	tide__grid_write_member(processes(m), j, "processes");
	tide__grid_write_member(devices(m), j, "devices");
	tide__grid_write_member(pools(m), j, "pools");
	tide__grid_write_member(lanes(m), j, "lanes");
	tide__json_kobject(j, "tables");
	for (size_t i = 0; i < n; i++)
		tide__json_kuint(j, t[i].name, t[i].n);
	tide__json_object_end(j);
	json_facts(j, m);
	tide__losses_json(j, m);
}
