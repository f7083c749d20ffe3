// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A text is cut into identifiers ([A-Za-z0-9_]+). Later rules see what earlier ones marked: secrets
 * first, then public names, then technical parts of names. */
#include "redact/marks.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "redact/public.h"
#include "redact/text.h"

struct text {
	const char *s;
	size_t n;
	unsigned keep;
	uint8_t *marks;
};

static bool is_word(char c)
{
	return isalnum((uint8_t)c) || c == '_';
}

static void mark(struct text *t, size_t from, size_t to, uint8_t as)
{
	for (size_t i = from; i < to; i++)
		if (t->marks[i] != TIDE_MARK_DROP)
			t->marks[i] = as;
}

/* Returns the end of the identifier at i. */
static size_t word_end(const struct text *t, size_t i)
{
	while (i < t->n && is_word(t->s[i]))
		i++;
	return i;
}

static bool begins(const struct text *t, size_t i, const char *with)
{
	size_t k = strlen(with);
	return t->n - i >= k && !memcmp(t->s + i, with, k);
}

/* ---- secrets ---- */

bool tide__redact_names_secret(const char *s, size_t n)
{
	static const char *const ends[] = { "password",	   "passwd",	    "passphrase",
					    "secret",	   "token",	    "api_key",
					    "apikey",	   "access_key",    "private_key",
					    "secret_key",  "auth_key",	    "credential",
					    "credentials", "authorization", "bearer",
					    "cookie",	   "session_key" };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t k = strlen(ends[i]);
		if (n >= k && !strncasecmp(s + n - k, ends[i], k))
			return true;
	}
	return false;
}

static bool is_value(char c)
{
	return !isspace((uint8_t)c) && !strchr(",;&\"'()[]{}<>", c);
}

/* Drops a value unless it is a figure; returns 1 if it was dropped. */
static size_t drop_value(struct text *t, size_t from)
{
	size_t to = from;
	bool letters = false;
	for (; to < t->n && t->s[to] && is_value(t->s[to]); to++)
		letters |= isalpha((uint8_t)t->s[to]) != 0;
	if (!letters)
		return 0;
	mark(t, from, to, TIDE_MARK_DROP);
	return 1;
}

/* "NAME=VALUE", "NAME: VALUE", "--name VALUE", "Bearer VALUE". */
static size_t drop_named(struct text *t)
{
	size_t found = 0;
	for (size_t i = 0, to; i < t->n; i = to + 1) {
		to = word_end(t, i);
		if (to == i || !tide__redact_names_secret(t->s + i, to - i))
			continue;
		size_t at = to;
		bool quoted = at < t->n && strchr("\"'", t->s[at]) && t->s[at];
		at += quoted;
		bool told = at < t->n && (t->s[at] == '=' || t->s[at] == ':');
		bool option = i >= 2 && t->s[i - 1] == '-';
		for (size_t k = i; k > 0 && !option && (is_word(t->s[k - 1]) || t->s[k - 1] == '-');
		     k--)
			option = k >= 2 && t->s[k - 1] == '-' && t->s[k - 2] == '-';
		if (!told && !option && strncasecmp(t->s + i, "bearer", 6) != 0)
			continue;
		at += told;
		while (at < t->n && (t->s[at] == ' ' || t->s[at] == '"' || t->s[at] == '\''))
			at++;
		if (begins(t, at, "Bearer ") || begins(t, at, "Basic "))
			at += strcspn(t->s + at, " ") + 1;
		if (at > to && !begins(t, at, ":"))
			found += drop_value(t, at);
	}
	return found;
}

/* Tokens whose form is known, and long random ones. */
static bool is_token(const char *s, size_t n)
{
	static const char *const forms[] = { "ghp_",  "gho_", "ghs_",  "github_pat_",
					     "hf_",   "sk-",  "sk_",   "xoxb-",
					     "xoxp-", "AKIA", "ASIA",  "glpat-",
					     "eyJ",   "AIza", "ya29.", "wandb_" };
	size_t digits = 0, upper = 0, lower = 0;
	for (size_t i = 0; i < n; i++) {
		digits += isdigit((uint8_t)s[i]) != 0;
		upper += isupper((uint8_t)s[i]) != 0;
		lower += islower((uint8_t)s[i]) != 0;
	}
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (n >= strlen(forms[i]) + 14 && !memcmp(s, forms[i], strlen(forms[i])))
			return digits + upper > 2;
	return n >= 36 && digits >= 4 && upper >= 4 && lower >= 4 && !memchr(s, '_', n) &&
	       !memchr(s, '.', n);
}

static size_t drop_tokens(struct text *t)
{
	size_t found = 0;
	for (size_t i = 0, to; i < t->n; i = to + 1) {
		for (to = i;
		     to < t->n && (is_word(t->s[to]) || (t->s[to] && strchr("-.+/=", t->s[to])));)
			to++;
		/* a path is words between slashes: look at each */
		for (size_t from = i, end; from < to; from = end + 1) {
			const char *slash = memchr(t->s + from, '/', to - from);
			const char *equals = memchr(t->s + from, '=', to - from);
			end = slash ? (size_t)(slash - t->s) : to;
			if (equals && equals < t->s + end)
				end = (size_t)(equals - t->s);
			if (is_token(t->s + from, end - from)) {
				mark(t, from, end, TIDE_MARK_DROP);
				found++;
			}
		}
	}
	return found;
}

/* "scheme://user:password@host". */
static size_t drop_logins(struct text *t)
{
	size_t found = 0;
	for (size_t i = 0; i + 3 < t->n; i++) {
		if (!begins(t, i, "://"))
			continue;
		size_t to = i + 3;
		while (to < t->n && t->s[to] != '@' && t->s[to] != '/' &&
		       !isspace((uint8_t)t->s[to]))
			to++;
		if (to < t->n && t->s[to] == '@') {
			mark(t, i + 3, to, TIDE_MARK_DROP);
			found++;
		}
	}
	return found;
}

/* ---- figures and serial numbers ---- */

/* Returns the end of a number such as 0x7f00, 12, 1.5, 1e-05 that is not a part of a word; i if
 * there is none. */
static size_t number_end(const struct text *t, size_t i)
{
	size_t at = i;
	if (begins(t, i, "0x")) {
		for (at = i + 2; at < t->n && isxdigit((uint8_t)t->s[at]);)
			at++;
		return at > i + 2 && (at == t->n || !is_word(t->s[at])) ? at : i;
	}
	while (at < t->n && isdigit((uint8_t)t->s[at]))
		at++;
	if (at == i || at == t->n || (t->s[at] != 'e' && t->s[at] != 'x'))
		return i;
	if (t->s[at] == 'x') { /* 128x64x32 */
		while (at < t->n && (isdigit((uint8_t)t->s[at]) || t->s[at] == 'x'))
			at++;
		return at == t->n || !is_word(t->s[at]) ? at : i;
	}
	size_t digits = at + 1 + (at + 1 < t->n && strchr("+-", t->s[at + 1]) && t->s[at + 1]);
	for (at = digits; at < t->n && isdigit((uint8_t)t->s[at]);)
		at++;
	return at > digits && (at == t->n || !is_word(t->s[at])) ? at : i;
}

/* The x of 128x64. */
static bool is_times(const char *s, size_t i, size_t n)
{
	return s[i] == 'x' && i && i + 1 < n && isdigit((uint8_t)s[i - 1]) &&
	       isdigit((uint8_t)s[i + 1]);
}

/* Returns true if a run of letters and digits is a serial number, not a word with a figure. */
static bool is_serial(const char *s, size_t n)
{
	size_t digits = 0, changes = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_times(s, i, n))
			return false;
		digits += isdigit((uint8_t)s[i]) != 0;
		changes += i && !isdigit((uint8_t)s[i]) != !isdigit((uint8_t)s[i - 1]);
	}
	return digits >= 3 && digits < n && (changes >= 3 || digits >= 5);
}

/* Returns the end of an address such as 10.0.12.7; i if there is none. */
static size_t host_end(const struct text *t, size_t i)
{
	size_t at = i;
	for (int part = 0; part < 4; part++) {
		size_t from = at;
		while (at < t->n && at - from < 4 && isdigit((uint8_t)t->s[at]))
			at++;
		if (at == from || at - from > 3)
			return i;
		if (part < 3 && (at == t->n || t->s[at++] != '.'))
			return i;
	}
	return at < t->n && (is_word(t->s[at]) || t->s[at] == '.') ? i : at;
}

/* ---- public names ---- */

/* A file of PyTorch's, with what follows it: "torch/nn/modules/linear.py(114): forward". */
static void keep_torch_files(struct text *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!begins(t, i, "torch/") || (i && t->s[i - 1] != '/'))
			continue;
		bool installed = i >= 9 && !memcmp(t->s + i - 9, "packages/", 9);
		bool whole = !i || t->s[i - 1] == ';' || t->s[i - 1] == '\n';
		if (!installed && !whole)
			continue;
		size_t to = i;
		while (to < t->n && t->s[to] && !strchr(";\n\r", t->s[to]))
			to++;
		mark(t, i, to, TIDE_MARK_KEEP);
		i = to;
	}
}

/* Returns true if the identifier at `from` is inside a name space of PyTorch's C++ code. */
static bool in_torch_space(const struct text *t, size_t from)
{
	static const char *const roots[] = { "torch", "c10",	 "at",	"caffe2",
					     "std",   "cutlass", "cub", "thrust" };
	if (from < 3 || t->s[from - 1] != ':' || t->s[from - 2] != ':')
		return false;
	while (from >= 3 && t->s[from - 1] == ':' && t->s[from - 2] == ':' &&
	       is_word(t->s[from - 3])) {
		size_t to = from - 2;
		for (from = to; from && is_word(t->s[from - 1]);)
			from--;
		for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
			if (to - from == strlen(roots[i]) && begins(t, from, roots[i]) &&
			    (!from || t->s[from - 1] != ':'))
				return true;
	}
	return false;
}

/* Returns true if the identifier at `from` is an op: "mm" in "aten::mm". */
static bool is_op(const struct text *t, size_t from, size_t to)
{
	static const char *const spaces[] = {
		"aten::",      "prims::",    "c10d::", "_c10d_functional::",
		"quantized::", "profiler::", "nccl:",  "gloo:"
	};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		size_t k = strlen(spaces[i]);
		if (from >= k && begins(t, from - k, spaces[i]) &&
		    (from == k || !is_word(t->s[from - k - 1])))
			return tide__public_is_op(t->s + from, to - from) ||
			       tide__public_is_word(t->s + from, to - from);
	}
	return false;
}

/* "Linear_0" and "AddmmBackward0": without the number of the instance. */
static bool is_node(const char *s, size_t n)
{
	size_t k = n;
	while (k && isdigit((uint8_t)s[k - 1]))
		k--;
	return tide__public_is_node(s, n) ||
	       (k > 1 && k < n && s[k - 1] == '_' && tide__public_is_node(s, k - 1));
}

static bool is_ending(const struct text *t, size_t from, size_t to)
{
	static const char *const endings[] = { "py",  "pyx", "pyc",  "so",  "c",   "cc",
					       "cpp", "cxx", "cu",   "cuh", "h",   "hpp",
					       "js",  "gz",  "json", "pt",  "log", "mlir" };
	if (!from || t->s[from - 1] != '.')
		return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (to - from == strlen(endings[i]) && begins(t, from, endings[i]))
			return true;
	return false;
}

static bool stays(const struct text *t, size_t from, size_t to)
{
	const char *s = t->s + from;
	size_t n = to - from;
	if (tide__public_is_word(s, n) || is_ending(t, from, to))
		return true;
	if (t->keep & TIDE_PUBLIC_ATEN && is_op(t, from, to))
		return true;
	if (t->keep & TIDE_PUBLIC_CUDA && tide__public_is_call(s, n))
		return true;
	if (!(t->keep & TIDE_PUBLIC_TORCH))
		return false;
	static const char *const spaces[] = { "torch", "c10", "at", "std" };
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (n == strlen(spaces[i]) && begins(t, from, spaces[i]) && begins(t, to, "::"))
			return true;
	return is_node(s, n) || in_torch_space(t, from);
}

/* Python's C API, libc's start: frames that reports leave out of stacks. */
static size_t api_prefix(const char *s, size_t n)
{
	static const char *const of[] = { "_Py", "Py", "_start", "__libc_" };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		size_t k = strlen(of[i]);
		if (n >= k && !memcmp(s, of[i], k) &&
		    (n == k || !islower((uint8_t)s[k]) || s[k - 1] == '_'))
			return k;
	}
	return 0;
}

static void mark_parts(struct text *t, size_t from, size_t to)
{
	size_t k = api_prefix(t->s + from, to - from);
	mark(t, from, from + k, TIDE_MARK_KEEP);
	for (size_t i = from + k, n; i < to; i += n ? n : 1) {
		n = tide__public_part(t->s + i, to - i);
		mark(t, i, i + n, TIDE_MARK_KEEP);
	}
}

static void mark_serials(struct text *t, size_t from, size_t to)
{
	for (size_t i = from, end; i < to; i = end + 1) {
		for (end = i; end < to && t->s[end] != '_';)
			end++;
		if (is_serial(t->s + i, end - i))
			for (size_t k = i; k < end; k++)
				if (t->marks[k] == TIDE_MARK_WORD)
					t->marks[k] = TIDE_MARK_SERIAL;
	}
}

static size_t mark_word(struct text *t, size_t from, bool path)
{
	size_t to = host_end(t, from);
	if (to > from && (!from || !(is_word(t->s[from - 1]) || t->s[from - 1] == '.'))) {
		mark(t, from, to, TIDE_MARK_SERIAL);
		return to;
	}
	if ((to = number_end(t, from)) > from) {
		mark(t, from, to, TIDE_MARK_KEEP);
		return to;
	}
	to = word_end(t, from);
	if (t->marks[from] == TIDE_MARK_KEEP)
		return to;
	if (stays(t, from, to)) {
		mark(t, from, to, TIDE_MARK_KEEP);
		return to;
	}
	for (size_t i = from; i < to; i++)
		if (is_times(t->s, i, to))
			mark(t, i, i + 1, TIDE_MARK_KEEP);
	if (!path)
		mark_parts(t, from, to);
	mark_serials(t, from, to);
	return to;
}

size_t tide__redact_marks(const char *s, size_t n, unsigned keep, uint8_t *marks)
{
	struct text t = { s, n, keep, marks };
	memset(marks, TIDE_MARK_WORD, n);
	size_t found = drop_named(&t) + drop_tokens(&t) + drop_logins(&t);
	if (keep & TIDE_PUBLIC_KERNELS && tide__public_is_kernel(s, n)) {
		mark(&t, 0, n, TIDE_MARK_KEEP);
		return found;
	}
	if (keep & TIDE_PUBLIC_TORCH)
		keep_torch_files(&t);
	bool path = memchr(s, '/', n) != NULL;
	for (size_t i = 0; i < n;)
		i = is_word(s[i]) ? mark_word(&t, i, path) : i + 1;
	return found;
}
