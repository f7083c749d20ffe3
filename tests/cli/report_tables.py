#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every report writes the tables of its JSON as CSV and as Arrow (read with pyarrow, where it is installed).

report_tables.py TIDEMARK SAMPLE SOURCE: SAMPLE writes recordings, SOURCE has tests/data."""
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import pyarrow
    import pyarrow.ipc
except ImportError:
    pyarrow = None
    print("skipped Arrow: pyarrow is not installed")


def run(*words) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, check=False)
    if done.returncode not in (0, 4):  # 4: the input is cut off
        raise SystemExit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def flat(row: dict, columns: list[str], prefix: str = "") -> dict[str, object]:
    """Returns a row with the members of nested objects under their dotted names, unless the object is a column itself: a map."""
    out: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, dict) and prefix + key not in columns:
            out |= flat(value, columns, f"{prefix}{key}.")
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
        return type(value)(field) == value
    return re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), field) == value


def tables(document: dict, names: dict) -> dict[str, list]:
    """Returns the tables of a document, and its single values; an empty list is a table if it has a file."""
    found = {k: v for k, v in document.items() if isinstance(v, list) and all(isinstance(row, dict) for row in v) and (v or k in names)}
    return found | {"values": [{k: v for k, v in document.items() if k not in found and k not in ("report", "version")}]}


def check(where: str, text: str, wanted: list) -> list[str]:
    if not text.endswith("\r\n") or re.search(r"(?<!\r)\n", re.sub(r'"[^"]*"', "", text)):
        return [f"{where}: lines do not end with CR LF"]
    header, *rows = list(csv.reader(text.splitlines(keepends=True)))
    faults = [f"{where}: {len(rows)} rows, {len(wanted)} in JSON"] if len(rows) != len(wanted) else []
    for number, (row, want) in enumerate(zip(rows, wanted), 1):
        values = flat(want, header)
        faults += [f"{where}: row {number} has {len(row)} fields, the header {len(header)}"] if len(row) != len(header) else []
        faults += [f"{where}: row {number}: no column {k}" for k in values.keys() - set(header) if values[k] is not None]
        faults += [f"{where}: row {number}: {k} is {f!r}, not {values.get(k)!r}" for k, f in zip(header, row) if not same(f, values.get(k))]
    return faults[:5]


def check_arrow(where: str, file: Path, report: str, name: str, wanted: list) -> list[str]:
    with pyarrow.memory_map(str(file)) as mapped:
        table = pyarrow.ipc.open_file(mapped).read_all()
        table.validate(full=True)
        about = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
        about_columns = list(table.schema)
        faults = [] if about["report"] == report and about["table"] == name else [f"{where}: metadata {about}"]
        faults += [f"{where}: {f.name} has no meaning" for f in table.schema if not f.metadata[b"meaning"]]
        faults += [f"{where}: {table.num_rows} rows, {len(wanted)} in JSON"] if table.num_rows != len(wanted) else []
        table = pyarrow.table([c.cast("int64") if pyarrow.types.is_timestamp(c.type) else c for c in table.columns], table.schema.names) if table.num_columns else table
        kinds = {f.name: f.metadata[b"kind"] for f in about_columns}
        columns = {k: [json.loads(v) if v is not None and kinds[k] == b"JSON" else v for v in c.to_pylist()] for k, c in zip(table.column_names, table.columns)}
    for number, want in enumerate(wanted):
        values = flat(want, list(columns))
        faults += [f"{where}: row {number + 1}: {k} is {c[number]!r}, not {values.get(k)!r}" for k, c in columns.items() if c[number] != values.get(k)]
    return faults[:5]


def main() -> int:
    tidemark, sample, source = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    csv.field_size_limit(1 << 30)  # a tree is one field
    commands = [c for c in re.findall(r"^  ([a-z-]+) {2,}\S", run(tidemark, "help"), re.M) if "--csv" in run(tidemark, c, "--help")]
    faults, compared, seen = [], 0, set()
    with tempfile.TemporaryDirectory() as folder:
        run(sample, folder)
        for trace in [*sorted(Path(folder).glob("*.tide")), source / "tests/data/torchsnap/snapshot_oom.pickle.gz", *(source / "tests/data" / f"kineto_{n}.json.gz" for n in ("compiled_infer", "gpt_train_stack")), next((source / "tests/data/torchtrace").iterdir())]:
            for command in commands:
                if (command == "compile") != (trace.parent.name == "torchtrace"):
                    continue  # it reads logs alone
                if command == "critical-path" and not trace.name.startswith("kineto"):
                    continue  # it needs launches and kernels
                if command in ("predict", "fit", "sql", "hang"):
                    continue  # they need recordings of two sizes, a query, or dumps
                inputs = [trace] * (2 if command == "diff" else 1)
                document = json.loads(run(tidemark, command, "--json", *inputs))
                where = f"{command} {trace.name}"
                every = Path(folder) / "tables"
                run(tidemark, command, "--csv", "-o", f"{every}/", *inputs)
                files = {p.stem: p for p in every.iterdir()}
                wanted = tables(document, files)
                main = next(iter(wanted))
                faults += [f"{where}: no table {k}" for k in wanted.keys() - files.keys()]
                if command not in seen:  # three ways to the same text
                    texts = [files[main].read_bytes().decode(), run(tidemark, command, "--csv", *inputs)]
                    run(tidemark, command, "-o", Path(folder) / "x.csv", *inputs)
                    texts.append((Path(folder) / "x.csv").read_bytes().decode())
                    faults += [f"{where}: --csv, -o x.csv and --csv -o DIR/ differ"] if len(set(texts)) > 1 else []
                    seen.add(command)
                for name, file in files.items():
                    rows = wanted.get(name, [])  # a table that this trace does not have is empty
                    faults += check(f"{where} {name}", file.read_bytes().decode(), rows)
                    file.unlink()
                    compared += 1
                arrow = Path(folder) / "x.arrow"
                run(tidemark, command, "-o", arrow, *inputs)
                if pyarrow:
                    faults += check_arrow(where + " Arrow", arrow, command, main, wanted[main])
    print("\n".join(faults) or f"{compared} tables are equal in CSV, Arrow and JSON")
    return bool(faults) or not compared


if __name__ == "__main__":
    sys.exit(main())
