#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Several ranks of a Tenstorrent run: each rank's report equals that of its own log, for any mixture of their lines.

The oracle is the log of one rank: the lines with its prefix, and nothing else."""
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import emit, files_of, run  # noqa: E402

RANKS, RUNS = 4, 4


def split(log: pathlib.Path) -> list[list[str]]:
    lines = log.read_text(encoding="utf-8").splitlines()
    return [[x for x in lines if x.startswith(f"[1,{k}]")] for k in range(RANKS)]


def mix(ranks: list[list[str]], seed: int) -> str:
    rng, queues, out = random.Random(seed), [list(reversed(r)) for r in ranks], []
    while any(queues):
        q = rng.choice([q for q in queues if q])
        for _ in range(min(len(q), rng.randrange(1, 60))):
            out.append(q.pop())
    return "\n".join(out) + "\n"


def ask(*words: object) -> dict:
    r = run(*map(str, words), "--json")
    assert r.returncode == 0, (words, r.stderr)
    return json.loads(r.stdout)


class Logs:
    def __init__(self, d: pathlib.Path) -> None:
        self.d = d
        self.log, _ = emit(d, "ranks", "--ranks", str(RANKS), "--runs", str(RUNS))
        self.ranks = split(self.log)
        self.alone = []
        for k, lines in enumerate(self.ranks):
            self.alone.append(d / f"alone{k}.log")
            self.alone[k].write_text("\n".join(lines) + "\n")


def levels(found: dict, device: str) -> list:
    """Name and memory of each phase, of one device."""
    return [(p["name"], [m for m in p["memory"] if m.get("device") == device]) for p in found["phases"]]


def phases(x: Logs) -> None:
    """A phase is a run of the program on every rank, not what lies between the ends of two ranks."""
    whole = ask("phases", x.log)
    assert [p["name"] for p in whole["phases"]] == ["main"] + [f"main (run {i})" for i in range(2, RUNS + 1)], [p["name"] for p in whole["phases"]]
    for k in range(RANKS):
        got, want = levels(whole, f"tt:{k}"), levels(ask("phases", x.alone[k]), f"tt:{k}")
        assert got == want, (k, got[0], want[0])
    for p in whole["phases"]:
        total = next(m for m in p["memory"] if m["scope"] == "total")
        mine = [m for m in p["memory"] if m["scope"] == "device"]
        for key in ("allocations_bytes", "deallocations_bytes", "segment_change_bytes", "cumulative_current_bytes"):
            assert total[key] == sum(m[key] for m in mine), (p["name"], key)


def leaks(x: Logs) -> None:
    """Steps are runs of the program, for every rank."""
    for k in range(RANKS):
        got, want = ask("leaks", x.log, "--device", f"tt:{k}"), ask("leaks", x.alone[k])
        assert got["steps"] == want["steps"] == RUNS, (got, want)
        for key in ("total", "groups"):
            if key in want:
                assert got[key] == want[key], (k, key)
    assert "no steps" not in run("leaks", str(x.log)).stdout


def same_mix(x: Logs) -> None:
    """The order in which ranks print changes nothing."""
    other = x.d / "other.log"
    other.write_text(mix(x.ranks, 99))
    assert other.read_text() != x.log.read_text()
    for words in (["phases"], ["memory"], ["peak"], ["leaks"], ["ops"]):
        a, b = ask(*words, x.log), ask(*words, other)
        assert json.dumps(a).replace(x.log.name, "") == json.dumps(b).replace(other.name, ""), words
    drop = re.compile(r'"log_line": \d+')
    a, b = (drop.sub("", json.dumps(ask("tt", "--analyze", p))) for p in (x.log, other))
    assert a == b


def in_order(x: Logs) -> None:
    """Devices are listed by number; the axis counts the operations of a rank."""
    found = ask("memory", x.log)
    assert [d["device"] for d in found["devices"]] == [f"tt:{k}" for k in range(RANKS)]
    one = ask("memory", x.alone[0])
    for key in ("peak_bytes", "peak_time_ns", "live_bytes"):
        assert found["devices"][0]["totals"][key] == one["devices"][0]["totals"][key], key


def shorter(x: Logs) -> None:
    """A rank with fewer runs, and one with other operations: runs still begin together."""
    cut = [list(r) for r in x.ranks]
    ends = [i for i, line in enumerate(cut[2]) if line.endswith("Finished execution of program: main")]
    cut[2] = cut[2][: ends[1] + 6]  # two runs with their `after submit`
    starts = [i for i, line in enumerate(cut[1]) if "Executing operation" in line and "ttnn.matmul" in line]
    del cut[1][starts[0] : starts[0] + 6]  # one operation less in its first run
    log = x.d / "shorter.log"
    log.write_text(mix(cut, 5))
    whole = ask("phases", log)
    assert [p["name"] for p in whole["phases"]] == ["main"] + [f"main (run {i})" for i in range(2, RUNS + 1)]
    for k in (0, 1, 3):
        one = x.d / f"shorter{k}.log"
        one.write_text("\n".join(cut[k]) + "\n")
        assert levels(whole, f"tt:{k}") == levels(ask("phases", one), f"tt:{k}"), k


def skipping(x: Logs) -> None:
    """--skip-runs counts runs of every rank; --skip-warmup leaves out the first of every rank."""
    all_ = ask("tt", "--analyze", x.log)["operations"]
    warm = ask("tt", "--analyze", x.alone[0])["operations"] - ask("tt", "--analyze", x.alone[0], "--skip-runs", 1)["operations"]
    for words in (("--skip-runs", 1), ("--skip-warmup",)):
        got = ask("tt", "--analyze", x.log, *words)["operations"]
        assert got == all_ - RANKS * warm, (words, got, all_, warm)


def per_device(x: Logs) -> None:
    """Peaks of every device; operations name their rank."""
    whole = ask("tt", "--analyze", x.log)
    for k in range(RANKS):
        got = next(p for p in whole["peaks"] if p["device"] == f"tt:{k}" and p["pool"] == "DRAM")
        want = next(p for p in ask("tt", "--analyze", x.alone[k])["peaks"] if p["pool"] == "DRAM")
        for key in ("peak_bytes", "op", "loc", "input_shapes", "position"):
            assert got[key] == want[key], (k, key, got[key], want[key])
        assert got["rank"] == k
    text = run("tt", "--analyze", str(x.log), "--markdown").stdout
    for k in range(RANKS):
        assert f"| DRAM tt:{k} | " in text and f"(rank {k}) | " in text, text[:1500]
    assert "(rank" not in run("tt", "--analyze", str(x.alone[0]), "--markdown").stdout
    (x.d / "files").mkdir()
    assert run("tt", "--analyze", str(x.log), "-o", str(x.d / "files")).returncode == 0
    memory, ops = files_of(x.d / "files", "ranks")
    peak = whole["peaks"][0]
    assert ops[peak["index"]]["loc"] == peak["loc"] and ops[peak["index"]]["rank"] == f"1,{peak['rank']}"
    assert memory["operations"][peak["index"]]["index"] == peak["index"]


def once(x: Logs) -> None:
    """Lists of the highest show an operation of several ranks once, as high as on any; shares are of one rank."""
    whole = ask("tt", "--analyze", x.log)
    alone = [ask("tt", "--analyze", x.log, "--rank", k) for k in range(RANKS)]
    for name, value in (("top_growers_dram", "bytes"), ("top_growers_l1", "bytes"), ("top_consumers_dram", "bytes"), ("padding", "padding_bytes")):
        rows = whole[name]
        assert len({r["position"] for r in rows}) == len(rows) == max(len(a[name]) for a in alone), (name, rows)
        best: dict[int, int] = {}
        for r in (r for a in alone for r in a[name]):
            best[r["position"]] = max(best.get(r["position"], 0), r[value])
        assert [r[value] for r in rows] == sorted(best.values(), reverse=True)[: len(rows)], (name, rows)
    assert len({r["rank"] for r in whole["dram_over_ops"]}) == 1 and whole["dram_over_ops"][-1]["position"] == max(r["position"] for a in alone for r in a["dram_over_ops"])


def tags(x: Logs) -> None:
    """Open MPI 5 names the job in its tags, Open MPI 4 may print a time before them: the same figures, whole or mixed in a line."""
    text = x.log.read_text(encoding="utf-8")
    want = ask("memory", x.log)
    for name, new in (("five", "[prterun-host-4711@1,"), ("time", "Thu May  7 10:39:20 2020[1,")):
        other = x.d / f"{name}.log"
        other.write_text(text.replace("[1,", new), encoding="utf-8")
        got = ask("memory", other)
        assert len(got["devices"]) == RANKS and got["devices"] == want["devices"], (name, got)
    broken = x.d / "broken.log"
    lines = text.replace("[1,", "[prterun-host-4711@1,").split("\n")
    at = next(i for i, y in enumerate(lines) if "Cache hit" in y and lines[i + 1][:24] != y[:24])
    lines[at : at + 2] = [lines[at] + lines[at + 1]]
    broken.write_text("\n".join(lines), encoding="utf-8")
    r = run("memory", str(broken), "--json")
    assert json.loads(r.stdout)["devices"] == want["devices"], "a line that begins in another one"


def labels(x: Logs) -> None:
    """Labels of srun, MPICH and torchrun name ranks, also where a line begins in another; numbers of lines do not."""
    text = x.log.read_text(encoding="utf-8")
    want = ask("memory", x.log)
    for name, new in (("srun", r"\1: "), ("wide", r"00\1: "), ("mpich", r"[\1] "), ("torchrun", r"[default\1]:")):
        other = x.d / f"{name}.log"
        other.write_text("12: not a rank\n[7] nor this\n" + re.sub(r"^\[1,(\d)\]<stdout>: ", new, text, flags=re.M), encoding="utf-8")
        assert ask("memory", other)["devices"] == want["devices"], name
        got = ask("tt", "--analyze", other)
        assert got["ranks"] == RANKS and got["weights"] == ask("tt", "--analyze", x.log)["weights"], name
    lines = (x.d / "srun.log").read_text(encoding="utf-8").split("\n")
    at = next(i for i, y in enumerate(lines) if "Cache hit" in y and lines[i + 1][:1] != y[:1])
    lines[at : at + 2] = [lines[at] + lines[at + 1]]
    (x.d / "broken.log").write_text("\n".join(lines), encoding="utf-8")
    assert json.loads(run("memory", str(x.d / "broken.log"), "--json").stdout)["devices"] == want["devices"], "a line that begins in another one"
    (x.d / "srun.log").write_text(re.sub(r"^\d: ", "3: ", "\n".join(y for y in lines if y.startswith("0: ")), flags=re.M), encoding="utf-8")
    assert [d["device"] for d in ask("memory", x.d / "srun.log")["devices"]] == ["tt:3"], "one rank of several"
    plain = x.alone[0].read_text(encoding="utf-8").replace("[1,0]<stdout>: ", "").split("\n")
    for form in ("{}:{}", "{}: {}", "[{}] {}"):
        (x.d / "numbers.log").write_text("\n".join(form.format(i + 1, y) for i, y in enumerate(plain)), encoding="utf-8")
        got = ask("memory", x.d / "numbers.log")["devices"]
        assert len(got) == 1 and got[0]["totals"] == want["devices"][0]["totals"], form


TESTS = [phases, leaks, same_mix, in_order, shorter, skipping, per_device, once, tags, labels]


def main() -> int:
    fails = 0
    with tempfile.TemporaryDirectory() as tmp:
        x = Logs(pathlib.Path(tmp))
        for test in TESTS:
            try:
                test(x)
                print(f"ok {test.__name__}: {test.__doc__}")
            except (AssertionError, KeyError, StopIteration, IndexError) as why:
                fails += 1
                print(f"FAIL {test.__name__}: {test.__doc__}: {type(why).__name__} {str(why)[:700]}")
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
