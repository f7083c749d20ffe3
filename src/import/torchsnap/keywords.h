// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The words of a memory snapshot: keys of its dicts, and enumerated values. */
#ifndef TIDE_IMPORT_TORCHSNAP_KEYWORDS_H
#define TIDE_IMPORT_TORCHSNAP_KEYWORDS_H

/* clang-format off */
#define TIDE_SNAP_WORDS(W)                                                                         \
	/* actions: in the order of tide_snap_action */                                            \
	W(alloc) W(free_requested) W(free_completed) W(segment_alloc) W(segment_free)              \
	W(segment_map) W(segment_unmap) W(snapshot) W(oom) W(user_defined) W(annotate)             \
	/* top level */                                                                            \
	W(segments) W(device_traces) W(allocator_settings) W(external_annotations)                 \
	W(host_segments) W(host_traces)                                                            \
	/* events; block_size is in our own exports only */                                        \
	W(action) W(addr) W(size) W(stream) W(time_us) W(frames) W(compile_context)                \
	W(user_metadata) W(device_free) W(pool_id) W(device) W(block_size)                         \
	/* segments and blocks */                                                                  \
	W(address) W(total_size) W(allocated_size) W(active_size) W(requested_size)                \
	W(segment_type) W(segment_pool_id) W(is_expandable) W(blocks) W(state) W(history)          \
	W(real_size) W(large) W(small) W(active_allocated) W(active_pending_free)                  \
	W(active_awaiting_free) W(inactive)                                                        \
	/* frames */                                                                               \
	W(name) W(filename) W(line) W(fx_node_op) W(fx_node_name) W(fx_original_trace)             \
	W(fx_node_info)                                                                            \
	/* annotations */                                                                          \
	W(stage) W(START) W(END)                                                                   \
	/* settings */                                                                             \
	W(max_split_size) W(expandable_segments) W(roundup_power2_divisions)
#define TIDE_SNAP_NO_CONTEXT "N/A" /* compile_context outside of compilation */
/* clang-format on */

enum {
#define W(word) K_##word,
	TIDE_SNAP_WORDS(W)
#undef W
		K_no_context,
	K_N
};

#endif
