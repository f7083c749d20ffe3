// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/select.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/memory/initial_state.h"
#include "analyze/memory/live_set.h"
#include "cli/options.h"
#include "render/text/labels.h"

int tide__cli_fail_no_device(const tide_args *a, const tide_model *m, const char *text)
{
	char list[300] = "", name[64];
	for (uint32_t d = 1; d < m->devices.n && strlen(list) < 200; d++) {
		tide__device_name(m, d, name, sizeof name);
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", d > 1 ? ", " : "",
			 name);
	}
	return tide__cli_fail_usage(a, "the trace has no device '%.60s'%s%s%s", text,
				    *list ? " (it has " : "", list, *list ? ")" : "");
}

bool tide__cli_get_device(const tide_args *a, const tide_value *v, const tide_model *m,
			  uint32_t *out)
{
	*out = TIDE_ANY;
	if (!v->set)
		return true;
	*out = tide__device_find(m, v->text);
	if (!*out)
		tide__cli_fail_no_device(a, m, v->text);
	return *out != 0;
}

bool tide__cli_get_one_device(const tide_args *a, const tide_value *v, const tide_model *m,
			      uint32_t *out, int *rc)
{
	tide_usage u = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };

	*rc = 2;
	if (!tide__cli_get_device(a, v, m, out))
		return false;
	if (*out != UINT32_MAX)
		return true;
	if (tide__find_usage(m, UINT64_MAX, 0, &u, &err) != TIDE_OK) {
		*rc = tide__cli_fail(a->files[0], &err);
		tide__usage_free(&u);
		return false;
	}
	*out = tide__usage_highest(&u);
	tide__usage_free(&u);
	return true;
}

bool tide__cli_get_moment(const tide_args *a, const tide_value *v, const tide_model *m,
			  tide_moment *out)
{
	*out = (tide_moment){ .position = UINT64_MAX, .t = m->t_end };
	if (!v->set)
		return true;
	out->chosen = true;
	out->at_peak = !strcmp(v->text, "peak");
	if (out->at_peak)
		return true;
	if (v->text[0] == '#' && tide__parse_position(v->text + 1, SIZE_MAX, &out->position)) {
		if (out->position > m->memory_events.n) {
			tide__cli_fail_usage(a, "--at %.60s is after the last of %zu memory events",
					     v->text, m->memory_events.n);
			return false;
		}
		out->position = tide__after_initial(m, out->position);
		out->t = out->position ? tide__memory_event_time(m, (size_t)out->position - 1) : 0;
		return true;
	}
	bool op = !strncmp(v->text, "op", 2);
	if (m->axis == TIDE_AXIS_OPS &&
	    tide__parse_position(v->text + (op ? 2 + (v->text[2] == ' ') : 0),
				 (uint64_t)(m->t_end / TIDE_OP_NS), &out->position)) {
		out->t = (int64_t)out->position * TIDE_OP_NS;
		out->position = tide__position_at(m, out->t);
		return true;
	}
	if (!tide__parse_time(v->text, m->t_end, &out->t)) {
		tide__cli_fail_usage(
			a,
			"--at needs a time such as 1.5s, 200ms, 50%%, a number of memory "
			"events such as #1000, or peak, not '%.60s'",
			v->text);
		return false;
	}
	if (out->t > m->t_end) {
		char end[32];
		tide__cli_fail_usage(a, "--at %.60s is after the end of the trace, %s", v->text,
				     tide__fmt_at(end, sizeof end, (double)m->t_end));
		return false;
	}
	out->position = tide__position_at(m, out->t);
	return true;
}
