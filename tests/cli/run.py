#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Golden tests of the command line.

Every cases/NAME.cmd is a shell script; its output and exit status must equal NAME.stdout, NAME.stderr (absent = empty) and
NAME.exit (absent = 0). It runs in a fresh folder that holds the sample recordings, with `tidemark` on PATH. `tools/bless` (run.py
--bless) rewrites the expectations: review the diff.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"


def environment(tidemark: Path, folder: str) -> dict:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LC_")}
    for name in ("COLUMNS", "NO_COLOR", "LANG"):
        env.pop(name, None)
    env.setdefault("TIDE_SOURCE", str(HERE.parents[1]))
    env.update(LC_ALL="C.UTF-8", TERM="xterm", TMPDIR=folder,
               PATH=f"{tidemark.parent}:{env['PATH']}")
    return env


def run(case: Path, tidemark: Path, sample: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        done = subprocess.run(["bash", str(case)], cwd=folder, env=environment(tidemark, folder),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    messages = re.sub(rb", [\d.]+ [KM]iB: a page", b", SIZE: a page", done.stderr)  # it changes with the pages' code
    return {".stdout": done.stdout, ".stderr": messages,
            ".exit": b"%d\n" % done.returncode if done.returncode else b""}


def compare(case: Path, got: dict) -> list:
    lines = []
    for suffix, text in got.items():
        want_file = case.with_suffix(suffix)
        want = want_file.read_bytes() if want_file.exists() else b""
        if want != text:
            lines += difflib.unified_diff(
                want.decode(errors="backslashreplace").splitlines(),
                text.decode(errors="backslashreplace").splitlines(),
                f"{want_file.name} (wanted)", f"{want_file.name} (got)", lineterm="")
    return lines


def bless(case: Path, got: dict) -> None:
    for suffix, text in got.items():
        file = case.with_suffix(suffix)
        if text:
            file.write_bytes(text)
        elif file.exists():
            file.unlink()


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--bless"]
    tidemark, sample = Path(args[0]).resolve(), Path(args[1]).resolve()
    cases = [CASES / f"{name}.cmd" for name in args[2:]] or sorted(CASES.glob("*.cmd"))
    stray = [f.name for f in sorted(CASES.iterdir()) if f.suffix in (".stdout", ".stderr", ".exit") and not f.with_suffix(".cmd").exists()]
    stray += [case.name for case in cases if not case.exists()]
    if stray:
        print("no command:", *stray)
        return 1
    failed = 0
    for case in cases:
        got = run(case, tidemark, sample)
        if "--bless" in sys.argv:
            bless(case, got)
            continue
        diff = compare(case, got)
        if diff:
            failed += 1
            print(f"FAIL {case.stem}", *diff, sep="\n")
    print(f"{len(cases) - failed} of {len(cases)} golden tests pass")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
