// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* NVTX: ranges and marks of the program (or torch, cuDNN, NCCL ...). Each shared object that
 * uses NVTX initialises once and requests our functions. Times are Unix time, like CUPTI's. */
#include "capture/cuda/inject.h"
#include "base/now.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include <tidemark/detail/quick.h>

#define EXPORT __attribute__((visibility("default")))
enum { DEEPEST = 256, OPEN = 256 };

typedef struct attributes { /* nvtxEventAttributes_t */
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *handle; /* a string that was registered: our id */
	} message;
} attributes;

struct open_range {
	tide_name name, domain;
	int64_t start;
};

struct thread {
	struct open_range stack[DEEPEST];
	unsigned depth;
	uint64_t tid;
	tide_device_log log;
};
static __thread struct thread *self;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int64_t now(void)
{
	return tide__now_ns(CLOCK_REALTIME);
}

static void end_thread(void *p)
{
	struct thread *t = p;
	tide__log_flush(&t->log);
	self = NULL;
	free(t);
}

static void make_key(void)
{
	pthread_key_create(&key, end_thread);
}

static struct thread *thread(void)
{
	if (self)
		return self;
	pthread_once(&once, make_key);
	struct thread *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->tid = (uint64_t)syscall(SYS_gettid);
	pthread_setspecific(key, t);
	return self = t;
}

/* ---- texts ---- */

static tide_name wide_name(const wchar_t *w)
{
	char text[256];
	size_t n = 0;
	for (; w && *w && n + 1 < sizeof text; w++)
		text[n++] = *w > 0 && *w < 128 ? (char)*w : '?';
	text[n] = 0;
	return tide_intern(text);
}

static tide_name name_of(const attributes *a)
{
	switch (a ? a->message_type : 0) {
	case 1:
		return tide_intern(a->message.ascii ? a->message.ascii : "");
	case 2:
		return wide_name(a->message.wide);
	case 3:
		return (tide_name)(uintptr_t)a->message.handle;
	default:
		return tide_name_static("[range without a name]");
	}
}

/* Returns the name of a domain. Its handle is the id of the name, shifted so that it is never
 * NULL. */
static tide_name domain_name(const void *domain)
{
	return (tide_name)((uintptr_t)domain >> 1);
}

static void *domain_made(tide_name id)
{
	return (void *)((uintptr_t)id << 1 | 1);
}

/* ---- ranges of a thread ---- */

static int push(tide_name name, tide_name domain)
{
	struct thread *t = thread();
	if (!t)
		return -1;
	if (t->depth < DEEPEST)
		t->stack[t->depth] = (struct open_range){ name, domain, now() };
	return (int)t->depth++;
}

static int pop(void)
{
	struct thread *t = self;
	if (!t || !t->depth)
		return -1;
	if (--t->depth >= DEEPEST)
		return (int)t->depth;
	const struct open_range *r = &t->stack[t->depth];
	int64_t end = now();
	uint64_t v[] = { end > r->start ? (uint64_t)(end - r->start) : 0, t->tid, r->name,
			 r->domain };
	tide__log_put(&t->log, TIDE_DEVICE_REC_RANGE, r->start, v, 4);
	if (!t->depth)
		tide__log_flush(&t->log);
	return (int)t->depth;
}

static int push_ascii(const char *text)
{
	return push(tide_intern(text ? text : ""), 0);
}

static int push_wide(const wchar_t *text)
{
	return push(wide_name(text), 0);
}

static int push_ex(const attributes *a)
{
	return push(name_of(a), 0);
}

static int domain_push(const void *domain, const attributes *a)
{
	return push(name_of(a), domain_name(domain));
}

static int domain_pop(const void *domain)
{
	(void)domain;
	return pop();
}

/* ---- ranges that may end in another thread ---- */

static struct {
	struct open_range range;
	uint64_t tid, id;
} started[OPEN];
static uint64_t ids;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t start(tide_name name, tide_name domain)
{
	uint64_t id = 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN && !id; i++)
		if (!started[i].id) {
			id = started[i].id = ++ids;
			started[i].tid = (uint64_t)syscall(SYS_gettid);
			started[i].range = (struct open_range){ name, domain, now() };
		}
	pthread_mutex_unlock(&lock);
	return id;
}

static void end(uint64_t id)
{
	struct open_range r = { 0, 0, 0 };
	uint64_t tid = 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; id && i < OPEN; i++)
		if (started[i].id == id) {
			r = started[i].range;
			tid = started[i].tid;
			started[i].id = 0;
		}
	pthread_mutex_unlock(&lock);
	struct thread *t = tid ? thread() : NULL;
	if (!t)
		return;
	int64_t at = now();
	uint64_t v[] = { at > r.start ? (uint64_t)(at - r.start) : 0, tid, r.name, r.domain };
	tide__log_put(&t->log, TIDE_DEVICE_REC_RANGE, r.start, v, 4);
	if (!t->depth)
		tide__log_flush(&t->log);
}

static uint64_t start_ascii(const char *text)
{
	return start(tide_intern(text ? text : ""), 0);
}

static uint64_t start_wide(const wchar_t *text)
{
	return start(wide_name(text), 0);
}

static uint64_t start_ex(const attributes *a)
{
	return start(name_of(a), 0);
}

static uint64_t domain_start(const void *domain, const attributes *a)
{
	return start(name_of(a), domain_name(domain));
}

static void domain_end(const void *domain, uint64_t id)
{
	(void)domain;
	end(id);
}

/* ---- marks, names ---- */

static void mark(tide_name name, tide_name domain)
{
	struct thread *t = thread();
	if (!t)
		return;
	uint64_t v[] = { t->tid, name, domain };
	tide__log_put(&t->log, TIDE_DEVICE_REC_MARK, now(), v, 3);
	if (!t->depth)
		tide__log_flush(&t->log);
}

static void mark_ascii(const char *text)
{
	mark(tide_intern(text ? text : ""), 0);
}

static void mark_wide(const wchar_t *text)
{
	mark(wide_name(text), 0);
}

static void mark_ex(const attributes *a)
{
	mark(name_of(a), 0);
}

static void domain_mark(const void *domain, const attributes *a)
{
	mark(name_of(a), domain_name(domain));
}

static void name_thread(uint32_t tid, const char *text)
{
	struct thread *t = thread();
	uint64_t v[] = { tid, tide_intern(text ? text : "") };
	if (!t)
		return;
	tide__log_put(&t->log, TIDE_DEVICE_REC_NAME_TID, now(), v, 2);
	tide__log_flush(&t->log);
}

static void *domain_create(const char *text)
{
	return domain_made(tide_intern(text ? text : ""));
}

static void *domain_create_wide(const wchar_t *text)
{
	return domain_made(wide_name(text));
}

static void *register_string(const void *domain, const char *text)
{
	(void)domain;
	return (void *)(uintptr_t)tide_intern(text ? text : "");
}

static void *register_wide(const void *domain, const wchar_t *text)
{
	(void)domain;
	return (void *)(uintptr_t)wide_name(text);
}

/* ---- taking part ---- */

typedef struct callbacks_table { /* NvtxExportTableCallbacks */
	size_t size;
	int (*functions)(int module, void ****table, unsigned *n);
} callbacks_table;
typedef const void *export_fn(uint32_t id);

enum { MODULE_CORE = 1, MODULE_CORE2 = 5, EXPORT_CALLBACKS = 1 };

static void set(void ***table, unsigned n, unsigned id, const void *function)
{
	if (id < n && table[id])
		memcpy(table[id], function, sizeof(void *));
}

#define SET(id, f)                      \
	do {                            \
		__typeof__(&f) p_ = f;  \
		set(table, n, id, &p_); \
	} while (0)

static void take_core(void ***table, unsigned n)
{
	SET(1, mark_ex);
	SET(2, mark_ascii);
	SET(3, mark_wide);
	SET(4, start_ex);
	SET(5, start_ascii);
	SET(6, start_wide);
	SET(7, end);
	SET(8, push_ex);
	SET(9, push_ascii);
	SET(10, push_wide);
	SET(11, pop);
	SET(14, name_thread);
}

static void take_domains(void ***table, unsigned n)
{
	SET(1, domain_mark);
	SET(2, domain_start);
	SET(3, domain_end);
	SET(4, domain_push);
	SET(5, domain_pop);
	SET(10, register_string);
	SET(11, register_wide);
	SET(12, domain_create);
	SET(13, domain_create_wide);
}

/* Called by the first NVTX function of each shared object; 1 = we took part. */
EXPORT int InitializeInjectionNvtx2(export_fn *get);
int InitializeInjectionNvtx2(export_fn *get)
{
	const callbacks_table *c = get ? get(EXPORT_CALLBACKS) : NULL;
	void ***table = NULL;
	unsigned n = 0;
	if (!c || c->size < sizeof *c || !tide__gpu_start())
		return 0;
	if (c->functions(MODULE_CORE, &table, &n) && table)
		take_core(table, n);
	table = NULL;
	if (c->functions(MODULE_CORE2, &table, &n) && table)
		take_domains(table, n);
	return 1;
}
