// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds and reads the settings file, and the environment. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/toml.h"

const char *tide__config_env(tide_config_key k)
{
	static _Thread_local char name[TIDE_TOML_KEY + 16];
	size_t n = (size_t)snprintf(name, sizeof name, "TIDEMARK_%s", tide__config_name(k));
	for (size_t i = 0; i < n && i < sizeof name; i++)
		name[i] = (char)toupper((unsigned char)name[i]);
	return name;
}

static const char *env(const char *name)
{
	const char *v = getenv(name);
	return v && *v ? v : NULL;
}

/* tidemark.toml from the working folder upwards. */
static bool upwards(char *path, size_t n)
{
	static const char name[] = "/tidemark.toml";
	char folder[TIDE_CONFIG_TEXT];
	if (!getcwd(folder, sizeof folder))
		return false;
	for (;;) {
		size_t at = strlen(folder);
		if ((size_t)snprintf(path, n, "%s%s", at == 1 ? "" : folder, name) < n &&
		    access(path, F_OK) == 0)
			return true;
		char *slash = strrchr(folder, '/');
		if (!slash || at <= 1)
			return false;
		slash[slash == folder] = 0;
	}
}

static bool of_user(char *path, size_t n)
{
	const char *base = env("XDG_CONFIG_HOME"), *home = env("HOME");
	if (base)
		snprintf(path, n, "%s/tidemark/tidemark.toml", base);
	else if (home)
		snprintf(path, n, "%s/.config/tidemark/tidemark.toml", home);
	else
		return false;
	return access(path, F_OK) == 0;
}

tide_code tide__config_find(char *path, size_t n, tide_error *err)
{
	const char *named = env("TIDEMARK_CONFIG");
	if (!named) {
		if (!upwards(path, n) && !of_user(path, n))
			*path = 0;
		return TIDE_OK;
	}
	if ((size_t)snprintf(path, n, "%s", named) >= n)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "TIDEMARK_CONFIG is too long");
	if (access(path, F_OK))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "TIDEMARK_CONFIG names a missing file: %.80s", named);
	return TIDE_OK;
}

static tide_code slurp(const char *path, char **text, size_t *n, tide_error *err)
{
	FILE *f = fopen(path, "rb");
	*text = NULL;
	*n = 0;
	if (!f)
		return tide__fail_errno(err, "cannot open");
	*text = tide__alloc(TIDE_TOML_BYTES + 1, 1);
	if (*text) {
		errno = 0;
		*n = fread(*text, 1, TIDE_TOML_BYTES + 1, f);
	}
	tide_code rc = !*text	   ? tide__nomem(err)
		       : ferror(f) ? tide__fail_errno(err, "cannot read")
				   : TIDE_OK;
	fclose(f);
	return rc;
}

static tide_code read_file(tide_config *c, const char *backend, tide_error *err)
{
	char folder[TIDE_CONFIG_TEXT], *text;
	size_t n;
	snprintf(folder, sizeof folder, "%s", c->file);
	char *slash = strrchr(folder, '/');
	*(slash ? slash : folder) = 0; /* a bare name: paths are as they are */
	c->in_file = true;
	tide_code rc = slurp(c->file, &text, &n, err);
	if (rc == TIDE_OK)
		rc = tide__config_parse(text, n, folder, tide__config_is_foreign(c->file), backend,
					c, err);
	tide__free(text);
	c->in_file = rc != TIDE_OK;
	return rc;
}

tide_code tide__config_load(const char *file, const char *backend, tide_config *c, tide_error *err)
{
	tide_code rc = TIDE_OK;
	tide__config_set_defaults(c);
	if (file)
		snprintf(c->file, sizeof c->file, "%s", file);
	else
		rc = tide__config_find(c->file, sizeof c->file, err);
	if (!backend)
		backend = env("TIDEMARK_BACKEND");
	if (rc == TIDE_OK && *c->file)
		rc = read_file(c, backend, err);
	for (unsigned k = 0; rc == TIDE_OK && k < TIDE_CONFIG_N; k++) {
		const char *who = tide__config_env((tide_config_key)k), *v = env(who);
		if (v)
			rc = tide__config_set(c, (tide_config_key)k, v, TIDE_FROM_ENV, who, err);
	}
	return rc;
}
