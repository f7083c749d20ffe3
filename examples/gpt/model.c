// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* One row per parameter: the same list makes the layer's struct, its creation and its update. */
#define LAYER_PARAMS(P) /* name, rows, columns, initial spread */ \
	P(norm1_g, 1, D, 0)                                       \
	P(norm1_b, 1, D, 0)                                       \
	P(qkv_w, D, 3 * D, 0.02f)                                 \
	P(qkv_b, 1, 3 * D, 0)                                     \
	P(proj_w, D, D, 0.02f)                                    \
	P(proj_b, 1, D, 0)                                        \
	P(norm2_g, 1, D, 0)                                       \
	P(norm2_b, 1, D, 0)                                       \
	P(up_w, D, 4 * D, 0.02f)                                  \
	P(up_b, 1, 4 * D, 0)                                      \
	P(down_w, 4 * D, D, 0.02f)                                \
	P(down_b, 1, D, 0)
#define MODEL_PARAMS(P)        \
	P(tokens, V, D, 0.02f) \
	P(places, T, D, 0.02f) \
	P(norm_g, 1, D, 0)     \
	P(norm_b, 1, D, 0)

typedef struct param {
	float *data, *grad, *m, *v;
	int rows, columns;
	tide_name name;
} param;

/* Data that a block keeps from forward to backward. */
typedef struct saved {
	float *x, *n1, *s1, *qkv, *att, *y, *x2, *n2, *s2, *up, *act;
} saved;

typedef struct layer {
#define P(name, rows, columns, spread) param name;
	LAYER_PARAMS(P)
#undef P
	saved keep;
	tide_name label;
} layer;

struct gpt {
	config c;
	pool *pool;
#define P(name, rows, columns, spread) param name;
	MODEL_PARAMS(P)
#undef P
	layer *layers;
	int *inputs, *targets;
	float *x, *xn, *stat, *prob;
};

/* ---- memory by name ---- */

static float *take(gpt *m, const char *name, int role, int rows, int columns)
{
	uint64_t shape[2] = { (uint64_t)rows, (uint64_t)columns };
	return pool_take(m->pool, tide_name_static(name), role, 2, shape);
}

#define ACTIVATION(name, rows, columns) take(m, name, TIDE_ROLE_ACTIVATION, rows, columns)
#define TEMPORARY(name, rows, columns)	take(m, name, TIDE_ROLE_TEMPORARY, rows, columns)

static void give(gpt *m, float **p)
{
	pool_give(m->pool, *p);
	*p = NULL;
}

static void each_param(gpt *m, void (*f)(gpt *, param *, void *), void *user)
{
#define P(name, rows, columns, spread) f(m, &m->name, user);
	MODEL_PARAMS(P)
#undef P
	for (int i = 0; i < m->c.layers; i++) {
#define P(name, rows, columns, spread) f(m, &m->layers[i].name, user);
		LAYER_PARAMS(P)
#undef P
	}
}

/* ---- creation ---- */

static float uniform(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (float)(*seed >> 8) / (float)(1 << 24);
}

static float normal(unsigned *seed)
{
	float u = uniform(seed) + 1e-7f, v = uniform(seed);
	return sqrtf(-2 * logf(u)) * cosf(6.2831853f * v);
}

static param make_param(gpt *m, const char *prefix, const char *name, int rows, int columns,
			float spread, unsigned *seed)
{
	char full[64];
	snprintf(full, sizeof full, "%s%s", prefix, name);
	param p = { .rows = rows, .columns = columns, .name = tide_intern(full) };
	uint64_t shape[2] = { (uint64_t)rows, (uint64_t)columns };
	p.data = pool_take(m->pool, p.name, TIDE_ROLE_PARAMETER, 2, shape);
	float fill = strstr(name, "_g") ? 1 : 0;
	for (int i = 0; i < rows * columns; i++)
		p.data[i] = spread > 0 ? spread * normal(seed) : fill;
	return p;
}

gpt *gpt_new(pool *p, config c, unsigned seed)
{
	tide_op op = tide_op_begin(TIDE_NAME("model.create"));
	const int V = c.vocab, D = c.width, T = c.context;
	gpt *m = calloc(1, sizeof *m);
	layer *layers = calloc((size_t)c.layers, sizeof *layers);
	if (!m || !layers)
		exit(1);
	*m = (gpt){ .c = c, .pool = p, .layers = layers };
	m->inputs = calloc((size_t)(c.batch * T), sizeof *m->inputs);
	m->targets = calloc((size_t)(c.batch * T), sizeof *m->targets);
	if (!m->inputs || !m->targets)
		exit(1);
#define P(name, rows, columns, spread) \
	m->name = make_param(m, "", #name, rows, columns, spread, &seed);
	MODEL_PARAMS(P)
#undef P
	for (int i = 0; i < c.layers; i++) {
		char prefix[32];
		snprintf(prefix, sizeof prefix, "layer.%d", i);
		layers[i].label = tide_intern(prefix);
		snprintf(prefix, sizeof prefix, "layers.%d.", i);
#define P(name, rows, columns, spread) \
	layers[i].name = make_param(m, prefix, #name, rows, columns, spread, &seed);
		LAYER_PARAMS(P)
#undef P
	}
	tide_op_end(op);
	return m;
}

static void count(gpt *m, param *p, void *n)
{
	(void)m;
	*(long *)n += (long)p->rows * p->columns;
}

long gpt_parameters(const gpt *m)
{
	long n = 0;
	gpt copy = *m;
	each_param(&copy, count, &n);
	return n;
}

static void release(gpt *m, param *p, void *unused)
{
	(void)unused;
	give(m, &p->data);
	give(m, &p->grad);
	give(m, &p->m);
	give(m, &p->v);
}

void gpt_free(gpt *m)
{
	each_param(m, release, NULL);
	free(m->layers);
	free(m->inputs);
	free(m->targets);
	free(m);
}

static float *zeros_like(gpt *m, const param *p, int role)
{
	uint64_t shape[2] = { (uint64_t)p->rows, (uint64_t)p->columns };
	float *z = pool_take(m->pool, p->name, role, 2, shape);
	memset(z, 0, sizeof(float) * (size_t)(p->rows * p->columns));
	return z;
}

static void make_moments(gpt *m, param *p, void *unused)
{
	(void)unused;
	p->m = zeros_like(m, p, TIDE_ROLE_OPTIMIZER);
	p->v = zeros_like(m, p, TIDE_ROLE_OPTIMIZER);
}

void gpt_make_optimizer(gpt *m)
{
	tide_op op = tide_op_begin(TIDE_NAME("optimizer.create"));
	each_param(m, make_moments, NULL);
	tide_op_end(op);
}

/* ---- forward ---- */

static void add(float *y, const float *a, const float *b, int n)
{
	for (int i = 0; i < n; i++)
		y[i] = a[i] + b[i];
}

static float *embed(gpt *m, const int *tokens)
{
	const int B = m->c.batch, T = m->c.context, D = m->c.width;
	tide_op op = tide_op_begin(TIDE_NAME("embed"));
	float *x = ACTIVATION("embed.out", B * T, D);
	for (int b = 0; b < B; b++)
		for (int t = 0; t < T; t++) {
			int r = b * T + t, id = tokens[b * (T + 1) + t];
			m->inputs[r] = id;
			m->targets[r] = tokens[b * (T + 1) + t + 1];
			add(x + r * D, m->tokens.data + id * D, m->places.data + t * D, D);
		}
	tide_op_end(op);
	return x;
}

static float *attention(gpt *m, layer *l, float *x)
{
	const int B = m->c.batch, T = m->c.context, D = m->c.width, H = m->c.heads, R = B * T;
	saved *k = &l->keep;
	tide_op op = tide_op_begin(TIDE_NAME("attention"));
	k->n1 = ACTIVATION("norm1.out", R, D);
	k->s1 = ACTIVATION("norm1.stat", R, 2);
	norm(k->n1, k->s1, x, l->norm1_g.data, l->norm1_b.data, R, D);
	k->qkv = ACTIVATION("qkv", R, 3 * D);
	linear(k->qkv, k->n1, l->qkv_w.data, l->qkv_b.data, R, D, 3 * D);
	k->att = ACTIVATION("attention.prob", B * H * T, T);
	k->y = ACTIVATION("attention.out", R, D);
	attend(k->y, k->att, k->qkv, B, T, D, H);
	float *proj = TEMPORARY("proj.out", R, D);
	linear(proj, k->y, l->proj_w.data, l->proj_b.data, R, D, D);
	float *out = ACTIVATION("residual1", R, D);
	add(out, x, proj, R * D);
	give(m, &proj);
	tide_op_end(op);
	return out;
}

static float *mlp(gpt *m, layer *l, float *x)
{
	const int R = m->c.batch * m->c.context, D = m->c.width;
	saved *k = &l->keep;
	tide_op op = tide_op_begin(TIDE_NAME("mlp"));
	k->n2 = ACTIVATION("norm2.out", R, D);
	k->s2 = ACTIVATION("norm2.stat", R, 2);
	norm(k->n2, k->s2, x, l->norm2_g.data, l->norm2_b.data, R, D);
	k->up = ACTIVATION("up.out", R, 4 * D);
	linear(k->up, k->n2, l->up_w.data, l->up_b.data, R, D, 4 * D);
	k->act = ACTIVATION("gelu.out", R, 4 * D);
	gelu(k->act, k->up, R * 4 * D);
	float *down = TEMPORARY("down.out", R, D);
	linear(down, k->act, l->down_w.data, l->down_b.data, R, 4 * D, D);
	float *out = ACTIVATION("residual2", R, D);
	add(out, x, down, R * D);
	give(m, &down);
	tide_op_end(op);
	return out;
}

float gpt_forward(gpt *m, const int *tokens)
{
	const int R = m->c.batch * m->c.context, D = m->c.width, V = m->c.vocab;
	tide_op op = tide_op_begin(TIDE_NAME("forward"));
	float *x = embed(m, tokens);
	for (int i = 0; i < m->c.layers; i++) {
		layer *l = &m->layers[i];
		tide_op in = tide_op_begin(l->label);
		l->keep.x = x;
		l->keep.x2 = attention(m, l, x);
		x = mlp(m, l, l->keep.x2);
		tide_op_end(in);
	}
	tide_op head = tide_op_begin(TIDE_NAME("head"));
	m->x = x;
	m->xn = ACTIVATION("norm.out", R, D);
	m->stat = ACTIVATION("norm.stat", R, 2);
	norm(m->xn, m->stat, x, m->norm_g.data, m->norm_b.data, R, D);
	float *logits = TEMPORARY("logits", R, V);
	unembed(logits, m->xn, m->tokens.data, R, D, V);
	m->prob = ACTIVATION("prob", R, V);
	float loss = cross_entropy(m->prob, logits, m->targets, R, V);
	give(m, &logits);
	tide_op_end(head);
	tide_op_end(op);
	return loss;
}

/* ---- backward ---- */

static void make_grad(gpt *m, param *p, void *unused)
{
	(void)unused;
	p->grad = zeros_like(m, p, TIDE_ROLE_GRADIENT);
}

/* dx holds the gradient of the block's output and becomes that of its input. */
static void mlp_back(gpt *m, layer *l, float *dx)
{
	const int R = m->c.batch * m->c.context, D = m->c.width;
	saved *k = &l->keep;
	tide_op op = tide_op_begin(TIDE_NAME("mlp.backward"));
	float *dact = TEMPORARY("d.gelu", R, 4 * D);
	linear_back(dact, l->down_w.grad, l->down_b.grad, dx, k->act, l->down_w.data, R, 4 * D, D);
	give(m, &k->act);
	float *dup = TEMPORARY("d.up", R, 4 * D);
	gelu_back(dup, dact, k->up, R * 4 * D);
	give(m, &dact);
	give(m, &k->up);
	float *dn = TEMPORARY("d.norm2", R, D);
	linear_back(dn, l->up_w.grad, l->up_b.grad, dup, k->n2, l->up_w.data, R, D, 4 * D);
	give(m, &dup);
	give(m, &k->n2);
	norm_back(dx, l->norm2_g.grad, l->norm2_b.grad, dn, k->x2, l->norm2_g.data, k->s2, R, D);
	give(m, &dn);
	give(m, &k->s2);
	give(m, &k->x2);
	tide_op_end(op);
}

static void attention_back(gpt *m, layer *l, float *dx)
{
	const int B = m->c.batch, T = m->c.context, D = m->c.width, H = m->c.heads, R = B * T;
	saved *k = &l->keep;
	tide_op op = tide_op_begin(TIDE_NAME("attention.backward"));
	float *dy = TEMPORARY("d.attention", R, D);
	linear_back(dy, l->proj_w.grad, l->proj_b.grad, dx, k->y, l->proj_w.data, R, D, D);
	give(m, &k->y);
	float *dqkv = TEMPORARY("d.qkv", R, 3 * D);
	attend_back(dqkv, dy, k->att, k->qkv, B, T, D, H);
	give(m, &dy);
	give(m, &k->att);
	give(m, &k->qkv);
	float *dn = TEMPORARY("d.norm1", R, D);
	linear_back(dn, l->qkv_w.grad, l->qkv_b.grad, dqkv, k->n1, l->qkv_w.data, R, D, 3 * D);
	give(m, &dqkv);
	give(m, &k->n1);
	norm_back(dx, l->norm1_g.grad, l->norm1_b.grad, dn, k->x, l->norm1_g.data, k->s1, R, D);
	give(m, &dn);
	give(m, &k->s1);
	give(m, &k->x);
	tide_op_end(op);
}

static float *head_back(gpt *m)
{
	const int R = m->c.batch * m->c.context, D = m->c.width, V = m->c.vocab;
	tide_op op = tide_op_begin(TIDE_NAME("head.backward"));
	float *dlogits = TEMPORARY("d.logits", R, V);
	cross_entropy_back(dlogits, m->prob, m->targets, R, V);
	give(m, &m->prob);
	float *dxn = TEMPORARY("d.norm", R, D);
	unembed_back(dxn, m->tokens.grad, dlogits, m->xn, m->tokens.data, R, D, V);
	give(m, &dlogits);
	give(m, &m->xn);
	float *dx = TEMPORARY("d.x", R, D);
	memset(dx, 0, sizeof(float) * (size_t)(R * D));
	norm_back(dx, m->norm_g.grad, m->norm_b.grad, dxn, m->x, m->norm_g.data, m->stat, R, D);
	give(m, &dxn);
	give(m, &m->stat);
	give(m, &m->x);
	tide_op_end(op);
	return dx;
}

static void embed_back(gpt *m, const float *dx)
{
	const int R = m->c.batch * m->c.context, D = m->c.width, T = m->c.context;
	tide_op op = tide_op_begin(TIDE_NAME("embed.backward"));
	for (int r = 0; r < R; r++) {
		float *de = m->tokens.grad + m->inputs[r] * D, *dp = m->places.grad + r % T * D;
		add(de, de, dx + r * D, D);
		add(dp, dp, dx + r * D, D);
	}
	tide_op_end(op);
}

void gpt_backward(gpt *m)
{
	tide_op op = tide_op_begin(TIDE_NAME("backward"));
	each_param(m, make_grad, NULL);
	float *dx = head_back(m);
	for (int i = m->c.layers - 1; i >= 0; i--) {
		tide_op in = tide_op_begin(m->layers[i].label);
		mlp_back(m, &m->layers[i], dx);
		attention_back(m, &m->layers[i], dx);
		tide_op_end(in);
	}
	embed_back(m, dx);
	give(m, &dx);
	tide_op_end(op);
}

struct update {
	int t;
	float rate;
};

static void update_param(gpt *m, param *p, void *user)
{
	struct update *u = user;
	adamw(p->data, p->grad, p->m, p->v, p->rows * p->columns, u->t, u->rate);
	give(m, &p->grad);
}

void gpt_update(gpt *m, int t, float rate)
{
	tide_op op = tide_op_begin(TIDE_NAME("optimizer.step"));
	each_param(m, update_param, &(struct update){ t, rate });
	tide_op_end(op);
}
