#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every command that the README shows under "What to ask" works as written: readme.py TIDEMARK SAMPLE SOURCE.

FILE, TRACE, SNAPSHOT, A and B become small inputs; what is in square brackets is tried too. `serve` only has to begin."""
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def commands(readme: str) -> list:
    block = readme.split("## What to ask", 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]
    return [line.split("  #")[0].split(" # ")[0].strip() for line in block.splitlines() if line.startswith("tidemark ")]


def inputs(folder: Path, source: Path) -> dict:
    data = source / "tests" / "data"
    return {"FILE": "train.tide", "A": "train.tide", "B": "train.tide", "FOLDER": str(folder),
            "TRACE": str(data / "kineto_gpt_train.json.gz"), "TRACE...": str(data / "kineto_gpt_train.json.gz"),
            "SNAPSHOT": str(data / "torchsnap" / "snapshot_oom.pickle.gz")}


def run(program: str, words: list, folder: Path) -> str:
    """What went wrong, or ""."""
    if words[1] == "serve":
        with subprocess.Popen([program, *words[1:], "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            said = p.stdout.readline()
            p.terminate()
            return "" if "http://" in said or "no server" in p.stderr.read() else f"it says {said!r}"
    done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, errors="replace", timeout=60)
    fine = done.returncode == 0 or "no pages" in done.stderr
    return "" if fine else f"status {done.returncode}: {done.stderr.strip()}"


def main() -> int:
    program, sample, source = str(Path(sys.argv[1]).resolve()), str(Path(sys.argv[2]).resolve()), Path(sys.argv[3]).resolve()
    lines, failed = commands((source / "README.md").read_text(encoding="utf-8")), 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        given = inputs(Path(folder), source)
        for line in lines:
            words = [given.get(w, w) for w in shlex.split(re.sub(r"[\[\]]", "", line))]
            wrong = run(program, words, Path(folder))
            if wrong:
                failed += 1
                print(f"FAIL {line}: {wrong}")
    print(f"{len(lines) - failed} of {len(lines)} commands of the README work")
    return failed > 0 or len(lines) < 20


if __name__ == "__main__":
    sys.exit(main())
