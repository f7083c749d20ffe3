// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decides for each byte of a text what becomes of it. No allocation; thread-safe. */
#ifndef TIDE_REDACT_MARKS_H
#define TIDE_REDACT_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum {			 /* marks */
       TIDE_MARK_WORD,	 /* letters are replaced, digits stay */
       TIDE_MARK_KEEP,	 /* stays */
       TIDE_MARK_DROP,	 /* letters and digits become x */
       TIDE_MARK_SERIAL, /* letters and digits are replaced: an address of a host, a serial number */
};

/* Fills marks[0 .. n). `keep` has TIDE_PUBLIC_*. Returns how many secrets were found. */
size_t tide__redact_marks(const char *s, size_t n, unsigned keep, uint8_t *marks);

#endif
