#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every member that a --json report prints is named in docs/analyses, and every report is JSON.

json_keys.py TIDEMARK SAMPLE SOURCE: SAMPLE writes recordings, SOURCE has tests/data and docs."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Members whose own members are names from the trace.
NAMED = {"facts", "losses", "metrics", "tables", "edge_types", "path_by_type_ns", "settings", "args"}

SNAPSHOT, OOM, TRACE, RECORDING, LOG, OBJECTS = "snapshot", "oom", "trace", "recording", "log", "result"
REPORTS = [("overview", TRACE), ("overview", RECORDING), ("info", RECORDING), ("info", TRACE), ("memory", SNAPSHOT), ("memory", RECORDING), ("peak", SNAPSHOT), ("phases", RECORDING),
           ("ops", RECORDING), ("modules", RECORDING), ("heap", RECORDING), ("device", RECORDING), ("allocator", SNAPSHOT), ("leaks", SNAPSHOT), ("oom", OOM), ("whatif", SNAPSHOT), ("whatif", OOM),
           ("hta", TRACE), ("kernels", TRACE), ("critical-path", TRACE), ("timeline", TRACE), ("flame", TRACE), ("predict", SNAPSHOT),
           ("compile", LOG), ("objects", OBJECTS), ("advice", TRACE), ("advice", SNAPSHOT)]


def members(value, found: set) -> set:
    if isinstance(value, dict):
        for key, below in value.items():
            found.add(key)
            if key not in NAMED or isinstance(below, list):
                members(below, found)
    elif isinstance(value, list):
        for below in value:
            members(below, found)
    return found


def main() -> int:
    tidemark, sample, source = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    words = set(re.findall(r"\w+", " ".join(p.read_text() for p in (source / "docs/analyses").glob("*.md"))))
    data = source / "tests/data"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        files = {SNAPSHOT: data / "torchsnap/snapshot_gpt_train.pickle.gz", OOM: data / "torchsnap/snapshot_oom.pickle.gz",
                 TRACE: data / "kineto_gpt_train.json.gz", RECORDING: Path(folder) / "train.tide",
                 LOG: data / "torchtrace/job", OBJECTS: data / "objects.json"}
        for command, kind in REPORTS:
            given = [f"{n}={files[kind]}" for n in (1, 2)] if command == "predict" else [files[kind]]
            done = subprocess.run([tidemark, command, "--json", *given], check=True, capture_output=True, timeout=400)
            for key in sorted(members(json.loads(done.stdout.decode("utf-8")), set()) - words):
                failed += 1
                print(f"{command} --json of a {kind}: {key} is not in docs/analyses")
    print(f"{len(REPORTS)} reports, {failed} members without a definition")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
