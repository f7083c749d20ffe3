#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Control characters and marks of direction in names and paths reach no terminal: controls.py TIDEMARK."""
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.path.abspath(sys.argv[1])
NAME = "x\u009b31m\u202eback\u2066\u200f\x1b[2J\x07\u0085y"
RAW = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TRACE = {"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": NAME, "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {NAME: NAME, "Call stack": NAME}},
    {"ph": "X", "cat": "kernel", "name": NAME, "pid": 0, "tid": 7, "ts": 2, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}},
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": NAME}}], "deviceProperties": [{"id": 0, "name": NAME}]}
EVENT = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 1, "frames": [{"filename": NAME, "line": 1, "name": NAME}]}
READERS = "info", "peak", "ops", "device", "objects", "predict", "dump", "hta", "timeline", "flame", "advice", "tt"
OTHERS = (["objects", "--", NAME], ["predict", "--", NAME], ["compile", "--", NAME], ["profile", NAME], ["run", "--", NAME], ["ctl", NAME, "on"],
          ["run", "--heap", "-o", f"{NAME}.tide", "--", "/bin/true"], ["run", "-o", f"{NAME}/none.tide", "--", "/bin/true"], [NAME], ["gantt", NAME],
          ["export", "a.json", "--to", NAME], ["peak", "a.json", "--group-by", NAME], ["diff", "a.json", "a.json", "--fail-if", NAME],
          ["phases", "--logs", "summary.log", "-o", f"{NAME}.png"], ["tt", "--analyze", f"{NAME}.log", "-o", NAME],
          ["tt", "--analyze", f"{NAME}.log", "-o", NAME])
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for path, ascii_only in (f"{NAME}.json", False), ("a.json", True):
        with open(path, "w", encoding="utf-8") as f:
            json.dump(TRACE, f, ensure_ascii=ascii_only)
    with open(f"{NAME}.pickle", "wb") as f:
        pickle.dump({"segments": [], "device_traces": [[EVENT]]}, f)
    shutil.copy(os.path.join(TESTS, "data/phaselog/both.log"), "summary.log")
    shutil.copy(os.path.join(TESTS, "fuzz/ttlog.corpus/colours"), f"{NAME}.log")
    for command in [[c, file] for c in READERS for file in (f"{NAME}.json", f"{NAME}.pickle", f"{NAME}.none")] + list(OTHERS):
        done = subprocess.run([TIDEMARK, *command], capture_output=True, text=True, errors="replace", timeout=400, check=False)
        for text in done.stdout, done.stderr:
            found = RAW.search(text)
            assert not found, (command, text[max(0, found.start() - 60):found.end() + 20])
        assert done.stdout or done.stderr, command
print("controls: none in the output of", len(READERS) * 3 + len(OTHERS), "commands")
