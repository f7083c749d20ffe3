// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/option.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool parse_int(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (end == text || *end || errno || isspace((unsigned char)*text))
		return false;
	*out = v;
	return true;
}

static bool parse_real(const char *text, double *out)
{
	char *end;
	*out = strtod(text, &end);
	return *text && !text[strspn(text, "0123456789.")] && !*end;
}

/* Parses a decimal number as a count of 10^-decimals. Returns false for anything else, for more
 * decimals, and on overflow. */
static bool parse_decimal(const char *s, int decimals, int64_t *out)
{
	int64_t v = 0;
	int left = -1; /* decimals left; -1 before the point */
	bool digits = false;
	for (; *s; s++) {
		if (*s == '.' && left < 0) {
			left = decimals;
			continue;
		}
		if (*s < '0' || *s > '9' || !left || v > (INT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (*s - '0');
		digits = true;
		left -= left > 0;
	}
	for (left = left < 0 ? decimals : left; left; left--) {
		if (v > INT64_MAX / 10)
			return false;
		v *= 10;
	}
	*out = v;
	return digits;
}

/* "3" or "3..5" */
static bool parse_range(const char *s, tide_value *v)
{
	char *end;
	errno = 0;
	v->num = v->last = strtoll(s, &end, 10);
	if (end == s || errno || v->num < 0)
		return false;
	if (!strncmp(end, "..", 2)) {
		s = end + 2;
		v->last = strtoll(s, &end, 10);
	}
	return end != s && !*end && !errno && v->last >= v->num;
}

int tide__word_index(const char *words, const char *text)
{
	size_t n = strlen(text);
	int i = 0;
	for (const char *c = words; n; c++, i++) {
		size_t k = strcspn(c, ",");
		if (k == n && !memcmp(c, text, n))
			return i;
		c += k;
		if (!*c)
			break;
	}
	return -1;
}

static tide_code in_range(const tide_option *o, const char *name, const char *text, int64_t v,
			  tide_error *err)
{
	if (v >= o->least && (!o->most || v <= o->most))
		return TIDE_OK;
	if (o->most)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s needs %" PRId64 " to %" PRId64 ", not '%s'", name, o->least,
				  o->most, text);
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "%s needs %" PRId64 " or more, not '%s'", name, o->least, text);
}

static tide_code parse_bytes(const tide_option *o, const char *name, tide_value *v, tide_error *err)
{
	const char *text = v->text;
	if (!strncmp(name, "--", 2) && tide__lacks_unit(text))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  strlen(text) > 4
					  ? "%s needs a unit: %.40sB"
					  : "%s needs a unit: %.40sGiB, or %.40sB for bytes",
				  name, text, text);
	if (!tide__parse_bytes(text, &v->num) || v->num < o->least)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s needs a size such as 512KiB or 2GiB, not '%s'", name, text);
	return TIDE_OK;
}

tide_code tide__option_parse(const tide_option *o, const char *name, const char *text,
			     tide_value *v, tide_error *err)
{
	v->set = true;
	v->text = text;
	switch (o->kind) {
	case TIDE_OPT_INT:
		if (!parse_int(text, &v->num))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs an integer, not '%s'", name, text);
		return in_range(o, name, text, v->num, err);
	case TIDE_OPT_REAL:
		if (!parse_real(text, &v->real))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs a number, not '%s'", name, text);
		if (o->most && v->real > (double)o->most)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs 0 to %" PRId64 ", not '%s'", name, o->most,
					  text);
		return TIDE_OK;
	case TIDE_OPT_DECIMAL:
		if (!parse_decimal(text, o->decimals, &v->num))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs a number with at most %d decimals, not '%.60s'",
					  name, o->decimals, text);
		return TIDE_OK;
	case TIDE_OPT_RANGE:
		if (!parse_range(text, v))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs N or A..B, not '%.60s'", name, text);
		return TIDE_OK;
	case TIDE_OPT_BYTES:
		return parse_bytes(o, name, v, err);
	case TIDE_OPT_ENUM:
		v->num = tide__word_index(o->arg, text);
		if (v->num < 0)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s needs one of %s, not '%s'", name, o->arg, text);
		return TIDE_OK;
	default:
		return TIDE_OK;
	}
}

tide_code tide__option_take(const tide_option *o, const char *name, const char *text, tide_value *v,
			    tide_error *err)
{
	tide_code rc = tide__option_parse(o, name, text, v, err);
	if (rc != TIDE_OK || !o->many)
		return rc;
	if (!TIDE_RESIZE(v->list, v->n_list + 1) || !TIDE_RESIZE(v->numbers, v->n_list + 1))
		return tide__nomem(err);
	v->list[v->n_list] = text;
	v->numbers[v->n_list++] = v->num;
	return TIDE_OK;
}

tide_code tide__options_resolve(const tide_option *o, size_t n, const char *dashes,
				const tide_model *m, tide_value *v, tide_error *err)
{
	tide_code rc = TIDE_OK;
	char name[80];
	for (size_t i = 0; i < n && rc == TIDE_OK; i++) {
		const char *text = v[i].set ? v[i].text : NULL;
		snprintf(name, sizeof name, "%s%s", dashes, o[i].name);
		if (o[i].kind == TIDE_OPT_DEVICE)
			rc = tide__take_device(name, text, m, &v[i].device, err);
		else if (o[i].kind == TIDE_OPT_ONE_DEVICE)
			rc = tide__take_one_device(name, text, m, &v[i].device, err);
		else if (o[i].kind == TIDE_OPT_MOMENT)
			rc = tide__take_moment(name, text, m, &v[i].moment, err);
	}
	return rc;
}

void tide__options_begin(const tide_option *o, size_t n, tide_value *v)
{
	tide_error err;
	for (size_t i = 0; i < n; i++) {
		v[i] = (tide_value){ 0 };
		if (o[i].def)
			tide__option_parse(&o[i], o[i].name, o[i].def, &v[i], &err);
	}
}

void tide__options_end(tide_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		tide__free(v[i].list);
		tide__free(v[i].numbers);
	}
}
