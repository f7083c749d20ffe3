// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/output/progress.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/cli.h"

enum { ASIDE = 48 }; /* columns of a line at the margin */

void tide__progress_begin(tide_progress *p, const char *what)
{
	bool shows = tide__cli_errors() == stderr && isatty(STDERR_FILENO);
	*p = (tide_progress){ .what = what, .next_ms = shows ? tide__now_ms() + 1000 : 0 };
}

/* Returns whether a line is due; the next one then is due 0.1 s later. */
static bool due(tide_progress *p)
{
	int64_t now = p->next_ms ? tide__now_ms() : -1;
	if (now < p->next_ms)
		return false;
	p->next_ms = now + 100;
	return p->shown = true;
}

/* Moves to the place of the line and clears it. Between both calls the cursor's place is kept. */
static void go(const tide_progress *p)
{
	struct winsize w = { 0 };
	bool wide = !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > ASIDE;
	if (p->aside)
		fprintf(stderr, "\0337\033[%dG\033[K", wide ? w.ws_col - ASIDE + 1 : 1);
	else
		fputs("\r\033[K", stderr);
}

static void come_back(const tide_progress *p)
{
	if (p->aside)
		fputs("\0338", stderr);
}

void tide__progress_print(tide_progress *p, const char *format, ...)
{
	va_list args;
	if (!due(p))
		return;
	va_start(args, format);
	go(p);
	vfprintf(stderr, format, args);
	come_back(p);
	va_end(args);
}

void tide__progress_read(void *user, uint64_t done, uint64_t total)
{
	tide_progress *p = user;
	char name[64], bytes[32], part[16] = "";
	if (!p->next_ms)
		return;
	tide__fmt_name(name, sizeof name, p->what, strlen(p->what), 40);
	tide__fmt_bytes(bytes, sizeof bytes, (double)done);
	if (total)
		snprintf(part, sizeof part, "%3.0f %%, ", 100.0 * (double)done / (double)total);
	tide__progress_print(p, "reading %s: %s%s", name, part, bytes);
}

void tide__progress_end(tide_progress *p)
{
	if (p->shown) {
		go(p);
		come_back(p);
	}
	p->shown = false;
}
