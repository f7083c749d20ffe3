#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every command has a man page that is installed, formats without complaint, documents exactly the
options of the command table with their defaults, and has examples with options that exist."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"^(?:\*(-\w)\*, )?\*(--[\w-]+)\*", re.M)


def tidemark(program: str, *args: str) -> str:
    return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout


def options(page: str) -> set:
    return set(OPTION.findall(page.split("# OPTIONS", 1)[1].split("\n# ", 1)[0]))


def texts(page: str) -> dict:
    """Returns the text of each option."""
    part = page.split("# OPTIONS", 1)[1].split("\n# ", 1)[0]
    return dict(re.findall(r"^(?:\*-\w\*, )?\*(--[\w-]+)\*.*\n\t(.*(?:\n\t.*)*)", part, re.M))


def wrong_defaults(page: str, skeleton: str) -> list:
    said = texts(page)
    real = {name: found[1] for name, text in texts(skeleton).items() if (found := re.search(r"\(default ([^\s)]+)\)", text))}
    return [f"{name}: the default is {d}" for name, d in real.items() if not re.search(rf"\(default {re.escape(d)}\b", said.get(name, ""))]


def missing_words(page: str, skeleton: str) -> list:
    """Finds choices of an option that its text does not name."""
    skeleton, said, wrong = skeleton.replace("\\_", "_"), texts(page), []
    for name, text in texts(skeleton).items():
        line = re.search(rf"\*{name}\* _WORD_", skeleton)
        for word in re.findall(r"[\w-]+", " ".join(text.split()).rpartition(": ")[2].split(" (default")[0].split(". May")[0]) if line else []:
            if not re.search(rf"(?<![a-z0-9-]){re.escape(word)}(?![a-z0-9-])", said.get(name, "").replace("\\_", "_")):
                wrong.append(f"{name}: the word {word} is not documented")
    return wrong


def examples(page: str) -> list:
    return page.split("# EXAMPLES", 1)[-1].split("\n# ", 1)[0].splitlines() if "# EXAMPLES" in page else []


def wrong_examples(page: str, name: str, real: set) -> list:
    used = [line for line in examples(page) if re.search(rf"\btidemark(-mpi)? {name}\b", line)]
    known = {option for pair in real for option in pair} | {"--help"}
    wrong = [] if used else ["no example"]
    for line in used:
        mine = re.split(rf"\btidemark(?:-mpi)? {name}\b", line)[1].split(" -- ")[0].split("|")[0]
        wrong += [f"no such option in an example: {o}" for o in re.findall(r"(?<!\S)--?[a-z][\w-]*", mine) if o not in known]
    return wrong


def check(program: str, folder: Path, name: str) -> list:
    file = folder / f"tidemark-{name}.1.scd"
    if not file.exists():
        return [f"no page: tidemark help --man {name} > docs/man/{file.name}"]
    page, skeleton = file.read_text(), tidemark(program, "help", "--man", name)
    said, real = options(page), options(skeleton)
    wrong = [f"not documented: {' '.join(o)}" for o in sorted(real - said)]
    wrong += [f"no such option: {' '.join(o)}" for o in sorted(said - real)]
    wrong += wrong_examples(page, name, real) + wrong_defaults(page, skeleton) + missing_words(page, skeleton)
    glued = re.findall(r"[a-z)][.;,:][A-Z][a-z]+", page + skeleton + tidemark(program, "help", name))
    wrong += [f"a space is missing: {g}" for g in glued]
    if f"'tidemark-{name}'" not in (folder / "meson.build").read_text():
        wrong.append("not in docs/man/meson.build")
    if shutil.which("scdoc"):
        done = subprocess.run(["scdoc"], input=page, capture_output=True, text=True)
        wrong += done.stderr.splitlines() if done.returncode else []
    return wrong


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    names = re.findall(r"^  ([a-z-]+) {2,}\S", tidemark(program, "help"), re.M)
    failed = 0
    for name in names:
        for line in check(program, folder, name):
            failed += 1
            print(f"tidemark-{name}: {line}")
    program_page, shared = (folder / "tidemark.1.scd").read_text(), set()
    for name in names:  # options that help shows and that only the program's page describes
        told = set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", tidemark(program, "help", name).split("options:\n", 1)[1], re.M))
        own = {long[2:] for _, long in options(tidemark(program, "help", "--man", name))}
        shared |= told - own
    for name in sorted(shared):
        if f"*--{name}*" not in program_page:
            failed += 1
            print(f"tidemark: not documented: --{name}, an option of every command")
    for file in folder.glob("tidemark-*.1.scd"):
        if file.name[9:-6] not in names:
            failed += 1
            print(f"{file.name}: there is no such command")
    print(f"{len(names)} commands, {failed} complaints")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
