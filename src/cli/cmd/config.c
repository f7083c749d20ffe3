// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* config: shows settings and their sources; changes the file and leaves the rest of it
 * unchanged. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "cli/output/outfile.h"
#include "config/config.h"
#include "config/toml.h"

enum { O_JSON, O_CONFIG, O_BACKEND, O_FIRST };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_CONFIG] = { "config", 'c', TIDE_OPT_FILE, "FILE",
		       "the file (default: TIDEMARK_CONFIG, else the nearest tidemark.toml)" },
	[O_BACKEND] = { "backend", 'b', TIDE_OPT_TEXT, "NAME",
			"the [[backend]] with this name (default: TIDEMARK_BACKEND, else the "
			"first)" },
#define X(key, flag, kind, def, help) \
	[O_FIRST + TIDE_CONFIG_##key] = { "backend-" flag, 0, TIDE_OPT_TEXT, "VALUE", help },
	TIDE_CONFIG_KEYS(X)
#undef X
};

static const char *text_of(const tide_args *a, int option)
{
	return a->opt[option].set ? a->opt[option].text : NULL;
}

/* Applies the values of flags to the settings that were read. */
static tide_code flags(const tide_args *a, tide_config *c, tide_error *err)
{
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++) {
		char who[80];
		const tide_value *v = &a->opt[O_FIRST + k];
		snprintf(who, sizeof who, "--%s", options[O_FIRST + k].name);
		tide_code rc = v->set ? tide__config_set(c, (tide_config_key)k, v->text,
							 TIDE_FROM_FLAG, who, err)
				      : TIDE_OK;
		if (rc != TIDE_OK)
			return rc;
	}
	return TIDE_OK;
}

static int fail(const tide_args *a, const tide_config *c, const tide_error *err)
{
	if (err->code == TIDE_EUSAGE && !c->in_file)
		return tide__cli_fail_usage(a, "%s", err->text);
	return tide__cli_fail(c->in_file ? c->file : NULL, err);
}

/* ---- show ---- */

/* Writes the source of a value: default, FILE:LINE, $VARIABLE, --flag. */
static void where(const tide_config *c, unsigned k, char *out, size_t n)
{
	const tide_config_value *v = &c->v[k];
	switch (v->from) {
	case TIDE_FROM_DEFAULT:
		snprintf(out, n, "default");
		break;
	case TIDE_FROM_FILE:
		snprintf(out, n, "%s:%u", c->file, v->line);
		break;
	case TIDE_FROM_ENV:
		snprintf(out, n, "$%s", tide__config_env((tide_config_key)k));
		break;
	case TIDE_FROM_FLAG:
		snprintf(out, n, "--%s", options[O_FIRST + k].name);
		break;
	}
}

static tide_grid *grid_of(const tide_config *c)
{
	static const tide_grid_col cols[] = {
		{ "key", "Key", TIDE_CELL_TEXT },
		{ "value", "Value", TIDE_CELL_TEXT },
		{ "where", "From", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 3);
	for (unsigned k = 0; g && k < TIDE_CONFIG_N; k++) {
		char from[TIDE_CONFIG_TEXT + 16];
		where(c, k, from, sizeof from);
		tide__grid_text(g, tide__config_name((tide_config_key)k));
		tide__grid_text(g, c->v[k].text);
		tide__grid_text(g, from);
	}
	return g;
}

/* Writes a value as JSON: true, 5.0, "profiles"; null = the recording program decides. */
static void json_value(tide_json *j, tide_config_key k, const tide_config_value *v)
{
	switch (tide__config_kind(k)) {
	case TIDE_CONFIG_SECONDS:
		tide__json_double(j, v->number);
		break;
	case TIDE_CONFIG_WORDS:
	case TIDE_CONFIG_PATH:
		tide__json_str(j, v->text);
		break;
	default:
		if (v->known)
			tide__json_bool(j, v->flag);
		else
			tide__json_null(j);
	}
}

static void json_values(tide_json *j, const tide_config *c)
{
	tide__json_array(j);
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++) {
		char from[TIDE_CONFIG_TEXT + 16];
		where(c, k, from, sizeof from);
		tide__json_object(j);
		tide__json_kstr(j, "key", tide__config_name((tide_config_key)k));
		tide__json_key(j, "value");
		json_value(j, (tide_config_key)k, &c->v[k]);
		tide__json_kstr(j, "from", tide__config_from_text(c->v[k].from));
		tide__json_kstr(j, "where", from);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static tide_code put_json(void *result, tide_json *j)
{
	const tide_config *c = result;
	tide__json_kstr(j, "file", *c->file ? c->file : NULL);
	tide__json_kstr(j, "backend", *c->backend ? c->backend : NULL);
	tide__json_key(j, "values");
	json_values(j, c);
	return TIDE_OK;
}

static const tide_member value_members[] = {
	TIDE_MEMBER("key", TEXT, "name of the setting"),
	TIDE_MEMBER_MAYBE("value", ANY,
			  "true or false, seconds, a word or a path; null: the "
			  "recording program decides"),
	TIDE_MEMBER("from", TEXT, "kind of its source: default, file, environment, flag ..."),
	TIDE_MEMBER("where", TEXT, "the source"),
	{ 0 },
};
static const tide_member members[] = {
	TIDE_MEMBER_MAYBE("file", TEXT, "the file of settings that was read"),
	TIDE_MEMBER_MAYBE("backend", TEXT, "the chosen backend"),
	TIDE_MEMBER_OF("values", TABLE, value_members, "all settings"),
	{ 0 },
};

const tide_report_type tide__document_config = {
	.name = "config",
	.version = 1,
	.summary = "settings, and where each comes from",
	.members = members,
	.json = put_json,
};

/* Prints a name of a file or backend, escaped, because it may contain any bytes. */
static void named(const tide_args *a, const char *what, const char *name)
{
	fputs(what, a->out);
	tide__put_text(&a->to, name);
	fputc('\n', a->out);
}

static int show(const tide_args *a)
{
	static tide_config c;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__config_load(text_of(a, O_CONFIG), text_of(a, O_BACKEND), &c, &err);
	if (rc == TIDE_OK)
		rc = flags(a, &c, &err);
	if (rc != TIDE_OK)
		return fail(a, &c, &err);
	if (a->opt[O_JSON].set)
		return tide__document_put(a, &tide__document_config, &c);
	tide_grid *g = grid_of(&c);
	int end = 1;
	if (g) {
		named(a, "file: ", *c.file ? c.file : "none");
		if (*c.backend)
			named(a, "backend: ", c.backend);
		tide__grid_print(g, a->out, &a->style, 0);
		end = tide__cli_finish(a);
	}
	tide__grid_free(g);
	return end;
}

/* ---- update ---- */

static tide_code slurp(const char *path, char **text, size_t *n, tide_error *err)
{
	FILE *f = fopen(path, "rb");
	*n = 0;
	*text = tide__alloc(TIDE_TOML_BYTES + 1, 1);
	if (!*text) {
		if (f)
			fclose(f);
		return tide__nomem(err);
	}
	if (!f)
		return errno == ENOENT ? TIDE_OK : tide__fail_errno(err, "cannot open");
	*n = fread(*text, 1, TIDE_TOML_BYTES + 1, f);
	tide_code rc = ferror(f) ? tide__fail_errno(err, "cannot read") : TIDE_OK;
	fclose(f);
	return rc;
}

/* Replaces the file atomically. */
static tide_code replace(const char *path, const char *text, size_t n, tide_error *err)
{
	tide_outfile o;
	tide_code rc = tide__outfile_open(&o, path, err);
	if (rc != TIDE_OK)
		return rc;
	if (fwrite(text, 1, n, o.f) != n || fflush(o.f) || (o.temp && fsync(fileno(o.f))))
		rc = tide__fail_errno(err, "cannot write");
	tide_code end = tide__outfile_close(&o, rc == TIDE_OK, err);
	return rc == TIDE_OK ? end : rc;
}

/* Changes the values in *text one by one; the result must be readable. */
static tide_code change(const tide_args *a, const tide_config *c, char **text, size_t *n,
			tide_error *err)
{
	static tide_config again;
	const char *backend = text_of(a, O_BACKEND);
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++) {
		char *next;
		size_t n_next;
		unsigned line;
		if (c->v[k].from != TIDE_FROM_FLAG)
			continue;
		if (!strcmp(c->v[k].text, "auto"))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "auto is the default: remove %s from the file",
					  tide__config_name((tide_config_key)k));
		tide_code rc = tide__config_edit(*text, *n, tide__config_is_foreign(c->file),
						 backend, (tide_config_key)k, c->v[k].text, &next,
						 &n_next, &line, err);
		if (rc != TIDE_OK)
			return rc;
		tide__free(*text);
		*text = next;
		*n = n_next;
	}
	tide__config_set_defaults(&again);
	return tide__config_parse(*text, *n, "", tide__config_is_foreign(c->file), backend, &again,
				  err);
}

static int write_it(const tide_args *a, tide_config *c)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char *text = NULL;
	size_t n;
	c->in_file = true;
	tide_code rc = slurp(c->file, &text, &n, &err);
	if (rc == TIDE_OK)
		rc = change(a, c, &text, &n, &err);
	if (rc == TIDE_OK)
		rc = replace(c->file, text, n, &err);
	tide__free(text);
	if (rc != TIDE_OK)
		return fail(a, c, &err);
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++)
		if (c->v[k].from == TIDE_FROM_FLAG) {
			fprintf(a->out, "%sUpdated backend %s = ", a->style.ascii ? "" : "✅ ",
				tide__config_name((tide_config_key)k));
			tide__put_text(&a->to, c->v[k].text);
			named(a, " in ", c->file);
		}
	return tide__cli_finish(a);
}

static int update(const tide_args *a)
{
	static tide_config c;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	bool any = false;
	tide__config_set_defaults(&c);
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++)
		any |= a->opt[O_FIRST + k].set;
	if (!any)
		return tide__cli_fail_usage(a, "no value to update; e.g. "
					       "--backend-enable-memory-profiling true");
	if (flags(a, &c, &err) != TIDE_OK)
		return fail(a, &c, &err);
	if (a->opt[O_CONFIG].set)
		snprintf(c.file, sizeof c.file, "%s", a->opt[O_CONFIG].text);
	else if (tide__config_find(c.file, sizeof c.file, &err) != TIDE_OK)
		return fail(a, &c, &err);
	if (!*c.file)
		snprintf(c.file, sizeof c.file, "tidemark.toml");
	return write_it(a, &c);
}

static int run(const tide_args *a)
{
	if (a->n_files == 0)
		return tide__cli_fail_usage(
			a, "write `tidemark config show` or `tidemark config update`");
	if (!strcmp(a->files[0], "show"))
		return show(a);
	if (!strcmp(a->files[0], "update"))
		return update(a);
	return tide__cli_fail_usage(a, "'%.40s' is neither show nor update", a->files[0]);
}

const tide_command tide__cmd_config = {
	.name = "config",
	.usage = "show|update [--backend-KEY VALUE]...",
	.summary = "show settings and their sources, or change them",
	.help = "Settings are in tidemark.toml, in a table [[backend]]. Precedence, lowest "
		"first: the default, the file, the environment (TIDEMARK_INTERVAL for interval, "
		"and so on), a flag or an argument. The file is the one that TIDEMARK_CONFIG "
		"names, else the nearest tidemark.toml from the working folder upwards, else the "
		"one in ~/.config/tidemark. `update` changes only values (comments and order "
		"stay) and creates ./tidemark.toml if there is no file. tidemark run and the "
		"Python package read the same settings.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 0,
	.max_files = 1,
	.words = "show,update",
	.run = run,
};
