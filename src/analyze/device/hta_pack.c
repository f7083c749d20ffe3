// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts a result to bytes and back, for processes of one job (tidemark-mpi): a mark with the
 * layout's size, the head, the texts in order of their ids, then every table as it is in memory.
 * Both ends run the same program on machines of one kind; the mark refuses anything else. */
#include <string.h>

#include "analyze/device/hta.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

typedef struct sink {
	uint8_t *p;
	size_t n, cap;
	bool failed;
} sink;

static void put(sink *s, const void *v, size_t n)
{
	if (s->failed)
		return;
	s->failed = !TIDE_ROOM(s->p, s->cap, s->n + n);
	if (s->failed)
		return;
	if (n)
		memcpy(s->p + s->n, v, n);
	s->n += n;
}

static void put_u64(sink *s, uint64_t v)
{
	put(s, &v, sizeof v);
}

/* Changes when a table's layout does. */
static uint64_t mark(void)
{
	uint64_t v = 0x74696465u + sizeof(tide_hta_head);
#define T(type, member) v = v * 31 + sizeof(type);
	TIDE_HTA_TABLES(T)
#undef T
	return v;
}

tide_code tide__hta_pack(const tide_hta *h, uint8_t **out, size_t *n, tide_error *err)
{
	sink s = { 0 };
	uint32_t texts = tide__strings_count(h->strings);
	put_u64(&s, mark());
	put(&s, &h->h, sizeof h->h);
	put_u64(&s, texts);
	for (uint32_t i = 1; i <= texts; i++) {
		size_t len;
		const char *text = tide__strings_get(h->strings, i, &len);
		put_u64(&s, len);
		put(&s, text, len);
	}
#define T(type, member)           \
	put_u64(&s, h->member.n); \
	put(&s, h->member.v, h->member.n * sizeof(type));
	TIDE_HTA_TABLES(T)
#undef T
	*out = s.p;
	*n = s.n;
	if (!s.failed)
		return TIDE_OK;
	tide__free(s.p);
	*out = NULL;
	return tide__nomem(err);
}

typedef struct source {
	const uint8_t *p;
	size_t n, at;
	bool failed;
} source;

static const void *get(source *s, size_t n)
{
	if (s->failed || n > s->n - s->at) {
		s->failed = true;
		return NULL;
	}
	const void *v = s->p + s->at;
	s->at += n;
	return v;
}

static uint64_t get_u64(source *s)
{
	uint64_t v = 0;
	const void *p = get(s, sizeof v);
	if (p)
		memcpy(&v, p, sizeof v);
	return v;
}

static bool get_texts(source *s, tide_hta *h)
{
	uint64_t texts = get_u64(s);
	for (uint64_t i = 1; i <= texts && !s->failed; i++) {
		uint64_t len = get_u64(s);
		const char *text = len <= s->n ? get(s, (size_t)len) : NULL;
		if (!text || tide__strings_add(h->strings, text, (size_t)len) != i)
			return false;
	}
	return !s->failed;
}

static bool get_table(source *s, void *table, size_t size)
{
	struct {
		void *v;
		size_t n, cap;
	} t = { 0 };
	uint64_t n = get_u64(s);
	if (s->failed || n > (s->n - s->at) / size)
		return false;
	t.v = tide__alloc((size_t)n, size);
	if (!t.v)
		return false;
	const void *p = get(s, (size_t)n * size);
	if (n)
		memcpy(t.v, p, (size_t)n * size);
	t.n = t.cap = (size_t)n;
	memcpy(table, &t, sizeof t);
	return true;
}

/* Checks ids and chunk positions that later code uses unchecked. */
static bool is_sound(const tide_hta *h)
{
	uint32_t texts = tide__strings_count(h->strings);
	bool ok = h->h.waited_in.i <= texts && h->h.waited_cause < TIDE_CAUSES;
	for (size_t i = 0; i < h->streams.n; i++)
		ok &= h->streams.v[i].kind.i <= texts;
	for (size_t i = 0; i < h->kernels.n; i++)
		ok &= h->kernels.v[i].name.i <= texts && h->kernels.v[i].type < TIDE_GPU_TYPES &&
		      h->kernels.v[i].chunk <= h->chunks.n && h->kernels.v[i].grid.i <= texts &&
		      h->kernels.v[i].block.i <= texts;
	for (size_t i = 0; i < h->comms.n; i++)
		ok &= h->comms.v[i].name.i <= texts && h->comms.v[i].group.i <= texts &&
		      h->comms.v[i].ranks.i <= texts;
	for (size_t i = 0; i < h->pgs.n; i++)
		ok &= h->pgs.v[i].name.i <= texts && h->pgs.v[i].desc.i <= texts &&
		      h->pgs.v[i].ranks.i <= texts;
	for (size_t i = 0; i < h->calls.n; i++)
		ok &= h->calls.v[i].name.i <= texts && h->calls.v[i].dtype.i <= texts &&
		      h->calls.v[i].pg <= h->pgs.n;
	for (size_t i = 0; i < h->splits.n; i++)
		ok &= h->splits.v[i].pg && h->splits.v[i].pg <= h->pgs.n;
	for (size_t i = 0; i < h->op_kernels.n; i++)
		ok &= h->op_kernels.v[i].type < TIDE_GPU_TYPES;
	for (size_t i = 0; i < h->chunks.n; i++)
		ok &= h->chunks.v[i].at <= h->bytes.n &&
		      h->chunks.v[i].bytes <= h->bytes.n - h->chunks.v[i].at &&
		      h->chunks.v[i].n <= h->chunks.v[i].bytes && h->chunks.v[i].next <= i;
	return ok;
}

tide_code tide__hta_unpack(const uint8_t *p, size_t n, tide_hta **out, tide_error *err)
{
	source s = { p, n, 0, false };
	*out = NULL;
	if (get_u64(&s) != mark() || s.failed)
		return tide__fail(err, TIDE_EFORMAT, 0, "not a result of this version");
	tide_hta *h = tide__hta_new();
	if (!h)
		return tide__nomem(err);
	const void *head = get(&s, sizeof h->h);
	if (head)
		memcpy(&h->h, head, sizeof h->h);
	bool ok = head && get_texts(&s, h);
#define T(type, member) ok = ok && get_table(&s, &h->member, sizeof(type));
	TIDE_HTA_TABLES(T)
#undef T
	if (ok && s.at == s.n && is_sound(h)) {
		*out = h;
		return TIDE_OK;
	}
	tide__hta_free(h);
	return tide__fail(err, TIDE_ECORRUPT, s.at, "damaged result of another process");
}
