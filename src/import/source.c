// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* read(2) or a memory range, then ISA-L's inflate or zstd according to the magic bytes. */
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"

enum { IN_BYTES = 1 << 18 };

struct tide_source {
	int fd;			/* -1 for memory and for a function */
	tide_source_fill *fill; /* NULL = none */
	void *user;
	const uint8_t *data; /* memory: the rest of it */
	size_t left;
	uint64_t size;	      /* stored bytes, 0 = unknown */
	uint64_t consumed;    /* stored bytes taken from fd or data */
	uint64_t most;	      /* limit of those bytes, 0 = no limit */
	uint64_t made, limit; /* packed: bytes delivered, and their limit */
	bool grows;	  /* the limit grows with the stored bytes read: their number is unknown */
	tide_code failed; /* sticky */
	tide_error why;
	bool packed, eof, member; /* member: inside a gzip member, a zstd frame */
	struct inflate_state *z;  /* gzip */
	ZSTD_DStream *zstd;	  /* zstd */
	uint8_t *in; /* IN_BYTES: raw input; also holds the bytes read to detect the format */
	size_t at, have;
};

/* Refills s->in; s->have = 0 at the end. */
static tide_code refill(tide_source *s)
{
	s->at = s->have = 0;
	s->eof |= s->most && s->consumed >= s->most;
	while (!s->eof && s->have < IN_BYTES / 2) {
		ssize_t got;
		if (s->fill) {
			got = (ssize_t)s->fill(s->user, s->in + s->have, IN_BYTES - s->have);
		} else if (s->fd < 0) {
			got = (ssize_t)(s->left < IN_BYTES - s->have ? s->left
								     : IN_BYTES - s->have);
			if (got)
				memcpy(s->in + s->have, s->data, (size_t)got);
			s->data += got;
			s->left -= (size_t)got;
		} else {
			got = read(s->fd, s->in + s->have, IN_BYTES - s->have);
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return s->failed = tide__fail_errno(&s->why, "read");
		s->eof = got == 0;
		s->have += (size_t)got;
		s->consumed += (uint64_t)got;
	}
	return TIDE_OK;
}

static bool is_gzip(const uint8_t *p, size_t n)
{
	return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static bool is_zstd(const uint8_t *p, size_t n)
{
	return n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4);
}

bool tide__is_packed(const void *head, size_t n)
{
	return is_gzip(head, n) || is_zstd(head, n);
}

/* Creates the decompressor. A zstd frame that needs more than 128 MiB of window is refused by
 * default. */
static bool make_expander(tide_source *s)
{
	s->member = true;
	if (is_zstd(s->in, s->have)) {
		s->zstd = ZSTD_createDStream();
		return s->zstd != NULL;
	}
	s->z = tide__alloc(1, sizeof *s->z);
	if (!s->z)
		return false;
	isal_inflate_init(s->z);
	s->z->crc_flag = ISAL_GZIP;
	return true;
}

/* Returns the default limit on the bytes that `stored` bytes may expand to. */
static uint64_t limit_of(uint64_t stored)
{
	uint64_t most =
		stored > UINT64_MAX / TIDE_EXPAND_RATIO ? UINT64_MAX : stored * TIDE_EXPAND_RATIO;
	return most < TIDE_EXPAND_LEAST ? TIDE_EXPAND_LEAST : most;
}

static tide_code start(tide_source *s, uint64_t max_expanded, tide_error *err)
{
	s->in = tide__alloc(IN_BYTES, 1);
	if (!s->in)
		return tide__nomem(err);
	tide_code rc = refill(s);
	if (rc != TIDE_OK) {
		if (err)
			*err = s->why;
		return rc;
	}
	s->packed = tide__is_packed(s->in, s->have);
	if (!s->packed)
		return TIDE_OK;
	s->limit = max_expanded ? max_expanded : limit_of(s->size ? s->size : s->have);
	s->grows = !max_expanded && !s->size;
	return make_expander(s) ? TIDE_OK : tide__nomem(err);
}

typedef struct input {
	int fd;
	const void *data;
	size_t n;
	tide_source_fill *fill;
	void *user;
} input;

static tide_code make(const input *in, uint64_t size, uint64_t max_expanded, tide_source **out,
		      tide_error *err)
{
	tide_source *s = tide__calloc(1, sizeof *s);
	*out = NULL;
	if (!s) {
		if (in->fd >= 0)
			close(in->fd);
		return tide__nomem(err);
	}
	s->fd = in->fd;
	s->data = in->data;
	s->left = in->n;
	s->fill = in->fill;
	s->user = in->user;
	s->size = size;
	tide_code rc = start(s, max_expanded, err);
	if (rc != TIDE_OK)
		tide__source_close(s);
	else
		*out = s;
	return rc;
}

tide_code tide__source_open(const char *path, uint64_t max_expanded, tide_source **out,
			    tide_error *err)
{
	*out = NULL;
	int fd = tide__input_open(path, 0);
	return fd < 0 ? tide__fail_errno(err, "open")
		      : tide__source_open_fd(fd, max_expanded, out, err);
}

tide_code tide__source_open_fd(int fd, uint64_t max_expanded, tide_source **out, tide_error *err)
{
	struct stat st;
	*out = NULL;
	if (fstat(fd, &st) < 0) {
		tide_code rc = tide__fail_errno(err, "stat");
		close(fd);
		return rc;
	}
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		errno = EISDIR;
		return tide__fail_errno(err, "open");
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	uint64_t size = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
	return make(&(input){ .fd = fd }, size, max_expanded, out, err);
}

tide_code tide__source_open_memory(const void *data, size_t n, uint64_t max_expanded,
				   tide_source **out, tide_error *err)
{
	return make(&(input){ .fd = -1, .data = data, .n = n }, n, max_expanded, out, err);
}

tide_code tide__source_open_made(tide_source_fill *fill, void *user, tide_source **out,
				 tide_error *err)
{
	return make(&(input){ .fd = -1, .fill = fill, .user = user }, 0, UINT64_MAX, out, err);
}

const uint8_t *tide__source_head(const tide_source *s, size_t *n)
{
	*n = s->have - s->at;
	return s->in + s->at;
}

void tide__source_close(tide_source *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDStream(s->zstd);
	tide__free(s->z);
	tide__free(s->in);
	tide__free(s);
}

/* Reads uncompressed data: the bytes in s->in first, then directly into the caller's buffer. */
static tide_code read_plain(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	size_t k = s->have - s->at < n ? s->have - s->at : n;
	memcpy(buf, s->in + s->at, k);
	s->at += k;
	while (k < n && !s->eof) {
		if (s->most && s->consumed >= s->most) {
			s->eof = true;
			break;
		}
		if (s->fd < 0 && !s->fill) {
			size_t m = s->left < n - k ? s->left : n - k;
			if (m)
				memcpy(buf + k, s->data, m);
			s->data += m;
			s->left -= m;
			s->consumed += m;
			k += m;
			s->eof = m == 0;
			continue;
		}
		ssize_t r = s->fill ? (ssize_t)s->fill(s->user, buf + k, n - k)
				    : read(s->fd, buf + k, n - k);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			*got = k;
			return s->failed = tide__fail_errno(&s->why, "read");
		}
		s->eof = r == 0;
		k += (size_t)r;
		s->consumed += (uint64_t)r;
	}
	*got = k;
	return TIDE_OK;
}

/* Handles the end of a gzip member: another one follows, or only zeros (padding) and then the end.
 * Returns true to continue. */
static bool next_member(tide_source *s, tide_code *rc)
{
	for (;;) {
		while (s->at < s->have && !s->in[s->at])
			s->at++;
		if (s->at < s->have)
			break;
		if (s->eof || (*rc = refill(s)) != TIDE_OK || !s->have)
			return false;
	}
	if (s->in[s->at] != 0x1f) {
		*rc = s->failed =
			tide__fail(&s->why, TIDE_ECORRUPT, s->consumed - (s->have - s->at),
				   "bytes after the gzip data are not gzip");
		return false;
	}
	isal_inflate_reset(s->z);
	s->z->crc_flag = ISAL_GZIP;
	s->member = true;
	return true;
}

static tide_code gunzip_error(tide_source *s, int rc)
{
	uint64_t at = s->consumed - (s->have - s->at);
	const char *what = rc == ISAL_INVALID_WRAPPER	   ? "gzip header is not valid"
			   : rc == ISAL_INCORRECT_CHECKSUM ? "gzip checksum does not match"
							   : "gzip data are damaged";
	return s->failed = tide__fail(&s->why, TIDE_ECORRUPT, at, "%s", what);
}

/* Calls inflate once into buf; sets *got to the bytes written. */
static tide_code inflate_some(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	struct inflate_state *z = s->z;
	uint32_t room = n > 1u << 30 ? 1u << 30 : (uint32_t)n;
	z->next_in = s->in + s->at;
	z->avail_in = (uint32_t)(s->have - s->at);
	z->next_out = buf;
	z->avail_out = room;
	int rc = isal_inflate(z);
	s->at = s->have - z->avail_in;
	*got = room - z->avail_out;
	if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT)
		return gunzip_error(s, rc);
	if (z->block_state == ISAL_BLOCK_FINISH)
		s->member = false;
	return TIDE_OK;
}

/* The same with zstd, which finds the next frame itself. */
static tide_code zstd_some(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	ZSTD_inBuffer in = { s->in, s->have, s->at };
	ZSTD_outBuffer out = { buf, n, 0 };
	size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);
	s->at = in.pos;
	*got = out.pos;
	if (ZSTD_isError(rc)) {
		bool window = ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge;
		return s->failed = tide__fail(&s->why, window ? TIDE_ELIMIT : TIDE_ECORRUPT,
					      s->consumed - (s->have - s->at),
					      window ? "zstd data need more than 128 MiB at once"
						     : "zstd data are damaged");
	}
	s->member = rc != 0;
	return TIDE_OK;
}

/* Reads more input if none is left. Returns false at its end; rc is an error if that is too early.
 * */
static bool more_input(tide_source *s, tide_code *rc)
{
	*rc = refill(s);
	if (*rc != TIDE_OK || s->have)
		return *rc == TIDE_OK;
	if (s->member)
		*rc = s->failed = tide__fail(&s->why, TIDE_ETRUNC, s->consumed, "%s data end early",
					     s->zstd ? "zstd" : "gzip");
	return false;
}

static tide_code read_zstd(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	tide_code rc = TIDE_OK;
	size_t k = 0;
	while (k < n && rc == TIDE_OK) {
		size_t more = 0;
		if (s->at == s->have && !s->member && !more_input(s, &rc))
			break;
		rc = zstd_some(s, buf + k, n - k, &more);
		k += more;
		if (rc == TIDE_OK && !more && s->member && s->at == s->have && !more_input(s, &rc))
			break;
	}
	*got = k;
	return rc;
}

static tide_code read_gzip(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	tide_code rc = TIDE_OK;
	size_t k = 0;
	while (k < n && rc == TIDE_OK) {
		size_t more = 0, at = s->at;
		if (!s->member && !next_member(s, &rc))
			break;
		rc = inflate_some(s, buf + k, n - k, &more);
		k += more;
		if (rc == TIDE_OK && !more && s->member && s->at == at && at < s->have)
			rc = gunzip_error(s, ISAL_INVALID_BLOCK); /* it neither consumes nor
			                                           * produces bytes */
		if (rc == TIDE_OK && !more && s->member && s->at == s->have && !more_input(s, &rc))
			break;
	}
	*got = k;
	return rc;
}

static tide_code read_packed(tide_source *s, uint8_t *buf, size_t n, size_t *got)
{
	tide_code rc = s->zstd ? read_zstd(s, buf, n, got) : read_gzip(s, buf, n, got);
	if (s->grows)
		s->limit = limit_of(s->consumed);
	if (*got > s->limit - s->made) {
		*got = (size_t)(s->limit - s->made);
		rc = s->failed =
			tide__fail(&s->why, TIDE_ELIMIT, s->consumed - (s->have - s->at),
				   "%s data expand to more than %llu bytes",
				   s->zstd ? "zstd" : "gzip", (unsigned long long)s->limit);
	}
	s->made += *got;
	return rc;
}

tide_code tide__source_read(tide_source *s, void *buf, size_t n, size_t *got, tide_error *err)
{
	tide_code rc = s->failed;
	*got = 0;
	if (rc == TIDE_OK)
		rc = s->packed ? read_packed(s, buf, n, got) : read_plain(s, buf, n, got);
	if (rc != TIDE_OK && err)
		*err = s->why;
	return rc;
}

uint64_t tide__source_skip(tide_source *s, uint64_t n)
{
	size_t here = s->have - s->at;
	if (s->packed || s->fd < 0 || !s->size || n > INT64_MAX || s->failed)
		return 0;
	if (n > here && lseek(s->fd, (off_t)(n - here), SEEK_CUR) < 0)
		return 0;
	s->consumed += n > here ? n - here : 0;
	s->at += n > here ? here : (size_t)n;
	return n;
}

void tide__source_set_limit(tide_source *s, uint64_t n)
{
	s->most = s->consumed + n;
}

bool tide__source_is_packed(const tide_source *s)
{
	return s->packed;
}

uint64_t tide__source_size(const tide_source *s)
{
	return s->size;
}

uint64_t tide__source_consumed(const tide_source *s)
{
	return s->consumed - (s->have - s->at);
}

static tide_code slurp(tide_source *s, size_t most, size_t pad, tide_whole_file *out,
		       tide_error *err)
{
	size_t cap = 0, got, room;
	do {
		if (cap <= out->n + pad && !TIDE_ROOM(out->data, cap, out->n + pad + (1u << 20)))
			return tide__nomem(err);
		room = cap - pad - out->n;
		tide_code rc = tide__source_read(s, out->data + out->n, room, &got, err);
		out->n += got;
		if (rc != TIDE_OK)
			return rc;
		if (out->n > most)
			return tide__fail(err, TIDE_ELIMIT, most, "it is more than %zu MiB long",
					  most >> 20);
	} while (got == room);
	memset(out->data + out->n, 0, pad);
	return TIDE_OK;
}

tide_code tide__source_read_all(const char *path, uint64_t max_expanded, size_t most, size_t pad,
				tide_whole_file *out, tide_error *err)
{
	tide_source *s;
	*out = (tide_whole_file){ 0 };
	tide_code rc = tide__source_open(path, max_expanded, &s, err);
	if (rc == TIDE_OK)
		rc = slurp(s, most, pad, out, err);
	tide__source_close(s);
	return rc;
}
