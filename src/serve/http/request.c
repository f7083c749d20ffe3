// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/http/request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool refuse(tide_request *r, const char *why)
{
	r->wrong = why;
	return false;
}

/* ---- path ---- */

static bool part_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static bool parse_path(tide_request *r, const char *p, size_t n)
{
	if (!n || *p != '/')
		return refuse(r, "the path does not begin with /");
	for (size_t at = 1, len; at < n; at += len + 1) {
		for (len = 0; at + len < n && p[at + len] != '/'; len++)
			if (!part_char(p[at + len]))
				return refuse(r, "the path contains an invalid character");
		if (!len || len >= TIDE_REQ_PART || r->n_parts == TIDE_REQ_PARTS)
			return refuse(r, "no such path");
		if (p[at] == '.' && (len == 1 || (len == 2 && p[at + 1] == '.')))
			return refuse(r, "the path contains . or ..");
		memcpy(r->part[r->n_parts], p + at, len);
		r->part[r->n_parts++][len] = 0;
	}
	return true;
}

/* ---- query ---- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(tide_request *r, const char *p, size_t n, char *out)
{
	size_t have = 0;
	for (size_t i = 0; i < n; i++) {
		char c = p[i] == '+' ? ' ' : p[i];
		if (c == '%') {
			int hi = n - i > 2 ? hex(p[i + 1]) : -1;
			int lo = hi >= 0 ? hex(p[i + 2]) : -1;
			if (lo < 0)
				return refuse(r, "a % without two hexadecimal digits");
			c = (char)(hi << 4 | lo);
			i += 2;
		}
		if (!c)
			return refuse(r, "a NUL in a value");
		if (have + 1 >= TIDE_REQ_VALUE)
			return refuse(r, "a value is too long");
		out[have++] = c;
	}
	out[have] = 0;
	return true;
}

static bool parse_key(tide_request *r, const char *p, size_t n, char *out)
{
	if (!n || n >= TIDE_REQ_KEY)
		return refuse(r, "unknown parameter");
	for (size_t i = 0; i < n; i++)
		if (!(p[i] >= 'a' && p[i] <= 'z') && p[i] != '_')
			return refuse(r, "unknown parameter");
	memcpy(out, p, n);
	out[n] = 0;
	return true;
}

static bool parse_query(tide_request *r, const char *p)
{
	while (*p) {
		size_t n = strcspn(p, "&"), key = 0;
		while (key < n && p[key] != '=')
			key++;
		if (n) {
			if (r->n_pairs == TIDE_REQ_PAIRS)
				return refuse(r, "too many parameters");
			char *k = r->pair[r->n_pairs].key, *v = r->pair[r->n_pairs].value;
			if (!parse_key(r, p, key, k))
				return false;
			r->twice |= tide__request_get(r, k) != NULL;
			if (!decode(r, p + key + (key < n), n - key - (key < n), v))
				return false;
			r->n_pairs++;
		}
		p += n + (p[n] == '&');
	}
	return true;
}

bool tide__request_parse(const char *target, tide_request *r)
{
	r->n_parts = r->n_pairs = 0;
	r->wrong = NULL;
	r->twice = false;
	if (strnlen(target, TIDE_REQ_TARGET) == TIDE_REQ_TARGET)
		return refuse(r, "the address is too long");
	size_t path = strcspn(target, "?");
	return parse_path(r, target, path) && (!target[path] || parse_query(r, target + path + 1));
}

const char *tide__request_get(const tide_request *r, const char *key)
{
	for (size_t i = 0; i < r->n_pairs; i++)
		if (!strcmp(r->pair[i].key, key))
			return r->pair[i].value;
	return NULL;
}

bool tide__request_get_decimal(tide_request *r, const char *key, int decimals, int64_t most,
			       int64_t *out)
{
	const char *s = tide__request_get(r, key);
	int64_t v = 0;
	int left = -1; /* decimals still to come; -1 before the point */
	bool digits = false;
	if (!s)
		return true;
	for (; *s; s++) {
		if (*s == '.' && left < 0 && decimals) {
			left = decimals;
			continue;
		}
		if (*s < '0' || *s > '9' || !left || v > (INT64_MAX - 9) / 10)
			return refuse(r, "a parameter is not a number in range");
		v = v * 10 + (*s - '0');
		digits = true;
		left -= left > 0;
	}
	for (left = left < 0 ? decimals : left; left; left--) {
		if (v > INT64_MAX / 10)
			return refuse(r, "a parameter is not a number in range");
		v *= 10;
	}
	if (!digits || v > most)
		return refuse(r, "a parameter is not a number in range");
	*out = v;
	return true;
}

bool tide__request_get_int(tide_request *r, const char *key, int64_t least, int64_t most,
			   int64_t *out)
{
	int64_t v = least;
	if (!tide__request_get(r, key))
		return true;
	if (!tide__request_get_decimal(r, key, 0, most, &v))
		return false;
	if (v < least)
		return refuse(r, "a parameter is not a number in range");
	*out = v;
	return true;
}

bool tide__request_get_choice(tide_request *r, const char *key, const char *const *words, size_t n,
			      size_t *out)
{
	const char *s = tide__request_get(r, key);
	for (size_t i = 0; s && i < n; i++)
		if (!strcmp(s, words[i])) {
			*out = i;
			return true;
		}
	return !s || refuse(r, "a parameter has an invalid value");
}

/* ---- access: Host, Origin, token, cookie ---- */

/* Extracts the name from "name", "name:80", "[::1]:80" into buf, without brackets. Returns false
 * for anything else. */
static bool host_name(const char *host, char *buf, size_t n)
{
	bool bracket = *host == '[';
	size_t len = bracket ? strcspn(host + 1, "]") : strcspn(host, ":");
	const char *rest = host + bracket + len;
	if (bracket && *rest++ != ']')
		return false;
	if (*rest) {
		size_t digits = strspn(rest + 1, "0123456789");
		if (*rest != ':' || !digits || digits > 5 || rest[1 + digits])
			return false;
	}
	if (!len || len >= n)
		return false;
	memcpy(buf, host + bracket, len);
	buf[len] = 0;
	return true;
}

bool tide__host_allowed(const char *host, const char *also)
{
	char name[256];
	unsigned char address[16];
	if (!host || !host_name(host, name, sizeof name))
		return false;
	if (*host == '[')
		return inet_pton(AF_INET6, name, address) == 1;
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, address) == 1 ||
	       (also && !strcasecmp(name, also));
}

bool tide__origin_allowed(const char *origin, const char *host)
{
	size_t scheme = !strncmp(origin, "http://", 7)	  ? 7
			: !strncmp(origin, "https://", 8) ? 8
							  : 0;
	return scheme && host && !strcasecmp(origin + scheme, host);
}

bool tide__token_equal(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned char differ = n != m;
	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ (m ? b[i % m] : 0));
	return !differ;
}

bool tide__cookie_get(const char *header, const char *name, char *buf, size_t n)
{
	size_t len = strlen(name);
	for (const char *p = header; p && *p;) {
		p += strspn(p, " \t;");
		size_t size = strcspn(p, ";");
		if (size > len && !strncmp(p, name, len) && p[len] == '=') {
			size_t value = size - len - 1;
			while (value && (p[size - 1] == ' ' || p[size - 1] == '\t'))
				size--, value--;
			if (value >= n)
				return false;
			memcpy(buf, p + len + 1, value);
			buf[value] = 0;
			return true;
		}
		p += size;
	}
	return false;
}
