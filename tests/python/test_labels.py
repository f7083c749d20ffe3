# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Names of tensors (needs torch): shared storages, labels that move with their owner, two models of one class."""
import gc
import os
import tempfile
import time
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
    """Returns the live bytes at the end by group."""
    return {row["key"]: row["bytes"] for row in t.peak(group_by=by, top=10000, at=f"#{len(t['memory_events'])}")["groups"]}


class one_process:  # noqa: N801
    """A process group of gloo with this process alone."""

    def __enter__(self) -> None:
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)

    def __exit__(self, *_: object) -> None:
        torch.distributed.destroy_process_group()


class Soap(torch.optim.Optimizer):
    """Keeps lists of tensors, also in dicts, and replaces one of them in each step."""

    def __init__(self, params) -> None:
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for p in (p for g in self.param_groups for p in g["params"]):
            state = self.state[p]
            if not state:
                state["GG"] = [torch.zeros(d, d) for d in p.shape]
                state["more"] = {"t": (torch.zeros_like(p),)}
            state["GG"][0] = state["GG"][0] + 1
            p.add_(p.grad, alpha=-1e-3)


@unittest.skipUnless(NEW, "needs hooks of optimizers, torch 2")
class Containers(unittest.TestCase):
    def test_tensors_in_lists_and_dicts_of_a_state_have_their_role(self):
        """The history of LBFGS and lists, dicts and tuples of another optimizer: every byte has its name, also of tensors made by a later step."""
        with tidemark.record(path("lists.tide")):
            lbfgs_model, soap_model = nn.Linear(300, 1, bias=False), nn.Linear(64, 48, bias=False)
            lbfgs = torch.optim.LBFGS(lbfgs_model.parameters(), max_iter=4, history_size=5)
            soap = Soap(soap_model.parameters())
            x, y = torch.randn(16, 300), torch.randn(16, 1)

            def closure():
                lbfgs.zero_grad()
                loss = ((lbfgs_model(x) - y) ** 2).mean()
                loss.backward()
                return loss

            for _ in range(3):
                lbfgs.step(closure)
                soap.zero_grad()
                soap_model(torch.randn(4, 64)).sum().backward()
                soap.step()
            kept = lbfgs.state[lbfgs_model.weight]
            self.assertEqual(len(kept["old_dirs"]), 5)
        tensors = groups(tidemark.open(path("lists.tide")), "tensor")
        for key in "old_dirs", "old_stps":
            for i in range(5):
                self.assertEqual([v for k, v in tensors.items() if k.startswith(f"weight.{key}.{i} ") or k.startswith(f"Linear.weight.{key}.{i} ")], [300 * 4], (key, i, tensors))
        for name, n in ("GG.0", 48 * 48 * 4), ("GG.1", 64 * 64 * 4), ("more.t.0", 64 * 48 * 4):
            self.assertEqual([v for k, v in tensors.items() if f"weight.{name} " in k], [n], (name, tensors))

    def test_a_list_does_not_keep_its_tensors(self):
        """Our references are weak: what an optimizer drops is freed at once."""
        import weakref

        with tidemark.record(path("weak.tide")):
            model = nn.Linear(8, 8)
            soap = Soap(model.parameters())
            model(torch.randn(2, 8)).sum().backward()
            soap.step()
            old = [weakref.ref(soap.state[p]["GG"][0]) for p in model.parameters()]
            soap.step()
            self.assertEqual([r() for r in old], [None, None])


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


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x))


A, B = (64 * 64 + 64) * 4, (64 * 8 + 8) * 4  # bytes of the parameters


class Newest(unittest.TestCase):
    """Labels follow the storage and the newest owner."""

    def recorded(self, run) -> tidemark.Trace:
        gc.collect()  # models of other tests are gone
        with tidemark.record(path("newest.tide")):
            kept = run()
        del kept
        return tidemark.open(path("newest.tide"))

    def test_a_part_that_ran_before_its_parent_belongs_to_it(self):
        def run():
            model = Net()
            model.a(torch.randn(2, 64))
            model(torch.randn(2, 64))
            return model

        t = self.recorded(run)
        self.assertEqual(groups(t, "module"), {"Net.a": A, "Net.b": B})
        self.assertIn("a.weight float32[64, 64]", groups(t, "tensor"))

    def test_the_parent_renames_its_part_when_it_runs(self):
        def run():
            model = Net()
            model.a(torch.randn(2, 64))
            model(torch.randn(2, 64))
            tensors = [p.detach() for p in model.parameters()]
            del model  # when the recording ends, there is no model to look at
            gc.collect()
            return tensors

        self.assertIn("a.weight float32[64, 64]", groups(self.recorded(run), "tensor"))

    def test_a_model_that_is_converted_keeps_its_labels(self):
        for convert, factor in ((lambda m: m.half(), 0.5), (lambda m: m.to(torch.float64), 2.0)):
            def run(convert=convert):
                model = Net()
                model(torch.randn(2, 64))
                return convert(model)

            t = self.recorded(run)
            self.assertEqual(groups(t, "role"), {"parameter": (A + B) * factor})
            self.assertEqual(groups(t, "module"), {"Net.a": A * factor, "Net.b": B * factor})

    @unittest.skipUnless(NEW, "load_state_dict(assign=True) came with torch 2.1")
    def test_parameters_that_are_replaced_have_labels(self):
        def run():
            model = Net()
            old = list(model.parameters())
            model(torch.randn(2, 64))
            model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
            with torch.no_grad():
                model(torch.randn(2, 64))
            return model, old

        t = self.recorded(run)
        self.assertEqual(groups(t, "role"), {"parameter": 2 * (A + B)})

    @unittest.skipUnless(NEW, "load_state_dict(assign=True) came with torch 2.1")
    def test_replaced_parameters_have_labels_when_the_model_runs(self):
        def run():
            model = Net()
            model(torch.randn(2, 64))
            model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
            time.sleep(0.3)  # a model is looked at every 100 ms
            with torch.no_grad():
                model(torch.randn(2, 64))
            new = [p.detach() for p in model.parameters()]
            del model  # when the recording ends, there is no model to look at
            gc.collect()
            return new

        self.assertEqual(groups(self.recorded(run), "role"), {"parameter": A + B})

    def test_two_models_of_one_class_have_names_of_their_own(self):
        def run():
            g, d = nn.Sequential(nn.Linear(16, 64)), nn.Sequential(nn.Linear(64, 32))
            with torch.no_grad():
                d(g(torch.randn(2, 16)))
            return g, d

        t = self.recorded(run)
        found = {k: v for k, v in groups(t, "module").items() if k.startswith("Sequential")}
        self.assertEqual(found, {"Sequential.0": (16 * 64 + 64) * 4, "Sequential#2.0": (64 * 32 + 32) * 4})
        self.assertIn("Sequential#2.0.weight float32[32, 64]", groups(t, "tensor"))

    def test_models_of_two_classes_are_told_apart(self):
        def run():
            m, n = Net(), nn.ModuleDict({"a": nn.Linear(64, 64)})
            n.forward = lambda x: n.a(x)
            with torch.no_grad():
                n(m.a(m(torch.randn(2, 64))[:, :1].expand(2, 64)))
            return m, n

        self.assertEqual(groups(self.recorded(run), "module"), {"Net.a": A, "Net.b": B, "ModuleDict.a": A})

    @unittest.skipUnless(NEW and torch.distributed.is_available(), "needs torch.distributed of torch 2")
    def test_shards_of_fsdp2(self):
        try:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard
        except ImportError:
            self.skipTest("this torch has no fully_shard")

        def run():
            model = Net()
            fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
            optimizer = torch.optim.Adam(model.parameters())
            for _ in range(2):
                model(torch.randn(2, 64)).sum().backward()
                optimizer.step()
            return model, optimizer

        with one_process():
            t = self.recorded(run)
        roles = groups(t, "role")
        self.assertEqual((roles["parameter"], roles["gradient"]), (A + B, A + B))
        self.assertGreaterEqual(roles["optimizer"], 2 * (A + B))
        self.assertLess(roles.get("unknown", 0), 64)  # a seed of the process's


if __name__ == "__main__":
    unittest.main()
