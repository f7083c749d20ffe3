#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs of tests/support/tt_emitter.py through `tidemark tt`: its report equals the emitter's own data, op by op.

The emitter writes lines as the runtime does (constructed lines) and knows the truth. Figures of a log are
rounded to 0.001 MB per bank: a state is within half of that, a change within all of it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
EMITTER = pathlib.Path(__file__).resolve().parent.parent / "support" / "tt_emitter.py"
MB = 1024 * 1024
STEP = MB / 1000
BANKS = {"DRAM": 12, "L1": 64, "L1_SMALL": 64, "TRACE": 12}
fails: list[str] = []


def check(ok: bool, what: str) -> None:
    if not ok:
        fails.append(what)


def run(*args: str, cwd: str | None = None, env: dict | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([TIDEMARK, *args], cwd=cwd, capture_output=True, text=True, timeout=400, env={**os.environ, **(env or {})}, check=False)


def emit(folder: pathlib.Path, name: str, *args: str) -> tuple[pathlib.Path, list]:
    log, truth = folder / f"{name}_profile.log", folder / f"{name}.truth"
    with open(log, "w", encoding="utf-8") as f:
        subprocess.run([sys.executable, str(EMITTER), *args, "--truth", str(truth)], stdout=f, check=True)
    return log, json.loads(truth.read_text())


def files_of(folder: pathlib.Path, name: str) -> tuple[dict, list]:
    return json.loads((folder / f"{name}_memory.json").read_text()), json.loads((folder / f"{name}_operations.json").read_text())


def kept(ops: list) -> list:
    return [o for o in ops if o["name"] not in ("ttnn.deallocate", "ttnn.get_device")]


def last_of_runs(ops: list) -> set[int]:
    """Returns the positions of the last operation of each run, whose effect only `after submit` shows."""
    names = [o["name"] for o in ops]
    starts = [i for i, o in enumerate(ops) if o["name"] == "ttnn.get_device" and not o["const_eval"]]
    return {i - 1 for i in starts[1:]} | {len(names) - 1}


def same_op(o: dict, m: dict, p: dict, what: str) -> None:
    check(m["op_type"] == o["op_type"] and p["mlir_op"] == m["mlir_op"] == o["name"], f"{what}: name {p['mlir_op']}")
    check(m["loc"] == p["loc"] == o["loc"], f"{what}: location {m['loc']} {o['loc']}")
    check(m["const_eval_graph"] == o["const_eval"] and m["const_eval_cache_miss"] == o["miss"], f"{what}: const-eval")
    for pool, bytes_ in o["before"].items():
        got = m["memory"][pool]["totalBytesAllocatedPerBank_MB"] * MB
        check(abs(got - bytes_) <= STEP / 2 + 1, f"{what}: {pool} holds {got}, not {bytes_}")
        check(m["memory"][pool]["numBanks"] == BANKS[pool], f"{what}: banks")


def same_change(o: dict, m: dict, known: bool, what: str) -> None:
    for pool, before in o["before"].items():
        got = m["change"][pool]["bytes_per_bank"]
        if not known:
            check(got is None, f"{what}: {pool} changed by {got}: nobody knows")
            continue
        check(got is not None and abs(got - (o["after"][pool] - before)) <= STEP + 2, f"{what}: {pool} changed by {got}")
        check(m["change"][pool]["bytes"] == got * BANKS[pool], f"{what}: {pool} of all banks")


def one(folder: pathlib.Path, name: str, *args: str) -> None:
    log, truth = emit(folder, name, *args)
    r = run("tt", "--analyze", str(log))
    check(r.returncode == 0, f"{name}: {r.stderr}")
    memory, ops = files_of(folder, name)
    check(f"memory and operations of all {len(ops)} operations match" in r.stdout, f"{name}: validation")
    check(len(memory["operations"]) == len(ops) == memory["metadata"]["total_operations"], f"{name}: lengths")
    for rank in truth:
        mine = [i for i, p in enumerate(ops) if p.get("rank", "1,0") == f"1,{rank['rank']}"]
        rows, last = kept(rank["ops"]), last_of_runs(rank["ops"])
        check(len(mine) == len(rows), f"{name}: rank {rank['rank']} has {len(mine)} operations, not {len(rows)}")
        places = [i for i, o in enumerate(rank["ops"]) if o["name"] not in ("ttnn.deallocate", "ttnn.get_device")]
        for o, i, at in zip(rows, mine, places):
            same_op(o, memory["operations"][i], ops[i], f"{name}: rank {rank['rank']} op {i}")
            same_change(o, memory["operations"][i], at not in last or rank["submit"], f"{name}: rank {rank['rank']} op {i}")
    totals(log, truth, name)
    shares(log, memory, name)
    padding(log, truth, name)


def shares(log: pathlib.Path, memory: dict, name: str) -> None:
    """Weights, activations and the rest before an operation are its state, where one rank makes all."""
    got = json.loads(run("tt", "--analyze", str(log), "--json").stdout)
    for row in got["dram_over_ops"]:
        state = memory["operations"][row["index"]]["memory"]["DRAM"]["totalBytesAllocatedPerBank_MB"]
        all_ = row["weights_bytes"] + row["activations_bytes"] + row["rest_bytes"]
        check(abs(all_ - round(state * MB) * BANKS["DRAM"]) <= BANKS["DRAM"], f"{name}: op {row['index']}: {all_} bytes of weights, activations and the rest, not {state} MB a bank")


def padding(log: pathlib.Path, truth: list, name: str) -> None:
    """Live tensors and their tiles are the emitter's: a cached result counts once, an ended run not at all."""
    got = json.loads(run("tt", "--analyze", str(log), "--json").stdout)
    tiles = [o["tiles"] for rank in truth for o in kept(rank["ops"])]
    most = max(padded for _, padded in tiles)
    check(got["live_padding"]["padded_bytes"] == most and [got["live_padding"]["logical_bytes"], most] in tiles, f"{name}: tiles hold {got['live_padding']}, not {most}")
    pct = max(100 * (padded - logical) / logical for logical, padded in tiles if logical)
    check(abs(got["peak_padding_overhead_pct"] - pct) < 1e-3, f"{name}: padding {got['peak_padding_overhead_pct']} %, not {pct}")


def totals(log: pathlib.Path, truth: list, name: str) -> None:
    """The model: peak and live bytes of every pool of every rank are the emitter's."""
    got = json.loads(run("memory", str(log), "--json").stdout)
    for rank in truth:
        device = next((d for d in got["devices"] if d["device"] == f"tt:{rank['rank']}"), None)
        check(device is not None, f"{name}: no device {rank['rank']}")
        for pool in device["pools"] if device else []:
            high = max(max(o["before"][pool["pool"]], o["after"][pool["pool"]] if rank["submit"] or i + 1 < len(rank["ops"]) else 0) for i, o in enumerate(rank["ops"]))
            check(abs(pool["peak_bytes"] / BANKS[pool["pool"]] - high) <= STEP / 2 + 1, f"{name}: peak of {pool['pool']} is {pool['peak_bytes']}, not {high}")


def text_of(folder: pathlib.Path, name: str, text: str) -> pathlib.Path:
    path = folder / f"{name}_profile.log"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


def damaged(d: pathlib.Path) -> None:
    log, _ = emit(d, "whole")
    text = log.read_text(encoding="utf-8")
    lines = text.split("\n")
    n = json.loads(run("tt", "--analyze", str(log), "--json").stdout)["operations"]
    cut = run("tt", "--analyze", str(text_of(d, "cut", text[: len(text) * 2 // 3])), "--json")
    got = json.loads(cut.stdout)
    check(0 < got["operations"] < n, "cut in the middle")
    none = run("tt", "--analyze", str(text_of(d, "none", "\n".join(x for x in lines if "memory state" not in x))))
    check(none.returncode == 1 and "TT_RUNTIME_MEMORY_LOG_LEVEL" in none.stderr, f"no memory states: {none.stderr}")
    noop = run("tt", "--analyze", str(text_of(d, "noop", "\n".join(x for x in lines if "Executing operation" not in x))), "--json")
    check(json.loads(noop.stdout)["operations"] == n and "tt_no_op_lines" in json.loads(noop.stdout)["losses"], "no op lines")
    lost = [x for i, x in enumerate(lines) if i % 17]
    got = json.loads(run("tt", "--analyze", str(text_of(d, "lost", "\n".join(lost))), "--json").stdout)
    check(n * 0.7 < got["operations"] <= n and got["losses"], f"lost lines: {got['operations']} of {n}")
    junk = text[:4000] + "\0\1\2\udcff\udcfe" * 500 + "\n" + text[4000:]
    got = json.loads(run("tt", "--analyze", str(text_of(d, "junk", junk)), "--json").stdout)
    check(got["operations"] >= n - 2, "binary junk")
    two, truth = emit(d, "two", "--ranks", "2")
    t = two.read_text(encoding="utf-8").split("\n")
    mid = [a[: len(a) // 2] + b if i % 40 == 5 and "Executing" in a else a for i, (a, b) in enumerate(zip(t, t[1:] + [""]))]
    r = run("tt", "--analyze", str(text_of(d, "mid", "\n".join(mid))), "--json")
    check(r.returncode == 4 and json.loads(r.stdout)["ranks"] == 2, f"two ranks interleaved mid-line: {r.returncode} {r.stderr}")
    other = run("tt", "--analyze", str(text_of(d, "other", "hello\n" * 20000)))
    check(other.returncode == 1 and other.stderr.count("not a trace") == 1 and "TT_RUNTIME_DEBUG" in other.stderr, f"another text: {other.stderr}")
    late = run("peak", str(text_of(d, "late", "x" * 79 + "\n" + "foreign line of a log\n" * 200000 + text)), "--json")
    check(late.returncode == 0 and json.loads(late.stdout)["peak_bytes"] > 0, f"markers megabytes into the file: {late.stderr}")
    forced = run("memory", str(log), "--format", "tt-log")
    check(forced.returncode == 0 and run("memory", str(log), "--format", "kineto").returncode == 1, "--format")


def answers(path: pathlib.Path) -> dict:
    """Returns the output of every command on a run, without the names of files."""
    out = {}
    for words in (["memory"], ["peak"], ["ops"], ["phases"], ["leaks"], ["tt", "--analyze"]):
        r = run(*words, str(path), "--json")
        check(r.returncode == 0, f"{words} {path.name}: {r.stderr}")
        out[words[0]] = r.stdout.replace(str(path), "FILE").replace(path.name, "FILE")
    out["dump"] = run("dump", str(path), "--json").stdout
    return out


def recording(d: pathlib.Path) -> None:
    """The .tide of a run gives the same reports as its log; pack and recover keep it; a truncated one is refused."""
    for name, args in (("same", ()), ("same4", ("--ranks", "4", "--noise", "0.2"))):
        log, _ = emit(d, name, *args)
        check(run("tt", "--analyze", str(log)).returncode == 0, f"{name}: --analyze")
        tide = d / f"{name}.tide"
        want, got = answers(log), answers(tide)
        for key in want:
            check(want[key] == got[key], f"{name}: {key} of the recording differs from the log's")
        packed, back = d / f"{name}_packed.tide", d / f"{name}_back.tide"
        check(run("pack", str(tide), "-o", str(packed)).returncode == 0 and answers(packed)["dump"] == want["dump"], f"{name}: packed")
        check(run("recover", str(packed), "-o", str(back)).returncode == 0 and answers(back)["dump"] == want["dump"], f"{name}: recovered")
    whole = tide.read_bytes()
    for part in (whole[: len(whole) // 2], whole[:-64], whole[:3000] + b"\1\2\3" + whole[3003:]):
        (d / "half.tide").write_bytes(part)
        r = run("memory", str(d / "half.tide"))
        check(r.returncode == 1 and r.stderr.count("\n") == 1, f"half of a recording: {r.stderr}")


def json_only(d: pathlib.Path) -> None:
    """A folder that holds only the JSON files; an older bare list; what they say equals the log's states."""
    log, _ = emit(d, "only", "--ranks", "1")
    folder = d / "only_20260101_000000"
    folder.mkdir()
    check(run("tt", "--analyze", str(log), "-o", str(folder)).returncode == 0, "its files")
    for name in ("only_report.html", "only.tide"):
        (folder / name).unlink()
    r = run("tt", "--visualize", str(folder))
    check(r.returncode == 0 and (folder / "only_report.html").stat().st_size > 100000, f"--visualize of JSON files: {r.stderr}")
    other = folder.rename(d / "renamed")
    r = run("tt", "--visualize", str(other), "-o", str(d / "a" / "b"))
    check(r.returncode == 0 and (d / "a" / "b" / "only_report.html").exists(), f"--visualize of a renamed folder, page elsewhere: {r.stdout} {r.stderr}")
    other.rename(folder)
    want = json.loads(run("tt", "--analyze", str(log), "--json").stdout)
    for operations in (True, False):
        if not operations:
            memory = json.loads((folder / "only_memory.json").read_text())
            (folder / "only_operations.json").unlink()
            (folder / "only_memory.json").write_text(json.dumps(memory["operations"], indent=2))
        got = json.loads(run("tt", "--analyze", str(folder / "only_memory.json"), "--json").stdout)
        check(got["operations"] == want["operations"] and "tt_results_only" in got["losses"], f"operations of the JSON files: {got['operations']}")
        for a, b in zip(got["fragmentation"], want["fragmentation"]):
            check(abs(a["mean_pct"] - b["mean_pct"]) < 1e-6, f"fragmentation of the JSON files {a} {b}")


def ttrt(d: pathlib.Path) -> None:
    """ttrt's memory_results.json (constructed from its writer): states after operations, bytes, a table of blocks."""
    kib = 1024

    def view(blocks: list[tuple[int, int, bool]], banks: int) -> dict:
        used = sum(n for _, n, live in blocks if live)
        return {"num_banks": banks, "total_bytes_per_bank": 64 * kib, "total_bytes_allocated_per_bank": used, "total_bytes_free_per_bank": 64 * kib - used,
                "largest_contiguous_bytes_free_per_bank": 1, "block_table": [
                    {"allocated": "yes" if live else "no", "nextID": str(i + 1), "prevID": str(i - 1), "size": str(n), "address": str(at), "blockID": str(i)}
                    for i, (at, n, live) in enumerate(blocks)]}

    def element(text: str, blocks: list[tuple[int, int, bool]]) -> dict:
        empty = [(0, 64 * kib, False)]
        return {"loc": "here", "debug_str": text, "dram": view(blocks, 12), "l1": view(empty, 64), "l1_small": view(empty, 64), "trace": view(empty, 12)}

    types = ' : (tensor<32x32xf32>) -> tensor<32x32xf32> loc("here")'
    rows = {
        "0": element('%0 = "ttnn.get_device"() : () -> !ttnn.device loc("here")', [(0, 64 * kib, False)]),
        "1": element('%1 = "ttnn.to_device"(%arg0)' + types, [(0, 4097, True), (4097, 64 * kib - 4097, False)]),
        "2": element('%2 = "ttnn.relu"(%1)' + types, [(0, 4097, True), (4097, 8192, True), (12289, 64 * kib - 12289, False)]),
        "3": element('"ttnn.deallocate"(%1) : (tensor<32x32xf32>) -> () loc("here")', [(0, 97, False), (97, 4000, False), (4097, 8192, True), (12289, 64 * kib - 12289, False)]),
        "4": element('%3 = "ttnn.exp"(%2)' + types, [(0, 4097, False), (4097, 8192, True), (12289, 1000, True), (13289, 64 * kib - 13289, False)]),
    }
    path = d / "memory_results.json"
    path.write_text(json.dumps(rows, indent=4))
    r = run("tt", "--analyze", str(path), "-o", str(d / "ttrt_files"))
    check(r.returncode == 0, f"ttrt: {r.stderr}")
    memory, _ = files_of(d / "ttrt_files", "memory_results")
    changes = [(o["mlir_op"], o["change"]["DRAM"]["bytes_per_bank"], o["change"]["DRAM"]["bytes"]) for o in memory["operations"]]
    check(changes == [("ttnn.to_device", 4097, 4097 * 12), ("ttnn.relu", 8192, 8192 * 12), ("ttnn.exp", 1000, 12000)], f"ttrt: changes to the byte: {changes}")
    exact = 1 - (64 * kib - 12289) / (64 * kib - 8192)  # before exp: two adjacent free blocks are one range
    got = memory["operations"][2]["change"]["DRAM"]["fragmentation"]
    check(abs(got - exact) < 1e-9, f"ttrt: fragmentation from the table of blocks {got}, not {exact}")
    peak = json.loads(run("peak", str(path), "--json").stdout)
    check(peak["peak_bytes"] == (4097 + 8192) * 12, f"ttrt: peak {peak['peak_bytes']}")
    check("exact bytes" in run("memory", str(path)).stderr + run("memory", str(path)).stdout, "ttrt: the basis is said")
    devices = {k: {**v, **{p: {"0": v[p]} for p in ("dram", "l1", "l1_small", "trace")}} for k, v in rows.items()}
    path.write_text(json.dumps(devices))
    check(json.loads(run("peak", str(path), "--json").stdout)["peak_bytes"] == (4097 + 8192) * 12, "ttrt: states by device")
    path.write_text(json.dumps(rows)[:-40])
    r = run("peak", str(path))
    check(r.returncode == 1 and r.stderr.count("\n") == 1, f"ttrt: cut off: {r.stderr}")


def capture(d: pathlib.Path) -> None:
    script = d / "my model.py"
    script.write_text(f"import os,sys,subprocess\nprint(os.environ['TTMLIR_RUNTIME_LOGGER_LEVEL'], os.environ['TT_RUNTIME_MEMORY_LOG_LEVEL'], file=sys.stderr)\n"
                      f"sys.exit(subprocess.call([sys.executable, {str(EMITTER)!r}, *sys.argv[1:]]))\n")
    env = {"PYTHON": sys.executable}
    r = run("tt", "-o", "out", str(script), "--runs", "1", "--exit", "7", cwd=str(d), env=env)
    check(r.returncode == 7 and "the script ended with status 7" in r.stderr, f"11: its status: {r.returncode} {r.stderr}")
    check("DEBUG operation" in r.stdout and "Executing operation" in r.stdout, "its output comes through")
    for _ in range(3):
        r = run("tt", "--log", "-o", "out", str(script), "--runs", "1", cwd=str(d), env=env)
        check(r.returncode == 0 and "tidemark tt --force --analyze" in r.stdout and "tidemark tt --force --visualize" in r.stdout, f"--log: {r.stderr}")
    folders = sorted((d / "out").iterdir())
    check(len(folders) == 4, f"12: a folder for every run, even in one second: {folders}")
    ends = {p.name[len("my model"):] for p in folders[0].iterdir()}
    want = {"_profile.log", "_profile.times", "_memory.json", "_operations.json", "_inputs_registry.json", "_ir.json", "_report.html", ".tide"}
    check(want <= ends, f"files: {want - ends}")
    times = (folders[0] / "my model_profile.times").read_text().splitlines()
    check(all(len(x.split("\t")) == 2 for x in times) and times[0].startswith("0\t"), "receive times")
    again = folders[-1]
    first = run("tt", "--analyze", str(again / "my model_profile.log"))
    check(first.returncode == 0, "--analyze")
    page = again / "my model_report.html"
    before, parts = page.stat().st_mtime_ns, first.stdout.split("\nchecked: ")
    r = run("tt", "--analyze", str(again / "my model_profile.log"))
    check(r.returncode == 0 and "no files are written; --force" in r.stderr and page.stat().st_mtime_ns == before, "12: --analyze replaces nothing")
    check(r.stdout.startswith(parts[0].rstrip()), "12: and answers as before")
    own = json.loads(run("tt", "--analyze", str(again / "my model_profile.log"), "--json").stdout)["peaks"]
    for row in own:
        check(f"\n  {row['pool']:8}  " in r.stdout, f"12: the summary has the peak of {row['pool']}")
    for name in ("my model_memory.json", "my model.tide"):
        was = (again / name).read_bytes()
        for force in ((), ("--force",)):
            r = run("tt", "--analyze", str(again / name), *force)
            check(r.returncode == bool(force) and "the file that was read" in r.stderr, f"12: {name} {force}: {r.stderr}")
        check((again / name).read_bytes() == was, f"12: {name} is as it was")
    check(run("tt", "--analyze", str(again / "my model_profile.log"), "--force").returncode == 0, "12: unless told")
    check(run("tt", "--visualize", str(folders[1])).returncode in (0, 1) and run("tt", "--visualize", str(folders[1]), "--force").returncode == 0, "--visualize")
    (d / "quiet.sh").write_text("#!/bin/sh\necho nothing\n")
    (d / "quiet.sh").chmod(0o755)
    r = run("tt", "quiet.sh", cwd=str(d))
    check(r.returncode == 1 and r.stdout == "nothing\n" and "TT_RUNTIME_MEMORY_LOG_LEVEL=operation" in r.stderr, f"a script of this folder without the runtime: {r.stderr}")
    (d / "folder.py").mkdir()
    check("tidemark tt: Script not found: folder.py" in run("tt", "folder.py", cwd=str(d)).stderr, "a folder is no script")
    for args, text in ((("--visualize", "no"), "tidemark tt: Run directory not found: no"), (("--analyze", "no"), "tidemark tt: Log file not found: no"), (("no.py",), "tidemark tt: Script not found: no.py")):
        r = run("tt", *args, cwd=str(d))
        check(r.returncode == 1 and text in r.stderr, f"{text}: {r.stderr}")
    check(run("tt").returncode == 1 and "usage" in run("tt").stdout.lower(), "no argument: help, exit 1")
    md = run("tt", "--analyze", str(again / "my model_profile.log"), "--llm").stdout
    for part in ("# Memory Profile: my model", "> Peak DRAM: ", "## Configuration", "## Peak Memory", "## Top 10 Memory Consumers (DRAM)", "## Top 10 Padding Overhead", "## Model Weights", "## Operation Distribution"):
        check(part in md, f"Markdown: {part}")


def each_rank(d: pathlib.Path) -> None:
    """--rank counts that rank alone; runs of a const-eval graph are those of the log; ops have no time to compare."""
    log = d / "ranks_profile.log"
    text = log.read_text(encoding="utf-8")
    for rank in range(4):
        found = json.loads(run("tt", "--analyze", str(log), "--rank", str(rank), "--json").stdout)
        check(found["ranks"] == 1 and {p["device"] for p in found["peaks"]} == {f"tt:{rank}"}, f"--rank {rank}: {found['ranks']} {found['peaks']}")
        check(found["peaks"][0]["op"] is not None, f"--rank {rank}: no op has the peak")
    for g in json.loads(run("tt", "--analyze", str(log), "--json").stdout)["const_eval"]:
        check(g["runs"] == len(re.findall(rf"Starting execution of program: {g['graph']}\b", text)), f"const-eval: {g}")
    r = run("diff", str(log), str(log), "--fail-if", "time>+5%")
    check(r.returncode == 1 and "cannot be decided" in r.stderr, f"diff of time: {r.returncode} {r.stderr}")


def main() -> int:
    with tempfile.TemporaryDirectory() as tmp:
        d = pathlib.Path(tmp)
        one(d, "plain")
        one(d, "bare", "--no-submit", "--no-modules", "--layers", "4", "--seed", "3")
        one(d, "noisy", "--noise", "0.2", "--colour", "--level", "DEBUG", "--small", " ", "--layers", "5", "--batch", "300")
        one(d, "ranks", "--ranks", "4", "--layers", "4")
        one(d, "decode", "--decode", "--runs", "3", "--batch", "70")
        each_rank(d)
        damaged(d)
        recording(d)
        json_only(d)
        ttrt(d)
        capture(d)
    for f in fails[:40]:
        print("FAIL", f)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
