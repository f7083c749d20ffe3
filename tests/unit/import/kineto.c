// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The Kineto importer over small texts: what becomes of each kind of event, and of damage. Each row
 * is a text and a description of the model it must give; blocks of several sizes must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "import/kineto/kineto.h"
#include "import/source.h"

#define EVENTS(text) "{\"traceEvents\":[" text "]}"
#define X(rest) "{\"ph\":\"X\",\"pid\":1,\"tid\":2," rest "}"

static tide_code load(const char *text, size_t n, size_t block, unsigned threads, tide_model **out,
		      tide_error *err)
{
	tide_source *src;
	tide_load_options opt = { .threads = threads };
	*out = NULL;
	tide_code rc = tide__source_memory(text, n, 0, &src, err);
	tide_model *m = rc == TIDE_OK ? tide__model_new() : NULL;
	if (m)
		rc = tide__kineto_load(src, &opt, block, m, err);
	else if (rc == TIDE_OK)
		rc = TIDE_ENOMEM;
	tide__source_close(src);
	if (rc == TIDE_OK)
		*out = m;
	else
		tide__model_free(m);
	return rc;
}

/* One line per thing: `cat name lane t0-t1 <parent name`, losses at the end. */
static void describe(const tide_model *m, char *out, size_t room)
{
	size_t n = 0;
#define SAY(...)                                                                                   \
	do {                                                                                       \
		if (n < room)                                                                      \
			n += (size_t)snprintf(out + n, room - n, __VA_ARGS__);                     \
	} while (0)
	out[0] = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		uint32_t p = m->spans.parent[i].i, c = m->spans.cause[i].i, l = m->spans.lane[i].i;
		SAY("%s '%s' %s%lld %lld-%lld", tide__cat_text(m->spans.cat[i]),
		    tide__text(m, m->spans.name[i], NULL), tide__lane_kind_text(m->lanes.kind[l]),
		    (long long)m->lanes.number[l], (long long)m->spans.t0[i],
		    (long long)m->spans.t1[i]);
		if (p)
			SAY(" in '%s'", tide__text(m, m->spans.name[p], NULL));
		if (c)
			SAY(" by '%s'", tide__text(m, m->spans.name[c], NULL));
		SAY("\n");
	}
	for (size_t i = 0; i < m->flows.n; i++)
		SAY("flow %s '%s' '%s'\n", tide__flow_kind_text(m->flows.kind[i]),
		    tide__text(m, m->spans.name[m->flows.from[i].i], NULL),
		    tide__text(m, m->spans.name[m->flows.to[i].i], NULL));
	for (size_t i = 0; i < m->attrs.n; i++)
		SAY("attr %s=%s%lld\n", tide__text(m, m->attrs.key[i], NULL),
		    tide__text(m, m->attrs.text[i], NULL), (long long)m->attrs.number[i]);
	for (size_t i = 0; i < m->moves.n; i++) {
		uint32_t a = m->moves.row[i];
		SAY("%s %llu at %llu t%lld f%u\n", tide__move_kind_text(m->moves.kind[i]),
		    (unsigned long long)m->allocs.size[a], (unsigned long long)m->allocs.addr[a],
		    (long long)tide__move_time(m, i), m->allocs.flags[a]);
	}
	for (size_t i = 0; i < m->samples.n; i++)
		SAY("sample %s %g t%lld\n",
		    tide__text(m, m->counters.name[m->samples.counter[i].i], NULL),
		    m->samples.value[i], (long long)m->samples.t[i]);
	for (size_t i = 1; i < m->marks.n; i++)
		SAY("mark '%s' t%lld\n", tide__text(m, m->marks.name[i], NULL),
		    (long long)m->marks.t[i]);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		if (strncmp(key, "kineto.events", 13))
			SAY("fact %s=%s%lld\n", key, tide__text(m, m->facts.text[i], NULL),
			    (long long)m->facts.number[i]);
	}
#undef SAY
}

static const struct row {
	const char *name, *text, *want;
} rows[] = {
	{ "one span", EVENTS(X("\"ts\":1,\"dur\":2.5,\"name\":\"a\",\"cat\":\"cpu_op\"")),
	  "op 'a' thread2 0-2500\n" },
};

static void check_row(const struct row *r, const char *text, size_t n, size_t block)
{
	static char got[1 << 16];
	tide_model *m;
	tide_error err = { 0 };
	tide_code rc = load(text, n, block, 1, &m, &err);
	if (rc == TIDE_OK) {
		assert_int_equal(tide__model_check(m, &err), TIDE_OK);
		describe(m, got, sizeof got);
	} else {
		snprintf(got, sizeof got, "error %d at %lld: %s\n", rc, (long long)err.offset, err.text);
	}
	tide__model_free(m);
	if (strcmp(got, r->want)) {
		print_error("%s (blocks of %zu):\n%s", r->name, block, got);
		assert_string_equal(got, r->want);
	}
}

static void test_rows(void **state)
{
	static const size_t blocks[] = { 0, 7, 64, 300 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
			check_row(&rows[i], rows[i].text, strlen(rows[i].text), blocks[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
