// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/text.h"
#include "mcp/internal.h"

char *tide__mcp_text(jsonr_node v)
{
	char *text = v.type == '"' ? tide__alloc(v.n + 1, 1) : NULL;
	if (!text)
		return NULL;
	size_t n = tide__jsonr_unescape(v.at, v.n, text);
	text[n] = 0;
	if (strlen(text) == n)
		return text;
	tide__free(text);
	return NULL;
}

char *tide__mcp_get_text(jsonr_node args, const char *name)
{
	jsonr_node v;
	return tide__jsonr_get(args, name, &v) ? tide__mcp_text(v) : NULL;
}

int64_t tide__mcp_get_int(jsonr_node args, const char *name, int64_t least, int64_t most,
			  int64_t otherwise)
{
	jsonr_node v;
	int64_t n;
	bool ok = tide__jsonr_get(args, name, &v) && tide__jsonr_parse_number(v, 1, &n);
	return ok && n >= least && n <= most ? n : otherwise;
}

bool tide__mcp_get_flag(jsonr_node args, const char *name, bool otherwise)
{
	jsonr_node v;
	return tide__jsonr_get(args, name, &v) && (v.type == 't' || v.type == 'f') ? v.type == 't'
										   : otherwise;
}

bool tide__mcp_is_own(const char *name)
{
	static const char *const names[] = { "file",   "files", "other",      "rows",
					     "offset", "table", "full_texts", "definitions" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Adds a value: a text, a number or a flag as it is written. */
static tide_code add_pair(const tide_option *o, jsonr_node v, mcp_pairs *out, tide_error *err)
{
	bool plain = v.type == '0' || v.type == 't' || v.type == 'f';
	if (v.type == 'n')
		return TIDE_OK;
	if (v.type != '"' && !plain)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s needs a text, a number, true or false", o->name);
	if (out->n == MCP_OPTIONS)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "too many options");
	char *text = plain ? tide__strndup(v.at, v.n) : tide__mcp_text(v);
	if (!text)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s is not a text", o->name);
	out->texts[out->n] = text;
	out->v[out->n++] = (tide_pair){ o->name, text };
	return TIDE_OK;
}

static tide_code take_pair(const tide_report_type *type, jsonr_node key, jsonr_node v,
			   mcp_pairs *out, tide_error *err)
{
	char name[64];
	jsonr_node none, one;
	if (key.n >= sizeof name)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s has no option '%.40s...'",
				  type->name, key.at);
	memcpy(name, key.at, key.n);
	name[key.n] = 0;
	const tide_option *o = tide__report_option(type, name);
	if (!o && tide__mcp_is_own(name))
		return TIDE_OK;
	if (!o || o->text_only)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s has no option '%s'",
				  type->name, name);
	if (v.type != '[' || !o->many)
		return add_pair(o, v, out, err);
	jsonr_nodes w = tide__jsonr_walk(v);
	tide_code rc = TIDE_OK;
	while (rc == TIDE_OK && tide__jsonr_next_node(&w, &none, &one))
		rc = add_pair(o, one, out, err);
	return rc;
}

tide_code tide__mcp_take_pairs(const tide_report_type *type, jsonr_node args, mcp_pairs *out,
			       tide_error *err)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(args);
	tide_code rc = TIDE_OK;
	out->n = 0;
	while (rc == TIDE_OK && tide__jsonr_next_node(&w, &key, &v))
		rc = take_pair(type, key, v, out, err);
	return rc == TIDE_OK && w.bad
		       ? tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "the arguments are not JSON")
		       : rc;
}

void tide__mcp_free_pairs(mcp_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		tide__free(p->texts[i]);
	p->n = 0;
}
