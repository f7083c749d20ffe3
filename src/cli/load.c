// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loading a trace for a command, with progress on a terminal, and telling what was lost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"

/* ---- progress ---- */

struct progress {
	const char *file;
	int64_t next_ms; /* when to show the next line */
	bool shown;
};

static int64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct progress *p = user;
	char name[64], bytes[32];
	int64_t now = now_ms();
	if (now < p->next_ms)
		return;
	p->next_ms = now + 100;
	p->shown = true;
	tide__fmt_name(name, sizeof name, p->file, strlen(p->file), 40);
	tide__fmt_bytes(bytes, sizeof bytes, (double)done);
	if (total)
		fprintf(stderr, "\rreading %s: %3.0f %% (%s)\033[K", name,
			100.0 * (double)done / (double)total, bytes);
	else
		fprintf(stderr, "\rreading %s: %s\033[K", name, bytes);
}

/* ---- standard input ---- */

/* Importers map files, so a pipe is first copied into an unlinked temporary file; the name that
 * stands for it is /proc/self/fd/N. -1 with a message when that fails. */
static int spool(char *path, size_t n, tide_error *err)
{
	const char *dir = getenv("TMPDIR");
	char buf[1 << 16];
	ssize_t got;
	snprintf(path, n, "%s/tidemark-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkstemp(path);
	if (fd < 0) {
		tide__fail_errno(err, "cannot make a temporary file in %s",
				 dir && *dir ? dir : "/tmp");
		return -1;
	}
	unlink(path);
	while ((got = read(STDIN_FILENO, buf, sizeof buf)) > 0)
		for (ssize_t at = 0, put; at < got; at += put)
			if ((put = write(fd, buf + at, (size_t)(got - at))) < 0) {
				got = -1;
				break;
			}
	if (got < 0) {
		tide__fail_errno(err, "cannot copy it into a temporary file");
		close(fd);
		return -1;
	}
	snprintf(path, n, "/proc/self/fd/%d", fd);
	return fd;
}

tide_model *tide__cli_load(const tide_args *a, const char *file, unsigned what)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = NULL;
	struct progress p = { .file = file, .next_ms = now_ms() + 1000 };
	tide_load_options opt = { .what = what, .user = &p };
	char path[512];
	bool piped = !strcmp(file, "-");
	int fd = -1;
	(void)a;
	if (piped) {
		p.file = file = "standard input";
		if ((fd = spool(path, sizeof path, &err)) < 0) {
			tide__cli_fail(file, &err);
			return NULL;
		}
	}
	if (isatty(STDERR_FILENO))
		opt.progress = on_progress;
	tide_code rc = tide__load(piped ? path : file, &opt, &m, &err);
	if (p.shown)
		fputs("\r\033[K", stderr);
	if (rc != TIDE_OK) { /* else a spooled input stays open: the model may read from it later */
		if (fd >= 0)
			close(fd);
		tide__cli_fail(file, &err);
		return NULL;
	}
	return m;
}

/* ---- losses ---- */

static const struct loss {
	const char *key;
	const char *one, *many; /* after the number */
} losses[] = {
	{ "loss.events", "event was lost", "events were lost" },
	{ "loss.full", "event was lost: a ring was full", "events were lost: a ring was full" },
	{ "loss.signal", "event was lost: a signal handler interrupted the recorder",
	  "events were lost: a signal handler interrupted the recorder" },
	{ "loss.unknown_frees", "free of an address that was not allocated was left out",
	  "frees of addresses that were not allocated were left out" },
	{ "loss.records", "record was skipped", "records were skipped" },
};

/* The part of a fact's key after "loss.", or NULL when it is not a loss or lost nothing. */
static const char *loss_key(const tide_model *m, size_t i)
{
	const char *key = tide__text(m, m->facts.key[i], NULL);
	bool nothing = !m->facts.text[i].i && !m->facts.number[i];
	return strncmp(key, "loss.", 5) || nothing ? NULL : key + 5;
}

static void print_loss(FILE *out, const tide_model *m, size_t i)
{
	const char *key = tide__text(m, m->facts.key[i], NULL);
	char buf[400], num[32];
	size_t n;
	if (m->facts.text[i].i) {
		const char *text = tide__text(m, m->facts.text[i], &n);
		fprintf(out, "note: %s: %s", key, tide__fmt_name(buf, sizeof buf, text, n, 0));
		return;
	}
	tide__fmt_count(num, sizeof num, m->facts.number[i]);
	for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
		if (!strcmp(losses[k].key, key)) {
			fprintf(out, "note: %s %s", num,
				m->facts.number[i] == 1 ? losses[k].one : losses[k].many);
			return;
		}
	fprintf(out, "note: %s: %s", tide__fmt_name(buf, sizeof buf, key, strlen(key), 0), num);
}

void tide__cli_losses(const tide_args *a, const tide_model *m)
{
	bool first = true;
	for (size_t i = 0; i < m->facts.n; i++) {
		if (!loss_key(m, i))
			continue;
		if (first)
			fputc('\n', a->out);
		first = false;
		fputs(a->style.color ? "\033[33m" : "", a->out);
		print_loss(a->out, m, i);
		fputs(a->style.color ? "\033[0m\n" : "\n", a->out);
	}
}

void tide__cli_losses_json(tide_json *j, const tide_model *m)
{
	tide__json_key(j, "losses");
	tide__json_object(j);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = loss_key(m, i);
		size_t n;
		if (!key)
			continue;
		tide__json_key(j, key);
		if (m->facts.text[i].i) {
			const char *text = tide__text(m, m->facts.text[i], &n);
			tide__json_strn(j, text, n);
		} else {
			tide__json_int(j, m->facts.number[i]);
		}
	}
	tide__json_object_end(j);
}
