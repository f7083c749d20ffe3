// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses the option texts of analyze.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/initial_state.h"
#include "analyze/memory/live_set.h"
#include "analyze/memory/usage.h"
#include "api/report.h"
#include "api/select.h"
#include "base/error.h"

tide_code tide__take_device(const tide_model *m, const char *text, uint32_t *out, tide_error *err)
{
	*out = text ? tide__device_find(m, text) : TIDE_ANY;
	return *out ? TIDE_OK
		    : tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				 "the trace has no device '%.60s'", text);
}

tide_code tide__take_one_device(const tide_model *m, const char *text, uint32_t *out,
				tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__take_device(m, text, out, err);
	if (rc != TIDE_OK || text)
		return rc;
	rc = tide__find_usage(m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK)
		*out = tide__usage_highest(&u);
	tide__usage_free(&u);
	return rc;
}

tide_code tide__take_moment(const tide_model *m, const char *text, tide_moment *out,
			    tide_error *err)
{
	*out = (tide_moment){ .chosen = text, .position = UINT64_MAX, .t = m->t_end };
	if (!text)
		return TIDE_OK;
	out->at_peak = !strcmp(text, "peak");
	if (out->at_peak)
		return TIDE_OK;
	if (*text == '#' && tide__parse_position(text + 1, SIZE_MAX, &out->position)) {
		if (out->position > m->memory_events.n)
			return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
					  "at: %.60s is after the last of %zu memory events", text,
					  m->memory_events.n);
		out->position = tide__after_initial(m, out->position);
		out->t = out->position ? tide__memory_event_time(m, (size_t)out->position - 1) : 0;
		return TIDE_OK;
	}
	if (!tide__parse_time(text, m->t_end, &out->t))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "at: '%.60s' is not a time such as 1.5s, 200ms, 50%%, #1000 or "
				  "peak",
				  text);
	if (out->t > m->t_end)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "at: %.60s is after the end of the trace, %" PRId64 " ns", text,
				  m->t_end);
	out->position = tide__position_at(m, out->t);
	return TIDE_OK;
}

tide_code tide__take_word(const char *option, const char *text, const char *const *words,
			  int otherwise, int *out, tide_error *err)
{
	*out = otherwise;
	if (!text)
		return TIDE_OK;
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*out = i;
			return TIDE_OK;
		}
	char list[160] = "";
	for (int i = 0; words[i]; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
			 words[i]);
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s needs one of %s, not '%.60s'",
			  option, list, text);
}
