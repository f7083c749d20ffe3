// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/answer/api.h"

#include <string.h>

#include "analyze/common/stacks.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "render/page/page_parts.h"
#include "model/names.h"

const char tide__api_none[] = "this server has no recordings to serve";

void tide__api_begin(tide_json *j, tide_ask *a, const tide_loaded *l, bool real)
{
	tide__json_begin(j, a->out, false);
	tide__json_object(j);
	tide__json_kbool(j, "has_real_data", real);
	tide__json_kstr(j, "trace_file", l ? tide__loaded_name(l) : NULL);
}

tide_code tide__api_end(tide_json *j, const char *message, tide_error *err)
{
	if (message)
		tide__json_kstr(j, "message", message);
	tide__json_object_end(j);
	return tide__json_end(j) ? TIDE_OK : tide__nomem(err);
}

void tide__answer_write_mb(tide_json *j, const char *key, uint64_t bytes)
{
	tide__json_kfixed(j, key, (double)bytes / (1 << 20), 6);
}

void tide__answer_write_name(tide_json *j, const char *key, const tide_model *m, tide_str s)
{
	tide__json_ktext(j, key, m, s);
}

void tide__answer_write_stack(tide_json *j, const tide_model *m, tide_stack_id s)
{
	enum { MOST = 64 };
	char text[1024];
	tide__json_karray(j, "stack");
	for (int k = 0; s.i && k < MOST; k++, s = m->stacks.parent[s.i])
		tide__json_str(j, tide__frame_name(m, m->stacks.frame[s.i], text, sizeof text));
	tide__json_array_end(j);
}

bool tide__answer_get_device(tide_ask *a, const tide_loaded *l, uint32_t *out, tide_error *err)
{
	const char *name = tide__request_get(a->req, "device");
	char buf[64];
	tide_usage u;
	if (!name) {
		if (tide__find_usage(l->m, UINT64_MAX, 0, &u, err) != TIDE_OK)
			return false;
		*out = tide__usage_highest(&u);
		tide__usage_free(&u);
		return true;
	}
	for (uint32_t d = 1; d < l->m->devices.n; d++)
		if (!strcmp(tide__device_name(l->m, d, buf, sizeof buf), name)) {
			*out = d;
			return true;
		}
	a->req->wrong = "the recording has no such device";
	return false;
}

bool tide__answer_get_window(tide_ask *a, const tide_loaded *l, tide_api_window *w)
{
	*w = (tide_api_window){ .to = l->m->t_end > 0 ? l->m->t_end + 1 : 1, .px = 1000 };
	if (!tide__request_get_int(a->req, "from", 0, INT64_MAX / 4, &w->from) ||
	    !tide__request_get_int(a->req, "to", 1, INT64_MAX / 4, &w->to) ||
	    !tide__request_get_int(a->req, "px", 1, 8192, &w->px))
		return false;
	if (w->from < w->to)
		return true;
	a->req->wrong = "from is not before to";
	return false;
}
