// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Starts, watches and stops the server. To stop it: nothing new is read, workers finish their
 * requests, then connections close, then memory is freed. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/now.h"
#include "render/page/page.h"
#include "serve/http/http.h"
#include "serve/store/run_file.h"
#include "serve/http/token_file.h"
#include "base/memory_limit.h"

enum {
	TICK_MS = 250,
	LIST_MS = 2000,		 /* interval between listings of files, which take at most */
	LIST_SHARE = 50,	 /* 1/50 of a core for any number of files */
	BEAT_TICKS = 60,	 /* interval of keep-alive messages */
	CACHE_BYTES = 256 << 20, /* of answers; 1/8 of the limit if that is less */
	OWN_BYTES = 32 << 20,	 /* memory of the server besides recordings and answers */
};

/* ---- events ---- */

static void tell(tide_server *s, const char *id)
{
	size_t n;
	tide_rec *r = tide__store_list_all(s->store, &n);
	for (size_t i = 0; r && i < n; i++) {
		tide_loaded *l = NULL;
		tide_error err;
		if (strcmp(r[i].id, id))
			continue;
		if (r[i].state == TIDE_REC_READY)
			(void)tide__store_peek(s->store, id, &l, &err);
		char *text = tide__events_write_recording(&r[i], l);
		if (text)
			tide__events_put(s->events, "recording", text);
		free(text);
		tide__loaded_drop(l);
	}
	tide__store_list_free(r, n);
}

static void on_change(void *user, const char *id)
{
	tide_server *s = user;
	if (id)
		tell(s, id);
	else
		tide__events_put(s->events, "recordings", "{}");
	if (!atomic_load(&s->stop))
		tide__http_wake(s, false);
}

/* Reports new figures, so that pages request the list again. */
static void on_index(void *user)
{
	on_change(user, NULL);
}

static void on_note(void *user, const char *line)
{
	tide_server *s = user;
	if (s->note)
		s->note(s->note_user, line);
}

static void *watch(void *arg)
{
	tide_server *s = arg;
	const struct timespec tick = { .tv_nsec = TICK_MS * 1000000L };
	int64_t list_ms = tide__now_ms() + LIST_MS;
	for (unsigned i = 1; !atomic_load(&s->stop); i++) {
		nanosleep(&tick, NULL);
		int64_t began = tide__now_ms();
		bool list = began >= list_ms;
		tide__store_poll(s->store, list);
		int64_t now = tide__now_ms(), pause = (now - began) * LIST_SHARE;
		if (list)
			list_ms = now + (pause > LIST_MS ? pause : LIST_MS);
		tide__http_reap(s, now);
		if (i % BEAT_TICKS == 0)
			tide__http_wake(s, true);
	}
	return NULL;
}

/* ---- begin ---- */

/* Makes the shell of the page, which may fetch from this server only. */
static void make_shell(tide_server *s)
{
	size_t used;
	FILE *out = open_memstream(&s->shell, &s->n_shell);
	tide_code rc =
		out ? tide__page_shell_write(
			      "<script type=\"application/json\" id=\"tide-served\">{}</script>",
			      out, s->csp, sizeof s->csp, NULL)
		    : TIDE_ENOMEM;
	if (out && (fclose(out) || rc != TIDE_OK)) {
		free(s->shell);
		s->shell = NULL;
		return;
	}
	used = strlen(s->csp);
	snprintf(s->csp + used, sizeof s->csp - used,
		 "; connect-src 'self'; frame-ancestors 'none'");
}

static tide_code make_token(tide_server *s, const tide_server_options *opt, tide_error *err)
{
	snprintf(s->cookie, sizeof s->cookie, "tidemark_%u", s->listener.port);
	if (opt->token)
		snprintf(s->token, sizeof s->token, "%s", opt->token);
	else if (!opt->no_token)
		return tide__token_read_or_create(s->token, err);
	else if (!s->listener.loopback)
		return tide__fail(
			err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			"--no-token is for 127.0.0.1 and ::1: from elsewhere anybody could "
			"read the recordings");
	return TIDE_OK;
}

static bool make_parts(tide_server *s, const tide_server_options *opt)
{
	const tide_store_options store = { .list = opt->list,
					   .note = opt->note,
					   .list_user = opt->user,
					   .changed = on_change,
					   .user = s,
					   .max_bytes = opt->max_bytes };
	s->events = tide__events_new();
	s->cache = tide__cache_new(opt->max_bytes / 8 < CACHE_BYTES ? opt->max_bytes / 8
								    : CACHE_BYTES);
	s->host = opt->host ? tide__strndup(opt->host, strlen(opt->host)) : NULL;
	s->store = s->events && s->cache ? tide__store_new(&store) : NULL;
	return s->store && (s->host || !opt->host);
}

static void free_parts(tide_server *s)
{
	tide__cache_free(s->cache);
	tide__events_free(s->events);
	tide__free(s->host);
	free(s->shell);
	pthread_mutex_destroy(&s->lock);
	tide__free(s);
}

tide_code tide__server_start(const tide_server_options *opt, tide_server **out, tide_error *err)
{
	tide_server *s = tide__calloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return tide__nomem(err);
	pthread_mutex_init(&s->lock, NULL);
	s->clients.next = s->clients.prev = &s->clients;
	s->conns.next = s->conns.prev = &s->conns;
	tide_code rc = tide__listen(opt->address, opt->port, &s->listener, err);
	if (rc == TIDE_OK)
		rc = make_token(s, opt, err);
	if (rc == TIDE_OK && !make_parts(s, opt))
		rc = tide__nomem(err);
	if (rc != TIDE_OK) {
		free_parts(s);
		return rc;
	}
	if (opt->max_bytes < UINT64_MAX - OWN_BYTES)
		tide__mem_set_budget(opt->max_bytes + OWN_BYTES);
	tide__mem_map_large();
	tide__mem_ask(tide__memory_limit_for);
	tide__input_refuse_links();
	make_shell(s);
	tide__store_poll(s->store, true);
	s->note = opt->note;
	s->note_user = opt->user;
	s->index = tide__run_index_new(
		s->store, &(tide_run_index_options){ tide__run_file, on_index, on_note, s });
	if (!s->index)
		rc = tide__nomem(err);
	else if (!tide__workers_start(&s->workers, s->store, s->cache, NULL))
		rc = tide__nomem(err);
	if (rc == TIDE_OK)
		rc = tide__http_start(s, err);
	if (rc == TIDE_OK && pthread_create(&s->watcher, NULL, watch, s))
		rc = tide__fail_errno(err, "cannot make a thread");
	*out = rc == TIDE_OK ? s : NULL; /* a failed start is cleaned up by the program's exit */
	return rc;
}

char *tide__server_url(const tide_server *s, char *buf, size_t n)
{
	const char *any = s->listener.ipv6 ? "[::]" : "0.0.0.0";
	const char *host = strcmp(s->listener.address, any) ? s->listener.address
			   : s->host			    ? s->host
							    : "localhost";
	snprintf(buf, n, "http://%s:%u/%s%s", host, s->listener.port, s->token[0] ? "?token=" : "",
		 s->token);
	return buf;
}

bool tide__server_stop(tide_server *s)
{
	atomic_store(&s->stop, true);
	tide__mem_stop(true); /* makes readings and searches in progress end */
	pthread_join(s->watcher, NULL);
	tide__store_stop(s->store);
	if (!tide__workers_stop(&s->workers))
		return false;
	tide__http_stop(s);
	if (!tide__run_index_free(s->index) || !tide__store_free(s->store))
		return false;
	free_parts(s);
	return true;
}
