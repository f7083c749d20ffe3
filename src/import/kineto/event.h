// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An event while it is being parsed. */
#ifndef TIDE_IMPORT_KINETO_EVENT_H
#define TIDE_IMPORT_KINETO_EVENT_H

#include "import/kineto/kineto_impl.h"
#include "import/json/number.h"
#include "import/kineto/keywords.h"

typedef struct kin_event {
	size_t at;   /* its `{` */
	size_t args; /* position of its arguments' `{`; 0 = none, or already parsed */
	int64_t ts, dur;
	jsonr_slice name, pid, tid, id, cat_text, ts_at, dur_at;
	uint32_t keys, keys_at_dur;  /* members read so far; members read before dur */
	kin_shape *middle;	     /* the cached text whose pid and tid are known, or NULL */
	uint8_t ts_state, dur_state; /* jsonr_num; NOT + 1 .. = missing, see KIN_MISSING */
	uint8_t cat;		     /* TIDE_CAT_* or KIN_CAT_SKIP */
	char ph;		     /* 0 = none yet */
	bool has_cat;
	bool counter_args; /* every argument is a value: ph C, or a profiler range */
	size_t attr0;	   /* its first attribute in c->out->attrs */
	uint64_t has;	   /* bit per kin_key: num[key] is set */
	int64_t num[KIN_N_KEYS];
	jsonr_text *label; /* KIN_KEY_NAME or LABELS of a metadata event */
} kin_event;

#define KIN_MISSING 7

static inline bool kin_has(const kin_event *e, kin_key k)
{
	return e->has >> k & 1;
}

/* Reads the arguments at p into e. Returns the byte after them, or JSONR_FAIL. ph and cat must be
 * known. */
size_t tide__kineto_read_args(kin_parser *c, kin_event *e, size_t p);

#endif
