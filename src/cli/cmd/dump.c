// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* dump: every row of the model, table by table, from the column lists. Ids of texts are printed as
 * texts, kinds by name, ends that never came as "-" / null. */
#include <inttypes.h>
#include <string.h>

#include "cli/select.h"
#include "render/text/out.h"
#include "model/kind_names.h"
#include "render/text/format.h"

#define TABLE_WORDS                                                                                                      \
	"frames,stacks,processes,devices,pools,lanes,spans,allocs,segments,pendings,"                                    \
	"memory_events,uses,referrers,counters,samples,pool_states,documents,marks,tensors,views,flows,attrs,op_totals," \
	"facts,ticks"

enum { O_TABLE, O_LIMIT, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_TABLE] = { "table", 't', TIDE_OPT_ENUM, TABLE_WORDS, "only this table", .many = true },
	[O_LIMIT] = { "limit", 'n', TIDE_OPT_INT, "N", "at most N rows of each table" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "one JSON object per line" },
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

/* ---- the tables ---- */

#define S(type, name, doc)		  _Generic((type){ 0 }, tide_str : 1, default : 0),
#define T(st, member, COLUMNS, none, doc) static const uint8_t st##_texts[] = { COLUMNS(S) };
TIDE_TABLES(T)
#undef T
#undef S

struct table {
	const tide_table_desc *desc;
	const uint8_t *texts; /* per column: true if it holds tide_str */
	const void *rows;
	size_t n, first;
};

enum {
	N_TABLES = 0
#define T(st, member, COLUMNS, none, doc) +1
	TIDE_TABLES(T)
#undef T
};

static void list_tables(const tide_model *m, struct table *t)
{
	size_t k = 0;
#define T(st, member, COLUMNS, none, doc) \
	t[k++] = (struct table){ &st##_desc, st##_texts, &m->member, m->member.n, none };
	TIDE_TABLES(T)
#undef T
}

/* ---- one value ---- */

struct field {
	const tide_column *c;
	tide_kind_names words; /* texts of a column of kinds */
	bool text;
};

struct dump {
	const tide_args *a;
	const tide_model *m;
	tide_long longs;
};

static uint64_t as_uint(const void *p, unsigned size)
{
	uint64_t v = 0;
	memcpy(&v, p, size); /* little-endian, like everything here */
	return v;
}

static const char *cell(const struct table *t, const tide_column *c, size_t row)
{
	const char *const *column =
		(const char *const *)(const void *)((const char *)t->rows + c->at);
	return *column + row * c->size;
}

static void json_value(tide_json *j, struct dump *x, const struct field *f, const void *p)
{
	uint64_t v = as_uint(p, f->c->size);
	size_t n;
	if (f->text) {
		const char *s = tide__long_text(&x->longs, x->m, (tide_str){ (uint32_t)v }, &n);
		v ? tide__json_strn(j, s, n) : tide__json_null(j);
	} else if (f->words) {
		tide__json_str(j, f->words((unsigned)v));
	} else if (f->c->type == TIDE_COL_F64) {
		double d;
		memcpy(&d, p, sizeof d);
		tide__json_double(j, d);
	} else if (f->c->type == TIDE_COL_I64 && (int64_t)v == TIDE_T_NEVER) {
		tide__json_null(j);
	} else if (f->c->type == TIDE_COL_I64) {
		tide__json_int(j, (int64_t)v);
	} else {
		tide__json_uint(j, v);
	}
}

static void text_value(struct dump *x, const struct field *f, const void *p)
{
	uint64_t v = as_uint(p, f->c->size);
	FILE *out = x->a->out;
	size_t n;
	if (f->text) {
		const char *s = tide__long_text(&x->longs, x->m, (tide_str){ (uint32_t)v }, &n);
		fputc('"', out);
		tide__put_name(out, s, n, 0, x->a->style.ascii);
		fputc('"', out);
	} else if (f->words) {
		fputs(f->words((unsigned)v), out);
	} else if (f->c->type == TIDE_COL_F64) {
		double d;
		memcpy(&d, p, sizeof d);
		fprintf(out, "%.17g", d);
	} else if (f->c->type == TIDE_COL_I64 && (int64_t)v == TIDE_T_NEVER) {
		fputc('-', out);
	} else if (f->c->type == TIDE_COL_I64) {
		fprintf(out, "%" PRId64, (int64_t)v);
	} else if (!strcmp(f->c->name, "addr")) {
		fprintf(out, "0x%" PRIx64, v);
	} else {
		fprintf(out, "%" PRIu64, v);
	}
}

/* ---- rows ---- */

enum { MAX_COLUMNS = 24 };

static void shape_text(const tide_args *a, const tide_model *m, size_t row)
{
	fputs(" shape=[", a->out);
	for (uint32_t k = 0; k < m->tensors.ndim[row]; k++)
		fprintf(a->out, "%s%" PRIu64, k ? "," : "", m->dims[m->tensors.dims[row] + k]);
	fputs("]", a->out);
}

static void text_row(struct dump *x, const struct table *t, const struct field *f, size_t row)
{
	fprintf(x->a->out, "%s %zu:", t->desc->name, row);
	for (size_t k = 0; k < t->desc->n_columns; k++) {
		fprintf(x->a->out, " %s=", f[k].c->name);
		text_value(x, &f[k], cell(t, f[k].c, row));
	}
	if (t->rows == &x->m->tensors)
		shape_text(x->a, x->m, row);
	fputc('\n', x->a->out);
}

static void json_row(struct dump *x, const struct table *t, const struct field *f, size_t row)
{
	const tide_model *m = x->m;
	tide_json j;
	tide__json_begin(&j, x->a->out, false);
	tide__json_object(&j);
	tide__json_kstr(&j, "table", t->desc->name);
	tide__json_kuint(&j, "row", row);
	for (size_t k = 0; k < t->desc->n_columns; k++) {
		tide__json_key(&j, f[k].c->name);
		json_value(&j, x, &f[k], cell(t, f[k].c, row));
	}
	if (t->rows == &m->tensors) {
		tide__json_karray(&j, "shape");
		for (uint32_t k = 0; k < m->tensors.ndim[row]; k++)
			tide__json_uint(&j, m->dims[m->tensors.dims[row] + k]);
		tide__json_array_end(&j);
	}
	tide__json_object_end(&j);
	tide__json_end(&j);
}

static void dump_table(struct dump *x, const struct table *t)
{
	const tide_args *a = x->a;
	struct field f[MAX_COLUMNS];
	size_t end = t->n;
	if (a->opt[O_LIMIT].set && (uint64_t)a->opt[O_LIMIT].num < end - t->first)
		end = t->first + (size_t)a->opt[O_LIMIT].num;
	for (size_t k = 0; k < t->desc->n_columns; k++)
		f[k] = (struct field){ &t->desc->columns[k],
				       tide__kind_names_of(t->desc->name, t->desc->columns[k].name),
				       t->texts[k] != 0 };
	for (size_t row = t->first; row < end && !ferror(a->out); row++)
		(a->opt[O_JSON].set ? json_row : text_row)(x, t, f, row);
}

static bool chosen(const tide_args *a, const char *name)
{
	const tide_value *v = &a->opt[O_TABLE];
	for (size_t i = 0; i < v->n_list; i++)
		if (!strcmp(v->list[i], name))
			return true;
	return !v->given;
}

static int run(const tide_args *a)
{
	struct table t[N_TABLES];
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	struct dump x = { .a = a, .m = m };
	list_tables(m, t);
	for (size_t i = 0; i < N_TABLES; i++)
		if (chosen(a, t[i].desc->name))
			dump_table(&x, &t[i]);
	if (!a->opt[O_JSON].set)
		tide__cli_print_losses(a, m);
	tide__cli_note_truncated(x.longs.cut);
	tide__long_free(&x.longs);
	tide__model_free(m);
	return tide__cli_finish(a);
}

const tide_command tide__cmd_dump = {
	.name = "dump",
	.usage = "FILE [--table WORD] [--limit N] [--json]",
	.summary = "print every row of a trace",
	.help = "Prints one line per row, table by table. The tables are the same for every "
		"format: they are the input of all analyses. Row 0 of tables with ids means none "
		"and is not printed. Losses are facts.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.raw = true,
	.only = ".txt,.text,.log,.out,.json,.jsonl",
	.run = run,
};
