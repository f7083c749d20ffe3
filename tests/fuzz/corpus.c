// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs a fuzz target over a folder of kept inputs, for builds without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run_file(const char *dir, const char *name)
{
	char path[4096];
	static uint8_t buf[1 << 20];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");
	if (!f)
		return 0;
	size_t n = fread(buf, 1, sizeof buf, f);
	fclose(f);
	uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees reads past the end */
	for (size_t i = 0; i < n; i++)
		exact[i] = buf[i];
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 1;
}

int main(int argc, char **argv)
{
	int ran = 0;
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		for (struct dirent *e; d && (e = readdir(d));)
			if (e->d_name[0] != '.')
				ran += run_file(argv[i], e->d_name);
		if (d)
			closedir(d);
	}
	printf("%d inputs\n", ran);
	return ran ? 0 : 1;
}
