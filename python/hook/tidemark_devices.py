# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Finds devices whose allocator reports nothing to PyTorch's profiler (MPS, some vendors' backends), reports them once and samples them.

Their allocations cannot be recorded. Without a note, a recording would look as if they had none. The values of their own counters
are recorded as samples: at steps and checkpoints, for live(), every `interval` seconds and at the end. Some devices also count their
peak since the process began or the program reset it. That peak concerns a recording only if it rises meanwhile, so rises between two
samples are recorded. Tidemark never resets it. Everything here runs in Python with the GIL, never inside an op or an allocator, never
in a forked child (which must not use the device), and never raises.
"""
from __future__ import annotations

import os
import sys
import threading
from typing import Any

KNOWN = ("cuda", "hip", "xpu")  # PyTorch's own allocators report, unless the program has replaced them
NEVER = ("mps",)  # never report
FACT = b"loss.unreported_devices"


def counters(torch: Any, kind: str) -> dict[int, tuple[int, int | None]]:
    """Returns allocated and reserved bytes of each device of a kind from its own counters; {} if it has none. Initializes no device."""
    for ask in (_of_accelerator, _of_module, _of_mps):
        try:
            found: dict[int, tuple[int, int | None]] = ask(torch, kind)
        except Exception:  # an older torch, an allocator without counters, or not the current accelerator
            continue
        if found:
            return found
    return {}


def _started(module: Any) -> bool:
    """Returns whether the device is in use. Counting devices may initialize it, and then a forked child cannot use it."""
    return bool(getattr(module, "is_initialized", lambda: True)())


def _accelerator(torch: Any, kind: str) -> Any:
    """Returns torch.accelerator if it is of this kind and in use, else None."""
    a = torch.accelerator
    ready = getattr(torch._C, "_accelerator_isAllocatorInitialized", lambda: True)
    return a if a.current_accelerator().type == kind and _started(getattr(torch, kind, None)) and ready() else None


def _module(torch: Any, kind: str) -> Any:
    """Returns the kind's own torch module if it is in use, else None."""
    m = getattr(torch, kind)
    return m if _started(m) and m.is_available() else None


def _of_accelerator(torch: Any, kind: str) -> dict[int, tuple[int, int | None]]:
    a = _accelerator(torch, kind)
    if a is None:
        return {}
    return {i: (int(a.memory_allocated(i)), int(a.memory_reserved(i))) for i in range(a.device_count())}


def _of_module(torch: Any, kind: str) -> dict[int, tuple[int, int | None]]:
    m = _module(torch, kind)
    if m is None:
        return {}
    reserved = getattr(m, "memory_reserved", None)
    return {i: (int(m.memory_allocated(i)), int(reserved(i)) if reserved else None) for i in range(m.device_count())}


def _of_mps(torch: Any, kind: str) -> dict[int, tuple[int, int | None]]:
    if kind != "mps":
        return {}
    return {0: (int(torch.mps.current_allocated_memory()), int(torch.mps.driver_allocated_memory()))}


def highest(torch: Any, kind: str) -> dict[int, int]:
    """Returns the peak of allocated bytes of each device of a kind from its own counters; {} if it has none."""
    for find in (_accelerator, _module):
        try:
            m = find(torch, kind)
            found = {} if m is None else {i: int(m.max_memory_allocated(i)) for i in range(m.device_count())}
        except Exception:  # it has no such counter
            continue
        if found:
            return found
    return {}


class Devices:
    """torch: the module; capture: libtidemark-torch, called with the GIL held; say: prints one line for the user."""

    def __init__(self, torch: Any, capture: Any, say: Any, interval: float, aside: bool = False) -> None:
        self.torch, self.capture, self.say, self.interval = torch, capture, say, interval
        self.aside = aside  # one of many processes of a program: prints nothing before it uses such a device
        self.announced: set[str] = set()
        self.on = True
        self.names: set[str] = set()  # accelerators that PyTorch has named
        self.silent: dict[str, int] = {}  # kinds that do not report -> c10::DeviceType
        self.settled: set[str] = set()  # kinds that report
        self.first: dict[str, dict[int, tuple[int, int | None]]] = {}  # counters when a kind was first examined
        self.changed: set[str] = set()  # kinds whose counters have changed since, without a report
        self.before: dict[str, dict[int, int]] = {}  # kind -> address -> pool of storages recorded as pre-existing
        self.recorded: set[str] = set()  # silent kinds that are noted in the recording
        self.used: set[tuple[str, int]] = set()  # devices that had allocated bytes at some time
        self.peaks: dict[tuple[str, int], int] | None = {}  # own peaks at the last sample of this recording; None: it has ended
        self.lock = threading.Lock()  # one sample at a time, so that they are recorded in the order of reading
        self.slots = 0  # replaced call slots; 0: preloaded, nothing to replace
        self.owner = os.getpid()
        self.thread: Any = None
        self.wake: Any = None

    # ---- which devices do not report ----

    def named(self) -> str | None:
        """Returns PyTorch's current accelerator, or None; before 2.6 the registered private backend."""
        try:
            accelerator = getattr(self.torch, "accelerator", None)
            if accelerator is not None:
                current = accelerator.current_accelerator()
                return None if current is None else str(current.type)
            name = str(self.torch._C._get_privateuse1_backend_name())
            return name if getattr(self.torch, name).is_available() else None
        except Exception:  # there is none, or torch has no module of its name
            return None

    def kind_of(self, kind: str) -> int:
        return int(self.capture.tide_torch_device_type(kind.encode()))

    def decided(self, kind: str) -> bool:
        """Returns whether it is known if a kind reports. It does if it has reported; it does not if no library but PyTorch's own calls the report function."""
        if kind in ("cpu", "meta") or kind in self.silent or kind in self.settled:
            return True
        number = self.kind_of(kind)
        if self.capture.tide_torch_reports(number):
            self.settled.add(kind)
        elif kind in NEVER or (kind not in KNOWN and not self.capture.tide_torch_reporters()):
            self.found(kind, number)
        else:
            return False
        return True

    def judge(self, kind: str, tensor: bool = False, last: bool = False) -> None:
        """Decides whether a kind reports. `tensor`: a tensor was made on it since recording began; `last`: this is the last sample."""
        if tensor and kind in KNOWN and counters(self.torch, kind):
            tensor = False  # counters are more reliable: the tensor may use borrowed memory
        if self.decided(kind) or not (tensor or self.moved(kind, last)) or self.late():
            return
        number = self.kind_of(kind)
        if not self.capture.tide_torch_reports(number):
            self.found(kind, number, tensor=True)

    def moved(self, kind: str, last: bool) -> bool:
        """Returns whether the counters have changed in two samples, since a report may arrive shortly after the change of the counter."""
        if kind not in self.first and self.capture.tide_recording():
            self.risen(kind, first=True)
        now = counters(self.torch, kind)
        first = self.first.setdefault(kind, now)
        if all(allocated == first.get(i, (0, 0))[0] for i, (allocated, _) in now.items()):
            return False
        if kind in self.changed or last:
            return True
        self.changed.add(kind)
        return False

    def late(self) -> bool:
        """Replaces the call slots of libraries that were loaded since. Returns whether there were any: from now on they may report."""
        before = self.slots
        if before:
            self.slots = int(self.capture.tide_torch_attach())
        if self.slots > before:
            self.first.clear()
            self.changed.clear()
        return self.slots > before

    def found(self, kind: str, number: int, tensor: bool = False) -> None:
        self.silent[kind] = number
        self.capture.tide_torch_silence(number)
        for address, pool in self.before.pop(kind, {}).items():
            self.capture.tide_free(pool, address)  # its free will not be reported
        if not self.aside or tensor:
            self.announce(kind)
        self.record()
        self.start()

    def announce(self, kind: str) -> None:
        if kind in self.announced:
            return
        self.announced.add(kind)
        has = bool(counters(self.torch, kind))
        every = f"at steps and every {self.interval:g} s" if self.interval else "at steps"
        self.say(f"{kind}: its allocator reports nothing to PyTorch's profiler, so its allocations are not recorded; "
                 + (f"its own counters are sampled {every}" if has else "it has no counters either, so its memory is unknown"))

    def record(self) -> None:
        """Records, if a recording is in progress, the kinds without recorded allocations and a sample of their counters."""
        if not self.silent or not self.capture.tide_recording():
            return
        for kind in self.silent.keys() - self.recorded:
            self.recorded.add(kind)
            self.capture.tide_annotate(self.capture.tide_intern(FACT), kind.encode())
        self.sample()

    # ---- when they are sampled ----

    def prepare(self) -> None:
        """Runs before pre-existing storages are recorded: those of a kind that cannot report are left out."""
        try:
            name = self.named() if os.getpid() == self.owner else None
            if name is not None:
                self.decided(name)
        except Exception as why:
            self.give_up(why)

    def begin(self, slots: int = 0) -> None:
        """Starts sampling for a new recording. slots: number of replaced call slots; 0: preloaded."""
        if os.getpid() != self.owner:
            return
        self.on, self.slots = True, slots
        self.peaks = self.peaks or {}
        self.first.clear()
        self.changed.clear()
        self.look()
        self.start()

    def again(self) -> None:
        """Resets the state for another recording, which needs its own notes."""
        self.before.clear()
        self.recorded.clear()
        self.peaks = {}

    def look(self, last: bool = False) -> None:
        """Examines and samples the devices: at a step, at an interval, at the end (`last`)."""
        try:
            if not self.on or os.getpid() != self.owner:
                return
            name = self.named()
            if name is not None and name not in self.names:
                self.names.add(name)
                self.late()
            if name is not None:
                self.judge(name, last=last)
            self.record()
            if last:
                self.peaks = None
        except Exception as why:
            self.give_up(why)

    def give_up(self, why: Exception) -> None:
        self.on = False
        self.say(f"devices that do not report are not looked for: {why}")

    def seen(self, tensor: Any) -> None:
        """Examines the device of a tensor that stays alive."""
        kind = str(tensor.device.type)
        if not self.on or os.getpid() != self.owner:
            return
        if self.decided(kind):
            if kind in self.silent:
                self.announce(kind)
        else:
            address = int(tensor.untyped_storage().data_ptr())
            self.judge(kind, tensor=bool(address) and address not in self.before.get(kind, {}))

    def adopted(self, kind: str, address: int, pool: int) -> None:
        """Notes a storage that existed when recording began."""
        if kind != "cpu" and kind not in self.settled:
            self.before.setdefault(kind, {})[address] = pool

    def sample(self) -> None:
        if not self.lock.acquire(timeout=1):  # called by a signal handler during a sample
            return
        try:
            for kind in list(self.silent):
                self.ask(kind)
        finally:
            self.lock.release()

    def ask(self, kind: str) -> None:
        """Records a sample. Reads the counters before the peak, so that a rise of the peak happened since the previous sample."""
        now = counters(self.torch, kind)
        self.put(kind, {i: c for i, c in now.items() if any(c) or (kind, i) in self.used})
        risen = self.risen(kind)
        self.put(kind, {i: now[i] for i in risen if i in now and (kind, i) not in self.used})
        for index, peak in risen.items():
            self.capture.tide_torch_peak(self.silent[kind], index, peak)

    def put(self, kind: str, now: dict[int, tuple[int, int | None]]) -> None:
        for index, (allocated, reserved) in now.items():
            self.used.add((kind, index))
            self.announce(kind)
            self.capture.tide_torch_allocated(self.silent[kind], index, allocated)
            if reserved is not None:
                self.capture.tide_torch_reserved(self.silent[kind], index, reserved)

    def risen(self, kind: str, first: bool = False) -> dict[int, int]:
        """Returns the own peaks that are higher than at the last sample. A lower peak was reset; a later rise counts from that sample."""
        known, risen = self.peaks, dict[int, int]()
        if known is None:
            return risen
        for index, peak in highest(self.torch, kind).items():
            last = known.setdefault((kind, index), peak)
            if first:
                continue
            known[kind, index] = peak
            if peak > last:
                risen[index] = peak
        return risen

    # ---- the sampling thread: a Python thread, because counters are read with the GIL ----

    def start(self) -> None:
        if not self.silent or not self.interval or self.thread is not None or not self.on:
            return
        self.wake = threading.Event()
        self.thread = threading.Thread(target=self.work, args=(self.wake,), name="tidemark-sample", daemon=True)
        self.thread.start()

    def work(self, wake: Any) -> None:
        while not wake.wait(self.interval) and not sys.is_finalizing():
            self.look()

    def stop(self) -> None:
        """Stops sampling and ends the thread."""
        self.on = False
        if self.thread is not None and os.getpid() == self.owner:
            self.wake.set()
            self.thread.join(1)
        self.thread = None
