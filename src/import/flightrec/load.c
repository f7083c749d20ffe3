// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The importer of Flight Recorder dumps: input and recognition. A file is read completely, at most
 * 1 GiB. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rank_in_name.h"
#include "import/flightrec/flightrec.h"
#include "import/source.h"

#define BYTES_MOST ((size_t)1 << 30)

static bool is_json(const uint8_t *data, size_t n)
{
	size_t p = 0;
	while (p < n && (data[p] == ' ' || data[p] == '\n' || data[p] == '\r' || data[p] == '\t'))
		p++;
	return p < n && data[p] == '{';
}

tide_code tide__flightrec_import(const uint8_t *data, size_t n, int64_t rank, tide_model *m,
				 tide_error *err)
{
	/* each list is converted once, so lists that share others are the only way to have more */
	fr_dump d = { .m = m, .err = err, .most_dims = 4 * (uint64_t)n };
	tide_code rc = tide__fr_begin(&d);
	if (rc == TIDE_OK)
		rc = is_json(data, n) ? tide__fr_read_json(&d, (const char *)data, n)
				      : tide__fr_read_pickle(&d, data, n);
	if (rc == TIDE_OK &&
	    !tide__fact_text(m, "flightrec.container", is_json(data, n) ? "json" : "pickle"))
		rc = tide__nomem(err);
	if (rc == TIDE_OK)
		rc = tide__fr_build(&d, rank);
	tide__free(d.v);
	tide__free(d.groups);
	return rc;
}

/* "nccl_trace_rank_3", "dumps/trace_3.pickle": without the word rank, the number that ends the
 * name. */
static int64_t rank_of(const char *path)
{
	int64_t rank = tide__rank_in_name(path);
	const char *name = strrchr(path, '/'), *end, *p;
	name = name ? name + 1 : path;
	end = name + strcspn(name, ".");
	for (p = end; p > name && p[-1] >= '0' && p[-1] <= '9';)
		p--;
	return rank >= 0 || p == end || end - p > 8 ? rank : strtol(p, NULL, 10);
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, BYTES_MOST, 0, &in, err);
	if (rc == TIDE_OK)
		rc = tide__flightrec_import(in.data, in.n, rank_of(path), m, err);
	tide__free(in.data);
	return rc;
}

static int sniff(const uint8_t *h, size_t n)
{
	static const char *const words[] = { "pg_config", "pg_status", "collective_seq_id",
					     "profiling_name", "nccl_comm_state" };
	int found = 0;
	if (n < 3 || (h[0] != 0x80 && !is_json(h, n)))
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		found += tide__head_contains(h, n, words[i]);
	return found > 1 ? 97 : found ? 60 : 0;
}

const tide_importer tide__import_flightrec = {
	.name = "flightrec",
	.what = "Flight Recorder dump of torch.distributed (pickle or JSON)",
	.sniff = sniff,
	.load = load,
};
