// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the JSON files of a Tenstorrent run, for runs without a log.
 *
 *   NAME_memory.json     states before operations, in MB; with NAME_operations.json (their texts) and
 *                        NAME_ir.json (modules) beside it, if they exist
 *   memory_results.json  of `ttrt run --memory`: states after operations, in bytes, with a table of
 *                        blocks. An operation's state before is the one after its predecessor
 *
 * Both are converted to the records of a log: operation, header, four states; ops.c does the rest.
 * */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/node.h"
#include "import/json/text.h"
#include "import/source.h"
#include "import/tenstorrent/ttlog_impl.h"

#define BYTES_MOST ((size_t)1 << 31)

typedef struct results {
	ttlog x;
	jsonr main, operations, ir; /* the documents */
	jsonr_nodes texts;	    /* elements of the operations file */
	bool has_texts;
	bool bytes;	   /* ttrt: states in bytes, after operations */
	char *text, *name; /* owned: an operation's text, another text */
	size_t n_text, cap_text, cap_name;
	tide_str graph; /* const-eval program that is open */
} results;

static const char *const pool_keys[TT_POOLS][2] = {
	{ "DRAM", "dram" }, { "L1", "l1" }, { "L1_SMALL", "l1_small" }, { "TRACE", "trace" }
};

/* ---- texts ---- */

static tide_slice text_in(results *r, jsonr_node v)
{
	if (v.type != '"' || !TIDE_ROOM(r->name, r->cap_name, v.n + 1))
		return (tide_slice){ NULL, 0 };
	return (tide_slice){ r->name, tide__jsonr_unescape(v.at, v.n, r->name) };
}

static bool put(results *r, const char *s, size_t n)
{
	if (!TIDE_ROOM(r->text, r->cap_text, r->n_text + n + 1))
		return tide__ttlog_nomem(&r->x);
	memcpy(r->text + r->n_text, s, n);
	r->n_text += n;
	return true;
}
#define PUT(r, literal) put(r, literal, sizeof(literal) - 1)

static bool put_value(results *r, jsonr_node v)
{
	tide_slice s = text_in(r, v);
	return v.type != '"' ? true : s.s ? put(r, s.s, s.n) : tide__ttlog_nomem(&r->x);
}

static bool put_list(results *r, jsonr_node list)
{
	jsonr_nodes w = tide__jsonr_walk(list);
	jsonr_node key, v;
	bool ok = true;
	for (size_t i = 0; ok && tide__jsonr_next_node(&w, &key, &v); i++)
		ok = (!i || PUT(r, ", ")) && put_value(r, v);
	return ok;
}

/* Adds types without the parentheses around them. Returns false if memory runs out. */
static bool put_types(results *r, jsonr_node v)
{
	tide_slice s = text_in(r, v);
	if (s.n > 1 && s.s[0] == '(' && s.s[s.n - 1] == ')')
		s = (tide_slice){ s.s + 1, s.n - 2 };
	return !s.s || put(r, s.s, s.n);
}

/* Writes an operation as a log has it, from its parts in both files; `b` may have no value. */
static bool write_text(results *r, jsonr_node a, jsonr_node b)
{
	jsonr_node result, name, inputs, attrs, in, out, loc;
	r->n_text = 0;
	if (!tide__jsonr_get(b, "mlir_op", &name))
		tide__jsonr_get(a, "mlir_op", &name);
	if (!tide__jsonr_get(b, "loc", &loc))
		tide__jsonr_get(a, "loc", &loc);
	tide__jsonr_get(b, "result", &result);
	tide__jsonr_get(b, "inputs", &inputs);
	tide__jsonr_get(b, "attributes", &attrs);
	tide__jsonr_get(b, "input_types", &in);
	tide__jsonr_get(b, "output_type", &out);
	bool ok = true;
	if (result.type == '"')
		ok = put_value(r, result) && PUT(r, " = ");
	ok = ok && PUT(r, "\"") && put_value(r, name) && PUT(r, "\"(") && put_list(r, inputs) &&
	     PUT(r, ")");
	if (attrs.type == '"')
		ok = ok && PUT(r, " <{") && put_value(r, attrs) && PUT(r, "}>");
	ok = ok && PUT(r, " : (") && put_types(r, in) && PUT(r, ") -> ");
	ok = ok && (out.type == '"' ? put_value(r, out) : PUT(r, "()"));
	if (loc.type != '"')
		return ok && PUT(r, " loc(unknown)");
	return ok && PUT(r, " loc(\"") && put_value(r, loc) && PUT(r, "\")");
}

/* ---- states ---- */

/* Reads a number, which may be written as a text. */
static bool number(jsonr_node object, const char *key, int64_t scale, uint64_t *out)
{
	jsonr_node v;
	int64_t n;
	if (!tide__jsonr_get(object, key, &v))
		return false;
	if (v.type == '"')
		v.type = '0';
	if (!tide__jsonr_parse_number(v, scale, &n) || n < 0)
		return false;
	*out = (uint64_t)n;
	return true;
}

static bool allocated(jsonr_node block)
{
	jsonr_node v;
	return tide__jsonr_get(block, "allocated", &v) &&
	       (v.type == 't' || tide__jsonr_is(v, "yes") || tide__jsonr_is(v, "true") ||
		tide__jsonr_is(v, "1") || (v.type == '0' && v.n == 1 && *v.at == '1'));
}

/* Computes free bytes and the longest free range of one bank from its table of blocks. Adjacent
 * free blocks form one range. */
static bool block_table(jsonr_node view, tt_state *s)
{
	jsonr_node table, key, block;
	uint64_t size, at, free = 0, run = 0, most = 0, end = 0;
	size_t n = 0;
	if (!tide__jsonr_get(view, "block_table", &table) || table.type != '[')
		return false;
	jsonr_nodes w = tide__jsonr_walk(table);
	for (; tide__jsonr_next_node(&w, &key, &block); n++) {
		if (!number(block, "size", 1, &size) || !number(block, "address", 1, &at) ||
		    size > s->total)
			return false;
		if (allocated(block)) {
			run = 0;
			end = at + size;
			continue;
		}
		run = at == end ? run + size : size;
		end = at + size;
		most = run > most ? run : most;
		if (size > INT64_MAX - free)
			return false;
		free += size;
	}
	if (!n || w.bad)
		return false;
	s->free = free;
	s->largest = most;
	return true;
}

static bool view_bytes(jsonr_node v, tt_state *s)
{
	uint64_t banks;
	if (!number(v, "num_banks", 1, &banks) || !banks || banks >= 1 << 16 ||
	    !number(v, "total_bytes_per_bank", 1, &s->total) ||
	    !number(v, "total_bytes_allocated_per_bank", 1, &s->allocated) ||
	    !number(v, "total_bytes_free_per_bank", 1, &s->free))
		return false;
	if (!number(v, "largest_contiguous_bytes_free_per_bank", 1, &s->largest))
		s->largest = UINT64_MAX;
	s->banks = (uint32_t)banks;
	block_table(v, s);
	return true;
}

static bool milli(jsonr_node v, const char *key, uint64_t *out)
{
	uint64_t n;
	if (!number(v, key, 1000, &n) || n >= UINT64_C(1) << 36)
		return false;
	*out = tide__ttlog_bytes((int64_t)n);
	return true;
}

static bool view_mb(jsonr_node v, tt_state *s)
{
	uint64_t banks;
	if (!number(v, "numBanks", 1, &banks) || !banks || banks >= 1 << 16 ||
	    !milli(v, "totalBytesPerBank_MB", &s->total) ||
	    !milli(v, "totalBytesAllocatedPerBank_MB", &s->allocated) ||
	    !milli(v, "totalBytesFreePerBank_MB", &s->free))
		return false;
	if (!milli(v, "largestContiguousBytesFreePerBank_MB", &s->largest))
		s->largest = UINT64_MAX;
	s->banks = (uint32_t)banks;
	return true;
}

static bool too_large(const tt_state *s)
{
	uint64_t most = UINT64_C(1) << 46; /* of one bank */
	return s->total > most || s->allocated > most || s->free > most ||
	       (s->largest > most && s->largest != UINT64_MAX);
}

/* Reads the states of an element (of the first device if there are several). Returns a bit for each
 * state present. */
static unsigned read_states(const results *r, jsonr_node element, tt_state *out)
{
	jsonr_node memory = element, v, first, key;
	unsigned have = 0;
	if (!r->bytes)
		tide__jsonr_get(element, "memory", &memory);
	for (unsigned p = 0; p < TT_POOLS; p++) {
		if (!tide__jsonr_get(memory, pool_keys[p][r->bytes], &v))
			continue;
		jsonr_nodes w = tide__jsonr_walk(v);
		if (r->bytes && tide__jsonr_next_node(&w, &key, &first) && first.type == '{')
			v = first;
		if ((r->bytes ? view_bytes(v, &out[p]) : view_mb(v, &out[p])) &&
		    !too_large(&out[p]))
			have |= 1u << p;
	}
	return have;
}

static bool take_states(results *r, tt_rank *k, uint8_t when, tide_slice type, unsigned have,
			const tt_state *s)
{
	tt_line l = { .what = TT_HEADER, .text = type, .when = when };
	bool ok = !have || tide__ttlog_take(&r->x, k, &l);
	for (unsigned p = 0; ok && p < TT_POOLS; p++)
		if (have >> p & 1) {
			l = (tt_line){ .what = TT_STATE, .pool = p, .state = s[p] };
			ok = tide__ttlog_take(&r->x, k, &l);
		}
	return ok;
}

/* ---- one operation ---- */

static bool say(results *r, tt_rank *k, tt_what what, tide_slice text)
{
	tt_line l = { .what = what, .text = text };
	return tide__ttlog_take(&r->x, k, &l);
}

/* Opens and closes const-eval programs as elements enter and leave them. */
static bool follow_graph(results *r, tt_rank *k, jsonr_node element)
{
	jsonr_node v, miss;
	tide_str now = { 0 };
	tide__jsonr_get(element, "const_eval_graph", &v);
	tide__jsonr_get(element, "const_eval_cache_miss", &miss);
	tide_slice s = text_in(r, v);
	if (s.n && !(now = tide__intern_n(r->x.m, s.s, s.n)).i)
		return tide__ttlog_nomem(&r->x);
	if (now.i == r->graph.i)
		return true;
	bool ok = true;
	if (r->graph.i) {
		size_t n;
		const char *old = tide__text(r->x.m, r->graph, &n);
		if (!TIDE_ROOM(r->text, r->cap_text, n + 1))
			return tide__ttlog_nomem(&r->x);
		memcpy(r->text, old, n);
		ok = say(r, k, TT_FINISH, (tide_slice){ r->text, n });
	}
	r->graph = now;
	if (ok && now.i && miss.type == 't')
		ok = say(r, k, TT_CACHE_MISS, s);
	return ok && (!now.i || say(r, k, TT_START, s));
}

static tt_rank *rank_of(results *r, jsonr_node element)
{
	jsonr_node v;
	tide__jsonr_get(element, "rank", &v);
	return tide__ttlog_get_rank(&r->x, text_in(r, v), true);
}

static bool memory_op(results *r, jsonr_node a)
{
	jsonr_node b = { 0 }, key, type;
	tt_state s[TT_POOLS];
	r->x.line++;
	if (r->has_texts && !tide__jsonr_next_node(&r->texts, &key, &b))
		r->has_texts = false;
	tt_rank *k = rank_of(r, a);
	if (!k || !follow_graph(r, k, a) || !write_text(r, a, b) ||
	    !say(r, k, TT_OP, (tide_slice){ r->text, r->n_text }))
		return false;
	tide__jsonr_get(a, "op_type", &type);
	unsigned have = read_states(r, a, s);
	return take_states(r, k, TIDE_STATE_BEFORE, text_in(r, type), have, s);
}

/* Reads an operation of ttrt. `s` and *have are the states after the previous operation; they
 * become those after this one. */
static bool ttrt_op(results *r, jsonr_node a, tt_state *s, unsigned *have)
{
	jsonr_node text, loc;
	r->x.line++;
	tt_rank *k = tide__ttlog_get_rank(&r->x, (tide_slice){ NULL, 0 }, true);
	tide__jsonr_get(a, "debug_str", &text);
	tide__jsonr_get(a, "loc", &loc);
	r->n_text = 0;
	if (!k || !put_value(r, text))
		return false;
	if (!memmem(r->text ? r->text : "", r->n_text, " loc(", 5) && loc.type == '"' &&
	    !(PUT(r, " loc(\"") && put_value(r, loc) && PUT(r, "\")")))
		return false;
	bool dealloc = memmem(r->text ? r->text : "", r->n_text, ".deallocate", 11);
	tide_slice type = dealloc ? (tide_slice){ "DeallocateOp", 12 } : (tide_slice){ NULL, 0 };
	if (!say(r, k, TT_OP, (tide_slice){ r->text, r->n_text }) ||
	    !take_states(r, k, TIDE_STATE_BEFORE, type, *have, s))
		return false;
	bool first = !*have;
	*have = read_states(r, a, s);
	if (!first || !*have)
		return true;
	tide__ttlog_expect_block_after(k, r->x.m);
	return take_states(r, k, TIDE_STATE_AFTER, type, *have, s);
}

/* ---- order ---- */

typedef struct entry {
	uint64_t number;
	size_t place;
	jsonr_node v;
} entry;

static int by_number(const void *a, const void *b)
{
	const entry *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool key_number(jsonr_node key, uint64_t *out)
{
	*out = 0;
	if (key.type != '"' || !key.n || key.n > 18)
		return false;
	for (size_t i = 0; i < key.n; i++) {
		if (key.at[i] < '0' || key.at[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(key.at[i] - '0');
	}
	return true;
}

/* Sorts ttrt's operations by their numeric keys ("10" after "2"). A list, and keys that are not
 * numbers, keep the file's order. Returns NULL if memory runs out. */
static entry *in_order(jsonr_nodes *w, size_t *n)
{
	entry *v = tide__alloc(1, sizeof *v);
	size_t cap = v ? 1 : 0;
	bool numbers = true;
	jsonr_node key = { 0 }, one;
	for (*n = 0; v && tide__jsonr_next_node(w, &key, &one); ++*n) {
		if (!TIDE_ROOM(v, cap, *n + 1)) {
			tide__free(v);
			return NULL;
		}
		uint64_t number;
		numbers = key_number(key, &number) && numbers;
		v[*n] = (entry){ number, *n, one };
	}
	if (v && numbers && *n)
		qsort(v, *n, sizeof *v, by_number);
	return v;
}

/* ---- documents ---- */

static bool put_module(results *r, const char *kind, jsonr_node module)
{
	jsonr_node text;
	size_t row;
	tide_documents *d = &r->x.m->documents;
	if (!tide__jsonr_get(module, "text", &text) || !text.n)
		return true;
	tide_slice s = text_in(r, text);
	tide_str all = s.n ? tide__intern_n(r->x.m, s.s, s.n) : (tide_str){ 0 };
	if (!all.i || !tide__table_push(d, &tide_documents_desc, &row))
		return tide__ttlog_nomem(&r->x);
	d->kind[row] = tide__intern(r->x.m, kind);
	d->text[row] = all;
	r->x.dumps++;
	return d->kind[row].i || tide__ttlog_nomem(&r->x);
}

static bool modules(results *r, const char *text, size_t n)
{
	jsonr_node all, one, list, key;
	if (!text || !tide__jsonr_open(&r->ir, text, n, &all))
		return r->ir.why != JSONR_NOMEM || tide__ttlog_nomem(&r->x);
	if (tide__jsonr_get(all, "programs", &list)) {
		jsonr_nodes w = tide__jsonr_walk(list);
		if (tide__jsonr_next_node(&w, &key, &one))
			all = one;
	}
	static const char *const stages[][2] = { { "ttir", "mlir.ttir" }, { "ttnn", "mlir.ttnn" } };
	bool ok = true;
	for (size_t i = 0; ok && i < 2; i++)
		if (tide__jsonr_get(all, stages[i][0], &one))
			ok = put_module(r, stages[i][1], one);
	return ok;
}

/* ---- all of it ---- */

static bool has_graphs(jsonr_node ops)
{
	static const char word[] = "\"const_eval_graph\": \"";
	return memmem(ops.at, ops.n, word, sizeof word - 1);
}

static tide_code walk(results *r, jsonr_node ops, tide_error *err)
{
	jsonr_nodes w = tide__jsonr_walk(ops);
	tt_state s[TT_POOLS] = { 0 };
	unsigned have = 0;
	size_t n = 0;
	bool ok = true, main = !r->bytes && has_graphs(ops);
	tt_rank *k = main ? tide__ttlog_get_rank(&r->x, (tide_slice){ NULL, 0 }, true) : NULL;
	if (main)
		ok = k && say(r, k, TT_START, (tide_slice){ "main", 4 });
	entry *v = ok ? in_order(&w, &n) : NULL;
	ok = ok && v;
	for (size_t i = 0; ok && i < n; i++)
		if (v[i].v.type == '{')
			ok = r->bytes ? ttrt_op(r, v[i].v, s, &have) : memory_op(r, v[i].v);
	tide__free(v);
	if (ok && r->bytes && r->x.n_ranks)
		ok = take_states(r, &r->x.ranks[0], TIDE_STATE_AFTER, (tide_slice){ NULL, 0 }, have,
				 s);
	if (!ok)
		return r->x.rc ? r->x.rc : tide__nomem(err);
	if (w.bad)
		return tide__fail(err, TIDE_ECORRUPT, (uint64_t)(w.at - ops.at),
				  "not JSON after %llu operations", (unsigned long long)r->x.line);
	if (!r->x.blocks)
		return tide__fail(err, TIDE_EFORMAT, 0, "no operation in it has a memory state");
	return TIDE_OK;
}

/* Determines which of the two files it is, and finds its operations. */
static bool find_ops(results *r, jsonr_node all, jsonr_node *ops)
{
	jsonr_node one, key, v;
	if (all.type == '{' && tide__jsonr_get(all, "operations", ops))
		return true;
	*ops = all;
	jsonr_nodes w = tide__jsonr_walk(all);
	if (!tide__jsonr_next_node(&w, &key, &one))
		return false;
	r->bytes = tide__jsonr_get(one, "dram", &v);
	return r->bytes || tide__jsonr_get(one, "memory", &v);
}

static const char *other_file(const uint8_t *head, size_t n);

static tide_code not_memory(const tt_results *in, tide_error *err)
{
	const char *what = other_file((const uint8_t *)in->main, in->n_main);
	if (what)
		return tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				  "holds only %s of a Tenstorrent run; its memory is in "
				  "NAME_memory.json beside it",
				  what);
	return tide__fail(err, TIDE_EFORMAT, 0,
			  "not the memory file of a Tenstorrent run, or it is cut off");
}

static tide_code import(results *r, const tt_results *in, tide_error *err)
{
	jsonr_node all, ops, texts;
	if (!tide__ttlog_begin(&r->x))
		return r->x.rc;
	if (!tide__jsonr_open(&r->main, in->main, in->n_main, &all) || !find_ops(r, all, &ops))
		return r->main.why == JSONR_NOMEM ? tide__nomem(err) : not_memory(in, err);
	r->has_texts = in->operations &&
		       tide__jsonr_open(&r->operations, in->operations, in->n_operations, &texts) &&
		       texts.type == '[';
	if (r->operations.why == JSONR_NOMEM)
		return tide__nomem(err);
	if (r->has_texts)
		r->texts = tide__jsonr_walk(texts);
	if (!r->bytes && !modules(r, in->ir, in->n_ir))
		return r->x.rc;
	r->x.resolution = r->bytes ? 0 : tide__ttlog_bytes(1);
	tide_code rc = walk(r, ops, err);
	if (rc)
		return rc;
	r->x.results_only = r->bytes ? 0 : r->x.line;
	r->x.basis = r->bytes ? "inferred from states after ops, exact bytes per bank"
			      : "inferred from states before ops, resolution 0.001 MB per bank";
	return tide__ttlog_finish(&r->x) ? TIDE_OK : r->x.rc;
}

tide_code tide__ttresults_import(const tt_results *in, tide_model *m, tide_error *err)
{
	results r = { .x = { .m = m, .err = err } };
	tide_code rc = import(&r, in, err);
	tide__ttlog_end(&r.x);
	tide__jsonr_fini(&r.main);
	tide__jsonr_fini(&r.operations);
	tide__jsonr_fini(&r.ir);
	tide__free(r.text);
	tide__free(r.name);
	return rc;
}

/* ---- files ---- */

/* Reads the file whose name has `end` in place of "_memory.json". Returns NULL if there is none. */
static char *neighbour(const char *path, const char *end, uint64_t most, size_t *n)
{
	static const char own[] = "_memory.json";
	char name[4096];
	size_t k = strlen(path);
	tide_whole_file in;
	*n = 0;
	if (k < sizeof own - 1 || strcmp(path + k - (sizeof own - 1), own) ||
	    k + strlen(end) >= sizeof name)
		return NULL;
	memcpy(name, path, k - (sizeof own - 1));
	memcpy(name + k - (sizeof own - 1), end, strlen(end) + 1);
	if (tide__source_read_all(name, most, BYTES_MOST, 1, &in, NULL) == TIDE_OK) {
		*n = in.n;
		return (char *)in.data;
	}
	tide__free(in.data);
	return NULL;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file text;
	tt_results in = { 0 };
	tide_code rc = tide__source_read_all(path, opt->max_expanded, BYTES_MOST, 1, &text, err);
	if (rc == TIDE_OK) {
		char *ops =
			neighbour(path, "_operations.json", opt->max_expanded, &in.n_operations);
		char *ir = neighbour(path, "_ir.json", opt->max_expanded, &in.n_ir);
		in.main = (const char *)text.data;
		in.n_main = text.n;
		in.operations = ops;
		in.ir = ir;
		rc = tide__ttresults_import(&in, m, err);
		tide__free(ops);
		tide__free(ir);
	}
	tide__free(text.data);
	return rc;
}

/* Returns the content of another file of the run; NULL = none. */
static const char *other_file(const uint8_t *head, size_t n)
{
	static const struct {
		const char *words[2], *what;
	} files[] = {
		{ { "\"mlir_op\"", "\"output_layout_info\"" }, "the texts of operations" },
		{ { "\"total_entries\"", "\"total_weight_bytes\"" }, "arguments of the program" },
		{ { "\"loc_index\"", "\"text\"" }, "modules" },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (tide__head_contains(head, n, files[i].words[0]) &&
		    tide__head_contains(head, n, files[i].words[1]))
			return files[i].what;
	return NULL;
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t p = 0;
	while (p < n && (head[p] == ' ' || head[p] == '\n' || head[p] == '\r' || head[p] == '\t'))
		p++;
	if (p == n || (head[p] != '{' && head[p] != '['))
		return 0;
	if (tide__head_contains(head, n, "\"totalBytesAllocatedPerBank_MB\"") ||
	    other_file(head, n))
		return 95;
	return tide__head_contains(head, n, "\"total_bytes_allocated_per_bank\"") &&
			       tide__head_contains(head, n, "\"debug_str\"")
		       ? 95
		       : 0;
}

const tide_importer tide__import_ttresults = {
	.name = "tt-results",
	.what = "memory.json of a Tenstorrent run, memory_results.json of ttrt",
	.sniff = sniff,
	.load = load,
};
