// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/member.h"

#include <string.h>

static const struct {
	const char *name, *unit;
	tide_json_type type;
} kinds[TIDE_KINDS_N] = {
#define X(name, json, unit) [TIDE_KIND_##name] = { #name, unit, TIDE_TYPE_##json },
	TIDE_KINDS(X)
#undef X
};

const tide_member *tide__member_find(const tide_member *list, const char *key, size_t n)
{
	for (const tide_member *m = list; m && m->key; m++)
		if (strlen(m->key) == n && !memcmp(m->key, key, n))
			return m;
	return NULL;
}

size_t tide__member_count(const tide_member *list)
{
	size_t n = 0;
	while (list && list[n].key)
		n++;
	return n;
}

const char *tide__kind_unit(tide_kind k)
{
	return kinds[k].unit;
}

tide_json_type tide__kind_type(tide_kind k)
{
	return kinds[k].type;
}

const char *tide__kind_name(tide_kind k)
{
	return kinds[k].name;
}
