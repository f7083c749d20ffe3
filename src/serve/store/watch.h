// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Watches folders with inotify, so that a server of thousands of files need not check each of them.
 *
 * Belongs to one thread at a time. If a folder cannot be watched (a limit of the kernel, a network
 * file system, whose changes elsewhere inotify does not see), tide__watch_polls returns the reason
 * and the caller checks the files itself. */
#ifndef TIDE_SERVE_STORE_WATCH_H
#define TIDE_SERVE_STORE_WATCH_H

#include <stdbool.h>

typedef struct tide_watch tide_watch;

/* Returns NULL if memory runs out. Without inotify it is created too, and polls. */
tide_watch *tide__watch_new(void);
void tide__watch_free(tide_watch *w); /* NULL is fine */

/* Sets the folders: begin, one tide__watch_add_folder for each, end. Folders that are already watched
 * stay watched; those that are not named again are dropped. Name a folder before you read it, so
 * that later changes are noticed. A folder that is missing or unreadable is left out. */
void tide__watch_begin(tide_watch *w);
void tide__watch_add_folder(tide_watch *w, const char *path);
/* Call if there are files in unknown folders (a pattern). */
void tide__watch_add_unknown(tide_watch *w);
void tide__watch_end(tide_watch *w);

/* Returns true if not all of it is watched. *why receives the reason that a user should know, or
 * NULL. Valid after tide__watch_end. */
bool tide__watch_polls(const tide_watch *w, const char **why);

/* Handles all events since the last call, without waiting. Returns true if names were added,
 * removed or changed, or if the kernel lost events: make the list again. `file` is called with the
 * path of each file whose content or attributes changed. Hidden names do not count. */
bool tide__watch_take(tide_watch *w, void (*file)(void *user, const char *path), void *user);

#endif
