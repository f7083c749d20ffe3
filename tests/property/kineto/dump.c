// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Prints the imported model of a trace, one JSON array per line, for reference.py to compare.
 *
 *     dump FILE [threads [block]] */
#include <stdio.h>
#include <stdlib.h>

#include "import/kineto/kineto.h"
#include "import/source.h"

static void put(const tide_model *m, tide_str s)
{
	size_t n;
	const char *t = tide__text(m, s, &n);
	putchar('"');
	for (size_t i = 0; i < n; i++)
		printf("%02x", (unsigned char)t[i]);
	putchar('"');
}

static void put_lane(const tide_model *m, uint32_t l)
{
	printf("[\"%s\",%lld,%lld]", tide__lane_kind_text(m->lanes.kind[l]),
	       m->lanes.device[l].i ? (long long)m->devices.index[m->lanes.device[l].i]
				    : (long long)m->processes.pid[m->lanes.process[l].i],
	       (long long)m->lanes.number[l]);
}

static void put_spans(const tide_model *m)
{
	const tide_spans *s = &m->spans;
	for (size_t i = 1; i < s->n; i++) {
		printf("[\"span\",%zu,\"%s\",", i, tide__cat_text(s->cat[i]));
		put(m, s->name[i]);
		putchar(',');
		put_lane(m, s->lane[i].i);
		printf(",%lld,%lld,%u,%u,%llu]\n", (long long)s->t0[i], (long long)s->t1[i],
		       s->parent[i].i, s->cause[i].i, (unsigned long long)m->span_src[i]);
	}
}

static void put_rest(const tide_model *m)
{
	for (size_t i = 0; i < m->flows.n; i++)
		printf("[\"flow\",\"%s\",%u,%u]\n", tide__flow_kind_text(m->flows.kind[i]),
		       m->flows.from[i].i, m->flows.to[i].i);
	for (size_t i = 0; i < m->attrs.n; i++) {
		printf("[\"attr\",%u,", m->attrs.span[i].i);
		put(m, m->attrs.key[i]);
		putchar(',');
		if (m->attrs.text[i].i)
			put(m, m->attrs.text[i]);
		else
			printf("%lld", (long long)m->attrs.number[i]);
		printf("]\n");
	}
	for (size_t i = 0; i < m->memory_events.n; i++)
		printf("[\"move\",\"%s\",%lld,%llu,%llu,%u]\n",
		       tide__memory_event_text(m->memory_events.kind[i]),
		       (long long)tide__memory_event_time(m, i),
		       (unsigned long long)m->allocs.addr[m->memory_events.row[i]],
		       (unsigned long long)m->allocs.size[m->memory_events.row[i]],
		       m->allocs.span[m->memory_events.row[i]].i);
	for (size_t i = 0; i < m->samples.n; i++) {
		printf("[\"sample\",");
		put(m, m->counters.name[m->samples.counter[i].i]);
		printf(",%lld,%.0f]\n", (long long)m->samples.t[i], m->samples.value[i]);
	}
	for (size_t i = 0; i < m->facts.n; i++) {
		printf("[\"fact\",");
		put(m, m->facts.key[i]);
		printf(",%lld]\n", (long long)m->facts.number[i]);
	}
	printf("[\"end\",%lld,%lld]\n", (long long)m->t_end,
	       m->wall_known ? (long long)m->wall0_ns : -1);
}

int main(int argc, char **argv)
{
	tide_load_options opt = { .threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1 };
	tide_error err = { 0 };
	tide_source *src = NULL;
	tide_model *m = tide__model_new();
	tide_code rc = tide__source_open(argc > 1 ? argv[1] : "", 0, &src, &err);
	if (rc == TIDE_OK)
		rc = tide__kineto_load(src, &opt, argc > 3 ? (size_t)atol(argv[3]) : 0, m, &err);
	if (rc == TIDE_OK)
		rc = tide__model_check(m, &err);
	if (rc == TIDE_OK) {
		put_spans(m);
		put_rest(m);
	} else {
		printf("[\"error\",%d,\"%s\"]\n", rc, err.text);
	}
	tide__source_close(src);
	tide__model_free(m);
	return 0;
}
