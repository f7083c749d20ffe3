// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two tables and one small hash over both, made on first use. */
#include "import/kineto/words.h"

#include <pthread.h>
#include <string.h>

typedef struct word {
	const char *text;
	uint32_t value;
} word;

static const word keys[] = { { "", 0 },
#define X(id, text, cats) { text, cats },
			     KIN_KEYS(X)
#undef X
};

static const word cats[] = {
#define X(text, cat) { text, cat },
	KIN_CATS(X)
#undef X
};

enum { SLOTS = 256 };
static uint8_t key_slots[SLOTS], cat_slots[SLOTS]; /* index + 1, 0 = free */
static uint8_t key_len[KIN_N_KEYS], cat_len[sizeof cats / sizeof *cats];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static inline unsigned slot(const char *s, size_t n)
{
	return ((unsigned)n * 37 + (unsigned char)s[0] * 5 + (unsigned char)s[n - 1] * 11) % SLOTS;
}

static void put(uint8_t *slots, uint8_t *len, const word *w, unsigned i)
{
	size_t n = strlen(w[i].text);
	unsigned at = slot(w[i].text, n);
	while (slots[at])
		at = (at + 1) % SLOTS;
	slots[at] = (uint8_t)(i + 1);
	len[i] = (uint8_t)n;
}

static void make(void)
{
	for (unsigned i = 1; i < KIN_N_KEYS; i++)
		put(key_slots, key_len, keys, i);
	for (unsigned i = 0; i < sizeof cats / sizeof *cats; i++)
		put(cat_slots, cat_len, cats, i);
}

static inline unsigned find(const uint8_t *slots, const uint8_t *len, const word *w, const char *s,
			    size_t n)
{
	if (!n)
		return 0;
	for (unsigned at = slot(s, n); slots[at]; at = (at + 1) % SLOTS) {
		unsigned i = slots[at] - 1u;
		if (len[i] == n && !memcmp(w[i].text, s, n))
			return i + 1;
	}
	return 0;
}

kin_key tide__kin_find_key(const char *s, size_t n)
{
	pthread_once(&once, make);
	unsigned i = find(key_slots, key_len, keys, s, n);
	return i ? (kin_key)(i - 1) : KIN_KEY_NONE;
}

const char *tide__kin_key_text(kin_key k, uint32_t *where)
{
	*where = keys[k].value;
	return keys[k].text;
}

unsigned tide__kin_find_cat(const char *s, size_t n)
{
	pthread_once(&once, make);
	unsigned i = find(cat_slots, cat_len, cats, s, n);
	return i ? cats[i - 1].value : TIDE_CAT_OTHER;
}
