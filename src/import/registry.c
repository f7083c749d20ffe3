// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of formats, and opening a trace of any of them.
 *
 * Content decides: the first bytes of the file, expanded if they are gzip or zstd, are passed to
 * every importer's sniff; the one with the highest score loads the file. To add a format, add a
 * row. */
#include "import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "import/source.h"

/* To add a format, declare its importer here and name it below. */
#define TIDE_IMPORTERS(X)          \
	X(tide__import_tide)       \
	X(tide__import_kineto)     \
	X(tide__import_torchsnap)  \
	X(tide__import_flightrec)  \
	X(tide__import_pprof)      \
	X(tide__import_xplane)     \
	X(tide__import_perfetto)   \
	X(tide__import_heaptrack)  \
	X(tide__import_heaptext)   \
	X(tide__import_memray)     \
	X(tide__import_rocprof)    \
	X(tide__import_exectrace)  \
	X(tide__import_tracker)    \
	X(tide__import_torchtrace) \
	X(tide__import_ttgraph)    \
	X(tide__import_ttlog)      \
	X(tide__import_ttresults)  \
	X(tide__import_ttperf)     \
	X(tide__import_nsys)       \
	X(tide__import_rocpd)

#define X(name) extern const tide_importer name;
TIDE_IMPORTERS(X)
#undef X

static const tide_importer *const importers[] = {
#define X(name) &name,
	TIDE_IMPORTERS(X)
#undef X
		NULL
};

enum {
	HEAD = 64 << 10,    /* bytes shown to sniff, after expansion */
	STORED = 256 << 10, /* read for it: a block of zstd may have 128 KiB */
};

/* Decompresses the start of the data. Damage is ignored here: the importer will find it again
 * and report where; the bytes before it are enough to detect the format. */
static tide_code expand_head(const uint8_t *in, size_t n, uint8_t *out, size_t *n_out,
			     tide_error *err)
{
	tide_source *s;
	tide_code rc = tide__source_open_memory(in, n, 0, &s, err);
	if (rc != TIDE_OK)
		return rc;
	tide_error why = { .offset = TIDE_NO_OFFSET };
	rc = tide__source_read(s, out, HEAD, n_out, &why);
	tide__source_close(s);
	if (*n_out || rc == TIDE_OK)
		return TIDE_OK;
	if (err)
		*err = why;
	return rc;
}

/* Returns the surest importer for these bytes, NULL if none is. */
static const tide_importer *choose(const uint8_t *head, size_t n)
{
	const tide_importer *best = NULL;
	int sure = 0;
	for (size_t i = 0; importers[i]; i++) {
		int s = importers[i]->sniff(head, n);
		if (s > sure) {
			sure = s;
			best = importers[i];
		}
	}
	return best;
}

/* Returns the importer that finds its format further on in the file, NULL if none does. */
static const tide_importer *search(const char *path)
{
	const tide_importer *found = NULL;
	for (size_t i = 0; importers[i] && !found; i++) {
		tide_source *s;
		if (!importers[i]->search || tide__source_open(path, 0, &s, NULL) != TIDE_OK)
			continue;
		found = importers[i]->search(s) ? importers[i] : NULL;
		tide__source_close(s);
	}
	return found;
}

static const tide_importer *by_name(const char *name)
{
	for (size_t i = 0; importers[i]; i++)
		if (!strcmp(importers[i]->name, name))
			return importers[i];
	return NULL;
}

/* Common files that are not traces, recognised by their first bytes, with advice. */
static const struct lookalike {
	const char *magic;
	size_t n;
	const char *what;
} lookalikes[] = {
#define M(text) text, sizeof text - 1
	{ M("PK\3\4"), "a zip archive: unpack it first" },
	{ M("\xfd"
	    "7zXZ"),
	  "xz: xzcat FILE | tidemark ... -" },
	{ M("\x04\x22\x4d\x18"), "LZ4: lz4 -dc FILE | tidemark ... -" },
	{ M("BZh"), "bzip2: bzcat FILE | tidemark ... -" },
	{ M("\xff\xfe"), "UTF-16: iconv -f UTF-16 -t UTF-8 FILE | tidemark ... -" },
	{ M("PERFILE2"), "a recording of Linux perf, which Tidemark does not read" },
	{ M("FLR\0"), "a recording of Java's Flight Recorder, which Tidemark does not read" },
	{ M("JAVA PROFILE "), "a heap dump of Java, which Tidemark does not read" },
	{ M("# callgrind format"), "a profile of Callgrind, which Tidemark does not read" },
	{ M("desc: "),
	  "a profile of Massif, which Tidemark does not read: heaptrack and memray record what it "
	  "does" },
	{ M("SQLite format 3"),
	  "an SQLite database, but neither an export of Nsight Systems nor one of ROCm's "
	  "profilers" },
	{ M("\x7f"
	    "ELF"),
	  "a program: tidemark run -- PROGRAM records one" },
#undef M
};

/* Output of torch.profiler's export_memory_timeline: sums by category, or changes without the
 * allocation that ends. Neither has allocations to read; the profiler's trace does. */
#define INSTEAD                                                                                   \
	"; read the profiler's trace (export_chrome_trace, with profile_memory=True) or torch's " \
	"memory snapshot instead"

static const char *skip(const char *s, const char *end, const char *set)
{
	while (s < end && *s && strchr(set, *s))
		s++;
	return s;
}

/* "[[1, 2, ...": no trace begins like this. A row of the raw points has 4 numbers. */
static const char *timeline_json(const char *s, const char *end)
{
	static const char blank[] = " \t\r\n";
	s = skip(s, end, blank);
	if (s == end || *s != '[')
		return NULL;
	s = skip(s + 1, end, blank);
	if (s == end || *s != '[')
		return NULL;
	const char *first = skip(s + 1, end, blank), *to = skip(first, end, "-0123456789, \t\r\n");
	size_t commas = 0;
	for (const char *c = first; c < to; c++)
		commas += *c == ',';
	if (first == to || (to < end && *to != ']'))
		return NULL;
	return commas == 3 && to < end
		       ? "raw points of torch.profiler's export_memory_timeline: they do not say "
			 "which allocation is freed" INSTEAD
		       : "plot points of torch.profiler's export_memory_timeline: sums, not "
			 "allocations" INSTEAD;
}

static const char *web_page(const char *s, const char *end)
{
	static const char title[] = "<title>GPU Memory Timeline HTML</title>";
	s = skip(s, end, " \t\r\n");
	if (end - s < 9 || (strncasecmp(s, "<html", 5) && strncasecmp(s, "<!doctype", 9)))
		return NULL;
	size_t n = end - s < 4096 ? (size_t)(end - s) : 4096;
	return memmem(s, n, title, sizeof title - 1)
		       ? "a picture by torch.profiler's export_memory_timeline" INSTEAD
		       : "a web page, not a trace: read the trace that it was made from";
}

/* Results of ours that are no traces: their documents begin with the format. */
static const struct kept {
	const char *format, *what;
} kept[] = {
	{ "\"tidemark-objects\"", "live objects of a program: tidemark objects FILE reads them" },
	{ "\"tidemark-profiling\"",
	  "a report that tidemark.profiling exported, not a trace: tidemark.profiling.read_report() "
	  "reads it, tidemark serve shows it" },
};

static const char *kept_result(const char *s, const char *end, const struct kept *k)
{
	const char *const words[] = { "{", "\"format\"", ":", k->format };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		s = skip(s, end, " \t\r\n");
		if ((size_t)(end - s) < n || memcmp(s, words[i], n))
			return NULL;
		s += n;
	}
	return k->what;
}

static const char *not_a_trace(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *why = timeline_json(s, s + n);
	why = why ? why : web_page(s, s + n);
	for (size_t i = 0; !why && i < sizeof kept / sizeof *kept; i++)
		why = kept_result(s, s + n, &kept[i]);
	return why;
}

#define SUMMARY "=== Memory Usage Summary ==="

#define NSYS                                                                                \
	"a report of Nsight Systems, which only its own program reads: nsys export --type " \
	"sqlite -o FILE.sqlite FILE makes what Tidemark reads"

/* Formats without a published layout, or without a mark in it, are known by their names alone. */
static const char *closed_format(const char *path)
{
	static const struct {
		const char *end, *what;
	} known[] = {
		{ ".nsys-rep", NSYS },
		{ ".qdrep", NSYS },
		{ ".qdstrm", NSYS },
		{ ".ncu-rep",
		  "a report of Nsight Compute, which only its own program reads: Tidemark does not "
		  "need it, and reads what Nsight Systems and torch.profiler record" },
		{ ".et", "Chakra's protobuf: read the JSON that it was made from (torch.profiler's "
			 "ExecutionTraceObserver)" },
		{ ".otf2", "an OTF2 archive: rocprofv3 --output-format json makes what Tidemark "
			   "reads" },
	};
	size_t n = strlen(path);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t k = strlen(known[i].end);
		if (n > k && !strcmp(path + n - k, known[i].end))
			return known[i].what;
	}
	return NULL;
}

static tide_code unknown_format(const char *path, const uint8_t *head, size_t n, tide_error *err)
{
	const char *closed = closed_format(path);
	if (closed)
		return tide__fail(err, TIDE_EFORMAT, 0, "%s", closed);
	for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++)
		if (n >= lookalikes[i].n && !memcmp(head, lookalikes[i].magic, lookalikes[i].n))
			return tide__fail(err, TIDE_EFORMAT, 0, "%s", lookalikes[i].what);
	if (n > 262 && !memcmp(head + 257, "ustar", 5))
		return tide__fail(err, TIDE_EFORMAT, 0, "a tar archive: unpack it first");
	if (memmem(head, n, SUMMARY, sizeof SUMMARY - 1))
		return tide__fail(err, TIDE_EFORMAT, 0,
				  "a log with memory summaries: tidemark phases FILE reads it");
	char names[300] = "";
	size_t used = 0;
	for (size_t i = 0; importers[i] && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
					 importers[i]->name);
	return tide__fail(err, TIDE_EFORMAT, 0, "not a trace of any known format (%s)", names);
}

/* Recognises the format by the first n stored bytes. `room` has HEAD bytes for them expanded. */
static tide_code sniff_head(const uint8_t *stored, size_t n, uint8_t *room, const uint8_t **head,
			    size_t *n_head, const tide_importer **imp, tide_error *err)
{
	*head = stored;
	*n_head = n;
	if (n == 0)
		return tide__fail(err, TIDE_EFORMAT, 0, "the file is empty");
	if (tide__is_packed(stored, n)) {
		tide_code rc = expand_head(stored, n, room, n_head, err);
		if (rc)
			return rc;
		*head = room;
	}
	size_t few = *n_head < HEAD ? *n_head : HEAD;
	const char *why = not_a_trace(*head, few);
	if (why)
		return tide__fail(err, TIDE_EFORMAT, 0, "%s", why);
	*imp = choose(*head, few);
	return TIDE_OK;
}

static tide_code sniff_fd(const char *path, int fd, uint8_t *buf, const tide_importer **imp,
			  tide_error *err)
{
	const uint8_t *head;
	size_t n, n_head;
	struct stat st;
	if (fstat(fd, &st))
		return tide__fail_errno(err, "cannot read");
	if (S_ISDIR(st.st_mode) || (!S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) < 0))
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "%s",
				  S_ISDIR(st.st_mode) ? "a folder, not a file"
						      : "not a regular file");
	if (!tide__input_read_at(fd, buf, STORED, 0, &n))
		return tide__fail_errno(err, "cannot read");
	tide_code rc = sniff_head(buf, n, buf + STORED, &head, &n_head, imp, err);
	if (rc)
		return rc;
	if (!*imp && n_head > HEAD)
		*imp = search(path);
	return *imp ? TIDE_OK : unknown_format(path, head, n_head, err);
}

/* Returns the importer that reads this folder; NULL: not a folder, or none does. */
static const tide_importer *of_folder(const char *path)
{
	struct stat st;
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return NULL;
	for (size_t i = 0; importers[i]; i++)
		if (importers[i]->folder && importers[i]->folder(path))
			return importers[i];
	return NULL;
}

static tide_code sniff_path(const char *path, const tide_importer **imp, tide_error *err)
{
	if ((*imp = of_folder(path)))
		return TIDE_OK;
	int fd = tide__input_open(path, O_NONBLOCK);
	if (fd < 0)
		return tide__fail_errno(err, "cannot open");
	uint8_t *buf = tide__alloc(1, STORED + HEAD);
	tide_code rc = buf ? sniff_fd(path, fd, buf, imp, err) : tide__nomem(err);
	tide__free(buf);
	close(fd);
	return rc;
}

/* Returns the importer that reads this input in one pass, NULL if none does. */
static const tide_importer *streams(const tide_source *s)
{
	const tide_importer *imp = NULL;
	const uint8_t *head;
	size_t n, n_head;
	const uint8_t *stored = tide__source_head(s, &n);
	uint8_t *room = tide__alloc(1, HEAD);
	if (!room || sniff_head(stored, n, room, &head, &n_head, &imp, NULL) != TIDE_OK)
		imp = NULL;
	tide__free(room);
	return imp && imp->stream ? imp : NULL;
}

bool tide__load_streams(const tide_source *s, const tide_load_options *opt)
{
	return !opt->format && opt->what && !(opt->what & TIDE_WANT_ARGS) && streams(s);
}

const char *tide__load_format(const char *path)
{
	const tide_importer *imp = NULL;
	return sniff_path(path, &imp, NULL) == TIDE_OK ? imp->name : NULL;
}

bool tide__load_knows(const char *path)
{
	return tide__load_format(path) != NULL;
}

/* Limits devices and pools: views iterate over the pools of each device, and a file with more of
 * them than any machine has would take minutes. */
enum { MOST_DEVICES = 4096 };

/* Figures are sums of sizes and of durations. All of a trace together must stay below 2^63 (8
 * EiB, 292 years), so no partial sum wraps. */
static bool adds_up(uint64_t *sum, uint64_t v)
{
	*sum += v < INT64_MAX - *sum ? v : INT64_MAX - *sum;
	return *sum < INT64_MAX;
}

static bool sizes_add_up(const uint64_t *size, size_t n)
{
	uint64_t sum = 0;
	bool ok = true;
	for (size_t i = 1; i < n && ok; i++)
		ok = adds_up(&sum, size[i]);
	return ok;
}

static bool times_add_up(const tide_spans *s, int64_t t_end)
{
	uint64_t sum = 0;
	bool ok = true;
	for (size_t i = 1; i < s->n && ok; i++) {
		int64_t t1 = s->t1[i] == TIDE_T_NEVER ? t_end : s->t1[i];
		ok = t1 <= s->t0[i] || adds_up(&sum, (uint64_t)t1 - (uint64_t)s->t0[i]);
	}
	return ok;
}

static tide_code sane(const tide_model *m, tide_error *err)
{
	if (m->devices.n - 1 > MOST_DEVICES)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "it names %zu devices: the limit is %d", m->devices.n - 1,
				  MOST_DEVICES);
	if (!sizes_add_up(m->allocs.size, m->allocs.n) ||
	    !sizes_add_up(m->segments.size, m->segments.n))
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "its allocations total 2^63 bytes or more: sums would overflow");
	if (!times_add_up(&m->spans, m->t_end))
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "its spans total 2^63 ns or more: sums would overflow");
	return TIDE_OK;
}

static bool has_losses(const tide_model *m)
{
	for (size_t i = 0; i < m->facts.n; i++)
		if (!strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5))
			return true;
	return false;
}

/* Repairs of damaged input may have missed something: a model that violates an invariant is not
 * returned. */
static tide_code sound(const tide_model *m, tide_error *err)
{
	tide_error why = { .offset = TIDE_NO_OFFSET };
	tide_code rc = has_losses(m) ? tide__model_check(m, &why) : TIDE_OK;
	if (rc == TIDE_OK)
		return TIDE_OK;
	if (rc == TIDE_ENOMEM)
		return tide__nomem(err);
	return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "damaged beyond repair: %s",
			  why.text);
}

tide_code tide__load(const char *path, const tide_load_options *opt, tide_model **out,
		     tide_error *err)
{
	static const tide_load_options defaults = { 0 };
	const tide_importer *imp = NULL;
	*out = NULL;
	tide_code rc = TIDE_OK;
	if (opt && opt->from && !(imp = streams(opt->from)))
		rc = tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				"not a format that is read once");
	else if (!imp && (!opt || !opt->format))
		rc = sniff_path(path, &imp, err);
	else if (!imp && !(imp = by_name(opt->format)))
		rc = tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "no format is named %s",
				opt->format);
	if (rc)
		return rc;
	tide_model *m = tide__model_new();
	if (!m)
		return tide__nomem(err);
	m->path = tide__strndup(path, strlen(path));
	m->format = tide__strndup(imp->name, strlen(imp->name));
	opt = opt ? opt : &defaults;
	if (!m->path || !m->format)
		rc = tide__nomem(err);
	else
		rc = opt->from ? imp->stream(opt->from, opt, m, err) : imp->load(path, opt, m, err);
	rc = rc ? rc : sane(m, err);
	rc = rc ? rc : sound(m, err);
	m->loaded = opt->what;
	if (rc)
		tide__model_free(m);
	else
		*out = m;
	return rc;
}
