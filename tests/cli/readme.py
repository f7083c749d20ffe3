#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every command that the README shows under "What to ask" works as written, no document names an option that a command lacks, no
document or comment names a missing file, and docs/README.md has every document: readme.py TIDEMARK SAMPLE SOURCE.

FILE, TRACE, LOG, SNAPSHOT, A and B become small inputs; parts in square brackets are tried too. `serve` only has to begin."""
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


TEXTS = {".md", ".c", ".h", ".cpp", ".hpp", ".py", ".ts", ".tsx", ".mjs", ".build", ".scd", ".json"}


def commands(readme: str) -> list:
    block = readme.split("## What to ask", 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]
    return [line.split("  #")[0].split(" # ")[0].strip() for line in block.splitlines() if line.startswith("tidemark ")]


def inputs(folder: Path, source: Path) -> dict:
    data = source / "tests" / "data"
    return {"FILE": "train.tide", "A": "train.tide", "B": "train.tide", "FOLDER": str(folder),
            "TRACE": str(data / "kineto_gpt_train.json.gz"), "TRACE...": str(data / "kineto_gpt_train.json.gz"),
            "LOG": str(source / "tests" / "fuzz" / "ttlog.corpus" / "plain"), "DUMPS": str(data / "flightrec" / "missing_rank"), "COMPILE_LOG": str(data / "torchtrace" / "job"),
            "SNAPSHOT": str(data / "torchsnap" / "snapshot_oom.pickle.gz")}


def filled(word: str, given: dict) -> str:
    size, equals, file = word.partition("=")  # 8=A
    return given.get(word) or (f"{size}={given[file]}" if equals and size.isdigit() and file in given else word)


def run(program: str, words: list, folder: Path) -> str:
    """Returns the error, or ""."""
    if words[1] == "serve":
        with subprocess.Popen([program, *words[1:], "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            said = p.stdout.readline()
            p.terminate()
            return "" if "http://" in said or "no server" in p.stderr.read() else f"it says {said!r}"
    done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    fine = done.returncode == 0 or "no pages" in done.stderr
    return "" if fine else f"status {done.returncode}: {done.stderr.strip()}"


def options(program: str, command: str, known: dict) -> set:
    if command not in known:
        done = subprocess.run([program, "help", command], capture_output=True, text=True)
        known[command] = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", done.stdout)) if done.returncode == 0 else None
    return known[command]


def wrong_options(program: str, source: Path) -> list:
    """Returns the options in documents that do not exist."""
    wrong, known, seen = [], {}, 0
    for file in [*sorted(source.glob("*.md")), *sorted(source.glob("docs/**/*.md"))]:
        for command, rest in re.findall(r"\btidemark ([a-z][a-z-]+)((?: [^`\n|;]*)?)", file.read_text(encoding="utf-8")):
            real = options(program, command, known)
            for word in re.findall(r"(?<!\S)\[?(--?[a-zA-Z][\w-]*)", rest.split(" -- ")[0].split("  #")[0]) if real is not None else ():
                seen += 1
                if word not in real:
                    wrong.append(f"{file.relative_to(source)}: tidemark {command} has no {word}")
    return wrong if seen > 20 else [*wrong, f"only {seen} options found in the documents"]


def wrong_files(source: Path) -> list:
    """Returns broken links of documents, and missing paths in any text. Paths in web/ may begin there."""
    wrong, seen = [], 0
    named = re.compile(r"(?<![\w./-])(?:src|tests|docs|tools|bench|web|python|examples|include)/[\w./-]*\.(?:md|c|h|py|tsx?|mjs)\b")
    linked = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
    for folder in ("*", "*/**/*"):
        for file in source.glob(folder):
            part = file.relative_to(source).parts
            if file.suffix not in TEXTS or part[0].startswith((".", "build")) or {"node_modules", "data"} & set(part) or not file.is_file():
                continue
            text = file.read_text(encoding="utf-8")
            links = [(link, file.parent / link) for link in linked.findall(text)] if file.suffix == ".md" else []
            roots = [source, source / "web"] if part[0] == "web" else [source]
            for name, *places in links + [(n, *(r / n for r in roots)) for n in named.findall(text)]:
                seen += 1
                if not any(p.exists() for p in places):
                    wrong.append(f"{'/'.join(part)}: there is no {name}")
    index = (source / "docs/README.md").read_text(encoding="utf-8")
    pages = [f"{p.parent.name}/{p.name}" for p in source.glob("docs/*/*.md")]
    wrong += [f"docs/README.md: {page} is not in it" for page in pages if f"]({page})" not in index]
    return wrong if seen > 200 else [*wrong, f"only {seen} names of files found"]


def main() -> int:
    program, sample, source = str(Path(sys.argv[1]).resolve()), str(Path(sys.argv[2]).resolve()), Path(sys.argv[3]).resolve()
    lines, failed = commands((source / "README.md").read_text(encoding="utf-8")), 0
    for line in wrong_options(program, source) + wrong_files(source):
        failed += 1
        print(f"FAIL {line}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        given = inputs(Path(folder), source)
        for line in lines:
            words = [filled(w, given) for w in shlex.split(re.sub(r"[\[\]]", "", line))]
            wrong = run(program, words, Path(folder))
            if wrong:
                failed += 1
                print(f"FAIL {line}: {wrong}")
    print(f"{len(lines)} commands of the README, {failed} complaints")
    return failed > 0 or len(lines) < 20


if __name__ == "__main__":
    sys.exit(main())
