# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes the Flight Recorder dumps beside it: 4 processes of gloo each, one of which misbehaves. make.py FOLDER [CASE...]

missing_rank  rank 2 does not call the last all_reduce        no_dump  rank 3 is killed before it
mismatched_op, mismatched_size, mismatched_dtype              rank 1 calls another op, size or type
mismatched_order  ranks 0 and 1 wait in the group of both, ranks 2 and 3 in that of all
slow  two dumps of each rank: rank 2 comes late to every collective
none  all is finished
"""
import os
import signal
import sys
import time
import typing
from pathlib import Path

import torch
from torch import distributed
from torch._C import _distributed_c10d

RANKS = 4
CASES = ("missing_rank", "no_dump", "mismatched_op", "mismatched_size", "mismatched_dtype", "mismatched_order", "slow", "none")


def dump(folder: Path, rank: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"nccl_trace_rank_{rank}").write_bytes(_distributed_c10d._dump_fr_trace())  # type: ignore[attr-defined]
    (folder / f"rank{rank}.json").write_bytes(_distributed_c10d._dump_fr_trace_json())  # type: ignore[attr-defined]


def wait_for(folder: Path, rank: int, name: str, ranks: int) -> None:
    """Returns when all ranks are here; no collective is called."""
    (folder / f".{name}{rank}").touch()
    while len(list(folder.glob(f".{name}*"))) < ranks:
        time.sleep(0.02)


def last_step(case: str, rank: int, both: typing.Any) -> list:
    x = torch.ones(4)
    if case == "missing_rank":
        return [distributed.all_reduce(x, async_op=True)] if rank != 2 else []
    if case == "mismatched_op":
        return [distributed.broadcast(x, 0, async_op=True) if rank == 1 else distributed.all_reduce(x, async_op=True)]
    if case == "mismatched_size":
        return [distributed.all_reduce(torch.ones(4 if rank != 1 else 3), async_op=True)] if rank < 2 else []
    if case == "mismatched_dtype":
        return [distributed.all_reduce(torch.ones(4, dtype=torch.float64 if rank == 1 else torch.float32), async_op=True)] if rank != 3 else []
    if case == "mismatched_order":
        return [distributed.all_reduce(x, group=both, async_op=True)] if rank == 0 else [distributed.all_reduce(x, async_op=True)]
    if case == "no_dump":
        if rank == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return [distributed.barrier(async_op=True)]
    return []


def job(case: str, folder: Path, rank: int) -> None:
    store = distributed.FileStore(str(folder / ".store"), RANKS)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=RANKS)
    both = distributed.new_group([0, 1])
    for _ in range(2):
        distributed.all_reduce(torch.ones(4))
    if rank < 2:
        distributed.all_gather([torch.zeros(4), torch.zeros(4)], torch.ones(4), group=both)
    wait_for(folder, rank, "begun", RANKS)
    waiting = last_step(case, rank, both)
    if case == "slow":
        if rank != 2:
            waiting.append(distributed.all_reduce(torch.ones(4), async_op=True))
        time.sleep(0.3)
        dump(folder / "first", rank)
        wait_for(folder, rank, "first", RANKS)
        if rank == 2:
            waiting.append(distributed.all_reduce(torch.ones(4), async_op=True))
        waiting[0].wait()
        if rank != 2:
            waiting.append(distributed.all_reduce(torch.ones(4), async_op=True))
    time.sleep(0.3)
    dump(folder / "second" if case == "slow" else folder, rank)
    wait_for(folder, rank, "dumped", RANKS - (case == "no_dump"))
    os._exit(0)


def main(folder: str, cases: list) -> None:
    for case in cases or CASES:
        to = Path(folder) / case
        to.mkdir(parents=True, exist_ok=True)
        pids = []
        for rank in range(RANKS):
            pid = os.fork()
            if not pid:
                job(case, to, rank)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        for file in to.glob(".*"):
            file.unlink()


if __name__ == "__main__":
    os.environ["TORCH_FR_BUFFER_SIZE"] = "100"
    main(sys.argv[1], sys.argv[2:])
