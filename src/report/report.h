// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reports as data. One description makes a report a command, a function of analyze.h, a route of
 * the server, a method in Python, with help, completion, a man page, JSON, CSV, Arrow, a schema and
 * types.
 *
 * To add a report:
 *
 *     1. Write the analysis in src/analyze: a pure function that fills a result.
 *     2. Write a file NAME.c in a folder of src/report: options, members, find, json, a text if
 *        tables alone do not say it, and one `const tide_report_type tide__report_NAME`. tests/toy/toy.c is one.
 *     3. Add the file to report_src in meson.build, build, and run tools/generate.
 *     4. Describe its figures in docs/analyses; ARCHITECTURE.md (5) has the rest.
 *
 * find() computes; json() writes every figure once, the members that `members` lists, without the
 * braces of the document; text() prints. All three are pure: they read the traces and options, and
 * print nothing elsewhere. */
#ifndef TIDE_REPORT_REPORT_H
#define TIDE_REPORT_REPORT_H

#include <tidemark/analyze.h>

#include "model/model.h"
#include "model/want.h"
#include "render/text/member.h"
#include "render/text/out.h"
#include "report/option.h"

/* The traces that a report takes. */
typedef enum tide_report_input {
	TIDE_INPUT_TRACE, /* one trace */
	TIDE_INPUT_RANKS, /* one trace or more, the ranks of a job */
	TIDE_INPUT_PAIR,  /* two traces: before and after */
	TIDE_INPUT_SIZES, /* traces of one program at several sizes of its work */
} tide_report_input;

/* The question that help groups commands by, in its order. */
typedef enum tide_report_group {
	TIDE_GROUP_MEMORY,
	TIDE_GROUP_TIME,
	TIDE_GROUP_RANKS,
	TIDE_GROUP_COMPARE,
	TIDE_GROUP_RECORD,
	TIDE_GROUP_FILES,
	TIDE_GROUP_HELP,
	TIDE_GROUPS
} tide_report_group;

/* The traces of a call. Models and names are borrowed until the report is freed, the arrays until
 * find() returns. */
typedef struct tide_report_traces {
	const tide_model *const *models;
	size_t n;
	const char *const *files; /* their names; NULL = their paths */
	const uint64_t *sizes;	  /* TIDE_INPUT_SIZES: the size of the work of each */
	/* TIDE_INPUT_RANKS: their analysis, by a caller that loaded them one by one; no models then. */
	const struct tide_hta_job *job;
} tide_report_traces;

/* One call: traces and options. */
typedef struct tide_report_ask {
	const tide_model *const *models; /* as above */
	size_t n;
	const char *const *files;
	const uint64_t *sizes;
	const struct tide_hta_job *job;
	const tide_value *opt;	 /* as the description's options; devices and moments are found */
	const char *dashes;	 /* before an option's name in messages: "--" or "" */
	bool document;		 /* JSON, C, HTTP, Python: everything; else a text */
	const tide_style *style; /* of the text; NULL for documents */
} tide_report_ask;

struct tide_page_options;

typedef struct tide_report_type {
	const char *name; /* "peak", "critical-path" */
	size_t size;	  /* of the result */
	/* Prints the report. TIDE_OK or TIDE_ENOMEM. NULL: its values and tables are printed, those
	 * members that have a heading (text.h). */
	tide_code (*text)(void *result, const tide_out *to);
	/* Writes every figure. TIDE_OK or TIDE_ENOMEM. */
	tide_code (*json)(void *result, tide_json *j);
	/* Frees what the result owns, also after a failed find(). */
	void (*free)(void *result);
	/* Optional: adds the result of one of several traces, loaded one by one, to theirs; `one` =
	 * NULL after the last. TIDE_OK, TIDE_EUSAGE or TIDE_ENOMEM. */
	tide_code (*join)(void *all, void *one, const char *file, tide_error *err);
	/* Optional: what to load for these options, instead of `want`. There are no models yet. */
	unsigned (*wants)(const tide_report_ask *ask);
	/* Optional: the report that these options select instead, on one trace. It has the same
	 * options. */
	const struct tide_report_type *(*instead)(const tide_value *v);
	/* Optional, with page "": what the page of a zeroed result shows, instead of find(). */
	tide_code (*draw)(const tide_report_ask *ask, void *result, struct tide_page_options *page,
			  tide_error *err);
	/* Fills a zeroed result. Fails with TIDE_EUSAGE, TIDE_ENOTFOUND or TIDE_ENOMEM. TIDE_OK with
	 * err->code TIDE_OK and a text: a note, which the command line prints. */
	tide_code (*find)(const tide_report_ask *ask, void *result, tide_error *err);
	tide_report_input input;
	tide_report_group group;
	unsigned want;	     /* TIDE_WANT_* of the traces */
	const char *summary; /* "show the allocations alive at the memory peak" */
	const char *help;    /* a paragraph */
	const tide_option *options;
	size_t n_options;
	const tide_member *members; /* of the document */
	int version;		    /* of the document: grows when a member goes or changes */
	size_t struct_size;	    /* of the options struct of analyze.h; 0 = none */
	const char *page;	    /* the view of the page that `-o x.html` writes; NULL = none */
	bool document_page;	    /* with page "": its page has figures and tables (page.h) */
	bool each_rank;		    /* several traces: a row for each, by cli/job/each_rank.h */
	/* Folders: the formats whose files are read, by content ("flightrec,tide"); NULL = traces,
	 * by name. */
	const char *formats;
	const char *list; /* several traces: a document for each, in a list of this name */
	/* Large documents are written without indentation: "" = always, else if this flag is given;
	 * NULL = never. */
	const char *compact;
} tide_report_type;

#define TIDE_REPORT_OPTIONS(table) .options = table, .n_options = sizeof(table) / sizeof *(table)

/* Options that many reports share. */
/* clang-format off */
#define TIDE_REPORT_DEVICE "device", 'd', TIDE_OPT_DEVICE, "DEVICE", "only this device, e.g. cuda:0"
#define TIDE_REPORT_ONE_DEVICE \
	"device", 'd', TIDE_OPT_ONE_DEVICE, "DEVICE", "only this device, e.g. cuda:0"
#define TIDE_REPORT_AT "at", 'a', TIDE_OPT_MOMENT, "TIME", \
	"at a time (1.5s, 200ms, 50%), after N memory events (#N), or at the peak"
/* clang-format on */

/* Members of every report on one trace: its losses; and of most: its start. */
extern const tide_member tide__member_any;
#define TIDE_MEMBERS_LOSSES                                                                      \
	{ "losses", NULL, TIDE_KIND_MAP, .members = &tide__member_any,                           \
	  .meaning = "lost and repaired data, by the name of the loss" },                        \
	{                                                                                        \
		"recovered_events", NULL, TIDE_KIND_COUNT,                                       \
			.may = TIDE_MAY_BE_ABSENT,                                               \
			.meaning =                                                               \
				"of a recording that was not closed: events read from its rings" \
	}
#define TIDE_MEMBERS_START                                                                       \
	{ "start_wall_ns", NULL, TIDE_KIND_WALL, .may = TIDE_MAY_BE_NULL,                        \
	  .meaning = "the trace's start" },                                                      \
		{ "time_axis", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_ABSENT,                  \
		  .meaning = "of a trace without a clock: what its times count" },               \
	{                                                                                        \
		"alloc_basis", NULL, TIDE_KIND_TEXT,                                             \
			.may = TIDE_MAY_BE_ABSENT,                                               \
			.meaning = "of inferred allocations: a sentence that names their source" \
	}

/* ---- one report ---- */

struct tide_node;
struct tide_report {
	const tide_report_type *type;
	tide_model *
		*own; /* owned: traces read again with what only this report wants; NULL = none */
	size_t n_own;
	tide_node *root; /* owned; NULL = not built yet */
	uint8_t axis;	 /* of its traces: TIDE_AXIS_* */
	/* Owned lists: the caller's are gone after the call. NULL = none. */
	const tide_model **models;
	const char **files;
	uint64_t *sizes;
	_Alignas(16) unsigned char result[];
};

/* The name of the i-th trace in messages and documents. */
static inline const char *tide__ask_file(const tide_report_ask *ask, size_t i)
{
	return ask->files && ask->files[i] ? ask->files[i] : ask->models[i]->path;
}

/* Returns a report with a zeroed result; NULL if memory runs out. */
tide_report *tide__report_new(const tide_report_type *type);
/* Ends a find function: returns the report to the caller, or frees it. Returns rc. */
tide_code tide__report_finish(tide_report *r, tide_code rc, tide_report **out, tide_error *err);
/* Writes the document into a JSON writer: braces, name, version, figures. */
tide_code tide__report_write(const tide_report_type *type, void *result, tide_json *j);

static inline const tide_model *tide__model_of(const tide_trace *t)
{
	return (const tide_model *)t;
}

/* Copies the caller's options over the defaults: a caller built against an older header has a
 * shorter struct. NULL: the defaults alone. */
void tide__options_take(void *own, size_t size, const void *given);

/* Returns the report that the values select: `type`, or another one instead. */
static inline const tide_report_type *tide__report_asked(const tide_report_type *type,
							 const tide_value *v)
{
	const tide_report_type *other = type->instead ? type->instead(v) : NULL;
	return other ? other : type;
}

/* Returns the option of a name, written with '_' or '-'; NULL if there is none. */
const tide_option *tide__report_option(const tide_report_type *type, const char *name);
/* Returns true if a flag of the report is given. `name` "": always; NULL: never. */
bool tide__report_flag(const tide_report_type *type, const tide_value *v, const char *name);

/* Rows to show: a document has all of them unless the caller gave a number. */
void tide__report_show_all_rows(const tide_report_type *type, tide_value *v, bool document);

/* ---- doors: find a report with options as each door has them ---- */

/* C: an options struct of analyze.h; NULL = defaults. */
tide_code tide__report_find_c(const tide_report_type *type, const tide_report_traces *in,
			      const void *options, tide_report **out, tide_error *err);

/* HTTP, Python: names and texts. */
typedef struct tide_pair {
	const char *name, *text; /* borrowed; name with '_' or '-' */
} tide_pair;
tide_code tide__report_find_pairs(const tide_report_type *type, const tide_report_traces *in,
				  const tide_pair *pairs, size_t n_pairs, tide_report **out,
				  tide_error *err);

#endif
