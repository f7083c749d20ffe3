#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Checks the 15 defects of the original memory profiler of Tenstorrent runs: each is correct here.

Logs come from tests/support/tt_emitter.py (constructed lines), which knows the truth."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import EMITTER, MB, STEP, TIDEMARK, emit, files_of, kept, run  # noqa: E402


class Logs:
    """Data of several rows, made once."""

    def __init__(self, d: pathlib.Path) -> None:
        self.d = d
        self.log, truth = emit(d, "defect", "--noise", "0.3", "--colour", "--level", "DEBUG", "--small", " ")
        self.rows = truth[0]["ops"]
        (d / "s").mkdir()
        run("tt", "--analyze", str(self.log), "-o", str(d / "s"))
        self.memory, self.ops = files_of(d / "s", "defect")
        self.report = json.loads(run("tt", "--analyze", str(self.log), "--json").stdout)
        self.peak = next(p for p in self.report["peaks"] if p["pool"] == "DRAM")
        self.last, _ = emit(d, "last", "--no-submit")
        self.four, _ = emit(d, "four", "--ranks", "4")

    def json(self, *words: object) -> dict:
        return json.loads(run(*map(str, words), "--json").stdout)


def charged(x: Logs) -> None:
    """A rise belongs to the operation that ran between two states."""
    ops = kept(x.rows)
    best = max(range(len(ops)), key=lambda i: ops[i]["after"]["DRAM"] - ops[i]["before"]["DRAM"])
    assert best in {g["index"] for g in x.report["top_growers_dram"]}


def deallocates(x: Logs) -> None:
    """Blocks of deallocates count for the arithmetic and are no operations."""
    assert abs(x.peak["peak_bytes_per_bank"] - max(o["before"]["DRAM"] for o in x.rows)) <= STEP
    assert not [o for o in x.ops if "deallocate" in o["mlir_op"]] and x.report["deallocates_excluded"] > 0


def last_op(x: Logs) -> None:
    """Without a state after it the last operation's change is unknown; with `after submit` it is known."""
    lines = x.last.read_text(encoding="utf-8").split("\n")
    starts = [i for i, line in enumerate(lines) if "Executing operation" in line]
    end = next(i for i in reversed(starts) if "deallocate" not in lines[i])  # nothing follows its own states
    x.last.write_text("\n".join(lines[:starts[starts.index(end) + 1] if end != starts[-1] else None]))
    run("tt", "--analyze", str(x.last))
    without, _ = files_of(x.d, "last")
    assert without["operations"][-1]["change"]["DRAM"]["bytes"] is None
    assert x.memory["operations"][-1]["change"]["DRAM"]["bytes"] is not None


def foreign_lines(x: Logs) -> None:
    """Lines of others between an operation and its states lose nothing."""
    assert x.report["operations"] == len(kept(x.rows)) and x.report["operations_without_state"] == 0


def fragmentation(x: Logs) -> None:
    """1 - largest contiguous free / free, with a trend; not free bytes under that name."""
    for o in x.memory["operations"]:
        m, f = o["memory"]["DRAM"], o["change"]["DRAM"]["fragmentation"]
        assert abs(f - (1 - m["largestContiguousBytesFreePerBank_MB"] / m["totalBytesFreePerBank_MB"])) < 1e-6
    assert {"mean_pct", "slope_pct_per_1000_ops"} <= set(x.report["fragmentation"][0])


def banks(x: Logs) -> None:
    """Per bank, and of all banks."""
    assert x.peak["peak_bytes"] == x.peak["banks"] * x.peak["peak_bytes_per_bank"] and x.peak["banks"] == 12


def ranks(x: Logs) -> None:
    """Every rank, and each of them alone."""
    whole, one = x.json("tt", "--analyze", x.four), x.json("tt", "--analyze", x.four, "--rank", 2)
    assert whole["ranks"] == 4 and one["operations"] * 4 == whole["operations"]


def scanner(x: Logs) -> None:
    """Attributes that nest brackets are whole."""
    matmul = next(o for o in x.ops if o["mlir_op"] == "ttnn.matmul")
    assert matmul["attributes"].endswith("transpose_a = false") and "{in = {a = 1}}" in matmul["attributes"]


def tile_dtype(x: Logs) -> None:
    """A tile of bfp8 has 1088 bytes, whatever the tensor's dtype is."""
    b8 = next(o for o in x.ops if (o["output_layout_info"] or {}).get("tile_dtype") == "bfp_bf8")["output_layout_info"]
    assert b8["padded_bytes"] == b8["memref_shape"][0] * b8["memref_shape"][1] * 1088


def weights(x: Logs) -> None:
    """Weights are matched by argument, so those of equal shape keep their own names."""
    names = [w["name"] for o in x.ops if o["mlir_op"] == "ttcore.load_cached" for w in o["weights"]]
    assert names[:6] == [f"layer{i}.{w}" for i in range(3) for w in ("weight", "bias")], names


def status(x: Logs) -> None:
    """The script's exit status is passed on; a name with blanks and quotes needs no shell."""
    script = x.d / "it's \"mine\" $HOME.py"
    script.write_text("import sys; print('here'); sys.exit(5)")
    r = run("tt", "--log", "-o", str(x.d / "status"), str(script), env={"PYTHON": sys.executable})
    assert r.returncode == 5 and "here" in r.stdout, r


def overwriting(x: Logs) -> None:
    """Runs in the same second have separate folders; --analyze and --visualize replace nothing without --force."""
    script = x.d / "quick.py"
    script.write_text("print('x')")
    for _ in range(3):
        run("tt", "--log", "-o", str(x.d / "many"), str(script), env={"PYTHON": sys.executable})
    assert len(list((x.d / "many").iterdir())) == 3
    before = (x.d / "s" / "defect_memory.json").stat().st_mtime_ns
    again = run("tt", "--analyze", str(x.log), "-o", str(x.d / "s"))
    assert again.returncode == 1 and "--force" in again.stderr and (x.d / "s" / "defect_memory.json").stat().st_mtime_ns == before


def offline(x: Logs) -> None:
    """One file that loads nothing, and names from the log cannot become markup."""
    page = (x.d / "s" / "defect_report.html").read_text(encoding="utf-8")
    assert 'src="http' not in page and "http://" not in page.replace("http://www.w3.org", "")
    evil = x.log.read_text(encoding="utf-8").replace("add.0", "</script><b>x")
    (x.d / "evil_profile.log").write_text(evil)
    run("tt", "--analyze", str(x.d / "evil_profile.log"))
    assert "</script><b>" not in (x.d / "evil_report.html").read_text(encoding="utf-8")


def stubs(x: Logs) -> None:
    """Leaks are found with their size, runs are compared, and a threshold decides the exit status."""
    out, n = [], 0
    more, _ = emit(x.d, "leaky", "--runs", "6")
    for line in more.read_text(encoding="utf-8").split("\n"):
        n += line.endswith("Starting execution of program: main")
        if "DRAM memory state" in line:  # one more MB a bank stays with each run
            for word, sign in (("totalBytesAllocatedPerBank: ", 1), ("totalBytesFreePerBank: ", -1)):
                head, tail = line.split(word, 1)
                value, rest = tail.split(" MB", 1)
                line = f"{head}{word}{float(value) + sign * max(0, n - 1):.3f} MB{rest}"
        out.append(line)
    leaky = x.d / "leaky2_profile.log"
    leaky.write_text("\n".join(out))
    found, clean = x.json("leaks", leaky), x.json("leaks", more)
    grown = [v for v in json.dumps(found).split('"') if "grow" in v]
    assert found != clean and grown, found
    live = x.json("memory", leaky)["devices"][0]["pools"][0]["live_bytes"] - x.json("memory", more)["devices"][0]["pools"][0]["live_bytes"]
    assert abs(live - 5 * MB * 12) < 13 * STEP * 12, live
    assert run("diff", str(more), str(leaky), "--fail-if", "peak>+10%").returncode == 3
    assert run("diff", str(more), str(more), "--fail-if", "peak>+0%").returncode == 0
    assert x.report["operations_by_name"][0]["count"] > 0


def streaming(x: Logs) -> None:
    """The log is not held: of 64 MB the program takes a fraction."""
    one = subprocess.run([sys.executable, str(EMITTER), "--layers", "40", "--runs", "8", "--no-modules"], capture_output=True, check=True).stdout
    big = x.d / "big_profile.log"
    with open(big, "wb") as f:
        while f.tell() < 64 * MB:
            f.write(one)
    p = subprocess.Popen([TIDEMARK, "info", str(big)], stdout=subprocess.DEVNULL, env={**os.environ, "MALLOC_PERTURB_": "0"})
    _, code, used = os.wait4(p.pid, 0)
    p.returncode = code
    assert code == 0 and used.ru_maxrss * 1024 < 64 * MB, used.ru_maxrss
    big.unlink()


ROWS = {
    1: ("a state before an operation is charged to that operation", charged), 2: ("blocks of deallocates are thrown away", deallocates),
    3: ("the last operation has no state after it", last_op), 4: ("a header must be the next line", foreign_lines),
    5: ("fragmentation shows free space", fragmentation), 6: ("figures are per bank only", banks), 7: ("one rank only", ranks),
    8: ("a regular expression stops at the first bracket", scanner), 9: ("padding uses the tensor's dtype", tile_dtype),
    10: ("weights are matched by shape", weights), 11: ("the exit status is tee's; a shell's string is not quoted", status),
    12: ("never overwriting rests on a second", overwriting), 13: ("pages load scripts and fonts from elsewhere", offline),
    14: ("leaks, compare and statistics are stubs", stubs), 15: ("the whole log is held in memory", streaming),
}


def main() -> int:
    fails = 0
    with tempfile.TemporaryDirectory() as tmp:
        x = Logs(pathlib.Path(tmp))
        for number, (defect, test) in ROWS.items():
            try:
                test(x)
                print(f"ok {number}: {defect}")
            except (AssertionError, KeyError, StopIteration, IndexError) as why:
                fails += 1
                print(f"FAIL {number}: {defect}: {type(why).__name__} {str(why)[:500]}")
    return 1 if fails or sorted(ROWS) != list(range(1, 16)) else 0


if __name__ == "__main__":
    sys.exit(main())
