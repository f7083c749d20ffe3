#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every reader has a fuzz target in the table of tools/fuzz, so a change to it is fuzzed: fuzz_table.py ROOT."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
FUZZ = str(ROOT / "tools/fuzz")


def which(*files: str) -> list[str]:
    return subprocess.run([FUZZ, "which", *files], capture_output=True, text=True, check=True, timeout=120).stdout.split()


def main() -> int:
    readers = [str(f.relative_to(ROOT)) for room in ("src/import", "src/format") for f in (ROOT / room).rglob("*.c")]
    # Not readers: generic parts of the recorder, and of the table of formats.
    folders = {f.rpartition("/")[0]: f for f in sorted(readers)}
    wrong = [folder for folder, file in folders.items() if folder != "src/import" and not which(file)]
    for file, target in (("src/import/phaselog/phaselog.c", "phaselog"), ("src/format/read.c", "tide"), ("tests/fuzz/hta.corpus/x", "hta")):
        if target not in which(file):
            wrong.append(f"{file}: {which(file)}")
    if which("src/cli/cmd/run.c", "README.md"):
        wrong.append("a change that touches no reader needs a target")
    print("\n".join(wrong) or f"{len(folders)} folders of readers have targets")
    return 1 if wrong else 0


sys.exit(main())
