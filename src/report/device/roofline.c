// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* roofline: how close device work is to the limits of the hardware. */
#include "render/report/device/roofline.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/report.h"

enum { O_DROP, O_STEPS, O_TOP, O_MASKED, O_DEVICE, O_PEAKS, O_TFLOPS, O_BANDWIDTH, O_CAPTURED };
static const tide_option options[] = {
	[O_DROP] = { "drop-last-step", 0, TIDE_OPT_FLAG, NULL, "leave out the last step" },
	[O_STEPS] = { "steps", 0, TIDE_OPT_RANGE, "A..B", "only steps A to B, or step A" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows per table, 0 = all; JSON has all unless given", .def = "20",
		    .whole = true },
	[O_MASKED] = { "count-masked", 0, TIDE_OPT_FLAG, NULL,
		       "count scores that a causal mask leaves out, as PyTorch's flop_counter" },
	[O_DEVICE] = { "hardware", 'H', TIDE_OPT_TEXT, "NAME",
		       "use the peaks of this device, e.g. 'H100 PCIe' (default: the trace's)" },
	[O_PEAKS] = { "peaks", 0, TIDE_OPT_TEXT, "LINES",
		      "peaks of other devices: 'NAME: bf16=TFLOPS fp32=TFLOPS bandwidth=GB/S', "
		      "one in a line" },
	[O_TFLOPS] = { "peak-tflops", 0, TIDE_OPT_REAL, "N", "one peak for every op, TFLOP/s",
		       .most = 1000000000 },
	[O_BANDWIDTH] = { "memory-bandwidth-gb-s", 0, TIDE_OPT_REAL, "N",
			  "bandwidth of the memory, GB/s", .most = 1000000000 },
	[O_CAPTURED] = TIDE_OPTION_CAPTURED,
};

struct roofline {
	const tide_model *m;
	tide_roofline x;
	char window[80];
	char *name; /* owned: the given device */
	size_t top;
};

static tide_code read_window(const tide_report_ask *ask, struct roofline *r, tide_window *w,
			     tide_error *err)
{
	const tide_value *v = ask->opt, *steps = &v[O_STEPS];
	bool drop = v[O_DROP].set;
	if (drop && steps->set)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%sdrop-last-step and %ssteps exclude each other", ask->dashes,
				  ask->dashes);
	*w = (tide_window){ .kind = drop ? TIDE_WINDOW_DROP_LAST : TIDE_WINDOW_ALL };
	snprintf(r->window, sizeof r->window, drop ? "drop-last-step" : "all");
	if (!steps->set)
		return TIDE_OK;
	*w = (tide_window){ .kind = TIDE_WINDOW_STEPS, .first = steps->num, .last = steps->last };
	snprintf(r->window, sizeof r->window, "steps %" PRId64 "..%" PRId64, steps->num,
		 steps->last);
	return TIDE_OK;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct roofline *r = result;
	const tide_value *v = ask->opt;
	tide_window window;
	r->m = ask->models[0];
	r->top = (size_t)v[O_TOP].num;
	tide_code rc = read_window(ask, r, &window, err);
	if (rc != TIDE_OK)
		return rc;
	if (v[O_DEVICE].set &&
	    !(r->name = tide__strndup(v[O_DEVICE].text, strlen(v[O_DEVICE].text))))
		return tide__nomem(err);
	const tide_roof_options opt = {
		.window = &window,
		.masked = v[O_MASKED].set,
		.device = r->name,
		.peaks = v[O_PEAKS].set ? v[O_PEAKS].text : NULL,
		.tflops = v[O_TFLOPS].set ? v[O_TFLOPS].real : 0,
		.gb_s = v[O_BANDWIDTH].set ? v[O_BANDWIDTH].real : 0,
	};
	rc = tide__find_roofline(r->m, &opt, &r->x, err);
	if (rc == TIDE_OK && r->name && !r->x.known)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%shardware: no peaks of '%.60s' are known; %speaks takes them",
				  ask->dashes, r->name, ask->dashes);
	return rc;
}

/* ---- text ---- */

static void print_device(const tide_roofline *x, const tide_out *to)
{
	bool any = false;
	char name[128];
	if (!x->known) {
		fprintf(to->out, "Device: %s, whose peaks are not known: --peaks takes them\n",
			x->name ? tide__fmt_name(name, sizeof name, x->name, strlen(x->name), 100)
				: "unknown");
		return;
	}
	fprintf(to->out, "Device: %s, peaks:",
		x->name ? tide__fmt_name(name, sizeof name, x->name, strlen(x->name), 100)
			: "given");
#define X(field, key, what)                                                         \
	if (x->peak.field > 0) {                                                    \
		fprintf(to->out, "%s %s %.6g", any ? "," : "", key, x->peak.field); \
		any = true;                                                         \
	}
	TIDE_PEAKS(X)
#undef X
	fputs(any ? " TFLOP/s" : "", to->out);
	if (x->peak.gb_s > 0)
		fprintf(to->out, "%s %.6g GB/s", any ? "," : "", x->peak.gb_s);
	fputs("\n", to->out);
}

static void print_summary(const tide_roofline *x, const tide_out *to)
{
	char a[32], b[32];
	const tide_roof_step *all = &x->steps[0];
	double covered = tide__share_pct(x->covered_ns, x->ns);
	fprintf(to->out, "Covered: %s of %s %s time",
		tide__fmt_ns(a, sizeof a, (double)x->covered_ns),
		tide__fmt_ns(b, sizeof b, (double)x->ns), x->device ? "device" : "host");
	if (!isnan(covered))
		fprintf(to->out, " (%.1f %%)", covered);
	fputs("\n", to->out);
	if (!isnan(all->mfu_pct))
		fprintf(to->out, "MFU: %.1f %% (%.1f %% with recomputation) of %s\n", all->mfu_pct,
			all->hfu_pct, tide__fmt_ns(a, sizeof a, (double)all->ns));
}

static bool print_table(tide_grid *g, size_t all, const char *heading, const tide_out *to)
{
	bool ok = g && !tide__grid_failed(g);
	if (ok && tide__grid_rows(g)) {
		fputs("\n", to->out);
		tide__write_heading(to, "%s", heading);
		tide__grid_print(g, to->out, &to->style, 2);
		if (all > tide__grid_rows(g))
			fprintf(to->out, "  (%zu more)\n", all - tide__grid_rows(g));
	}
	tide__grid_free(g);
	return ok;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct roofline *r = result;
	const tide_roofline *x = &r->x;
	print_device(x, to);
	print_summary(x, to);
	if (!x->n && x->shapeless)
		fputs("The trace has no shapes: torch.profiler records them with "
		      "record_shapes=True.\n",
		      to->out);
	bool ok = print_table(tide__grid_roof_categories(x), 0, "By kind of work", to) &&
		  print_table(tide__grid_roof_ops(x, r->m, r->top), x->n, "Ops", to);
	if (ok && x->n_steps > 1)
		ok = print_table(tide__grid_roof_steps(x, r->top ? r->top + 1 : 0), x->n_steps,
				 "Steps", to);
	ok = ok && print_table(tide__grid_roof_gaps(x, r->m, r->top), x->n_gaps, "Not covered", to);
	if (ok)
		tide__put_model_losses(to, r->m);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct roofline *r = result;
	tide_code rc = tide__roofline_json(&r->x, r->m, r->window, r->top, j);
	tide__losses_json(j, r->m);
	return rc;
}

static void free_result(void *result)
{
	struct roofline *r = result;
	tide__roofline_free(&r->x);
	tide__free(r->name);
}

static const tide_member members[] = {
	TIDE_MEMBER("window", TEXT, "the given window: all, drop-last-step, steps A..B"),
	{ .key = "time_of",
	  .kind = TIDE_KIND_WORD,
	  .words = "device,host",
	  .meaning = "host: the trace has no device rows, times are those of ops" },
	TIDE_MEMBER("device_ns", NS, "time of all device rows; of host: of all ops with a rule"),
	TIDE_MEMBER("covered_ns", NS, "part of it whose operations and bytes are known"),
	TIDE_MEMBER_MAYBE("covered_pct", PCT, "the same as a share"),
	TIDE_MEMBER("calls_without_shapes", COUNT,
		    "calls of ops with a rule whose shapes do not suffice"),
	TIDE_MEMBER("calls_without_time", COUNT, "calls that launched no device row"),
	TIDE_MEMBER_OF("device", OBJECT, tide__roof_device_members, "the device and its peaks"),
	TIDE_MEMBER_OF("categories", TABLE, tide__roof_category_members,
		       "sums by kind of work, and of all"),
	TIDE_MEMBER_OF("ops", TABLE, tide__roof_op_members,
		       "ops with their arguments, most time first"),
	TIDE_MEMBER_OF("steps", TABLE, tide__roof_step_members,
		       "use of matrix units: of the trace, and of each step"),
	TIDE_MEMBER_OF("uncovered", TABLE, tide__roof_gap_members,
		       "device time without a known cost"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_roofline = {
	.name = "roofline",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_SHAPES | TIDE_WANT_LAUNCH | TIDE_WANT_FLOWS,
	.summary = "compare device work with the peaks of the hardware",
	.help = "Shows operations and bytes of ops, from the shapes of their inputs, the rates that "
		"they achieved, and how far they are from the device's peaks. The trace needs shapes: "
		"torch.profiler with record_shapes=True. What no rule covers is listed with its device "
		"time. MFU counts operations of matrix products, convolutions and attention.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.page = "roofline",
	.size = sizeof(struct roofline),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_result,
};
