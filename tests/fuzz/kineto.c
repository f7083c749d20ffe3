// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The Kineto importer on any bytes: never a crash, a leak or a hang; what loads satisfies every
 * invariant of the model; and block size does not matter. The first byte chooses the block size and
 * whether two threads parse, and whether shapes and raw figures are kept. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "import/kineto/kineto.h"
#include "import/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static tide_model *load(const uint8_t *data, size_t n, size_t block, unsigned threads, bool all)
{
	tide_load_options opt = { .threads = threads, .what = all ? ~0u : 0 };
	tide_error err = { 0 };
	tide_source *src;
	if (tide__source_open_memory(data, n, 1 << 20, &src, &err) != TIDE_OK)
		return NULL;
	tide_model *m = tide__model_new();
	if (tide__kineto_load(src, &opt, block, m, &err) != TIDE_OK) {
		if (!err.text[0])
			abort();
		tide__model_free(m);
		m = NULL;
	} else if (tide__model_check(m, &err) != TIDE_OK) {
		abort();
	}
	tide__source_close(src);
	return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 1)
		return 0;
	size_t block = data[0] ? (size_t)data[0] * 3 : 0;
	tide_model *a = load(data + 1, n - 1, 0, 1, data[0] & 2);
	tide_model *b = load(data + 1, n - 1, block, data[0] & 1 ? 2 : 1, data[0] & 2);
	/* how much damaged gzip still gives depends on how it is read */
	bool plain = n < 3 || data[1] != 0x1f || data[2] != 0x8b;
	if (plain && !a != !b)
		abort();
	if (plain && a &&
	    (a->spans.n != b->spans.n || a->attrs.n != b->attrs.n ||
	     a->memory_events.n != b->memory_events.n || a->flows.n != b->flows.n ||
	     a->t_end != b->t_end))
		abort();
	tide__model_free(a);
	tide__model_free(b);
	return 0;
}
