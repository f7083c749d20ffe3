# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Rewrites wheels and sdists so that equal content gives equal bytes: no times, no owners, files in order of their names."""
from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Callable

Files = dict[str, tuple[bytes, int]]  # name -> content, mode
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold


def _record(files: Files, name: str) -> bytes:
    rows = []
    for file, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{file},,\n" if file == name else f"{file},sha256={digest},{len(data)}\n")
    return "".join(rows).encode()


def read_wheel(path: str) -> Files:
    with zipfile.ZipFile(path) as wheel:
        return {e.filename: (wheel.read(e), e.external_attr >> 16 & 0o777) for e in wheel.infolist() if not e.is_dir()}


def write_wheel(path: str, files: Files) -> None:
    """Writes a wheel: RECORD is computed again and comes last. A program or a library keeps its mode, other files get 0644."""
    (name,) = (n for n in files if n.endswith(".dist-info/RECORD"))
    files[name] = (b"", 0o644)
    files[name] = (_record(files, name), 0o644)
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in (*sorted(f for f in files if f != name), name):
            data, mode = files[file]
            entry = zipfile.ZipInfo(file, TIME)
            entry.create_system = 3  # Unix: modes count
            entry.external_attr = (0o100755 if mode & 0o111 else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    os.rename(path + ".part", path)


def rewrite_sdist(path: str, edit: Callable[[str], str]) -> None:
    """Rewrites an sdist with edit(PKG-INFO). Other files keep their times, which are those of the commit."""
    with tarfile.open(path) as old, open(path + ".part", "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in old:
            content = old.extractfile(member)
            data = content.read() if content else b""
            if re.fullmatch(r"[^/]+/PKG-INFO", member.name):
                data = edit(data.decode()).encode()
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    os.rename(path + ".part", path)
