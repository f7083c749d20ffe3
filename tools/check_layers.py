#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Check who includes whom. The table below is the architecture; ARCHITECTURE.md draws it."""
import pathlib
import re
import sys

MAY = {  # folder of src/ -> folders it may include besides itself
    "base": set(),
    "format": {"base"},
    "runtime": {"base", "format"},
    "capture": {"base", "format", "runtime"},
    "config": {"base"},
    "model": {"base"},
    "import": {"base", "format", "model"},
    "analyze": {"base", "model"},
    "render": {"base", "model", "analyze"},
    "api": {"base", "model", "import", "analyze", "render"},
    "serve": {"base", "format", "model", "import", "analyze", "render", "api"},
    "usage": {"base", "model", "import", "analyze", "render"},
    "cli": {"base", "config", "format", "model", "import", "analyze", "render", "api", "serve"},
}
# What runs inside other people's processes may use nothing but libc, its own headers and xxHash.
INJECTED = {"base", "runtime", "capture"}
FOREIGN = re.compile(r"^(zstd|isa-l|cairo|microhttpd|mpi|cmocka|zlib)")
ONLY_CLI = re.compile(r"(?<![\w.>])(?:printf|puts|putchar|perror|exit|abort)\s*\(|\bstdout\b|\bstderr\b")


def without_comments(text: str) -> str:
    """The code alone, line numbers kept: no comments, no strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def includes(path: pathlib.Path, folder: str, text: str) -> list[str]:
    faults = []
    for n, line in enumerate(text.splitlines(), 1):
        if m := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            top = m[1].split("/")[0]
            if "/" in m[1] and top != folder and top not in MAY[folder]:
                faults.append(f"{path}:{n}: src/{folder} may not include src/{top}")
        if (m := re.match(r"\s*#\s*include\s+<([^>]+)>", line)) and folder in INJECTED and FOREIGN.match(m[1]):
            faults.append(f"{path}:{n}: src/{folder} goes into other processes: no <{m[1]}> there")
    return faults


def prints(path: pathlib.Path, text: str) -> list[str]:
    lines = enumerate(without_comments(text).splitlines(), 1)
    return [f"{path}:{n}: only src/cli prints or exits: {s.strip()}" for n, s in lines if ONLY_CLI.search(s)]


def check(path: pathlib.Path, src: pathlib.Path) -> list[str]:
    folder = path.relative_to(src).parts[0]
    if folder not in MAY:
        return [f"{path}: folder src/{folder} has no row in tools/check_layers.py"]
    text = path.read_text(encoding="utf-8")
    return includes(path, folder, text) + ([] if folder == "cli" else prints(path, text))


def main() -> int:
    src = pathlib.Path(__file__).resolve().parent.parent / "src"
    files = sorted(p for p in src.rglob("*") if p.suffix in {".c", ".h", ".cpp"})
    faults = [f for p in files for f in check(p, src)]
    print("\n".join(faults) if faults else f"{len(files)} files keep the layers")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
