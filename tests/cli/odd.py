#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Figures of the allocator that a contradiction makes unknown are unknown in JSON and on the page, from the same moment on.

odd.py TIDEMARK WRITER: WRITER records (odd.c)."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from page_section import section  # noqa: E402

TIDEMARK, WRITER = sys.argv[1:3]
FREE = {"frag_cached": "cached_free_bytes", "frag_split": "inactive_split_bytes", "frag_expandable": "expandable_free_bytes", "frag_largest": "largest_free_block_bytes"}

with tempfile.TemporaryDirectory() as folder:
    tide, html = f"{folder}/odd.tide", f"{folder}/odd.html"
    subprocess.run([WRITER, tide], check=True, timeout=300)
    done = subprocess.run([TIDEMARK, "allocator", tide, "--json", "--buckets", "500"], check=True, capture_output=True, timeout=300)
    subprocess.run([TIDEMARK, "report", tide, "-o", html], check=True, timeout=300)
    said = json.loads(done.stdout)
    page, columns = section(Path(html).read_text(), "allocator")

(over,) = page["over"]
points, odd = over["points"], over["odd"]
at = {name: list(values)[1:] for name, values in columns.items() if name.startswith("frag_")}  # the first is where most was unused
assert points == len(at["frag_t"]) == 21, points
assert 0 < odd < points, odd
unknown = [p for p in said["over_time"] if p["cached_free_bytes"] is None]
known = [p for p in said["over_time"] if p["cached_free_bytes"] is not None]
assert known and unknown
assert known[-1]["time_ns"] < at["frag_t"][odd] <= unknown[0]["time_ns"], (known[-1]["time_ns"], at["frag_t"][odd], unknown[0]["time_ns"])
for p in known:  # the last point until then
    i = max((i for i in range(odd) if at["frag_t"][i] <= p["time_ns"]), default=None)
    for column, member in FREE.items():
        assert i is None or at[column][i] == p[member], (column, p)
for i in range(odd, points):  # unknown figures are absent
    assert all(at[column][i] == 0 for column in FREE), i
assert over["worst_odd"] is (said["most_unused"][0]["cached_free_bytes"] is None)
print("what is unknown:", "the same in JSON and on the page")
