// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The change of reserved bytes if stale memory were freed, from the simulated allocator. */
#ifndef TIDE_ANALYZE_ALLOCATOR_STALE_RESERVED_H
#define TIDE_ANALYZE_ALLOCATOR_STALE_RESERVED_H

#include "analyze/memory/stale.h"

enum { TIDE_STALE_REQUESTS = 8000000 }; /* requests replayed for one report */

/* Replays the requests of the device through the simulator: as recorded, without all rows of a
 * part, then without each row alone, largest first, as long as TIDE_STALE_REQUESTS lasts. Fills
 * reserved_peak and the members reserved_saving; they stay unknown if the device has no caching
 * allocator. */
tide_code tide__stale_replay(tide_stale *x, tide_error *err);

#endif
