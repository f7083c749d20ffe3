# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""pytest: how much memory a test takes, and a limit on it.

    @pytest.mark.limit_device_memory("2 GB")                  on every accelerator
    @pytest.mark.limit_device_memory("100 MiB", device="cpu")

`--tidemark` reports every test; `--tidemark-dir DIR` keeps the recordings. What counts is the highest point above what was alive
when the test began.
"""
from __future__ import annotations

import os
import re
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_bytes(text: str | int) -> int:
    """4096, "2 GB" (10^9), "1.5GiB" (2^30)."""
    if isinstance(text, int):
        return text
    m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if not m or m[2].upper() not in _UNITS:
        raise ValueError(f"not a size: {text!r} (write 4096, '2 GB', '1.5 GiB')")
    return int(float(m[1]) * _UNITS[m[2].upper()])


def peaks(recording: str) -> dict[str, int]:
    """Highest point of each device above the recording's first checkpoint."""
    from ._profile import Profile

    p = Profile(recording)
    since = p.checkpoints[0][2] if p.checkpoints else 0
    now: dict[str, int] = {}
    most: dict[str, int] = {}
    for row, kind in zip(p.rows[since:], p.kinds[since:]):
        if kind > 1:
            continue
        d = p.device(row)
        now[d] = now.get(d, 0) + (p.size[row] if kind == 0 else -p.size[row])
        most[d] = max(most.get(d, 0), now[d])
    return most


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidemark")
    group.addoption("--tidemark", action="store_true", help="report the memory of every test")
    group.addoption("--tidemark-dir", metavar="DIR", help="keep the recordings of tests in DIR")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit_device_memory(size, device=None): fail when the test takes more")
    config._tidemark = []  # type: ignore[attr-defined]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    limits = list(item.iter_markers("limit_device_memory"))
    if not (limits or item.config.getoption("--tidemark")):
        yield
        return
    sizes = [(parse_bytes(m.args[0]), m.kwargs.get("device")) for m in limits]
    import tidemark

    folder = item.config.getoption("--tidemark-dir") or tempfile.mkdtemp(prefix="tidemark-")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, re.sub(r"[^\w.-]+", "_", item.nodeid)[-200:] + ".tide")
    with tidemark.record(path, torch=True, ops=bool(item.config.getoption("--tidemark-dir"))):
        tidemark.checkpoint("test")
        outcome: Any = yield
    found = peaks(path)
    item.config._tidemark.append((item.nodeid, found))  # type: ignore[attr-defined]
    if not item.config.getoption("--tidemark-dir"):
        os.unlink(path)
        os.rmdir(folder)
    outcome.get_result()  # the test's own failure comes first
    for limit, device in sizes:
        for name, most in found.items():
            if most > limit and (name == device or (device is None and name != "cpu") or name.split(":")[0] == device):
                pytest.fail(f"{name}: {most:,} bytes above the start, the limit is {limit:,}", pytrace=False)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--tidemark"):
        return
    from ._live import size

    terminalreporter.section("memory (tidemark)")
    for test, found in sorted(config._tidemark, key=lambda x: -max(x[1].values(), default=0)):  # type: ignore[attr-defined]
        what = ", ".join(f"{d} {size(n)}" for d, n in found.items()) or "nothing"
        terminalreporter.write_line(f"{what:>24}  {test}")
