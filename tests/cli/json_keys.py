#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every document that a command prints with --json is JSON, names itself as `tidemark schema` does, and its members are in docs/analyses.

The program checks each against its description, because the tests set TIDEMARK_TEST_REPORTS.

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
           ("hta", TRACE), ("kernels", TRACE), ("collectives", TRACE), ("waits", RECORDING), ("critical-path", TRACE), ("timeline", TRACE), ("flame", TRACE), ("predict", SNAPSHOT),
           ("compile", LOG), ("objects", OBJECTS), ("advice", TRACE), ("advice", SNAPSHOT), ("stale", RECORDING)]

# Commands that print another document for these files: several traces, sizes of a recording, HTA's rules, settings, objects at a mark.
OTHERS = [("peak", [TRACE, SNAPSHOT]), ("memory", [TRACE, SNAPSHOT]), ("leaks", [SNAPSHOT, TRACE]), ("info", [TRACE, RECORDING]), ("timeline", [TRACE, TRACE]),
          ("critical-path", [TRACE, TRACE]), ("phases --capacity 1GiB", [RECORDING]), ("hta --hta-compat", [TRACE]), ("diff --hta-compat", [TRACE, TRACE]),
          ("objects --at end", [OBJECTS]), ("config show", []), ("pack -o packed.tide", [RECORDING])]
# They print rows of tables, or run a program: their tests look.
ELSEWHERE = {"bisect", "dump", "sql", "profile", "hang", "tt", "recover", "redact", "schema", "serving", "fit"}


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
    tidemark, sample, source = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3])
    pages = " ".join(p.read_text() for p in (source / "docs/analyses").glob("*.md"))
    words = set(re.findall(r"\w+", pages)) | set(re.findall(r"^\| `(?:[^`]*\.)?([^`.]+)`", pages, re.M))  # HTA's names have spaces and %
    data = source / "tests/data"
    described = json.loads(subprocess.run([tidemark, "schema"], check=True, capture_output=True).stdout)
    names = {d["name"] for d in described["reports"] + described["documents"]}
    asked, seen, faults = [(c, [kind]) for c, kind in REPORTS] + OTHERS, set(), []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        files = {SNAPSHOT: data / "torchsnap/snapshot_gpt_train.pickle.gz", OOM: data / "torchsnap/snapshot_oom.pickle.gz",
                 TRACE: data / "kineto_gpt_train.json.gz", RECORDING: Path(folder) / "train.tide",
                 LOG: data / "torchtrace/job", OBJECTS: data / "objects.json"}
        def ask(command: str, kinds: list) -> bool:
            given = [f"{n}={files[kinds[0]]}" for n in (1, 2)] if command == "predict" else [files[kind] for kind in kinds]
            done = subprocess.run([tidemark, *command.split(), "--json", *given], check=False, capture_output=True, timeout=400, cwd=folder)
            if done.returncode:
                return False
            document = json.loads(done.stdout.decode("utf-8"))
            seen.add(document.get("report"))
            faults.extend([f"{command} --json: its name {document.get('report')} is not in `tidemark schema`"] if document.get("report") not in names else [])
            faults.extend(f"{command} --json of {', '.join(kinds)}: {key} is not in docs/analyses" for key in sorted(members(document, set()) - words))
            return True

        faults += [f"{command} --json of {', '.join(kinds)} fails" for command, kinds in asked if not ask(command, kinds)]
        commands = {c for c in re.findall(r"^  ([a-z-]+) {2,}\S", subprocess.run([tidemark, "help"], check=True, capture_output=True, text=True).stdout, re.M)
                    if "--json" in subprocess.run([tidemark, c, "--help"], check=False, capture_output=True, text=True).stdout}
        new = sorted(commands - {c.split()[0] for c, _ in asked} - ELSEWHERE)  # they have no row here
        faults += [f"{c} --json of any file here fails: it needs a row" for c in new if not any(ask(c, [kind]) for kind in (TRACE, RECORDING, SNAPSHOT))]
    print("\n".join(faults) or f"{len(asked)} calls, {len(seen)} documents: every member has a definition")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
