// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Roles by rule. "The next backward pass" is the next allocation with its sign. Only positions of
 * memory events are compared, never clock times, so that a trace without times gives the same
 * result. */
#include "analyze/memory/roles.h"

#include <string.h>
#include <strings.h>

#include "analyze/common/stacks.h"
#include "base/mem.h"
#include "model/strings.h"

#define NEVER UINT32_MAX

const char *tide__rule_text(tide_role_rule r)
{
	static const char *const text[] = {
#define X(name, t) t,
		TIDE_ROLE_RULES(X)
#undef X
	};
	return (unsigned)r < TIDE_RULES_N ? text[r] : "unknown";
}

/* ---- signs of spans ---------------------------------------------------------------------- */

/* Names of spans: equal (whole), at the beginning, or anywhere. */
static const struct span_sign {
	const char *text;
	enum { WHOLE, FRONT, PART } how;
	uint8_t sign;
} span_signs[] = {
	{ "autograd::engine::evaluate_function", FRONT, TIDE_SIGN_BACKWARD },
	{ "torch::autograd::AccumulateGrad", PART, TIDE_SIGN_BACKWARD | TIDE_SIGN_ACCUMULATE },
	{ "Optimizer.step#", FRONT, TIDE_SIGN_OPTIMIZER },
	{ "nn.Module:", FRONT, TIDE_SIGN_FORWARD },
	{ "forward", WHOLE, TIDE_SIGN_FORWARD },
	{ "forward_pass", WHOLE, TIDE_SIGN_FORWARD },
	{ "backward", WHOLE, TIDE_SIGN_BACKWARD },
	{ "backward_pass", WHOLE, TIDE_SIGN_BACKWARD },
	{ "optimizer", WHOLE, TIDE_SIGN_OPTIMIZER },
	{ "optimizer_step", WHOLE, TIDE_SIGN_OPTIMIZER },
	{ "enumerate(DataLoader)", FRONT, TIDE_SIGN_INPUT },
};

static uint8_t name_sign(const char *name)
{
	uint8_t all = 0;

	for (size_t i = 0; i < sizeof span_signs / sizeof *span_signs; i++) {
		const struct span_sign *s = &span_signs[i];
		bool hit = s->how == WHOLE   ? !strcasecmp(name, s->text)
			   : s->how == FRONT ? !strncmp(name, s->text, strlen(s->text))
					     : strstr(name, s->text) != NULL;

		all |= hit ? s->sign : 0;
	}
	return all;
}

/* Names repeat: each is classified once. */
static uint8_t *signs_of_spans(const tide_model *m)
{
	const tide_spans *s = &m->spans;
	uint8_t *name = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	uint8_t *out = tide__calloc(s->n + 1, 1);

	for (size_t i = 1; name && out && i < s->n; i++) {
		uint8_t *k = &name[s->name[i].i];

		if (!*k)
			*k = 0x80 | name_sign(tide__text(m, s->name[i], NULL));
		out[i] = (*k & 0x7f) | out[s->parent[i].i];
	}
	if (!name) {
		tide__free(out);
		out = NULL;
	}
	tide__free(name);
	return out;
}

/* ---- later events --------------------------------------------------------------------- */

struct work {
	const tide_model *m;
	uint8_t *signs;	       /* per alloc */
	uint32_t *born, *died; /* per alloc: memory event; died may be NEVER */
	uint32_t *backward;    /* per memory event, plus one: next allocation of a backward pass */
	uint32_t *other;       /* next allocation outside one */
	uint32_t *not_opt;     /* next allocation outside an optimizer step */
	uint8_t *label;	       /* per alloc: role a tensor gives it */
	uint32_t *op;	       /* per span: the innermost op that it is or is in, 0 = none */
	bool *idle;	       /* per lane: a thread that takes part in no forward or backward
			        * pass */
};

static bool alloc_work(struct work *w)
{
	size_t a = w->m->allocs.n + 1, v = w->m->memory_events.n + 1;

	w->signs = tide__calloc(a, 1);
	w->label = tide__calloc(a, 1);
	w->born = tide__calloc(a, sizeof *w->born);
	w->died = tide__calloc(a, sizeof *w->died);
	w->backward = tide__calloc(v, sizeof *w->backward);
	w->other = tide__calloc(v, sizeof *w->other);
	w->not_opt = tide__calloc(v, sizeof *w->not_opt);
	w->idle = tide__calloc(w->m->lanes.n + 1, sizeof *w->idle);
	w->op = tide__calloc(w->m->spans.n + 1, sizeof *w->op);
	return w->signs && w->label && w->op && w->born && w->died && w->backward && w->other &&
	       w->not_opt && w->idle;
}

static bool gather_signs(struct work *w)
{
	const tide_model *m = w->m;
	uint8_t *stack = tide__stack_signs_find(m), *span = signs_of_spans(m);
	bool ok = stack && span;

	for (size_t i = 1; ok && i < m->allocs.n; i++)
		w->signs[i] = stack[m->allocs.stack[i].i] | span[m->allocs.span[i].i];
	for (size_t i = 1; ok && i < m->tensors.n; i++)
		if (m->tensors.role[i])
			w->label[m->tensors.alloc[i].i] = m->tensors.role[i];
	tide__free(stack);
	tide__free(span);
	return ok;
}

/* Parents come before their children. */
static void gather_ops(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++)
		w->op[i] = s->cat[i] == TIDE_CAT_OP ? i : w->op[s->parent[i].i];
}

/* Threads without any allocation that has the sign of a pass, such as a loader's: their
 * allocations do not show where training is. An unknown thread (lane 0) may be the trainer's. */
static void gather_threads(struct work *w)
{
	const uint8_t pass = TIDE_SIGN_FORWARD | TIDE_SIGN_BACKWARD | TIDE_SIGN_OPTIMIZER;
	const tide_allocs *a = &w->m->allocs;
	for (size_t i = 1; i < w->m->lanes.n; i++)
		w->idle[i] = true;
	for (size_t i = 1; i < a->n; i++)
		if (w->signs[i] & pass)
			w->idle[a->lane[i].i] = false;
}

static void gather_events(struct work *w)
{
	const tide_memory_events *v = &w->m->memory_events;
	uint32_t backward = NEVER, other = NEVER, not_opt = NEVER;

	for (size_t i = 1; i < w->m->allocs.n; i++)
		w->died[i] = NEVER;
	w->backward[v->n] = w->other[v->n] = w->not_opt[v->n] = NEVER;
	for (size_t i = v->n; i-- > 0;) {
		if (v->kind[i] == TIDE_MEMORY_ALLOC) {
			uint8_t s = w->signs[v->row[i]];

			bool idle = w->idle[w->m->allocs.lane[v->row[i]].i];

			w->born[v->row[i]] = (uint32_t)i;
			if (s & TIDE_SIGN_BACKWARD)
				backward = (uint32_t)i;
			else if (!idle)
				other = (uint32_t)i;
			if (!(s & TIDE_SIGN_OPTIMIZER) && !idle)
				not_opt = (uint32_t)i;
		} else if (v->kind[i] == TIDE_MEMORY_FREE) {
			w->died[v->row[i]] = (uint32_t)i;
		}
		w->backward[i] = backward;
		w->other[i] = other;
		w->not_opt[i] = not_opt;
	}
}

/* ---- rules ------------------------------------------------------------------------------- */

struct verdict {
	uint8_t role;
	uint8_t rule;
};

static const struct verdict unknown = { TIDE_ROLE_UNKNOWN, TIDE_RULE_NONE };

/* Returns the role of an allocation made in a phase that ends at memory event `end` (NEVER = the
 * trace ends first). */
static struct verdict kept_or_not(uint32_t died, uint32_t end, struct verdict kept,
				  struct verdict dropped)
{
	if (died == NEVER && end == NEVER)
		return unknown;
	return died > end ? kept : dropped;
}

static struct verdict forward(const struct work *w, uint32_t a)
{
	uint32_t died = w->died[a], pass = w->backward[w->born[a]];

	if (died == NEVER)
		return unknown;
	if (died < pass)
		return (struct verdict){ TIDE_ROLE_TEMPORARY, TIDE_RULE_FORWARD_SHORT };
	uint32_t end = w->other[pass], next = end == NEVER ? NEVER : w->backward[end];

	if (died < next)
		return (struct verdict){ TIDE_ROLE_ACTIVATION, TIDE_RULE_SAVED };
	return unknown;
}

static struct verdict module(const struct work *w, uint32_t a)
{
	uint32_t next = w->backward[w->born[a]];

	if (w->died[a] == NEVER || (next != NEVER && w->died[a] > next))
		return (struct verdict){ TIDE_ROLE_PARAMETER, TIDE_RULE_MODULE };
	return (struct verdict){ TIDE_ROLE_TEMPORARY, TIDE_RULE_MODULE_SHORT };
}

static bool gone_in_op(const struct work *w, uint32_t a)
{
	const tide_model *m = w->m;
	uint32_t s = w->op[m->allocs.span[a].i];

	return s && m->allocs.died[a] != TIDE_T_NEVER && m->allocs.died[a] <= m->spans.t1[s];
}

static struct verdict judge(const struct work *w, uint32_t a)
{
	uint8_t s = w->signs[a];
	uint32_t born = w->born[a], died = w->died[a];

	uint8_t told = w->m->allocs.role[a], how = w->m->allocs.flags[a];

	if (how & TIDE_ALLOC_ROLE_CONCLUDED)
		return (struct verdict){ told, told ? TIDE_RULE_TOLD : TIDE_RULE_NONE };
	if (how & TIDE_ALLOC_ROLE_GUESSED)
		told = 0;
	if (told || w->label[a])
		return (struct verdict){ told ? told : w->label[a], TIDE_RULE_LABEL };
	if (s & TIDE_SIGN_WORKSPACE)
		return (struct verdict){ TIDE_ROLE_WORKSPACE, TIDE_RULE_WORKSPACE };
	if (s & TIDE_SIGN_OPT_STATE)
		return (struct verdict){ TIDE_ROLE_OPTIMIZER, TIDE_RULE_OPT_STATE };
	if (s & TIDE_SIGN_ACCUMULATE)
		return (struct verdict){ TIDE_ROLE_GRADIENT, TIDE_RULE_GRAD_ADDED };
	if (s & TIDE_SIGN_BACKWARD)
		return kept_or_not(
			died, w->other[born],
			(struct verdict){ TIDE_ROLE_GRADIENT, TIDE_RULE_GRAD_KEPT },
			(struct verdict){ TIDE_ROLE_TEMPORARY, TIDE_RULE_BACKWARD_SHORT });
	if (s & TIDE_SIGN_OPTIMIZER)
		return kept_or_not(died, w->not_opt[born],
				   (struct verdict){ TIDE_ROLE_OPTIMIZER, TIDE_RULE_OPT_KEPT },
				   (struct verdict){ TIDE_ROLE_TEMPORARY, TIDE_RULE_OPT_SHORT });
	if (s & TIDE_SIGN_FORWARD)
		return forward(w, a);
	if (s & TIDE_SIGN_MODULE)
		return module(w, a);
	if (s & TIDE_SIGN_INPUT)
		return (struct verdict){ TIDE_ROLE_INPUT, TIDE_RULE_INPUT };
	if (gone_in_op(w, a))
		return (struct verdict){ TIDE_ROLE_TEMPORARY, TIDE_RULE_OWN_OP };
	return unknown;
}

/* Returns the role that the rules give, or the profile's guess by shape if no rule applies. */
static struct verdict judged(const struct work *w, uint32_t a)
{
	struct verdict v = judge(w, a);
	uint8_t told = w->m->allocs.role[a];

	if (!v.role && told && w->m->allocs.flags[a] & TIDE_ALLOC_ROLE_GUESSED)
		return (struct verdict){ told, TIDE_RULE_SHAPE };
	return v;
}

static void judge_all(const struct work *w, tide_roles *out)
{
	for (uint32_t a = 1; a < w->m->allocs.n; a++) {
		struct verdict v = judged(w, a);

		out->role[a] = v.role;
		out->rule[a] = v.rule;
		out->count[v.rule]++;
		out->bytes[v.rule] += w->m->allocs.size[a];
	}
}

tide_code tide__find_roles(const tide_model *m, tide_roles *out)
{
	struct work w = { .m = m };
	bool ok;

	memset(out, 0, sizeof *out);
	out->role = tide__calloc(m->allocs.n + 1, 1);
	out->rule = tide__calloc(m->allocs.n + 1, 1);
	ok = out->role && out->rule && m->memory_events.n < NEVER && alloc_work(&w) &&
	     gather_signs(&w);
	if (ok) {
		gather_ops(&w);
		gather_threads(&w);
		gather_events(&w);
		judge_all(&w, out);
	}
	tide__free(w.signs);
	tide__free(w.label);
	tide__free(w.op);
	tide__free(w.born);
	tide__free(w.died);
	tide__free(w.backward);
	tide__free(w.other);
	tide__free(w.not_opt);
	tide__free(w.idle);
	if (!ok)
		tide__roles_free(out);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

void tide__roles_free(tide_roles *r)
{
	tide__free(r->role);
	tide__free(r->rule);
	memset(r, 0, sizeof *r);
}
