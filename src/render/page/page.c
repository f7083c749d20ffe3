// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The page as a whole: shell, sections (page_trace.c), shell. */
#include "render/page/page.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/export/export.h"
#include "render/page/page_parts.h"

const char *tide__page_missing(void)
{
	return tide__page_shell_size ? NULL : tide__page_shell_missing;
}

static tide_code no_pages(tide_error *err)
{
	return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET, "this build has no pages: %s",
			  tide__page_shell_missing);
}

tide_code tide__page_write_shared(const char *name, tide_page_fill *shared, const void *what,
				  FILE *out, tide_error *err)
{
	tide_box *b = tide__box_new(name);
	if (!b)
		return tide__nomem(err);
	bool ok = shared(b, what, err) && tide__box_write(b, out);
	tide__box_free(b);
	if (ok)
		return TIDE_OK;
	return ferror(out) ? tide__fail_errno(err, "cannot write the page") : tide__nomem(err);
}

/* ---- the page ---- */

static const char *mark_in_shell(void)
{
	return memmem(tide__page_shell, tide__page_shell_size, TIDE_PAGE_MARK,
		      sizeof TIDE_PAGE_MARK - 1);
}

tide_code tide__page_begin(FILE *out, tide_error *err)
{
	const char *mark = mark_in_shell();
	if (!mark)
		return no_pages(err);
	fwrite(tide__page_shell, 1, (size_t)(mark - (const char *)tide__page_shell), out);
	return TIDE_OK;
}

tide_code tide__page_end(FILE *out, tide_error *err)
{
	const char *end = (const char *)tide__page_shell + tide__page_shell_size;
	const char *rest = mark_in_shell() + sizeof TIDE_PAGE_MARK - 1;
	fwrite(rest, 1, (size_t)(end - rest), out);
	return ferror(out) ? tide__fail_errno(err, "cannot write the page") : TIDE_OK;
}

tide_code tide__page_write(const tide_model *m, const tide_page_options *opt, FILE *out,
			   tide_error *err)
{
	tide_code rc = tide__page_begin(out, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_trace(m, opt, out, err);
	return rc == TIDE_OK ? tide__page_end(out, err) : rc;
}

/* ---- for a server ---- */

#define CSP_META "<meta http-equiv=\"Content-Security-Policy\" content=\""

tide_code tide__page_shell_write(const char *data, FILE *out, char *csp, size_t n, tide_error *err)
{
	const char *shell = (const char *)tide__served_shell,
		   *end = shell + tide__served_shell_size;
	const char *meta = memmem(shell, tide__served_shell_size, CSP_META, sizeof CSP_META - 1);
	const char *mark =
		memmem(shell, tide__served_shell_size, TIDE_PAGE_MARK, sizeof TIDE_PAGE_MARK - 1);
	const char *text = meta ? meta + sizeof CSP_META - 1 : NULL;
	const char *close = text ? memchr(text, '"', (size_t)(end - text)) : NULL;
	if (!mark || !close || mark < close || close[1] != '>' || (size_t)(close - text) >= n)
		return no_pages(err);
	memcpy(csp, text, (size_t)(close - text));
	csp[close - text] = 0;
	fwrite(shell, 1, (size_t)(meta - shell), out);
	fwrite(close + 2, 1, (size_t)(mark - close - 2), out);
	fputs(data, out);
	mark += sizeof TIDE_PAGE_MARK - 1;
	fwrite(mark, 1, (size_t)(end - mark), out);
	return ferror(out) ? tide__fail_errno(err, "cannot write the page") : TIDE_OK;
}

/* ---- texts of a section ---- */

bool tide__page_names_init(tide_page_names *t, const tide_model *m)
{
	*t = (tide_page_names){ .n = 1, .cap = 256 };
	t->of = tide__calloc((size_t)tide__strings_count(m->strings) + 1, sizeof *t->of);
	t->list = tide__calloc(t->cap, sizeof *t->list);
	return t->of && t->list;
}

void tide__page_names_free(tide_page_names *t)
{
	tide__free(t->of);
	tide__free(t->list);
}

uint32_t tide__page_name(tide_page_names *t, tide_box *b, tide_str s)
{
	if (!s.i || t->of[s.i])
		return s.i ? t->of[s.i] : 0;
	if (!TIDE_ROOM(t->list, t->cap, (size_t)t->n + 1)) {
		tide__box_fail(b);
		return 0;
	}
	t->list[t->n] = s;
	return t->of[s.i] = t->n++;
}

void tide__page_names_json(const tide_page_names *t, const tide_model *m, const char *key,
			   tide_json *j)
{
	tide__json_karray(j, key);
	for (uint32_t i = 0; i < t->n; i++) {
		size_t n = 0;
		const char *s = i ? tide__text(m, t->list[i], &n) : "";
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
}
