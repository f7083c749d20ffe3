// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings from any bytes: an error with a line and a byte inside the input, or values. A valid
 * file stays valid when a value is changed, and has the new value; also one of another program. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void one(const char *text, size_t n, bool foreign)
{
	static tide_config c;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char *out;
	size_t n_out;
	unsigned line;
	tide__config_set_defaults(&c);
	if (tide__config_parse(text, n, "/f", foreign, NULL, &c, &err) != TIDE_OK) {
		if (!err.text[0] || err.offset > n)
			abort();
		return;
	}
	if (tide__config_edit(text, n, foreign, NULL, TIDE_CONFIG_interval, "7.5", &out, &n_out,
			      &line, &err) != TIDE_OK)
		abort();
	tide__config_set_defaults(&c);
	if (tide__config_parse(out, n_out, "/f", foreign, NULL, &c, &err) != TIDE_OK ||
	    c.v[TIDE_CONFIG_interval].number != 7.5 || c.v[TIDE_CONFIG_interval].line != line)
		abort();
	tide__free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	one((const char *)data, n, false);
	one((const char *)data, n, true);
	return 0;
}
