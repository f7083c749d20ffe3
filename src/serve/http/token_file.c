// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/http/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Creates the folder and missing parents, accessible to this user only. */
static bool make_folder(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Writes the token's path. Returns false if there is no home folder. */
static bool place(char *path, size_t n)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const struct passwd *user = home && *home == '/' ? NULL : getpwuid(geteuid());
	if (user)
		home = user->pw_dir;
	int len = state && *state == '/' ? snprintf(path, n, "%s/tidemark", state)
		  : home && *home == '/' ? snprintf(path, n, "%s/.local/state/tidemark", home)
					 : -1;
	if (len < 0 || (size_t)len + sizeof "/serve-token" > n || !make_folder(path))
		return false;
	strcpy(path + len, "/serve-token");
	return true;
}

/* Returns TIDE_ENOTFOUND if there is no token. */
static tide_code read_token(const char *path, char token[TIDE_TOKEN_MOST + 1], tide_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return TIDE_ENOTFOUND;
	if (fd < 0)
		return tide__fail_errno(err, "%s: cannot read the token", path);
	bool mine = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		    !(st.st_mode & 077);
	ssize_t n = mine ? read(fd, token, TIDE_TOKEN_MOST) : 0;
	close(fd);
	token[n > 0 ? n : 0] = 0;
	token[strcspn(token, "\n")] = 0;
	if (!mine)
		return tide__fail(
			err, TIDE_EIO, TIDE_NO_OFFSET,
			"%s: others can read or write it: remove it, and a new token is made",
			path);
	if (!tide__token_fine(token))
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				  "%s: not a token: remove it, and a new one is made", path);
	return TIDE_OK;
}

/* Writes the complete file under another name, then links it: if two servers start at once, one of
 * them creates it. */
static bool keep(const char *path, const char *token)
{
	char part[PATH_MAX + 32];
	snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
	(void)unlink(part);
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	size_t n = strlen(token);
	bool ok = write(fd, token, n) == (ssize_t)n && write(fd, "\n", 1) == 1;
	ok = !close(fd) && ok && !link(part, path);
	unlink(part);
	return ok;
}

tide_code tide__token_read_or_create(char token[TIDE_TOKEN_MOST + 1], tide_error *err)
{
	char path[PATH_MAX];
	bool placed = place(path, sizeof path);
	tide_code rc = placed ? read_token(path, token, err) : TIDE_ENOTFOUND;
	if (rc != TIDE_ENOTFOUND)
		return rc;
	if (!tide__token_make(token))
		return tide__fail_errno(err, "cannot make a token");
	if (placed && !keep(path, token) && errno == EEXIST) /* another server has just created
	                                                      * it */
		return read_token(path, token, err);
	return TIDE_OK;
}
