# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Devices whose allocator tells PyTorch's profiler nothing (MPS, some makers' own): found, said once, and sampled.

Their allocations cannot be recorded, and a recording that says nothing of them would look as if there were none. What their own
counters say is recorded at steps and checkpoints, when live() asks, every `interval` seconds and at the end, as samples of counters of
the device. Some have a counter of their highest point too, since the process began or the program reset it: it says something of a
recording only where it rises meanwhile, so rises between two looks are recorded. It is never reset here. Everything here runs in Python
with the GIL, never inside an op or an allocator, never in a forked child (it may not touch the device), and never raises.
"""
from __future__ import annotations

import os
import sys
import threading
from typing import Any

KNOWN = ("cuda", "hip", "xpu")  # PyTorch's own, which report, unless another allocator was put in their place
NEVER = ("mps",)
FACT = b"loss.unreported_devices"


def counters(torch: Any, kind: str) -> dict[int, tuple[int, int | None]]:
    """What each device of a kind has given out and holds, as it says itself; {}: it does not say. Starts no device."""
    for ask in (_of_accelerator, _of_module, _of_mps):
        try:
            found: dict[int, tuple[int, int | None]] = ask(torch, kind)
        except Exception:  # an older torch, an allocator without, another accelerator than the current one
            continue
        if found:
            return found
    return {}


def _started(module: Any) -> bool:
    """Is the device in use? Counting devices may start it, after which a forked child could not use it any more."""
    return bool(getattr(module, "is_initialized", lambda: True)())


def _accelerator(torch: Any, kind: str) -> Any:
    """torch.accelerator, where it is of this kind and in use."""
    a = torch.accelerator
    ready = getattr(torch._C, "_accelerator_isAllocatorInitialized", lambda: True)
    return a if a.current_accelerator().type == kind and _started(getattr(torch, kind, None)) and ready() else None


def _module(torch: Any, kind: str) -> Any:
    """The kind's own, where it is in use."""
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
    """The most that each device of a kind had given out, as it says itself; {}: it does not say."""
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
    """torch: the module; capture: libtidemark-torch, called with the GIL held; say: tells the user one line."""

    def __init__(self, torch: Any, capture: Any, say: Any, interval: float, aside: bool = False) -> None:
        self.torch, self.capture, self.say, self.interval = torch, capture, say, interval
        self.aside = aside  # one of many processes of a program: nothing is said before it uses such a device
        self.announced: set[str] = set()
        self.on = True
        self.names: set[str] = set()  # kinds that PyTorch has named
        self.silent: dict[str, int] = {}  # kinds that do not report -> c10's number
        self.settled: set[str] = set()  # kinds that do
        self.first: dict[str, dict[int, tuple[int, int | None]]] = {}  # counters when a kind was first looked at
        self.changed: set[str] = set()  # kinds whose counters have moved since, without a report
        self.before: dict[str, dict[int, int]] = {}  # kind -> address, pool of what was recorded as alive already
        self.told: set[str] = set()  # silent kinds that the recording knows of
        self.used: set[tuple[str, int]] = set()  # devices that had something once
        self.peaks: dict[tuple[str, int], int] | None = {}  # own peaks at the last look of this recording; None: it has ended
        self.turn = threading.Lock()  # one look after the other: what the later one asks is the later
        self.slots = 0  # call slots taken over; 0: preloaded, nothing more is to be taken
        self.owner = os.getpid()
        self.thread: Any = None
        self.wake: Any = None

    # ---- which ----

    def named(self) -> str | None:
        """The accelerator that PyTorch names; before 2.6 the one that somebody added."""
        try:
            accelerator = getattr(self.torch, "accelerator", None)
            if accelerator is not None:
                current = accelerator.current_accelerator()
                return None if current is None else str(current.type)
            name = str(self.torch._C._get_privateuse1_backend_name())
            return name if getattr(self.torch, name).is_available() else None
        except Exception:  # none, or none of its name
            return None

    def kind_of(self, kind: str) -> int:
        return int(self.capture.tide_torch_device_type(kind.encode()))

    def decided(self, kind: str) -> bool:
        """Known without waiting for an allocation: it has reported, or it cannot, since nobody but PyTorch itself calls for that."""
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
        """Does it report? `tensor`: one was made there since recording began, so it would have; `last`: there is no later look."""
        if tensor and kind in KNOWN and counters(self.torch, kind):
            tensor = False  # they say it better: a tensor may be of memory that somebody lent
        if self.decided(kind) or not (tensor or self.moved(kind, last)) or self.late():
            return
        number = self.kind_of(kind)
        if not self.capture.tide_torch_reports(number):
            self.found(kind, number, tensor=True)

    def moved(self, kind: str, last: bool) -> bool:
        """Its counters have changed, seen twice: a report comes a moment after the change that it tells."""
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
        """A library that was loaded since is taken over now: from here on it can be heard."""
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
            self.capture.tide_free(pool, address)  # nobody will say when
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
                 + (f"what its own counters say is sampled {every}" if has else "it has no counters either, so its memory is not known"))

    def record(self) -> None:
        """Into the recording, where there is one: of which kinds it lacks allocations, and what their counters say."""
        if not self.silent or not self.capture.tide_recording():
            return
        for kind in self.silent.keys() - self.told:
            self.told.add(kind)
            self.capture.tide_annotate(self.capture.tide_intern(FACT), kind.encode())
        self.sample()

    # ---- when ----

    def prepare(self) -> None:
        """Before what is alive is recorded: of a kind that cannot report nothing is."""
        try:
            name = self.named() if os.getpid() == self.owner else None
            if name is not None:
                self.decided(name)
        except Exception as why:
            self.give_up(why)

    def begin(self, slots: int = 0) -> None:
        """Recording is on, or another one has begun. slots: call slots taken over, 0: preloaded."""
        if os.getpid() != self.owner:
            return
        self.on, self.slots = True, slots
        self.peaks = self.peaks or {}
        self.first.clear()
        self.changed.clear()
        self.look()
        self.start()

    def again(self) -> None:
        """Another recording: it is to be told too."""
        self.before.clear()
        self.told.clear()
        self.peaks = {}

    def look(self, last: bool = False) -> None:
        """A step, a while later, the end."""
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
        """A tensor that lives on."""
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
        """It was alive when recording began."""
        if kind != "cpu" and kind not in self.settled:
            self.before.setdefault(kind, {})[address] = pool

    def sample(self) -> None:
        if not self.turn.acquire(timeout=1):  # a signal's handler, amid a look
            return
        try:
            for kind in list(self.silent):
                self.ask(kind)
        finally:
            self.turn.release()

    def ask(self, kind: str) -> None:
        """A look: samples first, so that the highest point is one since the samples of the look before."""
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
        """Own peaks that are higher than at the last look. Lower: it was reset, and a rise is still one since that look."""
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

    # ---- a thread of Python's: counters are asked for with the GIL ----

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
        """Off: nothing is left running."""
        self.on = False
        if self.thread is not None and os.getpid() == self.owner:
            self.wake.set()
            self.thread.join(1)
        self.thread = None
