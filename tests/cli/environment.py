#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run` extends variables of the environment of any length, without dropping parts of them.

environment.py TIDEMARK"""
import json
import os
import subprocess
import sys
import tempfile

TIDEMARK = sys.argv[1]
LONG = {
    "PYTHONPATH": ":".join(f"/nonexistent/{i:04}" for i in range(3000)),
    "LD_LIBRARY_PATH": ":".join(f"/nonexistent/{i:04}" for i in range(1500)),
    "LD_PRELOAD": ":".join(["libm.so.6"] * 2000),
}
TELL = "import json, os; print(json.dumps(dict(os.environ)))"

with tempfile.TemporaryDirectory() as folder:
    for name, value in LONG.items():
        done = subprocess.run([TIDEMARK, "run", "-o", f"{folder}/x.tide", "--", sys.executable, "-c", TELL], capture_output=True, text=True,
            timeout=400, check=True, env={**os.environ, name: value})
        seen = json.loads(done.stdout)[name]
        assert len(value) > 8192 and seen.endswith(value), (name, len(value), len(seen))
        assert name == "LD_LIBRARY_PATH" or len(seen) > len(value), name  # and ours comes before
    gone = f"{folder}/gone"
    os.mkdir(gone)
    done = subprocess.run(["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "{os.path.abspath(TIDEMARK)}" run -- true'], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 2 and "working directory was removed" in done.stderr, done.stderr
    odd = f"{folder}/a\x9b\u202e\x1b[31mb.tide"  # messages contain no control characters
    for command in ["run", "-o", odd, "--", "true"], ["peak", odd], ["run", "--", odd]:
        done = subprocess.run([TIDEMARK, *command], capture_output=True, text=True, timeout=400, check=False)
        assert not any(c in done.stdout + done.stderr for c in "\x9b\u202e\x1b"), (command, done.stderr)
print("environment: nothing dropped")
