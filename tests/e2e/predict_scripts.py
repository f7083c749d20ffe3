#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict -- PROGRAM` with habits of training scripts: threads, launchers, torch.jit, packed sequences, checks of values, checkpoints, copies."""
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, lacks_torch, predict  # noqa: E402

# Every part fails without its stand-in. The two steps at the end are those of the prediction.
HABITS = """
import copy, io, json, numpy, os, pathlib, pickle, queue, shutil, sys, threading, torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.cuda.memory._record_memory_history(max_entries=10)
q = queue.Queue(2)
def load():
    for _ in range(3):
        q.put(torch.randn(16, 64).pin_memory().to("cuda", non_blocking=True)[list(range(16))])
threading.Thread(target=load, daemon=True).start()
model = nn.DataParallel(torch.jit.script(nn.Linear(64, 64)).cuda())
for _ in range(3):
    model(q.get()).sum().backward()

text = numpy.arange(1000, dtype=numpy.uint16)  # batches sliced out of a file of tokens
starts = torch.randint(len(text) - 16, (4,))
batch = torch.stack([torch.from_numpy(text[i:i + 16].astype(numpy.int64)) for i in starts]).cuda()
assert batch.shape == (4, 16), batch.shape
assert sorted(torch.randperm(9).tolist()) == list(range(9)) and int(torch.arange(5)[3]) == 3

known = torch.tensor([3, 9, 4])  # small tensors on the host have values, and so has what is computed from them
on_device = known.cuda()
assert known.max().item() == 9 and known[known > 3].tolist() == [9, 4] and (torch.arange(int(known.max()))[None] < known[:, None]).sum().item() == 16
assert torch.from_numpy(numpy.array([4, 5])).max() == 5 and torch.full((4,), 7).max() == 7 and copy.deepcopy(known).tolist() == [3, 9, 4]
assert on_device.max().item() == 9 and on_device[None].cpu().tolist() == [on_device.tolist()] == [[3, 9, 4]] and torch.tensor([2.5], device="cuda").item() == 2.5
on_device.add_(torch.ones_like(on_device))
assert on_device.tolist() == [4, 10, 5]
on_device.add_(torch.ones(3, device="cuda").mul(torch.rand(3, device="cuda")).long())
assert on_device.tolist() == [0, 0, 0]  # not known any more
order = torch.randperm(5)
order[:] = on_device[0]
assert order.tolist() == [0] * 5  # not known any more
with torch.device("cuda"):
    assert torch.tensor([1.0, 2.0]).is_cuda
with torch.inference_mode():  # sampling from the likeliest: an index is a list
    scores = torch.zeros(4, 64, device="cuda")
    scores[scores < scores.topk(5).values[:, [-1]]] = -1
    assert scores[[0, 2]].shape == (2, 64) and scores[[0, 2]].is_cuda

whole = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).cuda()
before = torch.cuda.memory_allocated()
shadow = copy.deepcopy(whole)  # a copy of the weights, buffers too
assert torch.cuda.memory_allocated() - before == sum((4 * t.numel() + 511) // 512 * 512 for t in whole.state_dict().values() if t.dim()) + 512
assert isinstance(shadow[0].weight, nn.Parameter) and not shadow[1].running_mean.requires_grad
pair = copy.deepcopy({"a": on_device, "b": on_device[:1]})
assert pair["a"].untyped_storage()._cdata == pair["b"].untyped_storage()._cdata
assert len({p.data_ptr() for p in whole.parameters()}) == len({p.untyped_storage().data_ptr() for p in whole.parameters()}) == 4
assert on_device[1:].data_ptr() - on_device.data_ptr() == 8 and on_device[1:].untyped_storage().data_ptr() == on_device.data_ptr()
assert pickle.loads(pickle.dumps(whole.state_dict()))["0.weight"].is_cuda
for _ in range(2):
    loss = shadow(torch.zeros(2, 3, 8, 8, device="cuda")).mean()
    loss.backward()
assert loss < 100 and not loss > 1 and loss == 0 and loss != float("inf") and loss < float("inf")  # a loss compares as the value that it has

kept = pathlib.Path("kept.pt")  # it exists: a prediction has no values to put there
torch.save(shadow.state_dict(), "new.tmp")
assert os.path.exists("new.tmp") and pathlib.Path("new.tmp").is_file() and os.path.getsize("new.tmp") > 0
os.replace("new.tmp", kept)
shutil.copyfile(kept, "best.pt")
before = torch.cuda.memory_allocated()
assert not torch.load("best.pt", map_location="cpu")["0.weight"].is_cuda and torch.cuda.memory_allocated() == before
state = torch.load("best.pt")
assert torch.cuda.memory_allocated() > before
whole.load_state_dict(state)
os.remove(kept)
buffer = io.BytesIO()
torch.save({"state": state, "epoch": 3}, buffer)
buffer.seek(0)
assert torch.load(buffer)["epoch"] == 3
try:
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
except ImportError:
    pass
else:
    head = json.dumps({"w": {"dtype": "BF16", "shape": [8, 4], "data_offsets": [0, 64]}}).encode()
    pathlib.Path("x.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(64))
    assert load_file("x.safetensors", device="cuda")["w"].shape == (8, 4) and load_file("x.safetensors")["w"].dtype == torch.bfloat16
    save_file(state, "y.safetensors")
    with safe_open("y.safetensors", framework="pt", device="cpu") as f:
        assert "0.weight" in f.keys() and f.get_slice("0.weight")[:2].shape == (2, 3, 3, 3) and f.get_slice("0.weight").get_dtype() == "F32"

lengths = torch.randint(5, 20, (16,))
lstm = nn.LSTM(64, 128, batch_first=True).cuda()
out, _ = lstm(pack_padded_sequence(torch.randn(16, 20, 64, device="cuda"), lengths, batch_first=True, enforce_sorted=False))
padded, _ = pad_packed_sequence(out, batch_first=True)
assert padded.shape == (16, 20, 128), padded.shape
padded.sum().backward()

for kind in nn.GRUCell, nn.LSTMCell:
    cell = kind(8, 16).cuda()
    state = cell(torch.zeros(4, 8, device="cuda"), None)
    state = cell(torch.zeros(4, 8, device="cuda"), state)
    state = state[0] if isinstance(state, tuple) else state
    state.sum().backward()
    assert state.shape == (4, 16) and cell.weight_hh.grad.shape == cell.weight_hh.shape and cell.bias_ih.grad.shape == cell.bias_ih.shape

logits = model(torch.randn(16, 64, device="cuda"))
assert torch.isfinite(logits).all() and not torch.isnan(logits).any() and torch.isfinite(logits.sum())
print(f"entropy {Categorical(logits=logits).entropy().mean():.2f}")
index = logits.argmax(-1)
assert torch.bincount(index, minlength=64).shape == (64,)
torch.repeat_interleave(torch.arange(16, device="cuda"), index)
F.ctc_loss(torch.randn(50, 16, 30, device="cuda", requires_grad=True).log_softmax(-1), torch.randint(1, 30, (16, 10)), torch.full((16,), 50), lengths).backward()
plain = nn.Linear(64, 8, bias=False).cuda()
assert torch.func.grad(lambda w: torch.func.functional_call(plain, {"weight": w}, (logits.detach(),)).sum())(plain.weight.detach()).shape == (8, 64)
cell = nn.LSTM(8, 8).cuda()
biased, samples = nn.Linear(8, 4).cuda(), torch.zeros(6, 8, device="cuda")
each = torch.vmap(torch.func.grad(lambda p, x: torch.func.functional_call(biased, p, (x[None],)).sum()), in_dims=(None, 0))(dict(biased.named_parameters()), samples)
assert each["bias"].shape == (6, 4) and each["weight"].shape == (6, 4, 8)  # gradients of each sample
states = torch.func.grad(lambda p: torch.func.functional_call(cell, p, (torch.zeros(3, 2, 8, device="cuda"),))[0].sum())(dict(cell.named_parameters()))
assert states["weight_hh_l0"].shape == (32, 8)
tokens, counts = torch.randn(20, 8, device="cuda"), torch.bincount(index, minlength=6).tolist()
assert [len(x) for x in tokens.split(counts)] == [len(x) for x in torch.split(tokens, counts, dim=0)] == [4, 4, 3, 3, 3, 3]
assert [len(x) for x in tokens.split(6)] == [6, 6, 6, 2] and [len(x) for x in tokens.split_with_sizes([5, 15])] == [5, 15]
assert isinstance(torch.cuda.FloatTensor(4), torch.cuda.FloatTensor) and torch.zeros(2).type("torch.cuda.LongTensor").is_cuda
bag = nn.EmbeddingBag(100, 8, sparse=True).cuda()
bag(torch.zeros(4, 4, dtype=torch.long, device="cuda")).sum().backward()
torch.optim.SparseAdam(bag.parameters()).step()
assert bag.weight.grad.coalesce()._values().shape == (16, 8) and bag.weight.grad.coalesce().is_coalesced()
assert 0 < torch.cuda.memory_stats()["segment.all.peak"] < torch.cuda.memory_stats()["allocated_bytes.all.peak"]
with torch.inference_mode():  # ops come whole there
    before = torch.cuda.memory_allocated()
    assert model(batch.float()[:, :1].expand(4, 64)).shape == (4, 64) and torch.tensor([1, 2]).to("cuda").tolist() == [1, 2]
    assert torch.cuda.memory_allocated() == before
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    model(logits)
graph.replay()

fit = nn.Linear(100, 100, bias=False).cuda()  # an optimizer that stops by values: as long a history as it can have
lbfgs = torch.optim.LBFGS(fit.parameters(), max_iter=12, history_size=15, line_search_fn="strong_wolfe")
def closure():
    lbfgs.zero_grad()
    loss = fit(torch.zeros(4, 100, device="cuda")).pow(2).mean()
    loss.backward()
    assert loss.item() == 0
    return loss
before = torch.cuda.memory_allocated()
for history in 11, 15:
    assert lbfgs.step(closure).item() == 0
    assert len(lbfgs.state[fit.weight]["old_dirs"]) == history, len(lbfgs.state[fit.weight]["old_dirs"])
    assert torch.cuda.memory_allocated() - before >= (2 * history + 3) * 40448 and lbfgs.param_groups[0]["max_iter"] == 12
class Picky(torch.optim.SGD):
    def step(self, closure=None):
        if sum(p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None).item() > 1:
            return None
        return super().step(closure)
Picky(fit.parameters(), lr=0.1).step()

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
opt, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
for _ in range(2):
    loss = model(torch.randn(16, 64, device="cuda")).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    print("psnr", 10 * math.log10(1 / loss.item()))
"""
CRITIC = """
import torch, torch.nn as nn
def train(module, optimizer):
    module(torch.randn(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
one, critic, maker = (nn.Linear(64, 64).cuda() for _ in range(3))
train(one, torch.optim.SGD(one.parameters(), lr=0.1))  # it is gone after one step
of_critic, of_maker = torch.optim.Adam(critic.parameters()), torch.optim.Adam(maker.parameters())
for i in range(9):
    train(critic, of_critic)
    if i % 3 == 2:
        train(maker, of_maker)
        print("maker", i)
"""
RANKS = """
import os, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("nccl")
print("rank", dist.get_rank(), "of", dist.get_world_size())
found, sent = [None] * 2, [{"seed": 1}]
dist.all_gather_object(found, dist.get_rank())
dist.broadcast_object_list(sent, src=0)
assert found == [0, 0] and sent == [{"seed": 1}], (found, sent)
dist.barrier()
norm = nn.SyncBatchNorm(8).cuda()
norm(torch.randn(4, 8, 6, 6, device="cuda")).sum().backward()
before = torch.cuda.memory_allocated()
model = DDP(nn.Linear(1024, 1024, bias=False).cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
print("of model", torch.cuda.memory_allocated() - before)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
"""


def check_habits(folder: Path) -> None:
    (folder / "kept.pt").write_text("a checkpoint of a real run")
    d, err = predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=f"import os; os.chdir({str(folder)!r})\n{HABITS}", folder=folder)
    assert (folder / "kept.pt").read_text() == "a checkpoint of a real run" and not list(folder.glob("best*")) and "checkpoints are not written" in err, err[-2000:]
    assert "worked 0 2" in err and d["steps"] == 3, (d["steps"], err[-2000:])
    assert "process 0 of 2 runs" in err and not (folder / "never.pickle").exists(), err[-2000:]
    told = " ".join(d["unknown"])
    for word in ("torch.jit: ", "CUDA graphs: ", "pack_padded_sequence: its size depends on data; the largest", "bincount.default: ", "one repetition each", "split: its sizes depend on data; equal parts",
                 "LSTM under torch.func: it ran step by step", "LBFGS: values decide how many iterations it makes; this is an upper bound, with 15 of at most 15",
                 "Picky.step: it reads values", "_coalesce.default: its size depends on data; the largest"):
        assert word in told, (word, d["unknown"])


def check_zero(folder: Path) -> None:
    """A program that divides by a value it read runs once more: values are 1, which its scaler does not take for an overflow."""
    d, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", script=ZERO, folder=folder)
    assert d["steps"] == 2 and "ZeroDivisionError" in err and "once more with 1" in err and "psnr 0.0" in err and "Traceback" not in err, err


def check_critic(folder: Path) -> None:
    """Two steps of each optimizer, of which one steps less often; the first one does not live long."""
    d, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", script=CRITIC, folder=folder)
    roles = {r["role"]: r["bytes"] for r in d["roles"]}
    assert "maker 2" in err and "maker 5" not in err and not d["unknown"], (err, d["unknown"])
    assert d["phases"][-1]["phase"] == "OPTIMIZER_STEP" and roles["optimizer"] == 4 * (64 * 64 * 4 + 512), (d["phases"][-1], roles)


def check_launcher(folder: Path) -> None:
    """torchrun: rank 0 is predicted, the others end at once; DDP has its buckets."""
    d, err = predict("--like", "h200", "--", PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "SCRIPT", script=RANKS, folder=folder)
    assert d["steps"] == 2 and "rank 0 of 2" in err and "rank 1" not in err, err
    assert "of model 8388608" in err, err  # and its buckets


def main() -> int:
    if why := lacks_torch(str(PYTHON)):
        print(f"skipped: {why}")
        return 77
    build_hook(str(PYTHON), predicts=True)
    for check in check_habits, check_zero, check_critic, check_launcher:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
            print("ok", check.__name__, flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
