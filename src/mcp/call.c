// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The tools. A failure is an answer with a sentence that says what to do. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/internal.h"
#include "render/text/format.h"
#include "sql/sql.h"

enum { TEXT = 160, SQL_ROWS = 50, MOST_ROWS = 1000, LIST_MOST = 100000 };

static void put_failure(mcp_answer *out, const char *file, const char *text)
{
	free(out->text);
	*out = (mcp_answer){ .failed = true };
	FILE *f = open_memstream(&out->text, &out->n);
	if (!f)
		return;
	fprintf(f, "%s%s%s", file ? file : "", file ? ": " : "", text);
	fclose(f);
}

static void fail(mcp_answer *out, const char *file, const tide_error *err)
{
	put_failure(out, file, err->text);
}

/* ---- reports ---- */

/* Takes the names of a call: file, other, files. Fails with a text if there is none. */
static tide_code take_files(const tide_report_type *type, jsonr_node args, char **names, size_t *n,
			    tide_error *err)
{
	jsonr_node list, key, v;
	*n = 0;
	if (type->input == TIDE_INPUT_RANKS && tide__jsonr_get(args, "files", &list)) {
		jsonr_nodes w = tide__jsonr_walk(list);
		while (*n < MCP_FILES && tide__jsonr_next_node(&w, &key, &v))
			if (!(names[*n] = tide__mcp_text(v)))
				return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
						  "files must be a list of names");
			else
				++*n;
		if (*n == MCP_FILES && tide__jsonr_next_node(&w, &key, &v))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "at most %d files",
					  MCP_FILES);
	} else if ((names[0] = tide__mcp_get_text(args, "file"))) {
		*n = 1;
		if (type->input == TIDE_INPUT_PAIR &&
		    (names[1] = tide__mcp_get_text(args, "other")))
			*n = 2;
	}
	size_t least = type->input == TIDE_INPUT_PAIR ? 2 : 1;
	if (*n < least)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  least == 2 ? "file and other are needed: names of recordings"
					     : "file is needed: the name of a recording");
	return TIDE_OK;
}

static mcp_shape shape_of(jsonr_node args, char *table)
{
	return (mcp_shape){ .rows = (size_t)tide__mcp_get_int(args, "rows", 1, MOST_ROWS, MCP_ROWS),
			    .offset = (size_t)tide__mcp_get_int(args, "offset", 0, INT32_MAX, 0),
			    .nested = 4,
			    .texts = tide__mcp_get_flag(args, "full_texts", false) ? 0 : TEXT,
			    .only = table,
			    .meanings = tide__mcp_get_flag(args, "definitions", true) };
}

static tide_code check_table(const tide_report_type *type, const char *table, tide_error *err)
{
	const tide_member *m = type->members;
	while (table && m->key && (m->kind != TIDE_KIND_TABLE || strcmp(m->key, table) != 0))
		m++;
	if (!table || m->key)
		return TIDE_OK;
	char list[300] = "";
	size_t at = 0;
	for (m = type->members; m->key && at < sizeof list - 1; m++)
		if (m->kind == TIDE_KIND_TABLE)
			at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "",
					       m->key);
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "%s has no table '%.40s'; it has %.200s", type->name, table,
			  at < sizeof list ? list : "others");
}

static void answer_report(tide_mcp *s, const tide_report_type *type, jsonr_node args,
			  char *const *names, size_t n, mcp_answer *out)
{
	tide_model *models[MCP_FILES] = { 0 };
	const char *files[MCP_FILES];
	char *table = tide__mcp_get_text(args, "table");
	tide_error err = { .offset = TIDE_NO_OFFSET };
	mcp_pairs pairs;
	tide_report *r = NULL;
	const char *at = NULL;
	tide_code rc = tide__mcp_take_pairs(type, args, &pairs, &err);
	if (rc == TIDE_OK)
		rc = check_table(type, table, &err);
	for (size_t i = 0; i < n && rc == TIDE_OK; i++) {
		at = names[i];
		if (!(models[i] = tide__mcp_load(s, names[i], &err)))
			rc = err.code != TIDE_OK ? err.code : TIDE_EIO;
		else
			files[i] = tide__mcp_short_name(s, models[i]->path);
	}
	at = rc == TIDE_OK ? NULL : at;
	tide_report_traces in = { .models = (const tide_model *const *)models,
				  .n = n,
				  .files = files };
	if (rc == TIDE_OK)
		rc = tide__report_find_pairs(type, &in, pairs.v, pairs.n, &r, &err);
	const tide_node *root = rc == TIDE_OK ? tide_report_root(r) : NULL;
	if (rc == TIDE_OK && !root)
		rc = tide__nomem(&err);
	if (rc == TIDE_OK && (rc = tide__mcp_write_report(type, root, files[0],
							  shape_of(args, table), out)) != TIDE_OK)
		tide__nomem(&err);
	if (rc != TIDE_OK)
		fail(out, at, &err);
	tide_report_free(r);
	tide__mcp_free_pairs(&pairs);
	tide__free(table);
	for (size_t i = 0; i < n; i++)
		tide__model_free(models[i]);
}

static void call_report(tide_mcp *s, const tide_report_type *type, jsonr_node args, mcp_answer *out)
{
	char *names[MCP_FILES + 1] = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	size_t n;
	if (take_files(type, args, names, &n, &err) == TIDE_OK)
		answer_report(s, type, args, names, n, out);
	else
		fail(out, NULL, &err);
	for (size_t i = 0; i < MCP_FILES; i++)
		tide__free(names[i]);
}

/* ---- recordings ---- */

struct found {
	char *path; /* owned */
	uint64_t size;
	int64_t mtime;
};

struct list {
	struct found *v; /* owned */
	size_t n, cap;
	const tide_mcp *s;
	const char *match;
};

static bool add(void *to, const char *path, uint64_t size)
{
	struct list *l = to;
	struct stat st;
	if ((l->match && !strstr(tide__mcp_short_name(l->s, path), l->match)) || l->n == LIST_MOST)
		return true;
	if (!TIDE_ROOM(l->v, l->cap, l->n + 1))
		return false;
	struct found *f = &l->v[l->n];
	*f = (struct found){ tide__strndup(path, strlen(path)), size,
			     stat(path, &st) ? 0 : st.st_mtim.tv_sec };
	l->n += f->path != NULL;
	return f->path != NULL;
}

static int newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	return x->mtime != y->mtime ? (x->mtime < y->mtime) - (x->mtime > y->mtime)
				    : strcmp(x->path, y->path);
}

static bool write_list(const struct list *l, size_t first, size_t rows, mcp_answer *out)
{
	FILE *f = open_memstream(&out->text, &out->n);
	tide_json j;
	char wall[48];
	size_t end = first;
	if (!f)
		return false;
	tide__json_begin(&j, f, false);
	tide__json_object(&j);
	tide__json_karray(&j, "recordings");
	for (; end < l->n && end < first + rows && ftell(f) < MCP_ANSWER - 1000; end++) {
		tide__json_object(&j);
		tide__json_kstr(&j, "file", tide__mcp_short_name(l->s, l->v[end].path));
		tide__json_kuint(&j, "bytes", l->v[end].size);
		tide__json_kstr(&j, "changed",
				tide__wall_text(l->v[end].mtime * 1000000000, wall, sizeof wall));
		tide__json_object_end(&j);
	}
	tide__json_array_end(&j);
	tide__json_kuint(&j, "in_all", l->n);
	tide__json_kuint(&j, "left_out", l->n - (end - (first < l->n ? first : end)));
	tide__json_object_end(&j);
	bool ok = tide__json_end(&j);
	return !fclose(f) && ok;
}

static void call_recordings(tide_mcp *s, jsonr_node args, mcp_answer *out)
{
	char *match = tide__mcp_get_text(args, "match");
	struct list l = { .s = s, .match = match };
	size_t first = (size_t)tide__mcp_get_int(args, "offset", 0, INT32_MAX, 0);
	bool ok = s->opt.list(s->opt.user, add, &l);
	if (l.n)
		qsort(l.v, l.n, sizeof *l.v, newest_first);
	if (!ok ||
	    !write_list(&l, first, (size_t)tide__mcp_get_int(args, "rows", 1, MOST_ROWS, SQL_ROWS),
			out))
		put_failure(out, NULL, "out of memory");
	for (size_t i = 0; i < l.n; i++)
		tide__free(l.v[i].path);
	tide__free(l.v);
	tide__free(match);
}

/* ---- describe ---- */

struct describe {
	tide_json j;
	FILE *f;
	const char *match;
	size_t left_out;
};

static void describe_members(struct describe *d, const tide_member *list, const char *path,
			     unsigned depth)
{
	char name[160], text[700];
	for (const tide_member *m = list; m && m->key; m++) {
		snprintf(name, sizeof name, "%s%s%s", path, *path && *m->key ? "." : "", m->key);
		bool wanted = m->meaning &&
			      (!d->match || strstr(name, d->match) || strstr(m->meaning, d->match));
		snprintf(text, sizeof text, "%s: %s", tide__kind_unit(m->kind),
			 m->meaning ? m->meaning : "");
		fflush(d->f);
		if (wanted && ftell(d->f) < MCP_ANSWER - 1500)
			tide__json_kstr(&d->j, name, text);
		else
			d->left_out += wanted;
		if ((m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_TABLE) && depth < 4)
			describe_members(d, m->members, name, depth + 1);
	}
}

static void describe_options(struct describe *d, const tide_report_type *type)
{
	for (size_t i = 0; i < type->n_options; i++) {
		const tide_option *o = &type->options[i];
		char text[500];
		if (o->text_only)
			continue;
		snprintf(text, sizeof text, "%s%s%s%s%s", o->help, o->def ? "; default " : "",
			 o->def ? o->def : "", o->kind == TIDE_OPT_ENUM ? "; one of " : "",
			 o->kind == TIDE_OPT_ENUM ? o->arg : "");
		tide__json_kstr(&d->j, o->name, text);
	}
}

static void call_describe(tide_mcp *s, jsonr_node args, mcp_answer *out)
{
	char *name = tide__mcp_get_text(args, "report"), *match = tide__mcp_get_text(args, "match");
	const tide_report_type *type = name ? tide__mcp_report(name) : NULL;
	struct describe d = { .match = match };
	(void)s;
	if (!type)
		put_failure(
			out, NULL,
			"there is no such report: the tools that take a file have the names of reports");
	else if ((d.f = open_memstream(&out->text, &out->n))) {
		tide__json_begin(&d.j, d.f, false);
		tide__json_object(&d.j);
		tide__json_kstr(&d.j, "report", type->name);
		tide__json_kstr(&d.j, "summary", type->summary);
		tide__json_kstr(&d.j, "help", type->help);
		tide__json_kobject(&d.j, "options");
		describe_options(&d, type);
		tide__json_object_end(&d.j);
		tide__json_kobject(&d.j, "figures");
		describe_members(&d, type->members, "", 0);
		tide__json_object_end(&d.j);
		tide__json_kuint(&d.j, "left_out", d.left_out);
		tide__json_object_end(&d.j);
		tide__json_end(&d.j);
		fclose(d.f);
	}
	tide__free(name);
	tide__free(match);
}

/* ---- sql ---- */

/* Columns once, rows as lists: fewer words than objects. */
static bool write_rows(const tide_sql_result *r, size_t rows, size_t texts, mcp_answer *out)
{
	FILE *f = open_memstream(&out->text, &out->n);
	tide_json j;
	char buf[40];
	size_t n = tide__sql_rows(r) < rows ? tide__sql_rows(r) : rows;
	if (!f)
		return false;
	tide__json_begin(&j, f, false);
	tide__json_object(&j);
	tide__json_karray(&j, "columns");
	for (size_t k = 0; k < tide__sql_columns(r); k++)
		tide__json_str(&j, tide__sql_column(r, k)->key);
	tide__json_array_end(&j);
	tide__json_karray(&j, "rows");
	for (size_t i = 0; i < n; i++) {
		tide__json_array(&j);
		for (size_t k = 0; k < tide__sql_columns(r); k++) {
			tide_sql_cell c = tide__sql_cell(r, i, k, buf);
			if (c.type == TIDE_SQL_TEXT)
				tide__json_strn(&j, c.text, texts && c.n > texts ? texts : c.n);
			else if (c.type == TIDE_SQL_INT)
				tide__json_int(&j, c.i);
			else if (c.type == TIDE_SQL_REAL)
				tide__json_double(&j, c.d);
			else
				tide__json_null(&j);
		}
		tide__json_array_end(&j);
	}
	tide__json_array_end(&j);
	tide__json_kuint(&j, "left_out", tide__sql_left_out(r) + tide__sql_rows(r) - n);
	if (texts)
		tide__json_kuint(&j, "texts_are_at_most", texts);
	tide__json_object_end(&j);
	bool ok = tide__json_end(&j);
	return !fclose(f) && ok;
}

static void put_rows(const tide_sql_result *r, size_t rows, size_t texts, mcp_answer *out)
{
	bool ok = true;
	while ((ok = write_rows(r, rows, texts, out)) && out->n > MCP_ANSWER &&
	       (rows > 1 || !texts || texts > 40)) {
		if (rows > 1)
			rows /= 2;
		else
			texts = 40;
		free(out->text);
		*out = (mcp_answer){ 0 };
	}
	if (!ok)
		put_failure(out, NULL, "out of memory");
}

static void run_query(const tide_mcp *s, tide_sql *sql, jsonr_node args, const char *query,
		      mcp_answer *out)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_sql_result *r = NULL;
	size_t rows = (size_t)tide__mcp_get_int(args, "rows", 1, MOST_ROWS, SQL_ROWS);
	tide_sql_limits limits = { .ms = s->opt.query_ms, .rows = rows };
	if (tide__mem_budget_now() != UINT64_MAX)
		limits.bytes = (size_t)tide__mem_budget_now();
	if (tide__sql_run(sql, query, &limits, NULL, &r, &err) != TIDE_OK)
		fail(out, NULL, &err);
	else if (!r)
		put_failure(out, NULL, "the query is empty");
	else
		put_rows(r, rows, tide__mcp_get_flag(args, "full_texts", false) ? 0 : TEXT, out);
	tide__sql_result_free(r);
}

static void show_tables(const tide_sql *sql, const char *table, mcp_answer *out)
{
	FILE *f = open_memstream(&out->text, &out->n);
	bool ok = f != NULL;
	if (f && table)
		ok = tide__sql_print_schema(sql, table, f);
	else if (f)
		tide__sql_print_tables(sql, f);
	if (f)
		fclose(f);
	if (!ok)
		put_failure(out, NULL, "there is no such table: without table, all are listed");
}

/* sql and tables. */
static void call_sql(tide_mcp *s, jsonr_node args, bool tables, mcp_answer *out)
{
	char *file = tide__mcp_get_text(args, "file"), *query = tide__mcp_get_text(args, "query"),
	     *table = tide__mcp_get_text(args, "table");
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = file ? tide__mcp_load(s, file, &err) : NULL;
	tide_sql *sql = NULL;
	const tide_model *models[] = { m };
	tide_report_traces in = { .models = models, .n = 1 };
	if (!file || (!tables && !query))
		put_failure(out, NULL,
			    tables ? "file is needed: the name of a recording"
				   : "file and query are needed");
	else if (!m || tide__sql_open(&in, &sql, &err) != TIDE_OK)
		fail(out, file, &err);
	else if (tables)
		show_tables(sql, table, out);
	else
		run_query(s, sql, args, query, out);
	tide__sql_close(sql);
	tide__model_free(m);
	tide__free(file);
	tide__free(query);
	tide__free(table);
}

/* ---- page ---- */

/* Returns "DIR/run.tide.html": folders in the name become '_'. Owned by the caller. */
static char *page_name(const tide_mcp *s, const tide_model *m)
{
	const char *name = tide__mcp_short_name(s, m->path);
	size_t n = strlen(s->opt.pages) + strlen(name) + 8;
	char *path = tide__alloc(n, 1);
	if (!path)
		return NULL;
	int at = snprintf(path, n, "%s/", s->opt.pages);
	snprintf(path + at, n - (size_t)at, "%s.html", name);
	for (char *c = path + at; *c; c++)
		*c = *c == '/' ? '_' : *c;
	if (path[at] == '.')
		path[at] = '_';
	return path;
}

static void call_page(tide_mcp *s, jsonr_node args, mcp_answer *out)
{
	char *file = tide__mcp_get_text(args, "file"), *path = NULL;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = file ? tide__mcp_load(s, file, &err) : NULL;
	if (!file)
		put_failure(out, NULL, "file is needed: the name of a recording");
	else if (!m)
		fail(out, file, &err);
	else if (!(path = page_name(s, m)) || s->opt.page(s->opt.user, m, path, &err) != TIDE_OK)
		fail(out, file, &err);
	else {
		FILE *f = open_memstream(&out->text, &out->n);
		if (f) {
			fprintf(f, "wrote %s: open it in a browser", path);
			fclose(f);
		}
	}
	tide__model_free(m);
	tide__free(path);
	tide__free(file);
}

bool tide__mcp_call(tide_mcp *s, const char *name, jsonr_node args, mcp_answer *out)
{
	const tide_report_type *type = tide__mcp_report(name);
	if (type)
		call_report(s, type, args, out);
	else if (!strcmp(name, "recordings"))
		call_recordings(s, args, out);
	else if (!strcmp(name, "describe"))
		call_describe(s, args, out);
	else if (!strcmp(name, "sql") || !strcmp(name, "tables"))
		call_sql(s, args, name[0] == 't', out);
	else if (!strcmp(name, "page") && s->opt.page)
		call_page(s, args, out);
	else
		return false;
	return true;
}
