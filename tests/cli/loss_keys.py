#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every loss is a row of the table in src/model/losses.c: loss_keys.py SOURCE.

A key in the sources needs a row; a row needs a source that writes it and, where a document lists losses by key, the
documents may name only rows."""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
table = (top / "src/model/losses.c").read_text(encoding="utf-8")
rows = re.findall(r'^\t\{ "(\w+)"', table, re.M)
known = set(rows)
faults = [f"src/model/losses.c: two rows for {k}" for k in sorted(known) if rows.count(k) > 1]

KEY = re.compile(r'"loss\.(\w*[a-z])"')
written: set[str] = set()
texts: set[str] = set()
for folder in ("src", "python"):
    for path in sorted(p for p in (top / folder).rglob("*") if p.suffix in {".c", ".h", ".cpp", ".py"}):
        if path.name in {"losses.c", "losses.h"}:
            continue
        text = path.read_text(encoding="utf-8")
        texts |= set(re.findall(r'"(\w+)"', text))
        for key in KEY.findall(text):
            written.add(key)
            if key not in known:
                faults.append(f"{path.relative_to(top)}: loss.{key} has no row in src/model/losses.c")
assert len(written) > 60, "the pattern finds no keys"

# The importer of tracker documents writes "loss." and a member's name; a sum over traces counts those with a position
# or a text, as KEY_traces (analyze/device/hta_job.c).
for key in sorted(known - written - texts):
    base = key.removesuffix("_traces")
    if base == key or not {base, base + "_at"} & known:
        faults.append(f"src/model/losses.c: nothing writes loss.{key}")

for path in sorted((top / "docs").rglob("*.md")):
    for key in re.findall(r"\bloss\.([a-z_]+[a-z])\b(?!\*)", path.read_text(encoding="utf-8")):
        if key not in known and key not in {"tt", "item"}:  # loss.item(): of a tensor
            faults.append(f"{path.relative_to(top)}: no loss is called {key}")
print("\n".join(faults) or f"{len(rows)} losses, {len(written)} of them in the sources")
sys.exit(bool(faults))
