# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Finds the commit that raised the predicted peak of a program: `tidemark bisect` runs this file, which runs `tidemark predict`.

Commits are checked out into a worktree in a temporary folder; the user's own checkout, index and branches are not touched. Each commit
runs on virtual devices. The commit is found at which the peak crosses the middle between the good and the bad one, by halving; commits
at which the program fails are left out. Then the recordings of this commit and of its parent are compared at their peaks.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

GROUPINGS = (("frame", "line"), ("module", "module"), ("op", "op"))
LEAST = 2 << 20  # bytes of growth that are one


class Failed(Exception):
    """Its text is for the user."""


def git(where: str, *words: str) -> str:
    done = subprocess.run(["git", "-C", where, *words], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise Failed(f"git {words[0]}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'}")
    return done.stdout.strip()


def commit_of(root: str, name: str) -> str:
    try:
        return git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except Failed:
        raise Failed(f"there is no commit {name!r}") from None


class Bisect:
    def __init__(self, a: argparse.Namespace, folder: str) -> None:
        self.a, self.folder, self.tree = a, folder, os.path.join(folder, "tree")
        self.root = git(".", "rev-parse", "--show-toplevel")
        self.inside = os.path.relpath(os.getcwd(), self.root)
        self.found: dict[str, dict[str, Any] | None] = {}
        self.start = time.monotonic()

    # ---- one commit ----

    def moved(self, text: str) -> str:
        """A path of the repository in the worktree."""
        return text.replace(self.root + os.sep, self.tree + os.sep) if text.startswith(self.root + os.sep) else text

    def measure(self, commit: str) -> dict[str, Any] | None:
        """Runs a commit; None: the program failed there."""
        if commit in self.found:
            return self.found[commit]
        git(self.tree, "checkout", "-q", "--force", "--detach", commit)
        git(self.tree, "clean", "-qfdx")
        file = os.path.join(self.folder, f"{commit[:12]}.tide")
        command = [self.a.tidemark, "predict", "--json", "--steps", str(self.a.steps), "--keep", file]
        for option in "like", "capacity", "timeout":
            value = getattr(self.a, option)
            command += [f"--{option}", value] if value else []
        own = {**os.environ, "TIDEMARK_PREDICT_LINES": "1"}
        if own.get("PYTHONPATH"):
            own["PYTHONPATH"] = os.pathsep.join(self.moved(p) for p in own["PYTHONPATH"].split(os.pathsep))
        own["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run([*command, "--", *map(self.moved, self.a.program)], cwd=os.path.join(self.tree, self.inside), env=own, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False)
        answer = None
        with contextlib.suppress(ValueError):
            answer = json.loads(done.stdout)
        if answer is None or not answer.get("ended"):
            answer = None
            self.say(commit, "the program fails: " + (done.stderr.strip().splitlines() or ["no output"])[-1][:160])
        else:
            answer["file"] = file
            self.say(commit, f"{answer['peak_allocated_bytes'] / 2**20:,.1f} MiB allocated, {answer['peak_reserved_bytes'] / 2**20:,.1f} MiB reserved")
        self.found[commit] = answer
        return answer

    def say(self, commit: str, text: str) -> None:
        subject = git(self.root, "log", "-1", "--format=%h %s", commit)[:60]
        print(f"tidemark bisect: {time.monotonic() - self.start:4.0f} s  {subject}: {text}", file=sys.stderr, flush=True)

    def peak(self, commit: str) -> int | None:
        answer = self.measure(commit)
        return None if answer is None else int(answer["peak_allocated_bytes"])

    # ---- the search ----

    def search(self, commits: list[str]) -> dict[str, Any]:
        """commits: from the good one to the bad one."""
        good, bad = self.peak(commits[0]), self.peak(commits[-1])
        if good is None or bad is None:
            raise Failed(f"the program fails at the {'good' if good is None else 'bad'} commit")
        if bad - good < max(self.a.least, 1):
            return {"grew": False, "good_bytes": good, "bad_bytes": bad}
        middle = (good + bad) // 2
        low, high = 0, len(commits) - 1
        while True:
            between = sorted(range(low + 1, high), key=lambda i: abs(2 * i - low - high))
            at = next((i for i in between if self.peak(commits[i]) is not None), None)
            if at is None:
                break
            size = self.peak(commits[at])
            assert size is not None
            low, high = (at, high) if size <= middle else (low, at)
        before, after = commits[low], commits[high]
        x, y = self.measure(before), self.measure(after)
        assert x is not None and y is not None
        return {"grew": True, "good_bytes": good, "bad_bytes": bad, "commit": after, "subject": git(self.root, "log", "-1", "--format=%s", after),
                "author": git(self.root, "log", "-1", "--format=%an, %as", after), "before": before, "before_bytes": x["peak_allocated_bytes"], "after_bytes": y["peak_allocated_bytes"],
                "left_out": commits[low + 1 : high], "grown": {name: self.grown(x["file"], y["file"], by) for by, name in GROUPINGS},
                "versions": y.get("versions"), "runs": len(self.found), "commits": len(commits)}

    def groups(self, file: str, by: str) -> dict[str, int]:
        done = subprocess.run([self.a.tidemark, "peak", "--json", "--device", "cuda:0", "--group-by", by, file], capture_output=True, text=True, errors="replace", check=False)
        try:
            rows = json.loads(done.stdout)["groups"]
        except (ValueError, KeyError):
            return {}
        out: dict[str, int] = {}
        for r in rows:
            out[self.name(r)] = out.get(self.name(r), 0) + int(r["bytes"])
        return out

    def name(self, row: dict[str, Any]) -> str:
        key = row.get("key")
        text = json.dumps(key) if isinstance(key, (dict, list)) else str(key)
        return text.replace(self.tree + os.sep, "")

    def grown(self, before: str, after: str, by: str) -> list[dict[str, Any]]:
        x, y = self.groups(before, by), self.groups(after, by)
        rows = sorted(((y.get(k, 0) - x.get(k, 0), k) for k in {*x, *y}), reverse=True)
        return [{"what": k, "bytes": n} for n, k in rows[:3] if n > 0]


def show(r: dict[str, Any]) -> None:
    def mib(n: int) -> str:
        return f"{n / 2**20:,.1f} MiB"

    if not r["grew"]:
        print(f"the peak did not grow: {mib(r['good_bytes'])} at the good commit, {mib(r['bad_bytes'])} at the bad one")
        return
    print(f"{r['commit'][:12]} raised the predicted peak from {mib(r['before_bytes'])} to {mib(r['after_bytes'])} (+{mib(r['after_bytes'] - r['before_bytes'])})")
    print(f"  {r['subject']}\n  {r['author']}")
    if r["left_out"]:
        print(f"  or one of {len(r['left_out'])} commits before it, at which the program fails: {', '.join(c[:12] for c in r['left_out'][:5])}")
    for _, name in GROUPINGS:
        for row in r["grown"][name]:
            print(f"  {'+' + mib(row['bytes']):>14}  {name:6}  {row['what']}")
    rest = (r["bad_bytes"] - r["good_bytes"]) - (r["after_bytes"] - r["before_bytes"])
    if abs(rest) >= LEAST:
        print(f"  {mib(rest)} of the growth from good to bad is of other commits")
    print(f"  {r['runs']} of {r['commits']} commits were run; {r['versions']}")


def search(a: argparse.Namespace, folder: str) -> int:
    b = Bisect(a, folder)
    good, bad = commit_of(b.root, a.good), commit_of(b.root, a.bad)
    if subprocess.run(["git", "-C", b.root, "merge-base", "--is-ancestor", good, bad], check=False).returncode:
        raise Failed(f"{a.good} is not an ancestor of {a.bad}")
    commits = [good, *git(b.root, "rev-list", "--reverse", "--first-parent", f"{good}..{bad}").split()]
    if len(commits) < 2:
        raise Failed("the good and the bad commit are the same")
    git(b.root, "worktree", "add", "-q", "--detach", b.tree, good)
    try:
        answer = b.search(commits)
    finally:
        subprocess.run(["git", "-C", b.root, "worktree", "remove", "--force", b.tree], capture_output=True, check=False)
        subprocess.run(["git", "-C", b.root, "worktree", "prune"], capture_output=True, check=False)
    if a.json:
        print(json.dumps(answer, indent=2))
    else:
        show(answer)
    return 0 if answer["grew"] else 1


def main() -> int:
    p = argparse.ArgumentParser()
    for name in "tidemark", "good", "bad":
        p.add_argument(f"--{name}", required=True)
    for name in "like", "capacity", "timeout":
        p.add_argument(f"--{name}", default="")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--least", type=int, default=LEAST)
    p.add_argument("--json", action="store_true")
    p.add_argument("program", nargs="+")
    a = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *rest: sys.exit(143))  # so that the worktree is removed
    folder = tempfile.mkdtemp(prefix="tidemark-bisect-")
    try:
        return search(a, folder)
    except Failed as why:
        print(f"tidemark bisect: {why}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
