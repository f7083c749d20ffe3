#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The Dockerfile names only what is there: dockerfile.py SOURCE. Debian packages are in the tables of tools/setup or are those
that every fresh machine needs, make targets are in the Makefile, stages and files exist.

dockerfile.py SOURCE --steps prints its steps as a script for one empty Debian 12, which needs no docker:
    tools/pristine "$(tests/cli/dockerfile.py . --steps)"
"""
import pathlib
import re
import shlex
import sys

source = pathlib.Path(sys.argv[1])
FRESH = {"ca-certificates", "git", "make", "python3", "python3-venv"}  # of CI's own first step, and Python itself
KNOWN = ("FROM", "RUN", "COPY", "WORKDIR", "ENV", "ENTRYPOINT", "CMD")


def instructions(text: str) -> list:
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def packages() -> set:
    """Returns the Debian packages of tools/setup's tables."""
    text = (source / "tools/setup").read_text(encoding="utf-8")
    tables = re.findall(r"^(?:build|demo|test|check|bench|wheel|deb)=\((.*?)\)", re.sub(r"#.*", "", text), re.S | re.M)
    return {word for table in tables for word in table.split()}


def faults(rows: list) -> list:
    wrong, stages, made = [], set(), (source / "Makefile").read_text(encoding="utf-8")
    for kind, rest in rows:
        words = shlex.split(rest)
        if kind not in KNOWN:
            wrong.append(f"unknown instruction {kind}")
        if kind == "FROM":
            if words[0] not in stages and not re.fullmatch(r"scratch|debian:12(-slim)?(@sha256:[0-9a-f]{64})?", words[0]):
                wrong.append(f"FROM {words[0]}: tested on Debian 12 only")
            stages |= set(words[2:3])
        if kind == "COPY":
            stage = next((w.partition("=")[2] for w in words if w.startswith("--from=")), "")
            if stage and stage not in stages:
                wrong.append(f"COPY: no stage {stage} before it")
            wrong += [f"COPY {w}: no such file" for w in words[:-1] if not stage and not w.startswith("--") and not (source / w).exists()]
        if kind == "RUN":
            for command in re.split(r"&&|;", rest):
                parts = shlex.split(command)
                if "install" in parts and "apt-get" in parts:
                    asked = [w for w in parts[parts.index("install") + 1:] if not w.startswith("-")]
                    wrong += [f"apt-get install {w}: in no table of tools/setup" for w in asked if w not in FRESH | packages()]
                if parts[:1] == ["make"] and not re.search(rf"(?m)^{parts[1]}:", made):
                    wrong.append(f"make {parts[1]}: no such target")
    return wrong


def steps(rows: list) -> str:
    """Returns the steps of all stages as one script: a stage's files are below the same root, and the checkout is where the script begins."""
    out = ["set -eux"]
    for kind, rest in rows:
        words = shlex.split(rest)
        if kind == "RUN":
            out.append(rest)
        elif kind == "WORKDIR":
            out.append(f"mkdir -p {words[0]} && cd {words[0]}")
        elif kind == "ENV":
            out.append(f"export {rest}")
        elif kind == "COPY" and words[0] != ".":
            files = " ".join(w for w in words[:-1] if not w.startswith("--"))
            out.append(f"mkdir -p {words[-1]} && cp {files} {words[-1]}" if words[-1] != "/" else f"ls {files}")
        elif kind in ("ENTRYPOINT", "CMD"):
            out.append(f"entry='{' '.join(re.findall(chr(34) + '([^' + chr(34) + ']*)' + chr(34), rest))}'; echo $entry" if kind == "ENTRYPOINT"
                       else f"$entry {' '.join(re.findall(chr(34) + '([^' + chr(34) + ']*)' + chr(34), rest))} >/dev/null")
    return "\n".join([*out, "$entry --version", "$entry hta /src/tidemark/tests/data/kineto_gpt_train.json.gz | head -5"])


read = instructions((source / "Dockerfile").read_text(encoding="utf-8"))
if "--steps" in sys.argv:
    print(steps(read))
    sys.exit(0)
found = faults(read)
broken = [("FROM", "debian:99"), ("RUN", "apt-get install -y no-such-package && make nothing"), ("COPY", "--from=nowhere a b"), ("COPY", "no-such-file /"), ("ADD", "x y")]
noticed = faults(broken)
print(*found or [f"{len(read)} instructions are fine"], sep="\n")
if len(noticed) != 6:
    print(f"of 6 faults {len(noticed)} are noticed: {noticed}")
sys.exit(bool(found) or len(noticed) != 6)
