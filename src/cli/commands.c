// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only list of commands: dispatch, help, completion and the man-page check use it. To add a
 * command, write cmd/NAME.c, add it to meson.build, and add a line here. */
#include <string.h>

#include "cli/cli.h"

#define TIDE_COMMANDS(X) \
	X(info)          \
	X(memory)        \
	X(phases)        \
	X(peak)          \
	X(ops)           \
	X(modules)       \
	X(allocator)     \
	X(heap)          \
	X(objects)       \
	X(device)        \
	X(leaks)         \
	X(oom)           \
	X(whatif)        \
	X(predict)       \
	X(dump)          \
	X(report)        \
	X(serve)         \
	X(hta)           \
	X(kernels)       \
	X(critical_path) \
	X(compile)       \
	X(advice)        \
	X(timeline)      \
	X(gantt)         \
	X(flame)         \
	X(diff)          \
	X(export)        \
	X(run)           \
	X(profile)       \
	X(ctl)           \
	X(tt)            \
	X(config)        \
	X(recover)       \
	X(pack)          \
	X(completion)    \
	X(help)

#define X(name) extern const tide_command tide__cmd_##name;
TIDE_COMMANDS(X)
#undef X

const tide_command *const tide__commands[] = {
#define X(name) &tide__cmd_##name,
	TIDE_COMMANDS(X)
#undef X
		NULL,
};

const tide_command *tide__command_find(const char *name)
{
	for (const tide_command *const *c = tide__commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}
