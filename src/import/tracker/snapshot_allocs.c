// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Makes allocations from the tensors listed in snapshots, for documents without lifecycles. A
 * tensor is the same in two consecutive snapshots if both list it with the same id, or without ids
 * with the same record. Bytes of a device's total that no listed tensor has become one more
 * allocation, so that every snapshot has its stated total. Memory between snapshots is unknown. */
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"

static uint64_t hash(const char *s, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * UINT64_C(1099511628211);
	return tide__mix(h ^ n);
}

static bool put(trk *t, trk_listed like)
{
	trk_listed *x = TIDE_PUSH(t, listed);
	if (!x)
		return tide__tracker_nomem(t);
	*x = like;
	return true;
}

static bool put_rest(trk *t, uint64_t bytes, tide_str device)
{
	return put(t, (trk_listed){ .key = tide__mix(bytes ^ tide__mix(device.i + 1)),
				    .size = bytes,
				    .device = device });
}

bool tide__tracker_add_rest(trk *t, uint64_t bytes)
{
	return put_rest(t, bytes, (tide_str){ 0 });
}

bool tide__tracker_add_list(trk *t, jsonr_slice tensors, tide_str device, uint64_t total)
{
	enum { BYTES, SIZE, ID, SHAPE, DTYPE, GRAD, PURPOSE, OP, BY, N };
	static const char *const names[N] = { "size_bytes", "size_mb",	 "tensor_id",
					      "shape",	    "dtype",	 "requires_grad",
					      "purpose",    "operation", "allocated_by" };
	jsonr_slice none, one, v[N];
	uint64_t sum = 0;
	jsonr_walk w = tide__tracker_walk(t, tensors);
	while (!w.object && tide__tracker_next(t, &w, &none, &one)) {
		trk_listed x = { .device = device };
		if (!tide__tracker_find_fields(t, one, names, N, v))
			return false;
		if (!tide__tracker_parse_bytes(t, v[BYTES], v[SIZE], &x.size)) {
			t->bad++;
			continue;
		}
		jsonr_slice id = v[ID].type ? v[ID] : one;
		x.key = hash(t->c.s.b + id.at, id.n, tide__mix(device.i + 1));
		x.op = tide__tracker_intern(t, v[OP].type ? v[OP] : v[BY]);
		x.shape = v[SHAPE];
		x.dtype = v[DTYPE];
		x.grad = v[GRAD];
		x.purpose = v[PURPOSE];
		if (!put(t, x))
			return false;
		sum = x.size > UINT64_MAX - sum ? UINT64_MAX : sum + x.size;
	}
	return t->rc == TIDE_OK && (total <= sum || put_rest(t, total - sum, device));
}

struct matching {
	tide_map alive;	 /* key of a tensor, and which of several with it -> life + 1 */
	tide_map of_key; /* key and snapshot -> how many had the key so far */
	uint32_t *seen;	 /* per life: the last snapshot that listed it, from 1 */
	size_t cap_seen;
	uint32_t *living; /* lives that have not ended */
	size_t n_living, cap_living;
};

static bool begin(trk *t, struct matching *x, const trk_listed *l, int64_t at, uint64_t key)
{
	trk_life life = { .born = at,
			  .died = TIDE_T_NEVER,
			  .size = l->size,
			  .device = l->device,
			  .made = { .op = l->op, .thread = TRK_NO_THREAD },
			  .freed = { .thread = TRK_NO_THREAD },
			  .role = tide__tracker_role(t, l->purpose),
			  .listed = true };
	life.flags = life.role ? TIDE_ALLOC_ROLE_GUESSED : 0;
	life.tensor = tide__tracker_add_tensor(t, l->shape, l->dtype, l->grad, TIDE_ROLE_UNKNOWN);
	trk_life *to = t->n_lives < UINT32_MAX - 1 ? TIDE_PUSH(t, lives) : NULL;
	if (!to || !TIDE_ROOM(x->seen, x->cap_seen, t->n_lives) ||
	    !TIDE_ROOM(x->living, x->cap_living, x->n_living + 1) ||
	    !tide__map_put(&x->alive, key, (uint32_t)t->n_lives))
		return tide__tracker_nomem(t);
	*to = life;
	x->living[x->n_living++] = (uint32_t)t->n_lives - 1;
	return t->rc == TIDE_OK;
}

static bool match(trk *t, struct matching *x, const trk_listed *l, int64_t at, uint32_t snap)
{
	uint64_t turn = tide__mix(l->key ^ tide__mix(snap));
	uint32_t nth = tide__map_get(&x->of_key, turn) + 1;
	uint64_t key = l->key + tide__mix(nth);
	if (!tide__map_put(&x->of_key, turn, nth))
		return tide__tracker_nomem(t);
	uint32_t life = tide__map_get(&x->alive, key);
	bool goes_on = life && t->lives[life - 1].died == TIDE_T_NEVER &&
		       t->lives[life - 1].size == l->size;
	if (!goes_on && !begin(t, x, l, at, key))
		return false;
	x->seen[goes_on ? life - 1 : t->n_lives - 1] = snap;
	return true;
}

static void end_unseen(trk *t, struct matching *x, int64_t at, uint32_t snap)
{
	size_t kept = 0;
	for (size_t i = 0; i < x->n_living; i++) {
		uint32_t life = x->living[i];
		if (x->seen[life] == snap)
			x->living[kept++] = life;
		else
			t->lives[life].died = at;
	}
	x->n_living = kept;
}

bool tide__tracker_listed_lives(trk *t)
{
	struct matching x = { 0 };
	bool ok = true;
	for (size_t s = 0; ok && t->list && s < t->n_snaps; s++) {
		const trk_snap *snap = &t->snaps[s];
		for (size_t i = 0; ok && i < snap->n_listed; i++)
			ok = match(t, &x, &t->listed[snap->first_listed + i], snap->t,
				   (uint32_t)s + 1);
		if (ok)
			end_unseen(t, &x, snap->t, (uint32_t)s + 1);
	}
	tide__map_free(&x.alive);
	tide__map_free(&x.of_key);
	tide__free(x.seen);
	tide__free(x.living);
	return ok;
}
