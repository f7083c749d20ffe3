#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Programs end under Tidemark as they end without it: habits.py FOLDER TIDEMARK [NAME...]

Runs each small program of programs.c bare and under the modes of recording, and compares: exit status or signal, standard
output (in which the program says its open descriptors and the status of its children), standard error, processes left behind, and
that it ends at all. FOLDER has the programs. `make test` runs each program bare and under one mode, which changes from program to
program, and the gravest under every mode; with TIDE_TESTS=all every program under every mode. docs/guide/promises.md names
the rows.

No row depends on time: LIMIT only ends a program that hangs."""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from extent import ALL  # noqa: E402

FOLDER, TIDEMARK = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
ONLY = sys.argv[3:]
LIMIT = int(os.environ.get("HABITS_LIMIT", "240"))
SKIP = 77

# Options of `tidemark run`; None: the program records itself, linked with the recorder.
MODES = {
    "run": [],
    "heap": ["--heap"],
    "full": ["--heap=full"],
    "mmap": ["--heap=full", "--mmap"],
    "window": ["--heap=full", "--max-size", "1MiB"],
    "linked": None,
}
# Programs that once hung or died: every mode in every run of the tests.
GRAVE = ["pthread_exit_of_main", "threads_outlive_main", "main_ends_raw", "clone_plain", "clone_raw", "strict_ends", "only_a_thread_waits", "filter_kills", "filter_kills_later_stacks"]
COMPLETE = ["pthread_exit_of_main", "threads_outlive_main", "main_ends_raw", "clone_plain", "clone_raw", "strict_ends"]  # no ring file is left
# Signals that the test sends once the program prints "ready".
SENT = {"waits_to_be_ended": signal.SIGTERM, "ends_well_when_asked": signal.SIGTERM, "only_a_thread_waits": signal.SIGTERM}
ARGUMENTS = {"many_threads": ["5000"] if ALL else ["200"]}
# What cannot be the same: the program, and what it prints instead.
CANNOT = {"own_user_namespace": "unshare: Invalid argument\n"}
# Modes in which a program keeps a promise only in part, with the reason.
EXCEPT = {
    ("filter_kills", "linked"): "no library is preloaded, so the recorder does not see that a filter comes",
    ("filter_kills_later_stacks", "linked"): "as above",
}
# Programs of another kind, each with a few of the rows.
SOME = ["returns", "pthread_exit_of_main", "threads_outlive_main", "forks", "many_threads", "allocator_calls", "jumps_out_of_handlers", "exec_chain"]
KINDS = {  # title: program, environment, rows, modes
    "static": ("static", {}, ["returns", "pthread_exit_of_main", "main_ends_raw", "forks"], ["run", "full"]),
    "address": ("address", {"ASAN_OPTIONS": "detect_leaks=0"}, ["returns", "threads_outlive_main", "forks"], ["run", "heap", "full"]),
    "threads": ("threads", {}, ["returns", "many_threads", "forks"], ["run", "heap"]),
    "asan": ("plain", {"LD_PRELOAD": "libasan.so", "ASAN_OPTIONS": "detect_leaks=0"}, [name for name in SOME if name != "allocator_calls"], ["run", "heap", "full", "mmap"]),
    "other": ("plain", {"LD_PRELOAD": str(FOLDER / "libhabits_other.so")}, SOME, ["run", "heap", "full", "mmap"]),
    "setuid": ("setuid", {}, ["who", "threads_outlive_main"], ["run", "full"]),
}
PROGRAMS = {"plain": "habits", "linked": "habits_linked", "static": "habits_static", "address": "habits_address", "threads": "habits_threads"}


class Row:
    def __init__(self, name: str, mode: str, kind: str = "") -> None:
        self.name, self.mode, self.kind = name, mode, kind
        self.title = "/".join(filter(None, [name, kind, mode]))


def find(kind: str, folder: str) -> str | None:
    """Returns the path of a program, None if it cannot be had here."""
    if kind != "setuid":
        path = FOLDER / PROGRAMS[kind]
        return str(path) if path.exists() else None
    if os.geteuid() != 0:
        return None
    path = pathlib.Path(folder) / "habits_setuid"
    if not path.exists():
        path.write_bytes((FOLDER / PROGRAMS["plain"]).read_bytes())
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
    return str(path)


def preloaded(env: dict[str, str]) -> dict[str, str] | None:
    """Returns the environment with the full path of a sanitizer's library, None if it is not installed."""
    if env.get("LD_PRELOAD") != "libasan.so":
        return env
    try:
        path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return {**env, "LD_PRELOAD": os.path.realpath(path)} if "/" in path else None


def left_behind(mark: str) -> list[str]:
    """Returns the command lines of processes with this mark in their environment, after they had time to end."""
    until = time.monotonic() + LIMIT / 4
    while True:
        found = []
        for p in pathlib.Path("/proc").iterdir():
            try:
                if p.name.isdigit() and mark.encode() in (p / "environ").read_bytes() and (p / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append((p / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def execute(row: Row, mode: str, folder: str) -> dict[str, object] | None:
    """Runs a program in a mode ("bare", or of MODES). Returns what is seen of it; None: not possible here."""
    kind, env = "linked" if mode == "linked" else "plain", {}
    if row.kind:
        kind, env, *_ = KINDS[row.kind]
        env = preloaded(env)
    program = find(kind, folder)
    if program is None or env is None:
        return None
    mark = "TIDE_HABIT=" + uuid.uuid4().hex
    file = os.path.join(folder, f"{row.title.replace('/', '-')}-{mode}.tide")
    words = [program, row.name, *ARGUMENTS.get(row.name, [])]
    if mode not in ("bare", "linked"):
        words = [TIDEMARK, "run", "-o", file, *MODES[mode], "--", *words]
    env = dict(os.environ, **env, HABIT_FILE=file, **dict([mark.split("=")]))
    for name in ("PYTHONPATH", "TIDEMARK_RECORD"):
        env.pop(name, None)
    if "LD_PRELOAD" in env and words[0] == TIDEMARK:  # for the program and for `run` itself, as in a shell
        env["LSAN_OPTIONS"] = "detect_leaks=0"
    p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=folder)
    hung = False
    try:
        first = b""
        if row.name in SENT:
            first = p.stdout.readline()
            p.send_signal(SENT[row.name])
        out, err = p.communicate(timeout=LIMIT)
        out = first + out
    except subprocess.TimeoutExpired:
        hung = True
        print(f"{row.title}, {mode}: still runs after {LIMIT} s", flush=True)
        for at in pathlib.Path("/proc").iterdir():  # the program outlives `run` if only that is killed
            try:
                if at.name.isdigit() and mark.encode() in (at / "environ").read_bytes():
                    os.kill(int(at.name), signal.SIGKILL)
            except OSError:
                continue
        p.kill()
        try:
            out, err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # somebody without the mark holds the pipe
            out, err = b"", b""
    err = re.sub(rb"^next:\n(?:  tidemark .*\n)+", b"", err, flags=re.M)  # the summary's last lines
    said = "".join(line for line in err.decode(errors="replace").splitlines(keepends=True) if not line.startswith("tidemark run:"))
    rings = os.path.exists(file + "-rings") or any(name.startswith(os.path.basename(file)) and name.endswith("-rings") for name in os.listdir(folder))
    return {"hung": hung, "status": p.returncode, "stdout": out.decode(errors="replace"), "stderr": said, "left": left_behind(mark), "rings": rings,
            "recorded": os.path.exists(file)}


def judge(row: Row, bare: dict[str, object], seen: dict[str, object]) -> list[str]:
    """Returns what differs."""
    wrong = []
    for what in ("hung", "status", "stdout", "stderr", "left"):
        wanted = CANNOT.get(row.name) if what == "stdout" and row.name in CANNOT and seen["recorded"] else bare[what]
        if seen[what] != wanted:
            wrong.append(f"{what}: bare {wanted!r}, recorded {seen[what]!r}")
    # A program that ends by itself completes its recording: the ring file is removed.
    if row.name in COMPLETE and not row.kind and (seen["rings"] or not (seen["recorded"] or row.mode == "run")):
        wrong.append("the recording was not completed")
    return wrong


def rows() -> list[Row]:
    names = subprocess.run([str(FOLDER / PROGRAMS["plain"])], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    modes = list(MODES)
    out = []
    for i, name in enumerate(names):
        chosen = modes if ALL or ONLY or name in GRAVE else [modes[i % len(modes)]]
        out += [Row(name, mode) for mode in chosen if (name, mode) not in EXCEPT]
    for kind, (_, _, some, wanted) in KINDS.items():
        for i, name in enumerate(some):
            out += [Row(name, mode, kind) for mode in (wanted if ALL or ONLY or i == 0 else [wanted[i % len(wanted)]])]
    return [r for r in out if not ONLY or r.name in ONLY or r.kind in ONLY]


def main() -> int:
    wrong, skipped, ran = [], set(), 0
    with tempfile.TemporaryDirectory(prefix="tide-habits-") as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        os.chmod(folder, 0o777)
        todo = rows()
        bare: dict[tuple[str, str], concurrent.futures.Future] = {}
        for r in todo:
            if (r.name, r.kind) not in bare:
                bare[r.name, r.kind] = pool.submit(execute, r, "bare", folder)
        seen = [(r, pool.submit(execute, r, r.mode, folder)) for r in todo]
        for r, future in seen:
            plain, recorded = bare[r.name, r.kind].result(), future.result()
            if plain is None or recorded is None or plain["status"] == SKIP:
                skipped.add("/".join(filter(None, [r.name, r.kind])) if plain is not None else r.kind)
                continue
            ran += 1
            found = [f"{r.title}: {line}" for line in judge(r, plain, recorded)]
            wrong += found
            for line in found:
                print(line, flush=True)
    print(f"{ran} rows, {len(wrong)} differences" + (f"; not possible here: {', '.join(sorted(skipped))}" if skipped else ""))
    return 1 if wrong else 0


sys.exit(main())
