// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A restricted pickle decoder: data only, protocols 0 to 5, nothing is ever run.
 *
 * The input is in memory, decompressed. A value is 8 bytes: small integers are stored in it, texts
 * and large numbers stay in the input and the value is their offset, containers are an index.
 * Opcodes that name or call anything (GLOBAL, REDUCE, BUILD, ...) are an error that quotes the
 * name. There is no recursion: nesting depth is bounded by the input's size.
 *
 * Containers are compacted while they are read. The caller's `make` sees each dict when its items
 * are set or when it is put into a list, and each list when it becomes a dict's value; it may
 * replace the content by a (kind, id): a frame, a stack, an event. References through the memo then
 * see the same (kind, id), so shared objects stay shared. A replaced container must not change
 * afterwards; a pickle that changes one is rejected (pickled data never does).
 *
 * Memory: at most 96 bytes per input byte, for any input.
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
	TIDE_PV_MADE,  /* result of `make`: kind (8 bits) << 32 | id */
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
/* Returns true and sets *id if it is a result of `make` of this kind. */
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
	/* Called when a dict has its items: n values, key before value. Return TIDE_PV_NONE to keep
	 * it, or a MADE value to replace it. The values are settled (tide__pickle_settle). */
	tide_pv (*make_dict)(void *user, tide_pickle *p, const tide_pv *items, size_t n);
	/* Called when a list of n settled values becomes the value of `key` in a dict (NONE: key
	 * not known yet). */
	tide_pv (*make_list)(void *user, tide_pickle *p, tide_pv key, const tide_pv *items,
			     size_t n);
	/* Called when a dict begins at the byte before `at`. If the caller can read its form
	 * itself, it returns the byte after it and sets *made to its replacement. Return NULL, with
	 * nothing changed, to let the decoder continue. May be NULL. For callers that use
	 * pickle_vm.h. */
	const uint8_t *(*flat)(void *user, tide_pickle *p, const uint8_t *at, tide_pv *made);
	/* Called at a FRAME opcode at `op`: the caller may have decoded the following bytes in
	 * parallel. If so, it stores the results and returns the byte to continue at; NULL:
	 * continue as usual. May be NULL. */
	const uint8_t *(*frame)(void *user, tide_pickle *p, const uint8_t *op);
	/* Set (with the error) by the callbacks above when memory runs out or a limit is hit. */
	tide_code failed;
	/* Called from time to time with the bytes decoded so far. May be NULL. */
	void (*progress)(void *user, uint64_t done);
} tide_pickle_client;

/* Decodes `data` (n bytes, borrowed until tide__pickle_free). *root is the value left by STOP.
 * Returns TIDE_ETRUNC, TIDE_ECORRUPT, TIDE_EFORMAT (names a function) or TIDE_ENOMEM; *out is
 * then NULL. */
tide_code tide__pickle_load(const uint8_t *data, size_t n, tide_pickle_client *client,
			    tide_pickle **out, tide_pv *root, tide_error *err);
void tide__pickle_free(tide_pickle *p);

/* Returns the replacement of a replaced container; any other value unchanged. */
tide_pv tide__pickle_settle(const tide_pickle *p, tide_pv v);

/* Returns the *n items of a DICT or LIST value; NULL and 0 if it is neither (or was replaced). */
const tide_pv *tide__pickle_items(const tide_pickle *p, tide_pv v, size_t *n);
/* A long list of MADE values with consecutive ids is stored as the first and their number,
 * without items. Returns true and sets *first and *n for such a list. */
bool tide__pickle_range(const tide_pickle *p, tide_pv v, tide_pv *first, size_t *n);
/* Returns the value of keyword `key` in a dict, settled; the last one wins. NONE if absent. */
tide_pv tide__pickle_get(const tide_pickle *p, tide_pv dict, unsigned key);
/* Returns the byte offset of a value (or its container) in the input, TIDE_NO_OFFSET if unknown. */
uint64_t tide__pickle_offset(const tide_pickle *p, tide_pv v);

/* Returns the *n bytes of a text, bytes or keyword value; NULL for others. Borrowed until the
 * next call. UTF-8 as stored; protocol 0 escapes are decoded. */
const char *tide__pickle_text(tide_pickle *p, tide_pv v, size_t *n);
/* Gets an integer (True and False count as 1 and 0) that fits; returns false otherwise. */
bool tide__pickle_i64(const tide_pickle *p, tide_pv v, int64_t *out);
/* The same for 0 .. 2^64-1; negative 64-bit values wrap (addresses were written that way). */
bool tide__pickle_u64(const tide_pickle *p, tide_pv v, uint64_t *out);
/* Gets a number that was written as a float. */
bool tide__pickle_f64(const tide_pickle *p, tide_pv v, double *out);

/* Returns the number of bytes after STOP. */
uint64_t tide__pickle_trailing(const tide_pickle *p);
/* Returns TIDE_OK, or why tide__pickle_text failed since the load (memory). */
tide_code tide__pickle_failed(const tide_pickle *p);

bool tide__pickle_reserve(void *vec, size_t *cap, size_t n, size_t size);
/* Ensures space for element n of a vector of `size`-byte elements; `vec` is the address of its
 * pointer. Returns false if memory runs out. */
static inline bool tide__pickle_room(void *vec, size_t *cap, size_t n, size_t size)
{
	return n < *cap || tide__pickle_reserve(vec, cap, n, size);
}

#endif
