# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tests on virtual devices, for the pytest plugin, and fits().

    @pytest.mark.tidemark(device="h100", peak="<40GiB", no_growth=True)
    def test_step(): ...

The test runs in a process of its own under `tidemark predict`: PyTorch has virtual CUDA devices there, nothing is computed, no GPU is
needed. no_growth compares the peak with a kept file, tidemark-baseline.json beside the test's configuration, and names the lines, modules
and ops that grew.
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

BASELINE = "tidemark-baseline.json"
INSIDE = "TIDEMARK_PYTEST_INSIDE"  # in the environment of the process that runs one marked test
GROUPINGS = (("frame", "line"), ("module", "module"), ("op", "op"))
MOST_GROUPS = 200


class Fit:
    """The answer of fits(). `peak_allocated_bytes` and `peak_reserved_bytes` are on the virtual device; `report` is all of the prediction."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report
        self.fits: bool | None = report.get("fits")
        self.peak_allocated_bytes: int = report["peak_allocated_bytes"]
        self.peak_reserved_bytes: int = report["peak_reserved_bytes"]

    def __bool__(self) -> bool:
        return self.fits is True

    def __repr__(self) -> str:
        return f"Fit(fits={self.fits}, allocated={self.peak_allocated_bytes:,}, reserved={self.peak_reserved_bytes:,})"


def find_program() -> str:
    """Returns the path of tidemark: TIDEMARK, the package's own, or the one in PATH."""
    from . import _home

    own = os.environ.get("TIDEMARK")
    if own:
        return own
    if os.path.exists(_home.PROGRAM):
        return _home.program()
    found = shutil.which("tidemark")
    if found is None:
        raise FileNotFoundError("the program tidemark is neither in the package nor in PATH")
    return found


def predict(program: list[str], *options: str, env: dict[str, str] | None = None) -> tuple[dict[str, Any] | None, str]:
    """Runs a program on virtual devices. Returns the prediction, None if there is none, and what the program printed."""
    done = subprocess.run([find_program(), "predict", "--json", *options, "--", *program], env={**os.environ, "TIDEMARK_PYTHON": sys.executable, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    with contextlib.suppress(ValueError):
        return json.loads(done.stdout), done.stderr
    return None, done.stderr


def fits(program: str | list[str], budget: str | int | None = None, like: str | None = None, *, plan: str | None = None, steps: int = 2) -> Fit:
    """Returns whether a training script fits, without a GPU: fits(["train.py", "--batch", "32"], budget="40GiB").

    budget: bytes that the allocator may reserve; like: a device, e.g. "h100"; plan: a file that `tidemark fit --plan` wrote. The result is
    true if it fits, and has the peaks. Raises RuntimeError if the program does not end by itself."""
    words = [program] if isinstance(program, str) else list(program)
    options = ["--steps", str(steps)]
    if budget is not None:
        options += ["--capacity", f"{budget}B" if isinstance(budget, int) else budget]
    for name, value in ("like", like), ("plan", plan):
        options += [f"--{name}", value] if value else []
    report, said = predict(words, *options)
    if report is None or not report.get("ended"):
        raise RuntimeError(f"the program did not end by itself: {(said.strip().splitlines() or ['no output'])[-1]}")
    return Fit(report)


# ---- marked tests ----


def parse_limit(text: str) -> tuple[bool, int]:
    """Parses "<40GiB" or "<= 40 GiB": whether the limit itself is allowed, and its bytes."""
    from ._pytest import parse_bytes

    found = re.fullmatch(r"\s*<(=?)\s*(.+)", text) if isinstance(text, str) else None
    if not found:
        raise ValueError(f'peak={text!r}: write "<40GiB" or "<=40GiB"')
    return bool(found[1]), parse_bytes(found[2])


def run_test(test: str, root: str, device: str, recording: str) -> tuple[dict[str, Any] | None, str]:
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", root, os.path.join(root, test)]
    return predict(program, "--like", device, "--steps", "0", "--keep", recording, env={INSIDE: "1", "TIDEMARK_PREDICT_LINES": "1"})


def groups_at_peak(recording: str, root: str) -> dict[str, dict[str, int]]:
    """Live bytes at the peak by line, module and op; the largest of each."""
    out: dict[str, dict[str, int]] = {}
    for by, name in GROUPINGS:
        done = subprocess.run([find_program(), "peak", "--json", "--device", "cuda:0", "--group-by", by, recording], capture_output=True, text=True, errors="replace", check=False)
        rows: dict[str, int] = {}
        with contextlib.suppress(ValueError, KeyError):
            for row in json.loads(done.stdout)["groups"][:MOST_GROUPS]:
                key = row["key"] if isinstance(row["key"], str) else json.dumps(row["key"])
                key = key.replace(root + os.sep, "")
                rows[key] = rows.get(key, 0) + row["bytes"]
        out[name] = rows
    return out


def growth(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Lines that say what grew, largest first."""
    lines = []
    for _, name in GROUPINGS:
        x, y = before.get(name, {}), after.get(name, {})
        rows = sorted(((y.get(k, 0) - x.get(k, 0), k) for k in {*x, *y}), reverse=True)
        lines += [f"+{n:,} bytes  {name}  {k}" for n, k in rows[:3] if n > 0]
    return lines


def read_baseline(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
    except FileNotFoundError:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"{path}: not a file of tidemark's baselines")
    return found


def keep_baseline(path: str, test: str, row: dict[str, Any]) -> None:
    """Writes the row of a test; the file is replaced in one step."""
    rows = read_baseline(path)
    rows[test] = row
    made = tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path) or ".", delete=False, encoding="utf-8")
    with made as f:
        json.dump(dict(sorted(rows.items())), f, indent=1)
        f.write("\n")
    os.replace(made.name, path)


def check(test: str, root: str, mark: dict[str, Any], baseline: str, update: bool) -> str:
    """Runs a marked test. Returns why it fails; "" = it passes."""
    device, peak, no_growth = mark.get("device", "h100"), mark.get("peak"), mark.get("no_growth", False)
    unknown = set(mark) - {"device", "peak", "no_growth"}
    if unknown or not isinstance(device, str):
        return 'write @pytest.mark.tidemark(device="h100", peak="<40GiB", no_growth=True)'
    try:
        limit = parse_limit(peak) if peak is not None else None
    except ValueError as why:
        return str(why)
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        recording = os.path.join(folder, "test.tide")
        report, said = run_test(test, root, device, recording)
        if report is None or not report.get("ended"):
            return f"the test fails on a virtual device:\n{said[-4000:]}"
        now = {"peak_allocated_bytes": report["peak_allocated_bytes"], "peak_reserved_bytes": report["peak_reserved_bytes"], "device": device, "versions": report.get("versions"),
               **groups_at_peak(recording, root)}
    return compare(test, now, limit, peak, baseline, update, no_growth)


def compare(test: str, now: dict[str, Any], limit: tuple[bool, int] | None, peak: Any, baseline: str, update: bool, no_growth: bool) -> str:
    size = now["peak_allocated_bytes"]
    if limit is not None and (size > limit[1] or size == limit[1] and not limit[0]):
        largest = [f"{n:,} bytes  {name}  {k}" for _, name in GROUPINGS for k, n in sorted(now[name].items(), key=lambda x: -x[1])[:2]]
        return "\n  ".join([f"the peak is {size:,} bytes on a virtual {now['device']}, the limit is {peak}", *largest])
    if not no_growth:
        return ""
    if update:
        keep_baseline(baseline, test, now)
        return ""
    before = read_baseline(baseline).get(test)
    if before is None:
        return f"there is no baseline of this test in {baseline}: run pytest --tidemark-update once, and commit the file"
    if size <= before["peak_allocated_bytes"]:
        return ""
    other = f" (versions were {before.get('versions')}, are {now['versions']})" if before.get("versions") != now["versions"] else ""
    return "\n  ".join([f"the peak grew from {before['peak_allocated_bytes']:,} to {size:,} bytes on a virtual {now['device']}{other}", *growth(before, now)])
