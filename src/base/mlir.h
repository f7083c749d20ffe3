// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses one operation of MLIR text with a balanced scanner.
 *
 *     %4 = "ttnn.typecast"(%3) <{dtype = ...}> {more} : (tensor<...>) -> tensor<...> loc("convert.80")
 *
 * Brackets <> () {} [] nest and strings are skipped whole, so attributes, layouts and locations may
 * contain any of them; the > of an arrow closes nothing. Both spellings of an op's name are read,
 * "ttnn.add" and ttcore.load_cached. Nothing is copied: slices point into the caller's text. Pure
 * functions, linear in the text, safe for any bytes. */
#ifndef TIDE_BASE_MLIR_H
#define TIDE_BASE_MLIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_slice {
	const char *s; /* NULL = absent */
	size_t n;
} tide_slice;

typedef struct tide_mlir_op {
	tide_slice results;   /* "%4", "%4, %5", "%4:2"; absent = the op has none */
	tide_slice name;      /* without quotes */
	tide_slice operands;  /* between its parentheses */
	tide_slice attrs;     /* between <{ and }> */
	tide_slice more;      /* between { and } after them */
	tide_slice in_types;  /* between the parentheses after the colon */
	tide_slice out_types; /* after the arrow, as written */
	tide_slice loc;	      /* between the parentheses of loc( ) */
	bool closed;	      /* every bracket was closed: false for a text that was cut */
	bool whole;	      /* closed, and the text ended with the op */
} tide_mlir_op;

/* Returns false if the text does not start with "name(". For a text that ends early, the parts read
 * so far are set, with whole = false. */
bool tide__mlir_parse_op(const char *s, size_t n, tide_mlir_op *out);

/* Returns the next element of a comma-separated list, without surrounding blanks; commas inside
 * brackets and strings do not separate. *rest advances. Returns false at the end. */
bool tide__mlir_next(tide_slice *rest, tide_slice *one);

/* Returns the name in a location: the first string of "name", "outer"("inner") and "file":line:col;
 * the alias of an alias (#loc12); absent for anything else. */
tide_slice tide__mlir_loc_name(tide_slice loc);

/* Returns the text between the square brackets at the end of "fused<...>[a, b]"; absent = none. */
tide_slice tide__mlir_last_list(tide_slice s);

enum { TIDE_MLIR_DIMS = 16 }; /* dimensions that are kept */

typedef struct tide_mlir_tensor {
	tide_slice shape;  /* "1x32x64"; absent for a scalar */
	tide_slice dtype;  /* "bf16" */
	tide_slice layout; /* text after the comma: an alias (#ttnn_layout3) or inline */
	unsigned n_dims;
	uint64_t dims[TIDE_MLIR_DIMS];
	bool tiled;	  /* the layout contains memref<..x!tile<HxW, T>> */
	unsigned n_tiles; /* dimensions of the memref, counted in tiles */
	uint64_t tiles[TIDE_MLIR_DIMS];
	uint64_t tile_h, tile_w;
	tide_slice tile_dtype;
	bool sharded;	 /* the memref is that of one shard */
	unsigned n_grid; /* shards in each dimension of the grid; 0 = one */
	uint64_t grid[TIDE_MLIR_DIMS];
	tide_slice buffer; /* "dram", "l1", "system_memory" */
	uint64_t bytes;	   /* elements × size of dtype; UINT64_MAX on overflow */
	/* tiles of all shards × bytes of a tile of its own dtype; without tiles the elements of all
	 * shards; equals bytes if neither tiled nor sharded */
	uint64_t padded;
} tide_mlir_tensor;

/* Reads a type as tide__mlir_next returns it. An element type may be a tile: then the shape counts
 * elements, and each has its part of the tile's bytes. Returns false if it is not a tensor with a shape or
 * an element type. */
bool tide__mlir_parse_tensor(tide_slice type, tide_mlir_tensor *out);
/* Applies a layout that was given as an alias and whose text was found elsewhere. */
void tide__mlir_apply_layout(tide_mlir_tensor *t, tide_slice layout);

/* Writes the shape of the memory that holds the tensor, in elements: the memref's of all shards, else
 * the tensor's. Returns its dimensions, at most TIDE_MLIR_DIMS. */
unsigned tide__mlir_padded_shape(const tide_mlir_tensor *t, uint64_t *out);

/* Returns the bytes of one element: bf16 and f16 2, f32 4, f64 8, i/si/ui 8-64 by their bits, bool
 * and i1 1, any other 4. */
uint64_t tide__mlir_dtype_bytes(tide_slice dtype);
/* Returns the bytes of a tile of h × w elements. Block floats (bfp_bf8, bfp_f8, bfp_bf4, bfp8 ...)
 * share one exponent byte among 16 elements. */
uint64_t tide__mlir_tile_bytes(uint64_t h, uint64_t w, tide_slice dtype);

static inline bool tide__slice_is(tide_slice a, const char *text, size_t n)
{
	return a.n == n && a.s && !__builtin_memcmp(a.s, text, n);
}
static inline bool tide__slice_same(tide_slice a, tide_slice b)
{
	return a.n == b.n && (!a.n || !__builtin_memcmp(a.s, b.s, a.n));
}
#define TIDE_SLICE_IS(slice, literal) tide__slice_is((slice), (literal), sizeof(literal) - 1)

#endif
