// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A part of a recording has its largest tensors. Logs have none: a part links to the phases that
 * it comes from. */
#include "render/report/sizes_page.h"

#include <string.h>

#include "render/report/memory/training_sizes.h"

static const struct origin {
	const char *phase, *from_log, *from_theory;
} origins[TIDE_PARTS_N] = {
	[TIDE_PART_OTHER] = { NULL, "the peak less the other parts", NULL },
	[TIDE_PART_MODEL] = { "MODEL_CREATION", "Segment Change of MODEL_CREATION",
			      "number of parameters × bytes of each" },
	[TIDE_PART_GRADIENTS] = { "BACKWARD_PASS", "Segment Peak of BACKWARD_PASS", NULL },
	[TIDE_PART_OPTIMIZER] = { "OPTIMIZER_CREATION", "Segment Change of OPTIMIZER_CREATION",
				  "twice the model" },
	[TIDE_PART_ACTIVATIONS] = { "FORWARD_PASS", "Segment Change of FORWARD_PASS", NULL },
};

static double mb(int64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

void tide__sizes_page_text(const char *text, FILE *out)
{
	for (; *text; text++)
		*text == '<'   ? fputs("&lt;", out)
		: *text == '&' ? fputs("&amp;", out)
		: *text == '"' ? fputs("&quot;", out)
			       : fputc(*text, out);
}

static void cell(const tide_phase_row *r, tide_phase_figure f, FILE *out)
{
	int64_t v;
	if (tide__phase_figure(r, f, &v))
		fprintf(out, f == TIDE_FIGURE_CHANGE ? "<td>%+.2f</td>" : "<td>%.2f</td>", mb(v));
	else
		fputs("<td>–</td>", out);
}

static void phases(const tide_phase_summary *s, size_t number, FILE *out)
{
	static const tide_phase_figure shown[] = { TIDE_FIGURE_SEGMENT_PEAK, TIDE_FIGURE_CHANGE,
						   TIDE_FIGURE_PEAK, TIDE_FIGURE_CURRENT };
	fputs("<table><tr><th>Phase</th><th>Segment Peak, MB</th><th>Segment Change</th>"
	      "<th>Cumulative Peak</th><th>Cumulative Current</th></tr>\n",
	      out);
	for (size_t i = 0; i < s->n; i++) {
		fprintf(out, "<tr id=\"b%zu-phase%zu\"><td>", number, i);
		tide__sizes_page_text(s->rows[i].name, out);
		fputs("</td>", out);
		for (size_t f = 0; f < sizeof shown / sizeof *shown; f++)
			cell(&s->rows[i], shown[f], out);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

/* Writes a link to the first phase of that name, if there is one. */
static void phase_link(const tide_phase_summary *s, const char *name, size_t number, FILE *out)
{
	for (size_t i = 0; name && i < s->n; i++)
		if (!strcmp(s->rows[i].name, name)) {
			fprintf(out, " <a href=\"#b%zu-phase%zu\">to the phase</a>", number, i);
			return;
		}
}

/* Writes the largest tensors of a part; nothing for a log. */
static void tensors(const tide_part_tensors *t, FILE *out)
{
	size_t shown = t->n < TIDE_PART_TENSORS ? t->n : TIDE_PART_TENSORS;
	if (!t->n)
		return;
	fputs("<table class=\"tensors\"><tr><th>Tensor</th><th>MB</th><th>Made in</th></tr>\n",
	      out);
	for (size_t i = 0; i < shown; i++) {
		fputs("<tr><td>", out);
		tide__sizes_page_text(t->largest[i].name[0] ? t->largest[i].name : "(no name)",
				      out);
		fprintf(out, "</td><td>%.2f</td><td>", mb(t->largest[i].bytes));
		tide__sizes_page_text(t->largest[i].module, out);
		fputs(t->largest[i].module[0] && t->largest[i].op[0] ? ", " : "", out);
		tide__sizes_page_text(t->largest[i].op, out);
		fputs("</td></tr>\n", out);
	}
	fputs("</table>\n", out);
	if (t->n > shown)
		fprintf(out, "<p>and %zu more</p>\n", t->n - shown);
}

static void part(const tide_phase_summary *s, const tide_training_sizes *t, int i, size_t number,
		 FILE *out)
{
	const struct origin *o = &origins[i];
	bool theory = o->from_theory && t->expected[i].known &&
		      t->part[i].bytes == t->expected[i].bytes &&
		      !(t->actual[i].known && t->actual[i].bytes == t->part[i].bytes);
	fprintf(out, "<p id=\"b%zu-%d\"><b>%s</b>: ", number, i,
		tide__training_part_text((tide_training_part)i));
	if (!t->part[i].known) {
		fputs("not known</p>\n", out);
		return;
	}
	fprintf(out, "%.2f MB, %.1f %% of the peak; %s.", mb(t->part[i].bytes),
		t->peak ? 100.0 * (double)t->part[i].bytes / (double)t->peak : 0,
		t->from_roles ? "live bytes of this role at the peak"
		: theory      ? o->from_theory
			      : o->from_log);
	if (theory && t->actual[i].known)
		fprintf(out, " Measured: %.2f MB.", mb(t->actual[i].bytes));
	phase_link(s, o->phase, number, out);
	fputs("</p>\n", out);
	if (t->tensors)
		tensors(&t->tensors[i], out);
}

void tide__sizes_page_write_notes(const tide_phase_summary *s, const tide_training_sizes *t,
				  size_t number, const char *title, FILE *out)
{
	fputs("<h2>", out);
	tide__sizes_page_text(title, out);
	fputs("</h2>\n", out);
	for (int i = TIDE_PARTS_N - 1; i >= 0; i--)
		part(s, t, i, number, out);
	phases(s, number, out);
}
