// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/memory/serving_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/memory/roles.h"
#include "model/names.h"
#include "render/text/grid.h"
#include "render/text/losses.h"

/* ---- columns ---- */

#define MAYBE TIDE_MAY_BE_NULL
const tide_member tide__serving_parts[] = {
	{ "part", "Part", TIDE_KIND_WORD,
	  .words = "weights,kv_cache,graphs,graphs_free,workspace,activations,cached,unexplained",
	  .meaning = "what holds it" },
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "bytes of its blocks"),
	TIDE_COLUMN("share_pct", "Share", PCT, MAYBE, "of all parts"),
	TIDE_COLUMN("count", "Blocks", COUNT, 0, "live allocations, or free blocks"),
	TIDE_COLUMN("meaning", "What", TEXT, 0, "the part in words"),
	{ 0 },
};
const tide_member tide__serving_evidence[] = {
	TIDE_COLUMN("part", "Part", TEXT, 0, "the part"),
	TIDE_COLUMN(
		"by", "By", TEXT, 0,
		"who says so: a server's name for a function or file, a given rule, the private "
		"pool, a rule of roles.md"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "bytes that it covers"),
	TIDE_COLUMN("count", "Allocations", COUNT, 0, "allocations that it covers"),
	{ 0 },
};
const tide_member tide__serving_pools[] = {
	TIDE_COLUMN("pool", "Pool", TEXT, 0, "name of the pool; private ones have PyTorch's id"),
	{ "kind", NULL, TIDE_KIND_WORD, .words = "private,other",
	  .meaning = "private: of captured graphs" },
	TIDE_COLUMN("reserved_bytes", "Reserved", BYTES, 0, "bytes of its segments"),
	TIDE_COLUMN("live_bytes", "Live", BYTES, 0, "of these: in use"),
	TIDE_COLUMN("free_bytes", "Free", BYTES, 0, "of these: not in use"),
	TIDE_COLUMN("largest_free_bytes", "Largest free", BYTES, 0, "its largest free block"),
	TIDE_COLUMN("fragmentation", "Fragm.", REAL, 0, "1 - largest free block / free bytes"),
	TIDE_COLUMN("segments", "Segments", COUNT, 0, "its segments"),
	TIDE_COLUMN("blocks", NULL, COUNT, 0, "its blocks in use"),
	TIDE_COLUMN("captures", "Captures", COUNT, 0, "captures that were made in it"),
	{ 0 },
};
const tide_member tide__serving_sizes[] = {
	TIDE_COLUMN("batch", "Batch", PLAIN, MAYBE, "batch size"),
	{ "batch_from", NULL, TIDE_KIND_WORD, .may = MAYBE, .words = "annotation,given",
	  .meaning = "who says so" },
	TIDE_COLUMN("relative", "Times smallest", REAL, MAYBE,
		    "the requests that differ over captures, compared with the smallest capture's"),
	TIDE_COLUMN("pool", "Pool", TEXT, 0, "the pool of its first capture"),
	TIDE_COLUMN("graphs", "Captures", COUNT, 0, "captures of this size"),
	TIDE_COLUMN("allocations", NULL, COUNT, 0, "requests while it was captured"),
	TIDE_COLUMN("requested_bytes", NULL, BYTES, 0, "bytes of all its requests"),
	TIDE_COLUMN("kept_bytes", "Kept", BYTES, 0, "bytes of those that are live"),
	TIDE_COLUMN("added_bytes", "Segments added", BYTES, 0,
		    "segments that its pools took while it was captured"),
	TIDE_COLUMN("returns_bytes", "Returns alone", DELTA, MAYBE,
		    "less reserved at the end if this size is not captured, replayed"),
	TIDE_COLUMN("returns_with_larger_bytes", "With larger", DELTA, MAYBE,
		    "the same without this size and all larger ones"),
	TIDE_COLUMN("added_in", "First in", TEXT, MAYBE, "the first snapshot that has it"),
	{ 0 },
};
const tide_member tide__serving_snapshots[] = {
	TIDE_COLUMN("file", "Snapshot", TEXT, 0, "its file"),
	TIDE_COLUMN("wall_ns", NULL, WALL, MAYBE, "its time"),
	TIDE_COLUMN("reserved_bytes", "Reserved", BYTES, MAYBE, "reserved by the allocator"),
	TIDE_COLUMN("weights_bytes", "Weights", BYTES, 0, "part weights"),
	TIDE_COLUMN("kv_cache_bytes", "KV cache", BYTES, 0, "part kv_cache"),
	TIDE_COLUMN("graphs_bytes", "Graphs", BYTES, 0, "parts graphs and graphs_free"),
	TIDE_COLUMN("workspace_bytes", "Workspace", BYTES, 0, "part workspace"),
	TIDE_COLUMN("activations_bytes", "Activations", BYTES, 0, "part activations"),
	TIDE_COLUMN("cached_bytes", "Cached", BYTES, 0, "part cached"),
	TIDE_COLUMN("unexplained_bytes", "Unexplained", BYTES, 0, "part unexplained"),
	TIDE_COLUMN("loose_bytes", NULL, BYTES, 0, "live bytes outside every known segment"),
	TIDE_COLUMN("sizes", "Sizes", COUNT, MAYBE, "captured sizes by then"),
	{ 0 },
};
const tide_member tide__serving_growth[] = {
	TIDE_COLUMN("file", "Until", TEXT, 0, "the later snapshot"),
	TIDE_COLUMN("what", "What", TEXT, 0, "a part, or \"pool\" and its name"),
	TIDE_COLUMN("before_bytes", "Before", BYTES, 0, "its bytes in the snapshot before"),
	TIDE_COLUMN("after_bytes", "After", BYTES, 0, "its bytes"),
	TIDE_COLUMN("delta_bytes", "Change", DELTA, 0, "the difference"),
	{ 0 },
};
const tide_member tide__serving_libraries[] = {
	TIDE_COLUMN("library", "Library", TEXT, MAYBE, "its path"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "bytes that it allocated"),
	TIDE_COLUMN("count", "Allocations", COUNT, 0, "its allocations"),
	{ 0 },
};

/* ---- cells ---- */

static void put_bytes(tide_grid *g, uint64_t v)
{
	if (v == TIDE_SERVING_UNKNOWN)
		tide__grid_none(g);
	else
		tide__grid_uint(g, v);
}

static void put_signed(tide_grid *g, int64_t v)
{
	if (v == INT64_MIN)
		tide__grid_none(g);
	else
		tide__grid_int(g, v);
}

static const char *pool_name(const tide_model *m, uint32_t pool)
{
	const char *name = tide__text(m, m->pools.name[pool], NULL);
	return *name ? name : "default";
}

/* ---- tables ---- */

/* Makes a table of at most `most` rows (0 = all); *left receives the number of the others. */
typedef tide_grid *make_table(const struct serving *x, size_t most, size_t *left);

static tide_grid *new_grid(const tide_member *columns)
{
	return tide__grid_new(columns, tide__member_count(columns));
}

/* Counts a row; returns false if it is to be left out. */
static bool fits(const tide_grid *g, size_t most, size_t *left)
{
	bool fit = !most || tide__grid_rows(g) < most;
	*left += !fit;
	return fit;
}

static tide_grid *parts_grid(const struct serving *x, size_t most, size_t *left)
{
	const tide_serving_at *at = &x->s.at[x->s.last];
	uint64_t sum = tide__serving_sum(at);
	tide_grid *g = new_grid(tide__serving_parts);
	for (unsigned i = 0; g && i < TIDE_SERVING_N; i++) {
		tide__grid_text(g, tide__serving_part_word(i));
		tide__grid_uint(g, at->parts[i].bytes);
		tide__grid_real(g, sum ? 100.0 * (double)at->parts[i].bytes / (double)sum : NAN);
		tide__grid_uint(g, at->parts[i].count);
		tide__grid_text(g, tide__serving_part_text(i));
	}
	return g;
}

/* Returns buf. */
static char *why_text(const struct serving *x, const tide_serving_why *y, char *buf, size_t n)
{
	static const char *const fixed[] = { [TIDE_BY_PRIVATE_POOL] = "private pool",
					     [TIDE_BY_FORWARD] = "made in a module's forward",
					     [TIDE_BY_NO_RULE] = "no rule",
					     [TIDE_BY_NO_STACK] = "no call stack" };
	const tide_serving_rule *r = y->by == TIDE_BY_GIVEN_RULE   ? &x->s.given[y->index]
				     : y->by == TIDE_BY_KNOWN_RULE ? tide__serving_known(y->index)
								   : NULL;
	if (r)
		snprintf(buf, n, "%s: %s", r->by ? r->by : "given",
			 *r->function ? r->function : r->file);
	else if (y->by == TIDE_BY_ROLE_RULE)
		snprintf(buf, n, "role: %s", tide__rule_text(y->index));
	else
		snprintf(buf, n, "%s", fixed[y->by]);
	return buf;
}

static tide_grid *evidence_grid(const struct serving *x, size_t most, size_t *left)
{
	tide_grid *g = new_grid(tide__serving_evidence);
	char text[320];
	for (size_t i = 0; g && i < x->s.n_why; i++) {
		if (!fits(g, most, left))
			continue;
		const tide_serving_why *y = &x->s.why[i];
		tide__grid_text(g, tide__serving_part_word(y->part));
		tide__grid_text(g, why_text(x, y, text, sizeof text));
		tide__grid_uint(g, y->bytes);
		tide__grid_uint(g, y->count);
	}
	return g;
}

static tide_grid *pools_grid(const struct serving *x, size_t most, size_t *left)
{
	const tide_serving_at *at = &x->s.at[x->s.last];
	tide_grid *g = new_grid(tide__serving_pools);
	for (size_t i = 0; g && i < at->n_pools; i++) {
		const tide_serving_pool *p = &at->pools[i];
		if (!fits(g, most, left))
			continue;
		tide__grid_text(g, pool_name(at->m, p->pool));
		tide__grid_text(g, p->private ? "private" : "other");
		tide__grid_uint(g, p->reserved);
		tide__grid_uint(g, p->live);
		tide__grid_uint(g, p->free);
		tide__grid_uint(g, p->largest_free);
		tide__grid_real(g, p->free ? 1 - (double)p->largest_free / (double)p->free : 0);
		tide__grid_uint(g, p->segments);
		tide__grid_uint(g, p->blocks);
		tide__grid_uint(g, p->captures);
	}
	return g;
}

static void put_size(tide_grid *g, const struct serving *x, const tide_serving_size *s)
{
	static const char *const from[] = { NULL, "annotation", "given" };
	const tide_serving_at *at = &x->s.at[x->s.last];
	put_signed(g, s->batch < 0 ? INT64_MIN : s->batch);
	if (from[s->batch_from])
		tide__grid_text(g, from[s->batch_from]);
	else
		tide__grid_none(g);
	tide__grid_real(g, s->relative);
	tide__grid_text(g, pool_name(at->m, s->pool));
	tide__grid_uint(g, s->captures);
	tide__grid_uint(g, s->allocs);
	tide__grid_uint(g, s->requested);
	tide__grid_uint(g, s->kept);
	tide__grid_uint(g, s->added);
	put_signed(g, s->returns);
	put_signed(g, s->returns_with_larger);
	if (s->added_in < x->s.n)
		tide__grid_text(g, x->files[x->s.at[s->added_in].file]);
	else
		tide__grid_none(g);
}

static tide_grid *sizes_grid(const struct serving *x, size_t most, size_t *left)
{
	tide_grid *g = new_grid(tide__serving_sizes);
	for (size_t i = 0; g && i < x->s.n_sizes; i++)
		if (fits(g, most, left))
			put_size(g, x, &x->s.sizes[i]);
	return g;
}

static tide_grid *snapshots_grid(const struct serving *x, size_t most, size_t *left)
{
	static const uint8_t rest[] = { TIDE_SERVING_WORKSPACE, TIDE_SERVING_ACTIVATIONS,
					TIDE_SERVING_CACHED, TIDE_SERVING_UNEXPLAINED };
	tide_grid *g = new_grid(tide__serving_snapshots);
	for (size_t i = 0; g && i < x->s.n; i++) {
		const tide_serving_at *at = &x->s.at[i];
		const tide_serving_bytes *p = at->parts;
		if (!fits(g, most, left))
			continue;
		tide__grid_text(g, x->files[at->file]);
		put_signed(g, at->wall_ns);
		put_bytes(g, at->reserved);
		tide__grid_uint(g, p[TIDE_SERVING_WEIGHTS].bytes);
		tide__grid_uint(g, p[TIDE_SERVING_KV_CACHE].bytes);
		tide__grid_uint(g,
				p[TIDE_SERVING_GRAPHS].bytes + p[TIDE_SERVING_GRAPHS_FREE].bytes);
		for (size_t k = 0; k < sizeof rest; k++)
			tide__grid_uint(g, p[rest[k]].bytes);
		tide__grid_uint(g, at->loose);
		put_bytes(g, at->n_sizes == SIZE_MAX ? TIDE_SERVING_UNKNOWN : at->n_sizes);
	}
	return g;
}

struct growing {
	tide_grid *g;
	const char *file;
	size_t most, *left;
};

static void put_change(struct growing *o, const char *kind, const char *what, uint64_t before,
		       uint64_t after)
{
	char text[200];
	if (before == after || !fits(o->g, o->most, o->left))
		return;
	snprintf(text, sizeof text, "%s%.150s", kind, what);
	tide__grid_text(o->g, o->file);
	tide__grid_text(o->g, text);
	tide__grid_uint(o->g, before);
	tide__grid_uint(o->g, after);
	tide__grid_int(o->g, (int64_t)(after - before));
}

/* Pools of two snapshots are the same if they have the same name. */
static uint64_t pool_bytes(const tide_serving_at *at, const char *name)
{
	for (size_t i = 0; i < at->n_pools; i++)
		if (!strcmp(pool_name(at->m, at->pools[i].pool), name))
			return at->pools[i].reserved;
	return 0;
}

static void put_pools(struct growing *o, const tide_serving_at *a, const tide_serving_at *b)
{
	for (size_t i = 0; i < b->n_pools; i++) {
		const char *name = pool_name(b->m, b->pools[i].pool);
		put_change(o, "pool ", name, pool_bytes(a, name), b->pools[i].reserved);
	}
	for (size_t i = 0; i < a->n_pools; i++) {
		const char *name = pool_name(a->m, a->pools[i].pool);
		if (!pool_bytes(b, name))
			put_change(o, "pool ", name, a->pools[i].reserved, 0);
	}
}

static tide_grid *growth_grid(const struct serving *x, size_t most, size_t *left)
{
	struct growing o = { .g = new_grid(tide__serving_growth), .most = most, .left = left };
	for (size_t i = 1; o.g && i < x->s.n; i++) {
		const tide_serving_at *a = &x->s.at[i - 1], *b = &x->s.at[i];
		o.file = x->files[b->file];
		for (unsigned k = 0; k < TIDE_SERVING_N; k++)
			put_change(&o, "", tide__serving_part_word(k), a->parts[k].bytes,
				   b->parts[k].bytes);
		put_pools(&o, a, b);
	}
	return o.g;
}

static tide_grid *libraries_grid(const struct serving *x, size_t most, size_t *left)
{
	const tide_ledger *l = x->s.on_device.of;
	tide_grid *g = new_grid(tide__serving_libraries);
	for (size_t i = 0; g && l && i < l->n_sources; i++) {
		if (!fits(g, most, left))
			continue;
		if (l->sources[i].library.i)
			tide__grid_text(g,
					tide__text(x->s.on_device.m, l->sources[i].library, NULL));
		else
			tide__grid_none(g);
		tide__grid_uint(g, l->sources[i].bytes);
		tide__grid_uint(g, l->sources[i].count);
	}
	return g;
}

/* ---- text ---- */

static void put_line(const tide_out *to, const char *what, uint64_t bytes, const char *note)
{
	char text[32];
	fprintf(to->out, "  %-24s %14s%s%s\n", what,
		bytes == TIDE_SERVING_UNKNOWN ? "unknown"
					      : tide__fmt_bytes(text, sizeof text, (double)bytes),
		*note ? "  " : "", note);
}

static bool put_table(const struct serving *x, make_table *make, const char *heading,
		      const tide_out *to)
{
	size_t left = 0;
	tide_grid *g = make(x, x->top, &left);
	bool ok = g && !tide__grid_failed(g);
	if (!ok || !tide__grid_rows(g)) {
		tide__grid_free(g);
		return ok;
	}
	fputc('\n', to->out);
	tide__write_heading(to, "%s", heading);
	tide__grid_write(g, to, 2);
	if (left)
		fprintf(to->out, "  (%zu more: --top 0)\n", left);
	return true;
}

static void put_device(const struct serving *x, const tide_out *to)
{
	const tide_serving_device *d = &x->s.on_device;
	char delta[32];
	if (!d->known)
		return;
	fputc('\n', to->out);
	tide__write_heading(to, "On the device, by %s%s", x->files[d->file],
			    d->same_moment ? "" : ", at its own highest moment");
	put_line(to, "used", d->used, "all processes, by NVML");
	put_line(to, "- the allocator", d->allocator,
		 d->same_moment ? "the parts above" : "of the recording");
	put_line(to, "- other libraries", d->libraries, "");
	put_line(to, "- unused in CUDA pools", d->pooled, "");
	put_line(to, "- context and code", d->context, "");
	put_line(to, "- the profiler", d->profiler, "");
	put_line(to, "- other processes", d->others, "");
	put_line(to, "- driver and firmware", d->driver, "");
	fprintf(to->out, "  %-24s %14s\n", "= unexplained",
		d->unexplained == INT64_MIN
			? "unknown"
			: tide__fmt_delta(delta, sizeof delta, (double)d->unexplained));
}

static void put_replay(const struct serving *x, const tide_out *to)
{
	const tide_serving_replay *r = &x->s.replay;
	char a[32], b[32];
	if (!x->s.n_sizes)
		return;
	if (x->s.once)
		fprintf(to->out, "  %s more are kept for all sizes: the first capture made them.\n",
			tide__fmt_bytes(a, sizeof a, (double)x->s.once));
	if (!r->known)
		fputs("  Not replayed: what comes back is unknown.\n", to->out);
	else
		fprintf(to->out, "  Replayed: %s reserved at the end, recorded %s%s.\n",
			tide__fmt_bytes(a, sizeof a, (double)r->reserved),
			r->recorded == TIDE_SERVING_UNKNOWN
				? "unknown"
				: tide__fmt_bytes(b, sizeof b, (double)r->recorded),
			r->reproduced ? ", with the same segments in the same order"
				      : "; the replay differs, so returned bytes are estimates");
}

static void put_fit(const struct serving *x, const tide_out *to)
{
	const tide_serving_fit *f = &x->s.fit;
	uint64_t kv = x->s.at[x->s.last].parts[TIDE_SERVING_KV_CACHE].bytes;
	fputc('\n', to->out);
	tide__write_heading(to, "Largest KV cache");
	if (!kv) {
		fputs("  No KV cache was found. Name the code that makes it: --role "
		      "'kv_cache=**/cache.py:allocate'\n",
		      to->out);
		return;
	}
	put_line(to, "now", kv, "");
	put_line(to, "device", f->capacity,
		 f->capacity == TIDE_SERVING_UNKNOWN ? "give --capacity" : "");
	put_line(to, "- outside the allocator",
		 f->outside_known ? f->outside : TIDE_SERVING_UNKNOWN,
		 f->outside_known ? "" : "give --outside, or a recording of `run --gpu`");
	put_line(to, "- everything else",
		 x->s.at[x->s.last].reserved == TIDE_SERVING_UNKNOWN ? TIDE_SERVING_UNKNOWN
								     : f->rest,
		 "highest reserved bytes beside it");
	put_line(to, f->outside_known ? "= largest" : "= at most", f->bytes, "");
}

tide_code tide__serving_text(const struct serving *x, const tide_out *to)
{
	const tide_serving_at *at = &x->s.at[x->s.last];
	char name[64], bytes[32];
	if (!at->device) {
		fputs("No memory of a device is recorded.\n", to->out);
		return TIDE_OK;
	}
	tide__write_heading(to, "%s on %s: %s reserved", x->files[at->file],
			    tide__device_name(at->m, at->device, name, sizeof name),
			    at->reserved == TIDE_SERVING_UNKNOWN
				    ? "unknown"
				    : tide__fmt_bytes(bytes, sizeof bytes, (double)at->reserved));
	bool ok = put_table(x, parts_grid, "Parts", to);
	if (at->loose)
		fprintf(to->out, "  %s of it are outside every known segment.\n",
			tide__fmt_bytes(bytes, sizeof bytes, (double)at->loose));
	ok = ok && put_table(x, evidence_grid, "Who says so", to) &&
	     put_table(x, pools_grid, "Pools", to) &&
	     put_table(x, sizes_grid, "Captured sizes, in the order of capture", to);
	put_replay(x, to);
	put_fit(x, to);
	put_device(x, to);
	if (x->s.on_device.known)
		ok = ok && put_table(x, libraries_grid, "Other libraries", to);
	if (x->s.n > 1)
		ok = ok && put_table(x, snapshots_grid, "Snapshots", to) &&
		     put_table(x, growth_grid, "What changed", to);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

/* ---- JSON ---- */

static void put_bytes_or_null(tide_json *j, const char *key, uint64_t v)
{
	if (v == TIDE_SERVING_UNKNOWN)
		tide__json_knull(j, key);
	else
		tide__json_kuint(j, key, v);
}

static void write_table(const struct serving *x, make_table *make, tide_json *j, const char *key)
{
	size_t left = 0;
	tide__grid_write_member(make(x, x->top, &left), j, key);
}

static void json_device(const struct serving *x, tide_json *j)
{
	const tide_serving_device *d = &x->s.on_device;
	if (!d->known) {
		tide__json_knull(j, "on_device");
		return;
	}
	tide__json_kobject(j, "on_device");
	tide__json_kstr(j, "file", x->files[d->file]);
	tide__json_kbool(j, "same_moment", d->same_moment);
	put_bytes_or_null(j, "total_bytes", d->total);
	put_bytes_or_null(j, "used_bytes", d->used);
	put_bytes_or_null(j, "allocator_bytes", d->allocator);
	tide__json_kuint(j, "libraries_bytes", d->libraries);
	tide__json_kuint(j, "pooled_bytes", d->pooled);
	tide__json_kuint(j, "context_bytes", d->context);
	tide__json_kuint(j, "profiler_bytes", d->profiler);
	tide__json_kuint(j, "others_bytes", d->others);
	tide__json_kuint(j, "driver_bytes", d->driver);
	tide__json_kint_if(j, "unexplained_bytes", d->unexplained != INT64_MIN, d->unexplained);
	write_table(x, libraries_grid, j, "libraries");
	tide__json_object_end(j);
}

static void json_replay(const struct serving *x, tide_json *j)
{
	const tide_serving_replay *r = &x->s.replay;
	if (!r->known) {
		tide__json_knull(j, "replay");
		return;
	}
	tide__json_kobject(j, "replay");
	tide__json_kbool(j, "reproduced", r->reproduced);
	tide__json_kuint(j, "reserved_bytes", r->reserved);
	put_bytes_or_null(j, "recorded_bytes", r->recorded);
	tide__json_object_end(j);
}

static void json_fit(const struct serving *x, tide_json *j)
{
	const tide_serving_fit *f = &x->s.fit;
	const tide_serving_at *at = &x->s.at[x->s.last];
	tide__json_kobject(j, "kv_cache");
	tide__json_kuint(j, "bytes", at->parts[TIDE_SERVING_KV_CACHE].bytes);
	put_bytes_or_null(j, "capacity_bytes", f->capacity);
	put_bytes_or_null(j, "outside_bytes", f->outside_known ? f->outside : TIDE_SERVING_UNKNOWN);
	put_bytes_or_null(j, "rest_bytes",
			  at->reserved == TIDE_SERVING_UNKNOWN ? TIDE_SERVING_UNKNOWN : f->rest);
	put_bytes_or_null(j, "largest_bytes", f->bytes);
	if (f->bytes == TIDE_SERVING_UNKNOWN)
		tide__json_knull(j, "bound");
	else
		tide__json_kstr(j, "bound", f->outside_known ? "exact" : "at_most");
	tide__json_object_end(j);
}

tide_code tide__serving_json(const struct serving *x, tide_json *j)
{
	static const struct {
		const char *key;
		make_table *make;
	} tables[] = { { "parts", parts_grid },
		       { "evidence", evidence_grid },
		       { "pools", pools_grid },
		       { "captures", sizes_grid } };
	const tide_serving_at *at = &x->s.at[x->s.last];
	char name[64];
	tide__json_kstr(j, "file", x->files[at->file]);
	tide__json_kstr(j, "device",
			at->device ? tide__device_name(at->m, at->device, name, sizeof name)
				   : NULL);
	tide__json_kint_if(j, "wall_ns", at->wall_ns != INT64_MIN, at->wall_ns);
	put_bytes_or_null(j, "reserved_bytes", at->reserved);
	tide__json_kuint(j, "loose_bytes", at->loose);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		write_table(x, tables[i].make, j, tables[i].key);
	tide__json_kuint(j, "captured_once_bytes", x->s.once);
	json_replay(x, j);
	json_fit(x, j);
	json_device(x, j);
	write_table(x, snapshots_grid, j, "snapshots");
	write_table(x, growth_grid, j, "growth");
	tide__losses_json(j, at->m);
	return TIDE_OK;
}
