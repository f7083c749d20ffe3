// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Self time. Each moment of a lane belongs to one span: the open span that began last. In a
 * properly nested lane that is the innermost span, and self is the time that no child covers. If
 * spans cross, the common time belongs to the later one, so that the self times of a lane add up to
 * the time that its spans cover.
 *
 * Begin every span that counts in ascending order, then end. Each call reports the time it
 * assigns. */
#ifndef TIDE_ANALYZE_COMMON_SELF_TIME_H
#define TIDE_ANALYZE_COMMON_SELF_TIME_H

#include "model/model.h"

/* Called with `ns` > 0 of additional self time of `span`. */
typedef void tide_self_fn(void *user, uint32_t span, int64_t ns);

typedef struct tide_self_times {
	const tide_model *m; /* borrowed */
	tide_self_fn *add;
	void *user;
	uint32_t *top;	 /* owned; per lane: open span begun last */
	uint32_t *below; /* owned; per span: the one under it */
	int64_t *now;	 /* owned; per lane: time before this is assigned */
} tide_self_times;

/* Returns false if memory runs out. tide__self_free accepts that and a zeroed one. */
bool tide__self_init(tide_self_times *t, const tide_model *m, tide_self_fn *add, void *user);
void tide__self_begin(tide_self_times *t, uint32_t span);
void tide__self_end(tide_self_times *t);
void tide__self_free(tide_self_times *t);

#endif
