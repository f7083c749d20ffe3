// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/report.h"

#include <string.h>

#include "report/node.h"
#include "report/text.h"
#include "base/error.h"
#include "base/mem.h"

const tide_member tide__member_any = { "", NULL, TIDE_KIND_ANY, .meaning = "value" };

tide_report *tide__report_new(const tide_report_type *type)
{
	tide_report *r = tide__calloc(1, sizeof *r + type->size);
	if (r)
		r->type = type;
	return r;
}

tide_code tide__report_finish(tide_report *r, tide_code rc, tide_report **out, tide_error *err)
{
	*out = NULL;
	if (!r)
		return tide__nomem(err);
	if (rc == TIDE_OK)
		*out = r;
	else
		tide_report_free(r);
	return rc;
}

void tide__options_take(void *own, size_t size, const void *given)
{
	size_t n = size;
	if (!given)
		return;
	memcpy(&n, given, sizeof n); /* its first member */
	memcpy(own, given, n && n < size ? n : size);
}

const char *tide_report_name(const tide_report *r)
{
	return r->type->name;
}

tide_code tide_report_print(tide_report *r, FILE *out, const tide_print_options *given)
{
	tide_print_options o = TIDE_PRINT_OPTIONS_INIT;
	tide__options_take(&o, sizeof o, given);
	tide_out to = { .out = out,
			.style = { .color = o.color, .width = o.width, .ascii = o.ascii } };
	uint8_t axis = tide__fmt_axis_now();
	tide__fmt_axis(r->axis);
	tide_code rc = tide__report_text(r->type, r->result, &to);
	tide__fmt_axis(axis);
	return rc != TIDE_OK ? rc : fflush(out) || ferror(out) ? TIDE_EIO : TIDE_OK;
}

tide_code tide__report_write(const tide_report_type *type, void *result, tide_json *j)
{
	tide__json_object(j);
	tide__json_kstr(j, "report", type->name);
	tide__json_kint(j, "version", type->version);
	tide_code rc = type->json(result, j);
	tide__json_object_end(j);
	return rc;
}

/* Grids write durations as unknown on an axis of ops. */
static tide_code write_on_axis(tide_report *r, tide_json *j)
{
	uint8_t axis = tide__fmt_axis_now();
	tide__fmt_axis(r->axis);
	tide_code rc = tide__report_write(r->type, r->result, j);
	tide__fmt_axis(axis);
	return rc;
}

tide_code tide_report_json(tide_report *r, FILE *out)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide_code rc = write_on_axis(r, &j);
	if (rc != TIDE_OK) {
		tide__json_free(&j);
		return rc;
	}
	bool whole = tide__json_end(&j);
	if (fflush(out) || ferror(out))
		return TIDE_EIO;
	return whole ? TIDE_OK : TIDE_ENOMEM;
}

const tide_node *tide_report_root(tide_report *r)
{
	if (r->root)
		return r->root;
	tide_node_builder b = { 0 };
	tide_json j;
	tide__json_begin_sink(&j, tide__node_put, &b);
	tide_code rc = write_on_axis(r, &j);
	bool whole = tide__json_end(&j);
	r->root = tide__node_finish(&b, rc == TIDE_OK && whole);
	return r->root;
}

void tide_report_free(tide_report *r)
{
	if (!r)
		return;
	tide__node_free(r->root);
	r->type->free(r->result);
	for (size_t i = 0; i < r->n_own; i++)
		tide__model_free(r->own[i]);
	tide__free(r->own);
	tide__free(r->models);
	tide__free(r->files);
	tide__free(r->sizes);
	tide__free(r);
}
