// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A restricted pickle decoder: data only, protocols 0 to 5, nothing is ever run.
 *
 * The input lies in memory (read or gunzipped). A value is 8 bytes: small integers are held in
 * it, texts and large numbers stay in the input and the value is their offset, containers are an
 * index. Opcodes that name or call anything (GLOBAL, REDUCE, BUILD, ...) are an error that says
 * what they name. There is no recursion: depth costs what the input spends on it.
 *
 * Containers are compacted while they are read. The caller's `make` sees each dict when its items
 * are set or when it is put into a list, and each list when it becomes a dict's value; it may take
 * the content away and leave a (kind, id) in its place: a frame, a stack, an event. References
 * through the memo then see the same (kind, id), so what the pickle shares stays shared. A
 * container that was made so must not change any more; a pickle that does it is refused (none that
 * pickles data does).
 *
 * Memory: at most 96 bytes per input byte, whatever the input.
 */
#ifndef TIDE_IMPORT_TORCHSNAP_PICKLE_PICKLE_H
#define TIDE_IMPORT_TORCHSNAP_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

typedef uint64_t tide_pv; /* bits 0..3 tag, 4..63 payload */

typedef enum tide_pv_tag {
	TIDE_PV_NONE,  /* no value at all */
	TIDE_PV_CONST, /* 0 None, 1 False, 2 True */
	TIDE_PV_INT,   /* signed, 60 bits */
	TIDE_PV_KEY,   /* a text of the caller's keyword list: its index */
	TIDE_PV_TEXT,  /* offset of its opcode in the input */
	TIDE_PV_NUM,   /* float or integer that does not fit: offset of its opcode */
	TIDE_PV_BYTES, /* offset of its opcode */
	TIDE_PV_PAIR,  /* tuple of two integers in 0 .. 2^30-1: high << 30 | low */
	TIDE_PV_DICT,  /* index of an object; items are key, value, key, value ... */
	TIDE_PV_LIST,  /* index of an object: list, set or tuple */
	TIDE_PV_MADE,  /* what `make` left: kind (8 bits) << 32 | id */
} tide_pv_tag;

static inline tide_pv tide__pv(tide_pv_tag tag, uint64_t payload)
{
	return payload << 4 | (uint64_t)tag;
}
static inline tide_pv_tag tide__pv_tag(tide_pv v)
{
	return (tide_pv_tag)(v & 15);
}
static inline uint64_t tide__pv_payload(tide_pv v)
{
	return v >> 4;
}
static inline tide_pv tide__pv_made(unsigned kind, uint32_t id)
{
	return tide__pv(TIDE_PV_MADE, (uint64_t)kind << 32 | id);
}
/* Is it something `make` left, of this kind? Then *id is its id. */
static inline bool tide__pv_is(tide_pv v, unsigned kind, uint32_t *id)
{
	if (tide__pv_tag(v) != TIDE_PV_MADE || tide__pv_payload(v) >> 32 != kind)
		return false;
	*id = (uint32_t)tide__pv_payload(v);
	return true;
}

typedef struct tide_pickle tide_pickle;

typedef struct tide_pickle_client {
	void *user;
	const char *const *keywords; /* n_keywords texts, at most 255 bytes each */
	size_t n_keywords;	     /* at most 255 */
	/* A dict has its items: n values, key before value. Return TIDE_PV_NONE to keep it as it
	 * is, or a MADE value to stand for it. Values given are settled (tide__pickle_settle). */
	tide_pv (*make_dict)(void *user, tide_pickle *p, const tide_pv *items, size_t n);
	/* A list of n settled values becomes the value of `key` in a dict (NONE: key not known
	 * yet). */
	tide_pv (*make_list)(void *user, tide_pickle *p, tide_pv key, const tide_pv *items,
			     size_t n);
	/* A dict begins at the byte before `at`. If it is of a form the caller can read by itself:
	 * the byte after it, and *made = what stands for it. NULL, and nothing changed: the decoder
	 * goes on. May be NULL. For callers that know pickle_vm.h. */
	const uint8_t *(*flat)(void *user, tide_pickle *p, const uint8_t *at, tide_pv *made);
	/* A FRAME opcode at `op`: the caller may have decoded what follows out of turn. If so it
	 * has put it in its place, and the machine goes on at the byte returned; NULL: as usual.
	 * May be NULL. */
	const uint8_t *(*frame)(void *user, tide_pickle *p, const uint8_t *op);
	/* Set (with the error) by those above when they ran out of memory or hit a limit. */
	tide_code failed;
	/* Now and then: bytes decoded so far. May be NULL. */
	void (*progress)(void *user, uint64_t done);
} tide_pickle_client;

/* Decode `data` (n bytes, borrowed until tide__pickle_free). *root is the value STOP left.
 * TIDE_ETRUNC, TIDE_ECORRUPT, TIDE_EFORMAT (names a function), TIDE_ENOMEM; *out is NULL then. */
tide_code tide__pickle_load(const uint8_t *data, size_t n, tide_pickle_client *client,
			    tide_pickle **out, tide_pv *root, tide_error *err);
void tide__pickle_free(tide_pickle *p);

/* A reference to a made container becomes what was made of it; anything else stays. */
tide_pv tide__pickle_settle(const tide_pickle *p, tide_pv v);

/* Items of a DICT or LIST value, *n of them; NULL and 0 if it is neither (or was made). */
const tide_pv *tide__pickle_items(const tide_pickle *p, tide_pv v, size_t *n);
/* A long list of made values whose ids follow each other is kept as the first and their number, and
 * has no items: true, *first and *n then. */
bool tide__pickle_range(const tide_pickle *p, tide_pv v, tide_pv *first, size_t *n);
/* The value of keyword `key` in a dict, settled; the last one counts. NONE if there is none. */
tide_pv tide__pickle_get(const tide_pickle *p, tide_pv dict, unsigned key);
/* Byte offset where a value (or its container) stands in the input, TIDE_NO_OFFSET if unknown. */
uint64_t tide__pickle_offset(const tide_pickle *p, tide_pv v);

/* Bytes of a text, bytes or keyword value, *n of them; NULL if it is none. Borrowed until the next
 * call. UTF-8 as stored; protocol 0 escapes are decoded. */
const char *tide__pickle_text(tide_pickle *p, tide_pv v, size_t *n);
/* An integer (True and False count as 1 and 0) that fits; false otherwise. */
bool tide__pickle_i64(const tide_pickle *p, tide_pv v, int64_t *out);
/* The same for 0 .. 2^64-1; negative 64-bit values wrap (addresses were written so). */
bool tide__pickle_u64(const tide_pickle *p, tide_pv v, uint64_t *out);
/* A number that was written as a real one. */
bool tide__pickle_f64(const tide_pickle *p, tide_pv v, double *out);

/* Bytes after STOP. */
uint64_t tide__pickle_trailing(const tide_pickle *p);
/* TIDE_OK, or why tide__pickle_text gave up since the load (memory). */
tide_code tide__pickle_failed(const tide_pickle *p);

bool tide__pickle_more(void *vec, size_t *cap, size_t n, size_t size);
/* Room for element n of a vector of `size`-byte elements; `vec` is the address of its pointer. False on
 * exhaustion. */
static inline bool tide__pickle_room(void *vec, size_t *cap, size_t n, size_t size)
{
	return n < *cap || tide__pickle_more(vec, cap, n, size);
}

#endif
