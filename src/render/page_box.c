// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sections of pages: see page_box.h. gzip comes from gzfile.h; base64 is a FILE of the same kind,
 * so that a section streams out without a second copy of it. */
#include "render/page_box.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/gzfile.h"

enum { MAX_COLUMNS = 64, SMALL = 1 << 20 /* bytes of a section */ };

struct column {
	const char *name;
	tide_col_enc enc;
	uint8_t *buf; /* owned */
	size_t n, cap;
	uint64_t rows;
	int64_t last;
};

struct tide_box {
	const char *name;
	unsigned number;
	struct column cols[MAX_COLUMNS];
	int n_cols;
	tide_json json;
	FILE *mem;  /* the JSON value grows here */
	char *text; /* of mem: malloc's, as open_memstream wants it */
	size_t n_text;
	bool failed;
};

tide_box *tide__box_new(const char *name)
{
	tide_box *b = tide__calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->name = name;
	b->mem = open_memstream(&b->text, &b->n_text);
	if (!b->mem) {
		tide__free(b);
		return NULL;
	}
	tide__json_begin(&b->json, b->mem, false);
	return b;
}

void tide__box_free(tide_box *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_cols; i++)
		tide__free(b->cols[i].buf);
	fclose(b->mem);
	free(b->text);
	tide__free(b);
}

void tide__box_number(tide_box *b, unsigned number)
{
	b->number = number;
}

tide_json *tide__box_json(tide_box *b)
{
	return &b->json;
}

FILE *tide__box_stream(tide_box *b)
{
	return b->mem;
}

bool tide__box_empty(tide_box *b)
{
	return !b->failed && !b->n_cols && !fflush(b->mem) && !b->n_text;
}

void tide__box_fail(tide_box *b)
{
	b->failed = true;
}

/* ---- columns ---- */

int tide__box_column(tide_box *b, const char *name, tide_col_enc enc)
{
	if (b->n_cols == MAX_COLUMNS) {
		b->failed = true;
		return 0;
	}
	b->cols[b->n_cols] = (struct column){ .name = name, .enc = enc };
	return b->n_cols++;
}

static bool grow(struct column *c)
{
	size_t cap = c->cap ? c->cap * 2 : 4096;
	uint8_t *p = tide__realloc(c->buf, cap, 1);
	if (!p)
		return false;
	c->buf = p;
	c->cap = cap;
	return true;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline uint64_t coded(struct column *c, int64_t v)
{
	if (c->enc == TIDE_COL_UINT)
		return (uint64_t)v;
	if (c->enc == TIDE_COL_INT)
		return zigzag(v);
	uint64_t step = zigzag((int64_t)((uint64_t)v - (uint64_t)c->last));
	c->last = v;
	return step;
}

void tide__box_put(tide_box *b, int column, int64_t v)
{
	struct column *c = &b->cols[column];
	if (c->cap - c->n < 10 && !grow(c)) {
		b->failed = true;
		return;
	}
	uint8_t *at = c->buf + c->n;
	c->rows++;
	if (c->enc == TIDE_COL_BYTE) {
		*at = (uint8_t)v;
		c->n++;
		return;
	}
	uint64_t u = coded(c, v);
	for (; u >= 0x80; u >>= 7)
		*at++ = (uint8_t)(u | 0x80);
	*at++ = (uint8_t)u;
	c->n = (size_t)(at - c->buf);
}

/* ---- base64 ---- */

struct base64 {
	FILE *under;
	uint8_t left[3];
	unsigned n;
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void group(char *out, const uint8_t *in)
{
	out[0] = digits[in[0] >> 2];
	out[1] = digits[(in[0] & 3) << 4 | in[1] >> 4];
	out[2] = digits[(in[1] & 15) << 2 | in[2] >> 6];
	out[3] = digits[in[2] & 63];
}

static ssize_t base64_write(void *cookie, const char *buf, size_t n)
{
	struct base64 *x = cookie;
	char out[4096];
	size_t have = 0;
	for (size_t i = 0; i < n; i++) {
		x->left[x->n++] = (uint8_t)buf[i];
		if (x->n < 3)
			continue;
		group(out + have, x->left);
		x->n = 0;
		have += 4;
		if (have == sizeof out) {
			if (fwrite(out, 1, have, x->under) != have)
				return 0;
			have = 0;
		}
	}
	return fwrite(out, 1, have, x->under) == have ? (ssize_t)n : 0;
}

static int base64_close(void *cookie)
{
	struct base64 *x = cookie;
	char out[4];
	if (!x->n)
		return 0;
	for (unsigned i = x->n; i < 3; i++)
		x->left[i] = 0;
	group(out, x->left);
	for (unsigned i = x->n + 1; i < 4; i++)
		out[i] = '=';
	return fwrite(out, 1, 4, x->under) == 4 ? 0 : EOF;
}

/* ---- the element ---- */

static void write_header(const tide_box *b, FILE *out)
{
	static const char *const encs[] = { "b", "u", "z", "d" };
	tide_json j;
	tide__json_begin(&j, out, false);
	tide__json_array(&j);
	for (int i = 0; i < b->n_cols; i++) {
		tide__json_object(&j);
		tide__json_kstr(&j, "name", b->cols[i].name);
		tide__json_kstr(&j, "enc", encs[b->cols[i].enc]);
		tide__json_kuint(&j, "rows", b->cols[i].rows);
		tide__json_kuint(&j, "bytes", b->cols[i].n);
		tide__json_object_end(&j);
	}
	tide__json_array_end(&j);
	tide__json_end(&j);
}

static void put_u32(FILE *out, size_t v)
{
	for (int i = 0; i < 4; i++)
		fputc((int)(v >> 8 * i & 255), out);
}

/* Two lengths, the list of columns, the JSON value, the columns' bytes. */
static bool write_body(tide_box *b, FILE *out)
{
	char *head = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&head, &n);
	if (!mem)
		return false;
	write_header(b, mem);
	bool ok = !fclose(mem) && n <= UINT32_MAX && b->n_text <= UINT32_MAX;
	if (ok) {
		put_u32(out, n);
		put_u32(out, b->n_text);
		fwrite(head, 1, n, out);
		fwrite(b->text, 1, b->n_text, out);
		for (int i = 0; i < b->n_cols; i++)
			if (b->cols[i].n)
				fwrite(b->cols[i].buf, 1, b->cols[i].n, out);
	}
	free(head);
	return ok && !ferror(out);
}

/* Small sections are worth the time; of large ones the time would be seen. */
static FILE *open_gz(const tide_box *b, FILE *under)
{
	size_t n = b->n_text;
	for (int i = 0; i < b->n_cols; i++)
		n += b->cols[i].n;
	return n <= SMALL ? tide__gz_open_small(under) : tide__gz_open(under);
}

static bool write_packed(tide_box *b, FILE *out)
{
	static const cookie_io_functions_t io = { .write = base64_write, .close = base64_close };
	struct base64 x = { .under = out };
	FILE *text = fopencookie(&x, "w", io);
	FILE *gz = text ? open_gz(b, text) : NULL;
	bool ok = gz && write_body(b, gz);
	if (gz)
		ok = !fclose(gz) && ok;
	if (text)
		ok = !fclose(text) && ok;
	return ok;
}

/* Is everything there? */
static bool whole(tide_box *b)
{
	if (fflush(b->mem) || ferror(b->mem) || b->json.failed)
		b->failed = true;
	return !b->failed;
}

bool tide__box_write_gzip(tide_box *b, FILE *out)
{
	FILE *gz = whole(b) ? tide__gz_open(out) : NULL;
	bool ok = gz && write_body(b, gz);
	return gz && !fclose(gz) && ok && !ferror(out);
}

bool tide__box_write(tide_box *b, FILE *out)
{
	if (!whole(b))
		return false;
	fprintf(out, "<script type=\"application/octet-stream\" id=\"tide-%s", b->name);
	if (b->number)
		fprintf(out, ".%u", b->number);
	fputs("\">", out);
	bool ok = write_packed(b, out);
	fputs("</script>\n", out);
	return ok && !ferror(out);
}
