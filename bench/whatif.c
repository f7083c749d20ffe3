// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Measures how fast a recording is replayed, and the time of one "alive at T" query after loading.
 *
 *     bench_whatif FILE [ROUNDS]
 *
 * FILE is any trace with allocations (bench/snapshot_gen makes large ones). Prints requests and
 * recorded events per second for several settings, and the slowest of 20 queries with their
 * grouping. CPU seconds; the best round counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"
#include "analyze/allocator/sim/sweep.h"
#include "analyze/live/usage.h"
#include "import/import.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int fail(const char *what, const tide_error *err)
{
	fprintf(stderr, "bench_whatif: %s: %s\n", what, err->text);
	return 1;
}

/* ---- replay ------------------------------------------------------------------------------ */

static double recorded_events(const tide_model *m, const tide_requests *q)
{
	int64_t i = tide__fact_find(m, "snapshot.events");

	return i >= 0 ? (double)m->facts.number[i] : (double)q->memory_events;
}

static void run(const tide_model *m, const tide_requests *q, const char *settings, int rounds)
{
	tide_sim_config c = tide__sim_defaults();
	tide_sim_result out;
	double best = 1e30;

	tide__sim_parse(&c, settings, NULL);
	for (int i = 0; i < rounds; i++) {
		double t = now();

		if (tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &out) != TIDE_OK)
			exit(1);
		t = now() - t;
		best = t < best ? t : best;
	}
	printf("%-40s %8.1f ms  %6.1f M requests/s  %6.1f M recorded events/s  reserved peak "
	       "%" PRIu64 "\n",
	       *settings ? settings : "default", best * 1e3, (double)q->n / best * 1e-6,
	       recorded_events(m, q) / best * 1e-6, out.st.reserved_peak);
}

/* ---- alive at T -------------------------------------------------------------------------- */

static double query(const tide_model *m, uint32_t device, uint64_t position, tide_group_by by,
		    const uint8_t *roles)
{
	tide_live_set a;
	tide_groups g;
	tide_error err;
	double t = now();

	if (tide__live_set_at(m, position, device, TIDE_ANY, &a, &err) != TIDE_OK ||
	    tide__groups_find_in_roles(m, &a, by, roles, &g, &err) != TIDE_OK)
		exit(1);
	t = now() - t;
	tide__groups_free(&g);
	tide__live_set_free(&a);
	return t;
}

static void queries(const tide_model *m, uint32_t device, const uint8_t *roles)
{
	static const struct {
		const char *name;
		tide_group_by by;
	} kinds[] = { { "stack", TIDE_BY_STACK },   { "op", TIDE_BY_OP },
		      { "frame", TIDE_BY_FRAME },   { "size", TIDE_BY_SIZE },
		      { "stream", TIDE_BY_STREAM }, { "role", TIDE_BY_ROLE } };

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		double worst = 0;

		for (uint64_t i = 1; i <= 20; i++) {
			double t =
				query(m, device, m->memory_events.n * i / 20, kinds[k].by, roles);

			worst = t > worst ? t : worst;
		}
		printf("alive at T by %-26s %8.2f ms  (slowest of 20 moments)\n", kinds[k].name,
		       worst * 1e3);
	}
}

int main(int argc, char **argv)
{
	static const char *const settings[] = { "", "expandable_segments:True",
						"max_split_size_mb:128",
						"roundup_power2_divisions:8" };
	tide_error err = { 0 };
	tide_model *m;
	tide_requests *q;
	tide_usage u;
	tide_roles roles;
	tide_sim_result check;
	int rounds = argc > 2 ? atoi(argv[2]) : 5;

	if (argc < 2)
		return 2;
	double t = now();

	if (tide__load(argv[1], NULL, &m, &err) != TIDE_OK)
		return fail(argv[1], &err);
	printf("%-40s %8.1f ms\n", "load", (now() - t) * 1e3);
	if (tide__find_usage(m, UINT64_MAX, 0, &u, &err) != TIDE_OK)
		return fail("usage", &err);
	uint32_t device = tide__usage_highest(&u);

	t = now();
	if (tide__requests_new(m, (tide_device_id){ device }, &q, &err) != TIDE_OK)
		return fail("requests", &err);
	printf("%-40s %8.1f ms  %zu requests, %zu memory_events\n", "requests", (now() - t) * 1e3,
	       q->n, m->memory_events.n);
	t = now();
	if (q->reserved_max && tide__sim_check(q, &check) == TIDE_OK)
		printf("%-40s %8.1f ms  %" PRIu64 " of %zu segment events%s\n", "check",
		       (now() - t) * 1e3, check.checked, q->n_taken,
		       check.diverged ? ", then it differs" : "");
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		run(m, q, settings[i], rounds);
	t = now();
	if (tide__find_roles(m, &roles) != TIDE_OK)
		return 1;
	printf("%-40s %8.1f ms\n", "roles (once)", (now() - t) * 1e3);
	queries(m, device, roles.role);
	tide__roles_free(&roles);
	tide__usage_free(&u);
	tide__requests_free(q);
	tide__model_free(m);
	return 0;
}
