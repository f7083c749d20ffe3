// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Columns that hold enum numbers, and the text of each number. One list for everything that shows
 * raw rows (dump, Arrow). */
#ifndef TIDE_MODEL_KIND_NAMES_H
#define TIDE_MODEL_KIND_NAMES_H

/** Returns the text of a number, "unknown" if it has none: tide__role_text and similar
 * functions. */
typedef const char *(*tide_kind_names)(unsigned k);

/** Returns the text function of a column, NULL if its values are plain numbers. */
tide_kind_names tide__kind_names_of(const char *table, const char *column);
/** Returns how many numbers have a text; numbers start at 0 without gaps. */
unsigned tide__kind_names_count(tide_kind_names words);

/* Returns the name of a table (column NULL) or a column in files of tables, where two have another
 * one (docs/formats/tide.md). Borrowed. */
const char *tide__stored_name(const char *table, const char *column);

#endif
