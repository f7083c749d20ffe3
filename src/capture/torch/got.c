// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/got.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "capture/common/slots.h"
#include "capture/torch/c10.h"
#include "capture/torch/devices.h"
#include "capture/torch/hooks.h"
#include "capture/torch/start.h"

/* ---- slots that we changed, and their original values ---- */

enum { MAX_SLOTS = 1024 };
typedef struct taken {
	uintptr_t *slot;
	uintptr_t before;
	bool over; /* another tool's function was in it when we detached */
} taken;
static taken kept[MAX_SLOTS];
static int n_kept;
static bool preloaded; /* the slot already pointed to our hook */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- replacing and restoring slots ---- */

/* The first and last byte of this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool ours(uintptr_t f)
{
	return f >= (uintptr_t)__ehdr_start && f < (uintptr_t)_end;
}

/* Returns true for another tool's function: neither an original nor the linker's value of an unused
 * slot. */
static bool foreign(const tide_object *o, uintptr_t f)
{
	return !ours(f) && !tide__c10_is(f) && !(f >= o->begin && f < o->end);
}

static taken *find(const uintptr_t *slot)
{
	for (int i = 0; i < n_kept; i++)
		if (kept[i].slot == slot)
			return &kept[i];
	return NULL;
}

/* Replaces a slot. A slot that others patched over ours still leads to us, so it stays. */
static int take(const tide_object *o, uintptr_t *slot, uintptr_t hook)
{
	uintptr_t before = *slot;
	taken *t = find(slot);
	if (before == hook || (t && foreign(o, before)))
		return 1;
	if ((!t && n_kept == MAX_SLOTS) || !tide__slot_put(o, slot, hook))
		return 0;
	preloaded |= ours(before);
	t = t ? t : &kept[n_kept++];
	*t = (taken){ .slot = slot, .before = before };
	return 1;
}

static int give(const tide_object *o, uintptr_t *slot, uintptr_t hook)
{
	taken *t = find(slot);
	if (t && *slot == hook)
		return tide__slot_put(o, slot, t->before);
	if (t)
		t->over = foreign(o, *slot);
	return 0;
}

/* Forgets the slots, except those that others have patched over. */
static void forget(void)
{
	int n = 0;
	for (int i = 0; i < n_kept; i++)
		if (kept[i].over)
			kept[n++] = (taken){ .slot = kept[i].slot, .before = kept[i].before };
	n_kept = n;
}

static uintptr_t hook_for(const char *name)
{
	if (name[0] != '_' || name[1] != 'Z' || strncmp(name, "_ZN3c10", 7) != 0)
		return 0;
	for (const tide_torch_hook *h = tide__torch_hooks; h->name; h++)
		if (!strcmp(h->name, name))
			return h->address;
	return 0;
}

int tide_torch_attach(void)
{
	pthread_mutex_lock(&lock);
	int n = tide__torch_ready() ? tide__slots_walk(hook_for, take) : 0;
	tide__torch_pause(false);
	pthread_mutex_unlock(&lock);
	return n;
}

int tide_torch_detach(void)
{
	pthread_mutex_lock(&lock);
	int n = tide__slots_walk(hook_for, give);
	forget();
	if (!preloaded)
		tide__torch_pause(true);
	tide__devices_forget();
	pthread_mutex_unlock(&lock);
	return n;
}

/* ---- libraries that report ---- */

/* PyTorch's own libraries: they report the host's shared memory, CUDA, HIP and XPU, not
 * third-party devices. */
static bool is_torchs(const char *path)
{
	static const char *const names[] = { "libc10.so",
					     "libc10_cuda",
					     "libc10_hip",
					     "libc10_xpu",
					     "libtorch.so",
					     "libtorch_cpu",
					     "libtorch_cuda",
					     "libtorch_hip",
					     "libtorch_xpu",
					     "libtorch_python",
					     "libbackend_with_compiler" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static int reporter(const tide_object *o, uintptr_t *slot, uintptr_t hook)
{
	return hook == tide__torch_report_hook && !is_torchs(o->path);
}

int tide_torch_reporters(void)
{
	return tide__slots_walk(hook_for, reporter);
}
