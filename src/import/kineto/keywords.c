// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two small hash tables of the words, built on first use. */
#include "import/kineto/keywords.h"

#include <pthread.h>

static const struct {
	const char *text;
	uint32_t value;
} keys[] = { { "", 0 },
#define X(id, text, cats) { text, cats },
	     KIN_KEYS(X)
#undef X
#define X(text, cat) { text, KIN_BIT(cat) },
		     KIN_SHAPES(X) KIN_LAUNCH(X)
#undef X
},
  cats[] = {
#define X(text, cat) { text, cat },
	  KIN_CATS(X)
#undef X
  };

static kin_words key_words, cat_words;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void put(kin_words *w, const char *text, uint32_t value)
{
	size_t n = strlen(text);
	unsigned at = kin_word_slot(text, n);
	while (w->slots[at].n)
		at = (at + 1) % KIN_SLOTS;
	kin_word *k = &w->slots[at];
	k->text = text;
	k->n = (uint32_t)n;
	k->value = value;
	memcpy(&k->head, text, n < 8 ? n : 8);
}

static void make(void)
{
	for (uint32_t i = 1; i < sizeof keys / sizeof *keys; i++)
		put(&key_words, keys[i].text, i);
	for (size_t i = 0; i < sizeof cats / sizeof *cats; i++)
		put(&cat_words, cats[i].text, cats[i].value);
}

const kin_words *tide__kineto_key_words(void)
{
	pthread_once(&once, make);
	return &key_words;
}

const kin_words *tide__kineto_cat_words(void)
{
	pthread_once(&once, make);
	return &cat_words;
}

const char *tide__kineto_key_text(kin_key k, uint32_t *where)
{
	*where = keys[k].value;
	return keys[k].text;
}
