// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/json/number.h"

#include "base/wide.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A parsed decimal text: mantissa × 10^exp, and whether digits did not fit into the mantissa. */
typedef struct decimal {
	uint64_t mantissa; /* the first 19 significant digits */
	int64_t exp;
	bool negative;
	bool rest; /* further digits, not all zero, were left out */
} decimal;

static const char *read_digits(const char *s, const char *end, decimal *d, int64_t per_digit)
{
	for (; s < end && digit(*s); s++) {
		if (d->mantissa < UINT64_C(1000000000000000000)) {
			d->mantissa = d->mantissa * 10 + (uint64_t)(*s - '0');
			d->exp += per_digit;
		} else {
			d->rest |= *s != '0';
			d->exp += per_digit + 1;
		}
	}
	return s;
}

static const char *read_exponent(const char *s, const char *end, decimal *d)
{
	bool neg = false;
	int64_t e = 0;
	if (s < end && (*s == '+' || *s == '-'))
		neg = *s++ == '-';
	if (s == end || !digit(*s))
		return NULL;
	for (; s < end && digit(*s); s++)
		if (e < 100000)
			e = e * 10 + (*s - '0');
	d->exp += neg ? -e : e;
	return s;
}

static bool read_decimal(const char *s, const char *end, decimal *d)
{
	*d = (decimal){ 0 };
	if (s < end && (*s == '-' || *s == '+'))
		d->negative = *s++ == '-';
	const char *whole = s;
	s = read_digits(s, end, d, 0);
	size_t digits = (size_t)(s - whole);
	if (s < end && *s == '.') {
		const char *frac = ++s;
		s = read_digits(s, end, d, -1);
		digits += (size_t)(s - frac);
	}
	if (!digits)
		return false;
	if (s < end && (*s == 'e' || *s == 'E'))
		s = read_exponent(s + 1, end, d);
	return s == end;
}

/* Returns mantissa / 10^k, rounded half to even. */
static uint64_t divide(const decimal *d, int64_t k)
{
	uint64_t q = d->mantissa, digit_out = 0;
	bool rest = d->rest;
	for (; k > 0 && (q || digit_out); k--) {
		rest |= digit_out != 0;
		digit_out = q % 10;
		q /= 10;
	}
	if (k > 0)
		return 0;
	bool up = digit_out > 5 || (digit_out == 5 && (rest || (q & 1)));
	return q + up;
}

jsonr_num tide__jsonr_parse_ns(const char *s, size_t n, int64_t *ns)
{
	decimal d;
	if (!read_decimal(s, s + n, &d))
		return JSONR_NUM_NOT;
	int64_t k = d.exp + 3;
	uint64_t v = d.mantissa;
	if (k < 0)
		v = divide(&d, -k);
	else if (d.rest)
		return JSONR_NUM_RANGE;
	for (; k > 0 && v; k--) {
		if (v > INT64_MAX / 10)
			return JSONR_NUM_RANGE;
		v *= 10;
	}
	if (v > INT64_MAX)
		return JSONR_NUM_RANGE;
	*ns = d.negative ? -(int64_t)v : (int64_t)v;
	return JSONR_NUM_OK;
}

bool tide__jsonr_parse_scaled(const char *s, size_t n, int64_t scale, int64_t *out)
{
	decimal x;
	if (!n || *s == '+' || !read_decimal(s, s + n, &x))
		return false;
	tide_i128 d = (tide_i128)x.mantissa * scale; /* 64 bits of digits, 63 of scale: fits */
	int64_t ten = x.exp;
	for (; ten > 0 && d; ten--) {
		if (d > INT64_MAX)
			return false;
		d *= 10;
	}
	for (; ten < -1 && d; ten++) /* the last digit decides the rounding */
		d /= 10;
	if (ten == -1)
		d = (d + 5) / 10;
	if (d > INT64_MAX)
		return false;
	*out = x.negative ? -(int64_t)d : (int64_t)d;
	return true;
}

static int hex(char c)
{
	if (digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static jsonr_num read_hex(const char *s, const char *end, uint64_t *u)
{
	jsonr_num rc = s < end ? JSONR_NUM_OK : JSONR_NUM_NOT;
	for (*u = 0; s < end; s++) {
		int h = hex(*s);
		if (h < 0)
			return JSONR_NUM_NOT;
		if (*u >> 60)
			rc = JSONR_NUM_RANGE;
		*u = *u << 4 | (uint64_t)h;
	}
	return rc;
}

/* *neg is the sign, *u the magnitude. */
static jsonr_num whole(const char *s, size_t n, uint64_t *u, bool *neg)
{
	const char *end = s + n;
	uint64_t v = 0;
	jsonr_num rc = JSONR_NUM_OK;
	*neg = false;
	if (s < end && (*s == '-' || *s == '+'))
		*neg = *s++ == '-';
	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		return read_hex(s + 2, end, u);
	if (s == end)
		return JSONR_NUM_NOT;
	for (; s < end; s++) {
		if (!digit(*s))
			return JSONR_NUM_NOT;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			rc = JSONR_NUM_RANGE;
	}
	*u = v;
	return rc;
}

jsonr_num tide__jsonr_parse_i64(const char *s, size_t n, int64_t *v)
{
	uint64_t u = 0;
	bool neg;
	jsonr_num rc = whole(s, n, &u, &neg);
	if (rc != JSONR_NUM_OK)
		return rc;
	if (neg && u > (uint64_t)INT64_MAX + 1)
		return JSONR_NUM_RANGE;
	*v = (int64_t)(neg ? 0 - u : u);
	return JSONR_NUM_OK;
}
