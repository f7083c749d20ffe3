// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_index.h. Rows are found by a hash of the path; there are thousands at most. */
#include "serve/store/run_index.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/now.h"
#include "import/exported/exported.h"
#include "import/import.h"
#include "render/text/format.h"
#include "serve/store/exported_has.h"
#include "serve/store/run_file.h"

enum { WAIT_MS = 300, LIVE_MS = 5000, END_MS = 700 };

typedef struct row {
	char *path; /* owned */
	tide_run_row v;
	int64_t tried_size, tried_mtime; /* of the file last read, successfully or not */
	int64_t read_ms;
	bool known, failed, other;
} row;

struct tide_run_index {
	tide_store *store;
	tide_run_index_options opt;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t work;
	pthread_t thread;
	bool stop, started, opened;
	bool pending;  /* at least one recording was postponed */
	uint64_t seen; /* version of the store that was read through; 0 = none */
	row **rows;    /* owned */
	size_t n, cap;
	tide_map by_path;	/* hash of a path -> row + 1 */
	tide_run_file *file;	/* owned; NULL = none */
	char *file_name;	/* owned */
	char why[TIDE_RUN_WHY]; /* why the file could not be opened or written; "" = unknown */
	tide_run_index *next;	/* in the list of all */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static tide_run_index *all; /* one a server; under all_lock */

/* ---- rows, lock held ---- */

static uint64_t hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *s; s++)
		h = tide__mix(h ^ (uint8_t)*s);
	return h ? h : 1;
}

/* Returns the row of a path; `make` creates it. NULL: none, or memory ran out. Colliding hashes
 * use the next number. */
static row *find(tide_run_index *x, const char *path, bool make)
{
	uint64_t key = hash(path);
	for (uint32_t at; (at = tide__map_get(&x->by_path, key)); key++)
		if (!strcmp(x->rows[at - 1]->path, path))
			return x->rows[at - 1];
	row *r = make ? tide__calloc(1, sizeof *r) : NULL;
	if (!r)
		return NULL;
	r->path = tide__strndup(path, strlen(path));
	if (r->path && TIDE_ROOM(x->rows, x->cap, x->n + 1) &&
	    tide__map_put(&x->by_path, key, (uint32_t)x->n + 1)) {
		x->rows[x->n++] = r;
		r->tried_size = -1;
		return r;
	}
	tide__free(r->path);
	tide__free(r);
	return NULL;
}

static bool take_row(void *user, const tide_run_row *v)
{
	row *r = find(user, v->path, true);
	if (!r)
		return false;
	r->v = *v;
	r->v.path = r->path;
	r->known = v->size >= 0;
	if (r->known) {
		r->tried_size = v->size;
		r->tried_mtime = v->mtime_ns;
	}
	return true;
}

/* ---- the file ---- */

/* Returns the folder that holds all of them; owned by the caller. */
static char *common_folder(const tide_rec *r, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(r[i].path, '/');
		size_t own = slash ? (size_t)(slash - r[i].path) : 0;
		if (i == 0)
			len = own;
		while (len &&
		       (own < len || strncmp(r[i].path, r[0].path, len) || (r[i].path[len] != '/')))
			len--;
	}
	if (n && !len) { /* no common folder: use that of the first */
		const char *slash = strrchr(r[0].path, '/');
		len = slash ? (size_t)(slash - r[0].path) : 0;
	}
	return n ? tide__strndup(r[0].path, len) : NULL;
}

static void open_file(tide_run_index *x, const tide_rec *r, size_t n)
{
	static const char name[] = "/.tidemark-runs.sqlite";
	char line[900] = "";
	char *folder = common_folder(r, n);
	if (!folder)
		return;
	size_t len = strlen(folder);
	char *path = tide__alloc(len + sizeof name, 1);
	if (path) {
		memcpy(path, folder, len);
		memcpy(path + len, name, sizeof name);
	}
	tide__free(folder);
	pthread_mutex_lock(&x->lock);
	x->opened = true;
	x->file = path && x->opt.ops ? x->opt.ops->open(path, take_row, x, x->why) : NULL;
	x->file_name = x->file ? path : NULL;
	if (x->file && x->why[0])
		snprintf(line, sizeof line,
			 "%.600s was not written by tidemark and is not used: %s", path, x->why);
	if (x->file)
		x->why[0] = 0;
	pthread_mutex_unlock(&x->lock);
	if (line[0] && x->opt.note)
		x->opt.note(x->opt.user, line);
	if (!x->file_name)
		tide__free(path);
}

/* ---- reading ---- */

/* Finds the first recording to read. */
static bool next_of(tide_run_index *x, const tide_rec *r, size_t n, size_t *at)
{
	for (size_t i = 0; i < n; i++) {
		const row *k = find(x, r[i].path, false);
		bool same =
			k && k->tried_size == (int64_t)r[i].size && k->tried_mtime == r[i].mtime_ns;
		bool soon = k && r[i].writer == TIDE_WRITER_RUNNING &&
			    tide__now_ms() - k->read_ms < LIVE_MS;
		if (!same && !soon) {
			*at = i;
			return true;
		}
		x->pending |= !same;
	}
	return false;
}

/* Returns true for a whole JSON document: the first and the last character are brackets. */
static bool is_json(const char *path)
{
	char head[64] = "", tail[65] = "";
	FILE *f = fopen(path, "rb");
	if (!f)
		return false;
	size_t n = fread(head, 1, sizeof head - 1, f);
	long size = !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	long from = size > 64 ? size - 64 : 0;
	size_t m = size > 0 && !fseek(f, from, SEEK_SET) ? fread(tail, 1, sizeof tail - 1, f) : 0;
	fclose(f);
	const char *first = head + strspn(head, " \t\r\n");
	while (m && strchr(" \t\r\n", tail[m - 1]))
		m--;
	char close = *first == '{' ? '}' : ']';
	return n && m && (*first == '{' || *first == '[') && tail[m - 1] == close;
}

/* Summarises a report that tidemark.profiling exported: only its kind is known. Returns TIDE_EFORMAT
 * for other files. */
static tide_code summarize_exported(const char *path, tide_run_summary *s, tide_error *err)
{
	tide_exported e;
	tide_code rc = tide__exported_load(path, &e, err);
	if (rc == TIDE_OK) {
		*s = (tide_run_summary){ .start_ns = -1,
					 .duration_ns = -1,
					 .peak_bytes = -1,
					 .capacity_bytes = -1,
					 .step_ns = -1,
					 .steps = -1,
					 .busy_ppm = -1,
					 .rank = -1,
					 .compile_ns = -1,
					 .graph_breaks = -1,
					 .has = (uint8_t)tide__exported_has(&e) };
		snprintf(s->format, sizeof s->format, "%s report", tide__exported_text(e.kind));
	}
	tide__exported_free(&e);
	return rc;
}

static void read_one(tide_run_index *x, const tide_rec *r)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_load_options opt = { .threads = 1, .single = true };
	tide_run_summary s;
	tide_model *m = NULL;
	tide_code rc = tide__load(r->path, &opt, &m, &err);
	if (rc == TIDE_OK)
		rc = tide__run_summarize(m, &s, &err);
	tide__model_free(m);
	if (rc == TIDE_EFORMAT)
		rc = summarize_exported(r->path, &s, &err);
	bool other = rc == TIDE_EFORMAT && is_json(r->path);
	pthread_mutex_lock(&x->lock);
	row *k = find(x, r->path, true);
	if (k) {
		k->tried_size = (int64_t)r->size;
		k->tried_mtime = r->mtime_ns;
		k->read_ms = tide__now_ms();
		k->failed = rc != TIDE_OK && rc != TIDE_ENOMEM;
		k->other = other;
		if (rc == TIDE_OK) {
			k->known = true;
			k->v.s = s;
			k->v.path = k->path;
			k->v.size = (int64_t)r->size;
			k->v.mtime_ns = r->mtime_ns;
			if (x->file)
				x->opt.ops->put(x->file, &k->v, 0, x->why);
		}
	}
	pthread_mutex_unlock(&x->lock);
}

/* Tells the store what the known recordings have. */
static void note_all(tide_run_index *x, const tide_rec *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pthread_mutex_lock(&x->lock);
		const row *k = r[i].has ? NULL : find(x, r[i].path, false);
		unsigned has = k && k->known && k->v.size == (int64_t)r[i].size &&
					       k->v.mtime_ns == r[i].mtime_ns
				       ? k->v.s.has
				       : 0;
		pthread_mutex_unlock(&x->lock);
		if (has)
			tide__store_note(x->store, &r[i], has);
	}
}

/* Indexes new and changed recordings; returns false if there was nothing to do. */
static bool work_once(tide_run_index *x)
{
	size_t n, at = 0;
	uint64_t version = tide__store_version(x->store);
	if (version == x->seen && !x->pending)
		return false;
	x->pending = false;
	tide_rec *r = tide__store_list_all(x->store, &n);
	if (!r)
		return false;
	if (!x->opened && n)
		open_file(x, r, n);
	note_all(x, r, n);
	bool any = false;
	int64_t told = tide__now_ms();
	for (;;) {
		size_t step = 0;
		pthread_mutex_lock(&x->lock);
		bool more = !x->stop && next_of(x, r + at, n - at, &step);
		pthread_mutex_unlock(&x->lock);
		if (!more)
			break;
		at += step;
		read_one(x, &r[at]);
		note_all(x, &r[at++], 1);
		any = true;
		if (x->opt.changed && tide__now_ms() - told > 1000) {
			told = tide__now_ms();
			x->opt.changed(x->opt.user);
		}
	}
	tide__store_list_free(r, n);
	x->seen = version;
	if (any && x->opt.changed)
		x->opt.changed(x->opt.user);
	return any;
}

static void *work(void *arg)
{
	tide_run_index *x = arg;
	pthread_mutex_lock(&x->lock);
	while (!x->stop) {
		pthread_mutex_unlock(&x->lock);
		work_once(x);
		pthread_mutex_lock(&x->lock);
		struct timespec until = tide__in_ms(WAIT_MS);
		if (!x->stop)
			pthread_cond_timedwait(&x->work, &x->lock, &until);
	}
	pthread_mutex_unlock(&x->lock);
	return NULL;
}

/* ---- life ---- */

tide_run_index *tide__run_index_new(tide_store *store, const tide_run_index_options *opt)
{
	tide_run_index *x = tide__calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->store = store;
	x->opt = *opt;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->work, NULL);
	x->started = !pthread_create(&x->thread, NULL, work, x);
	pthread_mutex_lock(&all_lock);
	x->next = all;
	all = x;
	pthread_mutex_unlock(&all_lock);
	return x;
}

bool tide__run_index_free(tide_run_index *x)
{
	if (!x)
		return true;
	pthread_mutex_lock(&all_lock);
	for (tide_run_index **p = &all; *p; p = &(*p)->next)
		if (*p == x) {
			*p = x->next;
			break;
		}
	pthread_mutex_unlock(&all_lock);
	pthread_mutex_lock(&x->lock);
	x->stop = true;
	pthread_cond_signal(&x->work);
	pthread_mutex_unlock(&x->lock);
	struct timespec until = tide__in_ms(END_MS);
	if (x->started && pthread_timedjoin_np(x->thread, NULL, &until))
		return false;
	for (size_t i = 0; i < x->n; i++) {
		tide__free(x->rows[i]->path);
		tide__free(x->rows[i]);
	}
	tide__free(x->rows);
	tide__map_free(&x->by_path);
	if (x->file)
		x->opt.ops->close(x->file);
	tide__free(x->file_name);
	pthread_mutex_destroy(&x->lock);
	pthread_cond_destroy(&x->work);
	tide__free(x);
	return true;
}

tide_run_index *tide__run_index_of(tide_store *store)
{
	pthread_mutex_lock(&all_lock);
	tide_run_index *x = all;
	while (x && x->store != store)
		x = x->next;
	pthread_mutex_unlock(&all_lock);
	return x;
}

/* ---- queries ---- */

tide_run *tide__run_index_get(tide_run_index *x, const tide_rec *r, size_t n)
{
	tide_run *v = tide__calloc(n ? n : 1, sizeof *v);
	char *texts = v ? tide__calloc(n ? n : 1, TIDE_RUN_TAGS + TIDE_RUN_NOTE) : NULL;
	if (!texts) {
		tide__free(v);
		return NULL;
	}
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < n; i++) {
		char *text = texts + i * (TIDE_RUN_TAGS + TIDE_RUN_NOTE);
		const row *k = find(x, r[i].path, false);
		v[i].tags = text;
		v[i].note = text + TIDE_RUN_TAGS;
		if (!k)
			continue;
		v[i].known = k->known;
		v[i].failed = k->failed;
		v[i].other = k->other;
		v[i].stale = k->v.size != (int64_t)r[i].size || k->v.mtime_ns != r[i].mtime_ns;
		v[i].s = k->v.s;
		strcpy(text, k->v.tags);
		strcpy(text + TIDE_RUN_TAGS, k->v.note);
	}
	pthread_mutex_unlock(&x->lock);
	return v;
}

void tide__run_index_give_back(tide_run *v, size_t n)
{
	(void)n;
	if (v)
		tide__free((char *)(uintptr_t)v[0].tags);
	tide__free(v);
}

tide_code tide__run_index_write(tide_run_index *x, const char *path, const char *tags,
				const char *note, tide_error *err)
{
	if ((tags && !tide__is_visible_text(tags, TIDE_RUN_TAGS - 1)) ||
	    (note && !tide__is_visible_text(note, TIDE_RUN_NOTE - 1)))
		return tide__fail(
			err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			"tags have at most 255 bytes and a note 511, in UTF-8 and without "
			"control characters and marks of direction");
	pthread_mutex_lock(&x->lock);
	row *k = find(x, path, true);
	bool kept = false;
	if (k) {
		if (!k->known)
			k->v.size = -1;
		k->v.path = k->path;
		if (tags)
			strcpy(k->v.tags, tags);
		if (note)
			strcpy(k->v.note, note);
		kept = x->file && x->opt.ops->put(x->file, &k->v,
						  (tags ? TIDE_RUN_PUT_TAGS : 0) |
							  (note ? TIDE_RUN_PUT_NOTE : 0),
						  x->why);
		if (!kept)
			tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				   "kept until the server ends: .tidemark-runs.sqlite cannot be "
				   "written%s%s",
				   x->why[0] ? ": " : "", x->why);
	}
	pthread_mutex_unlock(&x->lock);
	if (!k)
		return tide__nomem(err);
	if (x->opt.changed)
		x->opt.changed(x->opt.user);
	return kept ? TIDE_OK : TIDE_EIO;
}

const char *tide__run_index_file(tide_run_index *x)
{
	pthread_mutex_lock(&x->lock);
	const char *name = x->file_name;
	pthread_mutex_unlock(&x->lock);
	return name;
}
