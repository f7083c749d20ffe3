// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* State of the pickle decoder and access to its containers, shared by its files.
 *
 *     pickle.c    the main loop                     opcodes.c          the other opcodes
 *     literals.c  texts and numbers in the input    containers.c       dicts, lists, memo
 *                                                   memo_list_cache.c  lists of memo reads
 *
 * An object is one word: its state in bits 0..1, its payload above. A container has a body only
 * while it holds items. A container that was turned into an event or a frame has none: its word is
 * the value. */
#ifndef TIDE_IMPORT_TORCHSNAP_PICKLE_PICKLE_VM_H
#define TIDE_IMPORT_TORCHSNAP_PICKLE_PICKLE_VM_H

#include "import/torchsnap/pickle/pickle.h"

enum obj_state {
	OBJ_EMPTY, /* payload: offset of its opcode */
	OBJ_OPEN,  /* payload: index of its body */
	OBJ_MADE,  /* payload: that of the value that replaces it */
};

struct body {
	union {
		tide_pv in[2];	/* cap == 2: the items; cap == 1: n values whose ids follow
				 * each other, in[0] is the first */
		tide_pv *items; /* cap > 2; owned */
	};
	uint64_t off;	 /* offset where the container began */
	uint32_t n, cap; /* cap of an unused body: the next unused one, + 1 */
};

struct run { /* a list seen before that consists of memo reads only */
	uint64_t hash;
	uint32_t off; /* of a copy of its bytes in run_bytes */
	uint32_t len; /* 0 = free slot */
	uint32_t gen;
	tide_pv made;
};
enum { RUN_SLOTS = 1 << 14, RUN_BYTES = 4 << 20 };

struct tide_pickle {
	const uint8_t *data;
	size_t n;
	const uint8_t *p; /* next byte; slow opcodes move it, the hot loop keeps its own copy */
	tide_pickle_client *client;
	tide_error *err;
	tide_code rc;

	tide_pv *stack;
	size_t sp, cap;
	size_t *marks; /* stack heights */
	size_t n_marks, cap_marks;
	uint32_t *memo; /* packed values; 0 = absent */
	tide_pv *wide;	/* values that do not pack */
	size_t n_wide, cap_wide;
	size_t n_memo, top_memo, cap_memo; /* entries present; highest index + 1; capacity */

	uint64_t *objs;
	size_t n_objs, cap_objs;
	struct body *bodies;
	size_t n_bodies, cap_bodies;
	uint32_t free_body; /* index + 1 */

	struct run *runs;   /* RUN_SLOTS, or NULL before the first use */
	uint8_t *run_bytes; /* RUN_BYTES, or as many as the input has */
	size_t n_runs, n_run_bytes, cap_run_bytes;
	uint16_t *run_after;   /* RUN_SLOTS: slot that followed two others */
	uint32_t last_runs[2]; /* slots, the later one last */
	uint32_t gen;	       /* a memo entry was replaced: runs of older generations are
			        * invalid */

	uint8_t keys[256]; /* hash -> keyword + 1 */
	uint8_t key_len[256];
	char *scratch; /* decoded text */
	size_t cap_scratch;
	uint64_t trailing;
};

/* Records a failure and returns false; the first one wins. `at` is an input position. */
bool tide__pickle_fail(tide_pickle *p, tide_code code, const uint8_t *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool tide__pickle_nomem(tide_pickle *p);
/* tide__pickle_room; running out of memory becomes the decoder's failure. */
bool tide__pickle_grow(tide_pickle *p, void *vec, size_t *cap, size_t n, size_t size);

/* ---- opcodes.c ---- */

/* Runs the opcode at `op`, its arguments at p->p. On false, p->rc or the client's failure has
 * the reason. */
bool tide__pickle_run_cold(tide_pickle *p, const uint8_t *op);
bool tide__pickle_fail_no_memo(tide_pickle *p, const uint8_t *op, uint64_t index);
bool tide__pickle_fail_underflow(tide_pickle *p, const uint8_t *op, const char *name);
/* Returns the lowest stack height an opcode may reach: that of the topmost mark. */
static inline size_t tide__pickle_floor(const tide_pickle *p)
{
	return p->n_marks ? p->marks[p->n_marks - 1] : 0;
}
static inline bool tide__pickle_need(tide_pickle *p, size_t n, const uint8_t *op, const char *name)
{
	return p->sp - tide__pickle_floor(p) >= n || tide__pickle_fail_underflow(p, op, name);
}

/* Memo entries are packed into 32 bits: a snapshot has three per event. Values with up to 28
 * bits of payload keep their form; MADE values have tags of their own (11 + kind - 1, kinds 1 to
 * 4); for the rest the payload is an index into `wide`. */
enum { PACK_MADE = 11, PACK_WIDE = 15 };

static inline tide_pv tide__pickle_memo_get(const struct tide_pickle *p, uint64_t i)
{
	if (i >= p->top_memo)
		return TIDE_PV_NONE;
	uint32_t x = p->memo[i], tag = x & 15;
	if (tag < PACK_MADE)
		return x;
	if (tag < PACK_WIDE)
		return tide__pv_made(tag - PACK_MADE + 1, x >> 4);
	return p->wide[x >> 4];
}
/* Packs v; returns false if memory runs out. */
bool tide__pickle_pack(tide_pickle *p, tide_pv v, uint32_t *out);

/* containers.c */
tide_pv tide__pickle_new(tide_pickle *p, tide_pv_tag tag, const uint8_t *at); /* NONE on failure */
/* Appends n items (settled if possible) to the container; `at` for errors. */
bool tide__pickle_append(tide_pickle *p, tide_pv list, tide_pv *items, size_t n, const uint8_t *at);
bool tide__pickle_set(tide_pickle *p, tide_pv dict, tide_pv *items, size_t n, const uint8_t *at);
/* Appends n MADE values with consecutive ids. */
bool tide__pickle_append_row(tide_pickle *p, tide_pv list, tide_pv first, size_t n,
			     const uint8_t *at);
tide_pv tide__pickle_make_tuple(tide_pickle *p, tide_pv *items, size_t n, const uint8_t *at);
/* Reserves space for `cap` entries; it costs memory only once they are used. */
bool tide__pickle_memo_reserve(tide_pickle *p, size_t cap);
bool tide__pickle_memo_put(tide_pickle *p, uint64_t index, tide_pv v, const uint8_t *at);
void tide__pickle_containers_free(tide_pickle *p);

/* memo_list_cache.c: decodes a whole list at once. `at` is the byte after `]`; returns the byte
 * after the list and its value in *made; or NULL, with nothing changed: decode it opcode by
 * opcode. */
const uint8_t *tide__pickle_run(tide_pickle *p, const uint8_t *at, tide_pv *made);
/* Reads `]` and a memo opcode at *at with nothing appended, and uses v for it. Returns false for
 * anything else. */
bool tide__pickle_read_empty(tide_pickle *p, const uint8_t **at, tide_pv v, tide_pv *out);
/* Reads an optional memo opcode at *at, for v. Returns false if it does not set the next entry,
 * because resetting top_memo and n_memo could not undo that. */
bool tide__pickle_read_memo(tide_pickle *p, const uint8_t **at, tide_pv v, const uint8_t *op);
/* Returns the list that the memo reads [at, last) make, where *last is their APPENDS; NONE if
 * they are not a list. */
tide_pv tide__pickle_run_made(tide_pickle *p, const uint8_t *at, const uint8_t *last);
void tide__pickle_fast_free(tide_pickle *p);

/* literals.c */
/* Returns the keyword with this text as a value, or TEXT at `off`. */
tide_pv tide__pickle_read_word(const tide_pickle *p, const uint8_t *text, size_t n,
			       const uint8_t *op);
void tide__pickle_keys_init(tide_pickle *p);
/* Reads a little-endian two's complement integer of n bytes: INT if it fits, else NUM at `op`. */
tide_pv tide__pickle_read_long(const tide_pickle *p, const uint8_t *le, size_t n,
			       const uint8_t *op);
/* Reads a decimal integer (with an optional final L); NONE if it is not one. */
tide_pv tide__pickle_read_decimal(const tide_pickle *p, const uint8_t *text, size_t n,
				  const uint8_t *op);

static inline uint64_t tide__pickle_le(const uint8_t *at, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}
static inline uint32_t tide__pickle_le32(const uint8_t *at)
{
	uint32_t v;
	__builtin_memcpy(&v, at, 4);
	return v; /* little-endian hosts only, like src/format */
}

#endif
