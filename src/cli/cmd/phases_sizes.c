// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/phases_sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/options.h"
#include "cli/output/outfile.h"
#include "cli/output/page.h"
#include "cli/report_run.h"
#include "cli/select.h"
#include "import/phaselog/phaselog.h"
#include "render/picture/bars.h"
#include "render/report/memory/training_sizes.h"
#include "render/report/sizes_page.h"
#include "render/text/format.h"

#define DEFAULT_CAPACITY (UINT64_C(12) << 30)
#define DEFAULT_PICTURE	 "memory_peak_visualization.png"

struct input { /* one file */
	const char *file;
	tide_phase_summaries all;
	tide_training_sizes *sizes; /* one per summary */
	size_t usable;		    /* summaries with sizes, which come first */
	bool log;
	bool several; /* memories */
};

struct work {
	const tide_args *a;
	tide_sizes_options o;
	int64_t kv;
	struct input *in;
	size_t n;
	int rc;	     /* 1 = a summary was left out, with a message */
	int assumed; /* > 0: the default capacity was used */
};

/* ---- options ---- */

static bool ends(const tide_value *out, const char *end)
{
	size_t n = out->set ? strlen(out->text) : 0, k = strlen(end);
	return n > k && !strcasecmp(out->text + n - k, end);
}

/* Returns true for a log of summaries. A runtime's log is also text and may contain summaries. */
static bool is_summary_log(const char *path)
{
	return !tide__cli_is_pipe(path) && tide__phaselog_is_text(path) &&
	       (!tide__load_knows(path) || tide__phaselog_has_any(path));
}

bool tide__wants_sizes(const tide_args *a)
{
	const tide_value *out = tide__cli_option(a, "output");
	for (int i = 0; i < TIDE_SIZES_OPTIONS_N; i++)
		if (tide__cli_more(a)[i].given)
			return true;
	if (a->n_files > 1 || ends(out, ".png") || ends(out, ".svg"))
		return true;
	return a->n_files == 1 && is_summary_log(a->files[0]);
}

static const struct {
	const char *name;
	int bits;
} dtypes[] = { { "f32", 32 },  { "float32", 32 },  { "f16", 16 }, { "float16", 16 },
	       { "bf16", 16 }, { "bfloat16", 16 }, { "fp8", 8 },  { "f8", 8 },
	       { "int8", 8 },  { "bfp8", 8 },	   { "bfp4", 4 }, { "int4", 4 } };

/* Parses "32,8,128,4096,bf16". Returns the bytes of keys and values; -1 for any other text. */
static int64_t kv_bytes(const char *text)
{
	double v = 2;
	for (int i = 0; i < 4; i++) {
		char *end;
		double n = strtod(text, &end);
		if (end == text || *end != ',' || n < 1 || n > 1e12)
			return -1;
		v *= n;
		text = end + 1;
	}
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (!strcasecmp(text, dtypes[i].name)) {
			v = v * dtypes[i].bits / 8;
			return v < 9e18 ? (int64_t)v : -1;
		}
	return -1;
}

static tide_maybe_bytes given(const tide_value *v)
{
	return (tide_maybe_bytes){ v->set, v->set ? v->num : 0 };
}

static int read_options(struct work *w)
{
	const tide_value *v = tide__cli_more(w->a);
	char *end = NULL;
	w->o = (tide_sizes_options){ .capacity = (uint64_t)v[TIDE_SIZES_CAPACITY].num,
				     .model = given(&v[TIDE_SIZES_MODEL]),
				     .optimizer = given(&v[TIDE_SIZES_OPTIMIZER]),
				     .gradients = given(&v[TIDE_SIZES_GRADIENTS]),
				     .parameters = (uint64_t)v[TIDE_SIZES_PARAMETERS].num,
				     .actual = v[TIDE_SIZES_ACTUAL].set };
	w->kv = -1;
	if (v[TIDE_SIZES_CAPACITY].set && !w->o.capacity)
		return tide__cli_fail_usage(w->a, "--capacity must be above 0 bytes");
	if (v[TIDE_SIZES_EACH].set) {
		w->o.bytes_per_param = strtod(v[TIDE_SIZES_EACH].text, &end);
		if (*end || !(w->o.bytes_per_param > 0 && w->o.bytes_per_param <= 64))
			return tide__cli_fail_usage(
				w->a,
				"--bytes-per-param needs a number above 0, at most 64, not "
				"'%.80s'",
				v[TIDE_SIZES_EACH].text);
	}
	if (v[TIDE_SIZES_KV].set && (w->kv = kv_bytes(v[TIDE_SIZES_KV].text)) < 0)
		return tide__cli_fail_usage(
			w->a,
			"--kv needs layers,heads,head_dim,tokens,dtype, e.g. 32,8,128,4096,bf16");
	return 0;
}

/* ---- inputs ---- */

/* Returns the title of a summary: the log's, else the file; with the memory and the rank if a
 * log has several. */
static const char *title_of(const struct input *in, size_t k, char *buf, size_t n)
{
	const tide_phase_summary *s = &in->all.v[k];
	const char *base = strrchr(in->file, '/');
	snprintf(buf, n, "%s%s%s%s%s%s",
		 *s->title ? s->title
		 : base	   ? base + 1
			   : in->file,
		 *s->rank ? " " : "", s->rank, in->several ? " (" : "", in->several ? s->scope : "",
		 in->several ? ")" : "");
	if (!*s->title && in->log && in->all.n > 1)
		snprintf(buf + strlen(buf), n - strlen(buf), " #%zu", k + 1);
	return buf;
}

/* Finds the sizes of a log's summaries; those without totals are left out with a message. */
static int size_log(struct work *w, struct input *in)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	size_t kept = 0, row;
	in->sizes = tide__calloc(in->all.n, sizeof *in->sizes);
	if (!in->sizes)
		return tide__nomem(&err), tide__cli_fail(in->file, &err);
	for (size_t k = 0; k < in->all.n; k++) {
		tide_phase_summary *s = &in->all.v[k];
		tide_sizes_options o = w->o;
		in->several |= strcmp(s->scope, in->all.v[0].scope) != 0;
		bool known = o.capacity || s->capacity;
		o.capacity = o.capacity ? o.capacity : s->capacity ? s->capacity : DEFAULT_CAPACITY;
		if (!s->whole) {
			tide__fail(&err, TIDE_ETRUNC, s->at,
				   "a memory summary ends before its totals; it is left out");
			w->rc = tide__cli_fail(in->file, &err);
		} else if (tide__training_sizes_find(s, &o, &in->sizes[kept], &err) != TIDE_OK) {
			w->rc = tide__cli_fail(in->file, &err);
		} else {
			int64_t off = tide__phase_summary_off(s, &row);
			if (!known && !w->assumed++)
				tide__cli_note(
					"note: device memory not provided, assuming 12 GiB (--capacity SIZE)");
			if (off > (1 << 20) / 50 + 1)
				tide__cli_note(
					"note: %s: figures of phase %.80s contradict each other by %.2f MB",
					in->file, s->rows[row].name, (double)off / (1 << 20));
			tide_phase_summary swap = in->all.v[kept];
			in->all.v[kept++] = *s;
			if (kept <= k)
				*s = swap;
		}
	}
	in->usable = kept; /* the others are freed with them */
	return 0;
}

static int load_log(struct work *w, struct input *in)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__phaselog_load(in->file, &in->all, &err);
	in->log = true;
	return rc == TIDE_OK ? size_log(w, in) : tide__cli_fail(in->file, &err);
}

static int load_trace(struct work *w, struct input *in)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_sizes_options o = w->o;
	uint32_t device = 0;
	int rc = 0;
	tide_model *m = tide__cli_load(w->a, in->file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	in->sizes = tide__calloc(1, sizeof *in->sizes);
	if (tide__cli_get_one_device(w->a, tide__cli_option(w->a, "device"), m, &device, &rc)) {
		const char *base = strrchr(in->file, '/');
		tide_code code = in->sizes ? tide__training_sizes_find_recorded(
						     m, device, base ? base + 1 : in->file, &o,
						     &in->all, in->sizes, &err)
					   : TIDE_ENOMEM;
		err.code = code;
		in->usable = code == TIDE_OK;
		rc = code == TIDE_OK ? 0 : tide__cli_fail(in->file, &err);
	}
	tide__model_free(m);
	return rc;
}

static int load_inputs(struct work *w)
{
	const tide_value *logs = &tide__cli_more(w->a)[TIDE_SIZES_LOGS];
	int rc = 0;
	w->n = w->a->n_files + logs->n_list;
	w->in = tide__calloc(w->n, sizeof *w->in);
	if (!w->n)
		return tide__cli_fail_usage(w->a, "which file?");
	for (size_t i = 0; w->in && i < w->n && !rc; i++) {
		struct input *in = &w->in[i];
		in->file = i < w->a->n_files ? w->a->files[i] : logs->list[i - w->a->n_files];
		rc = is_summary_log(in->file) ? load_log(w, in) : load_trace(w, in);
	}
	size_t any = 0;
	for (size_t i = 0; w->in && i < w->n; i++)
		any += w->in[i].usable;
	return !w->in ? 1 : rc ? rc : any ? 0 : w->rc;
}

/* ---- output ---- */

static tide_sizes_report report_of(const struct work *w, const struct input *in, size_t k,
				   char *title, size_t n)
{
	return (tide_sizes_report){ .title = title_of(in, k, title, n),
				    .s = &in->all.v[k],
				    .t = &in->sizes[k],
				    .bytes_per_param =
					    w->o.bytes_per_param > 0 ? w->o.bytes_per_param : 2,
				    .typed = w->o.bytes_per_param > 0,
				    .kv_expected = w->kv };
}

static void print_text(const struct work *w, FILE *out)
{
	char title[400];
	size_t n = 0;
	for (size_t i = 0; i < w->n; i++)
		n += w->in[i].usable;
	fprintf(out, "Found %zu memory usage %s\n\n", n, n == 1 ? "summary" : "summaries");
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->in[i].usable; k++) {
			tide_sizes_report r = report_of(w, &w->in[i], k, title, sizeof title);
			tide__sizes_text(&r, out);
		}
	fputs("Analysis complete\n", out);
}

static tide_code put_json(void *result, tide_json *j)
{
	const struct work *w = result;
	char title[400];
	tide__json_karray(j, "summaries");
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->in[i].usable; k++) {
			tide_sizes_report r = report_of(w, &w->in[i], k, title, sizeof title);
			tide__sizes_json(&r, j);
		}
	tide__json_array_end(j);
	return TIDE_OK;
}

static const tide_member members[] = {
	TIDE_MEMBER_OF("summaries", TABLE, tide__sizes_members,
		       "a row for each summary of a log, or for the recording"),
	{ 0 },
};

const tide_report_type tide__document_phases_sizes = {
	.name = "phases-sizes",
	.version = 1,
	.summary = "sizes of model, optimizer, gradients and activations, and whether they fit",
	.members = members,
	.json = put_json,
};

/* Makes the bars of all summaries. Both arrays are owned by the caller. Returns false if memory
 * runs out. */
static bool list_bars(const struct work *w, tide_bar **bars, char (**titles)[400], size_t *n)
{
	size_t room = 0;
	for (size_t i = 0; i < w->n; i++)
		room += w->in[i].usable;
	*n = 0;
	*bars = tide__calloc(room, sizeof **bars);
	*titles = tide__calloc(room, sizeof **titles);
	if (!*bars || !*titles)
		return false;
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->in[i].usable; k++, ++*n)
			(*bars)[*n] =
				(tide_bar){ title_of(&w->in[i], k, (*titles)[*n], sizeof **titles),
					    w->in[i].sizes[k] };
	return true;
}

static tide_code draw(const struct work *w, bool svg, FILE *out, tide_error *err)
{
	size_t n;
	tide_bar *bars;
	char(*titles)[400];
	tide_code rc = list_bars(w, &bars, &titles, &n) ? TIDE_OK : tide__nomem(err);
	if (rc == TIDE_OK)
		rc = tide__bars_draw(bars, n, tide__cli_more(w->a)[TIDE_SIZES_TITLE].text, svg, out,
				     err);
	tide__free(bars);
	tide__free(titles);
	return rc;
}

/* Writes links over the parts, and their targets. */
static tide_code draw_links(const struct work *w, bool links, FILE *out, tide_error *err)
{
	size_t n, k = 0;
	tide_bar *bars;
	char(*titles)[400];
	bool ok = list_bars(w, &bars, &titles, &n);
	if (ok && links)
		tide__bars_write_links(bars, n, out);
	for (size_t i = 0; ok && !links && i < w->n; i++)
		for (size_t j = 0; j < w->in[i].usable; j++, k++)
			tide__sizes_page_write_notes(&w->in[i].all.v[j], &bars[k].sizes, k,
						     bars[k].title, out);
	tide__free(bars);
	tide__free(titles);
	return ok ? TIDE_OK : tide__nomem(err);
}

/* Writes the picture, with links over its parts. Nothing in a build without pictures. */
static tide_code draw_bars(const struct work *w, FILE *out, tide_error *err)
{
	if (!tide__bars_built())
		return TIDE_OK;
	fputs("<div class=\"bars\">", out);
	tide_code rc = draw(w, true, out, err);
	rc = rc ? rc : draw_links(w, true, out, err);
	fputs("</div>\n", out);
	return rc;
}

/* Writes picture, tensors and text as a separate page; a click on a part leads to its tensors or
 * phases. */
static tide_code draw_page(const struct work *w, FILE *out, tide_error *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return tide__nomem(err);
	print_text(w, f);
	fclose(f);
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory by phase</title>\n"
	      "<style>body{font-family:sans-serif;margin:2em}pre{overflow-x:auto}.bars{position:relative}"
	      ".links{position:absolute;left:0;top:0}.links rect{fill:transparent}"
	      ".links a:hover rect,.links a:focus rect{stroke:#000;stroke-width:2}:target{background:#ffd}"
	      "td{text-align:right;padding:0 .7em}td:first-child,.tensors td:last-child{text-align:left}</style></head><body>\n",
	      out);
	tide_code rc = draw_bars(w, out, err);
	rc = rc ? rc : draw_links(w, false, out, err);
	fputs("<pre>", out);
	tide__sizes_page_text(text, out);
	fputs("</pre></body></html>\n", out);
	free(text);
	return rc;
}

/* Writes the picture of --visualize-peak without -o, in addition to the text. */
static int default_picture(const struct work *w)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile f = { 0 };
	tide_code rc = tide__outfile_open(&f, DEFAULT_PICTURE, &err);
	bool drawn = rc == TIDE_OK && (rc = draw(w, false, f.f, &err)) == TIDE_OK;
	tide_error end = { .offset = TIDE_NO_OFFSET };
	if (tide__outfile_close(&f, drawn, &end) != TIDE_OK && drawn)
		return tide__cli_fail(DEFAULT_PICTURE, &end);
	if (!drawn)
		return tide__cli_fail(DEFAULT_PICTURE, &err);
	fprintf(w->a->out, "Visualization saved to: %s\n", DEFAULT_PICTURE);
	return 0;
}

static int show(struct work *w)
{
	const tide_value *output = tide__cli_option(w->a, "output");
	tide_error err = { .offset = TIDE_NO_OFFSET };
	bool png = ends(output, ".png"), svg = ends(output, ".svg");
	tide_code rc = TIDE_OK;
	if (tide__cli_option(w->a, "json")->set)
		return tide__document_put(w->a, &tide__document_phases_sizes, w);
	if ((png || svg) && !tide__bars_built())
		print_text(w, stdout); /* only the picture is refused */
	if (png || svg)
		rc = draw(w, svg, w->a->out, &err);
	else if (tide__cli_named_page(w->a))
		rc = draw_page(w, w->a->out, &err);
	else
		print_text(w, w->a->out);
	if (rc != TIDE_OK)
		return tide__cli_fail(output->text, &err);
	if (png || svg) {
		if (tide__cli_more(w->a)[TIDE_SIZES_PICTURE]
			    .set) /* text and picture were requested */
			print_text(w, stdout);
		fputs("Visualization saved to: ", stdout);
		tide__put_name(stdout, output->text, strlen(output->text), 0, false);
		fputc('\n', stdout);
	}
	if (tide__cli_more(w->a)[TIDE_SIZES_PICTURE].set && !output->set) {
		int code = default_picture(w);
		if (code)
			return code;
	}
	return tide__cli_finish(w->a);
}

/* ---- thresholds ---- */

/* Gets the figure of that name; returns false for an unknown name. */
static bool figure(const tide_training_sizes *t, const char *name, size_t n, tide_maybe_bytes *out,
		   bool *pct)
{
	*pct = false;
	for (int p = 0; p < TIDE_PARTS_N; p++)
		if (strlen(tide__training_part_key((tide_training_part)p)) == n &&
		    !strncmp(tide__training_part_key((tide_training_part)p), name, n)) {
			*out = t->part[p];
			return true;
		}
	if (n == 4 && !strncmp(name, "peak", n)) {
		*out = (tide_maybe_bytes){ true, t->peak };
	} else if (n == 8 && !strncmp(name, "reserved", n)) {
		*out = t->reserved;
	} else if (n == 5 && !strncmp(name, "usage", n)) {
		*pct = true;
		*out = (tide_maybe_bytes){
			t->capacity != 0,
			t->capacity ? (int64_t)((double)t->peak * 1e4 / (double)t->capacity) : 0
		};
	} else {
		return false;
	}
	return true;
}

/* A threshold of --fail-if: "peak>12GiB". */
struct limit {
	const char *text;
	size_t name; /* length of the figure's name at the start of text */
	bool less, equal;
	int64_t bytes; /* or hundredths of a percent */
};

/* Reads a threshold. Returns 0, or 2 after a message. */
static int read_limit(const struct work *w, const char *text, struct limit *out)
{
	static const tide_training_sizes none;
	size_t n = strcspn(text, " <>=");
	const char *op = text + n + strspn(text + n, " "), *limit = op + strspn(op, "<>=");
	tide_maybe_bytes v;
	bool pct;
	char *end = NULL;
	*out = (struct limit){
		.text = text, .name = n, .less = *op == '<', .equal = op[0] && op[1] == '='
	};
	limit += strspn(limit, " ");
	if (limit == op || op[0] == '=' || !figure(&none, text, n, &v, &pct))
		return tide__cli_fail_usage(
			w->a,
			"--fail-if '%.100s': write e.g. 'peak>12GiB', 'usage>90%%' or "
			"'activations>4GiB' (peak, reserved, usage, model, optimizer, gradients, "
			"activations, other)",
			text);
	if (pct) {
		double percent = strtod(limit, &end);
		out->bytes = percent > -1e9 && percent < 1e9 ? (int64_t)(percent * 100) : -1;
		if (end == limit || out->bytes < 0 || (*end && strcmp(end, "%")))
			return tide__cli_fail_usage(w->a,
						    "--fail-if '%.100s': usage needs a "
						    "percentage",
						    text);
	} else if (*limit == '+') {
		return tide__cli_fail_usage(w->a,
					    "--fail-if '%.100s': a limit is a size here; `tidemark "
					    "diff A B --fail-if 'peak>+2%%'` compares two runs",
					    text);
	} else if (tide__lacks_unit(limit)) {
		return tide__cli_fail_usage(w->a, "--fail-if '%.100s': write a unit: %.40sGiB",
					    text, limit);
	} else if (!tide__parse_bytes(limit, &out->bytes)) {
		return tide__cli_fail_usage(w->a, "--fail-if '%.100s': '%.60s' is not a size", text,
					    limit);
	}
	return 0;
}

/* Checks one summary: 0 fine, 3 crossed, 1 unknown. */
static int check_one(const struct limit *l, const tide_training_sizes *t, const char *title)
{
	tide_maybe_bytes v = { 0 };
	bool pct;
	if (!figure(t, l->text, l->name, &v, &pct) || !v.known) {
		tide__cli_note("tidemark phases: --fail-if '%.100s': UNKNOWN for %.100s", l->text,
			       title);
		return 1;
	}
	bool crossed = l->less ? v.bytes < l->bytes : v.bytes > l->bytes;
	crossed |= l->equal && v.bytes == l->bytes;
	if (crossed)
		tide__cli_note("tidemark phases: --fail-if '%.100s': CROSSED by %.100s", l->text,
			       title);
	return crossed ? 3 : 0;
}

/* Returns 2 after a message if a threshold cannot be read, before anything is loaded or printed. */
static int read_limits(const struct work *w)
{
	const tide_value *f = &tide__cli_more(w->a)[TIDE_SIZES_FAIL_IF];
	struct limit l;
	int rc = 0;
	for (size_t k = 0; k < f->n_list && !rc; k++)
		rc = read_limit(w, f->list[k], &l);
	return rc;
}

static int check_all(const struct work *w)
{
	const tide_value *f = &tide__cli_more(w->a)[TIDE_SIZES_FAIL_IF];
	char title[400];
	struct limit l;
	int worst = 0;
	for (size_t k = 0; k < f->n_list && !read_limit(w, f->list[k], &l); k++)
		for (size_t i = 0; i < w->n; i++)
			for (size_t s = 0; s < w->in[i].usable; s++) {
				int rc = check_one(&l, &w->in[i].sizes[s],
						   title_of(&w->in[i], s, title, sizeof title));
				worst = rc == 3 || !worst ? (worst == 3 ? 3 : rc) : worst;
			}
	return worst;
}

int tide__sizes_run(const tide_args *a)
{
	struct work w = { .a = a };
	int rc = read_options(&w);
	if (!rc)
		rc = read_limits(&w);
	if (!rc)
		rc = load_inputs(&w);
	if (!rc)
		rc = show(&w);
	if (!rc)
		rc = check_all(&w);
	if (!rc)
		rc = w.rc;
	for (size_t i = 0; w.in && i < w.n; i++) {
		for (size_t k = 0; k < w.in[i].usable; k++)
			tide__training_sizes_free(&w.in[i].sizes[k]);
		tide__phase_summaries_free(&w.in[i].all);
		tide__free(w.in[i].sizes);
	}
	tide__free(w.in);
	return rc;
}
