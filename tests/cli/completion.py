#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tests completion in real shells: completion.py TIDEMARK.

bash and fish answer in a script; zsh only at a terminal, so one is made for it. Every command and option of the table must
come out of bash and fish; a few rows are typed into zsh. A shell that is not installed is skipped with a line.
"""
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from waiting import wait_for  # noqa: E402

BASH = """source c.bash
IFS= ; COMP_WORDS=("$@") ; COMP_CWORD=$(($# - 1)) ; unset IFS
_tidemark
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Typed text and its completion: the rows of zsh, and the words that other shells must offer.
ROWS = [
    (["tidemark", "pea"], "peak"),
    (["tidemark", "--vers"], "--version"),
    (["tidemark", "peak", "--gr"], "--group-by"),
    (["tidemark", "peak", "--group-by", "stre"], "stream"),
    (["tidemark", "peak", "-g", "tens"], "tensor"),
    (["tidemark", "peak", "trai"], "train.tide"),
    (["tidemark", "peak", "-o", "trai"], "train.tide"),
    (["tidemark", "peak", "--js"], "--json"),
    (["tidemark", "help", "crit"], "critical-path"),
    (["tidemark", "config", "sh"], "show"),
    (["tidemark", "completion", "fi"], "fish"),
]


def bash(words: list, folder: str) -> list:
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", *words], cwd=folder, capture_output=True, text=True, timeout=600)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def fish(words: list, folder: str) -> list:
    ask = f"source c.fish; complete -C '{' '.join(words)}'"
    env = os.environ | {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "TERM": "dumb"}
    done = subprocess.run(["fish", "--no-config", "-c", ask], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert not done.stderr, done.stderr
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def table(program: str) -> dict:
    """Returns commands and their options, from help."""
    listing = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z-]+) {2,}\S", listing, re.M)
    told = {}
    for name in names:
        text = subprocess.run([program, "help", name], capture_output=True, text=True, check=True).stdout
        told[name] = set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.M))
    return told


def asked(shell, folder: str, commands: dict) -> list:
    """Returns the errors of a shell that completes in a script."""
    wrong = []
    for words, want in ROWS:
        got = shell(words, folder)
        if got != [want]:
            wrong.append(f"{' '.join(words)}: wanted {want}, got {got}")
    lines = [(["tidemark", ""], set(commands), True)]
    lines += [(["tidemark", name, "--"], options, False) for name, options in commands.items()]
    for words, want, more in lines:
        got = set(shell(words, folder))
        if not want <= got or (not more and got != want):
            wrong.append(f"{' '.join(words)}: {sorted(want ^ got)}")
    return wrong


ZSHRC = """PS1='%% ' ; unsetopt beep ; setopt no_list_beep
autoload -U compinit ; compinit -u -D
source c.zsh
told() { print -r -- "$BUFFER" >> told ; BUFFER= ; zle reset-prompt }
zle -N told ; bindkey '^X' told
print ready > told
"""


def wait_lines(file: Path, n: int) -> list:
    def lines() -> list:
        return file.read_text().splitlines() if file.exists() else []

    wait_for(f"{n} lines of zsh", lambda: len(lines()) >= n)
    return lines()


def zsh(folder: str) -> list:
    """Types the rows into a zsh at a terminal; a key makes it print its line."""
    Path(folder, ".zshrc").write_text(ZSHRC)
    pid, fd = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-i"], os.environ | {"ZDOTDIR": folder, "TERM": "vt100", "HOME": folder})
    os.set_blocking(fd, False)
    told, wrong = Path(folder, "told"), []
    try:
        wait_lines(told, 1)
        for k, (words, want) in enumerate(ROWS):
            os.write(fd, " ".join(words).encode() + b"\t\x18")
            got = wait_lines(told, k + 2)[k + 1]
            try:
                os.read(fd, 1 << 16)
            except BlockingIOError:
                pass
            if got.rstrip().rstrip("=").split(" ") != [*words[:-1], want]:
                wrong.append(f"{' '.join(words)}: wanted {want}, got {got}")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(fd)
    return wrong


def main() -> int:
    program, failed = str(Path(sys.argv[1]).resolve()), 0
    commands = table(program)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.tide").touch()
        for name in ("bash", "zsh", "fish"):
            if not shutil.which(name):
                print(f"skipped {name}: it is not installed")
                continue
            script = Path(folder, f"c.{name}")
            script.write_bytes(subprocess.run([program, "completion", name], capture_output=True, check=True).stdout)
            checked = subprocess.run([name, "-n", script], capture_output=True, text=True)
            wrong = [checked.stderr] if checked.returncode or checked.stderr else []
            wrong = wrong or (zsh(folder) if name == "zsh" else asked({"bash": bash, "fish": fish}[name], folder, commands))
            print(*(f"FAIL {name}: {line}" for line in wrong), f"{name}: {len(wrong)} wrong", sep="\n")
            failed += len(wrong)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
