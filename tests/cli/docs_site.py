#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The documents build as a site, and every link in them leads somewhere: docs_site.py SOURCE. Skipped without mkdocs."""
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
mkdocs = source / ".venv/bin/mkdocs"
if not mkdocs.exists():
    print("skipped: mkdocs-material is not in .venv (tools/setup test installs it)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([mkdocs, "build", "--quiet", "--strict", "-f", source / "mkdocs.yml", "-d", folder],
                          capture_output=True, text=True, env=dict(os.environ, NO_MKDOCS_2_WARNING="1"))
    pages = len(list(pathlib.Path(folder).rglob("*.html")))
print(done.stdout + done.stderr, end="")
print(f"{pages} pages")
sys.exit(1 if done.returncode or pages < 40 else 0)
