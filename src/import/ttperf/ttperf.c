// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A line of names, then one op a line, in the order of each device. Clocks of devices count cycles of
 * an unknown rate, so an op begins where the op before it on its device ended, and the gap that the
 * file states after that. */
#include "import/ttperf/ttperf.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "import/source.h"
#include "model/span_parents.h"

enum { NAME, TYPE, DEVICE, CORES, FIDELITY, TIME, WHOLE, GAP, CALL, N_COLUMNS };
enum { MOST_FIELDS = 512 };

typedef struct form { /* names of the columns; NULL = it has none */
	const char *names[N_COLUMNS];
	int64_t scale; /* of times, to ns */
} form;

static const form forms[] = {
	{ { "OP CODE", "OP TYPE", "DEVICE ID", "CORE COUNT", "MATH FIDELITY",
	    "DEVICE KERNEL DURATION [ns]", "DEVICE FW DURATION [ns]", "OP TO OP LATENCY [ns]",
	    "GLOBAL CALL COUNT" },
	  1 },
	{ { "OP Code", NULL, "Device", "Cores", "Math Fidelity", "Device Time", NULL,
	    "Op-to-Op Gap", "Global Call Count" },
	  1000 },
};

typedef struct field {
	const char *s;
	size_t n;
} field;

typedef struct device {
	int64_t t; /* end of its last op */
	uint32_t lane;
} device;

typedef struct table {
	tide_model *m;
	tide_error *err;
	tide_code rc;
	const form *form;
	int columns[N_COLUMNS]; /* -1 = none */
	TIDE_VEC(device, devices);
	tide_map device_of; /* number -> place + 1 */
	uint64_t bad, untimed;
	int64_t last;
	tide_str key_cores, key_fidelity, key_call;
} table;

static bool nomem(table *t)
{
	t->rc = tide__nomem(t->err);
	return false;
}

/* ---- fields ---- */

/* Reads the fields of a line; one in quotes may contain commas and line ends. Returns the byte after
 * the line. */
static const char *read_line(const char *s, const char *end, field *f, size_t *n)
{
	*n = 0;
	for (;;) {
		field now = { s, 0 };
		if (s < end && *s == '"') {
			now.s = ++s;
			while (s < end && (*s != '"' || (end - s > 1 && s[1] == '"')))
				s += *s == '"' ? 2 : 1;
			s = s < end ? s : end;
			now.n = (size_t)(s - now.s);
			s += s < end;
		}
		const char *from = s;
		while (s < end && *s != ',' && *s != '\n')
			s++;
		if (now.s == from)
			now.n = (size_t)(s - from);
		if (now.n && now.s[now.n - 1] == '\r')
			now.n--;
		if (*n < MOST_FIELDS)
			f[(*n)++] = now;
		if (s == end || *s == '\n')
			return s < end ? s + 1 : end;
		s++;
	}
}

static bool is(field f, const char *text)
{
	return f.n == strlen(text) && !memcmp(f.s, text, f.n);
}

static field column(const table *t, const field *f, size_t n, int c)
{
	int at = t->columns[c];
	return at >= 0 && (size_t)at < n ? f[at] : (field){ "", 0 };
}

/* Reads "1234", "12.345": a number of `scale` ns each. Returns false for anything else. */
static bool number(field f, int64_t scale, int64_t *out)
{
	int64_t v = 0, part = scale;
	size_t i = 0;
	for (; i < f.n && f.s[i] >= '0' && f.s[i] <= '9'; i++) {
		if (v > INT64_MAX / 100000)
			return false;
		v = v * 10 + (f.s[i] - '0');
	}
	if (!i)
		return false;
	v *= scale;
	if (i < f.n && f.s[i] == '.')
		for (i++; i < f.n && f.s[i] >= '0' && f.s[i] <= '9'; i++) {
			/* of the first digit that is no whole ns the half counts */
			v += part >= 10	 ? (f.s[i] - '0') * (part / 10)
			     : part == 1 ? f.s[i] >= '5'
					 : 0;
			part = part == 1 ? 0 : part / 10;
		}
	*out = v;
	return i == f.n && v < INT64_C(1) << 61;
}

static bool find_columns(table *t, const field *f, size_t n)
{
	for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
		t->form = &forms[k];
		for (int c = 0; c < N_COLUMNS; c++) {
			t->columns[c] = -1;
			for (size_t i = 0; i < n && forms[k].names[c]; i++)
				if (is(f[i], forms[k].names[c]))
					t->columns[c] = (int)i;
		}
		if (t->columns[NAME] >= 0 && t->columns[TIME] >= 0 && t->columns[DEVICE] >= 0)
			return true;
	}
	return false;
}

/* ---- rows ---- */

static device *device_of(table *t, int64_t number)
{
	tide_model *m = t->m;
	uint32_t i = tide__map_get(&t->device_of, (uint64_t)number);
	if (i)
		return &t->devices[i - 1];
	device *d = TIDE_PUSH(t, devices);
	uint32_t row = d ? tide__push(&m->devices, &tide_devices_desc) : 0;
	uint32_t lane = row ? tide__push(&m->lanes, &tide_lanes_desc) : 0;
	if (!lane || !tide__map_put(&t->device_of, (uint64_t)number, (uint32_t)t->n_devices)) {
		(void)nomem(t);
		return NULL;
	}
	*d = (device){ 0, lane };
	m->devices.kind[row] = TIDE_DEVICE_TT;
	m->devices.index[row] = number;
	m->lanes.kind[lane] = TIDE_LANE_STREAM;
	m->lanes.device[lane].i = row;
	m->lanes.process[lane].i = 1;
	return d;
}

static bool put_attr(table *t, uint32_t span, tide_str key, field f)
{
	size_t row;
	int64_t v = 0;
	if (!f.n)
		return true;
	bool whole = number(f, 1, &v);
	tide_str text = whole ? (tide_str){ 0 } : tide__intern_n(t->m, f.s, f.n);
	if ((!whole && !text.i) || !tide__table_push(&t->m->attrs, &tide_attrs_desc, &row))
		return nomem(t);
	t->m->attrs.span[row].i = span;
	t->m->attrs.key[row] = key;
	t->m->attrs.text[row] = text;
	t->m->attrs.number[row] = v;
	return true;
}

static bool put_mark(table *t, field name)
{
	tide_marks *k = &t->m->marks;
	uint32_t row = tide__push(k, &tide_marks_desc);
	if (!row)
		return nomem(t);
	k->t[row] = t->last;
	k->extra[row] = -1;
	k->kind[row] = TIDE_MARK_ANNOTATION;
	k->name[row] = tide__intern_n(t->m, name.s, name.n);
	return k->name[row].i || !name.n || nomem(t);
}

static bool put_op(table *t, const field *f, size_t n)
{
	tide_spans *s = &t->m->spans;
	field name = column(t, f, n, NAME);
	int64_t at, time, whole, gap;
	if (!name.n || !number(column(t, f, n, DEVICE), 1, &at)) {
		t->bad += name.n != 0;
		return true;
	}
	if (!number(column(t, f, n, TIME), t->form->scale, &time)) {
		t->untimed++;
		return true;
	}
	device *d = device_of(t, at);
	if (!d)
		return false;
	if (!number(column(t, f, n, GAP), t->form->scale, &gap))
		gap = 0;
	if (!number(column(t, f, n, WHOLE), t->form->scale, &whole) || whole < time)
		whole = time;
	if (d->t >= (INT64_C(1) << 61) - gap - whole) {
		t->bad++;
		return true;
	}
	uint32_t row = tide__push(s, &tide_spans_desc);
	if (!row)
		return nomem(t);
	s->t0[row] = d->t += gap;
	s->t1[row] = d->t + time;
	d->t += whole;
	t->last = d->t > t->last ? d->t : t->last;
	s->lane[row].i = d->lane;
	s->cat[row] = TIDE_CAT_KERNEL;
	s->name[row] = tide__intern_n(t->m, name.s, name.n);
	return (s->name[row].i || nomem(t)) &&
	       put_attr(t, row, t->key_cores, column(t, f, n, CORES)) &&
	       put_attr(t, row, t->key_fidelity, column(t, f, n, FIDELITY)) &&
	       put_attr(t, row, t->key_call, column(t, f, n, CALL));
}

static bool begin(table *t)
{
	tide_processes *p = &t->m->processes;
	uint32_t row = tide__push(p, &tide_processes_desc);
	t->key_cores = tide__intern(t->m, "cores");
	t->key_fidelity = tide__intern(t->m, "math fidelity");
	t->key_call = tide__intern(t->m, "call");
	if (!row || !t->key_cores.i || !t->key_fidelity.i || !t->key_call.i)
		return nomem(t);
	p->pid[row] = p->parent_pid[row] = p->rank[row] = p->world[row] = -1;
	return true;
}

static bool read_all(table *t, const char *text, size_t n)
{
	const char *s = text, *end = text + n;
	field *f = tide__alloc(MOST_FIELDS, sizeof *f);
	size_t k;
	bool ok = f ? begin(t) : nomem(t), head = true;
	while (ok && s < end) {
		s = read_line(s, end, f, &k);
		if (head && !find_columns(t, f, k)) {
			t->rc = tide__fail(t->err, TIDE_EFORMAT, 0,
					   "no table of device ops: its columns have no name, "
					   "device and time");
			ok = false;
		} else if (!head) {
			ok = is(column(t, f, k, TYPE), "signpost")
				     ? put_mark(t, column(t, f, k, NAME))
				     : put_op(t, f, k);
		}
		head = false;
	}
	tide__free(f);
	return ok;
}

static bool finish(table *t)
{
	tide_model *m = t->m;
	m->t_end = t->last;
	bool ok = m->spans.n <= 1 || tide__find_span_parents(m, NULL, 0, NULL, 0);
	ok = ok && tide__fact_text(m, "ttperf.times",
				   "made of durations and gaps: an op begins where the previous "
				   "one on its device ended, and the gap after that");
	ok = ok && (!t->bad || tide__fact_set_number(m, "loss.bad_records", (int64_t)t->bad));
	ok = ok &&
	     (!t->untimed || tide__fact_set_number(m, "loss.untimed_ops", (int64_t)t->untimed));
	return ok || nomem(t);
}

tide_code tide__ttperf_import(const char *text, size_t n, tide_model *m, tide_error *err)
{
	table t = { .m = m, .err = err };
	if (read_all(&t, text, n) && m->spans.n <= 1)
		t.rc = tide__fail(err, TIDE_EFORMAT, 0, "a table of device ops without ops");
	if (t.rc == TIDE_OK)
		(void)finish(&t);
	tide__free(t.devices);
	tide__map_free(&t.device_of);
	return t.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)2 << 30, 0, &in, err);
	if (!rc)
		rc = tide__ttperf_import((const char *)in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t line = 0;
	while (line < n && line < 16384 && head[line] != '\n')
		line++;
	bool tracy = tide__head_contains(head, line, "OP CODE,") &&
		     tide__head_contains(head, line, "DEVICE KERNEL DURATION [ns]");
	bool report = tide__head_contains(head, line, "OP Code,") &&
		      tide__head_contains(head, line, "Op-to-Op Gap");
	return tracy || report ? 90 : 0;
}

const tide_importer tide__import_ttperf = {
	.name = "tt-perf",
	.what = "table of Tenstorrent device ops (ops_perf_results.csv, tt-perf-report)",
	.sniff = sniff,
	.load = load,
};
