// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "format/device_log.h"

#include <string.h>

static uint8_t *put_v(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

bool tide__device_log_put(tide_device_log *l, unsigned kind, int64_t t, const uint64_t *v, size_t n)
{
	if (l->n + TIDE_DEVICE_RECORD_MAX > sizeof l->bytes || n > TIDE_DEVICE_FIELDS)
		return false;
	uint8_t *start = l->bytes + l->n, *p = start + 2;
	uint64_t d = (uint64_t)t - (uint64_t)l->t;
	p = put_v(p, d << 1 ^ (uint64_t) - (int64_t)(d >> 63));
	for (size_t i = 0; i < n; i++)
		p = put_v(p, v[i]);
	start[0] = (uint8_t)kind;
	start[1] = (uint8_t)(p - start - 2);
	l->n = (size_t)(p - l->bytes);
	l->t = t;
	return true;
}

/* Reads a varint. Returns its end, NULL if it does not end before `end`. */
static const uint8_t *take(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
		uint8_t b = *p++;
		*v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return p;
	}
	return NULL;
}

bool tide__device_log_next(const uint8_t *bytes, size_t n, size_t *at, int64_t *t,
			   tide_device_rec *out)
{
	if (n - *at < 2 || n < *at)
		return false;
	const uint8_t *p = bytes + *at + 2, *end = p + p[-1];
	uint64_t d;
	if ((size_t)(bytes + n - p) < p[-1])
		return false;
	memset(out, 0, sizeof *out);
	out->kind = bytes[*at];
	if (!(p = take(p, end, &d)))
		return false;
	*t = (int64_t)((uint64_t)*t + (d >> 1 ^ (uint64_t) - (int64_t)(d & 1)));
	out->t = *t;
	for (size_t i = 0; i < TIDE_DEVICE_FIELDS && p < end; i++)
		if (!(p = take(p, end, &out->v[i])))
			return false;
	*at = (size_t)(end - bytes);
	return true;
}
