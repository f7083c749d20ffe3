#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The CSV of every report that has --csv holds the rows of the first table of its JSON.

csv_tables.py TIDEMARK SAMPLE SOURCE: SAMPLE writes recordings, SOURCE has tests/data."""
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, check=False)
    if done.returncode not in (0, 4):  # 4: the input is cut off
        raise SystemExit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def flat(row: dict, prefix: str = "") -> dict[str, object]:
    """Returns a row with the members of nested objects under their dotted names."""
    out: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out |= flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def same(field: str, value: object) -> bool:
    """Compares a field with a JSON value: unknown is empty, a list is JSON, control characters and bad bytes of a text are \\xNN."""
    if value is None:
        return field == ""
    if isinstance(value, bool):
        return field == str(value).lower()
    if isinstance(value, (list, dict)):
        return json.loads(field) == value
    if isinstance(value, (int, float)):
        return float(field) == value
    return re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), field) == value


def check(where: str, text: str, document: dict) -> list[str]:
    if not text.endswith("\r\n") or re.search(r"(?<!\r)\n", re.sub(r'"[^"]*"', "", text)):
        return [f"{where}: lines do not end with CR LF"]
    header, *rows = list(csv.reader(text.splitlines(keepends=True)))
    tables = [v for v in document.values() if isinstance(v, list)]
    wanted = tables[0] if tables else [{k: v for k, v in document.items() if k not in ("report", "version")}]
    faults = [f"{where}: {len(rows)} rows, {len(wanted)} in JSON"] if len(rows) != len(wanted) else []
    for number, (row, want) in enumerate(zip(rows, wanted), 1):
        values = flat(want)
        faults += [f"{where}: row {number} has {len(row)} fields, the header {len(header)}"] if len(row) != len(header) else []
        parts = {name.rpartition(".")[0] for name in header}  # of an object that is null, each member is an empty field
        faults += [f"{where}: row {number}: no column {k}" for k, v in values.items() if k not in header and not (v is None and k in parts)]
        faults += [f"{where}: row {number}: {k} is {f!r}, not {values.get(k)!r}" for k, f in zip(header, row) if not same(f, values.get(k))]
    return faults[:5]


def main() -> int:
    tidemark, sample, source = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    commands = [c for c in re.findall(r"^  ([a-z-]+) {2,}\S", run(tidemark, "help"), re.M) if "--csv" in run(tidemark, c, "--help")]
    faults, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        run(sample, folder)
        for trace in [*sorted(Path(folder).glob("*.tide")), source / "tests/data/torchsnap/snapshot_oom.pickle.gz", *sorted((source / "tests/data").glob("kineto*.json.gz"))]:
            for command in commands:
                document = json.loads(run(tidemark, command, "--json", trace))
                text = run(tidemark, command, "--csv", trace)
                faults += check(f"{command} {trace.name}", text, document)
                compared += 1
                named = Path(folder) / f"{command}.csv"
                if not named.exists():
                    run(tidemark, command, "-o", named, trace)
                    if named.read_bytes().decode() != text:
                        faults.append(f"{command} -o x.csv differs from --csv")
    print("\n".join(faults) or f"{compared} tables are equal in CSV and JSON")
    return bool(faults) or not compared


if __name__ == "__main__":
    sys.exit(main())
