// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sections of pages: see page_box.h. gzip comes from gzip_isal.h; base64 is a FILE of the same
 * kind, so that a section is streamed without a second copy. */
#include "render/page/page_box.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/export/gzip_isal.h"

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
	tide__json_free(&b->json);
	fclose(b->mem);
	free(b->text);
	tide__free(b);
}

void tide__box_set_number(tide_box *b, unsigned number)
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

int tide__box_add_column(tide_box *b, const char *name, tide_col_enc enc)
{
	if (b->n_cols == MAX_COLUMNS) {
		b->failed = true;
		return 0;
	}
	b->cols[b->n_cols] = (struct column){ .name = name, .enc = enc };
	return b->n_cols++;
}

uint8_t *tide__box_reserve(tide_box *b, int column, size_t n)
{
	struct column *c = &b->cols[column];
	if (!TIDE_ROOM(c->buf, c->cap, c->n + n)) {
		b->failed = true;
		return NULL;
	}
	return c->buf + c->n;
}

void tide__box_took(tide_box *b, int column, const uint8_t *end, uint32_t rows)
{
	struct column *c = &b->cols[column];
	c->n = (size_t)(end - c->buf);
	c->rows += rows;
}

void tide__box_put(tide_box *b, int column, int64_t v)
{
	struct column *c = &b->cols[column];
	uint8_t *at = tide__box_reserve(b, column, TIDE_BOX_MOST);
	if (at)
		tide__box_took(b, column, tide__box_code(at, c->enc, v, &c->last), 1);
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

/* Encodes whole groups of in[0..n) and writes them. Returns the bytes consumed, -1 on failure. */
static ssize_t groups(struct base64 *x, const uint8_t *in, size_t n)
{
	char out[4096];
	size_t have = 0, i = 0;
	for (; n - i >= 3; i += 3) {
		group(out + have, in + i);
		have += 4;
		if (have < sizeof out)
			continue;
		if (fwrite(out, 1, have, x->under) != have)
			return -1;
		have = 0;
	}
	return fwrite(out, 1, have, x->under) == have ? (ssize_t)i : -1;
}

static ssize_t base64_write(void *cookie, const char *buf, size_t n)
{
	struct base64 *x = cookie;
	const uint8_t *in = (const uint8_t *)buf;
	size_t i = 0;
	while (x->n && x->n < 3 && i < n) /* the group that the last call began */
		x->left[x->n++] = in[i++];
	if (x->n == 3 && groups(x, x->left, 3) < 0)
		return 0;
	if (x->n == 3)
		x->n = 0;
	ssize_t whole = x->n ? 0 : groups(x, in + i, n - i);
	if (whole < 0)
		return 0;
	for (i += (size_t)whole; i < n; i++)
		x->left[x->n++] = in[i];
	return (ssize_t)n;
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

/* Writes two lengths, the list of columns, the JSON value and the columns' bytes. */
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

/* Chooses the compressor: the better one for small sections; for large ones it would take
 * noticeable time. */
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

/* Returns true if the section is complete. */
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
