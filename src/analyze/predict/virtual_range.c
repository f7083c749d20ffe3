// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/virtual_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

enum {
	VARIANTS = 16, /* simulations with other workspaces */
	PLACES = 8,    /* simulations with segments at other addresses */
	MARGIN = 64,   /* the range is widened by 1/64 at both ends ... */
	UNKNOWN = 2,   /* ... and by twice that for reserved bytes if workspaces are unknown */
};

typedef struct span {
	uint64_t least, most; /* bytes; 0, 0 = as recorded */
} span;

/* Returns the possible sizes of each allocation, by row: the name of a workspace contains them, as
 * in "cuDNN workspace of X: 100 to 200 bytes". Sets *n to their number. NULL if memory runs out. */
static span *spans_of(const tide_model *m, size_t *n)
{
	span *of = tide__calloc(m->allocs.n + 1, sizeof *of);
	*n = 0;
	for (uint32_t t = 1; of && t < m->tensors.n; t++) {
		const char *name = tide__text(m, m->tensors.name[t], NULL);
		const char *at = strstr(name, "workspace") ? strrchr(name, ':') : NULL;
		span s;
		if (at &&
		    sscanf(at, ": %" SCNu64 " to %" SCNu64 " bytes", &s.least, &s.most) == 2 &&
		    s.least <= s.most && s.most < UINT64_MAX / 4) {
			of[m->tensors.alloc[t].i] = s;
			*n += 1;
		}
	}
	return of;
}

/* Sets the sizes of workspaces in variant `k`: the smallest, the largest, then mixtures in which
 * half of the shapes keep the likely size. Equal shapes are treated alike, as cuDNN does. */
static void resize(tide_requests *q, const span *of, const uint64_t *likely, unsigned k)
{
	for (size_t i = 0; i < q->n; i++) {
		tide_request *r = &q->r[i];
		const span *s = &of[r->id];
		if (r->kind != TIDE_REQ_ALLOC || !s->most)
			continue;
		uint64_t h = tide__mix(tide__mix(s->least + k) ^ s->most);
		if (k < 2)
			r->size = k ? s->most : s->least;
		else
			r->size =
				h & 1 ? likely[i] : s->least + (h >> 1) % (s->most - s->least + 1);
	}
}

/* Returns the highest sum of the blocks that the requests need, without remainders: no allocator
 * that serves them has less in use. `size`: room for a size per id. */
static uint64_t needed(const tide_requests *q, const tide_sim_config *c, uint64_t *size)
{
	uint64_t now = 0, peak = 0;
	for (size_t i = 0; i < q->n_blocks; i++) {
		const tide_sim_seed *b = &q->blocks[i];
		size[b->id] = b->requested ? b->requested : b->size;
		now += size[b->id];
	}
	for (size_t i = 0; i < q->n; i++) {
		const tide_request *r = &q->r[i];
		if (r->kind == TIDE_REQ_ALLOC && r->size) {
			size[r->id] = tide__sim_round(c, r->size);
			now += size[r->id];
		} else if (r->kind == TIDE_REQ_FREE) {
			now -= size[r->id];
			size[r->id] = 0;
		}
		peak = now > peak ? now : peak;
	}
	return peak;
}

static void widen(uint64_t *least, uint64_t *most, uint64_t by)
{
	*least = by < *least ? by : *least;
	*most = by > *most ? by : *most;
}

/* Fragmentation is not monotonic: a margin. Blocks in use are bounded by what is needed. */
static void add_margin(tide_virtual_range *r, uint64_t need)
{
	r->least_allocated = need < r->least_allocated ? need : r->least_allocated;
	r->most_allocated += r->most_allocated / MARGIN;
	uint64_t times = r->unknown ? UNKNOWN : 1;
	r->least_reserved -= r->least_reserved / MARGIN * times;
	r->least_reserved += -r->least_reserved % TIDE_SIM_LARGE_ROUND; /* of every segment */
	r->most_reserved += r->most_reserved / MARGIN * times;
	r->most_reserved -= r->most_reserved % TIDE_SIM_LARGE_ROUND;
	if (r->least_reserved < r->least_allocated)
		r->least_reserved = r->least_allocated;
}

static tide_code try_one(const tide_requests *q, const tide_sim_config *c, tide_virtual_range *r)
{
	tide_sim_result sim;
	tide_code rc = tide__sim_run(q, c, TIDE_BEFORE_AGAIN, &sim);
	if (rc == TIDE_OK) {
		widen(&r->least_allocated, &r->most_allocated, sim.st.allocated_peak);
		widen(&r->least_reserved, &r->most_reserved, sim.st.reserved_peak);
	}
	return rc;
}

static tide_code try_all(tide_requests *q, const tide_sim_config *c, const span *of,
			 tide_virtual_range *r)
{
	uint64_t *likely = tide__calloc(q->n + 1, sizeof *likely);
	uint64_t *size = tide__calloc((size_t)q->n_ids + 1, sizeof *size);
	tide_code rc = likely && size ? TIDE_OK : TIDE_ENOMEM;
	for (size_t i = 0; rc == TIDE_OK && i < q->n; i++)
		likely[i] = q->r[i].size;
	for (unsigned k = 1; rc == TIDE_OK && k <= PLACES; k++) {
		q->scatter = k;
		rc = try_one(q, c, r);
	}
	q->scatter = 0;
	for (unsigned k = 0; rc == TIDE_OK && r->unknown && k < VARIANTS; k++) {
		resize(q, of, likely, k);
		rc = try_one(q, c, r);
	}
	if (rc == TIDE_OK) {
		resize(q, of, likely, 0);
		add_margin(r, needed(q, c, size));
	}
	tide__free(likely);
	tide__free(size);
	return rc;
}

/* Returns the first note of that name, NULL if there is none. */
static const char *note(const tide_model *m, const char *name)
{
	for (uint32_t k = 1; k < m->marks.n; k++)
		if (m->marks.kind[k] == TIDE_MARK_ANNOTATION &&
		    !strcmp(tide__text(m, m->marks.name[k], NULL), name))
			return tide__text(m, m->marks.text[k], NULL);
	return NULL;
}

tide_code tide__virtual_range(const tide_model *m, tide_requests *q, tide_sim_config c,
			      uint64_t allocated, uint64_t reserved, tide_virtual_range *out)
{
	*out = (tide_virtual_range){
		.least_allocated = allocated,
		.most_allocated = allocated,
		.least_reserved = reserved,
		.most_reserved = reserved,
		.no_least = note(m, "predicted.unknown.less"),
		.no_most = note(m, "predicted.unknown.more"),
	};
	int64_t compiled = tide__fact_find(m, "predicted.compiled");
	if (!out->no_least && compiled >= 0) /* nothing is fused */
		out->no_least = tide__text(m, m->facts.text[compiled], NULL);
	c.capacity = 0;
	span *of = spans_of(m, &out->unknown);
	tide_code rc = of ? TIDE_OK : TIDE_ENOMEM;
	if (rc == TIDE_OK)
		rc = try_all(q, &c, of, out);
	tide__free(of);
	return rc;
}
