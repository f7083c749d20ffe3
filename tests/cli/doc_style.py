#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Documents can be reviewed and followed: doc_style.py SOURCE.

Prose wraps at 100 columns (tables, code blocks, headings and unbreakable words excepted). Every path and every
tide_ name in backticks exists in the source tree."""
import re
import sys
from pathlib import Path

WIDTH = 100
CODE = {".c", ".h", ".cpp", ".hpp", ".py", ".ts", ".tsx", ".mjs", ".md", ".scd", ".build", ".map", ".json", ".toml"}
SKIPPED = {"build", "node_modules", "dist", ".git", ".venv", "subprojects"}
BASES = ["", "src", "include", "include/tidemark", "web", "web/src", "python", "python/tidemark", "docs", "tests", "tests/python"]
PATH = re.compile(r"^[\w.-]+(?:/[\w.-]+)*(?:\.(?:c|h|cpp|hpp|py|ts|tsx|mjs|md|scd|map)|/)$")
SHORT = re.compile(r"^(?:base|config|format|runtime|capture|model|import|analyze|render|api|usage|serve|cli|src|docs|tests|web|python|tools|bench|include|examples)/[\w./-]+$")


def documents(source: Path) -> list:
    return [source / n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(source.glob("docs/**/*.md"))


def prose(text: str):
    """Number and text of each line that is neither code nor a table."""
    fence = False
    for i, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and not re.match(r"\s*\||    |\t|#|\s*!\[|\s*<|\[\S+\]: ", line):
            yield i, line


def too_wide(text: str) -> list:
    wide = []
    for i, line in prose(text):
        words = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line).split(" ")
        if len(line) > WIDTH and len(words) > 1 and any(len(w) < WIDTH for w in words[1:]):
            wide.append((i, len(line)))
    return wide


def tree(source: Path):
    """Names of all files, and all tide_ names in code."""
    files, names = set(), set()
    for f in source.rglob("*"):
        if SKIPPED & set(f.relative_to(source).parts) or any(p.startswith("build") for p in f.relative_to(source).parts[:1]):
            continue
        if f.is_file():
            files.add(f.name)
            if f.suffix in CODE - {".md", ".scd"} and f.stat().st_size < 2_000_000:
                names |= set(re.findall(r"\b(?:tide|TIDE)_\w+", f.read_text(encoding="utf-8", errors="replace")))
    return files, names


def exists(path: str, document: Path, source: Path, files: set) -> bool:
    bases = [document.parent, *(source / b for b in BASES)]
    return any((b / path).exists() for b in bases) or "/" not in path and path in files


def ours(path: str) -> bool:
    """A path of this repository: those of torch, Triton and build results are not."""
    if path.startswith((".", "/", "torch/", "triton/", "dist/")):
        return False
    return bool(PATH.match(path) and "/" in path or SHORT.match(path))


def wrong_names(document: Path, source: Path, files: set, names: set) -> list:
    wrong = []
    for i, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for token in re.findall(r"`([^`\s]+)`", line):
            here = re.sub(r"(?:\(\)|:\d+)$", "", token)
            if ours(here) and not exists(here, document, source, files):
                wrong.append(f"{i}: no file {here}")
        for name in re.findall(r"\b(?:tide|TIDE)_\w+", line):
            known = name in names or name.endswith("_") and any(n.startswith(name) for n in names)
            if not known and not name.endswith(("_NAME_find", "_NAME")):
                wrong.append(f"{i}: no such name {name}")
    return wrong


def main() -> int:
    source = Path(sys.argv[1])
    files, names = tree(source)
    assert "model.h" in files and "tide_alloc" in names, "the source tree is not where it should be"
    failures = []
    for d in documents(source):
        where = d.relative_to(source)
        failures += [f"{where}:{i}: {n} columns; wrap prose at {WIDTH}" for i, n in too_wide(d.read_text(encoding="utf-8"))]
        failures += [f"{where}:{w}" for w in wrong_names(d, source, files, names)]
    print("\n".join(failures) or f"{len(documents(source))} documents are fine")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
