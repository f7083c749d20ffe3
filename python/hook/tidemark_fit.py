# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Searches for the cheapest changes that make a program fit: `tidemark fit` runs this file, which runs `tidemark predict`.

Each variant is a run of the unchanged script on virtual devices under a plan (tidemark_plan.py), kept as NN.tide in a folder. The
command then makes its report of these recordings. The search: every change alone; those that cost nothing together; checkpoints of
chosen modules on top of these, by a knapsack over what each module keeps and costs, each answer run again; what is left, added one
by one. Definitions: docs/analyses/fit.md.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from typing import Any

import tidemark_changes
import tidemark_plan

FREE_PCT = 1.0  # a change that costs no more than this is free
TRIES = 5  # runs of a search over modules
BUCKETS = 400  # of bytes in the knapsack
SAVED = ["mm", "addmm", "bmm", "baddbmm", "convolution", "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention"]
Plan = list[dict[str, Any]]


class Run:
    """One variant that was run."""

    def __init__(self, plan: Plan, answer: dict[str, Any], survey: dict[str, Any]) -> None:
        self.plan, self.answer, self.survey = plan, answer, survey
        self.ended = bool(answer.get("ended"))
        self.allocated = int(answer.get("peak_allocated_bytes") or 0)
        self.reserved = int(answer.get("peak_reserved_bytes") or 0)
        self.fits = answer.get("fits") is True
        self.ns = float(survey.get("step_ns") or 0)


class Search:
    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        self.n = 0
        self.start = time.monotonic()
        self.runs: dict[str, Run | None] = {}
        self.times = self.read_times() if a.times else ""
        self.pool = concurrent.futures.ThreadPoolExecutor(a.jobs)

    def read_times(self) -> str:
        """Writes the device times of a recording, by op and shapes, into the folder; returns the file's path."""
        path = os.path.join(self.a.dir, "times.json")
        with open(path, "w", encoding="utf-8") as f:
            if subprocess.run([self.a.tidemark, "kernels", "--by", "shape", "--json", self.a.times], stdout=f, check=False).returncode:
                sys.exit(1)
        return path

    # ---- runs ----

    def run(self, plan: Plan) -> Run | None:
        """Runs the program under the plan; None if it failed. The same plan is run once."""
        return self.run_all([plan])[0]

    def run_all(self, plans: list[Plan]) -> list[Run | None]:
        keys = [tidemark_plan.text_of(plan) for plan in plans]
        new = list(dict.fromkeys(key for key in keys if key not in self.runs))
        names = {}
        for key in new:
            names[key] = os.path.join(self.a.dir, f"{self.n:02}")
            self.n += 1
        by_key = dict(zip(keys, plans))
        for key, found in zip(new, self.pool.map(lambda key: self.one(by_key[key], key, names[key]), new)):
            self.runs[key] = found
        return [self.runs[key] for key in keys]

    def words(self, plan: Plan) -> list[str]:
        parts = next((c["parts"] for c in plan if c["kind"] == "microbatch" and not c.get("split", True)), 1)
        return [w.replace("{}", str(self.a.batch // parts)) if self.a.batch else w for w in self.a.program]

    def largest(self) -> int:
        """Prints the largest number in place of {} that fits: the next guess is on a line through the last two runs, between one that fits and one that does not."""
        tried: dict[int, Run] = {}
        low, high, guess = 0, 0, self.a.batch
        while guess not in tried:
            self.a.batch = guess
            found = self.one([], "", os.path.join(self.a.dir, f"{self.n:02}"))
            self.n += 1
            if found is None:
                return 1
            tried[guess] = found
            if found.answer.get("fits") is None:
                print("tidemark fit: the device's memory is unknown: give --budget SIZE or --like NAME", file=sys.stderr)
                return 2
            low, high = (guess, high) if found.fits else (low, guess)
            if high == 1 or high and high - low <= 1:
                break
            guess = self.next_size(tried, low, high)
        row = tried.get(low)
        answer = {"largest": low, "peak_allocated_bytes": row.allocated if row else None, "peak_reserved_bytes": row.reserved if row else None,
                  "budget_bytes": next(iter(tried.values())).answer.get("capacity_bytes"), "runs": len(tried)}
        more = f" ({answer['peak_allocated_bytes'] / 2**30:.2f} GiB allocated, {answer['peak_reserved_bytes'] / 2**30:.2f} GiB reserved)" if row else ""
        print(json.dumps(answer) if self.a.json else f"largest that fits: {low}{more}; {low + 1} does not fit; {len(tried)} runs")
        return 0 if low else 1

    def next_size(self, tried: dict[int, Run], low: int, high: int) -> int:
        budget = int(next(iter(tried.values())).answer.get("capacity_bytes") or 0)
        sizes = sorted(tried, key=lambda n: abs(tried[n].reserved - budget))[:2]
        guess = 2 * low if low else high // 2
        if len(sizes) == 2 and tried[sizes[0]].reserved != tried[sizes[1]].reserved:
            (a, b), (x, y) = sizes, (tried[n].reserved for n in sizes)
            guess = int(a + (budget - x) * (b - a) / (y - x))
        least, most = low + 1, high - 1 if high else max(4 * low, 2)
        if low and high and (guess <= low or guess >= high or len(tried) > 6):
            guess = (low + high) // 2
        return min(max(guess, least), most)

    def one(self, plan: Plan, text: str, name: str) -> Run | None:
        command = [self.a.tidemark, "predict", "--json", "--steps", str(self.a.steps), "--keep", name + ".tide"]
        capacity = f"{self.a.capacity}B" if self.a.capacity else ""
        for option, value in ("like", self.a.like), ("capacity", capacity), ("alloc-conf", self.a.alloc_conf), ("timeout", self.a.timeout):
            command += [f"--{option}", value] if value else []
        if plan:
            with open(name + ".toml", "w", encoding="utf-8") as f:
                f.write(text)
            command += ["--plan", name + ".toml"]
        own = {**os.environ, "TIDEMARK_PREDICT_COST": name + ".json", "TIDEMARK_PREDICT_TIMES": self.times}
        done = subprocess.run([*command, "--", *self.words(plan)], env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if not plan:
            sys.stderr.write(done.stderr)
        try:
            with open(name + ".json", encoding="utf-8") as f:
                found = Run(plan, json.loads(done.stdout), json.load(f))
        except (OSError, ValueError):
            found = None
        self.say(plan, found if found is not None and found.ended else None)
        return found if found is not None and found.ended else None

    def say(self, plan: Plan, run: Run | None) -> None:
        title = " + ".join(tidemark_changes.CHANGES[c["kind"]].title(c) for c in plan) or (f"unchanged, {self.a.batch}" if self.a.largest else "unchanged")
        what = f"{run.reserved / 2**30:.2f} GiB reserved{', fits' if run.fits else ''}" if run is not None else "failed"
        print(f"tidemark fit: {time.monotonic() - self.start:4.0f} s  {title}: {what}", file=sys.stderr, flush=True)

    # ---- modules ----

    def choose(self, survey: dict[str, Any], need: float, depth: int = 4) -> list[str]:
        """Returns the modules whose checkpoints save `need` bytes for the least time; all that save if that is not enough."""
        rows = {r["path"]: r for r in survey["modules"]}
        children: dict[str, list[str]] = {}
        tops = []
        for path in rows:
            parent = path.rpartition(".")[0]
            while parent and parent not in rows:
                parent = parent.rpartition(".")[0]
            children.setdefault(parent, []).append(path) if parent else tops.append(path)
        unit = max(need, 1) / BUCKETS
        host = survey["host_ns"] > survey["device_ns"]

        def price(row: dict[str, Any]) -> float:
            return float(row["ns"] + (row["ops"] * 7000 if host else 0) + 1)

        def best(path: str, level: int) -> dict[int, tuple[float, tuple[str, ...]]]:
            """Bytes saved (in units, at most BUCKETS) -> the least time, and the modules."""
            row, table = rows[path], {0: (0.0, ())}
            if level < depth:
                for child in children.get(path, ()):
                    table = merge(table, best(child, level + 1))
            if level and row["kept"]:
                at, cost = min(BUCKETS, int(row["kept"] / unit)), price(row)
                if at and (at not in table or cost < table[at][0]):
                    table[at] = cost, (path,)
            return prune(table)

        def merge(x: Any, y: Any) -> Any:
            out: dict[int, tuple[float, tuple[str, ...]]] = {}
            for i, (ci, mi) in x.items():
                for j, (cj, mj) in y.items():
                    at = min(BUCKETS, i + j)
                    if at not in out or ci + cj < out[at][0]:
                        out[at] = ci + cj, mi + mj
            return prune(out)

        def prune(table: Any) -> Any:
            out, least = {}, float("inf")
            for at in sorted(table, reverse=True):
                if table[at][0] < least:
                    out[at], least = table[at], table[at][0]
            return out

        table: Any = {0: (0.0, ())}
        for top in tops:
            table = merge(table, best(top, 0))
        return sorted(table[max(table)][1], key=lambda path: int(rows[path]["order"]))

    def with_modules(self, kind: str, before: Run, more: dict[str, Any]) -> Run | None:
        """Finds the cheapest set of modules for a kind of change, on top of a plan: runs a set, then one that saves more or fewer bytes by what this one gave."""
        budget, survey = self.a.budget, before.survey
        need, low, high = float(before.reserved - budget), 0.0, float("inf")
        best: Run | None = None
        for _ in range(TRIES):
            names = self.choose(survey, need)
            if not names:
                return best
            found = self.run([*before.plan, {"kind": kind, "modules": names, **more}])
            if found is None:
                return best
            if found.fits:
                high = need
                if best is None or found.ns < best.ns:
                    best = found
                spare = budget - found.reserved
                if spare < 0.03 * budget:
                    break
                wanted = max(need - spare, (low + need) / 2)
            else:
                low = need
                wanted = need + max(found.reserved - budget, 0.02 * budget)
                if high < float("inf"):
                    wanted = min(wanted, (low + high) / 2)
            if self.choose(survey, wanted) == names or high - low < 0.01 * budget:
                break
            need = wanted
        return best

    # ---- the search ----

    def singles(self, base: Run) -> list[Plan]:
        """Every change alone that may help this program."""
        survey, rows = base.survey, tidemark_changes.CHANGES
        every = self.choose(survey, float(1 << 62) / 2**20) or self.choose(survey, float(base.reserved))
        plans: list[Plan] = [[{"kind": "set_to_none"}], [{"kind": "optimizer", "fused": True}], [{"kind": "optimizer", "foreach": False}], [{"kind": "chunked_loss", "chunks": 8}],
                             [{"kind": "offload_optimizer"}], [{"kind": "autocast"}], [{"kind": "bf16"}], [{"kind": "adam8"}], [{"kind": "adafactor"}]]
        if not any(row.split()[0] in tidemark_changes.FUSED.split() for row in survey["optimizers"]):
            plans.remove([{"kind": "optimizer", "fused": True}])
        plans = [p for p in plans if not rows[p[0]["kind"]].lacks(survey)]
        parts = [n for n in (2, 4, 8) if (self.a.batch or min(survey["loaders"], default=0)) % n == 0 and (self.a.batch or survey["loaders"])]
        split = {"split": False} if self.a.batch else {}
        plans += [[{"kind": "microbatch", "parts": n, **split}] for n in parts if survey["steps"]]
        if every and not rows["checkpoint"].lacks(survey):
            plans += [[{"kind": "checkpoint", "modules": every}], [{"kind": "checkpoint", "modules": every, "save_ops": SAVED}], [{"kind": "offload", "modules": every}]]
        return plans

    def search(self) -> int:
        base = self.run([])
        if base is None:
            return 1
        if not self.a.budget:
            self.a.budget = int(base.answer.get("capacity_bytes") or 0)
        if base.fits or not self.a.budget:
            return 0
        alone = [r for r in self.run_all(self.singles(base)) if r is not None]
        free: Plan = []
        for r in alone:
            change = r.plan[0]
            helps = r.reserved < base.reserved and r.ns <= base.ns * (1 + FREE_PCT / 100) and not tidemark_changes.CHANGES[change["kind"]].same
            if helps and change["kind"] not in ("checkpoint", "offload", "microbatch") and not any(c["kind"] == change["kind"] for c in free):
                free.append(change)
        start = self.run(free) if free else base
        if start is None:
            start = base
        if start.fits and len(free) > 1:
            self.fewer(free)
        if not start.fits:
            self.on_top(start, alone)
        self.others(start, alone)
        return 0

    def fewer(self, free: Plan) -> None:
        """Leaves out of a plan that fits the changes that it does not need."""
        for change in list(free):
            less = [c for c in free if c is not change]
            found = self.run(less) if less else None
            if found is not None and found.fits:
                free = less

    def on_top(self, start: Run, alone: list[Run]) -> None:
        """Chosen modules on top of the free changes; then what saves most, one more each time."""
        helpers = {c["kind"]: c for r in alone for c in r.plan if r.plan and not tidemark_changes.CHANGES[c["kind"]].same}
        if "checkpoint" not in helpers:
            return
        for kind, more in ("checkpoint", {"save_ops": SAVED}), ("checkpoint", {}), ("offload", {}):
            self.with_modules(kind, start, more)
        now = start
        for kind in "chunked_loss", "offload_optimizer":
            if any(r is not None and r.fits for r in self.runs.values()):
                return
            if kind in helpers and not any(c["kind"] == kind for c in now.plan):
                found = self.run([*now.plan, helpers[kind]])
                if found is not None and found.reserved < now.reserved:
                    now = found
                    self.with_modules("checkpoint", now, {})

    def others(self, start: Run, alone: list[Run]) -> None:
        """Changes of the training's numbers on top, if they do not fit alone."""
        kinds = [r for r in alone if tidemark_changes.CHANGES[r.plan[0]["kind"]].same and not r.fits and r.reserved < start.reserved]
        for r in sorted(kinds, key=lambda r: r.reserved)[:2]:
            found = self.run([*start.plan, *r.plan])
            if found is not None and not found.fits and not tidemark_changes.CHANGES["checkpoint"].lacks(found.survey):
                self.with_modules("checkpoint", found, {})


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--tidemark", required=True)
    p.add_argument("--dir", required=True)
    p.add_argument("--capacity", default="")
    p.add_argument("--like", default="")
    p.add_argument("--alloc-conf", default="")
    p.add_argument("--timeout", default="")
    p.add_argument("--times", default="")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--largest", action="store_true")
    p.add_argument("--json", action="store_true")
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("program", nargs="+")
    a = p.parse_args()
    a.budget = int(a.capacity or 0)
    return Search(a).largest() if a.largest else Search(a).search()


if __name__ == "__main__":
    sys.exit(main())
