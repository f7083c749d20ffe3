// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See watch.h. Folders are kept in order of their watch descriptors, which the kernel counts up: a
 * new one is the last, and an event finds its folder by bisection. */
#include "serve/store/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/search.h"

enum {
	NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO,
	SELF = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED,
	CONTENT = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE,
	MOST_FOLDERS = 8192, /* a share of the kernel's limit for a user */
};

struct folder {
	int wd;
	bool named; /* by the list that is being made */
	char *path; /* owned */
};

struct tide_watch {
	int fd;		  /* -1 = there is no inotify */
	struct folder *v; /* owned; in order of wd */
	size_t n, cap;
	bool unknown;
	const char *why; /* reason for polling; NULL = not needed */
};

tide_watch *tide__watch_new(void)
{
	tide_watch *w = tide__calloc(1, sizeof *w);
	if (w)
		w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return w;
}

void tide__watch_free(tide_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		tide__free(w->v[i].path);
	tide__free(w->v);
	if (w->fd >= 0)
		close(w->fd);
	tide__free(w);
}

/* ---- folders ---- */

/* Returns the position of this descriptor's folder, or where it would be. */
static size_t place_of(const tide_watch *w, int wd)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, w->n, mid, w->v[mid].wd < wd);
	return lo;
}

static struct folder *find(const tide_watch *w, int wd)
{
	size_t at = place_of(w, wd);
	return at < w->n && w->v[at].wd == wd ? &w->v[at] : NULL;
}

static void forget(tide_watch *w, struct folder *f)
{
	size_t at = (size_t)(f - w->v);
	tide__free(f->path);
	memmove(f, f + 1, (--w->n - at) * sizeof *f);
}

/* Returns whether a file system is remote: inotify does not report changes by other machines there.
 * */
static bool is_remote(const char *path)
{
	static const unsigned long remote[] = {
		0x6969,	    /* NFS */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB 2 */
		0x517b,	    /* SMB */
		0x01021997, /* 9P */
		0x00c36400, /* Ceph */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x65735546, /* FUSE */
		0x19830326, /* BeeGFS */
		0x5346414f, /* AFS */
	};
	struct statfs s;
	if (statfs(path, &s))
		return false;
	for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
		if (((unsigned long)s.f_type & 0xffffffff) == remote[i])
			return true;
	return false;
}

void tide__watch_begin(tide_watch *w)
{
	w->unknown = false;
	w->why = w->fd < 0 ? "the kernel has no inotify instance left for this user" : NULL;
	for (size_t i = 0; i < w->n; i++)
		w->v[i].named = false;
}

static bool add(tide_watch *w, int wd, const char *path)
{
	char *copy = tide__strndup(path, strlen(path));
	if (!copy || !TIDE_ROOM(w->v, w->cap, w->n + 1)) {
		tide__free(copy);
		return false;
	}
	size_t at = place_of(w, wd);
	memmove(w->v + at + 1, w->v + at, (w->n++ - at) * sizeof *w->v);
	w->v[at] = (struct folder){ wd, true, copy };
	return true;
}

void tide__watch_add_folder(tide_watch *w, const char *path)
{
	if (w->why)
		return;
	if (is_remote(path)) {
		w->why = "a network file system does not report changes";
		return;
	}
	int wd = inotify_add_watch(w->fd, path,
				   NAMES | IN_DELETE_SELF | IN_MOVE_SELF | CONTENT | IN_ONLYDIR |
					   IN_EXCL_UNLINK);
	if (wd < 0) {
		if (errno == ENOSPC || errno == ENOMEM)
			w->why = "the limit fs.inotify.max_user_watches is reached";
		else if (errno != ENOENT && errno != EACCES && errno != ENOTDIR)
			w->why = "inotify refused a folder";
		return;
	}
	struct folder *f = find(w, wd);
	if (f && strcmp(f->path, path)) { /* the same folder under another name: it was moved */
		forget(w, f);
		f = NULL;
	}
	if (f)
		f->named = true;
	else if (w->n >= MOST_FOLDERS)
		w->why = "there are more than 8192 folders";
	else if (!add(w, wd, path))
		w->why = "memory ran out";
}

void tide__watch_add_unknown(tide_watch *w)
{
	w->unknown = true;
}

void tide__watch_end(tide_watch *w)
{
	for (size_t i = w->n; i-- > 0;)
		if (!w->v[i].named || w->why) {
			inotify_rm_watch(w->fd, w->v[i].wd);
			forget(w, &w->v[i]);
		}
}

bool tide__watch_polls(const tide_watch *w, const char **why)
{
	*why = w->why;
	return w->why || w->unknown;
}

/* ---- events ---- */

struct taker {
	tide_watch *w;
	void (*file)(void *user, const char *path);
	void *user;
	bool names;
};

static void one_file(const struct taker *t, const struct folder *f, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s%s%s", f->path, f->path[strlen(f->path) - 1] == '/' ? "" : "/",
		     name) < 0)
		return;
	t->file(t->user, path);
	free(path);
}

static void one_event(struct taker *t, const struct inotify_event *e)
{
	struct folder *f = e->mask & IN_Q_OVERFLOW ? NULL : find(t->w, e->wd);
	const char *name = e->len ? e->name : "";
	if (e->mask & IN_Q_OVERFLOW)
		t->names = true;
	if (!f || name[0] == '.')
		return;
	t->names |= (e->mask & (NAMES | SELF)) != 0;
	if (e->mask & IN_IGNORED)
		forget(t->w, f);
	else if (name[0] && !(e->mask & IN_ISDIR))
		one_file(t, f, name);
}

bool tide__watch_take(tide_watch *w, void (*file)(void *user, const char *path), void *user)
{
	_Alignas(struct inotify_event) char buf[16384];
	struct taker t = { w, file, user, false };
	ssize_t n;
	if (w->fd < 0)
		return false;
	while ((n = read(w->fd, buf, sizeof buf)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buf + at);
			one_event(&t, e);
			at += (ssize_t)(sizeof *e + e->len);
		}
	return t.names;
}
