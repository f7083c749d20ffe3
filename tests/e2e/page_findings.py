#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A page lists the findings of `tidemark advice`, with the same severities and order.

page_findings.py TIDEMARK FOLDER_OF_DATA
"""
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from page_section import section  # noqa: E402

TIDEMARK, DATA = sys.argv[1], Path(sys.argv[2])
RECORDINGS = ["kineto_gpt_train.json.gz", "kineto_compiled_infer.json.gz", "torchtrace/gpt.log.gz",
              "torchsnap/snapshot_oom.pickle.gz", "torchsnap/snapshot_gpt_train.pickle.gz"]
RECORDINGS += sorted(str(f.relative_to(DATA)) for f in (DATA / "snapshots").glob("*.pickle.gz"))


def tidemark(*words: str) -> str:
    return subprocess.run([TIDEMARK, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def two_devices(folder: Path) -> Path:
    """A snapshot of two devices: what one device lacks must not hide what the other has."""
    gib = 1 << 30

    def device(d: int) -> list:
        at = (d + 1) << 40
        return [{"action": "segment_alloc", "addr": at, "size": 4 * gib, "stream": 0, "frames": []},
                {"action": "alloc", "addr": at, "size": 4 * gib, "stream": 0, "frames": []},
                {"action": "oom", "addr": gib, "size": 8 * gib, "stream": 0, "frames": []}]

    path = folder / "two.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [device(0), device(1)]}))
    return path


def compare(trace: Path, folder: Path) -> list:
    advice = json.loads(tidemark("advice", "--json", str(trace)))["findings"]
    tidemark("report", str(trace), "-o", str(folder / "page.html"))
    main, _ = section((folder / "page.html").read_text(), "main")
    assert not main["untried"], trace
    page = [(f["severity"], f["text"]) for f in main["findings"]]
    want = [(f["severity"], f["text"]) for f in advice]
    if page != want:
        sys.exit(f"{trace}: the page lists\n  {page}\nadvice lists\n  {want}")
    for f, a in zip(main["findings"], advice):
        if a["id"] == "out_of_memory":
            assert len(f["ooms"]) == min(a["value"], 4), (trace, f)
            assert all(o["oom"]["device"] == f["device"] for o in f["ooms"]), (trace, f)
    return [a["id"] for a in advice]


def main() -> None:
    seen = []
    with tempfile.TemporaryDirectory() as d:
        folder = Path(d)
        for trace in [DATA / r for r in RECORDINGS] + [two_devices(folder)]:
            seen.append(compare(trace, folder))
    assert seen[-1].count("out_of_memory") == 2, seen[-1]
    for known in ("gpu_idle", "graph_breaks", "out_of_memory", "setting", "activations"):
        assert any(known in s for s in seen), f"no recording has {known}: {seen}"
    print(len(seen), "recordings,", sum(map(len, seen)), "findings")


if __name__ == "__main__":
    main()
