// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"

/* Parses one value of an option's kind. */
static tide_code take_value(const tide_option *o, const char *text, tide_value *v, tide_error *err)
{
	char name[80];
	snprintf(name, sizeof name, "--%s", o->name);
	return tide__option_take(o, name, text, v, err);
}

/* ---- the walk ---- */

const tide_option tide__shared_options[TIDE_SHARED_N] = {
	[TIDE_SHARED_MAX_MEMORY] = { "max-memory", 0, TIDE_OPT_BYTES, "BYTES",
				     "memory limit (default: 256 MiB + 64 times the input)" },
	[TIDE_SHARED_FULL_NAMES] = { "full-names", 0, TIDE_OPT_FLAG, NULL,
				     "print full kernel names" },
	[TIDE_SHARED_FORMAT] = { "format", 0, TIDE_OPT_TEXT, "NAME",
				 "read traces as this format (tide, kineto, ...), regardless of "
				 "content" },
};

static bool has_own(const tide_command *c, const char *name)
{
	for (size_t k = 0; k < c->n_options; k++)
		if (!strcmp(c->options[k].name, name))
			return true;
	return false;
}

const tide_option *tide__command_option(const tide_command *c, size_t i)
{
	static const tide_option help = { "help", 'h', TIDE_OPT_FLAG, NULL, "print this help" };
	if (i < c->n_options)
		return &c->options[i];
	i -= c->n_options;
	for (size_t k = 0; k < TIDE_SHARED_N; k++)
		if (!has_own(c, tide__shared_options[k].name) && !i--)
			return &tide__shared_options[k];
	return i ? NULL : &help;
}

static const char *option_name(const void *user, size_t i)
{
	return tide__command_option(user, i)->name;
}

static size_t count_options(const tide_command *c)
{
	size_t n = 0;
	while (tide__command_option(c, n))
		n++;
	return n;
}

struct parse {
	const tide_command *cmd;
	tide_args *a;
	tide_error *err;
	char **argv;
	int argc, at;
	bool help;
};

static tide_code store(struct parse *p, const tide_option *o, tide_value *v, const char *text)
{
	if (v->given && !o->many && o->kind != TIDE_OPT_FLAG)
		return tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET, "--%s is given twice",
				  o->name);
	tide_code rc = take_value(o, text, v, p->err);
	v->given = true;
	return rc;
}

/* Gets the value of an option: `inl` if it is in the same word, else the next word. */
static tide_code take_into(struct parse *p, const tide_option *o, tide_value *v, const char *inl)
{
	if (o->kind == TIDE_OPT_FLAG) {
		if (inl && o->arg) {
			v->num = tide__word_index(o->arg, inl);
			return v->num >= 0 ? store(p, o, v, inl)
					   : tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET,
							"--%s needs =%s or nothing, not '%s'",
							o->name, o->arg, inl);
		}
		if (inl)
			return tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "--%s takes no value", o->name);
		return store(p, o, v, "");
	}
	if (!inl) {
		if (p->at + 1 >= p->argc)
			return tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "--%s needs a value (%s)", o->name, o->arg);
		inl = p->argv[++p->at];
	}
	return store(p, o, v, inl);
}

static tide_code take(struct parse *p, size_t k, const char *inl)
{
	return take_into(p, &p->cmd->options[k], &p->a->opt[k], inl);
}

/* Returns true if the word of n bytes is that name; "device_memory" equals "device-memory". */
static bool is_name(const char *name, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name[i] != (word[i] == '_' ? '-' : word[i]))
			return false;
	return !name[n];
}

static tide_code long_option(struct parse *p, const char *word)
{
	size_t n = strcspn(word, "=");
	if (n == 4 && !memcmp(word, "help", 4)) {
		p->help = true;
		return TIDE_OK;
	}
	for (size_t k = 0; k < p->cmd->n_options; k++) {
		const tide_option *o = &p->cmd->options[k];
		if (is_name(o->name, word, n) || (o->also && is_name(o->also, word, n)))
			return take(p, k, word[n] ? word + n + 1 : NULL);
	}
	for (size_t k = 0; k < TIDE_SHARED_N; k++) {
		const tide_option *o = &tide__shared_options[k];
		if (strlen(o->name) == n && !memcmp(o->name, word, n))
			return take_into(p, o, &p->a->shared[k], word[n] ? word + n + 1 : NULL);
	}
	char bare[64];
	snprintf(bare, sizeof bare, "%.*s", (int)(n < 60 ? n : 60), word);
	const char *near = tide__nearest(bare, option_name, p->cmd, count_options(p->cmd));
	return tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET, "unknown option --%s%s%s%s", bare,
			  near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
}

/* -j, -jv, -n5, -n 5 */
static tide_code short_options(struct parse *p, const char *word)
{
	for (; *word; word++) {
		size_t k = 0;
		if (*word == 'h') {
			p->help = true;
			continue;
		}
		while (k < p->cmd->n_options && p->cmd->options[k].letter != *word)
			k++;
		if (k == p->cmd->n_options)
			return tide__fail(p->err, TIDE_EUSAGE, TIDE_NO_OFFSET, "unknown option -%c",
					  *word);
		if (p->cmd->options[k].kind != TIDE_OPT_FLAG)
			return take(p, k, word[1] ? word + 1 : NULL);
		tide_code rc = take(p, k, NULL);
		if (rc != TIDE_OK)
			return rc;
	}
	return TIDE_OK;
}

static tide_code defaults(struct parse *p)
{
	for (size_t k = 0; k < p->cmd->n_options; k++) {
		const tide_option *o = &p->cmd->options[k];
		tide_code rc = o->def ? take_value(o, o->def, &p->a->opt[k], p->err) : TIDE_OK;
		if (rc != TIDE_OK)
			return rc;
	}
	return TIDE_OK;
}

static tide_code walk(struct parse *p)
{
	bool only_files = false;
	tide_code rc = TIDE_OK;
	for (p->at = 0; p->at < p->argc && rc == TIDE_OK; p->at++) {
		char *w = p->argv[p->at];
		if (only_files || w[0] != '-' || !w[1]) {
			p->a->files[p->a->n_files++] = w;
			only_files |= p->cmd->rest && !(p->cmd->is_input && p->cmd->is_input(w));
		} else if (!strcmp(w, "--")) {
			only_files = true;
		} else {
			rc = w[1] == '-' ? long_option(p, w + 2) : short_options(p, w + 1);
		}
		if (p->help)
			return TIDE_OK;
	}
	return rc;
}

tide_code tide__options_parse(const tide_command *cmd, int argc, char **argv, tide_args *a,
			      bool *help, tide_error *err)
{
	struct parse p = { .cmd = cmd, .a = a, .err = err, .argv = argv, .argc = argc };
	a->cmd = cmd;
	a->opt = tide__calloc(cmd->n_options + 1, sizeof *a->opt);
	a->files = tide__calloc((size_t)argc + 1, sizeof *a->files);
	if (!a->opt || !a->files)
		return tide__nomem(err);
	tide_code rc = defaults(&p);
	if (rc == TIDE_OK)
		rc = walk(&p);
	*help = p.help;
	if (rc != TIDE_OK || p.help)
		return rc;
	if (a->n_files < cmd->min_files)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  cmd->min_files == 1 ? "which %s?" : "more %ss are needed",
				  cmd->wants ? cmd->wants : "file");
	if (a->n_files > cmd->max_files)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "'%s' is one argument too many",
				  a->files[cmd->max_files]);
	return TIDE_OK;
}

void tide__options_free(tide_args *a)
{
	if (a->opt)
		tide__options_end(a->opt, a->cmd->n_options);
	for (size_t i = 0; a->patterns && i < a->n_files; i++)
		tide__free(a->patterns[i]);
	tide__free(a->patterns);
	tide__free(a->opt);
	tide__free(a->files);
	a->patterns = NULL;
	a->opt = NULL;
	a->files = NULL;
}
