// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The page as a whole: shell, sections in the order in which the page wants them, shell. */
#include "render/page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/export.h"
#include "render/page_parts.h"

enum { SMALL = 100000 }; /* spans and moves for which a second thread is not worth starting */

/* Sections and the views that cannot do without them: a page of one view holds no others. */
static const struct part {
	const char *name;
	tide_page_part *fill;
	const char *views; /* "" = all */
	bool long_one;	   /* takes longer than most */
} parts[] = {
	{ "main", tide__page_main, "" },
	{ "tables", tide__page_tables, " overview timeline memory phases " },
	{ "ops", tide__page_ops, " ops " },
	{ "hta", tide__page_hta, " kernels hta " },
	{ "critical", tide__page_critical, " hta " },
	{ "coarse", tide__page_coarse, " timeline " },
	{ "spans", tide__page_spans, " timeline ", true },
	{ "memory", tide__page_memory, " memory phases " },
	{ "flame", tide__page_flame, " flame ", true },
	{ "allocator", tide__page_allocator, " memory " },
};

static bool wanted(const struct part *p, const char *only)
{
	size_t n = only ? strlen(only) : 0;
	const char *at = n && *p->views ? strstr(p->views, only) : p->views;
	return !n || !*p->views || (at && at[-1] == ' ' && at[n] == ' ');
}

bool tide__page_shows(const tide_page_options *opt, const char *view)
{
	return !opt->only || !strcmp(opt->only, view);
}

bool tide__page_has(const char *only, const char *section)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(parts[i].name, section))
			return wanted(&parts[i], only);
	return false;
}

bool tide__page_built(void)
{
	return tide__page_shell_size > 0;
}

/* ---- sections, two at a time ---- */

enum { N_PARTS = sizeof parts / sizeof *parts };

struct work {
	const tide_model *m;
	const tide_page_options *opt;
	_Atomic size_t next;
	struct {
		char *text; /* malloc's: the element, "" = nothing to show */
		size_t n;
		tide_error err;
		tide_code rc;
	} done[N_PARTS];
};

static tide_code pack(tide_box *b, char **text, size_t *n, tide_error *err)
{
	FILE *mem = open_memstream(text, n);
	if (!mem)
		return tide__nomem(err);
	bool ok = tide__box_empty(b) || tide__box_write(b, mem);
	ok = !fclose(mem) && ok;
	return ok ? TIDE_OK : tide__nomem(err);
}

static tide_code fill(struct work *w, size_t i, tide_error *err)
{
	tide_box *b = tide__box_new(parts[i].name);
	if (!b)
		return tide__nomem(err);
	tide__box_number(b, w->opt->number);
	tide_code rc = parts[i].fill(b, w->m, w->opt, err)
			       ? pack(b, &w->done[i].text, &w->done[i].n, err)
			       : tide__nomem(err);
	tide__box_free(b);
	return rc;
}

/* Sections read a const model and write their own text: whoever is free takes the next, those that
 * take longest first. */
static void *take_parts(void *arg)
{
	struct work *w = arg;
	for (size_t k; (k = atomic_fetch_add(&w->next, 1)) < 2 * N_PARTS;) {
		size_t i = k % N_PARTS;
		if (parts[i].long_one == (k < N_PARTS) && wanted(&parts[i], w->opt->only))
			w->done[i].rc = fill(w, i, &w->done[i].err);
	}
	return NULL;
}

static tide_code write_done(struct work *w, FILE *out, tide_error *err)
{
	tide_code rc = TIDE_OK;
	for (size_t i = 0; i < N_PARTS; i++) {
		if (rc == TIDE_OK && w->done[i].rc != TIDE_OK) {
			rc = w->done[i].rc;
			if (err)
				*err = w->done[i].err;
		} else if (rc == TIDE_OK && w->done[i].n) {
			fwrite(w->done[i].text, 1, w->done[i].n, out);
		}
		free(w->done[i].text);
	}
	if (rc == TIDE_OK && ferror(out))
		rc = tide__fail_errno(err, "cannot write the page");
	return rc;
}

tide_code tide__page_trace(const tide_model *m, const tide_page_options *opt, FILE *out,
			   tide_error *err)
{
	struct work *w = tide__calloc(1, sizeof *w);
	pthread_t other;
	if (!w)
		return tide__nomem(err);
	w->m = m;
	w->opt = opt;
	bool two = m->spans.n + m->moves.n > SMALL && !pthread_create(&other, NULL, take_parts, w);
	take_parts(w);
	if (two)
		pthread_join(other, NULL);
	tide_code rc = write_done(w, out, err);
	tide__free(w);
	return rc;
}

tide_code tide__page_shared(const char *name, tide_page_fill *shared, const void *what, FILE *out,
			    tide_error *err)
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
		return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
				  "this build has no pages: node and npm were not there");
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

tide_code tide__page(const tide_model *m, const tide_page_options *opt, FILE *out, tide_error *err)
{
	tide_code rc = tide__page_begin(out, err);
	if (rc == TIDE_OK)
		rc = tide__page_trace(m, opt, out, err);
	return rc == TIDE_OK ? tide__page_end(out, err) : rc;
}

/* ---- for a server ---- */

tide_code tide__page_section(const char *name, const tide_model *m, const tide_page_options *opt,
			     FILE *out, tide_error *err)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (strcmp(parts[i].name, name))
			continue;
		tide_box *b = tide__box_new(name);
		bool ok = b && parts[i].fill(b, m, opt, err) &&
			  (tide__box_empty(b) || tide__box_write_gzip(b, out));
		tide__box_free(b);
		return ok ? TIDE_OK : tide__nomem(err);
	}
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such section");
}

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
		return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
				  "this build has no pages: node and npm were not there");
	memcpy(csp, text, (size_t)(close - text));
	csp[close - text] = 0;
	fwrite(shell, 1, (size_t)(meta - shell), out);
	fwrite(close + 2, 1, (size_t)(mark - close - 2), out);
	fputs(data, out);
	mark += sizeof TIDE_PAGE_MARK - 1;
	fwrite(mark, 1, (size_t)(end - mark), out);
	return ferror(out) ? tide__fail_errno(err, "cannot write the page") : TIDE_OK;
}

const char *tide__page_device(const tide_model *m, uint32_t device, char *buf, size_t n)
{
	if (m->devices.kind[device] == TIDE_DEVICE_HOST && !m->devices.index[device])
		snprintf(buf, n, "cpu");
	else
		tide__export_device(m, (tide_device_id){ device }, buf, n);
	return buf;
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
	if (t->n == t->cap) {
		tide_str *list = tide__realloc(t->list, (size_t)t->cap * 2, sizeof *list);
		if (!list) {
			tide__box_fail(b);
			return 0;
		}
		t->list = list;
		t->cap *= 2;
	}
	t->list[t->n] = s;
	return t->of[s.i] = t->n++;
}

void tide__page_names_json(const tide_page_names *t, const tide_model *m, const char *key,
			   tide_json *j)
{
	tide__json_key(j, key);
	tide__json_array(j);
	for (uint32_t i = 0; i < t->n; i++) {
		size_t n = 0;
		const char *s = i ? tide__text(m, t->list[i], &n) : "";
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
}
