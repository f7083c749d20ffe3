# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""pytest plugin: measures and limits the memory of tests.

    @pytest.mark.limit_device_memory("2 GB")                  on every accelerator
    @pytest.mark.limit_device_memory("100 MiB", device="cpu")
    @pytest.mark.limit_host_objects("1 MiB")                  Python objects and arrays that the test leaves alive

`--tidemark` reports every test, `--tidemark-dir DIR` keeps the recordings, with ops. The figure is the peak minus the bytes that
were live when the test itself began, so that allocations of fixtures are not counted.
"""
from __future__ import annotations

import itertools
import os
import re
import reprlib
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Optional

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROPERTY = "tidemark_peak_bytes"  # user property of a test's report: device -> bytes
_FOLDER = pytest.StashKey[Optional[str]]()
_found: dict[str, dict[str, int]] = {}  # by test
_files: set[str] = set()  # names of recordings that are taken
LEAST_LIMIT = 1024  # of limit_host_objects
_walked = False  # live objects were measured once
_before: list[tuple[int, dict[str, int], dict[str, int]]] = []  # live objects before the test; objects of our modules are not counted

_UNITS = {"": 1, "B": 1, **{p + b: 2**n for p, n in zip("KMGT", (10, 20, 30, 40)) for b in ("B", "IB")}}  # as everywhere in Tidemark


def parse_bytes(text: str | int) -> int:
    """Parses 4096, "2 GB" or "1.5GiB"; units are powers of 1024."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    m = re.fullmatch(r"\s*(\d{1,18}(?:\.\d+)?)\s*([A-Za-z]*)\s*", text, re.ASCII) if isinstance(text, str) else None
    if not m or m[2].upper() not in _UNITS:
        raise ValueError(f"not a size: {reprlib.repr(text)} (write 4096, '2 GB', '1.5 GiB')")
    return int(float(m[1]) * _UNITS[m[2].upper()])


def limits(item: pytest.Item) -> dict[str | None, int]:
    """Returns the limits of a test by device (None = every accelerator). If several marks name a device, the nearest counts."""
    out: dict[str | None, int] = {}
    for mark in item.iter_markers("limit_device_memory"):
        given = dict(mark.kwargs)
        device = given.pop("device", None)
        size = mark.args[0] if len(mark.args) == 1 else given.pop("size", None)
        if size is None or given or len(mark.args) > 1:
            pytest.fail('write @pytest.mark.limit_device_memory("2 GB"), or with device="cpu"', pytrace=False)
        if device is not None and not is_device(device):
            pytest.fail(f"limit_device_memory: there is no device {device!r} (write 'cpu', 'cuda', 'cuda:1')", pytrace=False)
        try:
            out.setdefault(device, parse_bytes(size))
            continue
        except ValueError as error:
            why = f"limit_device_memory: {error}"
        pytest.fail(why, pytrace=False)  # outside of `except`: pytest would show that exception first
    return out


def objects_limit(item: pytest.Item) -> int | None:
    """Returns the limit of the nearest limit_host_objects mark; None without one."""
    mark = item.get_closest_marker("limit_host_objects")
    if mark is None:
        return None
    size = mark.args[0] if len(mark.args) == 1 and not mark.kwargs else mark.kwargs.get("size") if not mark.args and set(mark.kwargs) == {"size"} else None
    why = 'write @pytest.mark.limit_host_objects("1 MiB")'
    try:
        limit = parse_bytes(size) if size is not None else None
        if limit is not None and limit >= LEAST_LIMIT:
            return limit
        if limit is not None:
            why = f"limit_host_objects: {size!r} is below {LEAST_LIMIT} bytes, and pytest itself keeps some hundred bytes of a test (write '1 KiB' or more)"
    except ValueError as error:
        why = f"limit_host_objects: {error}"
    pytest.fail(why, pytrace=False)


def kept_objects(limit: int) -> str:
    """Returns a message with the owners that grew most if live objects grew by more than the limit since _before was taken, else ""."""
    from .objects import _snapshot

    total, owners, types = _snapshot.owned()
    grown = total - _before[0][0]
    if grown <= limit:
        return ""
    who, what = most_grown(_before[0][1], owners), most_grown(_before[0][2], types)
    return f"the test leaves {grown:,} bytes of objects alive, the limit is {limit:,}; owned by {who or 'no variable of a module'}; types {what}"


def most_grown(before: dict[str, int], after: dict[str, int]) -> str:
    rows = sorted(((n - before.get(name, 0), name) for name, n in after.items()), reverse=True)
    return ", ".join(f"{name} {n:+,}" for n, name in rows[:3] if n > 0)


def is_device(name: object) -> bool:
    """Returns whether a device can have this name. A limit on any other name would never be exceeded."""
    from ._profile import DEVICES

    kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if colon and not number.isdecimal():
        return False
    if kind in DEVICES.values() or kind == "other":
        return True
    try:  # any other device of PyTorch, also a registered private backend
        return bool(kind and sys.modules["torch"].device(kind))
    except (KeyError, RuntimeError):
        return False


def peaks(recording: str) -> dict[str, int]:
    """Returns the peak of each device, minus its live bytes at the recording's first checkpoint."""
    from . import _native
    from ._profile import device_names

    t = _native.Trace(recording)
    names, of = device_names(t), t.view("pools", "device")
    first = next((position for kind, position in zip(t.view("marks", "kind"), t.view("marks", "position")) if kind == _native.CHECKPOINT), 0)
    pool, size = t.view("allocs", "pool"), t.view("allocs", "size")
    now, most = [0] * len(names), [0] * len(names)
    for row, kind in zip(t.view("memory_events", "row")[first:], t.view("memory_events", "kind")[first:]):
        if kind > 1:
            continue
        d = of[pool[row]]
        now[d] += size[row] if kind == 0 else -size[row]
        if now[d] > most[d]:
            most[d] = now[d]
    return {name: n for name, n in zip(names, most) if n}


def culprits(recording: str, device: str, most: int = 3) -> list[str]:
    """Returns one line for each origin of the bytes live at the peak and allocated since the first checkpoint, largest first."""
    from . import _native
    from ._profile import device_names

    t = _native.Trace(recording)
    names, of = device_names(t), t.view("pools", "device")
    first = next((position for kind, position in zip(t.view("marks", "kind"), t.view("marks", "position")) if kind == _native.CHECKPOINT), 0)
    pool, size, rows, kinds = t.view("allocs", "pool"), t.view("allocs", "size"), t.view("memory_events", "row"), t.view("memory_events", "kind")
    now = highest = at = 0
    events = [(i, rows[i], kinds[i]) for i in range(first, len(rows)) if kinds[i] < 2 and names[of[pool[rows[i]]]] == device]
    for i, row, kind in events:
        now += size[row] if kind == 0 else -size[row]
        if now > highest:
            highest, at = now, i
    alive: dict[int, None] = {}
    for i, row, kind in events:
        if i <= at and kind == 0:
            alive[row] = None
        elif i <= at:
            alive.pop(row, None)
    groups: dict[str, list[int]] = {}
    for row in alive:
        groups.setdefault(_made_by(t, row), []).append(size[row])
    largest = sorted(groups.items(), key=lambda g: -sum(g[1]))
    lines = [f"{sum(n):,} bytes in {len(n)} allocation{'s'[:len(n) > 1]}: {who}" for who, n in largest[:most]]
    return lines + ([f"and {len(largest) - most} more"] if len(largest) > most else [])


def _made_by(t: Any, row: int) -> str:
    """Returns the innermost line of the user's own code, and the op."""
    span, stack = t.view("allocs", "span")[row], t.view("allocs", "stack")[row]
    op = t.text(t.view("spans", "name")[span]) if span else ""
    frames, parent = t.view("stacks", "frame"), t.view("stacks", "parent")
    frame: dict[str, Any] = {}
    while stack and not frame:
        f = frames[stack]
        file = t.text(t.view("frames", "file")[f])
        if file.endswith(".py") and not re.search(r"[/\\](site-packages|dist-packages|torch|tidemark)[/\\]", file):
            frame = {"file": os.path.basename(file), "line": t.view("frames", "line")[f], "function": t.text(t.view("frames", "function")[f])}
        stack = parent[stack]
    where = "{file}:{line} {function}".format(**frame) if frame else ""
    return ", ".join(x for x in (where, op) if x) or "unknown"


def lacks_accelerator(device: str | None) -> bool:
    """Returns whether PyTorch has no such accelerator here, so that a limit on it cannot be checked."""
    if device == "cpu":
        return False
    try:
        import torch
    except ImportError:
        return True
    if hasattr(torch, "accelerator"):
        return not torch.accelerator.is_available()
    return not torch.cuda.is_available()


def unreported(recording: str) -> str:
    """Returns the kinds of devices whose allocations cannot be recorded; "" = none."""
    from . import _native

    t = _native.Trace(recording)
    return next((t.text(n) for k, n in zip(t.view("facts", "key"), t.view("facts", "text")) if t.text(k) == "loss.unreported_devices"), "")


def over(found: dict[str, int], wanted: dict[str | None, int]) -> tuple[str, str]:
    """Returns the device and a message for the first limit that was exceeded; "" = none."""
    for device, limit in wanted.items():
        for name, most in found.items():
            if most > limit and (name == device or (device is None and name != "cpu") or name.split(":")[0] == device):
                return name, f"{name}: {most:,} bytes above the start, the limit is {limit:,}"
    return "", ""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidemark")
    group.addoption("--tidemark", action="store_true", help="report the memory of every test")
    group.addoption("--tidemark-update", action="store_true", help="keep the peaks of tests with tidemark(no_growth=True) as their baselines")
    group.addoption("--tidemark-baseline", metavar="FILE", help="the file of baselines (default tidemark-baseline.json in the root folder)")
    group.addoption("--tidemark-dir", metavar="DIR", help="keep the recordings of tests in DIR")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit_device_memory(size, device=None): fail when the test takes more")
    config.addinivalue_line("markers", "limit_host_objects(size): fail when the test leaves more bytes of Python objects and arrays alive")
    config.addinivalue_line("markers", "tidemark(device='h100', peak='<40GiB', no_growth=False): run on a virtual device, without a GPU; fail above a peak, or when it grew")
    folder = config.getoption("--tidemark-dir")
    config.stash[_FOLDER] = os.path.abspath(folder) if folder else None  # a test may change the working folder
    _found.clear()
    _files.clear()


def file_of(test: str) -> str:
    """Returns the file name of a test's recording. Tests whose names differ only in replaced characters get numbers."""
    name = stem = re.sub(r"[^\w.-]+", "_", test)[-200:]
    for number in itertools.count(2):
        if name not in _files:
            break
        name = f"{stem}.{number}"
    _files.add(name)
    return name + ".tide"


def fail_test(outcome: Any, why: str) -> None:
    """Fails the test, unless it has failed by itself."""
    if not why or outcome.excinfo is not None:
        return
    failure = pytest.fail.Exception(why, pytrace=False)
    if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
        raise failure
    outcome.force_exception(failure)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test marked `tidemark` and its fixtures run in a process of their own, which has virtual devices."""
    if item.get_closest_marker("tidemark") is not None and not os.environ.get("TIDEMARK_PYTEST_INSIDE"):
        item.setup = lambda: None  # type: ignore[method-assign]
        item.runtest = lambda: run_on_virtual_device(item)  # type: ignore[method-assign]


def run_on_virtual_device(item: pytest.Item) -> None:
    from . import _virtual_tests

    mark = item.get_closest_marker("tidemark")
    assert mark is not None
    root, config = str(item.config.rootpath), item.config
    baseline = config.getoption("--tidemark-baseline") or os.path.join(root, _virtual_tests.BASELINE)
    why = 'write @pytest.mark.tidemark(device="h100", peak="<40GiB", no_growth=True)' if mark.args else ""
    why = why or _virtual_tests.check(item.nodeid, root, dict(mark.kwargs), os.path.abspath(baseline), config.getoption("--tidemark-update"))
    if why:
        pytest.fail(why, pytrace=False)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Runs innermost, so that objects kept by other plugins are not counted."""
    limit = objects_limit(pyfuncitem)
    if limit is None:
        yield
        return
    from .objects import _snapshot

    global _walked
    if not _walked:
        _snapshot.owned()  # objects that the first walk leaves behind do not count
        _walked = True
    _before[:] = [_snapshot.owned()]
    outcome: Any = yield
    fail_test(outcome, kept_objects(limit))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Runs before fixtures: skips a test whose limits all name an accelerator that this machine does not have."""
    try:
        wanted = limits(item)
    except pytest.fail.Exception:
        return  # a wrong mark fails the call
    if wanted and all(lacks_accelerator(device) for device in wanted):
        item.add_marker(pytest.mark.skip('limit_device_memory: no accelerator here (write device="cpu" to limit host memory)'))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    wanted = limits(item)
    if not (wanted or item.config.getoption("--tidemark") or item.config.stash[_FOLDER]):
        yield
        return
    import tidemark

    from ._record import path_now

    if tidemark.recording():
        item.warn(pytest.PytestWarning("tidemark: a recording is in progress already: the test's own memory is not measured"))
        yield
        return
    keep = item.config.stash[_FOLDER]
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        os.makedirs(keep or folder, exist_ok=True)
        with tidemark.record(os.path.join(keep or folder, file_of(item.nodeid)), ops=bool(keep or wanted), stacks=bool(wanted)):
            path = path_now() or ""  # differs if another process is writing the requested file
            tidemark.checkpoint("test")
            outcome: Any = yield
        found = peaks(path)
        device, why = over(found, wanted)
        who = culprits(path, device) if why else []
        if wanted and (silent := unreported(path)):
            item.warn(pytest.PytestWarning(f"tidemark: {silent}: its allocator reports nothing: no limit on it can be checked"))
    item.user_properties.append((_PROPERTY, found))
    fail_test(outcome, "\n  ".join([why, *who]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects the figures from test reports, which come from this process or from workers of pytest-xdist."""
    for key, found in report.user_properties if report.when == "call" else ():
        if key == _PROPERTY and isinstance(found, dict):
            _found[report.nodeid] = found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--tidemark"):
        return
    from ._live import size

    terminalreporter.section("memory (tidemark)")
    for test, found in sorted(_found.items(), key=lambda x: -max(x[1].values(), default=0)):
        what = ", ".join(f"{d} {size(n)}" for d, n in found.items()) or "nothing"
        terminalreporter.write_line(f"{what:>24}  {test}")
