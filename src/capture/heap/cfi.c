// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/heap/cfi.h"
#include "base/search.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* ---- modules ------------------------------------------------------------------------------- */

struct found { /* of glibc's _dl_find_object */
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
typedef int find_fn(void *, struct found *);

static _Atomic(find_fn *) find_object;
static _Atomic bool looked;

static find_fn *finder(void)
{
	if (!atomic_load_explicit(&looked, memory_order_acquire)) {
		void *p = dlsym(RTLD_DEFAULT, "_dl_find_object");
		find_fn *f;
		memcpy(&f, &p, sizeof f);
		atomic_store(&find_object, f);
		atomic_store_explicit(&looked, true, memory_order_release);
	}
	return atomic_load_explicit(&find_object, memory_order_relaxed);
}

struct search {
	uintptr_t pc;
	tide_module *out;
};

/* Finds the object on the slow path, for older C libraries. */
static int look_at(struct dl_phdr_info *i, size_t n, void *arg)
{
	struct search *s = arg;
	uintptr_t lo = UINTPTR_MAX, hi = 0, table = 0;
	(void)n;
	for (int k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];
		uintptr_t at = i->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD) {
			lo = at < lo ? at : lo;
			hi = at + p->p_memsz > hi ? at + p->p_memsz : hi;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			table = at;
		}
	}
	if (s->pc < lo || s->pc >= hi)
		return 0;
	*s->out = (tide_module){ lo, hi, i->dlpi_addr, i->dlpi_name ? i->dlpi_name : "",
				 (const uint8_t *)table };
	return 1;
}

bool tide__module_find(uintptr_t pc, tide_module *out)
{
	find_fn *f = finder();
	struct found d;
	if (!f) {
		struct search s = { pc, out };
		return dl_iterate_phdr(look_at, &s) == 1;
	}
	if (f((void *)pc, &d) != 0)
		return false;
	*out = (tide_module){ (uintptr_t)d.map_start, (uintptr_t)d.map_end, d.link_map->l_addr,
			      d.link_map->l_name ? d.link_map->l_name : "", d.eh_frame };
	return true;
}

/* ---- reading a table ----------------------------------------------------------------------- */

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t take(struct bytes *b, size_t n)
{
	uint64_t v = 0;
	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, n);
	b->p += n;
	return v;
}

static uint64_t uleb(struct bytes *b)
{
	uint64_t v = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80 && !b->bad; shift += 7) {
		byte = take(b, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
	}
	return v;
}

static int64_t sleb(struct bytes *b)
{
	uint64_t v = 0, byte = 0x80;
	unsigned shift = 0;
	for (; byte & 0x80 && !b->bad; shift += 7) {
		byte = take(b, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
	}
	if (shift < 64 && byte & 0x40)
		v |= ~UINT64_C(0) << shift;
	return (int64_t)v;
}

/* Returns a pointer as encoded (DW_EH_PE_*): absolute, relative to itself, or to the table. */
static uintptr_t pointer(struct bytes *b, uint8_t how, const uint8_t *table)
{
	uintptr_t here = (uintptr_t)b->p, v;
	switch (how & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		v = (uintptr_t)take(b, 8);
		break;
	case 0x02:
		v = (uintptr_t)take(b, 2);
		break;
	case 0x0a:
		v = (uintptr_t)(int64_t)(int16_t)take(b, 2);
		break;
	case 0x03:
		v = (uintptr_t)take(b, 4);
		break;
	case 0x0b:
		v = (uintptr_t)(int64_t)(int32_t)take(b, 4);
		break;
	case 0x01:
		v = (uintptr_t)uleb(b);
		break;
	case 0x09:
		v = (uintptr_t)sleb(b);
		break;
	default:
		b->bad = true;
		return 0;
	}
	switch (how & 0x70) {
	case 0x00:
		return v;
	case 0x10:
		return v + here;
	case 0x30:
		return v + (uintptr_t)table;
	default:
		b->bad = true;
		return 0;
	}
}

/* ---- an entry ------------------------------------------------------------------------------ */

struct entry { /* of one function */
	uintptr_t start, end;
	struct bytes initial, program;
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	uint8_t how; /* pointers are encoded */
	bool signal;
};

static bool read_cie(const uint8_t *p, const uint8_t *end, struct entry *e, bool *augmented)
{
	struct bytes b = { p, end, false };
	uint64_t n = take(&b, 4);
	if (b.bad || n == 0xffffffff || n > (uint64_t)(end - b.p))
		return false;
	b.end = b.p + n;
	take(&b, 4);
	uint64_t version = take(&b, 1);
	const char *aug = (const char *)b.p;
	while (take(&b, 1) && !b.bad)
		;
	e->code_align = uleb(&b);
	e->data_align = sleb(&b);
	e->return_column = version == 1 ? take(&b, 1) : uleb(&b);
	*augmented = aug[0] == 'z';
	if (aug[0] && !*augmented)
		return false;
	if (*augmented) {
		uint64_t len = uleb(&b);
		if (b.bad || len > (uint64_t)(b.end - b.p))
			return false;
		struct bytes a = { b.p, b.p + len, false };
		b.p += len;
		for (aug++; *aug && !a.bad; aug++) {
			if (*aug == 'R')
				e->how = (uint8_t)take(&a, 1);
			else if (*aug == 'P')
				pointer(&a, (uint8_t)take(&a, 1) & 0x7f, NULL);
			else if (*aug == 'L')
				take(&a, 1);
			else if (*aug == 'S')
				e->signal = true;
			else
				return false;
		}
	}
	e->initial = b;
	return !b.bad && (version == 1 || version == 3);
}

static bool read_fde(const tide_module *m, const uint8_t *fde, struct entry *e)
{
	const uint8_t *end = (const uint8_t *)m->end;
	bool augmented;
	struct bytes b = { fde, end, false };
	uint64_t n = take(&b, 4);
	if (b.bad || n == 0xffffffff || !n || n > (uint64_t)(end - b.p))
		return false;
	b.end = b.p + n;
	const uint8_t *here = b.p;
	uint64_t back = take(&b, 4);
	if (b.bad || !back || back > (uint64_t)(here - (const uint8_t *)m->start) ||
	    !read_cie(here - back, end, e, &augmented))
		return false;
	e->start = pointer(&b, e->how, m->table);
	e->end = e->start + pointer(&b, e->how & 0x0f, m->table);
	if (augmented) {
		uint64_t len = uleb(&b);
		if (b.bad || len > (uint64_t)(b.end - b.p))
			return false;
		b.p += len;
	}
	e->program = b;
	return !b.bad;
}

static int32_t offset_at(const uint8_t *p)
{
	int32_t at;
	memcpy(&at, p, 4);
	return at;
}

/* Finds the entry of the function that contains pc in the sorted table of .eh_frame_hdr. */
static bool find_entry(const tide_module *m, uintptr_t pc, struct entry *e)
{
	memset(e, 0, sizeof *e);
	if (!m->table)
		return false;
	const uint8_t *end = (const uint8_t *)m->end, *t = m->table;
	struct bytes b = { t, end, false };
	if (take(&b, 1) != 1)
		return false;
	uint8_t how_ptr = (uint8_t)take(&b, 1), how_n = (uint8_t)take(&b, 1);
	if (take(&b, 1) != 0x3b) /* pairs of 4-byte offsets from the table: all linkers do that */
		return false;
	pointer(&b, how_ptr, t);
	uint64_t n = pointer(&b, how_n, t), lo = 0;
	if (b.bad || n > (uint64_t)(end - b.p) / 8)
		return false;
	int64_t want = (int64_t)(pc - (uintptr_t)t);
	TIDE_SEARCH(lo, n, mid, offset_at(b.p + mid * 8) <= want); /* the first behind pc */
	if (!lo)
		return false;
	int32_t fde;
	memcpy(&fde, b.p + (lo - 1) * 8 + 4, 4);
	const uint8_t *at = t + fde;
	return at > (const uint8_t *)m->start && at < end && read_fde(m, at, e) && pc >= e->start &&
	       pc < e->end;
}

bool tide__cfi_find_function(const tide_module *m, uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
	struct entry e;
	if (!find_entry(m, pc, &e))
		return false;
	*start = e.start;
	*end = e.end;
	return true;
}

/* ---- its program --------------------------------------------------------------------------- */

enum { FP = 6, SP = 7, KEPT = 8 }; /* DWARF's numbers of x86-64; rows that can be remembered */

struct row {
	uint64_t reg; /* of the CFA */
	int64_t off;
	bool deref;   /* CFA = *(reg + off) */
	bool unknown; /* an expression that is not understood */
	bool fp_saved, fp_unknown, ra_moved, ra_undefined;
	int64_t fp; /* CFA + fp */
};

/* Parses a CFA expression; only "stored at register + offset" is supported, which realigned stacks
 * use. */
static void cfa_expression(struct bytes *b, struct row *r)
{
	uint64_t n = uleb(b);
	if (b->bad || n > (uint64_t)(b->end - b->p)) {
		b->bad = true;
		return;
	}
	struct bytes x = { b->p, b->p + n, false };
	b->p += n;
	uint64_t op = take(&x, 1);
	int64_t off = sleb(&x);
	bool deref = x.p < x.end && take(&x, 1) == 0x06;
	r->unknown = x.bad || op < 0x70 || op > 0x8f || !deref || x.p != x.end;
	r->deref = true;
	r->reg = op - 0x70;
	r->off = off;
}

static void set_rule(struct row *r, const struct entry *e, uint64_t reg, int64_t off)
{
	if (reg == FP) {
		r->fp_saved = true;
		r->fp_unknown = false;
		r->fp = off;
	} else if (reg == e->return_column) {
		r->ra_moved |= off != -8;
	}
}

static void restore(struct row *r, const struct row *first, const struct entry *e, uint64_t reg)
{
	if (reg == FP) {
		r->fp_saved = first->fp_saved;
		r->fp_unknown = first->fp_unknown;
		r->fp = first->fp;
	} else if (reg == e->return_column) {
		r->ra_moved = first->ra_moved;
	}
}

static void skip_block(struct bytes *b)
{
	uint64_t n = uleb(b);
	if (n > (uint64_t)(b->end - b->p))
		b->bad = true;
	else
		b->p += n;
}

static void unknown_rule(struct row *r, const struct entry *e, uint64_t reg)
{
	if (reg == FP)
		r->fp_unknown = true;
	if (reg == e->return_column)
		r->ra_moved = true;
}

/* Executes an instruction on the frame's address. Returns false for any other instruction. */
static bool cfa_rule(struct bytes *b, uint8_t op, struct row *r, const struct entry *e)
{
	switch (op) {
	case 0x0c: /* def_cfa */
		r->reg = uleb(b);
		r->off = (int64_t)uleb(b);
		r->deref = r->unknown = false;
		return true;
	case 0x0d: /* def_cfa_register */
		r->reg = uleb(b);
		return true;
	case 0x0e: /* def_cfa_offset */
		r->off = (int64_t)uleb(b);
		return true;
	case 0x0f:
		cfa_expression(b, r);
		return true;
	case 0x12: /* def_cfa_sf */
		r->reg = uleb(b);
		r->off = sleb(b) * e->data_align;
		r->deref = r->unknown = false;
		return true;
	case 0x13: /* def_cfa_offset_sf */
		r->off = sleb(b) * e->data_align;
		return true;
	default:
		return false;
	}
}

/* Executes an instruction on a register. Returns false for any other instruction. */
static bool register_rule(struct bytes *b, uint8_t op, struct row *r, const struct row *first,
			  const struct entry *e)
{
	if (op < 0x05 || (op > 0x09 && op < 0x10) || op > 0x16)
		return false;
	uint64_t reg = uleb(b);
	switch (op) {
	case 0x05: /* offset_extended */
		set_rule(r, e, reg, (int64_t)uleb(b) * e->data_align);
		break;
	case 0x06: /* restore_extended */
		restore(r, first, e, reg);
		break;
	case 0x07: /* undefined */
		r->ra_undefined |= reg == e->return_column;
		r->fp_unknown |= reg == FP;
		break;
	case 0x08: /* same_value */
		if (reg == FP)
			r->fp_saved = r->fp_unknown = false;
		break;
	case 0x10:
	case 0x16: /* expression, val_expression */
		unknown_rule(r, e, reg);
		skip_block(b);
		break;
	case 0x11: /* offset_extended_sf */
		set_rule(r, e, reg, sleb(b) * e->data_align);
		break;
	default: /* register, val_offset, val_offset_sf */
		unknown_rule(r, e, reg);
		uleb(b);
	}
	return true;
}

/* Executes one instruction with inline operands and advances `loc`. */
static void step(struct bytes *b, uint8_t op, struct row *r, const struct row *first,
		 const struct entry *e, uintptr_t *loc)
{
	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01: /* set_loc */
		*loc = pointer(b, e->how, NULL);
		break;
	case 0x02:
	case 0x03:
	case 0x04: /* advance_loc1, 2, 4 */
		*loc += (uintptr_t)(take(b, (size_t)1 << (op - 2)) * e->code_align);
		break;
	case 0x2e: /* GNU_args_size */
		uleb(b);
		break;
	default:
		if (!cfa_rule(b, op, r, e) && !register_rule(b, op, r, first, e))
			b->bad = true;
	}
}

/* Executes instructions up to pc. */
static bool run(struct bytes b, const struct entry *e, const struct row *first, struct row *r,
		uintptr_t pc)
{
	struct row kept[KEPT];
	size_t n = 0;
	uintptr_t loc = e->start;
	while (b.p < b.end && !b.bad && loc <= pc) {
		uint8_t op = (uint8_t)take(&b, 1), low = op & 0x3f;
		switch (op >> 6) {
		case 1: /* advance_loc */
			loc += (uintptr_t)(low * e->code_align);
			continue;
		case 2: /* offset */
			set_rule(r, e, low, (int64_t)uleb(&b) * e->data_align);
			continue;
		case 3: /* restore */
			restore(r, first, e, low);
			continue;
		default:
			break;
		}
		if (op == 0x0a) { /* remember_state */
			if (n == KEPT)
				return false;
			kept[n++] = *r;
		} else if (op == 0x0b) { /* restore_state */
			if (!n)
				return false;
			*r = kept[--n];
		} else {
			step(&b, op, r, first, e, &loc);
		}
	}
	return !b.bad;
}

tide_cfi tide__cfi_find(const tide_module *m, uintptr_t pc)
{
	static const tide_cfi none = { TIDE_CFI_NONE, false, 0, 0 };
	struct entry e;
	struct row first = { 0 }, r;
	if (!find_entry(m, pc, &e))
		return none;
	if (e.signal)
		return (tide_cfi){ TIDE_CFI_SIGNAL, false, 0, 0 };
	if (!run(e.initial, &e, &first, &first, UINTPTR_MAX))
		return none;
	r = first;
	if (!run(e.program, &e, &first, &r, pc))
		return none;
	if (r.ra_undefined)
		return (tide_cfi){ TIDE_CFI_END, false, 0, 0 };
	if (r.unknown || r.ra_moved || (r.reg != FP && r.reg != SP) || r.off < -(1 << 20) ||
	    r.off > 1 << 20 || r.fp < -(1 << 20) || r.fp > 1 << 20 || (r.deref && r.reg != FP))
		return none;
	uint8_t kind = r.deref ? TIDE_CFI_DEREF : r.reg == SP ? TIDE_CFI_SP : TIDE_CFI_FP;
	return (tide_cfi){ kind, r.fp_saved && !r.fp_unknown, (int32_t)r.off, (int32_t)r.fp };
}
