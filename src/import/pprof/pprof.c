// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two passes over the message: tables first (they may come after the samples that use them), then
 * samples. A sample says how many blocks of one stack are alive and their bytes; each block becomes
 * an allocation, so counts and bytes of every report equal the profile's. */
#include "import/pprof/pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/pb/pb.h"
#include "import/source.h"

enum { /* Profile */
       P_SAMPLE_TYPE = 1,
       P_SAMPLE = 2,
       P_MAPPING = 3,
       P_LOCATION = 4,
       P_FUNCTION = 5,
       P_STRING = 6,
       P_TIME = 9,
       P_PERIOD_TYPE = 11,
       P_PERIOD = 12,
       P_LAST = 16, /* no profile has fields beyond */
};
enum {
	MOST_INLINED = 64,     /* functions at one address */
	MOST_FRAMES = 4096,    /* in one stack */
	MOST_LABELS = 64,      /* different pools */
	MOST_BLOCKS = 1 << 18, /* alive blocks that become allocations of their own */
};
#define MOST_BYTES (UINT64_C(1) << 48) /* of one sample */

typedef struct text {
	const char *s;
	size_t n;
} text;

typedef struct messages {
	tide_pb *v; /* owned */
	size_t n, cap;
	tide_map of; /* id -> index + 1 */
} messages;

typedef struct value_type {
	uint64_t type, unit; /* texts */
} value_type;

typedef struct labelled { /* the pool of blocks with these labels */
	tide_str device, kind;
	uint32_t row;
} labelled;

typedef struct profile {
	tide_model *m;
	const uint8_t *data;
	size_t n;
	text *texts;
	size_t n_texts, cap_texts;
	messages locations, functions, mappings;
	value_type types[64];
	size_t n_types;
	int bytes, objects; /* which value; -1 = none */
	int64_t time, period;
	uint64_t blocks; /* alive, of all samples */
	bool merge;	 /* a sample becomes one allocation */
	labelled pools[MOST_LABELS];
	size_t n_pools;
	uint64_t next; /* address */
	uint64_t undefined, negative, merged;
	tide_code rc;
	tide_error *err;
} profile;

static bool nomem(profile *p)
{
	p->rc = tide__nomem(p->err);
	return false;
}

static bool damaged(profile *p, const uint8_t *at)
{
	p->rc = tide__fail(p->err, TIDE_ECORRUPT, (uint64_t)(at - p->data), "not a protobuf field");
	return false;
}

/* ---- tables ---- */

static bool put_text(profile *p, const tide_pb_field *f)
{
	if (!TIDE_ROOM(p->texts, p->cap_texts, p->n_texts + 1))
		return nomem(p);
	p->texts[p->n_texts++] = (text){ (const char *)f->data, f->n };
	return true;
}

static uint64_t number_in(tide_pb message, uint32_t field)
{
	tide_pb_field f;
	uint64_t v = 0;
	while (tide__pb_next(&message, &f))
		if (f.number == field && f.type == TIDE_PB_VARINT)
			v = f.value;
	return v;
}

/* Keeps a message; the first with an id counts. */
static bool put_message(profile *p, messages *list, const tide_pb_field *f)
{
	tide_pb message = tide__pb_message(f);
	uint64_t id = number_in(message, 1);
	if (tide__map_get(&list->of, id))
		return true;
	if (list->n >= UINT32_MAX - 1 || !TIDE_ROOM(list->v, list->cap, list->n + 1) ||
	    !tide__map_put(&list->of, id, (uint32_t)list->n + 1))
		return nomem(p);
	list->v[list->n++] = message;
	return true;
}

static bool read_tables(profile *p)
{
	tide_pb all = tide__pb_of(p->data, p->n);
	tide_pb_field f;
	bool ok = true;
	while (ok && tide__pb_next(&all, &f)) {
		bool message = f.type == TIDE_PB_BYTES;
		if (f.number == P_STRING && message)
			ok = put_text(p, &f);
		else if (f.number == P_LOCATION && message)
			ok = put_message(p, &p->locations, &f);
		else if (f.number == P_FUNCTION && message)
			ok = put_message(p, &p->functions, &f);
		else if (f.number == P_MAPPING && message)
			ok = put_message(p, &p->mappings, &f);
		else if (f.number == P_SAMPLE_TYPE && message && p->n_types < 64)
			p->types[p->n_types++] = (value_type){ number_in(tide__pb_message(&f), 1),
							       number_in(tide__pb_message(&f), 2) };
		else if (f.number == P_TIME && !message)
			p->time = (int64_t)f.value;
		else if (f.number == P_PERIOD && !message)
			p->period = (int64_t)f.value;
	}
	return ok && (!all.bad || damaged(p, all.at));
}

static text text_of(profile *p, uint64_t i)
{
	if (i < p->n_texts)
		return p->texts[i];
	p->undefined++;
	return (text){ "", 0 };
}

static tide_str intern(profile *p, uint64_t i)
{
	text t = text_of(p, i);
	return t.n ? tide__intern_n(p->m, t.s, t.n) : (tide_str){ 0 };
}

static bool is(text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

/* Finds the values "alive bytes" and "alive blocks". */
static bool find_values(profile *p)
{
	static const char *const bytes[] = { "inuse_space", "space", "resident" },
				 *const objects[] = { "inuse_objects", "objects", "allocations" };
	p->bytes = p->objects = -1;
	for (size_t k = 3; k-- > 0;)
		for (size_t i = 0; i < p->n_types; i++) {
			if (is(text_of(p, p->types[i].type), bytes[k]) &&
			    is(text_of(p, p->types[i].unit), "bytes"))
				p->bytes = (int)i;
			if (is(text_of(p, p->types[i].type), objects[k]))
				p->objects = (int)i;
		}
	if (p->bytes >= 0)
		return true;
	text first = p->n_types ? text_of(p, p->types[p->n_types - 1].type) : (text){ "", 0 };
	p->rc = tide__fail(p->err, TIDE_EFORMAT, 0,
			   "a pprof profile of %.*s: only heap profiles (inuse_space or space in "
			   "bytes) are read",
			   first.n < 40 ? (int)first.n : 40, first.n ? first.s : "nothing");
	return false;
}

/* ---- stacks ---- */

static tide_str address_name(profile *p, uint64_t address)
{
	char name[24];
	snprintf(name, sizeof name, "0x%" PRIx64, address);
	return tide__intern(p->m, name);
}

static bool find(const messages *list, uint64_t id, tide_pb *out)
{
	uint32_t i = tide__map_get(&list->of, id);
	if (i)
		*out = list->v[i - 1];
	return i;
}

/* Returns a line's frame; none if memory runs out. */
static tide_frame_id line_frame(profile *p, tide_pb line)
{
	tide_pb function;
	tide_pb_field f;
	uint64_t name = 0, system = 0, file = 0, number = number_in(line, 2);
	if (!find(&p->functions, number_in(line, 1), &function)) {
		p->undefined++;
		function = (tide_pb){ 0 };
	}
	while (tide__pb_next(&function, &f)) {
		name = f.number == 2 ? f.value : name;
		system = f.number == 3 ? f.value : system;
		file = f.number == 4 ? f.value : file;
	}
	return tide__frame_intern(p->m, intern(p, name ? name : system), intern(p, file),
				  number <= INT32_MAX ? (uint32_t)number : 0);
}

/* Returns the frame of an address without functions: its mapping's file. */
static tide_frame_id address_frame(profile *p, tide_pb where)
{
	tide_pb mapping;
	tide_str file = { 0 };
	if (find(&p->mappings, number_in(where, 2), &mapping))
		file = intern(p, number_in(mapping, 5));
	return tide__frame_intern(p->m, address_name(p, number_in(where, 3)), file, 0);
}

/* Adds the frames of a location, the outermost of inlined functions first. */
static bool add_location(profile *p, uint64_t id, tide_stack_id *stack)
{
	tide_pb where, lines[MOST_INLINED];
	tide_pb_field f;
	size_t n = 0;
	if (!find(&p->locations, id, &where)) {
		p->undefined++;
		return true;
	}
	tide_pb rest = where;
	while (tide__pb_next(&rest, &f))
		if (f.number == 4 && f.type == TIDE_PB_BYTES && n < MOST_INLINED)
			lines[n++] = tide__pb_message(&f);
	for (size_t i = n ? n : 1; i-- > 0;) {
		tide_frame_id frame = n ? line_frame(p, lines[i]) : address_frame(p, where);
		*stack = tide__stack_intern(p->m, *stack, frame);
		if (!frame.i || !stack->i)
			return nomem(p);
	}
	return true;
}

/* ---- pools ---- */

static uint32_t device_row(profile *p, const char *name)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = { { "cpu", TIDE_DEVICE_HOST },
		      { "gpu", TIDE_DEVICE_CUDA },
		      { "cuda", TIDE_DEVICE_CUDA },
		      { "rocm", TIDE_DEVICE_HIP } };
	tide_devices *d = &p->m->devices;
	size_t n = strcspn(name, ":");
	uint8_t kind = TIDE_DEVICE_OTHER;
	uint64_t index = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && !strncasecmp(name, kinds[i].name, n))
			kind = kinds[i].kind;
	for (const char *s = name + n + (name[n] == ':'); *s >= '0' && *s <= '9' && index < 1 << 20;
	     s++)
		index = index * 10 + (uint64_t)(*s - '0');
	tide_str own = kind == TIDE_DEVICE_OTHER ? tide__intern_n(p->m, name, n) : (tide_str){ 0 };
	for (uint32_t i = 1; i < d->n; i++)
		if (d->kind[i] == kind && d->index[i] == (int64_t)index && d->name[i].i == own.i)
			return i;
	uint32_t row = tide__push(d, &tide_devices_desc);
	if (!row)
		return 0;
	d->kind[row] = kind;
	d->index[row] = (int64_t)index;
	d->name[row] = own;
	return row;
}

/* Returns the pool of a device and kind as labels name them; without labels it is malloc's. */
static uint32_t pool_of(profile *p, tide_str device, tide_str kind)
{
	tide_pools *t = &p->m->pools;
	for (size_t i = 0; i < p->n_pools; i++)
		if (p->pools[i].device.i == device.i && p->pools[i].kind.i == kind.i)
			return p->pools[i].row;
	if (p->n_pools == MOST_LABELS)
		return p->pools[MOST_LABELS - 1].row;
	char name[64] = "cpu";
	if (device.i)
		snprintf(name, sizeof name, "%s", tide__text(p->m, device, NULL));
	uint32_t on = device_row(p, name), row = on ? tide__push(t, &tide_pools_desc) : 0;
	if (!row)
		return 0;
	bool host = p->m->devices.kind[on] == TIDE_DEVICE_HOST;
	t->device[row].i = on;
	t->kind[row] = host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM;
	t->name[row] = kind.i ? kind : tide__intern(p->m, host && !device.i ? "malloc" : "");
	p->pools[p->n_pools++] = (labelled){ device, kind, row };
	return row;
}

static uint32_t pool_of_labels(profile *p, tide_pb sample)
{
	tide_pb_field f;
	tide_str device = { 0 }, kind = { 0 };
	while (tide__pb_next(&sample, &f)) {
		if (f.number != 3 || f.type != TIDE_PB_BYTES)
			continue;
		tide_pb label = tide__pb_message(&f);
		text key = text_of(p, number_in(label, 1));
		uint64_t value = number_in(label, 2);
		if (value && is(key, "device"))
			device = intern(p, value);
		else if (value && is(key, "kind"))
			kind = intern(p, value);
	}
	return pool_of(p, device, kind);
}

/* ---- samples ---- */

typedef struct sample {
	uint64_t bytes, blocks;
} sample;

/* Reads the two values. Returns false for one that cannot be alive memory. */
static bool read_values(profile *p, tide_pb message, sample *s)
{
	tide_pb_field f;
	int i = 0;
	int64_t bytes = 0, blocks = 0;
	while (tide__pb_next(&message, &f)) {
		uint64_t v;
		if (f.number != 2)
			continue;
		for (tide_pb list = tide__pb_list(&f); tide__pb_varint(&list, &v); i++) {
			bytes = i == p->bytes ? (int64_t)v : bytes;
			blocks = i == p->objects ? (int64_t)v : blocks;
		}
	}
	s->bytes = (uint64_t)bytes;
	s->blocks = bytes && !blocks ? 1 : (uint64_t)blocks;
	if (bytes >= 0 && blocks >= 0 && s->bytes < MOST_BYTES && s->blocks < MOST_BYTES)
		return true;
	p->negative++;
	return false;
}

static bool put_block(profile *p, uint64_t size, uint32_t pool, tide_stack_id stack, bool mean)
{
	tide_allocs *a = &p->m->allocs;
	size_t at;
	uint32_t row = tide__push(a, &tide_allocs_desc);
	if (!row || !tide__table_push(&p->m->memory_events, &tide_memory_events_desc, &at))
		return nomem(p);
	a->addr[row] = p->next;
	p->next += size ? size : 1;
	a->size[row] = a->requested[row] = size;
	a->died[row] = TIDE_T_NEVER;
	a->pool[row].i = pool;
	a->stack[row] = stack;
	a->basis[row] = mean ? TIDE_BASIS_INFERRED : TIDE_BASIS_EXACT;
	p->m->memory_events.row[at] = row;
	p->m->memory_events.kind[at] = TIDE_MEMORY_ALLOC;
	if (p->next < UINT64_C(1) << 62)
		return true;
	p->rc = tide__fail(p->err, TIDE_ELIMIT, TIDE_NO_OFFSET,
			   "its blocks total 2^62 bytes or more: sums would overflow");
	return false;
}

static bool put_blocks(profile *p, const sample *s, uint32_t pool, tide_stack_id stack)
{
	uint64_t rows = p->merge && s->blocks ? 1 : s->blocks;
	p->merged += s->blocks - rows;
	for (uint64_t i = 0; i < rows; i++)
		if (!put_block(p, s->bytes / rows + (i < s->bytes % rows), pool, stack,
			       s->blocks > 1 || p->period > 1))
			return false;
	return true;
}

static bool stack_of(profile *p, tide_pb message, tide_stack_id *stack)
{
	uint64_t ids[MOST_FRAMES];
	size_t n = 0;
	tide_pb_field f;
	while (tide__pb_next(&message, &f)) {
		uint64_t v;
		if (f.number != 1)
			continue;
		for (tide_pb list = tide__pb_list(&f); tide__pb_varint(&list, &v);)
			if (n < MOST_FRAMES)
				ids[n++] = v;
	}
	stack->i = 0;
	while (n > 0)
		if (!add_location(p, ids[--n], stack))
			return false;
	return true;
}

static bool put_sample(profile *p, tide_pb message)
{
	sample s = { 0 };
	tide_stack_id stack;
	if (!read_values(p, message, &s) || !s.blocks)
		return true;
	uint32_t pool = pool_of_labels(p, message);
	return pool ? stack_of(p, message, &stack) && put_blocks(p, &s, pool, stack) : nomem(p);
}

static bool each_sample(profile *p, bool (*take)(profile *, tide_pb))
{
	tide_pb all = tide__pb_of(p->data, p->n);
	tide_pb_field f;
	while (tide__pb_next(&all, &f))
		if (f.number == P_SAMPLE && f.type == TIDE_PB_BYTES &&
		    !take(p, tide__pb_message(&f)))
			return false;
	return true;
}

static bool count_blocks(profile *p, tide_pb message)
{
	sample s = { 0 };
	if (read_values(p, message, &s))
		p->blocks += s.blocks <= MOST_BLOCKS ? s.blocks : MOST_BLOCKS + 1;
	return true;
}

static bool put_facts(profile *p)
{
	tide_model *m = p->m;
	const char *basis =
		p->period > 1
			? "estimates of a sampled heap, alive when the profile was taken"
			: "alive when the profile was taken; blocks of one stack have their mean size";
	bool ok = tide__fact_text(m, "alloc.basis", basis) &&
		  tide__fact_text(m, "pprof.addresses", "made up: a profile has none");
	if (p->period > 1)
		ok = ok && tide__fact_set_number(m, "pprof.period", p->period);
	const struct {
		const char *key;
		uint64_t n;
	} losses[] = { { "loss.undefined_ids", p->undefined },
		       { "loss.bad_samples", p->negative },
		       { "loss.merged_blocks", p->merged } };
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (ok && losses[i].n)
			ok = tide__fact_set_number(m, losses[i].key,
						   losses[i].n < INT64_MAX ? (int64_t)losses[i].n
									   : INT64_MAX);
	if (p->time > 0) {
		m->wall0_ns = p->time;
		m->wall_known = true;
	}
	return ok || nomem(p);
}

static bool read_samples(profile *p)
{
	each_sample(p, count_blocks);
	p->merge = p->blocks > MOST_BLOCKS;
	p->negative = p->undefined = 0;
	p->next = 4096;
	return each_sample(p, put_sample) && put_facts(p);
}

static void messages_fini(messages *list)
{
	tide__free(list->v);
	tide__map_free(&list->of);
}

tide_code tide__pprof_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err)
{
	profile p = { .m = m, .data = data, .n = n, .err = err };
	if (read_tables(&p) && find_values(&p))
		read_samples(&p);
	tide__free(p.texts);
	messages_fini(&p.locations);
	messages_fini(&p.functions);
	messages_fini(&p.mappings);
	return p.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)2 << 30, 0, &in, err);
	if (!rc)
		rc = tide__pprof_import(in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

/* A value type: a message of the numbers 1 and 2 only. */
static bool is_value_type(const tide_pb_field *f)
{
	tide_pb in = tide__pb_message(f);
	tide_pb_field v;
	while (tide__pb_next(&in, &v))
		if (v.type != TIDE_PB_VARINT || v.number > 2)
			return false;
	return f->type == TIDE_PB_BYTES && f->n && f->n <= 12 && !in.bad;
}

/* The fields of a profile, with a value type among them. Go writes the period first, C++ the types. */
static int sniff(const uint8_t *head, size_t n)
{
	static const char types[P_LAST + 1] = ".bbbbbbnnnnbn.nnn"; /* bytes, number, either */
	tide_pb all = tide__pb_of(head, n);
	tide_pb_field f;
	size_t found = 0, fields = 0;
	for (; tide__pb_next(&all, &f); fields++) {
		char want = f.number <= P_LAST ? types[f.number] : 0;
		bool type = f.number == P_SAMPLE_TYPE || f.number == P_PERIOD_TYPE;
		bool fits = want == '.' || (want == 'b' && f.type == TIDE_PB_BYTES) ||
			    (want == 'n' && f.type == TIDE_PB_VARINT);
		if (!fits || (type && !is_value_type(&f)))
			return 0;
		found += f.number == P_SAMPLE_TYPE;
	}
	return found && fields > 1 ? 85 : 0;
}

const tide_importer tide__import_pprof = {
	.name = "pprof",
	.what = "heap profile in pprof's protobuf (Go, tcmalloc, jemalloc, JAX), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
