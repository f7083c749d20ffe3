#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark bisect` on a made repository of 20 commits, in which one raises the peak and 2 fail; the checkout stays as it is."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["TIDE_SOURCE"])
sys.path.insert(0, str(ROOT / "tests" / "support"))
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = str(ROOT / ".venv" / "bin" / "python")
GROWS, FAILS, COMMITS = 13, (9, 10), 20
SCRIPT = """
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(512, 2048), nn.Linear(2048, 512)
    def forward(self, x):
        h = torch.relu(self.a(x))
        {extra}
        return self.b(h)
model = Net().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(2):
    model(torch.randn(2048, 512, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
# {number}
"""


def git(where: Path, *words: str) -> str:
    own = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
    return subprocess.run(["git", "-C", str(where), *words], capture_output=True, text=True, check=True, env=own).stdout.strip()


def make(where: Path) -> list[str]:
    git(where, "init", "-q", ".")
    (where / "sub").mkdir()
    commits = []
    for i in range(COMMITS):
        extra = "h = h * torch.sigmoid(h.double()).float()" if i >= GROWS else "pass"
        text = f"raise SystemExit(3)  # {i}\n" if i in FAILS else SCRIPT.format(extra=extra, number=i)
        (where / "sub" / "train.py").write_text(text)
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", f"change {i}")
        commits.append(git(where, "rev-parse", "HEAD"))
    return commits


def bisect(where: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TIDEMARK, "bisect", *words, "--like", "h100", "--", "train.py"], cwd=where / "sub", capture_output=True, text=True, check=False,
                          env={**os.environ, "TIDEMARK_PYTHON": PYTHON})


def main() -> int:
    lacking = lacks_torch(PYTHON)
    if lacking:
        print(f"skipped: {lacking}")
        return 77
    build_hook(PYTHON, True)
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        commits = make(where)
        (where / "sub" / "train.py").write_text("# the user is editing\n")
        (where / "own.txt").write_text("own")
        before = git(where, "status", "--porcelain"), git(where, "rev-parse", "HEAD"), git(where, "branch", "--show-current")
        done = bisect(where, "--good", commits[0], "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["commit"] == commits[GROWS] and found["before"] == commits[GROWS - 1], found
        assert found["after_bytes"] - found["before_bytes"] > 30 << 20 and not found["left_out"] and found["runs"] <= 9, found
        line = found["grown"]["line"][0]["what"]
        assert "train.py" in line and ":9" in line or '"line": 9' in line, found["grown"]
        assert found["grown"]["op"] and found["grown"]["module"], found["grown"]
        assert (git(where, "status", "--porcelain"), git(where, "rev-parse", "HEAD"), git(where, "branch", "--show-current")) == before
        assert len(git(where, "worktree", "list").splitlines()) == 1 and (where / "own.txt").read_text() == "own"
        done = bisect(where, "--good", commits[GROWS], "--bad", commits[-1])
        assert done.returncode == 1 and "did not grow" in done.stdout, done
        for words, reason in (["--good", "nothing"], "no commit 'nothing'"), (["--good", commits[5], "--bad", commits[2]], "not an ancestor"), (["--good", commits[FAILS[0]]], "fails at the good"):
            done = bisect(where, *words)
            assert done.returncode == 2 and reason in done.stderr, done
    return 0


if __name__ == "__main__":
    sys.exit(main())
