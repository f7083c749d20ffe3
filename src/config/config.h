// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings of recordings: what to record, how often, and where. The program and the Python package
 * use this one reader.
 *
 *     # tidemark.toml
 *     [[backend]]
 *     enable_memory_profiling = true
 *     interval = 5.0
 *
 * Precedence, lowest first: the default; the file; the environment (TIDEMARK_INTERVAL); a flag or
 * an argument of a call. The file is the one that TIDEMARK_CONFIG names, else the nearest
 * tidemark.toml from the working folder upwards, else $XDG_CONFIG_HOME/tidemark/tidemark.toml
 * (~/.config); one file, never several merged. If there are several [[backend]] tables, the one
 * named by TIDEMARK_BACKEND (or the caller) is used, else the first.
 *
 * Anything unknown is an error with its line, so a misspelt setting is always reported. A file with
 * another name than tidemark.toml belongs to another program, which has [[backend]] tables, too: its
 * own keys and tables are skipped, unless they are nearly those of a setting. */
#ifndef TIDE_CONFIG_CONFIG_H
#define TIDE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include <tidemark/error.h>

enum { TIDE_CONFIG_TEXT = 4096 };

typedef enum tide_config_kind {
	TIDE_CONFIG_BOOL,
	TIDE_CONFIG_AUTO,    /* BOOL, or "auto" = the recording program decides */
	TIDE_CONFIG_SECONDS, /* 0, or 0.001 to 10,000,000 */
	TIDE_CONFIG_WORDS,   /* any text; its user checks it */
	TIDE_CONFIG_PATH,    /* relative to the file's folder; from other sources to the working
			      * folder */
} tide_config_kind;

/* key, flag's ending, kind, default, description */
#define TIDE_CONFIG_KEYS(X)                                                                       \
	X(enable_memory_profiling, "enable-memory-profiling", BOOL, "false",                      \
	  "start the memory tracker (Python)")                                                    \
	X(interval, "interval", SECONDS, "5.0", "seconds between snapshots, 0 = none")            \
	X(output_dir, "output-dir", PATH, ".", "folder of profiles and recordings")               \
	X(capture_ops, "capture-ops", BOOL, "true", "record every op of PyTorch")                 \
	X(capture_shapes, "capture-shapes", AUTO, "auto",                                         \
	  "record shapes and dtypes of tensors (auto: in the tracker)")                           \
	X(capture_stacks, "capture-stacks", AUTO, "auto", "record Python stacks (auto: no)")      \
	X(run_heap, "run-heap", WORDS, "off", "host heap under tidemark run: off, sampled, full") \
	X(run_rate, "run-rate", WORDS, "512KiB", "mean number of bytes between its samples")      \
	X(run_mmap, "run-mmap", BOOL, "false",                                                    \
	  "record mmap, mremap and munmap under tidemark run")                                    \
	X(run_gpu, "run-gpu", BOOL, "false", "record CUDA under tidemark run")                    \
	X(run_light, "run-light", BOOL, "false", "tidemark run --light")                          \
	X(run_torch, "run-torch", BOOL, "true", "record PyTorch under tidemark run")              \
	X(run_modules, "run-modules", BOOL, "true", "names of modules, labels, steps")            \
	X(run_duration, "run-duration", WORDS, "", "switch recording off after this time")        \
	X(run_max_size, "run-max-size", WORDS, "",                                                \
	  "size of the newest part of a recording to keep")                                       \
	X(run_signal, "run-signal", WORDS, "", "signal that switches recording off and on")

typedef enum tide_config_key {
#define X(key, flag, kind, def, help) TIDE_CONFIG_##key,
	TIDE_CONFIG_KEYS(X)
#undef X
		TIDE_CONFIG_N
} tide_config_key;

typedef enum tide_config_from {
	TIDE_FROM_DEFAULT,
	TIDE_FROM_FILE,
	TIDE_FROM_ENV,
	TIDE_FROM_FLAG,
} tide_config_from;

typedef struct tide_config_value {
	tide_config_from from;
	unsigned line;		     /* FILE: its line */
	bool known;		     /* AUTO: false = auto; else true */
	bool flag;		     /* BOOL, AUTO */
	double number;		     /* SECONDS */
	char text[TIDE_CONFIG_TEXT]; /* as shown; PATH: ready to use */
} tide_config_value;

typedef struct tide_config {
	char file[TIDE_CONFIG_TEXT];	/* "" = none */
	char backend[TIDE_CONFIG_TEXT]; /* name of the table in use, "" = unnamed */
	bool in_file;			/* the error is about the file (its text has the line) */
	tide_config_value v[TIDE_CONFIG_N];
} tide_config;

/* Name of a key, its flag without --backend-, its variable (TIDEMARK_...), one line of help. */
const char *tide__config_name(tide_config_key k);
const char *tide__config_env(tide_config_key k);
tide_config_kind tide__config_kind(tide_config_key k);
/* "default", "file", "environment", "flag" */
const char *tide__config_from_text(tide_config_from f);

/* Finds the path of the file that would be read, "" if there is none. Returns TIDE_ENOTFOUND if
 * TIDEMARK_CONFIG names a missing file. */
tide_code tide__config_find(char *path, size_t n, tide_error *err);

/* Reads everything but flags. `file` NULL = find it; `backend` NULL = TIDEMARK_BACKEND or the
 * first. Returns TIDE_OK, TIDE_EIO, TIDE_EFORMAT (the file), TIDE_EUSAGE (the environment),
 * TIDE_ENOTFOUND. On failure c->file and c->in_file show whether the file is at fault. */
tide_code tide__config_load(const char *file, const char *backend, tide_config *c, tide_error *err);

/* The same for a text in memory: no environment, no files. Paths are relative to `folder`.
 * foreign: the text belongs to another program. */
tide_code tide__config_parse(const char *text, size_t n, const char *folder, bool foreign,
			     const char *backend, tide_config *c, tide_error *err);
/* Returns whether a file of this name belongs to another program. */
bool tide__config_is_foreign(const char *path);
/* Sets all values to their defaults. */
void tide__config_set_defaults(tide_config *c);

/* Sets a value from the text of a flag or variable: true, false, yes, no, on, off, 1, 0. Returns
 * TIDE_EUSAGE with a line that begins with `who`. */
tide_code tide__config_set(tide_config *c, tide_config_key k, const char *text,
			   tide_config_from from, const char *who, tide_error *err);

/* Returns the file's text with one value changed: replaces its bytes, adds one line, or adds a
 * table at the end. *out is allocated (tide__free), *line is the value's line. `backend` as
 * above, NULL = the first. The value must have been checked by tide__config_set. */
tide_code tide__config_edit(const char *text, size_t n, bool foreign, const char *backend,
			    tide_config_key k, const char *value, char **out, size_t *n_out,
			    unsigned *line, tide_error *err);

#endif
