#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The documents build as a site, and every link in them leads somewhere: docs_site.py SOURCE. Skipped without mkdocs.

The API reference has a heading for each function of the installed headers and each public name of the Python package. No page
fetches anything from another host."""
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1]).resolve()
mkdocs = source / ".venv/bin/mkdocs"
if not mkdocs.exists():
    print("skipped: mkdocs-material is not in .venv (tools/setup test installs it)")
    sys.exit(77)


def names() -> dict:
    """Returns the page of each public name."""
    found = {}
    for header in sorted((source / "include/tidemark").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        found.update({name: f"{header.stem}_h" for name in re.findall(r"(?m)^(?:TIDE_API )?[\w *]+?\b(tide_\w+)\([^;{]*\);", text)})
    for module in ("tidemark", "tidemark.profiling"):
        text = (source / "python" / module.replace(".", "/") / "__init__.py").read_text()
        (listed,) = (n.value for n in ast.parse(text).body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == ("__all__" if module == "tidemark" else "_LATER"))
        values = ast.literal_eval(listed)
        found.update({f"{module}.{name}": module for name in values if name not in ("annotate",)})
    found.update({f"tidemark.torch.{n}": "tidemark.torch" for n in ("attach", "detach", "label", "role")})
    found.update({f"tidemark.objects.{n}": "tidemark.objects" for n in ("memory_report", "register", "footprint", "mark")})
    return found


def leads(path: pathlib.Path) -> bool:
    return path.is_file() or (path / "index.html").is_file()


def lacking(site: pathlib.Path) -> list:
    wrong, texts = [], {}
    for name, page in names().items():
        html = texts.setdefault(page, (site / "api" / page / "index.html").read_text())
        if not re.search(rf'<h[23] id="[^"]*">{re.escape(name.rpartition(".")[2])}<', html):
            wrong.append(f"api/{page}: no heading for {name}")
    for file in site.rglob("*.html"):
        html = file.read_text()
        wrong += [f"{file.relative_to(site)}: fetches {m}" for m in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]*)"', html) if "rel=\"canonical\"" not in m]
        wrong += [f"{file.relative_to(site)}: {m} leads nowhere" for m in re.findall(r'href="((?!https?:|mailto:|data:|#|/)[^"]+)"', html)
                  if not leads(file.parent / m.partition("#")[0])]
    return wrong


with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([mkdocs, "build", "--quiet", "--strict", "-f", source / "mkdocs.yml", "-d", folder],
                          capture_output=True, text=True, env=dict(os.environ, NO_MKDOCS_2_WARNING="1"))
    pages = len(list(pathlib.Path(folder).rglob("*.html")))
    wrong = [] if done.returncode else lacking(pathlib.Path(folder))
print(done.stdout + done.stderr, end="")
print(*wrong, f"{pages} pages, {len(names())} names of the API", sep="\n")
sys.exit(1 if done.returncode or wrong or pages < 50 else 0)
