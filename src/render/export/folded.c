// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Folded stacks: "a;b;c 123" per line, the value in ns or bytes. FlameGraph, speedscope and
 * Perfetto read them. ";" in names becomes ":", line breaks and other control characters become
 * spaces, so that the text is safe on a terminal. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "render/export/export.h"
#include "render/report/ops/flame.h"
#include "render/text/format.h"

/* Returns true if a terminal would interpret the character. */
static bool is_control(const char *s, size_t len)
{
	return len ? tide__is_invisible(s, len) : (unsigned char)s[0] < 0xa0;
}

/* Writes a path as UTF-8: a bad byte 0xNN becomes U+00NN. */
static void put(FILE *out, const char *s)
{
	size_t len, n = strlen(s);
	for (const char *end = s + n; s < end; s += len ? len : 1) {
		len = tide__utf8_len(s, (size_t)(end - s));
		char bad[4];
		if (is_control(s, len))
			fputc(' ', out);
		else if (len)
			fwrite(s, 1, len, out);
		else
			fwrite(bad, 1, tide__utf8_put((unsigned char)*s, bad), out);
	}
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	tide_flame *f;
	tide_long longs = { 0 };
	tide_code rc = tide__find_flame(m, &opt->flame, &f, err);
	for (uint32_t i = 0; rc == TIDE_OK && i < f->nodes.n; i++) {
		if (!f->nodes.self[i])
			continue;
		char *path = i ? tide__flame_path(f, i, &longs) : tide__strndup("[outside]", 9);
		if (!path) {
			rc = tide__nomem(err);
			break;
		}
		put(out, path);
		fprintf(out, " %" PRIu64 "\n", f->nodes.self[i]);
		tide__free(path);
	}
	if (rc == TIDE_OK) {
		st->empty = !f->nodes.total[0];
		rc = tide__export_end(false, ferror(out), err);
	}
	st->cut_texts = longs.cut;
	tide__long_free(&longs);
	tide__flame_free(f);
	return rc;
}

const tide_exporter tide__export_folded = {
	.name = "folded",
	.what = "folded stacks, one path a line: FlameGraph, speedscope, Perfetto",
	.suffixes = ".folded,.txt",
	.write = write,
};
