// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* sql: a query over traces, or a shell. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "report/arrow.h"
#include "report/csv.h"
#include "report/text.h"
#include "sql/sql.h"

enum { O_QUERY, O_LIMIT, O_JSON, O_CSV, O_OUTPUT };
static const tide_option options[] = {
	[O_QUERY] = { "query", 'q', TIDE_OPT_TEXT, "SQL",
		      "the query, if the last word is not one; - reads it from standard input" },
	[O_LIMIT] = { "limit", 0, TIDE_OPT_REAL, "SECONDS",
		      "end a query that takes longer; 0 = never", .def = "0" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_CSV] = { "csv", 0, TIDE_OPT_FLAG, NULL, "print CSV" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE; .csv, .json and .arrow choose the form" },
};

enum format { AS_TEXT, AS_JSON, AS_CSV, AS_ARROW };
static const char format_words[] = "text,json,csv";

static volatile int stopped; /* Ctrl-C */

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

struct session {
	const tide_args *a;
	tide_sql *sql;
	tide_sql_limits limits;
	enum format format;
};

/* ---- output ---- */

static enum format format_of(const tide_args *a)
{
	const tide_value *out = &a->opt[O_OUTPUT];
	size_t n = out->set ? strlen(out->text) : 0;
	if (n > 6 && !strcasecmp(out->text + n - 6, ".arrow"))
		return AS_ARROW;
	return a->opt[O_CSV].set ? AS_CSV : a->opt[O_JSON].set ? AS_JSON : AS_TEXT;
}

static tide_code put_json(const tide_report_type *type, tide_sql_result *r, FILE *out)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide_code rc = tide__report_write(type, r, &j);
	bool whole = tide__json_end(&j);
	return rc != TIDE_OK ? rc : whole ? TIDE_OK : TIDE_EIO;
}

static tide_code put_result(const struct session *s, tide_sql_result *r)
{
	const tide_report_type *type = tide__sql_type(r);
	switch (s->format) {
	case AS_JSON:
		return put_json(type, r, s->a->out);
	case AS_CSV:
		return tide__csv_write(type, r, 0, s->a->out);
	case AS_ARROW:
		return tide__arrow_write(type, r, 0, s->a->out);
	default:
		return tide__report_text(type, r, &s->a->to);
	}
}

static int fail(const struct session *s, const char *query, const tide_error *err)
{
	if (err->code == TIDE_EUSAGE && err->offset != TIDE_NO_OFFSET &&
	    err->offset <= strlen(query))
		return tide__cli_fail_usage(s->a, "%s, at \"%.40s\"", err->text,
					    query + err->offset);
	if (err->code == TIDE_EUSAGE)
		return tide__cli_fail_usage(s->a, "%s", err->text);
	return tide__cli_fail(NULL, err);
}

/* Runs every statement of a text. Returns an exit status. */
static int run_text(struct session *s, const char *query)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_sql_result *r;
	bool any = false;
	stopped = 0;
	while (*query) {
		const char *rest = query;
		tide_code rc = tide__sql_run(s->sql, query, &s->limits, &rest, &r, &err);
		if (rc != TIDE_OK)
			return fail(s, query, &err);
		if (any && r && s->format == AS_ARROW) {
			tide__sql_result_free(r);
			return tide__cli_fail_usage(s->a, "an Arrow file holds one result");
		}
		if (any && r)
			fputc('\n', s->a->out);
		rc = r ? put_result(s, r) : TIDE_OK;
		any |= r != NULL;
		tide__sql_result_free(r);
		if (rc == TIDE_ENOMEM)
			return tide__cli_fail(NULL, (tide__nomem(&err), &err));
		if (rc != TIDE_OK)
			break; /* tide__cli_finish says why */
		query = rest;
	}
	return any ? 0 : tide__cli_fail_usage(s->a, "the query is empty");
}

/* ---- the shell ---- */

static const char shell_help[] = ".tables          all tables\n"
				 ".schema [TABLE]  columns and what they mean\n"
				 ".mode WORD       text, json, csv\n"
				 ".quit            ends\n"
				 "A query ends with a semicolon. Ctrl-C stops it.\n";

/* Returns true if the line is `name`; *rest is what follows it. */
static bool is_command(char *line, const char *name, char **rest)
{
	size_t n = strlen(name);
	if (strncmp(line, name, n) != 0 || !strchr(" \t\n;", line[n]))
		return false;
	*rest = line + n + strspn(line + n, " \t");
	(*rest)[strcspn(*rest, " \t\r\n;")] = 0;
	return true;
}

/* Runs a line that begins with a dot. Returns false for the end. */
static bool run_command(struct session *s, char *line)
{
	FILE *out = s->a->out;
	char *rest;
	if (is_command(line, ".quit", &rest) || is_command(line, ".exit", &rest))
		return false;
	if (is_command(line, ".tables", &rest)) {
		tide__sql_print_tables(s->sql, out);
	} else if (is_command(line, ".schema", &rest)) {
		if (!tide__sql_print_schema(s->sql, *rest ? rest : NULL, out))
			tide__cli_note("there is no table '%.60s'; .tables lists them", rest);
	} else if (is_command(line, ".mode", &rest)) {
		int mode = tide__word_index(format_words, rest);
		if (mode < 0)
			tide__cli_note(".mode needs one of %s", format_words);
		else
			s->format = (enum format)mode;
	} else {
		fputs(shell_help, out);
	}
	return true;
}

/* Appends a line to the query. Returns false if memory runs out. */
static bool append(char **query, size_t *n, size_t *cap, const char *line)
{
	size_t k = strlen(line);
	if (!TIDE_ROOM(*query, *cap, *n + k + 1))
		return false;
	memcpy(*query + *n, line, k + 1);
	*n += k;
	return true;
}

/* Reads lines until .quit or the end of the input. A wrong query does not end it. */
static int run_shell(struct session *s)
{
	bool ask = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	char *line = NULL, *query = NULL;
	size_t room = 0, n = 0, cap = 0;
	int status = 0;
	if (ask)
		fputs("SQL over this trace. .tables lists tables, .help commands.\n", s->a->out);
	for (;;) {
		if (ask)
			fputs(n ? "     ...> " : "tidemark> ", s->a->out);
		fflush(s->a->out);
		if (getline(&line, &room, stdin) < 0)
			break;
		if (!n && line[0] == '.') {
			if (!run_command(s, line))
				break;
			continue;
		}
		if ((!n && !line[strspn(line, " \t\r\n")]) || !append(&query, &n, &cap, line) ||
		    !tide__sql_complete(query))
			continue;
		status = run_text(s, query);
		n = 0;
	}
	if (n && query[strspn(query, " \t\r\n")])
		status = run_text(s, query);
	if (ask)
		fputc('\n', s->a->out);
	free(line);
	tide__free(query);
	return ask ? 0 : status;
}

/* ---- the command ---- */

static bool is_query(const char *word)
{
	return strpbrk(word, " \t\n") != NULL && access(word, F_OK) != 0;
}

/* Runs a line such as ".schema spans", or SQL. */
static int run_word(struct session *s, const char *query)
{
	if (*query != '.')
		return run_text(s, query);
	char line[256];
	snprintf(line, sizeof line, "%s\n", query);
	run_command(s, line);
	return 0;
}

static int run_on(const tide_args *a, const tide_report_traces *in, const char *query)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct session s = { .a = a, .format = format_of(a) };
	struct sigaction act = { .sa_handler = on_interrupt }, before;
	int status;
	s.limits =
		(tide_sql_limits){ .ms = (int64_t)(a->opt[O_LIMIT].real * 1000), .stop = &stopped };
	if (tide__mem_budget_now() != UINT64_MAX)
		s.limits.bytes = (size_t)tide__mem_budget_now();
	if (tide__sql_open(in, &s.sql, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	sigaction(SIGINT, &act, &before);
	status = query ? run_word(&s, query) : run_shell(&s);
	sigaction(SIGINT, &before, NULL);
	tide__sql_close(s.sql);
	return status ? status : tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	const char *query = a->opt[O_QUERY].set && strcmp(a->opt[O_QUERY].text, "-") != 0
				    ? a->opt[O_QUERY].text
				    : NULL;
	size_t n = a->n_files;
	int status = 1;
	if (!a->opt[O_QUERY].set && n > 1 &&
	    (is_query(a->files[n - 1]) || a->files[n - 1][0] == '.') &&
	    access(a->files[n - 1], F_OK) != 0)
		query = a->files[--n];
	const tide_model **models = tide__calloc(n, sizeof *models);
	for (size_t i = 0; models && i < n; i++)
		if (!(models[i] = tide__cli_load(a, a->files[i], 0)))
			goto end;
	tide_report_traces in = { .models = models,
				  .n = n,
				  .files = (const char *const *)a->files };
	if (models)
		status = run_on(a, &in, query);
end:
	for (size_t i = 0; models && i < n && models[i]; i++)
		tide__model_free((tide_model *)(uintptr_t)models[i]);
	tide__free(models);
	return status;
}

const tide_command tide__cmd_sql = {
	.name = "sql",
	.usage = "FILE... [QUERY] [--limit SECONDS] [--json] [--csv] [-o FILE]",
	.summary = "ask with SQL: tables of the trace and of every report",
	.help = "Runs a query of SQLite over the tables of the trace and of every report; nothing is copied "
		"and nothing can be written. Without a query it reads queries, line by line. '.tables' lists the "
		"tables, '.schema TABLE' says what each column means. Functions: stack(id), path(span), "
		"overlap(a, b), live_at(t, device). spans(FROM, TO), allocs(FROM, TO) and segments(FROM, TO) are "
		"the rows that run or live between two times. With several files the column trace_id has the number "
		"of the file.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.endings = ".csv,.arrow",
	.run = run,
};
