// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Searches for the chunk magic, then verifies the checksum of that chunk. Reads are sequential in
 * blocks, and the checksum is computed as a stream, so memory stays constant for any size in a
 * head. */
#include "format/resync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK = 64 << 10, CANDIDATE = 4096 /* minimum cost of a failed candidate */ };

bool tide__chunk_plausible(const tide_chunk_head *h)
{
	bool packed = h->flags & TIDE_CHUNK_ZSTD;
	return h->magic == TIDE_CHUNK_MAGIC && h->type && h->raw <= TIDE_CHUNK_RAW_MAX &&
	       (packed || h->stored == h->raw) &&
	       h->stored <= ZSTD_COMPRESSBOUND(TIDE_CHUNK_RAW_MAX);
}

/* Reads up to n bytes at `at`; returns how many there were. */
static size_t read_some(int fd, void *buf, size_t n, uint64_t at)
{
	size_t have;
	tide__input_read_at(fd, buf, n, at, &have);
	return have;
}

static bool is_sound(int fd, uint64_t at, uint64_t size, uint64_t *budget)
{
	tide_chunk_head h;
	uint8_t block[4096];
	XXH3_state_t sum;
	if (read_some(fd, &h, sizeof h, at) != sizeof h || !tide__chunk_plausible(&h) ||
	    h.stored > size - at - sizeof h)
		return false;
	XXH3_INITSTATE(&sum); /* initialise first: resetting with a seed reads the old state */
	XXH3_64bits_reset_withSeed(&sum, XXH3_64bits(&h, offsetof(tide_chunk_head, checksum)));
	for (uint64_t done = 0; done < h.stored;) {
		size_t n =
			h.stored - done < sizeof block ? (size_t)(h.stored - done) : sizeof block;
		if (read_some(fd, block, n, at + sizeof h + done) != n)
			return false;
		XXH3_64bits_update(&sum, block, n);
		done += n;
		if (done > *budget)
			return false;
	}
	if (XXH3_64bits_digest(&sum) == h.checksum)
		return true;
	*budget -= h.stored < *budget ? h.stored : *budget;
	return false;
}

/* Returns where data follow: past the hole at `at` if there is one. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t size)
{
	off_t to = lseek(fd, (off_t)at, SEEK_DATA);
	if (to < 0)
		return errno == ENXIO ? size : at; /* ENXIO: only a hole up to the end */
	return (uint64_t)to > at ? (uint64_t)to : at;
}

uint64_t tide__find_chunk(int fd, uint64_t from, uint64_t size, uint64_t *budget)
{
	static const uint32_t magic = TIDE_CHUNK_MAGIC;
	uint8_t block[BLOCK];
	uint64_t at = from;
	while (at < size && size - at >= sizeof(tide_chunk_head)) {
		uint64_t data = skip_hole(fd, at, size);
		at = data > at + 3 ? data - 3
				   : at; /* a magic may begin with the hole's last zeros */
		size_t n =
			read_some(fd, block, size - at < BLOCK ? (size_t)(size - at) : BLOCK, at);
		const uint8_t *p = block, *end = block + n;
		while ((p = memmem(p, (size_t)(end - p), &magic, sizeof magic))) {
			uint64_t here = at + (uint64_t)(p - block);
			if (size - here < sizeof(tide_chunk_head) || !*budget)
				return 0;
			if (is_sound(fd, here, size, budget))
				return here;
			*budget -= *budget < CANDIDATE ? *budget : CANDIDATE;
			p++;
		}
		if (n < sizeof(tide_chunk_head))
			return 0;
		at += n - (sizeof magic - 1);
	}
	return 0;
}

static bool head_holds(const tide_file_head *h)
{
	return h->checksum == XXH3_64bits(h, offsetof(tide_file_head, checksum)) &&
	       !memcmp(h->magic, TIDE_FILE_MAGIC, sizeof h->magic);
}

int tide__head_repair(tide_file_head *h)
{
	uint8_t bytes[sizeof *h];
	tide_file_head t;
	for (size_t i = 0; i < sizeof bytes; i++) {
		memcpy(bytes, h, sizeof bytes);
		uint8_t was = bytes[i];
		for (unsigned x = 1; x < 256; x++) {
			bytes[i] = (uint8_t)(was ^ x);
			memcpy(&t, bytes, sizeof t);
			if (head_holds(&t)) {
				*h = t;
				return (int)i;
			}
		}
	}
	return -1;
}
