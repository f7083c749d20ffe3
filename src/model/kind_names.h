// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Columns whose numbers stand for words: which they are, and their words. One list for whoever
 * shows rows as they are (dump, Arrow). */
#ifndef TIDE_MODEL_KIND_NAMES_H
#define TIDE_MODEL_KIND_NAMES_H

/** Word of a number, "unknown" where it has none: tide__role_text and its like. */
typedef const char *(*tide_words)(unsigned k);

/** The words of a column, NULL where its numbers are numbers. */
tide_words tide__words_of(const char *table, const char *column);
/** How many numbers have a word, from 0 on without a gap; 0 counts, whatever it is called. */
unsigned tide__words_count(tide_words words);

#endif
