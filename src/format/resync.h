// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Continues reading after damage: repairs a file's head, finds the next valid chunk.
 *
 * Both rely on checksums alone. A chunk counts as found only if its whole checksum is valid, so bytes
 * that merely look like a chunk are skipped. */
#ifndef TIDE_FORMAT_RESYNC_H
#define TIDE_FORMAT_RESYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "format/tide.h"

/* Returns true if magic, sizes and flags of a chunk's head are in range. */
bool tide__chunk_plausible(const tide_chunk_head *h);

/* Returns the byte of the first valid chunk in [from, size) of the file, 0 if there is none.
 * `budget` bounds the bytes read for candidates that turn out to be invalid; it is reduced, and at
 * 0 the search ends. Holes of sparse files are skipped. */
uint64_t tide__find_chunk(int fd, uint64_t from, uint64_t size, uint64_t *budget);

/* Corrects a head with one wrong byte: tries all 128 * 255 changes against the checksum. Returns
 * the byte that was corrected, -1 if no single change makes the checksum valid. */
int tide__head_repair(tide_file_head *h);

#endif
