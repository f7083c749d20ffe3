// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A server of the Model Context Protocol: reports, SQL and pages as tools for programs that read
 * answers, over any stream of lines. docs/guide/mcp.md is the manual for users.
 *
 *     tide_mcp *s = tide__mcp_new(&options);
 *     while ((n = getline(&line, &room, stdin)) > 0)
 *             tide__mcp_take(s, line, (size_t)n, stdout);
 *     tide__mcp_free(s);
 *
 * One thread. Messages are hostile: any bytes get a reply or none, and never end the server. Files
 * are those of the given folders; a link out of them is refused.
 *
 *   mcp.c        messages: JSON-RPC 2.0, the methods       args.c      arguments of a call
 *   tools.c      the list of tools, with their schemas     call.c      what each tool does
 *   recordings.c files of the folders, loaded traces       answer.c    a report within a limit
 */
#ifndef TIDE_MCP_MCP_H
#define TIDE_MCP_MCP_H

#include <stdio.h>

#include "model/model.h"

typedef struct tide_mcp tide_mcp;

enum { TIDE_MCP_LINE = 1 << 20 }; /* bytes of a message */

typedef struct tide_mcp_options {
	/* Gives every recording of the folders to add(). Returns false if memory runs out. */
	bool (*list)(void *user, bool (*add)(void *to, const char *path, uint64_t size), void *to);
	/* Writes a page of a trace. NULL: there is no such tool. Fails with a text. */
	tide_code (*page)(void *user, const tide_model *m, const char *path, tide_error *err);
	void *user;
	const char *const *folders; /* borrowed; names of folders or files */
	size_t n_folders;
	const char *pages;   /* borrowed; the folder of pages */
	int64_t query_ms;    /* of an SQL query; 0 = no limit */
	bool schemas;	     /* results have their schema, in the list of tools too */
	const char *version; /* of the program; borrowed */
} tide_mcp_options;

/* Returns NULL if memory runs out. */
tide_mcp *tide__mcp_new(const tide_mcp_options *opt);
void tide__mcp_free(tide_mcp *s); /* NULL is allowed */

/* Takes one message, with or without the end of its line, and writes the reply, if it has one, as
 * one line. */
void tide__mcp_take(tide_mcp *s, const char *line, size_t n, FILE *out);

#endif
