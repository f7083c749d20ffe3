// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The holistic analysis on every trace that the Kineto importer accepts: never a crash, a leak or a
 * hang, and all sums hold. The first byte chooses the window. The same bytes are also given to the
 * reader of packed results. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/device/hta_job.h"
#include "base/mem.h"
#include "import/kineto/kineto.h"
#include "import/source.h"
#include "report/device/hta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void need(bool holds)
{
	if (!holds)
		abort();
}

static tide_model *load(const uint8_t *data, size_t n)
{
	tide_load_options opt = { .threads = 1, .what = TIDE_WANT_SPANS };
	tide_error err = { 0 };
	tide_source *src;
	if (tide__source_open_memory(data, n, 1 << 20, &src, &err) != TIDE_OK)
		return NULL;
	tide_model *m = tide__model_new();
	if (tide__kineto_load(src, &opt, 0, m, &err) != TIDE_OK) {
		tide__model_free(m);
		m = NULL;
	}
	tide__source_close(src);
	return m;
}

/* Sums that hold for any input; a sum that reached the largest number is not compared. */
static void check(const tide_hta *h)
{
	int64_t sets = 0, waits = 0, causes = 0;
	uint64_t rows = 0, in_streams = 0;
	for (int i = 0; i < 1 << TIDE_GPU_TYPES; i++)
		sets = tide__add_sat(sets, h->h.set_ns[i]);
	for (int i = 0; i < TIDE_CAUSES; i++)
		causes = tide__add_sat(causes, h->h.cause[i]);
	for (size_t i = 0; i < h->streams.n; i++) {
		const tide_hta_stream *s = &h->streams.v[i];
		need(s->idle[0] + s->idle[1] + s->idle[2] == s->span - s->busy);
		waits = tide__add_sat(waits, s->idle[TIDE_IDLE_HOST_WAIT]);
		in_streams += s->rows;
	}
	for (size_t i = 0; i < h->kernels.n; i++)
		rows += h->kernels.v[i].dur.n;
	need(rows == h->h.rows && in_streams == h->h.rows);
	need(sets == h->h.kernel_time || sets == INT64_MAX);
	need(causes == waits || causes == INT64_MAX || waits == INT64_MAX);
	need(h->h.busy >= h->h.type_ns[TIDE_GPU_COMPUTE] && h->h.busy <= h->h.kernel_time);
	need(h->h.overlap <= h->h.type_ns[TIDE_GPU_COMM]);
}

static void analyze(const tide_model *m, uint8_t choice)
{
	tide_hta_options opt = { .window = { choice % 3, choice / 3, choice } };
	tide_hta *h, *back;
	tide_error err;
	uint8_t *bytes;
	size_t n;
	if (tide__hta_analyze(m, &opt, &h, &err) != TIDE_OK)
		return;
	check(h);
	need(tide__hta_pack(h, &bytes, &n, &err) == TIDE_OK);
	need(tide__hta_unpack(bytes, n, &back, &err) == TIDE_OK);
	tide__free(bytes);
	tide_hta_job *job = tide__hta_job_new();
	need(tide__hta_job_add(job, "a", h, &err) == TIDE_OK);
	need(tide__hta_job_add(job, "b", back, &err) == TIDE_OK);
	need(tide__hta_job_finish(job, &err) == TIDE_OK);
	FILE *out = fopen("/dev/null", "w");
	tide_hta_view view = { .window = "all" };
	tide_style style = { .width = 80 };
	if (out) {
		need(tide__hta_json(job, &view, out));
		tide__hta_text(job, &view, out, &style);
		fclose(out);
	}
	tide__hta_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_hta *h;
	tide_error err;
	if (n < 1)
		return 0;
	tide_model *m = load(data + 1, n - 1);
	if (m)
		analyze(m, data[0]);
	tide__model_free(m);
	if (tide__hta_unpack(data, n, &h, &err) == TIDE_OK)
		tide__hta_free(h);
	return 0;
}
