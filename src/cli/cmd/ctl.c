// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ctl: switch the recording of a running program off and on, or put a mark into it. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/run/control.h"
#include "format/rings.h"

static int run(const tide_args *a)
{
	static const char *const words[] = { "off", "on", "mark" };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char *end;
	long pid = strtol(a->files[0], &end, 10);
	uint64_t command = 0;
	if (*end || pid <= 0)
		return tide__cli_fail_usage(a, "'%s' is not a process number", a->files[0]);
	for (size_t i = 0; i < 3; i++)
		if (!strcmp(a->files[1], words[i]))
			command = i + 1;
	if (!command)
		return tide__cli_fail_usage(a, "'%s' is not on, off or mark", a->files[1]);
	if ((a->n_files == 3) != (command == TIDE_CONTROL_MARK))
		return tide__cli_fail_usage(a, command == TIDE_CONTROL_MARK
						       ? "a mark needs a name"
						       : "only a mark has a name");
	if (tide__control_send((pid_t)pid, command, a->n_files == 3 ? a->files[2] : NULL, &err) !=
	    TIDE_OK)
		return tide__cli_fail(NULL, &err);
	return 0;
}

const tide_command tide__cmd_ctl = {
	.name = "ctl",
	.usage = "PID on|off|mark [NAME]",
	.summary = "switch the recording of a running program on or off, or mark a moment",
	.help = "While a recording is off nothing is stored and the program runs at nearly full "
		"speed. Events of that time are missing, and every report says so. A mark is a "
		"checkpoint of `tidemark memory` and `tidemark phases`.",
	.min_files = 2,
	.max_files = 3,
	.wants = "argument",
	.words = "on,off,mark",
	.run = run,
};
