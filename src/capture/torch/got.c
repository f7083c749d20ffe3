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

#include "capture/torch/hooks.h"

#if defined __x86_64__
enum { SLOT_CALL = R_X86_64_JUMP_SLOT, SLOT_DATA = R_X86_64_GLOB_DAT };
#elif defined __aarch64__
enum { SLOT_CALL = R_AARCH64_JUMP_SLOT, SLOT_DATA = R_AARCH64_GLOB_DAT };
#else
#error "relocation types of this machine are not known"
#endif

/* ---- slots that are ours, and what was in them ---- */

enum { MAX_SLOTS = 1024 };
static struct {
	uintptr_t *slot;
	uintptr_t before;
} kept[MAX_SLOTS];
static int n_kept;
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
} object;

/* Dynamic entries hold addresses; a loader that leaves them relative is put right. */
static uintptr_t absolute(uintptr_t base, uintptr_t p)
{
	return p < base ? base + p : p;
}

static bool read_object(const struct dl_phdr_info *info, object *o)
{
	const ElfW(Dyn) *d = NULL;
	*o = (object){ .path = info->dlpi_name ? info->dlpi_name : "", .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(o->base + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			o->relro = o->base + p->p_vaddr;
			o->relro_end = o->relro + p->p_memsz;
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

/* Of what is read-only after relocation the loader seals whole pages. The rest of its last one is
 * data, which the program writes: on a kernel with pages larger than the linker had in mind, much.
 */
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

static int take(const object *o, uintptr_t *slot, uintptr_t hook)
{
	uintptr_t before = *slot;
	if (before == hook)
		return 1;
	if (n_kept == MAX_SLOTS || !put(o, slot, hook))
		return 0;
	kept[n_kept].slot = slot;
	kept[n_kept++].before = before;
	return 1;
}

static int give(const object *o, uintptr_t *slot, uintptr_t hook)
{
	for (int i = 0; i < n_kept; i++)
		if (kept[i].slot == slot && *slot == hook)
			return put(o, slot, kept[i].before);
	return 0;
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
	pthread_mutex_unlock(&lock);
	return n;
}

int tide_torch_detach(void)
{
	pthread_mutex_lock(&lock);
	int n = walk_all(give);
	n_kept = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

/* ---- who reports ---- */

/* PyTorch's own: they report the host's shared memory, CUDA, HIP and XPU, nobody else's device. */
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
