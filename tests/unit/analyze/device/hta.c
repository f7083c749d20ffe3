// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The holistic analysis against slow, obvious answers on random traces: every nanosecond is checked
 * by itself for unions, overlap, idle and queues; plain loops for the rest. And known small
 * cases. */
#include "analyze/device/hta.h"
#include "analyze/device/hta_job.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

enum { END = 400, ROUNDS = 300 };

static tide_hta *analyze(const tide_model *m, const tide_hta_options *opt)
{
	tide_hta *h = NULL;
	tide_error err;
	tide_code rc = tide__hta_analyze(m, opt, &h, &err);
	if (rc != TIDE_OK)
		fail_msg("analysis failed: %s", err.text);
	return h;
}

/* A random model with communication, custom and short kernels among its rows. */
static tide_model *random_model(uint32_t seed)
{
	static const char *const names[] = { "ncclDevKernel_AllReduce", "gemm",
					     "cross_device_reduce", "xx_ncclKernel_y", "relu" };
	tide_model *m = some_model(seed, 5 + seed % 70, 0);
	for (size_t i = 1; i < m->spans.n; i++)
		if (m->spans.cat[i] == TIDE_CAT_KERNEL)
			m->spans.name[i] = tide__intern(m, names[some_random(5)]);
	return m;
}

static int type_of(const tide_model *m, size_t i)
{
	const char *name = tide__text(m, m->spans.name[i], NULL);
	if (!tide__cat_is_gpu(m->spans.cat[i]))
		return -1;
	if (m->spans.cat[i] != TIDE_CAT_KERNEL)
		return TIDE_GPU_MEMORY;
	return strstr(name, "nccl") ? TIDE_GPU_COMM : TIDE_GPU_COMPUTE;
}

static bool runs(const tide_model *m, size_t i, int64_t t)
{
	return m->spans.t0[i] <= t && t < m->spans.t1[i];
}

/* Bit per type that runs at t. */
static unsigned types_at(const tide_model *m, int64_t t)
{
	unsigned mask = 0;
	for (size_t i = 1; i < m->spans.n; i++)
		if (type_of(m, i) >= 0 && runs(m, i, t))
			mask |= 1u << type_of(m, i);
	return mask;
}

static void same(uint32_t seed, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		fail_msg("seed %u: %s is %lld, not %lld", seed, what, (long long)got,
			 (long long)want);
}

static void test_breakdown(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_model *m = random_model(seed);
		tide_hta *h = analyze(m, NULL);
		int64_t set[16] = { 0 }, first = END, last = -1, busy = 0, type[4] = { 0 };
		for (size_t i = 1; i < m->spans.n; i++)
			if (type_of(m, i) >= 0) {
				first = m->spans.t0[i] < first ? m->spans.t0[i] : first;
				last = m->spans.t1[i] > last ? m->spans.t1[i] : last;
			}
		for (int64_t t = first; t < last; t++) {
			unsigned mask = types_at(m, t);
			set[mask]++;
			busy += mask != 0;
			for (int k = 0; k < 4; k++)
				type[k] += mask >> k & 1;
		}
		same(seed, "kernel_time", h->h.kernel_time, last < 0 ? 0 : last - first);
		same(seed, "busy", h->h.busy, busy);
		same(seed, "idle", h->h.idle, set[0]);
		same(seed, "non_compute", h->h.non_compute, busy - type[TIDE_GPU_COMPUTE]);
		same(seed, "overlap", h->h.overlap, set[3] + set[7]);
		for (int k = 0; k < 4; k++)
			same(seed, tide__gpu_type_text[k], h->h.type_ns[k], type[k]);
		for (int k = 0; k < 16; k++)
			same(seed, "set", h->h.set_ns[k], set[k]);
		tide__hta_free(h);
		tide__model_free(m);
	}
}

/* Sort key of exact.json: (start, end), then the order of the trace. */
static bool before(const tide_model *m, size_t a, size_t b)
{
	if (m->spans.t0[a] != m->spans.t0[b])
		return m->spans.t0[a] < m->spans.t0[b];
	if (m->spans.t1[a] != m->spans.t1[b])
		return m->spans.t1[a] < m->spans.t1[b];
	return a < b;
}

/* Gap before row i on its stream: greatest end of the rows before it; -1 = it is the first. */
static int64_t end_before(const tide_model *m, size_t i)
{
	int64_t end = -1;
	for (size_t k = 1; k < m->spans.n; k++)
		if (type_of(m, k) >= 0 && m->spans.lane[k].i == m->spans.lane[i].i &&
		    before(m, k, i) && m->spans.t1[k] > end)
			end = m->spans.t1[k];
	return end;
}

static void test_idle(void **state)
{
	tide_hta_options opt = { .kernel_wait_ns = 4 };
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_model *m = random_model(seed);
		tide_hta *h = analyze(m, &opt);
		int64_t waits = 0, causes = 0, late = 0;
		for (size_t s = 0; s < h->streams.n; s++) {
			const tide_hta_stream *st = &h->streams.v[s];
			int64_t idle[3] = { 0 }, gaps[3] = { 0 };
			for (size_t i = 1; i < m->spans.n; i++) {
				if (type_of(m, i) < 0 ||
				    m->lanes.number[m->spans.lane[i].i] != st->number)
					continue;
				int64_t end = end_before(m, i), gap = m->spans.t0[i] - end;
				uint32_t launch = m->spans.cause[i].i;
				if (end < 0 || gap <= 0)
					continue;
				int c = launch && m->spans.t0[launch] > end ? 0 : gap < 4 ? 1 : 2;
				idle[c] += gap;
				gaps[c]++;
				if (c == 0 && m->spans.t0[launch] < m->spans.t0[i])
					late += m->spans.t0[i] - m->spans.t0[launch];
			}
			for (int c = 0; c < 3; c++) {
				same(seed, tide__idle_text[c], st->idle[c], idle[c]);
				same(seed, "gaps", (int64_t)st->gaps[c], gaps[c]);
			}
			same(seed, "classes add up", idle[0] + idle[1] + idle[2],
			     st->span - st->busy);
			waits += idle[0];
		}
		for (int c = 0; c < TIDE_CAUSES; c++)
			causes += h->h.cause[c];
		same(seed, "causes add up", causes, waits);
		assert_true(h->h.waited <= h->h.cause[h->h.waited_cause]);
		same(seed, "launch", h->h.cause[TIDE_CAUSE_LAUNCH], late);
		tide__hta_free(h);
		tide__model_free(m);
	}
}

static void test_idle_host_active(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_model *m = random_model(seed);
		tide_hta *h = analyze(m, NULL);
		int64_t want = 0;
		for (int64_t t = h->h.first; t < h->h.first + h->h.kernel_time; t++) {
			bool host = false;
			for (size_t i = 1; i < m->spans.n; i++) {
				unsigned c = m->spans.cat[i];
				host |= (c == TIDE_CAT_OP || c == TIDE_CAT_RUNTIME ||
					 c == TIDE_CAT_DRIVER || c == TIDE_CAT_PYTHON) &&
					runs(m, i, t);
			}
			want += host && !types_at(m, t);
		}
		same(seed, "idle while the host works", h->h.idle_host_active, want);
		tide__hta_free(h);
		tide__model_free(m);
	}
}

/* Length of a stream's queue at t. */
static int64_t queued(const tide_model *m, int64_t stream, int64_t t)
{
	int64_t n = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		uint32_t launch = m->spans.cause[i].i;
		if (type_of(m, i) < 0 || !launch || m->lanes.number[m->spans.lane[i].i] != stream)
			continue;
		bool first = true;
		for (size_t k = 1; k < m->spans.n; k++)
			if (k != i && m->spans.cause[k].i == launch && type_of(m, k) >= 0 &&
			    m->spans.lane[k].i == m->spans.lane[i].i && before(m, k, i))
				first = false;
		n += first && m->spans.t0[launch] <= t && t < m->spans.t0[i];
	}
	return n;
}

static void test_queue(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS / 3; seed++) {
		tide_model *m = random_model(seed);
		if (seed % 2) /* few launches: graphs */
			for (size_t i = 1; i < m->spans.n; i++)
				if (m->spans.cause[i].i)
					m->spans.cause[i].i = m->spans.cause[i].i % 3 + 1;
		for (size_t i = 1; i < m->spans.n; i++)
			if (m->lanes.kind[m->spans.lane[m->spans.cause[i].i].i] == TIDE_LANE_STREAM)
				m->spans.cause[i].i = 0;
		tide_hta *h = analyze(m, NULL);
		for (size_t s = 0; s < h->streams.n; s++) {
			const tide_hta_stream *st = &h->streams.v[s];
			int64_t area = 0, most = 0, waiting = 0, to = 0, below = 0;
			int64_t p90 = (int64_t)st->queue_pct[TIDE_PCT_90];
			for (int64_t t = 0; t < END; t++) {
				int64_t n = queued(m, st->number, t);
				area += n;
				most = n > most ? n : most;
				waiting += n > 0;
				to += n > 0 && n <= p90;
				below += n > 0 && n < p90;
			}
			same(seed, "queue area", (int64_t)st->queue_area[0], area);
			same(seed, "queue max", (int64_t)st->queue_max, most);
			int64_t empty = st->queue_time - waiting; /* the rest of its time */
			assert_true(empty >= 0 && (empty + to) * 100 >= st->queue_time * 90);
			assert_true(!p90 || (empty + below) * 100 < st->queue_time * 90);
		}
		tide__hta_free(h);
		tide__model_free(m);
	}
}

static int up(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static void check_kernel(uint32_t seed, tide_model **m, size_t n, const tide_hta *sum,
			 const tide_hta_kernel *k)
{
	static int64_t d[1000];
	size_t found = 0;
	int64_t total = 0;
	for (size_t r = 0; r < n; r++)
		for (size_t i = 1; i < m[r]->spans.n; i++)
			if (type_of(m[r], i) == (int)k->type &&
			    !strcmp(tide__text(m[r], m[r]->spans.name[i], NULL),
				    tide__hta_str(sum, k->name, NULL))) {
				total += d[found++] = m[r]->spans.t1[i] - m[r]->spans.t0[i];
			}
	qsort(d, found, sizeof *d, up);
	same(seed, "count", (int64_t)k->dur.n, (int64_t)found);
	same(seed, "sum", tide__stat_sum(&k->dur), total);
	same(seed, "min", k->dur.min, d[0]);
	same(seed, "max", k->dur.max, d[found - 1]);
	for (int p = 0; p < TIDE_PCTS; p++) { /* the least value with p % at or below it */
		size_t at = 0;
		while ((at + 1) * 100 < found * tide__pcts[p])
			at++;
		same(seed, "percentile", k->pct[p], d[at]);
	}
}

/* Lengths and differences on both sides of every power of 2: percentiles come out of packed bytes.
 */
static void test_long_kernels(void **state)
{
	for (unsigned bit = 5; bit < 45; bit++)
		for (int64_t d = (INT64_C(1) << bit) - 1; d <= (INT64_C(1) << bit) + 1; d++) {
			tide_model *m = some_machine();
			tide_hta_job *job = tide__hta_job_new();
			tide_error err;
			some_span(m, 3, TIDE_CAT_KERNEL, "k", 0, d);
			some_span(m, 3, TIDE_CAT_KERNEL, "k", d, 3 * d);
			some_span(m, 3, TIDE_CAT_KERNEL, "k", 3 * d, 7 * d);
			assert_int_equal(tide__hta_job_add(job, "a", analyze(m, NULL), &err),
					 TIDE_OK);
			assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
			assert_int_equal(job->sum->kernels.n, 1);
			check_kernel(bit, &m, 1, job->sum, &job->sum->kernels.v[0]);
			tide__hta_job_free(job);
			tide__model_free(m);
		}
}

/* Three ranks put together = one pass over all three; and the same through bytes, in any order. */
static void test_job(void **state)
{
	tide_error err;
	for (uint32_t seed = 1; seed <= ROUNDS / 3; seed++) {
		tide_model *m[3];
		tide_hta_job *job = tide__hta_job_new(), *other = tide__hta_job_new();
		int64_t busy = 0;
		for (uint32_t r = 0; r < 3; r++) {
			m[r] = random_model(seed * 3 + r);
			m[r]->processes.rank[1] = 2 - r;
		}
		for (uint32_t r = 0; r < 3; r++) {
			tide_hta *h = analyze(m[r], NULL), *back;
			uint8_t *bytes;
			size_t n;
			busy += h->h.busy;
			assert_int_equal(tide__hta_pack(h, &bytes, &n, &err), TIDE_OK);
			assert_int_equal(tide__hta_unpack(bytes, n, &back, &err), TIDE_OK);
			assert_int_equal(tide__hta_job_add(job, r ? "b" : "a", back, &err),
					 TIDE_OK);
			tide__free(bytes);
			tide__hta_free(h);
			h = analyze(m[2 - r], NULL);
			assert_int_equal(tide__hta_job_add(other, "x", h, &err), TIDE_OK);
		}
		assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
		assert_int_equal(tide__hta_job_finish(other, &err), TIDE_OK);
		same(seed, "busy of the job", job->sum->h.busy, busy);
		assert_int_equal(job->sum->kernels.n, other->sum->kernels.n);
		for (size_t k = 0; k < job->sum->kernels.n; k++) {
			check_kernel(seed, m, 3, job->sum, &job->sum->kernels.v[k]);
			assert_string_equal(
				tide__hta_str(job->sum, job->sum->kernels.v[k].name, NULL),
				tide__hta_str(other->sum, other->sum->kernels.v[k].name, NULL));
		}
		for (int64_t r = 0; r < 3; r++)
			same(seed, "rank order", job->ranks[r].h->h.rank, r);
		tide__hta_job_free(job);
		tide__hta_job_free(other);
		for (int r = 0; r < 3; r++)
			tide__model_free(m[r]);
	}
}

/* Returns the op that began last among those open on a span's lane when it begins. */
static uint32_t op_at(const tide_model *m, uint32_t span)
{
	const tide_spans *s = &m->spans;
	int64_t t = s->t0[span];
	for (uint32_t i = span; i-- > 1;)
		if (s->lane[i].i == s->lane[span].i && s->cat[i] == TIDE_CAT_OP &&
		    (s->t1[i] > t || (s->t1[i] == t && s->t0[i] == t)))
			return i;
	return 0;
}

/* Ops: every device row is in exactly one group, and in the right one. */
static void test_attribution(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_model *m = random_model(seed);
		tide_hta *h = analyze(m, NULL);
		int64_t all = 0, pairs = 0;
		for (size_t o = 0; o < h->ops.n; o++) {
			const tide_hta_op *op = &h->ops.v[o];
			int64_t rows = 0, ns = 0;
			for (size_t i = 1; i < m->spans.n; i++) {
				if (type_of(m, i) < 0)
					continue;
				uint32_t launch = m->spans.cause[i].i, at = op_at(m, launch);
				uint32_t why = at ? 0 : launch ? 1 : 2;
				if (why != op->why || strcmp(tide__text(m, m->spans.name[at], NULL),
							     tide__hta_str(h, op->name, NULL)))
					continue;
				rows++;
				ns += m->spans.t1[i] - m->spans.t0[i];
			}
			same(seed, "rows of an op", (int64_t)op->dur.n, rows);
			same(seed, "time of an op", tide__stat_sum(&op->dur), ns);
			all += rows;
		}
		for (size_t p = 0; p < h->op_kernels.n; p++)
			pairs += (int64_t)h->op_kernels.v[p].dur.n;
		same(seed, "rows of all ops", all, (int64_t)h->h.rows);
		same(seed, "rows of all pairs", pairs, (int64_t)h->h.rows);
		tide__hta_free(h);
		tide__model_free(m);
	}
}

/* Returns whether an annotation of that name on the launch's lane contains its start. */
static bool launched_inside(const tide_model *m, size_t row, const char *name)
{
	uint32_t launch = m->spans.cause[row].i;
	for (size_t i = 1; launch && i < m->spans.n; i++)
		if (m->spans.cat[i] == TIDE_CAT_USER &&
		    m->spans.lane[i].i == m->spans.lane[launch].i &&
		    runs(m, i, m->spans.t0[launch]) &&
		    !strcmp(tide__text(m, m->spans.name[i], NULL), name))
			return true;
	return false;
}

static void test_annotations(void **state)
{
	int checked = 0;
	for (uint32_t seed = 1; seed <= ROUNDS * 3; seed++) {
		tide_model *m = random_model(seed % 25 + 1 + seed * 70);
		tide_hta *h = analyze(m, NULL);
		checked += h->annotations.n > 1;
		for (size_t a = 0; a < h->annotations.n; a++) {
			const tide_hta_annotation *an = &h->annotations.v[a];
			const char *name = tide__hta_str(h, an->name, NULL);
			int64_t rows = 0, ns = 0, count = 0;
			unsigned cat = an->gpu ? TIDE_CAT_GPU_USER : TIDE_CAT_USER;
			for (size_t i = 1; i < m->spans.n; i++) {
				count += m->spans.cat[i] == cat &&
					 !strcmp(tide__text(m, m->spans.name[i], NULL), name);
				bool in = !an->gpu && type_of(m, i) >= 0 &&
					  launched_inside(m, i, name);
				rows += in;
				ns += in ? m->spans.t1[i] - m->spans.t0[i] : 0;
			}
			same(seed, "annotations", (int64_t)an->dur.n, count);
			same(seed, "rows inside", (int64_t)an->rows, rows);
			same(seed, "their time", an->rows_ns, ns);
		}
		tide__hta_free(h);
		tide__model_free(m);
	}
	assert_true(checked > 20);
}

/* ---- known cases ---- */

static void add_attr(tide_model *m, uint32_t span, const char *key, const char *text,
		     int64_t number)
{
	size_t r;
	tide_str k = tide__intern(m, key), t = tide__intern(m, text ? text : "");
	tide__table_push(&m->attrs, &tide_attrs_desc, &r);
	while (r && (m->attrs.span[r - 1].i > span ||
		     (m->attrs.span[r - 1].i == span && m->attrs.key[r - 1].i > k.i))) {
		m->attrs.span[r] = m->attrs.span[r - 1];
		m->attrs.key[r] = m->attrs.key[r - 1];
		m->attrs.text[r] = m->attrs.text[r - 1];
		m->attrs.number[r] = m->attrs.number[r - 1];
		r--;
	}
	m->attrs.span[r].i = span;
	m->attrs.key[r] = k;
	m->attrs.text[r] = t;
	m->attrs.number[r] = number;
}

static void test_empty(void **state)
{
	tide_model *m = some_machine();
	tide_hta *h = analyze(m, NULL);
	assert_int_equal(h->h.rows, 0);
	assert_int_equal(h->h.kernel_time, 0);
	assert_int_equal(h->streams.n, 0);
	tide__hta_free(h);
	some_span(m, 1, TIDE_CAT_OP, "aten::add", 0, 10);
	h = analyze(m, NULL);
	assert_int_equal(h->h.rows, 0);
	tide_hta_job *job = tide__hta_job_new();
	assert_int_equal(tide__hta_job_add(job, "cpu.json", h, NULL), TIDE_OK);
	assert_int_equal(tide__hta_job_finish(job, NULL), TIDE_OK);
	assert_int_equal(job->n_notes, 1);
	assert_int_equal(job->notes[0].kind, TIDE_HTA_NO_ROWS);
	assert_int_equal(job->notes[0].n, 1);
	assert_string_equal(job->ranks[job->notes[0].first].trace, "cpu.json");
	tide__hta_job_free(job);
	tide__model_free(m);
}

static void test_collectives(void **state)
{
	tide_model *m = some_machine();
	uint32_t compute = some_span(m, 3, TIDE_CAT_KERNEL, "gemm", 0, 100);
	uint32_t a = some_span(m, 4, TIDE_CAT_KERNEL, "custom_name", 50, 150);
	uint32_t b = some_span(m, 4, TIDE_CAT_KERNEL, "ncclDevKernel_AllGather_RING_LL", 200, 300);
	(void)compute;
	(void)b;
	add_attr(m, a, "Collective name", "allreduce", 0);
	add_attr(m, a, "Process Group Name", "0", 0);
	add_attr(m, a, "Process Group Description", "default_pg", 0);
	add_attr(m, a, "Group size", NULL, 4);
	add_attr(m, a, "dtype", "BFloat16", 0);
	add_attr(m, a, "In msg nelems", NULL, 1000);
	tide_hta *h = analyze(m, NULL);
	assert_int_equal(h->collectives.n, 2);
	const tide_hta_collective *c = &h->collectives.v[0];
	assert_string_equal(tide__hta_str(h, c->name, NULL), "allreduce");
	assert_string_equal(tide__hta_str(h, c->desc, NULL), "default_pg");
	assert_int_equal(c->size, 4);
	assert_int_equal(c->busy, 100);
	assert_int_equal(c->overlap, 50);
	assert_int_equal(c->bytes, 2000);
	assert_int_equal(c->bus_bytes, 3000); /* 2 (n - 1) / n */
	c = &h->collectives.v[1];
	assert_string_equal(tide__hta_str(h, c->name, NULL), "allgather");
	assert_int_equal(c->sized, 0);
	assert_int_equal(h->h.rows_of[TIDE_GPU_COMM], 2);
	tide__hta_free(h);
	tide__model_free(m);
}

static void test_copies(void **state)
{
	tide_model *m = some_machine();
	uint32_t a = some_span(m, 3, TIDE_CAT_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 0, 100);
	uint32_t b = some_span(m, 4, TIDE_CAT_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 50, 150);
	uint32_t c = some_span(m, 4, TIDE_CAT_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 200, 200);
	add_attr(m, a, "bytes", NULL, 1000); /* 10 bytes a ns = 10 GB/s */
	add_attr(m, b, "bytes", "500", 0);   /* a text of digits: 5 GB/s */
	add_attr(m, c, "bytes", NULL, 7);
	tide_hta *h = analyze(m, NULL);
	assert_int_equal(h->copies.n, 1);
	const tide_hta_copy *k = &h->copies.v[0];
	assert_string_equal(tide__hta_str(h, k->kind, NULL), "HtoD");
	assert_int_equal(k->bytes, 1507);
	assert_int_equal(k->timeless, 1);
	assert_int_equal(k->sized_busy, 150);
	assert_true(k->peak == 15e9);
	assert_true(k->pct[TIDE_PCT_50] == 10e9); /* 5, 10 and 15 GB/s, 50 ns each */
	assert_true(k->pct[TIDE_PCT_90] == 15e9);
	tide__hta_free(h);
	tide__model_free(m);
}

static void test_launches(void **state)
{
	tide_model *m = some_machine();
	uint32_t l1 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 0, 40000);
	uint32_t k1 = some_span(m, 3, TIDE_CAT_KERNEL, "tiny", 50000, 51000);
	uint32_t l2 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaGraphLaunch", 60000, 120001);
	uint32_t k2 = some_span(m, 3, TIDE_CAT_KERNEL, "a", 300000, 400000);
	uint32_t k3 = some_span(m, 3, TIDE_CAT_KERNEL, "b", 400000, 500000);
	uint32_t k4 = some_span(m, 3, TIDE_CAT_KERNEL, "unlinked", 500000, 500001);
	m->spans.cause[k1].i = l1;
	m->spans.cause[k2].i = m->spans.cause[k3].i = l2;
	(void)k4;
	tide_hta *h = analyze(m, NULL);
	assert_int_equal(h->h.launches, 2);
	assert_int_equal(h->h.linked, 3);
	assert_int_equal(h->h.short_kernels, 1);
	assert_int_equal(h->h.runtime_outliers, 1);
	assert_int_equal(h->h.delay_outliers, 1);
	assert_int_equal(h->h.graph_launches, 1);
	assert_int_equal(h->h.graph_rows, 2);
	assert_int_equal(h->h.delay.max, 179999);
	assert_int_equal(h->streams.v[0].queue_entries, 2);
	tide__hta_free(h);
	tide__model_free(m);
}

/* Steps come from the host side; the window follows the launch, not the device start. */
/* A launch at the end of one step and the begin of the next belongs to the next. */
static void test_windows(void **state)
{
	tide_model *m = some_machine();
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#7", 0, 100);
	uint32_t l1 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 10, 20);
	some_span(m, 3, TIDE_CAT_GPU_USER, "ProfilerStep#7", 10, 140);
	uint32_t k0 = some_span(m, 3, TIDE_CAT_KERNEL, "before", 15, 16);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#8", 100, 200);
	uint32_t l2 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 100, 120);
	uint32_t k1 = some_span(m, 3, TIDE_CAT_KERNEL, "k", 120, 130);
	uint32_t k2 = some_span(m, 3, TIDE_CAT_KERNEL, "k", 130, 160);
	m->spans.cause[k1].i = l1;
	m->spans.cause[k2].i = l2;
	(void)k0;
	static const struct {
		const char *row;
		tide_window w;
		uint64_t rows, left_out, steps;
		int64_t busy;
	} rows[] = {
		{ "all", { 0 }, 3, 0, 2, 41 },
		{ "without the last", { TIDE_WINDOW_DROP_LAST, 0, 0 }, 1, 2, 1, 10 },
		{ "step 7", { TIDE_WINDOW_STEPS, 7, 7 }, 1, 2, 1, 10 },
		{ "step 8", { TIDE_WINDOW_STEPS, 8, 8 }, 1, 2, 1, 30 },
		{ "steps 7..8", { TIDE_WINDOW_STEPS, 7, 8 }, 2, 1, 2, 40 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_hta_options opt = { .window = rows[i].w };
		tide_hta *h = analyze(m, &opt);
		if (h->h.rows != rows[i].rows || h->h.left_out != rows[i].left_out ||
		    h->h.busy != rows[i].busy || h->steps.n != rows[i].steps)
			fail_msg("%s", rows[i].row);
		tide__hta_free(h);
	}
	tide_hta_options opt = { .window = { TIDE_WINDOW_STEPS, 9, 12 } };
	tide_hta *h;
	tide_error err;
	assert_int_equal(tide__hta_analyze(m, &opt, &h, &err), TIDE_ENOTFOUND);
	assert_string_equal(err.text, "the trace has no steps 9 to 12, only steps 7 to 8");
	tide__model_free(m);
}

static void test_causes(void **state)
{
	tide_model *m = some_machine();
	uint32_t l0 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 0, 5);
	uint32_t k0 = some_span(m, 3, TIDE_CAT_KERNEL, "k", 10, 20);
	some_span(m, 1, TIDE_CAT_USER, "range", 15, 100);
	some_span(m, 1, TIDE_CAT_PYTHON, "f", 20, 90);
	some_span(m, 1, TIDE_CAT_RUNTIME, "cudaDeviceSynchronize", 30, 40);
	some_span(m, 1, TIDE_CAT_USER, "enumerate(DataLoader)#x", 45, 60);
	some_span(m, 1, TIDE_CAT_PYTHON, "g", 50, 55);
	some_span(m, 1, TIDE_CAT_OVERHEAD, "flush", 62, 66); /* the profiler's: no cause */
	some_span(m, 1, TIDE_CAT_OP, "aten::add", 70, 88);
	uint32_t none = some_span(m, 1, TIDE_CAT_OP, "aten::empty", 70, 70);
	some_span(m, 1, TIDE_CAT_RUNTIME, "cudaMalloc", 75, 78);
	uint32_t l1 = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 80, 85);
	uint32_t k1 = some_span(m, 3, TIDE_CAT_KERNEL, "k", 91, 99);
	m->spans.cause[k0].i = l0;
	m->spans.cause[k1].i = l1;
	m->spans.parent[none].i = m->spans.parent[none - 1].i; /* comes before aten::add */
	tide_hta *h = analyze(m, NULL);
	const int64_t want[TIDE_CAUSES] = {
		[TIDE_CAUSE_SYNC] = 10, [TIDE_CAUSE_DATA] = 15,	  [TIDE_CAUSE_ALLOC] = 3,
		[TIDE_CAUSE_OP] = 7,	[TIDE_CAUSE_PYTHON] = 25, [TIDE_CAUSE_LAUNCH] = 11,
	};
	for (int c = 0; c < TIDE_CAUSES; c++)
		same(0, tide__cause_text[c], h->h.cause[c], want[c]);
	same(0, "largest cause", h->h.waited_cause, TIDE_CAUSE_PYTHON);
	same(0, "waited in its longest name", h->h.waited, 25);
	assert_string_equal(tide__hta_str(h, h->h.waited_in, NULL), "f");
	tide__hta_free(h);
	tide__model_free(m);
}

/* A message truncated anywhere, or with a changed byte, is an error or a valid result, never a
 * crash. */
static void test_damaged(void **state)
{
	tide_model *m = random_model(11);
	tide_hta *h = analyze(m, NULL), *back;
	uint8_t *bytes;
	size_t n;
	tide_error err;
	assert_int_equal(tide__hta_pack(h, &bytes, &n, &err), TIDE_OK);
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_not_equal(tide__hta_unpack(bytes, cut, &back, &err), TIDE_OK);
		assert_null(back);
	}
	srand(2);
	for (int i = 0; i < 3000; i++) {
		size_t at = (size_t)rand() % n;
		uint8_t old = bytes[at];
		bytes[at] = (uint8_t)rand();
		if (tide__hta_unpack(bytes, n, &back, &err) == TIDE_OK)
			tide__hta_free(back);
		bytes[at] = old;
	}
	tide__free(bytes);
	tide__hta_free(h);
	tide__model_free(m);
}

/* Results are equal when their bytes are. */
static void same_result(const tide_hta *a, const tide_hta *b)
{
	uint8_t *x, *y;
	size_t n, m;
	assert_int_equal(tide__hta_pack(a, &x, &n, NULL), TIDE_OK);
	assert_int_equal(tide__hta_pack(b, &y, &m, NULL), TIDE_OK);
	assert_int_equal(n, m);
	assert_memory_equal(x, y, n);
	tide__free(x);
	tide__free(y);
}

/* some_span without its search for a parent: linear. */
static uint32_t some_span_at(tide_model *m, uint32_t lane, unsigned cat, const char *name,
			     int64_t t0, int64_t t1)
{
	uint32_t s = tide__push(&m->spans, &tide_spans_desc);
	m->spans.lane[s].i = lane;
	m->spans.cat[s] = (uint8_t)cat;
	m->spans.name[s] = tide__intern(m, name);
	m->spans.t0[s] = t0;
	m->spans.t1[s] = t1;
	m->t_end = t1;
	return s;
}

static tide_code two_ranks(const tide_model *m, tide_hta_job **out, tide_error *err)
{
	tide_hta *a, *b;
	tide_code rc = tide__hta_analyze(m, NULL, &a, err);
	*out = NULL;
	if (rc != TIDE_OK)
		return rc;
	rc = tide__hta_analyze(m, NULL, &b, err);
	tide_hta_job *job = tide__hta_job_new();
	if (rc != TIDE_OK || !job) {
		tide__hta_free(a);
		tide__hta_free(b);
		tide__hta_job_free(job);
		return TIDE_ENOMEM;
	}
	rc = tide__hta_job_add(job, "a", a, err);
	if (rc == TIDE_OK)
		rc = tide__hta_job_add(job, "b", b, err);
	else
		tide__hta_free(b);
	if (rc == TIDE_OK)
		rc = tide__hta_job_finish(job, err);
	if (rc == TIDE_OK)
		*out = job;
	else
		tide__hta_job_free(job);
	return rc;
}

/* Every allocation failing once: an error each time, or the right result, and nothing left behind
 * (the address sanitizer sees that). */
static void test_no_memory(void **state)
{
	tide_model *m = random_model(40);
	tide_hta_job *want, *job;
	tide_error err;
	int failed = 0;
	tide__mem_fail_at(
		0); /* few rows: one thread, so that the n-th allocation is always the same */
	assert_int_equal(two_ranks(m, &want, &err), TIDE_OK);
	uint64_t n = tide__mem_count();
	for (uint64_t i = 1; i <= n; i++) {
		tide__mem_fail_at(i);
		tide_code rc = two_ranks(m, &job, &err);
		tide__mem_fail_at(0);
		if (rc == TIDE_OK) {
			same_result(job->sum, want->sum);
			tide__hta_job_free(job);
		} else {
			assert_int_equal(rc, TIDE_ENOMEM);
			failed++;
		}
	}
	assert_true(failed > 20);
	tide__hta_job_free(want);
	tide__model_free(m);
}

/* A row that begins with its launch call is not early; one that begins before it is. */
static void test_early(void **state)
{
	for (int64_t call = 9; call <= 11; call++) {
		tide_model *m = some_machine();
		uint32_t l = some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", call, 20);
		uint32_t k = some_span(m, 3, TIDE_CAT_KERNEL, "k", 10, 30);
		m->spans.cause[k].i = l;
		tide_hta *h = analyze(m, NULL);
		assert_int_equal(h->streams.v[0].queue_early, call > 10);
		assert_int_equal(h->streams.v[0].queue_entries, call <= 10);
		tide__hta_free(h);
		tide__model_free(m);
	}
}

/* Numbers that later code would use as indices beyond the end of a table are refused. */
static void test_unsound(void **state)
{
	enum { KERNEL_NAME, KERNEL_TYPE, KERNEL_CHUNK, PAIR_TYPE, STREAM_KIND, WAITED, CAUSE, N };
	for (int what = -1; what < N; what++) {
		tide_hta *h = tide__hta_new(), *back = NULL;
		uint8_t *p = NULL;
		size_t n;
		tide_error err;
		tide_hta_kernel *k = TIDE_HTA_PUSH(h, kernels);
		tide_hta_op_kernel *pair = TIDE_HTA_PUSH(h, op_kernels);
		tide_hta_stream *s = TIDE_HTA_PUSH(h, streams);
		k->name = tide__hta_intern(h, "k", 1);
		if (what == KERNEL_NAME)
			k->name.i = 2;
		if (what == KERNEL_TYPE)
			k->type = TIDE_GPU_TYPES;
		if (what == KERNEL_CHUNK)
			k->chunk = 1;
		if (what == PAIR_TYPE)
			pair->type = TIDE_GPU_TYPES;
		if (what == STREAM_KIND)
			s->kind.i = 2;
		if (what == WAITED)
			h->h.waited_in.i = 2;
		if (what == CAUSE)
			h->h.waited_cause = TIDE_CAUSES;
		assert_int_equal(tide__hta_pack(h, &p, &n, &err), TIDE_OK);
		tide_code rc = tide__hta_unpack(p, n, &back, &err);
		if (rc != (what < 0 ? TIDE_OK : TIDE_ECORRUPT))
			fail_msg("%d: code %d", what, rc);
		tide__free(p);
		tide__hta_free(h);
		tide__hta_free(back);
	}
}

/* Streams with one number on devices with one number are distinguished by the kind of device. */
static void test_device_kinds(void **state)
{
	static const struct {
		uint8_t kind;
		const char *name, *want;
	} rows[] = {
		{ TIDE_DEVICE_CUDA, "NVIDIA H200", "cuda" },
		{ TIDE_DEVICE_TT, "", "tt" },
		{ TIDE_DEVICE_OTHER, "npu", "npu" },
		{ TIDE_DEVICE_OTHER, "ipu", "ipu" },
	};
	tide_error err;
	tide_model *m = tide__model_new();
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t d = tide__push(&m->devices, &tide_devices_desc);
		m->devices.kind[d] = rows[i].kind;
		m->devices.name[d] = tide__intern(m, rows[i].name);
		some_span(m, some_lane(m, TIDE_LANE_STREAM, 7, d), TIDE_CAT_KERNEL, "k",
			  10 * (int64_t)i, 10 * (int64_t)i + 5);
	}
	tide_hta_job *job = tide__hta_job_new();
	tide_hta *h = analyze(m, NULL);
	assert_int_equal(tide__hta_job_add(job, "a.json", h, &err), TIDE_OK);
	assert_int_equal(h->streams.n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(h->streams.v[i].device, 0);
		assert_string_equal(tide__hta_str(job->sum, h->streams.v[i].kind, NULL),
				    rows[i].want);
	}
	tide__hta_job_free(job);
	tide__model_free(m);
}

/* Two threads do what one does. */
static void test_threads(void **state)
{
	tide_hta_options one = { .threads = 1 };
	tide_model *m = some_machine();
	for (int64_t i = 0; i < 15000; i++) {
		uint32_t l = some_span_at(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 40 * i,
					  40 * i + 9);
		uint32_t k = some_span_at(m, 3 + (uint32_t)(i % 2), TIDE_CAT_KERNEL,
					  i % 5 ? "gemm" : "ncclKernel", 40 * i + 12 + i % 7,
					  40 * i + 30);
		m->spans.cause[k].i = l;
	}
	tide_hta *a = analyze(m, NULL), *b = analyze(m, &one);
	same_result(a, b);
	tide__hta_free(a);
	tide__hta_free(b);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breakdown),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_idle_host_active),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_long_kernels),
		cmocka_unit_test(test_attribution),
		cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_unsound),
		cmocka_unit_test(test_device_kinds),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
