// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* redact: a copy of a recording or trace with other names. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/output/outfile.h"
#include "import/source.h"
#include "import/tide/unpack.h"
#include "redact/map.h"
#include "redact/public.h"
#include "redact/redact.h"
#include "render/export/gzip_isal.h"
#include "render/text/format.h"
#include "render/text/json.h"

enum { O_OUTPUT, O_KEEP, O_KEY, O_MAP, O_JSON };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "OUT", "the file to write; .gz is gzipped" },
	[O_KEEP] = { "keep", 'k', TIDE_OPT_TEXT, "LIST",
		     "public names that stay: aten, torch, cuda, kernels, none",
		     .def = "aten,torch,cuda" },
	[O_KEY] = { "key", 0, TIDE_OPT_FILE, "KEYFILE",
		    "replace by this key, so that files can be compared (default: a new one)" },
	[O_MAP] = { "map", 0, TIDE_OPT_FILE, "MAP",
		    "write what became of each text, readable by you alone" },
	[O_JSON] = TIDE_OPTION_JSON,
};

enum { KEY_LEAST = 16, KEY_MOST = 4096 };
#define PICKLE_MOST ((size_t)8 << 30)

/* ---- options ---- */

static const struct {
	const char *name;
	unsigned group;
} groups[] = { { "aten", TIDE_PUBLIC_ATEN },
	       { "torch", TIDE_PUBLIC_TORCH },
	       { "cuda", TIDE_PUBLIC_CUDA },
	       { "kernels", TIDE_PUBLIC_KERNELS },
	       { "none", 0 } };

/* Returns false if a word of the list is not a group; *bad then points at it. */
static bool read_groups(const char *list, unsigned *keep, const char **bad, size_t *n_bad)
{
	*keep = 0;
	for (const char *s = list; *s;) {
		size_t n = strcspn(s, ","), i = 0;
		while (i < sizeof groups / sizeof *groups &&
		       (strlen(groups[i].name) != n || memcmp(groups[i].name, s, n) != 0))
			i++;
		if (i == sizeof groups / sizeof *groups) {
			*bad = s;
			*n_bad = n;
			return false;
		}
		*keep |= groups[i].group;
		s += n + (s[n] == ',');
	}
	return true;
}

static tide_code read_key(const char *path, tide_cipher *cipher, tide_error *err)
{
	uint8_t key[KEY_MOST];
	ssize_t n = 0;
	if (!path) {
		n = getrandom(key, 32, 0);
		if (n != 32)
			return tide__fail_errno(err, "no random bytes for a key");
	} else {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return tide__fail_errno(err, "cannot open");
		n = read(fd, key, sizeof key);
		close(fd);
		if (n < 0)
			return tide__fail_errno(err, "cannot read");
		if (n < KEY_LEAST)
			return tide__fail(
				err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				"a key has at least 16 bytes: head -c 32 /dev/urandom > %s", path);
	}
	*cipher = tide__cipher_make(key, (size_t)n);
	return TIDE_OK;
}

/* ---- the three kinds ---- */

struct job {
	const char *in, *out;
	tide_redactor r;
	tide_redact_kind kind;
	bool packed; /* the recording is */
	tide_rewrite w;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n > k && !strcasecmp(s + n - k, end);
}

static tide_code write_tide(struct job *j, tide_error *err)
{
	static const tide_load_options defaults = { 0 };
	tide_rewrite_from from = { .path = j->in };
	tide_unpacked u;
	tide_code rc = tide__unpack(j->in, &defaults, &u, err);
	if (u.fd >= 0)
		from = (tide_rewrite_from){ .path = u.path, .stored = u.stored, .ends = u.ends };
	from.edit = tide__redact_chunk;
	from.user = &j->r;
	if (!rc)
		rc = tide__rewrite(&from, j->out, j->packed ? 0 : -1, &j->w, err);
	tide__unpacked_close(&u);
	return rc;
}

static tide_code write_json(struct job *j, FILE *to, tide_error *err)
{
	tide_source *s;
	tide_code rc = tide__source_open(j->in, 0, &s, err);
	if (!rc)
		rc = tide__redact_json(&j->r, s, to, err);
	tide__source_close(s);
	return rc;
}

static tide_code write_pickle(struct job *j, FILE *to, tide_error *err)
{
	tide_whole_file f = { 0 };
	size_t used = 0;
	tide_code rc = tide__source_read_all(j->in, 0, PICKLE_MOST, 64, &f, err);
	if (!rc)
		rc = tide__redact_pickle(&j->r, f.data, f.n, &used, err);
	if (!rc)
		fwrite(f.data, 1, used, to);
	tide__free(f.data);
	return rc;
}

/* Writes JSON or a pickle, gzipped if the name says so. */
static tide_code write_stream(struct job *j, tide_error *err)
{
	tide_outfile o = { 0 };
	tide_code rc = tide__outfile_open(&o, j->out, err), closed;
	if (rc)
		return rc;
	FILE *to = ends_with(j->out, ".gz") ? tide__gz_open(o.f) : o.f;
	if (!to)
		rc = tide__nomem(err);
	else
		rc = j->kind == TIDE_REDACT_JSON ? write_json(j, to, err)
						 : write_pickle(j, to, err);
	bool bad = to && ferror(to);
	if (to && to != o.f)
		bad |= fclose(to) != 0;
	if (!rc && bad)
		rc = tide__fail_errno(err, "cannot write %s", j->out);
	closed = tide__outfile_close(&o, !rc, rc ? NULL : err);
	return rc ? rc : closed;
}

static tide_code find_kind(struct job *j, tide_error *err)
{
	tide_source *s;
	uint8_t head[4096];
	size_t got = 0;
	tide_code rc = tide__source_open(j->in, 0, &s, err);
	if (rc)
		return rc;
	bool packed = tide__source_is_packed(s);
	rc = tide__source_read(s, head, sizeof head, &got, err);
	tide__source_close(s);
	j->kind = tide__redact_kind(head, got);
	if (j->kind == TIDE_REDACT_NONE && (!rc || !got))
		return rc ? rc
			  : tide__fail(err, TIDE_EFORMAT, 0,
				       "redact reads .tide, JSON and pickled snapshots; this is "
				       "none of them");
	j->packed = !packed && got > 71 && head[68] & TIDE_FILE_PACKED;
	return TIDE_OK;
}

/* ---- the map ---- */

/* The file may not be there: its mode and its content are the owner's. */
static int open_map(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static tide_code write_map(const tide_redact_map *m, int fd, tide_error *err)
{
	FILE *f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return tide__fail_errno(err, "cannot write");
	}
	tide__redact_map_write(m, f);
	bool bad = ferror(f) != 0;
	return fclose(f) || bad ? tide__fail_errno(err, "cannot write") : TIDE_OK;
}

/* ---- the command ---- */

static const char *kind_name(tide_redact_kind kind)
{
	static const char *const names[] = { "", "recording", "JSON", "pickle" };
	return names[kind];
}

static void put_groups(FILE *out, unsigned keep)
{
	const char *before = "";
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		if (!(keep & groups[i].group))
			continue;
		fprintf(out, "%s%s", before, groups[i].name);
		before = ", ";
	}
	if (!keep)
		fputs("none", out);
}

static tide_code put_json(void *result, tide_json *w)
{
	const struct job *j = result;
	tide__json_kstr(w, "output", j->out);
	tide__json_kstr(w, "kind", kind_name(j->kind));
	tide__json_kuint(w, "texts", j->r.texts);
	tide__json_kuint(w, "secrets", j->r.secrets);
	tide__json_karray(w, "keep");
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (j->r.keep & groups[i].group)
			tide__json_str(w, groups[i].name);
	tide__json_array_end(w);
	return TIDE_OK;
}

static const tide_member kept = TIDE_MEMBER("", TEXT, "a group of names");
static const tide_member members[] = {
	TIDE_MEMBER("output", TEXT, "the file that was written"),
	TIDE_MEMBER("kind", TEXT, "recording, JSON or pickle"),
	TIDE_MEMBER("texts", COUNT, "texts that were replaced"),
	TIDE_MEMBER("secrets", COUNT, "secrets that were dropped"),
	TIDE_MEMBER_OF("keep", LIST, &kept, "public names that stay"),
	{ 0 },
};
const tide_report_type tide__document_redact = {
	.name = "redact",
	.version = 1,
	.summary = "what `tidemark redact` wrote",
	.members = members,
	.json = put_json,
};

static void report(const tide_args *a, const struct job *j)
{
	tide__put_name(a->out, j->out, strlen(j->out), 0, false);
	fprintf(a->out, ": %s, %" PRIu64 " texts", kind_name(j->kind), j->r.texts);
	if (j->r.secrets)
		fprintf(a->out, ", %" PRIu64 " secret%s dropped", j->r.secrets,
			j->r.secrets == 1 ? "" : "s");
	fputs("; public names that stay: ", a->out);
	put_groups(a->out, j->r.keep);
	fputc('\n', a->out);
	if (a->opt[O_MAP].set)
		fprintf(a->out, "%s: the original texts, for you alone\n", a->opt[O_MAP].text);
	else if (!a->opt[O_KEY].set)
		fputs("The key is gone: nobody can compare this file with another one.\n", a->out);
	fputs("Times, sizes, shapes, addresses, process numbers and lengths of names are those of "
	      "the original.\n",
	      a->out);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int redact(const tide_args *a, struct job *j, int map)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_code rc = find_kind(j, &err);
	if (!rc)
		rc = j->kind == TIDE_REDACT_TIDE ? write_tide(j, &err) : write_stream(j, &err);
	if (rc) {
		if (map >= 0)
			close(map);
		return tide__cli_fail(j->in, &err);
	}
	if (map >= 0 && write_map(j->r.map, map, &err))
		return tide__cli_fail(a->opt[O_MAP].text, &err);
	if (a->opt[O_JSON].set)
		return tide__document_put(a, &tide__document_redact, j);
	report(a, j);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	struct job j = { .in = a->files[0], .out = a->opt[O_OUTPUT].text };
	const char *bad = NULL, *map = a->opt[O_MAP].set ? a->opt[O_MAP].text : NULL;
	size_t n_bad = 0;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int fd = -1, rc;
	if (!a->opt[O_OUTPUT].set)
		return tide__cli_fail_usage(a, "name the file to write with -o");
	if (same_file(j.in, j.out))
		return tide__cli_fail_usage(a, "%s is the input: write to another name", j.out);
	if (!read_groups(a->opt[O_KEEP].set ? a->opt[O_KEEP].text : "aten,torch,cuda", &j.r.keep,
			 &bad, &n_bad))
		return tide__cli_fail_usage(a, "'%.*s' is not aten, torch, cuda, kernels or none",
					    (int)n_bad, bad);
	if (read_key(a->opt[O_KEY].set ? a->opt[O_KEY].text : NULL, &j.r.cipher, &err))
		return tide__cli_fail(a->opt[O_KEY].set ? a->opt[O_KEY].text : NULL, &err);
	if (map && (fd = open_map(map)) < 0) {
		tide__fail_errno(&err, errno == EEXIST ? "a map is never written over another file"
						       : "cannot create");
		return tide__cli_fail(map, &err);
	}
	if (map && !(j.r.map = tide__redact_map_new())) {
		close(fd);
		tide__nomem(&err);
		return tide__cli_fail(map, &err);
	}
	rc = redact(a, &j, fd);
	if (rc == 1 && map)
		unlink(map);
	tide__redact_map_free(j.r.map);
	tide__redactor_fini(&j.r);
	return rc;
}

const tide_command tide__cmd_redact = {
	.name = "redact",
	.usage = "FILE -o OUT [--map MAP]",
	.summary = "a copy with other names, to show to others",
	.help = "Writes a copy of a recording, a Kineto trace, a snapshot or one of our JSON "
		"documents in which names, paths, stacks, arguments and texts are other words of the "
		"same length. Times, sizes and shapes stay, so that every report shows the same "
		"figures in the same groups. What looks like a secret becomes x.\n"
		"The same word has the same replacement in the whole file. Each run uses a new key; "
		"with --key, files can be compared with each other. Keep the key and the map for "
		"yourself.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.own_output = true,
	.only = ".tide,.json,.gz,.pickle,.pkl",
	.run = run,
};
