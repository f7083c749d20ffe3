# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reads our exports with other tools, if they are installed.

    perfetto      Python package: its protobuf descriptors know every field we write
    go            `go tool pprof` reads the profiles and finds our totals
    speedscope    npm package: our profiles are as its file-format-schema.json says, to Python's jsonschema

`tools/setup test` installs all of them: the Python packages into .venv, which runs this. Missing tools are reported, one line
each; without any of them the test is skipped."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests" / "data" / "kineto_gpt_train_stack.json.gz"
VENV = ROOT / ".venv" / "bin" / "python"
SCHEMA = ROOT / "web" / "node_modules" / "speedscope" / "dist" / "release" / "file-format-schema.json"


def tidemark(*args):
    return subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, check=True).stdout


def unknown_fields(message):
    from google.protobuf.unknown_fields import UnknownFieldSet
    n = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            for v in value if field.is_repeated else [value]:
                n += unknown_fields(v)
    return n


def check_perfetto(tmp):
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        return "the Python package perfetto is not installed"
    tidemark("export", TRACE, "-o", tmp / "x.pftrace")
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString((tmp / "x.pftrace").read_bytes())
    assert trace.IsInitialized()
    assert not sum(unknown_fields(p) for p in trace.packet), "unknown fields"
    kinds = [p.track_event.type for p in trace.packet if p.HasField("track_event")]
    assert kinds.count(1) == kinds.count(2) > 10000, "begins and ends"
    return None


def check_pprof(tmp):
    if not shutil.which("go"):
        return "go is not installed"
    for kind in ("cpu", "gpu"):
        tidemark("export", TRACE, "--kind", kind, "-o", tmp / "x.pb.gz")
        raw = subprocess.run(["go", "tool", "pprof", "-raw", str(tmp / "x.pb.gz")],
                             capture_output=True, text=True, check=True).stdout
        samples = raw[raw.index("Samples:"):raw.index("Locations")]
        values = re.findall(r"^\s+\d+\s+(\d+):", samples, re.M)
        want = json.loads(tidemark("flame", "--json", "--kind", kind, TRACE))["value_ns"]
        assert sum(map(int, values)) == want, kind
    return None


def check_speedscope(tmp):
    try:
        import jsonschema
    except ImportError:
        return "the Python package jsonschema is not installed"
    if not SCHEMA.exists():
        return "the npm package speedscope is not installed"
    tidemark("export", TRACE, "-o", tmp / "x.speedscope.json.gz")
    doc = json.loads(gzip.decompress((tmp / "x.speedscope.json.gz").read_bytes()))
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(doc, schema)
    doc["profiles"][0]["type"] = "no such type"
    try:
        jsonschema.validate(doc, schema)
    except jsonschema.ValidationError:
        return None
    raise AssertionError("the schema takes anything")


def main():
    done = 0
    with tempfile.TemporaryDirectory() as d:
        for check in (check_perfetto, check_pprof, check_speedscope):
            missing = check(pathlib.Path(d))
            print(f"skipped {check.__name__}: {missing}" if missing else f"{check.__name__}: fine")
            done += not missing
    return 0 if done else 77


if VENV.exists() and sys.prefix != str(VENV.parents[1]):
    os.execv(VENV, [str(VENV), *sys.argv])
sys.exit(main())
