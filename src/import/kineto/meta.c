// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Metadata of the document: top-level members become facts, devices and the wall-clock time of t
 * = 0; metadata events name processes and lanes. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/json/number.h"

typedef struct reading { /* one top-level value being read again */
	kin_build *b;
	const char *prefix; /* of facts */
	int64_t id;	    /* deviceProperties: the current device */
	int64_t memory;
	jsonr_text *name;
	jsonr_text *device; /* its name in Tidemark's export */
	int64_t rank, world;
	int64_t base; /* baseTimeNanoseconds, 0 = absent */
	bool hip;
	unsigned facts; /* made so far */
} reading;

static bool fact(reading *r, jsonr *c, jsonr_slice key, jsonr_slice v)
{
	char text[160];
	int64_t n;
	int len = snprintf(text, sizeof text, "%s%.*s", r->prefix, (int)(key.n < 120 ? key.n : 120),
			   c->s.b + key.at);
	if (len <= 0 || v.type == '{')
		return true;
	if (++r->facts > KIN_METAS_MAX) {
		r->b->loss[KIN_LOSS_META]++;
		return true;
	}
	if (v.type != '"' && tide__jsonr_parse_i64(c->s.b + v.at, v.n, &n) == JSONR_NUM_OK)
		return tide__fact_set_number(r->b->m, text, n) || jsonr_oom(c);
	jsonr_text *t = tide__jsonr_slice_text(c, v);
	if (!t)
		return jsonr_oom(c);
	return tide__fact_text(r->b->m, text, t->s) || jsonr_oom(c);
}

static bool is(jsonr *c, jsonr_slice v, const char *text)
{
	return v.n == strlen(text) && !memcmp(c->s.b + v.at, text, v.n);
}

static int64_t whole(jsonr *c, jsonr_slice v, int64_t none)
{
	int64_t n;
	return tide__jsonr_parse_i64(c->s.b + v.at, v.n, &n) == JSONR_NUM_OK ? n : none;
}

static bool device_member(jsonr *c, void *user, jsonr_slice key, jsonr_slice v)
{
	reading *r = user;
	if (is(c, key, "id"))
		r->id = whole(c, v, -1);
	else if (is(c, key, "totalGlobalMem"))
		r->memory = whole(c, v, 0);
	else if (is(c, key, "name") && !(r->name = tide__jsonr_slice_text(c, v)))
		return jsonr_oom(c);
	else if (is(c, key, "tidemark_device") && !(r->device = tide__jsonr_slice_text(c, v)))
		return jsonr_oom(c);
	return true;
}

/* Parses "tt:0": kind and number of a device that has another number in this file. */
static void call_device(tide_devices *d, uint32_t row, const char *text)
{
	static const char *const kinds[] = {
#define X(name, number, text) [number] = text,
		TIDE_DEVICE_KINDS(X)
#undef X
	};
	const char *colon = strchr(text, ':');
	int64_t number;
	if (!colon || tide__jsonr_parse_i64(colon + 1, strlen(colon + 1), &number) != JSONR_NUM_OK)
		return;
	for (uint8_t k = TIDE_DEVICE_CUDA; k < sizeof kinds / sizeof *kinds; k++)
		if (!strncmp(text, kinds[k], (size_t)(colon - text)) && !kinds[k][colon - text]) {
			d->kind[row] = k;
			d->index[row] = number;
		}
}

static bool put_device(reading *r)
{
	tide_devices *d = &r->b->m->devices;
	uint32_t row = tide__kineto_get_device_row(r->b, TIDE_DEVICE_CUDA, r->id);
	if (!row)
		return false;
	d->capacity[row] = r->memory > 0 ? (uint64_t)r->memory : 0;
	if (r->name && r->name->len)
		d->name[row] = tide__intern_n(r->b->m, r->name->s, r->name->len);
	if (r->device)
		call_device(d, row, r->device->s);
	return true;
}

static size_t read_devices(jsonr *c, reading *r, size_t p)
{
	const char *b = c->s.b;
	for (p = jsonr_ws(b, p + 1); b[p] == '{';) {
		r->id = -1;
		r->memory = 0;
		r->name = r->device = NULL;
		p = tide__jsonr_parse_object(c, p, device_member, r);
		if (p == JSONR_FAIL)
			return p;
		if (r->id >= 0 && !put_device(r))
			return jsonr_nomem(c);
		p = jsonr_ws(b, p);
		p = b[p] == ',' ? jsonr_ws(b, p + 1) : p;
	}
	return p;
}

static bool distributed_member(jsonr *c, void *user, jsonr_slice key, jsonr_slice v)
{
	reading *r = user;
	if (is(c, key, "rank"))
		r->rank = whole(c, v, r->rank);
	if (is(c, key, "world_size"))
		r->world = whole(c, v, r->world);
	return fact(r, c, key, v);
}

/* Keeps losses from before the file was written (Tidemark's export). */
static bool loss_member(jsonr *c, void *user, jsonr_slice key, jsonr_slice v)
{
	static const char prefix[] = "loss.";
	bool loss = key.n > sizeof prefix && !memcmp(c->s.b + key.at, prefix, sizeof prefix - 1);
	return !loss || v.type == '[' || fact(user, c, key, v);
}

/* Reads a member by wrapping it as `{ "key": value }`. */
static bool top_member(jsonr *c, void *user, jsonr_slice key, jsonr_slice v)
{
	reading *r = user;
	if (is(c, key, "deviceProperties") && v.type == '[')
		return read_devices(c, r, v.at) != JSONR_FAIL || c->why != JSONR_NOMEM;
	if (is(c, key, "distributedInfo") && v.type == '{') {
		r->prefix = "distributed.";
		return tide__jsonr_parse_object(c, v.at, distributed_member, r) != JSONR_FAIL ||
		       c->why != JSONR_NOMEM;
	}
	if (is(c, key, "tidemark") && v.type == '{') {
		r->prefix = "";
		return tide__jsonr_parse_object(c, v.at, loss_member, r) != JSONR_FAIL ||
		       c->why != JSONR_NOMEM;
	}
	if (is(c, key, "baseTimeNanoseconds") && v.type == '0')
		r->base = whole(c, v, 0);
	r->hip |= is(c, key, "roctracer_version") || is(c, key, "hip_runtime_version");
	r->prefix = "kineto.";
	return v.type == '[' || v.type == '{' || fact(r, c, key, v);
}

static bool read_meta(reading *r, jsonr *c, const kin_meta *m)
{
	size_t n = (size_t)m->key->len + m->raw->len + 8;
	char *text = tide__calloc(n + JSONR_PAD, 1);
	if (!text || memchr(m->key->s, '"', m->key->len) || memchr(m->key->s, '\\', m->key->len)) {
		tide__free(text);
		return text;
	}
	char *p = text;
	*p++ = '{';
	*p++ = '"';
	memcpy(p, m->key->s, m->key->len);
	p += m->key->len;
	*p++ = '"';
	*p++ = ':';
	memcpy(p, m->raw->s, m->raw->len);
	p += m->raw->len;
	*p++ = '}';
	c->why = JSONR_OK;
	bool ok = tide__jsonr_scan_text(&c->s, text, (size_t)(p - text));
	if (ok && tide__jsonr_parse_object(c, 0, top_member, r) == JSONR_FAIL)
		ok = c->why != JSONR_NOMEM;
	tide__free(text);
	return ok;
}

/* Times of old traces count from the epoch (10^18 ns is in 2001), those of newer ones from a
 * base. */
static void set_wall(kin_build *b, int64_t base)
{
	tide_model *m = b->m;
	int64_t wall;
	if (b->t_min >= INT64_C(1000000000000000000)) {
		m->wall0_ns = b->t_min;
		m->wall_known = true;
	} else if (base > 0 && !__builtin_add_overflow(base, b->t_min, &wall)) {
		m->wall0_ns = wall;
		m->wall_known = true;
	}
}

static bool starts(const tide_model *m, tide_str s, const char *prefix)
{
	return !strncmp(tide__text(m, s, NULL), prefix, strlen(prefix));
}

/* Devices were created as CUDA devices; sets their real kind. */
static void set_device_kind(tide_model *m, bool hip)
{
	bool mtia = false;
	for (size_t i = 1; i < m->spans.n && !hip; i++) {
		hip = m->spans.cat[i] == TIDE_CAT_RUNTIME && starts(m, m->spans.name[i], "hip");
		mtia |= m->spans.cat[i] == TIDE_CAT_MTIA;
	}
	for (size_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] == TIDE_DEVICE_CUDA && (hip || mtia))
			m->devices.kind[i] = hip ? TIDE_DEVICE_HIP : TIDE_DEVICE_MTIA;
}

bool tide__kineto_add_metas(kin_build *b)
{
	jsonr c = { 0 };
	reading r = { .b = b, .rank = -1, .world = -1 };
	tide_model *m = b->m;
	bool ok = true;
	for (size_t i = 0; ok && i < b->n_metas; i++)
		ok = read_meta(&r, &c, &b->metas[i]);
	tide__jsonr_fini(&c);
	set_wall(b, r.base);
	set_device_kind(m, r.hip || b->seen.hip);
	for (size_t i = 1; i < m->processes.n; i++) {
		m->processes.rank[i] = r.rank;
		m->processes.world[i] = r.world;
	}
	for (size_t i = 1; i < m->pools.n; i++)
		if (m->pools.kind[i] == TIDE_POOL_DRAM)
			m->pools.capacity[i] = m->devices.capacity[m->pools.device[i].i];
	return ok;
}

/* Uses the last name given to a thread: it is the more specific one. */
bool tide__kineto_add_names(kin_build *b)
{
	tide_model *m = b->m;
	for (size_t i = 0; i < b->n_names; i++) {
		const kin_name *n = &b->names[i];
		uint64_t key = (uint64_t)n->a << 32 | n->b;
		if (n->kind == KIN_NAME_PROCESS) {
			uint32_t row = tide__map_get(&b->process_of, n->a);
			if (row)
				m->processes.command[row].i = n->name;
			continue;
		}
		if (n->kind != KIN_NAME_THREAD)
			continue;
		for (size_t k = 0; k < sizeof b->lane_of / sizeof *b->lane_of; k++) {
			uint32_t row = tide__map_get(&b->lane_of[k], key);
			if (row)
				m->lanes.name[row].i = n->name;
		}
	}
	/* streams belong to the process that has threads in the trace */
	for (size_t i = 1; i < m->lanes.n; i++)
		if (!m->lanes.process[i].i && m->processes.n > 1)
			m->lanes.process[i].i = 1;
	return true;
}
