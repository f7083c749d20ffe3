// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads any trace Tidemark knows as tables of columns.
 *
 * Link with libtidemark. Easiest first:
 *
 *     #include <tidemark/trace.h>
 *
 *     tide_trace *t;
 *     tide_error err;
 *     if (tide_trace_open("run.tide", &t, &err))
 *             return fprintf(stderr, "%s\n", err.text), 1;
 *     tide_column_view size, pool, name;
 *     tide_trace_column(t, "allocs", "size", &size);
 *     tide_trace_column(t, "allocs", "pool", &pool);
 *     tide_trace_column(t, "pools", "name", &name);
 *     const uint64_t *bytes = (const uint64_t *)size.data;
 *     const uint32_t *in = (const uint32_t *)pool.data;
 *     const uint32_t *names = (const uint32_t *)name.data;
 *     for (size_t i = size.first; i < size.rows; i++)
 *             printf("%" PRIu64 " bytes in %s\n", bytes[i],
 *                    tide_trace_text(t, names[in[i]], NULL));
 *     tide_trace_close(t);
 *
 * The content of a file decides its format (.tide, packed or not, left by a killed process; a
 * Kineto trace, a torch memory snapshot, gzipped or not ...), never its name. Whatever the source,
 * the tables are the same.
 *
 * A trace never changes once it is open: any number of threads may read it. All pointers handed out
 * are borrowed until tide_trace_close.
 *
 * Conventions
 *   ids     columns of type TIDE_TYPE_ID hold uint32_t row numbers of the table that
 *           `refers` names; 0 means none. Tables with ids keep row 0 for "none": start at `first`.
 *   texts   ids that refer to "strings": see tide_trace_text.
 *   times   int64_t ns from the trace's start; INT64_MAX = had not ended when the trace ended.
 *   sizes   bytes, uint64_t.
 *   facts   the table "facts" holds settings, versions and losses (keys "loss.*"): show those. */
#ifndef TIDEMARK_TRACE_H
#define TIDEMARK_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_trace tide_trace;

/** Open a trace of any format.
 *
 *  @param path  borrowed for the call only.
 *  @param out   receives the trace, or NULL on failure. Owned by the caller: tide_trace_close().
 *  @param err   receives code, byte offset and one line of text, which does not repeat the path.
 *               May be NULL.
 *  @return TIDE_OK; TIDE_EIO; TIDE_EFORMAT (no known format, or a newer one); TIDE_ETRUNC,
 *          TIDE_ECORRUPT (damaged before anything could be read); TIDE_ELIMIT; TIDE_ENOMEM.
 *
 *  A damaged file that can be read in part is not an error: the facts record the damage. */
TIDE_API tide_code tide_trace_open(const char *path, tide_trace **out, tide_error *err);

/** Close the trace and free it. NULL is allowed. */
TIDE_API void tide_trace_close(tide_trace *t);

/** Name of the format the trace was read from: "tide", "kineto", "torchsnap" ...
 *
 *      printf("a trace of format %s\n", tide_trace_format(t)); */
TIDE_API const char *tide_trace_format(const tide_trace *t);
/** The last time the trace covers, ns.
 *
 *      printf("%.3f s long\n", (double)tide_trace_end(t) / 1e9); */
TIDE_API int64_t tide_trace_end(const tide_trace *t);
/** Unix time of the trace's start in ns. Returns false if the source does not record it.
 *
 *      int64_t unix_ns;
 *      if (tide_trace_wall(t, &unix_ns))
 *              printf("began %" PRId64 " s after 1970\n", unix_ns / 1000000000); */
TIDE_API bool tide_trace_wall(const tide_trace *t, int64_t *unix_ns);

/** Text of an id that refers to "strings"; NUL-terminated, "" for 0 or an unknown id.
 *  @param n  receives its length (it may hold any bytes, 0 included). May be NULL. */
TIDE_API const char *tide_trace_text(const tide_trace *t, uint32_t id, size_t *n);

/* ---- tables and columns ------------------------------------------------------------------ */

typedef enum tide_type {
	TIDE_TYPE_U8,
	TIDE_TYPE_U16,
	TIDE_TYPE_U32,
	TIDE_TYPE_U64,
	TIDE_TYPE_I64,
	TIDE_TYPE_F64,
	TIDE_TYPE_ID
} tide_type;

typedef struct tide_table_view {
	const char *name, *doc; /* "allocs", "allocations" */
	size_t rows;		/* the none row included */
	size_t first;		/* first row with data: 1 for tables with ids, else 0 */
	size_t columns;
} tide_table_view;

typedef struct tide_column_view {
	const char *name, *doc; /* "born", "ns" */
	const char
		*refers; /* TIDE_TYPE_ID: the table its ids are rows of, or "strings"; else NULL */
	tide_type type;
	size_t size;	    /* bytes per element */
	size_t rows, first; /* as in the table */
	const void *data;   /* rows elements */
} tide_column_view;

/** Number of tables; they are the same in every trace.
 *
 *      printf("%zu tables\n", tide_trace_tables()); */
TIDE_API size_t tide_trace_tables(void);
/** The i-th table. @return false (and *out untouched) if there is none.
 *
 *      tide_table_view table;
 *      for (size_t i = 0; tide_trace_table_at(t, i, &table); i++)
 *              printf("%s: %zu rows\n", table.name, table.rows - table.first); */
TIDE_API bool tide_trace_table_at(const tide_trace *t, size_t i, tide_table_view *out);
/** A table by name. @return TIDE_OK or TIDE_ENOTFOUND.
 *
 *      tide_table_view spans;
 *      if (tide_trace_table(t, "spans", &spans) == TIDE_OK)
 *              printf("%zu spans\n", spans.rows - spans.first); */
TIDE_API tide_code tide_trace_table(const tide_trace *t, const char *name, tide_table_view *out);
/** The i-th column of a table. @return false if there is none.
 *
 *      tide_column_view c;
 *      for (size_t i = 0; tide_trace_column_at(t, "spans", i, &c); i++)
 *              printf("spans.%s: %s, %zu bytes each\n", c.name, c.doc, c.size); */
TIDE_API bool tide_trace_column_at(const tide_trace *t, const char *table, size_t i,
				   tide_column_view *out);
/** A column by name. @return TIDE_OK or TIDE_ENOTFOUND; on failure *out is all zero.
 *
 *      tide_column_view begin;
 *      if (tide_trace_column(t, "spans", "t0", &begin) == TIDE_OK && begin.rows > begin.first)
 *              printf("first span at %" PRId64 " ns\n", ((const int64_t *)begin.data)[begin.first]); */
TIDE_API tide_code tide_trace_column(const tide_trace *t, const char *table, const char *column,
				     tide_column_view *out);
/** Dimensions of all tensors: the columns dims and ndim of "tensors" index into this array.
 *
 *      tide_column_view dims, ndim;
 *      tide_trace_column(t, "tensors", "dims", &dims);
 *      tide_trace_column(t, "tensors", "ndim", &ndim);
 *      size_t n;
 *      const uint64_t *all = tide_trace_dims(t, &n);
 *      printf("%zu dimensions of %zu tensors:", n, dims.rows - dims.first);
 *      for (size_t i = dims.first; i < dims.rows; i++)
 *              for (size_t k = 0; k < ((const uint32_t *)ndim.data)[i]; k++)
 *                      printf(" %" PRIu64, all[((const uint64_t *)dims.data)[i] + k]); */
TIDE_API const uint64_t *tide_trace_dims(const tide_trace *t, size_t *n);

/** Value of a numeric fact. Returns false if there is no such fact or it is a text.
 *
 *      int64_t lost = 0;
 *      tide_trace_fact(t, "loss.events", &lost);
 *      printf("%" PRId64 " events were lost\n", lost); */
TIDE_API bool tide_trace_fact(const tide_trace *t, const char *key, int64_t *number);

#ifdef __cplusplus
}
#endif
#endif
