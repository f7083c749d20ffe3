// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Written operation by operation from the same rows, so that the two files cannot disagree. Figures
 * in MB (1024^2 bytes) are those of one bank. */
#include "render/report/tenstorrent/tt_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/text/json.h"

#define MB 1048576.0
enum { WEIGHTS = 64 }; /* of one operation */

static const char *const pool_names[TIDE_TT_POOLS] = { "DRAM", "L1", "L1_SMALL", "TRACE" };

static tide_code done(tide_json *j, FILE *out, tide_error *err)
{
	bool ok = tide__json_end(j);
	return ok && !ferror(out) ? TIDE_OK : tide__fail_errno(err, "cannot write");
}

static void kslice(tide_json *j, const char *key, tide_slice s)
{
	if (s.s)
		tide__json_kstrn(j, key, s.s, s.n);
	else
		tide__json_knull(j, key);
}

static void kdouble(tide_json *j, const char *key, double v)
{
	tide__json_key(j, key);
	tide__json_double(j, v);
}

/* Returns thousandths of an MB, as in the log. */
static int64_t milli(uint64_t bytes)
{
	return (int64_t)((bytes * 1000 + 524288) / 1048576);
}

/* ---- memory ---- */

static void json_config(tide_json *j, const tide_tt *t)
{
	const tide_model *m = t->m;
	tide__json_kobject(j, "memory_config");
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		uint32_t row = t->pool_row[p];
		if (!row || !m->pools.banks[row])
			continue;
		tide__json_kobject(j, pool_names[p]);
		tide__json_kuint(j, "num_banks", m->pools.banks[row]);
		tide__json_kmilli(j, "total_bytes_per_bank_MB",
				  milli(m->pools.capacity[row] / m->pools.banks[row]));
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

static void json_state(tide_json *j, const tide_model *m, uint32_t row)
{
	const tide_pool_states *s = &m->pool_states;
	uint32_t pool = s->pool[row - 1].i, banks = m->pools.banks[pool];
	tide__json_kuint(j, "numBanks", banks);
	tide__json_kmilli(j, "totalBytesPerBank_MB",
			  banks ? milli(m->pools.capacity[pool] / banks) : 0);
	tide__json_kmilli(j, "totalBytesAllocatedPerBank_MB", milli(s->allocated[row - 1]));
	tide__json_kmilli(j, "totalBytesFreePerBank_MB", milli(s->free[row - 1]));
	if (s->largest[row - 1] == UINT64_MAX)
		tide__json_knull(j, "largestContiguousBytesFreePerBank_MB");
	else
		tide__json_kmilli(j, "largestContiguousBytesFreePerBank_MB",
				  milli(s->largest[row - 1]));
}

static void json_padding(tide_json *j, const char *key, const tide_tt_live *x)
{
	double bytes = (double)x->bytes / MB, padded = (double)x->padded / MB;
	tide__json_kobject(j, key);
	tide__json_kuint(j, "unpadded_bytes", x->bytes);
	tide__json_kuint(j, "padded_bytes", x->padded);
	tide__json_kuint(j, "num_tensors", x->n);
	kdouble(j, "unpadded_MB", bytes);
	kdouble(j, "padded_MB", padded);
	kdouble(j, "overhead_MB", padded - bytes);
	kdouble(j, "overhead_pct", x->bytes ? (padded - bytes) / bytes * 100 : 0);
	tide__json_object_end(j);
}

static void json_rank(tide_json *j, const tide_tt *t, const tide_tt_op *o)
{
	const char *name = tide__text(t->m, t->m->processes.command[o->process], NULL);
	if (o->session)
		tide__json_kuint(j, "program_index", o->session - 1);
	if (!strncmp(name, "MPI ", 4) || !strncmp(name, "task ", 5))
		tide__json_kstr(j, "rank", strchr(name, ' ') + 1);
}

static void json_const_eval(tide_json *j, const tide_tt *t, const tide_tt_op *o)
{
	if (o->graph.i)
		tide__json_ktext(j, "const_eval_graph", t->m, o->graph);
	else
		tide__json_knull(j, "const_eval_graph");
	tide__json_kbool(j, "const_eval_cache_miss", o->miss);
}

/* Writes the operation's change: members that the original files do not have. */
static void json_change(tide_json *j, const tide_tt *t, const tide_tt_op *o)
{
	tide__json_kobject(j, "change");
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		if (!o->state[p])
			continue;
		uint32_t pool = t->m->pool_states.pool[o->state[p] - 1].i;
		tide__json_kobject(j, pool_names[p]);
		bool known = o->change[p] != TIDE_TT_UNKNOWN;
		double f = tide__tt_fragmentation(t->m, o->state[p]);
		tide__json_kint_if(j, "bytes_per_bank", known, o->change[p]);
		tide__json_kint_if(j, "bytes", known,
				   known ? o->change[p] * t->m->pools.banks[pool] : 0);
		tide__json_key(j, "fragmentation");
		tide__json_double(j, f);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

static void json_memory_op(tide_json *j, const tide_tt *t, size_t i, const tide_tt_live *pad)
{
	const tide_tt_op *o = &t->ops[i];
	tide_mlir_op p;
	char room[TIDE_TT_LOC];
	bool read = tide__tt_parse(t, o, &p);
	tide__json_object(j);
	tide__json_kuint(j, "index", i);
	if (o->type.i)
		tide__json_ktext(j, "op_type", t->m, o->type);
	else
		tide__json_knull(j, "op_type");
	tide__json_kstr(j, "mlir_op", tide__tt_name(t, o));
	kslice(j, "loc", read ? tide__tt_loc(t, o, &p, room) : (tide_slice){ NULL, 0 });
	tide__json_kobject(j, "memory");
	for (unsigned k = 0; k < TIDE_TT_POOLS; k++)
		if (o->state[k]) {
			tide__json_kobject(j, pool_names[k]);
			json_state(j, t->m, o->state[k]);
			tide__json_object_end(j);
		}
	tide__json_object_end(j);
	json_change(j, t, o);
	json_const_eval(j, t, o);
	tide__json_kbool(j, "is_weight_op", o->graph.i != 0);
	tide__json_kobject(j, "unpadded_memory");
	json_padding(j, "DRAM", &pad[i * 2]);
	json_padding(j, "L1", &pad[i * 2 + 1]);
	tide__json_object_end(j);
	json_rank(j, t, o);
	tide__json_object_end(j);
}

/* Writes the names of sessions: texts of marks, in order. */
static void json_programs(tide_json *j, const tide_tt *t)
{
	const tide_marks *k = &t->m->marks;
	uint32_t session = 0;
	if (!t->n || !t->ops[t->n - 1].session)
		return;
	tide__json_karray(j, "programs");
	for (size_t i = 1; i < k->n; i++) {
		if (k->kind[i] != TIDE_MARK_ANNOTATION ||
		    strcmp(tide__text(t->m, k->name[i], NULL), "session"))
			continue;
		size_t first = SIZE_MAX, last = 0;
		session++;
		for (size_t o = 0; o < t->n; o++)
			if (t->ops[o].session == session) {
				first = first == SIZE_MAX ? o : first;
				last = o;
			}
		if (first == SIZE_MAX)
			continue;
		tide__json_object(j);
		tide__json_ktext(j, "name", t->m, k->text[i]);
		tide__json_kuint(j, "start_op_index", first);
		tide__json_kuint(j, "end_op_index", last);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

tide_code tide__tt_memory_json(tide_tt *t, FILE *out, tide_error *err)
{
	tide_tt_live *pad = tide__alloc(t->n * 2, sizeof *pad);
	tide_code rc = pad ? tide__tt_find_padding(t, true, pad, err) : tide__nomem(err);
	tide_json j;
	if (rc != TIDE_OK) {
		tide__free(pad);
		return rc;
	}
	tide__json_begin(&j, out, true);
	tide__json_object(&j);
	tide__json_kobject(&j, "metadata");
	json_config(&j, t);
	tide__json_kuint(&j, "total_operations", t->n);
	json_programs(&j, t);
	tide__json_object_end(&j);
	tide__json_karray(&j, "operations");
	for (size_t i = 0; i < t->n; i++)
		json_memory_op(&j, t, i, pad);
	tide__json_array_end(&j);
	tide__json_object_end(&j);
	tide__free(pad);
	return done(&j, out, err);
}

/* ---- operations ---- */

/* Writes the operands, split at commas as in the text; brackets of lists stay. */
static void json_inputs(tide_json *j, tide_slice list)
{
	const char *p = list.s, *end = list.s + list.n;
	tide__json_karray(j, "inputs");
	while (list.s && p < end) {
		const char *c = memchr(p, ',', (size_t)(end - p)), *to = c ? c : end;
		const char *from = p;
		while (from < to && *from == ' ')
			from++;
		const char *e = to;
		while (e > from && e[-1] == ' ')
			e--;
		if (e > from)
			tide__json_strn(j, from, (size_t)(e - from));
		p = to + (c != NULL);
	}
	tide__json_array_end(j);
}

static void json_types(tide_json *j, const char *shapes, const char *dtypes, tide_slice list)
{
	tide_mlir_tensor x;
	tide_slice one;
	if (list.n > 1 && list.s[0] == '(')
		list = (tide_slice){ list.s + 1, list.n - 2 };
	for (int k = 0; k < 2; k++) {
		tide__json_karray(j, k ? dtypes : shapes);
		for (tide_slice rest = list; tide__mlir_next(&rest, &one);)
			if (tide__mlir_parse_tensor(one, &x) && x.n_dims)
				tide__json_strn(j, k ? x.dtype.s : x.shape.s,
						k ? x.dtype.n : x.shape.n);
		tide__json_array_end(j);
	}
}

static void json_dims(tide_json *j, const char *key, const uint64_t *v, unsigned n)
{
	tide__json_karray(j, key);
	for (unsigned i = 0; i < n; i++)
		tide__json_uint(j, v[i]);
	tide__json_array_end(j);
}

static void json_layout(tide_json *j, const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p)
{
	tide_mlir_tensor x;
	uint64_t shape[TIDE_MLIR_DIMS];
	if (!tide__tt_read_result(t, o, p, &x) || !x.n_dims) {
		tide__json_knull(j, "output_layout_info");
		return;
	}
	tide__json_kobject(j, "output_layout_info");
	json_dims(j, "logical_shape", x.dims, x.n_dims);
	tide__json_kstrn(j, "dtype", x.dtype.s, x.dtype.n);
	tide__json_kuint(j, "unpadded_bytes", x.bytes);
	tide__json_kbool(j, "is_tiled", x.tiled);
	if (x.tiled) {
		uint64_t tile[] = { x.tile_h, x.tile_w };
		json_dims(j, "memref_shape", x.tiles, x.n_tiles);
		json_dims(j, "tile_size", tile, 2);
		kslice(j, "tile_dtype", x.tile_dtype);
		json_dims(j, "padded_shape", shape, tide__mlir_padded_shape(&x, shape));
	} else {
		tide__json_knull(j, "memref_shape");
		tide__json_knull(j, "tile_size");
		json_dims(j, "padded_shape", shape, tide__mlir_padded_shape(&x, shape));
	}
	json_dims(j, "shard_grid", x.grid, x.n_grid);
	tide__json_kuint(j, "padded_bytes", x.padded);
	kslice(j, "buffer_type", x.buffer);
	kdouble(j, "overhead_pct",
		x.bytes ? ((double)x.padded - (double)x.bytes) / (double)x.bytes * 100 : 0);
	tide__json_object_end(j);
}

static void json_weights(tide_json *j, const tide_tt *t, const uint32_t *rows, size_t n)
{
	tide__json_karray(j, "weights");
	for (size_t i = 0; i < n; i++) {
		const tide_tt_weight *w = &t->weights[rows[i]];
		tide__json_object(j);
		tide__json_kuint(j, "registry_index", rows[i]);
		kslice(j, "name", w->name);
		kslice(j, "shape", w->shape);
		kslice(j, "dtype", w->dtype);
		tide__json_kuint(j, "bytes", w->bytes);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static tide_slice first_result(tide_slice results)
{
	tide_slice one = { NULL, 0 };
	if (results.s && tide__mlir_next(&results, &one)) {
		const char *colon = memchr(one.s, ':', one.n);
		one.n = colon ? (size_t)(colon - one.s) : one.n;
	}
	return one;
}

static void json_operation(tide_json *j, tide_tt *t, size_t i)
{
	const tide_tt_op *o = &t->ops[i];
	static const tide_slice none = { NULL, 0 };
	uint32_t rows[WEIGHTS];
	tide_mlir_op p;
	char room[TIDE_TT_LOC];
	bool read = tide__tt_parse(t, o, &p);
	size_t n = read ? tide__tt_find_op_weights(t, i, rows, WEIGHTS) : 0;
	tide__json_object(j);
	kslice(j, "result", first_result(p.results));
	tide__json_kstr(j, "mlir_op", tide__tt_name(t, o));
	json_inputs(j, p.operands);
	kslice(j, "attributes", p.attrs.n ? p.attrs : none);
	kslice(j, "input_types", p.out_types.s ? p.in_types : none);
	kslice(j, "output_type", p.out_types);
	json_types(j, "input_shapes", "input_dtypes", p.in_types);
	json_types(j, "output_shapes", "output_dtypes", p.out_types);
	json_layout(j, t, o, &p);
	kslice(j, "loc", read ? tide__tt_loc(t, o, &p, room) : none);
	tide__json_kuint(j, "index", i);
	json_const_eval(j, t, o);
	tide__json_kbool(j, "is_weight_op", o->graph.i || n);
	json_weights(j, t, rows, n);
	tide__json_kuint(j, "log_line", o->line);
	json_rank(j, t, o);
	tide__json_object_end(j);
}

tide_code tide__tt_operations_json(tide_tt *t, FILE *out, tide_error *err)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__json_array(&j);
	for (size_t i = 0; i < t->n; i++)
		json_operation(&j, t, i);
	tide__json_array_end(&j);
	return done(&j, out, err);
}

/* ---- arguments ---- */

tide_code tide__tt_registry_json(tide_tt *t, FILE *out, tide_error *err)
{
	tide_tt_model x = tide__tt_count_model(t);
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__json_object(&j);
	tide__json_kobject(&j, "metadata");
	tide__json_kuint(&j, "total_entries", t->n_weights);
	tide__json_kuint(&j, "total_weights", x.weights);
	tide__json_kuint(&j, "total_inputs", x.inputs);
	tide__json_kuint(&j, "total_weight_bytes", x.bytes);
	kdouble(&j, "total_weight_MB", (double)x.bytes / MB);
	tide__json_object_end(&j);
	tide__json_karray(&j, "entries");
	for (size_t i = 0; i < t->n_weights; i++) {
		const tide_tt_weight *w = &t->weights[i];
		tide__json_object(&j);
		tide__json_kuint(&j, "index", i);
		kslice(&j, "ssa", w->ssa);
		kslice(&j, "name", w->name);
		if (w->type.s)
			kslice(&j, "type", w->type);
		else
			tide__json_kstr(&j, "type", "unknown");
		kslice(&j, "shape", w->shape);
		kslice(&j, "dtype", w->dtype);
		tide__json_kuint(&j, "bytes", w->bytes);
		kdouble(&j, "bytes_MB", (double)w->bytes / MB);
		if (w->same)
			tide__json_kuint(&j, "same_as", w->same - 1);
		tide__json_object_end(&j);
	}
	tide__json_array_end(&j);
	tide__json_object_end(&j);
	return done(&j, out, err);
}
