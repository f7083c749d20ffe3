#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The page of a heap recording has a flame graph of what was not freed, whose root is the figure of `tidemark heap`, and
a finding if the program keeps nearly everything; a program that frees has none, and other recordings have no such graph."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("TIDE_SOURCE", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests/support"))
from page_section import section  # noqa: E402

TIDEMARK = os.environ.get("TIDEMARK", "tidemark")
KEEPS = "import os; kept = [bytes(1 << 20) for _ in range(40)]; os._exit(0)"
FREES = "import os; kept = [bytes(1 << 20) for _ in range(40)]; del kept; os._exit(0)"


def tidemark(*words) -> str:
    return subprocess.run([TIDEMARK, *map(str, words)], check=True, capture_output=True, text=True).stdout


def page(recording: Path) -> tuple:
    html = recording.with_suffix(".html")
    tidemark("report", recording, "-o", html)
    text = html.read_text()
    return section(text, "main")[0], *section(text, "flame")


def record(folder: Path, name: str, mode: str, code: str) -> Path:
    out = folder / f"{name}.tide"
    tidemark("run", mode, "-o", out, "--", sys.executable, "-c", code)
    return out


def check(recording: Path, keeps: bool) -> None:
    heap = json.loads(tidemark("heap", recording, "--json"))
    main, flame, columns = page(recording)
    left = flame["left"]
    assert left["total"] == heap["left_bytes"] == sum(columns["left_self"]), (left["total"], heap["left_bytes"])
    assert heap["left_bytes"] == sum(s["left_bytes"] for s in heap["stacks"])
    found = [f for f in main["findings"] if f["id"] == "kept"]
    assert len(found) == keeps, main["findings"]
    rule = heap["left_bytes"] >= 16 << 20 and heap["left_bytes"] >= 0.8 * heap["peak_bytes"]
    assert rule == keeps
    if heap["left_error_bytes"] > 0 or heap["peak_error_bytes"] > 0:
        assert all(abs(main["heap"][k] - heap[k]) <= 1 for k in main["heap"]), (main["heap"], heap["peak_error_bytes"], heap["left_error_bytes"])
    else:
        assert main["heap"] is None
    for f in found:
        assert f["what"] == "Nearly everything is kept" and f["severity"] == "medium", f
        assert ("±" in f["text"]) == (heap["left_error_bytes"] > 0), f["text"]


def main() -> None:
    with tempfile.TemporaryDirectory() as d:
        folder = Path(d)
        for mode in ("--heap=full", "--heap"):
            check(record(folder, f"keeps{mode}", mode, KEEPS), True)
            check(record(folder, f"frees{mode}", mode, FREES), False)
    _, flame, _ = page_of_kineto()
    assert "left" not in flame
    print("ok")


def page_of_kineto() -> tuple:
    with tempfile.TemporaryDirectory() as d:
        trace = Path(d) / "trace.json.gz"
        trace.write_bytes((SOURCE / "tests/data/kineto_gpt_train.json.gz").read_bytes())
        return page(trace)


if __name__ == "__main__":
    main()
