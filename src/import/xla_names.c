// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/xla_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "model/model.h"

static bool starts(const char *s, const char *with)
{
	return !strncasecmp(s, with, strlen(with));
}

/* Reads digits; returns -1 without any, or beyond 2^31. */
static int64_t digits(const char *s)
{
	int64_t n = 0;
	if (!isdigit((unsigned char)*s))
		return -1;
	for (; isdigit((unsigned char)*s) && n <= INT32_MAX; s++)
		n = n * 10 + (*s - '0');
	return n <= INT32_MAX ? n : -1;
}

bool tide__xla_device(const char *name, tide_xla_device *out)
{
	static const char prefix[] = "/device:";
	const char *kind = name + sizeof prefix - 1;
	size_t n = starts(name, prefix) ? strcspn(kind, ":") : 0;
	*out = (tide_xla_device){ .kind = TIDE_DEVICE_OTHER };
	if (!n || n >= sizeof out->name || !kind[n])
		return false;
	out->index = digits(kind + n + 1);
	for (size_t i = 0; i < n; i++)
		out->name[i] = (char)tolower((unsigned char)kind[i]);
	if (!strcmp(out->name, "gpu"))
		out->kind = TIDE_DEVICE_CUDA;
	return out->index >= 0 && strcmp(out->name, "cpu");
}

bool tide__xla_is_stream(const char *name)
{
	return starts(name, "Stream #");
}

int64_t tide__xla_lane_number(const char *name, int64_t thread, bool streams)
{
	int64_t n = tide__xla_is_stream(name) ? digits(name + strlen("Stream #")) : -1;
	if (n >= 0)
		return n;
	return streams && thread > 0 ? -thread : thread;
}

tide_xla_lane tide__xla_lane(const char *name, bool streams)
{
	if (streams)
		return tide__xla_is_stream(name) ? TIDE_XLA_STREAM : TIDE_XLA_REPEATS;
	if (starts(name, "XLA Ops") || starts(name, "Sparse Core Ops"))
		return TIDE_XLA_OPS;
	return starts(name, "Async XLA Ops") ? TIDE_XLA_ASYNC : TIDE_XLA_REPEATS;
}

unsigned tide__xla_cat(tide_xla_lane lane, const char *name)
{
	if (*name == '%') /* the HLO text itself: "%copy.1 = ..." */
		name++;
	if (lane == TIDE_XLA_REPEATS)
		return TIDE_CAT_GPU_USER;
	if (starts(name, "memset"))
		return TIDE_CAT_MEMSET;
	static const char *const copies[] = { "memcpy", "CopyDeviceTo", "CopyHostTo" },
				 *const async[] = { "copy", "slice", "dynamic-" };
	for (size_t i = 0; i < 3; i++)
		if (starts(name, lane == TIDE_XLA_ASYNC ? async[i] : copies[i]))
			return TIDE_CAT_MEMCPY;
	return TIDE_CAT_KERNEL;
}

int64_t tide__xla_copy_bytes(const char *details)
{
	for (const char *s = details; (s = strstr(s, "size:")); s++)
		if (s == details || s[-1] == ' ')
			return digits(s + strlen("size:"));
	return -1;
}

void tide__xla_mark_containers(tide_model *m)
{
	for (size_t i = 1; i < m->spans.n; i++) {
		uint32_t parent = m->spans.parent[i].i;
		if (parent && tide__cat_is_gpu(m->spans.cat[i]) &&
		    tide__cat_is_gpu(m->spans.cat[parent]))
			m->spans.cat[parent] = TIDE_CAT_GPU_USER;
	}
}
