#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Small files that make large models: a command stops at --max-memory with one clear line, or reports on the beginning.

bombs.py TIDEMARK WRITER: WRITER is bomb.c."""
import gzip
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile

TIDEMARK, WRITER = sys.argv[1:3]
LIMIT = 128 << 20
AS = 400 << 20  # of `ulimit -v`, without --max-memory
SLACK = 96 << 20  # additional memory of the program: itself, expanded input, buffers of output


def packed(path, *words):
    subprocess.run([WRITER, words[0], path, *words[1:]], check=True, timeout=400)
    subprocess.run([TIDEMARK, "pack", path, "-o", path + ".tide"], check=True, capture_output=True, timeout=400)
    os.replace(path + ".tide", path)


def ops(path):
    packed(path, "3000000")


def rings(path):
    """Many threads with few ops each: every ring has its own state."""
    packed(path, "800000", "200000")


def event(i):
    return {"action": "alloc", "addr": 4096 * i, "size": 512, "stream": 0, "time_us": i, "frames": []}


def shared_list(path):
    """One list of events that thousands of devices have."""
    one = [event(i) for i in range(5000)]
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [one] * 4000}, f, protocol=4)


def shared_event(path):
    """One event that a list refers to repeatedly: two bytes each."""
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [[event(1)] * 3000000]}, f, protocol=4)


def equal_spans(path):
    """Ops of equal times: each is inside the one before, and every path is as long as paths get."""
    one = '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":0,"dur":5}'
    with gzip.open(path, "wt", compresslevel=1) as f:
        f.write('{"traceEvents":[' + ",".join([one] * 60000) + "]}")


def sanitized():
    """Sanitizers map terabytes: they cannot start in less address space."""
    return subprocess.run([TIDEMARK, "--version"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (AS, AS)), capture_output=True, check=False).returncode != 0


def measured(*command, limits=None):
    """Returns exit status, standard output and error, and peak memory (bytes)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=limits)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return child.returncode, out.read(), err.read(), used.ru_maxrss * 1024


with tempfile.TemporaryDirectory() as folder:
    for make, commands, answered in (ops, ("ops", "info", "report"), True), (rings, ("ops",), True), (shared_list, ("peak",), False), (shared_event, ("peak",), False):
        path = f"{folder}/{make.__name__}.trace"
        make(path)
        size = os.path.getsize(path)
        for command in commands:
            more = ["-o", f"{folder}/page.html"] if command == "report" else []
            status, out, err, most = measured(TIDEMARK, command, path, f"--max-memory={LIMIT}B", *more)
            print(f"{make.__name__}: {size >> 10} KiB, {command}: {most >> 20} MiB, exit status {status}")
            assert most < LIMIT + SLACK, (command, most >> 20)
            if answered and status == 0 and command != "report":
                assert "for lack of memory" in out, out
            elif status:
                assert status == 1 and len(err.splitlines()) == 1 and "more memory than the limit of 128 MiB (--max-memory)" in err, err
            assert answered == (status == 0), (command, status, err)
        status, out, err, most = measured(TIDEMARK, commands[0], path)
        default = 2 * ((256 << 20) + 64 * size)
        print(f"{make.__name__}: {size >> 10} KiB, {commands[0]} without a limit: {most >> 20} MiB, exit status {status}")
        assert sanitized() or most < default + SLACK, most >> 20
        raised = f"note: this needs much memory for its input; the limit is now {default >> 20} MiB (--max-memory sets it)"
        assert not err or err.splitlines()[0] == raised, err
        assert status == 0 or f"more memory than the limit of {default >> 20} MiB (--max-memory)" in err, err
        if not sanitized():
            status, out, err, most = measured(TIDEMARK, commands[0], path, limits=lambda: resource.setrlimit(resource.RLIMIT_AS, (AS, AS)))
            print(f"{make.__name__}: {commands[0]} in {AS >> 20} MiB of address space: {most >> 20} MiB, exit status {status}")
            assert "for lack of memory" in out if status == 0 else "more memory than the limit of" in err, (status, out, err)
    equal_spans(f"{folder}/equal.json.gz")
    status, out, err, most = measured(TIDEMARK, "ops", "--json", f"{folder}/equal.json.gz")
    print(f"equal spans: {len(out) >> 20} MiB of JSON, {most >> 20} MiB")
    assert status == 0 and len(out) < 120 << 20 and "long texts are cut" in err, (status, len(out), err)
    assert sanitized() or most < 100 << 20, most >> 20
    rows = json.loads(out)["ops"]
    assert len(rows) == 60000 and rows[-1]["depth"] == 59999 and rows[-1]["path"].endswith("/aten::add"), rows[-1]
    for wrong in "--max-memory=lots", "--max-memory":
        done = subprocess.run([TIDEMARK, "peak", path, wrong], capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 2 and "--max-memory needs a" in done.stderr, done.stderr
