#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every C and C++ file is formatted as .clang-format says: format.py SOURCE [--fix]. Skipped without clang-format in .venv.

The version of clang-format is pinned by tools/setup, because versions differ in what they write.
"""
import pathlib
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
formatter = source / ".venv/bin/clang-format"
if not formatter.exists():
    print("skipped: clang-format is not in .venv (tools/setup test installs it)")
    sys.exit(77)
folders = ["src", "include", "python", "tests", "bench", "examples"]
files = sorted(str(f) for folder in folders for kind in ("c", "h", "cpp", "hpp") for f in (source / folder).rglob(f"*.{kind}"))
options = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
done = subprocess.run([formatter, *options, *files], capture_output=True, text=True, check=False)
print("\n".join(line for line in done.stderr.split("\n") if "error:" in line), end="")
print(f"{len(files)} files")
sys.exit(1 if done.returncode or len(files) < 500 else 0)
