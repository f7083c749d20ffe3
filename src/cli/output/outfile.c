// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/output/outfile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* ---- Ctrl-C ---- */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
enum { N_ENDING = sizeof ending / sizeof *ending };

static char *volatile unfinished[TIDE_OUTFILES]; /* to be removed when a signal ends the program */

static void give_up(int sig)
{
	for (int i = 0; i < TIDE_OUTFILES; i++)
		if (unfinished[i])
			unlink(unfinished[i]);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Replaces a handler of the signals that end the program; ignored signals stay ignored. */
static void handle(void (*from)(int), void (*to)(int))
{
	struct sigaction now;
	for (int i = 0; i < N_ENDING; i++)
		if (!sigaction(ending[i], NULL, &now) && now.sa_handler == from)
			signal(ending[i], to);
}

static int slot_of(const char *temp)
{
	for (int i = 0; i < TIDE_OUTFILES; i++)
		if (unfinished[i] == temp)
			return i;
	return -1;
}

/* Makes signals that end the program remove an unfinished file. */
static void watch(char *temp)
{
	int i = slot_of(NULL);
	if (i >= 0)
		unfinished[i] = temp;
	handle(SIG_DFL, give_up);
}

static void unwatch(const char *temp)
{
	int i = slot_of(temp);
	if (i >= 0)
		unfinished[i] = NULL;
	for (i = 0; i < TIDE_OUTFILES; i++)
		if (unfinished[i])
			return;
	handle(give_up, SIG_DFL);
}

/* ---- the file ---- */

/* Returns the target of symbolic links, which need not exist yet. */
static char *place_of(const char *path)
{
	char *real = realpath(path, NULL);
	return real ? real : strdup(path);
}

static void forget(tide_outfile *o)
{
	free(o->place);
	free(o->temp);
	*o = (tide_outfile){ 0 };
}

tide_code tide__outfile_open(tide_outfile *o, const char *path, tide_error *err)
{
	struct stat st;
	bool exists = !stat(path, &st), plain = !exists || S_ISREG(st.st_mode);
	*o = (tide_outfile){ .place = place_of(path) };
	if (!o->place || (plain && asprintf(&o->temp, "%s.%ld.part", o->place, (long)getpid()) < 0))
		return o->temp = NULL, forget(o), tide__nomem(err);
	mode_t mode = exists && plain ? st.st_mode & 07777 : 0666;
	if (o->temp)
		watch(o->temp);
	int fd = plain ? open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
		       : open(o->place, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && exists && plain)
		(void)fchmod(fd, mode); /* regardless of the umask */
	o->f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!o->f) {
		tide_code rc = tide__fail_errno(err, "cannot write");
		if (fd >= 0) {
			close(fd);
			if (o->temp)
				unlink(o->temp);
		}
		if (o->temp)
			unwatch(o->temp);
		forget(o);
		return rc;
	}
	return TIDE_OK;
}

tide_code tide__outfile_close(tide_outfile *o, bool keep, tide_error *err)
{
	tide_code rc = TIDE_OK;
	if (!o->f)
		return TIDE_OK;
	if (fclose(o->f) && keep)
		rc = tide__fail_errno(err, "cannot write");
	if (o->temp && keep && rc == TIDE_OK && rename(o->temp, o->place))
		rc = tide__fail_errno(err, "cannot write");
	if (o->temp && (!keep || rc != TIDE_OK))
		unlink(o->temp);
	if (o->temp)
		unwatch(o->temp);
	forget(o);
	return rc;
}
