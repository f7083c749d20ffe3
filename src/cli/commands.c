// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only list of commands: dispatch, help, completion and the man-page check use it. To add a
 * command, write cmd/NAME.c, add it to meson.build, and add a line here with its group in the
 * program's help. A report (report/report.h) needs no line: REPORT only says where help shows it. */
#include <pthread.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_run.h"
#include "report/registry.h"

#define TIDE_COMMANDS(COMMAND, REPORT) \
	REPORT(memory)                 \
	REPORT(phases)                 \
	REPORT(peak)                   \
	REPORT(allocator)              \
	REPORT(heap)                   \
	COMMAND(objects, MEMORY)       \
	REPORT(device)                 \
	REPORT(leaks)                  \
	REPORT(oom)                    \
	REPORT(whatif)                 \
	REPORT(predict)                \
	REPORT(fit)                    \
	REPORT(hta)                    \
	REPORT(kernels)                \
	REPORT(collectives)            \
	REPORT(critical_path)          \
	REPORT(ops)                    \
	REPORT(modules)                \
	REPORT(timeline)               \
	REPORT(flame)                  \
	REPORT(compile)                \
	REPORT(advice)                 \
	REPORT(diff)                   \
	COMMAND(bisect, COMPARE)       \
	COMMAND(run, RECORD)           \
	COMMAND(profile, RECORD)       \
	COMMAND(tt, RECORD)            \
	COMMAND(ctl, RECORD)           \
	COMMAND(config, RECORD)        \
	REPORT(overview)               \
	REPORT(info)                   \
	COMMAND(dump, FILES)           \
	COMMAND(report, FILES)         \
	COMMAND(serve, FILES)          \
	COMMAND(gantt, FILES)          \
	COMMAND(export, FILES)         \
	COMMAND(recover, FILES)        \
	COMMAND(pack, FILES)           \
	COMMAND(redact, FILES)         \
	COMMAND(sql, FILES)            \
	COMMAND(mcp, FILES)            \
	COMMAND(schema, FILES)         \
	COMMAND(completion, HELP)      \
	COMMAND(help, HELP)

/* The commands that take more than the traces of their report. */
#define TIDE_COMMANDS_MORE(MORE) \
	MORE(phases)             \
	MORE(diff) MORE(predict) MORE(fit) MORE(compile) MORE(hta) MORE(kernels) MORE(collectives)

#define NONE(...)
#define EXTERN(name, group) extern const tide_command tide__cmd_##name;
TIDE_COMMANDS(EXTERN, NONE)

#define COUNT(name, group) +1
enum { MOST_COMMANDS = TIDE_REPORTS_MOST TIDE_COMMANDS(COUNT, NONE) };

static tide_report_command reports[TIDE_REPORTS_MOST];
static size_t n_reports;
static const tide_command *list[MOST_COMMANDS + 1];
static tide_report_group group_of[MOST_COMMANDS];
static size_t n_list;

#define MORE_EXTERN(name) extern const tide_command tide__cmd_##name;
TIDE_COMMANDS_MORE(MORE_EXTERN)

static const tide_command *more_of(const tide_report_type *type)
{
#define MORE_NAMED(name)                  \
	if (type == &tide__report_##name) \
		return &tide__cmd_##name;
	TIDE_COMMANDS_MORE(MORE_NAMED)
	(void)type;
	return NULL;
}

static void put_report(const tide_report_type *type)
{
	for (size_t i = 0; i < n_list;
	     i++) /* a report of a command that does more is not another */
		if (!strcmp(list[i]->name, type->name))
			return;
	tide__report_command_make(type, more_of(type), &reports[n_reports]);
	group_of[n_list] = type->group;
	list[n_list++] = &reports[n_reports++].command;
}

static void make_list(void)
{
#define PUT_COMMAND(name, group)               \
	group_of[n_list] = TIDE_GROUP_##group; \
	list[n_list++] = &tide__cmd_##name;
#define PUT_REPORT(name) put_report(&tide__report_##name);
	TIDE_COMMANDS(PUT_COMMAND, PUT_REPORT)
	for (size_t i = 0; tide__reports[i]; i++)
		put_report(tide__reports[i]);
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
