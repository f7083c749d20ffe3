// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds reports with the options of C, HTTP and Python. The command line has cli/job/report_run.c. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/import.h"
#include "report/check.h"
#include "report/registry.h"

/* ---- the call ---- */

void tide__report_show_all_rows(const tide_report_type *type, tide_value *v, bool document)
{
	for (size_t i = 0; i < type->n_options && document; i++)
		if (type->options[i].whole && !v[i].given)
			v[i].num = 0;
}

bool tide__report_flag(const tide_report_type *type, const tide_value *v, const char *name)
{
	for (size_t i = 0; name && i < type->n_options; i++)
		if (!strcmp(type->options[i].name, name))
			return v[i].set;
	return name && !*name;
}

/* Reads Kineto traces again that were read without what few reports want: rows as written, shapes.
 * Other formats keep these always. */
static tide_code read_again(const tide_report_type *type, tide_report *r, size_t n, tide_error *err)
{
	const tide_load_options o = { .what = type->want };
	unsigned rare = type->want & (TIDE_WANT_RAW | TIDE_WANT_SHAPES);
	if (rare && !(r->own = tide__calloc(n, sizeof *r->own)))
		return tide__nomem(err);
	for (size_t i = 0; rare && i < n; i++) {
		const tide_model *m = r->models[i];
		if (!(rare & ~m->loaded) || !tide__is_of_kineto(m))
			continue;
		tide_code rc = tide__load(m->path, &o, &r->own[r->n_own], err);
		if (rc != TIDE_OK)
			return rc;
		r->models[i] = r->own[r->n_own++];
	}
	return TIDE_OK;
}

static tide_code find(const tide_report_type *type, const tide_report_ask *ask, tide_value *v,
		      tide_report *r, tide_error *err)
{
	/* With several traces, devices and moments are those of the last: the largest, or the newest. */
	const tide_model *last = ask->models[ask->n - 1];
	uint8_t axis = tide__fmt_axis_now();
	if (!r)
		return tide__nomem(err);
	r->axis = last->axis;
	tide__fmt_axis(r->axis);
	tide_code rc =
		tide__options_resolve(type->options, type->n_options, ask->dashes, last, v, err);
	if (rc == TIDE_OK)
		rc = type->find(ask, r->result, err);
	if (rc == TIDE_OK)
		rc = tide__report_verify(type, r->result, err);
	tide__fmt_axis(axis);
	return rc;
}

/* Copies the lists of traces, which a result may refer to. */
static tide_code keep_lists(tide_report *r, const tide_report_traces *in, tide_error *err)
{
	r->models = tide__alloc(in->n, sizeof *r->models);
	r->files = in->files ? tide__alloc(in->n, sizeof *r->files) : NULL;
	r->sizes = in->sizes ? tide__alloc(in->n, sizeof *r->sizes) : NULL;
	if (!r->models || (in->files && !r->files) || (in->sizes && !r->sizes))
		return tide__nomem(err);
	for (size_t i = 0; i < in->n; i++) {
		r->models[i] = in->models[i];
		if (r->files)
			r->files[i] = in->files[i];
		if (r->sizes)
			r->sizes[i] = in->sizes[i];
	}
	return TIDE_OK;
}

static tide_code call(const tide_report_type *type, const tide_report_traces *in, tide_value *v,
		      tide_report **out, tide_error *err)
{
	type = tide__report_asked(type, v);
	*out = NULL;
	if (!in->n || (in->n > 1 && type->input == TIDE_INPUT_TRACE))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s takes one trace%s",
				  type->name, type->input == TIDE_INPUT_TRACE ? "" : " or more");
	tide_report *r = tide__report_new(type);
	tide_code rc = r ? keep_lists(r, in, err) : TIDE_ENOMEM;
	tide__report_show_all_rows(type, v, true);
	if (rc == TIDE_OK)
		rc = read_again(type, r, in->n, err);
	if (rc == TIDE_OK) {
		tide_report_ask ask = { .models = r->models,
					.n = in->n,
					.files = r->files,
					.sizes = r->sizes,
					.opt = v,
					.dashes = "",
					.document = true };
		rc = find(type, &ask, v, r, err);
	}
	return tide__report_finish(r, rc, out, err);
}

/* ---- C ---- */

static const char *text_at(const unsigned char *at)
{
	const char *text;
	memcpy(&text, at, sizeof text);
	return text;
}

static int64_t number_at(const unsigned char *at)
{
	uint64_t v; /* size_t, uint64_t or int64_t */
	memcpy(&v, at, sizeof v);
	return v > INT64_MAX && v + 1 ? INT64_MAX : (int64_t)v;
}

/* Takes a list of numbers: a pointer to uint64_t, then how many. */
static tide_code take_numbers(const tide_option *o, const unsigned char *at, tide_value *v,
			      tide_error *err)
{
	const uint64_t *list;
	size_t n;
	memcpy(&list, at, sizeof list);
	memcpy(&n, at + sizeof list, sizeof n);
	if (n && !TIDE_RESIZE(v->numbers, n))
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++) {
		if (list[i] < (uint64_t)o->least || (o->most && list[i] > (uint64_t)o->most))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs %" PRId64 " to %" PRId64, o->name, o->least,
					  o->most);
		v->numbers[i] = (int64_t)list[i];
	}
	v->n_list = n;
	v->set = v->given = n;
	return TIDE_OK;
}

/* Takes a list of texts: a pointer, then their number. */
static tide_code take_texts(const unsigned char *at, tide_value *v, tide_error *err)
{
	const char *const *list;
	size_t n;
	memcpy(&list, at, sizeof list);
	memcpy(&n, at + sizeof list, sizeof n);
	if (n && !TIDE_RESIZE(v->list, n))
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++)
		v->list[i] = list[i];
	v->n_list = n;
	v->set = v->given = n;
	return TIDE_OK;
}

static tide_code take_field(const tide_option *o, const unsigned char *at, tide_value *v,
			    tide_error *err)
{
	if (o->many)
		return o->kind == TIDE_OPT_INT ? take_numbers(o, at, v, err)
					       : take_texts(at, v, err);
	if (o->kind == TIDE_OPT_FLAG) {
		v->set = v->given = *at != 0;
	} else if (o->kind == TIDE_OPT_REAL) {
		memcpy(&v->real, at, sizeof v->real);
		v->set = v->given = true;
	} else if (o->kind == TIDE_OPT_INT || o->kind == TIDE_OPT_BYTES ||
		   o->kind == TIDE_OPT_DECIMAL) {
		int64_t num = number_at(at);
		if (!num && (o->least > 0 || o->kind == TIDE_OPT_BYTES))
			return TIDE_OK; /* 0 where it means nothing: the default */
		if (o->most && (num < o->least || num > o->most))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs %" PRId64 " to %" PRId64, o->name, o->least,
					  o->most);
		v->num = num;
		v->set = v->given = true;
	} else if (o->pair) {
		memcpy(&v->num, at, sizeof v->num);
		memcpy(&v->last, at + sizeof v->num, sizeof v->last);
		v->last = v->last < v->num ? v->num : v->last;
		v->set = v->given = true;
	} else if (text_at(at)) {
		v->given = true;
		char name[80];
		snprintf(name, sizeof name, "%s", o->name);
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		return tide__option_parse(o, name, text_at(at), v, err);
	}
	return TIDE_OK;
}

static size_t field_size(const tide_option *o)
{
	return o->kind == TIDE_OPT_FLAG ? sizeof(bool)
	       : o->pair		? 2 * sizeof(int64_t)
	       : o->many		? sizeof(void *) + sizeof(size_t)
					: sizeof(uint64_t);
}

tide_code tide__report_find_c(const tide_report_type *type, const tide_report_traces *in,
			      const void *options, tide_report **out, tide_error *err)
{
	tide_value *v = tide__calloc(type->n_options + 1, sizeof *v);
	const unsigned char *own = options;
	size_t size = 0; /* a caller built against an older header has a shorter struct */
	tide_code rc = v ? TIDE_OK : tide__nomem(err);
	*out = NULL;
	if (own)
		memcpy(&size, own, sizeof size);
	if (own && !size)
		size = type->struct_size;
	if (v)
		tide__options_begin(type->options, type->n_options, v);
	for (size_t i = 0; i < type->n_options && rc == TIDE_OK; i++) {
		const tide_option *o = &type->options[i];
		if (o->field && o->field + field_size(o) <= size)
			rc = take_field(o, own + o->field, &v[i], err);
	}
	if (rc == TIDE_OK)
		rc = call(type, in, v, out, err);
	if (v)
		tide__options_end(v, type->n_options);
	tide__free(v);
	return rc;
}

/* ---- names and texts ---- */

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(*a == '_' && *b == '-') && !(*a == '-' && *b == '_'))
			return false;
	return *a == *b;
}

const tide_option *tide__report_option(const tide_report_type *type, const char *name)
{
	for (size_t i = 0; i < type->n_options; i++)
		if (same_name(type->options[i].name, name))
			return &type->options[i];
	return NULL;
}

/* A flag is "true" or "false". */
static tide_code take_flag(const char *name, const char *text, tide_value *v, tide_error *err)
{
	int yes = tide__word_index("false,true,0,1", text);
	if (yes < 0)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s needs true or false, not '%.60s'", name, text);
	v->set = v->given = yes & 1;
	return TIDE_OK;
}

static tide_code take_pair(const tide_report_type *type, const tide_pair *pair, tide_value *v,
			   tide_error *err)
{
	for (size_t i = 0; i < type->n_options; i++) {
		const tide_option *o = &type->options[i];
		if (!same_name(o->name, pair->name))
			continue;
		if (!o->many && v[i].given)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s is given twice",
					  pair->name);
		if (o->kind == TIDE_OPT_FLAG)
			return take_flag(pair->name, pair->text, &v[i], err);
		v[i].given = true;
		return tide__option_take(o, pair->name, pair->text, &v[i], err);
	}
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s has no option '%.60s'", type->name,
			  pair->name);
}

tide_code tide__report_find_pairs(const tide_report_type *type, const tide_report_traces *in,
				  const tide_pair *pairs, size_t n_pairs, tide_report **out,
				  tide_error *err)
{
	tide_value *v = tide__calloc(type->n_options + 1, sizeof *v);
	tide_code rc = v ? TIDE_OK : tide__nomem(err);
	*out = NULL;
	if (v)
		tide__options_begin(type->options, type->n_options, v);
	for (size_t i = 0; i < n_pairs && rc == TIDE_OK; i++)
		rc = take_pair(type, &pairs[i], v, err);
	if (rc == TIDE_OK)
		rc = call(type, in, v, out, err);
	if (v)
		tide__options_end(v, type->n_options);
	tide__free(v);
	return rc;
}

/* ---- C, by name ---- */

static tide_code check_count(const tide_report_type *type, size_t n, tide_error *err)
{
	size_t most = type->input == TIDE_INPUT_TRACE  ? 1
		      : type->input == TIDE_INPUT_PAIR ? 2
						       : SIZE_MAX;
	size_t least = type->input == TIDE_INPUT_PAIR ? 2 : 1;
	if (n >= least && n <= most && type->input != TIDE_INPUT_SIZES)
		return TIDE_OK;
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s does not take %zu traces",
			  type->name, n);
}

tide_code tide_report_find(const char *name, const tide_trace *const *traces, size_t n,
			   const char *const *options, tide_report **out, tide_error *err)
{
	const tide_report_type *type = tide__report_named(name);
	tide_report_traces in = { .models = (const tide_model *const *)traces, .n = n };
	size_t n_pairs = 0;
	*out = NULL;
	if (!type)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "there is no report '%.60s'",
				  name);
	tide_code rc = check_count(type, n, err);
	while (options && options[2 * n_pairs])
		n_pairs++;
	tide_pair *pairs = tide__alloc(n_pairs + 1, sizeof *pairs);
	for (size_t i = 0; pairs && i < n_pairs; i++)
		pairs[i] = (tide_pair){ options[2 * i], options[2 * i + 1] };
	if (!pairs)
		rc = tide__nomem(err);
	if (rc == TIDE_OK)
		rc = tide__report_find_pairs(type, &in, pairs, n_pairs, out, err);
	tide__free(pairs);
	return rc;
}
