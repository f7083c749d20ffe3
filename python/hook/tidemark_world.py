# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Simulates a job of N ranks for `tidemark predict --world N`: this process is rank 0, and collectives return at once."""
from __future__ import annotations

import os
from typing import Any


def install(torch: Any, world: int, meter: Any) -> None:
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(min(world, 8)), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start = dist.init_process_group

    def init(backend: Any = None, *args: Any, **kw: Any) -> None:
        """Uses the fake backend instead of the requested one, since no other rank exists."""
        if not dist.is_initialized():
            start(backend="fake", store=FakeStore(), rank=0, world_size=world)

    dist.init_process_group = init
    dist.is_nccl_available = lambda: True
    _objects(dist)
    _stand_in_for_ddp(torch)
    _real_meshes(torch)
    _shapes_alone(meter)


def _objects(dist: Any) -> None:
    """Collectives of Python objects, which read pickled data from tensors: every rank is taken to have the object of this one."""

    def all_gather(outputs: list[Any], value: Any, *args: Any, **kw: Any) -> None:
        outputs[:] = [value] * len(outputs)

    def gather(value: Any, outputs: list[Any] | None = None, *args: Any, **kw: Any) -> None:
        if outputs is not None:
            outputs[:] = [value] * len(outputs)

    def broadcast(values: list[Any], *args: Any, **kw: Any) -> None:
        pass  # rank 0 sends

    def scatter(outputs: list[Any], inputs: list[Any] | None = None, *args: Any, **kw: Any) -> None:
        outputs[0] = inputs[0] if inputs else None

    for place in dist, dist.distributed_c10d:
        place.all_gather_object, place.gather_object, place.broadcast_object_list, place.scatter_object_list = all_gather, gather, broadcast, scatter


def _stand_in_for_ddp(torch: Any) -> None:
    """Replaces DistributedDataParallel by a module with the same buckets but without the C++ reducer, which reads data."""
    first, rest = 1 << 20, 25 << 20  # bytes of the first bucket and of the others in DDP

    class DistributedDataParallel(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any, device_ids: Any = None, *args: Any, bucket_cap_mb: Any = None, gradient_as_bucket_view: bool = False, **kw: Any) -> None:
            super().__init__()
            self.module = module
            self.buckets: list[Any] = []
            if gradient_as_bucket_view:
                return  # gradients are views of the buckets: no further memory
            cap = int(bucket_cap_mb * (1 << 20)) if bucket_cap_mb else rest
            size, limit, like = 0, first, None
            for p in [p for p in reversed(list(module.parameters())) if p.requires_grad]:
                if like is not None and (like.dtype, like.device) != (p.dtype, p.device):
                    self._bucket(size, like)
                    size, limit = 0, cap
                size, like = size + p.numel() * p.element_size(), p
                if size >= limit:
                    self._bucket(size, like)
                    size, limit = 0, cap
            if like is not None:
                self._bucket(size, like)

        def _bucket(self, size: int, like: Any) -> None:
            if size:
                self.buckets.append(torch.empty(size, dtype=torch.uint8, device=like.device))

        def forward(self, *args: Any, **kw: Any) -> Any:
            return self.module(*args, **kw)

        def no_sync(self) -> Any:
            import contextlib

            return contextlib.nullcontext()

        def register_comm_hook(self, *args: Any, **kw: Any) -> None:
            pass

    torch.nn.parallel.DistributedDataParallel = DistributedDataParallel
    torch.nn.parallel.distributed.DistributedDataParallel = DistributedDataParallel


def _real_meshes(torch: Any) -> None:
    """Makes device meshes real tensors: they are small, and PyTorch reads their values."""
    mesh: Any = __import__("importlib").import_module("torch.distributed.device_mesh")
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.utils._python_dispatch import _disable_current_modes

    def outside(function: Any) -> Any:
        def run(*args: Any, **kw: Any) -> Any:
            with _disable_current_modes():
                return function(*args, **kw)

        return run

    mesh.DeviceMesh.__getitem__ = outside(mesh.DeviceMesh.__getitem__)
    make = outside(mesh.DeviceMesh.__init__)

    def real(ranks: Any) -> Any:
        """Returns real ranks for a mesh made under the fake mode, which has no values: 0, 1, 2 ..., as init_device_mesh makes them."""
        if not isinstance(ranks, FakeTensor):
            return ranks
        with _disable_current_modes():
            return torch.arange(ranks.numel(), dtype=torch.int).view(tuple(ranks.shape))

    def init(self: Any, device_type: Any, mesh: Any = None, *args: Any, _rank_map: Any = None, **kw: Any) -> None:
        more = {} if _rank_map is None else {"_rank_map": real(_rank_map)}
        make(self, device_type, *(() if mesh is None and more else (real(mesh), *args)), **more, **kw)

    mesh.DeviceMesh.__init__ = init


def _shapes_alone(meter: Any) -> None:
    """Excludes shape propagation of sharded tensors from the count: it uses fake tensors of the full size, which no device would hold."""
    try:
        rules: Any = __import__("importlib").import_module("torch.distributed.tensor._sharding_prop").ShardingPropagator
    except (ImportError, AttributeError):
        return
    for name in [n for n in vars(rules) if n.startswith("_propagate_tensor_meta")]:
        function = vars(rules)[name]
        if not callable(function):
            continue

        def run(*args: Any, _inner: Any = function, **kw: Any) -> Any:
            meter.paused += 1
            try:
                return _inner(*args, **kw)
            finally:
                meter.paused -= 1

        setattr(rules, name, run)
