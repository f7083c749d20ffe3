// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* toy: a report of one file, for the test of the doors (tests/toy/toy.py). It counts the rows of each
 * table of a trace, and has options and members of every kind. */
#include "report/report.h"

enum { O_LEAST, O_SORT, O_DEVICE, O_AT, O_BYTES, O_SHARE, O_NOTE, O_TAG, O_SHORT, O_PLAIN };
static const tide_option options[] = {
	[O_LEAST] = { "least-rows", 'r', TIDE_OPT_INT, "N", "leave out tables with fewer rows",
		      .def = "1", .most = 1000 },
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "place,rows", "order of the tables",
		     .def = "place" },
	[O_DEVICE] = { TIDE_REPORT_DEVICE },
	[O_AT] = { TIDE_REPORT_AT },
	[O_BYTES] = { "row-bytes", 0, TIDE_OPT_BYTES, "BYTES", "count a row as so many bytes",
		      .def = "8B" },
	[O_SHARE] = { "share", 0, TIDE_OPT_REAL, "PERCENT", "a share to repeat", .def = "12.5" },
	[O_NOTE] = { "note", 0, TIDE_OPT_TEXT, "TEXT", "a note to repeat" },
	[O_TAG] = { "tag", 't', TIDE_OPT_TEXT, "TEXT", "a tag to repeat", .many = true },
	[O_SHORT] = { "short", 0, TIDE_OPT_FLAG, NULL, "only the first table" },
	[O_PLAIN] = { "plain", 0, TIDE_OPT_FLAG, NULL, "for texts only", .text_only = true },
};

enum { MOST_TAGS = 3, TEXT = 80 };

struct toy {
	const tide_model *m;
	int64_t least, row_bytes, at;
	double share;
	bool by_rows, short_, has_note, has_at;
	char note[TEXT],
		tags[MOST_TAGS][TEXT]; /* texts of options are borrowed for the call only */
	size_t n_tags;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct toy *t = result;
	const tide_value *v = ask->opt;
	*t = (struct toy){ .m = ask->models[0],
			   .least = v[O_LEAST].num,
			   .row_bytes = v[O_BYTES].num,
			   .at = v[O_AT].moment.t,
			   .share = v[O_SHARE].real,
			   .by_rows = v[O_SORT].num,
			   .short_ = v[O_SHORT].set,
			   .has_note = v[O_NOTE].set,
			   .has_at = v[O_AT].set,
			   .n_tags = v[O_TAG].n_list };
	if (t->n_tags > MOST_TAGS)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%stag: 3 at most",
				  ask->dashes);
	snprintf(t->note, TEXT, "%s", t->has_note ? v[O_NOTE].text : "");
	for (size_t i = 0; i < t->n_tags; i++)
		snprintf(t->tags[i], TEXT, "%s", v[O_TAG].list[i]);
	return TIDE_OK;
}

static void free_toy(void *result)
{
	(void)result;
}

static const tide_member size = { "", NULL, TIDE_KIND_COUNT, .meaning = "its length" };
static const tide_member tag = { "", NULL, TIDE_KIND_TEXT, .meaning = "a tag" };
static const tide_member table_members[] = {
	{ "name", "Table", TIDE_KIND_NAME, .meaning = "name of the table" },
	{ "rows", "Rows", TIDE_KIND_COUNT, .meaning = "its rows" },
	{ "bytes", "Bytes", TIDE_KIND_BYTES, .meaning = "rows times the option row_bytes" },
	{ "more", "More", TIDE_KIND_DELTA, .meaning = "bytes above 100" },
	{ "share_pct", "Share", TIDE_KIND_PCT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the option share; unknown for a table of one row" },
	{ "sizes", NULL, TIDE_KIND_SIZES, .meaning = "rows and place" },
	{ "even", "Even", TIDE_KIND_BOOL, .meaning = "the number of rows is even" },
	{ 0 },
};
static const tide_member option_members[] = {
	{ "sort", NULL, TIDE_KIND_WORD, .words = "place,rows", .meaning = "the option sort" },
	{ "note", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "the option note" },
	{ "at_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL, .meaning = "the option at" },
	{ 0 },
};
static const tide_member members[] = {
	{ "options", NULL, TIDE_KIND_OBJECT, .members = option_members,
	  .meaning = "options of the call" },
	{ "tags", NULL, TIDE_KIND_LIST, .members = &tag, .meaning = "the option tag" },
	{ "tables", "Tables", TIDE_KIND_TABLE, .members = table_members, .meaning = "tables" },
	{ "end_ns", "End", TIDE_KIND_NS, .meaning = "length of the trace" },
	{ "address", "Address", TIDE_KIND_HEX, .meaning = "48879" },
	{ "number", NULL, TIDE_KIND_PLAIN, .meaning = "-1" },
	{ "half", "Half", TIDE_KIND_REAL, .meaning = "0.5" },
	{ "lengths", NULL, TIDE_KIND_MAP, .members = &size, .meaning = "lengths of two words" },
	{ "any", NULL, TIDE_KIND_ANY, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "with a note: the note" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

static const char *const names[] = { "spans", "allocs", "devices" };

static size_t rows_of(const tide_model *m, size_t i)
{
	return i == 0 ? m->spans.n : i == 1 ? m->allocs.n : m->devices.n;
}

static void put_table(const struct toy *t, size_t i, tide_json *j)
{
	size_t rows = rows_of(t->m, i);
	int64_t bytes = (int64_t)rows * t->row_bytes;
	tide__json_object(j);
	tide__json_kstr(j, "name", names[i]);
	tide__json_kuint(j, "rows", rows);
	tide__json_kint(j, "bytes", bytes);
	tide__json_kint(j, "more", bytes - 100);
	if (rows == 1)
		tide__json_knull(j, "share_pct");
	else
		tide__json_kfixed(j, "share_pct", t->share, 4);
	tide__json_karray(j, "sizes");
	tide__json_uint(j, rows);
	tide__json_uint(j, i);
	tide__json_array_end(j);
	tide__json_kbool(j, "even", rows % 2 == 0);
	tide__json_object_end(j);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct toy *t = result;
	const char *note = t->has_note ? t->note : NULL;
	tide__json_kobject(j, "options");
	tide__json_kstr(j, "sort", t->by_rows ? "rows" : "place");
	tide__json_kstr(j, "note", note);
	tide__json_kint_if(j, "at_ns", t->has_at, t->at);
	tide__json_object_end(j);
	tide__json_karray(j, "tags");
	for (size_t i = 0; i < t->n_tags; i++)
		tide__json_str(j, t->tags[i]);
	tide__json_array_end(j);
	tide__json_karray(j, "tables");
	for (size_t i = 0; i < (t->short_ ? 1 : 3); i++)
		if (rows_of(t->m, i) >= (size_t)t->least)
			put_table(t, i, j);
	tide__json_array_end(j);
	tide__json_kint(j, "end_ns", t->m->t_end);
	tide__json_kuint(j, "address", 48879);
	tide__json_kint(j, "number", -1);
	tide__json_kfixed(j, "half", 0.5, 1);
	tide__json_kobject(j, "lengths");
	tide__json_kuint(j, "one", 3);
	tide__json_kuint(j, "three", 5);
	tide__json_object_end(j);
	if (note)
		tide__json_kstr(j, "any", note);
	tide__start_json(j, t->m);
	tide__losses_json(j, t->m);
	return TIDE_OK;
}

const tide_report_type tide__report_toy = {
	.name = "toy",
	.group = TIDE_GROUP_FILES,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "count the rows of a trace",
	.help = "Counts rows. It is in no installed program.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 3,
	.size = sizeof(struct toy),
	.find = find,
	.json = write_json,
	.free = free_toy,
};
