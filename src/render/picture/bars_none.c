// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* For programs without cairo. */
#include "base/error.h"
#include "render/picture/bars.h"

bool tide__bars_built(void)
{
	return false;
}

tide_code tide__bars_draw(const tide_bar *bars, size_t n, const char *title, bool svg, FILE *out,
			  tide_error *err)
{
	(void)bars, (void)n, (void)title, (void)svg, (void)out;
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "this build draws no pictures: cairo was not found when it was built");
}

void tide__bars_write_links(const tide_bar *bars, size_t n, FILE *out)
{
	(void)bars, (void)n, (void)out;
}
