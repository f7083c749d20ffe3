#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --heap` on programs that use the heap in every way, and on installed programs.

heap_run.py PROGRAM LIBRARY NO_NAMES: they are heap_prog.c, own_new.c and tidemark without libdw. Every program must end as it does without recording, and the
recording must have its allocations."""
import json
import math
import mmap
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checks import check, result, wait_for

TIDEMARK = os.environ["TIDEMARK"]
PROG = sys.argv[1] if len(sys.argv) > 1 else ""
OWN_NEW = sys.argv[2] if len(sys.argv) > 2 else ""
NO_NAMES = sys.argv[3] if len(sys.argv) > 3 else ""
UNNAMED = "note: functions are addresses: `tidemark pack --names` names them"
NODE = next((str(p) for p in [Path(__file__).resolve().parents[2] / ".venv/bin/node"] if p.exists()), "node")  # tools/setup


def run(folder: str, *command: str, how: str = "--heap=full", **kw) -> subprocess.CompletedProcess:
    return subprocess.run([TIDEMARK, "run", how, "-o", f"{folder}/r.tide", "--", *command], capture_output=True, timeout=400, **kw)


def heap(file: str) -> dict:
    return json.loads(subprocess.run([TIDEMARK, "heap", "--json", file], check=True, capture_output=True).stdout)


def text(file: str) -> str:
    return subprocess.run([TIDEMARK, "heap", file], check=True, capture_output=True, text=True).stdout


def others(folder: str) -> list:
    return sorted(str(p) for p in Path(folder).glob("r.*.tide"))


def same_end(name: str, folder: str, *command: str, how: str = "--heap=full", **kw) -> bytes:
    """It ends and prints as without us. Returns what it printed."""
    bare = subprocess.run(command, capture_output=True, timeout=400, **kw)
    ours = run(folder, *command, how=how, **kw)
    check(f"{name}: exit status", bare.returncode == ours.returncode, (bare.returncode, ours.returncode, ours.stderr[-300:]))
    return ours.stdout if ours.stdout == bare.stdout else b"differs: " + ours.stdout[:200]


def stack_of(report: dict, function: str) -> dict:
    found = [r for r in report["stacks"] if function in r["stack"]]
    return found[0] if found else {}


def ways(folder: str) -> None:
    """heap_prog's."""
    same_end("leak", folder, PROG, "leak")
    r = heap(f"{folder}/r.tide")
    row = stack_of(r, "leak_here")
    check("leak: blocks", row.get("left_count") == 1000 and row.get("left_bytes") == 100000, row)
    check("leak: named with its callers", "heap_prog.c:" in row.get("stack", "") and "leak" in row["stack"].split("<")[1], row)
    check("leak: temporaries", r["temporary"] >= 5000 and stack_of(r, "temporaries").get("temporary") == 5000, r["temporary"])

    same_end("family", folder, PROG, "family")
    r = heap(f"{folder}/r.tide")
    mine = [x for x in r["stacks"] if "family" in x["stack"]]
    check("family: one block stays (the failed realloc's)", sum(x["left_count"] for x in mine) == 1, mine)
    check("family: all calls, and the block that a failed realloc left", sum(x["count"] for x in mine) == 12, [x["count"] for x in mine])

    same_end("threads", folder, PROG, "threads")
    r = heap(f"{folder}/r.tide")
    row = stack_of(r, "worker")
    check("threads: all calls", sum(x["count"] for x in r["stacks"] if "worker" in x["stack"]) == 21000, row)
    check("threads: freed by others", sum(x["left_count"] for x in r["stacks"] if "worker" in x["stack"]) == 0, row)

    for f in others(folder):
        os.unlink(f)
    same_end("forks", folder, PROG, "forks")
    left = [sum(x["left_count"] for x in heap(f)["stacks"] if "leak_here" in x["stack"]) for f in others(folder)]
    check("forks: three children", left == [20, 20, 20], left)
    for f in others(folder):
        os.unlink(f)

    same_end("execs", folder, PROG, "execs")
    left = [stack_of(heap(f), "leak_here").get("left_count") for f in [f"{folder}/r.tide", *others(folder)]]
    check("execs: before and after", sorted(left) == [5, 1000], left)

    for name, want in ("signals", None), ("attrs", None), ("closes", 100), ("corrupts", 50), ("_exit", 30):
        same_end(name, folder, PROG, name)
        row = stack_of(heap(f"{folder}/r.tide"), "leak_here")
        check(f"{name}: what it kept", want is None or row.get("left_count") == want, row)


def operators(folder: str) -> None:
    """Operators of an allocator that do not call its malloc; each block counts once."""
    same_end("operators", folder, PROG, "operators", env={**os.environ, "LD_PRELOAD": OWN_NEW})
    rows = [x for x in heap(f"{folder}/r.tide")["stacks"] if "operators_here" in x["stack"]]
    figures = [sum(x[k] for x in rows) for k in ("count", "left_count", "left_bytes")]
    check("operators: blocks, not deleted, bytes", figures == [300, 200, 200000], figures)


def stripped(folder: str) -> None:
    """Without debug information names come from the symbol table."""
    if not shutil.which("objcopy"):
        return
    bare = f"{folder}/stripped"
    subprocess.run(["objcopy", "--strip-debug", PROG, bare], check=True)
    same_end("stripped", folder, bare, "leak")
    r = heap(f"{folder}/r.tide")
    row = stack_of(r, "leak_here")
    check("stripped: named by the symbol table", row.get("left_count") == 1000 and "heap_prog.c" not in row["stack"], row)
    check("stripped: the callers too", [n in row.get("stack", "") for n in ("leak ", "main")] == [True, True], row)
    check("stripped: temporaries", stack_of(r, "temporaries").get("temporary") == 5000, r["stacks"][:3])


def sampled(folder: str) -> None:
    """Estimates are within 5 standard errors of the true value, and are not equal to it only because nothing was sampled."""
    run(folder, PROG, "leak", how="--heap")
    r = heap(f"{folder}/r.tide")
    check("sampled: says so", r["sample_mean_bytes"] == 524288 and r["temporary"] is None, r)
    subprocess.run([TIDEMARK, "run", "--heap", "--rate", "1KiB", "-o", f"{folder}/r.tide", "--", PROG, "leak"], check=True, capture_output=True)
    r = heap(f"{folder}/r.tide")
    row = stack_of(r, "leak_here")
    check("sampled: bytes", abs(row.get("left_bytes", 0) - 100000) < 5 * r["left_error_bytes"] and 0 < r["left_error_bytes"] < 30000, (row, r["left_error_bytes"]))
    check("sampled: count", abs(row.get("left_count", 0) - 1000) < 5 * r["left_error_bytes"] / 100, row)
    p = 1 - math.exp(-100 / 1024)
    check("sampled: samples", r["samples"] > 1000 * p / 3, r["samples"])
    same_end("sampled: contents of blocks", folder, PROG, "grow", how="--heap")
    r = heap(f"{folder}/r.tide")
    row = stack_of(r, "grow_here")
    check("sampled: blocks that grew", abs(row.get("left_bytes", 0) - 500 * (300 << 10)) < 5 * r["left_error_bytes"], (row, r["left_error_bytes"]))
    mixed = [x for x in r["stacks"] if "mixed_here" in x["stack"]]
    check("sampled: every free of a sample is seen", len(mixed) >= 5 and not any(x["left_count"] for x in mixed), mixed)


def strangers(folder: str) -> None:
    """Runs installed programs of others."""
    script = "import json\ndef build():\n    return bytearray(5_000_000)\nx = build()\nprint(len(json.dumps(list(range(1000)))))\n"
    Path(f"{folder}/job.py").write_text(script)
    python = os.path.realpath(sys.executable)
    check("python3: output", not same_end("python3", folder, python, f"{folder}/job.py").startswith(b"differs"))
    r = heap(f"{folder}/r.tide")
    check("python3: the line", any("build (job.py:3)" in x["stack"] and x["peak_bytes"] >= 5_000_000 for x in r["stacks"]), r["stacks"][:3])
    script = ("import ctypes\nheld = []\ndef compare(a, b):\n    held.append(bytearray(7_000_000)) if not held else None\n    return 0\n"
              "call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)\ndef through_c():\n"
              "    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(), 2, 4, call)\nthrough_c()\n")
    Path(f"{folder}/back.py").write_text(script)
    run(folder, python, f"{folder}/back.py")
    subprocess.run([TIDEMARK, "export", f"{folder}/r.tide", "--kind", "memory", "-o", f"{folder}/r.folded"], check=True, capture_output=True)
    line = next((x for x in Path(f"{folder}/r.folded").read_text().splitlines() if "compare (" in x and x.endswith(" 7000001")), "")
    check("python3: the stack through a callback of C", "through_c (" in line.split("compare (")[0] and "back.py:8)" in line and "back.py:4)" in line, line)
    Path(f"{folder}/a.c").write_text("int main(void) { return 0; }\n")
    rows = [("git", "git", "--version"), ("gcc", "gcc", "-c", "-o", "/dev/null", f"{folder}/a.c"),
            ("sqlite3", "sqlite3", ":memory:", "create table t(a); insert into t values(1); select sum(a) from t;"),
            ("node", NODE, "-e", "let a=[]; for (let i=0;i<1e5;i++) a.push({i}); console.log(a.length)"),
            ("sh", "sh", "-c", "for i in 1 2 3; do echo $i; done | cat"), ("ls", "ls", "/")]
    for name, *command in rows:
        if not shutil.which(command[0]):
            print(f"skipped: {name} is not installed")
            continue
        for how in "--heap=full", "--heap":
            out = same_end(f"{name} {how}", folder, *command, how=how)
            check(f"{name} {how}: output", not out.startswith(b"differs"), out)
    static = f"{folder}/static"
    if subprocess.run(["gcc", "-static", "-o", static, f"{folder}/a.c"], capture_output=True).returncode == 0:
        done = run(folder, static)
        check("static: runs, and one line says that nothing was recorded", done.returncode == 0 and b"statically linked" in done.stderr, done.stderr)


def limits(folder: str) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    bare = subprocess.run([PROG, "leak"], preexec_fn=few)
    ours = run(folder, PROG, "leak", preexec_fn=few)
    check("limits: exit status", bare.returncode == ours.returncode, ours.stderr)
    for text, which, most in (b"ulimit -n", resource.RLIMIT_NOFILE, 4), (b"ulimit -f", resource.RLIMIT_FSIZE, 10 << 10):
        ours = run(folder, PROG, "leak", preexec_fn=lambda: resource.setrlimit(which, (most, most)))
        check("limits: says which", ours.returncode == bare.returncode and text in ours.stderr, ours.stderr)
    ours = run(folder, PROG, "leak", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    check("limits: small files are filled", ours.returncode == bare.returncode and heap(f"{folder}/r.tide")["recorded"], ours.stderr)
    done = subprocess.run([TIDEMARK, "run", "--heap", "-o", f"{folder}/few.tide", "--", "/bin/true"], capture_output=True)
    check("few samples are no figures", b"too few samples" in done.stderr and b"peak 0 B" not in done.stderr, done.stderr)
    # the shell becomes a small program, which becomes a larger one
    done = subprocess.run([TIDEMARK, "run", "--heap=full", "-o", f"{folder}/x.tide", "--", "/bin/sh", "-c", f"exec env {PROG} leak"], capture_output=True)
    largest = max((f for f in os.listdir(folder) if f.startswith("x.") and f.endswith(".tide") and f != "x.tide"), key=lambda f: os.path.getsize(f"{folder}/{f}"))
    check("exec: the largest recording is named", f"new program recorded: {folder}/{largest}".encode() in done.stderr, (largest, done.stderr))


def killed(folder: str) -> None:
    """Killing `tidemark run` ends neither program nor recording."""
    Path(f"{folder}/slow.py").write_text("import sys\nx = bytearray(3_000_000)\nprint('begun', flush=True)\nsys.stdin.readline()\ny = bytearray(4_000_000)\nprint('done', flush=True)\n")
    python = os.path.realpath(sys.executable)
    p = subprocess.Popen([TIDEMARK, "run", "--heap=full", "-o", f"{folder}/k.tide", "--", python, f"{folder}/slow.py"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    p.stdout.readline()
    p.send_signal(signal.SIGKILL)
    p.wait()
    p.stdin.close()
    out = p.stdout.read()
    check("killed: the program goes on", b"done" in out, out)
    wait_for("the end of the recording", lambda: not Path(f"{folder}/k.tide-rings").exists(), 600)
    r = heap(f"{folder}/k.tide")
    check("killed: the recording goes on", any(x["allocated_bytes"] >= 4_000_000 for x in r["stacks"]), r["peak_bytes"])
    check("killed: no names yet", not any("Py" in x["stack"] for x in r["stacks"]), r["stacks"][:2])
    check("killed: a note says so", UNNAMED in text(f"{folder}/k.tide"), text(f"{folder}/k.tide"))
    subprocess.run([TIDEMARK, "pack", "--names", f"{folder}/k.tide", "-o", f"{folder}/named.tide"], check=True, capture_output=True)
    named = heap(f"{folder}/named.tide")
    check("killed: no note after it", UNNAMED not in text(f"{folder}/named.tide"), text(f"{folder}/named.tide"))
    check("killed: named by pack", any("Py" in x["stack"] for x in named["stacks"]) and named["allocated_bytes"] == r["allocated_bytes"], named["stacks"][:2])


def no_reader(folder: str) -> None:
    """A build without libdw says that functions stay addresses."""
    if not NO_NAMES:
        return
    file = f"{folder}/n.tide"
    done = subprocess.run([NO_NAMES, "run", "--heap=full", "-o", file, "--", PROG, "leak"], capture_output=True, text=True)
    check("no libdw: run says so", "this build has no libdw" in done.stderr, done.stderr)
    check("no libdw: so does heap", UNNAMED in text(file), text(file))
    done = subprocess.run([NO_NAMES, "pack", "--names", file, "-o", f"{folder}/p.tide"], capture_output=True, text=True)
    check("no libdw: so does pack", done.returncode == 0 and "this build has no libdw" in done.stderr, done.stderr)
    subprocess.run([TIDEMARK, "pack", "--names", f"{folder}/p.tide", "-o", file], check=True, capture_output=True)
    check("no libdw: named by another build", stack_of(heap(file), "leak_here"), heap(file)["stacks"][:2])


def switched(folder: str) -> None:
    """`tidemark ctl` marks and pauses a recording; --duration ends one."""
    Path(f"{folder}/asked.py").write_text("import sys\nkept = []\nfor line in sys.stdin:\n    for _ in range(10):\n        kept.append(bytearray(1_000_000))\n    print('made', flush=True)\n")
    python = os.path.realpath(sys.executable)
    p = subprocess.Popen([TIDEMARK, "run", "--heap=full", "-o", f"{folder}/c.tide", "--", python, f"{folder}/asked.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)

    def make_ten() -> None:
        p.stdin.write(b"\n")
        p.stdin.flush()
        p.stdout.readline()

    make_ten()
    child = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True).stdout.strip()
    for words in (["mark", "warm"], ["off"], ["on"]):
        done = subprocess.run([TIDEMARK, "ctl", child, *words], capture_output=True, text=True)
        check(f"ctl {words}", done.returncode == 0, done.stderr)
        make_ten()
    os.kill(int(child), signal.SIGSTOP)
    wait_for("the stop", lambda: Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
    done = subprocess.run([TIDEMARK, "ctl", child, "on"], capture_output=True, text=True)
    check("ctl: a stopped process", done.returncode == 1 and "is stopped: the request applies when it continues" in done.stderr, done.stderr)
    os.kill(int(child), signal.SIGCONT)
    p.stdin.close()
    p.wait()
    text = subprocess.run([TIDEMARK, "dump", f"{folder}/c.tide"], capture_output=True, text=True).stdout
    check("ctl: the mark, off and on are in it", all(w in text for w in ('name="warm"', "recording off", "recording on")))
    text = subprocess.run([TIDEMARK, "phases", f"{folder}/c.tide"], capture_output=True, text=True).stdout
    check("ctl: the mark ends a phase", "--- warm ---" in text and "(after the last phase)" in text, text)
    seen = sum(x["count"] for x in heap(f"{folder}/c.tide")["stacks"] if "asked.py:5" in x["stack"])
    check("ctl: nothing was recorded while it was off", seen == 30, seen)
    check("ctl: of no recording", subprocess.run([TIDEMARK, "ctl", str(os.getpid()), "off"], capture_output=True).returncode == 1)


def answered(folder: str) -> None:
    """`tidemark ctl` waits for a slow answer, and not for a recording that has ended: this process stands in for the recorder."""
    rings = f"{folder}/slow.tide-rings"
    seq = 88  # offset of control_seq (src/format/rings.h); control_done is 16 later
    Path(rings).write_bytes(struct.pack("<8s24xQ", b"TIDERING", os.getpid()).ljust(4096, b"\0"))
    with open(rings, "r+b") as f, mmap.mmap(f.fileno(), 4096) as head:
        for number in 1, 2:
            p = subprocess.Popen([TIDEMARK, "ctl", str(os.getpid()), "mark", "late"], stderr=subprocess.PIPE, text=True)
            wait_for("the request", lambda: struct.unpack_from("<Q", head, seq)[0] == number)
            if number == 1:
                time.sleep(1.3)  # once it gave up after a second
                struct.pack_into("<Q", head, seq + 16, number)
            else:
                os.unlink(rings)
            said = p.communicate()[1]
            check(f"ctl: answer {number}", p.returncode == number - 1 and ("has ended its recording" in said) == (number == 2), said)


# Allocates until recording is off: then an allocation makes no event. Says so and keeps 10 MB.
UNTIL_OFF = """
import ctypes, time
lib = next(line.split()[-1] for line in open("/proc/self/maps") if "libtidemark-rt" in line)
stats, read = (ctypes.c_uint64 * 8)(), ctypes.CDLL(lib).tide_stats_get
for _ in range(600_000):
    read(stats)
    before = stats[0]
    bytearray(1_000_000)
    read(stats)
    if stats[0] == before:
        print("off")
        break
    time.sleep(0.001)
kept = [bytearray(1_000_000) for _ in range(10)]
"""


def duration(folder: str) -> None:
    """--duration ends the recording of every process of the run."""
    Path(f"{folder}/off.py").write_text(UNTIL_OFF)
    done = subprocess.run([TIDEMARK, "run", "--no-torch", "--heap=full", "--duration", "1ms", "-o", f"{folder}/d.tide", "--", "sh", "-c", f"{os.path.realpath(sys.executable)} {folder}/off.py; true"],
                          capture_output=True, text=True)
    check("--duration: a child's recording is switched off", done.stdout == "off\n", (done.stdout, done.stderr))
    files = [f for f in os.listdir(folder) if f.startswith("d.")]
    check("--duration: closed", not any("rings" in f for f in files), files)
    large = max(heap(f"{folder}/{f}")["peak_bytes"] for f in files)
    check("--duration: nothing was recorded later", large < 9_000_000, large)
    done = subprocess.run([TIDEMARK, "run", "--no-torch", "--heap=full", "-o", "here.tide", "--", "true"], capture_output=True, text=True, cwd=folder)
    text = subprocess.run([TIDEMARK, "peak", f"{folder}/c.tide", "--group-by", "module"], capture_output=True, text=True).stdout
    check("modules that were not recorded are unknown", "(modules not recorded)" in text and "outside any module" not in text, text)
    check("paths are as a command in this folder names them", "tidemark run: here.tide, " in done.stderr and "tidemark heap here.tide " in done.stderr, done.stderr)


def prompt(folder: str) -> None:
    """The summary of a long recording does not read it: its program's end is the prompt's."""
    done = run(folder, sys.argv[1], "many")
    line = next((x for x in done.stderr.decode().splitlines() if "host heap" in x), "")
    events = re.search(r"host heap: ([\d,]+) events; `tidemark heap`", line)
    check("many: events, not figures", bool(events) and int(events[1].replace(",", "")) >= 3_400_000, done.stderr[-300:])
    check("many: the report has them", heap(f"{folder}/r.tide")["count"] >= 1_700_000, line)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for part in ways, operators, stripped, sampled, strangers, limits, killed, no_reader, switched, answered, duration, prompt:
            part(folder)
    return result("all as without us")


sys.exit(main())
