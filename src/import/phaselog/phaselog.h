// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory summaries in a program's log: text with any other lines around and between them.
 *
 *     === Memory Usage Summary ===
 *     --- FORWARD_PASS ---
 *       DRAM: Segment Peak 996.35 MB, Allocations ... MB, Deallocations ... MB, Segment Change +192.95 MB
 *       DRAM: Cumulative Peak 6568.36 MB, Cumulative Current 5764.96 MB
 *       L1: Peak CB 0.00 MB, Peak Buffer 0.00 MB, Peak Total 0.00 MB
 *     === Final Totals ===
 *     Overall DRAM Peak: 8278.65 MB, Final DRAM Usage: 7428.04 MB
 *
 * The log is streamed, plain or packed (gzip, zstd): memory follows the summaries, not the log. A
 * summary may begin anywhere. Colours and the prefixes of mpirun ("[1,0]<stdout>:") are dropped;
 * the lines of several ranks may be mixed. A phase of several memories ("cuda:0 DRAM:", "heap:")
 * gives a summary each. "Total parameters: N" and "Available Device Memory: N MB" count for the
 * summaries after them; those of a log that has them only later, for all. The last line before a
 * summary is its title. docs/formats/phase-log.md has the grammar. */
#ifndef TIDE_IMPORT_PHASELOG_PHASELOG_H
#define TIDE_IMPORT_PHASELOG_PHASELOG_H

#include <tidemark/error.h>

#include "import/source.h"
#include "model/phase_summary.h"

/* Does the file begin as text does, so that it may be a log? (No trace format of ours does: JSON
 * begins with a bracket.) False as well if it cannot be read. */
bool tide__phaselog_is_text(const char *path);
/* Whether a summary begins anywhere in it; reads up to the first. */
bool tide__phaselog_has_any(const char *path);

/* Read every summary of a log. TIDE_ENOTFOUND if there is none; TIDE_EFORMAT at a size that cannot
 * be; TIDE_ELIMIT past a million phases. *out holds what was read in any case: free it. A summary
 * whose totals never came has whole = false. */
tide_code tide__phaselog_load(const char *path, tide_phase_summaries *out, tide_error *err);
tide_code tide__phaselog_read(tide_source *s, tide_phase_summaries *out, tide_error *err);

#endif
