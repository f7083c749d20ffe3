#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict -- PROGRAM` with habits of training scripts: threads, launchers, torch.jit, packed sequences, checks of values."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import MIB, PYTHON, predict  # noqa: E402

# Every part fails without its stand-in. The two steps at the end are those of the prediction.
HABITS = """
import queue, sys, threading, torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.cuda.memory._record_memory_history(max_entries=10)
q = queue.Queue(2)
def load():
    for _ in range(3):
        q.put(torch.randn(16, 64).pin_memory().to("cuda", non_blocking=True))
threading.Thread(target=load, daemon=True).start()
model = nn.DataParallel(torch.jit.script(nn.Linear(64, 64)).cuda())
for _ in range(3):
    model(q.get()).sum().backward()

lengths = torch.randint(5, 20, (16,))
lstm = nn.LSTM(64, 128, batch_first=True).cuda()
out, _ = lstm(pack_padded_sequence(torch.randn(16, 20, 64, device="cuda"), lengths, batch_first=True, enforce_sorted=False))
padded, _ = pad_packed_sequence(out, batch_first=True)
assert padded.shape == (16, 20, 128), padded.shape
padded.sum().backward()

logits = model(torch.randn(16, 64, device="cuda"))
assert torch.isfinite(logits).all() and not torch.isnan(logits).any() and torch.isfinite(logits.sum())
print(f"entropy {Categorical(logits=logits).entropy().mean():.2f}")
index = logits.argmax(-1)
assert torch.bincount(index, minlength=64).shape == (64,)
torch.repeat_interleave(torch.arange(16, device="cuda"), index)
F.ctc_loss(torch.randn(50, 16, 30, device="cuda", requires_grad=True).log_softmax(-1), torch.randint(1, 30, (16, 10)), torch.full((16,), 50), lengths).backward()
plain = nn.Linear(64, 8, bias=False).cuda()
assert torch.func.grad(lambda w: torch.func.functional_call(plain, {"weight": w}, (logits.detach(),)).sum())(plain.weight.detach()).shape == (8, 64)
assert isinstance(torch.cuda.FloatTensor(4), torch.cuda.FloatTensor) and torch.zeros(2).type("torch.cuda.LongTensor").is_cuda
bag = nn.EmbeddingBag(100, 8, sparse=True).cuda()
bag(torch.zeros(4, 4, dtype=torch.long, device="cuda")).sum().backward()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    model(logits)
graph.replay()

def work(rank, n):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.randn(16, 64, device=rank)).sum().backward()
        opt.step()
    print("worked", rank, n)
torch.multiprocessing.spawn(work, (2,), nprocs=2)
torch.cuda.memory._dump_snapshot("never.pickle")
"""
ZERO = """
import math, torch, torch.nn as nn
model = nn.Linear(64, 64).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.randn(16, 64, device="cuda")).pow(2).mean()
    loss.backward()
    opt.step()
    print("psnr", 10 * math.log10(1 / loss.item()))
"""
RANKS = """
import os, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("nccl")
print("rank", dist.get_rank(), "of", dist.get_world_size())
model = DDP(nn.Linear(1024, 1024, bias=False).cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
"""


def check_habits(folder: Path) -> None:
    d, err = predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=HABITS, folder=folder)
    assert "worked 0 2" in err and d["steps"] == 2, (d["steps"], err[-2000:])
    assert "process 0 of 2 runs" in err and not Path("never.pickle").exists(), err[-2000:]
    told = " ".join(d["unknown"])
    for word in "torch.jit: ", "CUDA graphs: ", "pack_padded_sequence: its size depends on data; the largest", "bincount.default: ", "one repetition each":
        assert word in told, (word, d["unknown"])


def check_zero(folder: Path) -> None:
    """A program that divides by a value it read runs once more: values are 1."""
    d, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", script=ZERO, folder=folder)
    assert d["steps"] == 2 and "ZeroDivisionError" in err and "once more with 1" in err and "psnr 0.0" in err and "Traceback" not in err, err


def check_launcher(folder: Path) -> None:
    """torchrun: rank 0 is predicted, the others end at once; DDP has its buckets."""
    d, err = predict("--like", "h200", "--", PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", 2, "--master-port", 29561, "SCRIPT", script=RANKS, folder=folder)
    assert d["steps"] == 2 and "rank 0 of 2" in err and "rank 1" not in err, err
    phases = {p["phase"]: p for p in d["phases"]}
    assert phases["MODEL_CREATION"]["segment_change_bytes"] == 2 * 4 * MIB, phases


def main() -> int:
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        print("SKIP: no PyTorch in .venv (tools/setup test)")
        return 77
    for check in check_habits, check_zero, check_launcher:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
            print("ok", check.__name__, flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
