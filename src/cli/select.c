// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/select.h"

#include "base/error.h"

/* Prints the error as one of usage, or of memory. Returns the exit status. */
static int refuse(const tide_args *a, const tide_error *err)
{
	return err->code == TIDE_ENOMEM ? tide__cli_fail(a->files[0], err)
					: tide__cli_fail_usage(a, "%s", err->text);
}

int tide__cli_fail_no_device(const tide_args *a, const tide_model *m, const char *text)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	uint32_t none;
	tide__take_device("--device", text, m, &none, &err);
	return refuse(a, &err);
}

bool tide__cli_get_one_device(const tide_args *a, const tide_value *v, const tide_model *m,
			      uint32_t *out, int *rc)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	*rc = 2;
	if (tide__take_one_device("--device", v->set ? v->text : NULL, m, out, &err) == TIDE_OK)
		return true;
	*rc = refuse(a, &err);
	return false;
}
