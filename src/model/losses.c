// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of losses. A key without a row is still shown, as words, so that a new one is never
 * hidden. */
#include "model/losses.h"

#include <string.h>

static const tide_loss_kind kinds[] = {
	{ "events", "events lost while recording: %s", .part = true },
	{ "rings_cut", "the ring file was truncated while recording: later events are missing",
	  .part = true },
	{ "window_events",
	  "events before the part that was kept (run --max-size), left out: %s; blocks "
	  "that were live are carried over",
	  .part = true },
	{ "window_blocks", "live blocks that could not be carried over, for lack of memory: %s",
	  .part = true },
	{ "left_out_events", "only the beginning was read, for lack of memory; events left out: %s",
	  .part = true },
	{ "missing_events", "recorded events missing from the file: %s", .part = true },
	{ "missing_slots", "ring slots missing from the file: %s", .part = true },
	{ "truncated_at", "the file is truncated at byte %s%t; everything before it was read",
	  .place = true, .why = "damage", .covered_by = { "compressed_at" }, .part = true,
	  .damaged = true },
	{ "truncated_traces", "truncated traces: %s", .part = true, .damaged = true },
	{ "corrupt_traces", "damaged traces: %s", .part = true, .damaged = true },
	{ "compressed_at",
	  "the compressed data cannot be read from byte %s on%t; everything before it "
	  "was read",
	  .place = true, .why = "compressed_input", .part = true, .damaged = true },
	{ "compressed_traces", "traces whose compressed data cannot be read to the end: %s",
	  .part = true, .damaged = true },
	{ "corrupt_at", "the file is damaged at byte %s%t; everything before it was read",
	  .place = true, .why = "damage", .part = true, .damaged = true },
	{ "gap_at", "the file is damaged at byte %s%t; everything before and after it was read",
	  .place = true, .why = "gap_damage", .part = true, .damaged = true },
	{ "gap_bytes", "damaged bytes skipped: %s" },
	{ "head", "%s" },
	{ "not_closed",
	  "the recording was not closed and there is no ring file beside it: its last "
	  "events are missing",
	  .covered_by = { "compressed_at" }, .part = true, .damaged = true },
	{ "repeated_chunks", "chunks left out because they repeat others: %s" },
	{ "unknown_chunks", "chunks of an unknown kind, skipped: %s" },
	{ "unknown_records", "records of an unknown kind, skipped: %s" },
	{ "unread_records", "unreadable records: %s" },
	{ "free_unknown", "frees of unallocated addresses, left out: %s" },
	{ "free_twice", "frees of addresses that were freed already, left out: %s" },
	{ "alloc_reused", "allocations at addresses still in use (a free is missing): %s" },
	{ "alloc_overlaps", "allocations that overlap another live one: %s" },
	{ "python_calls_cut", "Python calls that end after their caller, cut to its end: %s" },
	{ "graph_rows_unmatched",
	  "device rows of graph replays without a known call that captured them, left with "
	  "their launch: %s" },
	{ "op_begin", "ops whose begin was lost: %s" },
	{ "op_end", "ends without an op, left out: %s" },
	{ "undefined_ids", "uses of undefined names, pools, ...: %s" },
	{ "tensor_unknown", "tensors at unallocated addresses, left out: %s" },
	{ "view_outside", "views that reach beyond their allocation, left out: %s" },
	{ "clock_uncalibrated", "the clock has no calibration points: times are estimates" },
	{ "history_wrapped",
	  "allocations and segments whose events are no longer in the history (it "
	  "wrapped or was restarted): %s",
	  .part = true },
	{ "no_history",
	  "the snapshot has no history, only the final state; allocations with unknown "
	  "past: %s",
	  .part = true },
	{ "times_unknown",
	  "events without a time: %s; their order is correct, and the times shown only "
	  "count them, 1 ns each" },
	{ "geometry_mismatch", "blocks in the final state that differ from the recorded ones: %s" },
	{ "geometry_repairs", "events that contradict the allocator's rules: %s" },
	{ "unknown_actions", "events of an unknown kind, skipped: %s" },
	{ "trailing_bytes", "bytes after the end of the pickle, left out: %s" },
	{ "entries_without_time", "ops without a usable time, shown at that of the op before: %s" },
	{ "annotations", "annotations that could not be placed: %s" },
	{ "bad_lines", "lines of the log that are not records, left out: %s" },
	{ "bad_payloads", "records of the log with unreadable contents, left out: %s" },
	{ "unended_stages", "compile stages without an end in the log: %s" },
	{ "lone_ends", "ends of compile stages that never began, left out: %s" },
	{ "unread_packets", "packets of kinds that are not read: %s" },
	{ "untimed_ops", "ops without a duration, left out: %s" },
	{ "dropped_packets", "gaps where the producer lost packets: %s", .part = true },
	{ "bad_samples",
	  "samples of a profile with a negative or impossible number of bytes or blocks, left out: "
	  "%s" },
	{ "merged_blocks",
	  "blocks counted together with another of their stack (over 262,144 are alive): %s; "
	  "bytes are complete" },
	{ "bad_records", "records without a usable time or size, left out: %s" },
	{ "bad_rows",
	  "rows of the database with impossible times or values of another type, left out: %s" },
	{ "repeated_lifecycle_events",
	  "events that repeat a tensor's birth or death, left out: %s" },
	{ "operations_without_duration",
	  "operations without an end, drawn up to the next one: %s" },
	{ "tensor_lifecycles_left_out", "tensors whose lifetimes the profile leaves out: %s" },
	{ "no_cupti", "the GPU was not recorded: %s" },
	{ "gpu_aside", "%s" },
	{ "device_records", "GPU records dropped by CUPTI: %s" },
	{ "virtual_memory",
	  "cuMemCreate calls whose bytes are unknown: %s; `device` counts them as "
	  "context or unexplained" },
	{ "device_log", "unreadable pieces of GPU records: %s" },
	{ "paused",
	  "times that recording was switched off (tidemark ctl, --duration or a signal): %s" },
	{ "own_allocator", "the host heap was not recorded: %s" },
	{ "tt_ops_without_block",
	  "operations without a memory state in the log (lost lines?): %s; they are left "
	  "out" },
	{ "tt_no_blocks",
	  "the log has no memory states: set TT_RUNTIME_MEMORY_LOG_LEVEL=operation "
	  "(older builds: setMemoryLogLevel) and use a build with -DTT_RUNTIME_DEBUG=ON" },
	{ "tt_no_op_lines", "the log has no operation lines, names come from memory states: set "
			    "TTMLIR_RUNTIME_LOGGER_LEVEL=DEBUG" },
	{ "tt_partial_blocks", "memory states with missing lines: %s" },
	{ "tt_cut_lines", "truncated lines of the runtime: %s" },
	{ "tt_loose_states", "lines of memory states that belong to no operation, left out: %s" },
	{ "tt_unmatched", "programs and states that do not match the preceding lines: %s" },
	{ "tt_unfinished", "programs and module dumps that the log does not finish: %s; it is cut "
			   "off, or the program failed" },
	{ "tt_unreadable_ops", "operations with unreadable text: %s" },
	{ "tt_modules_left_out", "module dumps left out, more than 256 MiB of them: %s" },
	{ "tt_long_lines", "lines of more than 16 MiB, read in parts: %s" },
	{ "tt_results_only",
	  "read from JSON files, which have no deallocates: the change of an operation "
	  "includes those that followed it (operations: %s)" },
	{ "unreported_devices",
	  "devices whose allocators report nothing to PyTorch's profiler, so their "
	  "allocations are missing: %s" },
	{ "absurd_durations" },
	{ "bad_counter_values" },
	{ "bad_durations" },
	{ "bad_memory_events" },
	{ "bad_timestamps" },
	{ "begins_without_end" },
	{ "clock_points" },
	{ "compressed_input", .covered_by = { "compressed_at" } },
	{ "compressed_input_traces", .covered_by = { "compressed_traces" } },
	{ "damage", .covered_by = { "truncated_at", "corrupt_at", "compressed_at" } },
	{ "damage_traces", .covered_by = { "truncated_traces", "corrupt_traces" } },
	{ "damaged_events" },
	{ "definitions_bytes" },
	{ "ends_without_begin" },
	{ "events_not_objects" },
	{ "events_of_unknown_phase" },
	{ "events_without_phase" },
	{ "flows_unmatched" },
	{ "frees_missing" },
	{ "frees_of_another_size" },
	{ "gap_damage", .covered_by = { "gap_at" } },
	{ "gaps", .covered_by = { "gap_at" } },
	{ "garbage_bytes" },
	{ "memory_total_contradicts" },
	{ "metadata_dropped" },
	{ "missing_durations" },
	{ "negative_durations" },
	{ "numbers_over_64_bits" },
	{ "operation_log_left_out" },
	{ "operation_runs_left_out" },
	{ "operations_left_out" },
	{ "ring_damage" },
	{ "ring_slots" },
	{ "segment_free_unknown" },
	{ "segment_reused" },
	{ "snapshots_left_out" },
};

const char *tide__loss_key(const char *key)
{
	static const char prefix[] = "loss.";
	return strncmp(key, prefix, sizeof prefix - 1) ? NULL : key + sizeof prefix - 1;
}

bool tide__loss_at(const tide_model *m, size_t i, tide_loss *out)
{
	const char *key = tide__loss_key(tide__text(m, m->facts.key[i], NULL));
	if (!key || (!m->facts.text[i].i && !m->facts.number[i]))
		return false;
	*out = (tide_loss){ .key = key, .number = m->facts.number[i] };
	if (m->facts.text[i].i)
		out->text = tide__text(m, m->facts.text[i], &out->n);
	return true;
}

const tide_loss_kind *tide__loss_kind_at(size_t i)
{
	return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

const tide_loss_kind *tide__loss_kind_of(const char *key)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].key, key))
			return &kinds[i];
	return NULL;
}

bool tide__loss_is_place(const char *key)
{
	const tide_loss_kind *k = tide__loss_kind_of(key);
	return k && k->place;
}

bool tide__loss_is_damage(const char *key)
{
	static const char end[] = "_traces";
	const tide_loss_kind *k = tide__loss_kind_of(key);
	size_t n = strlen(key), tail = sizeof end - 1;
	char place[64];
	if (!k && n > tail && n < sizeof place && !strcmp(key + n - tail, end)) {
		memcpy(place, key, n - tail);
		memcpy(place + n - tail, "_at", 4);
		k = tide__loss_kind_of(place);
	}
	return k && k->damaged;
}

bool tide__lacks_part(const tide_model *m)
{
	for (size_t i = 0; i < m->facts.n; i++) {
		tide_loss l;
		const tide_loss_kind *k =
			tide__loss_at(m, i, &l) ? tide__loss_kind_of(l.key) : NULL;
		if (k && k->part)
			return true;
	}
	return false;
}
