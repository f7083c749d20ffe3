// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Skips sequences of memo reads (BINGET, LONG_BINGET), which make up 90 % of a snapshot;
 * inlined. */
#ifndef TIDE_IMPORT_TORCHSNAP_PICKLE_MEMO_RUN_H
#define TIDE_IMPORT_TORCHSNAP_PICKLE_MEMO_RUN_H

#include <stdint.h>
#include <string.h>

#include "base/map.h"

static inline uint64_t tide__load8(const uint8_t *at)
{
	uint64_t x;
	memcpy(&x, at, 8);
	return x;
}

/* Returns the end of a sequence of memo reads that starts at `at`, or a position near the
 * input's end; how many there are; and a hash of most of its bytes (a match is compared in
 * full). */
static inline const uint8_t *tide__memo_run_end(const uint8_t *at, const uint8_t *end,
						uint64_t *hash, uint64_t *reads)
{
	const uint64_t mask = 0x0000ff00000000ff, gets = 0x00006a000000006a; /* j....j.. */
	uint64_t h = 0, x, n = 0;
	while (end - at >= 20) {
		x = tide__load8(at);
		if ((x & mask) == gets) {
			at += 10;
			n++;
		} else if (*at == 'j') {
			at += 5;
		} else if (*at == 'h') {
			x &= 0xffff;
			at += 2;
		} else {
			break;
		}
		h = (h << 7 | h >> 57) + x;
		n++;
	}
	*hash = tide__mix(h);
	*reads = n;
	return at;
}

#endif
