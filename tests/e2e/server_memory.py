#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark serving: snapshots of made-up servers against the definitions of docs/analyses/serving.md in the plainest words, and replays
against a second allocator (snapshot_maker.py)."""
import fnmatch
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from snapshot_maker import MIB, Allocator  # noqa: E402

TIDEMARK, DATA = os.environ["TIDEMARK"], Path(__file__).parents[1] / "data" / "server"
PARTS = ("weights", "kv_cache", "graphs", "graphs_free", "workspace", "activations", "cached", "unexplained")


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([TIDEMARK, "serving", *map(str, words)], capture_output=True, text=True, check=False)


def serving(*words: object) -> dict:
    done = run("--json", *words)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def frames(*at: tuple) -> list:
    """Innermost first."""
    return [{"name": name, "filename": file, "line": 10 + i} for i, (name, file) in enumerate(at)]


VLLM = {
    "weights": frames(("empty", "/site-packages/torch/_tensor.py"), ("load_weights", "/site-packages/vllm/model_executor/model_loader/default_loader.py"),
                      ("load_model", "/site-packages/vllm/v1/worker/gpu_model_runner.py")),
    "kv_cache": frames(("_allocate_kv_cache_tensors", "/site-packages/vllm/v1/worker/gpu_model_runner.py"),
                       ("initialize_kv_cache", "/site-packages/vllm/v1/worker/gpu_model_runner.py")),
    "graph": frames(("forward", "/site-packages/vllm/model_executor/models/llama.py"), ("_dummy_run", "/site-packages/vllm/v1/worker/gpu_model_runner.py"),
                    ("capture_model", "/site-packages/vllm/v1/worker/gpu_model_runner.py")),
    "activations": frames(("forward", "/site-packages/vllm/model_executor/models/llama.py"), ("execute_model", "/site-packages/vllm/v1/worker/gpu_model_runner.py")),
}
SGLANG = {
    "weights": frames(("load_model", "/site-packages/sglang/srt/model_loader/loader.py")),
    "kv_cache": frames(("_create_buffers", "/site-packages/sglang/srt/mem_cache/memory_pool.py"), ("__init__", "/site-packages/sglang/srt/mem_cache/memory_pool.py")),
    "graph": frames(("run_once", "/site-packages/sglang/srt/model_executor/cuda_graph_runner.py"),
                    ("capture_one_batch_size", "/site-packages/sglang/srt/model_executor/cuda_graph_runner.py")),
    "activations": frames(("forward_batch_generation", "/site-packages/sglang/srt/managers/tp_worker.py")),
}
OWN = {
    "weights": frames(("read_parameters", "/srv/engine/files.py")),
    "kv_cache": frames(("make", "/srv/engine/paged.py")),
    "graph": frames(("record", "/srv/engine/graphs.py")),
    "activations": frames(("step", "/srv/engine/loop.py")),
}
ROLES = ["--role", "weights=**/engine/files.py", "--role", "kv_cache=**/paged.py:make", "--role", "activations=**/loop.py"]


class Server:
    """Captures are lists of requests in a private pool; some stay."""

    def __init__(self, names: dict, rng: random.Random, shared: bool, sizes: list, dropped: tuple = ()) -> None:
        self.names, self.rng, self.shared, self.sizes = names, rng, shared, sizes
        self.a, self.snapshots, self.annotations = Allocator(), [], []
        rng = random.Random(rng.random())
        self.shape = [(rng.choice((3, 40, 700)) * 1024, rng.random() < 0.3) for _ in range(rng.randint(3, 9))]  # bytes for a batch of 1, kept
        self.load()
        for k, size in enumerate(sizes):
            self.capture(k, size, size in dropped)
        self.serve()

    def keep(self, name: str) -> None:
        self.snapshots.append((name, self.a.snapshot(self.annotations), self.a.time_us, self.a.reserved()))

    def load(self) -> None:
        for i in range(self.rng.randint(2, 6)):
            self.a.allocate(f"w{i}", self.rng.randint(1, 30 * MIB), self.names["weights"])
        self.a.allocate("scratch", 8 * MIB, frames(("loose", "/srv/other.py")))
        self.keep("loaded")
        for i in range(self.rng.randint(1, 3)):
            self.a.allocate(f"kv{i}", self.rng.randint(30 * MIB, 90 * MIB), self.names["kv_cache"])
        self.keep("cache")

    def requests(self, where: str, k: int, size: int, pool: tuple) -> None:
        for i, (one, _) in enumerate(self.shape):
            self.a.allocate(f"{where}{k}.{i}", one * size, self.names["graph"], pool)
        for i, (_, kept) in enumerate(self.shape):
            if where == "warm" or not kept:
                self.a.free(f"{where}{k}.{i}")

    def capture(self, k: int, size: int, dropped: bool) -> None:
        self.requests("warm", k, size, (0, 0))  # the run before each capture
        self.a.empty_cache()
        begin = self.a.time_us
        if not dropped:
            self.requests("graph", k, size, (0, 1) if self.shared else (0, k + 1))
        self.annotations += [{"stage": "START", "name": f"capture_bs_{size}", "device": 0, "time_us": begin + 1},
                             {"stage": "END", "name": f"capture_bs_{size}", "device": 0, "time_us": self.a.time_us + 1}]
        self.keep(f"captured{size}")

    def serve(self) -> None:
        for i in range(self.rng.randint(1, 5)):
            self.a.allocate(f"a{i}", self.rng.randint(1, 40 * MIB), self.names["activations"])
            if i % 2:
                self.a.free(f"a{i - 1}")
        self.keep("served")


# ---- the definitions ----

def matches(frame: dict, file: str, function: str = "*") -> bool:
    return fnmatch.fnmatchcase(frame["filename"], file) and fnmatch.fnmatchcase(frame["name"], function)


def part_of(names: dict, block: dict, pool: tuple) -> str:
    stack = block["frames"]
    if pool != (0, 0):
        return "graphs"
    for part in ("weights", "kv_cache", "activations"):
        if stack == names[part]:
            return part
    if stack == names["graph"]:
        return "activations"
    return "unexplained"


def parts_of(names: dict, snapshot: dict) -> dict:
    sums = dict.fromkeys(PARTS, 0)
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            free = "cached" if s["segment_pool_id"] == (0, 0) else "graphs_free"
            sums[free if b["state"] == "inactive" else part_of(names, b, s["segment_pool_id"])] += b["size"]
    return sums


def highest_rest(names: dict, snapshot: dict) -> int:
    """Reserved bytes beside the KV cache, event by event."""
    reserved = kv = most = 0
    live = {}
    for e in snapshot["device_traces"][0]:
        if e["action"] == "segment_alloc":
            reserved += e["size"]
        elif e["action"] == "segment_free":
            reserved -= e["size"]
        elif e["action"] == "alloc" and e["frames"] == names["kv_cache"]:
            live[e["addr"]] = next(b["size"] for s in snapshot["segments"] for b in s["blocks"] if b["address"] == e["addr"])
            kv = sum(live.values())
        if kv:
            most = max(most, reserved - kv)
    return most


# ---- made-up servers ----

def check_parts(names: dict, found: dict, snapshot: dict) -> None:
    parts = {p["part"]: p["bytes"] for p in found["parts"]}
    assert parts == parts_of(names, snapshot), (parts, parts_of(names, snapshot))
    reserved = sum(s["total_size"] for s in snapshot["segments"])
    assert found["reserved_bytes"] == reserved == sum(parts.values()) and found["loose_bytes"] == 0
    assert sum(p["reserved_bytes"] for p in found["pools"]) == reserved
    for p in found["pools"]:
        assert p["live_bytes"] + p["free_bytes"] == p["reserved_bytes"], p
    for part in PARTS:
        said = sum(e["bytes"] for e in found["evidence"] if e["part"] == part)
        assert said == (0 if part in ("cached", "graphs_free") else parts[part]), (part, said)


def dropped_reserved(names: dict, seed: int, shared: bool, sizes: list, dropped: tuple) -> int:
    return Server(names, random.Random(seed), shared, sizes, dropped).a.reserved()


def check_captures(server: Server, names: dict, seed: int, found: dict) -> None:
    sizes, shape = server.sizes, server.shape
    assert [c["batch"] for c in found["captures"]] == sizes, found["captures"]
    assert found["replay"]["reproduced"] and found["replay"]["reserved_bytes"] == server.a.reserved()
    for k, c in enumerate(found["captures"]):
        assert c["allocations"] == len(shape) and c["graphs"] == 1
        assert c["requested_bytes"] == sum(one * sizes[k] for one, _ in shape)
        assert c["kept_bytes"] == sum(-(-one * sizes[k] // 512) * 512 for one, kept in shape if kept) or any(
            one * sizes[k] > MIB for one, kept in shape if kept), c  # a large block keeps up to 1 MiB more
        assert c["relative"] is None if len(sizes) == 1 else abs(c["relative"] - sizes[k] / min(sizes)) < 1e-9, c
        alone = dropped_reserved(names, seed, server.shared, sizes, (sizes[k],))
        larger = dropped_reserved(names, seed, server.shared, sizes, tuple(s for s in sizes if s >= sizes[k]))
        assert c["returns_bytes"] == server.a.reserved() - alone, (c, alone)
        assert c["returns_with_larger_bytes"] == server.a.reserved() - larger, (c, larger)
        at = next(i for i, s in enumerate(server.snapshots) if s[0] == f"captured{sizes[k]}")
        added = sum(s["total_size"] for s in server.snapshots[at][1]["segments"] if s["segment_pool_id"] != (0, 0)) - sum(
            s["total_size"] for s in server.snapshots[at - 1][1]["segments"] if s["segment_pool_id"] != (0, 0))
        assert c["added_bytes"] == added, (c, added)
        assert Path(c["added_in"]).stem == f"{at:02d}-captured{sizes[k]}", c
    private = sum(p["reserved_bytes"] for p in found["pools"] if p["kind"] == "private")
    assert sum(c["added_bytes"] for c in found["captures"]) == private


def check_growth(server: Server, names: dict, found: dict) -> None:
    rows = {(Path(g["file"]).stem, g["what"]): g for g in found["growth"]}
    for i, (name, snapshot, _, _) in enumerate(server.snapshots):
        now = parts_of(names, snapshot)
        row = found["snapshots"][i]
        assert Path(row["file"]).stem == f"{i:02d}-{name}" and row["reserved_bytes"] == sum(now.values())
        for part in ("weights", "kv_cache", "workspace", "activations", "cached", "unexplained"):
            assert row[f"{part}_bytes"] == now[part], (name, part)
        assert row["graphs_bytes"] == now["graphs"] + now["graphs_free"]
        before = parts_of(names, server.snapshots[i - 1][1]) if i else now
        for part in PARTS:
            change = rows.pop((f"{i:02d}-{name}", part), None)
            assert (change["delta_bytes"] if change else 0) == now[part] - before[part], (name, part, change)
    assert all(what.startswith("pool ") for _, what in rows), rows
    captured = [s["sizes"] for s in found["snapshots"]]
    assert captured == sorted(captured) and captured[-1] == len(server.sizes), captured


def check_servers(folder: Path) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        names, more = ((VLLM, []), (SGLANG, []), (OWN, ROLES))[seed % 3]
        sizes = sorted(rng.sample((1, 2, 4, 8, 16, 24, 32), rng.randint(1, 5)), reverse=rng.random() < 0.7)
        shared = rng.random() < 0.6
        server = Server(names, random.Random(seed), shared, sizes)
        files = []
        for i, (name, snapshot, _, _) in enumerate(server.snapshots):
            files.append(folder / f"{i:02d}-{name}.pickle")
            files[-1].write_bytes(pickle.dumps(snapshot, 2 + seed % 4))
        shuffled = rng.sample(files, len(files))
        last = server.snapshots[-1][1]
        for given in (files[-1:], shuffled):
            found = serving(*more, "--capacity", "1GiB", "--outside", "100MiB", *given)
            check_parts(names, found, last)
            kv = found["kv_cache"]
            assert kv["rest_bytes"] == highest_rest(names, last), (kv, highest_rest(names, last))
            assert kv["largest_bytes"] == max(0, 924 * MIB - kv["rest_bytes"]) and kv["bound"] == "exact"
        check_captures(server, names, seed, found)
        check_growth(server, names, found)
        at_most = serving(*more, "--capacity", "1GiB", files[-1])["kv_cache"]
        assert at_most["bound"] == "at_most" and at_most["largest_bytes"] == max(0, 1024 * MIB - kv["rest_bytes"])
        unknown = serving(*more, files[-1])["kv_cache"]
        assert unknown["largest_bytes"] is None and unknown["capacity_bytes"] is None
        for f in files:
            f.unlink()


# ---- captures without annotations ----

def check_unnamed(folder: Path) -> None:
    server = Server(VLLM, random.Random(99), True, [8, 4, 2])
    file = folder / "x.pickle"
    snapshot = server.snapshots[-1][1]
    file.write_bytes(pickle.dumps({**snapshot, "external_annotations": []}, 4))
    found = serving(file)
    assert [(c["batch"], c["batch_from"]) for c in found["captures"]] == [(None, None)] * 3
    assert [c["relative"] for c in found["captures"]] == [4, 2, 1]
    given = serving("--sizes", "8,4,2", file)
    assert [(c["batch"], c["batch_from"]) for c in given["captures"]] == [(8, "given"), (4, "given"), (2, "given")]
    for key in ("returns_bytes", "returns_with_larger_bytes", "added_bytes", "kept_bytes"):
        assert [c[key] for c in given["captures"]] == [c[key] for c in found["captures"]], key
    same = serving("--sizes", "8,8,2", file)  # two graphs of one size are one row
    assert [(c["batch"], c["graphs"]) for c in same["captures"]] == [(8, 2), (2, 1)]
    before = [e for e in snapshot["device_traces"][0] if e["time_us"] > server.snapshots[2][2]]  # the history lost its beginning
    file.write_bytes(pickle.dumps({**snapshot, "device_traces": [before], "external_annotations": []}, 4))
    late = serving(file)
    assert len(late["captures"]) == 2 and sum(p["bytes"] for p in late["parts"]) == late["reserved_bytes"] + late["loose_bytes"]


# ---- snapshots of a server on an H200 (tests/data/server: torch 2.11, 8 layers, static KV cache) ----

def check_real() -> None:
    truth = json.loads((DATA / "truth.json").read_text())
    for pools, last in (("shared", "09-served"), ("own", "09-served")):
        files = sorted(DATA.glob(f"{pools}-*.pickle.gz"))
        told, small = truth[pools], truth[f"{pools}_small"]
        found = serving("--sizes", ",".join(map(str, told["sizes"])), *files)
        parts = {p["part"]: p["bytes"] for p in found["parts"]}
        assert Path(found["file"]).name == f"{pools}-{last}.pickle.gz" and found["loose_bytes"] == 0
        assert found["reserved_bytes"] == told["stages"]["served"]["reserved"] == sum(parts.values())
        assert parts["weights"] == told["weight_bytes"] and parts["kv_cache"] == told["kv_bytes"], (parts, told)
        assert parts["graphs"] + parts["graphs_free"] == told["stages"]["served"]["private"]
        assert found["replay"] == {"reproduced": True, "reserved_bytes": found["reserved_bytes"], "recorded_bytes": found["reserved_bytes"]}, found["replay"]
        sizes = {c["batch"]: c for c in found["captures"]}
        assert list(sizes) == told["sizes"] and found["captured_once_bytes"] == 32 * MIB, (list(sizes), found["captured_once_bytes"])  # cuBLAS's workspace
        # the same server that captured 8, 4, 2 and 1 only
        less = told["stages"]["served"]["private"] - small["stages"]["served"]["private"]
        assert sizes[16]["returns_with_larger_bytes"] == less, (sizes[16], less)
        assert [c["relative"] for c in found["captures"]] == sorted((c["relative"] for c in found["captures"]), reverse=pools == "shared")
        for row in found["snapshots"]:
            stage = Path(row["file"]).name.split("-")[2].split(".")[0]
            assert row["reserved_bytes"] == told["stages"][stage]["reserved"] and row["graphs_bytes"] == told["stages"][stage]["private"], row
    assert sizes[32]["pool"] != sizes[16]["pool"]


# ---- what a wrong call says ----

def check_refused(folder: Path) -> None:
    file = folder / "x.pickle"
    file.write_bytes(pickle.dumps(Server(VLLM, random.Random(99), True, [8, 4, 2]).snapshots[-1][1], 4))
    for words, says in (
        (["--role", "kv=**/a.py"], "write weights=, kv_cache=, workspace= or activations="),
        (["--role", "kv_cache="], "names no file"),
        (["--role", "kv_cache=" + "a" * 300], "is too long"),
        (["--sizes", "8,4"], "2 numbers, but 3 captures"),
        (["--sizes", "8,,4"], "write numbers like 32,16,8"),
        (["--sizes", "-1"], "write numbers like 32,16,8"),
        (["--capacity", "12"], "unit"),
        (["--device", "cuda:7"], "cuda:7"),
    ):
        done = run(*words, file)
        assert done.returncode == 2 and says in done.stderr, (words, done.returncode, done.stderr)
        assert len(done.stderr.splitlines()) <= 3, done.stderr
    empty = folder / "empty.pickle"
    empty.write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}, 4))
    done = run(empty)
    assert not done.returncode and done.stdout == "No memory of a device is recorded.\n", (done.returncode, done.stdout, done.stderr)
    assert serving(empty)["device"] is None


def check_hint() -> None:
    """The first answers about such a snapshot name the command."""
    done = subprocess.run([TIDEMARK, DATA / "own-09-served.pickle.gz"], capture_output=True, text=True, check=False)
    assert "tidemark serving " in done.stdout and done.returncode == 0, done


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_servers(Path(folder))
        check_unnamed(Path(folder))
        check_refused(Path(folder))
    check_real()
    check_hint()


main()
