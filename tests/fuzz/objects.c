// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Results of `tidemark objects` from any bytes: an error with a byte inside the input, or a
 * document that has the same number of snapshots after it was written and read again. */
#include <stdlib.h>
#include <string.h>

#include "import/objects/objects.h"
#include "render/report/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void write_again(const tide_objects *o)
{
	char *text = NULL;
	size_t n = 0;
	tide_json j;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_objects again = { 0 };
	FILE *out = open_memstream(&text, &n);
	if (!out)
		abort();
	tide__json_begin(&j, out, false);
	tide__objects_write(o, 0, &j);
	if (!tide__json_end(&j) || fclose(out))
		abort();
	tide__json_free(&j);
	if (tide__objects_read(text, n, &again, &err) != TIDE_OK || again.n != o->n)
		abort();
	tide__objects_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_objects o = { 0 };
	if (tide__objects_read((const char *)data, n, &o, &err) == TIDE_OK)
		write_again(&o);
	else if (!err.text[0] || err.offset > n)
		abort();
	tide__objects_free(&o);
	return 0;
}
