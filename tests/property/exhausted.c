// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Makes every allocation of an import fail, one per attempt, over the kept inputs of importers: the
 * result is a complete model, TIDE_ENOMEM, or the input's own error; nothing leaks or crashes.
 *
 *     exhausted FOLDER... */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import.h"

static int failures;

static tide_code load(const char *path, uint64_t fail_at, size_t *spans, size_t *allocs,
		      uint64_t *count)
{
	const tide_load_options opt = { .threads = 1, .single = true };
	tide_error err = { 0 };
	tide_model *m = NULL;
	tide__mem_fail_at(fail_at);
	tide_code rc = tide__load(path, &opt, &m, &err);
	*count = tide__mem_count();
	tide__mem_fail_at(0);
	*spans = m ? m->spans.n : 0;
	*allocs = m ? m->allocs.n : 0;
	tide__model_free(m);
	return rc;
}

static void check(const char *path)
{
	enum { MOST = 3000 };
	size_t spans, allocs, s, a;
	uint64_t all, count;
	tide_code want = load(path, 0, &spans, &allocs, &all);
	uint64_t step = all > MOST ? all / MOST : 1;
	for (uint64_t n = 1; n <= all; n += step) {
		tide_code rc = load(path, n, &s, &a, &count);
		bool same = rc == want && s == spans && a == allocs;
		if (same || rc == TIDE_ENOMEM)
			continue;
		fprintf(stderr, "%s: allocation %llu of %llu failed: code %d, %zu spans\n", path,
			(unsigned long long)n, (unsigned long long)all, rc, s);
		failures++;
		return;
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		if (!d) {
			perror(argv[i]);
			return 1;
		}
		for (struct dirent *e; (e = readdir(d));) {
			char path[4096];
			snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
			if (e->d_name[0] != '.')
				check(path);
		}
		closedir(d);
	}
	return failures != 0;
}
