// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/predict/predict_write.h"
#include "render/text/labels.h"

#include <string.h>

#define UNKNOWN .may = TIDE_MAY_BE_NULL
const tide_member tide__predict_size_members[] = {
	{ "size", "Size", TIDE_KIND_COUNT, .meaning = "size of the work" },
	{ "peak_bytes", "Peak", TIDE_KIND_BYTES, .meaning = "predicted peak" },
	{ "most_bytes", "At most", TIDE_KIND_BYTES, 1, UNKNOWN, .meaning = "upper bound of it" },
	{ "recorded_bytes", "Recorded", TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "peak of the recording of this size" },
	{ "off_bytes", "Off", TIDE_KIND_DELTA, UNKNOWN,
	  .meaning = "its prediction from the other recordings minus recorded_bytes" },
	{ "by", "By", TIDE_KIND_TEXT, 2, .meaning = "what the line of the peak goes through" },
	{ "op", "Highest in", TIDE_KIND_TEXT, UNKNOWN,
	  .meaning = "ops around the allocation of the peak" },
	{ "reserved_bytes", "Reserved", TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "predicted highest reserved bytes" },
	{ "recorded_reserved_bytes", "Was reserved", TIDE_KIND_BYTES, 3, UNKNOWN,
	  .meaning = "those of the recording of this size" },
	/* text has the range below the table */
	{ "reserved_least_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "lower end, if reserved_bytes is a range" },
	{ "reserved_most_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "its upper end" },
	{ 0 },
};
enum {
	LIVE_COLS = 7,
	TEXT_COLS = 9,
	ALL_COLS = sizeof tide__predict_size_members / sizeof(tide_member) - 1
};

/* Writes the ops around the peak's allocation; in text the innermost two. */
static void op_cell(tide_grid *g, tide_predict_answer *x, size_t line, bool text)
{
	char buf[1024];
	const tide_model *m = tide__predict_last(x)->m;
	uint32_t node =
		tide__paths_add_span(&x->paths, m, m->allocs.span[x->live.v[line].at[1].row]);
	if (!node || node == TIDE_NO_PATH) {
		tide__grid_none(g);
		return;
	}
	char *path = tide__paths_text(&x->paths, m, node, buf, sizeof buf), *from = NULL;
	for (char *at = path, *inner = NULL; text && (at = strchr(at, '/')); at++) {
		from = inner; /* behind the last slash but one */
		inner = at + 1;
	}
	tide__grid_text(g, from ? from : path);
}

/* `text`: without columns that are unknown or repeat the peak. */
static tide_grid *table(tide_predict_answer *x, bool text)
{
	bool whole = !text || x->kept;
	tide_grid *g = tide__grid_new(tide__predict_size_members, !text	  ? ALL_COLS
								  : whole ? TEXT_COLS
									  : LIVE_COLS);
	for (size_t i = 0; i < x->n_rows; i++) {
		const tide_predict_row *r = &x->rows[i];
		bool off = r->run && r->run->without != UINT64_MAX;
		tide__grid_uint(g, r->size);
		tide__grid_uint(g, r->peak);
		tide__grid_maybe(g, text && r->most == r->peak ? UINT64_MAX : r->most);
		tide__grid_maybe(g, r->run ? r->run->peak : UINT64_MAX);
		off ? tide__grid_int(g, (int64_t)(r->run->without - r->run->peak))
		    : tide__grid_none(g);
		tide__grid_text(g, tide__line_text(x->live.v[r->line].kind));
		op_cell(g, x, r->line, text);
		if (!whole)
			continue;
		tide__grid_maybe(g, r->reserved);
		tide__grid_maybe(g, r->run ? r->run->reserved : UINT64_MAX);
		if (text)
			continue;
		tide__grid_maybe(g, r->reserved_least);
		tide__grid_maybe(g, r->reserved_most);
	}
	return g;
}

#define PART_MEMBERS(key, title)                                                                   \
	{ key, title, TIDE_KIND_TEXT, .meaning = key },                                            \
		{ "bytes", "Bytes", TIDE_KIND_SIGNED, .meaning = "predicted bytes at the peak" },  \
		{ "part_pct", "Part", TIDE_KIND_PCT, .meaning = "part of the peak" },              \
		{ "each_bytes", "Each", TIDE_KIND_DELTA,                                           \
		  .meaning = "growth when the size grows by 1" },                                  \
		{ "smallest_bytes", NULL, TIDE_KIND_BYTES,                                         \
		  .meaning = "in the smallest recording" },                                        \
		{ "largest_bytes", NULL, TIDE_KIND_BYTES, .meaning = "in the largest recording" }, \
	{                                                                                          \
		0                                                                                  \
	}
const tide_member tide__predict_role_members[] = { PART_MEMBERS("role", "Role") };
const tide_member tide__predict_module_members[] = { PART_MEMBERS("module", "Module") };

static const char *part_name(const tide_predict_answer *x, const tide_part *p, bool module)
{
	const tide_model *m = p->side ? tide__predict_last(x)->m : x->v[0].m;
	if (!module)
		return tide__role_text((unsigned)p->key);
	return p->key == TIDE_GROUP_BEFORE ? "(before the recording)"
	       : p->key			   ? tide__module_text(m, (tide_str){ (uint32_t)p->key })
					   : "(outside any module)";
}

/* Returns the bytes per unit of size, rounded to the nearest. What existed before does not grow. */
static int64_t each(const tide_lines *l, const tide_part *p)
{
	double a = (double)p->at[0] - (double)p->before[0];
	double by = (double)p->at[1] - (double)p->before[1] - a;
	double v = by / (double)(l->size[1] - l->size[0]);
	return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

/* Prints at most `top` rows, 0 = all; the others are one more row. */
static tide_grid *parts_table(const tide_predict_answer *x, bool module, size_t top)
{
	const tide_predicted_breakdown *p = module ? &x->modules : &x->roles;
	tide_grid *g = tide__grid_new(
		module ? tide__predict_module_members : tide__predict_role_members, 6);
	tide_part rest = { 0 };
	for (size_t i = 0; i < p->n + 1; i++) {
		const tide_part *v = i < p->n ? &p->v[i] : &rest;
		char more[48];
		if (i < p->n && top && i >= top) {
			for (size_t k = 0; k < 2; k++) {
				rest.at[k] += v->at[k];
				rest.before[k] += v->before[k];
			}
			rest.bytes += v->bytes;
			continue;
		}
		if (i == p->n && !(top && p->n > top))
			break;
		snprintf(more, sizeof more, "(%zu more)", p->n - top);
		tide__grid_text(g, i < p->n ? part_name(x, v, module) : more);
		tide__grid_int(g, v->bytes);
		tide__grid_real(g, p->bytes ? 100.0 * (double)v->bytes / (double)p->bytes : 0);
		tide__grid_int(g, each(&x->live, v));
		tide__grid_uint(g, v->at[0]);
		tide__grid_uint(g, v->at[1]);
	}
	return g;
}

static const char *count(char buf[static 32], uint64_t v)
{
	return tide__fmt_count(buf, 32, (int64_t)v);
}

static void print_joined(const tide_out *to, const tide_predict_answer *x)
{
	char b[32];
	const uint64_t *n = x->live.moments;
	fprintf(to->out, "%s allocations match in both recordings", count(b, n[TIDE_LINE_MOMENT]));
	if (x->live.per_size)
		fprintf(to->out, "; %s grow in number with the size (the highest counts)",
			count(b, x->live.per_size));
	if (n[TIDE_LINE_GROUP] > x->live.per_size)
		fprintf(to->out, "; %s differ in number (the highest counts)",
			count(b, n[TIDE_LINE_GROUP] - x->live.per_size));
	if (n[TIDE_LINE_AROUND])
		fprintf(to->out, "; %s are in one recording only", count(b, n[TIDE_LINE_AROUND]));
	fputs("\n", to->out);
	if (n[TIDE_LINE_AROUND] > n[TIDE_LINE_MOMENT] + n[TIDE_LINE_GROUP])
		fputs("Few match: if the recordings are of different programs or kinds, the "
		      "prediction is meaningless.\n",
		      to->out);
	fputs("\n", to->out);
}

/* Prints the error found by predicting each recording from the others, or that there are too
 * few. */
static void print_off(const tide_out *to, const tide_predict_answer *x)
{
	static const double SLIGHT = 0.1; /* percent: an allocator's rounding */
	double most = 0;
	bool over = false, under = false;
	if (x->n < 3) {
		fputs("A third recording, in between or beyond, would show the error of this "
		      "prediction.\n",
		      to->out);
		return;
	}
	for (size_t i = 0; i < x->n; i++) {
		double off = (double)x->v[i].without - (double)x->v[i].peak;
		double pct = 100 * (off < 0 ? -off : off) / (double)x->v[i].peak;
		bool inner = i && i + 1 < x->n;
		most = pct > most ? pct : most;
		over |= inner && off > 0;
		under |= inner && off < 0;
	}
	if (x->live.bent && x->n == 3) { /* no recording is left to check the curve with */
		fprintf(to->out,
			"Memory does not grow linearly with the size: each recording predicted from "
			"the other two is at most %.2f %% off. Peaks come from a parabola through "
			"all three; a fourth recording would show its error.\n",
			most);
		return;
	}
	if (most > 0)
		fprintf(to->out,
			"Each recording predicted from the others: at most %.2f %% "
			"off.\n",
			most);
	else
		fputs("Each recording equals its prediction from the others, to the byte.\n",
		      to->out);
	if (x->live.bent) {
		fputs("Memory does not grow linearly with the size: peaks come from a parabola "
		      "through three recordings.\n",
		      to->out);
		return;
	}
	if (most < SLIGHT)
		return;
	if (over && !under)
		fputs("Memory grows faster than linearly with the size: larger sizes will take "
		      "more than predicted.\n",
		      to->out);
	else if (under)
		fputs("Memory does not grow linearly with the size: a library may choose another "
		      "algorithm, or the data differ.\n",
		      to->out);
}

/* Prints the basis of a curve through two recordings. */
static void print_squares(const tide_out *to, const tide_predict_answer *x)
{
	const tide_predict_row *r = x->n_rows ? &x->rows[x->n_rows - 1] : NULL;
	char b[2][32];
	if (!r || !x->live.curved || !x->live.v[r->line].curve)
		return;
	fprintf(to->out,
		"Some allocations grow with the square of the size, as attention does with the "
		"sequence length: at %s they add %s to the line through both recordings.\n",
		count(b[0], r->size),
		tide__fmt_bytes(
			b[1], sizeof b[1],
			(double)tide__beyond_line(&x->live, x->live.v[r->line].curve, r->size)));
}

/* Explains a peak that does not come from one moment of both. */
static void print_why(const tide_out *to, const tide_predict_answer *x)
{
	for (size_t i = x->n_rows; i--;) {
		const tide_predict_row *r = &x->rows[i];
		tide_line_kind k = x->live.v[r->line].kind;
		char b[32];
		if (r->run || k == TIDE_LINE_MOMENT)
			continue;
		fprintf(to->out,
			k == TIDE_LINE_GROUP
				? "The peak at %s is among allocations whose number differs "
				  "between the recordings: a line through the highest of each.\n"
				: "The peak at %s is at an allocation of the larger recording "
				  "only: a line from the other's highest moment around it.\n",
			count(b, r->size));
		return; /* one explanation is enough */
	}
}

static void print_fit(const tide_out *to, const tide_predict_answer *x, uint64_t most,
		      const char *what)
{
	char b[32];
	fprintf(to->out, "%s by %s bytes: ", tide__fmt_bytes(b, sizeof b, (double)x->capacity),
		what);
	if (!most)
		fputs("no size fits\n", to->out);
	else if (most == TIDE_MOST_SIZE)
		fputs("every size fits: memory does not grow with it\n", to->out);
	else
		fprintf(to->out, "fits up to %s\n", count(b, most));
}

static void print_parts(const tide_out *to, tide_predict_answer *x)
{
	enum { TOP = 12 };
	char b[2][32];
	if (!x->roles.n) /* the two moments are not the same */
		return;
	fprintf(to->out, "\nalive at the peak at size %s (%s), and growth per unit of size\n\n",
		count(b[0], x->whole.size),
		tide__fmt_bytes(b[1], sizeof b[1], (double)x->whole.peak));
	tide__grid_write(parts_table(x, false, 0), to, 2);
	if (x->modules.n < 2) /* only "outside" */
		return;
	fputc('\n', to->out);
	tide__grid_write(parts_table(x, true, TOP), to, 2);
}

/* Prints the ranges of reserved bytes, with the reason. */
static void print_ranges(const tide_out *to, const tide_predict_answer *x)
{
	for (size_t i = 0; i < x->n_rows; i++) {
		const tide_predict_row *r = &x->rows[i];
		char a[32], b[32];
		double times = (double)r->size / (double)tide__predict_last(x)->size;
		if (r->reserved_least == UINT64_MAX)
			continue;
		fprintf(to->out,
			"Reserved at %llu is a range, %s to %s: ", (unsigned long long)r->size,
			tide__fmt_bytes(a, sizeof a, (double)r->reserved_least),
			tide__fmt_bytes(b, sizeof b, (double)r->reserved_most));
		if (times > TIDE_PREDICT_FAR)
			fprintf(to->out, "%.3g times the largest recording%s", times,
				x->library ? ", and " : ".\n");
		if (r->size < x->v[0].size)
			fprintf(to->out, "smaller than every recording%s",
				x->library ? ", and " : ".\n");
		if (x->library)
			fputs("cuDNN chooses workspaces by size; a recording near it narrows this.\n",
			      to->out);
	}
}

void tide__predict_text(tide_predict_answer *x, const tide_out *to)
{
	char name[64], b[2][32];
	const tide_predict_run *z = tide__predict_last(x);
	tide__write_heading(to, "%s: peak by size, from recordings at %s and %s",
			    tide__device_name(z->m, z->device, name, sizeof name),
			    count(b[0], x->v[0].size), count(b[1], z->size));
	print_joined(to, x);
	tide__grid_write(table(x, true), to, 2);
	fputc('\n', to->out);
	if (x->kept)
		fputs(x->kept == TIDE_KEPT_SIM
			      ? "Reserved: from the simulated caching allocator.\n"
			      : "Reserved: the peak plus a line through what was reserved beyond "
				"it.\n",
		      to->out);
	print_ranges(to, x);
	print_squares(to, x);
	print_why(to, x);
	if (!x->live.moments[TIDE_LINE_MOMENT])
		fputs("The recordings have no allocation in common: are both of the same "
		      "program, with memory and ops?\n",
		      to->out);
	print_off(to, x);
	if (!x->capacity)
		fputs("--capacity SIZE finds the largest size that fits.\n", to->out);
	else
		print_fit(to, x, x->fits, "live");
	if (x->capacity && x->kept)
		print_fit(to, x, x->fits_reserved, "reserved");
	print_parts(to, x);
	for (size_t i = 0; i < x->n; i++)
		tide__put_model_losses(to, x->v[i].m);
}

static void json_fit(tide_json *j, const char *key, bool known, uint64_t most)
{
	known &&most != TIDE_MOST_SIZE ? tide__json_kuint(j, key, most) : tide__json_knull(j, key);
}

static void json_recordings(tide_json *j, const tide_predict_answer *x)
{
	tide__json_karray(j, "recordings");
	for (size_t i = 0; i < x->n; i++) {
		tide__json_object(j);
		tide__json_kuint(j, "size", x->v[i].size);
		tide__json_kstr(j, "trace", x->v[i].file);
		tide__losses_json(j, x->v[i].m);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void json_joined(tide_json *j, const tide_lines *l)
{
	tide__json_kobject(j, "allocations");
	tide__json_kuint(j, "same", l->moments[TIDE_LINE_MOMENT]);
	tide__json_kuint(j, "for_each", l->per_size);
	tide__json_kuint(j, "more_in_one", l->moments[TIDE_LINE_GROUP] - l->per_size);
	tide__json_kuint(j, "in_one_alone", l->moments[TIDE_LINE_AROUND]);
	tide__json_object_end(j);
}

static void json_parts(tide_json *j, const tide_predict_answer *x)
{
	tide__json_kobject(j, "peak_at");
	tide__json_kuint(j, "size", x->whole.size);
	tide__json_kuint(j, "peak_bytes", x->whole.peak);
	tide__grid_write_member(parts_table(x, false, 0), j, "roles");
	tide__grid_write_member(parts_table(x, true, 0), j, "modules");
	tide__json_object_end(j);
}

void tide__predict_json(tide_predict_answer *x, tide_json *j)
{
	char name[64];
	const tide_predict_run *z = tide__predict_last(x);
	tide__json_kstr(j, "device", tide__device_name(z->m, z->device, name, sizeof name));
	json_recordings(j, x);
	json_joined(j, &x->live);
	tide__grid_write_member(table(x, false), j, "sizes");
	x->capacity ? tide__json_kuint(j, "capacity_bytes", x->capacity)
		    : tide__json_knull(j, "capacity_bytes");
	json_fit(j, "fits", x->capacity, x->fits);
	json_fit(j, "fits_reserved", x->capacity && x->kept, x->fits_reserved);
	static const char *const by[] = { NULL, "line", "simulator" };
	by[x->kept] ? tide__json_kstr(j, "reserved_by", by[x->kept])
		    : tide__json_knull(j, "reserved_by");
	tide__json_kstr(j, "growth",
			x->live.bent	 ? "parabola"
			: x->live.curved ? "squares"
					 : "linear");
	json_parts(j, x);
}
