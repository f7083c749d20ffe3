// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The words the importer knows: argument names and categories, spelled as in traces. */
#ifndef TIDE_IMPORT_KINETO_KEYWORDS_H
#define TIDE_IMPORT_KINETO_KEYWORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/model.h"

#define KIN_BIT(cat) (1u << TIDE_CAT_##cat)
#define KIN_COPY     (KIN_BIT(MEMCPY) | KIN_BIT(MEMSET))
#define KIN_COLL     (1u << 31) /* becomes an attribute only beside "Collective name" */

/* id, name, span categories for which it becomes an attribute */
#define KIN_KEYS(X)                                                        \
	X(EXT, "External id", 0)                                           \
	X(EXT_OLD, "external id", 0)                                       \
	X(CORR, "correlation", 0)                                          \
	X(DEVICE, "device", 0)                                             \
	X(STREAM, "stream", KIN_BIT(SYNC))                                 \
	X(CORR_XLA, "correlation_id", 0)                                   \
	X(COPY_XLA, "memcpy_details", KIN_BIT(OTHER))                      \
	X(SEQ, "Sequence number", 0)                                       \
	X(FWD, "Fwd thread id", 0)                                         \
	X(PY_ID, "Python id", 0)                                           \
	X(PY_PARENT, "Python parent id", 0)                                \
	X(BYTES, "bytes", KIN_COPY | KIN_BIT(RUNTIME))                     \
	X(SIZE, "size", KIN_BIT(RUNTIME))                                  \
	X(KIND, "kind", KIN_COPY | KIN_BIT(RUNTIME))                       \
	X(BANDWIDTH, "memory bandwidth (GB/s)", KIN_COPY)                  \
	X(SYNC_KIND, "cuda_sync_kind", KIN_BIT(SYNC))                      \
	X(WAIT_STREAM, "wait_on_stream", KIN_BIT(SYNC))                    \
	X(WAIT_EVENT, "wait_on_cuda_event_id", KIN_BIT(SYNC))              \
	X(WAIT_RECORD, "wait_on_cuda_event_record_corr_id", KIN_BIT(SYNC)) \
	X(COLL_NAME, "Collective name", KIN_COLL)                          \
	X(COLL_IN, "In msg nelems", KIN_COLL)                              \
	X(COLL_OUT, "Out msg nelems", KIN_COLL)                            \
	X(COLL_SIZE, "Group size", KIN_COLL)                               \
	X(COLL_DTYPE, "dtype", KIN_COLL)                                   \
	X(COLL_IN_SPLIT, "In split size", KIN_COLL)                        \
	X(COLL_OUT_SPLIT, "Out split size", KIN_COLL)                      \
	X(COLL_PG, "Process Group Name", KIN_COLL)                         \
	X(COLL_PG_DESC, "Process Group Description", KIN_COLL)             \
	X(COLL_PG_RANKS, "Process Group Ranks", KIN_COLL)                  \
	X(COLL_PG_ID, "Process Group ID", KIN_COLL)                        \
	X(COLL_RANK, "Rank", KIN_COLL)                                     \
	X(COLL_START, "Global rank start", KIN_COLL)                       \
	X(COLL_STRIDE, "Global rank stride", KIN_COLL)                     \
	X(COLL_SRC, "Src Rank", KIN_COLL)                                  \
	X(COLL_DST, "Dst Rank", KIN_COLL)                                  \
	X(COLL_SEQ, "Seq", KIN_COLL)                                       \
	X(COLL_ASYNC, "Is asynchronized op", KIN_COLL)                     \
	X(MEM_BYTES, "Bytes", 0)                                           \
	X(MEM_ADDR, "Addr", 0)                                             \
	X(MEM_TYPE, "Device Type", 0)                                      \
	X(MEM_DEVICE, "Device Id", 0)                                      \
	X(MEM_TOTAL, "Total Allocated", 0)                                 \
	X(MEM_RESERVED, "Total Reserved", 0)                               \
	X(NAME, "name", 0)                                                 \
	X(LABELS, "labels", 0)                                             \
	X(TRACK_OF, "tidemark_tid", 0)                                     \
	X(MARK, "tidemark_mark", 0)                                        \
	X(VALUE, "value", 0)                                               \
	X(OPS, "Op count", 0)

/* Arguments that TIDE_WANT_SHAPES or TIDE_WANT_LAUNCH keeps: name, category of the spans. Their numbers
 * follow those of the keys, so that events need no space for them. */
#define KIN_SHAPES(X)            \
	X("Input Dims", OP)      \
	X("Input type", OP)      \
	X("Input Strides", OP)   \
	X("Concrete Inputs", OP) \
	X("kernel", RUNTIME)
#define KIN_LAUNCH(X)                     \
	X("grid", KERNEL)                 \
	X("block", KERNEL)                \
	X("shared memory", KERNEL)        \
	X("registers per thread", KERNEL) \
	X("est. achieved occupancy %", KERNEL)

typedef enum kin_key {
	KIN_KEY_NONE,
#define X(id, text, cats) KIN_KEY_##id,
	KIN_KEYS(X)
#undef X
		KIN_N_KEYS
} kin_key;

#define KIN_CAT_SKIP 255 /* a row that repeats the whole window */

/* category in the trace, TIDE_CAT_* */
#define KIN_CATS(X)                                 \
	X("cpu_op", TIDE_CAT_OP)                    \
	X("Operator", TIDE_CAT_OP)                  \
	X("user_annotation", TIDE_CAT_USER)         \
	X("python_function", TIDE_CAT_PYTHON)       \
	X("cuda_runtime", TIDE_CAT_RUNTIME)         \
	X("hip_runtime", TIDE_CAT_RUNTIME)          \
	X("Runtime", TIDE_CAT_RUNTIME)              \
	X("mtia_runtime", TIDE_CAT_RUNTIME)         \
	X("xpu_runtime", TIDE_CAT_RUNTIME)          \
	X("privateuse1_runtime", TIDE_CAT_RUNTIME)  \
	X("cuda_driver", TIDE_CAT_DRIVER)           \
	X("xpu_driver", TIDE_CAT_DRIVER)            \
	X("privateuse1_driver", TIDE_CAT_DRIVER)    \
	X("kernel", TIDE_CAT_KERNEL)                \
	X("Kernel", TIDE_CAT_KERNEL)                \
	X("gpu_memcpy", TIDE_CAT_MEMCPY)            \
	X("Memcpy", TIDE_CAT_MEMCPY)                \
	X("gpu_memset", TIDE_CAT_MEMSET)            \
	X("Memset", TIDE_CAT_MEMSET)                \
	X("mtia_ccp_events", TIDE_CAT_MTIA)         \
	X("gpu_user_annotation", TIDE_CAT_GPU_USER) \
	X("cuda_sync", TIDE_CAT_SYNC)               \
	X("overhead", TIDE_CAT_OVERHEAD)            \
	X("cuda_profiler_range", TIDE_CAT_COUNTERS) \
	X("Trace", KIN_CAT_SKIP)

typedef struct kin_word { /* a slot of the table of known words */
	uint64_t head;	  /* its first eight bytes, zeros after its end */
	const char *text;
	uint32_t n; /* 0 = free slot */
	uint32_t value;
} kin_word;

enum { KIN_SLOTS = 256 };
typedef struct kin_words {
	kin_word slots[KIN_SLOTS];
} kin_words;

/* The tables; built by the first caller, shared by all. */
const kin_words *tide__kineto_key_words(void);
const kin_words *tide__kineto_cat_words(void);

static inline unsigned kin_word_slot(const char *s, size_t n)
{
	return ((unsigned)n * 37 + (unsigned char)s[0] * 5 + (unsigned char)s[n - 1] * 11) %
	       KIN_SLOTS;
}

/* Returns the value of a word, or 0. s[0 .. 8) must be readable. */
static inline unsigned kin_word_find(const kin_words *w, const char *s, size_t n)
{
	uint64_t head;
	if (!n)
		return 0;
	memcpy(&head, s, sizeof head);
	if (n < 8)
		head &= (UINT64_C(1) << (8 * n)) - 1;
	for (unsigned at = kin_word_slot(s, n); w->slots[at].n; at = (at + 1) % KIN_SLOTS) {
		const kin_word *k = &w->slots[at];
		if (k->n == n && k->head == head && (n <= 8 || !memcmp(k->text + 8, s + 8, n - 8)))
			return k->value;
	}
	return 0;
}

/* Returns a key's name, and the categories for which it becomes an attribute. */
const char *tide__kineto_key_text(kin_key k, uint32_t *cats);

#endif
