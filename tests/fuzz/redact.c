// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Redacting any bytes, as JSON, as a pickle and as one chunk of a recording, gives an error with a
 * text or an output that can be redacted again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/encode.h"
#include "format/schema.h"
#include "import/source.h"
#include "redact/map.h"
#include "redact/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static tide_redactor start(unsigned keep)
{
	return (tide_redactor){ .cipher = tide__cipher_make("0123456789abcdef", 16), .keep = keep };
}

/* Returns the output (owned) or NULL. */
static char *redact_json(const uint8_t *data, size_t n, size_t *out_n)
{
	tide_redactor r = start(7);
	tide_error err = { 0 };
	tide_source *s = NULL;
	char *out = NULL;
	FILE *f = open_memstream(&out, out_n);
	tide_code rc = tide__source_open_memory(data, n, 1 << 20, &s, &err);
	if (!rc)
		rc = tide__redact_json(&r, s, f, &err);
	tide__source_close(s);
	fclose(f);
	tide__redactor_fini(&r);
	if (rc && !err.text[0])
		abort();
	if (!rc)
		return out;
	free(out);
	return NULL;
}

static void check_json(const uint8_t *data, size_t n)
{
	size_t first_n = 0, second_n = 0;
	char *first = redact_json(data, n, &first_n);
	if (!first)
		return;
	char *second = redact_json((const uint8_t *)first, first_n, &second_n);
	if (!second) /* what we write is JSON */
		abort();
	free(first);
	free(second);
}

static void check_pickle(const uint8_t *data, size_t n)
{
	tide_redactor r = start(7);
	tide_error err = { 0 };
	size_t used = 0;
	uint8_t *copy = calloc(1, n + 64);
	r.map = tide__redact_map_new();
	if (!copy || !r.map)
		abort();
	memcpy(copy, data, n);
	tide_code rc = tide__redact_pickle(&r, copy, n, &used, &err);
	if (rc ? !err.text[0] : used > n)
		abort();
	if (!rc && tide__redact_pickle(&r, copy, used, &used, &err)) /* it still is one */
		abort();
	tide__redact_map_free(r.map);
	tide__redactor_fini(&r);
	free(copy);
}

static void check_chunk(const uint8_t *data, size_t n)
{
	tide_redactor r = start(0);
	tide_error err = { 0 };
	tide_schema schema;
	uint8_t *copy = calloc(1, n + 64);
	if (!n || !copy) {
		free(copy);
		return;
	}
	tide_chunk_head h = { .type = (uint16_t)(data[0] % 12), .stored = (uint32_t)(n - 1) };
	tide__schema_own(&schema);
	memcpy(copy, data + 1, n - 1);
	if (tide__redact_chunk(&r, &schema, &h, copy, &err) || h.stored > n - 1)
		abort();
	tide__redactor_fini(&r);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 1 << 16)
		return 0;
	tide__redact_kind(data, n);
	check_json(data, n);
	check_pickle(data, n);
	check_chunk(data, n);
	return 0;
}
