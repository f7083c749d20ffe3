# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Types of reports: what Trace.peak() and the other methods return. Made by tools/generate.

Keys and figures are those of `tidemark NAME --json`; docs/analyses defines each. Unknown is None. The classes are for type checkers: a report
is a dict.
"""
from __future__ import annotations

from typing import Any, Literal, TypedDict  # noqa: F401


class _Memory(TypedDict):
    """Members that are always in Memory."""

    report: Literal["memory"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    at_time_ns: int
    """time of the live figures"""
    duration_ns: int | None
    """the trace's length"""
    start_wall_ns: int | None
    """the trace's start"""
    devices: list[MemoryDevices]
    """devices with memory events"""
    largest: list[MemoryLargest]
    """the largest allocations; with `at`, of those alive then"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Memory(_Memory, total=False):
    """The document of `tidemark memory --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class _MemoryDevices(TypedDict):
    """Members that are always in MemoryDevices."""

    device: str
    """device"""
    name: str | None
    """its model"""
    totals: MemoryDevicesTotals | None
    """the pools that count in its figures"""
    pools: list[MemoryDevicesTotals]
    """its pools"""
    live_series_bytes: list[int | None]
    """live bytes over time: the highest of each interval"""
    sampled: MemoryDevicesSampled | None
    """of a device with samples"""
    relative: MemoryDevicesRelative | None
    """of memory events with sizes but no addresses"""


class MemoryDevices(_MemoryDevices, total=False):
    """A part of `tidemark memory --json`."""

    reserved_series_bytes: list[int | None]
    """if reserved bytes are known: these over time"""


class MemoryLargest(TypedDict):
    """A part of `tidemark memory --json`."""

    bytes: int
    """size"""
    requested_bytes: int
    """the requested part of it"""
    born_ns: int
    """when it was allocated"""
    died_ns: int | None
    """when it was freed; null: alive at the end"""
    lived_ns: int | None
    """died_ns - born_ns"""
    device: str
    """device"""
    pool: str | None
    """pool"""
    address: int
    """address"""
    op: str | None
    """path of the op it is from"""


class MemoryDevicesTotals(TypedDict):
    """A part of `tidemark memory --json`."""

    pool: str
    """pool; all: of the device"""
    kind: str | None
    """what the pool is"""
    live_bytes: int | None
    """live bytes at at_time_ns"""
    live_requested_bytes: int | None
    """the requested part of them"""
    live_count: int | None
    """live allocations"""
    reserved_bytes: int | None
    """reserved bytes at at_time_ns"""
    peak_bytes: int | None
    """highest live bytes"""
    peak_time_ns: int | None
    """when they were first reached"""
    peak_count: int | None
    """live allocations at the peak"""
    reserved_bytes_at_peak: int | None
    """reserved bytes at the peak"""
    reserved_peak_bytes: int | None
    """highest reserved bytes"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    allocs: int | None
    """allocations"""
    frees: int | None
    """frees"""
    alloc_bytes: int | None
    """sum of all allocations"""
    free_bytes: int | None
    """sum of all frees"""
    capacity_bytes: int | None
    """size of the memory"""


class MemoryDevicesSampled(TypedDict):
    """A part of `tidemark memory --json`."""

    allocated_bytes: int | None
    """allocated bytes of the last sample"""
    peak_bytes: int | None
    """the highest sample"""
    peak_time_ns: int | None
    """its time"""
    own_peak_bytes: int | None
    """highest value of the device's own peak counter"""
    own_peak_since_ns: int | None
    """it was reached after this"""
    own_peak_told_ns: int | None
    """and before this"""
    samples: int
    """number of samples"""
    series_bytes: list[int | None]
    """allocated bytes over time"""


class MemoryDevicesRelative(TypedDict):
    """A part of `tidemark memory --json`."""

    events: int
    """memory events"""
    bytes: int
    """live bytes minus those at the start"""
    high_bytes: int
    """their highest value"""
    high_time_ns: int
    """when it was reached"""
    low_bytes: int
    """their lowest value"""
    low_time_ns: int
    """when it was reached"""
    least_peak_bytes: int
    """the peak is at least this"""
    alloc_bytes: int
    """sum of all allocations"""
    free_bytes: int
    """sum of all frees"""


class _Peak(TypedDict):
    """Members that are always in Peak."""

    report: Literal["peak"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device"""
    peak_bytes: int | None
    """highest live bytes"""
    peak_time_ns: int | None
    """when they were first reached"""
    reserved_bytes_at_peak: int | None
    """reserved bytes at that time"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    reserved_bytes: int | None
    """reserved bytes at the moment"""
    alive_count: int | None
    """allocations alive at the moment"""
    alive_bytes: int | None
    """their bytes"""
    requested_bytes: int | None
    """their requested bytes"""
    group_by: Literal["op", "stack", "tensor", "role", "pool", "stream", "size", "frame", "module"]
    """what the groups are"""
    groups: list[PeakGroups]
    """live allocations in groups that add up to alive_bytes"""
    devices: list[PeakDevices]
    """every device with allocations"""
    on_chip: list[PeakDevices]
    """memories that a device's figures leave out, such as L1"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Peak(_Peak, total=False):
    """The document of `tidemark peak --json`, version 1."""

    pool: str
    """pool, of an on-chip memory"""
    at_time_ns: int
    """with `at`: the moment of the live figures"""
    never_used_bytes: int | None
    """where uses are recorded: bytes at the peak that are never used again; null at another moment or if that is unknown"""
    evidence: list[PeakEvidence]
    """grouped by role: the rules that determined the roles"""
    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class PeakGroups(TypedDict):
    """A part of `tidemark peak --json`."""

    key: str | None
    """the group"""
    bytes: int
    """live bytes"""
    requested_bytes: int
    """the requested part of them"""
    count: int
    """live allocations"""
    saving_bytes: int | None
    """how much lower the peak of the whole trace would be without the group"""


class PeakEvidence(TypedDict):
    """A part of `tidemark peak --json`."""

    bytes: int
    """live bytes"""
    count: int
    """live allocations"""
    rule: str
    """the rule that determined their role"""


class _PeakDevices(TypedDict):
    """Members that are always in PeakDevices."""

    device: str | None
    """device"""
    peak_bytes: int | None
    """highest live bytes"""
    peak_time_ns: int | None
    """when they were first reached"""
    reserved_bytes_at_peak: int | None
    """reserved bytes at that time"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    alive_count: int
    """live allocations at the peak"""
    requested_bytes: int
    """the requested part of peak_bytes"""


class PeakDevices(_PeakDevices, total=False):
    """A part of `tidemark peak --json`."""

    pool: str
    """pool, of an on-chip memory"""


class _Leaks(TypedDict):
    """Members that are always in Leaks."""

    report: Literal["leaks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device"""
    steps_from: str
    """what the steps are"""
    step_name: str | None
    """name of the range that is a step"""
    steps: int
    """number of steps"""
    known: bool
    """false: growth is unknown"""
    total: LeaksTotal | None
    """the device as a whole"""
    growing: list[LeaksGrowing]
    """groups that grow, steepest first"""
    growing_count: int
    """groups that grow"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Leaks(_Leaks, total=False):
    """The document of `tidemark leaks --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class LeaksTotal(TypedDict):
    """A part of `tidemark leaks --json`."""

    key: str
    """the group: a stack, an op, a role ..."""
    slope_bytes_per_step: float
    """slope of a line through the live bytes after each step"""
    first_bytes: int
    """live bytes after step 1"""
    last_bytes: int
    """live bytes after the last step"""
    growth_bytes: int
    """last_bytes - first_bytes"""
    last_count: int
    """live allocations after the last step"""
    rose: int
    """steps after which it held more"""
    fell: int
    """steps after which it held less"""
    growing: bool
    """grows in both halves of the run"""
    steady: bool
    """never fell"""


class LeaksGrowing(TypedDict):
    """A part of `tidemark leaks --json`."""

    key: str
    """the group: a stack, an op, a role ..."""
    slope_bytes_per_step: float
    """slope of a line through the live bytes after each step"""
    first_bytes: int
    """live bytes after step 1"""
    last_bytes: int
    """live bytes after the last step"""
    growth_bytes: int
    """last_bytes - first_bytes"""
    last_count: int
    """live allocations after the last step"""
    rose: int
    """steps after which it held more"""
    fell: int
    """steps after which it held less"""
    growing: bool
    """grows in both halves of the run"""
    steady: bool
    """never fell"""
    bytes_after_step: list[int] | None
    """live bytes after each step; null for long runs and after row 100"""
    stack: list[LeaksGrowingStack]
    """call stack of its first allocation, from the innermost frame on"""


class LeaksGrowingStack(TypedDict):
    """A part of `tidemark leaks --json`."""

    function: str
    """function"""
    file: str
    """source file; empty: unknown"""
    line: int
    """line; 0: unknown"""


class _Stale(TypedDict):
    """Members that are always in Stale."""

    report: Literal["stale"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device"""
    peak_bytes: int
    """highest live bytes"""
    peak_time_ns: int | None
    """when they were first reached"""
    known: bool
    """uses were recorded completely"""
    unknown_because: str | None
    """why uses are not known"""
    stale_bytes: int | None
    """bytes at the peak that are never used again"""
    stale_saving_bytes: int | None
    """how much lower the peak would be if all were freed after their last use"""
    stale_reserved_change_bytes: int | None
    """the same change of the highest reserved bytes, simulated"""
    waiting_bytes: int | None
    """bytes at the peak that wait long for their next use"""
    waiting_saving_bytes: int | None
    """how much lower the peak would be if all were elsewhere while they wait"""
    waiting_reserved_change_bytes: int | None
    """the same change of the highest reserved bytes, simulated"""
    in_use_bytes: int | None
    """bytes at the peak that are used again soon, or again and again"""
    unknown_bytes: int
    """bytes at the peak whose last use is unknown"""
    reserved_peak_bytes: int | None
    """highest reserved bytes of the simulated allocator; null if it was not simulated"""
    group_by: Literal["op", "stack", "frame"] | None
    """what the rows are; null without rows"""
    stale: list[StaleStale]
    """memory that is never used again, in groups"""
    waiting: list[StaleWaiting]
    """memory that waits, in groups"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Stale(_Stale, total=False):
    """The document of `tidemark stale --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class StaleStale(TypedDict):
    """A part of `tidemark stale --json`."""

    bytes: int
    """their bytes at the peak"""
    part: float
    """of the peak"""
    saving_bytes: int | None
    """how much lower the peak of the whole trace would be without it"""
    reserved_change_bytes: int | None
    """change of the highest reserved bytes, simulated"""
    count: int
    """allocations at the peak"""
    idle_ns: int | None
    """longest time from the last use of one of them to the peak"""
    last_use: str | None
    """the op of the last use of the largest of them before the peak"""
    holder: str | None
    """what refers to the largest of them whose holder was recorded"""
    key: str | None
    """the group"""


class StaleWaiting(TypedDict):
    """A part of `tidemark stale --json`."""

    bytes: int
    """their bytes at the peak"""
    part: float
    """of the peak"""
    saving_bytes: int | None
    """how much lower the peak of the whole trace would be without it"""
    reserved_change_bytes: int | None
    """change of the highest reserved bytes, simulated"""
    count: int
    """allocations at the peak"""
    idle_ns: int | None
    """longest time from the last use of one of them to the peak"""
    next_ns: int | None
    """shortest time from the peak to the next use of one of them"""
    last_use: str | None
    """the op of the last use of the largest of them before the peak"""
    holder: str | None
    """what refers to the largest of them whose holder was recorded"""
    key: str | None
    """the group"""


class _Tt(TypedDict):
    """Members that are always in Tt."""

    report: Literal["tt"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    operations: int
    """operations with a memory state"""
    ranks: int
    """ranks"""
    deallocates_excluded: int
    """deallocates, left out"""
    get_devices_excluded: int
    """get_device, left out"""
    operations_without_state: int
    """operations without a memory state, left out"""
    peak_padding_overhead_pct: float | None
    """highest padding of live tensors in DRAM"""
    live_padding: TtLivePadding | None
    """live tensors in DRAM when they fill the most tiles"""
    peaks: list[TtPeaks]
    """peak of each memory, and the operation that ran before it"""
    dram_at_peak: list[TtDramAtPeak]
    """what DRAM holds at its peak"""
    dram_over_ops: list[TtDramOverOps]
    """weights against activations before an operation"""
    top_growers_dram: list[TtTopGrowersDram]
    """operations that add the most DRAM"""
    top_growers_l1: list[TtTopGrowersDram]
    """operations that add the most L1"""
    top_consumers_dram: list[TtTopGrowersDram]
    """operations after which the most DRAM is allocated"""
    fragmentation: list[TtFragmentation]
    """fragmentation of each memory"""
    padding: list[TtPadding]
    """results with the most tile padding"""
    const_eval: list[TtConstEval]
    """const-eval programs"""
    out_of_memory: list[TtOutOfMemory]
    """failed requests"""
    modules: int
    """modules of the model"""
    weight_bytes: int
    """their weights, each counted once"""
    weights: list[TtWeights]
    """weights, largest first"""
    operations_by_name: list[TtOperationsByName]
    """operations by name"""
    skipped: list[TtSkipped]
    """operations without a memory state"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Tt(_Tt, total=False):
    """The document of `tidemark tt --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class TtLivePadding(TypedDict):
    """A part of `tidemark tt --json`."""

    logical_bytes: int
    """bytes without padding"""
    padded_bytes: int
    """bytes of whole tiles"""
    tensors: int
    """live tensors"""
    index: int
    """element of the operation in the files"""
    position: int
    """its position on the axis"""


class TtPeaks(TypedDict):
    """A part of `tidemark tt --json`."""

    pool: str
    """memory"""
    device: str | None
    """device"""
    peak_bytes_per_bank: int
    """highest allocated bytes in one bank"""
    banks: int
    """banks"""
    peak_bytes: int
    """the same in all banks"""
    capacity_bytes_per_bank: int
    """size of a bank"""
    used_pct: float | None
    """part of it that the peak uses"""
    free_bytes_per_bank: int
    """free in a bank then"""
    largest_free_bytes_per_bank: int | None
    """largest contiguous free bytes then"""
    fragmentation_pct: float | None
    """1 - largest contiguous free / free"""
    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""
    op: str | None
    """operation"""
    loc: str | None
    """its location in the model"""
    input_shapes: str | None
    """shapes of its inputs"""
    output_shapes: str | None
    """shapes of its outputs"""
    attributes: str | None
    """attributes of the operation"""
    log_line: int | None
    """its line in the log"""


class TtDramAtPeak(TypedDict):
    """A part of `tidemark tt --json`."""

    bytes: int
    """bytes"""
    part_pct: float | None
    """part of the whole"""
    what: str
    """what holds it"""


class TtDramOverOps(TypedDict):
    """A part of `tidemark tt --json`."""

    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""
    weights_bytes: int
    """weights"""
    activations_bytes: int
    """activations"""
    rest_bytes: int
    """the rest"""
    op: str | None
    """operation"""


class TtTopGrowersDram(TypedDict):
    """A part of `tidemark tt --json`."""

    bytes_per_bank: int
    """bytes of one bank"""
    bytes: int
    """bytes"""
    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""
    op: str | None
    """operation"""
    loc: str | None
    """its location in the model"""
    input_shapes: str | None
    """shapes of its inputs"""
    output_shapes: str | None
    """shapes of its outputs"""


class TtFragmentation(TypedDict):
    """A part of `tidemark tt --json`."""

    pool: str
    """memory"""
    mean_pct: float | None
    """mean fragmentation"""
    first_pct: float | None
    """mean of the first tenth of the operations"""
    last_pct: float | None
    """mean of the last tenth"""
    slope_pct_per_1000_ops: float | None
    """change per 1000 operations"""
    most_pct: float | None
    """highest, at the operation"""
    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""


class TtPadding(TypedDict):
    """A part of `tidemark tt --json`."""

    padding_bytes: int
    """padded_bytes - logical_bytes"""
    overhead_pct: float | None
    """padding as part of logical_bytes"""
    logical_bytes: int
    """bytes without padding"""
    padded_bytes: int
    """bytes of whole tiles"""
    tile_dtype: str | None
    """type of a tile"""
    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""
    op: str | None
    """operation"""
    loc: str | None
    """its location in the model"""
    input_shapes: str | None
    """shapes of its inputs"""
    output_shapes: str | None
    """shapes of its outputs"""


class TtConstEval(TypedDict):
    """A part of `tidemark tt --json`."""

    graph: str
    """const-eval program"""
    module: int | None
    """module that it is of"""
    cache_miss: Literal["miss", "hit"]
    """whether its result was in the cache"""
    loads: int
    """times that it was loaded"""
    runs: int
    """times that it ran"""
    operations: int
    """operations in it"""
    kept_bytes: int
    """DRAM that it kept"""


class TtOutOfMemory(TypedDict):
    """A part of `tidemark tt --json`."""

    rank: int | None
    """rank"""
    index: int | None
    """element in the two files of the run"""
    position: int | None
    """on the axis: the N of `--at "op N"`"""
    bytes: int
    """bytes"""
    free_bytes: int | None
    """free then"""
    text: str | None
    """the message"""


class TtWeights(TypedDict):
    """A part of `tidemark tt --json`."""

    bytes: int
    """bytes"""
    shape: str | None
    """shape"""
    dtype: str | None
    """type"""
    modules: int
    """modules that have it"""
    ssa: str | None
    """argument of the program"""
    name: str | None
    """name"""


class TtOperationsByName(TypedDict):
    """A part of `tidemark tt --json`."""

    count: int
    """number of operations"""
    part_pct: float | None
    """part of the whole"""
    op: str | None
    """operation"""


class TtSkipped(TypedDict):
    """A part of `tidemark tt --json`."""

    log_line: int | None
    """its line in the log"""
    op: str | None
    """operation"""


class Predict(TypedDict):
    """The document of `tidemark predict --json`, version 1."""

    report: Literal["predict"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str
    """device"""
    recordings: list[PredictRecordings]
    """the recordings, by size"""
    allocations: PredictAllocations
    """allocations of the smallest and the largest recording, by match"""
    sizes: list[PredictSizes]
    """predicted and recorded sizes"""
    capacity_bytes: int | None
    """memory of the device"""
    fits: int | None
    """largest size whose peak fits; null also if every size does"""
    fits_reserved: int | None
    """the same by reserved bytes"""
    reserved_by: Literal["line", "simulator"] | None
    """how reserved bytes are predicted"""
    growth: Literal["linear", "squares", "parabola"]
    """how memory grows with the size"""
    peak_at: PredictPeakAt
    """what the peak consists of"""


class _PredictRecordings(TypedDict):
    """Members that are always in PredictRecordings."""

    size: int
    """size of its work"""
    trace: str
    """name of the recording"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class PredictRecordings(_PredictRecordings, total=False):
    """A part of `tidemark predict --json`."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class PredictAllocations(TypedDict):
    """A part of `tidemark predict --json`."""

    same: int
    """one to one"""
    for_each: int
    """made for each of the size"""
    more_in_one: int
    """more in one recording"""
    in_one_alone: int
    """in one recording alone"""


class PredictSizes(TypedDict):
    """A part of `tidemark predict --json`."""

    size: int
    """size of the work"""
    peak_bytes: int
    """predicted peak"""
    most_bytes: int | None
    """upper bound of it"""
    recorded_bytes: int | None
    """peak of the recording of this size"""
    off_bytes: int | None
    """its prediction from the other recordings minus recorded_bytes"""
    by: str
    """what the line of the peak goes through"""
    op: str | None
    """ops around the allocation of the peak"""
    reserved_bytes: int | None
    """predicted highest reserved bytes"""
    recorded_reserved_bytes: int | None
    """those of the recording of this size"""
    reserved_least_bytes: int | None
    """lower end, if reserved_bytes is a range"""
    reserved_most_bytes: int | None
    """its upper end"""


class PredictPeakAt(TypedDict):
    """A part of `tidemark predict --json`."""

    size: int
    """largest size that fits, else the last"""
    peak_bytes: int
    """its predicted peak"""
    roles: list[PredictPeakAtRoles]
    """live bytes by role; they add up to the peak"""
    modules: list[PredictPeakAtModules]
    """live bytes by module; they add up to the peak"""


class PredictPeakAtRoles(TypedDict):
    """A part of `tidemark predict --json`."""

    role: str
    """role"""
    bytes: int
    """predicted bytes at the peak"""
    part_pct: float
    """part of the peak"""
    each_bytes: int
    """growth when the size grows by 1"""
    smallest_bytes: int
    """in the smallest recording"""
    largest_bytes: int
    """in the largest recording"""


class PredictPeakAtModules(TypedDict):
    """A part of `tidemark predict --json`."""

    module: str
    """module"""
    bytes: int
    """predicted bytes at the peak"""
    part_pct: float
    """part of the peak"""
    each_bytes: int
    """growth when the size grows by 1"""
    smallest_bytes: int
    """in the smallest recording"""
    largest_bytes: int
    """in the largest recording"""


class _Fit(TypedDict):
    """Members that are always in Fit."""

    report: Literal["fit"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str
    """the virtual device"""
    versions: str
    """versions of the libraries that ran"""
    budget_bytes: int | None
    """bytes that the allocator may reserve"""
    unchanged: FitUnchanged
    """the program without changes"""
    cheapest: str | None
    """the cheapest change that fits, with the same results if one has; null: none"""
    answers: list[FitAnswers]
    """changes: those that fit first, by their cost; then by reserved bytes"""
    time_basis: str | None
    """how times are estimated"""
    untried: list[FitUntried]
    """changes that could not be tried"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Fit(_Fit, total=False):
    """The document of `tidemark fit --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class FitUnchanged(TypedDict):
    """A part of `tidemark fit --json`."""

    peak_allocated_bytes: int
    """peak allocated bytes"""
    least_allocated_bytes: int | None
    """lower end of its range"""
    most_allocated_bytes: int | None
    """upper end of its range"""
    peak_reserved_bytes: int
    """peak reserved bytes"""
    least_reserved_bytes: int | None
    """lower end of its range"""
    most_reserved_bytes: int | None
    """upper end of its range"""
    fits: Literal["yes", "no"] | None
    """it fits into the budget"""
    step_ns: int | None
    """estimated time of a step"""


class FitAnswers(TypedDict):
    """A part of `tidemark fit --json`."""

    change: str
    """what is changed"""
    basis: Literal["run", "simulated", "arithmetic"]
    """run: the program ran under the plan; simulated: the unchanged run with these settings of the allocator; arithmetic: sums of its peak"""
    peak_allocated_bytes: int
    """peak allocated bytes"""
    least_allocated_bytes: int | None
    """lower end of its range"""
    most_allocated_bytes: int | None
    """upper end of its range"""
    peak_reserved_bytes: int
    """peak reserved bytes"""
    least_reserved_bytes: int | None
    """lower end of its range"""
    most_reserved_bytes: int | None
    """upper end of its range"""
    fits: Literal["yes", "no"] | None
    """the allocator's simulator serves every request within the budget"""
    step_ns: int | None
    """estimated time of a step"""
    cost_pct: float | None
    """estimated time of a step against the unchanged program's"""
    differs: str | None
    """why results differ; null: they are the same"""
    plan: str | None
    """the plan (TOML)"""
    lines: str | None
    """lines to add to the script"""
    file: str | None
    """the recording of the run"""


class FitUntried(TypedDict):
    """A part of `tidemark fit --json`."""

    change: str
    """what could not be tried, or failed"""
    reason: str
    """why"""


class Diff(TypedDict):
    """The document of `tidemark diff --json`, version 1."""

    report: Literal["diff"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    a: DiffA
    """the first trace, A"""
    b: DiffA
    """the second trace, B"""
    metrics: DiffMetrics
    """figures of both"""
    speedup: float | None
    """time of A / time of B"""
    ops: list[DiffOps]
    """rows that differ, largest change first"""
    kernels: list[DiffKernels]
    """rows that differ, largest change first"""
    device_by_op: list[DiffDeviceByOp]
    """rows that differ, largest change first"""
    device_by_shape: list[DiffDeviceByShape]
    """rows that differ, largest change first"""
    device_by_module: list[DiffDeviceByModule]
    """rows that differ, largest change first"""
    device_by_category: list[DiffDeviceByCategory]
    """rows that differ, largest change first"""
    calls: list[DiffCalls]
    """rows that differ, largest change first"""
    by_stack: list[DiffByStack]
    """rows that differ, largest change first"""
    by_op: list[DiffByOp]
    """rows that differ, largest change first"""
    by_role: list[DiffByRole]
    """rows that differ, largest change first"""
    fail_if: list[DiffFailIf]
    """the conditions, and whether they hold"""


class _DiffA(TypedDict):
    """Members that are always in DiffA."""

    trace: str
    """name of the trace"""
    device: str | None
    """device of the memory figures"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class DiffA(_DiffA, total=False):
    """A part of `tidemark diff --json`."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class DiffMetrics(TypedDict):
    """A part of `tidemark diff --json`."""

    time: DiffMetricsTime
    """earliest start to latest end of all work"""
    step_time: DiffMetricsTime
    """median step"""
    cpu_time: DiffMetricsTime
    """CPU active: union of host work"""
    gpu_time: DiffMetricsTime
    """GPU active: union of device work"""
    overlap: DiffMetricsTime
    """both active at once"""
    kernel_time: DiffMetricsTime
    """durations of device work added up"""
    ops: DiffMetricsTime
    """host spans that are work"""
    kernels: DiffMetricsTime
    """kernels, copies and fills"""
    peak: DiffMetricsTime
    """highest live bytes"""
    peak_requested: DiffMetricsTime
    """the requested part of those bytes"""
    reserved: DiffMetricsTime
    """highest bytes held in segments"""
    live_end: DiffMetricsTime
    """live bytes at the end"""
    allocated: DiffMetricsTime
    """bytes of all allocations"""
    allocs: DiffMetricsTime
    """allocations"""


class DiffOps(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """self in A"""
    b: int | None
    """self in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffKernels(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffDeviceByOp(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffDeviceByShape(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffDeviceByModule(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffDeviceByCategory(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffCalls(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """time in A"""
    b: int | None
    """time in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    name: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffByStack(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """bytes in A"""
    b: int | None
    """bytes in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    stack: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffByOp(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """bytes in A"""
    b: int | None
    """bytes in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    op: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffByRole(TypedDict):
    """A part of `tidemark diff --json`."""

    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""
    a: int | None
    """bytes in A"""
    b: int | None
    """bytes in B"""
    count_a: int
    """number in A"""
    count_b: int
    """number in B"""
    status: Literal["same", "changed", "added", "removed"]
    """in A, in B or in both"""
    role: str
    """what is compared"""
    total_a: int | None
    """of ops: ns with nested ops in A"""
    total_b: int | None
    """of ops: ns with nested ops in B"""


class DiffFailIf(TypedDict):
    """A part of `tidemark diff --json`."""

    expression: str
    """the condition"""
    a: int | None
    """its figure in A"""
    b: int | None
    """its figure in B"""
    crossed: bool | None
    """it holds; null: unknown"""


class DiffMetricsTime(TypedDict):
    """A part of `tidemark diff --json`."""

    unit: Literal["count", "ns", "bytes"]
    """unit"""
    a: int | None
    """value of A"""
    b: int | None
    """value of B"""
    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""


class _Phases(TypedDict):
    """Members that are always in Phases."""

    report: Literal["phases"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    phases: list[PhasesPhases]
    """phases in their order"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Phases(_Phases, total=False):
    """The document of `tidemark phases --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class _PhasesPhases(TypedDict):
    """Members that are always in PhasesPhases."""

    name: str | None
    """name; null: between or after phases"""
    start_ns: int
    """its start"""
    end_ns: int
    """its end"""
    memory: list[PhasesPhasesMemory]
    """figures of each pool, of each device and of all"""


class PhasesPhases(_PhasesPhases, total=False):
    """A part of `tidemark phases --json`."""

    count: int
    """with `sum`: phases of this name"""


class _PhasesPhasesMemory(TypedDict):
    """Members that are always in PhasesPhasesMemory."""

    scope: Literal["pool", "device", "l1_cb", "l1_buffer", "l1", "total"]
    """what the figures are of"""
    segment_peak_bytes: int
    """highest use above that at the phase's start"""
    allocations_bytes: int
    """allocated bytes"""
    deallocations_bytes: int
    """freed bytes"""
    allocations: int
    """allocations"""
    deallocations: int
    """frees"""
    segment_change_bytes: int
    """allocated minus freed bytes"""
    cumulative_peak_bytes: int
    """highest use until the end of the phase"""
    cumulative_current_bytes: int
    """use at the end of the phase"""
    highest_bytes: int
    """highest use within the phase, its start included"""
    before_bytes: int
    """the part of allocations_bytes that existed before the recording"""


class PhasesPhasesMemory(_PhasesPhasesMemory, total=False):
    """A part of `tidemark phases --json`."""

    device: str
    """unless of all devices: the device"""
    pool: str | None
    """of a pool: its name"""


class _Device(TypedDict):
    """Members that are always in Device."""

    report: Literal["device"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    devices: list[DeviceDevices]
    """devices at the moment of highest use"""


class Device(_Device, total=False):
    """The document of `tidemark device --json`, version 1."""

    recordings: list[DeviceRecordings]
    """of several recordings: each of them"""
    losses: dict[str, Any]
    """of one recording: lost and repaired data, by the name of the loss"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class _DeviceDevices(TypedDict):
    """Members that are always in DeviceDevices."""

    index: int
    """N of cuda:N"""
    name: str | None
    """model of the device"""
    nvml_total_bytes: int | None
    """memory of the device"""
    nvml_used_bytes: int | None
    """bytes in use, of all processes"""
    others_bytes: int | None
    """other processes"""
    reserved_bytes: int | None
    """driver and firmware"""
    unexplained_bytes: int | None
    """bytes in use minus all of these"""
    over_time: list[DeviceDevicesOverTime]
    """the same over time"""


class DeviceDevices(_DeviceDevices, total=False):
    """A part of `tidemark device --json`."""

    t_ns: int
    """the moment"""
    wall_ns: int
    """of several recordings: the moment"""
    processes: list[DeviceDevicesProcesses]
    """of several recordings: each process"""
    torch_live_bytes: int | None
    """PyTorch's live allocations"""
    torch_cached_bytes: int | None
    """device memory of PyTorch that is not live"""
    other_bytes: int | None
    """other allocations of the process"""
    pooled_bytes: int | None
    """unused bytes of stream-ordered pools"""
    context_bytes: int | None
    """context and code"""
    profiler_bytes: int | None
    """CUPTI's buffers"""
    libraries: list[DeviceDevicesLibraries]
    """holders of other_bytes"""


class _DeviceRecordings(TypedDict):
    """Members that are always in DeviceRecordings."""

    file: str
    """name of the recording"""
    devices: list[DeviceDevices]
    """its devices"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class DeviceRecordings(_DeviceRecordings, total=False):
    """A part of `tidemark device --json`."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class DeviceDevicesProcesses(TypedDict):
    """A part of `tidemark device --json`."""

    file: str
    """name of the recording"""
    pid: int
    """process id"""
    t_ns: int
    """the moment in this recording"""
    nvml_total_bytes: int | None
    """memory of the device"""
    nvml_used_bytes: int | None
    """bytes in use, of all processes"""
    torch_live_bytes: int | None
    """PyTorch's live allocations"""
    torch_cached_bytes: int | None
    """device memory of PyTorch that is not live"""
    other_bytes: int | None
    """other allocations of the process"""
    pooled_bytes: int | None
    """unused bytes of stream-ordered pools"""
    context_bytes: int | None
    """context and code"""
    profiler_bytes: int | None
    """CUPTI's buffers"""
    others_bytes: int | None
    """other processes"""
    reserved_bytes: int | None
    """driver and firmware"""
    unexplained_bytes: int | None
    """bytes in use minus all of these"""


class DeviceDevicesLibraries(TypedDict):
    """A part of `tidemark device --json`."""

    library: str | None
    """path of the library"""
    caller: str
    """its name"""
    bytes: int
    """bytes that it allocated"""
    count: int
    """its allocations"""


class _DeviceDevicesOverTime(TypedDict):
    """Members that are always in DeviceDevicesOverTime."""

    nvml_total_bytes: int | None
    """memory of the device"""
    nvml_used_bytes: int | None
    """bytes in use, of all processes"""
    others_bytes: int | None
    """other processes"""
    reserved_bytes: int | None
    """driver and firmware"""
    unexplained_bytes: int | None
    """bytes in use minus all of these"""


class DeviceDevicesOverTime(_DeviceDevicesOverTime, total=False):
    """A part of `tidemark device --json`."""

    t_ns: int
    """the moment"""
    wall_ns: int
    """of several recordings: the moment"""
    processes: list[DeviceDevicesProcesses]
    """of several recordings: each process"""
    torch_live_bytes: int | None
    """PyTorch's live allocations"""
    torch_cached_bytes: int | None
    """device memory of PyTorch that is not live"""
    other_bytes: int | None
    """other allocations of the process"""
    pooled_bytes: int | None
    """unused bytes of stream-ordered pools"""
    context_bytes: int | None
    """context and code"""
    profiler_bytes: int | None
    """CUPTI's buffers"""


class _Serving(TypedDict):
    """Members that are always in Serving."""

    report: Literal["serving"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    file: str
    """the snapshot that the figures are of: the last one"""
    device: str | None
    """device; null: no memory of a device is recorded"""
    wall_ns: int | None
    """its time"""
    reserved_bytes: int | None
    """reserved by PyTorch's allocator"""
    loose_bytes: int
    """live bytes outside every known segment: the parts add up to reserved plus these"""
    parts: list[ServingParts]
    """parts of the reserved memory"""
    evidence: list[ServingEvidence]
    """who says so"""
    pools: list[ServingPools]
    """pools of the allocator"""
    captures: list[ServingCaptures]
    """captured batch sizes, in the order of capture"""
    captured_once_bytes: int
    """kept for all captured sizes, because the first capture made them: of no size"""
    replay: ServingReplay | None
    """the replay of all requests; null: they were not replayed"""
    kv_cache: ServingKvCache
    """the largest KV cache that fits"""
    on_device: ServingOnDevice | None
    """the device's memory, by a recording of `tidemark run --gpu`"""
    snapshots: list[ServingSnapshots]
    """all snapshots, by time"""
    growth: list[ServingGrowth]
    """parts and pools that changed from one snapshot to the next"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Serving(_Serving, total=False):
    """The document of `tidemark serving --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class ServingParts(TypedDict):
    """A part of `tidemark serving --json`."""

    part: Literal["weights", "kv_cache", "graphs", "graphs_free", "workspace", "activations", "cached", "unexplained"]
    """what holds it"""
    bytes: int
    """bytes of its blocks"""
    share_pct: float | None
    """of all parts"""
    count: int
    """live allocations, or free blocks"""
    meaning: str
    """the part in words"""


class ServingEvidence(TypedDict):
    """A part of `tidemark serving --json`."""

    part: str
    """the part"""
    by: str
    """who says so: a server's name for a function or file, a given rule, the private pool, a rule of roles.md"""
    bytes: int
    """bytes that it covers"""
    count: int
    """allocations that it covers"""


class ServingPools(TypedDict):
    """A part of `tidemark serving --json`."""

    pool: str
    """name of the pool; private ones have PyTorch's id"""
    kind: Literal["private", "other"]
    """private: of captured graphs"""
    reserved_bytes: int
    """bytes of its segments"""
    live_bytes: int
    """of these: in use"""
    free_bytes: int
    """of these: not in use"""
    largest_free_bytes: int
    """its largest free block"""
    fragmentation: float
    """1 - largest free block / free bytes"""
    segments: int
    """its segments"""
    blocks: int
    """its blocks in use"""
    captures: int
    """captures that were made in it"""


class ServingCaptures(TypedDict):
    """A part of `tidemark serving --json`."""

    batch: int | None
    """batch size"""
    batch_from: Literal["annotation", "given"] | None
    """who says so"""
    relative: float | None
    """the requests that differ over captures, compared with the smallest capture's"""
    pool: str
    """the pool of its first capture"""
    graphs: int
    """captures of this size"""
    allocations: int
    """requests while it was captured"""
    requested_bytes: int
    """bytes of all its requests"""
    kept_bytes: int
    """bytes of those that are live"""
    added_bytes: int
    """segments that its pools took while it was captured"""
    returns_bytes: int | None
    """less reserved at the end if this size is not captured, replayed"""
    returns_with_larger_bytes: int | None
    """the same without this size and all larger ones"""
    added_in: str | None
    """the first snapshot that has it"""


class ServingReplay(TypedDict):
    """A part of `tidemark serving --json`."""

    reproduced: bool
    """the simulator took the recorded segments in the recorded order"""
    reserved_bytes: int
    """reserved at the end of the replay"""
    recorded_bytes: int | None
    """reserved at the end of the snapshot"""


class ServingKvCache(TypedDict):
    """A part of `tidemark serving --json`."""

    bytes: int
    """the KV cache now"""
    capacity_bytes: int | None
    """memory of the device"""
    outside_bytes: int | None
    """device memory outside the allocator"""
    rest_bytes: int | None
    """highest reserved bytes beside the KV cache since it exists"""
    largest_bytes: int | None
    """capacity minus outside minus rest"""
    bound: Literal["exact", "at_most"] | None
    """at_most: memory outside the allocator is not known, so it counts as 0"""


class ServingOnDevice(TypedDict):
    """A part of `tidemark serving --json`."""

    file: str
    """the recording"""
    same_moment: bool
    """false: the recording has no figures of the snapshot's time, so these are of its highest moment"""
    total_bytes: int | None
    """memory of the device"""
    used_bytes: int | None
    """bytes in use, of all processes"""
    allocator_bytes: int | None
    """reserved by PyTorch's allocator: the parts; at another moment that of the recording"""
    libraries_bytes: int
    """other allocations of the process"""
    pooled_bytes: int
    """unused bytes of stream-ordered pools"""
    context_bytes: int
    """context and code"""
    profiler_bytes: int
    """CUPTI's buffers"""
    others_bytes: int
    """other processes"""
    driver_bytes: int
    """driver and firmware"""
    unexplained_bytes: int | None
    """used bytes minus all of these"""
    libraries: list[ServingOnDeviceLibraries]
    """allocations of other libraries at the recording's highest moment"""


class ServingSnapshots(TypedDict):
    """A part of `tidemark serving --json`."""

    file: str
    """its file"""
    wall_ns: int | None
    """its time"""
    reserved_bytes: int | None
    """reserved by the allocator"""
    weights_bytes: int
    """part weights"""
    kv_cache_bytes: int
    """part kv_cache"""
    graphs_bytes: int
    """parts graphs and graphs_free"""
    workspace_bytes: int
    """part workspace"""
    activations_bytes: int
    """part activations"""
    cached_bytes: int
    """part cached"""
    unexplained_bytes: int
    """part unexplained"""
    loose_bytes: int
    """live bytes outside every known segment"""
    sizes: int | None
    """captured sizes by then"""


class ServingGrowth(TypedDict):
    """A part of `tidemark serving --json`."""

    file: str
    """the later snapshot"""
    what: str
    """a part, or "pool" and its name"""
    before_bytes: int
    """its bytes in the snapshot before"""
    after_bytes: int
    """its bytes"""
    delta_bytes: int
    """the difference"""


class ServingOnDeviceLibraries(TypedDict):
    """A part of `tidemark serving --json`."""

    library: str | None
    """its path"""
    bytes: int
    """bytes that it allocated"""
    count: int
    """its allocations"""


class _Info(TypedDict):
    """Members that are always in Info."""

    report: Literal["info"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    file: str
    """name of the trace"""
    format: str | None
    """its format"""
    duration_ns: int | None
    """from the first event to the last"""
    start_wall_ns: int | None
    """the trace's start"""
    model_bytes: int
    """memory of the loaded trace"""
    processes: list[InfoProcesses]
    """processes"""
    devices: list[InfoDevices]
    """devices"""
    pools: list[InfoPools]
    """memories and pools of the devices"""
    lanes: list[InfoLanes]
    """threads, streams and queues"""
    tables: dict[str, int]
    """rows of every table of the model"""
    facts: dict[str, Any]
    """properties of the whole trace"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Info(_Info, total=False):
    """The document of `tidemark info --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class InfoProcesses(TypedDict):
    """A part of `tidemark info --json`."""

    pid: int | None
    """process id"""
    parent_pid: int | None
    """its parent"""
    rank: int | None
    """rank"""
    world: int | None
    """number of ranks"""
    host: str | None
    """host name"""
    command: str | None
    """command line"""


class InfoDevices(TypedDict):
    """A part of `tidemark info --json`."""

    device: str
    """device"""
    name: str | None
    """its model"""
    capacity_bytes: int | None
    """its memory"""


class InfoPools(TypedDict):
    """A part of `tidemark info --json`."""

    device: str
    """device"""
    pool: str | None
    """name"""
    kind: str
    """what the pool is"""
    capacity_bytes: int | None
    """its size"""
    banks: int | None
    """its banks"""


class InfoLanes(TypedDict):
    """A part of `tidemark info --json`."""

    kind: str
    """thread, stream or queue"""
    number: int
    """its number"""
    name: str | None
    """its name"""
    process: int | None
    """process id"""
    device: str | None
    """device"""


class _Heap(TypedDict):
    """Members that are always in Heap."""

    report: Literal["heap"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    recorded: bool
    """false: the trace has no host heap"""
    sample_mean_bytes: float | None
    """mean bytes between samples; null: every call was recorded"""
    samples: int
    """recorded allocations"""
    peak_bytes: int
    """high-water mark"""
    peak_error_bytes: float
    """its standard error"""
    peak_ns: int
    """when it was reached"""
    allocated_bytes: int
    """sum of all allocations"""
    count: float
    """allocations"""
    count_error: float
    """the standard error of count"""
    temporary: float | None
    """allocations whose block the next heap event frees; null: sampled"""
    left_bytes: int
    """bytes not freed at the end"""
    left_error_bytes: float
    """their standard error"""
    left_count: float
    """blocks not freed"""
    left_count_error: float
    """the standard error of left_count"""
    stacks: list[HeapStacks]
    """call stacks that allocated"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Heap(_Heap, total=False):
    """The document of `tidemark heap --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class HeapStacks(TypedDict):
    """A part of `tidemark heap --json`."""

    peak_bytes: int
    """live bytes at the high-water mark"""
    peak_error_bytes: int
    """standard error of peak_bytes; 0: exact"""
    left_bytes: int
    """bytes not freed at the end"""
    left_error_bytes: int
    """standard error of left_bytes"""
    left_count: int
    """blocks not freed"""
    left_count_error: int
    """standard error of left_count"""
    allocated_bytes: int
    """sum of all allocations"""
    count: int
    """allocations"""
    count_error: int
    """standard error of count"""
    temporary: int | None
    """allocations whose block the next heap event frees; null: sampled"""
    stack: str
    """the innermost frames"""


class _Advice(TypedDict):
    """Members that are always in Advice."""

    report: Literal["advice"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    score: int | None
    """0 to 100; null: no area was judged"""
    grade: Literal["A", "B", "C", "D", "F"] | None
    """the score as a letter"""
    areas: AdviceAreas
    """areas that were judged"""
    findings: list[AdviceFindings]
    """recommendations, most severe first"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Advice(_Advice, total=False):
    """The document of `tidemark advice --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class AdviceAreas(TypedDict):
    """A part of `tidemark advice --json`."""

    time: bool
    """the recording has data on it"""
    memory: bool
    """the recording has data on it"""
    allocator: bool
    """the recording has data on it"""
    compile: bool
    """the recording has data on it"""


class AdviceFindings(TypedDict):
    """A part of `tidemark advice --json`."""

    area: Literal["time", "memory", "allocator", "compile"]
    """what it is about"""
    id: str
    """name of the finding"""
    severity: Literal["info", "medium", "high"]
    """severity"""
    points: int
    """change of the score"""
    figure: str | None
    """name of the figure that it is based on"""
    value: float | None
    """the figure"""
    threshold: float | None
    """its limit"""
    bytes: int | None
    """bytes concerned"""
    text: str
    """the recommendation, with its evidence"""


class _Allocator(TypedDict):
    """Members that are always in Allocator."""

    report: Literal["allocator"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device"""
    time_ns: int
    """the moment"""
    memory_events: int
    """memory events until then"""
    reserved_bytes: int | None
    """reserved bytes"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    active_bytes: int | None
    """in use, with blocks that wait to be freed"""
    allocated_bytes: int | None
    """allocated"""
    requested_bytes: int | None
    """the requested part of them"""
    rounding_waste_bytes: int | None
    """active_bytes - requested_bytes"""
    free_bytes: int | None
    """in blocks not in use"""
    cached_free_bytes: int | None
    """free in whole segments"""
    inactive_split_bytes: int | None
    """free beside blocks in use"""
    expandable_free_bytes: int | None
    """free in expandable segments"""
    largest_free_block_bytes: int | None
    """the largest free block"""
    segments_count: int | None
    """segments"""
    free_blocks_count: int | None
    """free blocks"""
    loose_bytes: int | None
    """in use outside all known segments"""
    fragmentation_index: float | None
    """1 - largest_free_block_bytes / free_bytes"""
    over_time: list[AllocatorOverTime]
    """the state at the end of equal intervals"""
    most_unused: list[AllocatorOverTime]
    """the state when reserved minus active bytes were highest"""
    segments: list[AllocatorSegments]
    """segments at the moment"""
    advice: list[AllocatorAdvice]
    """what would help"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Allocator(_Allocator, total=False):
    """The document of `tidemark allocator --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class AllocatorOverTime(TypedDict):
    """A part of `tidemark allocator --json`."""

    time_ns: int
    """end of the interval"""
    reserved_bytes: int | None
    """reserved bytes"""
    active_bytes: int | None
    """in use, with blocks that wait to be freed"""
    allocated_bytes: int | None
    """allocated"""
    requested_bytes: int | None
    """the requested part of them"""
    cached_free_bytes: int | None
    """free in whole segments"""
    inactive_split_bytes: int | None
    """free beside blocks in use"""
    expandable_free_bytes: int | None
    """free in expandable segments"""
    largest_free_block_bytes: int | None
    """the largest free block"""


class AllocatorSegments(TypedDict):
    """A part of `tidemark allocator --json`."""

    address: int
    """address"""
    total_size: int
    """size"""
    active_size: int
    """bytes in use"""
    kind: str
    """what the segment is"""
    stream: int
    """number of its stream"""
    pool: int
    """row of its pool"""
    before_recording: bool
    """it existed before the recording began"""
    blocks: list[AllocatorSegmentsBlocks]
    """its blocks"""


class AllocatorAdvice(TypedDict):
    """A part of `tidemark allocator --json`."""

    kind: str
    """name of the advice"""
    severity: Literal["info", "medium", "high"]
    """severity"""
    text: str
    """the advice, with its evidence"""
    bytes: int
    """bytes concerned"""


class _AllocatorSegmentsBlocks(TypedDict):
    """Members that are always in AllocatorSegmentsBlocks."""

    address: int
    """address"""
    size: int
    """size"""
    state: Literal["inactive", "active_pending_free", "active_allocated"]
    """inactive: free; active_pending_free: a stream still uses it"""


class AllocatorSegmentsBlocks(_AllocatorSegmentsBlocks, total=False):
    """A part of `tidemark allocator --json`."""

    requested_size: int
    """of a block in use: the requested bytes"""
    alloc: int
    """of a block in use: the row of its allocation"""
    stack: int
    """of a block in use: the row of its call stack"""


class _Oom(TypedDict):
    """Members that are always in Oom."""

    report: Literal["oom"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ooms: list[OomOoms]
    """failed requests"""
    explained_count: int
    """the first events, which have stack, holders and settings"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Oom(_Oom, total=False):
    """The document of `tidemark oom --json`, version 1."""

    now: OomNow
    """without failed requests, with segments: the allocator at the end"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class OomNow(TypedDict):
    """A part of `tidemark oom --json`."""

    device: str
    """device"""
    history: bool
    """false: the trace has only this state"""
    reserved_bytes: int
    """bytes of all segments"""
    active_bytes: int
    """in use"""
    free_bytes: int
    """in blocks not in use"""
    cached_free_bytes: int
    """free in whole segments"""
    inactive_split_bytes: int
    """free beside blocks in use"""
    largest_free_block_bytes: int
    """the largest free block"""
    fragmentation: float
    """1 - largest free block / free bytes"""
    holders: list[OomNowHolders]
    """memory by group"""


class _OomOoms(TypedDict):
    """Members that are always in OomOoms."""

    device: str
    """device"""
    time_ns: int
    """when the request failed"""
    requested_bytes: int
    """the request"""
    segment_bytes: int
    """requested from the device"""
    device_free_bytes: int | None
    """free on the device"""
    reserved_bytes: int | None
    """reserved bytes"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    allocated_bytes: int
    """allocated"""
    active_bytes: int
    """in use, with blocks that wait to be freed"""
    reserved_unallocated_bytes: int | None
    """reserved_bytes - allocated_bytes"""
    free_bytes: int | None
    """in blocks not in use"""
    segments_source: Literal["recorded", "replayed"] | None
    """where segments and free blocks come from"""
    segments_unknown: str | None
    """where a replay differs from the recording, if it was tried in vain"""
    largest_free_block_bytes: int | None
    """the largest free block"""
    inactive_split_bytes: int | None
    """free beside blocks in use"""
    cached_free_bytes: int | None
    """free in whole segments"""
    capacity_bytes: int | None
    """the most that the allocator could reserve"""
    cause: Literal["unknown", "fragmented", "full", "limited"]
    """why it failed"""
    limit_bytes: int | None
    """limited: the limit that the program set, if the recording knows it"""
    limit_below_bytes: int | None
    """limited: the limit is below this"""
    missing_bytes: int | None
    """full, fragmented: bytes that were missing"""
    stack: list[OomOomsStack] | None
    """call stack of the request, from the innermost frame on"""
    holders: list[OomOomsHolders] | None
    """memory by group, and the effect of freeing it"""
    settings: list[OomOomsSettings] | None
    """the recording replayed under other settings"""


class OomOoms(_OomOoms, total=False):
    """A part of `tidemark oom --json`."""

    banks: int | None
    """of a pool with banks: their number"""
    bank_needed_bytes: int | None
    """needed in each bank"""
    bank_capacity_bytes: int | None
    """size of a bank"""
    bank_allocated_bytes: int | None
    """allocated in a bank"""
    bank_free_bytes: int | None
    """free in a bank"""
    bank_largest_free_bytes: int | None
    """largest free block of a bank"""


class OomNowHolders(TypedDict):
    """A part of `tidemark oom --json`."""

    bytes: int
    """live bytes of the group"""
    count: int
    """live allocations"""
    key: str
    """the group"""


class OomOomsStack(TypedDict):
    """A part of `tidemark oom --json`."""

    function: str
    """function"""
    file: str
    """source file; empty: unknown"""
    line: int
    """line; 0: unknown"""


class OomOomsHolders(TypedDict):
    """A part of `tidemark oom --json`."""

    bytes: int
    """live bytes of the group"""
    count: int
    """live allocations"""
    released_bytes: int | None
    """freeing the group would release this"""
    largest_free_bytes: int | None
    """and make this the largest free block"""
    enough: Literal["yes", "no", "if contiguous", "unknown"]
    """whether the request would then succeed"""
    key: str
    """the group"""


class OomOomsSettings(TypedDict):
    """A part of `tidemark oom --json`."""

    settings: str
    """allocator settings"""
    older_allocations: Literal["kept", "anew"]
    """allocations older than the recording: kept in place, or placed again"""
    served: Literal["yes", "no", "runs out earlier"]
    """whether the request succeeds when replayed"""
    reserved_peak_bytes: int
    """highest reserved bytes"""
    retries: int
    """requests that needed the cache to be emptied"""


class _Whatif(TypedDict):
    """Members that are always in Whatif."""

    report: Literal["whatif"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device"""
    capacity_bytes: int | None
    """memory available to the allocator; null: unlimited"""
    requests: int
    """replayed requests"""
    results: list[WhatifResults]
    """settings, best first"""
    runs_out: list[WhatifRunsOut]
    """settings with which memory runs out"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Whatif(_Whatif, total=False):
    """The document of `tidemark whatif --json`, version 1."""

    recorded: WhatifRecorded
    """unless the trace has no allocations: the recorded settings, replayed"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class _WhatifRecorded(TypedDict):
    """Members that are always in WhatifRecorded."""

    settings: str
    """allocator settings of the recording"""
    settings_known: bool
    """false: they are assumed"""
    reserved_peak_bytes: int | None
    """highest reserved bytes"""
    reserved_source: Literal["segments", "samples"] | None
    """where reserved bytes come from"""
    reproduced: bool | None
    """the replay reproduced all of them; null: there is nothing to compare"""
    empty_cache_calls: int
    """times the program emptied the cache"""
    allocations_before: int
    """allocations older than the recording"""


class WhatifRecorded(_WhatifRecorded, total=False):
    """A part of `tidemark whatif --json`."""

    segment_events: int
    """if the trace has segments: their events"""
    segment_events_reproduced: int
    """of these, events that the replay reproduced"""
    segment_events_followed: int
    """of these, events without a known reason that the replay followed"""
    difference: str | None
    """the first difference"""
    simulated_reserved_peak_bytes: int
    """highest reserved bytes of the replay"""
    simulated_allocated_peak_bytes: int
    """highest allocated bytes of the replay"""


class WhatifResults(TypedDict):
    """A part of `tidemark whatif --json`."""

    settings: str
    """allocator settings"""
    older_allocations: Literal["kept", "anew"]
    """allocations older than the recording: kept in place, or placed again"""
    recorded_settings: Literal["yes", "no"]
    """whether they are those of the recording"""
    reserved_peak_bytes: int
    """highest reserved bytes"""
    reserved_peak_delta_bytes: int | None
    """difference from the recording"""
    allocated_peak_bytes: int
    """highest allocated bytes"""
    active_at_reserved_peak_bytes: int
    """bytes in use at the reserved peak"""
    unused_at_peak_pct: float | None
    """part of the reserved peak that was not in use"""
    segments_peak: int
    """most segments at a time"""
    segments_taken: int
    """segments taken from the device"""
    segments_given_back: int
    """segments released"""
    alloc_retries: int
    """requests that needed the cache to be emptied"""
    inactive_split_bytes_at_end: int
    """free bytes beside blocks in use at the end"""
    largest_free_bytes_at_end: int
    """largest free block at the end"""
    gc_bytes: int
    """released by garbage collection"""
    recorded_ooms: int
    """failed requests of the recording"""
    recorded_ooms_served: int | None
    """of these, requests that succeed now"""
    runs_out: str
    """whether and when memory runs out"""
    runs_out_time_ns: int | None
    """when"""
    runs_out_event: int | None
    """at this memory event"""
    runs_out_bytes: int | None
    """at this request"""
    runs_out_device_free_bytes: int | None
    """free on the device then"""


class WhatifRunsOut(TypedDict):
    """A part of `tidemark whatif --json`."""

    settings: str
    """allocator settings"""
    stack: list[WhatifRunsOutStack]
    """call stack of the request, from the innermost frame on"""


class WhatifRunsOutStack(TypedDict):
    """A part of `tidemark whatif --json`."""

    function: str
    """function"""
    file: str
    """source file; empty: unknown"""
    line: int
    """line; 0: unknown"""


class _Modules(TypedDict):
    """Members that are always in Modules."""

    report: Literal["modules"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    count: int
    """modules that were called"""
    modules: list[ModulesModules]
    """modules"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Modules(_Modules, total=False):
    """The document of `tidemark modules --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class ModulesModules(TypedDict):
    """A part of `tidemark modules --json`."""

    calls: int
    """calls of the module"""
    forward_ns: int | None
    """time of its calls"""
    backward_ns: int | None
    """time of its backward ops"""
    recompute_ns: int | None
    """time of calls repeated in backward"""
    forward_device_ns: int | None
    """device time that its calls launched"""
    backward_device_ns: int | None
    """device time that its backward ops launched"""
    recompute_device_ns: int | None
    """device time that calls repeated in backward launched"""
    backward_ops: int | None
    """its backward ops"""
    recompute_calls: int | None
    """calls repeated in backward"""
    forward_alloc_bytes: int | None
    """bytes allocated in its calls"""
    backward_alloc_bytes: int | None
    """bytes allocated in its backward ops"""
    recompute_alloc_bytes: int | None
    """bytes allocated in calls repeated in backward"""
    module: str
    """name of the module"""


class _Ops(TypedDict):
    """Members that are always in Ops."""

    report: Literal["ops"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    device: str | None
    """device whose memory the rows count; null: all"""
    flat: bool
    """one row per name instead of a tree"""
    outside: OpsOutside
    """memory events outside any op"""
    ops: list[OpsOps]
    """ops"""
    start_wall_ns: int | None
    """the trace's start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Ops(_Ops, total=False):
    """The document of `tidemark ops --json`, version 1."""

    totals: list[OpsTotals]
    """sums that the profile has, without single calls"""
    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class OpsOutside(TypedDict):
    """A part of `tidemark ops --json`."""

    allocs: int | None
    """allocations"""
    frees: int | None
    """frees"""
    alloc_bytes: int | None
    """allocated bytes"""
    free_bytes: int | None
    """freed bytes"""


class OpsOps(TypedDict):
    """A part of `tidemark ops --json`."""

    count: int
    """number of runs"""
    open: int
    """runs that never ended"""
    wall_ns: int | None
    """time, nested ops included; null: no run ended"""
    self_ns: int | None
    """time without nested ops"""
    allocs: int | None
    """allocations"""
    frees: int | None
    """frees"""
    alloc_bytes: int | None
    """allocated bytes"""
    free_bytes: int | None
    """freed bytes"""
    change_bytes: int | None
    """allocated minus freed"""
    self_change_bytes: int | None
    """the same without nested ops"""
    peak_bytes: int | None
    """highest value of this balance in any run"""
    op: str | None
    """name"""
    path: str | None
    """names from the root on"""
    id: int | None
    """number of the node"""
    parent: int | None
    """node that it is in; 0: none"""
    depth: int | None
    """level in the tree"""


class OpsTotals(TypedDict):
    """A part of `tidemark ops --json`."""

    count: int | None
    """number of calls"""
    cpu_ns: int | None
    """CPU time of all calls"""
    device_ns: int | None
    """device time of all calls"""
    host_bytes: int | None
    """change of host memory"""
    device_bytes: int | None
    """change of device memory"""
    change_bytes: int | None
    """change of memory"""
    most_bytes: int | None
    """largest change of one call"""
    op: str | None
    """name"""
    input_shapes: str | None
    """shapes of its inputs"""


class _Timeline(TypedDict):
    """Members that are always in Timeline."""

    report: Literal["timeline"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    trace: str
    """name of the trace"""
    start_wall_ns: int | None
    """the trace's start"""
    summary: TimelineSummary
    """times of the whole trace"""
    lanes: list[TimelineLanes]
    """threads and streams"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Timeline(_Timeline, total=False):
    """The document of `tidemark timeline --json`, version 1."""

    time_axis: str
    """of a trace without a clock: what its times count"""
    alloc_basis: str
    """of inferred allocations: a sentence that names their source"""
    cpu_timeline: list[TimelineCpuTimeline]
    """with events: host spans"""
    gpu_timeline: list[TimelineCpuTimeline]
    """with events: device spans"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class TimelineSummary(TypedDict):
    """A part of `tidemark timeline --json`."""

    total_time_ms: float | None
    """from the first work to the end of the last in ms"""
    total_time_us: float | None
    """from the first work to the end of the last in us"""
    total_time_ns: int | None
    """from the first work to the end of the last"""
    cpu_time_ms: float | None
    """union of host spans in ms"""
    cpu_active_time_us: float | None
    """union of host spans in us"""
    cpu_active_time_ns: int | None
    """union of host spans"""
    gpu_time_ms: float | None
    """union of device spans in ms"""
    gpu_active_time_us: float | None
    """union of device spans in us"""
    gpu_active_time_ns: int | None
    """union of device spans"""
    overlap_ms: float | None
    """intersection of the two in ms"""
    overlap_time_us: float | None
    """intersection of the two in us"""
    overlap_time_ns: int | None
    """intersection of the two"""
    start_ns: int
    """start of the first work"""
    end_ns: int
    """end of the last"""
    idle_time_ns: int | None
    """neither side is active"""
    cpu_utilization: float | None
    """active host time of the total time, from 0 to 1"""
    cpu_utilization_pct: float | None
    """active host time of the total time"""
    gpu_utilization: float | None
    """active device time of the total time, from 0 to 1"""
    gpu_utilization_pct: float | None
    """active device time of the total time"""
    overlap_of_gpu: float | None
    """overlap of the active device time, from 0 to 1"""
    overlap_of_gpu_pct: float | None
    """overlap of the active device time"""
    cpu_events: int
    """host spans"""
    python_events: int
    """Python functions among them"""
    gpu_events: int
    """device spans"""
    left_out_events: int
    """spans that the options leave out"""
    not_work_events: int
    """ranges, waits and the profiler's own overhead"""


class TimelineLanes(TypedDict):
    """A part of `tidemark timeline --json`."""

    lane: str
    """thread or stream"""
    side: str
    """cpu or gpu"""
    kind: str
    """thread, stream ..."""
    number: int
    """its number"""
    device: int | None
    """its device's number"""
    device_kind: str | None
    """cuda ..."""
    pid: int | None
    """its process"""
    count: int
    """spans"""
    active_ns: int | None
    """union of its spans"""
    utilization_pct: float | None
    """active of the total time"""
    overlap_ns: int | None
    """active while the other side is"""
    sum_ns: int | None
    """sum of the durations"""
    first_ns: int
    """start of its first span"""
    last_ns: int
    """end of its last span"""


class _TimelineCpuTimeline(TypedDict):
    """Members that are always in TimelineCpuTimeline."""

    name: str
    """name of the span"""
    cat: str
    """what it is: op, kernel, runtime ..."""
    start_ms: float
    """start in ms"""
    duration_ms: float
    """duration in ms"""
    start_ns: int
    """start"""
    duration_ns: int | None
    """duration"""


class TimelineCpuTimeline(_TimelineCpuTimeline, total=False):
    """A part of `tidemark timeline --json`."""

    stream: int
    """number of its stream"""
    tid: int
    """number of its thread"""
    device: str
    """device, if it has one"""
    pid: int
    """process, if known"""
    file: str | None
    """source file; of host spans only"""
    line: int | None
    """line in it"""


class _CriticalPath(TypedDict):
    """Members that are always in CriticalPath."""

    report: Literal["critical-path"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    trace: str
    """name of the trace"""
    annotation: str
    """part of the names of the window's spans; '': all"""
    found: bool
    """there is a path"""
    why: str | None
    """the reason if there is none"""
    window_start_ns: int | None
    """start of the window"""
    window_ns: int | None
    """its length"""
    path_ns: int | None
    """length of the path"""
    nodes: int
    """moments of the graph"""
    edges: int
    """its edges"""
    path_nodes: int
    """moments on the path"""
    edge_types: dict[str, int]
    """edges by their type"""
    path_by_type_ns: dict[str, int | None]
    """the path by the type of its edges"""
    bound_by: list[CriticalPathBoundBy]
    """the path by resource that bounds it"""
    top: list[CriticalPathTop]
    """the path by span"""
    path_events: list[int]
    """spans on the path: numbers of the events in the file, from 0"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class CriticalPath(_CriticalPath, total=False):
    """The document of `tidemark critical-path --json`, version 1."""

    path: list[CriticalPathPath]
    """with path: every edge"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class CriticalPathBoundBy(TypedDict):
    """A part of `tidemark critical-path --json`."""

    bound: str
    """resource that bounds this part of the path"""
    time_ns: int | None
    """time on the path"""
    pct: float
    """of the path"""


class CriticalPathTop(TypedDict):
    """A part of `tidemark critical-path --json`."""

    name: str
    """span"""
    bound: str
    """resource that bounds it"""
    edges: int
    """edges of the path"""
    time_ns: int | None
    """time on the path"""
    pct: float
    """of the path"""


class CriticalPathPath(TypedDict):
    """A part of `tidemark critical-path --json`."""

    start_ns: int | None
    """start"""
    time_ns: int | None
    """its time on the path"""
    type: str
    """type of the edge"""
    bound: str
    """resource that bounds it"""
    name: str | None
    """span that it counts for"""


class _Overview(TypedDict):
    """Members that are always in Overview."""

    report: Literal["overview"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    format: str | None
    """format of the trace"""
    duration_ns: int | None
    """first event to last"""
    peak: OverviewPeak | None
    """the memory peak; null: no allocations are recorded"""
    device_time: OverviewDeviceTime | None
    """as in hta; null: no device rows are recorded"""
    longest_of: Literal["device", "host"] | None
    """whose time `longest` is"""
    longest: list[OverviewLongest]
    """the 3 ops with most time"""
    findings: list[OverviewFindings]
    """the 3 gravest findings of advice that cost points"""
    next: list[OverviewNext]
    """commands to ask next"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Overview(_Overview, total=False):
    """The document of `tidemark overview --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class OverviewPeak(TypedDict):
    """A part of `tidemark overview --json`."""

    device: str
    """device with the highest peak"""
    peak_bytes: int
    """highest live bytes"""
    peak_error_bytes: float
    """standard error of a sampled heap's peak; 0: exact"""
    peak_time_ns: int
    """when they were first reached"""
    groups: list[OverviewPeakGroups]
    """the 3 largest groups of allocations alive then"""


class OverviewDeviceTime(TypedDict):
    """A part of `tidemark overview --json`."""

    kernel_time_ns: int | None
    """from the first device row to the end of the last"""
    busy_ns: int | None
    """time with any work on the device"""
    compute_ns: int | None
    """time with compute"""
    communication_ns: int | None
    """time with communication"""
    memory_ns: int | None
    """time with copies and fills"""
    idle_ns: int | None
    """kernel_time_ns - busy_ns"""


class OverviewLongest(TypedDict):
    """A part of `tidemark overview --json`."""

    name: str | None
    """op; null: work outside any op"""
    ns: int | None
    """device time of its work, or self time of its spans"""
    share_pct: float | None
    """part of the sum over all ops"""


class OverviewFindings(TypedDict):
    """A part of `tidemark overview --json`."""

    severity: Literal["info", "medium", "high"]
    """severity"""
    heading: str
    """the problem in a few words"""
    text: str
    """the recommendation with its figures"""


class OverviewNext(TypedDict):
    """A part of `tidemark overview --json`."""

    command: str
    """a command line"""
    answers: str
    """what it shows"""


class OverviewPeakGroups(TypedDict):
    """A part of `tidemark overview --json`."""

    key: str | None
    """the group, as in peak"""
    bytes: int
    """live bytes of it at the peak"""


class _Flame(TypedDict):
    """Members that are always in Flame."""

    report: Literal["flame"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    kind: Literal["cpu", "gpu", "memory"]
    """what weighs"""
    unit: Literal["us", "bytes"]
    """of value and self"""
    trace_file: str
    """name of the trace"""
    folded_nodes: int
    """nodes that were folded because they are small"""
    cut_nodes: int
    """nodes that were too deep"""
    name: str
    """span, kernel or frame"""
    value: float | None
    """self and everything below, in `unit`"""
    self: float | None
    """the node itself, in `unit`"""
    count: int
    """spans or allocations of the node itself"""
    children: list[FlameChildren]
    """nodes below, largest first"""


class Flame(_Flame, total=False):
    """The document of `tidemark flame --json`, version 1."""

    device: str
    """of memory: its device"""
    peak_time_ns: int
    """of memory: when its peak was"""
    message: str
    """what the trace lacks"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss; of one trace"""
    recovered_events: int
    """of a recording that was not closed: events read from its rings"""
    value_ns: int | None
    """the same exactly; not of bytes"""
    self_ns: int | None
    """the same exactly; not of bytes"""


class _FlameChildren(TypedDict):
    """Members that are always in FlameChildren."""

    name: str
    """span, kernel or frame"""
    value: float | None
    """self and everything below, in `unit`"""
    self: float | None
    """the node itself, in `unit`"""
    count: int
    """spans or allocations of the node itself"""
    children: list[FlameChildren]
    """nodes below, largest first"""


class FlameChildren(_FlameChildren, total=False):
    """A part of `tidemark flame --json`."""

    value_ns: int | None
    """the same exactly; not of bytes"""
    self_ns: int | None
    """the same exactly; not of bytes"""


class _Compile(TypedDict):
    """Members that are always in Compile."""

    report: Literal["compile"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    compile_count: int
    """compiles"""
    failed: int
    """compiles that failed"""
    unfinished: int
    """compiles without an end"""
    compile_ns: int | None
    """sum of the compiles that ended"""
    graph_breaks: int
    """graph breaks"""
    graph_break_places: int
    """places with graph breaks"""
    recompiles: int
    """compiles because a guard failed"""
    cudagraph_skips: int
    """graphs without CUDA graphs"""
    modules: int
    """generated modules"""
    kernels: int | None
    """kernels in them"""
    ops_before_fusion: int | None
    """operators of the compiled graphs"""
    ops_after_fusion: int | None
    """calls of kernels in one run"""
    kernel_calls: int | None
    """calls of generated kernels among them"""
    library_calls: int | None
    """calls of library kernels among them"""
    fusion_ratio: float | None
    """operators by calls"""
    caches: CompileCaches
    """caches of compiled code"""
    graph_breaks_list: list[CompileGraphBreaksList]
    """graph breaks by cost"""
    recompiles_list: list[CompileRecompilesList]
    """recompiles by time"""
    compiles: list[CompileCompiles]
    """compiles in order of time"""
    stages: list[CompileStages]
    """stages by their own time"""
    recommendations: list[CompileRecommendations]
    """what to do"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Compile(_Compile, total=False):
    """The document of `tidemark compile --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class CompileCaches(TypedDict):
    """A part of `tidemark compile --json`."""

    fx_graph: CompileCachesFxGraph
    """cache of Inductor's graphs"""
    autograd: CompileCachesFxGraph
    """cache of AOTAutograd"""


class CompileGraphBreaksList(TypedDict):
    """A part of `tidemark compile --json`."""

    count: int
    """times"""
    retrace_ns: int | None
    """tracing time discarded because of it"""
    resume_ns: int | None
    """time to compile the code after it"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    location: str | None
    """source file"""
    line_number: int | None
    """line in it"""
    reason: str | None
    """reason"""
    explanation: str | None
    """explanation by torch"""
    hint: str | None
    """hint by torch"""
    suggestion: str
    """change that removes it"""


class CompileRecompilesList(TypedDict):
    """A part of `tidemark compile --json`."""

    count: int
    """times"""
    total_ns: int | None
    """wall time of the compile"""
    function: str | None
    """function"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    reason: str | None
    """reason"""


class CompileCompiles(TypedDict):
    """A part of `tidemark compile --json`."""

    rank: int | None
    """rank"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    direction: str
    """forward or backward"""
    total_ns: int | None
    """wall time of the compile"""
    backend_ns: int | None
    """part of it after tracing"""
    inductor_ns: int | None
    """part of it in Inductor"""
    codegen_ns: int | None
    """part of it that makes code"""
    triton_ns: int | None
    """time of worker processes"""
    autotune_ns: int | None
    """time of choosing kernels"""
    graph_ops: int | None
    """ops of the traced graph"""
    ops_before_fusion: int | None
    """operators that were compiled"""
    kernels: int | None
    """kernels that were generated"""
    kernel_calls: int | None
    """calls of these in one run"""
    library_calls: int | None
    """calls of library kernels in one run"""
    guards: int | None
    """guards"""
    graph_breaks: int | None
    """graph breaks"""
    restarts: int | None
    """times that tracing began again"""
    fx_graph_cache: str | None
    """hit, miss, bypass or disabled"""
    autograd_cache: str | None
    """hit, miss, bypass or disabled"""
    recompile_reason: str | None
    """guard that failed"""
    fail_type: str | None
    """exception that ended it"""
    fail_reason: str | None
    """its text"""
    cudagraph_skip_reason: str | None
    """reason for running without CUDA graphs"""
    finished: int
    """1: it ended"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    function: str | None
    """function"""


class CompileStages(TypedDict):
    """A part of `tidemark compile --json`."""

    count: int
    """times"""
    self_ns: int | None
    """time without nested stages"""
    wall_ns: int | None
    """time; nested stages of the same name count once"""
    stage: str | None
    """name of the stage"""


class CompileRecommendations(TypedDict):
    """A part of `tidemark compile --json`."""

    id: str
    """name of the rule"""
    severity: Literal["info", "medium", "high"]
    """how much it matters"""
    figure: str
    """the figure that decides"""
    value: float | None
    """its value"""
    threshold: float
    """the threshold"""
    text: str
    """what to do, with its figures"""


class CompileCachesFxGraph(TypedDict):
    """A part of `tidemark compile --json`."""

    hit: int
    """compiles that used it"""
    miss: int
    """compiles that were not in it"""
    bypass: int
    """compiles that it cannot hold"""
    disabled: int
    """compiles without it"""


class Hang(TypedDict):
    """The document of `tidemark hang --json`, version 1."""

    report: Literal["hang"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    verdict: Literal["unknown", "missing_rank", "mismatched_op", "mismatched_size", "mismatched_dtype", "mismatched_order", "died", "no_dump", "slow", "none"]
    """why the job hangs"""
    reason: str
    """the verdict as a sentence"""
    dumps: int
    """dumps that were read"""
    ranks: int
    """ranks that have one"""
    world: int | None
    """ranks of the job"""
    ops: int
    """ops in all dumps"""
    left_out_ops: int
    """ops that were left out: impossible numbers"""
    evidence: list[HangEvidence]
    """what the verdict rests on: rank by rank"""
    waiting: list[HangWaiting]
    """the first collective of each group that a rank waits in, and sends and receives; the earliest first"""
    groups: list[HangGroups]
    """process groups"""
    recordings: list[HangRecordings]
    """recordings of ranks: what they did last"""


class HangEvidence(TypedDict):
    """A part of `tidemark hang --json`."""

    rank: int
    """rank"""
    role: Literal["waiting", "finished", "differs", "passed", "missing", "no_dump", "died", "unknown"]
    """what it does in the row of ops"""
    group: str | None
    """name of the process group of the row"""
    seq: int | None
    """sequence number of the row in its group"""
    op: str | None
    """the op of this rank; for a rank that did not come, its last one"""
    op_seq: int | None
    """sequence number of this op"""
    input_sizes: str | None
    """sizes of its inputs"""
    input_dtypes: str | None
    """their types"""
    output_sizes: str | None
    """sizes of its outputs"""
    output_dtypes: str | None
    """their types"""
    state: str | None
    """its state as the recorder writes it, and whether it is retired"""
    called_wall_ns: int | None
    """when it was called"""
    record_id: int | None
    """its number in the dump"""
    stack: str | None
    """its call stack in brief"""
    file: str | None
    """the dump; null: there is none"""


class HangWaiting(TypedDict):
    """A part of `tidemark hang --json`."""

    group: str
    """name of the process group"""
    desc: str
    """what the program calls it"""
    seq: int
    """sequence number in the group"""
    op: str
    """the op, as the first rank called it"""
    called_wall_ns: int | None
    """when the first rank called it"""
    waiting: int
    """ranks that wait in it"""
    finished: int
    """ranks that it is finished on"""
    differ: int
    """ranks that called something else"""
    missing: int
    """ranks that did not come, by their dump"""
    no_dump: int
    """ranks without a dump, dead ones included"""
    unknown: int
    """ranks whose dump does not say"""


class HangGroups(TypedDict):
    """A part of `tidemark hang --json`."""

    group: str
    """name of the process group"""
    desc: str
    """what the program calls it"""
    ranks: int
    """its ranks"""
    ranks_from: Literal["dumps", "seen"]
    """dumps: a dump lists its ranks; seen: these are the ranks that were seen in it"""
    ops: int
    """recorded ops in it"""
    last_seq: int | None
    """highest sequence number"""
    rows_waiting: int
    """rows that a rank waits in"""
    rows_differ: int
    """rows in which ranks called different ops, sizes or types"""


class HangRecordings(TypedDict):
    """A part of `tidemark hang --json`."""

    rank: int | None
    """rank"""
    pid: int | None
    """process"""
    ended: Literal["closed", "died"]
    """closed: the recording was closed; died: it was read from the rings of a process"""
    op: str | None
    """the last op on the host"""
    op_state: Literal["running", "ended"]
    """running: the op had not ended"""
    t_ns: int | None
    """its start, or its end"""
    range: str | None
    """the user's range around it"""
    phase: str | None
    """the last phase or step before the end"""
    stack: str | None
    """its call stack in brief"""
    file: str
    """the recording"""


class Hta(TypedDict):
    """The document of `tidemark hta --json`, version 1."""

    report: Literal["hta"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    window: str
    """all, drop-last-step, or the steps"""
    ranks: list[HtaRanks]
    """traces, in order of rank"""
    summary: HtaSummary
    """sums over all traces"""
    temporal_breakdown: HtaTemporalBreakdown
    """shares of the summed windows"""
    kernels: list[HtaKernels]
    """kernels by name"""
    kernel_types: list[HtaKernelTypes]
    """kernels by type"""
    ops: list[HtaOps]
    """device time by op"""
    launch_calls: list[HtaLaunchCalls]
    """launch calls by name"""
    annotations: list[HtaAnnotations]
    """user ranges"""
    collectives: list[HtaCollectives]
    """collectives"""
    stragglers: list[HtaStragglers]
    """ranks that the others waited for in collectives"""
    copies: list[HtaCopies]
    """copies"""
    recommendations: list[HtaRecommendations]
    """what to do"""
    bottlenecks: list[HtaRecommendations]
    """the same as one line each"""
    failed: list[HtaFailed]
    """traces that could not be read"""
    notes: list[str]
    """what the figures do not include"""
    losses: dict[str, Any]
    """lost and repaired data of all traces, by the name of the loss"""


class HtaRanks(TypedDict):
    """A part of `tidemark hta --json`."""

    rank: int | None
    """rank"""
    rank_from_name: bool
    """only the file's name has the rank"""
    world_size: int | None
    """ranks of the job"""
    trace: str
    """name of the trace"""
    events: int
    """spans"""
    kernel_time_ns: int | None
    """device window: from the first device row to the end of the last"""
    busy_ns: int | None
    """union of all device rows"""
    idle_ns: int | None
    """the rest of the window"""
    compute_ns: int | None
    """union of compute"""
    communication_ns: int | None
    """union of communication"""
    memory_ns: int | None
    """union of copies and fills"""
    other_ns: int | None
    """union of other rows"""
    non_compute_ns: int | None
    """busy without compute"""
    idle_pct: float | None
    """of the window"""
    busy_pct: float | None
    """of the window"""
    compute_pct: float | None
    """of the window"""
    communication_pct: float | None
    """of the window"""
    memory_pct: float | None
    """of the window"""
    non_compute_pct: float | None
    """of the window"""
    comm_comp_overlap_ns: int | None
    """communication together with compute"""
    comm_comp_overlap_pct: float | None
    """of communication"""
    idle_host_active_ns: int | None
    """idle while the host worked"""
    gpu_rows: int
    """device rows"""
    gpu_rows_by_type: HtaRanksGpuRowsByType
    """device rows by type"""
    sum_by_type: HtaRanksSumByType
    """sums of durations by type"""
    gpu_rows_outside_window: int
    """device rows outside the requested steps"""
    gpu_rows_linked_to_launch: int
    """device rows whose launch is known"""
    custom_collectives: HtaRanksCustomCollectives
    """rows of --custom-collective"""
    type_sets: list[HtaRanksTypeSets]
    """the window by the types that ran at the same time"""
    idle_causes: HtaRanksIdleCauses
    """what the host did while streams waited for it"""
    streams: list[HtaRanksStreams]
    """streams"""
    launches: HtaRanksLaunches
    """launch calls"""
    steps: list[HtaRanksSteps]
    """steps"""
    collectives: list[HtaCollectives]
    """collectives"""
    copies: list[HtaCopies]
    """copies"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class HtaSummary(TypedDict):
    """A part of `tidemark hta --json`."""

    ranks: int
    """traces"""
    kernel_time_ns: int | None
    """device window: from the first device row to the end of the last"""
    busy_ns: int | None
    """union of all device rows"""
    idle_ns: int | None
    """the rest of the window"""
    compute_ns: int | None
    """union of compute"""
    communication_ns: int | None
    """union of communication"""
    memory_ns: int | None
    """union of copies and fills"""
    other_ns: int | None
    """union of other rows"""
    non_compute_ns: int | None
    """busy without compute"""
    idle_pct: float | None
    """of the window"""
    busy_pct: float | None
    """of the window"""
    compute_pct: float | None
    """of the window"""
    communication_pct: float | None
    """of the window"""
    memory_pct: float | None
    """of the window"""
    non_compute_pct: float | None
    """of the window"""
    comm_comp_overlap_ns: int | None
    """communication together with compute"""
    comm_comp_overlap_pct: float | None
    """of communication"""
    idle_host_active_ns: int | None
    """idle while the host worked"""
    gpu_rows: int
    """device rows"""
    gpu_rows_by_type: HtaRanksGpuRowsByType
    """device rows by type"""
    sum_by_type: HtaRanksSumByType
    """sums of durations by type"""
    gpu_rows_outside_window: int
    """device rows outside the requested steps"""
    gpu_rows_linked_to_launch: int
    """device rows whose launch is known"""
    custom_collectives: HtaRanksCustomCollectives
    """rows of --custom-collective"""
    type_sets: list[HtaRanksTypeSets]
    """the window by the types that ran at the same time"""
    idle_causes: HtaRanksIdleCauses
    """what the host did while streams waited for it"""
    launches: HtaSummaryLaunches
    """launch calls"""


class HtaTemporalBreakdown(TypedDict):
    """A part of `tidemark hta --json`."""

    gpu_idle_pct: float | None
    """of the windows of all ranks"""
    idle_pct: float | None
    """the same"""
    compute_pct: float | None
    """of the windows"""
    communication_pct: float | None
    """of the windows"""
    memory_pct: float | None
    """of the windows"""


class HtaKernels(TypedDict):
    """A part of `tidemark hta --json`."""

    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    p50_ns: int | None
    """50th percentile of the durations"""
    p90_ns: int | None
    """90th percentile"""
    p95_ns: int | None
    """95th percentile"""
    p99_ns: int | None
    """99th percentile"""
    custom_collective: int
    """1: counted as a custom collective"""
    device: int | None
    """number of the device"""
    stream: int | None
    """number of the stream"""
    grid: list[int] | None
    """grid of the longest launch"""
    block: list[int] | None
    """block of the longest launch"""
    registers_per_thread: int | None
    """of the longest launch"""
    shared_memory_bytes: int | None
    """of the longest launch"""
    short_name: str
    """short form of the name"""
    type: str
    """compute, communication, memory or other"""
    name: str | None
    """name"""


class HtaKernelTypes(TypedDict):
    """A part of `tidemark hta --json`."""

    type: str
    """compute, communication, memory or other"""
    names: int
    """different names"""
    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    union_ns: int | None
    """union of the rows"""


class HtaOps(TypedDict):
    """A part of `tidemark hta --json`."""

    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    op: str | None
    """innermost op around the launch"""


class HtaLaunchCalls(TypedDict):
    """A part of `tidemark hta --json`."""

    name: str | None
    """name"""
    launches: int
    """calls"""
    gpu_rows: int
    """device rows that they launched"""
    graph: int
    """1: launches a graph"""
    cpu_sum_ns: int | None
    """host time of the calls"""
    cpu_mean_ns: int | None
    """mean of it"""
    cpu_max_ns: int | None
    """the longest call"""
    delay_mean_ns: int | None
    """mean time from the launch to the start on the device"""
    delay_max_ns: int | None
    """the longest of these"""
    gpu_sum_ns: int | None
    """time of the device rows"""
    short_kernels: int
    """kernels shorter than their launch call"""
    runtime_outliers: int
    """calls longer than the cutoff"""
    delay_outliers: int
    """delays longer than the cutoff"""


class HtaAnnotations(TypedDict):
    """A part of `tidemark hta --json`."""

    side: str
    """cpu or gpu"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    gpu_rows: int | None
    """device rows launched in it"""
    gpu_sum_ns: int | None
    """time of the device rows"""
    name: str | None
    """name"""


class HtaCollectives(TypedDict):
    """A part of `tidemark hta --json`."""

    collective: str | None
    """collective operation"""
    group: str | None
    """process group"""
    description: str | None
    """its description"""
    group_size: int | None
    """ranks of the group"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    union_ns: int | None
    """union of the rows"""
    overlap_ns: int | None
    """together with compute"""
    overlap_pct: float | None
    """of the union"""
    bytes: int | None
    """bytes that were sent"""
    rows_with_bytes: int
    """rows whose bytes are known"""
    algbw_gb_s: float | None
    """bytes by time, 10^9 bytes per second"""
    busbw_gb_s: float | None
    """the same, as the bus carries them"""


class HtaStragglers(TypedDict):
    """A part of `tidemark hta --json`."""

    rank: int | None
    """rank"""
    collectives: int
    """collectives that could be compared"""
    last: int
    """collectives in which it was the last"""
    late_ns: int | None
    """sum of its delays after the first rank"""
    worst_ns: int | None
    """the longest of these"""
    worst_step: int | None
    """step of the longest"""


class HtaCopies(TypedDict):
    """A part of `tidemark hta --json`."""

    kind: str | None
    """direction or kind of the copy"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    union_ns: int | None
    """union of the rows"""
    bytes: int | None
    """bytes that were copied"""
    rows_with_bytes: int
    """rows whose bytes are known"""
    mean_gb_s: float | None
    """mean rate, 10^9 bytes per second"""
    p50_gb_s: float | None
    """50th percentile of the rate"""
    p90_gb_s: float | None
    """90th percentile"""
    p95_gb_s: float | None
    """95th percentile"""
    p99_gb_s: float | None
    """99th percentile"""
    peak_gb_s: float | None
    """highest rate"""


class HtaRecommendations(TypedDict):
    """A part of `tidemark hta --json`."""

    id: str
    """name of the rule"""
    severity: Literal["info", "medium", "high"]
    """how much it matters"""
    text: str
    """what to do, with its figures"""
    figure: str
    """the figure that decides"""
    value: float | None
    """its value"""
    when: Literal["at most", "above"]
    """how value and threshold are compared"""
    threshold: float
    """the threshold"""


class HtaFailed(TypedDict):
    """A part of `tidemark hta --json`."""

    trace: str
    """a trace that could not be read"""
    error: str
    """the reason"""
    offset: int | None
    """where in the file"""


class HtaRanksGpuRowsByType(TypedDict):
    """A part of `tidemark hta --json`."""

    compute: int
    """rows of compute"""
    communication: int
    """rows of communication"""
    memory: int
    """copies and fills"""
    other: int
    """other rows"""


class HtaRanksSumByType(TypedDict):
    """A part of `tidemark hta --json`."""

    compute_ns: int | None
    """compute"""
    communication_ns: int | None
    """communication"""
    memory_ns: int | None
    """copies and fills"""
    other_ns: int | None
    """other rows"""


class HtaRanksCustomCollectives(TypedDict):
    """A part of `tidemark hta --json`."""

    rows_counted_as_compute: int
    """rows of custom collectives"""
    union_ns: int | None
    """their union"""


class HtaRanksTypeSets(TypedDict):
    """A part of `tidemark hta --json`."""

    types: list[str]
    """types that ran at the same time"""
    time_ns: int | None
    """time in which exactly these ran"""
    pct: float | None
    """of the device window"""


class HtaRanksIdleCauses(TypedDict):
    """A part of `tidemark hta --json`."""

    sync_ns: int | None
    """a synchronising call"""
    allocation_ns: int | None
    """device or pinned memory was allocated or freed"""
    data_loading_ns: int | None
    """data loading"""
    compile_ns: int | None
    """torch.compile, Triton, module loading"""
    runtime_ns: int | None
    """any other runtime or driver call"""
    op_ns: int | None
    """inside an op, between its calls"""
    python_ns: int | None
    """Python"""
    annotation_ns: int | None
    """only a user range is known"""
    unrecorded_ns: int | None
    """nothing recorded on the launching thread"""
    launch_ns: int | None
    """from the launch call to the start on the device"""


class HtaRanksStreams(TypedDict):
    """A part of `tidemark hta --json`."""

    device: int | None
    """number of the device"""
    device_kind: str | None
    """cuda ..."""
    stream: int
    """number of the stream"""
    rows: int
    """device rows"""
    overlapping_rows: int
    """rows that began before the previous one ended"""
    span_ns: int | None
    """from its first row to the end of its last"""
    busy_ns: int | None
    """union of its rows"""
    idle: HtaRanksStreamsIdle
    """time of its gaps, by cause"""
    gaps: HtaRanksStreamsGaps
    """gaps, by cause"""
    gaps_without_launch: int
    """gaps before a row whose launch is unknown"""
    gaps_without_launch_ns: int | None
    """time of these"""
    queue: HtaRanksStreamsQueue
    """launches that had not begun on the device"""


class HtaRanksLaunches(TypedDict):
    """A part of `tidemark hta --json`."""

    count: int
    """launches"""
    short_kernels: int
    """kernels shorter than their call"""
    runtime_outliers: int
    """calls longer than the cutoff"""
    delay_outliers: int
    """delays longer than the cutoff"""
    graph_launches: int
    """launches of graphs"""
    graph_gpu_rows: int
    """device rows of these"""
    gpu_rows_per_graph: float | None
    """rows per launch of a graph"""
    cpu: HtaRanksLaunchesCpu
    """host time of the calls"""
    delay: HtaRanksLaunchesCpu
    """from the launch to the start on the device"""


class HtaRanksSteps(TypedDict):
    """A part of `tidemark hta --json`."""

    step: int
    """number of the step"""
    start_ns: int | None
    """start on the host"""
    duration_ns: int | None
    """duration on the host"""
    gpu_rows: int
    """device rows launched in it"""
    gpu_window_ns: int | None
    """from the first device row launched in it to the end of the last"""
    busy_ns: int | None
    """union of the device rows"""
    compute_ns: int | None
    """union of compute"""
    communication_ns: int | None
    """union of communication"""
    memory_ns: int | None
    """union of copies and fills"""


class HtaSummaryLaunches(TypedDict):
    """A part of `tidemark hta --json`."""

    count: int
    """launches"""
    short_kernels: int
    """kernels shorter than their call"""
    runtime_outliers: int
    """calls longer than the cutoff"""
    delay_outliers: int
    """delays longer than the cutoff"""
    graph_launches: int
    """launches of graphs"""
    graph_gpu_rows: int
    """device rows of these"""
    gpu_rows_per_graph: float | None
    """rows per launch of a graph"""
    cpu: HtaSummaryLaunchesCpu
    """host time of the calls"""
    delay: HtaSummaryLaunchesCpu
    """from the launch to the start on the device"""


class HtaRanksStreamsIdle(TypedDict):
    """A part of `tidemark hta --json`."""

    host_wait_ns: int | None
    """the host had not launched the next row"""
    kernel_wait_ns: int | None
    """gaps shorter than the kernel wait"""
    other_ns: int | None
    """other gaps"""


class HtaRanksStreamsGaps(TypedDict):
    """A part of `tidemark hta --json`."""

    host_wait: int
    """gaps in which the host had not launched the next row"""
    kernel_wait: int
    """gaps shorter than the kernel wait"""
    other: int
    """other gaps"""


class HtaRanksStreamsQueue(TypedDict):
    """A part of `tidemark hta --json`."""

    launches: int
    """launches that entered the queue"""
    early_starts: int
    """rows that began before their launch call ended"""
    time_ns: int | None
    """time in which the queue was observed"""
    mean: float | None
    """mean length over this time"""
    p50: int
    """50th percentile of the length over time"""
    p90: int
    """90th percentile"""
    p95: int
    """95th percentile"""
    p99: int
    """99th percentile"""
    max: int
    """greatest length"""
    full_ns: int | None
    """time at or above the limit of the queue"""


class HtaRanksLaunchesCpu(TypedDict):
    """A part of `tidemark hta --json`."""

    sum_ns: int | None
    """sum"""
    mean_ns: int | None
    """mean"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation"""
    p50_ns: int | None
    """50th percentile"""
    p90_ns: int | None
    """90th percentile"""
    p95_ns: int | None
    """95th percentile"""
    p99_ns: int | None
    """99th percentile"""


class HtaSummaryLaunchesCpu(TypedDict):
    """A part of `tidemark hta --json`."""

    sum_ns: int | None
    """sum"""
    mean_ns: int | None
    """mean"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation"""


class _Kernels(TypedDict):
    """Members that are always in Kernels."""

    report: Literal["kernels"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    window: str
    """all, drop-last-step, or the steps"""
    ranks: int
    """traces"""
    rows: int
    """device rows"""
    names: int
    """different names"""
    by_type: list[KernelsByType]
    """kernels by type"""
    failed: list[KernelsFailed]
    """traces that could not be read"""
    notes: list[str]
    """what the figures do not include"""
    losses: dict[str, Any]
    """lost and repaired data of all traces, by the name of the loss"""


class Kernels(_Kernels, total=False):
    """The document of `tidemark kernels --json`, version 1."""

    kernels: list[KernelsKernels]
    """by name: kernels"""
    ops: list[KernelsOps]
    """by op: device time by op"""
    op_kernels: list[KernelsOpKernels]
    """by op: kernels of each op"""
    streams: list[KernelsStreams]
    """by stream: streams"""


class KernelsByType(TypedDict):
    """A part of `tidemark kernels --json`."""

    type: str
    """compute, communication, memory or other"""
    names: int
    """different names"""
    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    union_ns: int | None
    """union of the rows"""


class KernelsKernels(TypedDict):
    """A part of `tidemark kernels --json`."""

    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    p50_ns: int | None
    """50th percentile of the durations"""
    p90_ns: int | None
    """90th percentile"""
    p95_ns: int | None
    """95th percentile"""
    p99_ns: int | None
    """99th percentile"""
    custom_collective: int
    """1: counted as a custom collective"""
    device: int | None
    """number of the device"""
    stream: int | None
    """number of the stream"""
    grid: list[int] | None
    """grid of the longest launch"""
    block: list[int] | None
    """block of the longest launch"""
    registers_per_thread: int | None
    """of the longest launch"""
    shared_memory_bytes: int | None
    """of the longest launch"""
    short_name: str
    """short form of the name"""
    type: str
    """compute, communication, memory or other"""
    name: str | None
    """name"""


class KernelsOps(TypedDict):
    """A part of `tidemark kernels --json`."""

    pct: float | None
    """share of the time of all rows"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    op: str | None
    """innermost op around the launch"""


class KernelsOpKernels(TypedDict):
    """A part of `tidemark kernels --json`."""

    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""
    type: str
    """compute, communication, memory or other"""
    op: str | None
    """innermost op around the launch"""
    kernel: str | None
    """name of the kernel"""


class KernelsStreams(TypedDict):
    """A part of `tidemark kernels --json`."""

    rank: int | None
    """rank"""
    device: int | None
    """number of the device"""
    device_kind: str | None
    """cuda ..."""
    device_name: str | None
    """kind and number of the device"""
    stream: int
    """number of the stream"""
    span_ns: int | None
    """from its first row to the end of its last"""
    busy_ns: int | None
    """union of its rows"""
    host_wait_ns: int | None
    """idle: the host had not launched the next row"""
    kernel_wait_ns: int | None
    """idle: gaps shorter than the kernel wait"""
    other_ns: int | None
    """idle for other reasons"""
    queue_max: int
    """most launches in the queue"""
    count: int
    """rows"""
    sum_ns: int | None
    """sum of their durations"""
    mean_ns: int | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: int | None
    """standard deviation, of the whole number"""


class KernelsFailed(TypedDict):
    """A part of `tidemark kernels --json`."""

    trace: str
    """a trace that could not be read"""
    error: str
    """the reason"""
    offset: int | None
    """where in the file"""


class Collectives(TypedDict):
    """The document of `tidemark collectives --json`, version 1."""

    report: Literal["collectives"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    window: str
    """steps that were looked at"""
    ranks: int
    """traces"""
    world: int | None
    """ranks of the job"""
    calls: int
    """collectives of all ranks, each rank's counted"""
    pairs: int
    """sends and receives, which are between two ranks and not compared"""
    unsure: int
    """collectives matched by their order only: no sequence numbers, no steps"""
    impossible_sizes: int
    """calls with impossible message sizes"""
    splits_unknown: int
    """all-to-alls whose split sizes cannot be used"""
    notes: list[CollectivesNotes]
    """what limits the figures"""
    groups: list[CollectivesGroups]
    """process groups"""
    sizes: list[CollectivesSizes]
    """collectives by group, name, dtype, message size and ranks seen"""
    last: list[CollectivesLast]
    """ranks of each group, the one that kept others waiting longest first"""
    clocks: list[CollectivesClocks]
    """clocks of the ranks, by events that they share"""
    all_to_all: list[CollectivesAllToAll]
    """bytes from rank to rank of all-to-alls with split sizes"""
    failed: list[str]
    """traces that could not be read"""
    losses: dict[str, Any]
    """lost and repaired data of all traces, by the name of the loss"""


class CollectivesNotes(TypedDict):
    """A part of `tidemark collectives --json`."""

    text: str
    """a sentence"""


class CollectivesGroups(TypedDict):
    """A part of `tidemark collectives --json`."""

    group: str | None
    """name of the process group"""
    desc: str | None
    """what the program calls it"""
    ranks: str | None
    """its ranks, as the trace writes them"""
    size: int | None
    """its ranks"""
    seen: int
    """ranks with matched calls"""
    calls: int
    """matched collectives"""
    complete: int
    """of these, seen on every rank of the group"""
    left_out: int
    """collectives that could not be matched"""
    left_out_why: CollectivesGroupsLeftOutWhy
    """the same by reason"""


class CollectivesSizes(TypedDict):
    """A part of `tidemark collectives --json`."""

    group: str | None
    """name of the process group"""
    ranks_key: str | None
    """ranks of the group, as the trace writes them"""
    collective: str
    """name"""
    dtype: str | None
    """type of the elements"""
    message_bytes: int | None
    """message size as nccl-tests counts it; the largest of a rank"""
    seen: int
    """ranks that were seen in each call"""
    complete: bool | None
    """these are all ranks of the group; otherwise latency is at most and skew at least the figure"""
    on_host: bool
    """ranges of a host library, not device rows"""
    calls: int
    """collectives"""
    latency_ns: int | None
    """mean over the calls of the least duration of a rank: without waiting"""
    latency_min_ns: int | None
    """the least one"""
    latency_max_ns: int | None
    """the largest one"""
    algbw_gb_s: float | None
    """message size / mean latency"""
    busbw_gb_s: float | None
    """the same with nccl-tests' factor of the collective"""
    wait_ns: int | None
    """sum over calls and ranks of the duration beyond the latency"""
    placed: int
    """calls whose ranks have a common clock"""
    skew_start_ns: int | None
    """mean time from the first to the last start"""
    skew_start_max_ns: int | None
    """the largest one"""
    skew_end_ns: int | None
    """mean time from the first to the last end"""
    skew_end_max_ns: int | None
    """the largest one"""
    skew_bound_ns: int | None
    """mean over the calls of the bound of their skews: the truth is at most so far from a skew"""
    skew_bound_max_ns: int | None
    """the largest one"""


class CollectivesLast(TypedDict):
    """A part of `tidemark collectives --json`."""

    group: str | None
    """name of the process group"""
    rank: int | None
    """rank"""
    trace: str
    """its file"""
    calls: int
    """matched collectives of the rank"""
    last: int
    """of these, it came last"""
    last_pct: float | None
    """the same in percent"""
    late_ns: int | None
    """sum over these of the longest wait of another rank"""
    worst_ns: int | None
    """the largest of these"""
    worst_step: int | None
    """its step"""
    cause: Literal["compute", "communication", "copies", "data_loading", "launch", "unknown"] | None
    """the most frequent cause"""
    cause_calls: int
    """collectives with that cause"""
    causes: CollectivesLastCauses
    """collectives in which it came last, by what it did longest beyond the rank that came first"""
    causes_ns: CollectivesLastCausesNs
    """time of these beyond the rank that came first"""


class CollectivesClocks(TypedDict):
    """A part of `tidemark collectives --json`."""

    rank: int | None
    """rank"""
    trace: str
    """its file"""
    state: Literal["unknown", "known", "reference", "contradicts"]
    """unknown: no event joins it with another rank; contradicts: no linear clock agrees with its events"""
    reference: int | None
    """whose clock is the common one"""
    events: int
    """collectives that synchronise"""
    offset_ns: int | None
    """what to add to its time of day in the middle of its events"""
    shift_ns: int | None
    """what to add to its times, counted from the start of its trace, to get those of the reference"""
    bound_ns: int | None
    """the truth is at most so far from it, there"""
    bound_max_ns: int | None
    """the same at its first or last event"""
    drift_ppm: float | None
    """what the offset grows by, in millionths; null: one event only"""
    drift_bound_ppm: float | None
    """the truth is at most so far from it"""


CollectivesAllToAll = TypedDict("CollectivesAllToAll", {
    "group": "str | None",
    "from": "int | None",
    "to": "int | None",
    "calls": "int",
    "bytes": "int | None",
    "received_bytes": "int | None",
    "agree": "bool | None",
})


class CollectivesGroupsLeftOutWhy(TypedDict):
    """A part of `tidemark collectives --json`."""

    alone: int
    """collectives seen on one rank only"""
    too_many_ranks: int
    """on more ranks than the group has"""
    same_rank_twice: int
    """in two traces of one rank"""
    not_a_member: int
    """on a rank that is not in the group's list"""
    group_sizes_differ: int
    """ranks disagree on the group's size"""
    operations_differ: int
    """ranks disagree on the collective, its dtype or its message size"""


class CollectivesLastCauses(TypedDict):
    """A part of `tidemark collectives --json`."""

    compute: int
    """its device computed longer"""
    communication: int
    """it was longer in other collectives"""
    copies: int
    """it copied longer"""
    data_loading: int
    """its host loaded data longer"""
    launch: int
    """its device waited longer for the host"""
    unknown: int
    """the time before is not in the traces"""


class CollectivesLastCausesNs(TypedDict):
    """A part of `tidemark collectives --json`."""

    compute: int | None
    """its device computed longer"""
    communication: int | None
    """it was longer in other collectives"""
    copies: int | None
    """it copied longer"""
    data_loading: int | None
    """its host loaded data longer"""
    launch: int | None
    """its device waited longer for the host"""


class _Roofline(TypedDict):
    """Members that are always in Roofline."""

    report: Literal["roofline"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    window: str
    """the given window: all, drop-last-step, steps A..B"""
    time_of: Literal["device", "host"]
    """host: the trace has no device rows, times are those of ops"""
    device_ns: int | None
    """time of all device rows; of host: of all ops with a rule"""
    covered_ns: int | None
    """part of it whose operations and bytes are known"""
    covered_pct: float | None
    """the same as a share"""
    calls_without_shapes: int
    """calls of ops with a rule whose shapes do not suffice"""
    calls_without_time: int
    """calls that launched no device row"""
    device: RooflineDevice
    """the device and its peaks"""
    categories: list[RooflineCategories]
    """sums by kind of work, and of all"""
    ops: list[RooflineOps]
    """ops with their arguments, most time first"""
    steps: list[RooflineSteps]
    """use of matrix units: of the trace, and of each step"""
    uncovered: list[RooflineUncovered]
    """device time without a known cost"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Roofline(_Roofline, total=False):
    """The document of `tidemark roofline --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class RooflineDevice(TypedDict):
    """A part of `tidemark roofline --json`."""

    name: str | None
    """the device whose peaks are used"""
    devices: int
    """devices with rows"""
    tflops_bf16: float | None
    """bfloat16 and float16"""
    tflops_fp32: float | None
    """float32, also of vector units for 16 and 32 bit"""
    tflops_tf32: float | None
    """float32 as TF32"""
    tflops_fp64: float | None
    """float64"""
    tflops_fp8: float | None
    """float8 and int8"""
    tflops_fp4: float | None
    """float4"""
    bandwidth_gb_s: float | None
    """of its memory, 10^9 bytes a second"""


class RooflineCategories(TypedDict):
    """A part of `tidemark roofline --json`."""

    pct: float | None
    """share of device_ns"""
    sum_ns: int | None
    """time of its calls"""
    count: int
    """calls"""
    tflops: float | None
    """operations / time of the calls where they are known"""
    tb_s: float | None
    """bytes / time of the calls where they are known"""
    roof_pct: float | None
    """time that the device needs at its peaks / the time, where it is known"""
    recompute_ns: int | None
    """time of recomputed calls"""
    category: str
    """the kind of work"""
    flops: float | None
    """operations of the calls where they are known"""
    bytes: float | None
    """bytes of the calls where they are known"""
    rows: int
    """device rows"""


class RooflineOps(TypedDict):
    """A part of `tidemark roofline --json`."""

    pct: float | None
    """share of device_ns"""
    sum_ns: int | None
    """time of its calls"""
    count: int
    """calls with a time"""
    tflops: float | None
    """operations of all calls / their time, 10^12 a second"""
    tb_s: float | None
    """bytes of all calls / their time, 10^12 a second"""
    intensity: float | None
    """operations / bytes"""
    roof_pct: float | None
    """time that the device needs at its peaks / the time"""
    bound: Literal["compute", "memory"] | None
    """the peak that it meets first"""
    op: str
    """name of the op, or of a copy"""
    shapes: str | None
    """shapes of its inputs"""
    dtypes: str | None
    """dtypes of its inputs"""
    strides: str | None
    """strides of its inputs"""
    arguments: str | None
    """other arguments"""
    category: str
    """the kind of work"""
    dtype: str | None
    """what it computes in"""
    recompute: bool
    """its calls repeat work of the forward pass"""
    flops: int | None
    """operations of one call"""
    bytes_read: int | None
    """bytes that one call reads at least"""
    bytes_written: int | None
    """bytes that one call writes at least"""
    batch: int | None
    """of a matrix product: products"""
    m: int | None
    """of a matrix product: rows"""
    n: int | None
    """of a matrix product: columns"""
    k: int | None
    """of a matrix product: inner length"""
    peak_tflops: float | None
    """peak of the device for it"""
    over_ns: int | None
    """time beyond what the device needs at its peaks"""
    tflops_mean: float | None
    """mean TFLOP/s of the calls"""
    tflops_median: float | None
    """median"""
    tflops_std: float | None
    """standard deviation"""
    tflops_min: float | None
    """of the slowest call"""
    tflops_max: float | None
    """of the fastest call"""
    tb_s_mean: float | None
    """mean TB/s of the calls"""
    tb_s_median: float | None
    """median"""
    tb_s_std: float | None
    """standard deviation"""
    tb_s_min: float | None
    """of the slowest call"""
    tb_s_max: float | None
    """of the fastest call"""
    rows: int
    """device rows of its calls"""
    mean_ns: int | None
    """mean time of a call"""
    median_ns: int | None
    """median"""
    std_ns: int | None
    """standard deviation"""
    min_ns: int | None
    """shortest call"""
    max_ns: int | None
    """longest call"""
    span: int
    """span of its longest call"""
    start_ns: int
    """start of that"""


class RooflineSteps(TypedDict):
    """A part of `tidemark roofline --json`."""

    step: int | None
    """number of the step; null: from the first launch to the end"""
    wall_ns: int | None
    """length of the step"""
    device_ns: int | None
    """time of the device rows that it launched"""
    matrix_tflop: float
    """10^12 operations of matrix units, without recomputation"""
    recompute_tflop: float
    """the same, recomputed"""
    mfu_pct: float | None
    """matrix_tflop at the device's peak / the step"""
    hfu_pct: float | None
    """the same with recomputation"""


class RooflineUncovered(TypedDict):
    """A part of `tidemark roofline --json`."""

    pct: float | None
    """share of device_ns"""
    sum_ns: int | None
    """sum of the durations of its device rows"""
    rows: int
    """its device rows"""
    why: str
    """why its operations and bytes are unknown"""
    name: str
    """the innermost op around the launch, else the kernel"""


class _Inference(TypedDict):
    """Members that are always in Inference."""

    report: Literal["inference"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    source: Literal["server", "ranges", "modules"] | None
    """what showed the iterations"""
    count: int
    """iterations, also those beyond --top"""
    device_ns: int | None
    """sum of the durations of all device rows"""
    outside_ns: int | None
    """part of it that no iteration launched"""
    kinds: list[InferenceKinds]
    """iterations by kind"""
    iterations: list[InferenceIterations]
    """iterations by start"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class Inference(_Inference, total=False):
    """The document of `tidemark inference --json`, version 1."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class InferenceKinds(TypedDict):
    """A part of `tidemark inference --json`."""

    kind: str
    """prefill, decode, mixed, unknown"""
    count: int
    """iterations"""
    requests: int | None
    """sum of their requests"""
    tokens: int | None
    """tokens that they computed"""
    tokens_per_s: float | None
    """tokens / sum of latencies"""
    p50_ns: int | None
    """median latency, nearest rank"""
    p90_ns: int | None
    """90th percentile"""
    p99_ns: int | None
    """99th percentile"""
    mean_ns: int | None
    """mean latency"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    latency_ns: int | None
    """sum of latencies"""
    device_ns: int | None
    """time of their device rows"""
    device_p50_ns: int | None
    """median device time of an iteration"""
    device_p90_ns: int | None
    """90th percentile"""
    device_p99_ns: int | None
    """99th percentile"""


class InferenceIterations(TypedDict):
    """A part of `tidemark inference --json`."""

    index: int
    """from 0, by start"""
    kind: str
    """prefill, decode, mixed, unknown"""
    start_ns: int
    """start of its range or module"""
    latency_ns: int | None
    """from its start to the end of its last device row, or its end"""
    host_ns: int | None
    """length of its range or module"""
    device_ns: int | None
    """sum of the durations of its device rows"""
    busy_ns: int | None
    """time in which at least one of them runs"""
    rows: int
    """device rows launched in it"""
    graph_launches: int
    """launches of CUDA or HIP graphs"""
    prefill_requests: int | None
    """requests whose prompt it computes"""
    prefill_tokens: int | None
    """tokens of these"""
    decode_requests: int | None
    """requests for which it generates"""
    decode_tokens: int | None
    """tokens of these"""
    context_tokens: int | None
    """tokens in the caches that attention reads"""
    name: str
    """name of the range or module"""


class Waits(TypedDict):
    """The document of `tidemark waits --json`, version 1."""

    report: Literal["waits"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    waits: int
    """waits for a batch"""
    wait_ns: int | None
    """their time"""
    idle_ns: int | None
    """idle time of the devices in them; null: no device rows"""
    explained: int
    """waits whose worker is recorded"""
    explained_pct: float | None
    """share of the waits' time"""
    functions: list[WaitsFunctions]
    """waits by function and what the worker did"""
    longest: list[WaitsLongest]
    """waits, longest first"""
    workers: list[WaitsWorkers]
    """processes that made batches"""


class WaitsFunctions(TypedDict):
    """A part of `tidemark waits --json`."""

    function: str | None
    """the function that made the batch, with its place; null: not recorded"""
    did: Literal["computed", "read", "waited", "handover", "unknown"]
    """what the worker did most in the wait; starved counts as what it did otherwise"""
    waits: int
    """waits"""
    wait_ns: int | None
    """their time"""
    longest_ns: int | None
    """the longest one"""
    idle_ns: int | None
    """idle time of the devices in them"""
    workers: int
    """processes that made the batches"""
    computed_ns: int | None
    """it ran: dataset, transforms, collate"""
    starved_ns: int | None
    """it could run, but no processor was free"""
    read_ns: int | None
    """it read files"""
    waited_ns: int | None
    """it slept: a lock, a socket, another process, sleep()"""
    handover_ns: int | None
    """no batch was being made: start of a worker, queue, copies"""


class WaitsLongest(TypedDict):
    """A part of `tidemark waits --json`."""

    at_ns: int
    """begin, in the trace that waited"""
    wait_ns: int | None
    """length"""
    idle_ns: int | None
    """idle time of the devices in it"""
    pid: int | None
    """the process that waited"""
    worker: int | None
    """the process that made the batch"""
    function: str | None
    """its function"""
    did: Literal["computed", "read", "waited", "handover", "unknown"]
    """what the worker did most in the wait; starved counts as what it did otherwise"""
    computed_ns: int | None
    """it ran: dataset, transforms, collate"""
    starved_ns: int | None
    """it could run, but no processor was free"""
    read_ns: int | None
    """it read files"""
    waited_ns: int | None
    """it slept: a lock, a socket, another process, sleep()"""
    handover_ns: int | None
    """no batch was being made: start of a worker, queue, copies"""


class WaitsWorkers(TypedDict):
    """A part of `tidemark waits --json`."""

    pid: int
    """the worker"""
    itself: bool
    """the program made its batches itself"""
    recorded: bool
    """its recording is there"""
    batches: int
    """batches that it made"""
    batch_ns: int | None
    """time of these"""
    computed_ns: int | None
    """it ran: dataset, transforms, collate"""
    starved_ns: int | None
    """it could run, but no processor was free"""
    read_ns: int | None
    """it read files"""
    waited_ns: int | None
    """it slept: a lock, a socket, another process, sleep()"""
    waits: int
    """waits for it"""
    wait_ns: int | None
    """their time"""


class PeakRanks(TypedDict):
    """The document of `tidemark peak-ranks --json`, version 1."""

    report: Literal["peak-ranks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[PeakRanksRanks]
    """a row for each trace"""


class PeakRanksRanks(TypedDict):
    """A part of `tidemark peak-ranks --json`."""

    rank: int | None
    """rank of the trace; null: none"""
    device: str | None
    """the requested device, else the one with the highest peak; null: none with allocations"""
    peak_bytes: int | None
    """highest live bytes"""
    peak_time_ns: int | None
    """time of the peak"""
    peak_count: int | None
    """live allocations at the peak"""
    reserved_bytes_at_peak: int | None
    """bytes that the allocator held then"""
    capacity_bytes: int | None
    """memory of the device"""
    trace: str
    """its file"""


class MemoryRanks(TypedDict):
    """The document of `tidemark memory-ranks --json`, version 1."""

    report: Literal["memory-ranks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[MemoryRanksRanks]
    """a row for each trace"""


class MemoryRanksRanks(TypedDict):
    """A part of `tidemark memory-ranks --json`."""

    rank: int | None
    """rank of the trace; null: none"""
    device: str | None
    """the requested device, else the one with the highest peak; null: none with allocations"""
    live_bytes: int | None
    """live bytes at the end"""
    peak_bytes: int | None
    """highest live bytes"""
    peak_time_ns: int | None
    """time of the peak"""
    reserved_peak_bytes: int | None
    """highest bytes that the allocator held"""
    allocs: int | None
    """allocations"""
    frees: int | None
    """frees"""
    trace: str
    """its file"""


class LeaksRanks(TypedDict):
    """The document of `tidemark leaks-ranks --json`, version 1."""

    report: Literal["leaks-ranks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[LeaksRanksRanks]
    """a row for each trace"""


class LeaksRanksRanks(TypedDict):
    """A part of `tidemark leaks-ranks --json`."""

    rank: int | None
    """rank of the trace; null: none"""
    device: str | None
    """the requested device, else the one with the highest peak; null: none with allocations"""
    slope_bytes_per_step: int | None
    """bytes by which live memory grows in a step"""
    steps: int
    """steps of the trace"""
    first_bytes: int | None
    """live bytes after the first step"""
    last_bytes: int | None
    """live bytes after the last step"""
    growing: int | None
    """number of groups that grow"""
    trace: str
    """its file"""


class InfoRanks(TypedDict):
    """The document of `tidemark info-ranks --json`, version 1."""

    report: Literal["info-ranks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[InfoRanksRanks]
    """a row for each trace"""
    runs: list[InfoRanksRuns]
    """runs of `tidemark run`"""


class InfoRanksRanks(TypedDict):
    """A part of `tidemark info-ranks --json`."""

    rank: int | None
    """rank of the trace; null: none"""
    pid: int | None
    """id of the process"""
    format: str | None
    """format of the file"""
    duration_ns: int | None
    """length of the trace"""
    spans: int
    """ops, kernels and ranges"""
    allocs: int
    """allocations"""
    devices: int
    """devices"""
    run: str | None
    """id that all recordings of one `tidemark run` share"""
    parent: int | None
    """id of the parent process"""
    depth: int
    """0: its parent is not among the traces"""
    command: str | None
    """command line of the process"""
    trace: str
    """its file"""


class InfoRanksRuns(TypedDict):
    """A part of `tidemark info-ranks --json`."""

    run: str
    """id of the run"""
    processes: int
    """number of processes"""
    start_wall_ns: int
    """start of the first"""
    duration_ns: int | None
    """to the last event of any process"""
    traces: list[InfoRanksRanks]
    """its traces in the order of the process tree"""


class TimelineList(TypedDict):
    """The document of `tidemark timeline-list --json`, version 1."""

    report: Literal["timeline-list"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    traces: list[Timeline]
    """a document for each trace"""
    failed: int
    """traces that are left out"""


class CriticalPathList(TypedDict):
    """The document of `tidemark critical-path-list --json`, version 1."""

    report: Literal["critical-path-list"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[CriticalPath]
    """a document for each trace"""
    failed: int
    """traces that are left out"""


class PhasesSizes(TypedDict):
    """The document of `tidemark phases-sizes --json`, version 1."""

    report: Literal["phases-sizes"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    summaries: list[PhasesSizesSummaries]
    """a row for each summary of a log, or for the recording"""


class PhasesSizesSummaries(TypedDict):
    """A part of `tidemark phases-sizes --json`."""

    title: str
    """title in the log, or the file"""
    memory: str
    """which memory: DRAM, a device"""
    parameters: int | None
    """number of parameters"""
    capacity_bytes: int | None
    """memory of the device"""
    peak_bytes: int
    """highest use"""
    reserved_peak_bytes: int | None
    """highest bytes that the allocator held"""
    peak_phase: str | None
    """phase of the highest use"""
    measured_by: Literal["phase", "role"]
    """how actual sizes are known: by names of phases, or roles of allocations"""
    fits: bool | None
    """the highest use is below the memory of the device"""
    actual_bytes: PhasesSizesSummariesActualBytes
    """measured sizes"""
    expected_bytes: PhasesSizesSummariesActualBytes
    """sizes by the number of parameters"""
    parts_bytes: PhasesSizesSummariesActualBytes
    """parts of the peak; their sum is the peak"""
    kv_cache_bytes: int | None
    """measured KV cache"""
    kv_cache_expected_bytes: int | None
    """KV cache by --kv"""
    advice: list[str]
    """what to do if it does not fit"""
    phases: list[PhasesSizesSummariesPhases]
    """figures of the phases"""


class PhasesSizesSummariesActualBytes(TypedDict):
    """A part of `tidemark phases-sizes --json`."""

    other: int | None
    """the rest"""
    model: int | None
    """parameters"""
    gradients: int | None
    """gradients"""
    optimizer: int | None
    """state of the optimizer"""
    activations: int | None
    """activations"""


class PhasesSizesSummariesPhases(TypedDict):
    """A part of `tidemark phases-sizes --json`."""

    segment_peak_bytes: int | None
    """highest use within the phase, above its begin"""
    allocations_bytes: int | None
    """allocated bytes"""
    deallocations_bytes: int | None
    """freed bytes"""
    segment_change_bytes: int | None
    """allocated minus freed bytes"""
    cumulative_peak_bytes: int | None
    """highest use so far"""
    cumulative_current_bytes: int | None
    """use at the end of the phase"""
    l1_peak_cb_bytes: int | None
    """Tenstorrent: highest use by circular buffers in L1"""
    l1_peak_buffer_bytes: int | None
    """Tenstorrent: highest use by buffers in L1"""
    l1_peak_total_bytes: int | None
    """Tenstorrent: highest use of L1"""
    name: str
    """name of the phase"""


class PredictProgram(TypedDict):
    """The document of `tidemark predict-program --json`, version 1."""

    report: Literal["predict-program"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    predicted: bool
    """true"""
    ended: bool
    """the program ended by itself"""
    unended: str | None
    """why it did not"""
    device: str
    """the device that was assumed"""
    torch: str
    """version of PyTorch"""
    versions: str
    """versions of the libraries that the program used"""
    steps: int | None
    """optimizer steps"""
    values_read: int | None
    """values of tensors that the program read"""
    peak_allocated_bytes: int
    """highest allocated bytes"""
    peak_reserved_bytes: int
    """highest reserved bytes"""
    least_allocated_bytes: int | None
    """lower bound of the allocated peak; null: no bound is known"""
    most_allocated_bytes: int | None
    """upper bound of the allocated peak; null: no bound is known"""
    least_reserved_bytes: int | None
    """lower bound of the reserved peak; null: no bound is known"""
    most_reserved_bytes: int | None
    """upper bound of the reserved peak; null: no bound is known"""
    capacity_bytes: int | None
    """memory of the device"""
    fits: bool | None
    """the reserved peak fits"""
    runs_out_in: str | None
    """phase in which memory runs out"""
    runs_out_asking_bytes: int | None
    """the request that fails"""
    phases: list[PredictProgramPhases]
    """phases of the run"""
    roles: list[PredictProgramRoles]
    """memory at the peak by role"""
    modules: list[PredictProgramModules]
    """memory at the peak by module"""
    eager: str | None
    """a note that torch.compile ran eagerly"""
    compiled: str | None
    """number of its graphs and graph breaks"""
    unknown: list[str]
    """what is not known"""


class PredictProgramPhases(TypedDict):
    """A part of `tidemark predict-program --json`."""

    phase: str
    """name of the phase"""
    highest_bytes: int
    """highest use within the phase"""
    segment_peak_bytes: int
    """highest use above the use at its begin"""
    segment_change_bytes: int
    """use at its end less that at its begin"""
    cumulative_current_bytes: int
    """use at its end"""


class PredictProgramRoles(TypedDict):
    """A part of `tidemark predict-program --json`."""

    role: str
    """role of the allocations"""
    bytes: int
    """its bytes at the peak"""
    part_pct: float
    """of all bytes at the peak"""
    count: int
    """its allocations"""


class PredictProgramModules(TypedDict):
    """A part of `tidemark predict-program --json`."""

    module: str
    """module that made them"""
    bytes: int
    """its bytes at the peak"""
    part_pct: float
    """of all bytes at the peak"""
    count: int
    """its allocations"""


class HtaCompat(TypedDict):
    """The document of `tidemark hta-compat --json`, version 1."""

    report: Literal["hta-compat"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    rules: str
    """whose rules"""
    ranks: list[HtaCompatRanks]
    """the members of hta, by HTA's rules"""
    kernels: list[HtaCompatKernels]
    """kernels by name"""
    recommendations: list[Any]
    """none: HTA has none"""
    failed: list[HtaCompatFailed]
    """traces that could not be read"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""
    hta: HtaCompatHta
    """HTA's own tables, with its names, in us"""


class HtaCompatRanks(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    rank: int
    """the rank; 0 if the trace names none"""
    trace: str
    """its file"""
    raises: str | None
    """the exception that HTA raises"""
    kernel_time_ns: int | None
    """first start to last end of GPU rows"""
    busy_ns: int | None
    """kernel time less idle time"""
    idle_ns: int | None
    """idle time"""
    compute_ns: int | None
    """compute"""
    non_compute_ns: int | None
    """other rows"""
    idle_pct: float | None
    """idle part"""
    compute_pct: float | None
    """part of compute"""
    non_compute_pct: float | None
    """part of other rows"""
    communication_ns: int | None
    """communication"""
    memory_ns: int | None
    """copies and fills"""
    comm_comp_overlap_ns: int | None
    """communication during compute"""
    comm_comp_overlap_pct: float | None
    """its part of communication"""
    profiler_steps: int
    """different profiler steps"""
    last_step_dropped: bool
    """the last step was dropped"""
    streams: list[HtaCompatRanksStreams]
    """streams"""


class HtaCompatKernels(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    rank: int
    """the rank; 0 if the trace names none"""
    name: str
    """the kernel"""
    type: str
    """compute, communication or memory"""
    count: int
    """its rows"""
    sum_ns: int | None
    """sum of durations"""
    mean_ns: float | None
    """mean duration"""
    min_ns: int | None
    """shortest"""
    max_ns: int | None
    """longest"""
    std_ns: float | None
    """standard deviation of a sample"""


class HtaCompatFailed(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    trace: str
    """its file"""
    why: str
    """why it could not be read"""


class HtaCompatHta(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    temporal_breakdown: list[HtaCompatHtaTemporalBreakdown]
    """get_temporal_breakdown"""
    comm_comp_overlap: list[HtaCompatHtaCommCompOverlap]
    """get_comm_comp_overlap"""
    kernel_type_breakdown: list[HtaCompatHtaKernelTypeBreakdown]
    """get_gpu_kernel_breakdown"""
    kernels: list[HtaCompatHtaKernels]
    """get_gpu_kernel_breakdown"""
    annotations_gpu: list[HtaCompatHtaAnnotationsGpu]
    """GPU annotations"""
    annotations_cpu: list[HtaCompatHtaAnnotationsGpu]
    """host annotations"""
    idle_time: list[HtaCompatHtaIdleTime]
    """get_idle_time_breakdown"""
    queue_length: list[HtaCompatHtaQueueLength]
    """get_queue_length_summary"""
    memory_bw: list[HtaCompatHtaMemoryBw]
    """get_memory_bw_summary"""
    launch_stats: list[HtaCompatHtaLaunchStats]
    """get_cuda_kernel_launch_stats"""


class HtaCompatRanksStreams(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    device: str | None
    """null: HTA does not distinguish devices"""
    stream: int
    """number of the stream"""
    idle: HtaCompatRanksStreamsIdle
    """idle time by cause"""


HtaCompatHtaTemporalBreakdown = TypedDict("HtaCompatHtaTemporalBreakdown", {
    "rank": "int",
    "idle_time(us)": "int",
    "compute_time(us)": "int",
    "non_compute_time(us)": "int",
    "kernel_time(us)": "int",
    "idle_time_pctg": "float | None",
    "compute_time_pctg": "float | None",
    "non_compute_time_pctg": "float | None",
})


class HtaCompatHtaCommCompOverlap(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    rank: int
    """the rank; 0 if the trace names none"""
    comp_comm_overlap_pctg: float | None
    """part of communication during compute"""


class HtaCompatHtaKernelTypeBreakdown(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    kernel_type: str
    """a type, or types at once"""
    sum: int
    """time in us"""
    percentage: float | None
    """part of all"""


HtaCompatHtaKernels = TypedDict("HtaCompatHtaKernels", {
    "rank": "int",
    "kernel_type": "str",
    "name": "str",
    "sum (us)": "int",
    "max (us)": "int",
    "min (us)": "int",
    "mean (us)": "float | None",
    "stddev": "float | None",
})


HtaCompatHtaAnnotationsGpu = TypedDict("HtaCompatHtaAnnotationsGpu", {
    "rank": "int",
    "name": "str",
    "sum (us)": "int",
    "max (us)": "int",
    "min (us)": "int",
    "mean (us)": "float | None",
    "stddev": "float | None",
})


class HtaCompatHtaIdleTime(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    rank: int
    """the rank; 0 if the trace names none"""
    stream: int
    """number of the stream"""
    idle_category: str
    """host_wait, kernel_wait or other"""
    idle_time: int
    """idle time in us"""
    idle_time_ratio: float | None
    """part of the stream's idle time"""


HtaCompatHtaQueueLength = TypedDict("HtaCompatHtaQueueLength", {
    "rank": "int",
    "stream": "int",
    "queue_length_count": "float | None",
    "queue_length_mean": "float | None",
    "queue_length_std": "float | None",
    "queue_length_min": "float | None",
    "queue_length_25%": "float | None",
    "queue_length_50%": "float | None",
    "queue_length_75%": "float | None",
    "queue_length_max": "float | None",
})


HtaCompatHtaMemoryBw = TypedDict("HtaCompatHtaMemoryBw", {
    "rank": "int",
    "name": "str",
    "memory_bw_gbps_count": "float | None",
    "memory_bw_gbps_mean": "float | None",
    "memory_bw_gbps_std": "float | None",
    "memory_bw_gbps_min": "float | None",
    "memory_bw_gbps_25%": "float | None",
    "memory_bw_gbps_50%": "float | None",
    "memory_bw_gbps_75%": "float | None",
    "memory_bw_gbps_max": "float | None",
})


HtaCompatHtaLaunchStats = TypedDict("HtaCompatHtaLaunchStats", {
    "rank": "int",
    "n": "int",
    "short_kernels": "int",
    "runtime_outliers": "int",
    "launch_delay_outliers": "int",
    "cpu_duration_sum": "int",
    "gpu_duration_sum": "int",
    "launch_delay_sum": "int",
    "cpu_duration_count": "float | None",
    "cpu_duration_mean": "float | None",
    "cpu_duration_std": "float | None",
    "cpu_duration_min": "float | None",
    "cpu_duration_25%": "float | None",
    "cpu_duration_50%": "float | None",
    "cpu_duration_75%": "float | None",
    "cpu_duration_max": "float | None",
    "gpu_duration_count": "float | None",
    "gpu_duration_mean": "float | None",
    "gpu_duration_std": "float | None",
    "gpu_duration_min": "float | None",
    "gpu_duration_25%": "float | None",
    "gpu_duration_50%": "float | None",
    "gpu_duration_75%": "float | None",
    "gpu_duration_max": "float | None",
    "launch_delay_count": "float | None",
    "launch_delay_mean": "float | None",
    "launch_delay_std": "float | None",
    "launch_delay_min": "float | None",
    "launch_delay_25%": "float | None",
    "launch_delay_50%": "float | None",
    "launch_delay_75%": "float | None",
    "launch_delay_max": "float | None",
})


class HtaCompatRanksStreamsIdle(TypedDict):
    """A part of `tidemark hta-compat --json`."""

    host_wait_ns: int | None
    """waiting for the host"""
    kernel_wait_ns: int | None
    """between rows that follow each other"""
    other_ns: int | None
    """other idle time"""


class DiffHtaCompat(TypedDict):
    """The document of `tidemark diff-hta-compat --json`, version 1."""

    report: Literal["diff-hta-compat"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    control_iteration: int
    """step of the first trace"""
    test_iteration: int
    """step of the second trace"""
    ops_diff_counts: DiffHtaCompatOpsDiffCounts
    """numbers of names"""
    compare: list[DiffHtaCompatCompare]
    """rows by name"""


class DiffHtaCompatOpsDiffCounts(TypedDict):
    """A part of `tidemark diff-hta-compat --json`."""

    added: int
    """names that are new"""
    deleted: int
    """names that are gone"""
    increased: int
    """names with more rows"""
    decreased: int
    """names with fewer rows"""
    unchanged: int
    """names with as many rows"""


class DiffHtaCompatCompare(TypedDict):
    """A part of `tidemark diff-hta-compat --json`."""

    control_counts: int
    """rows in the first trace"""
    control_total_duration: int
    """their time in us"""
    test_counts: int
    """rows in the second trace"""
    test_total_duration: int
    """their time in us"""
    diff_counts: int
    """change of the number"""
    diff_duration: int
    """change of the time in us"""
    counts_change_categories: str
    """+ more, - fewer, = as many"""
    name: str
    """name of the rows"""


class DiffRanks(TypedDict):
    """The document of `tidemark diff-ranks --json`, version 1."""

    report: Literal["diff-ranks"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    ranks: list[DiffRanksRanks]
    """ranks in both"""
    only_a: list[int]
    """ranks in A only"""
    only_b: list[int]
    """ranks in B only"""


class DiffRanksRanks(TypedDict):
    """A part of `tidemark diff-ranks --json`."""

    rank: int
    """the rank"""
    a: DiffRanksRanksA
    """its trace in A"""
    b: DiffRanksRanksA
    """its trace in B"""
    metrics: DiffRanksRanksMetrics
    """figures of both"""
    fail_if: list[DiffRanksRanksFailIf]
    """conditions and their figures"""


class _DiffRanksRanksA(TypedDict):
    """Members that are always in DiffRanksRanksA."""

    trace: str
    """name of the trace"""
    device: str | None
    """device of the memory figures"""
    losses: dict[str, Any]
    """lost and repaired data, by the name of the loss"""


class DiffRanksRanksA(_DiffRanksRanksA, total=False):
    """A part of `tidemark diff-ranks --json`."""

    recovered_events: int
    """of a recording that was not closed: events read from its rings"""


class DiffRanksRanksMetrics(TypedDict):
    """A part of `tidemark diff-ranks --json`."""

    time: DiffRanksRanksMetricsTime
    """earliest start to latest end of all work"""
    step_time: DiffRanksRanksMetricsTime
    """median step"""
    cpu_time: DiffRanksRanksMetricsTime
    """CPU active: union of host work"""
    gpu_time: DiffRanksRanksMetricsTime
    """GPU active: union of device work"""
    overlap: DiffRanksRanksMetricsTime
    """both active at once"""
    kernel_time: DiffRanksRanksMetricsTime
    """durations of device work added up"""
    ops: DiffRanksRanksMetricsTime
    """host spans that are work"""
    kernels: DiffRanksRanksMetricsTime
    """kernels, copies and fills"""
    peak: DiffRanksRanksMetricsTime
    """highest live bytes"""
    peak_requested: DiffRanksRanksMetricsTime
    """the requested part of those bytes"""
    reserved: DiffRanksRanksMetricsTime
    """highest bytes held in segments"""
    live_end: DiffRanksRanksMetricsTime
    """live bytes at the end"""
    allocated: DiffRanksRanksMetricsTime
    """bytes of all allocations"""
    allocs: DiffRanksRanksMetricsTime
    """allocations"""


class DiffRanksRanksFailIf(TypedDict):
    """A part of `tidemark diff-ranks --json`."""

    expression: str
    """the condition"""
    a: int | None
    """its figure in A"""
    b: int | None
    """its figure in B"""
    crossed: bool | None
    """it holds; null: unknown"""


class DiffRanksRanksMetricsTime(TypedDict):
    """A part of `tidemark diff-ranks --json`."""

    unit: Literal["count", "ns", "bytes"]
    """unit"""
    a: int | None
    """value of A"""
    b: int | None
    """value of B"""
    delta: int | None
    """b - a"""
    pct: float | None
    """delta as part of a"""


class Objects(TypedDict):
    """The document of `tidemark objects --json`, version 1."""

    report: Literal["objects"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    format: str
    """tidemark-objects"""
    program: str | None
    """the program"""
    python: str | None
    """version of Python"""
    snapshots: list[ObjectsSnapshots]
    """in the order in which they were taken"""


class ObjectsSnapshots(TypedDict):
    """A part of `tidemark objects --json`."""

    at: str
    """name of the mark, or end"""
    objects: int
    """live objects"""
    total_bytes: int
    """their bytes, buffers included"""
    variable_bytes: int
    """reached from variables"""
    other_bytes: int
    """not reached"""
    shared_bytes: int
    """reached by 2 owners or more"""
    duplicate_bytes: int
    """in equal objects that are separate"""
    duplicates_skipped: int
    """in arrays that were not compared"""
    rows: ObjectsSnapshotsRows
    """rows of each table before it was shortened"""
    owners: list[ObjectsSnapshotsOwners]
    """by owner; the program's own come first"""
    shared: list[ObjectsSnapshotsShared]
    """shared by 2 owners or more"""
    duplicates: list[ObjectsSnapshotsDuplicates]
    """equal but separate"""
    types: list[ObjectsSnapshotsTypes]
    """by type"""
    modules: list[ObjectsSnapshotsModules]
    """by module"""
    buffers: list[ObjectsSnapshotsBuffers]
    """buffers by device"""
    recommendations: list[str]
    """what to do"""
    problems: list[str]
    """types whose sizes are not plausible"""


class ObjectsSnapshotsRows(TypedDict):
    """A part of `tidemark objects --json`."""

    owners: int
    """owners"""
    shared: int
    """shared values"""
    duplicates: int
    """values with copies"""
    types: int
    """types"""
    modules: int
    """modules"""
    buffers: int
    """devices with buffers"""


class ObjectsSnapshotsOwners(TypedDict):
    """A part of `tidemark objects --json`."""

    name: str
    """the variable"""
    type: str | None
    """type of its value"""
    exclusive_bytes: int
    """bytes that nothing else reaches"""
    shared_bytes: int
    """bytes that others reach, too"""


class ObjectsSnapshotsShared(TypedDict):
    """A part of `tidemark objects --json`."""

    what: str
    """a type, or buffer on DEVICE"""
    bytes: int
    """its bytes"""
    owner_count: int
    """number of owners"""
    owners: list[str]
    """those that are known"""


class ObjectsSnapshotsDuplicates(TypedDict):
    """A part of `tidemark objects --json`."""

    value: str
    """the value, shortened"""
    type: str | None
    """its type"""
    count: int
    """equal objects"""
    bytes: int
    """bytes of all copies but one"""


class ObjectsSnapshotsTypes(TypedDict):
    """A part of `tidemark objects --json`."""

    type: str
    """the type"""
    module: str | None
    """module that defines it"""
    objects: int
    """its live objects"""
    bytes: int
    """their bytes, buffers included"""


class ObjectsSnapshotsModules(TypedDict):
    """A part of `tidemark objects --json`."""

    module: str
    """the module"""
    own: bool
    """it is of the program"""
    variables: int
    """its variables"""
    exclusive_bytes: int
    """bytes that nothing else reaches"""
    shared_bytes: int
    """bytes that others reach, too"""


class ObjectsSnapshotsBuffers(TypedDict):
    """A part of `tidemark objects --json`."""

    device: str
    """the device"""
    buffers: int
    """buffers on it"""
    bytes: int
    """their bytes"""


class ObjectsAt(TypedDict):
    """The document of `tidemark objects-at --json`, version 1."""

    report: Literal["objects-at"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    at: str
    """name of the mark, or end"""
    objects: int
    """live objects"""
    total_bytes: int
    """their bytes, buffers included"""
    variable_bytes: int
    """reached from variables"""
    other_bytes: int
    """not reached"""
    shared_bytes: int
    """reached by 2 owners or more"""
    duplicate_bytes: int
    """in equal objects that are separate"""
    duplicates_skipped: int
    """in arrays that were not compared"""
    rows: ObjectsAtRows
    """rows of each table before it was shortened"""
    owners: list[ObjectsAtOwners]
    """by owner; the program's own come first"""
    shared: list[ObjectsAtShared]
    """shared by 2 owners or more"""
    duplicates: list[ObjectsAtDuplicates]
    """equal but separate"""
    types: list[ObjectsAtTypes]
    """by type"""
    modules: list[ObjectsAtModules]
    """by module"""
    buffers: list[ObjectsAtBuffers]
    """buffers by device"""
    recommendations: list[str]
    """what to do"""
    problems: list[str]
    """types whose sizes are not plausible"""


class ObjectsAtRows(TypedDict):
    """A part of `tidemark objects-at --json`."""

    owners: int
    """owners"""
    shared: int
    """shared values"""
    duplicates: int
    """values with copies"""
    types: int
    """types"""
    modules: int
    """modules"""
    buffers: int
    """devices with buffers"""


class ObjectsAtOwners(TypedDict):
    """A part of `tidemark objects-at --json`."""

    name: str
    """the variable"""
    type: str | None
    """type of its value"""
    exclusive_bytes: int
    """bytes that nothing else reaches"""
    shared_bytes: int
    """bytes that others reach, too"""


class ObjectsAtShared(TypedDict):
    """A part of `tidemark objects-at --json`."""

    what: str
    """a type, or buffer on DEVICE"""
    bytes: int
    """its bytes"""
    owner_count: int
    """number of owners"""
    owners: list[str]
    """those that are known"""


class ObjectsAtDuplicates(TypedDict):
    """A part of `tidemark objects-at --json`."""

    value: str
    """the value, shortened"""
    type: str | None
    """its type"""
    count: int
    """equal objects"""
    bytes: int
    """bytes of all copies but one"""


class ObjectsAtTypes(TypedDict):
    """A part of `tidemark objects-at --json`."""

    type: str
    """the type"""
    module: str | None
    """module that defines it"""
    objects: int
    """its live objects"""
    bytes: int
    """their bytes, buffers included"""


class ObjectsAtModules(TypedDict):
    """A part of `tidemark objects-at --json`."""

    module: str
    """the module"""
    own: bool
    """it is of the program"""
    variables: int
    """its variables"""
    exclusive_bytes: int
    """bytes that nothing else reaches"""
    shared_bytes: int
    """bytes that others reach, too"""


class ObjectsAtBuffers(TypedDict):
    """A part of `tidemark objects-at --json`."""

    device: str
    """the device"""
    buffers: int
    """buffers on it"""
    bytes: int
    """their bytes"""


class _Profile(TypedDict):
    """Members that are always in Profile."""

    report: Literal["profile"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    recording: str
    """the recording of the last run"""
    exit_status: int
    """of the program"""
    timed_out: bool
    """--timeout ended it"""
    runs: int
    """runs that were recorded"""
    wall_ns: int | None
    """mean wall time of a run"""
    wall_min_ns: int | None
    """of the shortest run"""
    wall_max_ns: int | None
    """of the longest run"""


class Profile(_Profile, total=False):
    """The document of `tidemark profile --json`, version 1."""

    ops: Ops | None
    """its ops; without --memory"""
    memory: Memory | None
    """its memory"""
    peak: Peak | None
    """allocations at the peak"""
    advice: Advice | None
    """advice"""


class _CompileProgram(TypedDict):
    """Members that are always in CompileProgram."""

    report: Literal["compile-program"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    mode: str | None
    """mode of torch.compile; null: as the program says"""
    wall_ns: int | None
    """wall time of the program, compiling included"""
    exit_status: int
    """of the program"""
    timed_out: bool
    """--timeout ended it"""
    has_real_data: bool
    """something was compiled"""


class CompileProgram(_CompileProgram, total=False):
    """The document of `tidemark compile-program --json`, version 1."""

    calls: int | None
    """with a mode: calls that were measured"""
    calls_left_out: int | None
    """with a mode: the first call, and calls that compiled"""
    call_time: CompileProgramCallTime | None
    """with a mode: time of a call"""
    call_peak: CompileProgramCallPeak | None
    """with a mode: peak of a call above its begin"""
    device: str | None
    """with a mode: device of these bytes"""
    speedup: float | None
    """with a mode: median of eager / this median"""
    memory_savings_bytes: int | None
    """with a mode: highest peak of eager less this one"""
    memory_diff: Diff | None
    """with --memory: against eager"""
    eager: CompileProgramEager
    """with --mode: the run in eager mode"""
    compile_count: int
    """compiles"""
    failed: int
    """compiles that failed"""
    unfinished: int
    """compiles without an end"""
    compile_ns: int | None
    """sum of the compiles that ended"""
    graph_breaks: int
    """graph breaks"""
    graph_break_places: int
    """places with graph breaks"""
    recompiles: int
    """compiles because a guard failed"""
    cudagraph_skips: int
    """graphs without CUDA graphs"""
    modules: int
    """generated modules"""
    kernels: int | None
    """kernels in them"""
    ops_before_fusion: int | None
    """operators of the compiled graphs"""
    ops_after_fusion: int | None
    """calls of kernels in one run"""
    kernel_calls: int | None
    """calls of generated kernels among them"""
    library_calls: int | None
    """calls of library kernels among them"""
    fusion_ratio: float | None
    """operators by calls"""
    caches: CompileProgramCaches
    """caches of compiled code"""
    graph_breaks_list: list[CompileProgramGraphBreaksList]
    """graph breaks by cost"""
    recompiles_list: list[CompileProgramRecompilesList]
    """recompiles by time"""
    compiles: list[CompileProgramCompiles]
    """compiles in order of time"""
    stages: list[CompileProgramStages]
    """stages by their own time"""
    recommendations: list[CompileProgramRecommendations]
    """what to do"""
    losses: dict[str, Any]
    """lost and repaired data"""
    recovered_events: int
    """events read from rings"""


class CompileProgramCallTime(TypedDict):
    """A part of `tidemark compile-program --json`."""

    mean_ns: int | None
    """mean"""
    median_ns: int | None
    """median"""
    min_ns: int | None
    """least"""
    max_ns: int | None
    """most"""
    std_ns: int | None
    """standard deviation"""


class CompileProgramCallPeak(TypedDict):
    """A part of `tidemark compile-program --json`."""

    mean_bytes: int
    """mean"""
    median_bytes: int
    """median"""
    min_bytes: int
    """least"""
    max_bytes: int
    """most"""
    std_bytes: int
    """standard deviation"""


class _CompileProgramEager(TypedDict):
    """Members that are always in CompileProgramEager."""

    mode: str | None
    """mode of torch.compile; null: as the program says"""
    wall_ns: int | None
    """wall time of the program, compiling included"""
    exit_status: int
    """of the program"""
    timed_out: bool
    """--timeout ended it"""
    has_real_data: bool
    """something was compiled"""


class CompileProgramEager(_CompileProgramEager, total=False):
    """A part of `tidemark compile-program --json`."""

    calls: int | None
    """with a mode: calls that were measured"""
    calls_left_out: int | None
    """with a mode: the first call, and calls that compiled"""
    call_time: CompileProgramCallTime | None
    """with a mode: time of a call"""
    call_peak: CompileProgramCallPeak | None
    """with a mode: peak of a call above its begin"""
    device: str | None
    """with a mode: device of these bytes"""
    speedup: float | None
    """with a mode: median of eager / this median"""
    memory_savings_bytes: int | None
    """with a mode: highest peak of eager less this one"""


class CompileProgramCaches(TypedDict):
    """A part of `tidemark compile-program --json`."""

    fx_graph: CompileProgramCachesFxGraph
    """cache of Inductor's graphs"""
    autograd: CompileProgramCachesFxGraph
    """cache of AOTAutograd"""


class CompileProgramGraphBreaksList(TypedDict):
    """A part of `tidemark compile-program --json`."""

    count: int
    """times"""
    retrace_ns: int | None
    """tracing time discarded because of it"""
    resume_ns: int | None
    """time to compile the code after it"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    location: str | None
    """source file"""
    line_number: int | None
    """line in it"""
    reason: str | None
    """reason"""
    explanation: str | None
    """explanation by torch"""
    hint: str | None
    """hint by torch"""
    suggestion: str
    """change that removes it"""


class CompileProgramRecompilesList(TypedDict):
    """A part of `tidemark compile-program --json`."""

    count: int
    """times"""
    total_ns: int | None
    """wall time of the compile"""
    function: str | None
    """function"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    reason: str | None
    """reason"""


class CompileProgramCompiles(TypedDict):
    """A part of `tidemark compile-program --json`."""

    rank: int | None
    """rank"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    direction: str
    """forward or backward"""
    total_ns: int | None
    """wall time of the compile"""
    backend_ns: int | None
    """part of it after tracing"""
    inductor_ns: int | None
    """part of it in Inductor"""
    codegen_ns: int | None
    """part of it that makes code"""
    triton_ns: int | None
    """time of worker processes"""
    autotune_ns: int | None
    """time of choosing kernels"""
    graph_ops: int | None
    """ops of the traced graph"""
    ops_before_fusion: int | None
    """operators that were compiled"""
    kernels: int | None
    """kernels that were generated"""
    kernel_calls: int | None
    """calls of these in one run"""
    library_calls: int | None
    """calls of library kernels in one run"""
    guards: int | None
    """guards"""
    graph_breaks: int | None
    """graph breaks"""
    restarts: int | None
    """times that tracing began again"""
    fx_graph_cache: str | None
    """hit, miss, bypass or disabled"""
    autograd_cache: str | None
    """hit, miss, bypass or disabled"""
    recompile_reason: str | None
    """guard that failed"""
    fail_type: str | None
    """exception that ended it"""
    fail_reason: str | None
    """its text"""
    cudagraph_skip_reason: str | None
    """reason for running without CUDA graphs"""
    finished: int
    """1: it ended"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    function: str | None
    """function"""


class CompileProgramStages(TypedDict):
    """A part of `tidemark compile-program --json`."""

    count: int
    """times"""
    self_ns: int | None
    """time without nested stages"""
    wall_ns: int | None
    """time; nested stages of the same name count once"""
    stage: str | None
    """name of the stage"""


class CompileProgramRecommendations(TypedDict):
    """A part of `tidemark compile-program --json`."""

    id: str
    """name of the rule"""
    severity: Literal["info", "medium", "high"]
    """how much it matters"""
    figure: str
    """the figure that decides"""
    value: float | None
    """its value"""
    threshold: float
    """the threshold"""
    text: str
    """what to do, with its figures"""


class CompileProgramCachesFxGraph(TypedDict):
    """A part of `tidemark compile-program --json`."""

    hit: int
    """compiles that used it"""
    miss: int
    """compiles that were not in it"""
    bypass: int
    """compiles that it cannot hold"""
    disabled: int
    """compiles without it"""


class CompileModes(TypedDict):
    """The document of `tidemark compile-modes --json`, version 1."""

    report: Literal["compile-modes"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    modes: list[CompileModesModes]
    """eager, then three modes"""


class _CompileModesModes(TypedDict):
    """Members that are always in CompileModesModes."""

    mode: str | None
    """mode of torch.compile; null: as the program says"""
    wall_ns: int | None
    """wall time of the program, compiling included"""
    exit_status: int
    """of the program"""
    timed_out: bool
    """--timeout ended it"""
    has_real_data: bool
    """something was compiled"""


class CompileModesModes(_CompileModesModes, total=False):
    """A part of `tidemark compile-modes --json`."""

    calls: int | None
    """with a mode: calls that were measured"""
    calls_left_out: int | None
    """with a mode: the first call, and calls that compiled"""
    call_time: CompileModesModesCallTime | None
    """with a mode: time of a call"""
    call_peak: CompileModesModesCallPeak | None
    """with a mode: peak of a call above its begin"""
    device: str | None
    """with a mode: device of these bytes"""
    speedup: float | None
    """with a mode: median of eager / this median"""
    memory_savings_bytes: int | None
    """with a mode: highest peak of eager less this one"""
    memory_diff: Diff | None
    """with --memory: against eager"""
    eager: CompileModesModesEager
    """with --mode: the run in eager mode"""
    compile_count: int
    """compiles"""
    failed: int
    """compiles that failed"""
    unfinished: int
    """compiles without an end"""
    compile_ns: int | None
    """sum of the compiles that ended"""
    graph_breaks: int
    """graph breaks"""
    graph_break_places: int
    """places with graph breaks"""
    recompiles: int
    """compiles because a guard failed"""
    cudagraph_skips: int
    """graphs without CUDA graphs"""
    modules: int
    """generated modules"""
    kernels: int | None
    """kernels in them"""
    ops_before_fusion: int | None
    """operators of the compiled graphs"""
    ops_after_fusion: int | None
    """calls of kernels in one run"""
    kernel_calls: int | None
    """calls of generated kernels among them"""
    library_calls: int | None
    """calls of library kernels among them"""
    fusion_ratio: float | None
    """operators by calls"""
    caches: CompileModesModesCaches
    """caches of compiled code"""
    graph_breaks_list: list[CompileModesModesGraphBreaksList]
    """graph breaks by cost"""
    recompiles_list: list[CompileModesModesRecompilesList]
    """recompiles by time"""
    compiles: list[CompileModesModesCompiles]
    """compiles in order of time"""
    stages: list[CompileModesModesStages]
    """stages by their own time"""
    recommendations: list[CompileModesModesRecommendations]
    """what to do"""
    losses: dict[str, Any]
    """lost and repaired data"""
    recovered_events: int
    """events read from rings"""


class CompileModesModesCallTime(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    mean_ns: int | None
    """mean"""
    median_ns: int | None
    """median"""
    min_ns: int | None
    """least"""
    max_ns: int | None
    """most"""
    std_ns: int | None
    """standard deviation"""


class CompileModesModesCallPeak(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    mean_bytes: int
    """mean"""
    median_bytes: int
    """median"""
    min_bytes: int
    """least"""
    max_bytes: int
    """most"""
    std_bytes: int
    """standard deviation"""


class _CompileModesModesEager(TypedDict):
    """Members that are always in CompileModesModesEager."""

    mode: str | None
    """mode of torch.compile; null: as the program says"""
    wall_ns: int | None
    """wall time of the program, compiling included"""
    exit_status: int
    """of the program"""
    timed_out: bool
    """--timeout ended it"""
    has_real_data: bool
    """something was compiled"""


class CompileModesModesEager(_CompileModesModesEager, total=False):
    """A part of `tidemark compile-modes --json`."""

    calls: int | None
    """with a mode: calls that were measured"""
    calls_left_out: int | None
    """with a mode: the first call, and calls that compiled"""
    call_time: CompileModesModesCallTime | None
    """with a mode: time of a call"""
    call_peak: CompileModesModesCallPeak | None
    """with a mode: peak of a call above its begin"""
    device: str | None
    """with a mode: device of these bytes"""
    speedup: float | None
    """with a mode: median of eager / this median"""
    memory_savings_bytes: int | None
    """with a mode: highest peak of eager less this one"""


class CompileModesModesCaches(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    fx_graph: CompileModesModesCachesFxGraph
    """cache of Inductor's graphs"""
    autograd: CompileModesModesCachesFxGraph
    """cache of AOTAutograd"""


class CompileModesModesGraphBreaksList(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    count: int
    """times"""
    retrace_ns: int | None
    """tracing time discarded because of it"""
    resume_ns: int | None
    """time to compile the code after it"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    location: str | None
    """source file"""
    line_number: int | None
    """line in it"""
    reason: str | None
    """reason"""
    explanation: str | None
    """explanation by torch"""
    hint: str | None
    """hint by torch"""
    suggestion: str
    """change that removes it"""


class CompileModesModesRecompilesList(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    count: int
    """times"""
    total_ns: int | None
    """wall time of the compile"""
    function: str | None
    """function"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    reason: str | None
    """reason"""


class CompileModesModesCompiles(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    rank: int | None
    """rank"""
    compile_id: str | None
    """frame, and number of its earlier compiles"""
    direction: str
    """forward or backward"""
    total_ns: int | None
    """wall time of the compile"""
    backend_ns: int | None
    """part of it after tracing"""
    inductor_ns: int | None
    """part of it in Inductor"""
    codegen_ns: int | None
    """part of it that makes code"""
    triton_ns: int | None
    """time of worker processes"""
    autotune_ns: int | None
    """time of choosing kernels"""
    graph_ops: int | None
    """ops of the traced graph"""
    ops_before_fusion: int | None
    """operators that were compiled"""
    kernels: int | None
    """kernels that were generated"""
    kernel_calls: int | None
    """calls of these in one run"""
    library_calls: int | None
    """calls of library kernels in one run"""
    guards: int | None
    """guards"""
    graph_breaks: int | None
    """graph breaks"""
    restarts: int | None
    """times that tracing began again"""
    fx_graph_cache: str | None
    """hit, miss, bypass or disabled"""
    autograd_cache: str | None
    """hit, miss, bypass or disabled"""
    recompile_reason: str | None
    """guard that failed"""
    fail_type: str | None
    """exception that ended it"""
    fail_reason: str | None
    """its text"""
    cudagraph_skip_reason: str | None
    """reason for running without CUDA graphs"""
    finished: int
    """1: it ended"""
    file: str | None
    """source file"""
    line: int | None
    """line in it"""
    function: str | None
    """function"""


class CompileModesModesStages(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    count: int
    """times"""
    self_ns: int | None
    """time without nested stages"""
    wall_ns: int | None
    """time; nested stages of the same name count once"""
    stage: str | None
    """name of the stage"""


class CompileModesModesRecommendations(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    id: str
    """name of the rule"""
    severity: Literal["info", "medium", "high"]
    """how much it matters"""
    figure: str
    """the figure that decides"""
    value: float | None
    """its value"""
    threshold: float
    """the threshold"""
    text: str
    """what to do, with its figures"""


class CompileModesModesCachesFxGraph(TypedDict):
    """A part of `tidemark compile-modes --json`."""

    hit: int
    """compiles that used it"""
    miss: int
    """compiles that were not in it"""
    bypass: int
    """compiles that it cannot hold"""
    disabled: int
    """compiles without it"""


class Rewrite(TypedDict):
    """The document of `tidemark rewrite --json`, version 1."""

    report: Literal["rewrite"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    output: str
    """the file that was written"""
    events: int
    """events in it"""
    recovered_events: int
    """of them from the ring file"""
    was_closed: bool
    """the recording was closed by its program"""
    ring_file: bool
    """a ring file was beside it"""
    bytes_in: int
    """size of the recording"""
    bytes_out: int
    """size of the file that was written"""
    damage: str | None
    """why the recording could not be read to its end"""
    damage_at: int | None
    """byte of the damage"""
    gaps: int
    """damaged parts that were left out"""
    gap_bytes: int
    """their bytes"""
    head_damage: str | None
    """what is wrong with the head of the file"""


class Config(TypedDict):
    """The document of `tidemark config --json`, version 1."""

    report: Literal["config"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    file: str | None
    """the file of settings that was read"""
    backend: str | None
    """the chosen backend"""
    values: list[ConfigValues]
    """all settings"""


ConfigValues = TypedDict("ConfigValues", {
    "key": "str",
    "value": "Any",
    "from": "str",
    "where": "str",
})


class Redact(TypedDict):
    """The document of `tidemark redact --json`, version 1."""

    report: Literal["redact"]
    """name of the report"""
    version: Literal[1]
    """of the document: grows when a member goes or changes"""
    output: str
    """the file that was written"""
    kind: str
    """recording, JSON or pickle"""
    texts: int
    """texts that were replaced"""
    secrets: int
    """secrets that were dropped"""
    keep: list[str]
    """public names that stay"""
