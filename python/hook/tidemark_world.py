# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A job of many ranks, of which this process is the first: collectives that return at once, for `tidemark predict --world N`."""
from __future__ import annotations

import os
from typing import Any


def install(torch: Any, world: int) -> None:
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(min(world, 8)), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start = dist.init_process_group

    def init(backend: Any = None, *args: Any, **kw: Any) -> None:
        """Whatever backend is asked for: no other rank is there to talk to."""
        if not dist.is_initialized():
            start(backend="fake", store=FakeStore(), rank=0, world_size=world)

    dist.init_process_group = init
    dist.is_nccl_available = lambda: True
    _stand_in_for_ddp(torch)
    _real_meshes(torch)


def _stand_in_for_ddp(torch: Any) -> None:
    """DistributedDataParallel without its reducer (C++ that looks at data): the same buckets, the module inside."""
    first, rest = 1 << 20, 25 << 20  # bytes of the first bucket and of the others, as DDP has them

    class DistributedDataParallel(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any, device_ids: Any = None, *args: Any, bucket_cap_mb: Any = None, gradient_as_bucket_view: bool = False, **kw: Any) -> None:
            super().__init__()
            self.module = module
            self.buckets: list[Any] = []
            if gradient_as_bucket_view:
                return  # gradients lie in the buckets: nothing beside them
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
    """Meshes of ranks are small tensors that are looked at: real ones."""
    mesh: Any = __import__("importlib").import_module("torch.distributed.device_mesh")
    from torch.utils._python_dispatch import _disable_current_modes

    def outside(function: Any) -> Any:
        def run(*args: Any, **kw: Any) -> Any:
            with _disable_current_modes():
                return function(*args, **kw)

        return run

    mesh.DeviceMesh.__init__ = outside(mesh.DeviceMesh.__init__)
    mesh.DeviceMesh.__getitem__ = outside(mesh.DeviceMesh.__getitem__)
