#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reads a section of a page (docs/formats/page.md).

page_section.py PAGE SECTION COLUMN ...        the columns, one per line
page_section.py PAGE SECTION --json MEMBER     a member of its JSON, one element per line
"""
import base64
import gzip
import json
import re
import sys
from pathlib import Path


def decode(enc: str, data: bytes, rows: int) -> list:
    if enc == "b":
        return list(data)
    out, at, last = [], 0, 0
    for _ in range(rows):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if enc != "u":
            value = -(value + 1 >> 1) if value & 1 else value >> 1
        last = value + last if enc == "d" else value
        out.append(last)
    return out


def section(page: str, name: str) -> tuple:
    """Returns the section's JSON, and its columns by name."""
    packed = re.search(rf'<script type="application/octet-stream" id="tide-{re.escape(name)}">([^<]*)</script>', page)
    if not packed:
        sys.exit(f"the page has no section {name}")
    body = gzip.decompress(base64.b64decode(packed[1]))
    heads, text = (int.from_bytes(body[i:i + 4], "little") for i in (0, 4))
    value = json.loads(body[8 + heads:8 + heads + text] or b"null")
    columns, at = {}, 8 + heads + text
    for c in json.loads(body[8:8 + heads]):
        columns[c["name"]] = decode(c["enc"], body[at:at + c["bytes"]], c["rows"])
        at += c["bytes"]
    return value, columns


def main() -> None:
    value, columns = section(Path(sys.argv[1]).read_text(), sys.argv[2])
    if sys.argv[3] == "--json":
        member = value[sys.argv[4]]
        print(*map(json.dumps, member) if isinstance(member, list) else [json.dumps(member)], sep="\n")
    else:
        for name in sys.argv[3:]:
            print(name, *columns[name])


if __name__ == "__main__":
    main()
