#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A report of one source file is at every door: toy.py PROGRAM LIBRARY [FOLDER].

PROGRAM and LIBRARY are tidemark and libtidemark.so with the report of toy.c; FOLDER has the Python extensions built with them. The figures of
all doors are compared with the JSON of the command line, and that with its schema."""
import csv
import ctypes
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TIDE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
TRACE = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"
PROGRAM, LIBRARY = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
EXTENSIONS = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
OPTIONS = {"least_rows": "2", "sort": "rows", "at": "50%", "row_bytes": "1KiB", "share": "7.5", "note": 'a "note", of two', "short": "true"}
WORDS = ["--least-rows", "2", "--sort", "rows", "--at", "50%", "--row-bytes", "1KiB", "--share", "7.5", "--note", 'a "note", of two', "--short", "--tag", "x", "--tag", "y"]
NAMES = ["least-rows", "sort", "device", "at", "row-bytes", "share", "note", "tag", "short", "plain"]


def run(*words, status: int = 0) -> str:
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def command_line() -> dict:
    """Help, completion, man page and text; returns the JSON."""
    assert re.search(r"^  toy +count the rows of a trace$", run("help"), re.M)
    for text in (run("help", "toy"), run("help", "--man", "toy"), *(run("completion", shell) for shell in ("bash", "zsh"))):
        assert all(f"--{name}" in text or f"*{name}*" in text for name in NAMES), text
    assert re.search(r"-n '__tidemark_is toy' .*-l least-rows", run("completion", "fish"))
    text = run("toy", TRACE)
    assert re.search(r"^  spans +16,061 +125\.48 KiB +\+125\.38 KiB +12\.5 % +no$", text, re.M), text
    assert "needs one of place,rows" in run("toy", "--sort", "x", TRACE, status=2)
    assert "0 to 1000" in run("toy", "--least-rows", "1001", TRACE, status=2)
    plain, full = json.loads(run("toy", "--json", TRACE)), json.loads(run("toy", "--json", *WORDS, TRACE))
    assert (plain["report"], plain["version"]) == ("toy", 3)
    assert full["options"]["note"] == OPTIONS["note"] and full["tags"] == ["x", "y"] and len(full["tables"]) == 1
    schema(plain, full)
    return full


def schema(*documents: dict) -> None:
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        print("skipped the schema: jsonschema is not installed")
        return
    described = json.loads(run("schema", "toy"))
    Draft202012Validator.check_schema(described)
    check = Draft202012Validator(described)
    for document in documents:
        check.validate(document)
    for wrong in ({"half": "0.5"}, {"tables": [{}]}, {"options": None}, {"version": 4}):
        assert list(check.iter_errors(documents[0] | wrong)), wrong


def tables(folder: Path, full: dict) -> None:
    run("toy", "--csv", *WORDS, TRACE, "-o", f"{folder}/csv/")
    rows = list(csv.DictReader((folder / "csv" / "tables.csv").open(newline="")))
    assert [int(r["rows"]) for r in rows] == [t["rows"] for t in full["tables"]], rows
    (values,) = csv.DictReader((folder / "csv" / "values.csv").open(newline=""))
    assert values["options.note"] == OPTIONS["note"] and json.loads(values["tags"]) == ["x", "y"], values
    run("toy", *WORDS, TRACE, "-o", folder / "toy.arrow")
    try:
        import pyarrow.ipc
    except ImportError:
        print("skipped Arrow: pyarrow is not installed")
        return
    table = pyarrow.ipc.open_file(folder / "toy.arrow").read_all()
    assert [r["bytes"] for r in table.to_pylist()] == [t["bytes"] for t in full["tables"]]


def c_library(full: dict) -> None:
    lib = ctypes.CDLL(str(LIBRARY))
    lib.tide_trace_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p]
    lib.tide_report_find.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p]
    lib.tide_report_root.argtypes = lib.tide_report_free.argtypes = lib.tide_trace_close.argtypes = [ctypes.c_void_p]
    lib.tide_report_root.restype = lib.tide_node_get.restype = ctypes.c_void_p
    lib.tide_node_get.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.tide_node_uint.argtypes, lib.tide_node_uint.restype = [ctypes.c_void_p, ctypes.c_uint64], ctypes.c_uint64
    trace, report = ctypes.c_void_p(), ctypes.c_void_p()
    assert lib.tide_trace_open(str(TRACE).encode(), ctypes.byref(trace), None) == 0
    words = [w.encode() for pair in OPTIONS.items() for w in pair]
    options = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    assert lib.tide_report_find(b"toy", ctypes.byref(trace), 1, options, ctypes.byref(report), None) == 0
    assert lib.tide_node_uint(lib.tide_node_get(lib.tide_report_root(report), b"end_ns"), 0) == full["end_ns"]
    lib.tide_report_free(report)
    for name, given, code in ((b"toys", None, 7), (b"toy", [b"least_row", b"1", None], 7), (b"toy", [b"sort", b"x", None], 7), (b"toy", [b"device", b"cuda:9", None], 9)):
        options = (ctypes.c_char_p * 3)(*given) if given else None
        assert lib.tide_report_find(name, ctypes.byref(trace), 1, options, ctypes.byref(report), None) == code, (name, given)
    lib.tide_trace_close(trace)


def http(full: dict) -> None:
    os.environ["TIDEMARK"] = str(PROGRAM)
    import serving
    serving.TIDEMARK = str(PROGRAM)
    from urllib.parse import urlencode
    with serving.Server(TRACE) as server:
        rid = server.json("/api/recordings")["recordings"][0]["id"]
        path = f"/api/recordings/{rid}/reports/toy"
        assert server.json(f"{path}?{urlencode([*OPTIONS.items(), ('tag', 'x'), ('tag', 'y')])}") == full
        for wrong in ("sort=x", "no_such=1", "least_rows=-1"):
            assert "error" in server.json(f"{path}?{wrong}", 400), wrong


CALLER = """
import tidemark
from tidemark import reports

found = tidemark.open("x.tide").toy(sort="rows", tag=["x", "y"], share=7.5, row_bytes="1KiB", least_rows=2, short=True)
rows: list[reports.ToyTables] = found["tables"]
share: float | None = rows[0]["share_pct"]
lengths: dict[str, int] = found["lengths"]
note: str | None = found["options"]["note"]
tidemark.open("x.tide").toy(sort="row")  # wrong
tidemark.open("x.tide").toy(plain=True)  # wrong
found["table"]  # wrong
rows[0]["share_pct"] + 1  # wrong
"""


def types(package: Path) -> None:
    if not importlib.util.find_spec("mypy"):
        print("skipped types: mypy is not installed")
        return
    (package.parent / "caller.py").write_text(CALLER)
    words = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--follow-imports=silent", "--cache-dir", str(Path(os.environ["TIDE_BUILD"]) / "mypy-cache-toy"), "caller.py"]
    done = subprocess.run(words, cwd=package.parent, env={**os.environ, "MYPYPATH": str(package.parent)}, capture_output=True, text=True, check=False)
    lines = {int(n) for n in re.findall(r"^caller\.py:(\d+): error", done.stdout, re.M)}
    assert lines == {n for n, line in enumerate(CALLER.splitlines(), 1) if "# wrong" in line}, done.stdout


PYTHON = """
import json, sys, tidemark
t = tidemark.open(sys.argv[1])
options = json.loads(sys.argv[2])
found = t.toy(**options)
assert found == t.ask("toy", **options)
print(json.dumps(found))
for call, error in ((lambda: t.toy(srt="rows"), TypeError), (lambda: t.toy(sort="row"), tidemark.Error), (lambda: t.toy(least_rows=-1), tidemark.Error)):
    try:
        call()
    except error:
        continue
    raise SystemExit("a wrong option was taken")
"""


def python(folder: Path, full: dict) -> None:
    package = folder / "site" / "tidemark"
    shutil.copytree(SOURCE / "python" / "tidemark", package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, SOURCE / "tools" / "generate", "--into", package, PROGRAM], check=True)
    types(package)
    if not EXTENSIONS:
        print("skipped Python: its headers are not installed")
        return
    for file in EXTENSIONS.glob("*.so"):
        shutil.copy(file, package / file.name)
    options = json.dumps({**OPTIONS, "least_rows": 2, "share": 7.5, "short": True, "tag": ["x", "y"]})
    libraries = os.pathsep.join([str(EXTENSIONS), os.environ.get("LD_LIBRARY_PATH", "")])  # meson lists folders in any order
    env = {**os.environ, "PYTHONPATH": str(package.parent), "LD_LIBRARY_PATH": libraries}
    done = subprocess.run([sys.executable, "-c", PYTHON, TRACE, options], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == full


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        full = command_line()
        tables(folder, full)
        c_library(full)
        http(full)
        python(folder, full)
    print("toy is at every door")


if __name__ == "__main__":
    main()
