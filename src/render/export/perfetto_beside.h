// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The part of our Perfetto traces that is no slice: reading it back restores the whole trace. */
#ifndef TIDE_RENDER_EXPORT_PERFETTO_BESIDE_H
#define TIDE_RENDER_EXPORT_PERFETTO_BESIDE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

/* Descriptions of tracks: numbers of their spans in the Chrome trace; spans that it has itself. */
#define TIDE_PERFETTO_TRACK "Chrome trace: pid %" PRId64 ", tid %" PRId64
#define TIDE_PERFETTO_GROUP "Chrome trace: asynchronous events"

/* Opens a FILE whose text becomes compressed packets of `under`, as a Chrome trace inside
 * (ChromeEventBundle.legacy_json_trace). NULL if memory runs out. Closing it fails if a write
 * failed. */
FILE *tide__perfetto_beside_open(FILE *under, uint64_t sequence);

#endif
