// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The restricted decoder (import/torchsnap/pickle) has accepted the pickle before, so opcodes and
 * lengths are right; this walk changes the texts between them, which keep their lengths. */
#include "redact/redact.h"

#include <string.h>

#include "base/error.h"
#include "import/torchsnap/pickle/pickle.h"
#include "import/torchsnap/pickle/pickle_vm.h"

/* How the argument of an opcode is laid out. */
enum form { REFUSED, FIXED, COUNTED, LINE };

struct opcode {
	char code;
	uint8_t form;
	uint8_t n;  /* bytes of the argument (FIXED) or of its length (COUNTED) */
	char holds; /* 't' text, 'b' bytes, 'n' numbers */
};

static const struct opcode opcodes[] = {
	{ '\x80', FIXED, 1, 'n' },   { '\x95', FIXED, 8, 'n' }, /* PROTO, FRAME */
	{ '(', FIXED, 0, 'n' },	     { '.', FIXED, 0, 'n' },	  { '0', FIXED, 0, 'n' },
	{ '1', FIXED, 0, 'n' },	     { '2', FIXED, 0, 'n' },	  { 'N', FIXED, 0, 'n' },
	{ '\x88', FIXED, 0, 'n' },   { '\x89', FIXED, 0, 'n' },	  { ')', FIXED, 0, 'n' },
	{ ']', FIXED, 0, 'n' },	     { '}', FIXED, 0, 'n' },	  { '\x8f', FIXED, 0, 'n' },
	{ 'a', FIXED, 0, 'n' },	     { 'e', FIXED, 0, 'n' },	  { 's', FIXED, 0, 'n' },
	{ 'u', FIXED, 0, 'n' },	     { 'l', FIXED, 0, 'n' },	  { 'd', FIXED, 0, 'n' },
	{ 't', FIXED, 0, 'n' },	     { '\x85', FIXED, 0, 'n' },	  { '\x86', FIXED, 0, 'n' },
	{ '\x87', FIXED, 0, 'n' },   { '\x90', FIXED, 0, 'n' },	  { '\x91', FIXED, 0, 'n' },
	{ '\x94', FIXED, 0, 'n' },   { 'q', FIXED, 1, 'n' },	  { 'r', FIXED, 4, 'n' },
	{ 'h', FIXED, 1, 'n' },	     { 'j', FIXED, 4, 'n' },	  { 'K', FIXED, 1, 'n' },
	{ 'M', FIXED, 2, 'n' },	     { 'J', FIXED, 4, 'n' },	  { 'G', FIXED, 8, 'n' },
	{ '\x8a', COUNTED, 1, 'n' }, { '\x8b', COUNTED, 4, 'n' }, /* LONG1, LONG4 */
	{ '\x8c', COUNTED, 1, 't' }, { 'X', COUNTED, 4, 't' },	  { '\x8d', COUNTED, 8, 't' },
	{ 'U', COUNTED, 1, 't' },    { 'T', COUNTED, 4, 't' },	  { 'C', COUNTED, 1, 'b' },
	{ 'B', COUNTED, 4, 'b' },    { '\x8e', COUNTED, 8, 'b' }, { '\x96', COUNTED, 8, 'b' },
	{ 'S', LINE, 0, 't' },	     { 'V', LINE, 0, 't' },	  { 'I', LINE, 0, 'n' },
	{ 'L', LINE, 0, 'n' },	     { 'F', LINE, 0, 'n' },	  { 'p', LINE, 0, 'n' },
	{ 'g', LINE, 0, 'n' },
};

static const struct opcode *find(uint8_t code)
{
	for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
		if ((uint8_t)opcodes[i].code == code)
			return &opcodes[i];
	return NULL;
}

struct walk {
	tide_redactor *r;
	uint8_t *data;
	size_t n, at;
	size_t frame_end; /* of the last frame */
	bool secret, was_secret;
};

/* The value of a name of a secret follows the name in a dict: only marks and memo opcodes are
 * between them. */
static bool change_text(struct walk *w, uint8_t *s, size_t n)
{
	bool names = tide__redact_names_secret((char *)s, n);
	bool ok = w->was_secret ? tide__redact_secret(w->r, (char *)s, n)
				: tide__redact_text(w->r, (char *)s, n);
	w->secret = names;
	return ok;
}

/* A line's escapes are not decoded: a line that has some is dropped. */
static bool change_line(struct walk *w, uint8_t *s, size_t n)
{
	if (!memchr(s, '\\', n))
		return change_text(w, s, n);
	bool quoted = n >= 2 && (s[0] == '\'' || s[0] == '"');
	memset(s + quoted, 'x', n - 2 * (size_t)quoted);
	return true;
}

static tide_code step(struct walk *w, tide_error *err)
{
	const size_t from = w->at++;
	const struct opcode *o = find(w->data[from]);
	size_t n = o ? o->n : 0;
	bool ok = true;
	if (!o)
		return tide__fail(err, TIDE_EFORMAT, from, "opcode 0x%02x is not one of data",
				  w->data[from]);
	if (o->form == LINE) {
		const uint8_t *nl = memchr(w->data + w->at, '\n', w->n - w->at);
		if (!nl)
			return tide__fail(err, TIDE_ETRUNC, from, "a line does not end");
		n = (size_t)(nl - w->data) - w->at;
		ok = o->holds != 't' || change_line(w, w->data + w->at, n);
		n++;
	} else if (n > w->n - w->at) {
		return tide__fail(err, TIDE_ETRUNC, from, "the pickle ends early");
	} else if (o->form == COUNTED) {
		uint64_t length = tide__pickle_le(w->data + w->at, n);
		w->at += n;
		if (length > w->n - w->at)
			return tide__fail(err, TIDE_ETRUNC, from, "the pickle ends early");
		n = (size_t)length;
		if (o->holds == 'b')
			memset(w->data + w->at, 0, n);
		ok = o->holds != 't' || change_text(w, w->data + w->at, n);
	}
	if (w->data[from] == 0x95) {
		uint64_t length = tide__pickle_le(w->data + w->at, 8);
		w->frame_end = length < w->n - w->at - 8 ? w->at + 8 + (size_t)length : w->n;
	}
	w->at += n;
	return ok ? TIDE_OK : tide__nomem(err);
}

static tide_pv keep_dict(void *user, tide_pickle *p, const tide_pv *items, size_t n)
{
	(void)user, (void)p, (void)items, (void)n;
	return TIDE_PV_NONE;
}

static tide_pv keep_list(void *user, tide_pickle *p, tide_pv key, const tide_pv *items, size_t n)
{
	(void)user, (void)p, (void)key, (void)items, (void)n;
	return TIDE_PV_NONE;
}

tide_code tide__redact_pickle(tide_redactor *r, unsigned char *data, size_t n, size_t *used,
			      tide_error *err)
{
	tide_pickle_client client = { .make_dict = keep_dict, .make_list = keep_list };
	tide_pickle *p = NULL;
	tide_pv root;
	tide_code rc = tide__pickle_load(data, n, &client, &p, &root, err);
	tide__pickle_free(p);
	struct walk w = { .r = r, .data = data, .n = n };
	while (!rc && w.at < n) {
		const uint8_t code = data[w.at];
		if (code == '.') { /* STOP; a frame that ends later keeps its length */
			*used = w.frame_end > w.at + 1 ? w.frame_end : w.at + 1;
			memset(data + w.at + 1, 0, *used - w.at - 1);
			return TIDE_OK;
		}
		bool between =
			code == 0x94 || code == 'q' || code == 'r' || code == 'p' || code == 0x95;
		w.was_secret = w.secret;
		if (!between)
			w.secret = false;
		rc = step(&w, err);
	}
	return rc ? rc : tide__fail(err, TIDE_ETRUNC, n, "the pickle ends early");
}
