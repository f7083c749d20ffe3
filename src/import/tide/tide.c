// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer of .tide recordings.
 *
 * One walk over the file verifies every chunk, reads definitions, clock and facts, and lists the
 * event chunks; then the rings are merged in time into the model.
 *
 * Errors and facts: a file that is not a .tide file, or in which no events chunk
 * can be reached, is an error with its byte. Anything that leaves events to show is a model with
 * facts: "loss.truncated_at" or "loss.corrupt_at" (the byte where reading stopped; everything
 * before it is in the model) and "loss.damage" (the error as text). A damaged place with valid
 * chunks behind it is skipped: "loss.gap_at", "loss.gap_bytes", "loss.gaps". */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/ring_ends.h"
#include "format/read.h"
#include "format/resync.h"
#include "import/import.h"
#include "import/tide/build.h"
#include "import/tide/symbols.h"
#include "import/tide/tables.h"
#include "import/tide/unpack.h"

struct load {
	const tide_load_options *opt;
	tide_model *m;
	tide_reader *reader;
	tide_schema schema;
	bool has_schema;
	tide_payload buf;
	tide_defs defs;
	tide_merge merge;
	tide_build build;
	tide_error damage; /* the error that ended the walk; code TIDE_OK if none */
	tide_chunk cut; /* the chunk that is truncated by the file's end; type 0 if there is none */
	tide_payload salvaged;
	tide_ring_ends ends;
	tide_tail tail;
	uint64_t unknown_chunks;
	uint64_t n_chunks;	  /* EVENTS */
	uint64_t taken, left_out; /* events, of opt->max_events */
	bool stopped;		  /* at opt->max_bytes */
};

static int sniff(const uint8_t *head, size_t n)
{
	static const uint32_t magic = TIDE_CHUNK_MAGIC;
	tide_chunk_head c;
	if (n >= 8 && !memcmp(head, TIDE_FILE_MAGIC, 8))
		return 100;
	for (const uint8_t *p = head,
			   *end = head + n; /* its head is damaged: check whether a chunk follows */
	     (p = memmem(p, (size_t)(end - p), &magic, sizeof magic)) &&
	     (size_t)(end - p) >= sizeof c;
	     p++) {
		memcpy(&c, p, sizeof c);
		if (tide__chunk_plausible(&c) && c.type <= TIDE_CHUNK_TABLE && c.flags <= 1)
			return 60;
	}
	return 0;
}

static bool fact_u64(tide_model *m, const char *key, uint64_t n)
{
	return tide__fact_set_number(m, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

/* Sets a fact if n is not 0. */
static bool fact_some(tide_model *m, const char *key, uint64_t n)
{
	return !n || fact_u64(m, key, n);
}

/* ---- the walk ---- */

static tide_code read_defs(struct load *l, const tide_chunk *c, tide_error *err)
{
	tide_code rc = tide__reader_read_payload(l->reader, c, &l->buf, err);
	if (rc)
		return rc;
	bool packed = c->head.flags & TIDE_CHUNK_ZSTD || c->inner;
	uint64_t at = packed ? c->at : c->at + sizeof c->head;
	if (c->head.type == TIDE_CHUNK_SCHEMA) {
		rc = tide__schema_read(&l->schema, l->buf.bytes, l->buf.n, at, err);
		l->has_schema |= !rc;
		return rc;
	}
	if (c->head.type == TIDE_CHUNK_DEFS && c->head.first > l->ends.defs)
		l->defs.lost_bytes += c->head.first - l->ends.defs;
	return tide__defs_read(&l->defs, &l->schema, l->buf.bytes, l->buf.n, at, packed, err);
}

/* Returns true if the events of this chunk fit. Once they do not, nothing later is read: the
 * model ends there. */
static bool fits(struct load *l, const tide_chunk *c)
{
	uint64_t most = l->opt->max_events;
	bool ok = !most || (!l->left_out && l->taken + c->head.count <= most);
	*(ok ? &l->taken : &l->left_out) += c->head.count;
	return ok;
}

static tide_code take_chunk(struct load *l, const tide_chunk *c, tide_error *err)
{
	if (!l->has_schema && c->head.type != TIDE_CHUNK_SCHEMA) {
		if (!tide__reader_schema_lost(l->reader))
			return tide__fail(err, TIDE_ECORRUPT, c->at,
					  "the first chunk is not a schema");
		tide__schema_own(&l->schema);
		l->has_schema = true;
	}
	switch (c->head.type) {
	case TIDE_CHUNK_EVENTS:
		l->n_chunks++;
		return fits(l, c) ? tide__merge_add(&l->merge, c, err) : TIDE_OK;
	case TIDE_CHUNK_SCHEMA:
	case TIDE_CHUNK_DEFS:
	case TIDE_CHUNK_CLOCK:
	case TIDE_CHUNK_FACTS:
	case TIDE_CHUNK_LOSS:
	case TIDE_CHUNK_END:
		return read_defs(l, c, err);
	default:
		l->unknown_chunks++;
		return TIDE_OK;
	}
}

static void progress(const struct load *l, uint64_t done, uint64_t total)
{
	if (l->opt->progress)
		l->opt->progress(l->opt->user, done, total);
}

static bool is_damage(tide_code rc)
{
	return rc == TIDE_ETRUNC || rc == TIDE_ECORRUPT;
}

/* Reads one chunk. If its payload cannot be used, it counts as a gap. */
static tide_code take_or_skip(struct load *l, const tide_chunk *c, tide_error *err)
{
	tide_error e = { .offset = TIDE_NO_OFFSET };
	tide_code rc = take_chunk(l, c, &e);
	if (is_damage(rc)) {
		tide__reader_count_unusable(l->reader, c, &e);
		if (c->head.type == TIDE_CHUNK_DEFS)
			l->defs.lost_bytes += c->head.raw;
		return TIDE_OK;
	}
	if (rc && err)
		*err = e;
	return rc;
}

/* Reads all chunks up to the end or the first fatal damage, which is kept in l->damage. */
static tide_code walk(struct load *l, tide_error *err)
{
	tide_chunk c;
	tide_code rc;
	tide_error e = { 0 };
	while ((rc = tide__reader_next(l->reader, &c, &e)) == TIDE_OK && c.head.type) {
		rc = take_or_skip(l, &c, &e);
		if (!rc && !tide__ring_ends_add(&l->ends, &c))
			rc = tide__nomem(&e);
		if (rc)
			break;
		l->stopped = l->opt->max_bytes && tide__reader_at(l->reader) > l->opt->max_bytes;
		if (l->stopped)
			return TIDE_OK;
		if (l->n_chunks % 1024 == 1023)
			progress(l, tide__reader_at(l->reader) / 4, tide__reader_size(l->reader));
	}
	if (is_damage(rc) && (l->has_schema || tide__reader_gaps(l->reader)->n)) {
		l->damage = e;
		if (rc == TIDE_ETRUNC)
			l->cut = c;
		return TIDE_OK;
	}
	if (rc && err)
		*err = e;
	return rc;
}

/* ---- a recording that was not closed ---- */

static tide_code take_tail(struct load *l, tide_error *err)
{
	tide_chunk c;
	for (size_t at = 0; (at = tide__tail_read_chunk(&l->tail, at, &c)), c.head.type;) {
		tide_code rc = take_chunk(l, &c, err);
		if (rc)
			return rc;
	}
	bool whole = !l->tail.missing && !l->tail.bad && !l->tail.log_gap;
	if (whole) /* the file's end was truncated, and the ring file has all missing events */
		l->damage = (tide_error){ 0 };
	return TIDE_OK;
}

/* Reads the complete records of an events chunk that is truncated by the file's end. Its checksum
 * cannot be verified. */
static tide_code take_cut(struct load *l, tide_error *err)
{
	if (l->cut.head.type != TIDE_CHUNK_EVENTS || l->cut.head.flags)
		return TIDE_OK;
	tide_code rc = tide__reader_salvage(l->reader, &l->cut, &l->salvaged, err);
	if (rc)
		return rc;
	l->cut.memory = l->salvaged.bytes;
	l->cut.head.stored = (uint32_t)l->salvaged.n; /* less than raw: truncated */
	return take_chunk(l, &l->cut, err);
}

/* Fails if damage hides every event: an empty report would look like a result. */
static tide_code any_events(const struct load *l, tide_error *err)
{
	const tide_file_gaps *g = tide__reader_gaps(l->reader);
	const tide_error *d = g->n ? &g->why : &l->damage;
	if (l->n_chunks || !d->code)
		return TIDE_OK;
	return tide__fail(err, d->code, d->offset, "%s, before the first event%s", d->text,
			  l->tail.found ? "" : ", and there is no ring file beside it");
}

/* Reads the tail in the ring file. A running writer may have moved events from there into the file
 * since that was read; if so, continues with the file. *closed: the writer closed the recording
 * meanwhile. */
static tide_code read_tail(struct load *l, const char *path, bool *closed, tide_error *err)
{
	for (int i = 0;; i++) {
		uint64_t at = tide__reader_at(l->reader);
		tide_code rc = tide__ring_ends_read_tail(&l->ends, l->reader, &l->schema, path,
							 &l->tail, err);
		if (rc || (l->tail.found && !l->tail.missing) || i == TIDE_LIVE_TRIES)
			return rc;
		tide_error damage = l->damage;
		l->damage = (tide_error){ 0 };
		if ((rc = walk(l, err)))
			return rc;
		if (tide__reader_at(l->reader) == at) {
			l->damage = damage.code ? damage : l->damage;
			return TIDE_OK;
		}
		*closed = !l->damage.code && tide__reader_state(l->reader) == TIDE_READER_CLOSED;
		if (*closed)
			return TIDE_OK;
		tide__tail_free(&l->tail);
		l->tail = (tide_tail){ 0 };
	}
}

/* Reads the events that are not in the file's chunks. Fails if there are no events at all. */
static tide_code read_rest(struct load *l, const char *path, tide_error *err)
{
	tide_code rc = TIDE_OK;
	if (l->stopped || (tide__reader_state(l->reader) == TIDE_READER_CLOSED && !l->damage.code))
		return any_events(l, err);
	if (!l->has_schema)
		tide__schema_own(&l->schema);
	bool closed = false;
	rc = read_tail(l, path, &closed, err);
	if (rc || closed)
		return rc ? rc : any_events(l, err);
	l->has_schema |= l->tail.found;
	rc = l->tail.found ? take_tail(l, err) : take_cut(l, err);
	return rc ? rc : any_events(l, err);
}

/* ---- the events ---- */

static tide_code start_clock(struct load *l, tide_error *err)
{
	const tide_file_head *h = tide__reader_head(l->reader);
	tide_timebase *tb = &l->defs.clock;
	if (h->clock == TIDE_CLOCK_NS) {
		tide__timebase_free(tb);
		if (!tide__timebase_add(tb, h->start_ticks, 0))
			return tide__nomem(err);
	} else if (!tb->n && !fact_u64(l->m, "loss.clock_uncalibrated", 1)) {
		return tide__nomem(err);
	}
	if (!tide__timebase_close(tb, 1, 1) || !fact_some(l->m, "loss.clock_points", tb->dropped))
		return tide__nomem(err);
	tide_ticks *t = &l->m->ticks;
	for (size_t i = 0; i < t->n; i++)
		t->t[i] = tide__timebase_slow(tb, t->ticks[i]);
	return TIDE_OK;
}

static tide_code read_events(struct load *l, tide_error *err)
{
	tide_ring *r;
	const tide_event *ev;
	size_t n;
	uint64_t chunks = 0, size = tide__reader_size(l->reader);
	tide__build_heap(&l->build);
	tide__build_expect(&l->build, tide__merge_records(&l->merge));
	tide_code rc = tide__merge_start(&l->merge, err);
	for (unsigned turn = 0; !rc; turn++) {
		rc = tide__merge_next(&l->merge, &r, &ev, &n, err);
		if (rc || !n)
			break;
		rc = tide__build_run(&l->build, r, ev, n, err);
		if (turn % 4096 == 0) {
			chunks = l->merge.records;
			progress(l, size / 4 + (chunks < size ? chunks : size) / 2, size);
		}
	}
	return rc ? rc : tide__build_finish(&l->build, &l->merge, err);
}

/* ---- facts ---- */

static bool loss_facts(struct load *l)
{
	uint64_t full = 0, sig = 0, other = 0;
	for (size_t i = 0; i < l->defs.n_lost; i++) {
		full += l->defs.lost[i].full;
		sig += l->defs.lost[i].signal;
		other += l->defs.lost[i].other;
	}
	return fact_some(l->m, "loss.events", full + sig + other) &&
	       fact_some(l->m, "recorder.lost_ring_full", full) &&
	       fact_some(l->m, "recorder.lost_in_signal", sig) &&
	       fact_some(l->m, "recorder.lost_other", other);
}

static bool damage_facts(struct load *l)
{
	const tide_error *d = l->damage.code ? &l->damage : &l->merge.damage;
	if (l->damage.code && l->merge.damage.code && l->merge.damage.offset < l->damage.offset)
		d = &l->merge.damage;
	if (!d->code)
		return true;
	return fact_u64(l->m, d->code == TIDE_ETRUNC ? "loss.truncated_at" : "loss.corrupt_at",
			d->offset) &&
	       tide__fact_text(l->m, "loss.damage", d->text);
}

/* Facts about gaps between valid chunks, and about the head. */
static bool gap_facts(struct load *l)
{
	const tide_file_gaps *g = tide__reader_gaps(l->reader);
	char text[320];
	const char *head = tide__head_damage(tide__reader_head_state(l->reader));
	if (head && !tide__fact_text(l->m, "loss.head", head))
		return false;
	if (!g->n)
		return true;
	tide__file_gaps_text(g, text, sizeof text);
	return fact_u64(l->m, "loss.gap_at", g->why.offset) &&
	       fact_u64(l->m, "loss.gap_bytes", g->bytes) && fact_u64(l->m, "loss.gaps", g->n) &&
	       tide__fact_text(l->m, "loss.gap_damage", text);
}

static bool tail_facts(struct load *l)
{
	if (l->salvaged.n && !fact_u64(l->m, "recovered.unverified_events", l->merge.unverified))
		return false;
	if (!l->tail.found)
		return true;
	return tide__fact_text(l->m, "recovered.from",
			       "the ring file of a recording that was not closed") &&
	       fact_u64(l->m, "recovered.events", l->tail.events) &&
	       fact_some(l->m, "loss.ring_slots", l->tail.missing) &&
	       fact_some(l->m, "loss.ring_damage", l->tail.bad) &&
	       fact_some(l->m, "loss.definitions_bytes", l->tail.log_gap);
}

static bool facts(struct load *l)
{
	tide_model *m = l->m;
	bool closed = l->stopped || tide__reader_state(l->reader) == TIDE_READER_CLOSED;
	bool short_count =
		l->defs.has_total && !l->left_out && l->defs.total_events > l->build.events;
	return loss_facts(l) && damage_facts(l) && gap_facts(l) &&
	       fact_some(m, "loss.unknown_chunks", l->unknown_chunks) &&
	       fact_some(m, "loss.unknown_records", l->merge.skipped + l->defs.skipped) &&
	       fact_some(m, "loss.unread_records", l->merge.unread) &&
	       fact_some(m, "loss.missing_slots", l->merge.missing) &&
	       fact_some(m, "loss.repeated_chunks", l->merge.repeated) &&
	       fact_some(m, "loss.not_closed", !closed && !l->tail.found) && tail_facts(l) &&
	       fact_some(m, "loss.left_out_events", l->left_out) &&
	       fact_some(m, "loss.missing_events",
			 short_count ? l->defs.total_events - l->build.events : 0) &&
	       fact_u64(m, "tide.events", l->build.events);
}

static bool process_row(struct load *l)
{
	const tide_file_head *h = tide__reader_head(l->reader);
	tide_processes *p = &l->m->processes;
	uint32_t row = tide__push(p, &tide_processes_desc);
	if (!row)
		return false;
	p->pid[row] = (int64_t)h->pid;
	p->parent_pid[row] = p->rank[row] = p->world[row] = -1;
	l->m->wall0_ns = h->start_real;
	l->m->wall_known = h->start_real != 0;
	return true;
}

/* Columns of the process row that the recorder writes as facts. */
static bool process_facts(struct load *l)
{
	tide_processes *p = &l->m->processes;
	const tide_facts *f = &l->m->facts;
	int64_t at;
	if ((at = tide__fact_find(l->m, "process.command")) >= 0)
		p->command[1] = f->text[at];
	if ((at = tide__fact_find(l->m, "host.name")) >= 0)
		p->host[1] = f->text[at];
	if ((at = tide__fact_find(l->m, "process.parent")) >= 0)
		p->parent_pid[1] = f->number[at];
	if ((at = tide__fact_find(l->m, "process.rank")) >= 0)
		p->rank[1] = f->number[at];
	if ((at = tide__fact_find(l->m, "process.world_size")) >= 0)
		p->world[1] = f->number[at];
	if (tide__fact_find(l->m, "predicted.device") >= 0) /* no memory of it was ever allocated */
		for (uint32_t i = 1; i < l->m->allocs.n; i++)
			l->m->allocs.basis[i] = TIDE_BASIS_VIRTUAL;
	return true;
}

static tide_code prepare(struct load *l, tide_error *err)
{
	const tide_file_head *h = tide__reader_head(l->reader);
	l->defs.m = l->m;
	l->defs.mono0 = h->start_mono_raw;
	l->merge.reader = l->reader;
	l->merge.schema = &l->schema;
	uint64_t limit = (UINT64_C(256) << 20) + 256 * tide__reader_size(l->reader);
	tide__reader_set_limit(l->reader, l->opt->max_expanded ? l->opt->max_expanded : limit);
	if (!process_row(l) || !tide__build_init(&l->build, l->m, &l->defs) ||
	    !tide__timebase_add(&l->defs.clock, h->start_ticks, 0))
		return tide__nomem(err);
	return TIDE_OK;
}

static tide_code load_all(struct load *l, const char *path, tide_error *err)
{
	tide_code rc;
	if ((rc = prepare(l, err)) || (rc = walk(l, err)) || (rc = read_rest(l, path, err)) ||
	    (rc = start_clock(l, err)) || (rc = tide__symbols_apply(&l->defs, err)) ||
	    (rc = read_events(l, err)))
		return rc;
	return facts(l) && process_facts(l) ? TIDE_OK : tide__nomem(err);
}

/* Loads a trace that was stored as tables. */
static tide_code load_tables(struct load *l, tide_error *err)
{
	uint64_t limit = (UINT64_C(256) << 20) + 256 * tide__reader_size(l->reader);
	tide__reader_set_limit(l->reader, l->opt->max_expanded ? l->opt->max_expanded : limit);
	return tide__tables_read(l->reader, l->m, err);
}

static bool unpack_facts(tide_model *m, const tide_error *why)
{
	return tide__fact_text(m, "loss.compressed_input", why->text) &&
	       fact_u64(m, "loss.compressed_at", why->offset);
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	struct load *l = tide__calloc(1, sizeof *l);
	tide_unpacked u;
	if (!l)
		return tide__nomem(err);
	l->opt = opt;
	l->m = m;
	tide_code rc = tide__unpack(path, opt, &u, err);
	if (u.fd >= 0)
		path = u.path;
	if (!rc)
		rc = tide__reader_open(path, &l->reader, err);
	if (!rc && tide__reader_head(l->reader)->flags & TIDE_FILE_TABLES)
		rc = load_tables(l, err);
	else if (!rc)
		rc = load_all(l, path, err);
	if (!rc && u.ends.code && !unpack_facts(m, &u.ends))
		rc = tide__nomem(err);
	else if (rc && u.ends.code) { /* too few bytes: report why */
		rc = u.ends.code;
		if (err)
			*err = u.ends;
	}
	tide__unpacked_close(&u);
	tide__build_free(&l->build);
	tide__merge_free(&l->merge);
	tide__defs_free(&l->defs);
	tide__payload_free(&l->buf);
	tide__payload_free(&l->salvaged);
	tide__ring_ends_free(&l->ends);
	tide__tail_free(&l->tail);
	tide__reader_close(l->reader);
	tide__free(l);
	return rc;
}

const tide_importer tide__import_tide = { "tide", "Tidemark recording", sniff, load };
