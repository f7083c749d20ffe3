// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/pb/pb.h"

bool tide__pb_varint(tide_pb *p, uint64_t *v)
{
	const uint8_t *at = p->at;
	*v = 0;
	for (unsigned shift = 0; at < p->end && shift < 64; shift += 7) {
		uint8_t byte = *at++;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			p->at = at;
			return true;
		}
	}
	p->bad |= p->at < p->end;
	return false;
}

static bool damaged(tide_pb *p, const uint8_t *at)
{
	p->at = at;
	p->bad = true;
	return false;
}

static bool fixed(tide_pb *p, tide_pb_field *f, size_t n)
{
	if ((size_t)(p->end - p->at) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		f->value |= (uint64_t)p->at[i] << 8 * i;
	p->at += n;
	return true;
}

static bool bytes(tide_pb *p, tide_pb_field *f)
{
	uint64_t n;
	if (!tide__pb_varint(p, &n) || n > (uint64_t)(p->end - p->at))
		return false;
	f->data = p->at;
	f->n = (size_t)n;
	p->at += n;
	return true;
}

bool tide__pb_next(tide_pb *p, tide_pb_field *f)
{
	const uint8_t *start = p->at;
	uint64_t key;
	if (p->bad || p->at >= p->end)
		return false;
	if (!tide__pb_varint(p, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
		return damaged(p, start);
	*f = (tide_pb_field){ .number = (uint32_t)(key >> 3), .type = key & 7, .data = p->at };
	bool ok = f->type == TIDE_PB_VARINT    ? tide__pb_varint(p, &f->value)
		  : f->type == TIDE_PB_FIXED64 ? fixed(p, f, 8)
		  : f->type == TIDE_PB_FIXED32 ? fixed(p, f, 4)
		  : f->type == TIDE_PB_BYTES   ? bytes(p, f)
					       : false;
	if (!ok)
		return damaged(p, start);
	f->n = f->type == TIDE_PB_BYTES ? f->n : (size_t)(p->at - f->data);
	return true;
}
