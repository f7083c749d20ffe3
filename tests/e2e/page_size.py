#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A page is no larger than its trace, gzipped, and the page's code (as the browser runs it; in the page it is
packed too), for every Kineto trace at hand. With -v a line for each, and where the bytes are."""
import base64
import gzip
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = re.compile(rb'<script type="text/plain" id="code-\w+">([^<]*)</script>')
SECTION = re.compile(rb'<script type="application/octet-stream" id="tide-(\w+)">[^<]*</script>\n')
MOST_READ = 40 << 20  # larger ones take too long for a test


def traces() -> list:
    here = Path(os.environ.get("TIDE_SOURCE", Path(__file__).resolve().parents[2])) / "tests/data"
    shared = Path(os.environ.get("TIDE_SHARED", "/nowhere")) / "data"
    found = [p for root in (here, shared) if root.is_dir() for p in sorted(root.rglob("*.json*")) if p.is_file()]
    return [p for p in found if p.name.endswith((".json", ".json.gz")) and p.stat().st_size < MOST_READ]


def packed(path: Path) -> int:
    return path.stat().st_size if path.suffix == ".gz" else len(gzip.compress(path.read_bytes(), 6))


def measure(tidemark: str, path: Path, page: Path) -> tuple:
    """Bytes of the page, of the code unpacked, of each section; None when it is no trace of this kind."""
    told = subprocess.run([tidemark, "info", path], capture_output=True, text=True)
    if told.returncode or "kineto" not in told.stdout:
        return None
    subprocess.run([tidemark, "report", path, "-o", page], check=True, capture_output=True)
    text = page.read_bytes()
    parts = {m[1].decode(): len(m[0]) for m in SECTION.finditer(text)}
    packed_code = [m[1] for m in CODE.finditer(text)]
    code = len(text) - sum(parts.values()) - sum(map(len, packed_code))
    return len(text), code + sum(len(gzip.decompress(base64.b64decode(c))) for c in packed_code), parts


def main() -> int:
    tidemark, verbose = os.environ.get("TIDEMARK", "tidemark"), "-v" in sys.argv
    failed = seen = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in traces():
            found = measure(tidemark, path, Path(folder) / "page.html")
            if found is None:
                continue
            size, code, parts = found
            most = packed(path) + code
            seen += 1
            bad = size > most
            failed += bad
            if bad or verbose:
                print(f"{'TOO LARGE' if bad else 'ok':9} {size:9} of {most:9}  {path.name}  {parts}")
    print(f"{seen} traces, {failed} pages larger than they may be")
    return failed > 0 or seen == 0


if __name__ == "__main__":
    sys.exit(main())
