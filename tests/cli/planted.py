#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Links planted under the names of unfinished files are neither followed nor replaced: planted.py TIDEMARK WRITER.

On file systems with unnamed files (O_TMPFILE) nothing can be planted. A seccomp filter refuses those here, so that the program
uses names that another user can guess. WRITER records (odd.c)."""
import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import seccomp  # noqa: E402

TIDEMARK, WRITER = map(os.path.abspath, sys.argv[1:3])
UNNAMED = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
COMMANDS = {"pack": ["pack", "in.tide", "-o", "out.tide"], "recover": ["recover", "in.tide", "-o", "out.tide"]}

if seccomp.number("openat") is None:
    print("skipped: the numbers of system calls are not known on this machine")
    sys.exit(77)
refuse = seccomp.refuse(("openat", errno.EOPNOTSUPP, 2, UNNAMED))


def run(folder, command, links):
    """Runs a command in the folder after planting `links` links to the victim under its first names."""
    victim = Path(folder, "victim")
    victim.write_text("precious", encoding="ascii")

    def before():
        for i in range(links):
            os.symlink("victim", f"out.tide.{os.getpid()}.{i}.part")
        refuse()

    done = subprocess.run([TIDEMARK, *command], cwd=folder, preexec_fn=before, capture_output=True, text=True, timeout=300, check=False)
    assert victim.read_text(encoding="ascii") == "precious", (command, links)
    assert len(list(Path(folder).glob("*.part"))) == links, (command, links, os.listdir(folder))
    return done


for name, command in COMMANDS.items():
    for links in (0, 1, 100):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([WRITER, f"{folder}/in.tide"], check=True, timeout=300)
            done = run(folder, command, links)
            there = os.path.exists(f"{folder}/out.tide")
            assert there == (links < 100) and (done.returncode == 0) == there, (name, links, done)
            assert there or "out.tide" in done.stderr, done.stderr
