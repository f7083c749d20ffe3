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
