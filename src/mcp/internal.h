// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Types of this folder. */
#ifndef TIDE_MCP_INTERNAL_H
#define TIDE_MCP_INTERNAL_H

#include <time.h>

#include "import/json/node.h"
#include "mcp/mcp.h"
#include "render/text/json.h"
#include "report/registry.h"

enum {
	MCP_LOADED = 4,	    /* traces in memory */
	MCP_FILES = 16,	    /* of one call */
	MCP_OPTIONS = 64,   /* arguments of one call */
	MCP_ANSWER = 20000, /* bytes of an answer: 8,000 tokens at most */
	MCP_ROWS = 20,
	MCP_MEANINGS = 3000, /* bytes of definitions in an answer */
};

typedef struct mcp_loaded {
	char *path; /* owned; NULL = free */
	struct timespec mtime;
	uint64_t size, used;
	tide_model *m; /* owned */
} mcp_loaded;

struct tide_mcp {
	tide_mcp_options opt;
	jsonr reader; /* of the message */
	char **roots; /* owned; resolved names of the folders; "" = there is none */
	mcp_loaded loaded[MCP_LOADED];
	uint64_t calls;
};

/* ---- arguments (args.c) ---- */

/* Returns a text, decoded; owned by the caller (tide__free). NULL if it is not a text, has a NUL or
 * memory runs out. */
char *tide__mcp_text(jsonr_node v);
/* The same for a member; NULL if there is none. */
char *tide__mcp_get_text(jsonr_node args, const char *name);
/* Returns a member that is an integer from least to most, else `otherwise`. */
int64_t tide__mcp_get_int(jsonr_node args, const char *name, int64_t least, int64_t most,
			  int64_t otherwise);
/* Returns true if a member is true; `otherwise` if the member is missing. */
bool tide__mcp_get_flag(jsonr_node args, const char *name, bool otherwise);

/* Options of a report: names and texts. */
typedef struct mcp_pairs {
	tide_pair v[MCP_OPTIONS];
	char *texts[MCP_OPTIONS]; /* owned */
	size_t n;
} mcp_pairs;
/* Takes the arguments that are options. Fails with TIDE_EUSAGE for an argument that no tool has. */
tide_code tide__mcp_take_pairs(const tide_report_type *type, jsonr_node args, mcp_pairs *out,
			       tide_error *err);
void tide__mcp_free_pairs(mcp_pairs *p);

/* Arguments of every report, which are no options. */
bool tide__mcp_is_own(const char *name);

/* ---- recordings (recordings.c) ---- */

bool tide__mcp_find_roots(tide_mcp *s);
/* Returns the resolved name of a file inside the folders; owned by the caller. NULL with `err`. */
char *tide__mcp_resolve(const tide_mcp *s, const char *name, tide_error *err);
/* Returns a trace, owned by the caller (tide__model_free); NULL with `err`. */
tide_model *tide__mcp_load(tide_mcp *s, const char *name, tide_error *err);
void tide__mcp_drop_all(tide_mcp *s);
/* Returns the name of a file as an argument has it: without its folder. */
const char *tide__mcp_short_name(const tide_mcp *s, const char *path);

/* ---- answers ---- */

/* The end of a call: a text, or a failure. */
typedef struct mcp_answer {
	char *text; /* owned, by open_memstream: free() */
	size_t n;
	bool failed;
	bool document; /* the text is JSON, of a report with a schema */
} mcp_answer;

typedef struct mcp_shape {
	size_t rows, offset; /* of the report's own tables */
	size_t nested;	     /* rows of tables inside rows */
	size_t texts;	     /* bytes of a text; 0 = all */
	const char *only;    /* the only table; NULL = all */
	bool meanings;
} mcp_shape;

/* Writes a report within MCP_ANSWER bytes: fewer rows and shorter texts until it fits. */
tide_code tide__mcp_write_report(const tide_report_type *type, const tide_node *root,
				 const char *file, mcp_shape shape, mcp_answer *out);

/* Runs a tool. Returns false if there is none of that name. */
bool tide__mcp_call(tide_mcp *s, const char *name, jsonr_node args, mcp_answer *out);
/* Writes the list of tools: members of an open object. */
void tide__mcp_write_tools(const tide_mcp *s, tide_json *j);

/* Returns the report of a tool, or NULL. */
const tide_report_type *tide__mcp_report(const char *tool);
/* Writes the name of the tool of a report: "critical_path". */
void tide__mcp_tool_name(const tide_report_type *type, char out[64]);

#endif
