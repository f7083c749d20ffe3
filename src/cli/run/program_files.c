// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/program_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/run/child.h"
#include "format/tide.h"

/* Writes the path of a file, which is relative to the program's folder unless it begins with '/'.
 * Returns false if it cannot be read. */
static bool find(char *out, size_t n, const char *file)
{
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (len <= 0)
		return false;
	exe[len] = 0;
	*strrchr(exe, '/') = 0;
	bool whole = file[0] == '/';
	return (size_t)snprintf(out, n, "%s%s%s", whole ? "" : exe, whole ? "" : "/", file) < n &&
	       access(out, R_OK) == 0;
}

bool tide__program_file_find(char *out, size_t n, const char *in_build, const char *installed)
{
	return find(out, n, in_build) || find(out, n, installed);
}

/* Reads the path of the source tree from the file that the build writes beside the program. Returns
 * false if there is none, as beside an installed program, or if the tree was moved: it must have a
 * file that nothing else has. */
static bool find_tree(char *tree)
{
	char file[PATH_MAX], own[PATH_MAX];
	FILE *f = find(file, sizeof file, "source_tree") ? fopen(file, "r") : NULL;
	bool got = f && fgets(tree, PATH_MAX, f);
	if (f)
		fclose(f);
	if (!got)
		return false;
	tree[strcspn(tree, "\n")] = 0;
	return *tree == '/' &&
	       (size_t)snprintf(own, sizeof own, "%s/src/cli/run/program_files.c", tree) <
		       sizeof own &&
	       access(own, R_OK) == 0;
}

bool tide__source_file_find(char *out, size_t n, const char *in_tree, const char *installed)
{
	char tree[PATH_MAX];
	return (find_tree(tree) && (size_t)snprintf(out, n, "%s/%s", tree, in_tree) < n &&
		access(out, R_OK) == 0) ||
	       find(out, n, installed);
}

void tide__prepend(const char *name, const char *value, char between)
{
	const char *old = getenv(name);
	char *both = NULL;
	if (old && *old && asprintf(&both, "%s%c%s", value, between, old) < 0)
		return; /* out of memory: keep the existing value */
	setenv(name, both ? both : value, 1);
	free(both);
}

/* ---- programs ---- */

/* Returns whether execvp would find the name in PATH. */
static bool is_in_path(const char *name)
{
	char file[PATH_MAX];
	struct stat st;
	const char *dirs = getenv("PATH");
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *d;
	     d += strcspn(d, ":"), d += *d == ':') {
		int k = (int)strcspn(d, ":");
		if ((size_t)snprintf(file, sizeof file, "%.*s/%s", k, d, name) < sizeof file &&
		    !access(file, X_OK) && !stat(file, &st) && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

const char *tide__program_problem(const char *name, int *status)
{
	struct stat st;
	bool script = tide__is_script(name), path = script || strchr(name, '/');
	if (!path && is_in_path(name))
		return NULL;
	*status = 127;
	if (stat(name, &st)) {
		*status = errno == ENOENT ? 127 : 126;
		return strerror(errno);
	}
	if (!path && S_ISREG(st.st_mode) && !access(name, X_OK))
		return "no such program in PATH; one in this folder is ./NAME";
	*status = 126;
	if (S_ISDIR(st.st_mode))
		return "a folder, not a program";
	if (access(name, script ? R_OK : X_OK) == 0)
		return NULL;
	return script ? strerror(errno)
		      : "not a program: the file is not executable; `tidemark report` reads traces";
}

/* ---- files that are to be written ---- */

bool tide__may_write(const char *file, tide_error *err)
{
	char probe[PATH_MAX + 32]; /* a recording is written under such a name first */
	struct stat st;
	int fd = -1;
	bool was = stat(file, &st) == 0;
	if (was && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return true;
	snprintf(probe, sizeof probe, "%s.%ld.new", file, (long)getpid());
	if (was && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (!was || access(file, W_OK) == 0)
		fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd >= 0) {
		close(fd);
		unlink(probe);
		return true;
	}
	tide__fail_errno(err, "cannot write");
	return false;
}

static bool is_recording(const char *file)
{
	char head[sizeof TIDE_FILE_MAGIC - 1];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
	if (fd >= 0)
		close(fd);
	return n >= 0 && !memcmp(head, TIDE_FILE_MAGIC, (size_t)n);
}

bool tide__may_record(const char *file, tide_error *err)
{
	struct stat st;
	bool was = stat(file, &st) == 0;
	if (was && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "not a regular file");
		return false;
	}
	if (!tide__may_write(file, err))
		return false;
	if (!was || is_recording(file))
		return true;
	tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
		   "it exists and is not a recording, so it is not replaced: choose another file");
	return false;
}
