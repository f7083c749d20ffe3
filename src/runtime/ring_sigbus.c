// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/ring_sigbus.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "runtime/recorder.h"

static struct sigaction before; /* previous handler, for faults outside our mappings */

static void pass_on(int sig, siginfo_t *info, void *context)
{
	bool fault = info->si_code > 0; /* the instruction is executed again when we return */
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && fault)) {
		signal(sig, SIG_DFL);
		if (!fault)
			raise(sig);
	} else if (before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	}
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	if (info->si_code <= 0 || !tide__ring_file_tear(&tide__rec.space, info->si_addr))
		pass_on(sig, info, context);
	errno = saved;
}

void tide__torn_watch_start(void)
{
	struct sigaction now,
		mine = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	if (sigaction(SIGBUS, NULL, &now) != 0 ||
	    ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus))
		return;
	before = now;
	sigemptyset(&mine.sa_mask);
	(void)sigaction(SIGBUS, &mine, NULL);
}
