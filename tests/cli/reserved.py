#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reserved bytes of a recording made by the API, as samples of a counter: the terminal, JSON and the page agree.

reserved.py TIDEMARK WRITER: WRITER records (reserved_writer.c)."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from page_section import section  # noqa: E402

MIB = 1 << 20
TIDEMARK, WRITER = sys.argv[1:3]
failed = 0


def same(what: str, got: object, want: object) -> None:
    global failed
    if got != want:
        failed += 1
        print(f"{what}: {got!r}, not {want!r}")


def text(command: str, *args: str) -> str:
    return subprocess.run([TIDEMARK, command, *args], check=True, capture_output=True, text=True, timeout=300).stdout


def ask(command: str, *args: str) -> dict:
    return json.loads(text(command, *args, "--json"))


def of(answer: dict, device: str) -> dict:
    return next(d for d in answer["devices"] if d["device"] == device)


def moments(tide: str) -> dict:
    """Returns the times of the checkpoints."""
    rows = [json.loads(r) for r in text("dump", tide, "--table", "marks", "--json").splitlines() if '"checkpoint"' in r]
    return {r["name"]: r["t"] for r in rows}


def check_json(tide: str) -> None:
    whole = ask("memory", tide)
    for device, want in (("cuda:0", (20 * MIB, 52 * MIB, 52 * MIB, "samples")), ("cuda:1", (None, None, None, None)), ("cpu", (None, None, None, None))):
        t = of(whole, device)["totals"]
        same(device, (t["reserved_bytes"], t["reserved_bytes_at_peak"], t["reserved_peak_bytes"], t["reserved_source"]), want)
        same(f"series of {device}", "reserved_series_bytes" in of(whole, device), want[0] is not None)
    series = of(whole, "cuda:0")["reserved_series_bytes"]
    same("the series", (series[0], max(v for v in series if v is not None)), (None, 52 * MIB))
    for name, want in (("none", None), ("first", 20 * MIB), ("peak", 52 * MIB), ("last", 20 * MIB)):
        at = ["--at", f"{moments(tide)[name]}ns"]
        same(f"memory at {name}", of(ask("memory", tide, *at), "cuda:0")["totals"]["reserved_bytes"], want)
        same(f"peak at {name}", ask("peak", tide, "--device", "cuda:0", *at)["reserved_bytes"], want)
        same(f"allocator at {name}", ask("allocator", tide, "--device", "cuda:0", *at)["reserved_bytes"], want)
    peak = ask("peak", tide)
    same("peak", (peak["device"], peak["reserved_bytes_at_peak"], peak["reserved_source"]), ("cuda:0", 52 * MIB, "samples"))
    (oom,) = ask("oom", tide)["ooms"]
    same("oom", (oom["reserved_bytes"], oom["allocated_bytes"], oom["reserved_unallocated_bytes"], oom["reserved_source"]),
         (20 * MIB, 16 * MIB, 4 * MIB, "samples"))


def check_text(tide: str) -> None:
    memory = text("memory", tide)
    for words in ("16.00 MiB      1  20.00 MiB  46.00 MiB", "Reserved is sampled: exact at each sample, unknown between samples.", "1         -   2.00 MiB",
                  "1         -  3.00 MiB"):
        same(f"memory says {words!r}", " ".join(words.split()) in " ".join(memory.split()), True)
    same("said once", memory.count("sampled"), 1)
    same("peak", text("peak", tide).splitlines()[1], "2 allocations alive, 46.00 MiB requested, 52.00 MiB reserved (sampled)")
    same("peak of the host", text("peak", tide, "--device", "cpu").splitlines()[1], "1 allocation alive, 3.00 MiB requested")


def check_page(tide: str, folder: str) -> None:
    page = f"{folder}/page.html"
    text("report", tide, "-o", page)
    html = Path(page).read_text()
    main, _ = section(html, "main")
    memory, columns = section(html, "memory")
    same("devices", {d["device"]: (d["reserved_peak"], d["reserved_source"]) for d in main["devices"][1:]},
         {"cuda:0": (52 * MIB, "samples"), "cuda:1": (None, None), "cpu": (None, None)})
    same("steps", [b // MIB for b in columns["seg_bytes"]], [20, 32, -32])
    same("their devices", {main["devices"][memory["pools"][p]["device"]]["device"] for p in columns["seg_pool"]}, {"cuda:0"})
    same("in order", sorted(columns["seg_t"]), columns["seg_t"])
    same("a map", 'id="tide-allocator"' in html, False)


with tempfile.TemporaryDirectory() as work:
    recording = f"{work}/x.tide"
    subprocess.run([WRITER, recording], check=True, timeout=300)
    check_json(recording)
    check_text(recording)
    check_page(recording, work)
print("reserved bytes:", f"{failed} differ" if failed else "all the same")
sys.exit(failed > 0)
