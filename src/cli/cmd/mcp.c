// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* mcp: a server of the Model Context Protocol over standard input and output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job/ranks.h"
#include "cli/output/page.h"
#include "mcp/mcp.h"

enum { O_PAGES, O_LIMIT, O_SCHEMAS };
static const tide_option options[] = {
	[O_PAGES] = { "pages", 0, TIDE_OPT_FILE, "DIR",
		      "offer pages, and write them into this folder; else nothing is written" },
	[O_LIMIT] = { "limit", 0, TIDE_OPT_REAL, "SECONDS",
		      "end an SQL query that takes longer; 0 = never", .def = "30" },
	[O_SCHEMAS] = { "schemas", 0, TIDE_OPT_FLAG, NULL,
			"give each result its JSON Schema, in the list of tools too: 400 KB" },
};

struct server {
	const tide_args *a;
	char **folders;
	size_t n;
};

/* Returns true if the file, with links resolved, is in the folder, or is the argument itself. */
static bool inside(const char *folder, const char *path, char **real)
{
	char *in = realpath(folder, NULL);
	size_t n = in ? strlen(in) : 0;
	*real = realpath(path, NULL);
	bool ok = in && *real && !strncmp(*real, in, n) &&
		  ((*real)[n] == '/' || !(*real)[n] || (n && in[n - 1] == '/'));
	free(in);
	return ok;
}

static bool list(void *user, bool (*add)(void *to, const char *path, uint64_t size), void *to)
{
	const struct server *s = user;
	bool ok = true;
	for (size_t i = 0; ok && i < s->n; i++) {
		tide_rank_files files;
		tide_error err;
		if (tide__ranks_find_in_folders(&s->folders[i], 1, NULL, NULL, &files, &err) !=
		    TIDE_OK)
			continue; /* an empty folder: recordings may come later */
		for (size_t k = 0; ok && k < files.n; k++) {
			char *real;
			if (inside(s->folders[i], files.v[k].path, &real))
				ok = add(to, real, files.v[k].size);
			free(real);
		}
		tide__ranks_free(&files);
	}
	return ok;
}

static tide_code page(void *user, const tide_model *m, const char *path, tide_error *err)
{
	const struct server *s = user;
	const char *folder = s->a->opt[O_PAGES].text;
	if (mkdir(folder, 0777) && errno != EEXIST)
		return tide__fail_errno(err, "cannot create %s", folder);
	if (tide__cli_write_page_file(s->a, m, path))
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				  "the page could not be written; the server's messages say why");
	return TIDE_OK;
}

/* Takes messages until the end of the input. The rest of a message that is too long is skipped. */
static int serve(tide_mcp *s, const tide_args *a)
{
	char *line = tide__alloc(TIDE_MCP_LINE + 2, 1);
	int c = 0;
	if (!line)
		return 1;
	while (c != EOF) {
		size_t n = 0;
		while ((c = getc_unlocked(stdin)) != EOF && c != '\n')
			if (n <= TIDE_MCP_LINE)
				line[n++] = (char)c;
		tide__mcp_take(s, line, n, a->out);
		if (ferror(a->out))
			break;
	}
	tide__free(line);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	static char here[] = ".";
	char *own[] = { here };
	struct server server = { a, a->n_files ? a->files : own, a->n_files ? a->n_files : 1 };
	struct stat st;
	for (size_t i = 0; i < server.n; i++)
		if (stat(server.folders[i], &st))
			return tide__cli_fail_usage(a, "%s: %s", server.folders[i],
						    strerror(errno));
	const tide_mcp_options opt = { .list = list,
				       .page = a->opt[O_PAGES].set ? page : NULL,
				       .user = &server,
				       .folders = (const char *const *)server.folders,
				       .n_folders = server.n,
				       .pages = a->opt[O_PAGES].text,
				       .query_ms = (int64_t)(a->opt[O_LIMIT].real * 1000),
				       .schemas = a->opt[O_SCHEMAS].set,
				       .version = TIDE_VERSION };
	tide__input_refuse_links();
	tide_mcp *s = tide__mcp_new(&opt);
	int status = s ? serve(s, a) : 1;
	tide__mcp_free(s);
	return status;
}

const tide_command tide__cmd_mcp = {
	.name = "mcp",
	.usage = "[FOLDER...] [--pages DIR] [--limit SECONDS] [--schemas]",
	.summary = "answer an assistant's questions (Model Context Protocol)",
	.help = "Serves reports, SQL and pages as tools of the Model Context Protocol over standard input and output: one "
		"tool for each report, with its options, and tools that list recordings, describe figures, run SQL and "
		"write pages. Answers have at most 8,000 tokens: the rows that matter first, and what was left out. It "
		"reads files of the folders only (default: the current folder), and writes nothing without --pages.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 0,
	.max_files = SIZE_MAX,
	.wants = "folder",
	.raw = true,
	.run = run,
};
