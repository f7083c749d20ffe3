// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs every analysis of a model with its text and JSON, every exporter, and the page. For fuzzing:
 * the output is discarded; the test finds crashes, hangs and broken rules. */
#ifndef TIDE_TESTS_EVERYTHING_H
#define TIDE_TESTS_EVERYTHING_H

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "render/export/export.h"
#include "render/page/page.h"

static void ask_one(tide_model *m, FILE *null, const char *command, const char *option)
{
	char *argv[4] = { (char *)(uintptr_t)command, m->path, (char *)(uintptr_t)option, NULL };
	(void)tide__cli_ask(option ? 3 : 2, argv, m, null, null);
}

static void ask_everything(tide_model *m)
{
	static const char *const commands[] = {
		"info",	 "peak",   "memory",  "ops",	      "modules", "allocator",
		"leaks", "oom",	   "phases",  "timeline",     "hta",	 "kernels",
		"flame", "whatif", "predict", "critical-path"
	};
	static FILE *null;
	tide_error err = { 0 };
	if (!null && !(null = fopen("/dev/null", "w")))
		abort();
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		ask_one(m, null, commands[i], NULL);
		ask_one(m, null, commands[i], "--json");
	}
	for (size_t i = 0; tide__exporters[i]; i++) {
		tide_export_options opt = { 0 };
		tide_export_stats st = { 0 };
		(void)tide__export(tide__exporters[i], m, &opt, false, null, &st, &err);
	}
	tide_page_options page = { 0 };
	(void)tide__page_write(m, &page, null, &err);
}

#endif
