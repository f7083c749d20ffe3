// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the compilation_metrics record: one per compile, written when it ends. Times become
 * microseconds; logs of older versions of torch have seconds under other names. Missing values stay
 * missing. */
#include <string.h>

#include "import/torchtrace/torchtrace_impl.h"

enum { TEXT_MOST = 16 << 10 };

/* `key` of the log -> attribute; a number is multiplied by scale, 0 = a text. If several rows name
 * one attribute, the first that the log has counts. */
static const struct field {
	const char *key, *attr;
	int64_t scale;
} fields[] = {
	{ "co_name", "function", 0 },
	{ "co_filename", "file", 0 },
	{ "co_firstlineno", "line", 1 },
	{ "guard_count", "guards", 1 },
	{ "graph_op_count", "graph_ops", 1 },
	{ "graph_node_count", "graph_nodes", 1 },
	{ "graph_input_count", "graph_inputs", 1 },
	{ "cache_size", "cache_size", 1 },
	{ "num_graph_breaks", "graph_breaks", 1 },
	{ "ir_count", "ir_nodes", 1 },
	{ "dynamo_cumulative_compile_time_us", "total_us", 1 },
	{ "entire_frame_compile_time_s", "total_us", 1000000 },
	{ "backward_cumulative_compile_time_us", "backward_us", 1 },
	{ "aot_autograd_cumulative_compile_time_us", "backend_us", 1 },
	{ "backend_compile_time_s", "backend_us", 1000000 },
	{ "inductor_cumulative_compile_time_us", "inductor_us", 1 },
	{ "inductor_compile_time_s", "inductor_us", 1000000 },
	{ "inductor_code_gen_cumulative_compile_time_us", "codegen_us", 1 },
	{ "code_gen_time_s", "codegen_us", 1000000 },
	{ "triton_compile_time_us", "triton_us", 1 },
	{ "runtime_cudagraphify_time_us", "cudagraph_us", 1 },
	{ "compile_time_autotune_time_us", "autotune_us", 1 },
	{ "dynamo_compile_time_before_restart_us", "before_restart_us", 1 },
	{ "dynamo_time_before_restart_s", "before_restart_us", 1000000 },
	{ "fail_type", "fail_type", 0 },
	{ "fail_reason", "fail_reason", 0 },
	{ "recompile_reason", "recompile_reason", 0 },
	{ "cudagraph_skip_reason", "cudagraph_skip_reason", 0 },
	{ "pytorch_version", "torch_version", 0 },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static bool had(const bool *seen, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (seen[i] && !strcmp(fields[i].attr, fields[row].attr))
			return true;
	return false;
}

/* Sets a time for logs without timed stages. */
static void see_time(tt *t, jsonr_node metrics)
{
	jsonr_node v;
	int64_t at;
	if (t->now < 0 &&
	    ((tide__jsonr_get(metrics, "start_time_us", &v) &&
	      tide__jsonr_parse_number(v, 1000, &at)) ||
	     (tide__jsonr_get(metrics, "start_time", &v) &&
	      tide__jsonr_parse_number(v, 1000000000, &at))) &&
	    at > 0)
		t->now = at;
}

static bool restarts(tt *t, uint32_t s, jsonr_node metrics)
{
	jsonr_node list, key, v;
	int64_t n = 0;
	tide__jsonr_get(metrics, "restart_reasons", &list);
	jsonr_nodes w = tide__jsonr_walk(list);
	while (tide__jsonr_next_node(&w, &key, &v))
		n++;
	return list.type != '[' || tide__tt_set_attr_number(t, s, "restarts", n);
}

bool tide__tt_read_metrics(tt *t, const tt_record *r, jsonr_node metrics, const char *direction)
{
	bool seen[N_FIELDS] = { false }, ok;
	jsonr_node v;
	int64_t number;
	see_time(t, metrics);
	if (tide__jsonr_get(metrics, "is_forward", &v) && v.type == 'f')
		direction = "backward";
	uint32_t s = tide__tt_add_note(t, r, "compile");
	ok = s && tide__tt_attr_text(t, s, "direction", direction, strlen(direction)) &&
	     restarts(t, s, metrics);
	for (size_t i = 0; ok && i < N_FIELDS; i++) {
		if (had(seen, i) || !tide__jsonr_get(metrics, fields[i].key, &v))
			continue;
		if (!fields[i].scale && v.type == '"') {
			ok = tide__tt_set_attr_string(t, s, fields[i].attr, v, TEXT_MOST);
			seen[i] = true;
		} else if (fields[i].scale &&
			   tide__jsonr_parse_number(v, fields[i].scale, &number)) {
			ok = tide__tt_set_attr_number(t, s, fields[i].attr, number);
			seen[i] = true;
		}
	}
	return ok;
}
