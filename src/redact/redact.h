// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Copies of recordings and traces that may leave the company: `tidemark redact`.
 *
 *     text.h    what becomes of one text          public.h   names that may stay
 *     json.c    any JSON document                 tide.c     our recordings
 *     pickle.c  snapshots and Flight Recorder dumps
 *
 * Each writer reads its input completely, changes every text in it, and writes nothing that it has
 * not understood: bytes between and behind the parts of a file are left out. */
#ifndef TIDE_REDACT_REDACT_H
#define TIDE_REDACT_REDACT_H

#include <stdio.h>

#include <tidemark/error.h>

#include "format/rewrite.h"
#include "redact/text.h"

struct tide_source;

typedef enum tide_redact_kind {
	TIDE_REDACT_NONE, /* none that can be redacted */
	TIDE_REDACT_TIDE,
	TIDE_REDACT_JSON,
	TIDE_REDACT_PICKLE,
} tide_redact_kind;

/* Returns the kind of a file by its first expanded bytes. */
tide_redact_kind tide__redact_kind(const unsigned char *head, size_t n);

/* Reads one JSON document from `in` and writes it to `out`. White space and numbers stay as they
 * are. Returns TIDE_ECORRUPT or TIDE_ETRUNC with the byte (of the expanded input) where it is not
 * JSON; TIDE_ELIMIT for a text above 64 MiB or more than 4,096 levels. Write errors are seen by
 * ferror(out). */
tide_code tide__redact_json(tide_redactor *r, struct tide_source *in, FILE *out, tide_error *err);

/* Redacts a pickle of n bytes in place and returns its length up to its end in *used. Byte strings
 * become zeros. Returns TIDE_ECORRUPT, TIDE_ETRUNC, or TIDE_EFORMAT for opcodes that name or call
 * anything. */
tide_code tide__redact_pickle(tide_redactor *r, unsigned char *data, size_t n, size_t *used,
			      tide_error *err);

/* Edits one chunk of a recording: tide_rewrite_from.edit; `user` is a tide_redactor. */
tide_code tide__redact_chunk(void *user, const tide_schema *schema, tide_chunk_head *h,
			     uint8_t *payload, tide_error *err);

#endif
