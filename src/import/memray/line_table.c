// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Line tables of Python's code objects. 3.11 and later: entries of some code units with a kind
 * (Objects/locations.md of CPython); 3.10: pairs of bytes with the end of a range; before: pairs of
 * differences. */
#include "import/memray/memray.h"

typedef struct table {
	const uint8_t *at, *end;
} table;

static unsigned next_byte(table *t)
{
	return t->at < t->end ? *t->at++ : 0;
}

static int64_t varint(table *t)
{
	unsigned byte = next_byte(t), shift = 0;
	int64_t v = byte & 63;
	while (byte & 64 && shift < 48) {
		byte = next_byte(t);
		shift += 6;
		v |= (int64_t)(byte & 63) << shift;
	}
	return v;
}

static int64_t signed_varint(table *t)
{
	int64_t v = varint(t);
	return v & 1 ? -(v >> 1) : v >> 1;
}

/* Skips an entry's columns. Returns the change of the line. */
static int64_t entry(table *t, unsigned kind)
{
	int64_t change = 0;
	switch (kind) {
	case 15: /* no place */
		break;
	case 14: /* long: line, end line, columns */
		change = signed_varint(t);
		for (int i = 0; i < 3; i++)
			(void)varint(t);
		break;
	case 13: /* no columns */
		change = signed_varint(t);
		break;
	case 12:
	case 11:
	case 10: /* one line, two columns */
		change = (int64_t)kind - 10;
		t->at += t->end - t->at < 2 ? t->end - t->at : 2;
		break;
	default: /* short: columns in one byte */
		(void)next_byte(t);
		break;
	}
	return change;
}

static int64_t line_311(table t, int64_t line, int64_t unit)
{
	for (int64_t at = 0; t.at < t.end;) {
		unsigned first = next_byte(&t);
		int64_t units = (first & 7) + 1;
		line += entry(&t, first >> 3 & 15);
		if (unit < at + units)
			return line;
		at += units;
	}
	return 0;
}

static int64_t line_310(table t, int64_t line, int64_t byte)
{
	for (int64_t at = 0; t.end - t.at >= 2;) {
		at += next_byte(&t);
		int8_t change = (int8_t)next_byte(&t);
		line += change == INT8_MIN ? 0 : change;
		if (at > byte)
			break;
	}
	return line;
}

static int64_t line_before(table t, int64_t line, int64_t byte)
{
	for (int64_t at = 0; t.end - t.at >= 2;) {
		at += next_byte(&t);
		if (at > byte)
			break;
		line += (int8_t)next_byte(&t);
	}
	return line;
}

uint32_t tide__python_line(uint32_t version, const uint8_t *s, size_t n, int64_t first,
			   int64_t instruction)
{
	table t = { s, s ? s + n : s };
	int64_t line = first;
	if (instruction < 0)
		return 0;
	if (n && version >= 0x030b0000)
		line = line_311(t, first, instruction / 2);
	else if (n && version >= 0x030a0000)
		line = line_310(t, first, instruction * 2);
	else if (n)
		line = line_before(t, first, instruction);
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
