// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The arguments of one call of an op, from the texts of a trace: shapes, dtypes, strides, scalars.
 *
 *     Input Dims       [[8, 16], [16, 4], [], [[3], [4]]]    a list of tensors is a list of shapes
 *     Input type       ["float", "float", "Scalar", "TensorList"]
 *     Input Strides    as Input Dims
 *     Concrete Inputs  ["", "", "1", ""]
 *
 * Anything that no op of PyTorch can have is refused: negative and huge numbers, too many
 * dimensions. */
#ifndef TIDE_ANALYZE_ROOFLINE_OP_INPUTS_H
#define TIDE_ANALYZE_ROOFLINE_OP_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIDE_OP_INPUTS = 24, TIDE_OP_TENSORS = 64, TIDE_OP_DIMS = 12, TIDE_OP_LIST = 16 };

/* Number formats: name, bytes of an element, class (integers < floats < complex). */
#define TIDE_NUMBERS(X)                 \
	X(UNKNOWN, "unknown", 0, 0)     \
	X(BOOL, "bool", 1, 1)           \
	X(UINT8, "uint8", 1, 2)         \
	X(INT8, "int8", 1, 2)           \
	X(INT16, "int16", 2, 2)         \
	X(INT32, "int32", 4, 2)         \
	X(INT64, "int64", 8, 2)         \
	X(FLOAT4, "float4", 1, 3)       \
	X(FLOAT8, "float8", 1, 3)       \
	X(FLOAT16, "float16", 2, 3)     \
	X(BFLOAT16, "bfloat16", 2, 3)   \
	X(FLOAT32, "float32", 4, 3)     \
	X(FLOAT64, "float64", 8, 3)     \
	X(COMPLEX64, "complex64", 8, 4) \
	X(COMPLEX128, "complex128", 16, 4)

typedef enum tide_number {
#define X(name, text, bytes, kind) TIDE_NUM_##name,
	TIDE_NUMBERS(X)
#undef X
		TIDE_N_NUMBERS
} tide_number;

const char *tide__number_text(tide_number t);
/* Returns the bytes of an element; 0 = unknown. An element of float4 is a pair in one byte. */
double tide__number_bytes(tide_number t);
/* Returns 1 = bool, 2 = integer, 3 = float, 4 = complex; 0 = unknown. */
int tide__number_class(tide_number t);
/* Returns the type of "c10::BFloat16". */
tide_number tide__number_of(const char *name, size_t n);
/* Returns the type of the result of an op on both, as PyTorch promotes them. */
tide_number tide__number_promote(tide_number a, tide_number b);

typedef struct tide_op_tensor {
	size_t n;
	double d[TIDE_OP_DIMS];
	double elements; /* product of d */
	double distinct; /* the same without dimensions of stride 0: elements in memory */
} tide_op_tensor;

typedef struct tide_op_input {
	uint8_t type;	/* TIDE_NUM_*; UNKNOWN: no tensor, or a list */
	bool list;	/* a list of tensors; t..t+n are those that the trace has */
	uint16_t at, n; /* tensors: their places in `t` */
} tide_op_input;

typedef struct tide_op_inputs {
	size_t n;
	tide_op_input v[TIDE_OP_INPUTS];
	tide_op_tensor t[TIDE_OP_TENSORS];
	size_t n_t;
	const char *concrete; /* borrowed; NULL = unknown */
	bool typed;	      /* dtypes are known */
} tide_op_inputs;

typedef struct tide_op_texts { /* of a call, as the trace has them; NULL = absent */
	const char *dims, *types, *strides, *concrete;
} tide_op_texts;

/* Returns false if the shapes are not sound. `t` is borrowed. */
bool tide__op_inputs_read(const tide_op_texts *t, tide_op_inputs *out);
/* Returns the k-th input if it is one tensor of `dims` dimensions (-1 = any), else NULL. */
const tide_op_tensor *tide__op_tensor(const tide_op_inputs *x, size_t k, int dims);
/* Returns the type of the k-th input. */
tide_number tide__op_type(const tide_op_inputs *x, size_t k);
/* Returns the bytes of the k-th input in memory; 0 if it is no tensor, or one without dimensions (a
 * number may be one, too); NaN if unknown. */
double tide__op_bytes(const tide_op_inputs *x, size_t k);
/* Returns the bytes of the inputs from..to-1; NaN if one is unknown. */
double tide__op_bytes_of(const tide_op_inputs *x, size_t from, size_t to);

/* Returns the text of the k-th argument without its quotes, NULL if there is none. */
const char *tide__op_scalar(const tide_op_inputs *x, size_t k);
bool tide__op_is_true(const tide_op_inputs *x, size_t k);
/* Reads an integer argument >= 0; `other` if it is absent or none. */
double tide__op_int(const tide_op_inputs *x, size_t k, double other);
/* Reads a dimension of a tensor of n, from the end if it is negative. Returns false if it is absent or
 * out of range. */
bool tide__op_dim(const tide_op_inputs *x, size_t k, size_t n, size_t *out);
/* Reads a list of numbers, which may be negative. Returns how many; 0 = absent. */
size_t tide__op_list(const tide_op_inputs *x, size_t k, double *v);

#endif
