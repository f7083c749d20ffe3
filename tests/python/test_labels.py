# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What tensors are called (needs torch): storages that several share, labels that move with their owner, two models of one class."""
import os
import socket
import tempfile
import unittest

import torch
from torch import nn

import tidemark

FOLDER = tempfile.mkdtemp()
torch.set_num_threads(1)
NEW = hasattr(torch, "UntypedStorage")  # torch 2


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


def groups(t: tidemark.Trace, by: str) -> dict:
    """Bytes by group of what is alive at the end."""
    return {row["key"]: row["bytes"] for row in t.peak(group_by=by, top=10000, at=f"#{len(t['moves'])}")["groups"]}


class one_process:  # noqa: N801
    """A process group of gloo with this process alone."""

    def __enter__(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)

    def __exit__(self, *_: object) -> None:
        torch.distributed.destroy_process_group()


@unittest.skipUnless(NEW and torch.distributed.is_available(), "needs torch.distributed of torch 2")
class Shared(unittest.TestCase):
    def test_a_bucket_of_ddp_is_split_by_view(self):
        with one_process(), tidemark.record(path("ddp.tide")):
            model = nn.parallel.DistributedDataParallel(
                nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 8)), gradient_as_bucket_view=True)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(3):
                model(torch.randn(4, 64)).sum().backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
            want = {n: p.numel() * 4 for n, p in model.named_parameters()}
            storages = {p.grad.untyped_storage().data_ptr() for p in model.parameters()}
        self.assertLess(len(storages), len(want))
        t = tidemark.open(path("ddp.tide"))
        tensors = groups(t, "tensor")
        for name, n in want.items():
            found = [v for k, v in tensors.items() if k.startswith(f"{name}.grad ")]
            self.assertEqual(found, [n], name)
        self.assertGreaterEqual(groups(t, "role")["gradient"], sum(want.values()))
        modules = groups(t, "module")
        last = next(v for k, v in modules.items() if k.endswith(".module.4"))
        self.assertEqual(last, 2 * (256 * 8 + 8) * 4)  # its parameters and gradients, not the whole bucket

    def test_flattened_parameters_are_split_by_view(self):
        with tidemark.record(path("flat.tide")):
            model = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 8))
            flat = torch.zeros(sum(p.numel() for p in model.parameters()) + 10)
            at = 0
            for p in model.parameters():
                p.data = flat[at:at + p.numel()].view_as(p)
                at += p.numel()
            model(torch.randn(2, 16))
        t = tidemark.open(path("flat.tide"))
        tensors = groups(t, "tensor")
        self.assertEqual([v for k, v in tensors.items() if k.startswith("0.weight ")], [16 * 32 * 4])
        self.assertEqual([v for k, v in tensors.items() if "rest of flattened parameters, 4 tensors" in k], [40])


if __name__ == "__main__":
    unittest.main()
