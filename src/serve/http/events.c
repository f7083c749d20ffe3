// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/http/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/live_set.h"
#include "analyze/ops/op_tree.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "render/page/page_parts.h"
#include "serve/answer/api.h"
#include "model/names.h"

enum { KEPT = 64, TOP_OPS = 12 };

struct tide_events {
	pthread_mutex_t lock;
	uint64_t n; /* messages ever; message i is in slot i % KEPT */
	struct {
		char *text; /* owned, malloc's */
		size_t n;
	} slot[KEPT];
};

tide_events *tide__events_new(void)
{
	tide_events *e = tide__calloc(1, sizeof *e);
	if (e)
		pthread_mutex_init(&e->lock, NULL);
	return e;
}

void tide__events_free(tide_events *e)
{
	if (!e)
		return;
	for (int i = 0; i < KEPT; i++)
		free(e->slot[i].text);
	pthread_mutex_destroy(&e->lock);
	tide__free(e);
}

void tide__events_put(tide_events *e, const char *name, const char *json)
{
	char *text = NULL;
	size_t len = strcspn(json, "\n"); /* a message is one line */
	pthread_mutex_lock(&e->lock);
	int n = asprintf(&text, "id: %" PRIu64 "\nevent: %s\ndata: %.*s\n\n", e->n, name, (int)len,
			 json);
	if (n > 0) {
		free(e->slot[e->n % KEPT].text);
		e->slot[e->n % KEPT].text = text;
		e->slot[e->n++ % KEPT].n = (size_t)n;
	}
	pthread_mutex_unlock(&e->lock);
}

tide_place_in_events tide__events_end(tide_events *e)
{
	pthread_mutex_lock(&e->lock);
	tide_place_in_events p = { .next = e->n };
	pthread_mutex_unlock(&e->lock);
	return p;
}

/* Handles a reader whose message was overwritten: ends its partial message with an empty line,
 * which the client drops. */
static size_t say_lost(tide_events *e, tide_place_in_events *p, char *buf, size_t n)
{
	static const char lost[] = "\n\nevent: lost\ndata: {}\n\n";
	if (n < sizeof lost - 1)
		return 0;
	memcpy(buf, lost, sizeof lost - 1);
	*p = (tide_place_in_events){ .next = e->n - KEPT };
	return sizeof lost - 1;
}

size_t tide__events_read(tide_events *e, tide_place_in_events *p, char *buf, size_t n)
{
	size_t have = 0;
	pthread_mutex_lock(&e->lock);
	if (e->n > KEPT && p->next < e->n - KEPT)
		have = say_lost(e, p, buf, n);
	while (p->next < e->n && have < n && e->n - p->next <= KEPT) {
		size_t left = e->slot[p->next % KEPT].n - p->at;
		size_t take = left < n - have ? left : n - have;
		memcpy(buf + have, e->slot[p->next % KEPT].text + p->at, take);
		have += take;
		p->at += take;
		if (take == left)
			*p = (tide_place_in_events){ .next = p->next + 1 };
	}
	pthread_mutex_unlock(&e->lock);
	return have;
}

/* ---- the current state of a recording ---- */

static void put_devices(tide_json *j, const tide_model *m, const tide_usage *u)
{
	char name[64];
	tide__json_karray(j, "devices");
	for (uint32_t d = 0; d < u->n_devices; d++) {
		if (!u->devices[d].allocs)
			continue;
		tide__json_object(j);
		tide__json_kstr(j, "device", tide__device_name(m, d, name, sizeof name));
		tide__json_kuint(j, "live_bytes", u->devices[d].bytes);
		tide__json_kuint(j, "live_count", u->devices[d].count);
		tide__json_kuint(j, "peak_bytes", u->devices[d].peak);
		tide__json_kmaybe(j, "reserved_bytes", u->devices[d].reserved);
		tide__json_kstr(j, "reserved_source", tide__reserved_text(u->devices[d].source));
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* Writes the ops that took longest, in order. */
static void put_ops(tide_json *j, const tide_model *m, const tide_op_flat *f)
{
	size_t top[TOP_OPS], n = 0;
	for (size_t i = 0; i < f->n; i++) {
		size_t at = n < TOP_OPS ? n++ : TOP_OPS;
		while (at && f->rows[i].self.ns > f->rows[top[at - 1]].self.ns) {
			if (at < TOP_OPS)
				top[at] = top[at - 1];
			at--;
		}
		if (at < TOP_OPS)
			top[at] = i;
	}
	tide__json_karray(j, "ops");
	for (size_t i = 0; i < n; i++) {
		tide__json_object(j);
		tide__answer_write_name(j, "name", m, f->names[top[i]]);
		tide__json_kuint(j, "count", f->rows[top[i]].count);
		tide__json_kint(j, "self_ns", f->rows[top[i]].self.ns);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_figures(tide_json *j, const tide_model *m)
{
	const tide_optree_options opt = { .device = TIDE_ANY };
	tide_usage u = { 0 };
	tide_optree tree = { 0 };
	tide_op_flat flat = { 0 };
	tide__json_kint(j, "t_end_ns", m->t_end);
	tide__json_kuint(j, "spans", m->spans.n - 1);
	tide__json_kuint(j, "allocations", m->allocs.n - 1);
	if (tide__find_usage(m, UINT64_MAX, 0, &u, NULL) == TIDE_OK)
		put_devices(j, m, &u);
	if (tide__find_op_tree(m, &opt, &tree, NULL) == TIDE_OK &&
	    tide__find_op_table(&tree, &flat, NULL) == TIDE_OK)
		put_ops(j, m, &flat);
	tide__optree_flat_free(&flat);
	tide__optree_free(&tree);
	tide__usage_free(&u);
}

char *tide__events_write_recording(const tide_rec *rec, tide_loaded *l)
{
	char *text = NULL;
	size_t n = 0;
	tide_json j;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	tide__json_begin(&j, out, false);
	tide__json_object(&j);
	tide__api_rec_json(&j, rec);
	if (l && rec->writer != TIDE_WRITER_NONE)
		put_figures(&j, l->m);
	tide__json_object_end(&j);
	tide__json_end(&j);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
