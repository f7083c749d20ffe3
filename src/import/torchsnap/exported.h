// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Additions of our own exports to a snapshot (render/export/snapshot.c): devices for which torch's
 * format has no place, and sampled reserved bytes. Two texts among the allocator's settings:
 *
 *     tidemark_devices    "1=cpu:0 2=tt:0"              number in the file = kind:index
 *     tidemark_reserved   "0:1700000000000000:4096 "    number:microseconds:bytes, by time
 *
 * Parts that cannot be read are left out. */
#ifndef TIDE_IMPORT_TORCHSNAP_EXPORTED_H
#define TIDE_IMPORT_TORCHSNAP_EXPORTED_H

#include "import/torchsnap/snapshot.h"

/* Completes a replayed model; `base_us` is t = 0. Returns false if memory runs out. */
bool tide__snap_restore_exported(const tide_snap *s, tide_model *m, int64_t base_us);

#endif
