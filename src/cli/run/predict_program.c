// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/documents.h"
#include "cli/run/predict_program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/roofline/device_peaks.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/run/child.h"
#include "cli/run/device_table.h"
#include "cli/run/program_files.h"
#include "cli/select.h"
#include "render/report/predict/virtual_run.h"

enum { MOST_SIZES = 16 };

struct program {
	const tide_args *a;
	const tide_predict_program *p;
	tide_device_row device;
	/* bytes available to the allocator: the device's minus its context; 0 = unknown */
	uint64_t room;
	tide_sim_config settings;
	const char *conf;      /* their text, or NULL */
	char folder[PATH_MAX]; /* of recordings */
	char hook[PATH_MAX];
	char simulator[PATH_MAX]; /* the library with the allocator's simulator */
	bool several;		  /* arguments have {} */
};

/* Returns whether the only argument is a kept recording of an earlier prediction. */
static bool is_kept(const tide_args *a)
{
	size_t n = strlen(a->files[0]);
	return a->n_files == 1 && n > 5 && !strcmp(a->files[0] + n - 5, ".tide");
}

bool tide__predict_is_program(const tide_args *a)
{
	if (!a->n_files)
		return false;
	const char *s = a->files[0], *eq = strchr(s, '=');
	if (eq && eq != s && strspn(s, "0123456789") == (size_t)(eq - s))
		return false;
	return is_kept(a) || tide__is_script(s) || access(s, F_OK) ||
	       (!access(s, X_OK) && !tide__load_knows(s)); /* else a trace without its size */
}

/* ---- before ---- */

static int find_device(struct program *g)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char table[PATH_MAX + 16];
	const tide_predict_program *p = g->p;
	snprintf(table, sizeof table, "%s/devices.txt", g->hook);
	g->device = (tide_device_row){
		.capability = "9.0", .name = "a GPU like H100", .cublas = -1, .processors = 132
	};
	if (p->like->set) {
		tide_code rc = tide__device_table_find(table, p->like->text, &g->device, &err);
		if (rc == TIDE_EUSAGE)
			return tide__cli_fail_usage(g->a, "%s", err.text);
		if (rc != TIDE_OK)
			return tide__cli_fail(NULL, &err);
	}
	if (p->capacity->set) {
		g->device.capacity = p->capacity->num;
		g->device.context = 0; /* the user's value takes precedence */
	}
	g->room = g->device.capacity > g->device.context
			  ? (uint64_t)(g->device.capacity - g->device.context)
			  : 0;
	g->settings = tide__sim_defaults();
	const char *conf = p->conf->set ? p->conf->text : getenv("PYTORCH_CUDA_ALLOC_CONF");
	g->conf = conf;
	if (conf && *conf && tide__sim_parse(&g->settings, conf, &err) != TIDE_OK)
		return tide__cli_fail_usage(g->a, "PYTORCH_CUDA_ALLOC_CONF: %s", err.text);
	return 0;
}

static int find_places(struct program *g, char *library, char *source, char *include)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (tide__hook_folder_find(g->hook, PATH_MAX) &&
	    tide__source_file_find(source, PATH_MAX, "src/capture/torch/fake_cuda.cpp",
				   TIDE_DATADIR "/tidemark/fake_cuda.cpp") &&
	    tide__source_file_find(include, PATH_MAX, "include", TIDE_INCLUDEDIR) &&
	    tide__program_file_find(library, PATH_MAX, "libtidemark-rt.so.0",
				    TIDE_LIBDIR "/libtidemark-rt.so.0") &&
	    tide__program_file_find(g->simulator, PATH_MAX, "libtidemark.so.0",
				    TIDE_LIBDIR "/libtidemark.so.0"))
		return 0;
	tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
		   "the Python hook is not installed beside this program");
	return tide__cli_fail(NULL, &err);
}

/* ---- the child ---- */

static void set_environment(const struct program *g, const char *file, const char *library,
			    const char *source, const char *include)
{
	char text[512], number[32];
	const tide_device_row *d = &g->device;
	int n = snprintf(text, sizeof text, "name=%s;capability=%s;processors=%" PRId64, d->name,
			 d->capability, d->processors);
	if (d->capacity)
		n += snprintf(text + n, sizeof text - (size_t)n, ";capacity=%" PRId64, d->capacity);
	if (g->room)
		n += snprintf(text + n, sizeof text - (size_t)n, ";room=%" PRIu64, g->room);
	if (d->cublas >= 0)
		n += snprintf(text + n, sizeof text - (size_t)n, ";cublas=%" PRId64, d->cublas);
	const tide_device_peak *peak = tide__device_peak(d->name);
	if (peak)
		snprintf(text + n, sizeof text - (size_t)n,
			 ";tflops16=%g;tflops32=%g;tf32=%g;tflops64=%g;gbs=%g", peak->half,
			 peak->f32, peak->tf32, peak->f64, peak->gb_s);
	setenv("TIDEMARK_PREDICT", file, 1);
	setenv("TIDEMARK_PREDICT_DEVICE", text, 1);
	setenv("TIDEMARK_PREDICT_LIBRARY", library, 1);
	setenv("TIDEMARK_PREDICT_SOURCE", source, 1);
	setenv("TIDEMARK_PREDICT_SIMULATOR", g->simulator, 1);
	setenv("TIDEMARK_PREDICT_CONF", g->conf ? g->conf : "", 1);
	setenv("TIDEMARK_INCLUDE", include, 1);
	snprintf(number, sizeof number, "%" PRId64, g->p->steps->num);
	setenv("TIDEMARK_PREDICT_STEPS", number, 1);
	if (g->p->world->set) {
		snprintf(number, sizeof number, "%" PRId64, g->p->world->num);
		setenv("TIDEMARK_PREDICT_WORLD", number, 1);
	}
	if (g->p->plan->set)
		setenv("TIDEMARK_PLAN", g->p->plan->text, 1);
	tide__prepend("PYTHONPATH", g->hook, ':');
}

/* Returns the word with every {} replaced. Owned by the caller: free(). */
static char *replace_size(const char *word, uint64_t size)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	for (const char *at; f && (at = strstr(word, "{}")); word = at + 2)
		fprintf(f, "%.*s%" PRIu64, (int)(at - word), word, size);
	if (f) {
		fputs(word, f);
		fclose(f);
	}
	return text;
}

/* Returns the arguments with every {} replaced by the size; Python runs a .py file. Owned by the
 * child, which does not return. */
static char **arguments(const struct program *g, uint64_t size)
{
	char **argv = tide__calloc(g->a->n_files + 2, sizeof *argv);
	size_t n = 0;
	if (argv && tide__is_script(g->a->files[0]) && !access(g->a->files[0], R_OK))
		argv[n++] = tide__python_name();
	for (size_t i = 0; argv && i < g->a->n_files; i++, n++) {
		argv[n] = g->a->files[i];
		if (g->several && strstr(argv[n], "{}") &&
		    !(argv[n] = replace_size(g->a->files[i], size)))
			return NULL;
	}
	return argv;
}

/* How a run of the program ended. */
struct end {
	int status; /* of waitpid */
	bool timed_out;
};

/* Prints that the program failed, and the consequence. Returns 1. */
static int say_failed(const struct program *g, const struct end *e, const char *then)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int status = e->status;
	if (e->timed_out)
		tide__fail(&err, TIDE_EIO, TIDE_NO_OFFSET,
			   "the program was ended after %" PRId64 " s (--timeout)%s",
			   g->p->limit->num, then);
	else if (WIFSIGNALED(status))
		tide__fail(&err, TIDE_EIO, TIDE_NO_OFFSET, "the program was ended by signal %d%s",
			   WTERMSIG(status), then);
	else
		tide__fail(&err, TIDE_EIO, TIDE_NO_OFFSET, "the program failed (exit status %d)%s",
			   WEXITSTATUS(status), then);
	tide__cli_fail(g->a->files[0], &err);
	return 1;
}

/* Runs the program; its output goes to standard error. Returns 0, or an exit status: 2 after a
 * message if it cannot be run, 1 if it failed; `e` has its end. */
static int run_once(const struct program *g, uint64_t size, const char *file, struct end *e)
{
	char library[PATH_MAX], source[PATH_MAX], include[PATH_MAX];
	struct program copy = *g;
	int problem, rc = find_places(&copy, library, source, include);
	const char *why = rc ? NULL : tide__program_problem(g->a->files[0], &problem);
	if (why) {
		tide__cli_note("tidemark predict: %s: %s", g->a->files[0], why);
		return 2;
	}
	if (rc)
		return rc;
	pid_t pid = tide__child_fork();
	if (pid == 0) {
		set_environment(g, file, library, source, include);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		char **argv = arguments(g, size);
		if (argv)
			execvp(argv[0], argv);
		tide__cli_note("tidemark predict: %s: %s", g->a->files[0], strerror(errno));
		_exit(127);
	}
	if (pid > 0)
		e->status = tide__child_wait_limit(pid, g->p->limit->num, &e->timed_out);
	if (WIFEXITED(e->status) && WEXITSTATUS(e->status) == 127)
		return 2;
	return pid > 0 && !e->status && !e->timed_out ? 0 : 1;
}

/* ---- its recording ---- */

static int no_recording(const struct program *g)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide__fail(
		&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
		"it put no tensor on a CUDA device: is torch imported, and the device \"cuda\"?");
	return tide__cli_fail(g->a->files[0], &err);
}

static int steps_of(const tide_model *m)
{
	int64_t at = tide__fact_find(m, "predicted.steps");
	return at < 0 ? 0 : atoi(tide__text(m, m->facts.text[at], NULL));
}

const tide_report_type tide__document_predict_program = {
	.name = "predict-program",
	.version = 1,
	.summary = "memory of a program that ran without a device",
	.members = tide__virtual_run_members,
};

static int print_run(const struct program *g, const tide_model *m, const tide_virtual_run *r)
{
	if (g->p->json) {
		tide_document d;
		tide__document_begin(&d, g->a, &tide__document_predict_program);
		tide__virtual_run_json(m, r, &d.json);
		return tide__document_end(&d, g->a);
	}
	tide__virtual_run_text(m, r, &g->a->to);
	if (!r->unended && !steps_of(m) && g->p->steps->num)
		fputs("note: the program made no optimizer step; an optimizer creates its state in the first\n",
		      g->a->out);
	else if (!r->unended && steps_of(m) < g->p->steps->num)
		fprintf(g->a->out,
			"note: the program ended after %d of %" PRId64 " optimizer steps\n",
			steps_of(m), g->p->steps->num);
	else if (!r->unended && g->p->steps->num)
		fprintf(g->a->out,
			"note: the program was stopped after %d optimizer step%s; --steps N runs "
			"more, --steps 0 all\n",
			steps_of(m), steps_of(m) == 1 ? "" : "s");
	return tide__cli_finish(g->a);
}

/* `failed`: the end of a program that failed, else NULL. */
static int show(const struct program *g, const char *file, const struct end *failed)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_virtual_run r = { 0 };
	tide_model *m = !is_kept(g->a) && access(file, R_OK)
				? NULL
				: tide__cli_load(g->a, file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	uint32_t device = m && tide__is_predicted(m) ? tide__device_find(m, "cuda:0") : 0;
	bool used = device && m->allocs.n >= 2;
	int rc = !failed ? 0
		 : used	 ? say_failed(g, failed, "; its recording up to then is used")
			 : say_failed(g, failed, " before it put a tensor on a CUDA device");
	if (is_kept(g->a) && !m) {
		rc = 1;
	} else if (is_kept(g->a) && !tide__is_predicted(m)) {
		rc = tide__cli_fail_usage(g->a,
					  "%s is a recording of a real run: give 2 with their "
					  "sizes, e.g. 8=a.tide 16=b.tide",
					  file);
	} else if (!used) {
		rc = failed ? rc : no_recording(g);
	} else if (tide__virtual_run(m, device, g->room, &g->settings, &r, &err) != TIDE_OK) {
		rc = tide__cli_fail(file, &err);
	} else {
		if (failed && !r.unended)
			r.unended = "it failed";
		rc = print_run(g, m, &r);
		if (!rc && r.unended)
			rc = 1;
	}
	tide__virtual_run_free(&r);
	tide__model_free(m);
	return rc;
}

/* Removes a recording, and the rings that a killed program left. */
static void remove_recording(const char *file)
{
	char rings[PATH_MAX + 32];
	snprintf(rings, sizeof rings, "%s-rings", file);
	unlink(file);
	unlink(rings);
}

static int run_sizes(struct program *g,
		     int (*recorded)(const tide_args *, char **, size_t, uint64_t))
{
	const tide_value *at = g->p->at;
	char *files[MOST_SIZES] = { 0 };
	size_t n = at->set ? at->n_list : 0;
	struct end e = { 0 };
	int rc = 0;
	if (n < 2 || n > MOST_SIZES)
		return tide__cli_fail_usage(
			g->a, "{} is replaced by a size: give 2 to 16 of them, e.g. --at 4 --at 8");
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strtoull(at->list[i], NULL, 10) == strtoull(at->list[k], NULL, 10))
				return tide__cli_fail_usage(g->a, "--at: %s is there twice",
							    at->list[i]);
	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t size = strtoull(at->list[i], NULL, 10);
		if (asprintf(&files[i], "%" PRIu64 "=%s/%" PRIu64 ".tide", size, g->folder, size) <
		    0)
			return 1;
		rc = run_once(g, size, strchr(files[i], '=') + 1, &e);
		if (rc == 1)
			say_failed(g, &e, "; nothing is predicted from the other sizes");
	}
	if (!rc)
		rc = recorded(g->a, files, n, g->room);
	for (size_t i = 0; i < n; i++) {
		if (files[i] && !g->p->keep->set)
			remove_recording(strchr(files[i], '=') + 1);
		free(files[i]);
	}
	return rc;
}

static int run_one(struct program *g)
{
	char file[PATH_MAX + 16];
	if (g->p->keep->set)
		snprintf(file, sizeof file, "%s", g->p->keep->text);
	else
		snprintf(file, sizeof file, "%s/predicted.tide", g->folder);
	struct end e = { 0 };
	int failed = run_once(g, 0, file, &e);
	int rc = failed == 2 ? 2 : show(g, file, failed ? &e : NULL);
	if (!g->p->keep->set)
		remove_recording(file);
	return failed ? failed : rc;
}

static bool make_folder(struct program *g)
{
	const char *dir = getenv("TMPDIR");
	if (g->p->keep->set && g->several) {
		snprintf(g->folder, sizeof g->folder, "%s", g->p->keep->text);
		return !mkdir(g->folder, 0777) || errno == EEXIST;
	}
	snprintf(g->folder, sizeof g->folder, "%s/tidemark-predict-XXXXXX",
		 dir && *dir ? dir : "/tmp");
	return mkdtemp(g->folder) != NULL;
}

int tide__predict_program_run(const tide_args *a, const tide_predict_program *p,
			      int (*recorded)(const tide_args *, char **, size_t, uint64_t))
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct program g = { .a = a, .p = p };
	char library[PATH_MAX], source[PATH_MAX], include[PATH_MAX];
	int rc = find_places(&g, library, source, include);
	if (!rc)
		rc = find_device(&g);
	if (rc)
		return rc;
	if (is_kept(a))
		return show(&g, a->files[0], NULL);
	for (size_t i = 0; i < a->n_files; i++)
		g.several |= strstr(a->files[i], "{}") != NULL;
	if (p->at->set && !g.several)
		return tide__cli_fail_usage(
			a, "--at: write {} among the program's arguments, where the size goes");
	if (!make_folder(&g)) {
		tide__fail_errno(&err, "cannot make a folder for recordings");
		return tide__cli_fail(g.folder, &err);
	}
	rc = g.several ? run_sizes(&g, recorded) : run_one(&g);
	if (!(p->keep->set && g.several))
		rmdir(g.folder);
	return rc;
}
