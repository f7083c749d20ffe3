// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Requests of a client: the target is parsed, routed and answered from a small recording; also the
 * Host, Origin, Cookie and token headers. Input: target, a newline, the headers' value. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char trace[] = "/tmp/tidemark-fuzz-XXXXXX";
static tide_store *store;
static char id[TIDE_REC_ID];

static bool list(void *user, bool (*add)(void *to, const char *path),
		 void (*seen)(void *to, const char *path), void *to)
{
	return add(to, trace);
}

static void changed(void *user, const char *rec)
{
}

static _Atomic bool came; /* the recording was read */

static void woken(tide_waiter *w)
{
	came = true;
}

static void begin(void)
{
	static const char text[] = "{\"traceEvents\":["
				   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,"
				   "\"tid\":1,\"ts\":1,\"dur\":9},"
				   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
				   "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
				   "\"ts\":2,\"dur\":1,\"args\":{\"correlation\":7}},"
				   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,"
				   "\"tid\":7,\"ts\":5,\"dur\":3,"
				   "\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}}]}";
	const tide_store_options opt = { .list = list, .changed = changed, .max_bytes = 1 << 20 };
	static tide_waiter w = { .ready = woken };
	tide_loaded *l;
	tide_error err;
	int fd = mkstemp(trace);
	if (fd < 0 || write(fd, text, sizeof text - 1) < 0)
		abort();
	close(fd);
	store = tide__store_new(&opt);
	tide__store_poll(store, true);
	if (!tide__store_find_newest(store, TIDE_HAS_ANY, true, id))
		abort();
	while (tide__store_get(store, id, false, &w, &l, &err) == TIDE_EBUSY)
		while (!came)
			usleep(1000);
	tide__loaded_drop(l);
	unlink(trace);
}

/* Texts that begin with '@' name the recording: "@/spans" is /api/recordings/ID/spans; '#' is its
 * data, '=' compares it with itself. */
static void spell(const char *text, char *buf, size_t n)
{
	if (text[0] == '@')
		snprintf(buf, n, "/api/recordings/%s%s", id, text + 1);
	else if (text[0] == '#')
		snprintf(buf, n, "/data/%s%s", id, text + 1);
	else if (text[0] == '=')
		snprintf(buf, n, "/pair/%s/%s%s", id, id, text + 1);
	else
		snprintf(buf, n, "%s", text);
}

static void answer(const char *target)
{
	tide_request r;
	unsigned status;
	char key[TIDE_REQ_TARGET + 128];
	static tide_waiter w = { .ready = woken };
	tide_kept_trace held = { .n = 0 };
	tide_blob *b = NULL;
	if (!tide__request_parse(target, &r))
		return;
	const tide_route *t = tide__route_find(&r, &status);
	if (!t)
		return;
	(void)tide__answer_key(t, store, &r, key, sizeof key);
	for (;;) {
		came = false;
		if (tide__route_answer(t, store, &r, &w, &held, &b))
			break;
		while (!came) /* another thread computes slow answers */
			usleep(100);
		r.wrong = NULL;
	}
	tide__blob_drop(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char text[8192], target[9000], value[64];
	if (!store)
		begin();
	if (n >= sizeof text)
		return 0;
	memcpy(text, data, n);
	text[n] = 0;
	char *second = strchr(text, '\n');
	if (second)
		*second++ = 0;
	spell(text, target, sizeof target);
	answer(target);
	if (second) {
		(void)tide__host_allowed(second, "name");
		(void)tide__origin_allowed(second, target);
		(void)tide__token_equal(second, target);
		(void)tide__cookie_get(second, "tidemark_1", value, sizeof value);
	}
	return 0;
}
