// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* run: starts a program and records what it does with memory and time.
 *
 * The program runs as a child with libtidemark-torch preloaded (PyTorch's allocators and ops), and
 * libtidemark-heap if the host heap is requested; this process waits, forwards signals, and ends as
 * the program ended: same status, or by the same signal. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/now.h"
#include "cli/run/child.h"
#include "cli/cli.h"
#include "cli/run/failures.h"
#include "cli/options.h"
#include "cli/run/program_files.h"
#include "cli/output/progress.h"
#include "cli/run/run_recordings.h"
#include "format/recording_owner.h"
#include "config/config.h"
#include "format/launcher.h"
#include "format/rings.h"

enum {
	O_OUTPUT,
	O_HEAP,
	O_RATE,
	O_MMAP,
	O_GPU,
	O_DURATION,
	O_MAX_SIZE,
	O_SIGNAL,
	O_LIGHT,
	O_NO_TORCH,
	O_NO_OPS,
	O_NO_MODULES,
	O_STACKS,
	O_HOLDERS,
	O_SHAPES,
	O_PLAN
};
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "the recording (default run.tide in the configured folder)" },
	[O_HEAP] = { "heap", 0, TIDE_OPT_FLAG, "full",
		     "record the host heap (malloc, operator new): samples, or with =full every "
		     "call" },
	[O_RATE] = { "rate", 0, TIDE_OPT_BYTES, "BYTES",
		     "mean number of bytes between samples of the host heap", .def = "512KiB" },
	[O_MMAP] = { "mmap", 0, TIDE_OPT_FLAG, NULL,
		     "mmap, mremap and munmap of the program, with stacks, in a separate pool" },
	[O_GPU] = { "gpu", 0, TIDE_OPT_FLAG, NULL,
		    "CUDA: kernels, copies, device memory, NVTX ranges (CUPTI, NVML)" },
	[O_DURATION] = { "duration", 0, TIDE_OPT_TEXT, "TIME",
			 "switch recording off after this time (30s, 500ms); the program continues" },
	[O_MAX_SIZE] = { "max-size", 0, TIDE_OPT_BYTES, "BYTES",
			 "keep only about the last BYTES of the recording, for always-on use (at least 1MiB)" },
	[O_SIGNAL] = { "signal", 0, TIDE_OPT_TEXT, "NAME",
		       "switch recording off and on by this signal: USR1, USR2, PROF, IO, URG, WINCH" },
	[O_LIGHT] = { "light", 0, TIDE_OPT_FLAG, NULL,
		      "always-on: PyTorch's allocations with Python stack and module, no ops" },
	[O_NO_TORCH] = { "no-torch", 0, TIDE_OPT_FLAG, NULL, "do not record PyTorch" },
	[O_NO_OPS] = { "no-ops", 0, TIDE_OPT_FLAG, NULL, "record memory only" },
	[O_NO_MODULES] = { "no-modules", 0, TIDE_OPT_FLAG, NULL,
			   "do not record module names, tensor labels and steps" },
	[O_STACKS] = { "stacks", 0, TIDE_OPT_FLAG, NULL, "the Python stack of every op" },
	[O_HOLDERS] = { "holders", 0, TIDE_OPT_FLAG, NULL,
			"what Python objects refer to tensors: at optimizer steps 1, 2, 4 ... and at the end" },
	[O_SHAPES] = { "shapes", 0, TIDE_OPT_FLAG, NULL,
		       "shape, dtype and requires_grad of op results" },
	[O_PLAN] = { "plan", 0, TIDE_OPT_FILE, "FILE",
		     "apply a plan from outside, as tidemark fit writes it: the script is unchanged" },
};

/* ---- settings ---- */

/* Options that settings supply if the command line does not. */
static const struct {
	unsigned option;
	tide_config_key key;
	bool no; /* --no-...: the setting is its opposite */
} settings[] = {
	{ O_RATE, TIDE_CONFIG_run_rate, false },
	{ O_MMAP, TIDE_CONFIG_run_mmap, false },
	{ O_GPU, TIDE_CONFIG_run_gpu, false },
	{ O_DURATION, TIDE_CONFIG_run_duration, false },
	{ O_SIGNAL, TIDE_CONFIG_run_signal, false },
	{ O_MAX_SIZE, TIDE_CONFIG_run_max_size, false },
	{ O_LIGHT, TIDE_CONFIG_run_light, false },
	{ O_NO_TORCH, TIDE_CONFIG_run_torch, true },
	{ O_NO_MODULES, TIDE_CONFIG_run_modules, true },
};

static bool wrong_setting(const tide_config *c, tide_config_key k, const char *wants,
			  tide_error *err)
{
	tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "setting %s needs %s, not '%s'",
		   tide__config_name(k), wants, c->v[k].text);
	return false;
}

static bool use_setting(const tide_option *o, tide_value *v, bool no, const tide_config *c,
			tide_config_key k, tide_error *err)
{
	const tide_config_value *from = &c->v[k];
	if (v->given || from->from == TIDE_FROM_DEFAULT)
		return true;
	if (o->kind == TIDE_OPT_FLAG) {
		v->set = from->flag != no;
		return true;
	}
	if (!*from->text)
		return true;
	v->set = v->given = true;
	v->text = from->text;
	return o->kind != TIDE_OPT_BYTES || tide__parse_bytes(from->text, &v->num) ||
	       wrong_setting(c, k, "a size such as 512KiB or 2GiB", err);
}

static bool use_settings(const tide_args *a, const tide_config *c, tide_error *err)
{
	const tide_config_value *heap = &c->v[TIDE_CONFIG_run_heap];
	tide_value *h = &a->opt[O_HEAP];
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (!use_setting(&options[settings[i].option], &a->opt[settings[i].option],
				 settings[i].no, c, settings[i].key, err))
			return false;
	bool full = !strcmp(heap->text, "full"), sampled = !strcmp(heap->text, "sampled");
	if (!full && !sampled && strcmp(heap->text, "off") != 0)
		return wrong_setting(c, TIDE_CONFIG_run_heap, "off, sampled or full", err);
	if (!h->given && (full || sampled)) {
		h->set = true;
		h->num = 0;
		h->text = full ? "full" : "";
	}
	return true;
}

/* ---- where our files are ---- */

/* Finds one of our libraries beside this program. Returns false, with `err` set, if it is not
 * installed. */
static bool library(char *out, const char *name, tide_error *err)
{
	char in_tree[64], installed[PATH_MAX];
	snprintf(in_tree, sizeof in_tree, "capture/%s", name);
	snprintf(installed, sizeof installed, TIDE_LIBDIR "/%s", name);
	if (tide__program_file_find(out, PATH_MAX, in_tree, installed))
		return true;
	tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "%s is not installed beside this program",
		   name);
	return false;
}

/* Paths to preload, "" = none. */
typedef struct libraries {
	char torch[PATH_MAX], heap[PATH_MAX], gpu[PATH_MAX];
} libraries;

static bool find_libraries(const tide_args *a, libraries *l, tide_error *err)
{
	bool torch = !a->opt[O_NO_TORCH].set, heap = a->opt[O_HEAP].set || a->opt[O_MMAP].set;
	*l->torch = *l->heap = *l->gpu = 0;
	return (!torch || library(l->torch, "libtidemark-torch.so", err)) &&
	       (!heap || library(l->heap, "libtidemark-heap.so", err)) &&
	       (!a->opt[O_GPU].set || library(l->gpu, "libtidemark-inject.so", err));
}

/* Sets the variables for recording ops: the hook that Python reads at its start, and the sources it
 * builds. */
static void set_hook(const tide_args *a, const tide_config *c, bool ops)
{
	char hook[PATH_MAX], source[PATH_MAX], include[PATH_MAX];
	if (!tide__hook_folder_find(hook, sizeof hook) ||
	    !tide__source_file_find(source, sizeof source, "src/capture/torch/ops.cpp",
				    TIDE_DATADIR "/tidemark/ops.cpp") ||
	    !tide__source_file_find(include, sizeof include, "include", TIDE_INCLUDEDIR)) {
		fprintf(stderr,
			"tidemark run: the op hook is not installed: ops are not recorded\n");
		return;
	}
	setenv("TIDEMARK_OPS_SOURCE", source, 1);
	bool stacks = a->opt[O_STACKS].set || c->v[TIDE_CONFIG_capture_stacks].flag;
	bool shapes = a->opt[O_SHAPES].set || c->v[TIDE_CONFIG_capture_shapes].flag;
	bool light = a->opt[O_LIGHT].set;
	char capture[64];
	snprintf(capture, sizeof capture, "%s%s%s%s%s%s", ops ? "" : "no-ops,",
		 light ? "light," : "",
		 a->opt[O_NO_MODULES].set || (!ops && !light) ? "" : "modules,",
		 stacks ? "stacks," : "", shapes ? "shapes," : "",
		 a->opt[O_HOLDERS].set ? "holders," : "");
	setenv("TIDEMARK_CAPTURE", capture, 1);
	setenv("TIDEMARK_INCLUDE", include, 1);
	tide__prepend("PYTHONPATH", hook, ':');
}

/* ---- settings ---- */

/* Passes the file's settings as variables: the hook in the child reads those, and so does the
 * package there, in any working folder. */
static void hand_down(const tide_config *c)
{
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++)
		if (c->v[k].from == TIDE_FROM_FILE)
			setenv(tide__config_env((tide_config_key)k), c->v[k].text, 1);
}

/* Writes the absolute path of the recording: -o, else run.tide in the configured folder. */
static bool name_file(const tide_args *a, const tide_config *c, char *file, size_t n)
{
	char here[PATH_MAX] = "";
	const char *folder = c->v[TIDE_CONFIG_output_dir].text;
	bool own = a->opt[O_OUTPUT].set || c->v[TIDE_CONFIG_output_dir].from == TIDE_FROM_DEFAULT;
	const char *name = a->opt[O_OUTPUT].set ? a->opt[O_OUTPUT].text : "run.tide";
	if (!own)
		mkdir(folder, 0777); /* errors show when the file is opened */
	errno = 0;
	if (*(own ? name : folder) != '/' && !getcwd(here, sizeof here))
		return false;
	return (size_t)snprintf(file, n, "%s%s%s%s%s", here, *here ? "/" : "", own ? "" : folder,
				own ? "" : "/", name) < n;
}

/* ---- the child ---- */

/* Prints a hint for a script in this folder, which is not found in PATH: usually Python was meant
 * to run it. */
static void say_no_program(const char *name, int why)
{
	size_t n = strlen(name);
	bool here = access(name, F_OK) == 0, script = n > 3 && !strcmp(name + n - 3, ".py");
	struct stat st;
	bool folder = here && !stat(name, &st) && S_ISDIR(st.st_mode);
	const char *text = folder		   ? "a folder, not a program"
			   : here && why == ENOENT ? "no such program in PATH"
						   : strerror(why);
	if (here && script && !folder)
		tide__cli_note("tidemark run: %s: %s; try: tidemark run -- python %s", name, text,
			       name);
	else
		tide__cli_note("tidemark run: %s: %s", name, text);
}

/* LD_PRELOAD separates paths by colons and spaces; if a folder's name contains one, the library is
 * found through the search path.
 */
static bool preload(char *library)
{
	char *slash = strrchr(library, '/');
	if (!strpbrk(library, " :;")) {
		tide__prepend("LD_PRELOAD", library, ':');
		return true;
	}
	*slash = 0;
	if (strpbrk(library, ":;")) {
		fprintf(stderr,
			"tidemark run: %s: a library cannot be preloaded from a folder with a "
			"space, colon or semicolon in its name\n",
			library);
		return false;
	}
	tide__prepend("LD_LIBRARY_PATH", library, ':');
	tide__prepend("LD_PRELOAD", slash + 1, ':');
	return true;
}

static void set_heap(const tide_args *a)
{
	char mean[32];
	const tide_value *h = &a->opt[O_HEAP];
	snprintf(mean, sizeof mean, "%lld", (long long)a->opt[O_RATE].num);
	if (h->set)
		setenv("TIDEMARK_HEAP", h->num == 0 && h->text && *h->text ? "full" : mean, 1);
	if (a->opt[O_MMAP].set)
		setenv("TIDEMARK_MMAP", "1", 1);
}

static const struct {
	const char *name;
	int number;
} switches[] = { { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "PROF", SIGPROF },
		 { "IO", SIGIO },     { "URG", SIGURG },   { "WINCH", SIGWINCH } };

/* Returns the number of a signal that may switch recording; 0 if there is none of them. */
static int switch_signal(const char *name)
{
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (!strcmp(switches[i].name, name))
			return switches[i].number;
	return 0;
}

/* The recorder in the program reads these (runtime/start.c, runtime/control.c). */
static void set_recorder(const tide_args *a, int64_t limit_ms)
{
	char number[32];
	unsetenv("TIDEMARK_UNTIL");
	unsetenv("TIDEMARK_MAX_SIZE");
	unsetenv("TIDEMARK_SIGNAL");
	snprintf(number, sizeof number, "%lld", (long long)a->opt[O_MAX_SIZE].num);
	if (a->opt[O_MAX_SIZE].set)
		setenv("TIDEMARK_MAX_SIZE", number, 1);
	if (limit_ms >= 0) {
		snprintf(number, sizeof number, "%lld",
			 (long long)(tide__now_ns(CLOCK_MONOTONIC) + limit_ms * 1000000));
		setenv("TIDEMARK_UNTIL", number, 1);
	}
	if (!a->opt[O_SIGNAL].set)
		return;
	snprintf(number, sizeof number, "%d", switch_signal(a->opt[O_SIGNAL].text));
	setenv("TIDEMARK_SIGNAL", number, 1);
}

/* The CUDA driver loads the library when it starts, and so does NVTX; it is also preloaded, to
 * notice when another profiler takes over CUPTI. */
static void set_gpu(char *path)
{
	setenv("CUDA_INJECTION64_PATH", path, 1);
	setenv("NVTX_INJECTION64_PATH", path, 1);
	setenv("TIDEMARK_GPU", "kernels,memory,calls,nvml,source,virtual,graphs",
	       0); /* the user's value takes precedence */
	preload(path);
}

/* Returns true for a statically linked ELF file: nothing can be preloaded into it. */
static bool is_static(const char *path)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool elf = fd >= 0 && read(fd, &h, sizeof h) == sizeof h &&
		   !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_ident[EI_CLASS] == ELFCLASS64,
	     loaded = !elf;
	for (unsigned i = 0; elf && !loaded && i < h.e_phnum && i < 64; i++)
		loaded = pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) != sizeof p ||
			 p.p_type == PT_INTERP;
	if (fd >= 0)
		close(fd);
	return !loaded;
}

/* Finds the file that execvp would run; returns false if there is none. */
static bool in_path(const char *name, char *out, size_t n)
{
	const char *dirs = getenv("PATH");
	if (strchr(name, '/'))
		return (size_t)snprintf(out, n, "%s", name) < n;
	for (const char *d = dirs ? dirs : ""; *d; d += strcspn(d, ":"), d += *d == ':') {
		int k = (int)strcspn(d, ":");
		if ((size_t)snprintf(out, n, "%.*s/%s", k, d, name) < n && !access(out, X_OK))
			return true;
	}
	return false;
}

static void say_if_static(const char *name)
{
	char path[PATH_MAX];
	if (in_path(name, path, sizeof path) && is_static(path))
		fprintf(stderr,
			"tidemark run: %s is statically linked: nothing can be recorded in it, only in "
			"dynamically linked programs that it starts\n",
			path);
}

/* `told` is closed when the program starts; otherwise an error is written into it. */
static void become(const tide_args *a, const tide_config *c, libraries *l, const char *file,
		   const char *id, int64_t limit_ms, int told)
{
	char pid[32], place[128];
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	tide__job_place(place, sizeof place);
	setenv("TIDEMARK_RECORD", file, 1);
	setenv("TIDEMARK_RECORD_PID", pid, 1);
	setenv("TIDEMARK_RUN", id, 1);
	setenv("TIDEMARK_RUN_RANK", place, 1);
	hand_down(c);
	/* AddressSanitizer refuses to start if a preloaded library comes before it. */
	tide__prepend("ASAN_OPTIONS", "verify_asan_link_order=0", ':');
	bool torch = *l->torch && preload(l->torch);
	bool heap = *l->heap && preload(l->heap); /* the last preloaded comes first */
	unsetenv("TIDEMARK_HEAP");
	unsetenv("TIDEMARK_MMAP");
	set_recorder(a, limit_ms);
	if (*l->gpu)
		set_gpu(l->gpu);
	else
		unsetenv("TIDEMARK_GPU");
	if (heap)
		set_heap(a);
	bool light = a->opt[O_LIGHT].set;
	bool ops = !light && !a->opt[O_NO_OPS].set && c->v[TIDE_CONFIG_capture_ops].flag;
	bool mode = getenv("TIDEMARK_COMPILE_MODE") != NULL; /* `tidemark compile` sets it */
	if (a->opt[O_PLAN].set)
		setenv("TIDEMARK_PLAN", a->opt[O_PLAN].text, 1);
	if (torch && (ops || heap || light || mode || a->opt[O_PLAN].set))
		set_hook(a, c, ops);
	execvp(a->files[0], a->files);
	int why = errno;
	say_no_program(a->files[0], why);
	ssize_t sent = told < 0 ? 0 : write(told, "x", 1);
	(void)sent; /* else a line says that nothing was recorded, which is also true */
	_exit(why == ENOENT ? 127 : 126);
}

/* Says that --gpu will record nothing, and returns true then. The driver's library alone decides if no device file is seen:
 * containers and other systems name theirs differently. */
static bool say_if_no_gpu(void)
{
	void *driver = NULL;
	if (access("/dev/nvidiactl", F_OK) && access("/dev/dxg", F_OK))
		driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	else
		return false;
	if (driver)
		dlclose(driver);
	else
		tide__cli_note("tidemark run: --gpu: this machine has no NVIDIA driver "
			       "(/dev/nvidiactl, libcuda.so.1): no GPU work will be recorded");
	return !driver;
}

/* ---- its end ---- */

/* Returns the bytes written so far: the recorder allocates more, which is a hole until it is
 * written. -1: the file is missing. */
static off_t written(const char *file)
{
	struct stat st;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	off_t n = fd < 0 ? -1 : lseek(fd, 0, SEEK_HOLE);
	if (fd >= 0 && n < 0 && fstat(fd, &st) == 0)
		n = st.st_blocks * 512;
	if (fd >= 0)
		close(fd);
	return n;
}

static void show_status(tide_progress *p, const char *file, int64_t ms, bool off)
{
	char size[32], name[64];
	const char *base = strrchr(file, '/');
	off_t bytes = written(file);
	tide__fmt_name(name, sizeof name, base ? base + 1 : file, strlen(base ? base + 1 : file),
		       16);
	tide__progress_print(p, "\033[2m%s %lld s, %s %s\033[0m", off ? "recorded" : "recording",
			     (long long)(ms / 1000), name,
			     bytes >= 0 ? tide__fmt_bytes(size, sizeof size, (double)bytes)
					: "not begun");
}

/* Waits for the program, shows its progress and hears of processes that could not be recorded;
 * recording ends after `limit_ms` (< 0: never). */
static int wait_for(pid_t pid, const char *file, int64_t limit_ms, tide_failures *failures)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int64_t start = tide__now_ms();
	tide_progress progress;
	tide__progress_begin(&progress, file);
	progress.aside = true;
	while (fd >= 0) {
		struct pollfd p[] = { { fd, POLLIN, 0 }, { failures->fd, POLLIN, 0 } };
		poll(p, 2, progress.next_ms ? 1000 : -1);
		tide__failures_read(failures);
		if (p[0].revents)
			break;
		int64_t ms = tide__now_ms() - start;
		show_status(&progress, file, ms, limit_ms >= 0 && ms >= limit_ms);
	}
	int status = tide__child_wait(pid);
	tide__progress_end(&progress);
	if (fd >= 0)
		close(fd);
	return status;
}

/* A seccomp filter ended the program, for a call of its own or for one of the recorder's. */
static void say_if_filtered(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		fprintf(stderr,
			"tidemark run: a seccomp filter ended the program (SIGSYS). If it ends well "
			"without Tidemark, the filter forbids a system call that the recorder makes: "
			"`tidemark help run` lists them\n");
}

/* Ends in the same way as the program. */
static int same_end(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	int sig = WTERMSIG(status);
	prctl(PR_SET_DUMPABLE, 0); /* the core file is the program's, not ours */
	signal(sig, SIG_DFL);
	raise(sig);
	return 128 + sig;
}

static void no_matter(int sig)
{
	(void)sig;
}

static int run(const tide_args *a)
{
	static tide_config c;
	static libraries l;
	char file[PATH_MAX];
	char id[TIDE_RUN_ID];
	int64_t limit_ns = -1;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (tide__config_load(NULL, NULL, &c, &err) != TIDE_OK)
		return tide__cli_fail(c.in_file ? c.file : NULL, &err);
	if (!use_settings(a, &c, &err))
		return tide__cli_fail_usage(a, "%s", err.text);
	if (!find_libraries(a, &l, &err))
		return tide__cli_fail(NULL, &err);
	if (a->opt[O_MAX_SIZE].set && a->opt[O_MAX_SIZE].num < 1 << 20)
		return tide__cli_fail_usage(a, "--max-size needs 1MiB or more");
	if (a->opt[O_SIGNAL].set && !switch_signal(a->opt[O_SIGNAL].text))
		return tide__cli_fail_usage(
			a, "--signal needs USR1, USR2, PROF, IO, URG or WINCH, not '%s'",
			a->opt[O_SIGNAL].text);
	if (a->opt[O_RATE].given && a->opt[O_RATE].num < 1)
		return tide__cli_fail_usage(a, "--rate needs a size of 1 byte or more");
	if (!*l.torch && !*l.heap && !*l.gpu)
		return tide__cli_fail_usage(
			a, "nothing is left to record: --no-torch needs --heap or --gpu");
	if (!name_file(a, &c, file, sizeof file))
		return tide__cli_fail_usage(
			a, errno == ENOENT ? "the working directory was removed: change to another"
					   : "the path of the recording is too long");
	if (!tide__may_record(file, &err)) /* the recorder never fails its program */
		return tide__cli_fail(file, &err);
	if (a->opt[O_DURATION].set && tide__lacks_unit(a->opt[O_DURATION].text))
		return tide__cli_fail_usage(a, "--duration needs a unit: %ss or %sms",
					    a->opt[O_DURATION].text, a->opt[O_DURATION].text);
	if (a->opt[O_DURATION].set && !tide__parse_time(a->opt[O_DURATION].text, 0, &limit_ns))
		return tide__cli_fail_usage(
			a, "--duration needs a time such as 30s or 500ms, not '%s'",
			a->opt[O_DURATION].text);
	int64_t limit_ms = limit_ns < 0 ? -1 : limit_ns / 1000000;
	bool no_gpu = *l.gpu && say_if_no_gpu();
	say_if_static(a->files[0]);
	tide__run_id(id);
	int64_t replaced = tide__written_by(file) ? 0 : tide__recording_began(file);
	static tide_failures failures;
	tide__failures_open(&failures, id);
	int told[2] = { -1, -1 };
	if (pipe2(told, O_CLOEXEC) < 0)
		told[0] = told[1] = -1; /* an unnecessary line may be printed */
	pid_t pid = tide__child_fork();
	if (pid == 0)
		become(a, &c, &l, file, id, limit_ms, told[1]);
	if (pid < 0) {
		tide__fail_errno(&err, "fork");
		return tide__cli_fail(NULL, &err);
	}
	close(told[1]);
	int status = wait_for(pid, file, limit_ms, &failures);
	signal(SIGINT, no_matter); /* a second Ctrl+C was also meant for the program */
	signal(SIGQUIT, no_matter);
	char x;
	if (read(told[0], &x, 1) != 1)
		tide__run_tell(&(tide_run_end){ .file = file,
						.id = id,
						.child = pid,
						.replaced = replaced,
						.failed = status != 0,
						.heap = *l.heap != 0,
						.gpu = *l.gpu && !no_gpu },
			       &failures);
	close(told[0]);
	tide__failures_close(&failures);
	say_if_filtered(status);
	return same_end(status);
}

const tide_command tide__cmd_run = {
	.name = "run",
	.usage = "[-o FILE] [--heap[=full]] [--gpu] [--] PROGRAM [ARGUMENT]...",
	.summary = "run a program and record its memory and ops",
	.help = "Works on any dynamically linked program. It is started with small libraries "
		"preloaded: one records every allocation of PyTorch's allocators (CPU, CUDA and "
		"others) and, through a hook built once for the installed torch, every op; with "
		"--heap another records malloc and its family, with native stacks, which are "
		"resolved to names after the run; with --gpu the CUDA driver loads one that "
		"records kernels, copies and device memory through CUPTI. Signals, output and "
		"the exit status pass through. Child processes, and programs started by exec, "
		"record into NAME.PID.tide. The recording survives kill -9, and is complete "
		"after Ctrl-C. Settings (tidemark config) define where recordings go and what is "
		"captured; options go first. From the moment "
		"at which the program requests a seccomp filter, by prctl or syscall, the recorder "
		"makes no system calls on the program's threads but mmap, and its own thread calls "
		"futex, pread64, pwrite64, fstat, fallocate, ftruncate and, at the end, openat, "
		"close, unlink and membarrier: a filter for all threads has to allow those.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.wants = "program",
	.max_files = SIZE_MAX,
	.rest = true,
	.run = run,
	.own_output = true,
	.only = ".tide",
};
