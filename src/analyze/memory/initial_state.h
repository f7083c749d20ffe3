// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory events that rebuild the state from before the recording.
 *
 * A trace that begins with live memory begins with events for it: first the segments, then the
 * blocks in them. A position between two of them is a state that never existed, so reports take the
 * end of such a run instead. */
#ifndef TIDE_ANALYZE_MEMORY_INITIAL_STATE_H
#define TIDE_ANALYZE_MEMORY_INITIAL_STATE_H

#include "model/model.h"

/* Returns true if memory event i adds an allocation or a segment from before the recording. */
bool tide__is_initial(const tide_model *m, size_t i);

/* Returns the first position at or after `position` that is not followed by such an event. O(events
 * skipped). */
uint64_t tide__after_initial(const tide_model *m, uint64_t position);

#endif
