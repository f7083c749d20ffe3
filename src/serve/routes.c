// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/routes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"
#include "render/text/json.h"

#define JSON "application/json"

static const tide_route routes[] = {
	{ "api/profiler/flame",
	  " recording kind min_duration_us max_depth small_kernel_threshold_pct merge by ",
	  tide__answer_flame, true, TIDE_HAS_HOST | TIDE_HAS_DEVICE | TIDE_HAS_MEMORY },
	{ "api/profiler/memory", " recording device points ", tide__answer_memory, true,
	  TIDE_HAS_MEMORY | TIDE_HAS_REPORT },
	{ "api/profiler/timeline", " recording from to limit min_duration_us ",
	  tide__answer_timeline, true, TIDE_HAS_HOST | TIDE_HAS_DEVICE },
	{ "api/profiler/kernels", " recording limit ", tide__answer_kernels, true,
	  TIDE_HAS_DEVICE },
	{ "api/profiler/hta", " recording ", tide__answer_hta, true,
	  TIDE_HAS_DEVICE | TIDE_HAS_REPORT },
	{ "api/profiler/compile", " recording ", tide__answer_compile, false,
	  TIDE_HAS_COMPILE | TIDE_HAS_REPORT },
	{ "api/profiler/torch", " recording ", tide__answer_torch, true, TIDE_HAS_HOST },
	{ "api/profiler/bottlenecks", " recording ", tide__answer_bottlenecks, true,
	  TIDE_HAS_DEVICE | TIDE_HAS_MEMORY | TIDE_HAS_COMPILE },
	{ "api/profiler/optimization-score", " recording ", tide__answer_score, true,
	  TIDE_HAS_DEVICE | TIDE_HAS_MEMORY | TIDE_HAS_COMPILE },
	{ "api/runs", " fail_if limit program ", tide__answer_runs, false },
	{ "api/runs/ID/note", " tags note ", tide__api_run_note, false },
	{ "metrics", " limit ", tide__answer_metrics, false },
	{ "api/recordings", " limit offset ids ", tide__answer_recordings, false },
	{ "api/recordings/ID", "", tide__answer_recording, false },
	{ "api/recordings/ID/exported", "", tide__answer_exported, false },
	{ "api/recordings/ID/alive", " at device limit ", tide__answer_alive, true },
	{ "api/recordings/ID/reports/ID", NULL, tide__answer_report, true },
	{ "api/recordings/ID/search", " q limit after skip ", tide__api_search, true },
	{ "api/recordings/ID/span", " n name from to ", tide__answer_span, true },
	{ "api/recordings/ID/sums", " from to tracks limit ", tide__answer_sums, true },
	{ "api/recordings/ID/spans", " from to px ", tide__answer_spans, true },
	{ "api/recordings/ID/curve", " from to px device ", tide__answer_curve, true },
	{ "api/diff", " a b limit ", tide__answer_diff, true },
	{ "data/ID/pieces", " from to px g ", tide__answer_data_window, true },
	{ "data/ID/perfetto", " g ", tide__answer_data_perfetto, false },
	{ "pair/ID/ID/ID", " g ", tide__answer_data_pair, true },
	{ "data/ID/ID", " g all quick from to px at phases ", tide__answer_data_section, true },
};

/* ---- routes ---- */

static bool matches(const char *path, const tide_request *r)
{
	for (size_t i = 0; i < r->n_parts; i++) {
		size_t n = strcspn(path, "/");
		bool any = n == 2 && !strncmp(path, "ID", 2);
		if (!n || (!any && (strlen(r->part[i]) != n || strncmp(path, r->part[i], n))))
			return false;
		path += n + (path[n] == '/');
	}
	return !*path;
}

static bool has_param(const char *params, const char *key)
{
	size_t n = strlen(key);
	for (const char *p = params; (p = strstr(p, key)); p += n)
		if (p > params && p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

/* /api/profile/... is another name of /api/profiler/... */
static void rename_alias(tide_request *r)
{
	if (r->n_parts == 3 && !strcmp(r->part[0], "api") && !strcmp(r->part[1], "profile"))
		strcpy(r->part[1], "profiler");
}

bool tide__route_writes(const tide_request *r)
{
	return matches("api/runs/ID/note", r);
}

const tide_route *tide__route_find(tide_request *r, unsigned *status)
{
	rename_alias(r);
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		const tide_route *t = &routes[i];
		if (!matches(t->path, r))
			continue;
		if (r->twice && t->params) {
			r->wrong = "a parameter is given twice";
			*status = 400;
			return NULL;
		}
		for (size_t k = 0; k < r->n_pairs; k++)
			if (t->params && strcmp(r->pair[k].key, "token") &&
			    strcmp(r->pair[k].key, "early") &&
			    (strcmp(r->pair[k].key, "wrap") || strcmp(r->part[0], "api")) &&
			    !has_param(t->params, r->pair[k].key)) {
				r->wrong = "a parameter that this address does not take";
				*status = 400;
				return NULL;
			}
		return t;
	}
	*status = 404;
	return NULL;
}

/* Returns what a recording must have to answer a request that names none. */
static unsigned needs_of(const tide_route *t, const tide_request *r)
{
	static const struct {
		const char *kind; /* of a flame graph */
		unsigned needs;
	} kinds[] = { { "cpu", TIDE_HAS_HOST },
		      { "gpu", TIDE_HAS_DEVICE },
		      { "memory", TIDE_HAS_MEMORY } };
	const char *kind = tide__request_get(r, "kind");
	for (size_t i = 0; kind && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kind, kinds[i].kind))
			return kinds[i].needs;
	return t->needs ? t->needs : TIDE_HAS_ANY;
}

/* Gets the ids of the recordings that a request names. Returns false if there are none. */
static bool ids_of(tide_store *s, const tide_route *t, const tide_request *r,
		   char id[TIDE_ASK_RECS][TIDE_REC_ID], size_t *n)
{
	const char *names[TIDE_ASK_RECS] = { NULL, NULL };
	*n = 1;
	if (!strcmp(r->part[0], "data"))
		names[0] = r->part[1];
	else if (!strcmp(r->part[0], "pair")) {
		names[0] = r->part[1];
		names[1] = r->part[2];
		*n = 2;
	} else if (!strcmp(r->part[1], "recordings"))
		names[0] = r->part[2];
	else if (!strcmp(r->part[1], "diff")) {
		names[0] = tide__request_get(r, "a");
		names[1] = tide__request_get(r, "b");
		*n = 2;
	} else {
		names[0] = tide__request_get(r, "recording");
		if (!names[0])
			return tide__store_find_newest(s, needs_of(t, r), !r->hasty, id[0]);
	}
	for (size_t i = 0; i < *n; i++) {
		if (!names[i] || strlen(names[i]) >= TIDE_REC_ID)
			return false;
		strcpy(id[i], names[i]);
	}
	return true;
}

bool tide__answer_key(const tide_route *t, tide_store *s, const tide_request *r, char *buf,
		      size_t n)
{
	char id[TIDE_ASK_RECS][TIDE_REC_ID];
	size_t n_ids, at = 0;
	if (!t->kept || !ids_of(s, t, r, id, &n_ids))
		return false;
	for (size_t i = 0; i < n_ids; i++) {
		uint64_t g = tide__store_generation(s, id[i], tide__request_get(r, "early"));
		if (!g)
			return false;
		at += (size_t)snprintf(buf + at, n - at, "%" PRIu64 " ", g);
	}
	at += (size_t)snprintf(buf + at, n - at, "%s %s", t->path,
			       r->n_parts > 2 ? r->part[r->n_parts - 1] : "");
	for (size_t i = 0; i < r->n_pairs && at < n; i++)
		if (strcmp(r->pair[i].key, "token") && strcmp(r->pair[i].key, "g"))
			at += (size_t)snprintf(buf + at, n - at, "&%s=%zu:%s", r->pair[i].key,
					       strlen(r->pair[i].value), r->pair[i].value);
	return at < n;
}

/* ---- answers ---- */

/* Text that is being written; it counts against the memory limit while it grows and until the last
 * client has received it. */
struct growing {
	char *bytes;
	size_t n, cap;
};

static ssize_t grow(void *cookie, const char *p, size_t n)
{
	struct growing *g = cookie;
	if (!TIDE_ROOM(g->bytes, g->cap, g->n + n))
		return 0;
	memcpy(g->bytes + g->n, p, n);
	g->n += n;
	return (ssize_t)n;
}

static FILE *grow_open(struct growing *g)
{
	*g = (struct growing){ 0 };
	return fopencookie(g, "w", (cookie_io_functions_t){ .write = grow });
}

static tide_blob *blob(unsigned status, const char *type, char *bytes, size_t n)
{
	tide_blob *b = tide__calloc(1, sizeof *b);
	if (!b) {
		tide__free(bytes);
		return NULL;
	}
	atomic_init(&b->refs, 1);
	b->status = status;
	b->type = type;
	b->bytes = bytes;
	b->n = n;
	return b;
}

tide_blob *tide__answer_error(unsigned status, const char *text)
{
	struct growing g;
	tide_json j;
	FILE *out = grow_open(&g);
	if (!out)
		return NULL;
	tide__json_begin(&j, out, false);
	tide__json_object(&j);
	tide__json_kstr(&j, "error", text);
	tide__json_kbool(&j, "has_real_data", false);
	tide__json_object_end(&j);
	tide__json_end(&j);
	if (fclose(out)) {
		tide__free(g.bytes);
		return NULL;
	}
	return blob(status, JSON, g.bytes, g.n);
}

/* ---- answers in an envelope: wrap=1 ---- */

static bool wants_envelope(const tide_request *r)
{
	const char *v = tide__request_get(r, "wrap");
	return v && !strcmp(v, "1");
}

/* {"tool", "status", "success", "timestamp", "duration_ms", "arguments", "result"}; after a failure
 * `text` is its JSON, which gives "error" and "error_type" instead of a result. */
static void envelope(tide_json *j, const tide_route *t, const tide_request *r, int64_t ns,
		     const char *error, tide_code code, const struct growing *text)
{
	char tool[96], when[40];
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(tool, sizeof tool, "%s", t->path + 4); /* after "api/" */
	for (char *c = tool; *c; c++)
		*c = *c == '/' ? '.' : *c;
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now.tv_sec, &tm));
	tide__json_object(j);
	tide__json_kstr(j, "tool", tool);
	tide__json_kstr(j, "status", error ? "error" : "ok");
	tide__json_kbool(j, "success", !error);
	tide__json_kstr(j, "timestamp", when);
	tide__json_kmilli(j, "duration_ms", ns / 1000);
	tide__json_kobject(j, "arguments");
	for (size_t i = 0; i < r->n_pairs; i++)
		if (strcmp(r->pair[i].key, "token") && strcmp(r->pair[i].key, "wrap"))
			tide__json_kstr(j, r->pair[i].key, r->pair[i].value);
	tide__json_object_end(j);
	tide__json_kraw(j, "result", error ? NULL : text->bytes, text->n);
	if (error) {
		tide__json_kstr(j, "error", error);
		tide__json_kstr(j, "error_type", tide_code_text(code));
	}
	tide__json_object_end(j);
}

/* Puts `text`, which is freed, into an envelope. Returns NULL if memory runs out. */
static tide_blob *wrapped(unsigned status, const tide_route *t, const tide_request *r, int64_t ns,
			  const char *error, tide_code code, struct growing *text)
{
	struct growing g;
	tide_json j;
	FILE *out = grow_open(&g);
	if (out) {
		tide__json_begin(&j, out, false);
		envelope(&j, t, r, ns, error, code, text);
		tide__json_end(&j);
	}
	bool failed = !out || fclose(out);
	tide__free(text->bytes);
	if (failed) {
		if (out)
			tide__free(g.bytes);
		return NULL;
	}
	return blob(status, JSON, g.bytes, g.n);
}

static unsigned status_of(tide_code rc)
{
	return rc == TIDE_EUSAGE ? 400 : rc == TIDE_ENOTFOUND ? 404 : rc == TIDE_ENOMEM ? 503 : 422;
}

void tide__kept_trace_drop(tide_kept_trace *h)
{
	for (size_t i = 0; i < h->n; i++)
		tide__loaded_drop(h->l[i]);
	h->n = 0;
}

bool tide__route_answer(const tide_route *t, tide_store *s, tide_request *r, tide_waiter *w,
			tide_kept_trace *held, tide_blob **out)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct growing g;
	tide_ask a = { .store = s,
		       .route = t,
		       .req = r,
		       .waiter = w,
		       .type = JSON,
		       .status = 200,
		       .held = held };
	int64_t begun = tide__now_ns(CLOCK_MONOTONIC);
	a.out = grow_open(&g);
	tide_code rc = a.out ? t->run(&a, &err) : TIDE_ENOMEM;
	int64_t ns = tide__now_ns(CLOCK_MONOTONIC) - begun;
	bool failed = a.out && fclose(a.out);
	if (rc != TIDE_EBUSY)
		tide__kept_trace_drop(held);
	if (rc == TIDE_OK && !failed) {
		bool envelope = wants_envelope(r) && !strcmp(a.type, JSON);
		*out = envelope ? wrapped(a.status, t, r, ns, NULL, rc, &g)
				: blob(a.status, a.type, g.bytes, g.n);
		if (*out) {
			(*out)->name = a.name;
			return true;
		}
		tide__free(a.name);
		*out = NULL;
		return true;
	}
	tide__free(g.bytes);
	tide__free(a.name);
	if (rc == TIDE_EBUSY)
		return false;
	if (rc == TIDE_OK && tide__mem_refused())
		tide__fail(&err, TIDE_ENOMEM, TIDE_NO_OFFSET,
			   "the server's memory (--max-memory) is full of recordings and unread "
			   "answers: try again");
	if (rc == TIDE_OK)
		rc = TIDE_ENOMEM;
	const char *why = err.text[0] ? err.text : tide_code_text(rc);
	struct growing none = { 0 };
	*out = wants_envelope(r) ? wrapped(status_of(rc), t, r, ns, why, rc, &none)
				 : tide__answer_error(status_of(rc), why);
	return true;
}

/* ---- for handlers ---- */

tide_code tide__ask_id(tide_ask *a, const char *id, tide_loaded **out, tide_error *err)
{
	tide_kept_trace *h = a->held;
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->id[i], id)) {
			*out = h->l[i];
			return TIDE_OK;
		}
	tide_code rc = tide__store_get(a->store, id, tide__request_get(a->req, "early"), a->waiter,
				       out, err);
	if (rc == TIDE_OK) {
		strcpy(h->id[h->n], id); /* ids of the store fit */
		h->l[h->n++] = *out;
	}
	return rc;
}

tide_code tide__ask_param(tide_ask *a, const char *key, tide_loaded **out, tide_error *err)
{
	char id[TIDE_REC_ID];
	const char *name = tide__request_get(a->req, key);
	*out = NULL;
	if (name)
		return tide__ask_id(a, name, out, err);
	unsigned needs = needs_of(a->route, a->req) & ~(unsigned)TIDE_HAS_REPORT;
	while (tide__store_find_newest(a->store, needs, !a->req->hasty,
				       id)) { /* unreadable recordings are skipped */
		tide_code rc = tide__ask_id(a, id, out, err);
		if (rc == TIDE_OK || rc == TIDE_EBUSY)
			return rc;
	}
	return TIDE_OK; /* no recording: the handler reports it */
}

bool tide__ask_newest(tide_ask *a, char id[TIDE_REC_ID])
{
	return tide__store_find_newest(a->store, needs_of(a->route, a->req), !a->req->hasty, id);
}

tide_code tide__ask_wrong(const tide_ask *a, tide_error *err)
{
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s",
			  a->req->wrong ? a->req->wrong : "a parameter is missing");
}
