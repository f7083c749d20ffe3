# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""docs/formats/tide.md names every record and field of the schema that recordings carry: doc_schema.py PROG SOURCE, where PROG is tests/fault/prog."""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "tests" / "fault"))
from tide_read import Tide  # noqa: E402


def documented():
    """(tag, record): text of its fields, with those of the record that it is like."""
    rows = {}
    for tag, name, text in re.findall(r"^\| (\d+) \| (\w+) \| (.*) \|$", (SOURCE / "docs" / "formats" / "tide.md").read_text(), re.M):
        like = re.match(r"as (\w+), then ", text)
        text = text if not like else next(t for (_, n), t in rows.items() if n == like[1]) + ", " + text[like.end():]
        rows.setdefault((int(tag), name), text)
    return rows


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "whosefd", f"{folder}/x.tide"], check=True, capture_output=True)
        schema = Tide(f"{folder}/x.tide").schema
    rows, faults = documented(), []
    for tag, (name, wire, fields) in sorted(schema.items()):
        text = rows.get((tag, name))
        if text is None:
            faults.append(f"record {tag} {name} is not in the table")
            continue
        for kind, field in zip(wire, fields):
            if field and not re.search(rf"(?:^|, ){kind} {field}\b", text):
                faults.append(f"record {name}: no field {kind} {field} in: {text}")
    print("\n".join(faults) or f"{len(schema)} records are documented")
    sys.exit(bool(faults))


main()
