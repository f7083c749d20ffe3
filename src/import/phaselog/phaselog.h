// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports memory summaries from a program's log, with any other lines around and between them.
 *
 *     === Memory Usage Summary ===
 *     --- FORWARD_PASS ---
 *       DRAM: Segment Peak 996.35 MB, Allocations ... MB, Deallocations ... MB, Segment Change ...
 *       DRAM: Cumulative Peak 6568.36 MB, Cumulative Current 5764.96 MB
 *       L1: Peak CB 0.00 MB, Peak Buffer 0.00 MB, Peak Total 0.00 MB
 *     === Final Totals ===
 *     Overall DRAM Peak: 8278.65 MB, Final DRAM Usage: 7428.04 MB
 *
 * The log is streamed, plain or packed (gzip, zstd): memory use depends on the summaries, not on
 * the log's size. A summary may begin anywhere. Colours and the prefixes of mpirun
 * ("[1,0]<stdout>:") are dropped; the lines of several ranks may be mixed. A phase with several
 * memories ("cuda:0 DRAM:", "heap:") gives one summary each. "Total parameters: N" and "Available
 * Device Memory: N MB" apply to the summaries after them, or to all if they come only at the end of
 * the log. The last line before a summary is its title. docs/formats/phase-log.md has the grammar.
 * */
#ifndef TIDE_IMPORT_PHASELOG_PHASELOG_H
#define TIDE_IMPORT_PHASELOG_PHASELOG_H

#include <tidemark/error.h>

#include "import/source.h"
#include "model/phase_summary.h"

/* Returns true if the file begins like text, so that it may be a log. (No trace format does:
 * JSON begins with a bracket.) Returns false if it cannot be read. */
bool tide__phaselog_is_text(const char *path);
/* Returns whether a summary begins anywhere in the file; reads up to the first. */
bool tide__phaselog_has_any(const char *path);

/* Reads every summary of a log. Returns TIDE_ENOTFOUND if there is none; TIDE_EFORMAT at an
 * impossible size; TIDE_ELIMIT beyond 1,000,000 phases. *out holds the summaries read so far, also
 * on failure: free it. A summary without totals has whole = false. */
tide_code tide__phaselog_load(const char *path, tide_phase_summaries *out, tide_error *err);
tide_code tide__phaselog_read(tide_source *s, tide_phase_summaries *out, tide_error *err);

#endif
