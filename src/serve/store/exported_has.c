// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/store/exported_has.h"

#include "analyze/compare/run_summary.h"

static const unsigned bit_of[TIDE_EXPORTED_N] = {
	[TIDE_EXPORTED_HTA] = TIDE_HAS_DEVICE,
	[TIDE_EXPORTED_COMPILE] = TIDE_HAS_COMPILE,
	[TIDE_EXPORTED_MEMORY] = TIDE_HAS_MEMORY,
	[TIDE_EXPORTED_SESSION] = TIDE_HAS_HOST,
};

unsigned tide__exported_has(const tide_exported *e)
{
	return TIDE_HAS_REPORT | TIDE_HAS_KNOWN | bit_of[e->kind] |
	       (tide__exported_figures(e) ? 0 : TIDE_HAS_NOTHING);
}

const char *tide__exported_name_of(unsigned has)
{
	for (int i = 0; has & TIDE_HAS_REPORT && i < TIDE_EXPORTED_N; i++)
		if (has & bit_of[i])
			return tide__exported_text((tide_exported_kind)i);
	return NULL;
}
