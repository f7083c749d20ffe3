// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/frames.h"
#include "capture/torch/pyapi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct py py; /* PyObject, PyFrameObject ... */

/* ---- CPython's functions: the stable ABI, and PyFrame_GetBack, PyCode_Addr2Line ---- */

static struct {
	py *(*this_thread)(void);
	py *(*thread_frame)(py *);
	py *(*back)(py *);
	py *(*code)(py *);
	py *(*attr)(py *, const char *);
	long (*as_long)(py *);
	void (*drop)(py *);
	void (*clear)(void);
	long (*length)(py *);
	uint32_t (*read_char)(py *, long);
	char *(*bytes)(py *);
	long (*n_bytes)(py *);
	int (*line)(py *, int);
	const char *code_type; /* &PyCode_Type */
} api;

static const tide_py_name names[] = {
	{ "PyGILState_GetThisThreadState", &api.this_thread },
	{ "PyThreadState_GetFrame", &api.thread_frame },
	{ "PyFrame_GetBack", &api.back },
	{ "PyFrame_GetCode", &api.code },
	{ "PyObject_GetAttrString", &api.attr },
	{ "PyLong_AsLong", &api.as_long },
	{ "Py_DecRef", &api.drop },
	{ "PyErr_Clear", &api.clear },
	{ "PyUnicode_GetLength", &api.length },
	{ "PyUnicode_ReadChar", &api.read_char },
	{ "PyBytes_AsString", &api.bytes },
	{ "PyBytes_Size", &api.n_bytes },
	{ "PyCode_Addr2Line", &api.line },
	{ "PyCode_Type", &api.code_type },
};

static bool find_api(void)
{
	return tide__py_find(names, sizeof names / sizeof *names);
}

/* ---- the places ---- */

typedef struct places {
	int node;	/* in a frame object: its node (the interpreter's frame); -1: it is the node
			   itself */
	int code, prev; /* in a node */
	int instr;	/* in a node: address of the instruction, or its number (instr_is_number) */
	bool instr_is_number;
	long first; /* address of the first instruction - address of the code object */
	int thread; /* in a thread state: the innermost node ... */
	int cframe; /* ... or, unless -1, a pointer to a struct that has it at this offset */
	int file, name, line, lines; /* in a code object */
	uintptr_t trampoline;	     /* 3.12: code of the frames where C calls Python */
} places;

static places at;
static _Atomic bool on;
static bool known;

static inline uintptr_t load(uintptr_t p)
{
	return *(const uintptr_t *)p;
}

/* Reads a word of memory that may not be mapped. */
static bool peek(uintptr_t from, void *out, size_t n)
{
	struct iovec to = { out, n }, src = { (void *)from, n };
	return process_vm_readv(getpid(), &to, 1, &src, 1, 0) == (ssize_t)n;
}

static uintptr_t peek_word(uintptr_t from)
{
	uintptr_t v = 0;
	return peek(from, &v, sizeof v) ? v : 0;
}

static uint32_t peek_int(uintptr_t from)
{
	uint32_t v = 0;
	return peek(from, &v, sizeof v) ? v : UINT32_MAX;
}

/* Returns a pointer without the marks in its low bits (CPython 3.14 uses them). */
static inline uintptr_t plain(uintptr_t p)
{
	return p & ~(uintptr_t)3;
}

/* ---- three frames, as CPython describes them ---- */

enum { SAMPLES = 3, REACH = 256 };
struct sample {
	uintptr_t frame, code, node;
	uintptr_t file, name, lines; /* texts, bytes */
	long lasti, first_line;
};

/* Returns the attribute's address; `o` keeps it alive. */
static uintptr_t attr_of(uintptr_t o, const char *name)
{
	py *v = api.attr((py *)o, name);
	if (v)
		api.drop(v);
	else
		api.clear();
	return (uintptr_t)v;
}

static long number_of(uintptr_t o, const char *name)
{
	py *v = api.attr((py *)o, name);
	if (!v) {
		api.clear();
		return -1;
	}
	long n = api.as_long(v);
	api.drop(v);
	return n;
}

static bool describe(struct sample *s, py *frame)
{
	py *code = api.code(frame);
	if (!code)
		return false;
	s->frame = (uintptr_t)frame;
	s->code = (uintptr_t)code;
	s->lasti = number_of(s->frame, "f_lasti");
	s->file = attr_of(s->code, "co_filename");
	s->name = attr_of(s->code, "co_qualname"); /* 3.11 */
	if (!s->name)
		s->name = attr_of(s->code, "co_name");
	s->lines = attr_of(s->code, "co_linetable");
	s->first_line = number_of(s->code, "co_firstlineno");
	api.drop(code); /* the running frame keeps it, and the frame object too */
	return s->file && s->name && s->lines && s->lasti >= 0;
}

static bool take_samples(struct sample *s)
{
	py *thread = api.this_thread(), *f = thread ? api.thread_frame(thread) : NULL;
	bool ok = f != NULL;
	for (int i = 0; ok && i < SAMPLES; i++) {
		ok = describe(&s[i], f);
		py *next = ok && i + 1 < SAMPLES ? api.back(f) : NULL;
		ok = ok && (next || i + 1 == SAMPLES);
		api.drop(f); /* the running thread keeps it */
		f = next;
	}
	return ok;
}

/* ---- offsets; each function stores its result in *p ---- */

static bool find_code(const struct sample *s, int *out)
{
	for (int o = 0; o < REACH; o += 8) {
		int hits = 0;
		for (int i = 0; i < SAMPLES; i++)
			hits += plain(peek_word(s[i].node + (uintptr_t)o)) == s[i].code;
		if (hits == SAMPLES) {
			*out = o;
			return true;
		}
	}
	return false;
}

static bool find_node(struct sample *s, places *p)
{
	static const int tries[] = { 24, -1, 16, 32 };
	for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
		for (int i = 0; i < SAMPLES; i++)
			s[i].node = tries[t] < 0 ? s[i].frame
						 : peek_word(s[i].frame + (uintptr_t)tries[t]);
		p->node = tries[t];
		if (find_code(s, &p->code))
			return true;
	}
	return false;
}

static bool find_prev(const struct sample *s, places *p)
{
	for (p->prev = 0; p->prev < REACH; p->prev += 8)
		if (peek_word(s[0].node + (uintptr_t)p->prev) == s[1].node &&
		    peek_word(s[1].node + (uintptr_t)p->prev) == s[2].node)
			return true;
	return false;
}

/* Finds the instruction field: an address at the same distance from code object + lasti in all
 * three samples, else a number that equals lasti or lasti / 2 (3.10). */
static bool find_instr(const struct sample *s, places *p)
{
	p->instr_is_number = false;
	for (p->instr = 0; p->instr < REACH; p->instr += 8) {
		long d[SAMPLES];
		for (int i = 0; i < SAMPLES; i++)
			d[i] = (long)(peek_word(s[i].node + (uintptr_t)p->instr) - s[i].code) -
			       s[i].lasti;
		if (d[0] == d[1] && d[1] == d[2] && d[0] > 0 && d[0] < 1024) {
			p->first = d[0];
			return true;
		}
	}
	p->instr_is_number = true;
	for (p->instr = 0; p->instr < REACH; p->instr += 4) {
		int hits = 0;
		for (int i = 0; i < SAMPLES; i++)
			hits += (long)peek_int(s[i].node + (uintptr_t)p->instr) * 2 == s[i].lasti;
		if (hits == SAMPLES)
			return true;
	}
	return false;
}

static bool find_thread(const struct sample *s, places *p)
{
	uintptr_t thread = (uintptr_t)api.this_thread();
	p->cframe = -1;
	for (p->thread = 0; p->thread < 4 * REACH; p->thread += 8)
		if (peek_word(thread + (uintptr_t)p->thread) == s[0].node)
			return true;
	for (p->thread = 0; p->thread < 4 * REACH; p->thread += 8) {
		uintptr_t c = peek_word(thread + (uintptr_t)p->thread);
		for (p->cframe = 0; c && c % 8 == 0 && p->cframe <= 16; p->cframe += 8)
			if (peek_word(c + (uintptr_t)p->cframe) == s[0].node)
				return true;
	}
	return false;
}

/* what: offsetof(struct sample, ...) of the object to find. */
static bool find_object(const struct sample *s, size_t what, int *out)
{
	for (*out = 16; *out < REACH; *out += 8) {
		int hits = 0;
		for (int i = 0; i < SAMPLES; i++)
			hits += peek_word(s[i].code + (uintptr_t)*out) ==
				load((uintptr_t)&s[i] + what);
		if (hits == SAMPLES)
			return true;
	}
	return false;
}

static bool find_line(const struct sample *s, places *p)
{
	for (p->line = 16; p->line < REACH; p->line += 4) {
		int hits = 0;
		for (int i = 0; i < SAMPLES; i++)
			hits += peek_int(s[i].code + (uintptr_t)p->line) ==
				(uint32_t)s[i].first_line;
		if (hits == SAMPLES)
			return true;
	}
	return false;
}

static int ask(places *p)
{
	struct sample s[SAMPLES] = { 0 };
	if (!take_samples(s))
		return 2;
	if (!find_node(s, p))
		return 3;
	if (!find_prev(s, p))
		return 4;
	if (!find_instr(s, p))
		return 5;
	if (!find_thread(s, p))
		return 6;
	if (!find_object(s, offsetof(struct sample, file), &p->file) ||
	    !find_object(s, offsetof(struct sample, name), &p->name) ||
	    !find_object(s, offsetof(struct sample, lines), &p->lines))
		return 7;
	return find_line(s, p) ? 0 : 8;
}

/* ---- reading ---- */

static inline uintptr_t innermost(void)
{
	uintptr_t thread = (uintptr_t)api.this_thread();
	if (!thread)
		return 0;
	uintptr_t n = load(thread + (uintptr_t)at.thread);
	if (at.cframe >= 0 && n)
		n = load(n + (uintptr_t)at.cframe);
	return n;
}

static inline uintptr_t instr_of(uintptr_t node)
{
	return at.instr_is_number ? *(const uint32_t *)(node + (uintptr_t)at.instr)
				  : load(node + (uintptr_t)at.instr);
}

uintptr_t tide__frames_top(uintptr_t *instr)
{
	if (!atomic_load_explicit(&on, memory_order_acquire))
		return 0;
	uintptr_t node = innermost();
	*instr = node ? instr_of(node) : 0;
	return node;
}

size_t tide__frames_read(tide_pyframe *out, size_t max)
{
	size_t n = 0;
	if (!atomic_load_explicit(&on, memory_order_acquire))
		return 0;
	for (uintptr_t node = innermost(); node && n < max;
	     node = load(node + (uintptr_t)at.prev)) {
		uintptr_t code = plain(load(node + (uintptr_t)at.code));
		if (!code || code == at.trampoline || load(code + 8) != (uintptr_t)api.code_type)
			continue; /* frame where C called Python: it has no code */
		out[n].code = code;
		out[n].instr = instr_of(node);
		out[n].sign = load(code + (uintptr_t)at.name) +
			      load(code + (uintptr_t)at.file) * UINT64_C(0x9e3779b97f4a7c15) +
			      *(const uint32_t *)(code + (uintptr_t)at.line);
		n++;
	}
	return n;
}

static void find_trampoline(void)
{
	tide_pyframe f[64];
	char function[64], file[64];
	size_t n = tide__frames_read(f, 64);
	for (size_t i = 0; i < n; i++) {
		tide__frame_read_texts(&f[i], function, sizeof function, file, sizeof file);
		if (!strcmp(function, "<interpreter trampoline>"))
			at.trampoline = f[i].code;
	}
}

/* Compares CPython's view of this thread's frames with ours. */
static bool agrees(void)
{
	tide_pyframe f[64];
	size_t n = tide__frames_read(f, 64);
	py *thread = api.this_thread(), *frame = thread ? api.thread_frame(thread) : NULL;
	bool ok = frame && n >= SAMPLES;
	for (size_t i = 0; ok && frame; i++) {
		struct sample s;
		ok = describe(&s, frame);
		while (ok && i < n && f[i].code != s.code)
			i++; /* CPython leaves out frames that have not begun */
		long lasti = at.instr_is_number ? (long)f[i].instr * 2
						: (long)(f[i].instr - f[i].code) - at.first;
		ok = ok && (i < n ? lasti == s.lasti : n == 64);
		py *next = ok && i < n ? api.back(frame) : NULL;
		api.drop(frame);
		frame = next;
	}
	return ok;
}

int tide_torch_frames_learn(void)
{
	places p = { 0 };
	if (!known) {
		if (!find_api())
			return 1;
		int open = ask(&p);
		if (open)
			return open;
		at = p;
	}
	bool was = atomic_exchange(&on, true);
	find_trampoline();
	known = agrees();
	atomic_store(&on, was && known);
	return known ? 0 : 9;
}

void tide_torch_frames_on(bool want)
{
	atomic_store(&on, want && known);
}

/* ---- words ---- */

/* Writes a text object as UTF-8, without changing the object. */
static void text_of(uintptr_t text, char *out, size_t n)
{
	size_t k = 0;
	long len = api.length((py *)text);
	for (long i = 0; i < len && k + 5 < n; i++) {
		uint32_t c = api.read_char((py *)text, i);
		if (c < 0x80) {
			out[k++] = (char)c;
		} else if (c < 0x800) {
			out[k++] = (char)(0xc0 | c >> 6);
			out[k++] = (char)(0x80 | (c & 63));
		} else {
			if (c >= 0x10000) {
				out[k++] = (char)(0xf0 | c >> 18);
				out[k++] = (char)(0x80 | (c >> 12 & 63));
			} else {
				out[k++] = (char)(0xe0 | c >> 12);
			}
			out[k++] = (char)(0x80 | (c >> 6 & 63));
			out[k++] = (char)(0x80 | (c & 63));
		}
	}
	out[k] = 0;
}

void tide__frame_read_texts(const tide_pyframe *f, char *function, size_t nf, char *file, size_t ns)
{
	text_of(load(f->code + (uintptr_t)at.name), function, nf);
	text_of(load(f->code + (uintptr_t)at.file), file, ns);
}

static bool starts_with(py *text, const char *prefix)
{
	for (long i = 0, n = api.length(text); prefix[i]; i++)
		if (i >= n || api.read_char(text, i) != (unsigned char)prefix[i])
			return false;
	return true;
}

/* The interpreter's own code ("<frozen importlib._bootstrap>") stays loaded, like code from a
 * file. */
uint32_t tide__frame_generated(const tide_pyframe *f)
{
	py *file = (py *)load(f->code + (uintptr_t)at.file);
	py *lines = (py *)load(f->code + (uintptr_t)at.lines);
	long n = api.length(file);
	if (!starts_with(file, "<") || starts_with(file, "<frozen "))
		return 0;
	uint32_t h = 1;
	for (long i = 0; i < n; i++)
		h = (h ^ api.read_char(file, i)) * 0x01000193u;
	const char *bytes = api.bytes(lines);
	for (long i = 0, end = bytes ? api.n_bytes(lines) : 0; i < end; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x01000193u;
	return h | 1;
}

uint32_t tide__frame_line(const tide_pyframe *f)
{
	long lasti =
		at.instr_is_number ? (long)f->instr * 2 : (long)(f->instr - f->code) - at.first;
	int line = lasti >= 0 && lasti < 1 << 28 ? api.line((py *)f->code, (int)lasti) : 0;
	return line > 0 ? (uint32_t)line : 0;
}
