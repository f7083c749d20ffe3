// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Operations, programs and memory blocks of one rank, in the order of its lines.
 *
 * An operation's line comes first, its block after it, other lines anywhere between: the next
 * header of the rank is the operation's. If one of the two lines was lost, the header starts a
 * separate operation, or the operation has no block. A block describes the moment before its
 * operation runs; the change up to the next block of the rank is attributed to the operation. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "model/strings.h"

/* ---- texts of operations ---- */

static const struct {
	const char *text;
	size_t n;
	uint8_t dtype;
} dtypes[] = {
#define D(text, name) text, sizeof text - 1, TIDE_DTYPE_##name
	{ D("bf16", BF16) },	{ D("f32", F32) },	{ D("f16", F16) },
	{ D("f64", F64) },	{ D("i8", I8) },	{ D("si8", I8) },
	{ D("i16", I16) },	{ D("si16", I16) },	{ D("i32", I32) },
	{ D("si32", I32) },	{ D("i64", I64) },	{ D("si64", I64) },
	{ D("u8", U8) },	{ D("ui8", U8) },	{ D("u16", U16) },
	{ D("ui16", U16) },	{ D("u32", U32) },	{ D("ui32", U32) },
	{ D("u64", U64) },	{ D("ui64", U64) },	{ D("i1", BOOL) },
	{ D("bool", BOOL) },	{ D("bfp_bf8", BFP8) }, { D("bfp_f8", BFP8) },
	{ D("bfp_bf4", BFP4) }, { D("bfp_f4", BFP4) },	{ D("bfp8", BFP8) },
	{ D("bfp4", BFP4) },
#undef D
};

static uint8_t dtype_of(tide_slice d)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (tide__slice_is(d, dtypes[i].text, dtypes[i].n))
			return dtypes[i].dtype;
	return TIDE_DTYPE_UNKNOWN;
}

static uint8_t pool_of(tide_slice buffer)
{
	return TIDE_SLICE_IS(buffer, "dram")	   ? TT_DRAM
	       : TIDE_SLICE_IS(buffer, "l1")	   ? TT_L1
	       : TIDE_SLICE_IS(buffer, "l1_small") ? TT_L1_SMALL
	       : TIDE_SLICE_IS(buffer, "trace")	   ? TT_TRACE
						   : TT_POOLS;
}

static bool has(tide_slice s, const char *word)
{
	return s.s && memmem(s.s, s.n, word, strlen(word));
}

static uint8_t kind_of(tide_slice name)
{
	return has(name, "deallocate")	  ? TT_KIND_DEALLOCATE
	       : has(name, "get_device")  ? TT_KIND_GET_DEVICE
	       : has(name, "load_cached") ? TT_KIND_LOAD_CACHED
					  : TT_KIND_OP;
}

/* Returns "%4" of "%4, %5", "%4:2" or "%4#1"; absent if there is none. */
static tide_str ssa(ttlog *x, tide_slice s)
{
	size_t n = 1;
	while (s.n && (*s.s == '[' || *s.s == ' ')) {
		s.s++;
		s.n--;
	}
	if (!s.n || *s.s != '%')
		return (tide_str){ 0 };
	while (n < s.n && s.s[n] != ',' && s.s[n] != ':' && s.s[n] != '#' && s.s[n] != ' ' &&
	       s.s[n] != ']')
		n++;
	tide_str id = tide__intern_n(x->m, s.s, n);
	if (!id.i)
		tide__ttlog_nomem(x);
	return id;
}

/* Gets the SSA names of a list, at most `most`. */
static uint8_t names(ttlog *x, tide_slice list, tide_str *out, uint8_t most)
{
	tide_slice one;
	uint8_t n = 0;
	while (list.s && n < most && tide__mlir_next(&list, &one)) {
		tide_str id = ssa(x, one);
		if (id.i)
			out[n++] = id;
	}
	return n;
}

/* Returns the layout of an alias of the module; absent = not defined. */
static tide_slice layout_of(const ttlog *x, tide_str module, tide_slice name)
{
	uint32_t id = module.i ? tide__strings_find(x->m->strings, name.s, name.n) : 0;
	uint32_t text = id ? tide__map_get(&x->alias_of, (uint64_t)module.i << 32 | id) : 0;
	size_t n;
	const char *s = text ? tide__text(x->m, (tide_str){ text }, &n) : NULL;
	return s ? (tide_slice){ s, n } : (tide_slice){ NULL, 0 };
}

static bool result_tensor(ttlog *x, tt_op *o, tide_str module, tide_slice types)
{
	tide_model *m = x->m;
	tide_mlir_tensor t;
	tide_slice one;
	if (types.n > 1 && types.s[0] == '(')
		types = (tide_slice){ types.s + 1, types.n - 2 };
	o->pool = TT_POOLS;
	if (!tide__mlir_next(&types, &one) || !tide__mlir_parse_tensor(one, &t))
		return true;
	if (!t.buffer.n && t.layout.n && *t.layout.s == '#')
		tide__mlir_apply_layout(&t, layout_of(x, module, t.layout));
	o->pool = t.buffer.n ? pool_of(t.buffer) : TT_POOL_UNKNOWN;
	o->dtype = dtype_of(t.tiled ? t.tile_dtype : t.dtype);
	if (m->n_dims > UINT32_MAX - TIDE_MLIR_DIMS ||
	    !TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + t.n_dims))
		return tide__ttlog_nomem(x);
	o->tensor_dims = (uint32_t)m->n_dims;
	o->n_dims = t.n_dims;
	for (unsigned i = 0; i < t.n_dims; i++)
		m->dims[m->n_dims++] = t.dims[i];
	return true;
}

static bool read_op(ttlog *x, tt_op *o, tide_str module, tide_slice text)
{
	tide_mlir_op p;
	if (!tide__mlir_parse_op(text.s, text.n, &p)) {
		x->unparsed++;
		o->pool = TT_POOLS;
		o->name = tide__intern(x->m, "(unreadable operation)");
		return o->name.i || tide__ttlog_nomem(x);
	}
	o->cut = !p.closed;
	o->kind = kind_of(p.name);
	o->name = tide__intern_n(x->m, p.name.s, p.name.n);
	o->n_results = names(x, p.results, o->results, TT_RESULTS);
	o->n_operands = names(x, p.operands, o->operands, TT_OPERANDS);
	return o->name.i ? result_tensor(x, o, module, p.out_types) : tide__ttlog_nomem(x);
}

/* Returns row + 1 of the parsed op of a text; 0 if memory ran out. The same text may mean another
 * layout in another module. */
static uint32_t op_of(ttlog *x, const tt_rank *r, tide_slice text)
{
	tide_str id = tide__intern_n(x->m, text.s, text.n),
		 module = r->layouts.i ? r->layouts : x->outside.layouts;
	uint64_t key = (uint64_t)module.i << 32 | id.i;
	uint32_t row = id.i ? tide__map_get(&x->op_of, key) : 0;
	if (row)
		return row;
	if ((text.n && !id.i) || x->n_ops_known >= UINT32_MAX - 1 ||
	    !TIDE_ROOM(x->ops, x->cap_ops, x->n_ops_known + 1)) {
		tide__ttlog_nomem(x);
		return 0;
	}
	tt_op *o = &x->ops[x->n_ops_known];
	memset(o, 0, sizeof *o);
	o->text = id;
	row = (uint32_t)++x->n_ops_known;
	if (!read_op(x, o, module, text) || (id.i && !tide__map_put(&x->op_of, key, row))) {
		tide__ttlog_nomem(x);
		return 0;
	}
	return row;
}

/* ---- an operation begins and is done ---- */

static const tt_frame *graph_of(const tt_rank *r)
{
	for (size_t i = r->depth; i > 0; i--)
		if (r->stack[i - 1].program)
			return r->stack[i - 1].const_eval ? &r->stack[i - 1] : NULL;
	return NULL;
}

static uint32_t instance_of(const tt_rank *r)
{
	return r->depth ? r->stack[r->depth - 1].instance : 0;
}

static uint32_t root_of(const tt_rank *r)
{
	return r->depth ? r->stack[0].instance : 0;
}

static bool attr(ttlog *x, uint32_t span, tide_str key, tide_str text, int64_t number)
{
	size_t row;
	if (!tide__table_push(&x->m->attrs, &tide_attrs_desc, &row))
		return tide__ttlog_nomem(x);
	x->m->attrs.span[row].i = span;
	x->m->attrs.key[row] = key;
	x->m->attrs.text[row] = text;
	x->m->attrs.number[row] = number;
	return true;
}

static uint8_t kind_now(const ttlog *x, const tt_rank *r)
{
	const char *type = tide__text(x->m, r->op_type, NULL);
	if (r->op)
		return x->ops[r->op - 1].kind;
	return !strcmp(type, "DeallocateOp")  ? TT_KIND_DEALLOCATE
	       : !strcmp(type, "GetDeviceOp") ? TT_KIND_GET_DEVICE
					      : TT_KIND_OP;
}

static bool counts(uint8_t k)
{
	return k == TT_KIND_OP || k == TT_KIND_LOAD_CACHED;
}

/* Ends the operation: its known properties become attributes. */
static bool settle_op(ttlog *x, tt_rank *r)
{
	const tt_frame *g = graph_of(r);
	uint32_t s = r->op_span;
	if (!r->op_open)
		return true;
	r->op_open = false;
	uint8_t k = r->op_kind;
	x->skipped += counts(k) && !r->op_blocked;
	if (k == TT_KIND_LOAD_CACHED)
		r->cached_span = s;
	tide_str none = { 0 };
	return attr(x, s, x->k_line, none, (int64_t)r->op_line) &&
	       (!r->op || !x->ops[r->op - 1].text.i ||
		attr(x, s, x->k_mlir, x->ops[r->op - 1].text, 0)) &&
	       (!r->op_type.i || attr(x, s, x->k_type, r->op_type, 0)) &&
	       (!g || attr(x, s, x->k_graph, g->name, 0)) &&
	       (!g || !tide__map_get(&x->missed, g->name.i) || attr(x, s, x->k_miss, none, 1)) &&
	       (!x->sessions || attr(x, s, x->k_session, none, x->sessions));
}

static bool begin_op(ttlog *x, tt_rank *r, uint32_t op, tide_str type)
{
	int64_t t0, t1;
	r->op = op;
	r->op_type = type;
	uint8_t k = r->op_kind = kind_now(x, r);
	if (counts(k)) {
		if (x->n_ops >= UINT32_MAX / 2 || !TIDE_ROOM(r->kept, r->cap_kept, r->n_ops + 1))
			return tide__ttlog_nomem(x);
		r->kept[r->n_ops] = 0;
		x->n_ops++;
		t0 = r->now = (int64_t)r->n_ops++ * TIDE_OP_NS;
		t1 = t0 + TIDE_OP_NS / 2;
	} else {
		t0 = t1 = tide__ttlog_between(r);
	}
	x->deallocates += k == TT_KIND_DEALLOCATE;
	x->get_devices += k == TT_KIND_GET_DEVICE;
	r->cached_span = 0;
	r->op_span =
		tide__ttlog_begin_span(x, r, op ? x->ops[op - 1].name : type, TIDE_CAT_OP, t0, t1);
	r->op_open = r->op_span != 0;
	r->op_blocked = false;
	r->op_line = x->line;
	return r->op_open;
}

/* ---- blocks ---- */

/* Returns the span that the change up to this block is attributed to. */
static tt_owner charged_to(const tt_rank *r)
{
	static const tt_owner nobody = { 0 };
	tt_owner by = r->owner;
	if (r->when == TIDE_STATE_BETWEEN)
		return nobody;
	if (r->when == TIDE_STATE_AFTER) {
		if (!by.span)
			by = (tt_owner){ .span = r->last_root };
		return by;
	}
	if (by.span)
		return by.root == root_of(r) ? by : nobody;
	return r->depth ? (tt_owner){ .span = r->stack[0].span } : nobody;
}

/* Results of const-eval programs are weights; a result that is computed from arguments alone may be
 * a weight or an activation. */
static uint8_t role_of(const ttlog *x, const tt_rank *r)
{
	const tt_op *o = r->op ? &x->ops[r->op - 1] : NULL;
	if (graph_of(r))
		return TIDE_ROLE_PARAMETER;
	for (size_t i = 0; o && i < o->n_operands; i++)
		if (strncmp(tide__text(x->m, o->operands[i], NULL), "%arg", 4))
			return TIDE_ROLE_ACTIVATION;
	return TIDE_ROLE_UNKNOWN;
}

static bool put_state(ttlog *x, const tt_rank *r, unsigned pool, uint32_t span)
{
	tide_pool_states *t = &x->m->pool_states;
	const tt_state *s = &r->state[pool];
	size_t row;
	if (!tide__table_push(t, &tide_pool_states_desc, &row))
		return tide__ttlog_nomem(x);
	t->t[row] = r->now;
	t->allocated[row] = s->allocated;
	t->free[row] = s->free;
	t->largest[row] = s->largest;
	t->pool[row].i = r->pools[pool].row;
	t->span[row].i = span;
	t->when[row] = r->when;
	return true;
}

static bool take_pool(ttlog *x, tt_rank *r, unsigned pool, uint32_t span, const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	static const tt_owner nobody = { 0 };
	if (!tide__ttlog_get_pool(x, r, pool, &r->state[pool]))
		return false;
	if (p->banks != r->state[pool].banks) { /* belongs to another device than this rank's */
		x->unmatched++;
		return true;
	}
	bool next = p->block + 1 == r->blocks;
	bool ok = put_state(x, r, pool, span) &&
		  tide__ttlog_change(x, r, pool, r->state[pool].allocated, next ? by : &nobody);
	p->block = r->blocks;
	return ok;
}

static bool finish_block(ttlog *x, tt_rank *r)
{
	bool ok = true;
	if (!r->in_block)
		return true;
	r->in_block = false;
	if (!r->have) {
		x->loose++;
		return true;
	}
	tt_owner by = charged_to(r);
	uint32_t span = r->when == TIDE_STATE_BEFORE  ? r->op_span
			: r->when == TIDE_STATE_AFTER ? by.span
						      : 0;
	r->blocks++;
	x->blocks++;
	x->partial += r->have != (1 << TT_POOLS) - 1;
	for (unsigned p = 0; ok && p < TT_POOLS; p++)
		if (r->have >> p & 1)
			ok = take_pool(x, r, p, span, &by);
	r->owner = (tt_owner){ 0 };
	if (r->when != TIDE_STATE_BEFORE)
		return ok;
	r->op_blocked = true;
	if (counts(r->op_kind))
		r->kept[x->m->spans.t0[r->op_span] / TIDE_OP_NS] = 1;
	r->owner = (tt_owner){ r->op_span, r->op, instance_of(r), root_of(r), role_of(x, r) };
	return ok;
}

void tide__ttlog_expect_block_after(tt_rank *r, const tide_model *m)
{
	r->op_blocked = true;
	if (counts(r->op_kind))
		r->kept[m->spans.t0[r->op_span] / TIDE_OP_NS] = 1;
	r->owner = (tt_owner){ .span = r->op_span };
}

static bool header(ttlog *x, tt_rank *r, const tt_line *l)
{
	tide_str type = { 0 };
	if (l->text.n && !(type = tide__intern_n(x->m, l->text.s, l->text.n)).i)
		return tide__ttlog_nomem(x);
	r->when = l->when;
	r->have = 0;
	if (l->when != TIDE_STATE_BEFORE) {
		r->in_block = true;
		r->submitted = l->when == TIDE_STATE_BETWEEN;
		return settle_op(x, r);
	}
	bool dealloc = TIDE_SLICE_IS(l->text, "DeallocateOp"),
	     fits = r->op_open && !r->op_blocked && dealloc == (r->op_kind == TT_KIND_DEALLOCATE);
	if (fits)
		r->op_type = type;
	else if (!settle_op(x, r) || !begin_op(x, r, 0, type))
		return false;
	r->in_block = true;
	return true;
}

static bool state(ttlog *x, tt_rank *r, const tt_line *l)
{
	if (!r->in_block || (r->have >> l->pool & 1)) {
		x->loose++;
		return true;
	}
	r->state[l->pool] = l->state;
	r->have |= (uint8_t)(1u << l->pool);
	return r->have != (1 << TT_POOLS) - 1 || finish_block(x, r);
}

/* ---- programs ---- */

static bool push_frame(ttlog *x, tt_rank *r, tt_frame f)
{
	if (!TIDE_ROOM(r->stack, r->cap_stack, r->depth + 1))
		return tide__ttlog_nomem(x);
	r->stack[r->depth++] = f;
	return true;
}

static bool start(ttlog *x, tt_rank *r, tide_slice text)
{
	tide_str name = tide__intern_n(x->m, text.s, text.n);
	if ((text.n && !name.i) || r->depth > 4096)
		return name.i ? true : tide__ttlog_nomem(x);
	if (r->cached_span && r->depth) { /* the operation lasts as long as its program */
		tt_frame f = { r->cached_span, instance_of(r), { 0 }, false, false };
		if (!push_frame(x, r, f))
			return false;
	}
	r->cached_span = 0;
	int64_t t = tide__ttlog_between(r);
	uint32_t span = tide__ttlog_begin_span(x, r, name, TIDE_CAT_USER, t, t);
	tt_frame f = { span, ++x->instances, name, true, has(text, "const_eval") };
	return span && push_frame(x, r, f);
}

static void pop(ttlog *x, tt_rank *r, int64_t t)
{
	uint32_t span = r->stack[--r->depth].span;
	if (x->m->spans.t1[span] < t)
		x->m->spans.t1[span] = t;
}

static bool phase(ttlog *x, tt_rank *r, tide_str name, int64_t t)
{
	char text[256];
	uint64_t key = (uint64_t)r->lane << 32 | name.i;
	uint32_t run = tide__map_get(&x->runs, key) + 1;
	if (!tide__map_put(&x->runs, key, run) ||
	    !TIDE_ROOM(x->marks, x->cap_marks, x->n_marks + 1))
		return tide__ttlog_nomem(x);
	if (run > 1) {
		snprintf(text, sizeof text, "%.200s (run %u)", tide__text(x->m, name, NULL), run);
		name = tide__intern(x->m, text);
	}
	x->marks[x->n_marks++] = (tt_mark){
		.t = t, .extra = -1, .name = name, .lane = r->lane, .kind = TIDE_MARK_PHASE
	};
	return name.i || tide__ttlog_nomem(x);
}

/* axis.c aligns the runs of all ranks. */
static bool end_run(ttlog *x, tt_rank *r, int64_t t)
{
	if (!TIDE_ROOM(r->ends, r->cap_ends, r->n_ends + 1))
		return tide__ttlog_nomem(x);
	r->ends[r->n_ends++] = (tt_end){ (uint32_t)r->n_ops, t };
	return true;
}

static bool finish(ttlog *x, tt_rank *r, tide_slice text)
{
	tide_str name = tide__intern_n(x->m, text.s, text.n);
	size_t at = r->depth;
	r->cached_span = 0; /* its program did not follow: the next one is not inside it */
	while (at > 0 && !(r->stack[at - 1].program && r->stack[at - 1].name.i == name.i))
		at--;
	if (!at) {
		x->unmatched++;
		return true;
	}
	int64_t t = tide__ttlog_between(r);
	uint32_t root = r->stack[0].span;
	x->unmatched += r->depth - at;
	while (r->depth >= at)
		pop(x, r, t);
	if (r->depth && !r->stack[r->depth - 1].program)
		pop(x, r, t);
	if (r->depth)
		return true;
	r->last_root = root;
	return end_run(x, r, t) && phase(x, r, name, t);
}

/* ---- lines ---- */

bool tide__ttlog_settle_rank(ttlog *x, tt_rank *r)
{
	return finish_block(x, r) && settle_op(x, r);
}

bool tide__ttlog_take(ttlog *x, tt_rank *r, const tt_line *l)
{
	if (l->what == TT_STATE)
		return state(x, r, l);
	if (l->what == TT_OTHER || l->what == TT_CACHE_HIT)
		return true;
	if (!finish_block(x, r))
		return false;
	switch (l->what) {
	case TT_HEADER:
		return header(x, r, l);
	case TT_OP: {
		uint32_t op = op_of(x, r, l->text);
		x->op_lines++;
		x->cut += op && x->ops[op - 1].cut && !l->cut;
		return op && settle_op(x, r) && begin_op(x, r, op, (tide_str){ 0 });
	}
	case TT_START:
		return settle_op(x, r) && start(x, r, l->text);
	case TT_FINISH:
		return settle_op(x, r) && finish(x, r, l->text);
	case TT_CACHE_MISS: {
		tide_str f = tide__intern_n(x->m, l->text.s, l->text.n);
		return !f.i || tide__map_put(&x->missed, f.i, 1) || tide__ttlog_nomem(x);
	}
	default:
		return true;
	}
}
