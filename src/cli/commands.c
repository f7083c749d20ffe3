// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only list of commands: dispatch, help, completion and the man-page check use it. To add a
 * command, write cmd/NAME.c, add it to meson.build, and add a line here with its group in the program's
 * help; a report (report/report.h) needs only the line. */
#include <pthread.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_run.h"
#include "report/registry.h"

#define TIDE_COMMANDS(COMMAND, REPORT) \
	REPORT(memory)                 \
	COMMAND(phases, MEMORY)        \
	REPORT(peak)                   \
	COMMAND(allocator, MEMORY)     \
	COMMAND(heap, MEMORY)          \
	COMMAND(objects, MEMORY)       \
	COMMAND(device, MEMORY)        \
	REPORT(leaks)                  \
	COMMAND(oom, MEMORY)           \
	COMMAND(whatif, MEMORY)        \
	COMMAND(predict, MEMORY)       \
	COMMAND(hta, TIME)             \
	COMMAND(kernels, TIME)         \
	COMMAND(critical_path, TIME)   \
	REPORT(ops)                    \
	REPORT(modules)                \
	COMMAND(timeline, TIME)        \
	COMMAND(flame, TIME)           \
	COMMAND(compile, TIME)         \
	COMMAND(advice, TIME)          \
	COMMAND(diff, COMPARE)         \
	COMMAND(run, RECORD)           \
	COMMAND(profile, RECORD)       \
	COMMAND(tt, RECORD)            \
	COMMAND(ctl, RECORD)           \
	COMMAND(config, RECORD)        \
	COMMAND(info, FILES)           \
	COMMAND(dump, FILES)           \
	COMMAND(report, FILES)         \
	COMMAND(serve, FILES)          \
	COMMAND(gantt, FILES)          \
	COMMAND(export, FILES)         \
	COMMAND(recover, FILES)        \
	COMMAND(pack, FILES)           \
	COMMAND(completion, HELP)      \
	COMMAND(help, HELP)

#define NONE(name, ...)
#define EXTERN(name, group) extern const tide_command tide__cmd_##name;
TIDE_COMMANDS(EXTERN, NONE)

#define COUNT(name, ...) +1
enum { N_COMMANDS = 0 TIDE_COMMANDS(COUNT, COUNT), N_REPORTS = 0 TIDE_COMMANDS(NONE, COUNT) };

static tide_report_command reports[N_REPORTS];
static const tide_command *list[N_COMMANDS + 1];
static tide_report_group group_of[N_COMMANDS];

static void make_list(void)
{
	size_t n = 0, n_reports = 0;
#define PUT_COMMAND(name, group)          \
	group_of[n] = TIDE_GROUP_##group; \
	list[n++] = &tide__cmd_##name;
#define PUT_REPORT(name)                                                      \
	tide__report_command_make(&tide__report_##name, &reports[n_reports]); \
	group_of[n] = tide__report_##name.group;                              \
	list[n++] = &reports[n_reports++].command;
	TIDE_COMMANDS(PUT_COMMAND, PUT_REPORT)
}

const tide_command *const *tide__command_list(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_list);
	return list;
}

tide_report_group tide__command_group(size_t i)
{
	tide__command_list();
	return group_of[i];
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
