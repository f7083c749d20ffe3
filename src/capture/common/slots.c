// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/common/slots.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined __x86_64__
enum { SLOT_CALL = R_X86_64_JUMP_SLOT, SLOT_DATA = R_X86_64_GLOB_DAT };
#elif defined __aarch64__
enum { SLOT_CALL = R_AARCH64_JUMP_SLOT, SLOT_DATA = R_AARCH64_GLOB_DAT };
#else
#error "relocation types of this machine are unknown"
#endif

/* Dynamic entries hold addresses; some loaders leave them relative, so the base is added. */
static uintptr_t absolute(uintptr_t base, uintptr_t p)
{
	return p < base ? base + p : p;
}

static bool read_object(const struct dl_phdr_info *info, tide_object *o)
{
	const ElfW(Dyn) *d = NULL;
	*o = (tide_object){ .path = info->dlpi_name ? info->dlpi_name : "",
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
 * that the program writes: with pages larger than the linker assumed, that can be a large part. */
bool tide__slot_put(const tide_object *o, uintptr_t *slot, uintptr_t value)
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

struct walk {
	tide_slot_hook *hook;
	tide_slot_visit *visit;
	int n;
};

static int each_slot(struct dl_phdr_info *info, size_t size, void *user)
{
	struct walk *w = user;
	tide_object o;
	(void)size;
	if (!read_object(info, &o))
		return 0;
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; o.tables[t] && i < o.n[t]; i++) {
			const ElfW(Rela) *r = &o.tables[t][i];
			int type = (int)ELF64_R_TYPE(r->r_info);
			if (type != SLOT_CALL && type != SLOT_DATA)
				continue;
			const ElfW(Sym) *s = &o.symbols[ELF64_R_SYM(r->r_info)];
			uintptr_t hook = w->hook(o.names + s->st_name);
			if (hook)
				w->n += w->visit(&o, (uintptr_t *)(o.base + r->r_offset), hook);
		}
	return 0;
}

int tide__slots_walk(tide_slot_hook *hook, tide_slot_visit *visit)
{
	struct walk w = { hook, visit, 0 };
	dl_iterate_phdr(each_slot, &w);
	return w.n;
}
