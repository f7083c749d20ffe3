#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A recording of 4 MB whose thousands of rows share four texts of 1 MB: no command writes the texts in full for every row, each
reports what it cut, and cut texts stay distinct. Usage: long_texts.py TIDEMARK CLI_LONG_TEXTS"""
import json
import pickle
import re
import subprocess
import sys
import tempfile

TIDEMARK, WRITER = sys.argv[1:3]
LENGTH, ROWS = 1_000_000, 800
MOST = 72 << 20  # each text a few times in full, 16 MiB of repeats in each table, and the rows
COMMANDS = """info; info --json; memory; memory --json; phases; phases --json; peak; peak --json; peak -g stack --json; peak -g frame --json; peak -g stack --top 0
peak -g tensor --json; peak -g op --json; peak -g stream --json; peak -g pool --json; ops; ops --json; ops --flat --json; modules --json; allocator --json; leaks --json
oom --json; oom; whatif --capacity 1GiB --json; dump; dump --json; hta --json; kernels --json; timeline --json; flame; flame --json; flame --kind memory --json
flame --hot --top 0; flame --kind memory --hot --top 0; export --to chrome; export --to perfetto; export --to pprof; export --to speedscope; export --to folded
export --to folded --kind memory; export --to folded --kind memory --by op; export --to snapshot; report -o -; gantt -o -; diff FILE; diff FILE --json"""
CUT = re.compile(rb"\.\.\. \(text (\d+), (\d+) bytes\)")
failed = 0


def fail(what: str) -> None:
    global failed
    failed += 1
    print(what)


def run(line: str, file: str) -> tuple[bytes, bytes]:
    command, *args = line.split()
    done = subprocess.run([TIDEMARK, command, file, *(file if a == "FILE" else a for a in args)], capture_output=True, timeout=400)
    if done.returncode:
        fail(f"{line}: status {done.returncode}: {done.stderr[-300:]!r}")
    return done.stdout, done.stderr


def check(line: str, file: str) -> bytes:
    out, err = run(line, file)
    if len(out) > MOST:
        fail(f"{line}: {len(out)} bytes")
    cut = CUT.findall(out)
    if cut and b"long texts are cut" not in out + err and not line.startswith(("report", "gantt")):
        fail(f"{line}: cut, and not said")
    if {int(n) for _, n in cut} - {LENGTH}:
        fail(f"{line}: lengths {set(cut)}")
    return out


with tempfile.TemporaryDirectory() as folder:
    tide = f"{folder}/long.tide"
    subprocess.run([WRITER, str(LENGTH), str(ROWS), tide], check=True, timeout=300)
    out = {line.strip(): check(line.strip(), tide) for line in re.split("[;\n]", COMMANDS)}
    rows = [json.loads(row) for row in out["dump --json"].splitlines()]
    for table, column, first in (("spans", "name", "o"), ("frames", "function", "f"), ("frames", "file", "s"), ("marks", "name", "m")):
        texts = [r[column] for r in rows if r["table"] == table and r[column] and r[column].startswith(first + "x")]
        if len(texts[0]) != LENGTH and table != "marks":  # the previous tables have it in full
            fail(f"dump: {table}.{column} is not whole where it first stands")
        if len(texts) < ROWS or len({t for t in texts if len(t) < LENGTH}) != 1:
            fail(f"dump: {table}.{column}: {len(texts)} texts")
    groups = [g["key"] for g in json.loads(out["peak -g frame --json"])["groups"]]
    if len(set(groups)) != len(groups):
        fail("peak -g frame: two groups have one name")
    shot = pickle.loads(out["export --to snapshot"])
    names = [f for trace in shot["device_traces"] for e in trace for f in e["frames"]]
    if {len(f["name"]) for f in names} != {LENGTH} or len({id(f["name"]) for f in names}) != 1:
        fail("snapshot: not one whole text")
    json.loads(out["export --to chrome"])
    json.loads(out["export --to speedscope"])
print("long texts:", f"{failed} fail" if failed else "all pass")
sys.exit(failed > 0)
