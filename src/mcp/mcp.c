// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Messages. Each is one JSON text on a line: https://modelcontextprotocol.io/specification. */
#include "mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/internal.h"

enum { PARSE = -32700, REQUEST = -32600, METHOD = -32601, PARAMS = -32602, INTERNAL = -32603 };

static const char *const versions[] = { "2025-06-18", "2025-03-26",
					"2024-11-05" }; /* the newest first */

static const char instructions[] =
	"Tidemark reads recordings of memory and time: PyTorch profiler traces, CUDA memory snapshots, its own. "
	"Begin with recordings, then overview on a file. Sizes are bytes, times ns from the start of the trace, "
	"null is unknown. Answers are short: left_out counts what a table lacks; offset and rows page through it, "
	"table chooses one. describe has the meaning of each figure; sql answers what no report does.";

/* ---- replies ---- */

/* Returns true for a number that may be repeated as it is. */
static bool is_number(jsonr_node id)
{
	if (id.type != '0' || !id.n)
		return false;
	size_t i = id.at[0] == '-';
	size_t digits = strspn(id.at + i, "0123456789");
	return id.n <= 32 && digits && i + digits == id.n && (id.at[i] != '0' || digits == 1);
}

static void put_id(tide_json *j, jsonr_node id)
{
	char *text = id.type == '"' && id.n <= 1024 ? tide__mcp_text(id) : NULL;
	if (is_number(id))
		tide__json_kraw(j, "id", id.at, id.n);
	else
		tide__json_kstr(j, "id", text);
	tide__free(text);
}

static void begin(tide_json *j, jsonr_node id, FILE *out)
{
	tide__json_begin(j, out, false);
	tide__json_object(j);
	tide__json_kstr(j, "jsonrpc", "2.0");
	put_id(j, id);
}

static void end(tide_json *j, FILE *out)
{
	tide__json_object_end(j);
	tide__json_end(j);
	fflush(out);
}

static void fail(jsonr_node id, int code, const char *text, FILE *out)
{
	tide_json j;
	begin(&j, id, out);
	tide__json_kobject(&j, "error");
	tide__json_kint(&j, "code", code);
	tide__json_kstr(&j, "message", text);
	tide__json_object_end(&j);
	end(&j, out);
}

/* ---- methods ---- */

static void initialize(tide_mcp *s, jsonr_node id, jsonr_node params, FILE *out)
{
	jsonr_node asked;
	tide_json j;
	const char *version = versions[0];
	tide__jsonr_get(params, "protocolVersion", &asked);
	for (size_t i = 0; asked.type == '"' && i < sizeof versions / sizeof *versions; i++)
		if (tide__jsonr_is(asked, versions[i]))
			version = versions[i];
	begin(&j, id, out);
	tide__json_kobject(&j, "result");
	tide__json_kstr(&j, "protocolVersion", version);
	tide__json_kobject(&j, "capabilities");
	tide__json_kobject(&j, "tools");
	tide__json_object_end(&j);
	tide__json_object_end(&j);
	tide__json_kobject(&j, "serverInfo");
	tide__json_kstr(&j, "name", "tidemark");
	tide__json_kstr(&j, "version", s->opt.version);
	tide__json_object_end(&j);
	tide__json_kstr(&j, "instructions", instructions);
	tide__json_object_end(&j);
	end(&j, out);
}

static void ping(tide_mcp *s, jsonr_node id, jsonr_node params, FILE *out)
{
	tide_json j;
	(void)s;
	(void)params;
	begin(&j, id, out);
	tide__json_kobject(&j, "result");
	tide__json_object_end(&j);
	end(&j, out);
}

static void list(tide_mcp *s, jsonr_node id, jsonr_node params, FILE *out)
{
	tide_json j;
	jsonr_node cursor;
	if (tide__jsonr_get(params, "cursor", &cursor) && cursor.type != 'n') {
		fail(id, PARAMS, "there is one page of tools: cursor is not used", out);
		return;
	}
	begin(&j, id, out);
	tide__json_kobject(&j, "result");
	tide__mcp_write_tools(s, &j);
	tide__json_object_end(&j);
	end(&j, out);
}

static void put_answer(const tide_mcp *s, jsonr_node id, const mcp_answer *a, FILE *out)
{
	tide_json j;
	begin(&j, id, out);
	tide__json_kobject(&j, "result");
	tide__json_karray(&j, "content");
	tide__json_object(&j);
	tide__json_kstr(&j, "type", "text");
	tide__json_kstrn(&j, "text", a->text, a->n);
	tide__json_object_end(&j);
	tide__json_array_end(&j);
	if (a->document && s->opt.schemas && !a->failed)
		tide__json_kraw(&j, "structuredContent", a->text, a->n);
	tide__json_kbool(&j, "isError", a->failed);
	tide__json_object_end(&j);
	end(&j, out);
}

static void call(tide_mcp *s, jsonr_node id, jsonr_node params, FILE *out)
{
	jsonr_node name, args;
	mcp_answer a = { 0 };
	char *tool = NULL;
	if (!tide__jsonr_get(params, "name", &name) || !(tool = tide__mcp_text(name))) {
		fail(id, PARAMS, "params.name must be the name of a tool", out);
		return;
	}
	tide__jsonr_get(params, "arguments", &args);
	if (args.type && args.type != '{' && args.type != 'n')
		fail(id, PARAMS, "params.arguments must be an object", out);
	else if (!tide__mcp_call(s, tool, args, &a))
		fail(id, PARAMS, "there is no such tool: tools/list has all", out);
	else if (!a.text)
		fail(id, INTERNAL, "out of memory", out);
	else
		put_answer(s, id, &a, out);
	free(a.text);
	tide__free(tool);
}

static const struct {
	const char *name;
	void (*run)(tide_mcp *s, jsonr_node id, jsonr_node params, FILE *out);
} methods[] = { { "initialize", initialize },
		{ "ping", ping },
		{ "tools/list", list },
		{ "tools/call", call } };

/* ---- messages ---- */

/* A request has an id; a notification has none and gets no reply, nor does a reply of the client. */
static void take(tide_mcp *s, jsonr_node message, FILE *out)
{
	jsonr_node id, method, params, version, other;
	bool has_id = tide__jsonr_get(message, "id", &id);
	tide__jsonr_get(message, "method", &method);
	tide__jsonr_get(message, "params", &params);
	tide__jsonr_get(message, "jsonrpc", &version);
	bool reply = !method.type && (tide__jsonr_get(message, "result", &other) ||
				      tide__jsonr_get(message, "error", &other));
	if (reply)
		return;
	if (has_id && id.type != '"' && !is_number(id)) {
		fail((jsonr_node){ 0 }, REQUEST, "id must be a text or an integer", out);
		return;
	}
	if (message.type != '{' || version.type != '"' || !tide__jsonr_is(version, "2.0") ||
	    method.type != '"') {
		fail(id, REQUEST,
		     "not a request of JSON-RPC 2.0: one object with jsonrpc, id, method", out);
		return;
	}
	if (!has_id)
		return;
	if (params.type && params.type != '{') {
		fail(id, PARAMS, "params must be an object", out);
		return;
	}
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (tide__jsonr_is(method, methods[i].name)) {
			methods[i].run(s, id, params, out);
			return;
		}
	fail(id, METHOD, "there is no such method", out);
}

void tide__mcp_take(tide_mcp *s, const char *line, size_t n, FILE *out)
{
	const jsonr_node none = { 0 };
	jsonr_node message;
	while (n && strchr(" \t\r\n", line[n - 1]) && line[n - 1])
		n--;
	if (!n)
		return;
	if (n > TIDE_MCP_LINE)
		fail(none, REQUEST, "the message is longer than 1 MiB", out);
	else if (!tide__jsonr_open(&s->reader, line, n, &message))
		fail(none, PARSE, "not JSON", out);
	else
		take(s, message, out);
}

tide_mcp *tide__mcp_new(const tide_mcp_options *opt)
{
	tide_mcp *s = tide__calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->opt = *opt;
	if (tide__mcp_find_roots(s))
		return s;
	tide__mcp_free(s);
	return NULL;
}

void tide__mcp_free(tide_mcp *s)
{
	if (!s)
		return;
	tide__mcp_drop_all(s);
	tide__jsonr_fini(&s->reader);
	for (size_t i = 0; s->roots && i < s->opt.n_folders; i++)
		tide__free(s->roots[i]);
	tide__free(s->roots);
	tide__free(s);
}
