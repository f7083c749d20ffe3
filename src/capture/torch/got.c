// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/got.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/torch/c10.h"
#include "capture/torch/devices.h"
#include "capture/torch/hooks.h"
#include "capture/torch/start.h"

#if defined __x86_64__
enum { SLOT_CALL = R_X86_64_JUMP_SLOT, SLOT_DATA = R_X86_64_GLOB_DAT };
#elif defined __aarch64__
enum { SLOT_CALL = R_AARCH64_JUMP_SLOT, SLOT_DATA = R_AARCH64_GLOB_DAT };
#else
#error "relocation types of this machine are not known"
#endif

/* ---- slots that are ours, and what was in them ---- */

enum { MAX_SLOTS = 1024 };
typedef struct taken {
	uintptr_t *slot;
	uintptr_t before;
	bool over; /* another tool's function was in it when we detached */
} taken;
static taken kept[MAX_SLOTS];
static int n_kept;
static bool preloaded; /* a slot was ours before we took it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- one library ---- */

typedef struct object {
	const char *path;
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2]; /* calls, data */
	size_t n[2];
	uintptr_t relro, relro_end; /* read-only after relocation */
	uintptr_t begin, end;
} object;

/* Dynamic entries hold addresses; a loader that leaves them relative is put right. */
static uintptr_t absolute(uintptr_t base, uintptr_t p)
{
	return p < base ? base + p : p;
}

static bool read_object(const struct dl_phdr_info *info, object *o)
{
	const ElfW(Dyn) *d = NULL;
	*o = (object){ .path = info->dlpi_name ? info->dlpi_name : "",
		       .base = info->dlpi_addr,
		       .begin = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = o->base + p->p_vaddr, end = at + p->p_memsz;
		if (p->p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)at;
		if (p->p_type == PT_GNU_RELRO) {
			o->relro = at;
			o->relro_end = end;
		}
		if (p->p_type == PT_LOAD) {
			o->begin = at < o->begin ? at : o->begin;
			o->end = end > o->end ? end : o->end;
		}
	}
	for (; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = absolute(o->base, d->d_un.d_ptr);
		if (d->d_tag == DT_SYMTAB)
			o->symbols = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			o->names = (const char *)at;
		else if (d->d_tag == DT_JMPREL)
			o->tables[0] = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_PLTRELSZ)
			o->n[0] = d->d_un.d_val / sizeof(ElfW(Rela));
		else if (d->d_tag == DT_RELA)
			o->tables[1] = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_RELASZ)
			o->n[1] = d->d_un.d_val / sizeof(ElfW(Rela));
	}
	return o->symbols && o->names;
}

/* The loader makes whole pages read-only after relocation. The rest of the last page is data
 * that the program writes: with pages larger than the linker assumed, that may be much. */
static bool put(const object *o, uintptr_t *slot, uintptr_t value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & ~(page - 1);
	bool sealed = (uintptr_t)slot >= o->relro && at + page <= o->relro_end;
	if (sealed && mprotect((void *)at, page, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (sealed)
		mprotect((void *)at, page, PROT_READ);
	return true;
}

/* ---- taking over, putting back ---- */

typedef int visit(const object *o, uintptr_t *slot, uintptr_t hook);

/* This library, from its first byte to its last. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool ours(uintptr_t f)
{
	return f >= (uintptr_t)__ehdr_start && f < (uintptr_t)_end;
}

/* Neither an original, nor what the linker puts into a slot that is not used yet: another tool's.
 */
static bool foreign(const object *o, uintptr_t f)
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
static int take(const object *o, uintptr_t *slot, uintptr_t hook)
{
	uintptr_t before = *slot;
	taken *t = find(slot);
	if (before == hook || (t && foreign(o, before)))
		return 1;
	if ((!t && n_kept == MAX_SLOTS) || !put(o, slot, hook))
		return 0;
	preloaded |= ours(before);
	t = t ? t : &kept[n_kept++];
	*t = (taken){ .slot = slot, .before = before };
	return 1;
}

static int give(const object *o, uintptr_t *slot, uintptr_t hook)
{
	taken *t = find(slot);
	if (t && *slot == hook)
		return put(o, slot, t->before);
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

static int each_slot(struct dl_phdr_info *info, size_t size, void *user)
{
	struct walk {
		visit *f;
		int n;
	} *w = user;
	object o;
	if (!read_object(info, &o))
		return 0;
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; o.tables[t] && i < o.n[t]; i++) {
			const ElfW(Rela) *r = &o.tables[t][i];
			int type = (int)ELF64_R_TYPE(r->r_info);
			if (type != SLOT_CALL && type != SLOT_DATA)
				continue;
			const ElfW(Sym) *s = &o.symbols[ELF64_R_SYM(r->r_info)];
			uintptr_t hook = hook_for(o.names + s->st_name);
			if (hook)
				w->n += w->f(&o, (uintptr_t *)(o.base + r->r_offset), hook);
		}
	return 0;
}

static int walk_all(visit *f)
{
	struct {
		visit *f;
		int n;
	} w = { f, 0 };
	dl_iterate_phdr(each_slot, &w);
	return w.n;
}

int tide_torch_attach(void)
{
	pthread_mutex_lock(&lock);
	int n = tide__torch_ready() ? walk_all(take) : 0;
	tide__torch_rest(false);
	pthread_mutex_unlock(&lock);
	return n;
}

int tide_torch_detach(void)
{
	pthread_mutex_lock(&lock);
	int n = walk_all(give);
	forget();
	if (!preloaded)
		tide__torch_rest(true);
	tide__devices_unusual();
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

static int reporter(const object *o, uintptr_t *slot, uintptr_t hook)
{
	return hook == tide__torch_report_hook && !is_torchs(o->path);
}

int tide_torch_reporters(void)
{
	return walk_all(reporter);
}
