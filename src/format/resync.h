// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reading on after damage: repair a file's head, find the next sound chunk.
 *
 * Both rest on checksums alone. A chunk counts as found only if its whole checksum holds, so bytes
 * that merely look like a chunk are passed over. */
#ifndef TIDE_FORMAT_RESYNC_H
#define TIDE_FORMAT_RESYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "format/tide.h"

/* Returns true if magic, sizes and flags of a chunk's head make sense. */
bool tide__chunk_plausible(const tide_chunk_head *h);

/* Returns the byte of the first sound chunk in [from, size) of the file, 0 if there is none.
 * `budget` bounds the bytes read for chunks that turn out to be unsound; it is reduced, and at 0 the
 * search ends. Holes of sparse files are skipped. */
uint64_t tide__find_chunk(int fd, uint64_t from, uint64_t size, uint64_t *budget);

/* Corrects a head of which one byte is wrong: tries all 128 * 255 changes against the checksum.
 * Returns the byte that was corrected, -1 if no single change makes the checksum hold. */
int tide__head_repair(tide_file_head *h);

#endif
