// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/report_tables.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/output/outfile.h"
#include "report/arrow.h"
#include "report/csv.h"
#include "report/rows.h"

const char *tide__report_folder(const tide_args *a)
{
	const tide_value *csv = tide__cli_option(a, "csv"), *out = tide__cli_option(a, "output");
	struct stat st;
	if (!a->cmd->report || !csv || !csv->set || !out || !out->set)
		return NULL;
	size_t n = strlen(out->text);
	bool folder =
		(n && out->text[n - 1] == '/') || (!stat(out->text, &st) && S_ISDIR(st.st_mode));
	return folder ? out->text : NULL;
}

static bool is_arrow(const tide_args *a)
{
	const tide_value *out = tide__cli_option(a, "output");
	size_t n = out && out->set ? strlen(out->text) : 0;
	return n > 6 && !strcasecmp(out->text + n - 6, ".arrow");
}

static int fail(const char *file, tide_code rc)
{
	tide_error err = { .code = rc, .offset = TIDE_NO_OFFSET };
	if (rc == TIDE_EIO)
		tide__fail_errno(&err, "cannot write");
	return tide__cli_fail(file, &err);
}

/* Writes DIR/NAME.csv. */
static int put_file(const char *folder, const char *name, const tide_report_type *type,
		    void *result, size_t table)
{
	char path[PATH_MAX];
	tide_outfile file = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	size_t n = strlen(folder);
	snprintf(path, sizeof path, "%s%s%s.csv", folder, folder[n - 1] == '/' ? "" : "/", name);
	tide_code rc = tide__outfile_open(&file, path, &err);
	if (rc != TIDE_OK)
		return tide__cli_fail(path, &err);
	rc = tide__csv_write(type, result, table, file.f);
	tide_code closed = tide__outfile_close(&file, rc == TIDE_OK, &err);
	if (rc != TIDE_OK)
		return fail(path, rc);
	return closed != TIDE_OK ? tide__cli_fail(path, &err) : 0;
}

static int put_all(const char *folder, const tide_report_type *type, void *result)
{
	int status = 0;
	tide_rows *r = tide__alloc(1, sizeof *r);
	if (!r)
		return fail(NULL, TIDE_ENOMEM);
	if (mkdir(folder, 0777) && errno != EEXIST)
		status = fail(folder, TIDE_EIO);
	for (size_t i = 0; !status && i < tide__rows_count(type); i++) {
		tide__rows_begin(r, type, i);
		status = put_file(folder, tide__rows_name(r), type, result, i);
	}
	tide__free(r);
	return status;
}

int tide__report_put_tables(const tide_args *a, const tide_report_type *type, void *result)
{
	if (tide__report_folder(a))
		return put_all(tide__report_folder(a), type, result);
	tide_code rc = is_arrow(a) ? tide__arrow_write(type, result, 0, a->out)
				   : tide__csv_write(type, result, 0, a->out);
	return rc == TIDE_ENOMEM ? fail(a->files[0], rc) : tide__cli_finish(a);
}
