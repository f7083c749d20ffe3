// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Containers of the pickle decoder: dicts, lists, tuples, and the memo. */
#include "import/torchsnap/pickle/pickle_vm.h"

#include <string.h>

#include "base/mem.h"
#include "import/torchsnap/pickle/huge_pages.h"

static enum obj_state state_of(uint64_t obj)
{
	return (enum obj_state)(obj & 3);
}

static struct body *body_of(const tide_pickle *p, uint64_t obj)
{
	return &p->bodies[obj >> 2];
}

/* A range is a body without items: n MADE values with consecutive ids. */
static bool is_range(const struct body *b)
{
	return b->cap == 1;
}

static tide_pv *items_of(struct body *b)
{
	return b->cap > 2 ? b->items : b->in;
}

static bool is_container(tide_pv v)
{
	return tide__pv_tag(v) == TIDE_PV_DICT || tide__pv_tag(v) == TIDE_PV_LIST;
}

tide_pv tide__pickle_settle(const tide_pickle *p, tide_pv v)
{
	if (!is_container(v))
		return v;
	uint64_t obj = p->objs[tide__pv_payload(v)];
	return state_of(obj) == OBJ_MADE ? tide__pv(TIDE_PV_MADE, obj >> 2) : v;
}

const tide_pv *tide__pickle_items(const tide_pickle *p, tide_pv v, size_t *n)
{
	*n = 0;
	if (!is_container(v))
		return NULL;
	uint64_t obj = p->objs[tide__pv_payload(v)];
	if (state_of(obj) != OBJ_OPEN)
		return NULL;
	struct body *b = body_of(p, obj);
	if (is_range(b))
		return NULL;
	*n = b->n;
	return items_of(b);
}

bool tide__pickle_range(const tide_pickle *p, tide_pv v, tide_pv *first, size_t *n)
{
	if (!is_container(v) || state_of(p->objs[tide__pv_payload(v)]) != OBJ_OPEN)
		return false;
	struct body *b = body_of(p, p->objs[tide__pv_payload(v)]);
	if (!is_range(b))
		return false;
	*first = b->in[0];
	*n = b->n;
	return true;
}

tide_pv tide__pickle_get(const tide_pickle *p, tide_pv dict, unsigned key)
{
	size_t n;
	const tide_pv *kv = tide__pickle_items(p, dict, &n);
	if (tide__pv_tag(dict) != TIDE_PV_DICT)
		return TIDE_PV_NONE;
	for (; n; n -= 2)
		if (kv[n - 2] == tide__pv(TIDE_PV_KEY, key))
			return tide__pickle_settle(p, kv[n - 1]);
	return TIDE_PV_NONE;
}

uint64_t tide__pickle_offset(const tide_pickle *p, tide_pv v)
{
	switch (tide__pv_tag(v)) {
	case TIDE_PV_TEXT:
	case TIDE_PV_NUM:
	case TIDE_PV_BYTES:
		return tide__pv_payload(v);
	case TIDE_PV_DICT:
	case TIDE_PV_LIST: {
		uint64_t obj = p->objs[tide__pv_payload(v)];
		if (state_of(obj) == OBJ_EMPTY)
			return obj >> 2;
		return state_of(obj) == OBJ_OPEN ? body_of(p, obj)->off : TIDE_NO_OFFSET;
	}
	default:
		return TIDE_NO_OFFSET;
	}
}

/* ---- bodies ---- */

tide_pv tide__pickle_new(tide_pickle *p, tide_pv_tag tag, const uint8_t *at)
{
	if (!tide__pickle_grow(p, &p->objs, &p->cap_objs, p->n_objs, sizeof *p->objs))
		return TIDE_PV_NONE;
	p->objs[p->n_objs] = (uint64_t)(at - p->data) << 2 | OBJ_EMPTY;
	return tide__pv(tag, p->n_objs++);
}

static bool open_body(tide_pickle *p, uint64_t *obj)
{
	uint32_t i;
	if (p->free_body) {
		i = p->free_body - 1;
		p->free_body = p->bodies[i].cap;
	} else {
		if (p->n_bodies >= UINT32_MAX - 1)
			return tide__pickle_fail(p, TIDE_ELIMIT, NULL,
						 "too many containers at once");
		if (!tide__pickle_grow(p, &p->bodies, &p->cap_bodies, p->n_bodies,
				       sizeof *p->bodies))
			return false;
		i = (uint32_t)p->n_bodies++;
	}
	p->bodies[i] = (struct body){ .off = *obj >> 2, .cap = 2 };
	*obj = (uint64_t)i << 2 | OBJ_OPEN;
	return true;
}

static void close_body(tide_pickle *p, uint64_t *obj, tide_pv made)
{
	struct body *b = body_of(p, *obj);
	if (b->cap > 2)
		tide__free(b->items);
	b->n = 0;
	b->cap = p->free_body;
	p->free_body = (uint32_t)(*obj >> 2) + 1;
	*obj = tide__pv_payload(made) << 2 | OBJ_MADE;
}

static bool body_room(tide_pickle *p, struct body *b, size_t n)
{
	if (n <= b->cap - b->n)
		return true;
	size_t cap = b->n ? b->cap + b->cap / 2 : 0;
	if (cap < b->n + n)
		cap = b->n + n;
	if (cap < 3)
		cap = 3; /* 2 = items are stored inside the body */
	if (cap > UINT32_MAX)
		return tide__pickle_fail(p, TIDE_ELIMIT, NULL, "a container with over 2^32 items");
	tide_pv *items = b->cap > 2 ? b->items : NULL;
	if (!TIDE_RESIZE(items, cap))
		return tide__pickle_nomem(p);
	if (b->cap <= 2)
		memcpy(items, b->in, sizeof b->in);
	b->items = items;
	b->cap = (uint32_t)cap;
	return true;
}

static bool in_a_row(const tide_pv *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tide__pv_tag(items[i]) != TIDE_PV_MADE || items[i] != items[0] + (i << 4))
			return false;
	return true;
}

/* Converts a range back to single items. */
static bool spell_out(tide_pickle *p, struct body *b)
{
	tide_pv first = b->in[0];
	uint32_t n = b->n;
	tide_pv *items = tide__alloc(n + 3u, sizeof *items);
	if (!items)
		return tide__pickle_nomem(p);
	for (uint32_t i = 0; i < n; i++)
		items[i] = first + ((uint64_t)i << 4);
	b->items = items;
	b->cap = n + 3;
	return true;
}

/* Keeps a long list of events as a range as long as possible. Returns true if done. */
static bool push_range(struct body *b, const tide_pv *items, size_t n)
{
	if (b->n ? !is_range(b) || items[0] != b->in[0] + ((uint64_t)b->n << 4) : n < 64)
		return false;
	if (n > UINT32_MAX - 8 - b->n || !in_a_row(items, n))
		return false;
	if (!b->n) {
		b->in[0] = items[0];
		b->cap = 1;
	}
	b->n += (uint32_t)n;
	return true;
}

static bool push_items(tide_pickle *p, tide_pv container, const tide_pv *items, size_t n,
		       const uint8_t *at)
{
	uint64_t *obj = &p->objs[tide__pv_payload(container)];
	if (state_of(*obj) == OBJ_MADE)
		return tide__pickle_fail(p, TIDE_EFORMAT, at,
					 "the pickle changes an object after it was used: "
					 "no memory snapshot does that");
	if (state_of(*obj) == OBJ_EMPTY && !open_body(p, obj))
		return false;
	struct body *b = body_of(p, *obj);
	if (push_range(b, items, n))
		return true;
	if ((is_range(b) && !spell_out(p, b)) || !body_room(p, b, n))
		return false;
	memcpy(items_of(b) + b->n, items, n * sizeof *items);
	b->n += (uint32_t)n;
	return true;
}

bool tide__pickle_append_row(tide_pickle *p, tide_pv list, tide_pv first, size_t n,
			     const uint8_t *at)
{
	enum { AT_ONCE = 1024 };
	tide_pv items[AT_ONCE];
	while (n) {
		size_t some = n < AT_ONCE ? n : AT_ONCE;
		for (size_t i = 0; i < some; i++)
			items[i] = first + ((uint64_t)i << 4);
		if (!push_items(p, list, items, some, at))
			return false;
		first += (uint64_t)some << 4;
		n -= some;
	}
	return true;
}

void tide__pickle_containers_free(tide_pickle *p)
{
	for (size_t i = p->free_body; i;) { /* unused bodies hold nothing */
		struct body *b = &p->bodies[i - 1];
		i = b->cap;
		b->cap = 0;
	}
	for (size_t i = 0; i < p->n_bodies; i++)
		if (p->bodies[i].cap > 2)
			tide__free(p->bodies[i].items);
	tide__free(p->bodies);
	tide__free(p->objs);
	tide__free(p->memo);
	tide__free(p->wide);
	tide__pickle_fast_free(p);
}

/* ---- making ---- */

static bool client_ok(tide_pickle *p)
{
	if (p->client->failed)
		p->rc = p->client->failed;
	return !p->rc;
}

/* Lets the client replace a dict that is appended to a list. */
static bool make_dict(tide_pickle *p, tide_pv v)
{
	uint64_t *obj = &p->objs[tide__pv_payload(v)];
	if (state_of(*obj) != OBJ_OPEN)
		return true;
	struct body *b = body_of(p, *obj);
	tide_pv *items = items_of(b);
	for (size_t i = 1; i < b->n; i += 2)
		items[i] = tide__pickle_settle(p, items[i]);
	tide_pv made = p->client->make_dict(p->client->user, p, items, b->n);
	if (made)
		close_body(p, obj, made);
	return client_ok(p);
}

/* Handles a list that is put into a dict under `key`. */
static bool make_list(tide_pickle *p, tide_pv key, tide_pv v)
{
	uint64_t *obj = &p->objs[tide__pv_payload(v)];
	if (state_of(*obj) == OBJ_MADE)
		return true;
	bool open = state_of(*obj) == OBJ_OPEN;
	struct body *b = open ? body_of(p, *obj) : NULL;
	if (b && is_range(b) && !spell_out(p, b))
		return false;
	tide_pv *items = b ? items_of(b) : NULL;
	size_t n = b ? b->n : 0;
	for (size_t i = 0; i < n && i < 1; i++) /* check the rest only if the first one matches */
		items[i] = tide__pickle_settle(p, items[i]);
	if (n && tide__pv_tag(items[0]) != TIDE_PV_MADE)
		return true;
	for (size_t i = 1; i < n; i++)
		items[i] = tide__pickle_settle(p, items[i]);
	tide_pv made = p->client->make_list(p->client->user, p, key, items, n);
	if (made && open)
		close_body(p, obj, made);
	else if (made)
		*obj = tide__pv_payload(made) << 2 | OBJ_MADE;
	return client_ok(p);
}

bool tide__pickle_append(tide_pickle *p, tide_pv list, tide_pv *items, size_t n, const uint8_t *at)
{
	if (tide__pv_tag(list) != TIDE_PV_LIST)
		return tide__pickle_fail(p, TIDE_ECORRUPT, at,
					 "items are appended to a value that is not a list");
	for (size_t i = 0; i < n; i++) {
		if (tide__pv_tag(items[i]) == TIDE_PV_DICT && !make_dict(p, items[i]))
			return false;
		items[i] = tide__pickle_settle(p, items[i]);
	}
	return n ? push_items(p, list, items, n, at) : true;
}

bool tide__pickle_set(tide_pickle *p, tide_pv dict, tide_pv *items, size_t n, const uint8_t *at)
{
	if (tide__pv_tag(dict) != TIDE_PV_DICT)
		return tide__pickle_fail(p, TIDE_ECORRUPT, at,
					 "items are set in a value that is not a dict");
	if (n % 2)
		return tide__pickle_fail(p, TIDE_ECORRUPT, at, "a dict key without its value");
	for (size_t i = 0; i < n; i += 2) {
		if (tide__pv_tag(items[i + 1]) == TIDE_PV_LIST &&
		    !make_list(p, items[i], items[i + 1]))
			return false;
		items[i + 1] = tide__pickle_settle(p, items[i + 1]);
	}
	uint64_t *obj = &p->objs[tide__pv_payload(dict)];
	if (n > 2 && state_of(*obj) == OBJ_EMPTY) { /* all its items at once: no body needed */
		tide_pv made = p->client->make_dict(p->client->user, p, items, n);
		if (!client_ok(p))
			return false;
		if (made) {
			*obj = tide__pv_payload(made) << 2 | OBJ_MADE;
			return true;
		}
	}
	return n ? push_items(p, dict, items, n, at) : true;
}

static bool small(tide_pv v)
{
	return tide__pv_tag(v) == TIDE_PV_INT && tide__pv_payload(v) < 1u << 30;
}

tide_pv tide__pickle_make_tuple(tide_pickle *p, tide_pv *items, size_t n, const uint8_t *at)
{
	if (n == 2 && small(items[0]) && small(items[1]))
		return tide__pv(TIDE_PV_PAIR,
				tide__pv_payload(items[0]) << 30 | tide__pv_payload(items[1]));
	tide_pv v = tide__pickle_new(p, TIDE_PV_LIST, at);
	return v && tide__pickle_append(p, v, items, n, at) ? v : TIDE_PV_NONE;
}

/* ---- memo ---- */

bool tide__pickle_memo_reserve(tide_pickle *p, size_t cap)
{
	if (!TIDE_RESIZE(p->memo, cap))
		return tide__pickle_nomem(p);
	p->cap_memo = cap;
	tide__huge_pages_advise(p->memo, cap * sizeof *p->memo);
	return true;
}

bool tide__pickle_pack(tide_pickle *p, tide_pv v, uint32_t *out)
{
	uint64_t payload = tide__pv_payload(v), kind = payload >> 32;
	if (tide__pv_tag(v) != TIDE_PV_MADE && payload < 1u << 28) {
		*out = (uint32_t)v;
		return true;
	}
	if (tide__pv_tag(v) == TIDE_PV_MADE && kind >= 1 && kind <= 4 &&
	    (uint32_t)payload < 1u << 28) {
		*out = (uint32_t)payload << 4 | (uint32_t)(PACK_MADE + kind - 1);
		return true;
	}
	if (p->n_wide >= 1u << 28)
		return tide__pickle_fail(p, TIDE_ELIMIT, NULL, "too many memo entries");
	if (!tide__pickle_grow(p, &p->wide, &p->cap_wide, p->n_wide, sizeof *p->wide))
		return false;
	p->wide[p->n_wide] = v;
	*out = (uint32_t)p->n_wide++ << 4 | PACK_WIDE;
	return true;
}

bool tide__pickle_memo_put(tide_pickle *p, uint64_t index, tide_pv v, const uint8_t *at)
{
	uint32_t packed = 0;
	if (!tide__pickle_pack(p, v, &packed))
		return false;
	if (index >=
	    p->n) /* a pickler numbers its entries consecutively, so they cannot exceed the bytes */
		return tide__pickle_fail(p, TIDE_ECORRUPT, at,
					 "memo entry %llu in a pickle of %zu bytes",
					 (unsigned long long)index, p->n);
	if (index >= p->cap_memo &&
	    !tide__pickle_memo_reserve(p, index < p->cap_memo * 3 / 2 ? p->cap_memo * 3 / 2 + 64
								      : index + 1))
		return false;
	if (index >= p->top_memo) {
		memset(p->memo + p->top_memo, 0, (index - p->top_memo) * sizeof *p->memo);
		p->top_memo = index + 1;
		p->n_memo++;
	} else if (!p->memo[index]) {
		p->n_memo++;
	} else {
		p->gen++; /* cached lists that read the old entry are invalid now */
	}
	p->memo[index] = packed;
	return true;
}
