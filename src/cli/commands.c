// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only list of commands: dispatch, help, completion and the man-page check use it. To add a
 * command, write cmd/NAME.c, add it to meson.build, and add a line here; a report (report/report.h)
 * needs only the line. */
#include <pthread.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_run.h"
#include "report/registry.h"

#define TIDE_COMMANDS(COMMAND, REPORT) \
	COMMAND(info)                  \
	REPORT(memory)                 \
	COMMAND(phases)                \
	REPORT(peak)                   \
	REPORT(ops)                    \
	REPORT(modules)                \
	COMMAND(allocator)             \
	COMMAND(heap)                  \
	COMMAND(objects)               \
	COMMAND(device)                \
	REPORT(leaks)                  \
	COMMAND(oom)                   \
	COMMAND(whatif)                \
	COMMAND(predict)               \
	COMMAND(dump)                  \
	COMMAND(report)                \
	COMMAND(serve)                 \
	COMMAND(hta)                   \
	COMMAND(kernels)               \
	COMMAND(critical_path)         \
	COMMAND(compile)               \
	COMMAND(advice)                \
	COMMAND(timeline)              \
	COMMAND(gantt)                 \
	COMMAND(flame)                 \
	COMMAND(diff)                  \
	COMMAND(export)                \
	COMMAND(run)                   \
	COMMAND(profile)               \
	COMMAND(ctl)                   \
	COMMAND(tt)                    \
	COMMAND(config)                \
	COMMAND(recover)               \
	COMMAND(pack)                  \
	COMMAND(completion)            \
	COMMAND(help)

#define NONE(name)
#define EXTERN(name) extern const tide_command tide__cmd_##name;
TIDE_COMMANDS(EXTERN, NONE)

#define COUNT(name) +1
enum { N_COMMANDS = 0 TIDE_COMMANDS(COUNT, COUNT), N_REPORTS = 0 TIDE_COMMANDS(NONE, COUNT) };

static tide_report_command reports[N_REPORTS];
static const tide_command *list[N_COMMANDS + 1];

static void make_list(void)
{
	size_t n = 0, n_reports = 0;
#define PUT_COMMAND(name) list[n++] = &tide__cmd_##name;
#define PUT_REPORT(name)                                                      \
	tide__report_command_make(&tide__report_##name, &reports[n_reports]); \
	list[n++] = &reports[n_reports++].command;
	TIDE_COMMANDS(PUT_COMMAND, PUT_REPORT)
}

const tide_command *const *tide__command_list(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_list);
	return list;
}

const tide_value *tide__cli_option(const tide_args *a, const char *name)
{
	for (size_t i = 0; i < a->cmd->n_options; i++)
		if (!strcmp(a->cmd->options[i].name, name))
			return &a->opt[i];
	return NULL;
}

const tide_command *tide__command_find(const char *name)
{
	for (const tide_command *const *c = tide__command_list(); *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}
