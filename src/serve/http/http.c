// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* HTTP by libmicrohttpd: one thread with epoll over all connections. Slow work runs in workers
 * while the connection is suspended. */
#include "serve/http/http.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"

enum {
	MOST_CONNECTIONS = 512,
	LEAST_CONNECTIONS = 4,
	SPARE_FDS = 12,	       /* descriptors for recordings, notes and libmicrohttpd itself */
	REQUEST_BYTES = 16384, /* request line and headers */
	STALL_S = 30,	       /* without a byte, either way */
	ASK_MS = 15000,	       /* to send a whole request, or the next one */
	ANSWER_MS = 600000,    /* to take a whole answer */
};

#define NO_CONTENT_POLICY "default-src 'none'; frame-ancestors 'none'"

/* ---- replies ---- */

static void header(struct MHD_Response *r, const char *name, const char *value)
{
	(void)MHD_add_response_header(r, name, value);
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, struct MHD_Response *r,
			     const char *type, const char *policy)
{
	if (!r)
		return MHD_NO;
	if (type)
		header(r, "Content-Type", type);
	header(r, "X-Content-Type-Options", "nosniff");
	header(r, "X-Frame-Options", "DENY");
	header(r, "Cache-Control", "no-store");
	header(r, "Referrer-Policy", "no-referrer");
	header(r, "Cross-Origin-Resource-Policy", "same-origin");
	header(r, "Content-Security-Policy", policy ? policy : NO_CONTENT_POLICY);
	if (status == 405)
		header(r, "Allow", "GET, HEAD");
	if (status == 401)
		header(r, "WWW-Authenticate", "Bearer");
	enum MHD_Result rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static void drop_blob(void *cls)
{
	tide__blob_drop(cls);
}

/* Takes ownership of the blob; NULL = memory ran out. */
static enum MHD_Result reply_blob(struct MHD_Connection *c, tide_blob *b)
{
	char name[300];
	if (!b)
		return MHD_NO;
	struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		b->n, b->bytes, drop_blob, b);
	if (!r) {
		tide__blob_drop(b);
		return MHD_NO;
	}
	if (b->name) {
		snprintf(name, sizeof name, "attachment; filename=\"%.250s\"", b->name);
		header(r, "Content-Disposition", name);
	}
	return reply(c, b->status, r, b->type, NULL);
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	return reply_blob(c, tide__answer_error(status, why));
}

/* ---- events ---- */

static void remove_client(void *cls)
{
	tide_client *k = cls;
	pthread_mutex_lock(&k->server->lock);
	k->prev->next = k->next;
	k->next->prev = k->prev;
	pthread_mutex_unlock(&k->server->lock);
	tide__free(k);
}

static ssize_t read_events(void *cls, uint64_t pos, char *buf, size_t max)
{
	tide_client *k = cls;
	pthread_mutex_lock(&k->server->lock);
	ssize_t n = (ssize_t)tide__events_read(k->server->events, &k->place, buf, max);
	if (!n && atomic_load(&k->server->stop)) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (!n && (!pos || k->beat) && max >= 3) {
		memcpy(buf, ":\n\n", 3); /* a comment, to detect a client that is gone */
		k->beat = false;
		n = 3;
	} else if (!n) {
		k->aside = true;
		MHD_suspend_connection(k->connection);
	}
	pthread_mutex_unlock(&k->server->lock);
	return n;
}

static enum MHD_Result reply_events(tide_server *s, struct MHD_Connection *c)
{
	size_t n = 0;
	tide_client *k = tide__calloc(1, sizeof *k);
	if (!k)
		return MHD_NO;
	k->server = s;
	k->connection = c;
	k->place = tide__events_end(s->events);
	pthread_mutex_lock(&s->lock);
	for (tide_client *i = s->clients.next; i != &s->clients; i = i->next)
		n++;
	bool room = n < s->connections / 2 && !atomic_load(&s->stop);
	if (room) {
		k->prev = &s->clients;
		k->next = s->clients.next;
		k->next->prev = k->prev->next = k;
	}
	pthread_mutex_unlock(&s->lock);
	if (!room) {
		tide__free(k);
		return refuse(c, 503, "too many clients are listening already");
	}
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 8192,
								   read_events, k, remove_client);
	if (!r)
		remove_client(k);
	return reply(c, 200, r, "text/event-stream", NULL);
}

void tide__http_wake(tide_server *s, bool beat)
{
	pthread_mutex_lock(&s->lock);
	for (tide_client *k = s->clients.next; k != &s->clients; k = k->next)
		if (k->aside) {
			k->aside = false;
			k->beat |= beat;
			MHD_resume_connection(k->connection);
		}
	pthread_mutex_unlock(&s->lock);
}

/* ---- received bytes ---- */

/* libmicrohttpd accepts a bare LF as the end of a line and stops reading a header at a NUL,
 * while a proxy in front may not: the two would see different requests. This cannot be turned
 * off (0.9.75), and its output does not show either. So its recv is replaced by this one, which
 * checks. Only its one thread calls it. */
enum { MOST_FDS = 65536, AFTER_CR = 1, AMBIGUOUS = 2 };
static uint8_t seen_of[MOST_FDS]; /* by descriptor, from accept on */

static void look_at(int fd, const uint8_t *p, size_t n)
{
	uint8_t *seen = fd >= 0 && fd < MOST_FDS ? &seen_of[fd] : NULL;
	for (size_t i = 0; seen && i < n; i++) {
		if (!p[i] || (p[i] == '\n' && !(*seen & AFTER_CR)))
			*seen |= AMBIGUOUS;
		*seen = (uint8_t)((*seen & AMBIGUOUS) | (p[i] == '\r' ? AFTER_CR : 0));
	}
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	ssize_t got = recvfrom(fd, buf, n, flags, NULL, NULL);
	if (got > 0)
		look_at(fd, buf, (size_t)got);
	return got;
}

static int fd_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	return i ? i->connect_fd : -1;
}

static bool ambiguous(struct MHD_Connection *c)
{
	int fd = fd_of(c);
	return fd < 0 || fd >= MOST_FDS || (seen_of[fd] & AMBIGUOUS);
}

/* ---- access ---- */

static const char *sent(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool shows_token(const tide_server *s, struct MHD_Connection *c)
{
	char value[TIDE_TOKEN_MOST + 1];
	const char *bearer = sent(c, "Authorization"), *cookies = sent(c, "Cookie");
	if (bearer && !strncasecmp(bearer, "Bearer ", 7) && tide__token_equal(s->token, bearer + 7))
		return true;
	return cookies && tide__cookie_get(cookies, s->cookie, value, sizeof value) &&
	       tide__token_equal(s->token, value);
}

/* Returns true for requests that another site made a browser send. Following a link is allowed. */
static bool foreign(struct MHD_Connection *c)
{
	const char *site = sent(c, "Sec-Fetch-Site"), *mode = sent(c, "Sec-Fetch-Mode");
	return site && strcmp(site, "same-origin") && strcmp(site, "none") &&
	       !(mode && !strcmp(mode, "navigate"));
}

struct heads {
	unsigned hosts, lengths;
	bool body;
};

static enum MHD_Result see_head(void *cls, enum MHD_ValueKind kind, const char *key, size_t n_key,
				const char *value, size_t n_value)
{
	struct heads *h = cls;
	h->hosts += !strcasecmp(key, "Host");
	if (!strcasecmp(key, "Content-Length")) {
		h->lengths++;
		h->body |= n_value != 1 || *value != '0'; /* "00", "+0", "0, 0": ambiguous */
	}
	h->body |= !strcasecmp(key, "Transfer-Encoding");
	return MHD_YES;
}

/* Returns 0, or the status of a refusal and its reason. */
static unsigned may_ask(const tide_server *s, struct MHD_Connection *c, const tide_request *r,
			const char *method, const char **why)
{
	const char *host = sent(c, "Host"), *origin = sent(c, "Origin");
	struct heads h = { 0 };
	bool writes = tide__route_writes(r);
	*why = "notes are written by POST";
	if (writes && strcmp(method, "POST"))
		return 400;
	*why = "only GET and HEAD are answered here";
	if (!writes && strcmp(method, "GET") && strcmp(method, "HEAD"))
		return 405;
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, see_head, &h);
	*why = "this request must not have a body";
	if (h.body || h.lengths > 1)
		return 400;
	*why = "lines of a request end with CR and LF, and hold no NUL";
	if (ambiguous(c))
		return 400;
	*why = "a request has one Host";
	if (h.hosts > 1)
		return 400;
	*why = "this Host is not allowed (use localhost or an address)";
	if (!tide__host_allowed(host, s->host))
		return 403;
	*why = "requests from other sites are refused";
	if ((origin && !tide__origin_allowed(origin, host)) || foreign(c))
		return 403;
	return 0;
}

/* ---- the page ---- */

static bool is_page(const tide_request *r)
{
	return !r->n_parts || (r->n_parts == 2 && !strcmp(r->part[0], "r")) ||
	       (r->n_parts == 3 && !strcmp(r->part[0], "diff"));
}

static enum MHD_Result reply_shell(tide_server *s, struct MHD_Connection *c)
{
	if (!s->shell)
		return refuse(c, 501, "this build has no pages: the API is at /api/recordings");
	return reply(c, 200,
		     MHD_create_response_from_buffer(s->n_shell, s->shell, MHD_RESPMEM_PERSISTENT),
		     "text/html; charset=utf-8", s->csp);
}

/* Handles "?token=": sets it as a cookie and redirects to the address without it. */
static enum MHD_Result reply_cookie(tide_server *s, struct MHD_Connection *c, const tide_request *r)
{
	char text[TIDE_TOKEN_MOST + 128], place[3 * (TIDE_REQ_PART + 1)] = "/";
	struct MHD_Response *p = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	for (size_t i = 0, at = 0; i < r->n_parts; i++)
		at += (size_t)snprintf(place + at, sizeof place - at, "/%s", r->part[i]);
	snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict", s->cookie,
		 s->token);
	if (p) {
		header(p, "Set-Cookie", text);
		header(p, "Location", place);
	}
	return reply(c, 303, p, NULL, NULL);
}

/* ---- requests ---- */

static enum MHD_Result begin(tide_server *s, struct MHD_Connection *c, tide_exchange *x)
{
	unsigned status;
	const char *token = tide__request_get(&x->req, "token");
	bool page = is_page(&x->req), given = page && token && tide__token_equal(s->token, token);
	if (x->req.wrong)
		return refuse(c, 400, x->req.wrong);
	if (s->token[0] && given)
		return reply_cookie(s, c, &x->req);
	if (s->token[0] && !shows_token(s, c))
		return refuse(c, 401,
			      "this server needs its token: open the address that it printed");
	if (page)
		return reply_shell(s, c);
	if (x->req.n_parts == 2 && !strcmp(x->req.part[0], "api") &&
	    !strcmp(x->req.part[1], "events"))
		return reply_events(s, c);
	x->route = tide__route_find(&x->req, &status);
	if (!x->route)
		return refuse(c, status, x->req.wrong ? x->req.wrong : "no such address");
	if (tide__answer_key(x->route, s->store, &x->req, x->key, sizeof x->key)) {
		tide_blob *b = tide__cache_get(s->cache, x->key);
		if (b)
			return reply_blob(c, b);
	}
	x->connection = c;
	MHD_suspend_connection(c);
	if (tide__workers_give(&s->workers, x))
		return MHD_YES;
	MHD_resume_connection(c);
	x->answer = tide__answer_error(503, "too many requests are waiting already");
	x->done = true;
	return MHD_YES;
}

static void on_answer(tide_exchange *x)
{
	MHD_resume_connection(x->connection);
}

static tide_conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

static void mark(tide_server *s, struct MHD_Connection *c, bool busy, bool forever)
{
	tide_conn *k = conn_of(c);
	if (!k)
		return;
	pthread_mutex_lock(&s->lock);
	k->busy = busy;
	k->forever = forever;
	k->since_ms = tide__now_ms();
	pthread_mutex_unlock(&s->lock);
}

/* Parses the target before anything else reads it. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *c)
{
	tide_exchange *x = tide__calloc(1, sizeof *x);
	if (x)
		(void)tide__request_parse(target, &x->req);
	return x;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *n_upload, void **state)
{
	tide_server *s = cls;
	tide_exchange *x = *state;
	const char *why;
	unsigned status;
	if (!x || *n_upload)
		return MHD_NO;
	switch (x->phase) {
	case TIDE_PHASE_HEAD:
		x->phase = TIDE_PHASE_ASK;
		mark(s, c, true, !strcmp(x->req.part[1], "events"));
		status = may_ask(s, c, &x->req, method, &why);
		return status ? refuse(c, status, why) : MHD_YES;
	case TIDE_PHASE_ASK:
		x->phase = TIDE_PHASE_WAIT;
		return begin(s, c, x);
	default:
		break;
	}
	if (!x->done)
		return MHD_YES;
	tide_blob *b = x->answer;
	x->answer = NULL;
	return reply_blob(c, b);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode why)
{
	tide_exchange *x = *state;
	mark(cls, c, false, false);
	if (!x)
		return;
	tide__blob_drop(x->answer);
	tide__free(x);
	*state = NULL;
}

/* If 7/8 of the connections are in use, closes the one idle for longest. The lock is held. */
static void make_room(tide_server *s)
{
	tide_conn *oldest = NULL;
	size_t n = 0;
	for (tide_conn *k = s->conns.next; k != &s->conns; k = k->next) {
		n++;
		if (!k->busy && !k->gone && k->fd >= 0 &&
		    (!oldest || k->since_ms <= oldest->since_ms))
			oldest = k; /* newest first: of equal ones the one that came first */
	}
	if (n <= s->connections - s->connections / 8 - 1 || !oldest)
		return;
	oldest->gone = true;
	shutdown(oldest->fd, SHUT_RDWR);
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	tide_server *s = cls;
	tide_conn *k = *context;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = k = tide__calloc(1, sizeof *k);
		if (!k)
			return;
		k->fd = fd_of(c);
		if (k->fd >= 0 && k->fd < MOST_FDS)
			seen_of[k->fd] = 0;
		k->since_ms = tide__now_ms();
		pthread_mutex_lock(&s->lock);
		k->prev = &s->conns;
		k->next = s->conns.next;
		k->next->prev = k->prev->next = k;
		make_room(s);
		pthread_mutex_unlock(&s->lock);
	} else if (k) {
		pthread_mutex_lock(&s->lock);
		k->prev->next = k->next;
		k->next->prev = k->prev;
		pthread_mutex_unlock(&s->lock);
		tide__free(k);
		*context = NULL;
	}
}

/* The descriptor is still that of the connection: it is closed only after on_connection was
 * called. */
void tide__http_reap(tide_server *s, int64_t now_ms)
{
	pthread_mutex_lock(&s->lock);
	for (tide_conn *k = s->conns.next; k != &s->conns; k = k->next) {
		int64_t most = k->busy ? ANSWER_MS : ASK_MS;
		if (!k->forever && now_ms - k->since_ms > most && k->fd >= 0)
			shutdown(k->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- begin and end ---- */

/* Returns how many connections there may be: what `ulimit -n` leaves beside the descriptors that are
 * open now and the spare ones. Without these, accepting fails until an idle client is closed. */
static unsigned find_room(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur > MOST_FDS)
		return MOST_CONNECTIONS;
	rlim_t taken = SPARE_FDS, left;
	for (int fd = 0; fd < (int)lim.rlim_cur; fd++)
		taken += fcntl(fd, F_GETFD) >= 0;
	left = lim.rlim_cur > taken ? lim.rlim_cur - taken : 0;
	return left < LEAST_CONNECTIONS	 ? LEAST_CONNECTIONS
	       : left > MOST_CONNECTIONS ? MOST_CONNECTIONS
					 : (unsigned)left;
}

tide_code tide__http_start(tide_server *s, tide_error *err)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			 (s->listener.ipv6 ? MHD_USE_IPv6 : 0);
	s->workers.done = on_answer;
	s->connections = find_room();
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, s->listener.fd,
		MHD_OPTION_CONNECTION_LIMIT, s->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)REQUEST_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALL_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, s, MHD_OPTION_END);
	if (s->daemon)
		return TIDE_OK;
	close(s->listener.fd);
	return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "the server could not be started");
}

void tide__http_stop(tide_server *s)
{
	tide__http_wake(s, false);
	MHD_stop_daemon(s->daemon);
}
