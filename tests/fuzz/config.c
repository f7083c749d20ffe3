// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings from any bytes: an error with a line and a byte inside the input, or values. A valid
 * file stays valid when a value is changed, and has the new value. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static tide_config c;
	const char *text = (const char *)data;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char *out;
	size_t n_out;
	unsigned line;
	tide__config_set_defaults(&c);
	if (tide__config_parse(text, n, "/f", NULL, &c, &err) != TIDE_OK) {
		if (!err.text[0] || err.offset > n)
			abort();
		return 0;
	}
	if (tide__config_edit(text, n, NULL, TIDE_CONFIG_interval, "7.5", &out, &n_out, &line,
			      &err) != TIDE_OK)
		abort();
	tide__config_set_defaults(&c);
	if (tide__config_parse(out, n_out, "/f", NULL, &c, &err) != TIDE_OK ||
	    c.v[TIDE_CONFIG_interval].number != 7.5 || c.v[TIDE_CONFIG_interval].line != line)
		abort();
	tide__free(out);
	return 0;
}
