#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Documents can be reviewed and followed: doc_style.py SOURCE [--fix]. --fix wraps prose that is too wide.

Prose wraps at 100 columns (tables, code blocks, headings and unbreakable words excepted). Every path and every
tide_ name in backticks exists in the source tree."""
import re
import sys
import textwrap
from pathlib import Path

WIDTH = 100
CODE = {".c", ".h", ".cpp", ".hpp", ".py", ".ts", ".tsx", ".mjs", ".md", ".scd", ".build", ".map", ".json", ".toml"}
SKIPPED = {"build", "node_modules", "dist", ".git", ".venv", "subprojects"}
BASES = ["", "src", "include", "include/tidemark", "web", "web/src", "python", "python/tidemark", "docs", "tests", "tests/python"]
PATH = re.compile(r"^[\w.-]+(?:/[\w.-]+)*(?:\.(?:c|h|cpp|hpp|py|ts|tsx|mjs|md|scd|map)|/)$")
SHORT = re.compile(r"^(?:base|config|format|runtime|capture|model|import|analyze|render|api|usage|serve|cli|src|docs|tests|web|python|tools|bench|include|examples)/[\w./-]+$")


def documents(source: Path) -> list:
    return [source / n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bench/RESULTS.md")] + sorted(source.glob("docs/**/*.md"))


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


ITEM = re.compile(r"^(\s*)((?:[-*]|\d+\.) +)(.*)$")
SPECIAL = re.compile(r"\s*\||#|\s*!\[|\s*<|\[\S+\]: |---|===|\s*```")


def wrap(lines: list, first: str, rest: str) -> list:
    """The lines as one paragraph; code spans stay in one piece, and no line begins like a list or a heading."""
    text = re.sub(r"`[^`]{1,60}`", lambda m: m[0].replace(" ", "\0"), " ".join(line.strip() for line in lines))
    out = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    for i in range(1, len(out)):
        if re.match(r"\s*(?:[-*+#|>]|\d+\.)(?:\s|$)", out[i]):
            out[i - 1], _, word = out[i - 1].rpartition(" ")
            out[i] = rest + word + " " + out[i].lstrip()
    return [line.replace("\0", " ") for line in out]


def paragraph(lines: list, i: int, listed: bool):
    """End of the paragraph or list item at line i, with the indents of its first and further lines; None: leave the line alone."""
    item = ITEM.match(lines[i])
    if item and len(item[1]) < (12 if listed else 4):
        first, rest = item[1] + item[2], item[1] + " " * len(item[2])
        goes_on = " " * (len(item[1]) + 2)
    elif lines[i].startswith(("    ", "\t")) and not listed:
        return None
    else:
        first = rest = goes_on = re.match(r" *", lines[i])[0]
    j = i + 1
    while j < len(lines) and lines[j].strip() and lines[j].startswith(goes_on) and not ITEM.match(lines[j]) and not SPECIAL.match(lines[j]):
        j += 1
    return j, first, rest


def wrapped(text: str) -> str:
    lines, out, i, fence, listed = text.split("\n"), [], 0, False, False
    while i < len(lines):
        fence ^= lines[i].lstrip().startswith("```")
        found = None if fence or not lines[i].strip() or SPECIAL.match(lines[i]) else paragraph(lines, i, listed)
        if not found:
            out.append(lines[i])
            i += 1
            continue
        j, first, rest = found
        listed = bool(ITEM.match(lines[i])) or listed and bool(rest)
        wide = any(len(line) > WIDTH for line in lines[i:j])
        out += wrap([ITEM.sub(r"\3", lines[i]), *lines[i + 1:j]], first, rest) if wide else lines[i:j]
        i = j
    return "\n".join(out)


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


def stems(files: set) -> set:
    return {f.split(".")[0] for f in files}


def exists(path: str, document: Path, source: Path, files: set) -> bool:
    bases = [document.parent, *(source / b for b in BASES)]
    name = path.rsplit("/", 1)[-1]  # a test is named without its ending: python/test_profiling
    return any((b / path).exists() for b in bases) or "/" not in path and path in files or "." not in name and name in stems(files)


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
        if "--fix" in sys.argv:
            d.write_text(wrapped(d.read_text(encoding="utf-8")), encoding="utf-8")
        where = d.relative_to(source)
        failures += [f"{where}:{i}: {n} columns; wrap prose at {WIDTH}" for i, n in too_wide(d.read_text(encoding="utf-8"))]
        failures += [f"{where}:{w}" for w in wrong_names(d, source, files, names)]
    print("\n".join(failures) or f"{len(documents(source))} documents are fine")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
