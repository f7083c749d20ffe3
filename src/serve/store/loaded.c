// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/store/loaded.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/losses.h"

enum { LOD_BYTES = 12 }; /* a span, in levels of detail */

tide_loaded *tide__loaded_new(tide_model *m, uint64_t generation)
{
	tide_loaded *l = tide__calloc(1, sizeof *l);
	char *losses = tide__losses_text(m);
	if (!l || !losses) {
		tide__model_free(m);
		free(losses);
		tide__free(l);
		return NULL;
	}
	l->m = m;
	l->losses = losses;
	l->generation = generation;
	l->bytes = tide__model_bytes(m) + LOD_BYTES * (uint64_t)m->spans.n;
	atomic_init(&l->refs, 1);
	pthread_mutex_init(&l->job_lock, NULL);
	pthread_mutex_init(&l->lod_lock, NULL);
	return l;
}

tide_loaded *tide__loaded_hold(tide_loaded *l)
{
	atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void tide__loaded_drop(tide_loaded *l)
{
	if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) > 1)
		return;
	tide__hta_job_free(l->job);
	tide__lod_free(&l->lod);
	free(l->critical);
	pthread_mutex_destroy(&l->job_lock);
	pthread_mutex_destroy(&l->lod_lock);
	tide__model_free(l->m);
	free(l->losses);
	tide__free(l);
}

tide_code tide__loaded_get_job(tide_loaded *l, const tide_hta_job **out, tide_error *err)
{
	tide_code rc = TIDE_OK;
	pthread_mutex_lock(&l->job_lock);
	if (!l->job_made) {
		rc = tide__hta_job_find(l->m, l->m->path, &l->job, err);
		l->job_made = rc == TIDE_OK;
		if (rc != TIDE_OK) { /* to be tried again */
			tide__hta_job_free(l->job);
			l->job = NULL;
		}
	}
	*out = l->job;
	pthread_mutex_unlock(&l->job_lock);
	return rc;
}

tide_code tide__loaded_get_lod(tide_loaded *l, const tide_lod **out, tide_error *err)
{
	tide_code rc = TIDE_OK;
	pthread_mutex_lock(&l->lod_lock);
	if (!l->lod_made) {
		rc = tide__lod_build(l->m, &l->lod, err);
		l->lod_made = rc == TIDE_OK;
	}
	*out = &l->lod;
	pthread_mutex_unlock(&l->lod_lock);
	return rc;
}

tide_code tide__loaded_get_page_options(tide_loaded *l, bool job, tide_page_options *out,
					tide_error *err)
{
	*out = (tide_page_options){ .losses = l->losses, .critical_why = "not computed yet" };
	return job ? tide__loaded_get_job(l, &out->job, err) : TIDE_OK;
}

const char *tide__loaded_name(const tide_loaded *l)
{
	const char *slash = strrchr(l->m->path, '/');
	return slash ? slash + 1 : l->m->path;
}
