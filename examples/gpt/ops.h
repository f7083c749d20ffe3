// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The arithmetic of a small transformer, forward and backward, on plain arrays.
 *
 * R = rows (tokens of the batch), every matrix is row-major. Backward functions *add* to parameter
 * gradients (dw, db, dg) and *set* input gradients (dx), unless said otherwise. */
#ifndef EXAMPLE_OPS_H
#define EXAMPLE_OPS_H

/* y[R,N] = x[R,K] w[K,N] + b[N] */
void linear(float *y, const float *x, const float *w, const float *b, int R, int K, int N);
void linear_back(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w,
		 int R, int K, int N);

/* logits[R,V] = x[R,D] e[V,D]^T, and back (de is added to, dx is set) */
void unembed(float *y, const float *x, const float *e, int R, int D, int V);
void unembed_back(float *dx, float *de, const float *dy, const float *x, const float *e, int R,
		  int D, int V);

/* Layer norm over D; stat[R,2] keeps mean and 1/std for backward, which adds to dx. */
void norm(float *y, float *stat, const float *x, const float *g, const float *b, int R, int D);
void norm_back(float *dx, float *dg, float *db, const float *dy, const float *x, const float *g,
	       const float *stat, int R, int D);

/* Causal self-attention: qkv[B,T,3D] -> y[B,T,D], probabilities kept in att[B,H,T,T]. */
void attend(float *y, float *att, const float *qkv, int B, int T, int D, int H);
void attend_back(float *dqkv, const float *dy, const float *att, const float *qkv, int B, int T,
		 int D, int H);

void gelu(float *y, const float *x, int n);
void gelu_back(float *dx, const float *dy, const float *x, int n);

/* Softmax and mean cross-entropy: prob[R,V] from logits[R,V]; returns the loss. */
float cross_entropy(float *prob, const float *logits, const int *target, int R, int V);
void cross_entropy_back(float *dlogits, const float *prob, const int *target, int R, int V);

/* AdamW on n parameters; t counts from 1. */
void adamw(float *p, float *g, float *m, float *v, int n, int t, float rate);

#endif
