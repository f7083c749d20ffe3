// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A head, then records of one byte (kind and flags) and numbers as differences to the last of their
 * kind. Records of a thread follow the one that names it; its Python frames are pushed and popped.
 * Pointers are in a list of the last 15, or written.
 *
 * A region of mmap may be unmapped in part: then it ends, and what is left of it begins again with
 * its stack. */
#include "import/memray/memray.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "import/heap_rows.h"
#include "import/source.h"

enum { OLDEST = 12, NEWEST = 13 }; /* versions of the head that are read */
enum { ALL_ALLOCATIONS = 0, RECENT = 15, MOST_DEEP = 1 << 16 };
enum { /* records without flags */
       R_FILLER = 0,
       R_TRAILER = 1,
       R_MEMORY = 2,
       R_NATIVE = 5,
       R_MAPS = 6,
       R_IMAGE = 7,
       R_SEGMENT = 8,
       R_THREAD = 10,
       R_SWITCH = 12,
       R_CODE = 14,
       /* with flags: the highest bit decides */
       R_POP = 16,
       R_OBJECT = 32,
       R_PUSH = 64,
       R_ALLOCATION = 128,
};
enum { PYMALLOC_FREE = 1, FREE = 5, MMAP = 14, MUNMAP = 15 };
#define MOST_BYTES (UINT64_C(1) << 48)

typedef struct code { /* a code object of Python */
	tide_str function, file;
	int64_t first;
	const uint8_t *table; /* borrowed */
	size_t n_table;
} code;

typedef struct thread {
	uint64_t tid;
	uint32_t lane;
	size_t skip; /* outermost frames that are memray's own */
	TIDE_VEC(tide_stack_id, frames);
} thread;

typedef struct region { /* of mmap, sorted by address */
	uint64_t begin, end;
	uint32_t row;
} region;

typedef struct capture {
	tide_heap_rows rows;
	tide_model *m;
	const uint8_t *data, *at, *end;
	tide_error *err;
	tide_code rc;
	uint32_t python; /* PY_VERSION_HEX */
	bool native, ended;
	uint64_t allocations, start, main_tid, skipped;
	TIDE_VEC(code, codes);
	TIDE_VEC(thread, threads);
	TIDE_VEC(region, regions);
	tide_map code_of, thread_of, live; /* live: address -> row */
	uint32_t current;		   /* thread, 0 = none yet */
	uint64_t recent[RECENT];
	int64_t last_data, last_native, last_ip, last_line;
	int64_t t;
	uint32_t resident; /* counter */
	uint64_t made, unknown_free, undefined, bad, split;
} capture;

static bool nomem(capture *c)
{
	c->rc = tide__nomem(c->err);
	return false;
}

/* ---- numbers ---- */

static bool cut(capture *c)
{
	c->ended = true;
	return false;
}

static bool corrupt(capture *c, const uint8_t *at, const char *what)
{
	c->rc = tide__fail(c->err, TIDE_ECORRUPT, (uint64_t)(at - c->data), "%s", what);
	return false;
}

static bool bytes(capture *c, void *to, size_t n)
{
	if ((size_t)(c->end - c->at) < n)
		return cut(c);
	memcpy(to, c->at, n);
	c->at += n;
	return true;
}

static bool varint(capture *c, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (c->at == c->end)
			return cut(c);
		uint8_t byte = *c->at++;
		*v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return corrupt(c, c->at, "a number of over 64 bits");
}

static bool signed_varint(capture *c, int64_t *v)
{
	uint64_t u;
	if (!varint(c, &u))
		return false;
	*v = (int64_t)((u >> 1) ^ (~(u & 1) + 1));
	return true;
}

/* A number written as the difference to the last of its kind. */
static bool difference(capture *c, int64_t *last)
{
	int64_t by;
	if (!signed_varint(c, &by))
		return false;
	*last = (int64_t)((uint64_t)*last + (uint64_t)by);
	return true;
}

static bool text(capture *c, const char **s, size_t *n)
{
	const uint8_t *zero = memchr(c->at, 0, (size_t)(c->end - c->at));
	if (!zero)
		return cut(c);
	*s = (const char *)c->at;
	*n = (size_t)(zero - c->at);
	c->at = zero + 1;
	return true;
}

static bool intern(capture *c, tide_str *to)
{
	const char *s;
	size_t n;
	if (!text(c, &s, &n))
		return false;
	*to = tide__intern_n(c->m, s, n);
	return to->i || !n || nomem(c);
}

/* ---- the head ---- */

static bool skip_texts(capture *c)
{
	const char *s;
	size_t n = 1;
	while (n)
		if (!text(c, &s, &n))
			return false;
	return true;
}

static bool version_error(capture *c, int32_t version)
{
	c->rc = tide__fail(c->err, TIDE_EUNSUPPORTED, 7,
			   "a memray capture of format %d: 12 and 13 (memray 1.18 to 1.20) are "
			   "read; memray's own reports need the version that wrote it",
			   version);
	return false;
}

static bool head(capture *c)
{
	int32_t version = 0, pid = -1;
	uint8_t native, format, skip[3];
	uint64_t frames, end;
	const char *command, *s;
	size_t n_command, n;
	c->at += 7; /* "memray" */
	if (!bytes(c, &version, 4))
		return false;
	if (version < OLDEST || version > NEWEST)
		return version_error(c, version);
	if (!bytes(c, &c->python, 4) || !bytes(c, &native, 1) || !bytes(c, &format, 1) ||
	    !bytes(c, &c->allocations, 8) || !bytes(c, &frames, 8) || !bytes(c, &c->start, 8) ||
	    !bytes(c, &end, 8) || !text(c, &command, &n_command) || !bytes(c, &pid, 4) ||
	    !bytes(c, &c->main_tid, 8) || !bytes(c, &c->skipped, 8) || !bytes(c, skip, 3))
		return false;
	if (version >= 13 && (!text(c, &s, &n) || !skip_texts(c) || !skip_texts(c)))
		return false;
	c->native = native;
	if (format != ALL_ALLOCATIONS) {
		c->rc = tide__fail(c->err, TIDE_EUNSUPPORTED, 16,
				   "an aggregated memray capture, which has no allocations: run "
				   "memray without --aggregate");
		return false;
	}
	return tide__heap_rows_begin(&c->rows, c->m, pid, command, n_command) || nomem(c);
}

/* ---- threads and frames ---- */

static bool make_thread(capture *c, uint64_t tid)
{
	tide_lanes *l = &c->m->lanes;
	uint32_t lane = tide__push(l, &tide_lanes_desc);
	thread *t = lane ? TIDE_PUSH(c, threads) : NULL;
	if (!t)
		return nomem(c);
	*t = (thread){ .tid = tid, .lane = lane, .skip = tid == c->main_tid ? c->skipped : 0 };
	if (!tide__map_put(&c->thread_of, tid, (uint32_t)c->n_threads))
		return nomem(c);
	l->kind[lane] = TIDE_LANE_THREAD;
	l->process[lane].i = 1;
	l->number[lane] = (int64_t)tid;
	c->current = (uint32_t)c->n_threads;
	return true;
}

static bool switch_thread(capture *c)
{
	uint64_t tid;
	if (!bytes(c, &tid, 8))
		return false;
	c->current = tide__map_get(&c->thread_of, tid);
	return c->current || make_thread(c, tid);
}

static bool name_thread(capture *c)
{
	tide_str name;
	if (!intern(c, &name))
		return false;
	if (c->current)
		c->m->lanes.name[c->threads[c->current - 1].lane] = name;
	return true;
}

static bool put_code(capture *c)
{
	uint64_t id, n;
	code k = { 0 };
	if (!varint(c, &id) || !intern(c, &k.function) || !intern(c, &k.file) ||
	    !difference(c, &c->last_line) || !varint(c, &n))
		return false;
	if (n > (size_t)(c->end - c->at))
		return cut(c);
	k.first = c->last_line;
	k.table = c->at;
	k.n_table = n;
	c->at += n;
	code *kept = TIDE_PUSH(c, codes);
	if (!kept || !tide__map_put(&c->code_of, id, (uint32_t)c->n_codes))
		return nomem(c);
	*kept = k;
	return true;
}

static bool push(capture *c, const uint8_t *record)
{
	uint64_t id;
	int64_t instruction;
	if (!varint(c, &id) || !signed_varint(c, &instruction))
		return false;
	if (!c->current)
		return corrupt(c, record, "a frame before any thread");
	thread *t = &c->threads[c->current - 1];
	if (t->n_frames >= MOST_DEEP)
		return corrupt(c, record, "a stack of over 65,536 frames");
	uint32_t i = tide__map_get(&c->code_of, id);
	code none = { 0 }, *k = i ? &c->codes[i - 1] : &none;
	c->undefined += !i;
	tide_stack_id above = t->n_frames ? t->frames[t->n_frames - 1] : (tide_stack_id){ 0 };
	tide_stack_id *top = TIDE_PUSH(t, frames);
	if (!top)
		return nomem(c);
	*top = (tide_stack_id){ 0 };
	if (t->n_frames <= t->skip)
		return true;
	uint32_t line = tide__python_line(c->python, k->table, k->n_table, k->first, instruction);
	tide_frame_id frame = tide__frame_intern(c->m, k->function, k->file, line);
	*top = tide__stack_intern(c->m, above, frame);
	return (frame.i && top->i) || nomem(c);
}

static bool pop(capture *c, unsigned flags, const uint8_t *record)
{
	size_t n = flags + 1;
	thread *t = c->current ? &c->threads[c->current - 1] : NULL;
	if (!t || t->n_frames < n)
		return corrupt(c, record, "the end of a frame that did not begin");
	t->n_frames -= n;
	return true;
}

/* ---- allocations ---- */

static uint32_t add(capture *c, uint64_t size, tide_stack_id stack, tide_lane_id lane)
{
	bool full;
	uint32_t row = tide__heap_rows_add(&c->rows, size, stack, c->t, &full);
	if (row)
		c->m->allocs.lane[row] = lane;
	else if (full)
		c->rc = tide__fail(c->err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				   "its blocks total 2^62 bytes or more: sums would overflow");
	else
		(void)nomem(c);
	return row;
}

static uint32_t allocate(capture *c, uint64_t size)
{
	const thread *t = &c->threads[c->current - 1];
	tide_stack_id stack = t->n_frames ? t->frames[t->n_frames - 1] : (tide_stack_id){ 0 };
	c->made++;
	return add(c, size, stack, (tide_lane_id){ t->lane });
}

static bool finish(capture *c, uint32_t row)
{
	return tide__heap_rows_end(&c->rows, row, c->t) || nomem(c);
}

static bool simple(capture *c, uint64_t address, uint64_t size)
{
	uint32_t row = allocate(c, size);
	/* an address in use: its free was not seen, and it stays alive, as in memray's reports */
	return row && (tide__map_put(&c->live, address, row) || nomem(c));
}

static bool release(capture *c, uint64_t address)
{
	uint32_t row = tide__map_del(&c->live, address);
	c->unknown_free += !row;
	return !row || finish(c, row);
}

/* Returns the index of the first region that ends after `at`. */
static size_t first_region(const capture *c, uint64_t at)
{
	size_t lo = 0, hi = c->n_regions;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->regions[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool insert(capture *c, size_t at, region r)
{
	if (!TIDE_ROOM(c->regions, c->cap_regions, c->n_regions + 1))
		return nomem(c);
	memmove(c->regions + at + 1, c->regions + at, (c->n_regions - at) * sizeof r);
	c->regions[at] = r;
	c->n_regions++;
	return true;
}

/* Ends what [begin, end) covers; parts beside it begin again. */
static bool unmap(capture *c, uint64_t begin, uint64_t end)
{
	size_t i = first_region(c, begin);
	while (i < c->n_regions && c->regions[i].begin < end) {
		region r = c->regions[i];
		tide_stack_id stack = c->m->allocs.stack[r.row];
		tide_lane_id lane = c->m->allocs.lane[r.row];
		if (!finish(c, r.row))
			return false;
		memmove(c->regions + i, c->regions + i + 1, (--c->n_regions - i) * sizeof r);
		region parts[2] = { { r.begin, begin, 0 }, { end, r.end, 0 } };
		for (int k = 0; k < 2; k++) {
			if (parts[k].begin >= parts[k].end)
				continue;
			c->split++;
			parts[k].row = add(c, parts[k].end - parts[k].begin, stack, lane);
			if (!parts[k].row || !insert(c, i++, parts[k]))
				return false;
		}
	}
	return true;
}

static bool map(capture *c, uint64_t address, uint64_t size)
{
	uint64_t end = address + size;
	if (end < address) {
		c->bad++;
		return true;
	}
	if (!unmap(c, address, end)) /* a fixed mapping replaces */
		return false;
	uint32_t row = allocate(c, size);
	return row && (!size || insert(c, first_region(c, address), (region){ address, end, row }));
}

/* A pointer of the list of the last 15, or one that is written. */
static bool pointer(capture *c, unsigned index, uint64_t *address)
{
	if (index < RECENT) {
		*address = c->recent[index];
		return true;
	}
	if (!difference(c, &c->last_data))
		return false;
	*address = (uint64_t)c->last_data << 3;
	memmove(c->recent + 1, c->recent, sizeof c->recent - sizeof *c->recent);
	c->recent[0] = *address;
	return true;
}

static bool allocation(capture *c, unsigned flags, const uint8_t *record)
{
	uint64_t address, size = 0;
	uint8_t by = flags & 7;
	if (!pointer(c, flags >> 3 & 15, &address) || (!by && !bytes(c, &by, 1)))
		return false;
	bool frees = by == FREE || by == PYMALLOC_FREE;
	if (!frees && ((c->native && !difference(c, &c->last_native)) || !varint(c, &size)))
		return false;
	if (!c->current)
		return corrupt(c, record, "an allocation before any thread");
	if (!by || by > MUNMAP || size >= MOST_BYTES) {
		c->bad++;
		return true;
	}
	if (frees)
		return release(c, address);
	if (by == MUNMAP)
		return address + size < address || unmap(c, address, address + size);
	return by == MMAP ? map(c, address, size) : simple(c, address, size);
}

/* An object's birth or death: read for its pointer only. */
static bool object(capture *c, unsigned flags)
{
	uint64_t address;
	return pointer(c, flags >> 1 & 15, &address) &&
	       (!c->native || !(flags & 1) || difference(c, &c->last_native));
}

/* ---- other records ---- */

static bool memory(capture *c)
{
	uint64_t rss, ms;
	size_t at;
	tide_model *m = c->m;
	if (!varint(c, &rss) || !varint(c, &ms))
		return false;
	if (ms > INT64_MAX / 4 / 1000000) {
		c->bad++;
		return true;
	}
	c->t = (int64_t)ms * 1000000 > c->t ? (int64_t)ms * 1000000 : c->t;
	if (!c->resident) {
		c->resident = tide__push(&m->counters, &tide_counters_desc);
		if (!c->resident)
			return nomem(c);
		m->counters.name[c->resident] = tide__intern(m, "resident bytes");
		m->counters.unit[c->resident] = tide__intern(m, "bytes");
	}
	if (!tide__table_push(&m->samples, &tide_samples_desc, &at))
		return nomem(c);
	m->samples.t[at] = c->t;
	m->samples.value[at] = (double)rss;
	m->samples.counter[at].i = c->resident;
	return true;
}

static bool image(capture *c)
{
	const char *s;
	size_t n;
	uint64_t segments, skip;
	uint8_t kind;
	if (!text(c, &s, &n) || !varint(c, &segments) || !bytes(c, &skip, 8))
		return false;
	for (; segments; segments--)
		if (!bytes(c, &kind, 1) || !bytes(c, &skip, 8) || !varint(c, &skip))
			return false;
	return true;
}

static bool plain_record(capture *c, unsigned kind, const uint8_t *record)
{
	switch (kind) {
	case R_FILLER:
	case R_MAPS:
		return true;
	case R_TRAILER:
		c->at = c->end;
		return true;
	case R_MEMORY:
		return memory(c);
	case R_NATIVE:
		return difference(c, &c->last_ip) && difference(c, &c->last_native);
	case R_IMAGE:
		return image(c);
	case R_THREAD:
		return name_thread(c);
	case R_SWITCH:
		return switch_thread(c);
	case R_CODE:
		return put_code(c);
	default:
		return corrupt(c, record, "a record of an unknown kind");
	}
}

static bool record(capture *c)
{
	const uint8_t *from = c->at;
	uint8_t b = *c->at++;
	if (b & R_ALLOCATION)
		return allocation(c, b & 127, from);
	if (b & R_PUSH)
		return push(c, from);
	if (b & R_OBJECT)
		return object(c, b & 31);
	if (b & R_POP)
		return pop(c, b & 15, from);
	return plain_record(c, b, from);
}

/* ---- all of it ---- */

static bool put_facts(capture *c, uint64_t cut_at)
{
	const struct {
		const char *key;
		uint64_t n;
	} facts[] = {
		{ "loss.truncated_at", cut_at },	{ "loss.free_unknown", c->unknown_free },
		{ "loss.undefined_ids", c->undefined }, { "loss.bad_records", c->bad },
		{ "memray.split_regions", c->split },	{ "memray.allocations", c->made }
	};
	bool ok = tide__fact_text(c->m, "memray.addresses", "made up");
	if (c->native)
		ok = ok &&
		     tide__fact_text(c->m, "memray.native_frames", "not read: stacks are Python's");
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		ok = ok && (!facts[i].n ||
			    tide__fact_set_number(c->m, facts[i].key, (int64_t)facts[i].n));
	c->m->wall0_ns = c->start < INT64_MAX / 1000000 ? (int64_t)c->start * 1000000 : 0;
	c->m->wall_known = c->m->wall0_ns != 0;
	c->m->t_end = c->t;
	return ok || nomem(c);
}

/* Everything before the end of a file that was cut is valid. */
static bool read_records(capture *c)
{
	const uint8_t *from = c->at;
	while (c->at < c->end) {
		from = c->at;
		if (!record(c))
			break;
	}
	if (c->rc != TIDE_OK)
		return false;
	return put_facts(c, c->ended ? (uint64_t)(from - c->data) : 0);
}

static void fini(capture *c)
{
	for (size_t i = 0; i < c->n_threads; i++)
		tide__free(c->threads[i].frames);
	tide__free(c->threads);
	tide__free(c->codes);
	tide__free(c->regions);
	tide__map_free(&c->code_of);
	tide__map_free(&c->thread_of);
	tide__map_free(&c->live);
}

static const uint8_t magic[] = { 'm', 'e', 'm', 'r', 'a', 'y', 0 };
static const uint8_t lz4[] = { 0x04, 0x22, 0x4d, 0x18 };

/* is_cut: the data are known to end early, even if they end between two records. */
static tide_code import_plain(const uint8_t *data, size_t n, bool is_cut, tide_model *m,
			      tide_error *err)
{
	if (n < sizeof magic || memcmp(data, magic, sizeof magic))
		return tide__fail(err, TIDE_EFORMAT, 0, "not a memray capture");
	capture c = {
		.m = m, .data = data, .at = data, .end = data + n, .err = err, .ended = is_cut
	};
	if (head(&c))
		(void)read_records(&c);
	else if (c.rc == TIDE_OK)
		c.rc = tide__fail(err, TIDE_ETRUNC, n, "the head is cut");
	fini(&c);
	return c.rc;
}

tide_code tide__memray_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err)
{
	uint8_t *expanded;
	size_t n_expanded;
	tide_error why = { .offset = TIDE_NO_OFFSET };
	if (n < sizeof lz4 || memcmp(data, lz4, sizeof lz4))
		return import_plain(data, n, false, m, err);
	size_t most = n < ((size_t)1 << 22) ? (size_t)1 << 30 : n * 256;
	tide_code rc = tide__lz4_expand(data, n, most, &expanded, &n_expanded, &why);
	if (rc == TIDE_OK || (rc == TIDE_ETRUNC && n_expanded))
		rc = import_plain(expanded, n_expanded, rc != TIDE_OK, m, err);
	else if (err)
		*err = why;
	tide__free(expanded);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)8 << 30, 0, &in, err);
	if (!rc)
		rc = tide__memray_import(in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

/* The head, plain or as the first literals of LZ4. */
static int sniff(const uint8_t *head, size_t n)
{
	if (n >= sizeof magic && !memcmp(head, magic, sizeof magic))
		return 95;
	if (n < 32 || memcmp(head, lz4, sizeof lz4))
		return 0;
	return memmem(head, 32, magic, sizeof magic) ? 90 : 0;
}

const tide_importer tide__import_memray = {
	.name = "memray",
	.what = "capture of memray 1.18 to 1.20",
	.sniff = sniff,
	.load = load,
};
