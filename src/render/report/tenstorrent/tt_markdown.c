// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A Tenstorrent run as Markdown, in the layout of the original tool. */
#include <string.h>

#include "base/mem.h"
#include "render/report/tenstorrent/tt_report_impl.h"
#include "render/text/labels.h"

static double mb(uint64_t bytes)
{
	return (double)bytes / 1048576;
}

/* Writes a cell without bars and newlines, which would end it. */
static void put_md(FILE *out, const char *s, size_t n, size_t most)
{
	bool cut = n > most;
	n = cut ? most - 3 : n;
	for (size_t i = 0; i < n; i++)
		fputc(s[i] == '|' || (unsigned char)s[i] < 32 ? ' ' : s[i], out);
	if (cut)
		fputs("...", out);
}

static void md_op(FILE *out, const tide_tt *t, int64_t op)
{
	tide_mlir_op p;
	tide_slice loc = { NULL, 0 };
	char room[TIDE_TT_LOC];
	if (op >= 0 && tide__tt_parse(t, &t->ops[op], &p))
		loc = tide__tt_loc(t, &t->ops[op], &p, room);
	const char *name = op >= 0 ? tide__tt_name(t, &t->ops[op]) : "unknown";
	put_md(out, name, strlen(name), 80);
	fputs(" | ", out);
	put_md(out, loc.n ? loc.s : "N/A", loc.n ? loc.n : 3, 50);
}

static void md_shapes(FILE *out, const tide_tt *t, size_t op)
{
	tide_mlir_op p;
	tt_shapes s = { "", "" };
	if (tide__tt_parse(t, &t->ops[op], &p))
		tide__tt_find_shapes(&p, &s);
	fprintf(out, "%s | %s |\n", *s.in ? s.in : "N/A", *s.out ? s.out : "N/A");
}

static void md_head(const tide_tt *t, const char *name, double pct, FILE *out)
{
	const tide_model *m = t->m;
	uint64_t bytes = tide__tt_count_model(t).bytes;
	char ops[32];
	fprintf(out, "# Memory Profile: %s\n\n> ", name);
	for (unsigned p = 0; p < 2; p++) {
		uint32_t pool = t->peak[p].pool,
			 banks = t->peak[p].state ? m->pools.banks[pool] : 0;
		double cap = banks ? mb(m->pools.capacity[pool] / banks) : 0;
		if (!t->peak[p].state)
			continue;
		if (p == 0)
			fprintf(out, "Peak DRAM: %.1f MB/bank (%.1f%%) | ", mb(t->peak[p].bytes),
				cap > 0 ? mb(t->peak[p].bytes) / cap * 100 : 0);
		else
			fprintf(out, "Peak L1: %.2f MB/bank | ", mb(t->peak[p].bytes));
	}
	fprintf(out, "Ops: %s", tide__fmt_count(ops, sizeof ops, (int64_t)t->n));
	if (bytes)
		fprintf(out, " | Weights: %.1f MB", mb(bytes));
	if (pct > 0)
		fprintf(out, " | Padding Overhead: %.1f%%", pct);
	fputs("\n\nThe runtime prints memory before an op runs. Each change is charged to the op that ran "
	      "between two states.\n\n",
	      out);
}

static void md_config(tide_tt *t, FILE *out)
{
	const tide_model *m = t->m;
	uint64_t weight_ops = 0;
	uint32_t one;
	const char *sep = "";
	char a[32], b[32], c[32];
	fputs("## Configuration\n- Memory: ", out);
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		uint32_t row = t->pool_row[p];
		if (!row || !m->pools.banks[row])
			continue;
		fprintf(out, "%s%s %u x %.2f MB/bank", sep, tide__tt_pools[p], m->pools.banks[row],
			mb(m->pools.capacity[row] / m->pools.banks[row]));
		sep = " | ";
	}
	for (size_t i = 0; i < t->n; i++)
		weight_ops += t->ops[i].graph.i || tide__tt_find_op_weights(t, i, &one, 1);
	fprintf(out, "\n- Operations: %s total (%s weight, %s activation)\n\n",
		tide__fmt_count(a, sizeof a, (int64_t)t->n),
		tide__fmt_count(b, sizeof b, (int64_t)weight_ops),
		tide__fmt_count(c, sizeof c, (int64_t)(t->n - weight_ops)));
}

/* Writes "36"; with several ranks "36 (rank 2)". */
static void md_at(FILE *out, const tide_tt *t, int64_t op)
{
	if (op < 0) {
		fputc('-', out);
		return;
	}
	fprintf(out, "%lld", (long long)tide__tt_position(t, (size_t)op));
	if (t->n_ranks > 1)
		fprintf(out, " (rank %lld)", (long long)t->m->processes.rank[t->ops[op].process]);
}

static void md_peak(const tide_tt *t, unsigned p, const tide_tt_peak *k, FILE *out)
{
	uint32_t banks = t->m->pools.banks[k->pool];
	double cap = banks ? mb(t->m->pools.capacity[k->pool] / banks) : 0;
	int64_t op = k->bytes ? k->op : -1;
	char name[64];
	fprintf(out, "| %s", tide__tt_pools[p]);
	if (t->n_ranks > 1)
		fprintf(out, " %s",
			tide__device_name(t->m, t->m->pools.device[k->pool].i, name, sizeof name));
	fputs(" | ", out);
	md_at(out, t, op);
	fputs(" | ", out);
	md_op(out, t, op);
	fprintf(out, " | %.2f MB | %.2f MB | %.1f%% |\n", mb(k->bytes), cap,
		cap > 0 ? mb(k->bytes) / cap * 100 : 0);
}

static void md_peaks(const tide_tt *t, FILE *out)
{
	uint32_t row = 0;
	fputs("## Peak Memory\n| Type | Op# | Operation | Location | Allocated | Capacity | Utilization |\n"
	      "|------|-----|-----------|----------|-----------|----------|-------------|\n",
	      out);
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
		while ((row = tide__tt_next_peak(t, p, row)))
			md_peak(t, p, &t->peaks[row], out);
	fputc('\n', out);
}

static void md_top(const tide_tt *t, tide_tt_by by, const char *title, FILE *out)
{
	size_t n;
	tide_tt_row *v = tide__tt_find_top(t, by, 0, TT_TOP, &n);
	if (n)
		fprintf(out,
			"## %s\n| Rank | Op# | Operation | Location | DRAM (MB) | Input | Output |\n"
			"|------|-----|-----------|----------|-----------|-------|--------|\n",
			title);
	for (size_t i = 0; v && i < n; i++) {
		fprintf(out, "| %zu | ", i + 1);
		md_at(out, t, v[i].op);
		fputs(" | ", out);
		md_op(out, t, v[i].op);
		fprintf(out, " | %.2f | ", mb(v[i].value));
		md_shapes(out, t, v[i].op);
	}
	if (n)
		fputc('\n', out);
	tide__free(v);
}

static void md_padding(const tide_tt *t, FILE *out)
{
	size_t n;
	tide_tt_row *v = tide__tt_find_top(t, TIDE_TT_BY_PADDING, 0, TT_TOP, &n);
	if (n)
		fputs("## Top 10 Padding Overhead\n| Rank | Op# | Operation | Logical | Padded | Overhead |\n"
		      "|------|-----|-----------|---------|--------|----------|\n",
		      out);
	for (size_t i = 0; v && i < n; i++) {
		tide_mlir_op p;
		tide_mlir_tensor x;
		if (!tide__tt_parse(t, &t->ops[v[i].op], &p) ||
		    !tide__tt_read_result(t, &t->ops[v[i].op], &p, &x))
			continue;
		fprintf(out, "| %zu | ", i + 1);
		md_at(out, t, v[i].op);
		fprintf(out, " | %s | %.*s (%.*s) | ", tide__tt_name(t, &t->ops[v[i].op]),
			(int)x.shape.n, x.shape.s, (int)x.dtype.n, x.dtype.s);
		uint64_t padded[TIDE_MLIR_DIMS];
		unsigned dims = tide__mlir_padded_shape(&x, padded);
		for (unsigned d = 0; d < dims; d++)
			fprintf(out, "%s%llu", d ? "x" : "", (unsigned long long)padded[d]);
		fprintf(out, " | %.2f MB (%.1f%%) |\n", mb(v[i].value),
			x.bytes ? 100.0 * (double)v[i].value / (double)x.bytes : 0);
	}
	if (n)
		fputc('\n', out);
	tide__free(v);
}

/* Writes "128.0 KB", in the units of the original tool. */
static void md_size(FILE *out, uint64_t bytes)
{
	if (bytes >= 1048576)
		fprintf(out, "%.2f MB", mb(bytes));
	else if (bytes >= 1024)
		fprintf(out, "%.1f KB", (double)bytes / 1024);
	else
		fprintf(out, "%llu B", (unsigned long long)bytes);
}

static void md_weights(const tide_tt *t, FILE *out)
{
	size_t n, most = 20;
	const tide_tt_weight **v = tide__tt_largest_weights(t, &n);
	if (n)
		fprintf(out,
			"## Model Weights (%.1f MB total)\n| Name | Shape | Type | Size |\n"
			"|------|-------|------|------|\n",
			mb(tide__tt_count_model(t).bytes));
	for (size_t i = 0; i < n && i < most; i++) {
		const tide_tt_weight *w = v[i];
		fputs("| ", out);
		put_md(out, w->name.s, w->name.n, 60);
		fprintf(out, " | %.*s | %.*s | ", (int)w->shape.n, w->shape.n ? w->shape.s : "",
			(int)w->dtype.n, w->dtype.s);
		md_size(out, w->bytes);
		fputs(" |\n", out);
	}
	if (n > most)
		fprintf(out, "\n*... and %zu more weights*\n", n - most);
	if (n)
		fputc('\n', out);
	tide__free(v);
}

static void md_distribution(const tide_tt *t, FILE *out)
{
	size_t n;
	uint64_t rest = 0;
	char a[32];
	tide_tt_count *v = tide__tt_count_by_name(t, &n);
	fputs("## Operation Distribution\n", out);
	for (size_t i = 0; v && i < n; i++) {
		const char *name = tide__text(t->m, v[i].name, NULL), *dot = strrchr(name, '.');
		if (i < 15)
			fprintf(out, "- %s: %s (%.1f%%)\n", dot ? dot + 1 : name,
				tide__fmt_count(a, sizeof a, (int64_t)v[i].n),
				100.0 * (double)v[i].n / (double)t->n);
		else
			rest += v[i].n;
	}
	if (rest)
		fprintf(out, "- *other*: %s\n", tide__fmt_count(a, sizeof a, (int64_t)rest));
	tide__free(v);
}

tide_code tide__tt_write_markdown(tide_tt *t, const char *name, FILE *out, tide_error *err)
{
	tt_padding pad;
	tide_code rc = tide__tt_find_live_padding(t, &pad, err);
	if (rc != TIDE_OK)
		return rc;
	md_head(t, name, pad.pct, out);
	md_config(t, out);
	md_peaks(t, out);
	md_top(t, TIDE_TT_BY_LEVEL, "Top 10 Memory Consumers (DRAM)", out);
	md_top(t, TIDE_TT_BY_GROWTH, "Top 10 Memory Growers (DRAM)", out);
	md_padding(t, out);
	md_weights(t, out);
	md_distribution(t, out);
	return TIDE_OK;
}
