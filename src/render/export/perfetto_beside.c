// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Text in parts that end between characters, each a packet, each in one packet of compressed
 * packets: readers want those below 512 KiB. */
#include "render/export/perfetto_beside.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#include "base/mem.h"
#include "render/export/protobuf.h"

enum { PART = 256 << 10, PACKED = PART + PART / 8 + 4096 };
enum { P_PACKET = 1, P_CHROME = 5, P_SEQUENCE = 10, P_COMPRESSED = 50 };
enum { C_JSON = 5, J_TYPE = 1, J_DATA = 2 };

typedef struct beside {
	FILE *under;
	uint64_t sequence;
	tide_proto p;
	size_t n;
	char text[PART];
	uint8_t packed[PACKED];
	struct isal_zstream z;
} beside;

/* Returns the bytes up to the end of the last whole character. */
static size_t whole(const char *s, size_t n)
{
	size_t k = n;
	while (k && n - k < 4 && ((unsigned char)s[k - 1] & 0xc0) == 0x80)
		k--;
	bool lead = k && (unsigned char)s[k - 1] >= 0xc0;
	unsigned char c = k ? (unsigned char)s[k - 1] : 0;
	size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	return lead && n - (k - 1) < want ? k - 1 : n;
}

static void put_packet(beside *b, size_t n)
{
	size_t packet = tide__proto_begin(&b->p, P_PACKET);
	tide__proto_u64(&b->p, P_SEQUENCE, b->sequence);
	size_t chrome = tide__proto_begin(&b->p, P_CHROME);
	size_t json = tide__proto_begin(&b->p, C_JSON);
	tide__proto_u64(&b->p, J_TYPE, 0); /* USER_TRACE */
	tide__proto_text(&b->p, J_DATA, b->text, n);
	tide__proto_end(&b->p, json);
	tide__proto_end(&b->p, chrome);
	tide__proto_end(&b->p, packet);
}

static bool pack(beside *b, size_t *n)
{
	isal_deflate_stateless_init(&b->z);
	b->z.gzip_flag = IGZIP_ZLIB;
	b->z.end_of_stream = 1;
	b->z.flush = NO_FLUSH;
	b->z.next_in = b->p.buf;
	b->z.avail_in = (uint32_t)b->p.n;
	b->z.next_out = b->packed;
	b->z.avail_out = PACKED;
	*n = 0;
	if (isal_deflate_stateless(&b->z) != COMP_OK)
		return false;
	*n = PACKED - b->z.avail_out;
	return true;
}

/* Writes the first n bytes of the text, and keeps the rest. */
static bool write_part(beside *b, size_t n)
{
	size_t packed;
	b->p.n = 0;
	put_packet(b, n);
	if (b->p.failed)
		return false;
	bool ok = pack(b, &packed);
	b->p.n = 0;
	size_t packet = tide__proto_begin(&b->p, P_PACKET);
	size_t in = tide__proto_begin(&b->p, P_COMPRESSED);
	tide__proto_bytes(&b->p, b->packed, packed);
	tide__proto_end(&b->p, in);
	tide__proto_end(&b->p, packet);
	memmove(b->text, b->text + n, b->n - n);
	b->n -= n;
	if (ok)
		tide__proto_flush(&b->p, b->under);
	return ok && !b->p.failed;
}

static ssize_t take(void *cookie, const char *buf, size_t n)
{
	beside *b = cookie;
	for (size_t done = 0; done < n;) {
		size_t k = PART - b->n < n - done ? PART - b->n : n - done;
		memcpy(b->text + b->n, buf + done, k);
		b->n += k;
		done += k;
		if (b->n == PART && !write_part(b, whole(b->text, b->n))) {
			errno = EIO;
			return 0;
		}
	}
	return (ssize_t)n;
}

static int end(void *cookie)
{
	beside *b = cookie;
	bool ok = !b->n || write_part(b, b->n);
	tide__proto_free(&b->p);
	tide__free(b);
	if (!ok)
		errno = EIO;
	return ok ? 0 : -1;
}

FILE *tide__perfetto_beside_open(FILE *under, uint64_t sequence)
{
	static const cookie_io_functions_t io = { .write = take, .close = end };
	beside *b = tide__calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->under = under;
	b->sequence = sequence;
	FILE *f = fopencookie(b, "w", io);
	if (!f)
		tide__free(b);
	return f;
}
