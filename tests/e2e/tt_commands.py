#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Logs of the Tenstorrent runtime on the command line: no times, clear refusals, commands that can be pasted, the exit status.

Status 4 of any command: it did its work, but the log is damaged or incomplete."""
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import EMITTER, TIDEMARK, emit, run  # noqa: E402

TIME = re.compile(r"\d (ns|us|µs|ms|s)\b")
ENV = {"PYTHON": sys.executable}


class Logs:
    def __init__(self, d: pathlib.Path) -> None:
        self.d = d
        self.a, _ = emit(d, "a")
        self.b, _ = emit(d, "b", "--runs", "4", "--batch", "128")
        self.text = self.a.read_text(encoding="utf-8")
        self.script = d / "it's my $model.py"
        self.script.write_text(f"import os,sys,subprocess\nprint(sorted(k for k in os.environ if 'LOGGER' in k))\nsys.exit(subprocess.call([sys.executable, {str(EMITTER)!r}, *sys.argv[1:]]))\n")

    def put(self, name: str, text: str) -> str:
        (self.d / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        return str(self.d / name)


def several(x: Logs) -> None:
    """`memory` and `peak` of several logs name operations, not times; a log beside a trace with a clock has none."""
    for command in ("memory", "peak"):
        r = run(command, str(x.a), str(x.b))
        at = [json.loads(run(command, str(p), "--json").stdout) for p in (x.a, x.b)]
        ns = [y["devices"][0]["totals"]["peak_time_ns"] if command == "memory" else y["peak_time_ns"] for y in at]
        assert r.returncode == 0 and not TIME.search(r.stdout), r.stdout
        assert [m for m in re.findall(r"op ([\d,]+)", r.stdout)] == [str(n // 1000) for n in ns], (r.stdout, ns)
    trace = x.d / "clock.json"
    trace.write_text(json.dumps({"traceEvents": [{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 100 + i, "s": "t",
                     "args": {"Device Type": 1, "Device Id": 0, "Addr": i, "Bytes": 4096, "Total Allocated": 4096 * (i + 1), "Total Reserved": 0}} for i in range(4)]}))
    mixed = run("memory", str(x.a), str(trace)).stdout
    assert "op 23" not in mixed or TIME.search(mixed), mixed
    row = next(line for line in mixed.splitlines() if "a_profile.log" in line)
    assert not TIME.search(row), row


def no_clock(x: Logs) -> None:
    """Commands about time report that the trace has none."""
    for words in (("info", str(x.a), str(x.b)), ("info", str(x.a)), ("timeline", str(x.a)), ("flame", str(x.a)), ("ops", str(x.a)), ("memory", str(x.a)), ("phases", str(x.a)), ("peak", str(x.a)), ("gantt", str(x.a), "-o", str(x.d / "gantt.html"))):
        r = run(*words)
        assert r.returncode == 0 and not TIME.search(r.stdout), (words, r.stdout)
    for words in (("whatif",), ("whatif", "--set", "max_split_size_mb:64")):
        r = run(*words, str(x.a))
        assert r.returncode == 0 and "caching allocator: there is nothing to replay" in r.stdout and "Reserved" not in r.stdout, r
    text = run("timeline", str(x.a)).stdout
    assert "no clock" in text and "active" not in text.lower().replace("activations", "").split("lane")[0] and "%" not in text, text
    r = run("flame", str(x.a), "--kind", "cpu")
    assert r.returncode == 2 and "no clock" in r.stderr, r.stderr
    assert "KiB" in run("flame", str(x.a)).stdout


def compared(x: Logs) -> None:
    """`diff` counts operations; no durations, and thresholds on them are undecided."""
    r = run("diff", str(x.a), str(x.b))
    assert r.returncode == 0 and "self time" not in r.stdout and "Ops by count" in r.stdout, r.stdout
    rows = json.loads(run("diff", str(x.a), str(x.b), "--json").stdout)["ops"]
    for row in rows:
        assert row["delta"] is None and row["pct"] is None and row["a"] is None and row["total_b"] is None, row
    matmul = next(r for r in rows if r["name"] == "ttnn.matmul")
    assert (matmul["count_a"], matmul["count_b"], matmul["status"]) == (6, 12, "changed")
    order = [abs(r["count_b"] - r["count_a"]) for r in rows]
    assert order == sorted(order, reverse=True), order
    for what in ("self_time(ttnn.add)>+5%", "op_time(ttnn.add)>1ms"):
        r = run("diff", str(x.a), str(x.b), "--fail-if", what)
        assert r.returncode == 1 and "cannot be decided" in r.stderr, (what, r.stderr)
    assert run("diff", str(x.a), str(x.b), "--fail-if", "count(ttnn.matmul)>+50%").returncode == 3
    assert run("report", str(x.a), str(x.b), "-o", str(x.d / "diff.html")).returncode == 0


def wrong_file(x: Logs) -> None:
    """Wrong files: the message names the right one, or what to turn on. A packed log has the names of the log."""
    files = x.d / "files"
    assert run("tt", "--analyze", str(x.a), "-o", str(files)).returncode == 0
    for name, what in (("a_operations.json", "operations"), ("a_inputs_registry.json", "arguments"), ("a_ir.json", "modules")):
        for words in (("tt", "--analyze"), ("memory",)):
            r = run(*words, str(files / name))
            assert r.returncode == 1 and r.stderr.count("\n") == 1, (name, r.stderr)
            assert what in r.stderr and "_memory.json" in r.stderr, (name, r.stderr)


    text = x.put("words_profile.log", "a text without a line of the runtime\n")
    r = run("tt", "--analyze", text)
    assert r.returncode == 1 and "TT_RUNTIME_MEMORY_LOG_LEVEL" in r.stderr, r.stderr
    packed = x.d / "packed_profile.log.gz"
    packed.write_bytes(gzip.compress(x.text.encode()))
    assert run("tt", "--analyze", str(packed), "-o", str(files)).returncode == 0 and (files / "packed_memory.json").exists(), list(files.iterdir())


def skipping(x: Logs) -> None:
    """A message reports options that skip missing data."""
    r = run("tt", "--analyze", str(x.a), "--text", "--skip-runs", "9")
    assert r.returncode == 2 and "--skip-runs leaves out 9 runs, the log has 2" in r.stderr, r
    assert run("tt", "--analyze", str(x.a), "--text", "--skip-runs", "2").returncode == 2
    quiet = x.put("quiet_profile.log", x.text.replace("Got output shape:", "Output:"))
    r = run("tt", "--analyze", quiet, "--text", "--skip-warmup")
    assert r.returncode == 0 and 'no "Got output shape:"' in r.stderr, r.stderr
    assert "Got output" not in run("tt", "--analyze", str(x.a), "--text", "--skip-warmup").stderr
    r = run("tt", "--analyze", str(x.a), "--text", "--rank", "3")
    assert r.returncode == 2 and "no rank 3: the log names no ranks" in r.stderr, r.stderr


def pasted(x: Logs) -> None:
    """Commands that are printed work when pasted, one after the other."""
    r = run("tt", "--log", "-o", str(x.d / "runs of $me"), str(x.script), "--runs", "1", env=ENV)
    lines = [line.strip() for line in r.stdout.splitlines() if line.startswith("  tidemark tt ")]
    assert len(lines) == 2, r.stdout
    for line in lines:
        words = shlex.split(line)
        done = subprocess.run(["/bin/sh", "-c", line.replace("tidemark", shlex.quote(TIDEMARK), 1)], capture_output=True, text=True, cwd=x.d, check=False)
        assert done.returncode == 0 and words[0] == "tidemark", (line, done.stderr)
    bare = x.put("it's bare_profile.log", "\n".join(y for y in x.text.split("\n") if "memory state" not in y))
    said = run("tt", "--analyze", bare).stderr
    command = next(m for m in re.findall(r"`([^`]*)`", said) if m.startswith("tidemark "))
    assert shlex.split(command)[-1] == bare, command
    r = run("tt", "--analyze", str(x.a), "-o", str(x.d / "twice"))
    assert r.returncode == 0
    r = run("tt", "--analyze", str(x.a), "-o", str(x.d / "twice"))
    assert r.returncode == 1 and run("tt", "--force", "--analyze", str(x.a), "-o", str(x.d / "twice")).returncode == 0


def conflicts(x: Logs) -> None:
    """Modes that exclude each other are refused, and so is what a mode would ignore."""
    log, folder, script = str(x.a), str(x.d), str(x.script)
    for words in (("--log", "--analyze", log), ("--log", "--visualize", folder), ("--analyze", log, "--visualize", folder), ("--analyze", log, script), ("--visualize", folder, script),
                  ("--log", "--json", script), ("--log", "--text", script), ("--json", "--text", "--analyze", log), ("--markdown", "--json", "--analyze", log),
                  ("--visualize", folder, "--json"), ("--visualize", folder, "--skip-runs", "1"), ("--visualize", folder, "--rank", "0"), ("--log", "--skip-warmup", script)):
        r = run("tt", *words, cwd=str(x.d))
        assert r.returncode == 2 and r.stderr.startswith("tidemark tt: "), (words, r.returncode, r.stderr, r.stdout[:200])
    assert run("tt", "--log").returncode == 2


def streams(x: Logs) -> None:
    """With --json, --text or --markdown standard output holds the report alone; the script's own goes to standard error."""
    for words in (("--json",), ("--text",), ("--markdown",)):
        r = run("tt", *words, "-o", str(x.d / "streams"), str(x.script), "--runs", "1", "--exit", "3", env={**ENV, "TTMLIR_RUNTIME_LOGGER_TYPES": "RuntimeTTNN", "TTMLIR_RUNTIME_LOGGER_FILE": "/tmp/x"})
        assert r.returncode == 3 and "Executing operation" in r.stderr and "Executing operation" not in r.stdout, words
        assert "['TTMLIR_RUNTIME_LOGGER_LEVEL', 'TTXLA_LOGGER_LEVEL']" in r.stderr, r.stderr[:300]
        assert "Parsing Summary" in r.stderr and "Parsing Summary" not in r.stdout
        if words == ("--json",):
            assert json.loads(r.stdout)["operations"] > 0
    r = run("tt", "--analyze", str(x.a), "--json", "-o", str(x.d / "both"))
    assert r.returncode == 0 and json.loads(r.stdout)["operations"] > 0 and (x.d / "both" / "a_memory.json").exists()


def damages(x: Logs) -> dict[str, str]:
    lines = x.text.split("\n")
    return {
        "cut": x.text[: len(x.text) * 2 // 3],
        "lost": "\n".join(y for i, y in enumerate(lines) if i % 17),
        "no operation lines": "\n".join(y for y in lines if "Executing operation" not in y),
        "an operation cut in its types": re.sub(r"(Executing operation: %\d+ = \"[^\n]*? -> tensor<)[^\n]*", r"\1", x.text, count=1),
        "junk in a state": x.text.replace("totalBytesFreePerBank", "total\0\1\2Free", 3),
        "another writer in a line": x.text.replace("Executing operation: %7", "Executing           RuntimeTTNN |    DEBUG | Executing operation: %7", 1),
    }


def statuses(x: Logs) -> None:
    """0: all was read. 4: the report is there, the log is not whole. 1: no report."""
    commands = (("memory",), ("peak",), ("ops",), ("phases",), ("leaks",), ("info",), ("tt", "--text", "--analyze"), ("tt", "--json", "--analyze"))
    for words in commands:
        r = run(*words, str(x.a))
        assert r.returncode == 0, (words, r.returncode, r.stderr)
    for name, text in damages(x).items():
        log = x.put(name.replace(" ", "_") + "_profile.log", text)
        for words in commands:
            r = run(*words, log)
            assert r.returncode == 4 and r.stdout, (name, words, r.returncode, r.stderr)
        json.loads(run("memory", log, "--json").stdout)
        r = run("report", log, "-o", str(x.d / "page.html"))
        assert r.returncode == 4 and (x.d / "page.html").stat().st_size > 100000, (name, r.returncode, r.stderr)
        out = x.d / ("out " + name)
        r = run("tt", "--analyze", log, "-o", str(out))
        assert r.returncode == 4 and "note: " in r.stderr + r.stdout, (name, r.returncode)
        tide = next(out.glob("*.tide"))
        assert run("memory", str(tide)).returncode == 4, f"{name}: the recording of a damaged log says so, too"
    bare = x.put("bare_profile.log", "\n".join(y for y in x.text.split("\n") if "memory state" not in y))
    for words, want in ((("tt", "--analyze"), 1), (("ops",), 4), (("info",), 4)):
        r = run(*words, bare)
        assert r.returncode == want and "TT_RUNTIME_MEMORY_LOG_LEVEL" in r.stderr + r.stdout, (words, r.returncode, r.stderr)
    r = run("report", bare, "-o", str(x.d / "bare.html"))
    assert r.returncode == 4 and "TT_RUNTIME_MEMORY_LOG_LEVEL" in r.stderr, (r.returncode, r.stderr)
    cut = x.put("cut_profile.log", damages(x)["cut"])
    assert run("diff", cut, cut).returncode == 4 and run("diff", cut, str(x.b), "--fail-if", "peak>1B").returncode == 3
    script = x.d / "half.py"
    script.write_text(f"print(open({cut!r}).read())")
    assert run("tt", "-o", str(x.d / "half"), str(script), env=ENV).returncode == 4
    script.write_text(f"print(open({cut!r}).read()); raise SystemExit(9)")
    assert run("tt", "-o", str(x.d / "half"), str(script), env=ENV).returncode == 9


def full_log(x: Logs, name: str, *more: str) -> str:
    """One operation on a device whose banks have 30 of 1024 MB free, 20 of them contiguous; then `more` lines."""
    f = "{:>23} | {:>8} | {}".format
    view = "Device {} memory state: MemoryView{{numBanks: {}, totalBytesPerBank: {} MB, totalBytesAllocatedPerBank: {} MB, totalBytesFreePerBank: {} MB, largestContiguousBytesFreePerBank: {} MB}}".format
    pools = (("DRAM", 12, "1024.000", "994.000", "30.000", "20.000"), ("L1", 64, "1.270", "0.000", "1.270", "1.270"), ("L1_SMALL", 64, "0.062", "0.000", "0.062", "0.062"), ("TRACE", 12, "0.000", "0.000", "0.000", "0.000"))
    op = 'Executing operation: %1 = "ttnn.add"(%arg0) <{a = 1}> : (tensor<32x32xbf16>) -> tensor<32x32xbf16> loc("add.1")'
    lines = [f("RuntimeTTNN", "DEBUG", "Starting execution of program: main"), f("RuntimeTTNN", "DEBUG", op), f("Always", "INFO", "Device memory state before operation AddOp"), *(f("Always", "INFO", view(*p)) for p in pools), *more]
    return x.put(name, "\n".join(lines) + "\n")


def out_of_memory(x: Logs) -> None:
    """An out-of-memory line is explained by the banks: full, fragmented, or the operation took more; repeated texts are one event."""
    mb = 1 << 20
    text = "Out of Memory: Not enough space to allocate {} B DRAM buffer across {} banks, where each bank needs to store {} B"
    exact = ", but bank size is 1073741792 B (allocated: 1065353184 B, free: 8388608 B, largest free block: 4194304 B)"
    for name, need, banks, end, cause, why in (
        ("full", 40 * mb, 12, "", "full", "Too much was in use: each of 12 banks needs 40.00 MiB and had 30.00 MiB free; 10.00 MiB are missing in each."),
        ("fragmented", 25 * mb, 12, ", but bank size is only 1073741792 B", "fragmented", "each of 12 banks needs 25.00 MiB and had 30.00 MiB free, but only 20.00 MiB of them were contiguous."),
        ("exact", 6 * mb, 12, exact, "fragmented", "each of 12 banks needs 6.00 MiB and had 8.00 MiB free, but only 4.00 MiB of them were contiguous."),
        ("sharded", 9 * mb, 6, exact, "full", "each of 6 banks needs 9.00 MiB and had 8.00 MiB free; 1.00 MiB are missing in each."),
        ("more", 2 * mb, 12, "", "unknown", "The operation allocated more before this request"),
        ("small bank", 2000 * mb, 12, "", "full", "Each of 12 banks needs 1.95 GiB, but a bank has only 1.00 GiB."),
        ("no bank", 16, 12, ", but bank size is 0 B", "full", "Each of 12 banks needs 16 B, but the device was opened without this kind of memory"),
    ):
        line = "TT_THROW: " + text.format(need * banks, banks, need) + end
        log = full_log(x, f"{name}.log", "2026-06-04 20:40:34.148 | critical |          Always | " + line, "RuntimeError: " + line + " (assert.hpp:104)", line)
        r = run("oom", log, "--json")
        (o,) = json.loads(r.stdout)["ooms"]
        assert (o["cause"], o["banks"], o["bank_needed_bytes"], o["requested_bytes"]) == (cause, banks, need, need * banks), (name, o)
        free = 8 * mb if end == exact else 30 * mb
        room = 0 if name == "no bank" else free
        assert o["bank_free_bytes"] == free and o["missing_bytes"] == {"full": (need - room) * banks, "fragmented": 0, "unknown": None}[cause], (name, o)
        said = run("oom", log).stdout
        assert why in said and "Settings" not in said and "tt:0 DRAM ran out of memory at op 0" in said, (name, said)
        assert ("if contiguous" in said) == (name in ("full", "sharded")), said
    two = full_log(x, "two.log", text.format(12 * mb, 12, mb), text.format(24 * mb, 12, 2 * mb))
    assert len(json.loads(run("oom", two, "--json").stdout)["ooms"]) == 2, "other requests are other events"


def layouts(x: Logs) -> None:
    """Padding of types without a layout is unknown; weights come by size, in the original's Markdown; no figure is -0."""
    bare, _ = emit(x.d, "bare", "--types", "bare")
    assert json.loads(run("tt", "--analyze", str(bare), "--json").stdout)["peak_padding_overhead_pct"] is None
    assert "tile padding unknown" in run("tt", "--analyze", str(bare), "--text").stdout
    assert "Padding Overhead" not in run("tt", "--analyze", str(bare), "--markdown").stdout.split("\n## ")[0]
    text = run("tt", "--analyze", str(x.a), "--markdown").stdout
    section = text.split("## Model Weights ")[1].split("\n## ")[0].splitlines()
    assert section[0] == "(0.4 MB total)" and section[1] == "| Name | Shape | Type | Size |", section
    assert section[3:9] == [f"| layer{i}.weight | 256x256 | bf16 | 128.0 KB |" for i in range(3)] + [f"| layer{i}.bias | 256 | bf16 | 512 B |" for i in range(3)], section
    weights = json.loads(run("tt", "--analyze", str(x.a), "--json").stdout)["weights"]
    assert [w["bytes"] for w in weights] == [131072] * 3 + [512] * 3, weights
    assert not re.search(r"-0\.0+ %", run("tt", "--analyze", str(x.a), "--text").stdout)


TESTS = [layouts, out_of_memory, several, no_clock, compared, wrong_file, skipping, pasted, conflicts, streams, statuses]


def main() -> int:
    fails = 0
    with tempfile.TemporaryDirectory() as tmp:
        x = Logs(pathlib.Path(tmp))
        for test in TESTS:
            try:
                test(x)
                print(f"ok {test.__name__}: {test.__doc__}")
            except (AssertionError, KeyError, StopIteration, IndexError, ValueError, OSError) as why:
                fails += 1
                line = why.__traceback__.tb_next.tb_lineno if why.__traceback__ and why.__traceback__.tb_next else 0
                print(f"FAIL line {line}, {test.__name__}: {test.__doc__}: {type(why).__name__} {str(why)[:900]}")
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
