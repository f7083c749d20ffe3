// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Uses libdw: symbol tables, line tables, inlined functions. The C++ library of this machine, if
 * any, demangles C++ names. */
#include "cli/run/native_names.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/search.h"
#include "cli/run/native_functions.h"

struct symbol {
	GElf_Addr addr;
	uint64_t size;	  /* 0 = unknown: up to the next one */
	const char *name; /* libdw's */
	int rank;	  /* rank: the highest of several at one address is used */
};

struct tide_native {
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias; /* of the file's addresses */
	/* Functions by address, built on first use: dwfl_module_addrinfo reads all symbols each
	 * time, a million in libtorch_cpu.so. */
	struct symbol *symbols;
	size_t n_symbols;
	bool sorted;
	tide_functions functions;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Returns true for a regular file: a path of a recording may be a device or a pipe, which would
 * never end. */
static bool is_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

tide_native *tide__native_open(const char *path)
{
	tide_native *n = is_file(path) ? tide__calloc(1, sizeof *n) : NULL;
	if (!n)
		return NULL;
	unsetenv("DEBUGINFOD_URLS"); /* else libdw asks servers for missing files */
	n->dwfl = dwfl_begin(&callbacks);
	if (n->dwfl) {
		n->module = dwfl_report_offline(n->dwfl, path, path, -1);
		dwfl_report_end(n->dwfl, NULL, NULL);
	}
	if (n->module && dwfl_module_getelf(n->module, &n->bias))
		return n;
	tide__native_close(n);
	return NULL;
}

void tide__native_close(tide_native *n)
{
	if (!n)
		return;
	if (n->dwfl)
		dwfl_end(n->dwfl);
	tide__free(n->symbols);
	tide__functions_free(&n->functions);
	tide__free(n);
}

/* ---- C++ ---- */

typedef char *demangle_fn(const char *, char *, size_t *, int *);

static demangle_fn *demangler(void)
{
	static demangle_fn *f;
	static bool looked;
	if (!looked) {
		void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		void *p = lib ? dlsym(lib, "__cxa_demangle") : NULL;
		memcpy(&f, &p, sizeof f);
		looked = true;
	}
	return f;
}

static void put_readable(tide_native_put *put, void *user, const char *name, const char *file,
			 uint32_t line)
{
	int status;
	char *readable = !strncmp(name, "_Z", 2) && demangler()
				 ? demangler()(name, NULL, NULL, &status)
				 : NULL;
	put(user, readable ? readable : name, file ? file : "", line);
	free(readable);
}

/* ---- one address ---- */

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &a))
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a);
	const char *name = dwarf_formstring(&a);
	return name ? name : dwarf_diename(die);
}

/* Finds where an inlined function was called: a line of the function around it. */
static void call_place(Dwarf_Die *cu, Dwarf_Die *die, const char **file, uint32_t *line)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	Dwarf_Files *files;
	*file = NULL;
	*line = 0;
	if (dwarf_attr(die, DW_AT_call_line, &a) && !dwarf_formudata(&a, &v))
		*line = (uint32_t)v;
	if (dwarf_attr(die, DW_AT_call_file, &a) && !dwarf_formudata(&a, &v) &&
	    !dwarf_getsrcfiles(cu, &files, NULL))
		*file = dwarf_filesrc(files, v, NULL, NULL);
}

enum { INLINED = 64 };
struct found { /* innermost first */
	const char *function, *file;
	uint32_t line;
};

/* Finds the functions at pc, innermost first. Returns their number; 0 if the debug information has
 * none. */
static size_t scopes_at(tide_native *n, GElf_Addr addr, struct found *f)
{
	Dwarf_Addr bias;
	Dwarf *dw = dwfl_module_getdwarf(n->module, &bias);
	Dwarf_Die *cu = dwfl_module_addrdie(n->module, addr, &bias), function, scopes[INLINED];
	if (!cu || !tide__function_find_at(&n->functions, dw, cu, addr - bias, &function))
		return 0;
	size_t count = tide__inlined_find_at(&function, addr - bias, scopes, INLINED), k = 0;
	int line = 0;
	Dwfl_Line *at = dwfl_module_getsrc(n->module, addr);
	const char *file = at ? dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL) : NULL;
	uint32_t where = (uint32_t)(line > 0 ? line : 0);
	for (size_t i = count; i-- > 0;) {
		const char *name = linkage_name(&scopes[i]);
		f[k++] = (struct found){ name ? name : "??", file, where };
		call_place(cu, &scopes[i], &file, &where);
	}
	return k;
}

/* ---- symbol tables ---- */

static int rank_of(const GElf_Sym *sym)
{
	int bind = GELF_ST_BIND(sym->st_info);
	return (bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0) + (sym->st_size ? 4 : 0);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return -strcmp(x->name, y->name);
}

static void sort_symbols(tide_native *n)
{
	int count = dwfl_module_getsymtab(n->module);
	n->sorted = true;
	if (count > 0)
		n->symbols = tide__alloc((size_t)count, sizeof *n->symbols);
	for (int i = 1; n->symbols && i < count; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		GElf_Word section;
		const char *name =
			dwfl_module_getsym_info(n->module, i, &sym, &addr, &section, NULL, NULL);
		int type = GELF_ST_TYPE(sym.st_info);
		if (name && *name && section != SHN_UNDEF && section != SHN_ABS &&
		    (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE))
			n->symbols[n->n_symbols++] =
				(struct symbol){ addr, sym.st_size, name, rank_of(&sym) };
	}
	if (n->n_symbols)
		qsort(n->symbols, n->n_symbols, sizeof *n->symbols, by_address);
}

/* Returns the function that contains an address: the nearest before it that extends to it. */
static const char *symbol_at(tide_native *n, GElf_Addr at)
{
	enum { BACK = 64 }; /* functions inside others are rare */
	size_t lo = 0, tries = 0;
	if (!n->sorted)
		sort_symbols(n);
	TIDE_SEARCH(lo, n->n_symbols, mid, n->symbols[mid].addr <= at);
	for (; lo > 0 && tries < BACK; lo--, tries++) {
		const struct symbol *s = &n->symbols[lo - 1];
		if (at - s->addr < s->size || (!s->size && !tries))
			return s->name;
	}
	return NULL;
}

bool tide__native_find(tide_native *n, uint64_t addr, tide_native_put *put, void *user)
{
	GElf_Addr at = addr + n->bias;
	struct found f[INLINED];
	size_t k = scopes_at(n, at, f);
	for (size_t i = k; i-- > 0;)
		put_readable(put, user, f[i].function, f[i].file, f[i].line);
	if (k)
		return true;
	const char *name = symbol_at(n, at);
	if (!name)
		return false;
	put_readable(put, user, name,
		     dwfl_module_info(n->module, NULL, NULL, NULL, NULL, NULL, NULL, NULL), 0);
	return true;
}

bool tide__native_available(void)
{
	return true;
}
