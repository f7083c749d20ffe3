#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`collectives` on made jobs against a slow, obvious oracle that reads the traces' JSON: matching, latency, bandwidth, waiting,
who came last and why, the all-to-all matrix, skews within their bound of the true ones; then jobs with missing ranks, groups that
contradict each other and impossible sizes. With TIDEMARK set."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from page_section import section  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
NAMES = {"allreduce": (False, 2), "_allgather_base": (True, 1), "_reduce_scatter_base": (False, 1), "all_to_all": (False, 1), "broadcast": (False, 0)}
SYNC = ("allreduce", "_allgather_base", "_reduce_scatter_base", "all_to_all")
DTYPES = {"Float": 4, "BFloat16": 2, "Long": 8}
CAUSES = ["compute", "communication", "copies", "data_loading", "launch"]


class Job:
    """A job with its truth: calls[(group, seq)] = {rank: (start, end, before by cause)} in true ns."""

    def __init__(self, r, ranks, calls):
        self.r, self.n = r, ranks
        self.clock = [(r.randint(-10**9, 10**9), r.uniform(-5e-5, 5e-5)) for _ in range(ranks)]
        half = ranks // 2
        self.groups = [("0", list(range(ranks)))]
        if half > 1:
            self.groups += [("1", list(range(half))), ("2", list(range(half, ranks)))]
        self.seq = collections.Counter()
        self.events = [[] for _ in range(ranks)]
        self.free = [1e6] * ranks
        self.calls = []
        for _ in range(calls):
            for g in r.choice([self.groups[:1], self.groups[1:] or self.groups[:1]]):
                self.call(*g)

    def call(self, group, ranks):
        r = self.r
        self.seq[group] += 1
        name, dtype, elements = r.choice(list(NAMES)), r.choice(list(DTYPES)), r.choice([1024, 65536]) * len(ranks)
        splits = {i: [elements // len(ranks)] * len(ranks) for i in ranks}
        if name == "all_to_all" and r.random() < 0.7:
            cut = [r.randint(1, 3) for _ in ranks]
            splits = {i: [elements // sum(cut) * c for c in r.sample(cut, len(cut))] for i in ranks}
        start = {}
        for i in ranks:
            t = self.free[i]
            for cause, ns in (("data_loading", r.choice([0, 0, 5000])), ("compute", r.randint(1000, 90000)),
                              ("copies", r.choice([0, 3000])), ("launch", r.randint(500, 20000))):
                if ns and cause != "launch":
                    self.events[i].append((cause, t, t + ns, None))
                t += ns
            start[i] = t
        last = max(start.values())
        for i in ranks:
            end = last + 30000 + r.randint(0, 3000)
            args = {"name": name, "dtype": dtype, "group": group, "ranks": ranks, "seq": self.seq[group],
                    "in": sum(splits[i]), "out": elements, "split": None}
            if name == "all_to_all":
                args["split"] = (splits[i], [splits[k][ranks.index(i)] for k in ranks])
                args["out"] = sum(args["split"][1])
            elif name == "_allgather_base":
                args["in"] = elements // len(ranks)
            elif name == "_reduce_scatter_base":
                args["out"] = elements // len(ranks)
            self.events[i].append(("call", start[i], end, args))
            self.free[i] = end

    def shown(self, rank, t):
        offset, drift = self.clock[rank]
        return int(t + offset + drift * t) + 3 * 10**9

    def write(self, folder, change=None, skip=()):
        files = []
        for rank in range(self.n):
            if rank in skip:
                continue
            rows, n = [], 0
            for kind, a, b, args in self.events[rank]:
                n += 1
                t0, t1 = self.shown(rank, a), self.shown(rank, b)
                if kind == "data_loading":
                    rows.append({"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#x.__next__", "pid": 1, "tid": 1,
                                 "ts": t0 / 1000, "dur": (t1 - t0) / 1000})
                    continue
                rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t0 / 1000 - 0.2,
                             "dur": 0.1, "args": {"correlation": n}})
                extra = {"correlation": n, "device": 0, "stream": 20 if args else 7}
                if args:
                    extra |= self.arguments(args)
                    if change:
                        change(rank, args, extra)
                rows.append({"ph": "X", "cat": "gpu_memcpy" if kind == "copies" else "kernel",
                             "name": "ncclDevKernel_X" if args else "Memcpy HtoD (Pinned -> Device)" if kind == "copies" else "gemm",
                             "pid": 0, "tid": extra["stream"], "ts": t0 / 1000, "dur": (t1 - t0) / 1000, "args": extra})
            path = Path(folder, f"rank{rank}.json")
            path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.n},
                                        "baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": rows}))
            files.append(str(path))
        return files

    @staticmethod
    def arguments(a):
        split = [str(s) for s in a["split"]] if a["split"] else ["[]", "[]"]
        return {"Collective name": a["name"], "In msg nelems": a["in"], "Out msg nelems": a["out"], "Group size": len(a["ranks"]),
                "dtype": a["dtype"], "Process Group Name": a["group"], "Process Group Ranks": str(a["ranks"]), "Seq": a["seq"],
                "In split size": split[0], "Out split size": split[1]}


def ask(*files, code=0):
    done = subprocess.run([TIDEMARK, "collectives", *files, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def rows_of(path):
    """The device rows and data loading of a trace, in ns."""
    d = json.loads(Path(path).read_text())
    out = []
    for e in d["traceEvents"]:
        if e["cat"] != "cuda_runtime":
            t0 = round(e["ts"] * 1000)
            out.append((t0, t0 + round(e["dur"] * 1000), e["cat"], e["args"] if "args" in e else {}))
    return d["distributedInfo"]["rank"], sorted(out, key=lambda x: x[:2])


def covered(rows, a, b, kinds):
    """Moments of [a, b) in any row of these kinds, one at a time: slow and obvious at the scale of the made traces."""
    cuts = sorted({a, b, *(min(max(t, a), b) for x in rows for t in x[:2])})
    return sum(t1 - t0 for t0, t1 in zip(cuts, cuts[1:]) if any(x[0] <= t0 and t1 <= x[1] and kind(x) in kinds for x in rows))


def kind(x):
    if "Collective name" in x[3]:
        return "communication"
    return {"kernel": "compute", "gpu_memcpy": "copies", "user_annotation": "data_loading"}[x[2]]


def oracle(files):
    calls = collections.defaultdict(dict)
    for f in files:
        rank, rows = rows_of(f)
        ended = {}
        for x in rows:
            a = x[3]
            if kind(x) != "communication":
                continue
            group = a["Process Group Name"], a["Process Group Ranks"]
            since, before = ended.get(group), None
            if since is not None:
                near = [y for y in rows if y[1] > since and y[0] < x[0]]
                before, seen, kinds = {}, 0, []
                for c in CAUSES[:4]:
                    kinds.append(c)
                    n = covered(near, since, x[0], kinds)
                    before[c] = n - seen
                    seen = n
                before["launch"] = x[0] - since - seen
            ended[group] = x[1]
            calls[group + (a["Seq"],)][rank] = (x[0], x[1], a, before)
    return calls


def check_sizes(got, calls):
    want = collections.defaultdict(list)
    for (group, _, _), ranks in calls.items():
        a = next(iter(ranks.values()))[2]
        out, num = next(v for k, v in NAMES.items() if k == a["Collective name"])
        size = max(x[2]["Out msg nelems" if out else "In msg nelems"] for x in ranks.values()) * DTYPES[a["dtype"]]
        want[group, a["Collective name"], a["dtype"], size, len(ranks)].append((ranks, num, a["Group size"]))
    have = {(r["group"], r["collective"], r["dtype"], r["message_bytes"], r["seen"]): r for r in got["sizes"]}
    assert set(have) == set(want) and len(have) == len(got["sizes"]), (set(have) ^ set(want))
    for key, list_ in want.items():
        row, n = have[key], list_[0][2]
        assert row["calls"] == len(list_)
        durations = [[x[1] - x[0] for x in c[0].values()] for c in list_]
        least = [min(d) for d in durations]
        mean = sum(least) / len(least)
        assert abs(row["latency_ns"] - mean) <= 0.5, (key, row, mean)
        assert (row["latency_min_ns"], row["latency_max_ns"]) == (min(least), max(least))
        assert row["wait_ns"] == sum(sum(d) - len(d) * min(d) for d in durations)
        assert row["complete"] == (key[4] == n)
        factor = {0: 1, 1: (n - 1) / n, 2: 2 * (n - 1) / n}[list_[0][1]]
        for name, bytes_ in (("algbw_gb_s", key[3]), ("busbw_gb_s", key[3] * factor)):
            assert abs(row[name] - bytes_ / row["latency_ns"]) <= 0.002, (name, row, key)


def check_last(got, calls):
    want = collections.defaultdict(lambda: {"calls": 0, "last": 0, "late": 0, "why": collections.Counter()})
    for (group, _, _), ranks in calls.items():
        d = {rank: x[1] - x[0] for rank, x in ranks.items()}
        longest, first = max(d.values()), max(sorted(d), key=lambda rank: d[rank])
        for rank in ranks:
            w = want[group, rank]
            w["calls"] += 1
            if d[rank] > min(d.values()) or d[rank] == longest:
                continue
            w["last"] += 1
            w["late"] += longest - d[rank]
            mine, others = ranks[rank][3], ranks[first][3]
            more = {c: mine[c] - others[c] for c in CAUSES} if mine and others else {}
            best = max(more, key=lambda c: more[c]) if more and max(more.values()) > 0 else "unknown"
            w["why"][best] += 1
    assert {(r["group"], r["rank"]) for r in got["last"]} == set(want)
    for r in got["last"]:
        w = want[r["group"], r["rank"]]
        assert (r["calls"], r["last"], r["late_ns"]) == (w["calls"], w["last"], w["late"]), (r, w)
        assert sum(r["causes"].values()) == r["last"]
        assert {k: v for k, v in r["causes"].items() if v} == dict(w["why"]), (r, w)


def check_matrix(got, calls, present):
    want, back = collections.Counter(), collections.Counter()
    for (group, _, _), ranks in calls.items():
        for rank, (_, _, a, _) in ranks.items():
            if a["In split size"] == "[]":
                continue
            members = json.loads(a["Process Group Ranks"])
            for to, n in zip(members, json.loads(a["In split size"])):
                want[group, rank, to] += n * DTYPES[a["dtype"]]
            for origin, n in zip(members, json.loads(a["Out split size"])):
                back[group, origin, rank] += n * DTYPES[a["dtype"]]
    have = {(c["group"], c["from"], c["to"]): c for c in got["all_to_all"]}
    assert set(have) == set(want) | set(back)
    for key, c in have.items():
        assert c["bytes"] == (want[key] if key[1] in present else None), (key, c)
        assert c["received_bytes"] == (back[key] if key[2] in present else None), (key, c)
        assert c["agree"] == (True if key[1] in present and key[2] in present else None)


def check_skews(got, job):
    """The true skews, from the job that made the traces: the mean is within the mean of the bounds."""
    want = collections.defaultdict(lambda: [[], []])
    for events in ({},):
        for rank in range(job.n):
            for k, a, b, args in job.events[rank]:
                if k == "call":
                    events.setdefault((args["group"], args["seq"]), []).append((a, b, args))
    for (group, _), list_ in events.items():
        args = list_[0][2]
        out, _ = NAMES[args["name"]]
        size = max(x[2]["out" if out else "in"] for x in list_) * DTYPES[args["dtype"]]
        for side in (0, 1):
            t = [x[side] for x in list_]
            want[group, args["name"], args["dtype"], size][side].append(max(t) - min(t))
    placed = 0
    for row in got["sizes"]:
        truth = want[row["group"], row["collective"], row["dtype"], row["message_bytes"]]
        if row["placed"] != row["calls"]:
            continue
        placed += 1
        for side, name in enumerate(("skew_start_ns", "skew_end_ns")):
            mean = sum(truth[side]) / len(truth[side])
            assert abs(row[name] - mean) <= row["skew_bound_ns"] + 3, (name, row, mean)
            assert abs(row[name] - mean) <= 20000, (name, row, mean)
    assert placed
    for c in got["clocks"]:
        assert c["state"] == ("known" if c["rank"] else "reference"), c


def check_whole(r, folder):
    job = Job(r, r.choice([2, 3, 4, 6]), r.randint(60, 120))
    files = job.write(folder)
    got, calls = ask(*files), oracle(files)
    assert got["calls"] == sum(len(x) for x in calls.values()) and got["unsure"] == 0 and not got["notes"], got["notes"]
    check_sizes(got, calls)
    check_last(got, calls)
    check_matrix(got, calls, set(range(job.n)))
    check_skews(got, job)
    assert sum(g["calls"] for g in got["groups"]) == len(calls) and not any(g["left_out"] for g in got["groups"])


def check_page(r, folder):
    """The page has the document of --json, with all rows."""
    files = Job(r, 4, 12).write(folder)
    page = Path(folder, "page.html")
    done = subprocess.run([TIDEMARK, "collectives", *files, "-o", page], capture_output=True, text=True, check=False)
    if "has no pages" in done.stderr:
        return
    assert done.returncode == 0, done.stderr
    assert section(page.read_text(), "document")[0]["document"] == ask(*files)


def check_missing(r, folder):
    """Without one rank, nothing is complete where it belongs, and the notes say so."""
    job = Job(r, 4, 40)
    files = job.write(folder, skip=(3,))
    got, calls = ask(*files), oracle(files)
    check_sizes(got, {k: v for k, v in calls.items() if len(v) > 1})
    check_last(got, {k: v for k, v in calls.items() if len(v) > 1})
    check_matrix(got, calls, {0, 1, 2})
    alone = sum(len(v) == 1 for v in calls.values())
    assert sum(g["left_out_why"]["alone"] for g in got["groups"]) == alone and alone
    assert any("lack the traces of some ranks" in n["text"] for n in got["notes"])
    only = ask(files[0])
    assert not only["sizes"] and only["clocks"][0]["state"] == "unknown"


def check_hostile(r, folder):
    job = Job(r, 4, 20)

    def sizes(rank, args, extra):
        if rank == 1:
            extra["Group size"] = 3

    def member(rank, args, extra):
        if rank == 2:
            extra["Process Group Ranks"] = str([0, 1, 9, 3])

    def ops(rank, args, extra):
        if rank == 0:
            extra["dtype"] = "Half"

    def absurd(rank, args, extra):
        extra["In msg nelems"] = extra["Out msg nelems"] = 2**63 - 1
        extra["In split size"] = str([2**62] * len(args["ranks"]))
        extra["Out split size"] = "[1, 2, ..., 7]"

    def groups(rank, args, extra):
        extra["Group size"], extra["Process Group Ranks"] = 2**63, "[" + "9" * 400
        extra["Seq"] = -5

    got = ask(*job.write(folder, sizes))
    assert sum(g["left_out_why"]["group_sizes_differ"] for g in got["groups"]) > 0
    got = ask(*job.write(folder, member))
    assert sum(g["left_out"] for g in got["groups"]) > 0
    got = ask(*job.write(folder, ops))
    assert sum(g["left_out_why"]["operations_differ"] for g in got["groups"]) > 0
    got = ask(*job.write(folder, absurd))
    assert got["impossible_sizes"] == got["calls"] and all(s["message_bytes"] is None and s["algbw_gb_s"] is None for s in got["sizes"])
    assert not got["all_to_all"]
    ask(*job.write(folder, groups))
    files = job.write(folder)
    copy = Path(folder, "rank0-again.json")
    copy.write_text(Path(files[0]).read_text())
    got = ask(*files, str(copy))
    assert sum(g["left_out_why"]["same_rank_twice"] for g in got["groups"]) > 0
    copy.unlink()


def main():
    seeds = range(1, 41 if os.environ.get("TIDE_TESTS") == "all" else 9)
    for seed in seeds:
        for check in (check_whole, check_missing, check_hostile) + ((check_page,) if seed == 1 else ()):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(random.Random(seed), folder)
                except AssertionError:
                    print(f"{check.__name__}, seed {seed}", file=sys.stderr)
                    raise
    print(f"collectives: {len(seeds)} seeds")


if __name__ == "__main__":
    main()
