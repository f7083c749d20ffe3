// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reports on a trace: the results of `tidemark peak`, `ops`, `hta` … as functions.
 *
 * Link with libtidemark (pkg-config tidemark). Easiest first:
 *
 *     #include <tidemark/analyze.h>
 *
 *     tide_trace *t;
 *     tide_report *r;
 *     tide_error err;
 *     if (tide_trace_open("run.tide", &t, &err))
 *             return fprintf(stderr, "%s\n", err.text), 1;
 *     if (tide_peak_find(t, NULL, &r, &err))           // NULL: the default options
 *             return fprintf(stderr, "%s\n", err.text), 1;
 *     tide_report_print(r, stdout, NULL);              // as the program prints it
 *     tide_report_free(r);
 *     tide_trace_close(t);
 *
 * Every report works the same way:
 *
 *     1. Fill an options struct. Start from its _INIT; every member has a default.
 *     2. tide_NAME_find() finds the figures and returns a tide_report.
 *     3. Print it (tide_report_print), write it as JSON (tide_report_json), or read single figures
 *        (tide_report_root and the tide_node_* functions). All three show the same figures.
 *     4. tide_report_free().
 *
 *     tide_peak_options o = TIDE_PEAK_OPTIONS_INIT;
 *     o.group_by = "module";
 *     tide_peak_find(t, &o, &r, &err);
 *     const tide_node *groups = tide_node_get(tide_report_root(r), "groups");
 *     for (size_t i = 0; i < tide_node_count(groups); i++) {
 *             const tide_node *g = tide_node_at(groups, i);
 *             printf("%12" PRIu64 "  %s\n", tide_node_uint(tide_node_get(g, "bytes"), 0),
 *                    tide_node_text(tide_node_get(g, "key"), NULL));
 *     }
 *
 * Members of the nodes are those of `tidemark NAME --json`; docs/analyses/members.md defines each.
 * Examples below use open traces `t` and `u`, a report `r` and an error `err`; they leave out
 * messages and tide_report_free. The tests compile and run them.
 *
 * Ownership  A report borrows its traces: free it before they are closed. Nodes and texts are
 *            borrowed from their report until tide_report_free.
 * Threads    Any number of threads may find reports on one trace at the same time. One report is
 *            for one thread at a time.
 * Errors     On success a find function returns TIDE_OK and sets *out. On failure it returns a
 *            code, sets *out to NULL and fills *err (may be NULL): TIDE_EUSAGE (an option is wrong,
 *            err->text names it), TIDE_ENOTFOUND (the trace lacks the requested device, step or
 *            span), TIDE_ENOMEM. A trace without such data gives an empty report, not an error. */
#ifndef TIDEMARK_ANALYZE_H
#define TIDEMARK_ANALYZE_H

#include <stdio.h>

#include <tidemark/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a report ---------------------------------------------------------------------------- */

typedef struct tide_report tide_report;

typedef struct tide_print_options {
	size_t struct_size;
	int width;  /* columns to fit into; 0 = do not shorten */
	bool color; /* ANSI colours */
	bool ascii; /* no box-drawing or block characters */
} tide_print_options;
#define TIDE_PRINT_OPTIONS_INIT                             \
	{                                                   \
		sizeof(tide_print_options), 0, false, false \
	}

/** Finds a report by its name, with options as texts: those of `tidemark NAME --help`, without the
 * dashes. `options` is a list of names and values that ends with NULL, or NULL: the defaults. A flag
 * is "true" or "false".
 *
 *      const tide_trace *traces[] = { t };
 *      const char *options[] = { "group_by", "module", "top", "5", NULL };
 *      if (!tide_report_find("peak", traces, 1, options, &r, &err))
 *              tide_report_print(r, stdout, NULL);
 *
 * It finds every report that takes traces alone; the functions below are for callers that want the
 * compiler to check the options. */
TIDE_API tide_code tide_report_find(const char *name, const tide_trace *const *traces, size_t n,
				    const char *const *options, tide_report **out, tide_error *err);

/** Print the report as text. `o` may be NULL. @return TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
TIDE_API tide_code tide_report_print(tide_report *r, FILE *out, const tide_print_options *o);
/** Write the report as one JSON document. @return TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
TIDE_API tide_code tide_report_json(tide_report *r, FILE *out);
/** Name of the report: "peak", "ops" … Static text.
 *
 *      tide_peak_find(t, NULL, &r, &err);
 *      printf("report %s\n", tide_report_name(r)); */
TIDE_API const char *tide_report_name(const tide_report *r);
/** Frees the report. NULL is allowed. */
TIDE_API void tide_report_free(tide_report *r);

/* ---- figures of a report ----------------------------------------------------------------- */

typedef struct tide_node tide_node;

typedef enum tide_node_kind {
	TIDE_NODE_NULL, /* unknown */
	TIDE_NODE_BOOL,
	TIDE_NODE_INT,	/* negative integer */
	TIDE_NODE_UINT, /* integer from 0 */
	TIDE_NODE_REAL,
	TIDE_NODE_TEXT, /* valid UTF-8 */
	TIDE_NODE_ARRAY,
	TIDE_NODE_OBJECT
} tide_node_kind;

/** Returns the whole report as a tree of nodes, built on the first call; NULL if memory ran out. */
TIDE_API const tide_node *tide_report_root(tide_report *r);

/* All of these accept NULL, which counts as TIDE_NODE_NULL, so lookups can be chained. */

TIDE_API tide_node_kind tide_node_type(const tide_node *v);
/** Number of elements of an array or members of an object, else 0. */
TIDE_API size_t tide_node_count(const tide_node *v);
/** The i-th element or member; NULL if there is none. */
TIDE_API const tide_node *tide_node_at(const tide_node *v, size_t i);
/** Name of the i-th member of an object; NULL if there is none.
 *
 *      tide_peak_find(t, NULL, &r, &err);
 *      const tide_node *peak = tide_report_root(r);
 *      for (size_t i = 0; i < tide_node_count(peak); i++)
 *              printf("%s%s\n", tide_node_key(peak, i),
 *                     tide_node_type(tide_node_at(peak, i)) == TIDE_NODE_NULL ? ": unknown" : ""); */
TIDE_API const char *tide_node_key(const tide_node *v, size_t i);
/** A member by name; NULL if there is none. O(members). */
TIDE_API const tide_node *tide_node_get(const tide_node *v, const char *key);
/** Returns the number, or `otherwise` if the node is not a number or does not fit. */
TIDE_API int64_t tide_node_int(const tide_node *v, int64_t otherwise);
TIDE_API uint64_t tide_node_uint(const tide_node *v, uint64_t otherwise);
TIDE_API double tide_node_real(const tide_node *v, double otherwise);
TIDE_API bool tide_node_bool(const tide_node *v, bool otherwise);
/** Returns the NUL-terminated text, or NULL if the node is not a text. @param n receives its
 * length; may be NULL. */
TIDE_API const char *tide_node_text(const tide_node *v, size_t *n);

/* ---- the reports ------------------------------------------------------------------------- *
 * `device` is a name such as "cuda:0"; `at` a time such as "1.5s", "200ms", "50%", a number of
 * memory events such as "#1000", "op 7" on an axis of ops, or "peak". Texts are borrowed for the call only. `top` = rows to
 * keep, 0 = all. NULL options = all defaults. */

/** The trace's format, processes, devices, pools, lanes and facts.
 *
 *      if (!tide_info_find(t, NULL, &r, &err))
 *              printf("%s\n", tide_node_text(tide_node_get(tide_report_root(r), "format"), NULL)); */
typedef struct tide_info_options {
	size_t struct_size;
	const char *file; /* display name of the trace; NULL = the path it was opened by */
} tide_info_options;
#define TIDE_INFO_OPTIONS_INIT                  \
	{                                       \
		sizeof(tide_info_options), NULL \
	}
TIDE_API tide_code tide_info_find(const tide_trace *t, const tide_info_options *o,
				  tide_report **out, tide_error *err);

/** Memory in use over time, per device and pool, and the largest allocations.
 *
 *      tide_memory_options o = TIDE_MEMORY_OPTIONS_INIT;
 *      o.at = "50%";
 *      if (!tide_memory_find(t, &o, &r, &err)) {
 *              const tide_node *largest = tide_node_get(tide_report_root(r), "largest");
 *              printf("%" PRIu64 " bytes\n",
 *                     tide_node_uint(tide_node_get(tide_node_at(largest, 0), "bytes"), 0));
 *      } */
typedef struct tide_memory_options {
	size_t struct_size;
	const char *device; /* NULL = all */
	const char *at;	    /* NULL = the end of the trace */
	size_t top;	    /* largest allocations */
	size_t buckets;	    /* points over time */
} tide_memory_options;
#define TIDE_MEMORY_OPTIONS_INIT                                 \
	{                                                        \
		sizeof(tide_memory_options), NULL, NULL, 10, 200 \
	}
TIDE_API tide_code tide_memory_find(const tide_trace *t, const tide_memory_options *o,
				    tide_report **out, tide_error *err);

/** Allocations alive at the memory peak, in groups that add up to it.
 *
 *      if (!tide_peak_find(t, NULL, &r, &err))
 *              printf("peak %" PRIu64 " bytes\n",
 *                     tide_node_uint(tide_node_get(tide_report_root(r), "peak_bytes"), 0)); */
typedef struct tide_peak_options {
	size_t struct_size;
	const char *device;   /* NULL = the one with the highest peak */
	const char *at;	      /* NULL = the peak */
	const char *group_by; /* op stack tensor role pool stream size frame module; NULL = the
			       * key known for the most bytes */
	size_t top;	      /* groups */
	const char *pool;     /* only this pool, e.g. "L1"; NULL = all of the device */
} tide_peak_options;
#define TIDE_PEAK_OPTIONS_INIT                                       \
	{                                                            \
		sizeof(tide_peak_options), NULL, NULL, NULL, 0, NULL \
	}
TIDE_API tide_code tide_peak_find(const tide_trace *t, const tide_peak_options *o,
				  tide_report **out, tide_error *err);

/** Memory per phase, between the program's marks.
 *
 *      tide_phases_options o = TIDE_PHASES_OPTIONS_INIT;
 *      o.by = "annotation";
 *      if (!tide_phases_find(t, &o, &r, &err))
 *              printf("%zu phases\n", tide_node_count(tide_node_get(tide_report_root(r), "phases"))); */
typedef struct tide_phases_options {
	size_t struct_size;
	const char *device; /* NULL = all */
	const char *by;	    /* what phases are: mark annotation; NULL = mark */
	bool tracker;	    /* text as memory trackers write it: DRAM and L1 lines in MB */
	bool sum;	    /* one entry for each name */
} tide_phases_options;
#define TIDE_PHASES_OPTIONS_INIT                                      \
	{                                                             \
		sizeof(tide_phases_options), NULL, NULL, false, false \
	}
TIDE_API tide_code tide_phases_find(const tide_trace *t, const tide_phases_options *o,
				    tide_report **out, tide_error *err);

/** Ops with their counts, times and memory changes.
 *
 *      tide_ops_options o = TIDE_OPS_OPTIONS_INIT;
 *      o.flat = true;
 *      o.sort = "self";
 *      if (!tide_ops_find(t, &o, &r, &err)) {
 *              const tide_node *op = tide_node_at(tide_node_get(tide_report_root(r), "ops"), 0);
 *              printf("%s: %" PRId64 " ns\n", tide_node_text(tide_node_get(op, "op"), NULL),
 *                     tide_node_int(tide_node_get(op, "self_ns"), 0));
 *      } */
typedef struct tide_ops_options {
	size_t struct_size;
	const char *device; /* memory of this one; NULL = all */
	bool flat;	    /* one row per name instead of a tree */
	bool streams;	    /* also device rows */
	/* order wall self count alloc free change peak name; NULL = order, flat: wall */
	const char *sort;
	size_t top;   /* rows below each op; all rows if flat */
	size_t depth; /* levels; 0 = all */
	/* op shape; NULL = op. shape: a row per op and its arguments, with device time */
	const char *by;
} tide_ops_options;
#define TIDE_OPS_OPTIONS_INIT                                                  \
	{                                                                      \
		sizeof(tide_ops_options), NULL, false, false, NULL, 0, 0, NULL \
	}
TIDE_API tide_code tide_ops_find(const tide_trace *t, const tide_ops_options *o, tide_report **out,
				 tide_error *err);

/** Forward, backward and memory figures of each module of a model.
 *
 *      if (!tide_modules_find(t, NULL, &r, &err))
 *              printf("%zu modules\n", tide_node_count(tide_node_get(tide_report_root(r), "modules"))); */
typedef struct tide_modules_options {
	size_t struct_size;
	const char *sort; /* order forward backward alloc calls device; NULL = order */
	size_t top;
} tide_modules_options;
#define TIDE_MODULES_OPTIONS_INIT                     \
	{                                             \
		sizeof(tide_modules_options), NULL, 0 \
	}
TIDE_API tide_code tide_modules_find(const tide_trace *t, const tide_modules_options *o,
				     tide_report **out, tide_error *err);

/** Groups of allocations that grow from step to step.
 *
 *      tide_leaks_options o = TIDE_LEAKS_OPTIONS_INIT;
 *      o.every = "10%";
 *      if (!tide_leaks_find(t, &o, &r, &err))
 *              printf("%zu grow\n", tide_node_count(tide_node_get(tide_report_root(r), "growing"))); */
typedef struct tide_leaks_options {
	size_t struct_size;
	const char *device;   /* NULL = the one with the highest peak */
	const char *group_by; /* as in peak; NULL = the key that most bytes have */
	const char *every;    /* compare at regular intervals such as "500ms" or "5%"; NULL = at
			       * steps */
	size_t top;
} tide_leaks_options;
#define TIDE_LEAKS_OPTIONS_INIT                                  \
	{                                                        \
		sizeof(tide_leaks_options), NULL, NULL, NULL, 20 \
	}
TIDE_API tide_code tide_leaks_find(const tide_trace *t, const tide_leaks_options *o,
				   tide_report **out, tide_error *err);

/** Segments and blocks of a caching allocator, and their fragmentation.
 *
 *      tide_allocator_options o = TIDE_ALLOCATOR_OPTIONS_INIT;
 *      o.at = "peak";
 *      if (!tide_allocator_find(t, &o, &r, &err))
 *              printf("%" PRIu64 " bytes reserved, not in use\n",
 *                     tide_node_uint(tide_node_get(tide_report_root(r), "free_bytes"), 0)); */
typedef struct tide_allocator_options {
	size_t struct_size;
	const char *device; /* NULL = the one with the highest peak */
	const char *at;	    /* NULL = the end of the trace */
	size_t buckets;	    /* points over time */
	bool no_advice;	    /* do not replay the trace for advice */
} tide_allocator_options;
#define TIDE_ALLOCATOR_OPTIONS_INIT                                    \
	{                                                              \
		sizeof(tide_allocator_options), NULL, NULL, 200, false \
	}
TIDE_API tide_code tide_allocator_find(const tide_trace *t, const tide_allocator_options *o,
				       tide_report **out, tide_error *err);

/** Failed allocations, their causes, and what would have made them succeed.
 *
 *      if (!tide_oom_find(t, NULL, &r, &err))
 *              tide_report_print(r, stdout, NULL); */
typedef struct tide_oom_options {
	size_t struct_size;
	const char *device;   /* NULL = all */
	const char *group_by; /* as in leaks */
	size_t top;	      /* groups to try freeing */
	size_t events;	      /* events to explain in full, at most 64 */
} tide_oom_options;
#define TIDE_OOM_OPTIONS_INIT                                \
	{                                                    \
		sizeof(tide_oom_options), NULL, NULL, 10, 10 \
	}
TIDE_API tide_code tide_oom_find(const tide_trace *t, const tide_oom_options *o, tide_report **out,
				 tide_error *err);

/** The recorded requests under other allocator settings or on a smaller device.
 *
 *      const char *set[] = { "expandable_segments=True" };
 *      tide_whatif_options o = TIDE_WHATIF_OPTIONS_INIT;
 *      o.set = set;
 *      o.n_set = 1;
 *      if (!tide_whatif_find(t, &o, &r, &err)) {
 *              const tide_node *results = tide_node_get(tide_report_root(r), "results");
 *              printf("%" PRIu64 " bytes reserved\n",
 *                     tide_node_uint(tide_node_get(tide_node_at(results, 0), "reserved_peak_bytes"),
 *                                    0));
 *      } */
typedef struct tide_whatif_options {
	size_t struct_size;
	const char *device;	/* NULL = the one with the highest peak */
	uint64_t capacity;	/* bytes available to the allocator; 0 = as recorded in the trace */
	const char *const *set; /* "NAME=VALUE", applied together as one try */
	size_t n_set;
	bool sweep; /* also try the standard settings; implied without `set` */
} tide_whatif_options;
#define TIDE_WHATIF_OPTIONS_INIT                                     \
	{                                                            \
		sizeof(tide_whatif_options), NULL, 0, NULL, 0, false \
	}
TIDE_API tide_code tide_whatif_find(const tide_trace *t, const tide_whatif_options *o,
				    tide_report **out, tide_error *err);

/** Activity of CPU and GPU over time, and their overlap.
 *
 *      if (!tide_timeline_find(t, NULL, &r, &err)) {
 *              const tide_node *sums = tide_node_get(tide_report_root(r), "summary");
 *              printf("GPU active for %" PRId64 " ns\n",
 *                     tide_node_int(tide_node_get(sums, "gpu_active_time_ns"), 0));
 *      } */
typedef struct tide_timeline_report_options {
	size_t struct_size;
	int64_t min_duration_ns; /* leave out shorter spans */
	bool no_python, no_runtime;
	bool events; /* nodes and JSON also list every span */
	size_t top;  /* lanes in text */
} tide_timeline_report_options;
#define TIDE_TIMELINE_REPORT_OPTIONS_INIT                                       \
	{                                                                       \
		sizeof(tide_timeline_report_options), 0, false, false, false, 0 \
	}
TIDE_API tide_code tide_timeline_find(const tide_trace *t, const tide_timeline_report_options *o,
				      tide_report **out, tide_error *err);

/** Time or memory as a tree of paths (a flame graph).
 *
 *      tide_flame_report_options o = TIDE_FLAME_REPORT_OPTIONS_INIT;
 *      o.kind = "cpu";
 *      if (!tide_flame_find(t, &o, &r, &err))
 *              printf("%zu roots\n", tide_node_count(tide_node_get(tide_report_root(r), "children"))); */
typedef struct tide_flame_report_options {
	size_t struct_size;
	/* cpu gpu memory; NULL = gpu if there is device work, else cpu, else memory */
	const char *kind;
	const char *by;	    /* memory: auto stack op; NULL = auto */
	const char *device; /* memory: NULL = the one with the highest peak */
	bool merge;	    /* cpu: one tree for all threads */
	bool merge_steps;   /* all ProfilerStep#N are one */
	bool allocated;	    /* memory: all bytes ever allocated instead of those alive at the
			     * peak */
	uint64_t min_value; /* fold smaller nodes into their parent, ns or bytes */
	size_t max_depth;   /* 1 to 1000; 0 = 200 */
	size_t top;	    /* rows of text */
	bool hot;	    /* text: the paths of largest self, not the tree */
	double small_pct;   /* fold device work below so many percent of the total */
} tide_flame_report_options;
#define TIDE_FLAME_REPORT_OPTIONS_INIT                                                          \
	{                                                                                       \
		sizeof(tide_flame_report_options), NULL, NULL, NULL, false, false, false, 0, 0, \
			40, false, 0                                                            \
	}
TIDE_API tide_code tide_flame_find(const tide_trace *t, const tide_flame_report_options *o,
				   tide_report **out, tide_error *err);

/** The chain of dependent work that determined the length of a step.
 *
 *      if (!tide_critical_path_find(t, NULL, &r, &err))
 *              printf("%" PRId64 " ns\n",
 *                     tide_node_int(tide_node_get(tide_report_root(r), "path_ns"), 0)); */
typedef struct tide_critical_path_options {
	size_t struct_size;
	const char
		*annotation; /* spans whose name contains it make the window; "" = the whole trace,
				   NULL = ProfilerStep if there are steps */
	int64_t first, last; /* occurrences to use, counted from 0 */
	const char *data_loading; /* spans whose name contains it are data loading */
	bool path;		  /* also list every edge of the path */
	size_t top;
	bool hta_compat; /* Holistic Trace Analysis's own numbers: microseconds, its rounding */
} tide_critical_path_options;
#define TIDE_CRITICAL_PATH_OPTIONS_INIT                                               \
	{                                                                             \
		sizeof(tide_critical_path_options), NULL, 0, 0, NULL, false, 0, false \
	}
TIDE_API tide_code tide_critical_path_find(const tide_trace *t, const tide_critical_path_options *o,
					   tide_report **out, tide_error *err);

/** Device time of one trace, or of all ranks of a job: compute, communication, copies, idle.
 *
 *      const tide_trace *ranks[] = { t, u };
 *      if (!tide_hta_find(ranks, 2, NULL, &r, &err)) {
 *              const tide_node *sums = tide_node_get(tide_report_root(r), "summary");
 *              printf("%.1f %% idle\n", tide_node_real(tide_node_get(sums, "idle_pct"), 0));
 *      } */
typedef struct tide_hta_report_options {
	size_t struct_size;
	bool drop_last_step;
	const char *steps;	 /* "3..5" or "3"; NULL = all */
	int64_t kernel_wait_ns;	 /* shorter gaps count as kernel_wait */
	int64_t short_cutoff_ns; /* longer launch calls are outliers */
	int64_t delay_cutoff_ns; /* longer launch delays are outliers */
	size_t top;		 /* rows of long tables */
	const char *const *file; /* names of the traces; NULL = the paths they were opened by */
	const char *const *custom_collective; /* parts of names of custom collectives */
	size_t n_custom_collective;
} tide_hta_report_options;
#define TIDE_HTA_REPORT_OPTIONS_INIT                                                               \
	{                                                                                          \
		sizeof(tide_hta_report_options), false, NULL, 30000, 50000, 100000, 0, NULL, NULL, \
			0                                                                          \
	}
TIDE_API tide_code tide_hta_find(const tide_trace *const *traces, size_t n,
				 const tide_hta_report_options *o, tide_report **out,
				 tide_error *err);

/** Why a job hangs: Flight Recorder dumps of its ranks, and recordings of them.
 *
 *      const tide_trace *dumps[] = { t, u };
 *      if (!tide_hang_find(dumps, 2, NULL, &r, &err))
 *              puts(tide_node_text(tide_node_get(tide_report_root(r), "reason"), NULL)); */
typedef struct tide_hang_options {
	size_t struct_size;
	int64_t world;		 /* ranks of the job, if the dumps do not say; 0 = as they say */
	size_t top;		 /* rows of each table; 0 = all */
	const char *const *file; /* names of the traces; NULL = the paths they were opened by */
} tide_hang_options;
#define TIDE_HANG_OPTIONS_INIT                        \
	{                                             \
		sizeof(tide_hang_options), 0, 0, NULL \
	}
TIDE_API tide_code tide_hang_find(const tide_trace *const *traces, size_t n,
				  const tide_hang_options *o, tide_report **out, tide_error *err);

/** Kernels, copies and fills with their statistics. `by`: name type op stream shape
 * module category stack; NULL = name.
 *
 *      const tide_trace *one[] = { t };
 *      if (!tide_kernels_find(one, 1, "op", NULL, &r, &err))
 *              printf("%zu ops\n", tide_node_count(tide_node_get(tide_report_root(r), "kernels"))); */
TIDE_API tide_code tide_kernels_find(const tide_trace *const *traces, size_t n, const char *by,
				     const tide_hta_report_options *o, tide_report **out,
				     tide_error *err);

/** Predicted peaks at work sizes that were not recorded, from traces at 2 sizes or more. */
typedef struct tide_predict_options {
	size_t struct_size;
	const char *device; /* NULL = the one with the highest peak in the largest trace */
	uint64_t capacity;  /* find the largest size that fits into this; 0 = the device's memory
			     * if known */
	const uint64_t *at; /* sizes to predict; NULL = 2 and 4 times the largest */
	size_t n_at;
} tide_predict_options;
#define TIDE_PREDICT_OPTIONS_INIT                              \
	{                                                      \
		sizeof(tide_predict_options), NULL, 0, NULL, 0 \
	}
/** `size[i]` is the size of the work (batch, sequence length) that traces[i] recorded.
 *
 *      const tide_trace *traces[] = { t, u };
 *      const uint64_t batch[] = { 8, 16 };
 *      if (!tide_predict_find(traces, batch, 2, NULL, &r, &err))
 *              tide_report_print(r, stdout, NULL); */
TIDE_API tide_code tide_predict_find(const tide_trace *const *traces, const uint64_t *size,
				     size_t n, const tide_predict_options *o, tide_report **out,
				     tide_error *err);

/** The changes that make a program fit, from virtual runs that `tidemark fit --keep` left: one
 * without a plan, the others under plans. Schedulers read the members "cheapest" and
 * "unchanged.fits". */
typedef struct tide_fit_options {
	size_t struct_size;
	uint64_t
		budget; /* bytes that the allocator may reserve; 0 = the device's memory if noted */
	int64_t shards; /* ranks of rows about shards; 1 = no such rows */
} tide_fit_options;
#define TIDE_FIT_OPTIONS_INIT                  \
	{                                      \
		sizeof(tide_fit_options), 0, 8 \
	}
/** The runs in any order.
 *
 *      const tide_trace *runs[] = { t, u };
 *      tide_fit_options o = TIDE_FIT_OPTIONS_INIT;
 *      o.budget = 40ull << 30;
 *      if (!tide_fit_find(runs, 2, &o, &r, &err))
 *              tide_report_print(r, stdout, NULL); */
TIDE_API tide_code tide_fit_find(const tide_trace *const *traces, size_t n,
				 const tide_fit_options *o, tide_report **out, tide_error *err);

/** Differences from trace `a` to trace `b`.
 *
 *      const char *limits[] = { "peak>+2%" };
 *      tide_diff_report_options o = TIDE_DIFF_REPORT_OPTIONS_INIT;
 *      o.fail_if = limits;
 *      o.n_fail_if = 1;
 *      if (!tide_diff_find(t, u, &o, &r, &err)) {
 *              const tide_node *limit = tide_node_at(tide_node_get(tide_report_root(r), "fail_if"), 0);
 *              printf("crossed: %d\n", tide_node_bool(tide_node_get(limit, "crossed"), false));
 *      } */
typedef struct tide_diff_report_options {
	size_t struct_size;
	const char *device;	    /* compare the memory of this one; NULL = the device with the
				     * highest peak of each */
	bool no_lines;		    /* match call stacks by function and file only, ignoring line
				     * numbers */
	const char *const *fail_if; /* conditions such as "peak>+2%": member "fail_if" */
	size_t n_fail_if;
	size_t top; /* rows per table in text */
	const char *file[2];
} tide_diff_report_options;
#define TIDE_DIFF_REPORT_OPTIONS_INIT                                       \
	{                                                                   \
		sizeof(tide_diff_report_options), NULL, false, NULL, 0, 10, \
		{                                                           \
			NULL, NULL                                          \
		}                                                           \
	}
TIDE_API tide_code tide_diff_find(const tide_trace *a, const tide_trace *b,
				  const tide_diff_report_options *o, tide_report **out,
				  tide_error *err);

/** The host heap: high-water mark, blocks that were not freed, temporary allocations.
 *
 *      if (!tide_heap_find(t, NULL, &r, &err))
 *              printf("%" PRIu64 " bytes not freed\n",
 *                     tide_node_uint(tide_node_get(tide_report_root(r), "left_bytes"), 0)); */
typedef struct tide_heap_options {
	size_t struct_size;
	const char *sort; /* peak left allocated calls temporary; NULL = peak */
	size_t top;
} tide_heap_options;
#define TIDE_HEAP_OPTIONS_INIT                     \
	{                                          \
		sizeof(tide_heap_options), NULL, 0 \
	}
TIDE_API tide_code tide_heap_find(const tide_trace *t, const tide_heap_options *o,
				  tide_report **out, tide_error *err);

/** Finds a GPU's memory by holder: PyTorch, other allocations, contexts, other processes.
 *
 *      if (!tide_device_find(t, &r, &err))
 *              tide_report_json(r, stdout); */
TIDE_API tide_code tide_device_find(const tide_trace *t, tide_report **out, tide_error *err);

/** The first answers: the peak and its largest groups, where time went, the gravest findings.
 *
 *      if (!tide_overview_find(t, &r, &err))
 *              tide_report_print(r, stdout, NULL); */
TIDE_API tide_code tide_overview_find(const tide_trace *t, tide_report **out, tide_error *err);

/** Every recommendation on the trace with its evidence, and a score.
 *
 *      if (!tide_advice_find(t, &r, &err))
 *              printf("score %" PRId64 "\n",
 *                     tide_node_int(tide_node_get(tide_report_root(r), "score"), -1)); */
TIDE_API tide_code tide_advice_find(const tide_trace *t, tide_report **out, tide_error *err);

/** The work of torch.compile from a TORCH_TRACE log: graph breaks, recompiles, stages, kernels.
 *
 *      if (!tide_compile_find(t, NULL, &r, &err))
 *              printf("%" PRIu64 " graph breaks\n",
 *                     tide_node_uint(tide_node_get(tide_report_root(r), "graph_breaks"), 0)); */
typedef struct tide_compile_options {
	size_t struct_size;
	size_t top;
} tide_compile_options;
#define TIDE_COMPILE_OPTIONS_INIT               \
	{                                       \
		sizeof(tide_compile_options), 0 \
	}
TIDE_API tide_code tide_compile_find(const tide_trace *t, const tide_compile_options *o,
				     tide_report **out, tide_error *err);

#ifdef __cplusplus
}
#endif
#endif
