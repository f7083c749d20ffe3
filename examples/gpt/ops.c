// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "ops.h"

#include <math.h>
#include <string.h>

/* y += a x, the inner loop of everything below */
static void axpy(float *restrict y, float a, const float *restrict x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}

static float dot(const float *restrict x, const float *restrict y, int n)
{
	float s = 0;
	for (int i = 0; i < n; i++)
		s += x[i] * y[i];
	return s;
}

void linear(float *y, const float *x, const float *w, const float *b, int R, int K, int N)
{
	for (int r = 0; r < R; r++) {
		memcpy(y + r * N, b, sizeof(float) * (size_t)N);
		for (int k = 0; k < K; k++)
			axpy(y + r * N, x[r * K + k], w + k * N, N);
	}
}

void linear_back(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w,
		 int R, int K, int N)
{
	for (int r = 0; r < R; r++) {
		axpy(db, 1, dy + r * N, N);
		for (int k = 0; k < K; k++) {
			dx[r * K + k] = dot(dy + r * N, w + k * N, N);
			axpy(dw + k * N, x[r * K + k], dy + r * N, N);
		}
	}
}

void unembed(float *y, const float *x, const float *e, int R, int D, int V)
{
	for (int r = 0; r < R; r++)
		for (int v = 0; v < V; v++)
			y[r * V + v] = dot(x + r * D, e + v * D, D);
}

void unembed_back(float *dx, float *de, const float *dy, const float *x, const float *e, int R,
		  int D, int V)
{
	memset(dx, 0, sizeof(float) * (size_t)(R * D));
	for (int r = 0; r < R; r++)
		for (int v = 0; v < V; v++) {
			axpy(dx + r * D, dy[r * V + v], e + v * D, D);
			axpy(de + v * D, dy[r * V + v], x + r * D, D);
		}
}

void norm(float *y, float *stat, const float *x, const float *g, const float *b, int R, int D)
{
	for (int r = 0; r < R; r++) {
		const float *xr = x + r * D;
		float mean = 0, var = 0;
		for (int i = 0; i < D; i++)
			mean += xr[i] / (float)D;
		for (int i = 0; i < D; i++)
			var += (xr[i] - mean) * (xr[i] - mean) / (float)D;
		float inv = 1 / sqrtf(var + 1e-5f);
		for (int i = 0; i < D; i++)
			y[r * D + i] = (xr[i] - mean) * inv * g[i] + b[i];
		stat[2 * r] = mean;
		stat[2 * r + 1] = inv;
	}
}

void norm_back(float *dx, float *dg, float *db, const float *dy, const float *x, const float *g,
	       const float *stat, int R, int D)
{
	for (int r = 0; r < R; r++) {
		const float *xr = x + r * D, *dyr = dy + r * D;
		float mean = stat[2 * r], inv = stat[2 * r + 1], s1 = 0, s2 = 0;
		for (int i = 0; i < D; i++) {
			float xhat = (xr[i] - mean) * inv, d = dyr[i] * g[i];
			dg[i] += dyr[i] * xhat;
			db[i] += dyr[i];
			s1 += d / (float)D;
			s2 += d * xhat / (float)D;
		}
		for (int i = 0; i < D; i++) {
			float xhat = (xr[i] - mean) * inv;
			dx[r * D + i] += inv * (dyr[i] * g[i] - s1 - xhat * s2);
		}
	}
}

/* Computes the probabilities of row t over columns 0..t. */
static void softmax_row(float *p, const float *q, const float *keys, int t, int stride, int d)
{
	float top = -INFINITY, sum = 0, scale = 1 / sqrtf((float)d);
	for (int u = 0; u <= t; u++) {
		p[u] = dot(q, keys + u * stride, d) * scale;
		top = fmaxf(top, p[u]);
	}
	for (int u = 0; u <= t; u++)
		sum += p[u] = expf(p[u] - top);
	for (int u = 0; u <= t; u++)
		p[u] /= sum;
}

void attend(float *y, float *att, const float *qkv, int B, int T, int D, int H)
{
	int d = D / H;
	memset(y, 0, sizeof(float) * (size_t)(B * T * D));
	memset(att, 0, sizeof(float) * (size_t)(B * H * T * T));
	for (int b = 0; b < B; b++)
		for (int h = 0; h < H; h++)
			for (int t = 0; t < T; t++) {
				const float *base = qkv + b * T * 3 * D + h * d;
				float *p = att + ((b * H + h) * T + t) * T;
				softmax_row(p, base + t * 3 * D, base + D, t, 3 * D, d);
				for (int u = 0; u <= t; u++)
					axpy(y + (b * T + t) * D + h * d, p[u],
					     base + 2 * D + u * 3 * D, d);
			}
}

static void attend_row_back(float *dbase, const float *base, const float *p, const float *dy, int t,
			    int D, int d)
{
	float scale = 1 / sqrtf((float)d), mix = 0;
	for (int u = 0; u <= t; u++)
		mix += p[u] * dot(dy, base + 2 * D + u * 3 * D, d);
	for (int u = 0; u <= t; u++) {
		float ds = p[u] * (dot(dy, base + 2 * D + u * 3 * D, d) - mix) * scale;
		axpy(dbase + 2 * D + u * 3 * D, p[u], dy, d);
		axpy(dbase + t * 3 * D, ds, base + D + u * 3 * D, d);
		axpy(dbase + D + u * 3 * D, ds, base + t * 3 * D, d);
	}
}

void attend_back(float *dqkv, const float *dy, const float *att, const float *qkv, int B, int T,
		 int D, int H)
{
	int d = D / H;
	memset(dqkv, 0, sizeof(float) * (size_t)(B * T * 3 * D));
	for (int b = 0; b < B; b++)
		for (int h = 0; h < H; h++)
			for (int t = 0; t < T; t++) {
				int at = b * T * 3 * D + h * d;
				attend_row_back(dqkv + at, qkv + at,
						att + ((b * H + h) * T + t) * T,
						dy + (b * T + t) * D + h * d, t, D, d);
			}
}

static const float root_2_over_pi = 0.7978845608f;

void gelu(float *y, const float *x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] = 0.5f * x[i] *
		       (1 + tanhf(root_2_over_pi * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

void gelu_back(float *dx, const float *dy, const float *x, int n)
{
	for (int i = 0; i < n; i++) {
		float x2 = x[i] * x[i], t = tanhf(root_2_over_pi * (x[i] + 0.044715f * x[i] * x2));
		float slope = root_2_over_pi * (1 + 3 * 0.044715f * x2);
		dx[i] = dy[i] * (0.5f * (1 + t) + 0.5f * x[i] * (1 - t * t) * slope);
	}
}

float cross_entropy(float *prob, const float *logits, const int *target, int R, int V)
{
	double loss = 0;
	for (int r = 0; r < R; r++) {
		const float *l = logits + r * V;
		float *p = prob + r * V, top = l[0], sum = 0;
		for (int v = 1; v < V; v++)
			top = fmaxf(top, l[v]);
		for (int v = 0; v < V; v++)
			sum += p[v] = expf(l[v] - top);
		for (int v = 0; v < V; v++)
			p[v] /= sum;
		loss -= log((double)p[target[r]] + 1e-30);
	}
	return (float)(loss / R);
}

void cross_entropy_back(float *dlogits, const float *prob, const int *target, int R, int V)
{
	for (int i = 0; i < R * V; i++)
		dlogits[i] = prob[i] / (float)R;
	for (int r = 0; r < R; r++)
		dlogits[r * V + target[r]] -= 1 / (float)R;
}

void adamw(float *p, float *g, float *m, float *v, int n, int t, float rate)
{
	const float b1 = 0.9f, b2 = 0.99f, decay = 0.01f;
	float c1 = 1 - powf(b1, (float)t), c2 = 1 - powf(b2, (float)t);
	for (int i = 0; i < n; i++) {
		m[i] = b1 * m[i] + (1 - b1) * g[i];
		v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
		p[i] -= rate * (m[i] / c1 / (sqrtf(v[i] / c2) + 1e-8f) + decay * p[i]);
	}
}
