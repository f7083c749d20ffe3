// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses one line of the log: the launcher's rank before it, colours, the logger's prefix "type |
 * LEVEL | ", then the kind of message. Most bytes of a log are op texts and states: both are
 * scanned once, by memchr if possible. */
#include <string.h>

#include "import/tenstorrent/ttlog_impl.h"

enum { PREFIX = 96 }; /* bytes that contain the two bars of a prefix, colours included */
enum { TAG = 160 };   /* bytes that contain the tag of MPI */

/* ---- rank and colours ---- */

static const char *digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Parses "1,0]<stdout>:" at p: returns the text after it and sets "1,0". NULL if it is absent. */
static const char *rank_body(const char *p, const char *end, tide_slice *rank)
{
	const char *from = p, *c;
	p = digits(from, end);
	if (p == from || p == end || *p != ',')
		return NULL;
	c = p + 1;
	p = digits(c, end);
	if (p == c || end - p < 10 || memcmp(p, "]<std", 5))
		return NULL;
	*rank = (tide_slice){ from, (size_t)(p - from) };
	p += 5;
	if (memcmp(p, "out>:", 5) && memcmp(p, "err>:", 5))
		return NULL;
	return p + 5;
}

/* Finds where "[1,0" or "[prterun-host-4711@1,0" (Open MPI 5) begins that ends at `close`; *body is
 * its "1,0". NULL: there is no such tag from `p` on. */
static const char *tag_begin(const char *p, const char *close, const char **body)
{
	const char *from = close;
	while (from > p && ((from[-1] >= '0' && from[-1] <= '9') || from[-1] == ','))
		from--;
	*body = from;
	if (from > p && from[-1] == '@')
		for (from--; from > p && from[-1] != '[' && from[-1] != ' ';)
			from--;
	return from > p && from[-1] == '[' ? from - 1 : NULL;
}

/* Parses the tag of MPI at the beginning of a line. Returns the text after it, and "1,0". Open MPI
 * 4 may print a time before it: "Thu May 7 10:39:20 2020[1,1]<stdout>:". */
static const char *rank_prefix(const char *p, const char *end, tide_slice *rank)
{
	const char *body, *close;
	size_t n = (size_t)(end - p) < TAG ? (size_t)(end - p) : TAG;
	if (n < 2 || *p == ' ' || *p == 27) /* most lines */
		return NULL;
	if (*p == '[' && (close = rank_body(p + 1, end, rank)))
		return close;
	close = memmem(p, n, "]<std", 5);
	return close && tag_begin(p, close, &body) ? rank_body(body, end, rank) : NULL;
}

/* Parses labels of other launchers: "12: " of `srun -l`, "[12] " of `mpirun -l` (MPICH),
 * "[default12]:" of torchrun. Returns the text after the label, and "12"; NULL if there is none. */
static const char *label(const char *p, const char *end, tide_slice *rank)
{
	bool bracket = p < end && *p == '[', word = false;
	const char *from = p + bracket, *to;
	for (; bracket && from < end && *from >= 'a' && *from <= 'z'; from++)
		word = true;
	to = digits(from, end);
	if (to == from || to - from > 6)
		return NULL;
	*rank = (tide_slice){ from, (size_t)(to - from) };
	const char *close = !bracket ? ": " : word ? "]:" : "] ";
	return end - to >= 2 && !memcmp(to, close, 2) ? to + 2 : NULL;
}

/* Copies text without ESC [ ... letter. Returns the bytes copied. */
static size_t uncolour(const char *s, size_t n, char *room)
{
	const char *end = s + n, *esc;
	size_t k = 0;
	while ((esc = memchr(s, 27, (size_t)(end - s)))) {
		memcpy(room + k, s, (size_t)(esc - s));
		k += (size_t)(esc - s);
		s = esc + 1;
		if (s < end && *s == '[') {
			for (s++; s < end && ((*s >= '0' && *s <= '9') || *s == ';');)
				s++;
			s += s < end && *s >= '@' && *s <= '~';
		}
	}
	memcpy(room + k, s, (size_t)(end - s));
	return k + (size_t)(end - s);
}

/* ---- the logger's prefix ---- */

static bool is_level(const char *p, const char *end)
{
	static const struct {
		const char *text;
		size_t n;
	} levels[] = { { "DEBUG", 5 },	 { "INFO", 4 },	 { "TRACE", 5 },
		       { "WARNING", 7 }, { "ERROR", 5 }, { "FATAL", 5 } };
	while (p < end && *p == ' ')
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if ((size_t)(end - p) == levels[i].n && !memcmp(p, levels[i].text, levels[i].n))
			return true;
	return false;
}

/* Returns the bar after the level when the one at `bar` comes before it, else NULL. */
static const char *second_bar(const char *bar, const char *end)
{
	size_t n = (size_t)(end - bar - 1) < 24 ? (size_t)(end - bar - 1) : 24;
	const char *next = memchr(bar + 1, '|', n);
	return next && is_level(bar + 1, next) ? next : NULL;
}

/* Returns the message after "type | LEVEL | ", NULL if there is no such prefix. */
static const char *message(const char *s, const char *end)
{
	size_t n = (size_t)(end - s) < PREFIX ? (size_t)(end - s) : PREFIX;
	const char *bar = memchr(s, '|', n);
	bar = bar ? second_bar(bar, end) : NULL;
	if (!bar)
		return NULL;
	bar++;
	return bar + (bar < end && *bar == ' ');
}

/* Returns where the label of srun before a logger's prefix begins: "12:" that ends at `at`. */
static const char *label_before(const char *p, const char *at)
{
	const char *from = at - (at > p && at[-1] == ':');
	while (from < at && from > p && from[-1] >= '0' && from[-1] <= '9')
		from--;
	return from < at - 1 ? from : at;
}

/* Finds where another writer's line begins inside a message: an MPI prefix, or a second logger's
 * prefix. */
static const char *intruder(const char *p, const char *end, const tt_line *l)
{
	if (l->rank.s && !l->label) {
		tide_slice rank;
		for (const char *c = p; (c = memchr(c, ']', (size_t)(end - c))); c++) {
			const char *body, *from = tag_begin(p, c, &body);
			if (from && rank_body(body, end, &rank))
				return from;
		}
	}
	for (const char *bar = p; (bar = memchr(bar, '|', (size_t)(end - bar))); bar++) {
		const char *from = bar;
		if (!second_bar(bar, end))
			continue;
		while (from > p && from[-1] == ' ')
			from--;
		while (from > p && from[-1] != ' ')
			from--;
		while (from > p && from[-1] == ' ')
			from--;
		return l->label ? label_before(p, from) : from;
	}
	return NULL;
}

/* ---- states ---- */

static const struct {
	const char *text;
	size_t n;
	unsigned pool;
} pool_names[] = { { "DRAM", 4, TT_DRAM },
		   { "L1", 2, TT_L1 },
		   { "L1_SMALL", 8, TT_L1_SMALL },
		   { "L1 SMALL", 8, TT_L1_SMALL },
		   { "TRACE", 5, TT_TRACE } };

/* Parses "1023.992 MB" as bytes; digits after thousandths are dropped. Returns NULL if it is
 * incomplete. */
static const char *megabytes(const char *p, const char *end, uint64_t *out)
{
	const char *from = p;
	int64_t v = 0;
	int point = 0;
	while (p < end && *p >= '0' && *p <= '9' && v < INT64_C(1) << 32)
		v = v * 10 + (*p++ - '0');
	if (p == from || p == end)
		return NULL;
	if (*p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9'; p++)
			if (point < 3) {
				v = v * 10 + (*p - '0');
				point++;
			}
	for (; point < 3; point++)
		v *= 10;
	*out = tide__ttlog_bytes(v);
	return end - p >= 3 && !memcmp(p, " MB", 3) && v < INT64_C(1) << 36 ? p + 3 : NULL;
}

static const char *word(const char *p, const char *end, const char *text, size_t n)
{
	return p && (size_t)(end - p) >= n && !memcmp(p, text, n) ? p + n : NULL;
}
#define WORD(p, end, literal) word(p, end, literal, sizeof(literal) - 1)

static const char *view(const char *p, const char *end, tt_state *s)
{
	uint32_t banks = 0;
	p = WORD(p, end, "numBanks: ");
	if (!p || p == end || *p < '0' || *p > '9')
		return NULL;
	while (p < end && *p >= '0' && *p <= '9' && banks < 1u << 16)
		banks = banks * 10 + (uint32_t)(*p++ - '0');
	s->banks = banks;
	p = WORD(p, end, ", totalBytesPerBank: ");
	p = p ? megabytes(p, end, &s->total) : NULL;
	p = WORD(p, end, ", totalBytesAllocatedPerBank: ");
	p = p ? megabytes(p, end, &s->allocated) : NULL;
	p = WORD(p, end, ", totalBytesFreePerBank: ");
	p = p ? megabytes(p, end, &s->free) : NULL;
	p = WORD(p, end, ", largestContiguousBytesFreePerBank: ");
	p = p ? megabytes(p, end, &s->largest) : NULL;
	return banks && banks < 1u << 16 ? WORD(p, end, "}") : NULL;
}

bool tide__ttlog_parse_state(tide_slice text, unsigned *pool, tt_state *out)
{
	static const char between[] = " memory state: MemoryView{";
	const char *p = text.s, *end = text.s + text.n;
	p = WORD(p, end, "Device ");
	for (size_t i = 0; p && i < sizeof pool_names / sizeof *pool_names; i++) {
		const char *v = word(p, end, pool_names[i].text, pool_names[i].n);
		v = v ? WORD(v, end, between) : NULL;
		if (!v)
			continue;
		*pool = pool_names[i].pool;
		return view(v, end, out) != NULL;
	}
	return false;
}

/* ---- which message ---- */

static tide_slice first_word(const char *p, const char *end)
{
	const char *from = p;
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	return (tide_slice){ from, (size_t)(p - from) };
}

static bool named(tt_line *l, tt_what what, const char *p, const char *end)
{
	if (!p)
		return false;
	l->what = what;
	l->text = first_word(p, end);
	return true;
}

static void device_line(tt_line *l, const char *p, const char *end)
{
	static const char state[] = "memory state ";
	const char *h = word(p, end, state, sizeof state - 1), *name;
	if (h) {
		l->when = TIDE_STATE_BEFORE;
		if ((name = WORD(h, end, "before operation "))) {
			(void)named(l, TT_HEADER, name, end);
			l->cut = !l->text.n;
			return;
		}
		bool after = WORD(h, end, "after submit") != NULL;
		if (after || WORD(h, end, "before submit")) {
			l->what = TT_HEADER;
			l->when = after ? TIDE_STATE_AFTER : TIDE_STATE_BETWEEN;
			return;
		}
		l->cut = true;
		return;
	}
	tide_slice all = { p - 7, (size_t)(end - p) + 7 };
	l->cut = !tide__ttlog_parse_state(all, &l->pool, &l->state);
	if (!l->cut)
		l->what = TT_STATE;
	else if (!memmem(p, (size_t)(end - p), "memory state", 12))
		l->cut = false; /* the device printed something else */
}

static void classify(tt_line *l, const char *p, const char *end)
{
	const char *q;
	l->what = TT_OTHER;
	if (p == end)
		return;
	switch (*p) {
	case 'D':
		if ((q = WORD(p, end, "Device ")))
			device_line(l, q, end);
		break;
	case 'E':
		if ((q = WORD(p, end, "Executing operation: "))) {
			l->what = TT_OP;
			l->text = (tide_slice){ q, (size_t)(end - q) };
		}
		break;
	case 'S':
		named(l, TT_START, WORD(p, end, "Starting execution of program: "), end);
		break;
	case 'F':
		named(l, TT_FINISH, WORD(p, end, "Finished execution of program: "), end);
		break;
	case 'C':
		if (!named(l, TT_CACHE_HIT, WORD(p, end, "Cache hit for function: "), end))
			named(l, TT_CACHE_MISS,
			      WORD(p, end, "Cache miss or invalid cache for function: "), end);
		break;
	default:
		break;
	}
}

/* Finds a message by its own words if its prefix is lost or mixed with another line. */
static const char *without_prefix(const char *s, const char *end)
{
	static const struct {
		const char *text;
		size_t n;
		size_t back;
	} words[] = {
#define W(text) text, sizeof text - 1
		{ W("Executing operation: "), 0 },
		{ W("Device memory state "), 0 },
		{ W(" memory state: MemoryView{"), 16 },
		{ W("Starting execution of program: "), 0 },
		{ W("Finished execution of program: "), 0 },
#undef W
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *p = memmem(s, (size_t)(end - s), words[i].text, words[i].n);
		if (!p)
			continue;
		if (!words[i].back)
			return p;
		const char *from = (size_t)(p - s) > words[i].back ? p - words[i].back : s;
		const char *d = memmem(from, (size_t)(p - from), "Device ", 7);
		if (d)
			return d;
	}
	return NULL;
}

bool tide__ttlog_labelled(const char *s, size_t n, int64_t *number)
{
	const char *end = s + n, *p;
	tide_slice rank;
	if (!n || (*s != '[' && (*s < '0' || *s > '9')) || !(p = label(s, end, &rank)))
		return false;
	for (*number = 0; rank.n; rank.s++, rank.n--)
		*number = *number * 10 + (*rank.s - '0');
	return without_prefix(p, end) || memmem(p, (size_t)(end - p), "MLIR Module ", 12);
}

void tide__ttlog_parse_line(const char *s, size_t n, bool labels, char *room, tt_line *out,
			    tide_slice *rest)
{
	const char *end = s + n, *p, *from;
	memset(out, 0, sizeof *out);
	*rest = (tide_slice){ NULL, 0 };
	if (n && end[-1] == '\r')
		end--;
	p = rank_prefix(s, end, &out->rank);
	if (!p && labels) {
		p = label(s, end, &out->rank);
		out->label = p != NULL;
	}
	s = p ? p : s;
	if (memchr(s, 27, (size_t)(end - s))) {
		end = room + uncolour(s, (size_t)(end - s), room);
		s = room;
	}
	p = message(s, end);
	if (!p)
		p = without_prefix(s, end);
	if (!p) {
		out->all = (tide_slice){ s, (size_t)(end - s) };
		return;
	}
	from = intruder(p, end, out);
	if (from) {
		*rest = (tide_slice){ from, (size_t)(end - from) };
		end = from;
		out->cut = true;
	}
	out->all = (tide_slice){ s, (size_t)(end - s) };
	bool cut = out->cut;
	classify(out, p, end);
	out->cut |= cut;
}
