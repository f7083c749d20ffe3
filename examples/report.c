// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opens a trace and prints the bytes alive at the peak by module, and how long the device was idle.
 *
 *     cc report.c $(pkg-config --cflags --libs tidemark) -o report && ./report trace.json.gz */
#include <inttypes.h>
#include <stdio.h>

#include <tidemark/analyze.h>

static void print_peak(const tide_trace *t)
{
	tide_peak_options o = TIDE_PEAK_OPTIONS_INIT;
	tide_report *r;
	tide_error err;
	o.group_by = "module";
	if (tide_peak_find(t, &o, &r, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return;
	}
	const tide_node *groups = tide_node_get(tide_report_root(r), "groups");
	printf("peak %" PRIu64 " bytes\n",
	       tide_node_uint(tide_node_get(tide_report_root(r), "peak_bytes"), 0));
	for (size_t i = 0; i < tide_node_count(groups); i++) {
		const tide_node *g = tide_node_at(groups, i);
		printf("%12" PRIu64 "  %s\n", tide_node_uint(tide_node_get(g, "bytes"), 0),
		       tide_node_text(tide_node_get(g, "key"), NULL));
	}
	tide_report_free(r);
}

static void print_idle(const tide_trace *t)
{
	tide_report *r;
	tide_error err;
	if (tide_hta_find(&t, 1, NULL, &r, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return;
	}
	const tide_node *sum = tide_node_get(tide_report_root(r), "summary");
	int64_t idle = tide_node_int(tide_node_get(sum, "idle_ns"), -1);
	int64_t window = tide_node_int(tide_node_get(sum, "kernel_time_ns"), -1);
	if (idle < 0 || window < 0) /* null: unknown */
		puts("idle unknown: no kernels were recorded");
	else
		printf("idle %" PRId64 " ns of %" PRId64 " ns\n", idle, window);
	tide_report_free(r);
}

int main(int argc, char **argv)
{
	tide_trace *t;
	tide_error err;
	if (argc != 2) {
		fprintf(stderr, "usage: report TRACE\n");
		return 2;
	}
	if (tide_trace_open(argv[1], &t, &err)) {
		fprintf(stderr, "%s: %s\n", argv[1], err.text);
		return 1;
	}
	print_peak(t);
	print_idle(t);
	tide_trace_close(t);
	return 0;
}
