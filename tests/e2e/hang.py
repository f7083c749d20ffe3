#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark hang on kept dumps of torch, on random dumps against its definitions, on wrong and partial folders, and with recordings."""
import collections
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from page_section import section  # noqa: E402

TIDEMARK, DATA = os.environ["TIDEMARK"], Path(__file__).parents[1] / "data" / "flightrec"
RANDOM_JOBS = 40


def hang(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([TIDEMARK, "hang", *map(str, words)], capture_output=True, text=True, check=False)


def verdict(*words: object) -> dict:
    done = hang("--json", *words)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


# ---- dumps that torch wrote ----

def check_kept() -> None:
    for folder in sorted(f for f in DATA.iterdir() if f.is_dir()):
        found = verdict(folder)
        wanted = "none" if folder.name == "no_dump" else folder.name  # gloo retires what failed: --world is needed
        assert found["verdict"] == wanted, (folder, found["verdict"], found["reason"])
    assert verdict("--world", 4, DATA / "no_dump")["verdict"] == "no_dump"
    missing = verdict(DATA / "missing_rank")
    assert [(e["rank"], e["role"]) for e in missing["evidence"]] == [(0, "waiting"), (1, "waiting"), (2, "missing"), (3, "waiting")]
    assert all("train.py" in e["stack"] for e in missing["evidence"])
    pickles = verdict(*DATA.glob("missing_rank/nccl*"))
    texts = verdict(*DATA.glob("missing_rank/*.json"))
    for of_pickle, of_json in zip(pickles["evidence"], texts["evidence"], strict=True):
        assert {k: v for k, v in of_pickle.items() if k not in ("stack", "file")} == {k: v for k, v in of_json.items() if k not in ("stack", "file")}


def check_nccl() -> None:
    """A dump of NCCL itself (torch 2.11, an H200; `unknown` has it while the device still works), and one of the same process 2 seconds later: it moved."""
    with tempfile.TemporaryDirectory() as folder:
        early = pickle.loads((DATA / "unknown" / "nccl_trace_rank_0").read_bytes())
        later = {**early, "pg_status": {"0": {**early["pg_status"]["0"], "last_completed_collective": 6}}, "entries": [{**e, "state": "completed", "retired": True} for e in early["entries"]]}
        Path(folder, "first_rank_0").write_bytes((DATA / "unknown" / "nccl_trace_rank_0").read_bytes())
        assert verdict(folder)["verdict"] == "unknown"
        Path(folder, "second_rank_0").write_bytes(pickle.dumps(later, 2))
        found = verdict(folder)
        assert found["verdict"] == "none" and found["dumps"] == 2 and found["ranks"] == 1, found


# ---- random dumps, and the definitions of docs/analyses/hang.md in the plainest words ----

def entry(record: int, group: str, seq: int, op: str, size: int, dtype: str, state: str) -> dict:
    return {"frames": [{"name": "step", "filename": "train.py", "line": record}], "record_id": record, "pg_id": int(group), "process_group": (group, f"g{group}"),
            "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq, "profiling_name": f"nccl:{op}", "time_created_ns": 10**18 + record * 1000,
            "input_sizes": [[size]], "output_sizes": [[size]], "input_dtypes": [dtype], "output_dtypes": [dtype], "state": state,
            "time_discovered_started_ns": None, "time_discovered_completed_ns": 10**18 + record * 1000 + 10 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 1000, "is_p2p": False}


def random_job(rng: random.Random) -> tuple:
    world = rng.randint(2, 6)
    groups = {"0": list(range(world)), "1": sorted(rng.sample(range(world), rng.randint(1, world))), "2": sorted(rng.sample(range(world), rng.randint(1, world)))}
    order = [(rng.choice("012"), rng.choice(("all_reduce", "broadcast", "all_gather"))) for _ in range(rng.randint(1, 12))]
    dumps = {}
    for rank in range(world):
        if rng.random() < 0.15:
            continue
        stop, entries, seqs = rng.randint(0, len(order)), [], collections.Counter()
        for group, op in order[:stop]:
            if rank not in groups[group]:
                continue
            seqs[group] += 1
            wrong = rng.random() < 0.03
            state = "completed" if rng.random() < 0.8 else rng.choice(("started", "scheduled"))
            entries.append(entry(len(entries), group, seqs[group], "reduce" if wrong and rng.random() < 0.4 else op,
                                 5 if wrong and rng.random() < 0.5 else 4, "Half" if wrong else "Float", state))
        kept = entries[rng.randint(0, 3):] if rng.random() < 0.3 else entries
        dumps[rank] = (kept, bool(kept) and kept[0]["record_id"] == 0)
    return world, groups, dumps


def role(dumps: dict, rank: int, group: str, seq: int) -> str:
    if rank not in dumps:
        return "no_dump"
    entries, whole = dumps[rank]
    own = [e for e in entries if e["process_group"][0] == group]
    for e in own:
        if e["collective_seq_id"] == seq:
            return "finished" if e["state"] == "completed" else "waiting"
    if any(e["collective_seq_id"] > seq for e in own):
        return "finished"  # passed, which the table counts as finished
    return "missing" if whole or own else "unknown"


def differ(a: dict, b: dict) -> bool:
    if a["profiling_name"] != b["profiling_name"]:
        return True
    keys = ["output_sizes", "output_dtypes"] if a["profiling_name"] == "nccl:broadcast" else ["input_sizes", "input_dtypes"]
    return any(a[k] != b[k] for k in keys)


def check_random() -> None:
    compared = 0
    for seed in range(RANDOM_JOBS):
        world, groups, dumps = random_job(random.Random(seed))
        if not dumps:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for rank, (entries, _) in dumps.items():
                config = {g: {"name": g, "desc": f"g{g}", "ranks": str(ranks)} for g, ranks in groups.items() if rank in ranks}
                document = {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": entries}
                Path(folder, f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(document, seed % 4 + 2))
            found = verdict("--world", world, folder)
        rows = {(w["group"], w["seq"]): w for w in found["waiting"]}
        wanted = {}
        for group, ranks in groups.items():
            waits = sorted({e["collective_seq_id"] for r, (entries, _) in dumps.items() for e in entries
                            if e["process_group"][0] == group and e["state"] != "completed"})
            if waits:
                wanted[group, waits[0]] = collections.Counter(role(dumps, r, group, waits[0]) for r in ranks)
        assert rows.keys() == wanted.keys(), (seed, rows.keys(), wanted.keys())
        for key, counts in wanted.items():
            row = rows[key]
            for name in ("missing", "no_dump", "unknown"):
                assert row[name] == counts[name], (seed, key, name, row, counts)
            assert row["waiting"] + row["finished"] + row["differ"] == counts["waiting"] + counts["finished"], (seed, key, row, counts)
            compared += 1
        differing = {g: 0 for g in groups}
        for group in groups:
            for seq in {e["collective_seq_id"] for entries, _ in dumps.values() for e in entries if e["process_group"][0] == group}:
                here = [e for entries, _ in dumps.values() for e in entries if (e["process_group"][0], e["collective_seq_id"]) == (group, seq)]
                differing[group] += any(differ(here[0], e) for e in here[1:])
        for g in found["groups"]:
            assert g["rows_differ"] == differing[g["group"]], (seed, g, differing)
            assert g["ranks"] == len(groups[g["group"]]), (seed, g, groups)
        if found["verdict"] in ("missing_rank", "no_dump"):  # the evidence is what the definitions give
            for e in found["evidence"]:
                if e["role"] in ("missing", "no_dump", "waiting") and e["group"]:
                    assert role(dumps, e["rank"], e["group"], e["seq"]) == e["role"], (seed, e)
            named = "missing" if found["verdict"] == "missing_rank" else "no_dump"
            assert any(e["role"] == named for e in found["evidence"])
        if not wanted:
            assert found["verdict"] in ("none", "no_dump", "unknown"), (seed, found)
    assert compared > 20, compared


# ---- send and recv, coalesced ops ----

def job(folder: str, *ranks: list, whole: bool = True) -> dict:
    for rank, entries in enumerate(ranks):
        config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(len(ranks))))}}
        document = {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": [{**e, "record_id": i + (not whole)} for i, e in enumerate(entries)]}
        Path(folder, f"rank_{rank}").write_bytes(pickle.dumps(document, 2))
    return verdict(folder)


def check_pairs() -> None:
    def op(name: str, state: str, **more: object) -> dict:
        return {**entry(0, "0", 1, name, 4, "Float", state), **more}

    with tempfile.TemporaryDirectory() as folder:
        p2p = {"is_p2p": True, "p2p_seq_id": 1}
        done = op("all_reduce", "completed")
        receive = op("recv 1<-0", "started", **p2p)
        found = job(folder, [done], [done, receive])
        assert found["verdict"] == "missing_rank" and "Rank 0 never came to recv 1<-0" in found["reason"], found["reason"]
        found = job(folder, [done, op("send 0->1", "started", **p2p)], [done, receive])
        assert found["verdict"] == "unknown", found
        found = job(folder, [done], [done, receive], whole=False)
        assert found["verdict"] == "unknown", found
        # three ops in a batch, finished by the op that ends it
        batch = [op("all_reduce", "scheduled"), op("all_reduce", "scheduled"), op("coalesced", "completed")]
        assert job(folder, batch, batch)["verdict"] == "none"
        batch[2] = op("coalesced", "started")
        found = job(folder, batch, [])
        assert found["verdict"] == "unknown" and found["waiting"][0]["unknown"] == 1, found  # no op says that rank 1 has all of its own


# ---- wrong and partial folders ----

def check_wrong() -> None:
    real = (DATA / "missing_rank" / "nccl_trace_rank_0").read_bytes()
    harm = b"\x80\x02}q\x00(X\x09\x00\x00\x00pg_configq\x01}X\x07\x00\x00\x00entriescos\nsystem\nq\x02u."
    cases = {  # files of a folder, exit status, a part of the message or of the answer
        "empty": ({}, 1, "no file of these formats: flightrec,tide"),
        "notes": ({"notes.txt": b"hello"}, 1, "no file of these formats"),
        "harmful": ({"rank_0": harm}, 1, "os.system"),
        "cut": ({"rank_0": real[:1000]}, 1, "byte"),
        "no_name": ({"dump": real}, 1, "its name has no rank"),
        "json_cut": ({"rank0.json": (DATA / "missing_rank" / "rank0.json").read_bytes()[:800]}, 1, "the JSON ends early"),
        "no_entries": ({"rank_0": pickle.dumps({"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": []})}, 0, "no collectives"),
        "entries_odd": ({"rank_0": pickle.dumps({"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": [7]})}, 1, "an entry that is not a dict"),
        "one_of_two": ({"rank_0": real, "rank_1": real[:1000]}, 0, "1 of 2 traces could not be read"),
        "one": ({"rank_0": real}, 0, "--world"),
    }
    for name, (files, status, text) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            for file, content in files.items():
                Path(folder, file).write_bytes(content)
            done = hang(folder)
            assert done.returncode == status and text in done.stdout + done.stderr, (name, done)
            assert len(done.stderr.split("\nnext, ")[0].splitlines()) <= 2 and "Traceback" not in done.stderr, (name, done)
    assert hang("/nonexistent").returncode == 1


# ---- dumps as other programs write them ----

def check_texts() -> None:
    """Numbers as texts, fields missing: PyTorch's own tests of its analyser make such dumps, and its status counts in texts."""
    def op(name: str, seq: int, state: str) -> dict:
        return {"profiling_name": f"nccl:{name}", "state": state, "process_group": ("0", "default"), "input_sizes": [[4, 4]], "output_sizes": [[4, 4]],
                "input_dtypes": ["float32"], "output_dtypes": ["float32"], "collective_seq_id": str(seq), "p2p_seq_id": "0", "time_created_ns": 0, "frames": []}
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(2):
            entries = [op("all_reduce", 1, "completed"), op("all_reduce", 2, "scheduled")][:2 - rank]
            status = {"0": {"last_enqueued_collective": str(len(entries)), "last_started_collective": "-1", "last_completed_collective": "1"}}
            document = {"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default", "ranks": "[0, 1]"}}, "pg_status": status, "entries": entries}
            Path(folder, f"comm_lib_trace_rank_{rank}").write_bytes(pickle.dumps(document, 2))
        found = verdict(folder)
    assert found["left_out_ops"] == 0 and found["verdict"] == "missing_rank" and "Rank 1 never came to all_reduce, sequence 2" in found["reason"], found


# ---- the page ----

def check_page() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "x.html")
        done = hang(DATA / "missing_rank", "-o", page)
        if "this build has no pages" in done.stderr:
            return
        assert done.returncode == 0 and "a page" in done.stderr, done
        shown, _ = section(page.read_text(encoding="utf-8"), "document")
    assert shown["name"] == "hang" and shown["document"] == verdict(DATA / "missing_rank"), shown
    described = {m["key"]: m for m in shown["members"]}
    assert described["evidence"]["kind"] == "TABLE" and described["evidence"]["members"][0]["heading"] == "Rank", described["evidence"]


# ---- recordings in the folder ----

def check_recordings() -> None:
    """A rank without a dump whose recording was killed: it died."""
    with tempfile.TemporaryDirectory() as folder:
        for file in (DATA / "no_dump").iterdir():
            Path(folder, file.name).write_bytes(file.read_bytes())
        env = {**os.environ, "RANK": "3", "WORLD_SIZE": "4"}
        with subprocess.Popen([TIDEMARK, "run", "--heap", "-o", f"{folder}/run.tide", "--", "sleep", "30"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as p:
            give_up = time.monotonic() + 60
            while not list(Path(folder).glob("run*.tide")) and time.monotonic() < give_up:
                time.sleep(0.05)
            time.sleep(0.5)
            os.killpg(p.pid, 9)
        found = verdict("--world", 4, folder)
        assert found["recordings"] and found["recordings"][0]["rank"] == 3, found["recordings"]
        assert found["recordings"][0]["ended"] == "died", found["recordings"]
        assert found["verdict"] == "died" and "Rank 3" in found["reason"], (found["verdict"], found["reason"])


check_kept()
check_random()
check_pairs()
check_wrong()
check_recordings()
check_nccl()
check_texts()
check_page()
print("ok")
