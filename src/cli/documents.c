// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/report_tables.h"
#include "report/check.h"
#include "report/text.h"

#define TIDE_DOCUMENTS(X)  \
	X(peak_ranks)      \
	X(memory_ranks)    \
	X(leaks_ranks)     \
	X(info_ranks)      \
	X(timeline_list)   \
	X(path_list)       \
	X(phases_sizes)    \
	X(predict_program) \
	X(hta_compat)      \
	X(diff_compat)     \
	X(diff_ranks)      \
	X(objects)         \
	X(objects_at)      \
	X(profile)         \
	X(compile_program) \
	X(compile_modes)   \
	X(rewrite)         \
	X(config)          \
	X(redact)

#define X(name) extern const tide_report_type tide__document_##name;
TIDE_DOCUMENTS(X)
#undef X

const tide_report_type *const tide__documents[] = {
#define X(name) &tide__document_##name,
	TIDE_DOCUMENTS(X)
#undef X
		NULL
};

const tide_report_type *tide__document_named(const char *name)
{
	for (size_t i = 0; tide__documents[i]; i++)
		if (!strcmp(tide__documents[i]->name, name))
			return tide__documents[i];
	return NULL;
}

void tide__document_begin(tide_document *d, const tide_args *a, const tide_report_type *type)
{
	const tide_report_type *report = a->cmd->report;
	bool compact = report && tide__report_flag(report, a->opt, report->compact);
	d->check = getenv("TIDEMARK_TEST_REPORTS") ? tide__alloc(1, sizeof *d->check) : NULL;
	tide__json_begin(&d->json, a->out, !compact);
	if (d->check) {
		tide__check_begin_document(d->check, type);
		tide__json_watch(&d->json, tide__check_put, d->check);
	}
	tide__json_object(&d->json);
	tide__json_kstr(&d->json, "report", type->name);
	tide__json_kint(&d->json, "version", type->version);
}

int tide__document_end(tide_document *d, const tide_args *a)
{
	tide_error err = { .code = TIDE_EUSAGE, .offset = TIDE_NO_OFFSET };
	tide__json_object_end(&d->json);
	bool fault = d->check && *d->check->text;
	if (fault)
		tide__fail(&err, TIDE_EUSAGE, TIDE_NO_OFFSET, "not as described: %.180s",
			   d->check->text);
	tide__free(d->check);
	if (!fault)
		return tide__cli_json_end(a, &d->json);
	tide__json_free(&d->json);
	return tide__cli_fail(a->n_files ? a->files[0] : NULL, &err);
}

void tide__document_drop(tide_document *d)
{
	tide__free(d->check);
	tide__json_free(&d->json);
}

static bool is_set(const tide_args *a, const char *option)
{
	const tide_value *v = tide__cli_option(a, option);
	return v && v->set;
}

int tide__document_put(const tide_args *a, const tide_report_type *type, void *result)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	uint64_t cut = 0;
	tide_out to = { .out = a->out, .style = a->style, .cut = &cut };
	tide_document d;
	if (is_set(a, "csv"))
		return tide__report_put_tables(a, type, result);
	if (is_set(a, "json")) {
		tide__document_begin(&d, a, type);
		if (type->json(result, &d.json) == TIDE_OK)
			return tide__document_end(&d, a);
		tide__document_drop(&d);
	} else if (tide__report_text(type, result, &to) == TIDE_OK) {
		int rc = tide__cli_finish(a);
		tide__cli_note_truncated(cut);
		return rc;
	}
	return tide__cli_fail(a->n_files ? a->files[0] : NULL, &err);
}
