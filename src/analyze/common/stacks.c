// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads call stacks. The table of signs holds all assumptions about PyTorch. */
#include "analyze/common/stacks.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/strings.h"

/* ---- the representative frame -------------------------------------------------------------- */

enum { FACE_NONE, FACE_MACHINE, FACE_ANY, FACE_AUTOGRAD, FACE_PYTHON, FACE_USER };

/* Frames found in every stack: the capture and the allocator itself. */
static const char *const machine[] = { "torch::unwind::",
				       "torch::CapturedTraceback::",
				       "torch::cuda::(anonymous namespace)::gather",
				       "c10::cuda::CUDACachingAllocator::",
				       "_Py",
				       "Py",
				       "_start",
				       "__libc_" };

int tide__native_rank(const char *function, size_t n)
{
	for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
		if (n >= strlen(machine[i]) && !memcmp(function, machine[i], strlen(machine[i])))
			return FACE_MACHINE;
	return n < 28 || memcmp(function, "torch::autograd::generated::", 28) ? FACE_ANY
									      : FACE_AUTOGRAD;
}

bool tide__file_is_user(const char *file, size_t n)
{
	static const char *const others[] = { "/torch/", "\\torch\\", "/lib/python",
					      "/hook/tidemark_" };
	bool user = n > 3 && !memcmp(file + n - 3, ".py", 3);
	for (size_t i = 0; user && i < sizeof others / sizeof *others; i++)
		user = !memmem(file, n, others[i], strlen(others[i]));
	return user;
}

static int frame_rank(const tide_model *m, tide_frame_id f)
{
	size_t n;
	const char *file = tide__text(m, m->frames.file[f.i], &n);

	if (!f.i)
		return FACE_NONE;
	if (file[0] == '<')
		return FACE_PYTHON;
	if (n < 3 || memcmp(file + n - 3, ".py", 3)) {
		const char *function = tide__text(m, m->frames.function[f.i], &n);
		return tide__native_rank(function, n);
	}
	return tide__file_is_user(file, n) ? FACE_USER : FACE_PYTHON;
}

bool tide__frame_is_user(const tide_model *m, tide_frame_id f)
{
	return frame_rank(m, f) == FACE_USER;
}

tide_frame_id tide__stack_main_frame(const tide_model *m, tide_stack_id s)
{
	tide_frame_id best = { 0 };
	int rank = FACE_NONE;

	for (; s.i && rank < FACE_USER; s = m->stacks.parent[s.i]) {
		int r = frame_rank(m, m->stacks.frame[s.i]);

		if (r > rank) {
			rank = r;
			best = m->stacks.frame[s.i];
		}
	}
	return best;
}

tide_frame_id *tide__stack_main_frames_find(const tide_model *m)
{
	uint8_t *frame = tide__alloc(m->frames.n + 1, 1), *rank = tide__alloc(m->stacks.n + 1, 1);
	tide_frame_id *out = tide__alloc(m->stacks.n + 1, sizeof *out);

	if (frame && rank && out) {
		for (uint32_t i = 0; i < m->frames.n; i++)
			frame[i] = (uint8_t)frame_rank(m, (tide_frame_id){ i });
		out[0] = (tide_frame_id){ 0 };
		rank[0] = FACE_NONE;
		for (size_t i = 1; i < m->stacks.n; i++) {
			tide_frame_id f = m->stacks.frame[i];
			uint32_t up = m->stacks.parent[i].i;
			bool own = frame[f.i] > FACE_NONE && frame[f.i] >= rank[up];

			out[i] = own ? f : out[up];
			rank[i] = own ? frame[f.i] : rank[up];
		}
	} else {
		tide__free(out);
		out = NULL;
	}
	tide__free(frame);
	tide__free(rank);
	return out;
}

/* "at::_ops::NAME::call(...)" -> NAME. */
static const char *frame_op(const tide_model *m, tide_frame_id f, size_t *n)
{
	const char *s = tide__text(m, m->frames.function[f.i], NULL), *end;

	if (strncmp(s, "at::_ops::", 10))
		return NULL;
	s += 10;
	end = strstr(s, "::");
	if (!end || end == s)
		return NULL;
	*n = (size_t)(end - s);
	return s;
}

const char *tide__stack_op(const tide_model *m, tide_stack_id s, size_t *n)
{
	const char *op = NULL, *here;
	size_t k;

	for (; s.i; s = m->stacks.parent[s.i])
		if ((here = frame_op(m, m->stacks.frame[s.i], &k))) {
			op = here; /* keep the outermost op: the one that was called, not those it
			            * called */
			*n = k;
		}
	return op;
}

/* ---- signs ------------------------------------------------------------------------------- */

/* A frame has a sign when its file contains `file` and its function is (or, with `part`, contains)
 * `function`; NULL = any. */
static const struct sign {
	const char *file, *function;
	bool part;
	uint8_t sign;
} signs[] = {
	{ "torch/nn/modules/module.py", "_apply", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/module.py", "to", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/module.py", "cuda", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/module.py", "to_empty", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/module.py", "load_state_dict", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/", "__init__", false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/", "reset_parameters", false, TIDE_SIGN_MODULE },
	{ "torch/nn/init.py", NULL, false, TIDE_SIGN_MODULE },
	{ "torch/nn/parameter.py", NULL, false, TIDE_SIGN_MODULE },
	{ "torch/nn/modules/module.py", "_call_impl", false, TIDE_SIGN_FORWARD },
	{ "torch/nn/modules/module.py", "_wrapped_call_impl", false, TIDE_SIGN_FORWARD },
	{ "torch/nn/functional.py", NULL, false, TIDE_SIGN_FORWARD },
	{ NULL, "forward", false, TIDE_SIGN_FORWARD },
	{ NULL, "torch::autograd::Engine::", true, TIDE_SIGN_BACKWARD },
	{ NULL, "torch::autograd::generated::", true, TIDE_SIGN_BACKWARD },
	{ NULL, "torch::autograd::Node::operator()", true, TIDE_SIGN_BACKWARD },
	{ "torch/autograd/graph.py", "_engine_run_backward", false, TIDE_SIGN_BACKWARD },
	{ "torch/autograd/__init__.py", "backward", false, TIDE_SIGN_BACKWARD },
	{ "torch/_tensor.py", "backward", false, TIDE_SIGN_BACKWARD },
	{ NULL, "torch::autograd::AccumulateGrad::", true,
	  TIDE_SIGN_BACKWARD | TIDE_SIGN_ACCUMULATE },
	{ "torch/optim/", "_init_group", false, TIDE_SIGN_OPTIMIZER | TIDE_SIGN_OPT_STATE },
	{ "torch/optim/", "step", false, TIDE_SIGN_OPTIMIZER },
	{ "torch/utils/data/", NULL, false, TIDE_SIGN_INPUT },
	{ NULL, "at::cuda::setWorkspaceForHandle", true, TIDE_SIGN_WORKSPACE },
	{ NULL, "at::cuda::getNewWorkspace", true, TIDE_SIGN_WORKSPACE },
	{ NULL, "at::cuda::getNewCUDABlasLtWorkspace", true, TIDE_SIGN_WORKSPACE },
};

/* Table rows that a text matches, as a file and as a function: each text is examined once. */
enum { N_SIGNS = sizeof signs / sizeof *signs, KNOWN = 31 };
_Static_assert(N_SIGNS < KNOWN, "a bit a row");

struct fits {
	uint32_t file, function;
};

static uint32_t file_fits(const char *file)
{
	uint32_t all = (uint32_t)1 << KNOWN;
	for (size_t i = 0; i < N_SIGNS; i++)
		if (!signs[i].file || strstr(file, signs[i].file))
			all |= (uint32_t)1 << i;
	return all;
}

static uint32_t function_fits(const char *function)
{
	uint32_t all = (uint32_t)1 << KNOWN;
	for (size_t i = 0; i < N_SIGNS; i++) {
		const char *f = signs[i].function;
		if (!f || (signs[i].part ? strstr(function, f) != NULL : !strcmp(function, f)))
			all |= (uint32_t)1 << i;
	}
	return all;
}

static uint8_t frame_signs(const tide_model *m, uint32_t f, struct fits *fits)
{
	tide_str file = m->frames.file[f], function = m->frames.function[f];
	uint32_t *a = &fits[file.i].file, *b = &fits[function.i].function;
	uint8_t all = 0;
	if (!*a)
		*a = file_fits(tide__text(m, file, NULL));
	if (!*b)
		*b = function_fits(tide__text(m, function, NULL));
	for (size_t i = 0; i < N_SIGNS; i++)
		all |= *a & *b & (uint32_t)1 << i ? signs[i].sign : 0;
	return all;
}

uint8_t *tide__stack_signs_find(const tide_model *m)
{
	uint8_t *frame = tide__calloc(m->frames.n + 1, 1), *out = tide__calloc(m->stacks.n + 1, 1);
	struct fits *fits = tide__calloc((size_t)tide__strings_count(m->strings) + 1, sizeof *fits);

	if (!fits) {
		tide__free(frame);
		frame = NULL;
	}
	for (size_t i = 1; frame && out && i < m->frames.n; i++)
		frame[i] = frame_signs(m, (uint32_t)i, fits);
	tide__free(fits);
	for (size_t i = 1; frame && out && i < m->stacks.n; i++)
		out[i] = frame[m->stacks.frame[i].i] | out[m->stacks.parent[i].i];
	if (!frame) {
		tide__free(out);
		out = NULL;
	}
	tide__free(frame);
	return out;
}
