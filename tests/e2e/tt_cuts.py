#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Logs of Tenstorrent runs that are cut, locations of all kinds, and weights behind const-eval programs.

Logs come from tests/support/tt_emitter.py (constructed lines)."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import emit, files_of, run  # noqa: E402

LOCATIONS = {'"add.3"': "add.3", '"model.py":12:3': "model.py:12:3", '"outer"("inner")': "outer", 'fused["a", "f.py":1:2]': "a, f.py:1:2",
             'fused<{x = [1, "]"]}>["b"]': "b", 'callsite("f.py":1:2 at "g.py":3:4)': "f.py:1:2 at g.py:3:4", 'callsite(fused["p", "q"] at unknown)': "p, q",
             "unknown": None, "fused[unknown, unknown]": None, '"a\\"b":7:8': 'a\\"b:7:8', "#loc1": "matmul.0", "#loc9999": None}


def cuts(d: pathlib.Path) -> None:
    """A log that ends inside a program, a state, a dump or before the state after its run has status 4, a whole run 0."""
    log, _ = emit(d, "cut", "--layers", "1", "--runs", "2", "--decode")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    part, depth, states, dump, seen, want = d / "part.log", 0, 0, False, False, 0
    submitted = False
    for n, line in enumerate(lines, 1):
        dump = "MLIR Module" in line or (dump and "END OF MLIR MODULE" not in line)
        depth += ("Starting execution" in line) - ("Finished execution" in line)
        states = 4 if "Device memory state" in line else states - ("memory state: MemoryView" in line)
        submitted = submitted and "after submit" not in line or "before submit" in line
        seen |= "Executing operation" in line
        part.write_text("".join(lines[:n]), encoding="utf-8")
        whole = not (depth or states > 0 or dump or submitted)
        if not seen:
            continue
        got = run("info", str(part))
        want += whole
        assert got.returncode == (0 if whole else 4), (n, line, got.returncode, got.stderr, got.stdout)
    assert 2 <= want < len(lines) / 2, want


def locations(d: pathlib.Path) -> None:
    log, _ = emit(d, "loc", "--layers", "3")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if "Executing operation" in line and ' loc("' in line and not {"deallocate", "get_device"} & set(line.replace(".", " ").replace(chr(34), " ").split())]
    assert len(at) >= len(LOCATIONS)
    for i, loc in zip(at, LOCATIONS):
        lines[i] = lines[i][:lines[i].rindex(" loc(")] + f" loc({loc})\n"
    log.write_text("".join(lines), encoding="utf-8")
    run("tt", "--analyze", str(log))
    memory, ops = files_of(d, "loc")
    told = {o["log_line"] - 1: o["loc"] for o in ops}
    for i, (loc, want) in zip(at, LOCATIONS.items()):
        assert told[i] == want, (loc, told[i], want)
    assert [o["loc"] for o in memory["operations"]] == [o["loc"] for o in ops]


def weights(d: pathlib.Path) -> None:
    """Argument, const-eval program, consumer: an operation that uses the result of load_cached uses its weights."""
    log, _ = emit(d, "weights", "--layers", "2", "--runs", "2")
    run("tt", "--analyze", str(log))
    _, ops = files_of(d, "weights")
    made: dict[str, list[str]] = {}
    through = 0
    for o in ops:
        names = [w["name"] for w in o["weights"]]
        if o["const_eval_graph"]:
            continue
        if "load_cached" in o["mlir_op"]:
            made[o["result"]] = names
            assert names, o
            continue
        want = [name for i in o["inputs"] for name in made.get(i, [])]
        through += bool(want)
        assert set(want) <= set(names) and o["is_weight_op"] == bool(names), (o, want)
        made.pop(o["result"], None)
    assert through >= 4, through


def main() -> int:
    for case in (locations, weights, cuts):
        with tempfile.TemporaryDirectory() as d:
            case(pathlib.Path(d))
    return 0


sys.exit(main())
