// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Options as data: of reports at every door, and of the program's other commands.
 *
 *     static const tide_option options[] = {
 *         [O_DEVICE] = { TIDE_REPORT_DEVICE },
 *         [O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "20" },
 *     };
 *
 * The command line writes the name as --group-by; C, HTTP and Python write group_by. */
#ifndef TIDE_REPORT_OPTION_H
#define TIDE_REPORT_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"
#include "report/select.h"

typedef enum tide_opt_kind {
	TIDE_OPT_FLAG,	     /* no value; with `arg`: optional =VALUE, one of those */
	TIDE_OPT_INT,	     /* int64, decimal, from `least` to `most` */
	TIDE_OPT_REAL,	     /* a decimal number, not negative, at most `most` */
	TIDE_OPT_DECIMAL,    /* the same, exactly: `num` counts 10^-decimals */
	TIDE_OPT_RANGE,	     /* N or A..B, from 0: `num` and `last` */
	TIDE_OPT_BYTES,	     /* 2GiB, 1.5 MB; not on a command line also 4096 */
	TIDE_OPT_TEXT,	     /* any text */
	TIDE_OPT_FILE,	     /* a path: completion offers files */
	TIDE_OPT_ENUM,	     /* one of `choices`, comma-separated list in `arg` */
	TIDE_OPT_DEVICE,     /* a device of the trace; TIDE_ANY by default */
	TIDE_OPT_ONE_DEVICE, /* the same; the one with the highest peak by default */
	TIDE_OPT_MOMENT,     /* a moment of the trace: select.h */
} tide_opt_kind;

typedef struct tide_option {
	const char *name; /* long name without dashes */
	char letter;	  /* short form, 0 = none */
	tide_opt_kind kind;
	const char *arg;  /* value's name in help ("N", "FILE"), or for ENUM "text,json,html" */
	const char *help; /* one line */
	const char *def;  /* default, parsed like a value and shown by help; NULL = unset */
	bool many;	  /* may be given several times: every value is kept in opt.list */
	int64_t least;	  /* of INT, BYTES; default 0: no option takes negative numbers */
	int64_t most;	  /* of INT and REAL; 0 = no limit */
	int decimals;	  /* of DECIMAL */
	const char *also; /* alternative long name, NULL = none */
	/* Reports only: */
	uint16_t field; /* offset in the options struct of analyze.h; 0 = not in C */
	bool pair;	/* RANGE: two int64_t in C; else a text */
	bool text_only; /* changes the text report alone: not offered by HTTP and Python */
	bool whole;	/* INT, rows to show: documents (JSON, C, HTTP, Python) have all rows
			  * unless the option was given */
} tide_option;

/* The option of reports that join a trace of graph replays with that of the capture; the program
 * reads it (cli/job/captured.h). */
#define TIDE_OPTION_CAPTURED                                                                         \
	{                                                                                            \
		"captured", 0, TIDE_OPT_FILE, "CAPTURE",                                             \
			"the trace in which CUDA or HIP graphs were captured, or a folder of them: " \
			"replayed kernels count for the ops and modules that captured them",         \
			.text_only = true                                                            \
	}

/* The offset of a member in an options struct of analyze.h. */
#define TIDE_FIELD(type, member) .field = offsetof(type, member)

typedef struct tide_value {
	bool set;	   /* given, or has a default */
	bool given;	   /* given by the caller */
	const char *text;  /* as written */
	int64_t num;	   /* INT, BYTES, DECIMAL; ENUM: index of the choice; RANGE: first */
	int64_t last;	   /* RANGE */
	double real;	   /* REAL */
	const char **list; /* MANY: every text given */
	int64_t *numbers;  /* MANY of INT: their values */
	size_t n_list;
	uint32_t device;    /* DEVICE, ONE_DEVICE, once a trace is loaded */
	tide_moment moment; /* MOMENT, likewise */
} tide_value;

/* Parses one value of an option's kind and sets v->set. `name` is the option as the caller writes
 * it: messages begin with it. `text` is borrowed. Fails with TIDE_EUSAGE. */
tide_code tide__option_parse(const tide_option *o, const char *name, const char *text,
			     tide_value *v, tide_error *err);
/* Parses one value, and adds it to the list of an option that may be given several times. */
tide_code tide__option_take(const tide_option *o, const char *name, const char *text, tide_value *v,
			    tide_error *err);
/* Finds the devices and moments that the values of n options name. `dashes` is "--" for the command
 * line, "" for other doors. Fails with TIDE_EUSAGE or TIDE_ENOTFOUND. */
tide_code tide__options_resolve(const tide_option *o, size_t n, const char *dashes,
				const tide_model *m, tide_value *v, tide_error *err);
/* Sets the defaults of n options. */
void tide__options_begin(const tide_option *o, size_t n, tide_value *v);
/* Frees what the values of n options own. */
void tide__options_end(tide_value *v, size_t n);

/* Returns the index of a word in a comma-separated list, or -1. */
int tide__word_index(const char *words, const char *text);

#endif
