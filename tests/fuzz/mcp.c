// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Messages of a client of `tidemark mcp`: lines of any bytes. Each gets no reply or one line of JSON, and a ping is answered
 * afterwards. The word @ in a message is the name of the recording. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/json/node.h"
#include "mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char trace[] = "/tmp/tidemark-fuzz-mcp-XXXXXX";
static const char *folders[] = { trace };
static tide_mcp *server;
static jsonr reader; /* of replies */

static bool list(void *user, bool (*add)(void *to, const char *path, uint64_t size), void *to)
{
	return add(to, trace, 100);
}

static void end(void)
{
	tide__mcp_free(server);
	tide__jsonr_fini(&reader);
	unlink(trace);
}

static void begin(void)
{
	static const char text[] =
		"{\"traceEvents\":["
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9},"
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
		"\"ts\":2,\"dur\":1,\"args\":{\"correlation\":7}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":3,"
		"\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}}]}";
	const tide_mcp_options opt = {
		.list = list, .folders = folders, .n_folders = 1, .query_ms = 50, .version = "0"
	};
	int fd = mkstemp(trace);
	if (fd < 0 || write(fd, text, sizeof text - 1) < 0)
		abort();
	close(fd);
	server = tide__mcp_new(&opt);
	if (!server)
		abort();
	atexit(end);
}

/* Replaces '@' by the name of the recording. */
static size_t spell(const char *data, size_t n, char *out, size_t room)
{
	size_t at = 0;
	for (size_t i = 0; i < n && at + sizeof trace < room; i++) {
		if (data[i] == '@')
			at += (size_t)snprintf(out + at, room - at, "%s", trace);
		else
			out[at++] = data[i];
	}
	return at;
}

/* Returns the length of the reply to a message, which must be one line of JSON. */
static size_t ask(const char *message, size_t n)
{
	char *text = NULL;
	size_t got = 0;
	jsonr_node v;
	FILE *f = open_memstream(&text, &got);
	if (!f)
		abort();
	tide__mcp_take(server, message, n, f);
	fclose(f);
	if (got && (memchr(text, '\n', got) != text + got - 1 ||
		    !tide__jsonr_open(&reader, text, got, &v) || v.type != '{'))
		abort();
	free(text);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char line[1 << 16];
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
	if (!server)
		begin();
	for (const char *at = (const char *)data, *all = at + n; at < all;) {
		const char *stop = memchr(at, '\n', (size_t)(all - at));
		size_t k = (size_t)((stop ? stop : all) - at);
		ask(line, spell(at, k, line, sizeof line));
		at += k + 1;
	}
	if (!ask(ping, sizeof ping - 1))
		abort();
	return 0;
}
