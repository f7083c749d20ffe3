# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The methods of Trace that return reports. Made by tools/generate."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from . import reports


class ReportMethods:
    """A method for each report of the library. None is an option's default."""

    def _find_report(self, name: str, options: dict[str, Any], **traces: Any) -> Any:
        raise NotImplementedError

    def memory(self, *, device: str | None = None, at: str | None = None, top: int | None = None, buckets: int | None = None) -> reports.Memory:
        """Show memory in use over time, per device and pool.

        device: only this device, e.g. cuda:0
        at: at a time (1.5s, 200ms, 50%), after N memory events (#N), or at the peak
        top: largest allocations to show (default 10)
        buckets: points over time in JSON (default 200)
        """
        return self._find_report("memory", {"device": device, "at": at, "top": top, "buckets": buckets})  # type: ignore[no-any-return]

    def peak(
        self, *,
        group_by: Literal["op", "stack", "tensor", "role", "pool", "stream", "size", "frame", "module"] | None = None,
        device: str | None = None,
        pool: str | None = None,
        at: str | None = None,
        top: int | None = None,
    ) -> reports.Peak:
        """Show the allocations alive at the memory peak.

        group_by: what to group by (default: op; stack if more bytes have one; size if none has either)
        device: only this device, e.g. cuda:0
        pool: only this pool, e.g. L1, which a device's figures leave out
        at: at a time (1.5s, 200ms, 50%), after N memory events (#N), or at the peak
        top: groups to show, 0 = all; JSON has all unless given
        """
        return self._find_report("peak", {"group_by": group_by, "device": device, "pool": pool, "at": at, "top": top})  # type: ignore[no-any-return]

    def leaks(
        self, *,
        group_by: Literal["op", "stack", "tensor", "role", "pool", "stream", "size", "frame", "module"] | None = None,
        every: str | None = None,
        top: int | None = None,
        device: str | None = None,
    ) -> reports.Leaks:
        """Show allocations that grow from step to step.

        group_by: what to group by (default stack; else op, role or size)
        every: compare at equal intervals, e.g. 500ms or 5%, instead of the trace's steps
        top: rows to show, 0 = all (default 20)
        device: only this device, e.g. cuda:0
        """
        return self._find_report("leaks", {"group_by": group_by, "every": every, "top": top, "device": device})  # type: ignore[no-any-return]

    def stale(self, *, group_by: Literal["op", "stack", "frame"] | None = None, device: str | None = None, top: int | None = None) -> reports.Stale:
        """Show memory at the peak that is never used again.

        group_by: what to group by (default: op; frame if more bytes have a stack)
        device: only this device, e.g. cuda:0
        top: rows to show of each table, 0 = all; JSON has all unless given
        """
        return self._find_report("stale", {"group_by": group_by, "device": device, "top": top})  # type: ignore[no-any-return]

    def tt(self, *, skip_warmup: bool | None = None, skip_runs: int | None = None, rank: int | None = None) -> reports.Tt:
        """Report the memory of a Tenstorrent run op by op.

        skip_warmup: leave out everything up to the first "Got output shape:"
        skip_runs: leave out the first N runs of programs (default 0)
        rank: only this rank
        """
        return self._find_report("tt", {"skip_warmup": skip_warmup, "skip_runs": skip_runs, "rank": rank})  # type: ignore[no-any-return]

    def predict(
        self, size: int, others: Mapping[int, ReportMethods | str | os.PathLike[str]], *,
        capacity: int | str | None = None,
        at: int | Sequence[int] | None = None,
        device: str | None = None,
    ) -> reports.Predict:
        """Predict the memory of a program without a GPU, or of another batch size.

        capacity: find the largest size that fits, e.g. 40GiB (default: the device's memory, if recorded)
        at: predict this size (default: 2 and 4 times the largest); with a program: run it with {} replaced by N
        device: only this device, e.g. cuda:0
        """
        return self._find_report("predict", {"capacity": capacity, "at": at, "device": device}, size=size, others=others)  # type: ignore[no-any-return]

    def fit(self, *, budget: int | str | None = None, shards: int | None = None) -> reports.Fit:
        """Find the cheapest changes that make a program fit, without a GPU.

        budget: bytes that the allocator may reserve, e.g. 40GiB (default: the device's memory less its context)
        shards: show what shards over N ranks would save (ZeRO, FSDP), 1 = nothing (default 8)
        """
        return self._find_report("fit", {"budget": budget, "shards": shards})  # type: ignore[no-any-return]

    def diff(
        self, other: ReportMethods | str | os.PathLike[str], *,
        fail_if: str | Sequence[str] | None = None,
        no_lines: bool | None = None,
        device: str | None = None,
    ) -> reports.Diff:
        """Compare two traces; fail if a figure grew too much.

        fail_if: exit with status 3 when EXPR holds, e.g. 'peak>+2%'
        no_lines: match call stacks by function and file, ignoring lines
        device: memory of this device (default: the highest peak of each trace)
        """
        return self._find_report("diff", {"fail_if": fail_if, "no_lines": no_lines, "device": device}, other=other)  # type: ignore[no-any-return]

    def phases(self, *, device: str | None = None, by: Literal["mark", "annotation"] | None = None, sum: bool | None = None) -> reports.Phases:
        """Show memory per phase, between the program's marks.

        device: only this device, e.g. cuda:0
        by: what defines phases: marks, or ranges of record_function and NVTX (default mark)
        sum: one row per phase name: its phases summed, and the highest of their peaks
        """
        return self._find_report("phases", {"device": device, "by": by, "sum": sum})  # type: ignore[no-any-return]

    def device(self) -> reports.Device:
        """Show where a GPU's memory is: PyTorch, other libraries, context, other processes."""
        return self._find_report("device", {})  # type: ignore[no-any-return]

    def serving(
        self, *,
        role: str | Sequence[str] | None = None,
        sizes: str | None = None,
        capacity: int | str | None = None,
        outside: int | str | None = None,
        device: str | None = None,
        top: int | None = None,
    ) -> reports.Serving:
        """Show where an inference server's memory goes: weights, KV cache, CUDA graphs.

        role: allocations with such a frame on their stack are weights, kv_cache, workspace or activations; * matches any characters
        sizes: batch sizes of the captures, in their order
        capacity: memory of the device, e.g. 80GiB (default: as recorded)
        outside: device memory that is not PyTorch's: context, libraries, other processes (default: as recorded)
        device: only this device, e.g. cuda:0
        top: rows of each table, 0 = all
        """
        return self._find_report("serving", {"role": role, "sizes": sizes, "capacity": capacity, "outside": outside, "device": device, "top": top})  # type: ignore[no-any-return]

    def info(self) -> reports.Info:
        """Show the format and content of a trace."""
        return self._find_report("info", {})  # type: ignore[no-any-return]

    def heap(self, *, sort: Literal["peak", "left", "allocated", "calls", "temporary"] | None = None, top: int | None = None) -> reports.Heap:
        """Show the host heap: high-water mark, blocks not freed, temporary allocations.

        sort: order of the rows (default peak)
        top: rows to show, 0 = all; JSON has all unless given
        """
        return self._find_report("heap", {"sort": sort, "top": top})  # type: ignore[no-any-return]

    def advice(self) -> reports.Advice:
        """List every recommendation on a recording, with evidence and a score."""
        return self._find_report("advice", {})  # type: ignore[no-any-return]

    def allocator(self, *, at: str | None = None, buckets: int | None = None, no_advice: bool | None = None, device: str | None = None) -> reports.Allocator:
        """Show the allocator's segments and blocks, and how fragmented they are.

        at: at a time (1.5s, 200ms, 50%), after N memory events (#N), or at the peak
        buckets: points over time in JSON (default 200)
        no_advice: do not replay the trace for advice
        device: only this device, e.g. cuda:0
        """
        return self._find_report("allocator", {"at": at, "buckets": buckets, "no_advice": no_advice, "device": device})  # type: ignore[no-any-return]

    def oom(
        self, *,
        group_by: Literal["op", "stack", "tensor", "role", "pool", "stream", "size", "frame", "module"] | None = None,
        top: int | None = None,
        events: int | None = None,
        device: str | None = None,
    ) -> reports.Oom:
        """Explain why an allocation failed and what would have helped.

        group_by: what to group by (default stack; else op, role or size)
        top: groups to try freeing (default 10)
        events: events to explain in full, at most 64 (default 10)
        device: only this device, e.g. cuda:0
        """
        return self._find_report("oom", {"group_by": group_by, "top": top, "events": events, "device": device})  # type: ignore[no-any-return]

    def whatif(
        self, *,
        set: str | Sequence[str] | None = None,
        capacity: int | str | None = None,
        sweep: bool | None = None,
        device: str | None = None,
    ) -> reports.Whatif:
        """Replay a recording under other allocator settings or on a smaller device.

        set: an allocator setting
        capacity: memory available to the allocator, e.g. 40GiB (default: as recorded in the trace)
        sweep: also try a standard set of settings (the default without --set)
        device: only this device, e.g. cuda:0
        """
        return self._find_report("whatif", {"set": set, "capacity": capacity, "sweep": sweep, "device": device})  # type: ignore[no-any-return]

    def modules(self, *, sort: Literal["order", "forward", "backward", "alloc", "calls", "device"] | None = None, top: int | None = None) -> reports.Modules:
        """Show time and memory of each module of a model, forward and backward.

        sort: order of the rows (default: order, of the first call)
        top: rows to show, 0 = all; JSON has all unless given
        """
        return self._find_report("modules", {"sort": sort, "top": top})  # type: ignore[no-any-return]

    def ops(
        self, *,
        flat: bool | None = None,
        sort: Literal["order", "wall", "self", "count", "alloc", "free", "change", "peak", "name"] | None = None,
        top: int | None = None,
        depth: int | None = None,
        device: str | None = None,
        streams: bool | None = None,
        by: Literal["op", "shape"] | None = None,
    ) -> reports.Ops:
        """Show ops with their counts, times and memory changes.

        flat: one row per name instead of a tree
        sort: order of the rows (default: order, of first appearance; flat: wall)
        top: rows below each op, or of the table with --flat; 0 = all; JSON has all unless given
        depth: levels of the tree to show (default all)
        device: only this device, e.g. cuda:0
        streams: also device rows: kernels, copies, waits
        by: shape: one row per op and shapes, dtypes and strides of its inputs, with device time (default op)
        """
        return self._find_report("ops", {"flat": flat, "sort": sort, "top": top, "depth": depth, "device": device, "streams": streams, "by": by})  # type: ignore[no-any-return]

    def timeline(
        self, *,
        top: int | None = None,
        events: bool | None = None,
        min_duration_us: float | None = None,
        no_python: bool | None = None,
        no_runtime: bool | None = None,
    ) -> reports.Timeline:
        """Show when CPU and GPU were active, and their overlap.

        top: lanes to show, 0 = all; JSON has all
        events: with --json: every span too
        min_duration_us: leave out shorter spans (default 0)
        no_python: leave out Python functions
        no_runtime: leave out runtime and driver calls
        """
        return self._find_report("timeline", {"top": top, "events": events, "min_duration_us": min_duration_us, "no_python": no_python, "no_runtime": no_runtime})  # type: ignore[no-any-return]

    def critical_path(
        self, *,
        annotation: str | None = None,
        instance: int | str | None = None,
        data_loading: str | None = None,
        hta_compat: bool | None = None,
        top: int | None = None,
        path: bool | None = None,
    ) -> reports.CriticalPath:
        """Find the chain of work that determined the length of a step.

        annotation: the window is the spans whose name contains TEXT; '' = the whole trace (default: ProfilerStep if there are steps, else
            the whole trace)
        instance: which occurrence of the annotation, counted from 0 (default 0)
        data_loading: count spans whose name contains TEXT as data loading
        hta_compat: Holistic Trace Analysis's own numbers (microseconds, its rounding)
        top: rows to show, 0 = all; JSON has all unless given
        path: list every edge of the path
        """
        return self._find_report("critical-path", {"annotation": annotation, "instance": instance, "data_loading": data_loading, "hta_compat": hta_compat, "top": top, "path": path})  # type: ignore[no-any-return]

    def overview(self) -> reports.Overview:
        """Show the first answers about a recording, and the commands to ask next."""
        return self._find_report("overview", {})  # type: ignore[no-any-return]

    def flame(
        self, *,
        kind: Literal["cpu", "gpu", "memory"] | None = None,
        top: int | None = None,
        hot: bool | None = None,
        min_duration_us: float | None = None,
        min_bytes: int | str | None = None,
        group_small: float | None = None,
        max_depth: int | None = None,
        merge: bool | None = None,
        merge_steps: bool | None = None,
        by: Literal["auto", "stack", "op"] | None = None,
        allocated: bool | None = None,
        device: str | None = None,
    ) -> reports.Flame:
        """Show where time or memory went, as a tree of paths.

        kind: the weight: host time, device time, bytes (default: gpu if the trace has device work, else cpu, else memory)
        top: rows to show, 0 = all (default 40)
        hot: list the paths with the largest self value instead of the tree
        min_duration_us: fold nodes below this into [small] (default 0)
        min_bytes: the same for --kind memory (default 0)
        group_small: fold device work below PCT % of the total into [small kernels] (default 0)
        max_depth: levels to keep, 1 to 1000; deeper ones count for their ancestor (default 200)
        merge: cpu: one tree for all threads
        merge_steps: merge all ProfilerStep#N
        by: memory: call stacks or op paths; auto: stacks if there are any (default auto)
        allocated: memory: all bytes ever allocated instead of those alive at the peak
        device: memory: of this device (default: the highest peak)
        """
        return self._find_report("flame", {"kind": kind, "top": top, "hot": hot, "min_duration_us": min_duration_us, "min_bytes": min_bytes, "group_small": group_small, "max_depth": max_depth, "merge": merge, "merge_steps": merge_steps, "by": by, "allocated": allocated, "device": device})  # type: ignore[no-any-return]

    def compile(self, *, top: int | None = None) -> reports.Compile:
        """Report on torch.compile: graph breaks, recompiles, kernels, stages.

        top: rows of each table, 0 = all; JSON has all unless given
        """
        return self._find_report("compile", {"top": top})  # type: ignore[no-any-return]

    def hang(self, *, world: int | None = None, top: int | None = None) -> reports.Hang:
        """Explain why a distributed job hangs, from Flight Recorder dumps.

        world: ranks of the job, if the dumps do not say (gloo)
        top: rows of each table, 0 = all
        """
        return self._find_report("hang", {"world": world, "top": top})  # type: ignore[no-any-return]

    def hta(
        self, *,
        drop_last_step: bool | None = None,
        steps: int | str | None = None,
        custom_collective: str | Sequence[str] | None = None,
        kernel_wait: int | None = None,
        short_cutoff: int | None = None,
        delay_cutoff: int | None = None,
        top: int | None = None,
    ) -> reports.Hta:
        """Show why a step is slow: what the GPU did, and what it waited for.

        drop_last_step: leave out the last step
        steps: only steps A to B, or step A
        custom_collective: count kernels with PART in their name as custom collectives
        kernel_wait: gaps shorter than NS are kernel_wait (default 30000)
        short_cutoff: launch calls longer than NS are outliers (default 50000)
        delay_cutoff: launch delays longer than NS are outliers (default 100000)
        top: rows of long tables, 0 = all; JSON has all unless given
        """
        return self._find_report("hta", {"drop_last_step": drop_last_step, "steps": steps, "custom_collective": custom_collective, "kernel_wait": kernel_wait, "short_cutoff": short_cutoff, "delay_cutoff": delay_cutoff, "top": top})  # type: ignore[no-any-return]

    def kernels(
        self, *,
        drop_last_step: bool | None = None,
        steps: int | str | None = None,
        custom_collective: str | Sequence[str] | None = None,
        kernel_wait: int | None = None,
        top: int | None = None,
        by: Literal["name", "type", "op", "stream", "shape", "module", "category", "stack", "length"] | None = None,
        sequences: str | None = None,
        min_kernels: int | None = None,
        counters: bool | None = None,
    ) -> reports.Kernels:
        """List kernels, copies and fills with their statistics.

        drop_last_step: leave out the last step
        steps: only steps A to B, or step A
        custom_collective: count kernels with PART in their name as custom collectives
        kernel_wait: gaps shorter than NS are kernel_wait (default 30000)
        top: rows to show, 0 = all; JSON has all unless given
        by: what to group by (default name)
        sequences: show the sequences of kernels that ops with OP in their name launch instead
        min_kernels: with --sequences: at least N kernels per op (default 3)
        counters: show hardware counters of kernels and the ops that launched them instead
        """
        return self._find_report("kernels", {"drop_last_step": drop_last_step, "steps": steps, "custom_collective": custom_collective, "kernel_wait": kernel_wait, "top": top, "by": by, "sequences": sequences, "min_kernels": min_kernels, "counters": counters})  # type: ignore[no-any-return]

    def collectives(self, *, drop_last_step: bool | None = None, steps: int | str | None = None, top: int | None = None) -> reports.Collectives:
        """Show what collectives cost over all ranks, and who came last.

        drop_last_step: leave out the last step
        steps: only steps A to B, or step A
        top: rows of each table, 0 = all
        """
        return self._find_report("collectives", {"drop_last_step": drop_last_step, "steps": steps, "top": top})  # type: ignore[no-any-return]

    def roofline(
        self, *,
        drop_last_step: bool | None = None,
        steps: int | str | None = None,
        top: int | None = None,
        count_masked: bool | None = None,
        hardware: str | None = None,
        peaks: str | None = None,
        peak_tflops: float | None = None,
        memory_bandwidth_gb_s: float | None = None,
    ) -> reports.Roofline:
        """Compare device work with the peaks of the hardware.

        drop_last_step: leave out the last step
        steps: only steps A to B, or step A
        top: rows per table, 0 = all; JSON has all unless given
        count_masked: count scores that a causal mask leaves out, as PyTorch's flop_counter
        hardware: use the peaks of this device, e.g. 'H100 PCIe' (default: the trace's)
        peaks: peaks of other devices: 'NAME: bf16=TFLOPS fp32=TFLOPS bandwidth=GB/S', one in a line
        peak_tflops: one peak for every op, TFLOP/s
        memory_bandwidth_gb_s: bandwidth of the memory, GB/s
        """
        return self._find_report("roofline", {"drop_last_step": drop_last_step, "steps": steps, "top": top, "count_masked": count_masked, "hardware": hardware, "peaks": peaks, "peak_tflops": peak_tflops, "memory_bandwidth_gb_s": memory_bandwidth_gb_s})  # type: ignore[no-any-return]

    def inference(self, *, top: int | None = None) -> reports.Inference:
        """Split a serving trace into prefill and decode iterations.

        top: iterations to show, 0 = all; JSON has all unless given
        """
        return self._find_report("inference", {"top": top})  # type: ignore[no-any-return]

    def waits(self, *, top: int | None = None) -> reports.Waits:
        """Show what a program waited for when it waited for data.

        top: rows of each table, 0 = all
        """
        return self._find_report("waits", {"top": top})  # type: ignore[no-any-return]
