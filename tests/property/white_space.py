#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""White space in JSON means nothing: a file written compactly, with one token per line and with random blanks gets the same
answers from every report and export.

    white_space.py      with TIDEMARK and TIDE_SOURCE set
"""
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TIDEMARK, SOURCE = os.environ["TIDEMARK"], pathlib.Path(os.environ["TIDE_SOURCE"])
DATA = SOURCE / "tests" / "data"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+')
REPORTS = ["info --json", "hta --json", "kernels --json", "ops --flat --json", "ops --json", "memory --json", "timeline --json", "flame --json",
           "critical-path --json", "hta", "kernels", "export --to chrome -o {out}", "export --to perfetto -o {out}", "dump"]
OTHERS = ["info --json", "memory --json", "phases --json", "ops --json", "modules --json", "timeline --json"]


def spaced(text, how, r):
    """The same JSON with other white space; texts keep their bytes."""
    blanks = {"compact": lambda: "", "lines": lambda: "\n\t  ", "random": lambda: "".join(r.choice(" \n\t\r") for _ in range(r.choice([0, 0, 1, 1, 3])))}[how]
    return "".join(t + blanks() for t in TOKEN.findall(text))


def answers(file, reports, folder):
    got = {}
    for report in reports:
        name, *options = report.split()
        out = folder / "out"
        out.unlink(missing_ok=True)
        p = subprocess.run([TIDEMARK, name, file, *(o.format(out=out) for o in options)], capture_output=True, text=True, timeout=300)
        told = p.stdout + (gzip.decompress(b).decode(errors="replace") if out.exists() and (b := out.read_bytes())[:2] == b"\x1f\x8b" else
                           out.read_bytes().decode(errors="replace") if out.exists() else "")
        told = re.sub(r'"(?:file_bytes|bytes_read|src)": ?\d+,?|(?m:^.*(?:file|size) .*$)' if name in ("info", "dump") else r"\0", "", told)
        got[report] = p.returncode, told, p.stderr
    return got


def main():
    r = random.Random(33)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        corpus = [p for kind in ("tracker", "ttgraph", "objects", "ttresults") for p in sorted((SOURCE / f"tests/fuzz/{kind}.corpus").iterdir())]
        for path in (DATA / "kineto_compiled_infer.json.gz", DATA / "ttgraph/report.json", DATA / "objects.json", *corpus):
            reports = REPORTS if path.suffix == ".gz" else ["objects --json"] if "objects" in str(path) else OTHERS
            try:
                text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
                json.loads(text)
            except ValueError:
                continue
            file, first = folder / path.name.removesuffix(".gz"), None
            for how in ("compact", "lines", "random"):
                file.write_text(spaced(text, how, r))
                got = answers(file, reports, folder)
                assert path in corpus or all(code == 0 for code, _, _ in got.values()), [(k, v) for k, v in got.items() if v[0]]
                first = first or got
                for report in reports:
                    if got[report] != first[report]:
                        a, b = first[report], got[report]
                        at = next((i for i, (x, y) in enumerate(zip(a[1], b[1])) if x != y), 0)
                        sys.exit(f"{path.name}, {how}: `{report}` differs: {a[1][max(0, at - 80):at + 80]!r} and {b[1][max(0, at - 80):at + 80]!r}; {a[2]!r} {b[2]!r}")


main()
