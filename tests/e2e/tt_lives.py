#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Holders of memory: after each operation the live bytes of every operation equal the emitter's, for every spelling of types.

Layouts inline, as names that the ttnn module defines, or left out; from the log, and from ttrt's memory_results.json, whose keys
are in the order of texts. Bytes of a log are rounded to 0.001 MB per bank; those of ttrt are exact."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import BANKS, EMITTER, STEP, emit, files_of, kept, run  # noqa: E402

fails: list[str] = []


def check(ok: bool, what: str) -> None:
    if not ok:
        fails.append(what)


def held(path: pathlib.Path, at: str, pool: str) -> dict[str, int]:
    found = json.loads(run("peak", str(path), "--pool", pool, "--at", at, "--group-by", "op", "--json").stdout)
    return {g["key"]: g["bytes"] for g in found["groups"]}


def truth_after(row: dict, flat: bool, pool: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for op, where, size in row["alive"]:
        if where == pool:
            key = op.split("/")[-1] if flat else op
            out[key] = out.get(key, 0) + size * BANKS[pool]
    return out


def same(path: pathlib.Path, rows: list, exact: bool, what: str) -> None:
    for n, pool in ((n, pool) for n in range(0, len(rows), 3) for pool in ("DRAM", "L1")):
        want, got = truth_after(rows[n], exact, pool), held(path, f"op {n}", pool)
        room = 0 if exact else 6 * STEP * BANKS[pool]
        for key in want.keys() | got.keys():
            check(abs(want.get(key, 0) - got.get(key, 0)) <= room, f"{what}: after op {n} {key} holds {got.get(key, 0)} of {pool}, not {want.get(key, 0)}")


def apart(d: pathlib.Path) -> None:
    """DRAM and L1 are two memories: each has a peak, no figure is their sum."""
    log, truth = emit(d, "apart", "--ranks", "2", "--layers", "4")
    memory, peak = (json.loads(run(c, str(log), "--json").stdout) for c in ("memory", "peak"))
    for k, rank in enumerate(truth):
        pools = {p["pool"]: p for p in memory["devices"][k]["pools"]}
        for key in ("peak_bytes", "peak_time_ns", "live_bytes", "allocs"):
            check(memory["devices"][k]["totals"][key] == pools["DRAM"][key] and pools["L1"]["peak_bytes"] > 0, f"memory: {key} of tt:{k} is not that of DRAM")
        check(max(memory["devices"][k]["live_series_bytes"]) == pools["DRAM"]["peak_bytes"], f"memory: the curve of tt:{k}")
        check(peak["devices"][k]["peak_bytes"] == pools["DRAM"]["peak_bytes"], f"peak of tt:{k}")
        l1 = peak["on_chip"][k]
        check((l1["device"], l1["pool"], l1["peak_bytes"]) == (f"tt:{k}", "L1", pools["L1"]["peak_bytes"]), f"peak: L1 of tt:{k} is {l1}")
        one = json.loads(run("peak", str(log), "--pool", "L1", "--device", f"tt:{k}", "--json").stdout)
        check(one["pool"] == "L1" and one["peak_bytes"] == one["alive_bytes"] == sum(g["bytes"] for g in one["groups"]) == pools["L1"]["peak_bytes"], f"peak --pool L1: {one}")
        high = max(o["before"]["DRAM"] for o in rank["ops"]) * BANKS["DRAM"]
        check(abs(peak["devices"][k]["peak_bytes"] - high) <= STEP * BANKS["DRAM"], f"peak of tt:{k}: {peak['devices'][k]['peak_bytes']}, not {high}")
    check(peak["alive_bytes"] == peak["peak_bytes"] == sum(g["bytes"] for g in peak["groups"]), "groups add up to the peak")
    text = run("peak", str(log)).stdout
    check("tt:1 L1" in text and "all" not in run("memory", str(log)).stdout.split("largest")[0].replace("Allocs", ""), f"text: {text}")
    check(run("peak", str(log), "--pool", "L7").returncode == 2 and "no pool 'L7'" in run("peak", str(log), "--pool", "L7").stderr, "a pool that is not there")
    dram = next(p for p in memory["devices"][0]["pools"] if p["pool"] == "DRAM")
    ops = json.loads(run("ops", str(log), "--device", "tt:0", "--flat", "--json").stdout)
    check(sum(o["self_change_bytes"] for o in ops["ops"]) == dram["live_bytes"], "ops of a device count DRAM alone")
    diff = json.loads(run("diff", str(log), str(log), "--json").stdout)
    check(str(peak["peak_bytes"]) in json.dumps(diff), "diff compares the peak of DRAM")
    check(run("export", str(log), "-o", str(d / "apart.json")).returncode == 0, "export")
    events = json.loads((d / "apart.json").read_text())["traceEvents"]
    curves: dict[str, int] = {}
    for e in events:
        if e["ph"] == "C" and e["name"].startswith("memory"):
            curves[e["name"]] = max(curves.get(e["name"], 0), e["args"]["allocated"])
    check(sorted(curves.values()) == sorted(p["peak_bytes"] for p in peak["devices"] + peak["on_chip"]), f"export: {curves}")


def logs(d: pathlib.Path) -> None:
    for types in ("inline", "alias", "bare"):
        log, truth = emit(d, types, "--types", types, "--width", "512", "--batch", "256")
        same(log, kept(truth[0]["ops"]), False, types)
        many, _ = emit(d, types + "6", "--types", types, "--runs", "6")
        grown = json.loads(run("leaks", str(many), "--json").stdout)
        check(grown["known"] and not grown["growing"], f"{types}: nothing leaks, not {[g['key'] for g in grown['growing']]}")
    for name in ("inline", "alias"):
        check(run("tt", "--analyze", str(d / f"{name}_profile.log")).returncode == 0, f"{name}: its files")
    a, b = files_of(d, "inline")[1], files_of(d, "alias")[1]
    for x, y in zip(a, b):
        check(x["output_layout_info"] == y["output_layout_info"], f"a layout by its name: {y['output_layout_info']}, not {x['output_layout_info']}")


def two_modules(d: pathlib.Path) -> None:
    """The last module before the operation defines the meaning of a name."""
    one, _ = emit(d, "first", "--types", "alias", "--runs", "1")
    text = one.read_text(encoding="utf-8")
    other = text.replace("#ttnn_layout3 =", "#ttnn_layoutX =").replace("#ttnn_layout6 =", "#ttnn_layout3 =").replace("#ttnn_layoutX =", "#ttnn_layout6 =")
    other = other.replace("jit_forward", "jit_other")
    both = d / "both_profile.log"
    both.write_text(text + other)
    check(run("tt", "--analyze", str(both)).returncode == 0 and run("tt", "--analyze", str(one)).returncode == 0, "two modules")
    ops = files_of(d, "both")[1]
    alone = files_of(d, "first")[1]
    for x, y in zip(alone, ops):
        check(x["output_layout_info"] == y["output_layout_info"], "two modules: the first keeps its own names")
    changed = [(x, y) for x, y in zip(alone, ops[len(alone):]) if x["output_layout_info"] != y["output_layout_info"]]
    check(bool(changed) and all("#ttnn_layout3>" in x["output_type"] or "#ttnn_layout6>" in x["output_type"] for x, _ in changed), f"two modules: {len(changed)} operations differ")


def ttrt(d: pathlib.Path) -> None:
    for types in ("inline", "bare"):
        path = d / f"{types}_results.json"
        with open(d / "unused.log", "w", encoding="utf-8") as f:
            subprocess.run([sys.executable, str(EMITTER), "--types", types, "--runs", "1", "--ttrt", str(path), "--truth", str(d / "ttrt.truth")], stdout=f, check=True)
        rows = kept(json.loads((d / "ttrt.truth").read_text())[0]["ops"])
        same(path, rows, True, f"ttrt, {types}")
        whole = json.loads(path.read_text())
        first = next(k for k, v in sorted(whole.items(), key=lambda x: int(x[0])) if "get_device" not in v["debug_str"])
        path.write_text(json.dumps({k: v for k, v in whole.items() if int(k) >= int(first)}, sort_keys=True))
        out = d / f"ttrt_{types}"
        check(run("tt", "--analyze", str(path), "-o", str(out)).returncode == 0, f"ttrt, {types}: its files")
        memory, ops = files_of(out, f"{types}_results")
        check([o["mlir_op"] for o in ops] == [r["name"] for r in rows], f"ttrt, {types}: the first operation is there, all are in order")
        check(memory["operations"][0]["memory"] == {} and memory["operations"][0]["change"] == {}, f"ttrt, {types}: what the first found is unknown")
        for o, r in list(zip(memory["operations"], rows))[1:]:
            check(o["change"]["DRAM"]["bytes_per_bank"] == r["after"]["DRAM"] - r["before"]["DRAM"], f"ttrt, {types}: {o['index']} {o['change']['DRAM']}")


def main() -> int:
    with tempfile.TemporaryDirectory() as tmp:
        d = pathlib.Path(tmp)
        logs(d)
        apart(d)
        two_modules(d)
        ttrt(d)
    for f in fails[:30]:
        print("FAIL", f)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
